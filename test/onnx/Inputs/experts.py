"""experts.py FOLDER: writes mixtures of experts as tests in the layout of ONNX's backend tests, with what numpy computes.

Experts are large enough to be programs of their own. One that no token chooses has weights that are no numbers: computing
it would show in the result. FOLDER/range is a model whose number of tokens is symbolic.
"""

import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, INTER, EXPERTS = 256, 256, 4


def normalized(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def mixed(x, logits, k, normalizes, expert):
    """The sum over the experts of each token's k best."""
    y = numpy.zeros_like(x)
    for token in range(len(x)):
        best = numpy.argsort(-logits[token], kind="stable")[:k]
        shares = normalized(logits[token][best]) if normalizes else normalized(logits[token])[best]
        for share, chosen in zip(shares, best):
            y[token] += share * expert(x[token], chosen)
    return y


def packed(random, bits, rows, depth, block):
    """Bytes, scales, zero points, and the weights that they stand for."""
    numbers = random.integers(0, 2 ** bits, (EXPERTS, rows, depth)).astype(numpy.uint8)
    scales = (random.random((EXPERTS, rows, depth // block)) * 0.002 + 0.001).astype(numpy.float32)
    zeros = random.integers(0, 2 ** bits, scales.shape).astype(numpy.uint8)
    weights = (numbers.reshape(*scales.shape, block).astype(numpy.float32) - zeros[..., None]) * scales[..., None]

    def packing(data):
        each = 8 // bits
        parts = data.reshape(*data.shape[:-1], -1, each)
        return numpy.bitwise_or.reduce(parts << (numpy.arange(each, dtype=numpy.uint8) * bits), -1).astype(numpy.uint8)
    return packing(numbers), scales, packing(zeros), weights.reshape(numbers.shape)


def write(folder, node, inputs, constants, y, rank_of_tokens=None):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rank_of_tokens or value.shape[0], value.shape[1]])
              for name, value in inputs.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [rank_of_tokens or y.shape[0], y.shape[1]])
    graph = helper.make_graph([node], "experts", values, [output],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
                              ir_version=8)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, tensors in (("input", inputs), ("output", {"y": y})):
        for i, (name, value) in enumerate(tensors.items()):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(value, name).SerializeToString())
            numpy.save(os.path.join(folder, f"{name}.npy"), value)


def router(random, tokens):
    """The last expert is nobody's choice."""
    logits = random.standard_normal((tokens, EXPERTS)).astype(numpy.float32)
    logits[:, -1] = -5
    return logits


def floats(folder, seed, tokens, k, symbol=None):
    random = numpy.random.default_rng(seed)
    w1 = (random.standard_normal((EXPERTS, INTER, HIDDEN)) / 16).astype(numpy.float32)
    w2 = (random.standard_normal((EXPERTS, HIDDEN, INTER)) / 16).astype(numpy.float32)
    b1, b2 = (random.standard_normal((EXPERTS, size)).astype(numpy.float32) for size in (INTER, HIDDEN))
    w1[-1] = numpy.nan
    x, logits = random.standard_normal((tokens, HIDDEN)).astype(numpy.float32), router(random, tokens)

    def expert(row, e):
        return w2[e] @ numpy.maximum(w1[e] @ row + b1[e], 0) + b2[e]
    node = helper.make_node("MoE", ["x", "logits", "w1", "b1", "w2", "b2"], ["y"], domain="com.microsoft", k=k,
                            activation_type="relu", normalize_routing_weights=1)
    write(folder, node, {"x": x, "logits": logits}, {"w1": w1, "b1": b1, "w2": w2, "b2": b2},
          mixed(x, logits, k, True, expert), symbol)


def quantized(folder, seed, tokens, k, bits, block):
    random = numpy.random.default_rng(seed)
    x, logits = random.standard_normal((tokens, HIDDEN)).astype(numpy.float32), router(random, tokens)
    q1, s1, z1, w1 = packed(random, bits, 2 * INTER, HIDDEN, block)
    q2, s2, z2, w2 = packed(random, bits, HIDDEN, INTER, block)
    s1[-1] = numpy.nan

    def expert(row, e):
        both = w1[e] @ row
        gate, up = both[0::2], both[1::2]
        return w2[e] @ (gate / (1 + numpy.exp(-1.5 * gate)) * (up + 0.5))
    node = helper.make_node("QMoE", ["x", "logits", "q1", "s1", "", "q2", "s2", "", "", "", "", "z1", "z2"], ["y"],
                            domain="com.microsoft", k=k, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.5,
                            activation_beta=0.5, expert_weight_bits=bits, block_size=block, normalize_routing_weights=1)
    constants = {"q1": q1, "s1": s1, "q2": q2, "s2": s2, "z1": z1, "z2": z2}
    write(folder, node, {"x": x, "logits": logits}, constants, mixed(x, logits, k, True, expert).astype(numpy.float32))


def main(folder):
    floats(f"{folder}/cases/one_token", 1, 1, 1)
    floats(f"{folder}/cases/tokens", 2, 5, 2)
    quantized(f"{folder}/cases/bits_4", 3, 1, 2, 4, 32)
    quantized(f"{folder}/cases/bits_8", 4, 3, 1, 8, 64)
    quantized(f"{folder}/cases/bits_2", 5, 7, 2, 2, 16)
    for tokens in (1, 5):
        floats(f"{folder}/range-{tokens}", 6, tokens, 2, "tokens")


main(sys.argv[1])
