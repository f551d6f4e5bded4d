//===- Import.cpp - ONNX to the dataflow dialect --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Import.h"

#include "ModelInternals.h"
#include "NodeContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {
namespace onnximport {
namespace {

class GraphImporter {
public:
  GraphImporter(MLIRContext &context, const ModelFile &model) : model(model), builder(&context) {}
  Expected<OwningOpRef<ModuleOp>> run(const ImportOptions &options);

private:
  Status fixInputs(const BoundInputs &bound, const ImportOptions &options);
  Status declareInputs(const BoundInputs &bound, SmallVectorImpl<Type> &types) const;
  /// The nodes of a graph, in order, into the innermost scope.
  Status importNodes(const ::onnx::GraphProto &graph);
  Status importNode(const ::onnx::NodeProto &node);
  /// The branch that a condition known now chooses.
  Status importIf(const ::onnx::NodeProto &node);
  /// The value of a name; an initializer becomes a constant on first use. Null where its producer is unsupported.
  Expected<Value> lookup(const std::string &name);
  Status finish(func::FuncOp function);

  /// Its name, or that of its first output.
  static StringRef nameOf(const ::onnx::NodeProto &node) {
    if (!node.name().empty())
      return node.name();
    for (const std::string &output : node.output())
      if (!output.empty())
        return output;
    return node.op_type();
  }
  Location locationOf(const ::onnx::NodeProto &node) { return NameLoc::get(builder.getStringAttr(nameOf(node))); }
  static std::string describe(const ::onnx::NodeProto &node) {
    std::string name = nameOf(node).str();
    std::string domain = node.domain().empty() ? "" : node.domain() + ":";
    return concat("'", name, "' (", domain, node.op_type(), ")");
  }
  void reportUnsupported(const ::onnx::NodeProto &node, const std::string &reason) {
    unsupported.push_back(concat(describe(node), ", ", node.domain().empty() ? "" : node.domain() + " ", "opset ",
                                 model.opset(node.domain()), ": ", reason));
  }

  const ModelFile &model;
  OpBuilder builder;
  /// The names of a graph; those of the graphs around it are visible too.
  struct Scope {
    llvm::StringMap<Value> values;
    llvm::StringMap<const ::onnx::TensorProto *> initializers;
  };
  std::vector<Scope> scopes{Scope()};
  std::vector<std::string> unsupported;
  /// Initializers stand before everything else.
  Operation *lastConstant = nullptr;
};

Status GraphImporter::declareInputs(const BoundInputs &bound, SmallVectorImpl<Type> &types) const {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const DeclaredTensor &input = model.inputs()[i];
    Type elementType = elementTypeFromOnnx(builder.getContext(), input.elementType);
    if (!elementType)
      return makeError(ErrorCode::Unsupported, "input '", input.name, "' of model '", model.path(), "' holds ",
                       onnxtype::name(input.elementType), " elements, which are not supported");
    types.push_back(RankedTensorType::get(bound.shapes[i], elementType));
  }
  return {};
}

Status GraphImporter::fixInputs(const BoundInputs &bound, const ImportOptions &options) {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const DeclaredTensor &input = model.inputs()[i];
    auto fixed = options.fixedInputs.find(input.name);
    if (fixed == options.fixedInputs.end())
      continue;
    auto data = std::make_shared<HostTensor>(fixed->second);
    if (static_cast<int32_t>(data->type) != input.elementType || data->shape != bound.shapes[i])
      return makeError(ErrorCode::InvalidInput, "the data given for input '", input.name, "' is ",
                       elementTypeName(data->type), " ", formatShape(data->shape), ", the model declares ",
                       onnxtype::name(input.elementType), " ", formatShape(bound.shapes[i]));
    TensorData view{input.elementType, data->shape, data->bytes, data};
    Location location = NameLoc::get(builder.getStringAttr(input.name));
    scopes.back().values[input.name] =
        ConstantOp::create(builder, location, constantAttribute(builder.getContext(), view, input.name));
  }
  return {};
}

Expected<Value> GraphImporter::lookup(const std::string &name) {
  auto scope = std::find_if(scopes.rbegin(), scopes.rend(), [&](const Scope &scope) {
    return scope.values.contains(name) || scope.initializers.contains(name);
  });
  if (scope == scopes.rend())
    return Value(); // Sparse initializers, listed as unsupported already.
  if (auto found = scope->values.find(name); found != scope->values.end())
    return found->second;
  Expected<TensorData> data = model.tensor(*scope->initializers.lookup(name));
  if (!data && data.error().code != ErrorCode::Unsupported)
    return propagate(data);
  ElementsAttr value;
  if (data)
    value = constantAttribute(builder.getContext(), *data, name);
  if (!value) {
    unsupported.push_back(concat(
        "initializer '", name,
        "': ", data ? concat("its elements are of type ", onnxtype::name(data->elementType)) : data.error().message));
    return scope->values[name] = Value();
  }
  OpBuilder::InsertionGuard guard(builder);
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(builder.getInsertionBlock());
  auto constant = ConstantOp::create(builder, NameLoc::get(builder.getStringAttr(name)), value);
  lastConstant = constant;
  return scope->values[name] = constant;
}

Status GraphImporter::importNodes(const ::onnx::GraphProto &graph) {
  for (const ::onnx::TensorProto &initializer : graph.initializer())
    scopes.back().initializers[initializer.name()] = &initializer;
  for (const ::onnx::SparseTensorProto &sparse : graph.sparse_initializer())
    unsupported.push_back(concat("initializer '", sparse.values().name(), "': it is sparse"));
  // Constants first, wherever they stand: of several with one name the last holds, and holds everywhere.
  auto isConstant = [](const ::onnx::NodeProto &node) {
    return node.op_type() == "Constant" && node.domain().empty() && node.input_size() == 0;
  };
  for (const ::onnx::NodeProto &node : graph.node())
    if (isConstant(node))
      if (Status status = importNode(node); !status)
        return status;
  for (int index : nodeOrder(graph))
    if (const ::onnx::NodeProto &node = graph.node(index); !isConstant(node))
      if (Status status = importNode(node); !status)
        return status;
  return {};
}

Status GraphImporter::importIf(const ::onnx::NodeProto &node) {
  Expected<Value> condition = node.input_size() == 1 ? lookup(node.input(0)) : Expected<Value>(Value());
  if (!condition)
    return propagate(condition);
  if (!*condition)
    return {};
  std::optional<SmallVector<int64_t>> known = getIntegers(*condition);
  if (!known || known->size() != 1) {
    reportUnsupported(node, "its condition is not known before the model runs");
    return {};
  }
  StringRef name = known->front() ? "then_branch" : "else_branch";
  auto branch = llvm::find_if(node.attribute(), [&](const auto &attribute) { return attribute.name() == name; });
  if (branch == node.attribute().end() || branch->g().output_size() < node.output_size())
    return makeError(ErrorCode::InvalidInput, "node ", describe(node), " of model '", model.path(), "' has no ",
                     name.str(), " with ", node.output_size(), " outputs");
  scopes.emplace_back();
  SmallVector<Value> results;
  if (Status status = importNodes(branch->g()); !status)
    return status;
  for (int i = 0; i < node.output_size(); ++i) {
    Expected<Value> value = lookup(branch->g().output(i).name());
    if (!value)
      return propagate(value);
    results.push_back(*value);
  }
  scopes.pop_back();
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      scopes.back().values[node.output(i)] = results[i];
  return {};
}

Status GraphImporter::importNode(const ::onnx::NodeProto &node) {
  // Outputs of nodes that are not imported are null: what reads them is skipped, and not reported again.
  for (const std::string &output : node.output())
    if (!output.empty())
      scopes.back().values[output] = Value();
  if (node.op_type() == "If" && node.domain().empty())
    return importIf(node);
  bool known = false;
  Converter convert = findConverter(node.domain(), node.op_type(), model.opset(node.domain()), known);
  if (!convert) {
    reportUnsupported(node, known ? "this version of the operator is not supported" : "no such operator is supported");
    return {};
  }
  SmallVector<Value> inputs;
  for (const std::string &name : node.input()) {
    if (name.empty()) {
      inputs.push_back({});
      continue;
    }
    Expected<Value> value = lookup(name);
    if (!value)
      return propagate(value);
    if (!*value)
      return {};
    inputs.push_back(*value);
  }
  NodeContext converted(builder, locationOf(node), model, node, inputs);
  if (failed(convert(converted))) {
    if (converted.isUnsupported) {
      reportUnsupported(node, converted.reason);
      return {};
    }
    return makeError(ErrorCode::InvalidInput, "node ", describe(node), " of model '", model.path(),
                     "' cannot be imported: ", converted.reason);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    if (static_cast<size_t>(i) >= converted.outputs.size()) {
      reportUnsupported(node, concat("its output ", i, " is not supported"));
      return {};
    }
    scopes.back().values[node.output(i)] = converted.outputs[i];
  }
  return {};
}

Status GraphImporter::finish(func::FuncOp function) {
  SmallVector<Value> results;
  llvm::SmallDenseSet<Value> returned;
  for (const DeclaredTensor &output : model.outputs()) {
    Expected<Value> value = lookup(output.name);
    if (!value)
      return propagate(value);
    if (!*value)
      continue; // Its producer is in the list.
    // Each output is a buffer of its own.
    Value result = *value;
    if (isa<BlockArgument>(result) || result.getDefiningOp<ConstantOp>() || !returned.insert(result).second)
      result = CopyOp::create(builder, NameLoc::get(builder.getStringAttr(output.name)), result);
    results.push_back(result);
  }
  if (!unsupported.empty()) {
    std::string list;
    for (const std::string &entry : unsupported)
      list += "\n  " + entry;
    return makeError(ErrorCode::Unsupported, "model '", model.path(), "' has ", unsupported.size(),
                     unsupported.size() == 1 ? " node that is" : " nodes that are", " not supported:", list);
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (size_t i = 0; i < model.outputs().size(); ++i)
    function.setResultAttr(i, "dataflow.name", builder.getStringAttr(model.outputs()[i].name));
  return {};
}

Expected<OwningOpRef<ModuleOp>> GraphImporter::run(const ImportOptions &options) {
  DimBindings dims = options.dims;
  for (const auto &[name, tensor] : options.fixedInputs)
    dims.inputShapes[name] = tensor.shape;
  Expected<BoundInputs> bound = bindDims(model, dims);
  if (!bound)
    return propagate(bound);
  SmallVector<Type> types;
  if (Status status = declareInputs(*bound, types); !status)
    return propagate(status);

  const ::onnx::GraphProto &graph = model.graph();
  Location location = NameLoc::get(builder.getStringAttr(graph.name().empty() ? StringRef("main") : graph.name()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, location, "main", builder.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  for (size_t i = 0; i < types.size(); ++i) {
    scopes.back().values[model.inputs()[i].name] = block->getArgument(i);
    function.setArgAttr(i, "dataflow.name", builder.getStringAttr(model.inputs()[i].name));
  }
  if (Status status = fixInputs(*bound, options); !status)
    return propagate(status);
  for (const ::onnx::FunctionProto &function : model.proto().functions())
    unsupported.push_back(concat("function '", function.name(), "': functions of the model itself are not supported"));

  builder.setInsertionPointToEnd(block);
  if (Status status = importNodes(graph); !status)
    return propagate(status);
  if (Status status = finish(function); !status)
    return propagate(status);
  return module;
}

} // namespace
} // namespace onnximport

Expected<OwningOpRef<ModuleOp>> importModel(MLIRContext &context, const ModelFile &model,
                                            const ImportOptions &options) {
  context.getOrLoadDialect<DataflowDialect>();
  context.getOrLoadDialect<func::FuncDialect>();
  return onnximport::GraphImporter(context, model).run(options);
}

} // namespace sluice
