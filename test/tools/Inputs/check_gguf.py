"""check_gguf.py MODEL.onnx MODEL.gguf HEADS KV_HEADS: whether both have the same weights. Reads GGUF as its specification
says and shares no code with the builder."""

import struct
import sys

import numpy
import onnx
from onnx import numpy_helper


class Reader:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def text(self):
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def read(self):
        assert self.data[:4] == b"GGUF"
        self.at = 4
        version, tensors, pairs = self.take("IQQ")
        assert version == 3
        metadata = {}
        for _ in range(pairs):
            key, kind = self.text(), self.take("I")
            metadata[key] = self.text() if kind == 8 else self.take({4: "I", 6: "f"}[kind])
        infos = []
        for _ in range(tensors):
            name, rank = self.text(), self.take("I")
            extents = [self.take("Q") for _ in range(rank)]
            infos.append((name, extents, *self.take("IQ")))
        base = -(-self.at // 32) * 32
        return metadata, {name: self.tensor(extents, kind, base + offset) for name, extents, kind, offset in infos}

    def tensor(self, extents, kind, at):
        assert at % 32 == 0
        shape, count = extents[::-1], int(numpy.prod(extents))
        if kind == 0:
            return numpy.frombuffer(self.data, "<f4", count, at).reshape(shape)
        assert kind == 2 and extents[0] % 32 == 0
        blocks = numpy.frombuffer(self.data, numpy.dtype([("scale", "<f2"), ("bytes", "u1", 16)]), count // 32, at)
        result = numpy.empty((count // 32, 32), numpy.float32)
        for i in range(16):
            result[:, i] = (blocks["bytes"][:, i] & 15).astype(numpy.float32) - 8
            result[:, i + 16] = (blocks["bytes"][:, i] >> 4).astype(numpy.float32) - 8
        return (result * blocks["scale"].astype(numpy.float32)[:, None]).reshape(shape)


def dequantized(tensors, name):
    weight, scale = tensors[f"{name}/weight"], tensors[f"{name}/scales"]
    result = numpy.empty((*weight.shape[:2], 32), numpy.float32)
    result[..., 0::2], result[..., 1::2] = weight & 15, weight >> 4
    return ((result - 8) * scale[..., None]).reshape(weight.shape[0], -1)


def rotated(rows, heads):
    """Row i of a head's first half, then row i of its second half."""
    width = len(rows) // heads
    order = [head * width + half * width // 2 + i for head in range(heads) for i in range(width // 2) for half in (0, 1)]
    return rows[order]


def main(model, path, heads, kv_heads):
    onnx_tensors = {each.name: numpy_helper.to_array(each) for each in onnx.load(model).graph.initializer}
    metadata, tensors = Reader(path).read()
    expected = {"token_embd": onnx_tensors["model.embed_tokens.weight"], "output": dequantized(onnx_tensors, "/lm_head")}
    layers = metadata["llama.block_count"]
    expected["output_norm"] = onnx_tensors[f"/model/layers.{layers}/final_norm_layernorm/weight"]
    for i in range(layers):
        source = f"/model/layers.{i}"
        for name, place in (("attn_norm", "input_layernorm"), ("ffn_norm", "post_attention_layernorm")):
            expected[f"blk.{i}.{name}"] = onnx_tensors[f"{source}/{place}/weight"]
        for name, place in (("attn_v", "attn/v_proj"), ("attn_output", "attn/o_proj"), ("ffn_gate", "mlp/gate_proj"),
                            ("ffn_up", "mlp/up_proj"), ("ffn_down", "mlp/down_proj")):
            expected[f"blk.{i}.{name}"] = dequantized(onnx_tensors, f"{source}/{place}")
        for name, count in (("q", heads), ("k", kv_heads)):
            expected[f"blk.{i}.attn_{name}"] = rotated(dequantized(onnx_tensors, f"{source}/attn/{name}_proj"), count)
    assert set(tensors) == {f"{name}.weight" for name in expected}, set(tensors) ^ {f"{name}.weight" for name in expected}
    for name, value in expected.items():
        assert numpy.array_equal(tensors[f"{name}.weight"], value), name
    print(f"{len(tensors)} tensors, {metadata['general.architecture']}, {metadata['llama.attention.head_count_kv']} heads of keys")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
