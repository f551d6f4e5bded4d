//===- WeightFiles.cpp - Models written with their weights ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "WeightFiles.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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

/// A file that gets its name only when it is whole.
class PendingFile {
public:
  static Expected<PendingFile> create(const std::string &path) {
    auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
    if (!file)
      return makeError(ErrorCode::Io, "cannot write '", path, "': ", llvm::toString(file.takeError()),
                       ", check its directory");
    return PendingFile(std::move(*file), path);
  }
  PendingFile(PendingFile &&) = default;
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile() {
    if (stream) {
      stream->flush();
      stream->clear_error(); // Else its end is the program's.
    }
    llvm::consumeError(file.discard());
  }

  llvm::raw_fd_ostream &out() { return *stream; }
  Status flush() {
    stream->flush();
    if (std::error_code error = stream->error()) {
      stream->clear_error();
      return makeError(ErrorCode::Io, "cannot write '", path, "': ", error.message(), ", check the space left there");
    }
    return {};
  }
  Status keep() {
    stream.reset();
    if (llvm::Error error = file.keep(path))
      return makeError(ErrorCode::Io, "cannot write '", path, "': ", llvm::toString(std::move(error)));
    return {};
  }

private:
  PendingFile(llvm::sys::fs::TempFile file, std::string path)
      : file(std::move(file)), path(std::move(path)),
        stream(std::make_unique<llvm::raw_fd_ostream>(this->file.FD, /*shouldClose=*/false)) {}
  llvm::sys::fs::TempFile file;
  std::string path;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

Expected<PendingFile> storeBeside(const std::vector<PendingWeight> &weights, const std::string &path) {
  Expected<PendingFile> file = PendingFile::create(path);
  if (!file)
    return file;
  std::string location = llvm::sys::path::filename(path).str();
  std::vector<char> storage;
  int64_t offset = 0;
  for (const PendingWeight &weight : weights) {
    SLUICE_ASSIGN_OR_RETURN(std::span<const char> bytes, weight.data(storage));
    int64_t start = (offset + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
    file->out().write_zeros(start - offset);
    file->out().write(bytes.data(), bytes.size());
    refer(*weight.initializer, location, start, weight.bytes);
    offset = start + weight.bytes;
  }
  SLUICE_RETURN_IF_ERROR(file->flush());
  return file;
}

Expected<std::string> serialize(const ::onnx::ModelProto &model) {
  if (model.ByteSizeLong() > INT_MAX)
    return makeError(ErrorCode::Unsupported, "the model has ", formatBytes(static_cast<int64_t>(model.ByteSizeLong())),
                     ", one file holds 2 GiB at most: export it with its weights in a file beside it");
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
      return makeError(ErrorCode::Unsupported, "the model's weights have ", formatBytes(total),
                       ", one file holds 2 GiB at most: export them into a file beside it");
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
  file.out() << bytes;
  return file.flush().and_then([&] { return beside->keep(); }).and_then([&] { return file.keep(); });
}

} // namespace sluice
