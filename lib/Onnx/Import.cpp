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
#include "llvm/ADT/StringSwitch.h"

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
  /// A subgraph's nodes, its inputs bound; null results where its producers are unsupported.
  Expected<SmallVector<Value>> importBody(const ::onnx::GraphProto &body, ArrayRef<Value> arguments);
  /// The branch that a condition known now chooses; of both, where it is not known and their results agree in type.
  Status importIf(const ::onnx::NodeProto &node, ArrayRef<Value> inputs);
  /// Loops whose number of iterations is known now unroll.
  Status importLoop(const ::onnx::NodeProto &node, ArrayRef<Value> inputs);
  Status importScan(const ::onnx::NodeProto &node, ArrayRef<Value> inputs);
  Expected<Value> stackValues(onnximport::Builder &build, const ::onnx::NodeProto &node, ArrayRef<Value> values,
                              int64_t axis);
  static const ::onnx::GraphProto *subgraph(const ::onnx::NodeProto &node, StringRef name);
  Status bindOutputs(const ::onnx::NodeProto &node, ArrayRef<Value> results);
  Status malformed(const ::onnx::NodeProto &node, StringRef reason);
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
  /// Loops in loops multiply: unrolling stops here.
  static constexpr int64_t kMostUnrolledNodes = 100000;
  int64_t unrolledNodes = 0;
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

const ::onnx::GraphProto *GraphImporter::subgraph(const ::onnx::NodeProto &node, StringRef name) {
  for (const ::onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name && attribute.has_g())
      return &attribute.g();
  return nullptr;
}

Expected<SmallVector<Value>> GraphImporter::importBody(const ::onnx::GraphProto &body, ArrayRef<Value> arguments) {
  scopes.emplace_back();
  for (auto [input, argument] : llvm::zip(body.input(), arguments))
    scopes.back().values[input.name()] = argument;
  if (Status status = importNodes(body); !status)
    return propagate(status);
  SmallVector<Value> results;
  for (const ::onnx::ValueInfoProto &output : body.output()) {
    Expected<Value> value = lookup(output.name());
    if (!value)
      return propagate(value);
    results.push_back(*value);
  }
  scopes.pop_back();
  unrolledNodes += body.node_size();
  return results;
}

Status GraphImporter::malformed(const ::onnx::NodeProto &node, StringRef reason) {
  return makeError(ErrorCode::InvalidInput, "node ", describe(node), " of model '", model.path(),
                   "' cannot be imported: ", reason.str());
}

Status GraphImporter::bindOutputs(const ::onnx::NodeProto &node, ArrayRef<Value> results) {
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      scopes.back().values[node.output(i)] = results[i];
  return {};
}

Status GraphImporter::importIf(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  const ::onnx::GraphProto *thenBranch = subgraph(node, "then_branch"), *elseBranch = subgraph(node, "else_branch");
  if (inputs.size() != 1 || !inputs[0] || elementCount(inputs[0].getType()) != 1 || !thenBranch || !elseBranch ||
      thenBranch->output_size() < node.output_size() || elseBranch->output_size() < node.output_size())
    return malformed(node, "its condition is no single value, or its branches do not fit its outputs");
  if (std::optional<SmallVector<int64_t>> known = getIntegers(inputs[0])) {
    Expected<SmallVector<Value>> results = importBody(known->front() ? *thenBranch : *elseBranch, {});
    if (!results)
      return propagate(results);
    return bindOutputs(node, *results);
  }
  // Operators have no effects: both branches run, and the condition chooses.
  size_t depth = scopes.size();
  auto ifTrue = importBody(*thenBranch, {}), ifFalse = ifTrue ? importBody(*elseBranch, {}) : ifTrue;
  scopes.resize(depth);
  if (!ifTrue || !ifFalse) {
    reportUnsupported(node, concat("its condition is not known before the model runs, and a branch does not fit: ",
                                   (ifTrue ? ifFalse : ifTrue).error().message));
    return {};
  }
  onnximport::Builder build(builder, locationOf(node));
  Value condition = build.reshape(inputs[0], {});
  SmallVector<Value> results;
  for (int i = 0; i < node.output_size(); ++i) {
    Value one = (*ifTrue)[i], other = (*ifFalse)[i];
    if (!one || !other)
      return {}; // What it lacks is in the list.
    if (one.getType() != other.getType()) {
      reportUnsupported(node, "its condition is not known before the model runs, and its branches' results differ in "
                              "type or shape");
      return {};
    }
    results.push_back(build.select(condition, one, other));
    if (!results.back())
      return malformed(node, build.message());
  }
  return bindOutputs(node, results);
}

Status GraphImporter::importLoop(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  const ::onnx::GraphProto *body = subgraph(node, "body");
  if (!body || inputs.size() < 2 || body->input_size() != static_cast<int>(inputs.size()))
    return malformed(node, "its body does not fit its inputs");
  size_t carried = inputs.size() - 2;
  int stacked = body->output_size() - 1 - static_cast<int>(carried);
  if (stacked < 0 || node.output_size() > body->output_size() - 1)
    return malformed(node, "its body does not fit its outputs");
  auto known = [](Value value) -> std::optional<int64_t> {
    std::optional<SmallVector<int64_t>> values = value ? getIntegers(value) : std::nullopt;
    return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
  };
  std::optional<int64_t> trips = inputs[0] ? known(inputs[0]) : std::optional(INT64_MAX);
  std::optional<int64_t> goesOn = inputs[1] ? known(inputs[1]) : std::optional<int64_t>(1);
  onnximport::Builder build(builder, locationOf(node));
  SmallVector<Value> state(inputs.drop_front(2));
  std::vector<SmallVector<Value>> stacks(stacked);
  for (int64_t trip = 0; !trips || trip < *trips; ++trip) {
    if (!trips || !goesOn || unrolledNodes > kMostUnrolledNodes) {
      reportUnsupported(node, trips && goesOn ? "it runs too often" : "how often it runs is not known before it does");
      return {};
    }
    if (!*goesOn)
      break;
    SmallVector<Value> arguments{build.reshape(build.integers({trip}), {}), build.splat(builder.getI1Type(), 1)};
    arguments.append(state);
    Expected<SmallVector<Value>> results = importBody(*body, arguments);
    if (!results)
      return propagate(results);
    if (llvm::is_contained(ArrayRef(*results).drop_front(), Value()))
      return {}; // What it lacks is in the list.
    goesOn = known(results->front());
    state.assign(results->begin() + 1, results->begin() + 1 + carried);
    for (int i = 0; i < stacked; ++i)
      stacks[i].push_back((*results)[1 + carried + i]);
    ++unrolledNodes; // An empty body ends too.
  }
  for (SmallVector<Value> &stack : stacks) {
    if (stack.empty()) {
      reportUnsupported(node, "it stacks the values of no iteration");
      return {};
    }
    Expected<Value> value = stackValues(build, node, stack, 0);
    if (!value)
      return propagate(value);
    state.push_back(*value);
  }
  return bindOutputs(node, state);
}

Expected<Value> GraphImporter::stackValues(onnximport::Builder &build, const ::onnx::NodeProto &node,
                                           ArrayRef<Value> values, int64_t axis) {
  int64_t rank = rankOf(values.front()) + 1;
  SmallVector<Value> slabs;
  for (Value value : values) {
    Dims dims(shapeOf(value));
    if (rankOf(value) != rank - 1 || axis < -rank || axis >= rank) {
      Status status = malformed(node, "the values it stacks do not fit together");
      return propagate(status);
    }
    dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), 1);
    slabs.push_back(build.reshape(value, dims));
  }
  Value stacked = build.concat(slabs, axis < 0 ? axis + rank : axis);
  if (!stacked) {
    Status status = malformed(node, build.message());
    return propagate(status);
  }
  return stacked;
}

Status GraphImporter::importScan(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  const ::onnx::GraphProto *body = subgraph(node, "body");
  NodeContext context(builder, locationOf(node), model, node, inputs);
  if (context.opset < 9) {
    reportUnsupported(node, "this version of the operator is not supported");
    return {};
  }
  int64_t scanned = context.integerOr("num_scan_inputs", 0), carried = static_cast<int64_t>(inputs.size()) - scanned;
  if (!body || scanned < 1 || carried < 0 || body->input_size() != static_cast<int>(inputs.size()) ||
      body->output_size() < carried || body->output_size() < node.output_size() || llvm::is_contained(inputs, Value()))
    return malformed(node, "its body does not fit its inputs and outputs");
  size_t stacked = body->output_size() - carried;
  Dims inputAxes = context.integersAt("scan_input_axes").value_or(Dims(scanned, 0));
  Dims outputAxes = context.integersAt("scan_output_axes").value_or(Dims(stacked, 0));
  Dims inputReversed = context.integersAt("scan_input_directions").value_or(Dims(scanned, 0));
  Dims outputReversed = context.integersAt("scan_output_directions").value_or(Dims(stacked, 0));
  if (inputAxes.size() != static_cast<size_t>(scanned) || inputReversed.size() != static_cast<size_t>(scanned) ||
      outputAxes.size() != stacked || outputReversed.size() != stacked)
    return malformed(node, "it does not have one axis and direction for each sequence");
  int64_t trips = 0;
  for (int64_t i = 0; i < scanned; ++i) {
    Value sequence = inputs[carried + i];
    int64_t rank = rankOf(sequence);
    if (inputAxes[i] < -rank || inputAxes[i] >= rank)
      return malformed(node, "an axis is out of range");
    inputAxes[i] += inputAxes[i] < 0 ? rank : 0;
    int64_t extent = shapeOf(sequence)[inputAxes[i]];
    if (i > 0 && extent != trips)
      return malformed(node, "its sequences differ in length");
    trips = extent;
  }
  SmallVector<Value> state(inputs.take_front(carried));
  std::vector<SmallVector<Value>> stacks(stacked);
  for (int64_t trip = 0; trip < trips; ++trip) {
    if (++unrolledNodes > kMostUnrolledNodes) {
      reportUnsupported(node, "it runs too often");
      return {};
    }
    SmallVector<Value> arguments(state);
    for (int64_t i = 0; i < scanned; ++i) {
      Value sequence = inputs[carried + i];
      Dims dims(shapeOf(sequence));
      dims.erase(dims.begin() + inputAxes[i]);
      int64_t at = inputReversed[i] ? trips - 1 - trip : trip;
      arguments.push_back(context.reshape(context.sliceAxis(sequence, inputAxes[i], at, 1), dims));
    }
    Expected<SmallVector<Value>> results = importBody(*body, arguments);
    if (!results)
      return propagate(results);
    if (llvm::is_contained(*results, Value()))
      return {}; // What it lacks is in the list.
    state.assign(results->begin(), results->begin() + carried);
    for (size_t i = 0; i < stacked; ++i)
      stacks[i].insert(outputReversed[i] ? stacks[i].begin() : stacks[i].end(), (*results)[carried + i]);
  }
  for (size_t i = 0; i < stacked; ++i) {
    if (stacks[i].empty()) {
      reportUnsupported(node, "its sequences are empty");
      return {};
    }
    Expected<Value> value = stackValues(context, node, stacks[i], outputAxes[i]);
    if (!value)
      return propagate(value);
    state.push_back(*value);
  }
  return bindOutputs(node, state);
}

Status GraphImporter::importNode(const ::onnx::NodeProto &node) {
  // Outputs of nodes that are not imported are null: what reads them is skipped, and not reported again.
  for (const std::string &output : node.output())
    if (!output.empty())
      scopes.back().values[output] = Value();
  bool known = false;
  Converter convert = findConverter(node.domain(), node.op_type(), model.opset(node.domain()), known);
  using ControlFlow = Status (GraphImporter::*)(const ::onnx::NodeProto &, ArrayRef<Value>);
  ControlFlow control = nullptr;
  if (node.domain().empty() || node.domain() == "ai.onnx")
    control = llvm::StringSwitch<ControlFlow>(node.op_type())
                  .Case("If", &GraphImporter::importIf)
                  .Case("Loop", &GraphImporter::importLoop)
                  .Case("Scan", &GraphImporter::importScan)
                  .Default(nullptr);
  if (!convert && !control) {
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
  if (control)
    return (this->*control)(node, inputs);
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
