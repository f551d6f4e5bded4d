//===- Rules.h - What the operators' tiling rules share ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_TILING_RULES_H
#define SLUICE_DATAFLOW_TILING_RULES_H

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Tiling/Tiling.h"

namespace sluice::dataflow {

/// Collects an operator's rules. A rule has one dimension per operand and per result, or kWhole for a tensor that is
/// not split; entries missing at the end count as kWhole. If the extents have no common divisor, methods add no rule
/// and return nullptr. If the extents are equal, parts may be uneven.
class RuleList {
public:
  static constexpr int64_t kWhole = -1;
  using Dims = llvm::ArrayRef<int64_t>;

  explicit RuleList(mlir::Operation *op) : op(op) {}

  TilingRule *split(const std::string &name, Dims operands, Dims results);
  /// Adds a rule whose parts compute partial values of the first result, which are to be reduced. Parts may be uneven
  /// if a part's result is the same without those elements of the split dimension at which all split operands without a
  /// halo are the neutral element of the reduction.
  TilingRule *partial(const std::string &name, Dims operands, PartialKind reduction, bool ignoresNeutral = false);
  /// Adds a rule for each dimension of result 0 for which `wanted` is true. Other results, and operands for which
  /// `follows` is true, are split too if numpy's broadcasting aligns a dimension of the same extent with it. All other
  /// tensors are whole.
  void aligned(llvm::function_ref<bool(int64_t)> wanted, llvm::function_ref<bool(unsigned)> follows);
  void aligned(llvm::function_ref<bool(int64_t)> wanted) {
    aligned(wanted, [](unsigned) { return true; });
  }
  std::vector<TilingRule> take() { return std::move(rules); }

private:
  mlir::Operation *op;
  std::vector<TilingRule> rules;
};

/// The dimension of `value` that numpy's broadcasting aligns with dimension `dim` of `shape`, or kWhole if there is
/// none of the same extent.
int64_t alignedDim(mlir::Value value, llvm::ArrayRef<int64_t> shape, int64_t dim);

/// A rule that splits a dimension of each operand and result in blocks of `width` elements; kWhole leaves the tensor
/// whole. `extents` has the extents of these dimensions. Returns nothing if blocks cannot be split, or if there are too
/// many.
std::optional<TilingRule> ruleInBlocks(const std::string &name, llvm::ArrayRef<int64_t> operandDims,
                                       llvm::ArrayRef<int64_t> operandExtents, int64_t resultDim, int64_t resultExtent,
                                       int64_t width);

/// A window that slides along one dimension.
struct SlidingWindow {
  int64_t in, out; ///< Extents of the input and of the output.
  int64_t kernel, stride, padLow, dilation;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// Whether windows and elements are split alike: the windows of each part begin `padLow` before its elements.
  bool aligns() const { return stride >= 1 && padLow >= 0 && in > 0 && in == out * stride && padLow < reach(); }
  /// The halo of the input, for windows that align.
  Halo halo(Halo::Fill fill) const { return {padLow, std::max<int64_t>(0, reach() - stride - padLow), fill}; }
};

/// Gives operand 0 of a rule a halo, and limits the number of parts so that none is smaller than the halo.
void addHalo(TilingRule *rule, int64_t extent, Halo halo);

/// Whether a rule splits dimension `dim` of operand `operand`.
bool isSplit(llvm::ArrayRef<PartRule> rules, unsigned operand, int64_t dim);

/// Builds a part as the same operator with other operands and attributes.
llvm::SmallVector<mlir::Value> buildPartWith(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> rules,
                                             mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> changed);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_TILING_RULES_H
