//===- ReferenceHalves.cpp - Products in half precision, one by one -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include "llvm/ADT/APFloat.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// What is multiplied: f16 and bf16 as they are, f32 rounded to bf16.
static double operand(const Tensor &tensor, llvm::ArrayRef<int64_t> at) {
  const double value = tensor.at(at);
  if (!tensor.element().isF32())
    return value;
  llvm::APFloat rounded(static_cast<float>(value));
  bool loses;
  rounded.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return rounded.convertToFloat();
}

/// The matrix that was packed.
static const Tensor &matrixOf(Value packed, Environment &values) {
  auto pack = sourceOf(packed).getDefiningOp<PackHalfRhsOp>();
  REQUIRE(pack);
  return values.at(pack.getRhs());
}

static void interpretHalfMatmul(HalfMatmulOp op, Environment &values) {
  const Tensor &lhs = values.at(op.getLhs()), &rhs = matrixOf(op.getRhs(), values);
  Tensor out(op.getType());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    double sum = 0;
    for (int64_t k = 0; k < lhs.shape().back(); ++k) {
      Index from(at.drop_back());
      from.push_back(k);
      sum += operand(lhs, from) * operand(rhs, {k, at.back()});
    }
    out.set(out.linearOf(at), sum);
  });
  values.insert({op.getResult(), std::move(out)});
}

static void interpretHalfConv(HalfConvOp op, Environment &values) {
  const Tensor &input = values.at(op.getInput()), &weight = matrixOf(op.getWeight(), values);
  const int64_t channels = input.shape()[3];
  Tensor out(op.getType());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    double sum = 0;
    int64_t row = 0;
    forEachIndex(op.getKernel(), [&](llvm::ArrayRef<int64_t> tap) {
      Index from(at);
      bool inside = true;
      for (size_t d = 0; d < 2; ++d) {
        from[1 + d] = at[1 + d] * op.getStrides()[d] - op.getPads()[d] + tap[d] * op.getDilations()[d];
        inside &= from[1 + d] >= 0 && from[1 + d] < input.shape()[1 + d];
      }
      for (int64_t c = 0; c < channels; ++c, ++row)
        if (inside) {
          from[3] = c;
          sum += operand(input, from) * operand(weight, {row, at[3]});
        }
    });
    out.set(out.linearOf(at), sum);
  });
  values.insert({op.getResult(), std::move(out)});
}

bool interpretHalves(Operation *op, Environment &values) {
  if (auto matmul = dyn_cast<HalfMatmulOp>(op)) {
    interpretHalfMatmul(matmul, values);
    return true;
  }
  if (auto conv = dyn_cast<HalfConvOp>(op)) {
    interpretHalfConv(conv, values);
    return true;
  }
  return false;
}

} // namespace sluice::test
