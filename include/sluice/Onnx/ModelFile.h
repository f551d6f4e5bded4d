//===- ModelFile.h - An ONNX model, opened and checked ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Opening checks everything that needs no operator semantics: the protobuf,
// versions, names, order, and every tensor's size, external ones included. The
// ONNX checker is not used: it refuses IR versions newer than its own.
//
// Weights are not read: initializers stay in the mapped file.
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

/// Opsets of the default domain this importer has tables for. Every operator of ours has an entry from 7 on; those
/// whose older versions mean the same, or nearly, have one from then.
inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 28;

/// One dimension of a model's input or output as declared.
struct DeclaredDim {
  /// -1 where not a number.
  int64_t value = -1;
  /// Its symbol, or "input.axis" where the model gives neither number nor symbol.
  std::string symbol;
};

/// A graph input (never an initializer) or output.
struct DeclaredTensor {
  std::string name;
  /// onnxtype::Undefined where the model declares no tensor type.
  int32_t elementType = 0;
  /// Empty optional where the model does not even declare a rank.
  std::optional<std::vector<DeclaredDim>> dims;
  /// "tensor", "sequence", "map", "optional", "sparse tensor" or "undeclared". An input map that DictVectorizer or
  /// CastMap reads is a tensor: its values, by the keys that the node names.
  std::string kind;
};

struct DomainVersion {
  std::string domain; ///< "" is ONNX's own.
  int64_t version = 0;
};

/// A file of external data that is not there.
struct MissingData {
  std::string file;   ///< As the model names it.
  std::string tensor; ///< One that lies in it.
};

/// Adds every name a node reads from its graph or an outer one: its inputs (empty where left out), and what its
/// subgraphs do not define themselves. The names lie in the node.
void collectReads(const ::onnx::NodeProto &node, std::vector<std::string_view> &names);

/// Raw data of an initializer that is not in its protobuf.
struct OutsideData {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes` alive.
};

class ModelFile {
public:
  /// Opens a binary model, or textual ONNX where the name ends in .onnxtxt. External data is looked for below the
  /// file's directory, and must be regular files reached without a link; see DESIGN.md, Errors. A file that does not
  /// exist is no error: shapes are enough to plan with.
  static Expected<ModelFile> open(const std::string &path);
  /// A binary model in memory; external data is an error. `name` stands for the path in errors.
  static Expected<ModelFile> fromBytes(std::string_view bytes, const std::string &name);
  /// Textual ONNX in memory; external data is an error.
  static Expected<ModelFile> fromText(std::string_view text, const std::string &name);

  /// A model made in memory. External data is looked for below the directory of `path`, which need not be a model's
  /// file. `outside` has the raw data of initializers whose field `raw_data` is empty, by their index.
  static Expected<ModelFile> fromProto(::onnx::ModelProto &&proto, const std::string &path,
                                       const std::map<int, OutsideData> &outside);

  const std::string &path() const;
  const ::onnx::ModelProto &proto() const;
  const ::onnx::GraphProto &graph() const;

  int64_t irVersion() const;
  /// The imported version of a domain ("" or "ai.onnx": ONNX's own); 0 where not imported.
  int64_t opset(std::string_view domain) const;
  /// Imported domains other than ONNX's own.
  std::vector<DomainVersion> otherDomains() const;

  /// Initializers are not inputs, whether or not the model lists them as such too.
  const std::vector<DeclaredTensor> &inputs() const;
  const std::vector<DeclaredTensor> &outputs() const;

  /// Files of external data that do not exist, each once.
  const std::vector<MissingData> &missingData() const;
  /// Files of external data that exist, each once, ascending by name, as the model names them.
  std::vector<std::string> dataFiles() const;
  /// Fails naming a missing file, for whoever needs the data itself.
  Status requireData() const;

  /// The data of any TensorProto of this model. Maps external files on first use; never copies initializers' raw data.
  /// No bytes where the file is missing.
  Expected<TensorData> tensor(const ::onnx::TensorProto &tensor) const;

  struct State;

private:
  explicit ModelFile(std::shared_ptr<State> state) : state(std::move(state)) {}
  static Expected<ModelFile> check(std::shared_ptr<State> state);
  std::shared_ptr<State> state;
};

} // namespace sluice

#endif // SLUICE_ONNX_MODELFILE_H
