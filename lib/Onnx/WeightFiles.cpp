//===- WeightFiles.cpp - Models written with their weights ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WeightFiles.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Units.h"

#include "llvm/Support/Path.h"

#include <climits>
#include <memory>
#include <optional>

namespace sluice {
namespace {

/// Weights in a file of their own begin at pages, so that they can be mapped.
constexpr int64_t kWeightAlignment = 4096;
/// What a model to look at names as the file of its weights.
constexpr const char *kOmitted = "weights-left-out";

Status storeInline(const std::vector<PendingWeight> &weights) {
  std::vector<char> storage;
  for (const PendingWeight &weight : weights) {
    SLUICE_ASSIGN_OR_RETURN(std::span<const char> bytes, weight.data(storage));
    weight.initializer->set_raw_data(bytes.data(), bytes.size());
  }
  return {};
}

void refer(::onnx::TensorProto &tensor, const std::string &location, int64_t offset, int64_t bytes) {
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto add = [&](const char *key, std::string value) {
    ::onnx::StringStringEntryProto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(std::move(value));
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(bytes));
}

Expected<PendingFile> storeBeside(const std::vector<PendingWeight> &weights, const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(PendingFile file, PendingFile::create(path));
  std::string location = llvm::sys::path::filename(path).str();
  std::vector<char> storage;
  int64_t offset = 0;
  for (const PendingWeight &weight : weights) {
    SLUICE_ASSIGN_OR_RETURN(std::span<const char> bytes, weight.data(storage));
    int64_t start = (offset + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
    SLUICE_RETURN_IF_ERROR(file.write(std::string(static_cast<size_t>(start - offset), '\0')));
    SLUICE_RETURN_IF_ERROR(file.write({bytes.data(), bytes.size()}));
    refer(*weight.initializer, location, start, weight.bytes);
    offset = start + weight.bytes;
  }
  return file;
}

Expected<std::string> serialize(const ::onnx::ModelProto &model) {
  if (model.ByteSizeLong() > INT_MAX)
    return makeError(ErrorCode::Unsupported, "the model takes ",
                     formatBytes(static_cast<int64_t>(model.ByteSizeLong())),
                     ", and one file holds at most 2 GiB, export the weights into a second file");
  return model.SerializeAsString();
}

} // namespace

Expected<std::string> modelBytes(::onnx::ModelProto &model, const std::vector<PendingWeight> &weights) {
  SLUICE_RETURN_IF_ERROR(storeInline(weights));
  return serialize(model);
}

Status writeModelFiles(::onnx::ModelProto &model, const std::vector<PendingWeight> &weights, const std::string &path,
                       const ExportOptions &options) {
  int64_t total = 0;
  for (const PendingWeight &weight : weights)
    total = saturatingAdd(total, weight.bytes);
  WeightStorage storage = options.weights;
  if (storage == WeightStorage::Auto)
    storage = total > options.inlineLimitBytes ? WeightStorage::External : WeightStorage::Inline;
  std::optional<PendingFile> beside;
  if (storage == WeightStorage::Inline) {
    if (total > INT_MAX)
      return makeError(ErrorCode::Unsupported, "the model's weights take ", formatBytes(total),
                       ", and one file holds at most 2 GiB, export the weights into a second file");
    SLUICE_RETURN_IF_ERROR(storeInline(weights));
  } else if (storage == WeightStorage::External && !weights.empty()) {
    SLUICE_ASSIGN_OR_RETURN(PendingFile file, storeBeside(weights, path + ".data"));
    beside.emplace(std::move(file));
  } else if (storage == WeightStorage::Omit) {
    for (const PendingWeight &weight : weights)
      refer(*weight.initializer, kOmitted, 0, weight.bytes);
  }
  SLUICE_ASSIGN_OR_RETURN(std::string bytes, serialize(model));
  if (!beside)
    return writeFileAtomically(path, bytes);
  SLUICE_ASSIGN_OR_RETURN(PendingFile file, PendingFile::create(path));
  return file.write(bytes).and_then([&] { return beside->keep(); }).and_then([&] { return file.keep(); });
}

} // namespace sluice
