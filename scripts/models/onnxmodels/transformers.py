"""Encoders and decoders of any size: BERT, GPT-2 and LLaMA as published.

Sequences have a fixed length, so that every shape is known. Decoders end in
`logits` [batch * sequence, vocabulary], a row for each position.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Optional

import numpy
from onnx import TensorProto

from .layers import Layers
from .writer import Dim, ModelError, ModelWriter, Value

MASKED = -1e9


@dataclasses.dataclass(frozen=True)
class Size:
    """Of a transformer. `feed_forward`: width between the two (or three) matrices that follow attention."""

    layers: int
    heads: int
    hidden: int
    feed_forward: int
    sequence: int
    vocabulary: int

    def check(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value < 1:
                raise ModelError(f"option '--{name.replace('_', '-')}' is {value}, give a positive number")
        if self.hidden % (2 * self.heads):
            raise ModelError(f"hidden size {self.hidden} cannot be divided into {self.heads} heads of even width, "
                             "change --hidden or --heads")


class Transformer(Layers):
    """Blocks of attention and feed-forward over [batch, sequence, hidden]."""

    def __init__(self, writer: ModelWriter, size: Size, epsilon: float, bias: bool) -> None:
        size.check()
        super().__init__(writer, epsilon=epsilon)
        self.size = size
        self.bias = bias
        self.head = size.hidden // size.heads

    def tokens(self, name: str = "input_ids") -> Value:
        return self.writer.input(name, (self.writer.batch, self.size.sequence), TensorProto.INT64)

    def table(self, rows: int, name: str) -> Value:
        return self.writer.parameter(name, (rows, self.size.hidden), 0.02)

    def embed(self, table: Value, ids: Value) -> Value:
        return self.writer.node("Gather", [table, ids], (*ids.shape, self.size.hidden), "embed", axis=0)

    def project(self, x: Value, features: int, name: str) -> Value:
        """x W + b over the last dimension."""
        width = x.shape[-1]
        with self.writer.scope(name):
            weight = self.writer.parameter("weight", (int(width), features), 0.02)
            y = self.writer.node("MatMul", [x, weight], (*x.shape[:-1], features), "product")
            return self.add(y, self.writer.parameter("bias", (features,)), "biased") if self.bias else y

    def layer_norm(self, x: Value, name: str) -> Value:
        with self.writer.scope(name):
            operands = [x, self.writer.parameter("scale", (self.size.hidden,), mean=1.0),
                        self.writer.parameter("bias", (self.size.hidden,))]
        return self.writer.node("LayerNormalization", operands, x.shape, name, axis=-1, epsilon=self.epsilon)

    def rms_norm(self, x: Value, name: str) -> Value:
        """x / sqrt(mean(x^2) + epsilon) * scale."""
        with self.writer.scope(name):
            square = self.binary("Mul", x, x, "square")
            mean = self.writer.node("ReduceMean", [square], (*x.shape[:-1], 1), "mean", axes=[-1], keepdims=1)
            root = self.unary("Sqrt", self.add(mean, self.scalar("epsilon", self.epsilon), "safe"), "root")
            scale = self.writer.parameter("scale", (self.size.hidden,), mean=1.0)
            return self.binary("Mul", self.binary("Div", x, root, "normal"), scale, "scaled")

    def scalar(self, name: str, value: float) -> Value:
        return self.writer.constant(name, value)

    def reshape(self, x: Value, shape: tuple[Dim, ...], name: str) -> Value:
        """The batch dimension, where it is first, is copied; rows of a batch are counted by the reader."""
        target = [0] + [int(dim) for dim in shape[1:]] if shape[0] == x.shape[0] else [-1] + [int(d) for d in shape[1:]]
        return self.writer.node("Reshape", [x, self.writer.constant(f"{name}_shape", target, "int64")], shape, name)

    def split_heads(self, x: Value, name: str) -> Value:
        """[batch, sequence, hidden] to [batch, heads, sequence, head]."""
        parted = self.reshape(x, (x.shape[0], self.size.sequence, self.size.heads, self.head), f"{name}_parted")
        return self.transpose(parted, [0, 2, 1, 3], f"{name}_heads")

    def transpose(self, x: Value, order: list[int], name: str) -> Value:
        return self.writer.node("Transpose", [x], tuple(x.shape[axis] for axis in order), name, perm=order)

    def attend(self, query: Value, key: Value, value: Value, mask: Optional[Value]) -> Value:
        """softmax(Q K^T / sqrt(head) + mask) V, its heads joined again."""
        batch, sequence = query.shape[0], self.size.sequence
        square = (batch, self.size.heads, sequence, sequence)
        scores = self.writer.node("MatMul", [query, self.transpose(key, [0, 1, 3, 2], "key_columns")], square, "scores")
        scores = self.binary("Mul", scores, self.scalar("temperature", 1.0 / math.sqrt(self.head)), "scaled")
        if mask is not None:
            scores = self.add(scores, mask, "masked")
        share = self.writer.node("Softmax", [scores], square, "share", axis=-1)
        mixed = self.writer.node("MatMul", [share, value], query.shape, "mixed")
        return self.reshape(self.transpose(mixed, [0, 2, 1, 3], "joined"), (batch, sequence, self.size.hidden), "flat")

    def causal_mask(self) -> Value:
        """No position looks ahead."""
        length = self.size.sequence
        here = self.writer.constant("here", numpy.arange(length).reshape(length, 1), "int64")
        there = self.writer.constant("there", numpy.arange(length), "int64")
        ahead = self.writer.node("Greater", [there, here], (length, length), "ahead")
        choices = [ahead, self.scalar("far", MASKED), self.scalar("near", 0.0)]
        return self.writer.node("Where", choices, (length, length), "causal_mask")

    def rows(self, x: Value) -> Value:
        """[batch, sequence, hidden] to [batch * sequence, hidden]."""
        batch = x.shape[0]
        count: Dim = "rows" if isinstance(batch, str) else batch * self.size.sequence
        return self.reshape(x, (count, self.size.hidden), "rows")

    def decode(self, x: Value, table: Value) -> None:
        rows = self.rows(x)
        logits = self.writer.node("Gemm", [rows, table], (rows.shape[0], self.size.vocabulary), "decode", transB=1)
        self.writer.output(logits, "logits")


def bert(writer: ModelWriter, size: Size, classes: int) -> None:
    """Devlin et al. (2019): the encoder and its pooler; with `classes`, a classifier on top."""
    net = Transformer(writer, size, 1e-12, bias=True)
    ids, kinds = net.tokens(), net.tokens("token_type_ids")
    visible = writer.input("attention_mask", (writer.batch, size.sequence))
    # 1 where a token counts becomes 0, and 0 becomes MASKED.
    hidden = net.binary("Mul", net.binary("Sub", visible, net.scalar("one", 1.0), "hidden"), net.scalar("far", -MASKED))
    axes = writer.constant("mask_axes", [1, 2], "int64")
    mask = writer.node("Unsqueeze", [hidden, axes], (writer.batch, 1, 1, size.sequence), "mask")
    x = net.add(net.embed(net.table(size.vocabulary, "words"), ids), net.embed(net.table(2, "kinds"), kinds))
    x = net.layer_norm(net.add(x, _positions(net, 512)), "embedding_norm")
    x = net.dropout(x, 0.1)
    for index in range(size.layers):
        with writer.scope(f"layer{index}"):
            query, key, value = (net.split_heads(net.project(x, size.hidden, name), name)
                                 for name in ("query", "key", "value"))
            mixed = net.project(net.attend(query, key, value, mask), size.hidden, "output")
            x = net.layer_norm(net.add(net.dropout(mixed, 0.1), x), "attention_norm")
            wide = _gelu(net, net.project(x, size.feed_forward, "up"))
            x = net.layer_norm(net.add(net.dropout(net.project(wide, size.hidden, "down"), 0.1), x), "output_norm")
    first = writer.node("Gather", [x, writer.constant("first", 0, "int64")], (writer.batch, size.hidden), "first_token",
                        axis=1)
    pooled = net.unary("Tanh", net.linear(first, size.hidden, name="pooler", gain=1.0), "pooled")
    if classes:
        net.logits(pooled, classes, dropout=0.1)
    else:
        writer.output(x, "last_hidden_state")
        writer.output(pooled, "pooler_output")


def _positions(net: Transformer, published: int) -> Value:
    """A row for each position; the table has as many as published, or as the sequence needs."""
    length = net.size.sequence
    table = net.table(max(length, published), "positions")
    if length >= published:
        return table
    bounds = [net.writer.constant(name, [value], "int64") for name, value in (("from", 0), ("to", length), ("axis", 0))]
    return net.writer.node("Slice", [table, *bounds], (length, net.size.hidden), "used")


def _gelu(net: Transformer, x: Value) -> Value:
    """x (1 + erf(x / sqrt 2)) / 2."""
    inner = net.unary("Erf", net.binary("Mul", x, net.scalar("root_half", math.sqrt(0.5)), "shrunk"), "erf")
    return net.binary("Mul", net.binary("Mul", x, net.add(inner, net.scalar("one", 1.0), "up_one"), "gated"),
                      net.scalar("half", 0.5), "gelu")


def _gelu_tanh(net: Transformer, x: Value) -> Value:
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, the form GPT-2 was trained with."""
    cube = net.binary("Mul", net.binary("Mul", x, x, "square"), x, "cube")
    inner = net.add(x, net.binary("Mul", cube, net.scalar("cubic", 0.044715), "bent"), "inner")
    curve = net.unary("Tanh", net.binary("Mul", inner, net.scalar("slope", math.sqrt(2.0 / math.pi)), "steep"), "tanh")
    return net.binary("Mul", net.binary("Mul", x, net.add(curve, net.scalar("one", 1.0), "up_one"), "gated"),
                      net.scalar("half", 0.5), "gelu")


def gpt2(writer: ModelWriter, size: Size) -> None:
    """Radford et al. (2019): normalization first, the output shares the table of words, 1024 positions as published."""
    net = Transformer(writer, size, 1e-5, bias=True)
    words = net.table(size.vocabulary, "words")
    x = net.dropout(net.add(net.embed(words, net.tokens()), _positions(net, 1024)), 0.1)
    mask = net.causal_mask()
    width = (writer.batch, size.sequence, size.hidden)
    for index in range(size.layers):
        with writer.scope(f"layer{index}"):
            joint = net.project(net.layer_norm(x, "attention_norm"), 3 * size.hidden, "attention")
            parts = writer.nodes("Split", [joint], [width] * 3, "split", axis=2)
            query, key, value = (net.split_heads(part, name) for part, name in zip(parts, ("query", "key", "value")))
            mixed = net.project(net.attend(query, key, value, mask), size.hidden, "output")
            x = net.add(x, net.dropout(mixed, 0.1), "attended")
            wide = _gelu_tanh(net, net.project(net.layer_norm(x, "feed_norm"), size.feed_forward, "up"))
            x = net.add(x, net.dropout(net.project(wide, size.hidden, "down"), 0.1), "fed")
    net.decode(net.layer_norm(x, "final_norm"), words)


def llama(writer: ModelWriter, size: Size) -> None:
    """Touvron et al. (2023): RMS normalization, rotary positions, SwiGLU, no biases."""
    net = Transformer(writer, size, 1e-6, bias=False)
    x = net.embed(net.table(size.vocabulary, "words"), net.tokens())
    mask = net.causal_mask()
    angles = numpy.outer(numpy.arange(size.sequence), 10000.0 ** (-numpy.arange(0, net.head, 2) / net.head))
    turn = tuple(writer.constant(name, numpy.concatenate([table, table], axis=1))
                 for name, table in (("cosine", numpy.cos(angles)), ("sine", numpy.sin(angles))))
    for index in range(size.layers):
        with writer.scope(f"layer{index}"):
            normal = net.rms_norm(x, "attention_norm")
            query, key, value = (net.split_heads(net.project(normal, size.hidden, name), name)
                                 for name in ("query", "key", "value"))
            mixed = net.attend(_rotate(net, query, turn, "query"), _rotate(net, key, turn, "key"), value, mask)
            x = net.add(x, net.project(mixed, size.hidden, "output"), "attended")
            normal = net.rms_norm(x, "feed_norm")
            gate = net.project(normal, size.feed_forward, "gate")
            gate = net.binary("Mul", gate, net.unary("Sigmoid", gate, "opened"), "swish")
            wide = net.binary("Mul", gate, net.project(normal, size.feed_forward, "up"), "wide")
            x = net.add(x, net.project(wide, size.hidden, "down"), "fed")
    net.decode(net.rms_norm(x, "final_norm"), net.table(size.vocabulary, "output_words"))


def _rotate(net: Transformer, x: Value, turn: tuple[Value, ...], name: str) -> Value:
    """Rotary positions (Su et al. 2021): pairs are half a head apart."""
    with net.writer.scope(f"{name}_rotation"):
        half = (*x.shape[:-1], net.head // 2)
        low, high = net.writer.nodes("Split", [x], [half, half], "halves", axis=3)
        turned = net.concat([net.unary("Neg", high, "minus"), low], axis=3, name="turned")
        return net.add(net.binary("Mul", x, turn[0], "along"), net.binary("Mul", turned, turn[1], "across"), "rotated")
