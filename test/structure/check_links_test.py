#!/usr/bin/env python3
"""Each rule of check_links.py accepts what it should and finds a violation."""

import os
import tempfile
import unittest

import check_links


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, path, text):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def assert_problems(self, *problems):
        self.assertEqual(check_links.check_tree(self.folder.name)[0], list(problems))

    def test_accepts_files_anchors_and_addresses(self):
        self.write("README.md", "# A page\n[a](docs/a.md#two-words-1) [b](#a-page) [c](https://example.org/x) `[d](no.md)`\n"
                                "```\n[e](no.md)\n```\n")
        self.write("docs/a.md", "# A\n## Two `words`\n## Two [words](../README.md)\n![picture](images/p.svg)\n")
        self.write("docs/images/p.svg", "<svg/>\n")
        self.assert_problems()

    def test_missing_file(self):
        self.write("README.md", "text\n[a](docs/none.md)\n")
        self.assert_problems("README.md:2: link 'docs/none.md' leads to no file, correct it")

    def test_missing_heading(self):
        self.write("README.md", "[a](docs/a.md#other)\n")
        self.write("docs/a.md", "# A\n```\n# other\n```\n")
        self.assert_problems("README.md:1: link 'docs/a.md#other' leads to no heading, correct it")

    def test_page_without_a_link(self):
        self.write("README.md", "[a](docs/a.md)\n")
        self.write("docs/a.md", "# A\n")
        self.write("docs/b.md", "[itself](b.md)\n")
        self.assert_problems("docs/b.md: no link leads here from README.md, add one to docs/README.md")


if __name__ == "__main__":
    unittest.main()
