//===- ReferenceBlocks.cpp - Weights in blocks, one element at a time -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// Number `at` of the numbers of `bits` bits in the bytes of a tensor's row.
static int64_t fieldOf(const Tensor &bytes, int64_t row, int64_t at, int64_t bits) {
  const int64_t perRow = bytes.size() / bytes.shape()[0];
  const auto byte = static_cast<int64_t>(bytes.get(row * perRow + at * bits / 8));
  return (byte >> (at * bits % 8)) % (int64_t(1) << bits);
}

/// Calls `use(first, count, scale, bytes)` for each block of each row, rounded in floats as the kernels do it.
using RoundedBlock = llvm::function_ref<void(int64_t first, int64_t count, float scale, ArrayRef<int64_t> bytes)>;
static void forEachRounded(const Tensor &input, int64_t block, RoundedBlock use) {
  const int64_t depth = input.shape().back();
  for (int64_t row = 0; row < input.size() / depth; ++row)
    for (int64_t first = 0; first < depth; first += block) {
      const int64_t begin = row * depth + first, count = std::min(block, depth - first);
      float most = 0;
      for (int64_t i = 0; i < count; ++i)
        most = std::max(most, std::abs(static_cast<float>(input.get(begin + i))));
      const float factor = most == 0 ? 0 : 127 / most;
      std::vector<int64_t> bytes;
      for (int64_t i = 0; i < count; ++i)
        bytes.push_back(static_cast<int64_t>(std::nearbyint(static_cast<float>(input.get(begin + i)) * factor)));
      use(begin, count, most / 127, bytes);
    }
}

static Tensor roundBlocks(const Tensor &input, int64_t block, Type element) {
  Tensor out(RankedTensorType::get(input.shape(), element));
  forEachRounded(input, block, [&](int64_t first, int64_t count, float scale, ArrayRef<int64_t> bytes) {
    for (int64_t i = 0; i < count; ++i)
      out.set(first + i, static_cast<double>(static_cast<float>(bytes[i]) * scale));
  });
  return out;
}

/// The fields of a byte of the weight's words, low ones first, meet bytes of a row that lie a word apart.
static Tensor quantizeBlocks(const Tensor &input, QuantizeBlocksOp op) {
  Tensor out(op.getType());
  const auto bits = static_cast<int64_t>(op.getBits()), block = static_cast<int64_t>(op.getBlock());
  const int64_t perWord = 32 / bits, perByte = 8 / bits;
  char *to = out.bytes.data();
  forEachRounded(input, block, [&](int64_t, int64_t count, float scale, ArrayRef<int64_t> bytes) {
    std::memcpy(to, &scale, sizeof scale);
    const auto sum = static_cast<int32_t>(-std::accumulate(bytes.begin(), bytes.end(), int64_t(0)));
    std::memcpy(to + 4, &sum, sizeof sum);
    for (int64_t i = 0; i < count; ++i)
      to[8 + i / perWord * perWord + i % perByte * 4 + i % perWord / perByte] = static_cast<char>(bytes[i]);
    to += 8 + block;
  });
  return out;
}

/// Of a block_matmul, or of the pack_blocks that a packed one reads.
template <typename OpTy>
static void multiply(Operation *op, const Tensor &lhs, OpTy of, int64_t bits, int64_t block, Environment &values) {
  const Tensor &weight = values.at(of.getWeight()), &scales = values.at(of.getScales());
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
    multiply(op, values.at(matmul.getLhs()), matmul, static_cast<int64_t>(matmul.getBits()),
             static_cast<int64_t>(matmul.getBlock()), values);
    return true;
  }
  if (auto round = dyn_cast<RoundBlocksOp>(op)) {
    values.insert({op->getResult(0), roundBlocks(values.at(round.getInput()), static_cast<int64_t>(round.getBlock()),
                                                 round.getType().getElementType())});
    return true;
  }
  if (auto quantize = dyn_cast<QuantizeBlocksOp>(op)) {
    values.insert({op->getResult(0), quantizeBlocks(values.at(quantize.getInput()), quantize)});
    return true;
  }
  auto matmul = dyn_cast<PackedBlockMatmulOp>(op);
  if (!matmul)
    return false;
  auto pack = sourceOf(matmul.getRhs()).getDefiningOp<PackBlocksOp>();
  REQUIRE(pack);
  std::optional<Tensor> rounded;
  if (auto quantize = sourceOf(matmul.getLhs()).getDefiningOp<QuantizeBlocksOp>())
    rounded = roundBlocks(values.at(quantize.getInput()), static_cast<int64_t>(quantize.getBlock()),
                          Float32Type::get(op->getContext()));
  multiply(op, rounded ? *rounded : values.at(matmul.getLhs()), pack, matmul.getPanels().getBits(),
           matmul.getPanels().getBlock(), values);
  return true;
}

} // namespace sluice::test
