//===- ReferenceBlocks.cpp - Weights in blocks, one element at a time -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// Number `at` of the numbers of `bits` bits in the bytes of a tensor's row.
static int64_t fieldOf(const Tensor &bytes, int64_t row, int64_t at, int64_t bits) {
  const int64_t perRow = bytes.size() / bytes.shape()[0];
  const auto byte = static_cast<int64_t>(bytes.get(row * perRow + at * bits / 8));
  return (byte >> (at * bits % 8)) % (int64_t(1) << bits);
}

/// Of a block_matmul, or of the pack_blocks that a packed one reads.
template <typename OpTy>
static void multiply(Operation *op, Value left, OpTy of, int64_t bits, int64_t block, Environment &values) {
  const Tensor &lhs = values.at(left), &weight = values.at(of.getWeight()), &scales = values.at(of.getScales());
  const Tensor *zeros = of.getZeroPoints() ? &values.at(of.getZeroPoints()) : nullptr;
  const int64_t depth = lhs.shape().back(), columns = weight.shape()[0];
  std::vector<double> matrix;
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t b = k / block;
      double zero = static_cast<double>(int64_t(1) << (bits - 1));
      if (zeros)
        zero = isa<FloatType>(zeros->element()) ? zeros->at({n, b}) : static_cast<double>(fieldOf(*zeros, n, b, bits));
      matrix.push_back((static_cast<double>(fieldOf(weight, n, k, bits)) - zero) * scales.at({n, b}));
    }
  Tensor out(op->getResult(0).getType());
  std::vector<double> row(depth);
  for (int64_t m = 0; m < out.size() / columns; ++m) {
    for (int64_t k = 0; k < depth; ++k)
      row[k] = lhs.get(m * depth + k);
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += row[k] * matrix[n * depth + k];
      out.set(m * columns + n, sum);
    }
  }
  values.insert({op->getResult(0), std::move(out)});
}

bool interpretBlocks(Operation *op, Environment &values) {
  if (auto matmul = dyn_cast<BlockMatmulOp>(op)) {
    multiply(op, matmul.getLhs(), matmul, static_cast<int64_t>(matmul.getBits()),
             static_cast<int64_t>(matmul.getBlock()), values);
    return true;
  }
  auto matmul = dyn_cast<PackedBlockMatmulOp>(op);
  if (!matmul)
    return false;
  auto pack = sourceOf(matmul.getRhs()).getDefiningOp<PackBlocksOp>();
  REQUIRE(pack);
  multiply(op, matmul.getLhs(), pack, matmul.getPanels().getBits(), matmul.getPanels().getBlock(), values);
  return true;
}

} // namespace sluice::test
