//===- ModelFile.h - An ONNX model, opened and checked ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Opening a model checks everything that does not depend on the semantics of operators: the protobuf, versions, names,
// the order of nodes, and the size of every tensor, including external ones. It does not use the ONNX checker, which
// refuses IR versions newer than its own.
//
// Weights are not read. Initializers stay in the mapped file.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_MODELFILE_H
#define SLUICE_ONNX_MODELFILE_H

#include "sluice/Onnx/TensorData.h"
#include "sluice/Support/Error.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace sluice {

/// The opsets of the default domain of models that can be opened. In opset 7 and later ones, the importer supports all
/// operators of its table of converters (Import/OperatorTable.cpp). Below opset 7, it supports an operator only if the
/// operator's older version has the same or nearly the same meaning.
inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 28;

/// One dimension of a model's input or output as declared.
struct DeclaredDim {
  /// The declared number; -1 if the model declares no positive number.
  int64_t value = -1;
  /// The symbol; "input.axis" if the model declares neither a positive number nor a symbol.
  std::string symbol;
};

/// A graph input (never an initializer) or output.
struct DeclaredTensor {
  std::string name;
  /// onnxtype::Undefined if the model declares no tensor type.
  int32_t elementType = 0;
  /// Absent if the model does not declare a rank.
  std::optional<std::vector<DeclaredDim>> dims;
  /// "tensor", "sequence", "map", "optional", "sparse tensor" or "undeclared". If DictVectorizer or CastMap reads an
  /// input that is a map, the input counts as a tensor with the values of the map. The values are in the order of the
  /// vocabulary (DictVectorizer), of the positions (a sparse CastMap), or of ascending keys (any other CastMap).
  std::string kind;
};

struct DomainVersion {
  std::string domain; ///< "" is ONNX's own.
  int64_t version = 0;
};

/// A file of external data that does not exist.
struct MissingData {
  std::string file;   ///< The name of the file in the model.
  std::string tensor; ///< A tensor that the file should contain.
};

/// Appends all names that a node reads from its own graph or from an outer graph. They are the names of the node's
/// inputs, and the names that its subgraphs read without defining them. An omitted input has an empty name. The views
/// in `names` refer to text of the node.
void collectReads(const ::onnx::NodeProto &node, std::vector<std::string_view> &names);

/// Raw data of an initializer that is not in its protobuf.
struct OutsideData {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes` alive.
};

class ModelFile {
public:
  /// Opens a binary model, or textual ONNX if the name ends in .onnxtxt. Files of external data must be regular files
  /// below the model's directory that are reached without a symbolic link. A missing file of external data is not an
  /// error, because shapes suffice for planning.
  static Expected<ModelFile> open(const std::string &path);
  /// A binary model in memory; external data is an error. `name` stands for the path in errors.
  static Expected<ModelFile> fromBytes(std::string_view bytes, const std::string &name);
  /// Textual ONNX in memory; external data is an error.
  static Expected<ModelFile> fromText(std::string_view text, const std::string &name);

  /// A model that was built in memory. External data must be below the directory of `path`, which need not exist.
  /// `outside` has the raw data of initializers whose field `raw_data` is empty, by the index of the initializer.
  static Expected<ModelFile> fromProto(::onnx::ModelProto &&proto, const std::string &path,
                                       const std::map<int, OutsideData> &outside);

  const std::string &path() const;
  const ::onnx::ModelProto &proto() const;
  const ::onnx::GraphProto &graph() const;

  int64_t irVersion() const;
  /// The version of a domain that the model imports ("" or "ai.onnx": ONNX's own domain); 0 if it is not imported.
  int64_t opset(std::string_view domain) const;
  /// Imported domains other than ONNX's own.
  std::vector<DomainVersion> otherDomains() const;

  /// Initializers are not among the inputs, even if the model lists them there.
  const std::vector<DeclaredTensor> &inputs() const;
  const std::vector<DeclaredTensor> &outputs() const;

  /// Files of external data that do not exist, each once.
  const std::vector<MissingData> &missingData() const;
  /// Files of external data that exist, each once, ascending by name, as the model names them.
  std::vector<std::string> dataFiles() const;
  /// Fails if a file of external data is missing; the error names the file. Call it before the data of tensors is
  /// needed.
  Status requireData() const;

  /// The data of any TensorProto of this model. Files of external data are mapped at their first use, and the raw data
  /// of initializers is never copied. The data is empty if its file is missing.
  Expected<TensorData> tensor(const ::onnx::TensorProto &tensor) const;

  struct State;

private:
  explicit ModelFile(std::shared_ptr<State> state) : state(std::move(state)) {}
  static Expected<ModelFile> check(std::shared_ptr<State> state);
  std::shared_ptr<State> state;
};

} // namespace sluice

#endif // SLUICE_ONNX_MODELFILE_H
