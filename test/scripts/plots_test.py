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
NAMES = ["ablations", "barriers", "serving", "training"]


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
            for name in ("serving.md", "barriers.md"):
                (folder / name).write_text((RESULTS / name).read_text())
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

    def test_curves_are_as_high_as_the_numbers(self):
        with tempfile.TemporaryDirectory() as directory:
            folder = pathlib.Path(directory)
            for name in ("serving.md", "swap.md"):
                (folder / name).write_text((RESULTS / name).read_text())
            figures = ["6.4a: stragglers, %", "6.5: workers", "6.5-polls: workers", "6.12: stragglers, %",
                       "6.14a: updates per worker", "6.15a: stragglers, %"]
            (folder / "barriers.md").write_text("\n".join(
                f"| {figure} | asp | bsp |\n|---|---|---|\n| 0 | 1.0 | 2.0 |\n| 10 | 4.0 | - |\n" for figure in figures))
            self.assertEqual(plot("--results", directory).returncode, 0)
            text = (folder / "plots" / "barriers.svg").read_text()
            dots = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="3" fill="[^"]*"><title>([^<]*)<', text)
            self.assertEqual(len(dots), 3 * len(figures))
            # The axes of the first one: 190 high, from 260 up to 4 at 70.
            self.assertEqual(dots[:3], [("50.0", "212.5", "asp: 1 at 0"), ("280.0", "70.0", "asp: 4 at 10"),
                                        ("50.0", "165.0", "bsp: 2 at 0")])

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
