//===- Messages.cpp - Rules of messages between programs ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A message between two groups of ranks is divided into equal parts along its first dimension. Each rank exchanges its
// part with the rank at its position in the other group (the scatter and gather of Narayanan et al., 2021, section
// 4.1). A message that cannot be divided is sent whole. The rules of a message are fixed (messageRules in
// sluice/Tiling/TensorProgram.h), so that both ends agree.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

using namespace mlir;

namespace sluice::dataflow {

static std::vector<TilingRule> inEqualParts(Operation *op, Value message, RuleList::Dims operands,
                                            RuleList::Dims results) {
  RuleList rules(op);
  if (typeOf(message).getRank() > 0)
    if (TilingRule *rule = rules.split("dim 0", operands, results))
      rule->uneven = rule->pointwise = false;
  return rules.take();
}

static std::vector<TilingRule> rulesOfSend(SendOp op) { return inEqualParts(op, op.getInput(), {0}, {}); }
static std::vector<TilingRule> rulesOfReceive(ReceiveOp op) { return inEqualParts(op, op.getResult(), {}, {0}); }

void attachMessageRules(MLIRContext *context) {
  attach<TilingModel<rulesOfSend>, TilingModel<rulesOfReceive>>(context);
}

} // namespace sluice::dataflow
