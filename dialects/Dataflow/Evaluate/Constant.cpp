//===- Constant.cpp - Values of range -------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Models.h"
#include "dialects/Dataflow/IR/HostElements.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult evaluateRange(RangeOp, ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ElementReader start(operands[0], {1}), delta(operands[1], {1});
  int64_t total = elementCount(results[0].type);
  auto run = [&](auto sample) {
    using T = decltype(sample);
    T first, step, values[kRun];
    start.read(0, 1, &first);
    delta.read(0, 1, &step);
    for (int64_t at = 0; at < total; at += kRun) {
      int64_t count = std::min(kRun, total - at);
      for (int64_t i = 0; i < count; ++i)
        // Integers wrap, which only unsigned arithmetic may.
        if constexpr (std::is_same_v<T, int64_t>)
          values[i] = static_cast<T>(static_cast<uint64_t>(first) +
                                     static_cast<uint64_t>(at + i) * static_cast<uint64_t>(step));
        else
          values[i] = first + static_cast<T>(at + i) * step;
      writeElements(results[0], at, count, values);
    }
  };
  if (isa<FloatType>(results[0].type.getElementType()))
    run(double());
  else
    run(int64_t());
  return success();
}

void sluice::dataflow::attachConstantValues(MLIRContext *context) { attach<EvaluateModel<evaluateRange>>(context); }
