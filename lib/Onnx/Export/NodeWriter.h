//===- NodeWriter.h - What an exporter's converter sees ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A converter turns one dataflow operator into nodes that the importer turns back into it. Values are names here. A
// converter that needs a newer opset passes its version as `since`; then the whole program is written again for that
// opset.
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

/// A node being written. Copies refer to the same node.
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
  /// The names of values.
  std::string name(mlir::Value value) const;
  std::vector<std::string> operands() const;

  /// Adds the node that computes the operator's results. `since`: the first opset that has its type, or this form of
  /// it. `count`: how many of the operator's results the node has, from the first on.
  Node node(llvm::StringRef type, std::vector<std::string> inputs, int64_t since = kExportOpset,
            std::optional<size_t> count = std::nullopt);
  /// Does the same for an operator of com.microsoft.
  Node contribNode(llvm::StringRef type, std::vector<std::string> inputs);
  /// Does the same for a node with a first output that the operator does not have.
  Node nodeOfSecond(llvm::StringRef type, std::vector<std::string> inputs);
  /// Adds the node that computes the operator's results by a function of LocalFunctions.h.
  Node call(llvm::StringRef function, std::vector<std::string> inputs);
  /// Adds a node before it, with one result.
  Node step(llvm::StringRef type, std::vector<std::string> inputs, int64_t since = kExportOpset);

  /// Writes a program of the operator as an attribute of `node`. The program's last arguments are the captured values.
  /// The first arguments of a loop's program are the iteration's number and the carried tensors; ONNX has the condition
  /// between them.
  void subgraph(Node &node, llvm::StringRef attribute, mlir::Block &block, bool isLoop, mlir::ValueRange captured);

  /// Adds small constants; `what` becomes part of the name.
  std::string integers(llvm::StringRef what, llvm::ArrayRef<int64_t> values);
  std::string integer(llvm::StringRef what, int64_t value);
  /// Adds a list of extents: a constant if all are numbers, else nodes that compute it from the step's shapes.
  std::string extents(llvm::StringRef what, llvm::ArrayRef<dataflow::Extent> extents);
  /// Defines a symbol, from here on, as the extent of that dimension of the operator's first result.
  void defineSymbol(unsigned symbol, int64_t dim);
  /// Adds a list of f32 if that type holds all values exactly, else of f64.
  std::string numbers(llvm::StringRef what, llvm::ArrayRef<double> values);
  /// Adds one element of any type, of rank 0.
  std::string scalar(llvm::StringRef what, mlir::Type elementType, double value);

  /// Adds a tensor of 8-bit integers.
  std::string bytes(llvm::StringRef what, mlir::Type elementType, llvm::ArrayRef<int64_t> dims,
                    llvm::ArrayRef<char> values);

  /// Reports that ONNX cannot express this operator. All reports become one error.
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

/// Zero points of integer products have 32 bits here, but the type of the bytes in ONNX. A zero point that only
/// products read becomes part of their nodes.
bool isWrittenByUsers(mlir::Operation &op);

/// Null if the operator has no form in ONNX.
ExportConverter findExport(llvm::StringRef operation);

} // namespace sluice::onnxexport

#endif // SLUICE_LIB_ONNX_EXPORT_NODEWRITER_H
