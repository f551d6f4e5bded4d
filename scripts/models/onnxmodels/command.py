"""The command line of `scripts/models/build`."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Sequence, Union

from . import catalogue
from .writer import ModelError

# Options of some models: name, type, what it is. Which model takes which: the catalogue.
MODEL_OPTIONS = (
    ("size", int, "height and width of an image"),
    ("classes", int, "outputs of the classifier; BERT: 0 leaves it out"),
    ("batch-norm", bool, "batch normalization after convolutions, instead of biases"),
    ("filters", int, "NASNet: channels of the last cell, a multiple of 96 (large: 4032, mobile: 1056)"),
    ("stem", int, "NASNet: channels of the first convolution (large: 96, mobile: 32)"),
    ("skip-reduction", bool, "NASNet: the cell after a reduction reads past it (large: yes, mobile: no)"),
    ("steps", int, "RNN: steps to unroll"),
    ("features", int, "RNN: width of a step's input"),
    ("layers", int, "transformers: blocks"),
    ("heads", int, "transformers: attention heads"),
    ("hidden", int, "transformers: width of a position"),
    ("feed-forward", int, "transformers: inner width of a block's second half"),
    ("sequence", int, "transformers: positions"),
    ("frames", int, "Whisper: frames of sound"),
    ("mels", int, "Whisper: frequencies of a frame"),
    ("vocabulary", int, "transformers: words"),
    ("kv-heads", int, "quantized: heads of keys and values (default: --heads)"),
    ("context", int, "quantized: the most positions"),
    ("bits", int, "quantized: of a weight, 2, 4 or 8"),
    ("block", int, "quantized: weights that share a scale"),
    ("accuracy-level", int, "quantized: how far ONNX Runtime may round the input of a product; 0: not said, 4: to bytes"),
    ("experts", int, "llama: experts of a layer, of which a token chooses some; 0: one feed-forward network for all"),
    ("experts-per-token", int, "llama: experts that a token chooses"),
    ("gguf", bool, "llama: also writes the weights as FILE.gguf, which llama.cpp reads"),
    ("word-spread", float, "quantized: standard deviation of the words' vectors; with 1, words choose experts evenly"),
    ("genai", bool, "llama: also writes genai_config.json, which ONNX Runtime GenAI reads"),
    ("rate", float, "mnist-softmax: learning rate"),
)


def dimension(text: str) -> Union[int, str]:
    """A positive number, or a name to bind later."""
    if text.isidentifier():
        return text
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is neither a positive number nor a name")
    return value


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="build", description="Write a model as ONNX.", allow_abbrev=False)
    made.add_argument("name", nargs="?", metavar="NAME", help="the model; --list shows them")
    made.add_argument("-o", "--output", type=pathlib.Path, metavar="PATH", help="FILE.onnx, or a folder for model.onnx")
    made.add_argument("--list", action="store_true", help="show the models and their options")
    made.add_argument("--batch", type=dimension, metavar="N", help="batch size, or a name for it (default: batch)")
    made.add_argument("--weights", choices=("none", "random"), default="none",
                      help="none: external data that is not there, enough to plan with; random: drawn (default: none)")
    made.add_argument("--seed", type=int, default=0, help="of random weights (default: 0)")
    group = made.add_argument_group("options of some models")
    for name, kind, text in MODEL_OPTIONS:
        if kind is bool:
            group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            group.add_argument(f"--{name}", type=kind, metavar="N", help=text)
    return made


def list_models() -> None:
    for family in catalogue.FAMILIES:
        print(f"{family.example:16} {family.summary}")
        if family.defaults:
            print(f"{'':16} {' '.join(_shown(name, value) for name, value in family.defaults.items())}")


def _shown(name: str, value: object) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{'' if value else 'no-'}{flag}"
    return f"--{flag}" if value is None else f"--{flag}={value}"


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0, 1 where the model cannot be built, 2 on wrong usage."""
    options = parser()
    given = options.parse_args(arguments)
    if given.list:
        list_models()
        return 0
    if not given.name or not given.output:
        options.error("give a model's NAME and -o PATH, or --list")
    named = ((name, getattr(given, name)) for name in (option.replace("-", "_") for option, _, _ in MODEL_OPTIONS))
    own = {name: value for name, value in named if value is not None}
    file = given.output if given.output.suffix == ".onnx" else given.output / "model.onnx"
    try:
        writer = catalogue.build(given.name, given.batch, **own)
        writer.write(file, given.weights, given.seed)
    except ModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: cannot write '{file}', {error.strerror}", file=sys.stderr)
        return 1
    print(f"{file}: {writer.name}, {writer.trainable_count:,} trainable parameters")
    return 0
