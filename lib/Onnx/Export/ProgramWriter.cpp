//===- ProgramWriter.cpp - A dataflow function as an ONNX graph -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ProgramWriter.h"

#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "sluice/Onnx/TensorData.h"

#include "mlir/IR/DialectResourceBlobManager.h"

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

/// Adds an entry to `metadata_props`, which is newer than the installed schema: a field of entries of a key and a
/// value.
static void addEntry(::google::protobuf::Message &message, int field, StringRef key, std::string value) {
  ::onnx::StringStringEntryProto entry;
  entry.set_key(concat("sluice", key.str()));
  entry.set_value(std::move(value));
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(field, entry.SerializeAsString());
}

static void addMetadata(::onnx::NodeProto &node, Operation &op) {
  constexpr int kMetadataProps = 9;
  for (NamedAttribute attribute : op.getDiscardableAttrs()) {
    StringRef name = attribute.getName().getValue();
    if (!name.consume_front(DataflowDialect::getDialectNamespace()))
      continue;
    if (auto text = dyn_cast<StringAttr>(attribute.getValue()))
      addEntry(node, kMetadataProps, name, text.str());
    else if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
      addEntry(node, kMetadataProps, name, std::to_string(number.getInt()));
  }
}

/// Where a value lies, if it leaves its kernel: what the kernel alone reads is in no memory.
static void addMetadata(::onnx::ValueInfoProto &info, Value value) {
  constexpr int kMetadataProps = 4;
  Operation *op = value.getDefiningOp();
  auto place = op ? op->getAttrOfType<StringAttr>(DataflowDialect::MemoryAttrHelper::getNameStr()) : StringAttr();
  const StringRef kernel = DataflowDialect::KernelAttrHelper::getNameStr();
  const bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
    const Attribute reader = user->getDiscardableAttr(kernel);
    return user->hasTrait<OpTrait::IsTerminator>() || (reader && reader != op->getDiscardableAttr(kernel));
  });
  if (place && leaves)
    addEntry(info, kMetadataProps, ".memory", place.str());
}

static void setType(::onnx::ValueInfoProto &info, const std::string &name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  info.set_name(name);
  auto *proto = info.mutable_type()->mutable_tensor_type();
  proto->set_elem_type(elementTypeToOnnx(tensor.getElementType()));
  proto->mutable_shape();
  for (int64_t dim : tensor.getShape())
    proto->mutable_shape()->add_dim()->set_dim_value(dim);
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
                                         rowExports(), movementExports()})
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
    setType(*graph().add_input(), names[argument], argument.getType());
  }
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
  if (dense && dense.isSplat() && bytes > onnxtensor::kInlineBytes) {
    std::string shape = uniqueName(name + ".shape", valueNames);
    ArrayRef<int64_t> dims = type.getShape();
    addInitializer(shape, onnxtype::Int64, {type.getRank()}).set_raw_data(dims.data(), dims.size() * sizeof(int64_t));
    ::onnx::NodeProto &node = addNode("ConstantOfShape", {shape}, kExportOpset, nullptr);
    node.set_name(uniqueName(name, nodeNames));
    node.add_output(name);
    ::onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(::onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->set_data_type(elementType);
    attribute.mutable_t()->add_dims(1);
    std::vector<char> one(dataflow::elementBytes(type.getElementType()));
    if (failed(copyConstant(dense.resizeSplat(RankedTensorType::get({1}, type.getElementType())), one.data())))
      return makeError(ErrorCode::InvalidInput, "constant '", name, "' has no data");
    attribute.mutable_t()->set_raw_data(rawData(type.getElementType(), one));
    return {};
  }
  ::onnx::TensorProto &tensor = addInitializer(name, elementType, type.getShape());
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
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  declareInputs();
  nameOutputs(terminator);
  SLUICE_RETURN_IF_ERROR(addConstants(block));
  addOperators(block);
  if (numRefused)
    return makeError(ErrorCode::Unsupported, "program '", graph().name(), "' has ", numRefused,
                     numRefused == 1 ? " operator that" : " operators that", " ONNX cannot say:", refused);
  addOutputs(terminator);
  return {};
}

Status ProgramWriter::addConstants(Block &block) {
  for (Operation &op : block) {
    if (auto constant = dyn_cast<ConstantOp>(op); constant && !isWrittenByUsers(op))
      SLUICE_RETURN_IF_ERROR(addConstant(constant));
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
  current = around;
}

void ProgramWriter::addOperators(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (isa<ConstantOp>(op) || isWrittenByUsers(op))
      continue;
    NodeWriter writer(*this, op);
    ExportConverter convert = findExport(op.getName().getStringRef());
    bool isInput = isa<CopyOp>(op) && names.lookup(op.getResult(0)) == names.lookup(op.getOperand(0));
    if (isInput || (convert && succeeded(convert(writer))))
      continue;
    ++numRefused;
    refused += concat("\n  '", nodeBase(op), "' (", op.getName().getStringRef().str(),
                      "): ", convert ? writer.reason : "ONNX has no such operator");
    for (Value result : op.getResults())
      if (std::string &given = names[result]; given.empty())
        given = nodeBase(op);
  }
}

} // namespace sluice::onnxexport
