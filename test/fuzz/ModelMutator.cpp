//===- ModelMutator.cpp - Changes ONNX models, not bytes ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/fuzz/ModelMutator.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <google/protobuf/message.h>
#include <limits>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <string>
#include <vector>

namespace sluice::fuzz {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

namespace {

class Mutator {
public:
  Mutator(::onnx::ModelProto &model, uint64_t seed) : model(model), random(seed) {}
  void change();

private:
  template <typename List>
  auto *anyOf(List &list) {
    return list.empty() ? nullptr : list.Mutable(static_cast<int>(random.below(static_cast<uint64_t>(list.size()))));
  }
  template <typename T, size_t N>
  const T &anyOf(const std::array<T, N> &choices) {
    return choices[random.below(N)];
  }

  int64_t number();
  double real();
  std::string valueName();
  void changeExtent();
  void changeElementType();
  void changeAttribute();
  void changeOperator();
  void changeOperand();
  void changeData();
  void addNode();
  void removeNode();
  void forgetOutputShapes();
  void fillAttribute(::onnx::AttributeProto &attribute);
  void changeAnyField();
  void changeScalar(Message &message, const FieldDescriptor &field, int index);

  ::onnx::ModelProto &model;
  Rng random;
};

int64_t Mutator::number() {
  static constexpr std::array<int64_t, 22> kOdd = {0,
                                                   1,
                                                   -1,
                                                   2,
                                                   -2,
                                                   3,
                                                   7,
                                                   8,
                                                   16,
                                                   63,
                                                   64,
                                                   255,
                                                   -128,
                                                   65'536,
                                                   int64_t(1) << 31,
                                                   (int64_t(1) << 31) - 1,
                                                   int64_t(1) << 32,
                                                   int64_t(1) << 62,
                                                   -(int64_t(1) << 62),
                                                   std::numeric_limits<int64_t>::max(),
                                                   std::numeric_limits<int64_t>::min(),
                                                   -2'147'483'648};
  // Small numbers keep a graph valid more often.
  return random.chance(0.6) ? static_cast<int64_t>(random.below(12)) - 3 : anyOf(kOdd);
}

double Mutator::real() {
  static constexpr std::array<double, 12> kOdd = {0,
                                                  -0.0,
                                                  1,
                                                  -1,
                                                  0.5,
                                                  1e-45,
                                                  1e38,
                                                  -1e38,
                                                  3,
                                                  std::numeric_limits<double>::infinity(),
                                                  -std::numeric_limits<double>::infinity(),
                                                  std::numeric_limits<double>::quiet_NaN()};
  return anyOf(kOdd);
}

/// The name of an input, an initializer or a node's result; empty: an omitted operand.
std::string Mutator::valueName() {
  const ::onnx::GraphProto &graph = model.graph();
  std::vector<const std::string *> names;
  for (const auto &input : graph.input())
    names.push_back(&input.name());
  for (const auto &tensor : graph.initializer())
    names.push_back(&tensor.name());
  for (const auto &node : graph.node())
    for (const std::string &result : node.output())
      names.push_back(&result);
  return names.empty() || random.chance(0.05) ? "" : *names[random.below(names.size())];
}

static bool isTensor(const ::onnx::ValueInfoProto &value) { return value.type().has_tensor_type(); }

void Mutator::changeExtent() {
  ::onnx::ValueInfoProto *input = anyOf(*model.mutable_graph()->mutable_input());
  if (!input || !isTensor(*input))
    return;
  auto &dims = *input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
  if (dims.empty() || random.chance(0.15)) {
    dims.Add()->set_dim_value(1 + static_cast<int64_t>(random.below(5)));
  } else if (random.chance(0.1)) {
    dims.RemoveLast();
  } else {
    anyOf(dims)->set_dim_value(number());
  }
  forgetOutputShapes();
}

void Mutator::changeElementType() {
  const auto type = static_cast<int32_t>(random.below(25));
  ::onnx::GraphProto &graph = *model.mutable_graph();
  if (::onnx::ValueInfoProto *input = anyOf(*graph.mutable_input()); input && isTensor(*input))
    input->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  if (::onnx::ValueInfoProto *output = anyOf(*graph.mutable_output()); output && isTensor(*output))
    output->mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

/// The declared shapes of results mostly contradict a changed graph, which would not be imported.
void Mutator::forgetOutputShapes() {
  if (random.chance(0.9))
    for (auto &output : *model.mutable_graph()->mutable_output())
      if (isTensor(output))
        output.mutable_type()->mutable_tensor_type()->clear_shape();
}

void Mutator::fillAttribute(::onnx::AttributeProto &attribute) {
  using Proto = ::onnx::AttributeProto;
  const int count = static_cast<int>(random.below(5));
  switch (attribute.type()) {
  case Proto::INT:
    attribute.set_i(number());
    return;
  case Proto::FLOAT:
    attribute.set_f(static_cast<float>(real()));
    return;
  case Proto::INTS:
    if (attribute.ints_size() > 0 && random.chance(0.7)) {
      *anyOf(*attribute.mutable_ints()) = number();
      return;
    }
    attribute.clear_ints();
    for (int i = 0; i < count; ++i)
      attribute.add_ints(number());
    return;
  case Proto::FLOATS:
    attribute.clear_floats();
    for (int i = 0; i < count; ++i)
      attribute.add_floats(static_cast<float>(real()));
    return;
  case Proto::STRING: {
    static const std::array<std::string, 16> kWords = {
        "",        "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "constant", "reflect",  "edge",
        "nearest", "linear",     "cubic",      "add",   "mul",    "mean",     "bilinear", "align_corners"};
    attribute.set_s(anyOf(kWords));
    return;
  }
  default:
    return;
  }
}

void Mutator::changeAttribute() {
  ::onnx::NodeProto *node = anyOf(*model.mutable_graph()->mutable_node());
  if (!node)
    return;
  auto &attributes = *node->mutable_attribute();
  const ::onnx::OpSchema *schema =
      ::onnx::OpSchemaRegistry::Schema(node->op_type(), std::numeric_limits<int>::max(), node->domain());
  if (schema && !schema->attributes().empty() && (attributes.empty() || random.chance(0.4))) {
    auto entry = schema->attributes().begin();
    std::advance(entry, random.below(schema->attributes().size()));
    const auto known = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const auto &attribute) { return attribute.name() == entry->first; });
    ::onnx::AttributeProto &attribute = known == attributes.end() ? *attributes.Add() : *known;
    attribute.set_name(entry->first);
    attribute.set_type(entry->second.type);
    fillAttribute(attribute);
  } else if (!attributes.empty() && random.chance(0.15)) {
    attributes.RemoveLast();
  } else if (!attributes.empty()) {
    fillAttribute(*anyOf(attributes));
  }
  forgetOutputShapes();
}

static const std::vector<::onnx::OpSchema> &schemas() {
  static const std::vector<::onnx::OpSchema> kSchemas = ::onnx::OpSchemaRegistry::get_all_schemas();
  return kSchemas;
}

void Mutator::changeOperator() {
  if (::onnx::NodeProto *node = anyOf(*model.mutable_graph()->mutable_node())) {
    const ::onnx::OpSchema &schema = schemas()[random.below(schemas().size())];
    if (schema.min_input() > node->input_size() || schema.max_input() < node->input_size())
      return;
    node->set_op_type(schema.Name());
    node->set_domain(schema.domain());
    if (random.chance(0.7))
      node->clear_attribute();
    forgetOutputShapes();
  }
}

void Mutator::changeOperand() {
  ::onnx::NodeProto *node = anyOf(*model.mutable_graph()->mutable_node());
  if (!node)
    return;
  if (node->input_size() == 0 || random.chance(0.1))
    node->add_input(valueName());
  else if (random.chance(0.1))
    node->mutable_input()->RemoveLast();
  else
    *anyOf(*node->mutable_input()) = valueName();
  forgetOutputShapes();
}

void Mutator::changeData() {
  ::onnx::TensorProto *tensor = anyOf(*model.mutable_graph()->mutable_initializer());
  if (::onnx::NodeProto *node = anyOf(*model.mutable_graph()->mutable_node()); node && random.chance(0.5))
    for (::onnx::AttributeProto &attribute : *node->mutable_attribute())
      if (attribute.has_t())
        tensor = attribute.mutable_t();
  if (!tensor)
    return;
  if (std::string &raw = *tensor->mutable_raw_data(); tensor->has_raw_data() && !raw.empty()) {
    if (const int64_t value = number(); tensor->data_type() == ::onnx::TensorProto::INT64 && raw.size() >= sizeof value)
      std::copy_n(reinterpret_cast<const char *>(&value), sizeof value,
                  raw.data() + random.below(raw.size() / sizeof value) * sizeof value);
    else
      raw[random.below(raw.size())] = static_cast<char>(random.below(256));
  } else if (tensor->int64_data_size() > 0) {
    *anyOf(*tensor->mutable_int64_data()) = number();
  } else if (tensor->int32_data_size() > 0) {
    *anyOf(*tensor->mutable_int32_data()) = static_cast<int32_t>(number());
  } else if (tensor->float_data_size() > 0) {
    *anyOf(*tensor->mutable_float_data()) = static_cast<float>(real());
  }
  forgetOutputShapes();
}

void Mutator::addNode() {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  constexpr int kMostNodes = 24;
  if (graph.node_size() >= kMostNodes)
    return;
  const ::onnx::OpSchema &schema = schemas()[random.below(schemas().size())];
  if (schema.domain() == "ai.onnx.training" || schema.domain() == "ai.onnx.preview.training")
    return;
  ::onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(schema.Name());
  node.set_domain(schema.domain());
  const int most = std::min(schema.max_input(), schema.min_input() + 2);
  for (int i = 0, n = schema.min_input() +
                      static_cast<int>(random.below(static_cast<uint64_t>(most - schema.min_input() + 1)));
       i < n; ++i)
    node.add_input(valueName());
  for (const auto &[name, attribute] : schema.attributes())
    if (attribute.required || random.chance(0.2)) {
      ::onnx::AttributeProto &made = *node.add_attribute();
      made.set_name(name);
      made.set_type(attribute.type);
      fillAttribute(made);
    }
  for (int i = 0, n = std::max(1, schema.min_output()); i < n; ++i) {
    std::string name = "r" + std::to_string(graph.node_size()) + "_" + std::to_string(random.below(1'000));
    node.add_output(name);
    ::onnx::ValueInfoProto &output = *graph.add_output();
    output.set_name(name);
    // Mostly the type of the first operand; it is then found to be wrong, or it is not.
    auto &type = *output.mutable_type()->mutable_tensor_type();
    type.set_elem_type(::onnx::TensorProto::FLOAT);
    for (const auto &input : graph.input())
      if (node.input_size() > 0 && input.name() == node.input(0))
        type.set_elem_type(input.type().tensor_type().elem_type());
  }
}

void Mutator::removeNode() {
  auto &nodes = *model.mutable_graph()->mutable_node();
  if (nodes.size() > 1)
    nodes.DeleteSubrange(static_cast<int>(random.below(static_cast<uint64_t>(nodes.size()))), 1);
}

void Mutator::changeScalar(Message &message, const FieldDescriptor &field, int index) {
  const Reflection &reflection = *message.GetReflection();
  auto set = [&](auto one, auto inList, auto value) {
    if (index < 0)
      (reflection.*one)(&message, &field, value);
    else
      (reflection.*inList)(&message, &field, index, value);
  };
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT32:
    return set(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, static_cast<int32_t>(number()));
  case FieldDescriptor::CPPTYPE_INT64:
    return set(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, number());
  case FieldDescriptor::CPPTYPE_UINT32:
    return set(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, static_cast<uint32_t>(number()));
  case FieldDescriptor::CPPTYPE_UINT64:
    return set(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, static_cast<uint64_t>(number()));
  case FieldDescriptor::CPPTYPE_FLOAT:
    return set(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, static_cast<float>(real()));
  case FieldDescriptor::CPPTYPE_DOUBLE:
    return set(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, real());
  case FieldDescriptor::CPPTYPE_BOOL:
    return set(&Reflection::SetBool, &Reflection::SetRepeatedBool, random.chance(0.5));
  case FieldDescriptor::CPPTYPE_ENUM: {
    const auto &values = *field.enum_type();
    const auto *value = values.value(static_cast<int>(random.below(static_cast<uint64_t>(values.value_count()))));
    return set(&Reflection::SetEnum, &Reflection::SetRepeatedEnum, value);
  }
  case FieldDescriptor::CPPTYPE_STRING: {
    std::string text =
        index < 0 ? reflection.GetString(message, &field) : reflection.GetRepeatedString(message, &field, index);
    if (text.empty() || random.chance(0.5))
      text = valueName();
    else if (random.chance(0.5))
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    else
      text.resize(random.below(text.size()));
    return set(&Reflection::SetString, &Reflection::SetRepeatedString, std::move(text));
  }
  case FieldDescriptor::CPPTYPE_MESSAGE:
    return;
  }
}

void Mutator::changeAnyField() {
  Message *message = &model;
  // Descends a random path, and changes what it ends at.
  for (int depth = 0; depth < 12; ++depth) {
    const Reflection &reflection = *message->GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection.ListFields(*message, &fields);
    if (fields.empty() || random.chance(0.1)) {
      const auto &type = *message->GetDescriptor();
      const FieldDescriptor &field =
          *type.field(static_cast<int>(random.below(static_cast<uint64_t>(type.field_count()))));
      if (field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        reflection.AddMessage(message, &field);
      else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        reflection.MutableMessage(message, &field);
      else if (!field.is_repeated())
        changeScalar(*message, field, -1);
      return;
    }
    const FieldDescriptor &field = *fields[random.below(fields.size())];
    const int size = field.is_repeated() ? reflection.FieldSize(*message, &field) : 0;
    const int index = field.is_repeated() ? static_cast<int>(random.below(static_cast<uint64_t>(size))) : -1;
    if (random.chance(0.05)) {
      reflection.ClearField(message, &field);
      return;
    }
    if (field.is_repeated() && random.chance(0.1)) {
      if (random.chance(0.5))
        reflection.SwapElements(message, &field, index, static_cast<int>(random.below(static_cast<uint64_t>(size))));
      else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        reflection.AddMessage(message, &field)->CopyFrom(reflection.GetRepeatedMessage(*message, &field, index));
      else
        reflection.RemoveLast(message, &field);
      return;
    }
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      changeScalar(*message, field, index);
      return;
    }
    message = index < 0 ? reflection.MutableMessage(message, &field)
                        : reflection.MutableRepeatedMessage(message, &field, index);
  }
}

void Mutator::change() {
  static constexpr std::array<void (Mutator::*)(), 16> kChanges = {
      &Mutator::changeExtent,    &Mutator::changeExtent,      &Mutator::changeAttribute, &Mutator::changeAttribute,
      &Mutator::changeAttribute, &Mutator::changeElementType, &Mutator::changeOperator,  &Mutator::changeOperator,
      &Mutator::changeOperand,   &Mutator::changeData,        &Mutator::changeData,      &Mutator::addNode,
      &Mutator::addNode,         &Mutator::removeNode,        &Mutator::changeAnyField,  &Mutator::changeAnyField};
  for (uint64_t i = 0, n = 1 + random.below(4); i < n; ++i)
    (this->*anyOf(kChanges))();
  if (random.chance(0.2))
    model.set_model_version(static_cast<int64_t>(random.below(8)));
}

} // namespace

void mutateModel(::onnx::ModelProto &model, uint64_t seed) { Mutator(model, seed).change(); }

void crossModels(::onnx::ModelProto &model, const ::onnx::ModelProto &other, uint64_t seed) {
  ::onnx::GraphProto &graph = *model.mutable_graph();
  graph.mutable_initializer()->MergeFrom(other.graph().initializer());
  graph.mutable_input()->MergeFrom(other.graph().input());
  graph.mutable_node()->MergeFrom(other.graph().node());
  graph.mutable_output()->MergeFrom(other.graph().output());
  if (model.opset_import_size() == 0)
    *model.mutable_opset_import() = other.opset_import();
  mutateModel(model, seed);
}

} // namespace sluice::fuzz
