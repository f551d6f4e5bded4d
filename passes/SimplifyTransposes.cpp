//===- SimplifyTransposes.cpp - Transposes around a concat ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A decoder appends a token's key to the keys of the tokens before it. Models transpose the keys of the past for the
// product with the query, append the new key, and transpose the result back for the next step. If the new key is
// appended before the transposition, no transposition has to move data, because the product reads its operand
// transposed.
//
//===----------------------------------------------------------------------===//

#include "passes/SimplifyTransposes.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {

SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    result[from] = static_cast<int64_t>(to);
  return result;
}

/// Whether a transpose only moves extents of 1.
bool keepsData(Value value, ArrayRef<int64_t> permutation) {
  ArrayRef<int64_t> shape = shapeOf(value);
  int64_t last = -1;
  for (int64_t from : permutation) {
    if (shape[from] == 1)
      continue;
    if (from < last)
      return false;
    last = from;
  }
  return true;
}

bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  const auto rank = static_cast<int64_t>(permutation.size());
  for (int64_t d = 0; d < rank - 2; ++d)
    if (permutation[d] != d)
      return false;
  return rank >= 2 && permutation[rank - 2] == rank - 1;
}

/// Whether a product reads an operand transposed as well as it is.
bool takesTransposed(OpOperand &use) {
  auto product = dyn_cast<MatmulOp>(use.getOwner());
  return product && !product.getPackedN() && !product.getLibrary() && product.getLhs() != product.getRhs();
}

/// concat(transpose(a), b) -> transpose(concat(a, transpose(b))), where transposes of other operands move no data, and
/// all that read the result either are its transpose back or products that take it transposed.
struct ConcatBeforeTranspose : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &b) const override {
    // The result is concat(a, ...) of the operands as they are before, under `order`.
    SmallVector<int64_t> order = orderOf(op);
    if (order.empty())
      return failure();
    const SmallVector<int64_t> back = inverse(order);
    for (Value input : op.getInputs())
      if (!isTransposed(input, order) && !keepsData(input, back))
        return failure();
    for (OpOperand &use : op->getUses()) {
      auto transpose = dyn_cast<TransposeOp>(use.getOwner());
      const bool isBack = transpose && llvm::equal(transpose.getPermutation(), back);
      if (!isBack && !(takesTransposed(use) && swapsLastTwo(order)))
        return failure();
    }
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(isTransposed(input, order)
                           ? input.getDefiningOp<TransposeOp>().getInput()
                           : b.createOrFold<ReshapeOp>(op.getLoc(), permutedType(typeOf(input), back), input));
    auto axis = static_cast<uint64_t>(order[op.getAxis()]);
    Value joined = ConcatOp::create(b, op.getLoc(), inputs, axis);
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (isa<TransposeOp>(use.getOwner())) {
        b.replaceOp(use.getOwner(), joined);
        continue;
      }
      auto product = cast<MatmulOp>(use.getOwner());
      b.modifyOpInPlace(product, [&] {
        if (use.getOperandNumber() == 0)
          product.setTransposeLhs(!product.getTransposeLhs());
        else
          product.setTransposeRhs(!product.getTransposeRhs());
        use.set(joined);
      });
    }
    b.eraseOp(op);
    return success();
  }

private:
  static bool isTransposed(Value value, ArrayRef<int64_t> order) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    return transpose && transpose->hasOneUse() && llvm::equal(transpose.getPermutation(), order);
  }

  /// The order that an operand, or what is undone by a reader, has been brought into; empty where there is none.
  static SmallVector<int64_t> orderOf(ConcatOp op) {
    for (Value input : op.getInputs())
      if (auto transpose = input.getDefiningOp<TransposeOp>())
        return SmallVector<int64_t>(transpose.getPermutation());
    for (Operation *user : op->getUsers())
      if (auto transpose = dyn_cast<TransposeOp>(user))
        return inverse(transpose.getPermutation());
    return {};
  }
};

} // namespace

void sluice::addTransposePatterns(RewritePatternSet &patterns) {
  patterns.add<ConcatBeforeTranspose>(patterns.getContext());
}
