//===- KeptRun.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KeptRun.h"
#include "SharedOptions.h"
#include "sluice/Support/Json.h"
#include "sluice/TensorIO/Npy.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace sluice::driver {

namespace {
/// A file's name and what it is to hold.
using Files = std::vector<std::pair<std::string, std::string>>;

Json emptyRun() { return {{"schema", 1}, {"quantized", false}, {"inputs", Json::array()}, {"outputs", Json::array()}}; }

Status addTensor(Files &files, Json &where, const std::string &name, const HostTensor &tensor) {
  if (tensor.type == ElementType::String)
    return makeError(ErrorCode::Unsupported, "tensor '", tensor.name,
                     "' holds text, which .npy files cannot store, option '--keep', leave this option out");
  files.emplace_back(name, formatNpy(tensor));
  where["file"] = name;
  return {};
}
} // namespace

static Status writeRun(const std::filesystem::path &path, Compilation &compilation, const Files &files,
                       const Json &run) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return makeError(ErrorCode::Io, "cannot make directory '", path.string(), "', ", error.message(),
                     ", choose another path");
  // Last of all: an older one must not vouch for new files.
  std::filesystem::remove(path / "run.json", error);
  SLUICE_RETURN_IF_ERROR(linkToRun(compilation, (path / "model").string()));
  for (const auto &[name, text] : files)
    SLUICE_RETURN_IF_ERROR(writeFileAtomically((path / name).string(), text));
  return writeFileAtomically((path / "run.json").string(), jsonText(run, 1) + "\n");
}

static Status keepWeights(const std::filesystem::path &path, Compilation &compilation) {
  SLUICE_ASSIGN_OR_RETURN(std::optional<WeightProgram> program, compilation.weightProgram());
  if (!program) {
    // An older run's would be taken for this one's.
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error)
      return makeError(ErrorCode::Io, "cannot remove '", path.string(), "', ", error.message(),
                       ", remove this path or choose another one");
    return {};
  }
  Json run = emptyRun();
  Files files;
  for (const HostTensor &input : program->inputs) {
    Json entry;
    SLUICE_RETURN_IF_ERROR(addTensor(files, entry, concat("input_", files.size(), ".npy"), input));
    run["inputs"].push_back(std::move(entry));
  }
  const std::vector<ModelPort> outputs = program->compilation->outputs();
  for (size_t i = 0; i < outputs.size(); ++i)
    run["weights"].push_back({{"offset", program->offsets[i]}, {"bytes", outputs[i].bytes}});
  return writeRun(path, *program->compilation, files, run);
}

Status keepRun(const std::string &folder, Compilation &compilation, std::vector<GivenInput> given,
               const std::string &expect, bool quantized) {
  Json run = emptyRun();
  run["quantized"] = quantized;
  Files files;
  const std::vector<ModelPort> inputs = compilation.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Json entry;
    if (const std::optional<HostTensor> &tensor = given[i].tensor) {
      if (static_cast<int32_t>(tensor->type) != inputs[i].elementType || tensor->shape != inputs[i].shape)
        return makeError(ErrorCode::InvalidInput, "input '", inputs[i].name, "' needs ",
                         elementTypeName(static_cast<ElementType>(inputs[i].elementType)), " ",
                         formatShape(inputs[i].shape), " and '", given[i].origin, "' has ",
                         elementTypeName(tensor->type), " ", formatShape(tensor->shape), ", give the data of one step");
      SLUICE_RETURN_IF_ERROR(addTensor(files, entry, concat("input_", i, ".npy"), *tensor));
    } else {
      entry["seed"] = given[i].seed;
    }
    run["inputs"].push_back(std::move(entry));
  }
  if (!expect.empty()) {
    std::vector<std::string> names;
    for (const ModelPort &output : compilation.outputs())
      names.push_back(output.name);
    SLUICE_ASSIGN_OR_RETURN(auto references, readExpected(names, expect));
    for (const auto &[index, tensor] : references) {
      Json entry = {{"index", index}};
      SLUICE_RETURN_IF_ERROR(addTensor(files, entry, concat("output_", index, ".npy"), tensor));
      run["outputs"].push_back(std::move(entry));
    }
  }
  SLUICE_RETURN_IF_ERROR(keepWeights(std::filesystem::path(folder) / "weights", compilation));
  return writeRun(folder, compilation, files, run);
}

} // namespace sluice::driver
