//===- Subject.h - The model to shrink, and parts of it ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEREDUCE_SUBJECT_H
#define SLUICE_TOOLS_SLUICEREDUCE_SUBJECT_H

#include "Child.h"
#include "sluice/Support/Error.h"
#include "sluice/Support/Temporaries.h"

#include <map>
#include <onnx/onnx_pb.h>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::reduce {

/// An attribute or input that a node may go without.
struct Option {
  enum class Kind : uint8_t { Attribute, Input };
  int node = 0;
  Kind kind = Kind::Attribute;
  int index = 0; ///< Of the node's attributes or inputs.

  auto operator<=>(const Option &) const = default;
};

/// What is kept of the model. What a kept node reads and none writes becomes an input of the graph.
struct Candidate {
  std::vector<int> nodes; ///< Ascending.
  /// Names. One whose node is gone does not count; a node left with no reader gives new ones.
  std::vector<std::string> outputs;
  /// Inputs and initializers that stay though nothing reads them.
  std::vector<std::string> spares;
  /// Initializers that keep their data. The others that are read are inputs.
  std::vector<std::string> constants;
  std::vector<Option> options;
  /// Every reader of the first reads the second instead.
  std::map<std::string, std::string> aliases;
  /// Some alias may have another type, so that the model's own shapes may not hold any more.
  bool guessed = false;
  /// Descriptions, metadata, declared types of intermediate tensors, functions without a caller.
  bool notes = true;
};

class Subject {
public:
  /// Opens and checks a model, brings external data inside, and infers types. Fails also where the whole is larger
  /// than protobuf can write.
  static Expected<Subject> open(const std::string &path, const TemporaryDirectory &scratch, int64_t timeoutNs);

  const ::onnx::ModelProto &model() const { return whole; }
  const ::onnx::GraphProto &graph() const { return whole.graph(); }
  Candidate everything() const;

  /// A model on its own. Nothing where an intermediate tensor would become an input and its shape is not known, or
  /// where no output is left.
  std::optional<::onnx::ModelProto> build(const Candidate &candidate) const;
  /// Those of the candidate's nodes that its outputs need.
  std::vector<int> needed(const Candidate &candidate) const;
  enum class Match : uint8_t { No, Unknown, Yes };
  /// Whether two tensors have the same element type and shape.
  Match compareTypes(const std::string &a, const std::string &b) const;

private:
  explicit Subject(::onnx::ModelProto model) : whole(std::move(model)) {}
  /// Fails only where the system refuses memory, a file or a process: a model without inferred types is valid.
  Status inferTypes(const TemporaryDirectory &scratch, int64_t timeoutNs);
  void index();
  ::onnx::NodeProto rewritten(int node, const Candidate &candidate, const std::set<Option> &kept) const;
  const ::onnx::TypeProto *typeOf(const std::string &name) const;
  using Names = std::unordered_set<std::string>;
  void declareOutputs(const std::vector<std::string> &outputs, bool hasGuessedShapes, ::onnx::GraphProto &result) const;
  /// Declares the inputs and initializers that stay, the model's own first, then an input for each other value of
  /// `wanted` that is not `defined`. False where such a value's type is not known well enough.
  bool declareInputs(const Candidate &candidate, const std::vector<std::string> &wanted, Names defined,
                     ::onnx::GraphProto &result) const;
  /// Copies descriptions, metadata and the declared types of intermediate tensors.
  void copyNotes(const Names &produced, bool hasGuessedShapes, ::onnx::ModelProto &model) const;

  ::onnx::ModelProto whole;
  /// Of tensors, at least the element type; a shape where it is known.
  std::unordered_map<std::string, ::onnx::TypeProto> types;
  std::set<Option> options;
  /// Nodes whose results nothing uses from the start.
  std::set<int> dead;
};

} // namespace sluice::reduce

#endif // SLUICE_TOOLS_SLUICEREDUCE_SUBJECT_H
