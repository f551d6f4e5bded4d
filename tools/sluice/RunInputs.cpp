//===- RunInputs.cpp - Tensors given to a run -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunInputs.h"
#include "sluice/Onnx/TensorData.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"
#include "sluice/TensorIO/Npy.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace sluice::driver {

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
    return makeError(ErrorCode::NotFound, "cannot open directory '", directory, "': ", error.message(),
                     ", give a directory with ", prefix, "0.pb");
  std::vector<std::string> paths;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error))
    if (entries->path().filename().string().starts_with(prefix) && entries->path().extension() == ".pb")
      paths.push_back(entries->path().string());
  if (error)
    return makeError(ErrorCode::Io, "cannot read directory '", directory, "': ", error.message(),
                     ", check the path and its permissions");
  std::sort(paths.begin(), paths.end());

  std::map<size_t, HostTensor> tensors;
  for (const std::string &path : paths) {
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readTensorFile(path));
    size_t port = indexOf(ports, tensor.name);
    if (port == ports.size()) {
      Expected<int64_t> number = parseInteger(std::filesystem::path(path).stem().string().substr(prefix.size()));
      if (!number || *number < 0 || static_cast<size_t>(*number) >= ports.size())
        return makeError(ErrorCode::NotFound, "the model has no tensor '", tensor.name, "', which '", path,
                         "' contains, ",
                         ports.empty() ? "remove the file"
                                       : concat("rename the tensor to ", alternatives(ports),
                                                ", or end the file's name in a number"));
      port = static_cast<size_t>(*number);
    }
    if (!tensors.emplace(port, std::move(tensor)).second)
      return makeError(ErrorCode::InvalidInput, "two files have data for '", ports[port], "', the second is '", path,
                       "', remove one of them");
  }
  return tensors;
}

static Expected<HostTensor> readTensor(const std::string &path, const std::string &option, const char *others) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".npy" && extension != ".pb")
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not the file of a tensor, option '", option,
                     "', give FILE.npy", others);
  return extension == ".npy" ? readNpy(path) : readTensorFile(path);
}

Expected<std::map<std::string, HostTensor>> readFixedInputs(const std::vector<std::string> &texts) {
  std::map<std::string, HostTensor> fixed;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return makeError(ErrorCode::InvalidInput, "'", text,
                       "' does not have the form NAME=FILE.npy, option '--fix', give the name of an input and a file");
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
        return makeError(ErrorCode::NotFound, "the model has no input '", text.substr(0, text.find('=')),
                         "', option '--input ", text, "', ",
                         inputs.empty() ? "leave this option out" : "use " + alternatives(inputs));
      input = position++;
    }
    if (input >= inputs.size())
      return makeError(ErrorCode::InvalidInput, "more inputs are given than the ", inputs.size(),
                       " that the model has, option '--input ", text, "', leave this option out");
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

Expected<std::map<size_t, HostTensor>> readExpected(const std::vector<std::string> &outputs,
                                                    const std::string &directory) {
  Expected<std::map<size_t, HostTensor>> tensors = readTensors(outputs, directory, "output_");
  if (tensors && tensors->empty())
    return makeError(ErrorCode::NotFound, "directory '", directory,
                     "' has no reference outputs, give a directory with files output_*.pb");
  return tensors;
}

} // namespace sluice::driver
