//===- Rules.h - What the operators' tiling rules share ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_TILING_RULES_H
#define SLUICE_DATAFLOW_TILING_RULES_H

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Tiling/Tiling.h"

namespace sluice::dataflow {

/// Collects an operator's rules. Dimensions are given per operand and per result,
/// kWhole where a tensor is not split; missing ones at the end are whole too.
/// Where the extents have no common divisor there is no rule, and nullptr. Where they are equal, parts may be uneven.
class RuleList {
public:
  static constexpr int64_t kWhole = -1;
  using Dims = llvm::ArrayRef<int64_t>;

  explicit RuleList(mlir::Operation *op) : op(op) {}

  TilingRule *split(const std::string &name, Dims operands, Dims results);
  /// The first result is to be reduced. Parts may be uneven if the result of a part is the same without the elements of
  /// the split dimension at which all split operands without a halo are the neutral element of the reduction.
  TilingRule *partial(const std::string &name, Dims operands, PartialKind reduction, bool ignoresNeutral = false);
  /// A rule a dimension of result 0 that `wanted` says: other results, and operands that
  /// `follows` says, are split where their extent at that place, counted from the last as numpy
  /// does, is the same; the others are whole.
  void aligned(llvm::function_ref<bool(int64_t)> wanted, llvm::function_ref<bool(unsigned)> follows);
  void aligned(llvm::function_ref<bool(int64_t)> wanted) {
    aligned(wanted, [](unsigned) { return true; });
  }
  std::vector<TilingRule> take() { return std::move(rules); }

private:
  mlir::Operation *op;
  std::vector<TilingRule> rules;
};

/// The dimension of `value` that numpy's broadcasting aligns with dimension `dim` of `shape`, kWhole where it has none
/// of that extent.
int64_t alignedDim(mlir::Value value, llvm::ArrayRef<int64_t> shape, int64_t dim);

/// A rule that splits a dimension of each operand and result in blocks of `width` elements; a dimension of kWhole
/// leaves the tensor whole. `extents` are those of these dimensions. Nothing where blocks cannot be split, or are too
/// many.
std::optional<TilingRule> ruleInBlocks(const std::string &name, llvm::ArrayRef<int64_t> operandDims,
                                       llvm::ArrayRef<int64_t> operandExtents, int64_t resultDim, int64_t resultExtent,
                                       int64_t width);

/// A window that slides along one dimension.
struct SlidingWindow {
  int64_t in, out; ///< Extents.
  int64_t kernel, stride, padLow, dilation;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// Windows and elements split alike: each part's windows begin `padLow` before its elements.
  bool aligns() const { return stride >= 1 && padLow >= 0 && in > 0 && in == out * stride && padLow < reach(); }
  /// Of the input, for windows that align.
  Halo halo(Halo::Fill fill) const { return {padLow, std::max<int64_t>(0, reach() - stride - padLow), fill}; }
};

/// Gives operand 0 of a rule a halo. The parts are no smaller than it.
void addHalo(TilingRule *rule, int64_t extent, Halo halo);

/// Whether a rule splits dimension `dim` of operand `operand`.
bool isSplit(llvm::ArrayRef<PartRule> rules, unsigned operand, int64_t dim);

/// The operator with other operands and attributes, on parts.
llvm::SmallVector<mlir::Value> buildPartWith(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> rules,
                                             mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> changed);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_TILING_RULES_H
