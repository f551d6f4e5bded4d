//===- Shapes.h - Shapes of a session's inputs and outputs ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_SHAPES_H
#define SLUICE_RUNTIME_SHAPES_H

#include "Model.h"
#include "sluice/Runtime/sluice.h"

#include <string>
#include <vector>

namespace sluice::runtime {

/// The values of a model's symbols, and the shapes of its inputs and outputs that follow from them.
class Shapes {
public:
  /// `model` outlives this object.
  explicit Shapes(const Model &model) : model(model) {}

  /// Sets the symbols to their upper bounds, and lengths of states to their least values. Fails if the model's function
  /// computes extents above a tensor's bounds. Call once, first.
  Status begin();
  /// Does what sluice_set_shapes does.
  Status set(const int64_t *const *given);
  /// Sets a symbol that is an extent of an input; the others keep their values. Fails if the value is out of range.
  Status setSymbol(size_t symbol, int64_t value);
  /// Sets the symbols that a step finds to their upper bounds. Fails like begin(), and if a state has no room for what
  /// the step adds.
  Status beginStep();
  /// Computes the shapes of outputs from the symbols that the step has found. From the next step on, states have the
  /// lengths that the step gave them. Fails like begin().
  Status endStep();
  /// Sets lengths of states back to those of begin().
  Status reset();
  /// Does what sluice_set_length does.
  Status setLength(size_t symbol, int64_t length);
  /// Does what sluice_get_shape does.
  Status get(uint32_t port, uint32_t index, int64_t *shape, int64_t *bytes) const;
  /// The bytes of an input or output. `index` must be in range.
  int64_t bytes(uint32_t port, size_t index) const { return places(port)[index].bytes; }
  /// The range of an input's indices, in the form of sluice_tensor_desc.range, at the current values of the symbols;
  /// null if there is none.
  const int64_t *range(size_t input) const { return ranges.empty() ? model.inputs[input].range : rangeAt(input); }
  /// The values of the symbols. The address never changes.
  const int64_t *symbols() const { return values.data(); }

private:
  /// Where a tensor's extents begin in `extents`, and how many bytes the tensor has.
  struct Place {
    size_t first = 0;
    int64_t bytes = 0;
  };
  const std::vector<Place> &places(uint32_t port) const { return port == SLUICE_PORT_INPUT ? inputs : outputs; }
  Result<std::vector<int64_t>> takeSymbols(const int64_t *const *given) const;
  std::vector<int64_t> evaluate(const std::vector<int64_t> &symbols) const;
  Status checkBounds(const std::vector<int64_t> &found) const;
  Status checkLengths() const;
  void useInputs(const std::vector<int64_t> &found);
  /// The symbols' values before the next step: states have these lengths, and symbols that the step finds have their
  /// upper bounds.
  std::vector<int64_t> ofNextStep(const std::vector<int64_t> &stateLengths) const;
  Status use(const std::vector<int64_t> &symbols, const std::vector<int64_t> &found);
  std::string describeMismatch(size_t input, uint32_t dimension, int64_t given, const std::vector<int64_t> &symbols,
                               int64_t wanted) const;

  const int64_t *rangeAt(size_t input) const {
    return model.inputs[input].range ? ranges.data() + rangeStarts[input] : nullptr;
  }

  const Model &model;
  std::vector<int64_t> values; ///< Per symbol. Kernels store the values that a step finds here.
  bool finds = false;          ///< Whether a step finds a symbol.
  /// Per symbol: a state's length in the next step; empty if no symbol is the length of a state.
  std::vector<int64_t> lengths;
  std::vector<int64_t> extents; ///< The extents of all inputs, then those of all outputs.
  std::vector<Place> inputs, outputs;
  std::vector<int64_t> ranges;     ///< The ranges of the inputs that have one; empty if they are constant.
  std::vector<size_t> rangeStarts; ///< Per input: where its range begins in `ranges`.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_SHAPES_H
