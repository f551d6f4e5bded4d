//===- ProgramWriter.cpp - A dataflow function as an ONNX graph -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProgramWriter.h"
#include "LocalFunctions.h"

#include "dialects/Dataflow/IR/FoundSymbols.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "sluice/Onnx/TensorData.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnxexport {

std::string uniqueName(const std::string &name, llvm::StringMap<int> &taken) {
  std::string candidate = name;
  while (!taken.try_emplace(candidate, 0).second)
    candidate = concat(name, "#", ++taken[name]);
  return candidate;
}

/// The oldest version of the file format that knows an opset, as ONNX's Versioning.md pairs them.
static int64_t irVersionFor(int64_t opset) {
  static constexpr std::pair<int64_t, int64_t> kFirstOpset[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}};
  for (auto [first, version] : kFirstOpset)
    if (opset >= first)
      return version;
  return 8;
}

/// The opset from which operators take elements of a type.
static int64_t opsetOf(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  unsigned width = isString(element) ? 8 : element.getIntOrFloatBitWidth();
  if (width >= 8)
    return isa<Float8E8M0FNUType>(element) ? 24 : isSmallFloat(element) ? 19 : kExportOpset;
  if (isa<FloatType>(element))
    return 23;
  return width == 4 ? 21 : width == 2 ? 25 : kExportOpset;
}

/// ONNX packs elements of 4 and 2 bits, low bits first; in memory each has a byte.
static std::string rawData(Type elementType, ArrayRef<char> bytes) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  if (width >= 8 || width == 1)
    return std::string(bytes.begin(), bytes.end());
  unsigned each = 8 / width;
  std::string packed((bytes.size() + each - 1) / each, '\0');
  for (auto [i, byte] : llvm::enumerate(bytes))
    packed[i / each] = static_cast<char>(packed[i / each] | (byte & ((1 << width) - 1)) << (i % each * width));
  return packed;
}

/// The numbers of the field `metadata_props` of a value and of a tensor.
static constexpr int kValueMetadata = 4, kTensorMetadata = 16;

/// Adds an entry to `metadata_props`, which is newer than the installed schema: a field of entries of a key and a
/// value.
static void addEntry(::google::protobuf::Message &message, int field, StringRef key, std::string value) {
  ::onnx::StringStringEntryProto entry;
  entry.set_key(concat("sluice", key.str()));
  entry.set_value(std::move(value));
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(field, entry.SerializeAsString());
}

/// The texts of a list that are not empty; empty for everything else.
static std::string joined(Attribute value) {
  std::string text;
  if (auto list = dyn_cast<ArrayAttr>(value))
    for (Attribute each : list)
      if (auto part = dyn_cast<StringAttr>(each); part && !part.empty())
        text += concat(text.empty() ? "" : "; ", part.str());
  return text;
}

static void addMetadata(::onnx::NodeProto &node, Operation &op) {
  constexpr int kMetadataProps = 9;
  for (NamedAttribute attribute : op.getDiscardableAttrs()) {
    StringRef name = attribute.getName().getValue();
    if (!name.consume_front(DataflowDialect::getDialectNamespace()))
      continue;
    if (auto text = dyn_cast<StringAttr>(attribute.getValue()))
      addEntry(node, kMetadataProps, name, text.str());
    else if (std::string places = joined(attribute.getValue()); !places.empty())
      addEntry(node, kMetadataProps, name, std::move(places));
    else if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
      addEntry(node, kMetadataProps, name, std::to_string(number.getInt()));
  }
}

static void addMetadata(::onnx::ModelProto &model, Operation &module) {
  for (NamedAttribute attribute : module.getDiscardableAttrs()) {
    StringRef name = attribute.getName().getValue();
    auto text = dyn_cast<StringAttr>(attribute.getValue());
    if (!text || !name.consume_front(DataflowDialect::getDialectNamespace()))
      continue;
    ::onnx::StringStringEntryProto &entry = *model.add_metadata_props();
    entry.set_key(concat("sluice", name.str()));
    entry.set_value(text.str());
  }
}

/// Where a value lies, if it leaves its kernel: what the kernel alone reads is in no memory.
static void addMetadata(::onnx::ValueInfoProto &info, Value value) {
  Operation *op = value.getDefiningOp();
  auto places = op ? op->getAttrOfType<ArrayAttr>(DataflowDialect::MemoryAttrHelper::getNameStr()) : ArrayAttr();
  const StringRef kernel = DataflowDialect::KernelAttrHelper::getNameStr();
  const bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
    const Attribute reader = user->getDiscardableAttr(kernel);
    return user->hasTrait<OpTrait::IsTerminator>() || (reader && reader != op->getDiscardableAttr(kernel));
  });
  // A file's list may have another length than the operator has results.
  const unsigned number = places ? cast<OpResult>(value).getResultNumber() : 0;
  if (!places || !leaves || number >= places.size())
    return;
  if (auto place = dyn_cast<StringAttr>(places[number]); place && !place.empty())
    addEntry(info, kValueMetadata, ".memory", place.str());
}

static void setType(::onnx::ValueInfoProto &info, const std::string &name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  info.set_name(name);
  auto *proto = info.mutable_type()->mutable_tensor_type();
  proto->set_elem_type(elementTypeToOnnx(tensor.getElementType()));
  proto->mutable_shape();
  for (const Extent &extent : extentsOf(tensor)) {
    auto &dim = *proto->mutable_shape()->add_dim();
    if (extent.isConstant())
      dim.set_dim_value(extent.most());
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(extent.expr()))
      dim.set_dim_param(extent.symbols().getNames()[symbol.getPosition()].str());
  }
}

//===----------------------------------------------------------------------===//
// Node, NodeWriter
//===----------------------------------------------------------------------===//

::onnx::AttributeProto &Node::add(StringRef name, ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto &attribute = *proto->add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(type);
  return attribute;
}
Node &Node::set(StringRef name, int64_t value) {
  add(name, ::onnx::AttributeProto::INT).set_i(value);
  return *this;
}
Node &Node::set(StringRef name, ArrayRef<int64_t> values) {
  ::onnx::AttributeProto &attribute = add(name, ::onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
  return *this;
}
Node &Node::set(StringRef name, const APFloat &value) {
  add(name, ::onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value.convertToDouble()));
  return *this;
}
Node &Node::set(StringRef name, StringRef value) {
  add(name, ::onnx::AttributeProto::STRING).set_s(value.str());
  return *this;
}

::onnx::GraphProto &Node::graph(StringRef name) { return *add(name, ::onnx::AttributeProto::GRAPH).mutable_g(); }

int64_t NodeWriter::opset() const { return program.opset; }
std::string NodeWriter::name(Value value) const { return program.names.at(value); }
std::vector<std::string> NodeWriter::operands() const {
  std::vector<std::string> result;
  for (Value operand : op.getOperands())
    result.push_back(name(operand));
  return result;
}

Node NodeWriter::node(StringRef type, std::vector<std::string> inputs, int64_t since, std::optional<size_t> count) {
  ::onnx::NodeProto &proto = program.addNode(type, std::move(inputs), since, &op);
  addResults(proto, count);
  return Node(proto);
}

Node NodeWriter::call(StringRef function, std::vector<std::string> inputs) {
  addLocalFunction(program.model, function, program.opset);
  Node made = node(function, std::move(inputs));
  made.setDomain(kOwnDomain);
  return made;
}

Node NodeWriter::contribNode(StringRef type, std::vector<std::string> inputs) {
  constexpr const char *kDomain = "com.microsoft";
  const auto &imported = program.model.opset_import();
  if (std::none_of(imported.begin(), imported.end(), [](const auto &opset) { return opset.domain() == kDomain; })) {
    ::onnx::OperatorSetIdProto &opset = *program.model.add_opset_import();
    opset.set_domain(kDomain);
    opset.set_version(1);
  }
  ::onnx::NodeProto &proto = program.addNode(type, std::move(inputs), kExportOpset, &op);
  proto.set_domain(kDomain);
  addResults(proto);
  return Node(proto);
}

Node NodeWriter::nodeOfSecond(StringRef type, std::vector<std::string> inputs) {
  ::onnx::NodeProto &proto = program.addNode(type, std::move(inputs), kExportOpset, &op);
  proto.add_output(uniqueName(program.nodeBase(op) + ".unread", program.valueNames));
  addResults(proto);
  return Node(proto);
}

void NodeWriter::subgraph(Node &node, StringRef attribute, Block &block, bool isLoop, ValueRange captured) {
  program.addSubgraph(node.graph(attribute), op, block, isLoop, captured);
}

void NodeWriter::addResults(::onnx::NodeProto &proto, std::optional<size_t> count) {
  proto.set_name(program.nodeBase(op));
  for (auto [i, result] : llvm::enumerate(op.getResults().take_front(count.value_or(op.getNumResults())))) {
    std::string &name = program.names[result];
    if (name.empty()) {
      std::string base = i ? concat(proto.name(), ":", i) : proto.name();
      name = uniqueName(base, program.valueNames);
      ::onnx::ValueInfoProto &info = *program.graph().add_value_info();
      setType(info, name, result.getType());
      addMetadata(info, result);
    }
    proto.add_output(name);
  }
}

Node NodeWriter::step(StringRef type, std::vector<std::string> inputs, int64_t since) {
  ::onnx::NodeProto &proto = program.addNode(type, std::move(inputs), since, &op);
  proto.set_name(uniqueName(concat(program.nodeBase(op), ".", type.lower()), program.nodeNames));
  proto.add_output(uniqueName(proto.name(), program.valueNames));
  return Node(proto);
}

std::string NodeWriter::integers(StringRef what, ArrayRef<int64_t> values) {
  std::string name = uniqueName(concat(program.nodeBase(op), ".", what.str()), program.valueNames);
  ::onnx::TensorProto &tensor = program.addInitializer(name, onnxtype::Int64, {static_cast<int64_t>(values.size())});
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return name;
}

std::string NodeWriter::integer(StringRef what, int64_t value) {
  return scalar(what, IntegerType::get(op.getContext(), 64), static_cast<double>(value));
}

std::string NodeWriter::extents(StringRef what, ArrayRef<Extent> extents) {
  SmallVector<int64_t> known;
  for (const Extent &extent : extents)
    if (extent.isConstant())
      known.push_back(extent.most());
  return known.size() == extents.size() ? integers(what, known) : program.addExtents(extents);
}

void NodeWriter::defineSymbol(unsigned symbol, int64_t dim) {
  program.defineSymbol(symbol, program.names.at(op.getResult(0)), dim);
  program.addFoundConstants();
}

std::string NodeWriter::numbers(StringRef what, ArrayRef<double> values) {
  std::vector<float> narrow(values.begin(), values.end());
  bool exact = std::equal(values.begin(), values.end(), narrow.begin());
  std::string name = uniqueName(concat(program.nodeBase(op), ".", what.str()), program.valueNames);
  ::onnx::TensorProto &tensor =
      program.addInitializer(name, exact ? onnxtype::Float : onnxtype::Double, {static_cast<int64_t>(values.size())});
  if (exact)
    tensor.set_raw_data(narrow.data(), narrow.size() * sizeof(float));
  else
    tensor.set_raw_data(values.data(), values.size() * sizeof(double));
  return name;
}

std::string NodeWriter::scalar(StringRef what, Type elementType, double value) {
  std::string name = uniqueName(concat(program.nodeBase(op), ".", what.str()), program.valueNames);
  auto type = RankedTensorType::get({}, elementType);
  Builder builder(op.getContext());
  Attribute element = isa<FloatType>(elementType)
                          ? Attribute(builder.getFloatAttr(elementType, value))
                          : Attribute(builder.getIntegerAttr(elementType, static_cast<int64_t>(value)));
  std::vector<char> bytes(dataflow::tensorBytes(type));
  (void)copyConstant(SplatElementsAttr::get(type, element), bytes.data());
  program.addInitializer(name, elementTypeToOnnx(elementType), {}).set_raw_data(rawData(elementType, bytes));
  return name;
}

std::string NodeWriter::bytes(StringRef what, Type elementType, ArrayRef<int64_t> dims, ArrayRef<char> values) {
  std::string name = uniqueName(concat(program.nodeBase(op), ".", what.str()), program.valueNames);
  program.addInitializer(name, elementTypeToOnnx(elementType), dims).set_raw_data(values.data(), values.size());
  return name;
}

LogicalResult NodeWriter::refuse(const Twine &why) {
  reason = why.str();
  return failure();
}

ExportConverter findExport(StringRef operation) {
  static const std::map<StringRef, ExportConverter> table = [] {
    std::map<StringRef, ExportConverter> result;
    for (ArrayRef<ExportEntry> family : {controlExports(), elementwiseExports(), contractionExports(), windowExports(),
                                         rowExports(), movementExports(), selectionExports()})
      for (const ExportEntry &entry : family)
        result.emplace(entry.operation(), entry.convert);
    return result;
  }();
  auto found = table.find(operation);
  return found == table.end() ? nullptr : found->second;
}

//===----------------------------------------------------------------------===//
// ProgramWriter
//===----------------------------------------------------------------------===//

ProgramWriter::ProgramWriter(func::FuncOp function, int64_t opset)
    : opset(opset), needed(opset), function(function),
      symbolNodes(
          [this](StringRef type, std::vector<std::string> inputs) {
            ::onnx::NodeProto &node = addNode(type, std::move(inputs), kExportOpset, nullptr);
            node.set_name(uniqueName("extent", nodeNames));
            node.add_output(uniqueName("extent", valueNames));
            return node.output(0);
          },
          [this](int64_t value) {
            const std::string name = uniqueName(concat("extent.", value), valueNames);
            addInitializer(name, onnxtype::Int64, {1}).set_raw_data(&value, sizeof value);
            return name;
          }) {}

std::string ProgramWriter::nodeBase(Operation &op) {
  std::string &base = bases[&op];
  if (base.empty()) {
    std::string name = nodeName(op.getLoc());
    base = uniqueName(name.empty() ? op.getName().stripDialect().str() : name, nodeNames);
  }
  return base;
}

::onnx::NodeProto &ProgramWriter::addNode(StringRef type, std::vector<std::string> inputs, int64_t since,
                                          Operation *op) {
  needed = std::max(needed, since);
  ::onnx::NodeProto &node = *graph().add_node();
  node.set_op_type(type.str());
  for (std::string &input : inputs)
    node.add_input(std::move(input));
  if (op)
    addMetadata(node, *op);
  return node;
}

::onnx::TensorProto &ProgramWriter::addInitializer(const std::string &name, int32_t elementType,
                                                   ArrayRef<int64_t> dims) {
  // Subgraphs see the names of the model's graph.
  ::onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(elementType);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  return tensor;
}

void ProgramWriter::declareInputs() {
  for (BlockArgument argument : function.getArguments()) {
    auto given = inputName(function, argument.getArgNumber());
    std::string name = given ? given.str() : concat("input", argument.getArgNumber());
    names[argument] = uniqueName(name, valueNames);
    ::onnx::ValueInfoProto &info = *graph().add_input();
    setType(info, names[argument], argument.getType());
    if (auto place = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                           DataflowDialect::MemoryAttrHelper::getNameStr()))
      addEntry(info, kValueMetadata, ".memory", place.str());
  }
}

void ProgramWriter::defineSymbol(unsigned symbol, const std::string &tensor, int64_t dim) {
  const std::string name = concat(symbolsOf(function).getNames()[symbol].getValue().str(), ".extent");
  ::onnx::NodeProto &node = addNode("Shape", {tensor}, kExportOpset, nullptr);
  node.set_name(uniqueName(name, nodeNames));
  node.add_output(uniqueName(name, valueNames));
  Node(node).set("start", dim).set("end", dim + 1);
  symbolNodes.define(symbol, node.output(0));
}

void ProgramWriter::defineSymbols() {
  const SymbolSet used = symbolsUsedBy(function);
  SymbolSet defined = 0;
  for (BlockArgument argument : function.getArguments())
    for (auto [dim, extent] : llvm::enumerate(extentsOf(argument)))
      if (auto symbol = dyn_cast_if_present<AffineSymbolExpr>(extent.expr());
          symbol && (used & ~defined) >> symbol.getPosition() & 1) {
        defined |= SymbolSet(1) << symbol.getPosition();
        defineSymbol(symbol.getPosition(), names.at(argument), static_cast<int64_t>(dim));
      }
}

std::string ProgramWriter::addExtents(ArrayRef<Extent> extents) {
  std::vector<std::string> vectors;
  for (const Extent &extent : extents)
    vectors.push_back(symbolNodes.vectorOf(extent));
  if (vectors.size() == 1)
    return vectors.front();
  ::onnx::NodeProto &node = addNode("Concat", std::move(vectors), kExportOpset, nullptr);
  node.set_name(uniqueName("extents", nodeNames));
  node.add_output(uniqueName("extents", valueNames));
  Node(node).set("axis", int64_t(0));
  return node.output(0);
}

/// Results of operators get outputs' names before anything else does. A copy of the input of an output's own name is
/// left out: in ONNX that output is that input.
void ProgramWriter::nameOutputs(Operation *terminator) {
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto given = outputName(function, operand.getOperandNumber());
    std::string name = given ? given.str() : concat("output", operand.getOperandNumber());
    auto copy = operand.get().getDefiningOp<CopyOp>();
    bool isInput = copy && isa<BlockArgument>(copy.getInput()) && names[copy.getInput()] == name;
    std::string unique = isInput ? name : uniqueName(name, valueNames);
    Operation *producer = operand.get().getDefiningOp();
    if (producer && !isa<ConstantOp>(producer) && !names.count(operand.get()))
      names[operand.get()] = unique;
    ::onnx::ValueInfoProto &info = *graph().add_output();
    setType(info, unique, operand.get().getType());
    addMetadata(info, operand.get());
  }
}

/// A tensor of one element's copies.
void ProgramWriter::addFilled(const std::string &name, const std::string &shape, Type elementType,
                              ArrayRef<char> element) {
  ::onnx::NodeProto &node = addNode("ConstantOfShape", {shape}, kExportOpset, nullptr);
  node.set_name(uniqueName(name, nodeNames));
  node.add_output(name);
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(::onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(elementTypeToOnnx(elementType));
  attribute.mutable_t()->add_dims(1);
  attribute.mutable_t()->set_raw_data(rawData(elementType, element));
}

void ProgramWriter::addFoundConstants() {
  llvm::erase_if(waiting, [&](ConstantOp constant) {
    // What it has no data for is refused with the operators that read it.
    return llvm::all_of(extentsOf(constant.getResult()), [&](const Extent &e) { return symbolNodes.knows(e); }) &&
           addConstant(constant);
  });
}

Status ProgramWriter::addConstant(ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  std::string base = nodeName(constant.getLoc());
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
  if (base.empty())
    base = resource ? resource.getRawHandle().getKey().str() : "constant";
  std::string name = uniqueName(base, valueNames);
  names[constant.getResult()] = name;
  int32_t elementType = elementTypeToOnnx(type.getElementType());
  int64_t bytes = dataflow::tensorBytes(type);
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (dense && dense.isSplat() && (bytes > onnxtensor::kInlineBytes || extentsOf(Type(type)))) {
    std::vector<char> one(dataflow::elementBytes(type.getElementType()));
    if (failed(copyConstant(dense.resizeSplat(RankedTensorType::get({1}, type.getElementType())), one.data())))
      return makeError(ErrorCode::InvalidInput, "constant '", name, "' has no data");
    std::string shape;
    if (extentsOf(Type(type))) {
      shape = addExtents(extentsOf(type));
    } else {
      shape = uniqueName(name + ".shape", valueNames);
      ArrayRef<int64_t> dims = type.getShape();
      addInitializer(shape, onnxtype::Int64, {type.getRank()}).set_raw_data(dims.data(), dims.size() * sizeof(int64_t));
    }
    addFilled(name, shape, type.getElementType(), one);
    return {};
  }
  ::onnx::TensorProto &tensor = addInitializer(name, elementType, type.getShape());
  if (Attribute places = constant->getDiscardableAttr(DataflowDialect::MemoryAttrHelper::getNameStr()))
    addEntry(tensor, kTensorMetadata, ".memory", joined(places));
  if (bytes > onnxtensor::kInlineBytes && type.getElementType().getIntOrFloatBitWidth() != 4 &&
      type.getElementType().getIntOrFloatBitWidth() != 2) {
    weights.push_back({model.graph().initializer_size() - 1, constant.getValue(), bytes});
    return {};
  }
  std::string data(bytes, '\0');
  if (failed(copyConstant(constant.getValue(), data.data())))
    return makeError(ErrorCode::InvalidInput, "the data of constant '", name,
                     "' is missing, supply the model's external data");
  tensor.set_raw_data(rawData(type.getElementType(), data));
  return {};
}

/// Outputs that no operator writes under their own name are copied there.
void ProgramWriter::addOutputs(Operation *terminator) {
  for (OpOperand &operand : terminator->getOpOperands()) {
    const std::string &output = graph().output(static_cast<int>(operand.getOperandNumber())).name();
    std::string from = names.at(operand.get());
    if (from == output)
      continue;
    ::onnx::NodeProto &node = addNode("Identity", {from}, kExportOpset, nullptr);
    node.set_name(uniqueName(output, nodeNames));
    node.add_output(output);
  }
}

Status ProgramWriter::run() {
  model.set_ir_version(irVersionFor(opset));
  model.set_producer_name("sluice");
  model.add_opset_import()->set_version(opset);
  std::string name = nodeName(function.getLoc());
  graph().set_name(name.empty() ? "main" : name);
  addMetadata(model, *function->getParentOp());
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  declareInputs();
  nameOutputs(terminator);
  defineSymbols();
  SLUICE_RETURN_IF_ERROR(addConstants(block));
  addOperators(block);
  if (numRefused)
    return makeError(ErrorCode::Unsupported, "program '", graph().name(), "' has ", numRefused,
                     numRefused == 1 ? " operator that" : " operators that", " ONNX cannot express:", refused);
  addOutputs(terminator);
  return {};
}

Status ProgramWriter::addConstants(Block &block) {
  for (Operation &op : block) {
    if (auto constant = dyn_cast<ConstantOp>(op); constant && !isWrittenByUsers(op)) {
      if (!llvm::all_of(extentsOf(constant.getResult()), [&](const Extent &e) { return symbolNodes.knows(e); })) {
        waiting.push_back(constant);
        continue;
      }
      SLUICE_RETURN_IF_ERROR(addConstant(constant));
    }
    for (Value operand : op.getOperands())
      needed = std::max(needed, opsetOf(operand.getType()));
    for (Region &region : op.getRegions())
      SLUICE_RETURN_IF_ERROR(addConstants(region.front()));
  }
  return {};
}

void ProgramWriter::addSubgraph(::onnx::GraphProto &into, Operation &op, Block &block, bool isLoop,
                                ValueRange captured) {
  ::onnx::GraphProto *around = std::exchange(current, &into);
  symbolNodes.enter();
  into.set_name(uniqueName(nodeBase(op) + ".body", nodeNames));
  auto declare = [&](const std::string &what, Type type) {
    std::string name = uniqueName(concat(nodeBase(op), ".", what), valueNames);
    setType(*into.add_input(), name, type);
    return name;
  };
  const size_t own = block.getNumArguments() - captured.size();
  for (size_t i = 0; i < own; ++i) {
    names[block.getArgument(i)] =
        declare(i == 0 ? "iteration" : concat("state", i - 1), block.getArgument(i).getType());
    if (i == 0 && isLoop)
      declare("condition", RankedTensorType::get({}, IntegerType::get(op.getContext(), 1)));
  }
  for (auto [argument, value] : llvm::zip(block.getArguments().drop_front(own), captured))
    names[argument] = std::string(names.at(value));
  addOperators(block);
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
    std::string from = names.lookup(value), to = uniqueName(concat(nodeBase(op), ".yield", i), valueNames);
    ::onnx::NodeProto &node = addNode("Identity", {from}, kExportOpset, nullptr);
    node.set_name(uniqueName(to, nodeNames));
    node.add_output(to);
    setType(*into.add_output(), to, value.getType());
  }
  symbolNodes.leave();
  current = around;
}

std::string ProgramWriter::missingSymbol(Operation &op) {
  const SymbolSet used = symbolsUsedBy(&op) & ~symbolsFoundBy(&op);
  const SymbolsAttr symbols = used ? symbolsOf(function) : SymbolsAttr();
  for (unsigned symbol = 0; used >> symbol; ++symbol)
    if ((used >> symbol & 1) && !symbolNodes.knows(Extent(getAffineSymbolExpr(symbol, op.getContext()), symbols)))
      return symbols.getNames()[symbol].str();
  return {};
}

void ProgramWriter::addOperators(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (isa<ConstantOp>(op) || isWrittenByUsers(op))
      continue;
    // The importer copies a constant that it takes a part of.
    if (auto copy = dyn_cast<CopyOp>(op); copy && copy->hasOneUse() && isa<TakeFirstOp>(*copy->user_begin()) &&
                                          copy.getInput().getDefiningOp<ConstantOp>()) {
      names[copy.getResult()] = std::string(names.at(copy.getInput()));
      continue;
    }
    NodeWriter writer(*this, op);
    ExportConverter convert = findExport(op.getName().getStringRef());
    bool isInput = isa<CopyOp>(op) && names.lookup(op.getResult(0)) == names.lookup(op.getOperand(0));
    const std::string missing = missingSymbol(op);
    if (isInput || (convert && missing.empty() && succeeded(convert(writer))))
      continue;
    if (convert && !missing.empty())
      (void)writer.refuse("no earlier operator computes the extent '" + missing +
                          "', give one size for each dimension with --dim");
    ++numRefused;
    refused += concat("\n  '", nodeBase(op), "' (", op.getName().getStringRef().str(),
                      "): ", convert ? writer.reason : "ONNX has no such operator");
    for (Value result : op.getResults())
      if (std::string &given = names[result]; given.empty())
        given = nodeBase(op);
  }
}

} // namespace sluice::onnxexport
