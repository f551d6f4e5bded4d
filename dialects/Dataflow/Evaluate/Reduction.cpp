//===- Reduction.cpp - Values of reduce, arg_reduce, cumsum, topk ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/HostElements.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

template <typename T>
static bool isBelow(T x, T y, bool isUnsigned) {
  if constexpr (std::is_same_v<T, int64_t>)
    return isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
  else
    return x < y;
}

template <typename T>
static T foldHost(ReduceKind kind, T acc, T x, bool isUnsigned) {
  // Integers wrap, which only unsigned arithmetic may.
  using U = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;
  auto a = static_cast<U>(acc), c = static_cast<U>(x);
  switch (kind) {
  // The first NaN stays.
  case ReduceKind::max:
    return acc == acc && (x != x || isBelow(acc, x, isUnsigned)) ? x : acc;
  case ReduceKind::min:
    return acc == acc && (x != x || isBelow(x, acc, isUnsigned)) ? x : acc;
  case ReduceKind::prod:
    return static_cast<T>(a * c);
  case ReduceKind::l1:
    return static_cast<T>(x < 0 && !isUnsigned ? a - c : a + c);
  case ReduceKind::l2:
  case ReduceKind::sum_square:
    return static_cast<T>(a + c * c);
  default:
    return static_cast<T>(a + c);
  }
}

static LogicalResult evaluateReduce(ReduceOp op, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  if (op.getKind() == ReduceKind::log_sum_exp)
    return failure();
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  // Strides of the result along the input's dimensions, 0 on reduced ones.
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1, reduced = 1;
  for (size_t d = shape.size(); d-- > 0;)
    if (llvm::is_contained(op.getAxes(), static_cast<int64_t>(d))) {
      reduced *= shape[d];
    } else {
      strides[d] = stride;
      stride *= shape[d];
    }
  bool isExtreme = op.getKind() == ReduceKind::max || op.getKind() == ReduceKind::min;
  bool isUnsigned = isUnsignedElement(results[0].type.getElementType());
  if (isExtreme && reduced == 0)
    return failure();
  auto run = [&](auto sample) {
    using T = decltype(sample);
    std::vector<T> sums(elementCount(results[0].type), op.getKind() == ReduceKind::prod ? T(1) : T(0));
    std::vector<bool> seen(sums.size());
    ElementReader input(operands[0], shape);
    SmallVector<int64_t> digits(shape.size(), 0);
    int64_t offset = 0;
    T values[kRun];
    for (int64_t at = 0, total = elementCount(operands[0].type); at < total; at += kRun) {
      int64_t count = std::min(kRun, total - at);
      input.read(at, count, values);
      for (int64_t i = 0; i < count; ++i) {
        sums[offset] =
            isExtreme && !seen[offset] ? values[i] : foldHost(op.getKind(), sums[offset], values[i], isUnsigned);
        seen[offset] = true;
        for (size_t d = shape.size(); d-- > 0;) {
          offset += strides[d];
          if (++digits[d] < shape[d])
            break;
          offset -= digits[d] * strides[d];
          digits[d] = 0;
        }
      }
    }
    for (T &sum : sums) {
      if (op.getKind() == ReduceKind::mean)
        sum = reduced ? sum / static_cast<T>(reduced) : sum;
      if constexpr (std::is_same_v<T, double>) {
        if (op.getKind() == ReduceKind::l2)
          sum = std::sqrt(sum);
        else if (op.getKind() == ReduceKind::log_sum)
          sum = std::log(sum);
      }
    }
    for (size_t at = 0; at < sums.size(); at += kRun)
      writeElements(results[0], at, std::min<int64_t>(kRun, sums.size() - at), sums.data() + at);
  };
  if (isa<FloatType>(results[0].type.getElementType()))
    run(double());
  else
    run(int64_t());
  return success();
}

void sluice::dataflow::attachReductionValues(MLIRContext *context) { attach<EvaluateModel<evaluateReduce>>(context); }
