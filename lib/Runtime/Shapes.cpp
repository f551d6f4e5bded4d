//===- Shapes.cpp - Shapes of a session's inputs and outputs --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shapes.h"

#include <algorithm>
#include <utility>

namespace sluice::runtime {

namespace {

/// The bytes of a tensor's elements at other extents than its bounds, which are not below them.
int64_t bytesOf(const sluice_tensor_desc &tensor, const int64_t *extents) {
  int64_t most = 1, count = 1;
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    most *= tensor.shape[d];
    count *= extents[d];
  }
  return count == most ? tensor.bytes : tensor.bytes / most * count;
}

std::string describe(const sluice_symbol_desc &symbol) { return "symbol '" + std::string(symbol.name) + "'"; }

} // namespace

Status Shapes::begin() {
  std::vector<int64_t> upper;
  for (const sluice_symbol_desc &symbol : model.symbols)
    upper.push_back(symbol.most);
  size_t rank = 0;
  for (auto [tensors, out] : {std::pair(&model.inputs, &inputs), std::pair(&model.outputs, &outputs)})
    for (const sluice_tensor_desc &tensor : *tensors) {
      out->push_back({rank, tensor.bytes});
      extents.insert(extents.end(), tensor.shape, tensor.shape + tensor.rank);
      rank += tensor.rank;
    }
  values = upper;
  finds = std::any_of(model.symbols.begin(), model.symbols.end(),
                      [](const sluice_symbol_desc &symbol) { return symbol.input == kFound; });
  for (size_t s = 0; s < model.symbols.size(); ++s)
    if (model.symbols[s].input == kKept) {
      lengths.resize(model.symbols.size());
      lengths[s] = model.symbols[s].least;
    }
  if (!model.symbols.empty() && model.source->ranges)
    for (const sluice_tensor_desc &input : model.inputs) {
      rangeStarts.push_back(ranges.size());
      if (input.range)
        ranges.insert(ranges.end(), input.range, input.range + 3);
    }
  if (model.symbols.empty())
    return {};
  if (Status status = use(upper, evaluate(upper)); !status || lengths.empty())
    return status;
  return reset();
}

std::vector<int64_t> Shapes::ofNextStep(const std::vector<int64_t> &stateLengths) const {
  std::vector<int64_t> symbols = values;
  for (size_t s = 0; s < symbols.size(); ++s)
    if (model.symbols[s].input == kKept)
      symbols[s] = stateLengths[s];
    else if (model.symbols[s].input == kFound)
      symbols[s] = model.symbols[s].most;
  return symbols;
}

Status Shapes::reset() {
  if (lengths.empty() && !finds)
    return {};
  std::vector<int64_t> first = lengths;
  for (size_t s = 0; s < first.size(); ++s)
    first[s] = model.symbols[s].least;
  const std::vector<int64_t> symbols = ofNextStep(first);
  if (Status status = use(symbols, evaluate(symbols)); !status)
    return status;
  lengths = std::move(first);
  return {};
}

Status Shapes::setLength(size_t number, int64_t length) {
  if (number >= model.symbols.size() || model.symbols[number].input != kKept)
    return failure("symbol ", number, " is not the length of a state, the model has ", model.symbols.size(),
                   " symbols, give one whose input is SLUICE_SYMBOL_STATE");
  const sluice_symbol_desc &symbol = model.symbols[number];
  if (length < symbol.least || length > symbol.most)
    return failure("state '", model.states[symbol.dimension].name, "' cannot have ", length, " positions, ",
                   describe(symbol), ", give ", symbol.least, " to ", symbol.most);
  std::vector<int64_t> next = lengths;
  next[number] = length;
  std::vector<int64_t> symbols = ofNextStep(next);
  // Another state may be full, and extents have bounds only for lengths with which a step may begin.
  for (size_t s = 0; s < symbols.size(); ++s)
    symbols[s] = std::min(symbols[s], model.symbols[s].most);
  if (Status status = use(symbols, evaluate(symbols)); !status)
    return status;
  lengths = std::move(next);
  return {};
}

Status Shapes::checkLengths() const {
  for (size_t s = 0; s < lengths.size(); ++s)
    if (const sluice_symbol_desc &symbol = model.symbols[s]; symbol.input == kKept && lengths[s] > symbol.most)
      return failure("state '", model.states[symbol.dimension].name, "' is full, a step may begin with at most ",
                     symbol.most, " positions and the state holds ", lengths[s], ", ", describe(symbol),
                     ", reset the session or compile the model with a larger range");
  return {};
}

std::vector<int64_t> Shapes::evaluate(const std::vector<int64_t> &symbols) const {
  if (model.symbols.empty())
    return extents;
  std::vector<int64_t> found(extents.size());
  model.source->extents(symbols.data(), found.data());
  return found;
}

/// Slots have the bytes of the bounds: beyond them is other tensors' memory.
Status Shapes::checkBounds(const std::vector<int64_t> &found) const {
  const int64_t *extent = found.data();
  for (const std::vector<sluice_tensor_desc> *tensors : {&model.inputs, &model.outputs})
    for (const sluice_tensor_desc &tensor : *tensors)
      for (uint32_t d = 0; d < tensor.rank; ++d, ++extent)
        if (*extent < 0 || *extent > tensor.shape[d])
          return failure("tensor '", tensor.name, "' has extent ", *extent, " in dimension ", d, ", outside of 0 to ",
                         tensor.shape[d], ", compile the model again");
  return {};
}

Status Shapes::use(const std::vector<int64_t> &symbols, const std::vector<int64_t> &found) {
  if (Status status = checkBounds(found); !status)
    return status;
  std::copy(symbols.begin(), symbols.end(), values.begin());
  std::copy(found.begin(), found.end(), extents.begin());
  if (!ranges.empty())
    model.source->ranges(values.data(), ranges.data());
  useInputs(found);
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i].bytes = bytesOf(model.outputs[i], extents.data() + outputs[i].first);
  return {};
}

Result<std::vector<int64_t>> Shapes::takeSymbols(const int64_t *const *given) const {
  std::vector<int64_t> symbols;
  for (const sluice_symbol_desc &symbol : model.symbols) {
    if (symbol.input == kFound || symbol.input == kKept) {
      symbols.push_back(symbol.input == kFound ? symbol.most : lengths[symbols.size()]);
      continue;
    }
    const int64_t value = given[symbol.input][symbol.dimension];
    if (value < symbol.least || value > symbol.most || (value - symbol.least) % symbol.step != 0)
      return failure("input '", model.inputs[symbol.input].name, "' has extent ", value, " in dimension ",
                     symbol.dimension, ", which is ", describe(symbol), ", give ", symbol.least, " to ", symbol.most,
                     symbol.step == 1 ? "" : " in steps of " + std::to_string(symbol.step));
    symbols.push_back(value);
  }
  return symbols;
}

/// The function of extents does not say what an extent depends on: it is evaluated at another value of each symbol.
std::string Shapes::describeMismatch(size_t input, uint32_t dimension, int64_t given,
                                     const std::vector<int64_t> &symbols, int64_t wanted) const {
  std::string origins;
  for (size_t s = 0; s < symbols.size(); ++s) {
    const sluice_symbol_desc &symbol = model.symbols[s];
    if (symbol.input == kFound)
      continue;
    std::vector<int64_t> other = symbols;
    other[s] = symbols[s] == symbol.least ? symbol.most : symbol.least;
    if (evaluate(other)[inputs[input].first + dimension] == wanted)
      continue;
    const std::string origin =
        symbol.input == kKept
            ? "the length of state '" + std::string(model.states[symbol.dimension].name) + "'"
            : "dimension " + std::to_string(symbol.dimension) + " of input '" + model.inputs[symbol.input].name + "'";
    origins += (origins.empty() ? ", which follows from " : " and ") + describe(symbol) + " = " +
               std::to_string(symbols[s]) + " (" + origin + ")";
  }
  return failure("input '", model.inputs[input].name, "' has extent ", given, " in dimension ", dimension,
                 " and needs extent ", wanted, origins,
                 origins.empty() ? ", give data of this extent" : ", give inputs that agree")
      .value();
}

Status Shapes::set(const int64_t *const *given) {
  if (Status status = checkLengths(); !status)
    return status;
  for (size_t i = 0; i < model.inputs.size(); ++i)
    if (model.inputs[i].rank > 0 && (!given || !given[i]))
      return failure("input '", model.inputs[i].name, "' has no shape, give the address of its ", model.inputs[i].rank,
                     " extents");
  Result<std::vector<int64_t>> symbols = takeSymbols(given);
  if (!symbols)
    return tl::unexpected(symbols.error());
  const std::vector<int64_t> found = evaluate(*symbols);
  for (size_t i = 0; i < model.inputs.size(); ++i)
    for (uint32_t d = 0; d < model.inputs[i].rank; ++d)
      if (const int64_t wanted = found[inputs[i].first + d]; given[i][d] != wanted)
        return tl::unexpected(describeMismatch(i, d, given[i][d], *symbols, wanted));
  return model.symbols.empty() ? Status() : use(*symbols, found);
}

Status Shapes::setSymbol(size_t number, int64_t value) {
  const sluice_symbol_desc &symbol = model.symbols[number];
  if (value < symbol.least || value > symbol.most || (value - symbol.least) % symbol.step != 0)
    return failure(describe(symbol), " cannot be ", value, ", give ", symbol.least, " to ", symbol.most,
                   symbol.step == 1 ? "" : " in steps of " + std::to_string(symbol.step));
  if (Status status = checkLengths(); !status)
    return status;
  std::vector<int64_t> symbols = ofNextStep(lengths);
  symbols[number] = value;
  return use(symbols, evaluate(symbols));
}

Status Shapes::beginStep() {
  if (Status status = checkLengths(); !status)
    return status;
  const std::vector<int64_t> symbols = ofNextStep(lengths);
  if (!finds && symbols == values)
    return {};
  return use(symbols, evaluate(symbols));
}

Status Shapes::endStep() {
  if (!lengths.empty())
    model.source->advance(values.data(), lengths.data());
  if (finds) {
    const std::vector<int64_t> symbols = values;
    if (Status status = use(symbols, evaluate(symbols)); !status)
      return status;
  }
  // Inputs have the shapes of the next step, outputs those of this one.
  if (!lengths.empty() && checkLengths())
    useInputs(evaluate(ofNextStep(lengths)));
  return {};
}

void Shapes::useInputs(const std::vector<int64_t> &found) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Place &place = inputs[i];
    std::copy_n(found.data() + place.first, model.inputs[i].rank, extents.data() + place.first);
    inputs[i].bytes = bytesOf(model.inputs[i], extents.data() + place.first);
  }
}

Status Shapes::get(uint32_t port, uint32_t index, int64_t *shape, int64_t *bytes) const {
  if (port != SLUICE_PORT_INPUT && port != SLUICE_PORT_OUTPUT)
    return failure("port ", port, " is neither an input nor an output, give SLUICE_PORT_INPUT or SLUICE_PORT_OUTPUT");
  const std::vector<sluice_tensor_desc> &tensors = port == SLUICE_PORT_INPUT ? model.inputs : model.outputs;
  if (index >= tensors.size())
    return failure(port == SLUICE_PORT_INPUT ? "input " : "output ", index, " does not exist, because the model has ",
                   tensors.size(), port == SLUICE_PORT_INPUT ? " input" : " output", tensors.size() == 1 ? "" : "s",
                   " and the first has number 0, give a smaller number");
  const Place &place = places(port)[index];
  if (shape)
    std::copy_n(extents.data() + place.first, tensors[index].rank, shape);
  if (bytes)
    *bytes = place.bytes;
  return {};
}

} // namespace sluice::runtime
