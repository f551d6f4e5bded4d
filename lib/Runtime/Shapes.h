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

  /// Gives the symbols their upper bounds, and lengths of states the least they have. Fails where the model's function
  /// computes extents above a tensor's bounds. Call once, first.
  Status begin();
  /// As sluice_set_shapes.
  Status set(const int64_t *const *given);
  /// Gives a symbol that is an input's extent another value; others keep theirs. Fails where it is out of range.
  Status setSymbol(size_t symbol, int64_t value);
  /// Gives the symbols that a step finds their upper bounds. Fails as begin() does, and where a state has no room for
  /// what the step adds.
  Status beginStep();
  /// Takes what the step has found: shapes of outputs follow from it. States are as long as the step has made them,
  /// from the next step on. Fails as begin() does.
  Status endStep();
  /// States are as they were at first.
  Status reset();
  /// As sluice_set_length.
  Status setLength(size_t symbol, int64_t length);
  /// As sluice_get_shape.
  Status get(uint32_t port, uint32_t index, int64_t *shape, int64_t *bytes) const;
  /// The bytes of an input or output, which exists.
  int64_t bytes(uint32_t port, size_t index) const { return places(port)[index].bytes; }
  /// What an input's indices may be: as sluice_tensor_desc.range, at the values of the symbols.
  const int64_t *range(size_t input) const { return ranges.empty() ? model.inputs[input].range : rangeAt(input); }
  /// The values of the symbols: one address for the life of this object.
  const int64_t *symbols() const { return values.data(); }

private:
  /// A tensor's extents in `extents`, and its bytes.
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
  std::vector<int64_t> values;  ///< Per symbol. Kernels store those that they find.
  bool finds = false;           ///< Whether there are such.
  std::vector<int64_t> lengths; ///< Per symbol: of a state in the next step; empty where no symbol is one.
  std::vector<int64_t> extents; ///< Of all inputs, then of all outputs.
  std::vector<Place> inputs, outputs;
  std::vector<int64_t> ranges;     ///< Of the inputs that have one; empty where they are constant.
  std::vector<size_t> rangeStarts; ///< Per input.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_SHAPES_H
