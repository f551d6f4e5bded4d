#!/usr/bin/env python3
"""Checks the links of the documentation.

  check_links.py [ROOT]

Every relative link of a Markdown file must lead to a file of the tree, and a link with an anchor to a heading of that
file, by GitHub's rule for anchors. Every page of docs must be reachable from README.md by such links. Prints one line
for each violation and exits 1 if there is any.
"""

import os
import re
import sys

from check_structure import list_files, report

FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
CODE = re.compile(r"`[^`]*`")


def prose_of(text):
    """The lines of the text with their numbers, without fenced blocks."""
    is_fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield number, line


def anchors_of(text):
    anchors = set()
    for _, line in prose_of(text):
        if heading := HEADING.match(line):
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            base = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            anchor, count = base, 0
            while anchor in anchors:
                count += 1
                anchor = f"{base}-{count}"
            anchors.add(anchor)
    return anchors


def links_of(text):
    for number, line in prose_of(text):
        for match in LINK.finditer(CODE.sub("", line)):
            if not re.match(r"[a-z]+:", match.group(1)):
                yield number, match.group(1)


def check_tree(root):
    files = set(list_files(root))
    pages = {}
    for path in sorted(files):
        if path.endswith(".md"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                pages[path] = file.read()
    problems, linked = [], {}
    for path, text in pages.items():
        for number, link in links_of(text):
            name, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if target not in files:
                problems.append(f"{path}:{number}: link '{link}' leads to no file, correct it")
            elif anchor and target in pages and anchor not in anchors_of(pages[target]):
                problems.append(f"{path}:{number}: link '{link}' leads to no heading, correct it")
            linked.setdefault(path, set()).add(target)
    reached, left = {"README.md"}, ["README.md"]
    while left:
        for target in linked.get(left.pop(), set()) - reached:
            reached.add(target)
            left.append(target)
    problems += [f"{path}: no link leads here from README.md, add one to docs/README.md" for path in pages
                 if path.startswith("docs/") and path not in reached]
    return problems, len(pages)


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    problems, count = check_tree(root)
    return report(problems if count else [f"no pages under '{root}'"], count)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
