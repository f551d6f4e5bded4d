//===- GridLoweringTest.cpp - Kernels as PTX --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/GridLowering.h"

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/Models.h"
#include "sluice/Codegen/KernelLowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice;
using Catch::Contains;

namespace {

/// One operator.
struct Parsed {
  Parsed(const std::string &arguments, const std::string &body)
      : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    source = parseSourceString<ModuleOp>("func.func @main(" + arguments + ") {\n" + body + "\nreturn\n}", &context);
    REQUIRE(source);
    auto main = *source->getOps<func::FuncOp>().begin();
    op = main.getBody().front().getTerminator()->getPrevNode();
  }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerCodegenDialects(registry);
    dataflow::registerDataflow(registry);
    return registry;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> source;
  Operation *op;
};

/// Its kernel, as grids.
struct Kernel : Parsed {
  Kernel(const std::string &arguments, const std::string &body,
         dataflow::MatmulPrecision precision = dataflow::MatmulPrecision::F32)
      : Parsed(arguments, body), module(ModuleOp::create(UnknownLoc::get(&context))) {
    REQUIRE(succeeded(
        dataflow::KernelEmitter::emit(op, "kernel", *module, {}, {}, {dataflow::KernelForm::Grids, precision})));
  }
  std::string ptx(unsigned architecture = 80) {
    auto codes = lowerGrids(*module, {{architecture}, false});
    if (!codes)
      FAIL(codes.error().message);
    REQUIRE(codes->size() == 1);
    return codes->front().ptx;
  }

  OwningOpRef<ModuleOp> module;
};

size_t countOf(const std::string &text, const std::string &what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

constexpr const char *kAdd = "dataflow.binary add %x, %y : tensor<64x128xf32>, tensor<64x128xf32>";
constexpr const char *kFactors = "%x: tensor<2048x512xf32>, %y: tensor<512x2048xf32>";
constexpr const char *kProduct = "dataflow.matmul %x, %y : tensor<2048x512xf32>, tensor<512x2048xf32>";
constexpr const char *kTwo = "%x: tensor<64x128xf32>, %y: tensor<64x128xf32>";

} // namespace

TEST_CASE("element-wise kernels read and write 16 bytes at a time", "[codegen]") {
  std::string ptx = Kernel(kTwo, kAdd).ptx();
  // The result may take an operand's place, so reads go through no cache of constants.
  CHECK(countOf(ptx, "ld.global.v4") == 2);
  CHECK(countOf(ptx, "st.global.v4") == 1);
  CHECK(countOf(ptx, "bar.") == 0);
  CHECK_THAT(ptx, Contains(".maxntid 256"));
  // A row that no run fills is read one by one.
  std::string odd = Kernel("%x: tensor<64x127xf32>, %y: tensor<127xf32>",
                           "dataflow.binary add %x, %y : tensor<64x127xf32>, tensor<127xf32>")
                        .ptx();
  CHECK(countOf(odd, ".v4") == 0);
}

TEST_CASE("each architecture has its own code", "[codegen]") {
  for (unsigned architecture : deviceArchitectures()) {
    std::string ptx = Kernel(kTwo, kAdd).ptx(architecture);
    CHECK(countOf(ptx, ".target sm_" + std::to_string(architecture) + "\n") == 1);
    CHECK(unresolvedInPtx(ptx).empty());
    CHECK(ptx == Kernel(kTwo, kAdd).ptx(architecture));
  }
  Kernel kernel(kTwo, kAdd);
  auto unknown = lowerGrids(*kernel.module, {{42}, false});
  REQUIRE(!unknown);
  CHECK_THAT(unknown.error().message, Contains("'sm_42'"));
}

TEST_CASE("rows are folded by warps, long ones by blocks", "[codegen]") {
  auto sum = [](const std::string &shape, const std::string &result) {
    return Kernel("%x: tensor<" + shape + "xf32>", "dataflow.reduce sum %x axes [1] {keep_dims = true} : tensor<" +
                                                       shape + "xf32> -> tensor<" + result + "xf32>")
        .ptx();
  };
  std::string warp = sum("999x128", "999x1");
  CHECK(countOf(warp, "shfl.sync.bfly") == 5);
  CHECK(countOf(warp, "bar.") == 0);
  std::string block = sum("999x5000", "999x1");
  CHECK(countOf(block, "shfl.sync.bfly") == 5);
  CHECK(countOf(block, "bar.sync") + countOf(block, "barrier.sync") == 2);
  CHECK(countOf(block, "st.shared") == 1);
  std::string few = sum("3x100000", "3x1");
  CHECK(countOf(few, "shfl.sync.bfly") == 10);
  CHECK_THAT(few, Contains(".maxntid 1024"));
}

TEST_CASE("matrix products are tiles in shared memory", "[codegen]") {
  std::string ptx = Kernel(kFactors, kProduct).ptx();
  CHECK(countOf(ptx, "ld.shared.v4") >= 4);
  CHECK(countOf(ptx, "fma.rn.f32") >= 256);
  // Two units of 16 bytes of each operand, copied before the loop and in it; the last are waited for too.
  CHECK(countOf(ptx, "cp.async.cg.shared.global") == 8);
  CHECK(countOf(ptx, "cp.async.wait_group") == 2);
  CHECK(countOf(ptx, "bar.sync") + countOf(ptx, "barrier.sync") == 1);
  CHECK(countOf(ptx, "ld.global") == 0);
  std::string older = Kernel(kFactors, kProduct).ptx(70);
  CHECK(countOf(older, "cp.async") == 0);
  CHECK(countOf(older, "ld.global") == 8);
  CHECK(countOf(older, ".v4") >= 8);
  // Elements that are computed cannot be copied.
  std::string computed =
      Kernel("%x: tensor<64x64xf32>, %y: tensor<64x64xf32>",
             R"(dataflow.fused (%a = %x : tensor<64x64xf32>, %b = %y : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %n = dataflow.unary neg %a : tensor<64x64xf32>
    %p = dataflow.matmul %n, %b : tensor<64x64xf32>, tensor<64x64xf32>
    dataflow.yield %p : tensor<64x64xf32>
  })")
          .ptx();
  CHECK(countOf(computed, "cp.async.c") > 0);
  CHECK(countOf(computed, "ld.global") > 0);
}

TEST_CASE("products of rounded operands are tensor cores' from sm_80 on", "[codegen]") {
  struct Expectation {
    dataflow::MatmulPrecision precision;
    const char *instruction, *conversion;
    size_t count;
  };
  // A warp has 64 x 32 elements: 4 x 4 fragments, at the depths of a tile.
  for (const Expectation &expected :
       {Expectation{dataflow::MatmulPrecision::TF32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                    "cvt.rna.tf32.f32", 32},
        {dataflow::MatmulPrecision::BF16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "cvt.rn.bf16x2.f32",
         32},
        {dataflow::MatmulPrecision::F16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "cvt.rn.f16x2.f32", 32}})
    for (unsigned architecture : deviceArchitectures()) {
      std::string ptx = Kernel(kFactors, kProduct, expected.precision).ptx(architecture);
      INFO(architecture << " " << expected.instruction);
      CHECK(countOf(ptx, expected.instruction) == (architecture >= 80 ? expected.count : 0));
      CHECK((countOf(ptx, expected.conversion) > 0) == (architecture >= 80));
      CHECK((countOf(ptx, "fma.rn.f32") >= 256) == (architecture < 80));
      CHECK(countOf(ptx, "sluice.architecture") + countOf(ptx, "sluice_architecture") == 0);
    }
  // A product of a few elements is no fragment.
  std::string few =
      Kernel("%x: tensor<4x64xf32>, %y: tensor<64x8xf32>",
             "dataflow.matmul %x, %y : tensor<4x64xf32>, tensor<64x8xf32>", dataflow::MatmulPrecision::TF32)
          .ptx();
  CHECK(countOf(few, "mma.sync") == 0);
}

TEST_CASE("what a GPU has no function for is an error that names the operator", "[codegen]") {
  Kernel sine("%x: tensor<8xf64>", R"(dataflow.unary exp %x : tensor<8xf64> loc("the exponential"))");
  CHECK_THAT(dataflow::gridProblem(sine.op), Contains("'math.exp' of f64"));
  auto codes = lowerGrids(*sine.module, {{80}, false});
  REQUIRE(!codes);
  CHECK_THAT(codes.error().message, Contains("operator 'the exponential'") && Contains("exp"));
  CHECK(dataflow::gridProblem(Kernel("%x: tensor<8xf64>", "dataflow.unary sqrt %x : tensor<8xf64>").op) == "");
  CHECK(dataflow::gridProblem(Kernel(kTwo, kAdd).op) == "");
}

TEST_CASE("an operator of more blocks than a GPU launches stays on a CPU", "[codegen]") {
  Parsed huge("%x: tensor<4398046511104xf32>", "dataflow.unary relu %x : tensor<4398046511104xf32>");
  CHECK_THAT(dataflow::gridProblem(huge.op), Contains("blocks of threads, and a GPU launches at most 2147483647"));
}

TEST_CASE("functions that PTX does not define are found", "[codegen]") {
  CHECK(unresolvedInPtx(".extern .func  (.param .b32 func_retval0) __nv_expf\n(\n.param .b32 a\n)\n;\n"
                        ".extern .func again;\n.extern .func again;\n.visible .entry kernel()") ==
        std::vector<std::string>{"__nv_expf", "again"});
}

TEST_CASE("kernels without a device's code have host code", "[codegen]") {
  Kernel kernel(kTwo, kAdd);
  REQUIRE(lowerGrids(*kernel.module, {{}, true}));
  CHECK(kernel.module->lookupSymbol("kernel_grid0_thread"));
  CHECK(!kernel.module->lookupSymbol(dataflow::kDeviceModule));
  Status lowered = lowerKernelsToLLVM(*kernel.module);
  if (!lowered)
    FAIL(lowered.error().message);
}
