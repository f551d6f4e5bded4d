//===- GraphJson.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Within one file, tensors are referred to by their index, because their names need not be unique.
//
//===----------------------------------------------------------------------===//

#include "sluice/Graph/GraphJson.h"

#include <array>
#include <nlohmann/json.hpp>

namespace sluice {

static constexpr std::array<std::string_view, 4> kKindNames = {"activation", "parameter", "input", "state"};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json idsToJson(const std::vector<TensorId> &ids) {
  Json array = Json::array();
  for (TensorId id : ids)
    array.push_back(id.value);
  return array;
}

/// Fields at their defaults are left out.
Json graphToJson(const Graph &graph) {
  Json json;
  json["schema"] = kGraphSchema;
  json["name"] = graph.name;
  if (graph.keepsOrder)
    json["keepsOrder"] = true;
  Json tensors = Json::array();
  for (const Tensor &tensor : graph.tensors()) {
    Json entry;
    entry["name"] = tensor.name;
    entry["kind"] = kKindNames[static_cast<size_t>(tensor.kind)];
    entry["bytes"] = tensor.bytes;
    if (!tensor.type.empty())
      entry["type"] = tensor.type;
    if (tensor.touchedBytes != 0)
      entry["touchedBytes"] = tensor.touchedBytes;
    if (tensor.isPooled)
      entry["pooled"] = true;
    if (tensor.isOutput)
      entry["output"] = true;
    if (tensor.updates.valid())
      entry["updates"] = tensor.updates.value;
    tensors.push_back(std::move(entry));
  }
  json["tensors"] = std::move(tensors);

  Json operators = Json::array();
  for (const Operator &op : graph.operators()) {
    Json entry;
    entry["name"] = op.name;
    entry["kind"] = op.kind;
    entry["inputs"] = idsToJson(op.inputs);
    entry["outputs"] = idsToJson(op.outputs);
    entry["flops"] = op.flops;
    if (op.bytesMoved != 0)
      entry["bytesMoved"] = op.bytesMoved;
    if (op.workspaceBytes != 0)
      entry["workspaceBytes"] = op.workspaceBytes;
    if (op.demandBytes != 0)
      entry["demandBytes"] = op.demandBytes;
    if (!op.signature.empty())
      entry["signature"] = op.signature;
    if (!op.inPlace.empty()) {
      Json pairs = Json::array();
      for (auto [input, output] : op.inPlace)
        pairs.push_back(Json::array({input, output}));
      entry["inPlace"] = std::move(pairs);
    }
    if (op.colocation >= 0)
      entry["colocation"] = op.colocation;
    if (op.communicates)
      entry["communicates"] = true;
    operators.push_back(std::move(entry));
  }
  json["operators"] = std::move(operators);
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Expected<uint32_t> indexBelow(const JsonReader &reader, size_t bound, std::string_view what) {
  SLUICE_ASSIGN_OR_RETURN(int64_t value, reader.asInteger());
  if (value < 0 || static_cast<uint64_t>(value) >= bound)
    return makeError(ErrorCode::InvalidInput, what, " ", value, " does not exist, at '", reader.where(), "', ",
                     bound > 0 ? concat("use an index from 0 to ", bound - 1) : "declare one first");
  return static_cast<uint32_t>(value);
}

/// Reads a member with `read` into `target`; passes the first error on.
template <typename T>
static Status readInto(T &target, Expected<T> value) {
  if (!value)
    return propagate(value);
  target = std::move(*value);
  return {};
}

static Expected<Tensor> readTensor(const JsonReader &reader, size_t numTensors) {
  Tensor tensor;
  std::string kind;
  Status status = reader.onlyKeys({"name", "kind", "bytes", "touchedBytes", "pooled", "type", "output", "updates"});
  status = status.and_then([&] { return readInto(tensor.name, reader.string("name")); })
               .and_then([&] { return readInto(kind, reader.string("kind")); })
               .and_then([&] { return readInto(tensor.bytes, reader.integer("bytes")); })
               .and_then([&] { return readInto(tensor.touchedBytes, reader.integer("touchedBytes", 0)); })
               .and_then([&] { return readInto(tensor.isPooled, reader.boolean("pooled", false)); })
               .and_then([&] { return readInto(tensor.type, reader.string("type", "")); })
               .and_then([&] { return readInto(tensor.isOutput, reader.boolean("output", false)); });
  if (!status)
    return propagate(status);
  size_t index = 0;
  while (index < kKindNames.size() && kKindNames[index] != kind)
    ++index;
  if (index == kKindNames.size())
    return makeError(ErrorCode::InvalidInput, "tensor kind '", kind.substr(0, 80), "' is unknown, at '", reader.where(),
                     ".kind', write activation, parameter, input or state");
  tensor.kind = static_cast<TensorKind>(index);
  if (reader.has("updates")) {
    SLUICE_ASSIGN_OR_RETURN(uint32_t updates, indexBelow(*reader.member("updates"), numTensors, "tensor"));
    tensor.updates = TensorId(updates);
  }
  return tensor;
}

static Expected<std::vector<TensorId>> readIds(const JsonReader &reader, std::string_view key, size_t numTensors) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> elements,
                          reader.member(key).and_then([](const JsonReader &list) { return list.elements(); }));
  std::vector<TensorId> ids;
  for (const JsonReader &element : elements) {
    SLUICE_ASSIGN_OR_RETURN(uint32_t id, indexBelow(element, numTensors, "tensor"));
    ids.emplace_back(id);
  }
  return ids;
}

static Expected<std::vector<std::pair<uint32_t, uint32_t>>> readPairs(const JsonReader &reader, const Operator &op) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> elements, reader.elements());
  for (const JsonReader &element : elements) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, element.elements());
    if (pair.size() != 2)
      return makeError(ErrorCode::InvalidInput, "expected two numbers, at '", element.where(),
                       "', write [input, output]");
    SLUICE_ASSIGN_OR_RETURN(uint32_t input, indexBelow(pair[0], op.inputs.size(), "input"));
    SLUICE_ASSIGN_OR_RETURN(uint32_t output, indexBelow(pair[1], op.outputs.size(), "output"));
    pairs.emplace_back(input, output);
  }
  return pairs;
}

static Expected<Operator> readOperator(const JsonReader &reader, size_t numTensors) {
  Operator op;
  int64_t colocation = -1;
  Status status = reader.onlyKeys({"name", "kind", "inputs", "outputs", "flops", "bytesMoved", "workspaceBytes",
                                   "demandBytes", "signature", "inPlace", "colocation", "communicates"});
  status = status.and_then([&] { return readInto(op.name, reader.string("name")); })
               .and_then([&] { return readInto(op.kind, reader.string("kind")); })
               .and_then([&] { return readInto(op.inputs, readIds(reader, "inputs", numTensors)); })
               .and_then([&] { return readInto(op.outputs, readIds(reader, "outputs", numTensors)); })
               .and_then([&] { return readInto(op.flops, reader.integer("flops", 0)); })
               .and_then([&] { return readInto(op.bytesMoved, reader.integer("bytesMoved", 0)); })
               .and_then([&] { return readInto(op.workspaceBytes, reader.integer("workspaceBytes", 0)); })
               .and_then([&] { return readInto(op.demandBytes, reader.integer("demandBytes", 0)); })
               .and_then([&] { return readInto(op.signature, reader.string("signature", "")); })
               .and_then([&] { return readInto(colocation, reader.integer("colocation", -1)); })
               .and_then([&] { return readInto(op.communicates, reader.boolean("communicates", false)); });
  if (status && reader.has("inPlace"))
    status = readInto(op.inPlace, readPairs(*reader.member("inPlace"), op));
  if (!status)
    return propagate(status);
  if (colocation < -1 || colocation > INT32_MAX)
    return makeError(ErrorCode::InvalidInput, "colocation ", colocation, " is out of range, at '", reader.where(),
                     ".colocation', write a number from 0 to 2147483647");
  op.colocation = static_cast<int32_t>(colocation);
  return op;
}

Expected<Graph> graphFromJson(const JsonReader &reader) {
  Graph graph;
  int64_t schema = 0;
  Status status = reader.onlyKeys({"schema", "name", "keepsOrder", "tensors", "operators"});
  status = status.and_then([&] { return readInto(schema, reader.integer("schema")); })
               .and_then([&] { return readInto(graph.name, reader.string("name", "")); })
               .and_then([&] { return readInto(graph.keepsOrder, reader.boolean("keepsOrder", false)); });
  if (!status)
    return propagate(status);
  if (schema < 1 || schema > kGraphSchema)
    return makeError(ErrorCode::Unsupported, "graph schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads 1 to ", kGraphSchema, ", use a newer version of Sluice");

  auto listOf = [&](std::string_view key) {
    return reader.member(key).and_then([](const JsonReader &list) { return list.elements(); });
  };
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> tensors, listOf("tensors"));
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> operators, listOf("operators"));
  for (const JsonReader &entry : tensors) {
    SLUICE_ASSIGN_OR_RETURN(Tensor tensor, readTensor(entry, tensors.size()));
    graph.addTensor(std::move(tensor));
  }
  for (const JsonReader &entry : operators) {
    SLUICE_ASSIGN_OR_RETURN(Operator op, readOperator(entry, tensors.size()));
    graph.addOperator(std::move(op));
  }
  SLUICE_RETURN_IF_ERROR(graph.check());
  return graph;
}

} // namespace sluice
