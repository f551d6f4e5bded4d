//===- KernelLibrary.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelLibrary.h"

#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Codegen/GridLowering.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Codegen/ObjectEmission.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <dlfcn.h>
#include <filesystem>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

static int64_t pieceOf(void *count, int64_t extent, int64_t grain) {
  *static_cast<int *>(count) += static_cast<int>((extent + grain - 1) / grain);
  return std::max<int64_t>(1, grain / 3);
}

void runForward(void *count, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args) {
  const int64_t piece = pieceOf(count, extent, grain);
  for (int64_t begin = 0; begin < extent; begin += piece)
    fn(args, begin, std::min(begin + piece, extent));
}

void runBackward(void *count, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args) {
  const int64_t piece = pieceOf(count, extent, grain);
  for (int64_t begin = (extent - 1) / piece * piece; begin >= 0; begin -= piece)
    fn(args, begin, std::min(begin + piece, extent));
}

VectorTarget hostTarget(int64_t lanes) {
  auto host = resolveTarget("native");
  REQUIRE(host);
  VectorTarget target;
  target.lanesF32 = lanes ? lanes : host->vectorLanes(32);
  target.registers = host->numVectorRegisters;
  if (std::optional<IntegerDot> dot = symbolizeIntegerDot(host->byteProducts))
    target.byteProducts = static_cast<emit::IntegerDot>(*dot);
  return target;
}

Operation *packWeights(Operation *op, const VectorTarget &target, const std::string &algorithmName) {
  auto group = dyn_cast<FusedOp>(op);
  Operation *contraction = group ? group.getAnchor() : op;
  auto argument = dyn_cast<BlockArgument>(contraction->getOperand(1));
  Value weight = group ? group->getOperand(argument.getArgNumber()) : contraction->getOperand(1);
  OpBuilder outside(op), inside(contraction);
  Location loc = op->getLoc();
  auto handIn = [&](Value packed) -> Value {
    if (!group)
      return packed;
    group->setOperand(argument.getArgNumber(), packed);
    argument.setType(packed.getType());
    return argument;
  };
  Operation *packed;
  if (auto conv = dyn_cast<ConvOp>(contraction)) {
    emit::ConvSpec spec = describeConv(conv);
    Attribute channels = inside.getI64IntegerAttr(conv.getOutputChannels());
    auto kernel = inside.getDenseI64ArrayAttr(conv.getKernelShape());
    ConvAlgorithmAttr algorithm;
    Value blocks;
    if (std::optional<ConvAlgorithm> named = symbolizeConvAlgorithm(algorithmName)) {
      algorithm = ConvAlgorithmAttr::get(op->getContext(), *named);
      if (*named == ConvAlgorithm::shift_add) {
        const emit::ConvSpec taps = emit::ShiftAddSpec{spec}.taps();
        Value widthFirst = TransposeOp::create(outside, loc, weight, ArrayRef<int64_t>{3, 0, 1, 2});
        auto type = RankedTensorType::get({taps.outC, taps.inC, taps.kernelH, 1}, conv.getType().getElementType());
        Value rows = ReshapeOp::create(outside, loc, type, widthFirst);
        blocks = PackConvWeightOp::create(outside, loc, rows, conv.getGroups(), emit::convOutputBlock(taps, target),
                                          /*depthwise=*/false);
      } else {
        emit::WinogradSpec tiles = emit::describeWinograd(spec, *named == ConvAlgorithm::winograd2 ? 2 : 4, target);
        Value filters = weight;
        if (auto type = cast<RankedTensorType>(weight.getType()); !type.getElementType().isF32())
          filters = CastOp::create(outside, loc, type.clone(outside.getF32Type()), weight);
        blocks = PackWinogradWeightOp::create(outside, loc, filters, *named, tiles.depth, tiles.panel);
      }
    } else {
      blocks = PackConvWeightOp::create(outside, loc, weight, conv.getGroups(), emit::convOutputBlock(spec, target),
                                        emit::isDepthwise(spec));
    }
    packed = ConvOp::create(inside, loc, conv.getInput(), handIn(blocks), conv.getStrides(), conv.getPads(),
                            conv.getDilations(), conv.getGroups(), conv.getLayout(), cast<IntegerAttr>(channels),
                            kernel, IntegerAttr(), algorithm, FloatAttr());
  } else {
    auto matmul = cast<MatmulOp>(contraction);
    emit::MatmulSpec spec = describeMatmul(matmul);
    Value panels =
        PackMatmulRhsOp::create(outside, loc, weight, matmul.getTransposeRhs(), emit::matmulPanel(spec, target));
    packed = MatmulOp::create(inside, loc, matmul.getLhs(), handIn(panels), matmul.getTransposeLhsAttr(), UnitAttr(),
                              inside.getI64IntegerAttr(spec.n), IntegerAttr());
  }
  REQUIRE(haveSameExtents(packed->getResultTypes(), contraction->getResultTypes()));
  packed->getResult(0).setType(contraction->getResult(0).getType()); // One form of the expressions.
  contraction->replaceAllUsesWith(packed);
  contraction->erase();
  return group ? op : packed;
}

/// The one symbol a library shows hands out the kernels.
static void exportKernels(ModuleOp module, size_t numKernels) {
  MLIRContext *context = module.getContext();
  Location loc = UnknownLoc::get(context);
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto ptr = LLVM::LLVMPointerType::get(context);
  auto get = LLVM::LLVMFuncOp::create(b, loc, "sluice_model_get", LLVM::LLVMFunctionType::get(ptr, {b.getI32Type()}));
  b.setInsertionPointToStart(get.addEntryBlock(b));
  Value result = LLVM::ZeroOp::create(b, loc, ptr);
  for (size_t i = 0; i < numKernels; ++i) {
    Value wanted = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(i)));
    Value isThis = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, get.getArgument(0), wanted);
    Value address = LLVM::AddressOfOp::create(b, loc, ptr, "kernel" + std::to_string(i));
    result = LLVM::SelectOp::create(b, loc, isThis, address, result);
  }
  LLVM::ReturnOp::create(b, loc, result);
}

Library::Library(ModuleOp module, size_t numKernels, unsigned architecture) {
  auto need = [](const auto &result) {
    if (!result)
      FAIL(result.error().message);
  };
  need(lowerGrids(module, {{}, /*hostCode=*/true, architecture}));
  need(lowerKernelsToLLVM(module));
  exportKernels(module, numKernels); // Kernels are LLVM's functions now.
  auto target = resolveTarget("native");
  need(target);
  EmissionParams params;
  params.optLevel = 1;
  auto objects = emitObjects(module, *target, params);
  need(objects);
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-dataflow-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()));
  std::string path = pattern + "/kernels.so";
  auto linked = linkSharedLibrary(*objects, *target, path);
  handle = linked ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  std::filesystem::remove_all(pattern);
  need(linked);
  if (!handle)
    FAIL(dlerror());
}

Library::~Library() { dlclose(handle); }

sluice_kernel_fn Library::kernel(int32_t i) const {
  auto get = reinterpret_cast<void *(*)(int32_t)>(dlsym(handle, "sluice_model_get"));
  REQUIRE(get);
  return reinterpret_cast<sluice_kernel_fn>(get(i));
}

} // namespace sluice::test
