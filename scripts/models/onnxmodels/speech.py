"""Whisper (Radford et al. 2022) with quantized weights: an encoder of sound, and a decoder of text with caches.

Inputs, outputs, dimensions and operators are those of ONNX Runtime GenAI's builder, except that GELU is the operator of
com.microsoft, because the standard's needs a newer opset. The encoder also computes the keys and values that the layers of
the decoder read of it.
"""

from __future__ import annotations

import dataclasses

from onnx import TensorProto

from .quantized import CONTRIB, EPSILON, NONE, SPREAD, BlockProducts, check_blocks
from .writer import ModelError, ModelWriter, Shape, Value


@dataclasses.dataclass(frozen=True)
class SpeechSize:
    """`frames`: an even number of frames of sound, each of which has `mels` frequencies. `context`: positions of text."""

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
    """The operators that the encoder and the decoder share. `length`: the number of positions of this part, or its name."""

    def __init__(self, writer: ModelWriter, size: SpeechSize, length: "int | str") -> None:
        size.check()
        super().__init__(writer, size, (writer.batch, length))

    def biased(self, x: Value, features: int, name: str) -> Value:
        made = self.product(x, features, f"{name}/MatMul")
        bias = self.writer.parameter(f"{name}/bias", (features,), SPREAD)
        return self.writer.node("Add", [made, bias], made.shape, f"{name}/Add")

    def norm_weights(self) -> list[Value]:
        wide = (self.size.hidden,)
        return [self.writer.parameter("weight", wide, mean=1.0), self.writer.parameter("bias", wide, SPREAD)]

    def norm(self, x: Value, name: str) -> Value:
        with self.writer.scope(name):
            return self.writer.node("LayerNormalization", [x, *self.norm_weights()], x.shape, "LayerNorm", axis=-1,
                                    epsilon=EPSILON)

    def skip_norm(self, x: Value, residual: Value, name: str) -> tuple[Value, Value]:
        """The normalized sum of both, and that sum."""
        normal, total = Value(f"{name}/output_0", x.shape), Value(f"{name}/output_3", x.shape)
        with self.writer.scope(name):
            self.writer.named_nodes("SkipLayerNormalization", [residual, x, *self.norm_weights()],
                                    [normal, NONE, NONE, total], "SkipLayerNorm", domain=CONTRIB, epsilon=EPSILON)
        return normal, total

    def attend(self, operands: list[Value], present: list[Value], name: str, hides_later: bool) -> Value:
        mixed = Value(f"{name}/MultiHeadAttention/output_0", operands[0].shape)
        self.writer.named_nodes("MultiHeadAttention", operands, [mixed, *present], f"{name}/MultiHeadAttention",
                                domain=CONTRIB, num_heads=self.size.heads, scale=self.size.head ** -0.5,
                                unidirectional=int(hides_later))
        return self.biased(mixed, self.size.hidden, f"{name}/o_proj")

    def self_attention(self, x: Value, name: str, past: list[Value], present: list[Value]) -> Value:
        """With caches, a position attends to itself and to those before it; else to all."""
        wide = self.size.hidden
        operands = [self.biased(x, wide, f"{name}/q_proj"), self.product(x, wide, f"{name}/k_proj/MatMul"),
                    self.biased(x, wide, f"{name}/v_proj")]
        return self.attend([*operands, NONE, NONE, NONE, *past] if past else operands, present, name, bool(past))

    def feed_forward(self, x: Value, name: str) -> Value:
        wide = self.biased(x, self.size.feed_forward, f"{name}/fc1")
        opened = self.writer.node("Gelu", [wide], wide.shape, f"{name}/act_fn/Gelu", domain=CONTRIB)
        return self.biased(opened, self.size.hidden, f"{name}/fc2")

    def cache(self, length: "int | str") -> Shape:
        return (self.writer.batch, self.size.heads, length, self.size.head)


class Encoder(Speech):
    def __init__(self, writer: ModelWriter, size: SpeechSize) -> None:
        super().__init__(writer, size, size.sounds)

    def convolved(self, x: Value, channels: int, length: int, stride: int, name: str) -> Value:
        writer, size, shape = self.writer, self.size, (self.writer.batch, self.size.hidden, length)
        weights = [writer.parameter(f"{name}.weight", (size.hidden, channels, 3), (3 * channels) ** -0.5),
                   writer.parameter(f"{name}.bias", (size.hidden,), SPREAD)]
        made = writer.node("Conv", [x, *weights], shape, f"/{name}/Conv", kernel_shape=[3], pads=[1, 1], strides=[stride])
        return writer.node("Gelu", [made], shape, f"/{name}/Gelu", domain=CONTRIB)

    def kept(self, x: Value, name: str, output: str) -> None:
        """Keys or values of a layer of the decoder, by heads."""
        writer, size = self.writer, self.size
        parts = writer.constant(f"{name}/heads", [-1, size.sounds, size.heads, size.head], "int64")
        split = writer.node("Reshape", [x, parts], (writer.batch, size.sounds, size.heads, size.head), f"{name}/Reshape")
        writer.output(writer.node("Transpose", [split], self.cache(size.sounds), f"{name}/Transpose", perm=[0, 2, 1, 3]),
                      output)

    def build(self) -> None:
        writer, size = self.writer, self.size
        sound = writer.input("audio_features", (writer.batch, size.mels, size.frames))
        x = self.convolved(sound, size.mels, size.frames, 1, "encoder.conv1")
        x = self.convolved(x, size.hidden, size.sounds, 2, "encoder.conv2")
        rows = writer.node("Transpose", [x], (*self.rows, size.hidden), "/model/preprocessing/Transpose", perm=[0, 2, 1])
        places = writer.parameter("encoder.embed_positions.weight", (size.sounds, size.hidden), SPREAD)
        residual = writer.node("Add", [rows, places], rows.shape, "/model/preprocessing/Add")
        normal = self.norm(residual, "/model/layers.0/input_layernorm")
        for layer in range(size.layers):
            name = f"/model/layers.{layer}"
            x = self.self_attention(normal, f"{name}/attn", [], [])
            normal, residual = self.skip_norm(x, residual, f"{name}/post_attention_layernorm")
            x = self.feed_forward(normal, f"{name}/mlp")
            following = "final_norm" if layer + 1 == size.layers else "input"
            normal, residual = self.skip_norm(x, residual, f"/model/layers.{layer + 1}/{following}_layernorm")
        for layer in range(size.layers):
            name = f"/model/layers.{layer}/attn/cross"
            self.kept(self.product(normal, size.hidden, f"{name}/k_proj/MatMul"), f"{name}/k_proj",
                      f"present_key_cross_{layer}")
            self.kept(self.biased(normal, size.hidden, f"{name}/v_proj"), f"{name}/v_proj", f"present_value_cross_{layer}")
        writer.output(normal, "hidden_states")


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

        with writer.scope("/model/preprocessing"):
            first, count = extent(past, 2, "past_key_subgraph"), extent(ids, 1, "input_ids_subgraph")
            end, zero = writer.node("Add", [first, count], (), "Add_1"), writer.constant("zero", [0], "int64")
            bounds = [writer.node("Unsqueeze", [bound, zero], (1,), f"Unsqueeze_{number}")
                      for number, bound in enumerate((first, end))]
            table = writer.parameter("embed_positions.weight", (size.context, size.hidden), SPREAD)
            steps = [zero, writer.constant("one", [1], "int64")]
            return writer.node("Slice", [table, *bounds, *steps], ("sequence_length", size.hidden), "Slice")

    def cross_attention(self, x: Value, layer: int, name: str) -> Value:
        kept = [self.writer.input(f"past_{kind}_cross_{layer}", self.cache(self.size.sounds)) for kind in ("key", "value")]
        return self.attend([self.biased(x, self.size.hidden, f"{name}/q_proj"), *kept], [], name, False)

    def build(self) -> None:
        writer, size = self.writer, self.size
        ids = writer.input("input_ids", self.rows, TensorProto.INT32)
        table = writer.parameter("decoder.embed_tokens.weight", (size.vocabulary, size.hidden), SPREAD)
        words = writer.node("Gather", [table, ids], (*self.rows, size.hidden), "/model/preprocessing/Gather_1", axis=0)
        logits = writer.declare_output("logits", (*self.rows, size.vocabulary))
        length = self.cache("past_sequence_length")
        pasts = [[writer.input(f"past_{kind}_self_{layer}", length) for kind in ("key", "value")]
                 for layer in range(size.layers)]
        residual = writer.node("Add", [words, self.positions(ids, pasts[0][0])], words.shape, "/model/preprocessing/Add")
        normal = self.norm(residual, "/model/layers.0/self_attn_layernorm")
        for layer, past in enumerate(pasts):
            name = f"/model/layers.{layer}"
            present = [writer.declare_output(f"present_{kind}_self_{layer}", self.cache("total_sequence_length"))
                       for kind in ("key", "value")]
            x = self.self_attention(normal, f"{name}/attn", past, present)
            normal, residual = self.skip_norm(x, residual, f"{name}/cross_attn_layernorm")
            x = self.cross_attention(normal, layer, f"{name}/cross_attn")
            normal, residual = self.skip_norm(x, residual, f"{name}/post_attention_layernorm")
            x = self.feed_forward(normal, f"{name}/mlp")
            following = "final_norm" if layer + 1 == size.layers else "self_attn"
            normal, residual = self.skip_norm(x, residual, f"/model/layers.{layer + 1}/{following}_layernorm")
        writer.rename(self.product(normal, size.vocabulary, "/lm_head/MatMul"), logits)
