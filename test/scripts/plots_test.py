#!/usr/bin/env python3
"""The pictures of docs/results show what its tables say."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
NAMES = ["ablations", "serving", "training"]


def plot(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts" / "plot-results", *arguments], capture_output=True, text=True,
                          check=False)


class Plots(unittest.TestCase):
    def test_committed_pictures_are_of_the_tables(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(plot("--output", directory).returncode, 0)
            made = sorted(pathlib.Path(directory).iterdir())
            self.assertEqual([path.stem for path in made], NAMES)
            for path in made:
                ElementTree.parse(path)
                self.assertEqual(path.read_text(), (RESULTS / "plots" / path.name).read_text(),
                                 f"{path.name} is not of the tables, run scripts/plot-results")

    def test_bars_are_as_high_as_the_numbers(self):
        with tempfile.TemporaryDirectory() as directory:
            folder = pathlib.Path(directory)
            (folder / "serving.md").write_text((RESULTS / "serving.md").read_text())
            (folder / "swap.md").write_text(
                "| model | batch | fraction | paper | ODSwap | SwapAdvisor |\n|---|---|---|---|---|---|\n"
                "| one | 4 | 0.5 | | 0.25 | 1.000 |\n\n"
                "| model | batch | default | SwapAdvisor | schedule only | pool only |\n|---|---|---|---|---|---|\n"
                "| one | 4 | 0.75 | 0.5 | no plan | 0.25 |\n")
            self.assertEqual(plot("--results", directory).returncode, 0)
            heights = {}
            for picture in ("training", "ablations"):
                text = (folder / "plots" / f"{picture}.svg").read_text()
                for height, title in re.findall(r'height="([\d.]+)" fill="[^"]*"><title>one\nbatch 4, ([^<]*)<', text):
                    heights[picture, title] = float(height)
            self.assertEqual(heights, {
                ("training", "ours: 0.5"): 120, ("training", "ODSwap: 0.25"): 60,
                ("training", "SwapAdvisor, our copy: 1"): 240, ("ablations", "default: 0.75"): 180,
                ("ablations", "SwapAdvisor: 0.5"): 120, ("ablations", "pool only: 0.25"): 60})

    def test_what_is_missing_is_named_and_nothing_written(self):
        with tempfile.TemporaryDirectory() as directory:
            folder = pathlib.Path(directory)
            (folder / "swap.md").write_text("no table here\n")
            failed = plot("--results", directory)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("error: no table with columns model, fraction, paper", failed.stderr)
            self.assertEqual([path.name for path in folder.iterdir()], ["swap.md"])
            (folder / "swap.md").unlink()
            failed = plot("--results", directory)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("swap.md", failed.stderr)
            self.assertNotIn("Traceback", failed.stderr)


if __name__ == "__main__":
    unittest.main()
