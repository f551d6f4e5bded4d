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

/// The possible sizes of a dimension; a single size if `least` and `most` are equal.
struct DimRange {
  int64_t least = 0, most = 0;
  int64_t step = 1; ///< The sizes are least, least + step and so on.
  /// Sizes below `most`, ascending. Each is the largest size of a bucket that has a plan of its own.
  std::vector<int64_t> buckets = {};
  bool operator==(const DimRange &) const = default;
};

/// Bounds of the elements of an integer tensor.
struct ValueBounds {
  std::optional<int64_t> low; ///< For an input of the model, a step with a smaller element fails.
  int64_t high = 0;
};

/// The user's sizes of the dimensions of a model's inputs.
struct DimBindings {
  /// `--dim name=value`. The name of a dimension without a symbol is "input.axis".
  std::map<std::string, int64_t> values;
  /// `--dim name=least..most:step`: the program serves all these sizes.
  std::map<std::string, DimRange> ranges;
  /// `--dim name=other`: the size is equal to the size of another dimension.
  std::map<std::string, std::string> ties;
  /// `--dim name=other+another+1`: the size is the sum of other dimensions' sizes and of numbers.
  std::map<std::string, std::vector<std::string>> sums;
  /// Shapes by the name of the input: from options `--shape` for inputs that declare no shape, and from the data that
  /// was given for inputs.
  std::map<std::string, std::vector<int64_t>> inputShapes;
  /// For inputs that are sequences, by the name of the input: the shapes of the elements. An optional without a value
  /// has an empty list.
  std::map<std::string, std::vector<std::vector<int64_t>>> sequences;

  /// Follows `ties` from `name` and returns the last name of the chain; `name` itself if it has no tie.
  std::string tiedTo(const std::string &name) const;
};

/// A symbol and its first use in the model.
struct SymbolUse {
  std::string symbol, input;
  size_t axis = 0;
};
/// Every symbolic dimension of the inputs, in order of first use.
std::vector<SymbolUse> symbolicDims(const ModelFile &model);

/// Parses a text of an option `--dim`: "batch=8" -> ("batch", {8, 8}), "batch=1..8" -> ("batch", {1, 8}),
/// "height=32..320:32" -> ("height", {32, 320, 32}), "sequence=16,64,512" -> ("sequence", {1, 512, 1, {16, 64}}). A
/// list of sizes gives no least size; DimRange::least is then equal to DimRange::step. Fails on a missing name, on a
/// size that is not a non-negative integer, on an empty range, on buckets that do not ascend, and on a size between two
/// steps.
Expected<std::pair<std::string, DimRange>> parseDimBinding(std::string_view text);
/// Parses the text of an option `--dim` and adds it. The text is one that parseDimBinding accepts, "state.1=input.0"
/// (another dimension), or "total=past+sequence" (a sum of dimensions and numbers).
Status addDimBinding(std::string_view text, DimBindings &bindings);

/// Parses the text of an option `--shape` and adds it. "x=2x3" is the shape of an input that declares no shape, and
/// "x=scalar" a shape without extents. "x=[2x3,4x3]" are the shapes of the elements of an input that is a sequence, and
/// "x=[]" is a sequence without elements or an optional without a value. Fails on a missing name and on an extent that
/// is not a non-negative integer.
Status addShapeBinding(std::string_view text, DimBindings &bindings);

struct BoundInputs {
  /// The static shape of each input, in the order of model.inputs().
  std::vector<std::vector<int64_t>> shapes;
  /// For each input that is a sequence, or an optional without a value: the shapes of its elements. Absent for a
  /// tensor.
  std::vector<std::optional<std::vector<std::vector<int64_t>>>> sequences;
  /// Each symbol's value.
  std::map<std::string, int64_t> symbols;
};
/// Determines the size of each dimension of the inputs. Ignores the ranges in `bindings`. If a dimension has no size
/// and its name is a sum of other names and numbers, such as "past + 1", the size is the sum of their sizes. Fails,
/// naming the dimension, if a dimension has no size, has two different sizes, or is not in the model. Fails, naming the
/// input, if the shape of its data differs from the declared rank or sizes.
Expected<BoundInputs> bindDims(const ModelFile &model, const DimBindings &bindings);

} // namespace sluice

#endif // SLUICE_ONNX_DIMENSIONS_H
