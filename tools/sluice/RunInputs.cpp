//===- RunInputs.cpp - Tensors given to a run -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunInputs.h"
#include "sluice/Onnx/TensorData.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Units.h"
#include "sluice/TensorIO/IndexRange.h"
#include "sluice/TensorIO/Npy.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace sluice::driver {

static std::string quotedList(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

static size_t indexOf(const std::vector<std::string> &names, std::string_view name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// The tensors of a directory's PREFIX*.pb by port: the name inside, else the
/// number in the file's name.
static Expected<std::map<size_t, HostTensor>> readTensors(const std::vector<std::string> &ports,
                                                          const std::string &directory, std::string_view prefix) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error)
    return makeError(ErrorCode::NotFound, "cannot open directory '", directory, "', ", error.message(),
                     ", give one with ", prefix, "0.pb");
  std::vector<std::string> paths;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error))
    if (entries->path().filename().string().starts_with(prefix) && entries->path().extension() == ".pb")
      paths.push_back(entries->path().string());
  if (error)
    return makeError(ErrorCode::Io, "cannot read directory '", directory, "', ", error.message());
  std::sort(paths.begin(), paths.end());

  std::map<size_t, HostTensor> tensors;
  for (const std::string &path : paths) {
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readTensorFile(path));
    size_t port = indexOf(ports, tensor.name);
    if (port == ports.size()) {
      Expected<int64_t> number = parseInteger(std::filesystem::path(path).stem().string().substr(prefix.size()));
      if (!number || *number < 0 || static_cast<size_t>(*number) >= ports.size())
        return makeError(ErrorCode::NotFound, "tensor '", tensor.name, "' is not of the model, '", path,
                         "', name it as one of ", quotedList(ports), " or number the file");
      port = static_cast<size_t>(*number);
    }
    if (!tensors.emplace(port, std::move(tensor)).second)
      return makeError(ErrorCode::InvalidInput, "a second file is for '", ports[port], "', '", path, "', remove one");
  }
  return tensors;
}

static Expected<HostTensor> readTensor(const std::string &path, const std::string &option, const char *others) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".npy" && extension != ".pb")
    return makeError(ErrorCode::InvalidInput, "'", path, "' is no tensor, option '", option, "', give FILE.npy",
                     others);
  return extension == ".npy" ? readNpy(path) : readTensorFile(path);
}

Expected<std::map<std::string, HostTensor>> readFixedInputs(const std::vector<std::string> &texts) {
  std::map<std::string, HostTensor> fixed;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return makeError(ErrorCode::InvalidInput, "'", text, "' names no input, option '--fix', write NAME=FILE.npy");
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor,
                            readTensor(text.substr(equals + 1), concat("--fix ", text), " or FILE.pb"));
    if (!fixed.emplace(text.substr(0, equals), std::move(tensor)).second)
      return makeError(ErrorCode::InvalidInput, "input '", text.substr(0, equals), "' is given twice, option '--fix ",
                       text, "', keep one");
  }
  return fixed;
}

static Expected<GivenInput> readValue(const std::string &value, const std::string &text) {
  GivenInput given;
  given.origin = value;
  if (value.starts_with("random:")) {
    Expected<int64_t> seed = parseInteger(std::string_view(value).substr(7));
    if (!seed || *seed < 0)
      return makeError(ErrorCode::InvalidInput, "'", value, "' has no seed, option '--input ", text,
                       "', write 'random:7'");
    given.seed = static_cast<uint64_t>(*seed);
    return given;
  }
  SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readTensor(value, concat("--input ", text), ", FILE.pb or random:SEED"));
  given.tensor = std::move(tensor);
  return given;
}

/// A name may hold '=', and so may a file: the first '=' after a name counts.
static std::pair<size_t, std::string> splitAtName(const std::vector<std::string> &inputs, const std::string &text) {
  for (size_t equals = text.find('='); equals != std::string::npos; equals = text.find('=', equals + 1))
    if (size_t input = indexOf(inputs, std::string_view(text).substr(0, equals)); input < inputs.size())
      return {input, text.substr(equals + 1)};
  return {inputs.size(), text};
}

Expected<std::vector<GivenInput>> readGivenInputs(const std::vector<std::string> &inputs,
                                                  const std::vector<std::string> &texts,
                                                  const std::string &expectDirectory) {
  std::vector<std::optional<GivenInput>> found(inputs.size());
  size_t position = 0;
  for (const std::string &text : texts) {
    auto [input, value] = splitAtName(inputs, text);
    std::error_code ignored;
    if (input == inputs.size()) {
      if (text.find('=') != std::string::npos && !std::filesystem::exists(text, ignored))
        return makeError(ErrorCode::NotFound, "no input '", text.substr(0, text.find('=')), "', option '--input ", text,
                         "', the model's are ", quotedList(inputs));
      input = position++;
    }
    if (input >= inputs.size())
      return makeError(ErrorCode::InvalidInput, "the model has ", inputs.size(), " inputs, option '--input ", text,
                       "', give no more");
    if (found[input])
      return makeError(ErrorCode::InvalidInput, "input '", inputs[input], "' is given twice, option '--input ", text,
                       "', keep one");
    SLUICE_ASSIGN_OR_RETURN(GivenInput given, readValue(value, text));
    found[input] = std::move(given);
  }
  if (!expectDirectory.empty()) {
    SLUICE_ASSIGN_OR_RETURN(auto tensors, readTensors(inputs, expectDirectory, "input_"));
    for (auto &[input, tensor] : tensors)
      if (!found[input])
        found[input] = GivenInput{std::move(tensor), 0, expectDirectory};
  }
  std::vector<GivenInput> given;
  for (std::optional<GivenInput> &input : found)
    given.push_back(input ? std::move(*input) : GivenInput{});
  return given;
}

std::map<std::string, std::vector<int64_t>> givenShapes(const std::vector<std::string> &inputs,
                                                        const std::vector<GivenInput> &given) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (given[i].tensor)
      shapes[inputs[i]] = given[i].tensor->shape;
  return shapes;
}

std::map<std::string, HostTensor> givenValues(const std::vector<std::string> &inputs,
                                              const std::vector<GivenInput> &given) {
  std::map<std::string, HostTensor> values;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (given[i].tensor)
      values[inputs[i]] = *given[i].tensor;
  return values;
}

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
        return makeError(ErrorCode::InvalidInput, "input '", desc.name, "' takes ", elementTypeName(type), " ",
                         formatShape(shape), ", '", given[i].origin, "' is ", elementTypeName(tensor.type), " ",
                         formatShape(tensor.shape), ", convert it");
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
    return makeError(ErrorCode::InvalidInput, "symbol '", symbol.name, "' is from ", symbol.least, " to ", symbol.most,
                     symbol.step == 1 ? "" : concat(" in steps of ", symbol.step), ", option '--dim ", symbol.name, "=",
                     size, "', give a size in this range");
  const bool isBatches = extent && steps > 1 && symbol.dimension == 0 && size > 0 && *extent % size == 0;
  if (extent && *extent != size && !isBatches)
    return makeError(ErrorCode::InvalidInput, "'", given.origin, "' has extent ", *extent, " in dimension ",
                     symbol.dimension, " of input '", input.name, "', option '--dim ", symbol.name, "=", size,
                     "', give data of this size or leave the option out");
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
    if (indexOf(names, name) == names.size())
      return makeError(ErrorCode::NotFound, "no symbol '", name, "', option '--dim ", name, "=", size,
                       "', the model's are ", quotedList(names));
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
                       desc.name, "', which takes ", formatShape(shape), ", run several steps with --steps");
    if (inputs.batches > 1 && count != inputs.batches)
      return makeError(ErrorCode::InvalidInput, "'", given[i].origin, "' holds ", count, " batches and '", first, "' ",
                       inputs.batches, ", give as many of each");
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

Expected<std::map<size_t, HostTensor>> readExpected(const std::vector<std::string> &outputs,
                                                    const std::string &directory) {
  Expected<std::map<size_t, HostTensor>> tensors = readTensors(outputs, directory, "output_");
  if (tensors && tensors->empty())
    return makeError(ErrorCode::NotFound, "no output_*.pb to compare with, directory '", directory,
                     "', give reference outputs");
  return tensors;
}

} // namespace sluice::driver
