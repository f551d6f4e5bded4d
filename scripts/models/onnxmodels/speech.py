"""Whisper (Radford et al. 2022) with quantized weights: an encoder of sound, and a decoder of text with caches.

Both are split as ONNX Runtime's exporter splits them: the encoder also computes the keys and values that the layers of
the decoder read of it. Inputs, outputs and operators of com.microsoft have that exporter's names.
"""

from __future__ import annotations

import dataclasses
from typing import Optional

from onnx import TensorProto

from .quantized import CONTRIB, EPSILON, NONE, SPREAD, BlockProducts, check_blocks
from .writer import ModelError, ModelWriter, Shape, Value


@dataclasses.dataclass(frozen=True)
class SpeechSize:
    """`frames`: of sound, an even number, each of `mels` frequencies. `context`: positions of text."""

    layers: int
    heads: int
    hidden: int
    feed_forward: int
    vocabulary: int
    context: int
    frames: int
    mels: int
    bits: int
    block: int
    accuracy_level: int

    @property
    def head(self) -> int:
        return self.hidden // self.heads

    @property
    def sounds(self) -> int:
        """Positions of the encoder's result."""
        return self.frames // 2

    def check(self) -> None:
        if self.hidden % self.heads:
            raise ModelError(f"hidden size {self.hidden} cannot be divided into {self.heads} heads, "
                             "change --hidden or --heads")
        check_blocks(self)
        if self.frames % 2:
            raise ModelError(f"option '--frames' is {self.frames}, give an even number")


class Speech(BlockProducts):
    """The operators that the encoder and the decoder share. `length` is the number of positions of this part, or its name."""

    def __init__(self, writer: ModelWriter, size: SpeechSize, length: "int | str") -> None:
        size.check()
        super().__init__(writer, size, (writer.batch, length))

    def vector(self, name: str, mean: float = 0.0) -> Value:
        return self.writer.parameter(name, (self.size.hidden,), 0.0 if mean else SPREAD, mean)

    def biased(self, x: Value, name: str) -> Value:
        """A product of the width of the model, with a bias."""
        made = self.product(x, self.size.hidden, name)
        with self.writer.scope(name):
            return self.writer.node("Add", [made, self.vector("bias")], made.shape, "Add")

    def norm(self, x: Value, name: str) -> Value:
        with self.writer.scope(name):
            return self.writer.node("LayerNormalization", [x, self.vector("weight", 1.0), self.vector("bias")], x.shape,
                                    "LayerNormalization", axis=-1, epsilon=EPSILON)

    def skip_norm(self, x: Value, bias: Value, residual: Value, name: str) -> tuple[Value, Value]:
        """The normalized sum of x, its bias and the residual, and that sum."""
        normal, total = Value(f"{name}/output_0", x.shape), Value(f"{name}/output_3", x.shape)
        with self.writer.scope(name):
            inputs = [x, residual, self.vector("weight", 1.0), self.vector("bias"), bias]
            self.writer.named_nodes("SkipLayerNormalization", inputs, [normal, NONE, NONE, total],
                                    "SkipLayerNormalization", domain=CONTRIB, epsilon=EPSILON)
        return normal, total

    def self_attention(self, x: Value, name: str, past: "list[Value]", present: "list[Value]") -> tuple[Value, Value]:
        """Attention without its last bias, and this bias. With caches, positions attend to themselves and those before."""
        writer, size = self.writer, self.size
        operands = [self.product(x, size.hidden, f"{name}/{which}_proj") for which in ("q", "k", "v")]
        bias = writer.parameter(f"{name}/qkv_bias", (3 * size.hidden,), SPREAD)
        mixed = Value(f"{name}/MultiHeadAttention/output_0", x.shape)
        caches = [NONE, NONE, *past] if past else []
        writer.named_nodes("MultiHeadAttention", [*operands, bias, *caches], [mixed, *present],
                           f"{name}/MultiHeadAttention", domain=CONTRIB, num_heads=size.heads,
                           unidirectional=int(bool(past)))
        return self.product(mixed, size.hidden, f"{name}/out_proj"), self.vector(f"{name}/out_proj/bias")

    def feed_forward(self, x: Value, name: str) -> tuple[Value, Value]:
        writer, size = self.writer, self.size
        wide = self.product(x, size.feed_forward, f"{name}/fc1")
        bias = writer.parameter(f"{name}/fc1/bias", (size.feed_forward,), SPREAD)
        opened = writer.node("BiasGelu", [wide, bias], wide.shape, f"{name}/BiasGelu", domain=CONTRIB)
        return self.product(opened, size.hidden, f"{name}/fc2"), self.vector(f"{name}/fc2/bias")

    def cache(self, length: "int | str") -> Shape:
        return (self.writer.batch, self.size.heads, length, self.size.head)


class Encoder(Speech):
    def __init__(self, writer: ModelWriter, size: SpeechSize) -> None:
        super().__init__(writer, size, size.sounds)

    def convolved(self, x: Value, channels: int, length: int, stride: int, name: str) -> Value:
        writer, size, shape = self.writer, self.size, (self.writer.batch, self.size.hidden, length)
        with writer.scope(name):
            weight = writer.parameter("weight", (size.hidden, channels, 3), (3 * channels) ** -0.5)
            made = writer.node("Conv", [x, weight, self.vector("bias")], shape, "Conv", kernel_shape=[3], pads=[1, 1],
                               strides=[stride])
            return writer.node("Gelu", [made], shape, "Gelu", domain=CONTRIB)

    def kept(self, x: Value, name: str, output: str) -> None:
        """Keys or values of a layer of the decoder, by heads."""
        writer, size = self.writer, self.size
        parts = writer.constant(f"{name}/heads", [0, 0, size.heads, size.head], "int64")
        split = writer.node("Reshape", [x, parts], (writer.batch, size.sounds, size.heads, size.head), f"{name}/Reshape")
        writer.output(writer.node("Transpose", [split], self.cache(size.sounds), f"{name}/Transpose", perm=[0, 2, 1, 3]),
                      output)

    def build(self) -> None:
        writer, size = self.writer, self.size
        sound = writer.input("audio_features", (writer.batch, size.mels, size.frames))
        x = self.convolved(sound, size.mels, size.frames, 1, "/encoder/conv1")
        x = self.convolved(x, size.hidden, size.sounds, 2, "/encoder/conv2")
        rows = writer.node("Transpose", [x], (*self.rows, size.hidden), "/encoder/Transpose", perm=[0, 2, 1])
        places = writer.parameter("encoder.positions.weight", (size.sounds, size.hidden), SPREAD)
        residual = writer.node("Add", [rows, places], rows.shape, "/encoder/Add")
        normal = self.norm(residual, "/encoder/layers.0/attn_norm")
        for layer in range(size.layers):
            name = f"/encoder/layers.{layer}"
            x, bias = self.self_attention(normal, f"{name}/attn", [], [])
            normal, residual = self.skip_norm(x, bias, residual, f"{name}/mlp_norm")
            x, bias = self.feed_forward(normal, f"{name}/mlp")
            following = f"/encoder/layers.{layer + 1}/attn_norm" if layer + 1 < size.layers else "/encoder/final_norm"
            normal, residual = self.skip_norm(x, bias, residual, following)
        for layer in range(size.layers):
            name = f"/decoder/layers.{layer}/cross_attn"
            self.kept(self.product(normal, size.hidden, f"{name}/k_proj"), f"{name}/k", f"present_key_cross_{layer}")
            self.kept(self.biased(normal, f"{name}/v_proj"), f"{name}/v", f"present_value_cross_{layer}")


class Decoder(Speech):
    def __init__(self, writer: ModelWriter, size: SpeechSize) -> None:
        super().__init__(writer, size, "sequence_length")

    def positions(self, ids: Value, past: Value) -> Value:
        """The vectors of the positions from the end of the caches on."""
        writer, size = self.writer, self.size

        def extent(value: Value, axis: int, name: str) -> Value:
            shape = writer.node("Shape", [value], (len(value.shape),), f"{name}/Shape")
            return writer.node("Gather", [shape, writer.constant(f"{name}/axis", axis, "int64")], (), f"{name}/Gather",
                               axis=0)

        with writer.scope("/decoder/positions"):
            first, count = extent(past, 2, "past"), extent(ids, 1, "sequence")
            end = writer.node("Add", [first, count], (), "end")
            numbers = writer.node("Range", [first, end, writer.constant("one", 1, "int64")], ("sequence_length",), "Range")
            table = writer.parameter("weight", (size.context, size.hidden), SPREAD)
            return writer.node("Gather", [table, numbers], ("sequence_length", size.hidden), "Gather", axis=0)

    def cross_attention(self, x: Value, layer: int, name: str) -> tuple[Value, Value]:
        writer, size = self.writer, self.size
        past = [writer.input(f"past_{kind}_cross_{layer}", self.cache(size.sounds)) for kind in ("key", "value")]
        query = self.biased(x, f"{name}/q_proj")
        mixed = writer.node("MultiHeadAttention", [query, *past], x.shape, f"{name}/MultiHeadAttention", domain=CONTRIB,
                            num_heads=size.heads)
        return self.product(mixed, size.hidden, f"{name}/out_proj"), self.vector(f"{name}/out_proj/bias")

    def build(self) -> None:
        writer, size = self.writer, self.size
        ids = writer.input("input_ids", self.rows, TensorProto.INT64)
        table = writer.parameter("decoder.tokens.weight", (size.vocabulary, size.hidden), SPREAD)
        words = writer.node("Gather", [table, ids], (*self.rows, size.hidden), "/decoder/tokens/Gather", axis=0)
        logits = writer.declare_output("logits", (*self.rows, size.vocabulary))
        residual: Optional[Value] = None
        normal = words
        for layer in range(size.layers):
            name = f"/decoder/layers.{layer}"
            past = [writer.input(f"past_{kind}_self_{layer}", self.cache("past_decode_sequence_length"))
                    for kind in ("key", "value")]
            present = [writer.declare_output(f"present_{kind}_self_{layer}", self.cache("total_decode_sequence_length"))
                       for kind in ("key", "value")]
            if residual is None:
                residual = writer.node("Add", [words, self.positions(ids, past[0])], words.shape, "/decoder/Add")
                normal = self.norm(residual, f"{name}/attn_norm")
            x, bias = self.self_attention(normal, f"{name}/attn", past, present)
            normal, residual = self.skip_norm(x, bias, residual, f"{name}/cross_attn_norm")
            x, bias = self.cross_attention(normal, layer, f"{name}/cross_attn")
            normal, residual = self.skip_norm(x, bias, residual, f"{name}/mlp_norm")
            x, bias = self.feed_forward(normal, f"{name}/mlp")
            following = f"/decoder/layers.{layer + 1}/attn_norm" if layer + 1 < size.layers else "/decoder/final_norm"
            normal, residual = self.skip_norm(x, bias, residual, following)
        writer.rename(self.product(normal, size.vocabulary, "/proj_out"), logits)
