//===- ModelWriter.cpp - Writes a random model node by node ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ModelWriter.h"
#include "sluice/Support/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice::bench {

int64_t elementsOf(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

double Value::largest() const { return std::max(std::abs(low), std::abs(high)); }

double roundingOf(ElementType type, double largest) {
  switch (type) {
  case ElementType::Float32:
    return 1e-6 * largest;
  case ElementType::Float16:
    return 2e-3 * largest;
  case ElementType::BFloat16:
    return 2e-2 * largest;
  case ElementType::Float64:
    return 1e-13 * largest;
  default:
    return 0;
  }
}

ModelWriter::ModelWriter(uint64_t seed, int64_t opset) : rng(seed), version(opset) {
  model.set_ir_version(opset >= 21 ? 10 : 8);
  model.set_producer_name("sluice-bench random");
  ::onnx::OperatorSetIdProto &imported = *model.add_opset_import();
  imported.set_domain("");
  imported.set_version(opset);
  graph = model.mutable_graph();
  graph->set_name("random");
}

Shape ModelWriter::randomShape(int64_t rank, int64_t most) {
  // Extents around vectors' widths and tiles find the code of tails; ones find broadcasting.
  static const std::vector<int64_t> kExtents = {1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 33};
  Shape shape(static_cast<size_t>(rank), 1);
  for (int64_t i = 0; i < rank; ++i) {
    const size_t at = rng.below(shape.size());
    const int64_t others = elementsOf(shape) / shape[at];
    const int64_t extent = oneOf(kExtents);
    if (others * extent <= most)
      shape[at] = extent;
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Choosing operands
//===----------------------------------------------------------------------===//

const Value *ModelWriter::find(const std::function<bool(const Value &)> &suits) {
  std::vector<const Value *> suitable;
  for (const Value &value : values)
    if (suits(value))
      suitable.push_back(&value);
  if (suitable.empty())
    return nullptr;
  constexpr size_t kRecent = 4;
  if (suitable.size() > kRecent && rng.chance(0.6))
    return suitable[suitable.size() - 1 - rng.below(kRecent)];
  return suitable[rng.below(suitable.size())];
}

Value ModelWriter::take(const std::function<bool(const Value &)> &suits, ElementType otherwise, int64_t rank) {
  if (!rng.chance(0.1))
    if (const Value *found = find(suits))
      return *found;
  const bool isFloat = isFloatingPoint(otherwise);
  return source(otherwise, randomShape(rank), isFloat ? -2 : 0, otherwise == ElementType::Bool ? 1 : isFloat ? 2 : 9);
}

Value ModelWriter::takeFloat(int64_t leastRank, int64_t mostRank, double most) {
  return take(
      [&](const Value &value) {
        return value.isFloat() && value.rank() >= leastRank && value.rank() <= mostRank && value.largest() <= most &&
               value.error <= 1e-2 * std::max(value.largest(), 1e-3) && value.elements() > 0;
      },
      rng.chance(0.85) ? ElementType::Float32 : ElementType::Float64, between(leastRank, mostRank));
}

Value ModelWriter::takeExactFloat(int64_t leastRank, int64_t mostRank) {
  return take(
      [&](const Value &value) {
        return value.type == ElementType::Float32 && value.isExact() && value.rank() >= leastRank &&
               value.rank() <= mostRank && value.largest() <= 1000 && value.elements() > 0;
      },
      ElementType::Float32, between(leastRank, mostRank));
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

template <typename T>
static void fill(HostTensor &tensor, Rng &rng, double low, double high) {
  T *data = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    if constexpr (std::is_floating_point_v<T>)
      data[i] = static_cast<T>(low + rng.uniform() * (high - low));
    else // By way of 64 bits, for unsigned types are filled as signed ones of their width.
      data[i] = static_cast<T>(static_cast<int64_t>(low + std::floor(rng.uniform() * (high - low + 1))));
}

HostTensor ModelWriter::randomTensor(const Value &value) {
  HostTensor tensor = *makeTensor(value.name, value.type, value.shape);
  switch (value.type) {
  case ElementType::Float32:
    fill<float>(tensor, rng, value.low, value.high);
    break;
  case ElementType::Float64:
    fill<double>(tensor, rng, value.low, value.high);
    break;
  case ElementType::Float16:
  case ElementType::BFloat16:
    for (int64_t i = 0; i < tensor.numElements(); ++i) {
      const auto number = static_cast<float>(value.low + rng.uniform() * (value.high - value.low));
      tensor.data<uint16_t>()[i] = value.type == ElementType::Float16 ? floatToHalf(number) : floatToBfloat16(number);
    }
    break;
  case ElementType::Int64:
  case ElementType::UInt64:
    fill<int64_t>(tensor, rng, value.low, value.high);
    break;
  case ElementType::Int32:
  case ElementType::UInt32:
    fill<int32_t>(tensor, rng, value.low, value.high);
    break;
  case ElementType::Int16:
  case ElementType::UInt16:
    fill<int16_t>(tensor, rng, value.low, value.high);
    break;
  default:
    fill<int8_t>(tensor, rng, value.low, value.high);
  }
  return tensor;
}

static void store(::onnx::TensorProto &proto, const HostTensor &tensor) {
  proto.set_name(tensor.name);
  proto.set_data_type(static_cast<int32_t>(tensor.type));
  for (int64_t extent : tensor.shape)
    proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

Value ModelWriter::constant(ElementType type, Shape shape, double low, double high) {
  Value value{fresh("w"), type, std::move(shape), low, high, 0};
  store(*model.mutable_graph()->add_initializer(), randomTensor(value));
  values.push_back(value);
  return value;
}

Value ModelWriter::source(ElementType type, Shape shape, double low, double high) {
  if (rng.chance(0.4))
    return constant(type, std::move(shape), low, high);
  Value value{fresh("x"), type, std::move(shape), low, high, 0};
  ::onnx::ValueInfoProto &port = *model.mutable_graph()->add_input();
  declare(port, value);
  inputData[value.name] = randomTensor(value);
  values.push_back(value);
  return value;
}

Value ModelWriter::numbers(const std::vector<int64_t> &elements, ElementType type) {
  Value value{fresh("n"), type, {static_cast<int64_t>(elements.size())}, 0, 0, 0};
  HostTensor tensor = *makeTensor(value.name, type, value.shape);
  for (size_t i = 0; i < elements.size(); ++i)
    if (type == ElementType::Int64)
      tensor.data<int64_t>()[i] = elements[i];
    else
      tensor.data<int32_t>()[i] = static_cast<int32_t>(elements[i]);
  store(*model.mutable_graph()->add_initializer(), tensor);
  return value;
}

Value ModelWriter::number(int64_t element, ElementType type) {
  Value value = numbers({element}, type);
  model.mutable_graph()->mutable_initializer()->rbegin()->clear_dims();
  value.shape.clear();
  return value;
}

Value ModelWriter::scalar(double element, ElementType type) { return constant(type, {}, element, element); }

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

std::string ModelWriter::fresh(std::string_view stem) { return concat(stem, nextName++); }

::onnx::NodeProto &ModelWriter::node(std::string_view op, const std::vector<Value> &operands) {
  ::onnx::NodeProto &node = *graph->add_node();
  node.set_op_type(std::string(op));
  node.set_name(fresh("node"));
  for (const Value &operand : operands) {
    node.add_input(operand.name);
    read(operand.name);
  }
  return node;
}

Value ModelWriter::introduce(Result result, std::string_view stem) {
  Value value{fresh(stem), result.type, std::move(result.shape), result.low, result.high, result.error};
  values.push_back(value);
  return value;
}

Value ModelWriter::finish(::onnx::NodeProto &node, Result result) {
  Value value = introduce(std::move(result), "v");
  node.add_output(value.name);
  return value;
}

Value ModelWriter::add(std::string_view op, const std::vector<Value> &operands, Result result) {
  return finish(node(op, operands), std::move(result));
}

static ::onnx::AttributeProto &attribute(::onnx::NodeProto &node, std::string_view name,
                                         ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto &made = *node.add_attribute();
  made.set_name(std::string(name));
  made.set_type(type);
  return made;
}

void ModelWriter::set(::onnx::NodeProto &node, std::string_view name, int64_t value) {
  attribute(node, name, ::onnx::AttributeProto::INT).set_i(value);
}

void ModelWriter::set(::onnx::NodeProto &node, std::string_view name, double value) {
  attribute(node, name, ::onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value));
}

void ModelWriter::set(::onnx::NodeProto &node, std::string_view name, const std::vector<int64_t> &values) {
  ::onnx::AttributeProto &made = attribute(node, name, ::onnx::AttributeProto::INTS);
  for (int64_t value : values)
    made.add_ints(value);
}

void ModelWriter::set(::onnx::NodeProto &node, std::string_view name, std::string_view text) {
  attribute(node, name, ::onnx::AttributeProto::STRING).set_s(std::string(text));
}

void ModelWriter::declare(::onnx::ValueInfoProto &port, const Value &value) {
  port.set_name(value.name);
  ::onnx::TypeProto::Tensor &type = *port.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int32_t>(value.type));
  type.mutable_shape();
  for (int64_t extent : value.shape)
    type.mutable_shape()->add_dim()->set_dim_value(extent);
}

void ModelWriter::within(::onnx::GraphProto &inner, const std::function<void()> &body) {
  ::onnx::GraphProto *outer = graph;
  const size_t known = values.size();
  graph = &inner;
  body();
  graph = outer;
  // Sources that the body made belong to the whole model and could stay, but a tensor of the body may not.
  values.resize(known);
}

void ModelWriter::forget(const Value &value) {
  std::erase_if(values, [&](const Value &known) { return known.name == value.name; });
}

::onnx::ModelProto ModelWriter::complete() {
  for (const Value &value : values) {
    const bool isSource = inputData.count(value.name) > 0 || value.name.front() == 'w';
    if (isSource || (readNames.count(value.name) > 0 && !rng.chance(0.1)))
      continue;
    declare(*graph->add_output(), value);
    outputValues.push_back(value);
  }
  return model;
}

} // namespace sluice::bench
