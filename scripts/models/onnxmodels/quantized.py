"""Decoders with quantized weights and caches, as ONNX Runtime GenAI's builder writes them.

The names of nodes, inputs and outputs are that builder's, and so are the operators
of com.microsoft: MatMulNBits, GroupQueryAttention with rotary positions inside,
SkipSimplifiedLayerNormalization. Weights are symmetric: no zero points.
"""

from __future__ import annotations

import dataclasses
import json
from typing import IO, Any, Optional, Protocol, Union

import numpy
from onnx import TensorProto

from . import gguf
from .writer import Drawn, ModelError, ModelWriter, Shape, Value

CONTRIB = "com.microsoft"
NONE = Value("", ())
EPSILON = 1e-5
ROTARY_BASE = 10000.0
# Standard deviation of the drawn weights of a product.
SPREAD = 0.02


@dataclasses.dataclass(frozen=True)
class QuantizedSize:
    """`context`: positions with rotary angles. `block`: weights along the depth that share a scale. `gguf`: a GGUF file
    has the same weights. `genai`: there is a configuration for ONNX Runtime GenAI."""

    layers: int
    heads: int
    kv_heads: int
    hidden: int
    feed_forward: int
    vocabulary: int
    context: int
    bits: int
    block: int
    accuracy_level: int
    experts: int
    experts_per_token: int
    gguf: bool
    genai: bool
    word_spread: float

    def check(self) -> None:
        if self.hidden % (2 * self.heads):
            raise ModelError(f"hidden size {self.hidden} cannot be divided into {self.heads} heads of even width, "
                             "change --hidden or --heads")
        if self.heads % self.kv_heads:
            raise ModelError(f"{self.heads} heads cannot share {self.kv_heads} heads of keys evenly, option "
                             "'--kv-heads', give a divisor")
        check_blocks(self)
        if self.experts and self.experts_per_token > self.experts:
            raise ModelError(f"a token cannot choose {self.experts_per_token} of {self.experts} experts, "
                             "change --experts-per-token")
        if self.experts and (self.hidden % self.block or self.feed_forward % self.block):
            raise ModelError(f"experts need whole blocks of {self.block} weights, change --block, --hidden or --feed-forward")
        if not 0 < self.word_spread < 1e6:
            raise ModelError(f"option '--word-spread' is {self.word_spread}, give a number above 0 and below 1e6")
        if self.gguf and self.experts:
            raise ModelError("option '--gguf' does not support experts, leave out --experts")
        if self.gguf and (self.bits, self.block) != (4, gguf.BLOCK):
            raise ModelError(f"option '--gguf' needs weights of 4 bits in blocks of {gguf.BLOCK}, give --bits 4 --block 32")
        for name, depth in (("hidden", self.hidden), ("feed-forward", self.feed_forward)):
            if self.gguf and depth % gguf.BLOCK:
                raise ModelError(f"option '--gguf' needs whole blocks of {gguf.BLOCK} weights, option '--{name}' is {depth}, "
                                 f"give a multiple of {gguf.BLOCK}")


class BlockSize(Protocol):
    """What products by weights in blocks need to know of a model's size: `block` weights along the depth share a scale."""

    @property
    def bits(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def accuracy_level(self) -> int: ...


def check_blocks(size: BlockSize) -> None:
    if size.bits not in (2, 4, 8):
        raise ModelError(f"option '--bits' is {size.bits}, give 2, 4 or 8")
    if size.block < 16 or size.block > 256 or size.block & (size.block - 1):
        raise ModelError(f"option '--block' is {size.block}, give a power of two from 16 to 256")
    if size.accuracy_level > 4:
        raise ModelError(f"option '--accuracy-level' is {size.accuracy_level}, give 0 to 4")


class BlockProducts:
    """Products of `rows` (batch, length) by weights in blocks. With half scales, half precision holds them exactly."""

    has_half_scales = False

    def __init__(self, writer: ModelWriter, size: Any, rows: Shape) -> None:
        self.writer = writer
        self.size = size
        self.rows = rows

    def product(self, x: Value, features: int, name: str) -> Value:
        """x times a weight in blocks along its depth."""
        depth, size = int(x.shape[-1]), self.size
        blocks = -(-depth // size.block)
        with self.writer.scope(name):
            weight = self.writer.quantized("weight", (features, blocks, size.block * size.bits // 8), size.bits)
            scale = self.writer.parameter("scales", (features, blocks), *self.scale_range(), trainable=False,
                                          is_half=self.has_half_scales)
            return self.writer.node("MatMulNBits", [x, weight, scale], (*self.rows, features), "MatMulNBits",
                                    domain=CONTRIB, K=depth, N=features, bits=size.bits, block_size=size.block,
                                    accuracy_level=size.accuracy_level)

    def scale_range(self) -> tuple[float, float]:
        """Spread and mean of scales."""
        # The standard deviation of the whole numbers from 1 to 2^bits - 1, which are equally likely.
        deviation = (((2.0 ** self.size.bits - 1) ** 2 - 1) / 12) ** 0.5
        return SPREAD / deviation / 10, SPREAD / deviation


class QuantizedDecoder(BlockProducts):
    """LLaMA (Touvron et al. 2023) with grouped heads of keys and values."""

    def __init__(self, writer: ModelWriter, size: QuantizedSize) -> None:
        size.check()
        super().__init__(writer, size, (writer.batch, "sequence_length"))
        self.head = size.hidden // size.heads
        self.has_half_scales = size.gguf

    def expert_weights(self, name: str, features: int, depth: int) -> list[Value]:
        """Weights and scales of all experts, as QMoE takes them."""
        size = self.size
        with self.writer.scope(name):
            weight = self.writer.quantized("weight", (size.experts, features, depth * size.bits // 8), size.bits)
            return [weight, self.writer.parameter("scales", (size.experts, features, depth // size.block),
                                                  *self.scale_range(), trainable=False)]

    def skip_norm(self, x: Value, residual: Optional[Value], name: str, keeps: bool = True) -> tuple[Value, Value]:
        """The normalized sum of both, and that sum, where something reads it."""
        with self.writer.scope(name):
            scale = self.writer.parameter("weight", (self.size.hidden,), mean=1.0)
            if residual is None:
                normal = self.writer.node("SimplifiedLayerNormalization", [x, scale], x.shape, "LayerNorm", axis=-1,
                                          epsilon=EPSILON, stash_type=1)
                return normal, x
            normal, total = Value(f"{name}/output_0", x.shape), Value(f"{name}/output_3", x.shape)
            outputs = [normal, NONE, NONE, total] if keeps else [normal]
            self.writer.named_nodes("SkipSimplifiedLayerNormalization", [residual, x, scale], outputs, "SkipLayerNorm",
                                    domain=CONTRIB, epsilon=EPSILON)
            return normal, total

    def lengths(self, mask: Value) -> tuple[Value, Value]:
        """What GroupQueryAttention takes: the number of each member's last key, and of all keys."""
        writer = self.writer
        with writer.scope("/model/attn_mask_reformat/attn_mask_subgraph"):
            axis, one = writer.constant("axis", [1], "int64"), writer.constant("one", [1], "int64")
            # GenAI's builder keeps the dimension, for lengths [batch, 1].
            count = writer.node("ReduceSum", [mask, axis], (writer.batch, 1), "ReduceSum", keepdims=1)
            last = writer.node("Sub", [count, one], (writer.batch, 1), "Sub")
            lengths = writer.node("Cast", [last], (writer.batch, 1), "Cast", to=TensorProto.INT32)
            shape = writer.node("Shape", [mask], (2,), "Shape")
            total = writer.node("Gather", [shape, writer.constant("second", 1, "int64")], (), "Gather", axis=0)
            return lengths, writer.node("Cast", [total], (), "total", to=TensorProto.INT32)

    def rotated(self) -> int:
        """The elements of a head that are rotated by their position."""
        return self.head

    def angles(self) -> tuple[Value, Value]:
        steps = ROTARY_BASE ** (-numpy.arange(0, self.rotated(), 2) / self.rotated())
        angles = numpy.outer(numpy.arange(self.size.context), steps)
        return self.writer.constant("cos_cache", numpy.cos(angles)), self.writer.constant("sin_cache", numpy.sin(angles))

    def operands(self, x: Value, name: str) -> list[Value]:
        """Queries, keys and values."""
        wide, narrow = self.size.hidden, self.size.kv_heads * self.head
        return [self.product(x, features, f"{name}/{which}_proj")
                for which, features in (("q", wide), ("k", narrow), ("v", narrow))]

    def attention_attributes(self, layer: int) -> dict[str, Union[int, float]]:
        """Those that not all of the decoders have."""
        return {}

    def attention(self, x: Value, layer: int, lengths: tuple[Value, Value], angles: tuple[Value, Value]) -> Value:
        writer, size, name, wide = self.writer, self.size, f"/model/layers.{layer}/attn", self.size.hidden
        operands = self.operands(x, name)

        def cache(length: str) -> Shape:
            return (writer.batch, size.kv_heads, length, self.head)

        past = [writer.input(f"past_key_values.{layer}.{kind}", cache("past_sequence_length"))
                for kind in ("key", "value")]
        present = [writer.declare_output(f"present.{layer}.{kind}", cache("total_sequence_length"))
                   for kind in ("key", "value")]
        mixed = Value(f"{name}/GroupQueryAttention/output_0", (*self.rows, wide))
        writer.named_nodes("GroupQueryAttention", [*operands, *past, *lengths, *angles], [mixed, *present],
                           f"{name}/GroupQueryAttention", domain=CONTRIB, num_heads=size.heads,
                           kv_num_heads=size.kv_heads, scale=self.head ** -0.5, do_rotary=1, rotary_interleaved=0,
                           **self.attention_attributes(layer))
        return self.product(mixed, wide, f"{name}/o_proj")

    def activation(self, gate: Value) -> Value:
        opened = self.writer.node("Sigmoid", [gate], gate.shape, "act_fn/Sigmoid")
        return self.writer.node("Mul", [gate, opened], gate.shape, "act_fn/Mul")

    def feed_forward(self, x: Value, layer: int) -> Value:
        """A gated unit: SwiGLU, or what activation() says."""
        writer, width, name = self.writer, self.size.feed_forward, f"/model/layers.{layer}/mlp"
        gate, up = (self.product(x, width, f"{name}/{which}_proj") for which in ("gate", "up"))
        with writer.scope(name):
            mixed = writer.node("Mul", [self.activation(gate), up], gate.shape, "Mul")
        return self.product(mixed, self.size.hidden, f"{name}/down_proj")

    def mixture(self, x: Value, layer: int) -> Value:
        """Experts with SwiGLU, of which the router chooses some for each token."""
        writer, size, name = self.writer, self.size, f"/model/layers.{layer}/moe"
        scores = self.product(x, size.experts, f"{name}/router")
        rows = writer.constant(f"{name}/router/rows", [-1, size.experts], "int64")
        logits = writer.node("Reshape", [scores, rows], ("tokens", size.experts), f"{name}/router/Reshape")
        # Gate and up alternate in the rows of the first layer.
        first = self.expert_weights(f"{name}/experts/gate_up_proj", 2 * size.feed_forward, size.hidden)
        second = self.expert_weights(f"{name}/experts/down_proj", size.hidden, size.feed_forward)
        return writer.node("QMoE", [x, logits, *first, NONE, *second], x.shape, f"{name}/QMoE", domain=CONTRIB,
                           k=size.experts_per_token, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.0,
                           activation_beta=0.0, expert_weight_bits=size.bits, block_size=size.block,
                           normalize_routing_weights=1)

    def embedded(self, words: Value) -> Value:
        """What the first layer reads."""
        return words

    def block_result(self, x: Value, name: str) -> Value:
        """What the residual gets from the attention or the feed-forward network of a layer, which `name` says."""
        return x

    def scored(self, logits: Value) -> Value:
        return logits

    # The norm before the feed-forward network.
    second_norm = "post_attention_layernorm"

    def build(self) -> None:
        writer, size = self.writer, self.size
        ids = writer.input("input_ids", self.rows, TensorProto.INT64)
        mask = writer.input("attention_mask", (writer.batch, "total_sequence_length"), TensorProto.INT64)
        lengths, angles = self.lengths(mask), self.angles()
        table = writer.parameter("model.embed_tokens.weight", (size.vocabulary, size.hidden), size.word_spread)
        x = self.embedded(writer.node("Gather", [table, ids], (*self.rows, size.hidden), "/model/embed_tokens/Gather",
                                      axis=0))
        residual: Optional[Value] = None
        logits = writer.declare_output("logits", (*self.rows, size.vocabulary))
        for layer in range(size.layers):
            normal, residual = self.skip_norm(x, residual, f"/model/layers.{layer}/input_layernorm")
            x = self.block_result(self.attention(normal, layer, lengths, angles), f"/model/layers.{layer}/post_attention")
            normal, residual = self.skip_norm(x, residual, f"/model/layers.{layer}/{self.second_norm}")
            x = self.block_result((self.mixture if size.experts else self.feed_forward)(normal, layer),
                                  f"/model/layers.{layer}/post_feedforward")
        normal, _ = self.skip_norm(x, residual, f"/model/layers.{size.layers}/final_norm_layernorm", keeps=False)
        writer.rename(self.scored(self.product(normal, size.vocabulary, "/lm_head")), logits)
        if size.gguf:
            writer.companions[".gguf"] = self.write_gguf
        if size.genai:
            writer.texts["genai_config.json"] = self.genai_config()

    def genai_config(self) -> str:
        """What ONNX Runtime GenAI has to know of the model. Words 1 and 2 begin and end a text."""
        size = self.size
        decoder = {
            "session_options": {"provider_options": []}, "filename": "{model}", "head_size": self.head,
            "hidden_size": size.hidden, "num_attention_heads": size.heads, "num_hidden_layers": size.layers,
            "num_key_value_heads": size.kv_heads,
            "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask",
                       "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"},
            "outputs": {"logits": "logits", "present_key_names": "present.%d.key",
                        "present_value_names": "present.%d.value"}}
        model = {"type": "llama", "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
                 "context_length": size.context, "vocab_size": size.vocabulary, "decoder": decoder}
        search = {"do_sample": False, "max_length": size.context, "past_present_share_buffer": True}
        return json.dumps({"model": model, "search": search}, indent=1) + "\n"

    def write_gguf(self, output: IO[bytes], drawn: Drawn) -> None:
        """The same decoder as a file for llama.cpp."""
        size, narrow = self.size, self.size.kv_heads * self.head

        def floats(name: str, source: str, shape: Shape) -> gguf.Tensor:
            return gguf.Tensor(f"{name}.weight", shape, gguf.F32, lambda: drawn(source).astype("<f4").tobytes())

        def packed(name: str, source: str, rows: int, depth: int, rotated_heads: int = 0) -> gguf.Tensor:
            def data() -> bytes:
                parts = [drawn(f"{source}/{part}") for part in ("weight", "scales")]
                return gguf.q4_0(*(gguf.rotary_rows(part, rotated_heads) if rotated_heads else part for part in parts))
            return gguf.Tensor(f"{name}.weight", (rows, depth), gguf.Q4_0, data)

        tensors = [floats("token_embd", "model.embed_tokens.weight", (size.vocabulary, size.hidden))]
        for layer in range(size.layers):
            to, source = f"blk.{layer}", f"/model/layers.{layer}"
            tensors += [
                floats(f"{to}.attn_norm", f"{source}/input_layernorm/weight", (size.hidden,)),
                packed(f"{to}.attn_q", f"{source}/attn/q_proj", size.hidden, size.hidden, size.heads),
                packed(f"{to}.attn_k", f"{source}/attn/k_proj", narrow, size.hidden, size.kv_heads),
                packed(f"{to}.attn_v", f"{source}/attn/v_proj", narrow, size.hidden),
                packed(f"{to}.attn_output", f"{source}/attn/o_proj", size.hidden, size.hidden),
                floats(f"{to}.ffn_norm", f"{source}/post_attention_layernorm/weight", (size.hidden,)),
                packed(f"{to}.ffn_gate", f"{source}/mlp/gate_proj", size.feed_forward, size.hidden),
                packed(f"{to}.ffn_up", f"{source}/mlp/up_proj", size.feed_forward, size.hidden),
                packed(f"{to}.ffn_down", f"{source}/mlp/down_proj", size.hidden, size.feed_forward)]
        tensors += [floats("output_norm", f"/model/layers.{size.layers}/final_norm_layernorm/weight", (size.hidden,)),
                    packed("output", "/lm_head", size.vocabulary, size.hidden)]
        metadata = {"general.architecture": "llama", "general.name": self.writer.name,
                    "llama.context_length": size.context, "llama.embedding_length": size.hidden,
                    "llama.block_count": size.layers, "llama.feed_forward_length": size.feed_forward,
                    "llama.attention.head_count": size.heads, "llama.attention.head_count_kv": size.kv_heads,
                    "llama.attention.layer_norm_rms_epsilon": EPSILON, "llama.rope.dimension_count": self.head,
                    "llama.rope.freq_base": ROTARY_BASE, "llama.vocab_size": size.vocabulary,
                    "tokenizer.ggml.model": "no_vocab"}
        gguf.write(output, metadata, tensors)


class Phi3(QuantizedDecoder):
    """Phi-3 and Phi-4-mini (Abdin et al. 2024): one product gives queries, keys and values, only a part of each head is
    rotated, and a position attends to a window of the positions before it."""

    def __init__(self, writer: ModelWriter, size: QuantizedSize) -> None:
        super().__init__(writer, size)
        if self.head < 32:
            raise ModelError(f"heads have {self.head} elements, of which three quarters cannot be rotated in steps of 16, "
                             "give fewer --heads or more --hidden")

    def rotated(self) -> int:
        # Three quarters; com.microsoft takes multiples of 16.
        return self.head * 3 // 64 * 16

    def operands(self, x: Value, name: str) -> list[Value]:
        return [self.product(x, self.size.hidden + 2 * self.size.kv_heads * self.head, f"{name}/qkv_proj"), NONE, NONE]

    def attention_attributes(self, layer: int) -> dict[str, Union[int, float]]:
        return {"local_window_size": max(self.size.context // 2 - 1, 1)}


class Qwen3(QuantizedDecoder):
    """Qwen 3 (Yang et al. 2025): queries and keys are normalized head by head."""

    def operands(self, x: Value, name: str) -> list[Value]:
        q, k, v = super().operands(x, name)
        return [self.head_norm(q, f"{name}/q_norm"), self.head_norm(k, f"{name}/k_norm"), v]

    def head_norm(self, x: Value, name: str) -> Value:
        writer, rows = self.writer, (self.writer.batch, f"{name}/rows", self.head)
        with writer.scope(name):
            heads = writer.node("Reshape", [x, writer.constant("heads", [0, -1, self.head], "int64")], rows, "Reshape_1")
            scale = writer.parameter("layernorm.weight", (self.head,), mean=1.0)
            normal = writer.node("SimplifiedLayerNormalization", [heads, scale], rows, "SimplifiedLayerNormalization",
                                 axis=-1, epsilon=EPSILON, stash_type=1)
            wide = writer.constant("wide", [0, -1, int(x.shape[-1])], "int64")
            return writer.node("Reshape", [normal, wide], x.shape, "Reshape_2")


class Gemma2(QuantizedDecoder):
    """Gemma 2 (Riviere et al. 2024): words are scaled, results of blocks are normalized before they are added, every
    second layer attends to a window, GELU opens the gates, and scores are capped by hyperbolic tangents."""

    SCORE_CAP, LOGIT_CAP = 50.0, 30.0
    second_norm = "pre_feedforward_layernorm"

    def embedded(self, words: Value) -> Value:
        scale = self.writer.constant("/model/embed_tokens/scale", float(self.size.hidden) ** 0.5)
        return self.writer.node("Mul", [words, scale], words.shape, "/model/embed_tokens/Mul")

    def block_result(self, x: Value, name: str) -> Value:
        return self.skip_norm(x, None, f"{name}_layernorm")[0]

    def activation(self, gate: Value) -> Value:
        return self.writer.node("FastGelu", [gate], gate.shape, "act_fn/FastGelu", domain=CONTRIB)

    def attention_attributes(self, layer: int) -> dict[str, Union[int, float]]:
        window = {} if layer % 2 else {"local_window_size": max(self.size.context // 2 - 1, 1)}
        return {"softcap": self.SCORE_CAP, **window}

    def scored(self, logits: Value) -> Value:
        cap = self.writer.constant("/lm_head/softcap", self.LOGIT_CAP)
        with self.writer.scope("/lm_head/softcap"):
            small = self.writer.node("Div", [logits, cap], logits.shape, "Div")
            bent = self.writer.node("Tanh", [small], logits.shape, "Tanh")
            return self.writer.node("Mul", [bent, cap], logits.shape, "Mul")
