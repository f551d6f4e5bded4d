#!/usr/bin/env python3
"""scripts/tidy finds what changed lines have wrong, in sources and headers, and leaves the others alone."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "tidy")
GOOD = "int good();\n"


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "scripts"))
        shutil.copy(SCRIPT, os.path.join(self.root, "scripts", "tidy"))
        self.write(".clang-tidy", "Checks: '-*,bugprone-macro-parentheses'\nHeaderFilterRegex: '.*'\n")
        self.write("a.cpp", '#include "a.h"\nint a() { return 1; }\n')
        self.write("b.cpp", "int b();\n")
        self.write("a.h", GOOD)
        commands = [{"directory": self.root, "file": name, "command": f"c++ -c {name}"} for name in ("a.cpp", "b.cpp")]
        self.write("build/compile_commands.json", json.dumps(commands))
        self.write(".gitignore", "build\n")
        self.git("init", "--quiet", "--initial-branch=main")

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *arguments):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def tidy(self, *arguments):
        done = subprocess.run([os.path.join(self.root, "scripts", "tidy"), os.path.join(self.root, "build"), *arguments],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_changed_lines_alone(self):
        self.assertEqual(self.tidy("--changed"), (77, "skipped: no commit to compare with\n"))
        self.write("b.cpp", "#define OLD(x) x * 2\n")
        self.commit()
        self.write("b.cpp", "#define OLD(x) x * 2\nint b();\n")
        self.commit()
        self.assertEqual(self.tidy("--changed"), (0, ""))
        # All lines, without --changed: warnings, which fail nothing.
        status, output = self.tidy()
        self.assertEqual(status, 0, output)
        self.assertIn("b.cpp:1", output)
        # What is not committed counts too, and a new file whole.
        self.write("b.cpp", "#define OLD(x) x * 2\nint b();\n#define NEW(x) x * 2\n")
        status, output = self.tidy("--changed")
        self.assertEqual(status, 1)
        self.assertIn("b.cpp:3", output)
        self.assertNotIn("b.cpp:1:", output)
        self.assertIn("error: clang-tidy has findings, 'b.cpp'", output)

    def test_sources_that_compile_together(self):
        unit = os.path.join(self.root, "build", "unity_0_cxx.cxx")
        self.write("build/unity_0_cxx.cxx", "".join(f'#include "{self.root}/{name}"\n' for name in ("a.cpp", "b.cpp")))
        self.write("build/compile_commands.json", json.dumps([{"directory": self.root, "file": unit, "command": f"c++ -c {unit}"}]))
        self.commit()
        self.write("b.cpp", "#define NEW(x) x * 2\nint b();\n")
        self.commit()
        status, output = self.tidy("--changed")
        self.assertEqual(status, 1)
        self.assertIn("b.cpp:1", output)

    def test_headers_and_the_merge_base(self):
        self.commit()
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.write("a.h", GOOD + "#define NEW(x) x * 2\n")
        self.commit()
        self.write("b.cpp", "int b();\nint c();\n")
        self.commit()
        status, output = self.tidy("--changed")
        self.assertEqual(status, 1)
        self.assertIn("a.h:2", output)
        # What there is no time for is named.
        status, output = self.tidy("--changed", "--seconds", "0")
        self.assertEqual(status, 0)
        self.assertIn("not checked within 0 s: b.cpp", output)


if __name__ == "__main__":
    unittest.main()
