#!/usr/bin/env python3
"""The model builders write what was published: parameters, shapes, operators."""

from __future__ import annotations

import collections
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

try:
    import onnx
except ImportError:
    print("skipped: this interpreter has no package 'onnx' (Debian: python3-onnx)")
    sys.exit(77)  # CMakeLists.txt: SKIP_RETURN_CODE.

from onnx import TensorProto, helper, numpy_helper, shape_inference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "models"))

from onnxmodels import catalogue, command, footprint, paper  # noqa: E402
from onnxmodels.writer import ModelError  # noqa: E402

SMALL_TRANSFORMER = {"layers": 2, "heads": 2, "hidden": 16, "sequence": 8, "vocabulary": 32}
# One of each builder, small enough to check fast.
SMALL = {
    "alexnet": {"classes": 10},
    "vgg-16": {"size": 32, "classes": 10, "batch_norm": True},
    "resnet-50": {"size": 32},
    "wresnet-50-2": {"size": 32, "batch_norm": False},
    "inception-v4": {"size": 75},
    "nasnet-1": {"size": 32, "filters": 96, "stem": 8},
    "rnn-2-8": {"steps": 3, "features": 4, "classes": 5},
    "rnn-1-8": {"steps": 1, "features": 4, "classes": 5},
    "brnn-2-8": {"steps": 3, "features": 4, "classes": 5},
    "mlp-4-16": {},
    "cnn-5-4": {},
    "bert-base": {**SMALL_TRANSFORMER, "classes": 3},
    "gpt2": SMALL_TRANSFORMER,
    "llama-7b": {**SMALL_TRANSFORMER, "feed_forward": 24},
}
SMALL_DECODER = {"layers": 2, "heads": 2, "hidden": 128, "vocabulary": 40}
# Each of these, and how often it has the operators that tell it from the others. Those of com.microsoft are unknown to
# ONNX's checker.
QUANTIZED = {
    "llama": (SMALL_DECODER, {"MatMulNBits": 15, "GroupQueryAttention": 2, "SkipSimplifiedLayerNormalization": 4}),
    "phi3": (SMALL_DECODER, {"MatMulNBits": 11, "GroupQueryAttention": 2, "SkipSimplifiedLayerNormalization": 4}),
    "qwen3": (SMALL_DECODER, {"MatMulNBits": 15, "GroupQueryAttention": 2, "SimplifiedLayerNormalization": 5}),
    "gemma2": (SMALL_DECODER, {"MatMulNBits": 15, "GroupQueryAttention": 2, "Tanh": 1}),
    "whisper-encoder": ({**SMALL_DECODER, "frames": 40, "mels": 16}, {"Conv": 2, "MultiHeadAttention": 2}),
    "whisper-decoder": ({**SMALL_DECODER, "frames": 40}, {"MultiHeadAttention": 4}),
}


def declared(value: onnx.ValueInfoProto) -> list:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


class ParameterTest(unittest.TestCase):
    """Trainable parameters, as published or as the reference implementations have them."""

    def check(self, expected: int, name: str, **options: object) -> None:
        self.assertEqual(catalogue.build(name, **options).trainable_count, expected)

    def test_classifiers(self) -> None:
        self.check(61_100_840, "alexnet")
        self.check(138_357_544, "vgg-16")
        self.check(25_557_032, "resnet-50")
        self.check(44_549_160, "resnet-101")
        self.check(60_192_808, "resnet-152")
        self.check(42_679_816, "inception-v4")

    def test_nasnet_large_and_mobile(self) -> None:
        self.check(88_753_150, "nasnet-6")
        self.check(5_289_978, "nasnet-4", filters=1056, stem=32, skip_reduction=False, size=224)

    def test_transformers(self) -> None:
        self.check(109_482_240, "bert-base")
        self.check(335_141_888, "bert-large")
        self.check(124_439_808, "gpt2")
        self.check(1_557_611_200, "gpt2-xl")
        self.check(6_738_415_616, "llama-7b")
        self.check(13_015_864_320, "llama-13b")
        # Four layers of 4 x 512 x 512 and 3 x 512 x 1408, two tables of 32,000 rows, nine norms.
        self.check(4 * (4 * 512 * 512 + 3 * 512 * 1408) + 2 * 32000 * 512 + 9 * 512, "llama")
        # Eight times the three matrices of a layer, and a router of eight rows.
        self.check(4 * (4 * 512 * 512 + 8 * 3 * 512 * 1408 + 8 * 512) + 2 * 32000 * 512 + 9 * 512, "llama", experts=8)

    def test_wide_layers_of_the_papers(self) -> None:
        self.check(4 * 8192 * 8192, "mlp-4-8k")
        # Layer by layer: the input's 512 features, then the units below; a classifier of 512.
        self.check(4 * 8192 * (512 + 8192 + 7 * 2 * 8192) + 512 * 8192, "rnn-8-8k")
        self.check(2 * 4 * 8192 * (512 + 8192 + 3 * 3 * 8192) + 512 * 2 * 8192, "brnn-4-8k")


class ModelTest(unittest.TestCase):
    def test_every_builder_passes_the_checker_with_the_shapes_it_says(self) -> None:
        for name, options in {**SMALL, "mnist-softmax": {}}.items():
            for batch in (None, 2):
                with self.subTest(model=name, batch=batch):
                    writer = catalogue.build(name, batch, **options)
                    model = writer.model("random")
                    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in model.graph.initializer):
                        self.check_shapes(model)  # The checker would look for the data.
                        continue
                    onnx.checker.check_model(model, full_check=True)
                    self.check_shapes(model)

    def check_shapes(self, model: onnx.ModelProto) -> None:
        """What the builder says of its outputs is what ONNX infers."""
        says = {value.name: declared(value) for value in model.graph.output}
        bare = onnx.ModelProto()
        bare.CopyFrom(model)
        for value in bare.graph.output:
            value.type.tensor_type.ClearField("shape")
        inferred = shape_inference.infer_shapes(bare, strict_mode=True, data_prop=True).graph.output
        self.assertEqual({value.name for value in inferred}, set(says))
        for value in inferred:
            found = declared(value)
            self.assertEqual(len(found), len(says[value.name]))
            for dim, said in zip(found, says[value.name]):
                if isinstance(dim, int) and dim:
                    self.assertEqual(dim, said)

    def test_every_family_has_an_example_and_is_tested(self) -> None:
        tested = {*SMALL, "mnist-softmax", *QUANTIZED}
        for family in catalogue.FAMILIES:
            with self.subTest(family=family.example):
                self.assertTrue(family.match(family.example))
                self.assertTrue(any(family.match(name) for name in tested))

    def test_cells_of_a_layer_share_their_weights(self) -> None:
        graph = catalogue.build("rnn-2-8", 1, steps=4, features=8, classes=8).model().graph
        readers = collections.Counter(name for node in graph.node for name in node.input)
        self.assertEqual(readers["l0/input_weight"], 4)
        self.assertEqual(readers["l1/state_weight"], 4)
        self.assertEqual(readers["classifier/weight"], 4)

    def test_a_quantized_decoder_has_the_names_and_operators_of_genai(self) -> None:
        model = catalogue.build("llama", layers=2, heads=4, kv_heads=2, hidden=64, vocabulary=40, bits=4,
                                block=16).model("random")
        graph = model.graph
        self.assertEqual({opset.domain: opset.version for opset in model.opset_import}, {"": 17, "com.microsoft": 1})
        self.assertEqual({value.name: declared(value) for value in graph.input}, {
            "input_ids": ["batch_size", "sequence_length"], "attention_mask": ["batch_size", "total_sequence_length"],
            **{f"past_key_values.{layer}.{kind}": ["batch_size", 2, "past_sequence_length", 16]
               for layer in range(2) for kind in ("key", "value")}})
        self.assertEqual({value.name: declared(value) for value in graph.output}, {
            "logits": ["batch_size", "sequence_length", 40],
            **{f"present.{layer}.{kind}": ["batch_size", 2, "total_sequence_length", 16]
               for layer in range(2) for kind in ("key", "value")}})
        counts = collections.Counter(node.op_type for node in graph.node)
        self.assertEqual((counts["MatMulNBits"], counts["GroupQueryAttention"], counts["SimplifiedLayerNormalization"],
                          counts["SkipSimplifiedLayerNormalization"]), (15, 2, 1, 4))
        tensors = {tensor.name: (tensor.data_type, list(tensor.dims)) for tensor in graph.initializer}
        self.assertEqual(tensors["/model/layers.0/attn/k_proj/weight"], (TensorProto.UINT8, [32, 4, 8]))
        self.assertEqual(tensors["/model/layers.0/attn/k_proj/scales"], (TensorProto.FLOAT, [32, 4]))
        made = {name for node in graph.node for name in node.output} | set(tensors) | {v.name for v in graph.input}
        self.assertEqual({name for node in graph.node for name in node.input if name} - made, set())

    def test_quantized_families_read_only_what_they_make(self) -> None:
        for name, (options, operators) in QUANTIZED.items():
            with self.subTest(model=name):
                graph = catalogue.build(name, bits=4, block=16, **options).model("random").graph
                made = {value.name for value in (*graph.input, *graph.initializer)}
                for node in graph.node:
                    self.assertEqual({name for name in node.input if name} - made, set())
                    made.update(node.output)
                self.assertEqual({value.name for value in graph.output} - made, set())
                counts = collections.Counter(node.op_type for node in graph.node)
                self.assertEqual({operator: counts[operator] for operator in operators}, operators)

    def test_mnist_softmax_is_ten_operators(self) -> None:
        self.assertEqual(len(catalogue.build("mnist-softmax").model().graph.node), 10)

    def test_wider_networks_multiply_channels_not_operators(self) -> None:
        plain, wide = (catalogue.build(name).model().graph for name in ("resnet-50", "wresnet-50-3"))
        self.assertEqual(len(plain.node), len(wide.node))
        first = [next(tensor.dims[0] for tensor in graph.initializer) for graph in (plain, wide)]
        self.assertEqual(first, [64, 192])


class FileTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, *arguments: str) -> tuple[int, str]:
        """Exit status and what was said on standard error."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            try:
                status = command.main(arguments)
            except SystemExit as exit_:
                status = int(exit_.code or 0)
        return status, errors.getvalue()

    def test_absent_weights_point_to_data_that_is_not_there(self) -> None:
        status, _ = self.build("mlp-2-64", "-o", str(self.folder))
        self.assertEqual(status, 0)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["model.onnx"])
        model = onnx.load(str(self.folder / "model.onnx"), load_external_data=False)
        entries = [{entry.key: entry.value for entry in tensor.external_data} for tensor in model.graph.initializer]
        self.assertEqual(entries, [{"location": "model.data", "offset": "0", "length": "16384"},
                                   {"location": "model.data", "offset": "16384", "length": "16384"}])

    def test_random_weights_are_seeded(self) -> None:
        def drawn(file: str, *arguments: str) -> bytes:
            self.assertEqual(self.build(*arguments, "--weights", "random", "-o", str(self.folder / file))[0], 0)
            return b"".join(numpy_helper.to_array(tensor, str(self.folder)).tobytes()
                            for tensor in onnx.load(str(self.folder / file)).graph.initializer)
        # Inside the file, beside it, and of bytes.
        for model in (["mlp-2-32"], ["mlp-2-512"], ["llama", "--layers", "1", "--vocabulary", "400"]):
            with self.subTest(model=model):
                first = drawn("a.onnx", *model)
                self.assertEqual(first, drawn("b.onnx", *model))
                self.assertNotEqual(first, drawn("c.onnx", *model, "--seed", "1"))
        self.assertTrue((self.folder / "a.data").is_file())

    def test_a_decoder_of_experts_has_a_router_and_a_mixture_in_each_layer(self) -> None:
        graph = catalogue.build("llama", layers=2, heads=4, hidden=64, vocabulary=40, block=16, feed_forward=96, experts=4,
                                experts_per_token=3).model().graph
        mixtures = [node for node in graph.node if node.op_type == "QMoE"]
        self.assertEqual([attribute.i for node in mixtures for attribute in node.attribute if attribute.name == "k"], [3, 3])
        shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
        # Input, scores, then weights, scales and biases of both layers.
        self.assertEqual([shapes.get(name) for name in mixtures[0].input],
                         [None, None, [4, 192, 32], [4, 192, 4], None, [4, 64, 48], [4, 64, 6]])
        counts = collections.Counter(node.op_type for node in graph.node)
        self.assertEqual((counts["MatMulNBits"], counts["Sigmoid"]), (11, 0))

    def test_wrong_usage(self) -> None:
        output = ("-o", str(self.folder / "x.onnx"))
        for arguments, status, words in (
                (("nothing", *output), 1, "model 'nothing' does not exist, give a name that --list prints"),
                (("mlp-2-8", "--steps", "3", *output), 1, "has no option '--steps'"),
                (("resnet-50", "--size", "0", *output), 1, "option '--size' is 0"),
                (("inception-v4", "--size", "32", *output), 1, "image is too small"),
                (("gpt2", "--heads", "5", *output), 1, "cannot be divided into 5 heads"),
                (("nasnet-2", "--filters", "100", *output), 1, "multiple of 96"),
                (("mlp-0-8", *output), 1, "does not exist"),
                (("llama", "--heads", "5", *output), 1, "cannot be divided into 5 heads"),
                (("llama", "--kv-heads", "3", *output), 1, "cannot share 3 heads of keys evenly"),
                (("llama", "--bits", "3", *output), 1, "option '--bits' is 3"),
                (("llama", "--block", "24", *output), 1, "option '--block' is 24"),
                (("llama", "--accuracy-level", "5", *output), 1, "option '--accuracy-level' is 5"),
                (("llama", "--experts", "2", "--experts-per-token", "3", *output), 1, "cannot choose 3 of 2 experts"),
                (("llama", "--experts", "2", "--feed-forward", "100", *output), 1, "whole blocks of 32"),
                (("llama", "--experts", "8", "--gguf", *output), 1, "option '--gguf' does not support experts"),
                (("resnet-50", "--batch", "-1", *output), 2, "neither a positive number nor a name"),
                (("resnet-50",), 2, "-o PATH"),
                (("resnet-50", "-o", "/proc/none/x.onnx"), 1, "cannot write")):
            with self.subTest(arguments=arguments):
                found, said = self.build(*arguments)
                self.assertEqual(found, status)
                self.assertIn(words, said)
        self.assertEqual(list(self.folder.iterdir()), [])


def chain(*nodes: onnx.NodeProto, weights: dict[str, list[int]]) -> onnx.ModelProto:
    """A model [8, 4] -> `y` of [8, 4] whose weights are not there."""
    graph = helper.make_graph(
        list(nodes), "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 4])],
        [TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
         for name, dims in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


class FootprintTest(unittest.TestCase):
    ROW = 8 * 4 * 4  # Bytes of [8, 4].

    def test_a_layer_with_relu(self) -> None:
        """Forward 3, backward 3, the loss's 3; ReLU is where its operand was, its gradient where the result's was."""
        found = footprint.Counter(chain(
            helper.make_node("MatMul", ["x", "w"], ["a"], "l1"), helper.make_node("Relu", ["a"], ["b"], "r"),
            helper.make_node("MatMul", ["b", "v"], ["y"], "l2"), weights={"w": [4, 4], "v": [4, 4]})).count()
        self.assertEqual(found.operators, 9)
        self.assertEqual(found.operators_apart, 10)  # l2 has a gradient of data and one of weights.
        self.assertEqual(found.weight_bytes, 2 * 3 * 64)
        self.assertEqual(found.activation_bytes, 3 * self.ROW)  # x, a = b, y.
        self.assertEqual(found.gradient_bytes, 2 * self.ROW)  # Of b and a, and of y.
        self.assertEqual(found.sizes, {64, self.ROW, 8 * 4})

    def test_a_value_read_twice_adds_its_gradients(self) -> None:
        found = footprint.Counter(chain(
            helper.make_node("MatMul", ["x", "w"], ["a"], "l1"), helper.make_node("MatMul", ["a", "v"], ["b"], "l2"),
            helper.make_node("Add", ["b", "a"], ["y"], "sum"), weights={"w": [4, 4], "v": [4, 4]})).count()
        self.assertEqual(found.operators, 6 + 1 + 3)
        self.assertEqual(found.activation_bytes, 3 * self.ROW)  # The sum is where b was: a is read twice.
        self.assertEqual(found.gradient_bytes, 2 * self.ROW)  # Of a, and of y = of b.

    def test_eight_readers_make_a_chain(self) -> None:
        nodes = [helper.make_node("MatMul", ["x" if i == 0 else f"a{i}", "w"], [f"a{i + 1}" if i < 7 else "y"], f"l{i}")
                 for i in range(8)]
        found = footprint.Counter(chain(*nodes, weights={"w": [4, 4]})).count()
        self.assertEqual(found.operators, 16 + (7 + 1) + 3)

    def test_a_symbolic_batch_is_refused(self) -> None:
        with self.assertRaisesRegex(ModelError, "--batch"):
            footprint.Counter(catalogue.build("mlp-2-8").model())

    def test_recurrent_rows_of_the_paper(self) -> None:
        """RNN-8-8K: operators and sizes exactly; both within the bar in bytes."""
        for row in paper.ROWS:
            if row.published and "rnn" in row.name:
                found = paper.count(row)
                gigabytes, operators, sizes = row.published
                self.assertAlmostEqual(found.total_bytes / 1e9, gigabytes, delta=0.15 * gigabytes)
                self.assertAlmostEqual(found.operators, operators, delta=0.01 * operators)
                self.assertEqual(len(found.sizes), sizes)
                if row.name == "rnn-8-8k":
                    self.assertEqual(found.operators, operators)

    def test_convolutional_rows_of_the_paper(self) -> None:
        for row in paper.ROWS:
            if row.published and "rnn" not in row.name:
                with self.subTest(model=row.label):
                    self.assertAlmostEqual(paper.count(row).total_bytes / 1e9, row.published[0],
                                           delta=0.15 * row.published[0])


if __name__ == "__main__":
    unittest.main()
