//===- ReferenceIntegers.cpp - Products of bytes, one by one --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// The zero point of a row or a column; 0 where there is none.
static int64_t zeroOf(Value zero, llvm::ArrayRef<int64_t> at, Environment &values) {
  return zero ? static_cast<int64_t>(values.at(zero).broadcastAt(at)) : 0;
}

/// Modulo 2^32.
static double wrapped(int64_t sum) { return static_cast<int32_t>(static_cast<uint32_t>(sum)); }

static void interpretIntegerMatmul(IntegerMatmulOp op, Environment &values) {
  Value rhsValue = op.getRhs(), rhsZero = op.getRhsZeroPoint();
  if (op.isPacked()) {
    auto pack = sourceOf(rhsValue).getDefiningOp<PackIntegerRhsOp>();
    REQUIRE(pack);
    rhsValue = pack.getRhs();
    rhsZero = pack.getZeroPoint();
  }
  const Tensor &lhs = values.at(op.getLhs()), &rhs = values.at(rhsValue);
  Tensor out(op.getType());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    auto read = [&](const Tensor &tensor, int64_t row, int64_t column) {
      Index index(at.drop_back(2).take_back(tensor.shape().size() - 2));
      for (size_t d = 0; d < index.size(); ++d)
        if (tensor.shape()[d] == 1)
          index[d] = 0;
      index.append({row, column});
      return static_cast<int64_t>(tensor.at(index));
    };
    Index row(at.drop_back());
    row.push_back(0);
    const int64_t m = at[at.size() - 2], n = at.back();
    const int64_t za = zeroOf(op.getLhsZeroPoint(), row, values), zb = zeroOf(rhsZero, {n}, values);
    int64_t sum = 0;
    for (int64_t k = 0; k < lhs.shape().back(); ++k)
      sum += (read(lhs, m, k) - za) * (read(rhs, k, n) - zb);
    out.set(out.linearOf(at), wrapped(sum));
  });
  values.insert({op.getResult(), std::move(out)});
}

static void interpretIntegerConv(IntegerConvOp op, Environment &values) {
  Value weightValue = op.getWeight(), weightZero = op.getWeightZeroPoint();
  if (op.getPanels()) {
    auto pack = sourceOf(weightValue).getDefiningOp<PackIntegerRhsOp>();
    REQUIRE(pack);
    weightValue = pack.getRhs();
    weightZero = pack.getZeroPoint();
  }
  const Tensor &input = values.at(op.getInput()), &weight = values.at(weightValue);
  const bool last = op.getLayout() == Layout::channels_last;
  const size_t spatial = input.shape().size() - 2, channelAt = last ? spatial + 1 : 1, spatialAt = last ? 1 : 2;
  const auto groups = static_cast<int64_t>(op.getGroups());
  const int64_t inputs = input.shape()[channelAt] / groups, outputs = op.getOutputChannels() / groups;
  llvm::SmallVector<int64_t> window = op.getKernelShape();
  Tensor out(op.getType());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    const int64_t m = at[channelAt], group = m / outputs;
    const int64_t column = op.getPanels() && !op.isDepthwise() ? m % outputs : m;
    const int64_t zx = zeroOf(op.getInputZeroPoint(), {0}, values), zw = zeroOf(weightZero, {column}, values);
    int64_t sum = 0, tapNumber = -1;
    forEachIndex(window, [&](llvm::ArrayRef<int64_t> tap) {
      ++tapNumber;
      Index from(at);
      for (size_t d = 0; d < spatial; ++d) {
        from[spatialAt + d] = at[spatialAt + d] * op.getStrides()[d] - op.getPads()[d] + tap[d] * op.getDilations()[d];
        if (from[spatialAt + d] < 0 || from[spatialAt + d] >= input.shape()[spatialAt + d])
          return;
      }
      for (int64_t c = 0; c < inputs; ++c) {
        from[channelAt] = group * inputs + c;
        Index filter{m, c};
        filter.append(tap.begin(), tap.end());
        if (op.getPanels() && op.isDepthwise())
          filter = {tapNumber, m};
        else if (op.getPanels())
          filter = {group, tapNumber * inputs + c, column};
        sum += (static_cast<int64_t>(input.at(from)) - zx) * (static_cast<int64_t>(weight.at(filter)) - zw);
      }
    });
    out.set(out.linearOf(at), wrapped(sum));
  });
  values.insert({op.getResult(), std::move(out)});
}

bool interpretIntegers(Operation *op, Environment &values) {
  if (auto matmul = dyn_cast<IntegerMatmulOp>(op)) {
    interpretIntegerMatmul(matmul, values);
    return true;
  }
  if (auto conv = dyn_cast<IntegerConvOp>(op)) {
    interpretIntegerConv(conv, values);
    return true;
  }
  return false;
}

} // namespace sluice::test
