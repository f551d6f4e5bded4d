//===- Operators.h - Random nodes, a generator a kind -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_RANDOM_OPERATORS_H
#define SLUICE_TOOLS_SLUICEBENCH_RANDOM_OPERATORS_H

#include "ModelWriter.h"

namespace sluice::bench {

/// Adds one node, or a few that belong together, with random operands and attributes.
struct OperatorMaker {
  const char *name;
  int weight; ///< How often it is chosen, relative to others.
  void (*make)(ModelWriter &);
};

/// One operand: functions, casts, clips.
std::vector<OperatorMaker> unaryMakers();
/// Several operands with broadcasting: arithmetic, comparisons, selections.
std::vector<OperatorMaker> binaryMakers();
/// Elements change places: reshapes, slices, gathers, pads, concatenations.
std::vector<OperatorMaker> movementMakers();
/// Reductions, normalizations, scans and sorting along axes.
std::vector<OperatorMaker> reductionMakers();
/// Matrix products, convolutions, pooling, recurrences.
std::vector<OperatorMaker> contractionMakers();
/// Quantized tensors and their products.
std::vector<OperatorMaker> integerMakers();
/// Branches and loops with bodies of a few nodes.
std::vector<OperatorMaker> controlMakers();

/// All of the above.
const std::vector<OperatorMaker> &allMakers();
/// Adds a node of a random kind.
void addRandomNode(ModelWriter &writer, const std::vector<OperatorMaker> &makers);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_RANDOM_OPERATORS_H
