//===- StepInputs.cpp - The tensors of a step -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepInputs.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Text.h"
#include "sluice/TensorIO/IndexRange.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::driver {

/// The value of a symbol of no input in the first step: at most that where the step finds it in its data, and that
/// where it is the length of a state.
static std::optional<int64_t> valueOfNoInput(const sluice_symbol_desc &symbol) {
  if (symbol.input == SLUICE_SYMBOL_FOUND)
    return symbol.most;
  return symbol.input == SLUICE_SYMBOL_STATE ? std::optional(symbol.least) : std::nullopt;
}

/// What the indices of an input may be, at the shapes of the inputs; nothing of one that holds none.
static std::optional<std::array<int64_t, 3>> rangeOf(const sluice_model &model, uint32_t input,
                                                     const InputShapes &shapes) {
  std::array<int64_t, 3> range{};
  const int64_t *own = tableEntry(model.inputs, input).range;
  if (!own)
    return std::nullopt;
  if (model.num_symbols > 0 && model.ranges) {
    std::vector<int64_t> symbols, all;
    for (uint32_t s = 0; s < model.num_symbols; ++s) {
      const sluice_symbol_desc symbol = tableEntry(model.symbols, s);
      const std::optional<int64_t> value = valueOfNoInput(symbol);
      symbols.push_back(value ? *value : shapes[symbol.input][symbol.dimension]);
    }
    size_t before = 0;
    for (uint32_t i = 0; i < model.num_inputs; ++i)
      if (tableEntry(model.inputs, i).range) {
        before += i < input ? range.size() : 0;
        all.resize(all.size() + range.size());
      }
    model.ranges(symbols.data(), all.data());
    std::copy_n(all.data() + before, range.size(), range.data());
  } else {
    std::copy_n(own, range.size(), range.data());
  }
  return range;
}

Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model, const InputShapes &shapes,
                                             std::vector<GivenInput> given) {
  std::vector<HostTensor> inputs;
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    const sluice_tensor_desc desc = tableEntry(model.inputs, i);
    SLUICE_ASSIGN_OR_RETURN(ElementType type, elementTypeFromOnnx(desc.element_type));
    const std::vector<int64_t> &shape = shapes[i];
    if (given[i].tensor) {
      HostTensor &tensor = *given[i].tensor;
      if (tensor.type != type || tensor.shape != shape)
        return makeError(ErrorCode::InvalidInput, "input '", desc.name, "' needs ", elementTypeName(type), " ",
                         formatShape(shape), " and '", given[i].origin, "' has ", elementTypeName(tensor.type), " ",
                         formatShape(tensor.shape), ", convert the data");
      tensor.name = desc.name;
      inputs.push_back(std::move(tensor));
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, makeTensor(desc.name, type, shape));
    fillRandom(tensor, given[i].seed, i);
    if (const std::optional<std::array<int64_t, 3>> range = rangeOf(model, i, shapes))
      bringIntoRange(tensor, (*range)[0], (*range)[1]);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// How many batches of `shape` the data is; 0: it is none.
static int64_t countBatches(const HostTensor &data, const std::vector<int64_t> &shape) {
  if (data.shape == shape)
    return 1;
  if (shape.empty() || data.shape.size() != shape.size() || shape[0] < 1 || data.shape[0] < shape[0] ||
      data.shape[0] % shape[0] != 0 || !std::equal(shape.begin() + 1, shape.end(), data.shape.begin() + 1))
    return 0;
  return data.shape[0] / shape[0];
}

/// The size of a symbol of a model: see chooseShapes.
static Expected<int64_t> chooseSize(const sluice_symbol_desc &symbol, const sluice_tensor_desc &input,
                                    const GivenInput &given, int64_t steps,
                                    const std::map<std::string, int64_t> &sizes) {
  const std::vector<int64_t> none, &data = given.tensor ? given.tensor->shape : none;
  const std::optional<int64_t> extent =
      data.size() == input.rank ? std::optional(data[symbol.dimension]) : std::nullopt;
  const auto found = sizes.find(symbol.name);
  if (found == sizes.end())
    return extent.value_or(symbol.most);
  const int64_t size = found->second;
  if (size < symbol.least || size > symbol.most || (size - symbol.least) % symbol.step != 0)
    return makeError(ErrorCode::InvalidInput, "size ", size, " of symbol '", symbol.name,
                     "' is out of range, option '--dim ", symbol.name, "=", size, "', give a size from ", symbol.least,
                     " to ", symbol.most, symbol.step == 1 ? "" : concat(" in steps of ", symbol.step));
  const bool isBatches = extent && steps > 1 && symbol.dimension == 0 && size > 0 && *extent % size == 0;
  if (extent && *extent != size && !isBatches)
    return makeError(ErrorCode::InvalidInput, "'", given.origin, "' has extent ", *extent, " in dimension ",
                     symbol.dimension, " of input '", input.name, "', and option '--dim ", symbol.name, "=", size,
                     "' sets this extent to ", size, ", give data of extent ", size, " or leave the option out");
  return size;
}

Expected<InputShapes> chooseShapes(const sluice_model &model, const std::vector<GivenInput> &given, int64_t steps,
                                   const std::map<std::string, int64_t> &sizes) {
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for (uint32_t i = 0; i < model.num_symbols; ++i) {
    const sluice_symbol_desc symbol = tableEntry(model.symbols, i);
    if (const std::optional<int64_t> value = valueOfNoInput(symbol)) {
      values.push_back(*value);
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(
        int64_t size, chooseSize(symbol, tableEntry(model.inputs, symbol.input), given[symbol.input], steps, sizes));
    names.push_back(symbol.name);
    // Data outside of the range is refused with its own shape.
    values.push_back(std::clamp(size, symbol.least, symbol.most));
  }
  for (const auto &[name, size] : sizes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return makeError(ErrorCode::NotFound, "the model has no symbol '", name, "', option '--dim ", name, "=", size,
                       "', ", names.empty() ? "leave this option out" : "use " + alternatives(names));
  InputShapes shapes;
  size_t numExtents = 0;
  for (const auto &[ports, count] : {std::pair(model.inputs, model.num_inputs), {model.outputs, model.num_outputs}})
    for (uint32_t i = 0; i < count; ++i)
      numExtents += tableEntry(ports, i).rank;
  std::vector<int64_t> extents(numExtents);
  if (model.num_symbols > 0)
    model.extents(values.data(), extents.data());
  size_t first = 0;
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    const sluice_tensor_desc desc = tableEntry(model.inputs, i);
    const int64_t *shape = model.num_symbols > 0 ? extents.data() + first : desc.shape;
    shapes.emplace_back(shape, shape + desc.rank);
    first += desc.rank;
    // Of several batches a step sees one. Without symbols, makeInputs names the file that does not fit.
    if (model.num_symbols > 0 && given[i].tensor && given[i].tensor->shape.size() == desc.rank &&
        (steps < 2 || countBatches(*given[i].tensor, shapes.back()) < 2))
      shapes.back() = given[i].tensor->shape;
  }
  return shapes;
}

Expected<StepInputs> StepInputs::create(RunSession &session, std::vector<GivenInput> given, int64_t steps,
                                        const std::map<std::string, int64_t> &sizes) {
  const sluice_model &model = session.model();
  SLUICE_ASSIGN_OR_RETURN(InputShapes shapes, chooseShapes(model, given, steps, sizes));
  SLUICE_RETURN_IF_ERROR(session.setShapes(shapes));
  StepInputs inputs;
  inputs.whole.resize(model.num_inputs);
  std::string first;
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    const sluice_tensor_desc desc = tableEntry(model.inputs, i);
    const std::vector<int64_t> &shape = shapes[i];
    int64_t count = given[i].tensor ? countBatches(*given[i].tensor, shape) : 1;
    if (count < 2)
      continue;
    if (steps < 2)
      return makeError(ErrorCode::InvalidInput, "'", given[i].origin, "' holds ", count, " batches for input '",
                       desc.name, "', and one step reads one batch, ", formatShape(shape),
                       ", run several steps with --steps");
    if (inputs.batches > 1 && count != inputs.batches)
      return makeError(ErrorCode::InvalidInput, "'", given[i].origin, "' holds ", count, " batches and '", first,
                       "' holds ", inputs.batches, ", give files with equal numbers of batches");
    inputs.batches = count;
    first = given[i].origin;
    HostTensor batch = *given[i].tensor;
    batch.shape = shape;
    batch.bytes.resize(batch.bytes.size() / static_cast<size_t>(count));
    inputs.whole[i] = std::exchange(*given[i].tensor, std::move(batch));
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> made, makeInputs(model, shapes, std::move(given)));
  inputs.current = std::move(made);
  return inputs;
}

const std::vector<HostTensor> &StepInputs::at(int64_t step) {
  for (size_t i = 0; i < whole.size(); ++i)
    if (whole[i]) {
      std::vector<std::byte> &bytes = current[i].bytes;
      auto begin = whole[i]->bytes.begin() + static_cast<ptrdiff_t>(bytes.size()) * (step % batches);
      std::copy_n(begin, bytes.size(), bytes.begin());
    }
  return current;
}

} // namespace sluice::driver
