#!/usr/bin/env python3
"""Finds functions that are too long or take too many parameters.

  check_functions.py [--root ROOT] [FOLDER...]

Reads the C++ sources of the folders (by default FOLDERS) and reports each
function of more than MAX_LINES lines, from its first token to its closing brace,
and each function or lambda of more than MAX_PARAMETERS parameters. Lambdas and
local classes count towards the lines of the function around them. EXCUSED holds
the functions that may be larger, each with the reason. Prints one line a
violation and exits 1 if there is any.
"""

import argparse
import os
import re
import sys
from typing import NamedTuple

from check_structure import list_files, report

FOLDERS = ["include", "lib", "dialects", "passes", "tools"]
SOURCES = (".h", ".hpp", ".c", ".cpp")
MAX_LINES = 100
MAX_PARAMETERS = 7
MAX_EXCUSED = 5
# "path:name of the function" to the reason why it may be larger.
EXCUSED = {
    "dialects/Exec/ExecAttrs.cpp:TargetAttr::verify": "MLIR declares it: one parameter for each of the attribute's",
    "dialects/Dataflow/IR/Ops/Blocks.cpp:BlockPanelsAttr::verify":
        "MLIR declares it: one parameter for each of the attribute's",
    "dialects/Dataflow/IR/Dataflow.cpp:TuningAttr::verify": "MLIR declares it: one parameter for each of the attribute's",
}


class Token(NamedTuple):
    text: str
    line: int


class Function(NamedTuple):
    name: str
    line: int
    lines: int
    parameters: int


TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //(?:[^\n\\]|\\.|\\\n)* | /\*.*?\*/ )
    | (?P<directive> (?<![^\n]) [ \t]* \# (?:[^\n\\]|\\.|\\\n)* )
    | (?P<raw> (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)" )
    | (?P<literal> (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*" | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
    | (?P<number> \.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])* )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<sign> :: | -> | \.\.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
TYPE_KEYWORDS = {"class", "struct", "union"}
# A parenthesis after one of these opens no parameter list.
NO_FUNCTION = {
    "alignas", "alignof", "asm", "catch", "decltype", "explicit", "for", "if", "noexcept", "requires", "return", "sizeof",
    "static_assert", "switch", "throw", "while", "__attribute__", "__declspec"
}


def tokens_of(text):
    """The tokens without comments and directives. Where both branches of an #if
    open the same braces, only the first is read."""
    tokens, depth, line, end = [], 0, 1, 0
    conditions = []  # Per open #if: the brace depth before it, whether to skip.
    for match in TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        if match["directive"]:
            word = re.match(r"\s*#\s*(\w*)", match["directive"])[1]
            if word in ("if", "ifdef", "ifndef"):
                conditions.append([depth, bool(conditions) and conditions[-1][1]])
            elif word in ("else", "elif") and conditions:
                conditions[-1][1] |= depth != conditions[-1][0]
            elif word == "endif" and conditions:
                conditions.pop()
        elif not match["skip"] and not (conditions and conditions[-1][1]):
            kept = '""' if match["raw"] or match["literal"] else match[0]
            depth += (kept == "{") - (kept == "}")
            tokens.append(Token(kept, line))
    return tokens


def is_name(text):
    return bool(re.match(r"[A-Za-z_]", text))


class Scanner:
    """Walks declarations by matching brackets; knows no types."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.texts = [token.text for token in self.tokens]
        self.functions = []
        self.match = {}
        opened = []
        for i, text in enumerate(self.texts):
            if text in CLOSING:
                opened.append(i)
            elif text in CLOSING.values():
                # A bracket that a macro left open is closed with the one around it.
                while opened and CLOSING[self.texts[opened[-1]]] != text:
                    self.match[opened.pop()] = i
                if opened:
                    self.match[opened.pop()] = i
        for i in opened:
            self.match[i] = len(self.texts) - 1

    def run(self):
        self.scope(0, len(self.texts))
        return sorted(self.functions, key=lambda function: function.line)

    def closing_angle(self, i, end):
        """The index of the '>' that closes the '<' at i; None if it compares."""
        depth = 0
        while i < end:
            text = self.texts[i]
            if text in CLOSING:
                i = self.match[i]
            elif text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return i
            elif text == ";":
                return None
            i += 1
        return None

    def count_parameters(self, opening):
        """The number of parameters in the parentheses that open at this index."""
        end = self.match[opening]
        inside = self.texts[opening + 1:end]
        if not inside or inside == ["void"]:
            return 0
        count, i = 1, opening + 1
        while i < end:
            if self.texts[i] in CLOSING:
                i = self.match[i]
            elif self.texts[i] == "<" and is_name(self.texts[i - 1]):
                i = self.closing_angle(i, end) or i
            elif self.texts[i] == ",":
                count += 1
            i += 1
        return count

    def scope(self, i, end):
        """Reads the declarations of a file, a namespace or a class."""
        while i < end:
            i = self.declaration(i, end)

    def declaration(self, start, end):
        """Reads one declaration and returns the index after it."""
        i, opening, name, initializers = start, None, "", False
        while i < end:
            text = self.texts[i]
            if text == ";":
                self.note(name, start, opening, None)
                return i + 1
            if text == "}":
                return i + 1
            if text == "=" and opening is None:
                return self.initializer(i, end)
            if text == ":" and self.texts[i - 1] in ("public", "private", "protected", "signals", "slots"):
                return i + 1
            if text == ":" and opening is not None:
                initializers = True
            elif text == "operator" and opening is None:
                i += 2 if self.texts[i + 1:i + 3] == ["(", ")"] else 0
                while i + 1 < end and self.texts[i + 1] != "(":
                    i += 1
                name = "operator"
            elif text == "<" and opening is None and is_name(self.texts[i - 1]):
                i = self.closing_angle(i, end) or i
            elif text == "(":
                previous = self.texts[i - 1] if i > start else ""
                if opening is None and (name == "operator" or (is_name(previous) and previous not in NO_FUNCTION)
                                        or previous == ">"):
                    opening, name = i, name or self.name_before(i)
                i = self.match[i]
            elif text == "[":
                i = self.match[i]
            elif text == "{":
                closed = self.match[i]
                if initializers and (is_name(self.texts[i - 1]) or self.texts[i - 1] == ">"):
                    i = closed
                elif opening is not None:
                    self.note(name, start, opening, closed)
                    self.lambdas(i + 1, closed)
                    return closed + 1
                else:
                    if self.is_scope(start, i):
                        self.scope(i + 1, closed)
                    else:
                        self.lambdas(i + 1, closed)
                    if "namespace" in self.texts[start:i] or "extern" in self.texts[start:i]:
                        return closed + 1
                    i = closed
            i += 1
        return end

    def name_before(self, i):
        """The possibly qualified name that ends before index i, without template arguments."""
        words = []
        i -= 1
        while i >= 0:
            if self.texts[i] == ">":
                depth = 0
                while i > 0:
                    depth += (self.texts[i] == ">") - (self.texts[i] == "<")
                    i -= 1
                    if depth == 0:
                        break
            words.append(self.texts[i])
            if i > 0 and self.texts[i - 1] == "~":
                words.append("~")
                i -= 1
            if i == 0 or self.texts[i - 1] != "::":
                break
            words.append("::")
            i -= 2
        return "".join(reversed(words))

    def is_scope(self, start, brace):
        words = self.texts[start:brace]
        return "namespace" in words or words == ["extern", '""'] or ("enum" not in words
                                                                     and not TYPE_KEYWORDS.isdisjoint(words))

    def initializer(self, i, end):
        """Reads from '=' to the end of a variable's declaration."""
        start = i
        while i < end and self.texts[i] != ";":
            i = self.match[i] + 1 if self.texts[i] in CLOSING else i + 1
        self.lambdas(start, i)
        return i + 1

    def lambdas(self, start, end):
        """Notes the parameters of the lambdas between two indices."""
        for i in range(start, end):
            if self.texts[i] != "[" or i == 0:
                continue
            before = self.texts[i - 1]
            if (is_name(before) and before != "return") or before in (")", "]", "[", '""'):
                continue
            after = self.match[i] + 1
            if after < end and self.texts[after] == "(":
                self.note("lambda", i, after, None)

    def note(self, name, start, opening, closing):
        if opening is None:
            return
        line = self.tokens[start].line
        lines = self.tokens[closing].line - line + 1 if closing is not None else 0
        self.functions.append(Function(name, line, lines, self.count_parameters(opening)))


def functions_of(text):
    return Scanner(text).run()


def problems_of(path, text, excused):
    """The violations of one file; `excused` loses the entries it has a use for."""
    for function in functions_of(text):
        complaints = []
        if function.lines > MAX_LINES:
            complaints.append(f"{function.lines} lines, at most {MAX_LINES}")
        if function.parameters > MAX_PARAMETERS:
            complaints.append(f"{function.parameters} parameters, at most {MAX_PARAMETERS}")
        if complaints and f"{path}:{function.name}" in EXCUSED:
            excused.discard(f"{path}:{function.name}")
        elif complaints:
            yield f"{path}:{function.line}: function '{function.name}' has {' and '.join(complaints)}, split it"


def check_tree(root, folders):
    """The violations under the folders and the number of files read."""
    problems, count = [], 0
    unused = set(EXCUSED)
    for path in list_files(root):
        if path.endswith(SOURCES) and any(path.startswith(folder.rstrip("/") + "/") for folder in folders):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                problems += problems_of(path, file.read(), unused)
            count += 1
    if len(EXCUSED) > MAX_EXCUSED:
        problems.append(f"{len(EXCUSED)} functions are excused, at most {MAX_EXCUSED}")
    return problems, unused, count


def main():
    parser = argparse.ArgumentParser(description="Finds functions that are too long or take too many parameters.")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    arguments = parser.parse_args()
    problems, unused, count = check_tree(arguments.root, arguments.folders)
    if set(arguments.folders) == set(FOLDERS):
        problems += [f"{name}: is excused but within the limits, remove the excuse" for name in sorted(unused)]
    if count == 0:
        problems.append(f"no sources under '{arguments.root}' in {', '.join(arguments.folders)}")
    return report(problems, count)


if __name__ == "__main__":
    sys.exit(main())
