//===- Export.cpp - The dataflow dialect to ONNX --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Export.h"

#include "ProgramWriter.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {
namespace onnxexport {
namespace {

/// Weights in a file of their own begin at pages, so that they can be mapped.
constexpr int64_t kWeightAlignment = 4096;
/// What a model to look at names as the file of its weights.
constexpr const char *kOmitted = "weights-left-out";

Expected<std::unique_ptr<ProgramWriter>> writeProgram(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1 || functions[0].isExternal() || !llvm::hasSingleElement(functions[0].getBody()))
    return makeError(ErrorCode::InvalidInput, "a module of ", functions.size(),
                     " functions is not a program, give one function with one block");
  for (Type type : functions[0].front().getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !elementTypeToOnnx(tensor.getElementType()))
      return makeError(ErrorCode::InvalidInput, "an argument of function '", functions[0].getSymName().str(),
                       "' is no tensor that ONNX has, it is no program of the dataflow dialect");
  for (int64_t opset = kExportOpset;;) {
    auto writer = std::make_unique<ProgramWriter>(functions[0], opset);
    SLUICE_RETURN_IF_ERROR(writer->run());
    if (writer->needed <= opset)
      return writer;
    opset = writer->needed;
  }
}

/// A weight's bytes: its own, or a copy in `storage`.
Expected<ArrayRef<char>> bytesOf(const ProgramWriter::Weight &weight, StringRef name, std::vector<char> &storage) {
  TensorView view;
  bool isSplat;
  if (getConstantBytes(weight.value, view, isSplat) && !isSplat)
    return ArrayRef<char>(view.data, weight.bytes);
  storage.resize(weight.bytes);
  if (failed(copyConstant(weight.value, storage.data())))
    return makeError(ErrorCode::InvalidInput, "the data of weight '", name.str(),
                     "' is missing, supply the model's external data");
  return ArrayRef<char>(storage);
}

::onnx::TensorProto &initializerOf(ProgramWriter &writer, const ProgramWriter::Weight &weight) {
  return *writer.model.mutable_graph()->mutable_initializer(weight.initializer);
}

Status storeInline(ProgramWriter &writer) {
  std::vector<char> storage;
  for (const ProgramWriter::Weight &weight : writer.weights) {
    ::onnx::TensorProto &tensor = initializerOf(writer, weight);
    SLUICE_ASSIGN_OR_RETURN(ArrayRef<char> bytes, bytesOf(weight, tensor.name(), storage));
    tensor.set_raw_data(bytes.data(), bytes.size());
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

Expected<PendingFile> storeBeside(ProgramWriter &writer, const std::string &path) {
  Expected<PendingFile> file = PendingFile::create(path);
  if (!file)
    return file;
  std::string location = llvm::sys::path::filename(path).str();
  std::vector<char> storage;
  int64_t offset = 0;
  for (const ProgramWriter::Weight &weight : writer.weights) {
    ::onnx::TensorProto &tensor = initializerOf(writer, weight);
    SLUICE_ASSIGN_OR_RETURN(ArrayRef<char> bytes, bytesOf(weight, tensor.name(), storage));
    int64_t start = (offset + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
    file->out().write_zeros(start - offset);
    file->out().write(bytes.data(), bytes.size());
    refer(tensor, location, start, weight.bytes);
    offset = start + weight.bytes;
  }
  SLUICE_RETURN_IF_ERROR(file->flush());
  return file;
}

Expected<std::string> serialize(const ProgramWriter &writer) {
  if (writer.model.ByteSizeLong() > INT_MAX)
    return makeError(ErrorCode::Unsupported, "the model has ",
                     formatBytes(static_cast<int64_t>(writer.model.ByteSizeLong())),
                     ", one file holds 2 GiB at most: export it with its weights in a file beside it");
  return writer.model.SerializeAsString();
}

} // namespace
} // namespace onnxexport

/// The program at the upper bounds of its symbols: the module itself, or a copy without symbols, which `copy` then
/// owns.
static ModuleOp atUpperBounds(ModuleOp module, OwningOpRef<ModuleOp> &copy) {
  const SymbolsAttr symbols = symbolsOf(module);
  if (!symbols)
    return module;
  copy = module.clone();
  instantiate(*copy, Point(symbols.getMost()));
  return *copy;
}

Expected<std::string> exportModelBytes(ModuleOp module) {
  OwningOpRef<ModuleOp> copy;
  SLUICE_ASSIGN_OR_RETURN(auto writer, onnxexport::writeProgram(atUpperBounds(module, copy)));
  SLUICE_RETURN_IF_ERROR(onnxexport::storeInline(*writer));
  return onnxexport::serialize(*writer);
}

Status exportModel(ModuleOp module, const std::string &path, const ExportOptions &options) {
  using namespace onnxexport;
  OwningOpRef<ModuleOp> copy;
  SLUICE_ASSIGN_OR_RETURN(auto written, writeProgram(atUpperBounds(module, copy)));
  ProgramWriter &writer = *written;
  int64_t total = 0;
  for (const ProgramWriter::Weight &weight : writer.weights)
    total = saturatingAdd(total, weight.bytes);
  WeightStorage storage = options.weights;
  if (storage == WeightStorage::Auto)
    storage = total > options.inlineLimitBytes ? WeightStorage::External : WeightStorage::Inline;
  std::optional<PendingFile> beside;
  if (storage == WeightStorage::Inline) {
    if (total > INT_MAX)
      return makeError(ErrorCode::Unsupported, "the model's weights have ", formatBytes(total),
                       ", one file holds 2 GiB at most: export them into a file beside it");
    SLUICE_RETURN_IF_ERROR(storeInline(writer));
  } else if (storage == WeightStorage::External && !writer.weights.empty()) {
    SLUICE_ASSIGN_OR_RETURN(PendingFile file, storeBeside(writer, path + ".data"));
    beside.emplace(std::move(file));
  } else if (storage == WeightStorage::Omit) {
    for (const ProgramWriter::Weight &weight : writer.weights)
      refer(initializerOf(writer, weight), kOmitted, 0, weight.bytes);
  }
  SLUICE_ASSIGN_OR_RETURN(std::string bytes, serialize(writer));
  if (!beside)
    return writeFileAtomically(path, bytes);
  // Both are whole before either gets its name.
  SLUICE_ASSIGN_OR_RETURN(PendingFile file, PendingFile::create(path));
  file.out() << bytes;
  return file.flush().and_then([&] { return beside->keep(); }).and_then([&] { return file.keep(); });
}

} // namespace sluice
