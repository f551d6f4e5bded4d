//===- Import.cpp - ONNX to the dataflow dialect --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Import.h"

#include "GraphImporter.h"
#include "LiveNodes.h"
#include "Ranges.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "lib/Onnx/Schemas.h"

#include "dialects/Dataflow/Evaluate/Evaluate.h"
#include "sluice/Support/Units.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {
namespace onnximport {

/// The element type and kind of a declared value: what a sequence or an optional holds.
static const ::onnx::TypeProto &heldType(const ::onnx::TypeProto &type) {
  if (type.has_sequence_type())
    return heldType(type.sequence_type().elem_type());
  if (type.has_optional_type())
    return heldType(type.optional_type().elem_type());
  return type;
}

Status GraphImporter::declareInputs(const BoundInputs &bound, std::vector<Port> &ports) const {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const DeclaredTensor &input = model.inputs()[i];
    int32_t number = input.elementType;
    for (const ::onnx::ValueInfoProto &info : model.graph().input())
      if (info.name() == input.name && input.kind != "tensor")
        number = heldType(info.type()).tensor_type().elem_type();
    Type elementType = elementTypeFromOnnx(builder.getContext(), number);
    if (!elementType)
      return makeError(ErrorCode::Unsupported, "input '", input.name, "' of model '", model.path(), "' holds ",
                       onnxtype::name(number), " elements, which are not supported, cast this input in the model");
    if (!bound.sequences[i]) {
      ports.push_back({input.name, RankedTensorType::get(bound.shapes[i], elementType), i});
      continue;
    }
    for (auto [k, shape] : llvm::enumerate(*bound.sequences[i]))
      ports.push_back({elementName(input.name, k), RankedTensorType::get(shape, elementType), i});
  }
  return {};
}

Status GraphImporter::fixInputs(const BoundInputs &bound, const ImportOptions &options, func::FuncOp function) {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const DeclaredTensor &input = model.inputs()[i];
    auto fixed = options.fixedInputs.find(input.name);
    if (fixed == options.fixedInputs.end())
      continue;
    auto data = std::make_shared<HostTensor>(fixed->second);
    if (static_cast<int32_t>(data->type) != input.elementType || data->shape != bound.shapes[i])
      return makeError(ErrorCode::InvalidInput, "the data of input '", input.name, "' is ", elementTypeName(data->type),
                       " ", formatShape(data->shape), ", and the model declares ", onnxtype::name(input.elementType),
                       " ", formatShape(bound.shapes[i]), ", convert the data");
    if (data->type == ElementType::String)
      return makeError(
          ErrorCode::Unsupported, "input '", input.name, "' of model '", model.path(),
          "' holds strings, and a model cannot be compiled for one value of strings, leave out '--fix' for this input");
    TensorData view{input.elementType, data->shape, data->bytes, data};
    Location location = NameLoc::get(builder.getStringAttr(input.name));
    ElementsAttr value = constantAttribute(builder.getContext(), view, input.name);
    scopes.back().values[input.name] = ConstantOp::create(builder, location, value);
    for (unsigned k = 0; k < function.getNumArguments(); ++k)
      if (inputName(function, k).getValue() == input.name)
        function.setArgAttr(k, DataflowDialect::FixedAttrHelper::getNameStr(), value);
  }
  return {};
}

Expected<Value> GraphImporter::lookup(const std::string &name) {
  auto scope = std::find_if(scopes.rbegin(), scopes.rend(), [&](const Scope &scope) {
    return scope.function || scope.values.contains(name) || scope.initializers.contains(name);
  });
  if (scope == scopes.rend() || (!scope->values.contains(name) && !scope->initializers.contains(name)))
    return Value(); // Listed as unsupported already.
  if (auto found = scope->values.find(name); found != scope->values.end())
    return found->second;
  const ::onnx::TensorProto &initializer = *scope->initializers.lookup(name);
  if (initializer.data_type() == onnxtype::String) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    return scope->values[name] =
               onnximport::stringConstant(builder, NameLoc::get(builder.getStringAttr(name)), initializer);
  }
  // Initializers of the bodies of functions may be copies, which end with the importer.
  const bool isShared = initializers && &*scope == &scopes.front();
  ElementsAttr &value = isShared ? (*initializers)[&initializer] : budget.constants[&initializer];
  if (!value) {
    SLUICE_ASSIGN_OR_RETURN(value, readInitializer(name, model.tensor(initializer)));
    if (!value)
      return scope->values[name] = Value();
  }
  OpBuilder::InsertionGuard guard(builder);
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(entry);
  Location location = NameLoc::get(builder.getStringAttr(name));
  if (training && training->isTrainable(name, value.getType()))
    lastConstant =
        StateOp::create(builder, location, value.getType(), builder.getStringAttr(name), value, builder.getUnitAttr());
  else
    lastConstant = ConstantOp::create(builder, location, value);
  return scope->values[name] = lastConstant->getResult(0);
}

Expected<ElementsAttr> GraphImporter::readInitializer(const std::string &name, Expected<TensorData> data) {
  if (!data && data.error().code != ErrorCode::Unsupported)
    return propagate(data);
  ElementsAttr value = data ? constantAttribute(builder.getContext(), *data, name) : ElementsAttr();
  if (!value)
    unsupported.push_back(concat(
        "initializer '", excerpt(name),
        "': ", data ? concat("its elements are of type ", onnxtype::name(data->elementType)) : data.error().message));
  return value;
}

Status GraphImporter::importNodes(const ::onnx::GraphProto &graph) {
  for (const ::onnx::TensorProto &initializer : graph.initializer())
    scopes.back().initializers[initializer.name()] = &initializer;
  for (const ::onnx::SparseTensorProto &sparse : graph.sparse_initializer()) {
    const std::string &name = sparse.values().name();
    ElementsAttr &value = budget.constants[&sparse];
    if (!value) {
      Count bytes = onnxtype::bits(sparse.values().data_type()) / 8;
      for (int64_t extent : sparse.dims())
        bytes *= extent;
      if (!budget.take(bytes))
        return makeError(ErrorCode::Unsupported, "sparse tensor '", excerpt(name), "' takes ", formatBytes(bytes),
                         " when dense, and the import may make at most ", formatBytes(ImportBudget::kMostBytes),
                         " of constants in all, in model '", model.path(),
                         "', store it as a dense tensor in external data");
      SLUICE_ASSIGN_OR_RETURN(value, readInitializer(name, denseData(model, sparse)));
      if (!value)
        continue;
    }
    scopes.back().values[name] = ConstantOp::create(builder, NameLoc::get(builder.getStringAttr(name)), value);
  }
  // Constants first, wherever they stand: of several with one name the last holds, and holds everywhere.
  auto isConstant = [](const ::onnx::NodeProto &node) {
    return node.op_type() == "Constant" && node.domain().empty() && node.input_size() == 0;
  };
  for (const ::onnx::NodeProto &node : graph.node())
    if (isConstant(node))
      SLUICE_RETURN_IF_ERROR(importNode(node));
  std::vector<std::string> outputs;
  for (const ::onnx::ValueInfoProto &output : graph.output())
    outputs.push_back(output.name());
  const auto live = liveNodes(graph.node(), std::move(outputs));
  for (int index : nodeOrder(graph))
    if (const ::onnx::NodeProto &node = graph.node(index); !isConstant(node))
      SLUICE_RETURN_IF_ERROR(importMember(node, live.contains(&node)));
  return {};
}

Status GraphImporter::importMember(const ::onnx::NodeProto &node, bool isLive) {
  conditions += !isLive;
  Status imported = importNode(node);
  conditions -= !isLive;
  return imported;
}

/// Of one value of the graph by others, as they are there.
Status GraphImporter::importGradient(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  NodeContext context(builder, locationOf(node), model, node, opsetOf(node), inputs);
  const ::onnx::AttributeProto *names = context.find("xs", ::onnx::AttributeProto::STRINGS);
  SLUICE_ASSIGN_OR_RETURN(Value root, lookup(context.stringOr("y", "")));
  if (!names || !root || inputs.size() < static_cast<size_t>(names->strings_size()))
    return malformed(node, "it must name a tensor in 'y' and, in 'xs', at most as many tensors as it has operands");
  for (int i = 0; i < names->strings_size(); ++i)
    if (Expected<Value> named = lookup(names->strings(i)); !named || *named != inputs[i]) {
      reportUnsupported(
          node,
          "one of its operands is another tensor than the one that its attribute 'xs' names, which is not supported");
      return {};
    }
  ArrayRef<Value> wrt = inputs.take_front(names->strings_size());
  if (!llvm::all_of(llvm::concat<const Value>(ArrayRef<Value>(root), wrt),
                    [](Value value) { return isTensor(value) && isa<FloatType>(elementTypeOf(value)); }))
    return malformed(node, "the tensors that it differentiates must be of floating point");
  Value seed = context.splat(elementTypeOf(root), 1, shapeOf(root));
  // What follows is differentiated up to the block's terminator, of which it has none yet.
  context.splat(elementTypeOf(root), 0);
  FailureOr<SmallVector<Value>> gradients = buildGradient(builder, root, seed, wrt);
  if (failed(gradients)) {
    reportUnsupported(node, "an operator between 'xs' and 'y' has no gradient");
    return {};
  }
  for (auto [gradient, value] : llvm::zip(*gradients, wrt))
    if (!gradient)
      gradient = context.splat(elementTypeOf(value), 0, shapeOf(value));
  return bindOutputs(node, *gradients);
}

int64_t GraphImporter::opsetOf(const ::onnx::NodeProto &node) const {
  auto inside = std::find_if(scopes.rbegin(), scopes.rend(), [](const Scope &scope) { return scope.function; });
  if (inside == scopes.rend())
    return model.opset(node.domain());
  auto canonical = [](StringRef name) { return name == "ai.onnx" ? StringRef() : name; };
  for (const ::onnx::OperatorSetIdProto &import : inside->function->opset_import())
    if (canonical(import.domain()) == canonical(node.domain()))
      return import.version();
  return model.opset(node.domain());
}

const ::onnx::FunctionProto *GraphImporter::findFunction(const ::onnx::NodeProto &node) const {
  for (const ::onnx::FunctionProto &function : model.proto().functions())
    if (function.name() == node.op_type() && function.domain() == node.domain())
      return &function;
  return nullptr;
}

Status GraphImporter::importFunction(const ::onnx::NodeProto &node, const ::onnx::FunctionProto &function,
                                     ArrayRef<Value> inputs) {
  constexpr size_t kDeepestCalls = 32;
  if (static_cast<size_t>(llvm::count_if(scopes, [](const Scope &scope) { return scope.function; })) >= kDeepestCalls ||
      inputs.size() > static_cast<size_t>(function.input_size()) || node.output_size() > function.output_size())
    return malformed(
        node,
        "it has more operands or outputs than the function that it calls, or functions call each other recursively");
  std::vector<bool> &refers = refersToAttributes[&function];
  if (refers.empty())
    for (const ::onnx::NodeProto &member : function.node())
      refers.push_back(usesAttributes(member));
  scopes.emplace_back();
  scopes.back().function = &function;
  for (int i = 0; i < function.input_size(); ++i)
    if (static_cast<size_t>(i) < inputs.size() && inputs[i])
      scopes.back().values[function.input(i)] = inputs[i];
  const auto live = liveNodes(function.node(), {function.output().begin(), function.output().end()});
  for (int i = 0; i < function.node_size(); ++i) {
    const ::onnx::NodeProto *member = &function.node(i);
    const bool isLive = live.contains(member);
    ++unrolledNodes;
    if (unrolledNodes > kMostUnrolledNodes) {
      reportUnsupported(node, concat("its calls of functions have more than ", kMostUnrolledNodes, " nodes in all"));
      break;
    }
    // A node that refers to attributes of the call becomes one of its own, which stays: its constants are by address.
    if (refersToAttributes[&function][i]) {
      ::onnx::NodeProto resolved = withAttributes(*member, node);
      if (!budget.take(resolved.ByteSizeLong()))
        return makeError(ErrorCode::Unsupported, "function '", excerpt(function.name()), "' needs a copy of ",
                         formatBytes(static_cast<int64_t>(resolved.ByteSizeLong())),
                         " for each call, because a node refers to an attribute of the call, and all copies together "
                         "exceed ",
                         formatBytes(ImportBudget::kMostBytes), ", in model '", model.path(),
                         "', pass large constants as operands instead of attributes");
      member = &resolvedNodes.emplace_back(std::move(resolved));
    }
    SLUICE_RETURN_IF_ERROR(importMember(*member, isLive));
  }
  SmallVector<Value> results;
  for (const std::string &output : function.output()) {
    SLUICE_ASSIGN_OR_RETURN(Value value, lookup(output));
    results.push_back(value);
  }
  scopes.pop_back();
  return bindOutputs(node, results);
}

Status GraphImporter::importNode(const ::onnx::NodeProto &node) {
  // Outputs of nodes that are not imported are null: what reads them is skipped, and not reported again.
  for (const std::string &output : node.output())
    if (!output.empty())
      scopes.back().values[output] = Value();
  bool known = false;
  const OperatorEntry *entry = findOperator(node.domain(), node.op_type(), opsetOf(node), known);
  using ControlFlow = Status (GraphImporter::*)(const ::onnx::NodeProto &, ArrayRef<Value>);
  ControlFlow control = nullptr;
  if (node.domain().empty() || node.domain() == "ai.onnx")
    control = llvm::StringSwitch<ControlFlow>(node.op_type())
                  .Case("If", &GraphImporter::importIf)
                  .Case("Loop", &GraphImporter::importLoop)
                  .Case("Scan", &GraphImporter::importScan)
                  .Default(nullptr);
  if (node.domain() == "ai.onnx.preview.training" && node.op_type() == "Gradient" && buildGradient)
    control = &GraphImporter::importGradient;
  // What an exported model says of our own operators is for other runtimes.
  const ::onnx::FunctionProto *function = entry && node.domain() == "sluice" ? nullptr : findFunction(node);
  if (!entry && !control && !function) {
    reportUnsupported(node, known ? "this version of the operator is not supported" : "the operator is not supported");
    return {};
  }
  origins.note(nameOf(node), node.op_type());
  SmallVector<Value> inputs;
  for (const std::string &name : node.input()) {
    if (name.empty()) {
      inputs.push_back({});
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(Value value, lookup(name));
    if (!value)
      return {};
    inputs.push_back(value);
  }
  Block *block = builder.getInsertionBlock();
  Operation *last = block->empty() ? nullptr : &block->back();
  Status imported = function  ? importFunction(node, *function, inputs)
                    : control ? (this->*control)(node, inputs)
                              : convertFollowed(node, *entry, inputs);
  if (!imported || (!function && !control))
    return imported;
  return followExtents(node, last ? last->getNextNode() : block->empty() ? nullptr : &block->front());
}

Status GraphImporter::convertFollowed(const ::onnx::NodeProto &node, const OperatorEntry &entry,
                                      ArrayRef<Value> inputs) {
  auto convert = [&](ArrayRef<Value> operands) -> Status {
    Block *block = builder.getInsertionBlock();
    Operation *last = block->empty() ? nullptr : &block->back();
    SLUICE_RETURN_IF_ERROR(convertNode(node, entry, operands));
    Operation *first = last ? last->getNextNode() : block->empty() ? nullptr : &block->front();
    checkRanks(node, operands, first);
    return followExtents(node, first);
  };
  auto isBounded = [&](Value value) { return value && isTensor(value) && extents.isBounded(value); };
  if (!findsHere() || llvm::none_of(inputs, isBounded))
    return convert(inputs);
  const size_t reported = unsupported.size();
  Status converted = convert(inputs);
  if (converted && unsupported.size() == reported)
    return converted;
  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(isBounded(input) ? takeFound(input) : input);
  if (llvm::any_of(llvm::zip(inputs, operands), [](auto pair) { return std::get<0>(pair) && !std::get<1>(pair); }))
    return converted;
  unsupported.resize(reported);
  return convert(operands);
}

Value GraphImporter::takeFound(Value value) {
  if (Value known = taken.lookup(value))
    return known;
  // Programs of loops, which are made beside the program, may use what is in front of them.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(value.getParentBlock());
  found->isInProgram |= value.getParentBlock() != entry;
  onnximport::Builder build(builder, value.getLoc());
  Value result = value;
  for (int64_t d = 0; d < rankOf(value); ++d) {
    Value count = extents.of(value, d);
    if (!count)
      continue;
    auto [entry, isNew] = symbolOfCount.try_emplace(count, symbolOfCount.size());
    const size_t number = entry->second;
    // Nodes of an exported model have the name of the node that they were made of, and a number.
    if (isNew && number == found->bounds.size())
      found->bounds.emplace_back(StringRef(nodeName(value.getLoc())).split('#').first.str(), shapeOf(value)[d]);
    if (number >= found->bounds.size() || found->firstSymbol + number >= SymbolsAttr::kMostSymbols ||
        found->bounds[number].second < 1)
      return {};
    Dims dims(shapeOf(result));
    dims[d] = number < found->values.size() ? found->values[number] : found->bounds[number].second;
    result = TakeFirstOp::create(builder, value.getLoc(), build.type(elementTypeOf(value), dims), result, count,
                                 static_cast<uint64_t>(d), found->firstSymbol + number);
  }
  return taken[value] = result;
}

/// What operators made since `first` do with values of which not all holds. Those of nodes within a branch or a
/// function have been followed with their nodes.
Status GraphImporter::followExtents(const ::onnx::NodeProto &node, Operation *first) {
  onnximport::Builder build(builder, locationOf(node));
  Operation *mixes = nullptr, *readsRank = nullptr;
  for (Operation *op = first; op; op = op->getNextNode()) {
    if (!followed.insert(op).second || isa<UnrealizedConversionCastOp, TakeFirstOp>(op))
      continue;
    if (!mixes && failed(extents.follow(op, build)))
      mixes = op;
    if (!readsRank && failed(ranks.follow(op)))
      readsRank = op;
  }
  if (readsRank) {
    auto varies = llvm::find_if(readsRank->getOperands(), [&](Value operand) { return ranks.vary(operand); });
    leaveOut(node, "the rank of its operand is known only when the model runs" +
                       origins.describe(*varies, extents, nameOf(node)));
  } else if (mixes) {
    auto part = llvm::find_if(mixes->getOperands(), [&](Value operand) { return extents.isBounded(operand); });
    leaveOut(node, "its operand has an extent that depends on data and is known only when the model runs" +
                       origins.describe(*part, extents, nameOf(node)));
  }
  return {};
}

void GraphImporter::leaveOut(const ::onnx::NodeProto &node, const std::string &reason) {
  reportUnsupported(node, reason);
  for (const std::string &output : node.output())
    if (!output.empty())
      scopes.back().values[output] = Value();
}

/// Operators that a node makes of such an operand are followed. One that makes none looked at its shape, or put it into
/// a list.
void GraphImporter::checkRanks(const ::onnx::NodeProto &node, ArrayRef<Value> inputs, Operation *first) {
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!input || !ranks.vary(input) || (i == 1 && node.op_type() == "CastLike"))
      continue;
    bool isRead = llvm::any_of(node.output(), [&, value = input](const std::string &name) {
      return !name.empty() && scopes.back().values.lookup(name) == value;
    });
    for (Operation *op = first; op && !isRead; op = op->getNextNode())
      isRead = isa<ElementwiseOpInterface>(op) && llvm::is_contained(op->getOperands(), input);
    if (!isRead)
      leaveOut(node, "the rank of its operand is known only when the model runs" +
                         origins.describe(input, extents, nameOf(node)));
  }
}

NodeContext GraphImporter::contextOf(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  NodeContext context(builder, locationOf(node), model, node, opsetOf(node), inputs, training ? &*training : nullptr);
  context.extents = &extents;
  context.ranks = &ranks;
  context.bounds = &bounds;
  context.origins = &origins;
  context.sizes = &sizes;
  context.found = findsHere() ? found : nullptr;
  context.whole = [this, finds = findsHere()](Value value) {
    Value taken = finds && extents.isBounded(value) ? takeFound(value) : Value();
    return taken ? taken : value;
  };
  context.dequantized = training ? nullptr : &dequantized;
  context.budget = &budget;
  context.mayNotRun = conditions > 0;
  context.unrollsLoops = unrollsLoops;
  context.hasGrids = hasGrids;
  context.bodyImporter = [this](const ::onnx::GraphProto &body, ArrayRef<Value> arguments) {
    return importBody(body, arguments);
  };
  return context;
}

Status GraphImporter::convertNode(const ::onnx::NodeProto &node, const OperatorEntry &entry, ArrayRef<Value> inputs) {
  if (!entry.takesLists && !llvm::all_of(inputs, [](Value value) { return !value || isTensor(value); }))
    return malformed(node, "one of its operands is a sequence, or an optional without a value, instead of a tensor");
  if (const std::string unknown = unknownAttribute(node, opsetOf(node)); !unknown.empty())
    return malformed(node, concat("its operator has no attribute '", excerpt(unknown), "' in opset ", opsetOf(node)));
  for (auto [i, value] : llvm::enumerate(inputs))
    if (value && isTensor(value) && dataflow::isString(elementTypeOf(value)) && forbidsText(node, opsetOf(node), i))
      return malformed(node, concat("its input ", i, " holds strings, which its operator does not take"));
  nextPart();
  NodeContext converted = contextOf(node, inputs);
  const bool isConverted = succeeded(entry.convert(converted));
  if (!converted.mistyped.empty())
    return malformed(node, converted.mistyped);
  if (!isConverted) {
    if (converted.isUnsupported) {
      reportUnsupported(node, converted.reason);
      return {};
    }
    return malformed(node, converted.reason, converted.advice);
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
  std::vector<std::string> names;
  std::vector<std::pair<std::string, Value>> counts;
  llvm::SmallDenseSet<Value> returned;
  for (const DeclaredTensor &output : model.outputs()) {
    SLUICE_ASSIGN_OR_RETURN(Value value, lookup(output.name));
    if (!value)
      continue; // Its producer is in the list.
    if (isAbsent(value))
      continue; // Nothing to return.
    if (isPossible(value)) {
      counts.emplace_back(sluice::concat(output.name, kPresenceSuffix), presenceOf(value));
      value = heldBy(value);
    }
    SmallVector<Value> parts = isList(value) ? elementsOf(value) : SmallVector<Value>{value};
    if (Value length = isList(value) ? lengthOf(value) : Value())
      counts.emplace_back(sluice::concat(output.name, kLengthSuffix), length);
    for (auto [i, result] : llvm::enumerate(parts)) {
      if (!isTensor(result))
        return makeError(ErrorCode::Unsupported, "output '", output.name, "' of model '", model.path(),
                         "' is a sequence whose elements are not tensors, which is not supported, remove this output");
      if (Value held = found && extents.isBounded(result) ? takeFound(result) : Value())
        result = held;
      for (int64_t d = 0; d < rankOf(result); ++d)
        if (Value count = extents.of(result, d))
          counts.emplace_back(
              extentName(isList(value) ? elementName(output.name, i) : output.name, static_cast<size_t>(d)), count);
      if (ranks.vary(result))
        unsupported.push_back(concat("output '", excerpt(output.name), "': its rank is known only when the model runs",
                                     origins.describe(result, extents, nodeName(result.getLoc()))));
      // Each output is a buffer of its own.
      if (isa<BlockArgument>(result) || result.getDefiningOp<ConstantOp>() || !returned.insert(result).second)
        result = CopyOp::create(builder, NameLoc::get(builder.getStringAttr(output.name)), result);
      results.push_back(result);
      names.push_back(isList(value) ? elementName(output.name, i) : output.name);
    }
  }
  for (auto &[name, count] : counts) {
    if (isa<BlockArgument>(count) || count.getDefiningOp<ConstantOp>() || !returned.insert(count).second)
      count = CopyOp::create(builder, NameLoc::get(builder.getStringAttr(name)), count);
    results.push_back(count);
    names.push_back(name);
  }
  if (!unsupported.empty()) {
    constexpr size_t kMostListed = 100;
    std::string list;
    for (const std::string &entry : ArrayRef(unsupported).take_front(kMostListed))
      list += "\n  " + entry;
    if (unsupported.size() > kMostListed)
      list += concat("\n  and ", unsupported.size() - kMostListed, " more");
    return makeError(ErrorCode::Unsupported, "model '", model.path(), "' has ", unsupported.size(),
                     unsupported.size() == 1 ? " node that is" : " nodes that are", " not supported:", list);
  }
  size_t numOutputs = results.size();
  if (training)
    for (auto [state, next] : training->updates())
      results.push_back(next);
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (size_t i = 0; i < numOutputs; ++i)
    setOutputName(function, i, names[i]);
  if (training)
    for (auto [i, update] : llvm::enumerate(training->updates()))
      function.setResultAttr(numOutputs + i, DataflowDialect::UpdatesAttrHelper::getNameStr(), update.first);
  return {};
}

/// Leaves what results follow from: constants first, in the order of their use, large ones as resources.
void GraphImporter::tidy(Block &block) {
  for (Operation *op = block.getTerminator()->getPrevNode(), *before; op; op = before) {
    before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
  }
  Operation *last = nullptr;
  llvm::SmallPtrSet<Operation *, 32> placed;
  for (Operation *op = &block.front(); op; op = op->getNextNode())
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      if (!constant || !placed.insert(constant).second)
        continue;
      if (last)
        constant->moveAfter(last);
      else
        constant->moveBefore(&block, block.begin());
      last = constant;
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense || dense.isSplat() || dataflow::tensorBytes(constant.getType()) <= kInlineBytes)
        continue;
      auto data = std::make_shared<std::vector<char>>(dataflow::tensorBytes(constant.getType()));
      auto name = dyn_cast<NameLoc>(constant.getLoc());
      if (succeeded(copyConstant(dense, data->data())))
        constant.setValueAttr(makeResource(cast<RankedTensorType>(constant.getType()),
                                           name ? name.getName().getValue() : "constant", *data, data));
    }
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      tidy(region.front());
}

/// Lets dimensions with ranges have other sizes than the inputs' data, which still binds the others. Fails where the
/// data is out of range.
static Status releaseRanges(const ModelFile &model, const std::map<std::string, DimRange> &ranges, DimBindings &dims) {
  const DimBindings given = dims;
  for (const DeclaredTensor &input : model.inputs()) {
    auto shape = dims.inputShapes.find(input.name);
    if (shape == dims.inputShapes.end() || !input.dims || input.dims->size() != shape->second.size())
      continue;
    std::map<std::string, int64_t> bound;
    bool hasRange = false;
    for (auto [axis, dim] : llvm::enumerate(*input.dims)) {
      const int64_t size = shape->second[axis];
      const auto range = dim.value < 0 ? ranges.find(given.tiedTo(dim.symbol)) : ranges.end();
      if (dim.value < 0 && range == ranges.end())
        bound.emplace(dim.symbol, size);
      if (range == ranges.end())
        continue;
      const auto &[least, most, step, buckets] = range->second;
      if (size < least || size > most || (size - least) % step != 0)
        return makeError(ErrorCode::InvalidInput, "the data of input '", excerpt(input.name), "' has size ", size,
                         " in dimension ", axis, ", and option '--dim' gives '", excerpt(dim.symbol), "' the sizes ",
                         least, " to ", most, step == 1 ? "" : concat(" by ", step),
                         ", give data of one of these sizes or change the range");
      hasRange = true;
    }
    if (!hasRange)
      continue;
    for (const auto &[symbol, size] : bound)
      if (auto [known, added] = dims.values.emplace(symbol, size); !added && known->second != size)
        return makeError(ErrorCode::InvalidInput, "dimension '", excerpt(symbol), "' has size ", known->second,
                         " according to option '--dim' or another input, and size ", size,
                         " according to the data of input '", excerpt(input.name),
                         "', give the same size in both places");
    dims.inputShapes.erase(shape);
  }
  return {};
}

/// The program for ranges, from those for the sample points of its symbols. `isInProgram`: whether it finds extents
/// within programs of loops, which is not tried where `onlyOutside`.
static Expected<OwningOpRef<ModuleOp>> importRanges(MLIRContext &context, const ModelFile &model,
                                                    const ImportOptions &options, bool onlyOutside, bool &isInProgram) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> least, most, steps;
  for (const SymbolUse &use : symbolicDims(model))
    if (auto range = options.dims.ranges.find(use.symbol); range != options.dims.ranges.end()) {
      names.push_back(StringAttr::get(&context, use.symbol));
      least.push_back(range->second.least);
      most.push_back(range->second.most);
      steps.push_back(range->second.step);
    }
  if (names.size() > SymbolsAttr::kMostSymbols)
    return makeError(ErrorCode::Unsupported, names.size(), " dimensions of model '", model.path(),
                     "' have ranges, and at most ", SymbolsAttr::kMostSymbols,
                     " are supported, give a single size to each of the other dimensions by --dim");
  ImportOptions at = options;
  at.dims.ranges.clear();
  for (const auto &[name, range] : options.dims.ranges)
    at.dims.values[name] = range.most;
  SLUICE_RETURN_IF_ERROR(releaseRanges(model, options.dims.ranges, at.dims));
  FoundExtents found;
  found.firstSymbol = names.size();
  found.findsInPrograms = !onlyOutside;
  FoundExtents *finding = options.findsExtents ? &found : nullptr;
  GraphImporter::Initializers initializers;
  // The names are checked with the sizes.
  {
    Expected<OwningOpRef<ModuleOp>> whole = GraphImporter(context, model, finding, &initializers).run(at);
    if (!whole && !names.empty())
      whole = makeError(whole.error().code, "with ",
                        describePoint(SymbolsAttr::get(&context, names, least, most, steps, /*found=*/0),
                                      Point(most.begin(), most.end())),
                        ": ", whole.error().message);
    isInProgram = found.isInProgram;
    if (!whole || (names.empty() && found.bounds.empty()))
      return whole;
  }
  if (options.training)
    return makeError(ErrorCode::Unsupported, "a training step cannot have ranges of sizes, model '", model.path(),
                     "', give one size for each dimension by --dim");
  auto *dialect = context.getLoadedDialect<DataflowDialect>();
  // Programs of points fold less than the one above, so that they may find extents which are numbers in that one.
  {
    FoldLog folds;
    auto reset = llvm::make_scope_exit([&] { dialect->setFoldLog(nullptr); });
    dialect->setFoldLog(&folds);
    found.bounds.clear();
    found.rooms.clear();
    auto whole = GraphImporter(context, model, finding, &initializers).run(at);
    isInProgram = found.isInProgram;
    if (!whole || (names.empty() && found.bounds.empty()))
      return whole;
  }
  llvm::StringMap<int> uses;
  for (const auto &[name, bound] : found.bounds) {
    const int use = ++uses[name];
    names.push_back(StringAttr::get(&context, concat(name.empty() ? "found" : name, use > 1 ? concat(" ", use) : "")));
    least.push_back(0);
    most.push_back(bound);
    steps.push_back(1);
  }
  if (names.size() > SymbolsAttr::kMostSymbols)
    return makeError(ErrorCode::Unsupported, "model '", model.path(), "' has ", names.size(),
                     " extents that change between steps, and at most ", SymbolsAttr::kMostSymbols,
                     " are supported, give sizes to dimensions by --dim or values to inputs by --fix");
  auto symbols = SymbolsAttr::get(&context, names, least, most, steps, found.bounds.size());
  auto importAt = [&](ArrayRef<Point> points, std::vector<Point> &ties) -> Expected<OwningOpRef<ModuleOp>> {
    FoldLog folds;
    auto reset = llvm::make_scope_exit([&] { dialect->setFoldLog(nullptr); });
    dialect->setFoldLog(&folds);
    std::vector<OwningOpRef<ModuleOp>> programs;
    for (const Point &point : points) {
      for (auto [name, value] : llvm::zip(ArrayRef(names).take_front(found.firstSymbol), point))
        at.dims.values[name.str()] = value;
      found.values.assign(point.begin() + static_cast<ptrdiff_t>(found.firstSymbol), point.end());
      Expected<OwningOpRef<ModuleOp>> program = GraphImporter(context, model, finding, &initializers).run(at);
      if (!program)
        return makeError(program.error().code, "with ", describePoint(symbols, point), ": ", program.error().message);
      programs.push_back(std::move(*program));
      folds.replay();
    }
    return generalize(symbols, points, std::move(programs), ties);
  };
  std::vector<Point> points = samplePoints(symbols), ties;
  for (int round = 0; round < kMostTieRounds; ++round) {
    Expected<OwningOpRef<ModuleOp>> program = importAt(points, ties);
    if (program && found.bounds.size() > symbols.getFound())
      return makeError(ErrorCode::Internal, "model '", model.path(),
                       "' has extents that only some sizes find, this is a bug of Sluice, please report it");
    if (ties.empty())
      return program;
    for (Point &tie : ties)
      if (!llvm::is_contained(points, tie))
        points.push_back(std::move(tie));
    ties.clear();
  }
  return makeError(ErrorCode::Unsupported, "a size within model '", model.path(),
                   "' is not a sum, product or quotient of the dimensions with ranges, option '--dim', give smaller "
                   "ranges or single sizes");
}

Expected<OwningOpRef<ModuleOp>> GraphImporter::run(const ImportOptions &options) {
  if (options.training) {
    SLUICE_ASSIGN_OR_RETURN(Training created, Training::create(*options.training));
    training.emplace(std::move(created));
  }
  buildGradient = options.buildGradient;
  bounds = SaidBounds(options.bounds);
  if (found)
    found->uses.clear();
  DimBindings dims = options.dims;
  for (const auto &[name, tensor] : options.fixedInputs)
    dims.inputShapes[name] = tensor.shape;
  SLUICE_ASSIGN_OR_RETURN(BoundInputs bound, bindDims(model, dims));
  std::vector<Port> ports;
  SLUICE_RETURN_IF_ERROR(declareInputs(bound, ports));
  SmallVector<Type> types;
  for (const Port &port : ports)
    types.push_back(port.type);

  const ::onnx::GraphProto &graph = model.graph();
  Location location = NameLoc::get(builder.getStringAttr(graph.name().empty() ? StringRef("main") : graph.name()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  // If the import fails, there are programs left that use values of the module, and the module is destroyed first.
  auto release = llvm::make_scope_exit([&] {
    for (Region &region : regions)
      region.dropAllReferences();
  });
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, location, "main", builder.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  entry = block;
  maxIterations = options.maxIterations;
  unrollsLoops = options.unrollsLoops || training;
  hasGrids = options.hasGrids;
  std::vector<SmallVector<Value>> arguments(model.inputs().size());
  for (auto [i, port] : llvm::enumerate(ports)) {
    arguments[port.input].push_back(block->getArgument(i));
    setInputName(function, i, port.name);
  }
  for (auto [i, input] : llvm::enumerate(model.inputs())) {
    Value &value = scopes.back().values[input.name];
    if (!bound.sequences[i])
      value = arguments[i].front();
    else if (input.kind == "optional" && arguments[i].empty())
      value = makeAbsent(builder, location);
    else
      value = makeList(builder, location, arguments[i]);
  }
  SLUICE_RETURN_IF_ERROR(fixInputs(bound, options, function));
  for (const auto &[name, allowed] : options.bounds)
    if (auto input = dyn_cast_or_null<BlockArgument>(scopes.back().values.lookup(name));
        allowed.low && input && isTensor(input)) {
      limitIndices(input, {*allowed.low, allowed.high, std::nullopt});
      if (allowedIndices(input))
        bounds.use(name);
    }
  builder.setInsertionPointToEnd(block);
  SLUICE_RETURN_IF_ERROR(importNodes(graph));
  SLUICE_RETURN_IF_ERROR(finish(function));
  // At the other sample points less may be unknown.
  if (const std::string *unused = found && !found->values.empty() ? nullptr : bounds.firstUnused())
    return makeError(
        ErrorCode::InvalidInput, "a bound of '", excerpt(*unused), "' has no effect on model '", model.path(),
        "', option '--bound', leave this option out, or name a tensor that determines an extent, a scale or ",
        "a number of iterations");
  tidy(*block);
  return module;
}

/// The names that nodes read, and those of subgraphs within them.
static void addNamesRead(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
                         std::set<std::string> &names) {
  for (const ::onnx::NodeProto &node : nodes) {
    names.insert(node.input().begin(), node.input().end());
    for (const ::onnx::AttributeProto &attribute : node.attribute())
      addNamesRead(attribute.g().node(), names);
  }
}

} // namespace onnximport

Expected<OwningOpRef<ModuleOp>> importModel(MLIRContext &context, const ModelFile &model,
                                            const ImportOptions &options) {
  std::set<std::string> names;
  onnximport::addNamesRead(model.graph().node(), names);
  for (const ::onnx::FunctionProto &function : model.proto().functions())
    onnximport::addNamesRead(function.node(), names);
  for (const auto &[name, bound] : options.bounds)
    if (!names.contains(name))
      return makeError(ErrorCode::NotFound, "no node of model '", model.path(), "' reads '", excerpt(name),
                       "', option '--bound', give a tensor that determines an extent");
  // Nodes fold while they are imported.
  DialectRegistry registry;
  registry.insert<DataflowDialect>();
  dataflow::registerEvaluateModels(registry);
  context.appendDialectRegistry(registry);
  context.getOrLoadDialect<DataflowDialect>();
  context.getOrLoadDialect<func::FuncDialect>();
  if (!options.dims.ranges.empty() || options.findsExtents) {
    bool isInProgram = false;
    auto program = onnximport::importRanges(context, model, options, /*onlyOutside=*/false, isInProgram);
    // Extents that leave a loop are found outside of it, if at all.
    if (program || !isInProgram)
      return program;
    return onnximport::importRanges(context, model, options, /*onlyOutside=*/true, isInProgram);
  }
  return onnximport::GraphImporter(context, model).run(options);
}

} // namespace sluice
