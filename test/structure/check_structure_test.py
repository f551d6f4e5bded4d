#!/usr/bin/env python3
"""Each rule of check_structure.py accepts what it should and finds a violation."""

import os
import tempfile
import unittest

import check_structure


class StructureTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, path, text):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def problems(self):
        return check_structure.check_tree(self.folder.name)[0]

    def assert_one_problem(self, *words):
        problems = self.problems()
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])

    def test_accepts_directions(self):
        self.write("include/sluice/Graph/Graph.h", '#include "sluice/Support/Error.h"\n#include <vector>\n')
        self.write("lib/Search/Search.cpp", '#include "sluice/Swap/Swap.h"\n#include "sluice/Graph/Graph.h"\n')
        self.write("passes/Plan.cpp", '#include "passes/Bridge/Bridge.h"\n#include "mlir/IR/Builders.h"\n')
        self.write("test/unit/Graph/GraphTest.cpp", '#include "sluice/Search/Search.h"\n')
        self.assertEqual(self.problems(), [])

    def test_against_the_direction(self):
        self.write("include/sluice/Graph/Graph.h", '// A graph.\n#include "sluice/Plan/Plan.h"\n')
        self.assert_one_problem("Graph.h:2", "'Graph'", "'Plan'")

    def test_solvers_do_not_know_each_other(self):
        self.write("lib/Swap/Swap.cpp", '#include "sluice/Memory/Pool.h"\n')
        self.assert_one_problem("'Swap'", "'Memory'")

    def test_private_header_by_relative_path(self):
        self.write("lib/Search/Private.h", "")
        self.write("lib/Memory/Pool.cpp", '#include "../Search/Private.h"\n')
        self.assert_one_problem("Pool.cpp:1", "'Search'")

    def test_generated_header(self):
        self.write("lib/Onnx/Import.cpp", '#include "dialects/Exec/ExecOps.h.inc"\n')
        self.assert_one_problem("'Onnx'", "'dialects/Exec'")

    def test_importer_and_exporter_know_nothing_of_each_other(self):
        self.write("lib/Onnx/TensorTypes.h", "")
        self.write("lib/Onnx/Import/NodeContext.h", '#include "lib/Onnx/TensorTypes.h"\n')
        self.write("lib/Onnx/Export/NodeWriter.h", '#include "lib/Onnx/Import/NodeContext.h"\n')
        self.assert_one_problem("NodeWriter.h:1", "'Onnx/Import'")

    def test_headers_that_have_a_wrapper(self):
        self.write("tools/common/CommandLine.h", "#include <CLI/CLI.hpp>\n")
        self.write("tools/sluice/Main.cpp", "#include <CLI/CLI.hpp>\n")
        self.assert_one_problem("tools/sluice/Main.cpp:1", "CommandLine.h")

    def test_names_of_attributes_have_one_source(self):
        line = 'auto name = function->getAttr("dataflow.name");\n'
        self.write("test/unit/Dataflow/NamesTest.cpp", line)
        self.write("passes/Names.cpp", line)
        self.assert_one_problem("passes/Names.cpp:1", "discardableAttrs")

    def test_pure_room_without_mlir(self):
        for number, header in enumerate(["mlir/IR/Operation.h", "llvm/ADT/SmallVector.h", "onnx/onnx_pb.h"]):
            self.write(f"lib/Cost/Cost{number}.cpp", f"  #  include <{header}>\n")
        self.assertEqual(len(self.problems()), 3)

    def test_only_the_importer_knows_onnx(self):
        self.write("lib/Onnx/Import.cpp", '#include "onnx/onnx_pb.h"\n')
        self.write("passes/Fuse.cpp", '#include "onnx/onnx_pb.h"\n')
        self.assert_one_problem("Fuse.cpp", "ONNX")

    def test_runtime_depends_on_nothing(self):
        self.write("lib/Runtime/Session.cpp", '#include "sluice/Support/Error.h"\n')
        self.assert_one_problem("'Runtime'", "'Support'")

    def test_tablegen_includes(self):
        self.write("dialects/Dataflow/IR/Ops.td", 'include "dialects/Exec/ExecBase.td"\n')
        self.assert_one_problem("Ops.td:1", "'dialects/Exec'")

    def test_the_dialect_is_thin(self):
        self.write("dialects/Dataflow/Emit/Kernel.cpp", '#include "dialects/Dataflow/IR/Dataflow.h"\n#include "sluice/Runtime/abi.h"\n')
        self.write("dialects/Dataflow/Models.cpp", '#include "dialects/Dataflow/Emit/Emit.h"\n')
        self.write("dialects/Dataflow/IR/CMakeLists.txt", "sluice_add_mlir_library(DataflowIR SOURCES Dataflow.cpp)\n")
        self.assertEqual(self.problems(), [])
        for header, room in (("sluice/Runtime/services.h", "'Runtime'"), ("lib/Runtime/Collective.h", "'Runtime'"),
                             ("dialects/Dataflow/Emit/KernelEmitter.h", "'dialects/Dataflow/Emit'"),
                             ("dialects/Dataflow/Models.h", "'dialects/Dataflow'")):
            with self.subTest(header=header):
                self.write("dialects/Dataflow/IR/Dataflow.cpp", f'#include "{header}"\n')
                self.assert_one_problem("Dataflow.cpp:1", room, "'dialects/Dataflow/IR'")
        self.write("dialects/Dataflow/IR/Dataflow.cpp", "")
        self.write("dialects/Dataflow/IR/CMakeLists.txt", "sluice_add_mlir_library(DataflowIR\n  LINKS SluiceRuntime)\n")
        self.assert_one_problem("IR/CMakeLists.txt:2", "links")

    def test_unknown_room(self):
        self.write("lib/Attic/Attic.cpp", "")
        self.assert_one_problem("'Attic'", "unknown")

    def test_large_file(self):
        self.write("data.csv", "0" * (check_structure.MAX_BYTES + 1))
        self.assert_one_problem("data.csv", "bytes")

    def test_long_source(self):
        self.write("lib/Graph/Long.cpp", "\n" * (check_structure.MAX_LINES + 1))
        self.write("docs/long.md", "\n" * (check_structure.MAX_LINES + 1))
        self.assert_one_problem("Long.cpp", "lines")

    def test_developer_path(self):
        self.write("docs/a.md", "see " + "/".join(["", "home", "someone", "models"]) + "\n")
        self.write("docs/b.md", "see https://example.org/home/page and ~/models and lib/root/x\n")
        self.assert_one_problem("a.md:1", "developer")

    def test_lit_tests(self):
        self.write("test/tools/good.test", "RUN: %fails sluice x 2>&1 | FileCheck %s\nRUN: %python -c 'print(1)'\n")
        self.assertEqual(self.problems(), [])
        for number, (line, word) in enumerate((("RUN: bash -c 'a; test $? = 1'", "%fails"), ("ALLOW_RETRIES: 2", "again"),
                                               ("RUN: %if cuda %{ a %}", "REQUIRES"), ("RUN: %python -c \\", "several lines"),
                                               ("RUN: %python -c '" + "1;" * 90 + "'", "columns"))):
            with self.subTest(line=line):
                path = f"test/passes/bad{number}.mlir"
                self.write(path, f"// {line}\n")
                self.assert_one_problem(f"bad{number}.mlir:1", word)
                os.remove(os.path.join(self.folder.name, path))
        # Inputs that are no tests, and scripts, are left alone.
        self.write("scripts/a", "bash -c x\n")
        self.write("test/tools/Inputs/a.py", "# %if\n")
        self.assertEqual(self.problems(), [])

    def test_outcomes_of_ctest(self):
        self.write("test/unit/CMakeLists.txt", 'set_tests_properties(a PROPERTIES SKIP_REGULAR_EXPRESSION "skipped")\n')
        self.assert_one_problem("CMakeLists.txt:1", "text")
        self.write("test/unit/CMakeLists.txt", "set_tests_properties(a PROPERTIES SKIP_RETURN_CODE 77)\n")
        self.write("scripts/check", "ctest --repeat until-pass:2\n")
        self.assert_one_problem("scripts/check:1", "again")


if __name__ == "__main__":
    unittest.main()
