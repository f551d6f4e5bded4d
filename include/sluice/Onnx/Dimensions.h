//===- Dimensions.h - Binding symbolic dimensions ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_DIMENSIONS_H
#define SLUICE_ONNX_DIMENSIONS_H

#include "sluice/Onnx/ModelFile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The sizes that a dimension may have; one size where both are equal.
struct DimRange {
  int64_t least = 0, most = 0;
  int64_t step = 1; ///< The sizes are least, least + step and so on.
  /// Sizes below `most`, ascending: each is the largest of a bucket, whose sizes have a plan of their own.
  std::vector<int64_t> buckets = {};
  bool operator==(const DimRange &) const = default;
};

/// What integers are at least and at most.
struct ValueBounds {
  std::optional<int64_t> low; ///< Of an input of the model: a step in which an element is less fails too.
  int64_t high = 0;
};

/// What the user says about a model's inputs.
struct DimBindings {
  /// `--dim name=value`. A dimension without a symbol goes by "input.axis".
  std::map<std::string, int64_t> values;
  /// `--dim name=least..most:step`: the program serves all these sizes.
  std::map<std::string, DimRange> ranges;
  /// `--dim name=other`: the size is that of another dimension.
  std::map<std::string, std::string> ties;
  /// `--dim name=other+another+1`: the size is the sum of other dimensions' sizes and of numbers.
  std::map<std::string, std::vector<std::string>> sums;
  /// Shapes of inputs given as data, by input name; the input itself may not declare any.
  std::map<std::string, std::vector<int64_t>> inputShapes;
  /// Shapes of the elements of inputs that are sequences, by input name; none for an optional without a value.
  std::map<std::string, std::vector<std::vector<int64_t>>> sequences;

  /// The dimension that a name is tied to, by way of others perhaps; the name itself where it is not.
  std::string tiedTo(const std::string &name) const;
};

/// A symbol, and where the model uses it first.
struct SymbolUse {
  std::string symbol, input;
  size_t axis = 0;
};
/// Every symbolic dimension of the inputs, in order of first use.
std::vector<SymbolUse> symbolicDims(const ModelFile &model);

/// "batch=8" -> ("batch", {8, 8}), "batch=1..8" -> ("batch", {1, 8}), "height=32..320:32" -> ("height", {32, 320, 32}),
/// "sequence=16,64,512" -> ("sequence", {1, 512, 1, {16, 64}}). A list of buckets begins at the step where no least
/// size is given. Fails on a missing name, on a size that is not a non-negative integer, on a range that is empty, on
/// buckets that do not ascend, and on a size that is at no step.
Expected<std::pair<std::string, DimRange>> parseDimBinding(std::string_view text);
/// Adds what the text of an option `--dim` says: what parseDimBinding does, or "state.1=input.0", the name of another
/// dimension, or "total=past+sequence", a sum of others and of numbers.
Status addDimBinding(std::string_view text, DimBindings &bindings);

/// Adds what the text of an option `--shape` says: "x=2x3", the shape of an input that declares none
/// ("x=scalar": no extents), or "x=[2x3,4x3]", those of the elements of an input that is a sequence ("x=[]": no
/// element, or an optional without a value). Fails on a missing name and on an extent that is not a non-negative
/// integer.
Status addShapeBinding(std::string_view text, DimBindings &bindings);

struct BoundInputs {
  /// Static shape of each of model.inputs(), same order.
  std::vector<std::vector<int64_t>> shapes;
  /// Shapes of its elements, of one that is a sequence or an optional without a value; nothing for a tensor.
  std::vector<std::optional<std::vector<std::vector<int64_t>>>> sequences;
  /// Each symbol's value.
  std::map<std::string, int64_t> symbols;
};
/// Ranges bind nothing. A dimension that is bound by nothing and whose name is a sum of others' names and of numbers,
/// such as "past + 1", has the sum of their sizes. Fails naming the dimension where one is unbound, bound to two
/// values, or bound without being in the model; and naming the input where a given shape differs in rank or in a
/// declared size.
Expected<BoundInputs> bindDims(const ModelFile &model, const DimBindings &bindings);

} // namespace sluice

#endif // SLUICE_ONNX_DIMENSIONS_H
