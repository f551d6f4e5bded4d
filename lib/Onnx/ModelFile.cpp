//===- ModelFile.cpp - An ONNX model, opened and checked ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/ModelFile.h"

#include "MappedFile.h"
#include "ModelInternals.h"

#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <map>
#include <mutex>
#include <onnx/onnx_pb.h>
#include <unordered_map>
#include <unordered_set>

namespace sluice {

namespace {
constexpr int64_t kOldestIrVersion = 3, kNewestIrVersion = 14;
/// Messages inside messages; three levels a subgraph.
constexpr int kNestingLimit = 100;
/// Each external file takes a mapping, of which a process has 65530 by default.
constexpr size_t kExternalFileLimit = 32768;
} // namespace

struct ModelFile::State {
  std::string path;
  /// The model's directory; none for a model in memory.
  FileHandle root;
  ::onnx::ModelProto proto;
  /// Initializers whose raw data stayed outside the protobuf.
  std::unordered_map<const ::onnx::TensorProto *, OutsideData> stripped;
  std::vector<DeclaredTensor> inputs, outputs;
  std::mutex mutex;
  /// Null: there is no such file.
  std::map<std::string, std::shared_ptr<const MappedFile>, std::less<>> externalFiles;
  std::vector<MissingData> missing;

  Status parse(std::span<const std::byte> serialized, const std::shared_ptr<const void> &owner);
  Status checkVersions() const;
  void declare();
  Expected<std::shared_ptr<const MappedFile>> externalFile(const std::string &location, const std::string &who);
  Expected<TensorData> external(const ::onnx::TensorProto &tensor);
  Expected<TensorData> data(const std::shared_ptr<State> &self, const ::onnx::TensorProto &tensor);
};

Status ModelFile::State::parse(std::span<const std::byte> serialized, const std::shared_ptr<const void> &owner) {
  std::optional<StrippedModel> small = stripInitializers(serialized);
  size_t size = small ? small->model.size() : serialized.size();
  if (size > INT_MAX)
    return makeError(ErrorCode::Unsupported, "model '", path, "' has ", formatBytes(static_cast<int64_t>(size)),
                     " besides its initializers, and protobuf reads at most 2 GiB, store the weights as external data");
  const void *from = small ? static_cast<const void *>(small->model.data()) : serialized.data();
  google::protobuf::io::CodedInputStream stream(static_cast<const uint8_t *>(from), static_cast<int>(size));
  stream.SetTotalBytesLimit(INT_MAX);
  stream.SetRecursionLimit(kNestingLimit);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return makeError(ErrorCode::InvalidInput, "'", path,
                     "' is not an ONNX model, or is truncated, damaged or nested too deeply, export the model again");
  if (!small)
    return {};
  for (size_t i = 0; i < small->initializerData.size(); ++i)
    if (small->initializerData[i])
      stripped[&proto.graph().initializer(static_cast<int>(i))] = {*small->initializerData[i], owner};
  return {};
}

Status ModelFile::State::checkVersions() const {
  if (!proto.has_graph())
    return makeError(ErrorCode::InvalidInput, "'", path,
                     "' has no graph and is not an ONNX model, give the file of a model");
  if (proto.ir_version() < kOldestIrVersion || proto.ir_version() > kNewestIrVersion)
    return makeError(ErrorCode::Unsupported, "model '", path, "' has IR version ", proto.ir_version(), ", versions ",
                     kOldestIrVersion, " to ", kNewestIrVersion,
                     " are supported, export the model with one of these versions");
  std::unordered_set<std::string_view> domains;
  int64_t opset = 0;
  for (const ::onnx::OperatorSetIdProto &import : proto.opset_import()) {
    std::string_view domain = import.domain() == "ai.onnx" ? std::string_view() : std::string_view(import.domain());
    if (!domains.insert(domain).second)
      return makeError(ErrorCode::InvalidInput, "model '", path, "' imports the operators of domain '", excerpt(domain),
                       "' twice, remove one of the imports");
    if (domain.empty())
      opset = import.version();
  }
  if (domains.count("") && (opset < kOldestOpset || opset > kNewestOpset))
    return makeError(ErrorCode::Unsupported, "model '", path, "' uses opset ", opset, ", opsets ", kOldestOpset, " to ",
                     kNewestOpset, " are supported: convert it with onnx.version_converter");
  return {};
}

static DeclaredTensor declaredTensor(const ::onnx::ValueInfoProto &info) {
  DeclaredTensor result;
  result.name = info.name();
  switch (info.type().value_case()) {
  case ::onnx::TypeProto::kTensorType:
    result.kind = "tensor";
    break;
  case ::onnx::TypeProto::kSequenceType:
    result.kind = "sequence";
    return result;
  case ::onnx::TypeProto::kMapType:
    result.kind = "map";
    return result;
  case ::onnx::TypeProto::kOptionalType:
    result.kind = "optional";
    return result;
  case ::onnx::TypeProto::kSparseTensorType:
    result.kind = "sparse tensor";
    return result;
  default:
    result.kind = "undeclared";
    return result;
  }
  const auto &type = info.type().tensor_type();
  result.elementType = type.elem_type();
  if (!type.has_shape())
    return result;
  result.dims.emplace();
  for (int axis = 0; axis < type.shape().dim_size(); ++axis) {
    const auto &dim = type.shape().dim(axis);
    DeclaredDim declared;
    // Exporters write -1, and 0, where they mean "any"; a true 0 is bound the same way.
    if (dim.has_dim_value() && dim.dim_value() > 0)
      declared.value = dim.dim_value();
    else if (dim.has_dim_param() && !dim.dim_param().empty())
      declared.symbol = dim.dim_param();
    else
      declared.symbol = concat(info.name(), ".", axis);
    result.dims->push_back(std::move(declared));
  }
  return result;
}

/// How many entries the tensor has that stands for a map, by the node that reads it: the vocabulary's words, or the
/// places of a sparse map. -1 where nothing says, nullopt where no node reads maps of this name.
static std::optional<int64_t> mapEntries(const ::onnx::GraphProto &graph, const std::string &name) {
  for (const ::onnx::NodeProto &node : graph.node()) {
    const bool isVocabulary = node.op_type() == "DictVectorizer", isCast = node.op_type() == "CastMap";
    if (node.domain() != "ai.onnx.ml" || (!isVocabulary && !isCast) || node.input_size() < 1 || node.input(0) != name)
      continue;
    int64_t words = 0, places = 1;
    bool isSparse = false;
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.name() == "string_vocabulary" || attribute.name() == "int64_vocabulary")
        words += attribute.strings_size() + attribute.ints_size();
      else if (attribute.name() == "max_map")
        places = attribute.i();
      else if (attribute.name() == "map_form")
        isSparse = attribute.s() == "SPARSE";
    }
    return isVocabulary ? words : isSparse && places >= 0 ? places : -1;
  }
  return std::nullopt;
}

/// An input that is a map is a list of its values, in the order of the keys that the node which reads it names: the
/// vocabulary, a sparse map's positions, or the map's own keys in ascending order.
static void declareMap(const ::onnx::GraphProto &graph, const ::onnx::ValueInfoProto &info, DeclaredTensor &input) {
  const std::optional<int64_t> entries = mapEntries(graph, input.name);
  if (!entries)
    return;
  input.kind = "tensor";
  input.elementType = info.type().map_type().value_type().tensor_type().elem_type();
  input.dims = {DeclaredDim{*entries, *entries < 0 ? input.name + ".0" : ""}};
}

void ModelFile::State::declare() {
  std::unordered_set<std::string_view> initializers;
  for (const ::onnx::TensorProto &initializer : proto.graph().initializer())
    initializers.insert(initializer.name());
  for (const ::onnx::SparseTensorProto &sparse : proto.graph().sparse_initializer())
    initializers.insert(sparse.values().name());
  for (const ::onnx::ValueInfoProto &input : proto.graph().input()) {
    if (initializers.count(input.name()))
      continue;
    inputs.push_back(declaredTensor(input));
    if (inputs.back().kind == "map")
      declareMap(proto.graph(), input, inputs.back());
  }
  for (const ::onnx::ValueInfoProto &output : proto.graph().output())
    outputs.push_back(declaredTensor(output));
}

Expected<std::shared_ptr<const MappedFile>> ModelFile::State::externalFile(const std::string &location,
                                                                           const std::string &who) {
  if (!root)
    return makeError(ErrorCode::InvalidInput, "tensor '", excerpt(who),
                     "' keeps its data in another file, which only a model opened from a file can have");
  std::lock_guard lock(mutex);
  if (auto found = externalFiles.find(location); found != externalFiles.end())
    return found->second;
  if (externalFiles.size() >= kExternalFileLimit)
    return makeError(ErrorCode::Unsupported, "the weights are in more than ", kExternalFileLimit,
                     " files of external data");
  Expected<OpenedFile> file =
      openBeneath(root, location, {"external data", concat("tensor '", excerpt(who), "'"), "model", false});
  if (!file && file.error().code == ErrorCode::NotFound) {
    missing.push_back({location, who});
    return externalFiles[location] = nullptr;
  }
  if (!file)
    return propagate(file);
  auto mapping = MappedFile::map(file->handle, file->size, location);
  if (mapping)
    externalFiles.emplace(location, *mapping);
  return mapping;
}

Expected<TensorData> ModelFile::State::external(const ::onnx::TensorProto &tensor) {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const ::onnx::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
      continue;
    }
    if (entry.key() != "offset" && entry.key() != "length")
      continue; // A checksum, or a writer's own note.
    Expected<int64_t> value = parseInteger(entry.value());
    if (!value || *value < 0)
      return makeError(ErrorCode::InvalidInput, "external data of tensor '", excerpt(tensor.name()), "' has the ",
                       entry.key(), " '", excerpt(entry.value()), "', which is not a number of bytes");
    if (entry.key() == "offset")
      offset = *value;
    else
      length = *value;
  }
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  SLUICE_ASSIGN_OR_RETURN(int64_t count, checkedElementCount(dims, concat("tensor '", excerpt(tensor.name()), "'")));
  int64_t needed = length.value_or(tensorByteCount(tensor.data_type(), count));
  SLUICE_ASSIGN_OR_RETURN(auto file, externalFile(location, tensor.name()));
  if (!file)
    return checkedTensorShape(tensor, needed);
  auto size = static_cast<int64_t>(file->bytes().size());
  if (offset > size || needed > size - offset)
    return makeError(ErrorCode::InvalidInput, "external data of tensor '", excerpt(tensor.name()), "' begins at byte ",
                     offset, " and has ", needed, " bytes, and file '", location, "' has only ", size, " bytes");
  return checkedTensorData(tensor, file->bytes().subspan(offset, needed), file);
}

Expected<TensorData> ModelFile::State::data(const std::shared_ptr<State> &self, const ::onnx::TensorProto &tensor) {
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL)
    return external(tensor);
  if (auto found = stripped.find(&tensor); found != stripped.end())
    return checkedTensorData(tensor, found->second.bytes, found->second.owner);
  return checkedTensorData(tensor, std::nullopt, self);
}

Expected<ModelFile> ModelFile::check(std::shared_ptr<State> state) {
  SLUICE_RETURN_IF_ERROR(state->checkVersions());
  Status status = checkStructure(state->proto, [&](const ::onnx::TensorProto &tensor) -> Status {
    if (tensor.data_type() == onnxtype::String)
      return checkStrings(tensor);
    SLUICE_RETURN_IF_ERROR(state->data(state, tensor));
    return {};
  });
  if (!status)
    return makeError(status.error().code, status.error().message, ", in model '", state->path,
                     "', correct the model or export it again");
  state->declare();
  return ModelFile(std::move(state));
}

Expected<ModelFile> ModelFile::open(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(OpenedFile file, openRegularFile(path));
  auto state = std::make_shared<State>();
  state->path = path;
  SLUICE_ASSIGN_OR_RETURN(FileHandle root, openDirectoryOf(path));
  state->root = std::move(root);
  SLUICE_ASSIGN_OR_RETURN(auto mapping, MappedFile::map(file.handle, file.size, path));
  std::span<const std::byte> bytes = mapping->bytes();
  Status status = path.ends_with(".onnxtxt")
                      ? parseTextModel({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path, state->proto)
                      : state->parse(bytes, mapping);
  if (!status)
    return propagate(status);
  return check(std::move(state));
}

Expected<ModelFile> ModelFile::fromBytes(std::string_view bytes, const std::string &name) {
  auto state = std::make_shared<State>();
  state->path = name;
  auto copy = std::make_shared<std::string>(bytes);
  SLUICE_RETURN_IF_ERROR(state->parse(std::as_bytes(std::span(*copy)), copy));
  return check(std::move(state));
}

Expected<ModelFile> ModelFile::fromText(std::string_view text, const std::string &name) {
  auto state = std::make_shared<State>();
  state->path = name;
  SLUICE_RETURN_IF_ERROR(parseTextModel(text, name, state->proto));
  return check(std::move(state));
}

Expected<ModelFile> ModelFile::fromProto(::onnx::ModelProto &&proto, const std::string &path,
                                         const std::map<int, OutsideData> &outside) {
  auto state = std::make_shared<State>();
  state->path = path;
  SLUICE_ASSIGN_OR_RETURN(FileHandle root, openDirectoryOf(path));
  state->root = std::move(root);
  state->proto = std::move(proto);
  for (const auto &[index, data] : outside)
    state->stripped[&state->proto.graph().initializer(index)] = data;
  return check(std::move(state));
}

const std::string &ModelFile::path() const { return state->path; }
const ::onnx::ModelProto &ModelFile::proto() const { return state->proto; }
const ::onnx::GraphProto &ModelFile::graph() const { return state->proto.graph(); }
int64_t ModelFile::irVersion() const { return state->proto.ir_version(); }
const std::vector<DeclaredTensor> &ModelFile::inputs() const { return state->inputs; }
const std::vector<DeclaredTensor> &ModelFile::outputs() const { return state->outputs; }
const std::vector<MissingData> &ModelFile::missingData() const { return state->missing; }

std::vector<std::string> ModelFile::dataFiles() const {
  std::vector<std::string> names;
  for (const auto &[name, mapping] : state->externalFiles)
    if (mapping)
      names.push_back(name);
  return names;
}

Status ModelFile::requireData() const {
  if (state->missing.empty())
    return {};
  const MissingData &first = state->missing.front();
  return makeError(ErrorCode::NotFound, "external data file '", first.file, "' of tensor '", first.tensor,
                   "' does not exist beside the model, in model '", state->path,
                   "', supply the file (planning works without it)");
}

int64_t ModelFile::opset(std::string_view domain) const {
  auto canonical = [](std::string_view name) { return name == "ai.onnx" ? std::string_view() : name; };
  for (const ::onnx::OperatorSetIdProto &import : state->proto.opset_import())
    if (canonical(import.domain()) == canonical(domain))
      return import.version();
  return 0;
}

std::vector<DomainVersion> ModelFile::otherDomains() const {
  std::vector<DomainVersion> result;
  for (const ::onnx::OperatorSetIdProto &import : state->proto.opset_import())
    if (!import.domain().empty() && import.domain() != "ai.onnx")
      result.push_back({import.domain(), import.version()});
  return result;
}

Expected<TensorData> ModelFile::tensor(const ::onnx::TensorProto &tensor) const { return state->data(state, tensor); }

} // namespace sluice
