//===- Packing.cpp - Values of packing ------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/BlockPacking.h"
#include "dialects/Dataflow/Emit/ContractionPacking.h"
#include "dialects/Dataflow/Emit/HalfPacking.h"
#include "dialects/Dataflow/Emit/IntegerProductPacking.h"
#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/BlockShapes.h"
#include "dialects/Dataflow/IR/HalfShapes.h"
#include "dialects/Dataflow/IR/HostElements.h"
#include "dialects/Dataflow/IR/IntegerShapes.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include <array>
#include <cstring>
#include <vector>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// Calls fn with a type of the element's width: packing moves bytes. It needs no
/// alignment, which data in a model's file has not.
template <typename Fn>
static void withWidth(int64_t bytes, Fn fn) {
  switch (bytes) {
  case 1:
    return fn(std::array<char, 1>());
  case 2:
    return fn(std::array<char, 2>());
  case 4:
    return fn(std::array<char, 4>());
  default:
    return fn(std::array<char, 8>());
  }
}

static LogicalResult evaluatePackConvWeight(PackConvWeightOp op, ArrayRef<TensorView> operands,
                                            ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t groups = op.getGroups(), block = op.getBlock(), taps = shape[2] * shape[3], perGroup = shape[0] / groups;
  withWidth(elementBytes(operands[0].type.getElementType()), [&](auto sample) {
    using T = decltype(sample);
    auto *in = reinterpret_cast<const T *>(operands[0].data);
    auto *out = reinterpret_cast<T *>(results[0].data);
    if (op.getDepthwise())
      emit::packDepthwiseWeights(shape[0], taps, block, in, out);
    else
      emit::packConvBlocks(groups, perGroup, shape[1], taps, block, in, out);
  });
  return success();
}

static LogicalResult evaluatePackWinogradWeight(PackWinogradWeightOp op, ArrayRef<TensorView> operands,
                                                ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  emit::WinogradSpec spec;
  spec.image.outC = shape[0];
  spec.image.inC = shape[1];
  spec.outputs = op.getAlgorithm() == ConvAlgorithm::winograd2 ? 2 : 4;
  spec.depth = op.getDepth();
  spec.panel = op.getPanel();
  // Data in a model's file is not aligned.
  std::vector<float> weights(static_cast<size_t>(elementCount(operands[0].type)));
  std::memcpy(weights.data(), operands[0].data, weights.size() * sizeof(float));
  emit::packWinogradWeights(spec, weights.data(), reinterpret_cast<float *>(results[0].data));
  return success();
}

static LogicalResult evaluatePackMatmulRhs(PackMatmulRhsOp op, ArrayRef<TensorView> operands,
                                           ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t rows = shape[shape.size() - 2], columns = shape.back(), stride = columns;
  if (op.getTransposed())
    std::swap(rows, columns);
  int64_t matrices = product(shape.drop_back(2)), block = op.getBlock();
  int64_t packed = (columns + block - 1) / block * rows * block;
  withWidth(elementBytes(operands[0].type.getElementType()), [&](auto sample) {
    using T = decltype(sample);
    for (int64_t i = 0; i < matrices; ++i)
      emit::packPanels(rows, columns, stride, static_cast<bool>(op.getTransposed()), block,
                       reinterpret_cast<const T *>(operands[0].data) + i * rows * columns,
                       reinterpret_cast<T *>(results[0].data) + i * packed);
  });
  return success();
}

static LogicalResult evaluatePackIntegerRhs(PackIntegerRhsOp op, ArrayRef<TensorView> operands,
                                            ArrayRef<MutableTensorView> results) {
  emit::IntegerPanels panels = describePanels(op.getPanels());
  const int64_t matrices = product(operands[0].type.getShape().drop_back(2));
  const bool perColumn = op.getZeroPoint() && elementCount(operands[1].type) != 1;
  auto zeroPoint = [&](int64_t column) {
    int32_t zero = 0;
    if (op.getZeroPoint())
      std::memcpy(&zero, operands[1].data + (perColumn ? 4 * column : 0), 4);
    return zero;
  };
  const bool isUnsigned = operands[0].type.getElementType().isUnsignedInteger();
  // Panels without zero points hold bytes that are signed, and less zero points of 0, once they are packed.
  if (!panels.hasZeroPoints)
    for (int64_t column = 0; column < (perColumn ? panels.n : 1); ++column)
      if (zeroPoint(column) != (isUnsigned ? 128 : 0))
        return failure();
  for (int64_t i = 0; i < matrices; ++i)
    emit::packIntegerPanels(panels, isUnsigned,
                            reinterpret_cast<const unsigned char *>(operands[0].data) +
                                i * panels.segments * panels.length * panels.n,
                            zeroPoint, results[0].data + i * panels.bytes());
  return success();
}

static LogicalResult evaluatePackHalfRhs(PackHalfRhsOp op, ArrayRef<TensorView> operands,
                                         ArrayRef<MutableTensorView> results) {
  const emit::IntegerPanels panels = describePanels(op.getPanels());
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  const ElementReader reader(operands[0], shape);
  std::vector<float> row(shape[1]);
  int64_t loaded = -1;
  // Rows one after the other: a matrix may be large.
  auto element = [&](int64_t k, int64_t n) {
    if (k != loaded) {
      double values[kRun];
      for (int64_t from = 0; from < shape[1]; from += kRun) {
        const int64_t count = std::min(kRun, shape[1] - from);
        reader.read(k * shape[1] + from, count, values);
        std::copy(values, values + count, row.begin() + from);
      }
      loaded = k;
    }
    return row[n];
  };
  emit::packHalfPanels(panels, element, results[0].data);
  return success();
}

static LogicalResult evaluatePackBlocks(PackBlocksOp op, ArrayRef<TensorView> operands,
                                        ArrayRef<MutableTensorView> results) {
  const emit::BlockPanels panels = describePanels(op.getPanels());
  const bool hasFloats = panels.zeros == emit::BlockZeros::Floats;
  // Of a whole row of the weight, whose blocks are asked one after the other.
  std::vector<double> row(hasFloats ? panels.blocks() : 0);
  int64_t loaded = -1;
  auto zero = [&](int64_t n, int64_t block) {
    if (n != loaded) {
      const ElementReader reader(operands[2], operands[2].type.getShape());
      for (int64_t from = 0; from < panels.blocks(); from += kRun)
        reader.read(n * panels.blocks() + from, std::min(kRun, panels.blocks() - from), row.data() + from);
      loaded = n;
    }
    return static_cast<float>(row[block]);
  };
  emit::packBlockPanels(panels, operands[0].data, operands[1].data,
                        panels.zeros == emit::BlockZeros::Bytes ? operands[2].data : nullptr, zero, results[0].data);
  return success();
}

void sluice::dataflow::attachPackingValues(MLIRContext *context) {
  attach<EvaluateModel<evaluatePackConvWeight>, EvaluateModel<evaluatePackMatmulRhs>,
         EvaluateModel<evaluatePackIntegerRhs>, EvaluateModel<evaluatePackHalfRhs>,
         EvaluateModel<evaluatePackWinogradWeight>, EvaluateModel<evaluatePackBlocks>>(context);
}
