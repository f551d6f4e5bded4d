//===- DataSet.cpp - A model's test data ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DataSet.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <onnx/onnx_pb.h>

namespace sluice::bench {

std::vector<std::string> filesLike(const std::string &folder, std::string_view prefix, std::string_view suffix) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix))
      found.push_back(at->path().string());
  }
  // output_2 before output_10.
  std::sort(found.begin(), found.end(), [](const std::string &a, const std::string &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return found;
}

/// Each tensor of a sequence is an input of its own.
static void addInput(DataSet &set, const std::string &name, HostValue value) {
  if (!value.isSequence) {
    set.inputs[name] = std::move(value.tensors.front());
    return;
  }
  std::vector<std::vector<int64_t>> &shapes = set.sequences[name];
  for (HostTensor &tensor : value.tensors) {
    const std::string element = concat(name, "[", shapes.size(), "]");
    shapes.push_back(tensor.shape);
    set.inputs[element] = std::move(tensor);
  }
}

Expected<DataSet> readDataSet(const std::string &folder, const ModelFile &model) {
  DataSet set;
  const std::vector<std::string> inputs = filesLike(folder, "input_", ".pb");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DeclaredTensor *declared = i < model.inputs().size() ? &model.inputs()[i] : nullptr;
    SLUICE_ASSIGN_OR_RETURN(HostValue value, readValueFile(inputs[i], declared ? declared->kind : "tensor"));
    // By name, or where the file knows none, by its number.
    for (const DeclaredTensor &input : model.inputs())
      if (input.name == value.name)
        declared = &input;
    if (!declared)
      return makeError(ErrorCode::InvalidInput, "the model has no input for file '", inputs[i], "', remove the file");
    addInput(set, declared->name, std::move(value));
  }
  const std::vector<std::string> outputs = filesLike(folder, "output_", ".pb");
  if (outputs.empty())
    return makeError(ErrorCode::NotFound, "folder '", folder, "' has no reference outputs, add files output_*.pb");
  for (size_t i = 0; i < outputs.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(HostValue value,
                            readValueFile(outputs[i], i < model.outputs().size() ? model.outputs()[i].kind : "tensor"));
    std::move(value.tensors.begin(), value.tensors.end(), std::back_inserter(set.outputs));
  }
  return set;
}

} // namespace sluice::bench
