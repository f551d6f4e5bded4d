#!/usr/bin/env python3
"""Runs modules of `sluice compile --emit wasm` in a real browser: their outputs, and the page beside them.

  wasm_test.py BIN-FOLDER MODELS-FOLDER

Exits with 77 where there is no chromium or no wasm-ld.
"""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import browser

BIN, MODELS = None, None
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Modules(unittest.TestCase):
    def test_outputs_match(self):
        models = [os.path.join(MODELS, name) for name in ("jumperhard", "mnist_external")]
        done = subprocess.run([os.path.join(ROOT, "scripts/run_targets"), "--form", "wasm", "--browser", "--steps", "2",
                               "--sluice", os.path.join(BIN, "sluice"), *models],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["pass jumperhard cpu", "pass mnist_external cpu"])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        subprocess.run([os.path.join(BIN, "sluice"), "compile", os.path.join(MODELS, "jumperhard/model.onnx"), "--dim",
                        "batch_size=1", "--search-evals", "20", "--target", "cpu:wasm32+simd128", "--emit", "wasm", "-o",
                        self.folder.name], check=True, capture_output=True)
        handler = functools.partial(Quiet, directory=self.folder.name)
        server = http.server.ThreadingHTTPServer(("localhost", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f"http://localhost:{server.server_port}/jumperhard.html"

    def wait_for_text(self, page, word):
        """The page's result once it has the word."""
        return page.run(f"""new Promise((done, fail) => {{
          const text = () => document.querySelector("pre").textContent, begin = performance.now();
          const look = () => text().includes({word!r}) ? done(text())
            : performance.now() - begin > 20000 ? fail(new Error(text())) : setTimeout(look, 10);
          look(); }})""")

    def test_runs_a_step(self):
        with browser.Browser(browser.find_chromium()) as page:
            page.open(self.address)
            page.run("new Promise(done => { const look = () => document.querySelector('button').disabled"
                     " ? setTimeout(look, 10) : done(); look(); })")
            self.assertEqual(page.run("document.querySelectorAll('textarea').length"), 2)
            page.run("document.querySelectorAll('button')[0].click()")
            zeros = self.wait_for_text(page, " ms").split("\n", 1)[1]
            self.assertIn("output: f32[1,6]", zeros)
            page.run("document.querySelector('textarea').value = '1, 2 3'; document.querySelectorAll('button')[0].click()")
            self.assertNotEqual(self.wait_for_text(page, " ms").split("\n", 1)[1], zeros)

    def test_says_what_is_wrong(self):
        with browser.Browser(browser.find_chromium()) as page:
            os.remove(os.path.join(self.folder.name, "jumperhard.wasm"))
            page.open(self.address)
            self.assertIn("the server answered 404", self.wait_for_text(page, "error: "))

    def test_refuses_text_that_is_no_number(self):
        with browser.Browser(browser.find_chromium()) as page:
            page.open(self.address)
            page.run("new Promise(done => { const look = () => document.querySelector('button').disabled"
                     " ? setTimeout(look, 10) : done(); look(); })")
            page.run("document.querySelector('textarea').value = '1 x'; document.querySelectorAll('button')[0].click()")
            self.assertIn("'x' is not a number, input 'obs', give", self.wait_for_text(page, "error: "))


if __name__ == "__main__":
    for tool, found in (("chromium", browser.find_chromium()), ("wasm-ld", shutil.which("wasm-ld") or shutil.which("wasm-ld-22"))):
        if not found:
            print(f"skipped: no {tool}")
            sys.exit(77)
    BIN, MODELS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
