//===- Blocks.cpp - Products by weights quantized in blocks ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/BlockShapes.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "sluice/Support/Error.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// The greatest extents of a weight and of a block: products of a few of them stay below 2^63.
static constexpr int64_t kMostExtent = int64_t(1) << 31, kMostBlock = int64_t(1) << 30;
/// Rows are rounded to elements of so many bits.
static constexpr int64_t kRoundedBits = 8;

static std::string findBlockProblem(int64_t bits, int64_t block) {
  if (bits != 2 && bits != 4 && bits != 8)
    return concat("elements of ", bits, " bits, use 2, 4 or 8");
  if (block < emit::kBlockStep || block > kMostBlock || block % emit::kBlockStep != 0)
    return concat("blocks of ", block, " elements, use a multiple of ", emit::kBlockStep, " up to ", kMostBlock);
  return "";
}

std::string sluice::dataflow::findPanelsProblem(const emit::BlockPanels &panels) {
  constexpr int64_t kMostPanel = 4096;
  if (std::string problem = findBlockProblem(panels.bits, panels.block); !problem.empty())
    return problem;
  if (panels.panel < 1 || panels.panel > kMostPanel)
    return concat("panels of ", panels.panel, " columns, use 1 to ", kMostPanel);
  if (panels.n < 1 || panels.k < 1 || panels.n > kMostExtent || panels.k > kMostExtent)
    return concat("panels of ", panels.n, " columns and ", panels.k, " rows, use 1 to ", kMostExtent, " of each");
  const Count bytes = Count(panels.blocks()) * panels.blockBytes() * panels.numPanels();
  return bytes > Count::kMost / 2 ? "panels of more bytes than can be counted" : "";
}

emit::BlockPanels sluice::dataflow::describePanels(BlockPanelsAttr panels) {
  return {panels.getBits(),
          panels.getBlock(),
          panels.getColumns(),
          panels.getDepth(),
          panels.getPanel(),
          static_cast<int64_t>(panels.getScale().getIntOrFloatBitWidth() / 8),
          static_cast<emit::BlockZeros>(panels.getZeros())};
}

LogicalResult BlockPanelsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t bits, int64_t block,
                                      int64_t columns, int64_t depth, int64_t panel, Type scale, BlockZeros zeros) {
  if (!scale || !(scale.isF32() || scale.isF16() || scale.isBF16()))
    return emitError() << "scales cannot have type " << scale << ", use f32, f16 or bf16";
  const std::string problem =
      findPanelsProblem({bits, block, columns, depth, panel, static_cast<int64_t>(scale.getIntOrFloatBitWidth() / 8),
                         static_cast<emit::BlockZeros>(zeros)});
  return problem.empty() ? success() : LogicalResult(emitError() << problem);
}

emit::BlockZeros sluice::dataflow::zerosOf(Value zeroPoints) {
  if (!zeroPoints)
    return emit::BlockZeros::None;
  return isa<FloatType>(elementOf(zeroPoints)) ? emit::BlockZeros::Floats : emit::BlockZeros::Bytes;
}

/// Whether bytes, scales and zero points are those of a weight of `depth` rows.
static LogicalResult checkWeight(std::optional<Location> loc, int64_t bits, int64_t block, int64_t depth, Value weight,
                                 Value scales, Value zeros) {
  if (std::string problem = findBlockProblem(bits, block); !problem.empty())
    return emitOptionalError(loc, problem);
  if (typeOf(weight).getRank() != 3 || typeOf(scales).getRank() != 2)
    return emitOptionalError(loc, "its weight and scales have ranks ", typeOf(weight).getRank(), " and ",
                             typeOf(scales).getRank(), ", and must have ranks 3 and 2");
  const int64_t columns = shapeOf(weight)[0];
  if (depth < 0 || depth > kMostExtent || columns > kMostExtent)
    return emitOptionalError(loc, "a weight cannot have ", depth, " x ", columns, " elements, use extents up to ",
                             kMostExtent);
  const int64_t blocks = (depth + block - 1) / block, bytes = block / 8 * bits;
  if (shapeOf(weight)[1] != blocks || shapeOf(weight)[2] != bytes)
    return emitOptionalError(loc, "a row of its weight has ", shapeOf(weight)[1], " x ", shapeOf(weight)[2],
                             " bytes, and ", depth, " elements need ", blocks, " x ", bytes);
  if (shapeOf(scales)[0] != columns || shapeOf(scales)[1] != blocks)
    return emitOptionalError(loc, "its scales must have the shape ", columns, " x ", blocks);
  if (!zeros)
    return success();
  const int64_t row = zerosOf(zeros) == emit::BlockZeros::Floats ? blocks : (blocks * bits + 7) / 8;
  if (typeOf(zeros).getRank() != 2 || shapeOf(zeros)[0] != columns || shapeOf(zeros)[1] != row)
    return emitOptionalError(loc, "its zero points must have the shape ", columns, " x ", row);
  return success();
}

static LogicalResult checkPack(std::optional<Location> loc, Value weight, Value scales, Value zeros,
                               BlockPanelsAttr panels) {
  if (failed(checkWeight(loc, panels.getBits(), panels.getBlock(), panels.getDepth(), weight, scales, zeros)))
    return failure();
  if (shapeOf(weight)[0] != panels.getColumns())
    return emitOptionalError(loc, "packs ", shapeOf(weight)[0], " columns, and the panels have ", panels.getColumns());
  if (elementOf(scales) != panels.getScale())
    return emitOptionalError(loc, "packs scales of type ", elementOf(scales), ", and the panels have scales of type ",
                             panels.getScale());
  if (zerosOf(zeros) != static_cast<emit::BlockZeros>(panels.getZeros()))
    return emitOptionalError(loc, "has zero points that differ in type or number from those of the panels");
  return success();
}

LogicalResult PackBlocksOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  if (failed(checkPack(loc, adaptor.getWeight(), adaptor.getScales(), adaptor.getZeroPoints(), adaptor.getPanels())))
    return failure();
  results.push_back(RankedTensorType::get({describePanels(adaptor.getPanels()).bytes()}, IntegerType::get(context, 8)));
  return success();
}

LogicalResult PackBlocksOp::verify() {
  return checkPack(getLoc(), getWeight(), getScales(), getZeroPoints(), getPanels());
}

//===----------------------------------------------------------------------===//
// Rounded rows
//===----------------------------------------------------------------------===//

static LogicalResult checkRows(std::optional<Location> loc, int64_t bits, int64_t block, Value input) {
  if (std::string problem = findBlockProblem(bits, block); !problem.empty())
    return emitOptionalError(loc, problem);
  if (typeOf(input).getRank() < 1)
    return emitOptionalError(loc, "its input has rank 0, at least 1 is needed");
  return success();
}

LogicalResult RoundBlocksOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &results) {
  if (failed(checkRows(loc, kRoundedBits, adaptor.getBlock(), adaptor.getInput())))
    return failure();
  results.push_back(typeOf(adaptor.getInput()));
  return success();
}

LogicalResult RoundBlocksOp::verify() { return checkRows(getLoc(), kRoundedBits, getBlock(), getInput()); }

static LogicalResult checkSums(std::optional<Location> loc, int64_t block) {
  if (block > emit::RoundedRows::kMostBlock)
    return emitOptionalError(loc, "rounded rows cannot have blocks of ", block, " elements, use up to ",
                             emit::RoundedRows::kMostBlock);
  return success();
}

/// An element takes part in finding the largest absolute value, is multiplied, rounded, and multiplied again.
static int64_t roundingFlops(Value input) { return product({4, elementCount(typeOf(input))}); }

int64_t RoundBlocksOp::getFlops() { return roundingFlops(getInput()); }

LogicalResult QuantizeBlocksOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  const auto bits = static_cast<int64_t>(adaptor.getBits()), block = static_cast<int64_t>(adaptor.getBlock());
  if (failed(checkRows(loc, bits, block, adaptor.getInput())) || failed(checkSums(loc, block)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(adaptor.getInput()));
  if (shape.back() > kMostExtent)
    return emitOptionalError(loc, "rows cannot have ", shape.back(), " elements, use up to ", kMostExtent);
  shape.back() = emit::RoundedRows{bits, block, shape.back()}.rowBytes();
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 8)));
  return success();
}

LogicalResult QuantizeBlocksOp::verify() { return checkRows(getLoc(), getBits(), getBlock(), getInput()); }

/// The kernel writes scales and sums beside the elements.
bool QuantizeBlocksOp::allowsEpilogue() { return false; }

int64_t QuantizeBlocksOp::getFlops() { return roundingFlops(getInput()); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult checkLhs(std::optional<Location> loc, Value lhs) {
  if (typeOf(lhs).getRank() < 2)
    return emitOptionalError(loc, "its left-hand side has rank ", typeOf(lhs).getRank(), ", at least 2 is needed");
  return success();
}

static RankedTensorType resultOf(Value lhs, int64_t columns) {
  SmallVector<int64_t> shape(shapeOf(lhs).drop_back());
  shape.push_back(columns);
  Type element = elementOf(lhs);
  return RankedTensorType::get(shape, isa<FloatType>(element) ? element : Float32Type::get(element.getContext()));
}

/// Of an operator or its adaptor.
template <typename Matmul>
static LogicalResult checkMatmul(std::optional<Location> loc, Matmul matmul) {
  if (failed(checkLhs(loc, matmul.getLhs())))
    return failure();
  return checkWeight(loc, matmul.getBits(), matmul.getBlock(), shapeOf(matmul.getLhs()).back(), matmul.getWeight(),
                     matmul.getScales(), matmul.getZeroPoints());
}

LogicalResult BlockMatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &results) {
  if (failed(checkMatmul(loc, adaptor)))
    return failure();
  results.push_back(resultOf(adaptor.getLhs(), shapeOf(adaptor.getWeight())[0]));
  return success();
}

LogicalResult BlockMatmulOp::verify() { return checkMatmul(getLoc(), *this); }

int64_t BlockMatmulOp::getFlops() { return product({2, shapeOf(getLhs()).back(), elementCount(getType())}); }

StringRef BlockMatmulOp::getCostClass() { return "matmul"; }

template <typename Matmul>
static LogicalResult checkPackedMatmul(std::optional<Location> loc, Matmul matmul) {
  if (failed(checkLhs(loc, matmul.getLhs())))
    return failure();
  const emit::BlockPanels panels = describePanels(matmul.getPanels());
  const int64_t given = shapeOf(matmul.getLhs()).back();
  if (isa<IntegerType>(elementOf(matmul.getLhs()))) {
    if (failed(checkSums(loc, panels.block)))
      return failure();
    if (const int64_t bytes = panels.roundedRows().rowBytes(); given != bytes)
      return emitOptionalError(loc, "rows of its left-hand side have ", given, " bytes, and ", panels.k,
                               " rounded elements need ", bytes);
  } else if (given != panels.k) {
    return emitOptionalError(loc, "contracts ", given, " elements of the left-hand side with panels of ", panels.k,
                             " elements, and both numbers must be equal");
  }
  if (typeOf(matmul.getRhs()).getRank() != 1 || shapeOf(matmul.getRhs())[0] != panels.bytes())
    return emitOptionalError(loc, "packed operand must have rank 1 and the ", panels.bytes(), " bytes of the panels");
  return success();
}

LogicalResult PackedBlockMatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                    SmallVectorImpl<Type> &results) {
  if (failed(checkPackedMatmul(loc, adaptor)))
    return failure();
  results.push_back(resultOf(adaptor.getLhs(), adaptor.getPanels().getColumns()));
  return success();
}

LogicalResult PackedBlockMatmulOp::verify() { return checkPackedMatmul(getLoc(), *this); }

int64_t PackedBlockMatmulOp::getFlops() { return product({2, getPanels().getDepth(), elementCount(getType())}); }

StringRef PackedBlockMatmulOp::getCostClass() { return "matmul"; }
