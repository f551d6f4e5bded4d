#!/usr/bin/env python3
"""check_order.py finds arguments that create operators in an open order, and nothing else."""

import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import check_order

BUILDER_H = """
class TensorBuilder {
public:
  Value mul(Value a, Value b) { return binary(a, b); }
  Value binary(Value a, Value b);
  NamedAttribute integer(StringRef name, int64_t value) { return builder.getNamedAttr(name, value); }
  OpBuilder &mlir() { return builder; }

private:
  OpBuilder &builder;
};
"""
BUILDER_CPP = "Value TensorBuilder::binary(Value a, Value b) { return BinaryOp::create(builder, location, a, b); }\n"


def problems(body, path="passes/Pass.cpp", before=""):
    """What is wrong with a function of this body that has a TensorBuilder 'build' and an OpBuilder 'b'."""
    text = before + "static void run(TensorBuilder &build, OpBuilder &b, Value x) {\n" + body + "\n}\n"
    sources = [
        check_order.Source("dialects/Dataflow/IR/TensorBuilder.h", BUILDER_H),
        check_order.Source("dialects/Dataflow/IR/TensorBuilder.cpp", BUILDER_CPP),
        check_order.Source(path, text)
    ]
    return list(check_order.Checker(sources).problems())


class OrderTest(unittest.TestCase):

    def assert_found(self, body, **context):
        self.assertEqual(len(problems(body, **context)), 1, problems(body, **context))

    def assert_allowed(self, body, **context):
        self.assertEqual(problems(body, **context), [])

    def test_place_and_words(self):
        self.assertEqual(problems("use();\nbuild.mul(build.mul(x, x),\n  build.mul(x, x));"), [
            "passes/Pass.cpp:3: 2 arguments of 'mul' create operators, name each in a variable before the call"
        ])

    def test_one_creating_argument(self):
        self.assert_allowed("build.mul(build.mul(build.mul(x, x), x), x);")

    def test_inner_call(self):
        self.assert_found("use(build.mul(x, use(build.mul(x, x), build.mul(x, x))));")

    def test_method_of_unknown_definition(self):
        self.assert_found("use(b.clone(x), b.createOrFold<ReshapeOp>(loc, type, x));")

    def test_reading_methods(self):
        self.assert_allowed("use(build.integer(name, 1), b.getContext(), build.mlir(), build.mul(x, x));")

    def test_create_of_an_operation(self):
        self.assert_found("use(ConstantOp::create(b, loc, one), ConstantOp::create(build.mlir(), loc, two));")

    def test_function_that_takes_a_builder(self):
        self.assert_found("use(elsewhere(build, x), elsewhere(build, x));")
        self.assert_found("use(number(build, x), number(build, x));",
                          before="Value number(TensorBuilder &build, Value x) { return build.mul(x, x); }\n")

    def test_function_that_takes_a_builder_and_only_reads(self):
        self.assert_allowed("use(typeOf(build, x), typeOf(build, x));",
                            before="Type typeOf(TensorBuilder &build, Value x) { return build.mlir().getType(x); }\n")

    def test_lambda(self):
        self.assert_found("auto twice = [&](Value v) { return build.mul(v, v); };\nuse(twice(x), twice(x));")
        self.assert_allowed("auto same = [&](Value v) { return v; };\nuse(same(x), same(x));")

    def test_lambda_through_a_lambda(self):
        self.assert_found("auto twice = [&](Value v) { return build.mul(v, v); };\n"
                          "auto four = [&](Value v) -> Value { return twice(twice(v)); };\nuse(four(x), twice(x));")

    def test_member_of_a_class_with_a_builder(self):
        algebra = "struct Algebra {\n  TensorBuilder &build;\n  Value square(Value x) const { return build.mul(x, x); }\n};\n"
        self.assert_found("Algebra a{build};\nbuild.mul(a.square(x), a.square(x));", before=algebra)

    def test_bodies_of_lambdas_among_arguments(self):
        self.assert_allowed("use([&] { return build.mul(x, x); }, [&](Value v) { return build.mul(v, v); });")

    def test_braced_lists_have_an_order(self):
        self.assert_allowed("use({build.mul(x, x), build.mul(x, x)});\nSmallVector<Value> v{build.mul(x, x), build.mul(x, x)};")

    def test_declarations(self):
        self.assert_allowed("TensorBuilder inner(b, loc);\nOpBuilder::InsertionGuard guard(b);")

    def test_kernels(self):
        body = "use(arith::AddIOp::create(b, loc, x, x), arith::AddIOp::create(b, loc, x, x));"
        self.assert_allowed(body, path="dialects/Dataflow/Elementwise/Unary.cpp")
        self.assert_found(body)


class TreeTest(unittest.TestCase):

    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            output = io.StringIO()
            with mock.patch("sys.argv", ["check_order.py", "--root", root]), contextlib.redirect_stdout(output):
                status = check_order.main()
            return status, output.getvalue()

    FAULT = "void run(TensorBuilder &build, Value x) { build.mul(build.mul(x, x), build.mul(x, x)); }\n"

    def test_violation(self):
        status, output = self.run_on({"passes/Pass.cpp": self.FAULT})
        self.assertEqual(status, 1)
        self.assertIn("error: passes/Pass.cpp:1: 2 arguments of 'mul'", output)
        self.assertIn("1 files, 1 violations", output)

    def test_other_folders(self):
        status, output = self.run_on({"passes/Pass.cpp": "", "lib/Codegen/A.cpp": self.FAULT, "passes/Bridge/B.cpp": self.FAULT})
        self.assertEqual((status, output), (0, "1 files, 0 violations\n"))

    def test_no_sources(self):
        self.assertEqual(self.run_on({"lib/Codegen/A.cpp": ""})[0], 1)


if __name__ == "__main__":
    unittest.main()
