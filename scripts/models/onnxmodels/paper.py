"""SwapAdvisor's Table 1 beside the same count of our models, and one model's count part by part."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any, Optional, Sequence

import onnx

from . import catalogue
from .footprint import Counter, Footprint
from .writer import ModelError


@dataclasses.dataclass(frozen=True)
class Row:
    """A model as counted. `published`: gigabytes, operators, tensor sizes."""

    name: str
    batch: int
    options: dict[str, Any]
    published: Optional[tuple[int, int, int]] = None

    @property
    def label(self) -> str:
        said = {"batch_norm": {True: "batch norm", False: "no batch norm"}}
        parts = [said[key][value] if key in said else f"{value} {'px' if key == 'size' else key}"
                 for key, value in self.options.items()]
        return ", ".join([self.name, *parts])


# The paper leaves image sizes (but 224 for WResNet), steps, and whether there is batch normalization unsaid. The reading
# that fits comes first, with what is published. Other sizes and steps are one `build` and one `footprint MODEL` away.
ROWS = (
    Row("wresnet-152-10", 64, {"batch_norm": False, "size": 224}, (180, 882, 26)),
    Row("wresnet-152-10", 64, {"batch_norm": True, "size": 224}),
    Row("inception-v4-4", 64, {"batch_norm": False, "size": 299}, (71, 830, 64)),
    Row("inception-v4-4", 64, {"batch_norm": True, "size": 299}),
    Row("nasnet-25", 64, {"batch_norm": True, "size": 224}, (193, 5533, 65)),
    Row("nasnet-25", 64, {"batch_norm": False, "size": 224}),
    Row("rnn-8-8k", 256, {"steps": 35}, (118, 8594, 7)),
    Row("brnn-4-8k", 128, {"steps": 35}, (99, 9034, 9)),
)


def count(row: Row) -> Footprint:
    return Counter(catalogue.build(row.name, row.batch, **row.options).model()).count()


def as_json(row: Row, found: Footprint) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "model": row.name, "batch": row.batch, "options": row.options, "memory_gb": round(found.total_bytes / 1e9, 1),
        "operators": found.operators, "operators_apart": found.operators_apart, "tensor_sizes": len(found.sizes)}
    if row.published:
        entry["paper"] = dict(zip(("memory_gb", "operators", "tensor_sizes"), row.published))
    return entry


def print_table() -> None:
    print("| model | batch | GB | operators | weights' apart | sizes | paper: GB | operators | sizes |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in ROWS:
        found = count(row)
        published = " | ".join(str(value) for value in row.published) if row.published else " | | "
        print(f"| {row.label} | {row.batch} | {found.total_bytes / 1e9:.1f} | {found.operators} | "
              f"{found.operators_apart} | {len(found.sizes)} | {published} |", flush=True)


def print_parts(path: str) -> None:
    """By the first part of the operators' names: for NASNet, cell by cell."""
    found = Counter(onnx.load(path, load_external_data=False)).count()
    print("| part | operators | GB without weights |\n|---|---:|---:|")
    for part, operators in found.operators_of.items():
        print(f"| {part} | {operators} | {found.bytes_of[part] / 1e9:.2f} |")
    print(f"| all | {found.operators} | {(found.total_bytes - found.weight_bytes) / 1e9:.2f} |")
    print(f"\nweights, three times: {found.weight_bytes / 1e9:.2f} GB; distinct tensor sizes: {len(found.sizes)}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="footprint", allow_abbrev=False,
                                     description="Count a training step's operators and bytes at MXNet's grain.")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="built with --batch N, without weights: part by part")
    parser.add_argument("--paper", action="store_true", help="the models of SwapAdvisor's Table 1 beside its numbers")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of --paper")
    given = parser.parse_args(arguments)
    if given.paper == bool(given.model):
        parser.error("give a MODEL or --paper")
    try:
        if given.model:
            print_parts(given.model)
        elif given.format == "json":
            print(json.dumps([as_json(row, count(row)) for row in ROWS], indent=1))
        else:
            print_table()
    except ModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (OSError, onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
        print(f"error: cannot read '{given.model}', {error}", file=sys.stderr)
        return 1
    return 0
