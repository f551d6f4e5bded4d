//===- Dimensions.cpp - Binding symbolic dimensions -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Dimensions.h"

#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace sluice {

std::vector<SymbolUse> symbolicDims(const ModelFile &model) {
  std::vector<SymbolUse> uses;
  std::set<std::string_view> seen;
  for (const DeclaredTensor &input : model.inputs())
    for (size_t axis = 0; input.dims && axis < input.dims->size(); ++axis) {
      const DeclaredDim &dim = (*input.dims)[axis];
      if (dim.value < 0 && seen.insert(dim.symbol).second)
        uses.push_back({dim.symbol, input.name, axis});
    }
  return uses;
}

Expected<std::pair<std::string, DimRange>> parseDimBinding(std::string_view text) {
  // Symbols may hold '=' themselves; values may not.
  size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0)
    return makeError(ErrorCode::InvalidInput, "'", text, "' does not bind a dimension, write NAME=SIZE");
  const std::string_view sizes = text.substr(equals + 1), bounds = sizes.substr(0, sizes.find(':'));
  const size_t dots = bounds.find("..");
  auto parse = [&](std::string_view part) -> Expected<int64_t> {
    Expected<int64_t> value = parseInteger(part);
    if (!value || *value < 0)
      return makeError(ErrorCode::InvalidInput, "'", part, "' is not a size, in '", text,
                       "', write NAME=SIZE, NAME=LEAST..MOST, NAME=LEAST..MOST:STEP or NAME=SIZE,SIZE,MOST");
    return value;
  };
  DimRange range;
  if (bounds.size() < sizes.size()) {
    SLUICE_ASSIGN_OR_RETURN(range.step, parse(sizes.substr(bounds.size() + 1)));
  }
  for (std::string_view rest = dots == std::string_view::npos ? bounds : bounds.substr(dots + 2);;) {
    const size_t comma = rest.find(',');
    SLUICE_ASSIGN_OR_RETURN(int64_t size, parse(rest.substr(0, comma)));
    range.buckets.push_back(size);
    if (comma == std::string_view::npos)
      break;
    rest = rest.substr(comma + 1);
  }
  range.most = range.buckets.back();
  range.least = range.buckets.size() == 1 ? range.most : range.step;
  if (dots != std::string_view::npos) {
    SLUICE_ASSIGN_OR_RETURN(range.least, parse(bounds.substr(0, dots)));
  }
  if (range.most < range.least)
    return makeError(ErrorCode::InvalidInput, "the range '", sizes, "' is empty, in '", text,
                     "', write the smaller size first");
  int64_t before = range.least - 1;
  for (int64_t size : range.buckets) {
    if (size <= before)
      return makeError(ErrorCode::InvalidInput, "the sizes '", sizes, "' do not ascend from ", range.least, ", in '",
                       text, "', write each size once, smaller ones first");
    if (range.step < 1 || (size - range.least) % range.step != 0)
      return makeError(ErrorCode::InvalidInput, "the range '", sizes, "' is not a whole number of steps long, in '",
                       text, "', end it at ",
                       range.least + (range.step < 1 ? 0 : (size - range.least) / range.step * range.step),
                       " or change the step");
    before = size;
  }
  range.buckets.pop_back();
  return std::pair(std::string(text.substr(0, equals)), range);
}

std::string DimBindings::tiedTo(const std::string &name) const {
  std::string at = name;
  // A circle ends after as many steps as there are ties.
  for (size_t step = 0; step < ties.size(); ++step)
    if (auto tie = ties.find(at); tie != ties.end())
      at = tie->second;
  return at;
}

/// "past + 1" as its terms, none empty; nothing where there is no sum.
static std::vector<std::string> termsOf(std::string_view text) {
  std::vector<std::string> terms;
  while (true) {
    const size_t plus = text.find('+');
    std::string_view term = text.substr(0, plus);
    while (!term.empty() && term.front() == ' ')
      term.remove_prefix(1);
    while (!term.empty() && term.back() == ' ')
      term.remove_suffix(1);
    if (term.empty())
      return {};
    terms.emplace_back(term);
    if (plus == std::string_view::npos)
      break;
    text.remove_prefix(plus + 1);
  }
  return terms.size() > 1 ? terms : std::vector<std::string>();
}

Status addDimBinding(std::string_view text, DimBindings &bindings) {
  if (const size_t equals = text.rfind('='); equals != std::string_view::npos && equals > 0 &&
                                             equals + 1 < text.size() &&
                                             std::isalpha(static_cast<unsigned char>(text[equals + 1]))) {
    const std::string name(text.substr(0, equals));
    bindings.values.erase(name);
    bindings.ranges.erase(name);
    bindings.ties.erase(name);
    bindings.sums.erase(name);
    if (std::vector<std::string> terms = termsOf(text.substr(equals + 1)); !terms.empty()) {
      if (std::find(terms.begin(), terms.end(), name) != terms.end())
        return makeError(ErrorCode::InvalidInput, "dimension '", name, "' is the sum of itself and others, in '", text,
                         "', write a sum of other dimensions");
      bindings.sums[name] = std::move(terms);
      return {};
    }
    bindings.ties[name] = text.substr(equals + 1);
    if (bindings.ties.contains(bindings.tiedTo(name)))
      return makeError(ErrorCode::InvalidInput, "dimension '", name, "' is tied to itself, in '", text,
                       "', tie it to a dimension that has a size or a range");
    return {};
  }
  SLUICE_ASSIGN_OR_RETURN(auto binding, parseDimBinding(text));
  auto &[name, range] = binding;
  bindings.values.erase(name);
  bindings.ranges.erase(name);
  bindings.ties.erase(name);
  bindings.sums.erase(name);
  if (range.least == range.most)
    bindings.values[name] = range.least;
  else
    bindings.ranges[name] = range;
  return {};
}

/// "2x3", or "scalar", of `text`, an option's.
static Expected<std::vector<int64_t>> parseShape(std::string_view shape, std::string_view text) {
  std::vector<int64_t> extents;
  if (shape == "scalar")
    return extents;
  while (true) {
    const size_t cross = shape.find('x');
    Expected<int64_t> extent = parseInteger(shape.substr(0, cross));
    if (!extent || *extent < 0)
      return makeError(ErrorCode::InvalidInput, "'", excerpt(shape), "' is not a shape, in '", excerpt(text),
                       "', write NAME=2x3, NAME=scalar, or NAME=[2x3,4x3] for a sequence");
    extents.push_back(*extent);
    if (cross == std::string_view::npos)
      return extents;
    shape = shape.substr(cross + 1);
  }
}

Status addShapeBinding(std::string_view text, DimBindings &bindings) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0)
    return makeError(ErrorCode::InvalidInput, "'", excerpt(text),
                     "' does not have the form NAME=SHAPE, give the name of an input and its shape");
  const std::string name(text.substr(0, equals));
  std::string_view shapes = text.substr(equals + 1);
  bindings.inputShapes.erase(name);
  bindings.sequences.erase(name);
  if (!shapes.starts_with('[') || !shapes.ends_with(']')) {
    SLUICE_ASSIGN_OR_RETURN(bindings.inputShapes[name], parseShape(shapes, text));
    return {};
  }
  std::vector<std::vector<int64_t>> &elements = bindings.sequences[name];
  shapes = shapes.substr(1, shapes.size() - 2);
  for (bool more = !shapes.empty(); more;) {
    const size_t comma = shapes.find(',');
    SLUICE_ASSIGN_OR_RETURN(std::vector<int64_t> shape, parseShape(shapes.substr(0, comma), text));
    elements.push_back(std::move(shape));
    more = comma != std::string_view::npos;
    shapes = more ? shapes.substr(comma + 1) : "";
  }
  return {};
}

namespace {

struct Binding {
  int64_t value;
  std::string from;
};

class Binder {
public:
  Binder(const ModelFile &model, const DimBindings &given) : model(model), given(given) {}
  Expected<BoundInputs> run();

private:
  Status bindFromOptions();
  Status bindTies();
  Status bindSums();
  std::optional<int64_t> sumOf(const std::vector<std::string> &terms) const;
  Expected<const DeclaredTensor *> find(const std::string &name) const;
  Status bindFromShape(const DeclaredTensor &input, const std::vector<int64_t> &shape);
  Expected<std::vector<int64_t>> shapeOf(const DeclaredTensor &input) const;

  const ModelFile &model;
  const DimBindings &given;
  std::map<std::string, Binding> bound;
};

/// Dimensions that are tied have one size, wherever it is from.
Status Binder::bindTies() {
  for (size_t round = 0; round <= given.ties.size(); ++round)
    for (const auto &[name, other] : given.ties) {
      auto own = bound.find(name), its = bound.find(other);
      if (own != bound.end() && its != bound.end() && own->second.value != its->second.value)
        return makeError(ErrorCode::InvalidInput, "dimension '", excerpt(name), "' has size ", own->second.value,
                         " according to ", own->second.from, ", and '", excerpt(other), "' has size ",
                         its->second.value, " according to ", its->second.from, ", option '--dim ", excerpt(name), "=",
                         excerpt(other), "', give both the same size or leave this option out");
      if (its != bound.end())
        bound.emplace(name, Binding{its->second.value, concat("dimension '", excerpt(other), "'")});
      else if (own != bound.end())
        bound.emplace(other, Binding{own->second.value, concat("dimension '", excerpt(name), "'")});
    }
  return {};
}

/// Nullopt where a term has no size.
std::optional<int64_t> Binder::sumOf(const std::vector<std::string> &terms) const {
  int64_t sum = 0;
  for (const std::string &term : terms) {
    auto known = bound.find(term);
    const Expected<int64_t> number = parseInteger(term);
    if (known == bound.end() && !number)
      return std::nullopt;
    sum = saturatingAdd(sum, known == bound.end() ? *number : known->second.value);
  }
  return sum;
}

Status Binder::bindSums() {
  std::map<std::string, std::vector<std::string>> sums = given.sums;
  for (const SymbolUse &use : symbolicDims(model))
    if (std::vector<std::string> terms = termsOf(use.symbol); !terms.empty() && !bound.contains(use.symbol))
      sums.emplace(use.symbol, std::move(terms));
  // A term may be a sum itself.
  for (size_t round = 0; round < sums.size(); ++round)
    for (const auto &[name, terms] : sums) {
      const std::optional<int64_t> sum = sumOf(terms);
      if (!sum)
        continue;
      auto [own, isNew] = bound.emplace(name, Binding{*sum, "the sum of others"});
      if (own->second.value != *sum)
        return makeError(ErrorCode::InvalidInput, "dimension '", excerpt(name), "' has size ", own->second.value,
                         " according to ", own->second.from, ", and the sum in option '--dim' is ", *sum,
                         ", change one of the summed sizes or leave the sum out");
    }
  return {};
}

Status Binder::bindFromOptions() {
  std::vector<SymbolUse> uses = symbolicDims(model);
  std::map<std::string, int64_t> named = given.values;
  for (const auto &[name, other] : given.ties)
    for (const std::string &each : {name, other})
      named.emplace(each, -1);
  for (const auto &[name, terms] : given.sums) {
    named.emplace(name, -1);
    for (const std::string &term : terms)
      if (!parseInteger(term))
        named.emplace(term, -1);
  }
  for (const auto &[name, value] : named) {
    if (std::none_of(uses.begin(), uses.end(), [&name = name](const SymbolUse &use) { return use.symbol == name; })) {
      std::vector<std::string> known;
      for (const SymbolUse &use : uses)
        known.push_back(use.symbol);
      return makeError(ErrorCode::NotFound, "no input of model '", model.path(), "' has the dimension '", name, "', ",
                       known.empty() ? std::string("all its dimensions are known, leave out this --dim")
                                     : concat("option '--dim', use ", alternatives(known)));
    }
    auto size = given.values.find(name);
    if (size == given.values.end())
      continue;
    if (value < 0)
      return makeError(ErrorCode::InvalidInput, "dimension '", name, "' cannot be ", value,
                       ", option '--dim', give 0 or more");
    bound.emplace(name, Binding{value, "the option"});
  }
  return {};
}

Status Binder::bindFromShape(const DeclaredTensor &input, const std::vector<int64_t> &shape) {
  if (!input.dims)
    return {};
  if (input.dims->size() != shape.size())
    return makeError(ErrorCode::InvalidInput, "the data of input '", excerpt(input.name), "' has rank ", shape.size(),
                     ", and the model declares rank ", input.dims->size(), ", give data of the declared shape");
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const DeclaredDim &dim = (*input.dims)[axis];
    if (dim.value >= 0) {
      if (dim.value != shape[axis])
        return makeError(ErrorCode::InvalidInput, "the data of input '", excerpt(input.name), "' has extent ",
                         shape[axis], " in dimension ", axis, ", and the model declares extent ", dim.value,
                         ", give data of the declared shape");
      continue;
    }
    auto [binding, added] =
        bound.emplace(dim.symbol, Binding{shape[axis], concat("input '", excerpt(input.name), "'")});
    if (!added && binding->second.value != shape[axis])
      return makeError(ErrorCode::InvalidInput, "dimension '", excerpt(dim.symbol), "' has size ",
                       binding->second.value, " according to ", binding->second.from, ", and size ", shape[axis],
                       " according to the data of input '", excerpt(input.name), "', give sizes that agree");
  }
  return {};
}

Expected<std::vector<int64_t>> Binder::shapeOf(const DeclaredTensor &input) const {
  auto shape = given.inputShapes.find(input.name);
  if (shape != given.inputShapes.end())
    return shape->second;
  if (!input.dims && input.kind != "tensor")
    return makeError(ErrorCode::Unsupported, "input '", excerpt(input.name), "' has type '", input.kind,
                     "', and only tensors are supported, change the model");
  if (!input.dims)
    return makeError(ErrorCode::InvalidInput, "input '", excerpt(input.name), "' declares no shape, give its data");
  std::vector<int64_t> result;
  for (const DeclaredDim &dim : *input.dims)
    result.push_back(dim.value >= 0 ? dim.value : bound.at(dim.symbol).value);
  return result;
}

Expected<const DeclaredTensor *> Binder::find(const std::string &name) const {
  auto input = std::find_if(model.inputs().begin(), model.inputs().end(),
                            [&](const DeclaredTensor &input) { return input.name == name; });
  if (input == model.inputs().end())
    return makeError(ErrorCode::NotFound, "model '", model.path(), "' has no input '", name,
                     "', use an input that 'sluice info' lists");
  return &*input;
}

Expected<BoundInputs> Binder::run() {
  SLUICE_RETURN_IF_ERROR(bindFromOptions());
  for (const auto &[name, shape] : given.inputShapes) {
    SLUICE_ASSIGN_OR_RETURN(const DeclaredTensor *input, find(name));
    SLUICE_RETURN_IF_ERROR(bindFromShape(*input, shape));
  }
  for (const auto &[name, shapes] : given.sequences)
    if (Expected<const DeclaredTensor *> input = find(name); !input)
      return propagate(input);
  SLUICE_RETURN_IF_ERROR(bindTies());
  SLUICE_RETURN_IF_ERROR(bindSums());
  std::string missing;
  for (const SymbolUse &use : symbolicDims(model))
    if (!bound.count(use.symbol))
      missing += concat(missing.empty() ? "" : ", ", "'", excerpt(use.symbol), "' (dimension ", use.axis, " of input '",
                        excerpt(use.input), "')");
  if (!missing.empty())
    return makeError(ErrorCode::InvalidInput, "these dimensions of model '", model.path(), "' have no size: ", missing,
                     ", bind them with --dim NAME=SIZE or give the inputs' data");
  BoundInputs result;
  for (const DeclaredTensor &input : model.inputs()) {
    auto sequence = given.sequences.find(input.name);
    result.sequences.emplace_back();
    if (sequence != given.sequences.end()) {
      if (input.kind != "sequence" && input.kind != "optional")
        return makeError(ErrorCode::InvalidInput, "input '", excerpt(input.name),
                         "' takes a tensor and got a sequence, give a tensor");
      for (const std::vector<int64_t> &shape : sequence->second)
        if (Expected<int64_t> count = checkedElementCount(shape, concat("input '", excerpt(input.name), "'")); !count)
          return propagate(count);
      result.sequences.back() = sequence->second;
      result.shapes.emplace_back();
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(std::vector<int64_t> shape, shapeOf(input));
    SLUICE_RETURN_IF_ERROR(checkedElementCount(shape, concat("input '", excerpt(input.name), "'")));
    result.shapes.push_back(std::move(shape));
  }
  for (const auto &[name, binding] : bound)
    result.symbols.emplace(name, binding.value);
  return result;
}

} // namespace

Expected<BoundInputs> bindDims(const ModelFile &model, const DimBindings &bindings) {
  return Binder(model, bindings).run();
}

} // namespace sluice
