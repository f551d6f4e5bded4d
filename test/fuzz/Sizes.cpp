//===- Sizes.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "test/fuzz/Sizes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

bool sluice::fuzz::isSmall(ModuleOp module) {
  constexpr int64_t kMostOperations = 200, kMostBits = int64_t(32) << 20;
  int64_t operations = 0, bits = 0;
  const WalkResult result = module.walk([&](Operation *op) {
    for (const Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        continue;
      int64_t size = tensor.getElementType().isIntOrFloat() ? tensor.getElementTypeBitWidth() : 64;
      for (const int64_t extent : tensor.getShape())
        if (__builtin_mul_overflow(size, ShapedType::isDynamic(extent) ? 1 : extent, &size))
          return WalkResult::interrupt();
      bits += size;
      if (size > kMostBits || bits > kMostBits)
        return WalkResult::interrupt();
    }
    return ++operations > kMostOperations ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}
