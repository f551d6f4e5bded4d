"""The models by name: which options each takes, and their defaults.

A name is a pattern: `wresnet-152-10` is 152 layers with ten times the channels.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Mapping, Optional

from . import classifiers, inception, nasnet, quantized, recurrent, speech, transformers
from .writer import Dim, ModelError, ModelWriter

Options = Mapping[str, Any]
Build = Callable[[ModelWriter, "re.Match[str]", Options], None]

LLAMA = {"llama-7b": (32, 32, 4096, 11008), "llama-13b": (40, 40, 5120, 13824), "llama-30b": (60, 52, 6656, 17920),
         "llama-65b": (80, 64, 8192, 22016)}
GPT2 = {"gpt2": (12, 12, 768), "gpt2-medium": (24, 16, 1024), "gpt2-large": (36, 20, 1280), "gpt2-xl": (48, 25, 1600)}
BERT = {"bert-base": (12, 12, 768), "bert-large": (24, 16, 1024)}


@dataclasses.dataclass(frozen=True)
class Family:
    """Models that one builder writes."""

    example: str
    pattern: str
    summary: str
    build: Build
    defaults: Options

    def match(self, name: str) -> Optional["re.Match[str]"]:
        return re.fullmatch(self.pattern, name)


def kilo(match: "re.Match[str]", group: str) -> int:
    """`8k` is 8192, `300` is 300."""
    text = match[group]
    return int(text[:-1]) * 1024 if text.endswith("k") else int(text)


def _transformer(sizes: Mapping[str, tuple[int, ...]], options: Options, name: str) -> transformers.Size:
    published = sizes[name]
    hidden = options["hidden"] or published[2]
    wide = options["feed_forward"] or (4 * hidden if len(published) == 3 or options["hidden"] else published[3])
    return transformers.Size(options["layers"] or published[0], options["heads"] or published[1], hidden, wide,
                             options["sequence"], options["vocabulary"])


def _quantized(decoder: "type[quantized.QuantizedDecoder]") -> Build:
    def build(writer: ModelWriter, _: "re.Match[str]", options: Options) -> None:
        hidden, heads = options["hidden"], options["heads"]
        given = {"experts": 0, "experts_per_token": 0, "gguf": False, "genai": False, **options,
                 "kv_heads": options["kv_heads"] or heads,
                 # Two thirds of four times the width, in steps of 64.
                 "feed_forward": options["feed_forward"] or -(-8 * hidden // 192) * 64}
        decoder(writer, quantized.QuantizedSize(**given)).build()
    return build


def _speech(part: "type[speech.Encoder] | type[speech.Decoder]") -> Build:
    def build(writer: ModelWriter, _: "re.Match[str]", options: Options) -> None:
        given = {**options, "feed_forward": options["feed_forward"] or 4 * options["hidden"]}
        part(writer, speech.SpeechSize(**given)).build()
    return build


_IMAGE = {"size": 224, "classes": 1000}
_NORMED = {**_IMAGE, "batch_norm": True}
# With these, SwapAdvisor's counts of RNN-8-8K are met exactly: docs/results/training-models.md.
_UNROLLED = {"steps": 35, "features": 512, "classes": 512}
_TRANSFORMER = {"layers": None, "heads": None, "hidden": None, "feed_forward": None}
_QUANTIZED = {"layers": 4, "heads": 8, "kv_heads": None, "hidden": 512, "feed_forward": None, "vocabulary": 32000,
              "context": 4096, "bits": 4, "block": 32, "accuracy_level": 0, "word_spread": 0.02}
_SPEECH = {"layers": 4, "heads": 6, "hidden": 384, "feed_forward": None, "vocabulary": 51865, "context": 448,
           "frames": 3000, "mels": 80, "bits": 4, "block": 32, "accuracy_level": 0}
_NAS = {"filters": 4032, "stem": 96, "skip_reduction": True}


def _recurrent(bidirectional: bool) -> Build:
    def build(writer: ModelWriter, match: "re.Match[str]", options: Options) -> None:
        recurrent.lstm(writer, int(match["layers"]), kilo(match, "hidden"), options["steps"], options["features"],
                       options["classes"], bidirectional)
    return build


def _nasnet(writer: ModelWriter, match: "re.Match[str]", options: Options) -> None:
    nasnet.nasnet(writer, int(match["repeats"]), options["filters"], options["stem"], options["skip_reduction"],
                  options["size"], options["classes"], options["batch_norm"])


_BATCHES: Mapping[str, Dim] = {"mnist-softmax": 100,
                               **dict.fromkeys(("llama", "phi3", "qwen3", "gemma2", "whisper-encoder", "whisper-decoder"),
                                               "batch_size")}
FAMILIES = (
    Family("alexnet", "alexnet", "AlexNet, the single-column variant",
           lambda w, m, o: classifiers.alexnet(w, o["size"], o["classes"]), _IMAGE),
    Family("vgg-16", "vgg-16", "VGG-16",
           lambda w, m, o: classifiers.vgg16(w, o["size"], o["classes"], o["batch_norm"]),
           {**_NORMED, "batch_norm": False}),
    Family("resnet-50", "resnet-(?P<depth>50|101|152)", "ResNet with 50, 101 or 152 layers",
           lambda w, m, o: classifiers.resnet(w, int(m["depth"]), 1, o["size"], o["classes"], o["batch_norm"]),
           _NORMED),
    Family("wresnet-152-10", r"wresnet-(?P<depth>50|101|152)-(?P<wide>[1-9]\d*)", "ResNet with X times the channels",
           lambda w, m, o: classifiers.resnet(w, int(m["depth"]), int(m["wide"]), o["size"], o["classes"],
                                              o["batch_norm"]), _NORMED),
    Family("inception-v4-4", r"inception-v4(-(?P<wide>[1-9]\d*))?", "Inception-V4 with X times the channels",
           lambda w, m, o: inception.inception_v4(w, int(m["wide"] or 1), o["size"], o["classes"], o["batch_norm"]),
           {**_NORMED, "size": 299}),
    Family("nasnet-25", r"nasnet-(?P<repeats>[1-9]\d*)", "NASNet-A, R normal cells in each of three stages; "
           "nasnet-6 as it stands is the published large model", _nasnet, {**_NORMED, "size": 331, **_NAS}),
    Family("rnn-8-8k", r"rnn-(?P<layers>[1-9]\d*)-(?P<hidden>[1-9]\d*k?)", "L LSTM layers of XK units, unrolled",
           _recurrent(False), _UNROLLED),
    Family("brnn-4-8k", r"brnn-(?P<layers>[1-9]\d*)-(?P<hidden>[1-9]\d*k?)",
           "L LSTM layers in both directions, unrolled", _recurrent(True), _UNROLLED),
    Family("mlp-4-8k", r"mlp-(?P<layers>[1-9]\d*)-(?P<hidden>[1-9]\d*k?)", "SoyBean's MLP: L square layers of XK units",
           lambda w, m, o: classifiers.mlp(w, int(m["layers"]), kilo(m, "hidden")), {}),
    Family("cnn-5-2k", r"cnn-(?P<layers>[1-9]\d*)-(?P<filters>[1-9]\d*k?)",
           "SoyBean's CNN: L convolutions of XK filters",
           lambda w, m, o: classifiers.cnn(w, int(m["layers"]), kilo(m, "filters"), o["size"], o["classes"]),
           {"size": 6, "classes": 1000}),
    Family("mnist-softmax", "mnist-softmax", "a training step of softmax regression as ten operators; batch 100",
           lambda w, m, o: classifiers.mnist_softmax(w, o["rate"]), {"rate": 0.5}),
    Family("bert-base", "bert-(base|large)", "BERT's encoder and pooler",
           lambda w, m, o: transformers.bert(w, _transformer(BERT, o, m[0]), o["classes"]),
           {**_TRANSFORMER, "sequence": 128, "vocabulary": 30522, "classes": 0}),
    Family("gpt2", "gpt2(-medium|-large|-xl)?", "GPT-2",
           lambda w, m, o: transformers.gpt2(w, _transformer(GPT2, o, m[0])),
           {**_TRANSFORMER, "sequence": 1024, "vocabulary": 50257}),
    Family("llama", "llama", "a LLaMA of any size with quantized weights and caches, as ONNX Runtime GenAI's builder "
           "writes it", _quantized(quantized.QuantizedDecoder),
           {**_QUANTIZED, "experts": 0, "experts_per_token": 2, "gguf": False, "genai": False}),
    Family("phi3", "phi3", "the same for Phi-3 and Phi-4-mini: queries, keys and values of one product, a window, heads "
           "that are rotated in part", _quantized(quantized.Phi3), _QUANTIZED),
    Family("qwen3", "qwen3", "the same for Qwen 3: normalized queries and keys", _quantized(quantized.Qwen3), _QUANTIZED),
    Family("gemma2", "gemma2", "the same for Gemma 2: four norms in a layer, windows, GELU, capped scores",
           _quantized(quantized.Gemma2), _QUANTIZED),
    Family("whisper-encoder", "whisper-encoder", "Whisper's encoder with quantized weights, as ONNX Runtime GenAI's "
           "builder writes it", _speech(speech.Encoder), _SPEECH),
    Family("whisper-decoder", "whisper-decoder", "the same for Whisper's decoder of text, with caches",
           _speech(speech.Decoder), _SPEECH),
    Family("llama-7b", "llama-(7|13|30|65)b", "LLaMA",
           lambda w, m, o: transformers.llama(w, _transformer(LLAMA, o, m[0])),
           {**_TRANSFORMER, "sequence": 2048, "vocabulary": 32000}),
)


def build(name: str, batch: Optional[Dim] = None, **given: Any) -> ModelWriter:
    """The model `name`; options left out have the family's defaults. Fails with ModelError."""
    for family in FAMILIES:
        match = family.match(name)
        if not match:
            continue
        for option in given:
            if option not in family.defaults:
                known = ", ".join(f"--{key.replace('_', '-')}" for key in family.defaults) or "none of its own"
                raise ModelError(f"model '{name}' has no option '--{option.replace('_', '-')}', give some of: {known}")
        options = {**family.defaults, **given}
        for option, value in options.items():
            least = 0 if family.defaults[option] == 0 else 1
            if isinstance(value, int) and not isinstance(value, bool) and value < least:
                raise ModelError(f"option '--{option.replace('_', '-')}' is {value}, give at least {least}")
        writer = ModelWriter(name, batch or _BATCHES.get(name, "batch"))
        family.build(writer, match, options)
        return writer
    raise ModelError(f"model '{name}' does not exist, give a name that --list prints")
