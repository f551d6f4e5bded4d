//===- NodeWriter.h - What an exporter's converter sees ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A converter turns one dataflow operator into the nodes that import as it.
// Values are names here. A converter that needs an operator of a newer opset
// says so with `since`; the whole program is then written anew for that opset.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_EXPORT_NODEWRITER_H
#define SLUICE_LIB_ONNX_EXPORT_NODEWRITER_H

#include "dialects/Dataflow/IR/Extents.h"
#include "lib/Onnx/TensorTypes.h"
#include "sluice/Onnx/Export.h"

#include <onnx/onnx_pb.h>

namespace sluice::onnxexport {

using onnxtensor::elementTypeToOnnx;

/// A node being written. Copies are the same node.
class Node {
public:
  explicit Node(::onnx::NodeProto &proto) : proto(&proto) {}

  Node &set(llvm::StringRef name, int64_t value);
  Node &set(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  Node &set(llvm::StringRef name, const llvm::APFloat &value);
  Node &set(llvm::StringRef name, llvm::StringRef value);
  ::onnx::GraphProto &graph(llvm::StringRef name);
  void setDomain(llvm::StringRef domain) { proto->set_domain(domain.str()); }
  /// The name of its first output.
  const std::string &output() const { return proto->output(0); }

private:
  ::onnx::AttributeProto &add(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type);
  ::onnx::NodeProto *proto;
};

class ProgramWriter;

class NodeWriter {
public:
  NodeWriter(ProgramWriter &program, mlir::Operation &op) : op(op), program(program) {}

  mlir::Operation &op;

  /// The opset being written.
  int64_t opset() const;
  /// Values' names.
  std::string name(mlir::Value value) const;
  std::vector<std::string> operands() const;

  /// The node that computes the operator's results. `since`: the opset that its type, or this form of it, is from.
  /// `count`: the node has only so many of the operator's results, the first ones.
  Node node(llvm::StringRef type, std::vector<std::string> inputs, int64_t since = kExportOpset,
            std::optional<size_t> count = std::nullopt);
  /// The same for an operator of com.microsoft.
  Node contribNode(llvm::StringRef type, std::vector<std::string> inputs);
  /// The same for a node whose first output the operator does not have.
  Node nodeOfSecond(llvm::StringRef type, std::vector<std::string> inputs);
  /// The node that computes the operator's results by a function of ours (LocalFunctions.h).
  Node call(llvm::StringRef function, std::vector<std::string> inputs);
  /// A node before it, with one result.
  Node step(llvm::StringRef type, std::vector<std::string> inputs, int64_t since = kExportOpset);

  /// Writes a program of the operator as an attribute of `node`. The program's last arguments are the captured values.
  /// The first arguments of a loop's program are the iteration's number and the carried tensors; ONNX has the condition
  /// between them.
  void subgraph(Node &node, llvm::StringRef attribute, mlir::Block &block, bool isLoop, mlir::ValueRange captured);

  /// Small constants; `what` becomes part of the name.
  std::string integers(llvm::StringRef what, llvm::ArrayRef<int64_t> values);
  std::string integer(llvm::StringRef what, int64_t value);
  /// A list of extents: a constant where all are, else what nodes compute from the step's shapes.
  std::string extents(llvm::StringRef what, llvm::ArrayRef<dataflow::Extent> extents);
  /// From here on, a symbol's value is the extent of that dimension of the operator's first result.
  void defineSymbol(unsigned symbol, int64_t dim);
  /// A list of f32 where those hold all values, else of f64.
  std::string numbers(llvm::StringRef what, llvm::ArrayRef<double> values);
  /// One element of any type, rank 0.
  std::string scalar(llvm::StringRef what, mlir::Type elementType, double value);

  /// A tensor of 8-bit integers.
  std::string bytes(llvm::StringRef what, mlir::Type elementType, llvm::ArrayRef<int64_t> dims,
                    llvm::ArrayRef<char> values);

  /// ONNX cannot say this operator; goes to the list of the one error.
  llvm::LogicalResult refuse(const llvm::Twine &why);

  std::string reason;

private:
  void addResults(::onnx::NodeProto &proto, std::optional<size_t> count = std::nullopt);
  ProgramWriter &program;
};

using ExportConverter = llvm::LogicalResult (*)(NodeWriter &);

/// One operator of the dataflow dialect.
struct ExportEntry {
  llvm::StringLiteral (*operation)();
  ExportConverter convert;
};

template <typename OpTy, llvm::LogicalResult (*convert)(OpTy, NodeWriter &)>
constexpr ExportEntry exports() {
  return {[] { return OpTy::getOperationName(); },
          [](NodeWriter &writer) { return convert(llvm::cast<OpTy>(writer.op), writer); }};
}

llvm::ArrayRef<ExportEntry> elementwiseExports();
llvm::ArrayRef<ExportEntry> contractionExports();
llvm::ArrayRef<ExportEntry> controlExports();
llvm::ArrayRef<ExportEntry> windowExports();
llvm::ArrayRef<ExportEntry> rowExports();
llvm::ArrayRef<ExportEntry> movementExports();
llvm::ArrayRef<ExportEntry> selectionExports();

/// Zero points of integer products are in 32 bits here and in the bytes' type in ONNX: one that products alone read
/// is part of their nodes.
bool isWrittenByUsers(mlir::Operation &op);

/// Null where the operator has no form in ONNX.
ExportConverter findExport(llvm::StringRef operation);

} // namespace sluice::onnxexport

#endif // SLUICE_LIB_ONNX_EXPORT_NODEWRITER_H
