//===- StripInitializers.cpp - Weights stay in the file -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Protobuf copies every bytes field that it parses. The weights of a model are such fields, so they are cut out of the
// serialized form before it is parsed. They are two message levels down: ModelProto.graph (7), GraphProto.initializer
// (5), TensorProto.raw_data (9).
//
//===----------------------------------------------------------------------===//
#include "ModelInternals.h"

namespace sluice {
namespace {

constexpr uint64_t kModelGraph = 7, kGraphInitializer = 5, kTensorRawData = 9;
constexpr size_t kWorthStripping = 1024;

struct Field {
  uint64_t number = 0;
  bool delimited = false;
  std::span<const std::byte> whole;   ///< Tag included.
  std::span<const std::byte> payload; ///< Of a length-delimited field.
};

class WireReader {
public:
  explicit WireReader(std::span<const std::byte> message) : rest(message) {}
  bool done() const { return rest.empty(); }

  std::optional<Field> next() {
    std::span<const std::byte> start = rest;
    std::optional<uint64_t> tag = varint();
    if (!tag)
      return std::nullopt;
    Field field;
    field.number = *tag >> 3;
    size_t skip = 0;
    switch (*tag & 7) {
    case 0:
      if (!varint())
        return std::nullopt;
      break;
    case 1:
      skip = 8;
      break;
    case 2: {
      std::optional<uint64_t> length = varint();
      if (!length || *length > rest.size())
        return std::nullopt;
      field.delimited = true;
      field.payload = rest.first(*length);
      skip = *length;
      break;
    }
    case 5:
      skip = 4;
      break;
    default: // Groups: ONNX has none.
      return std::nullopt;
    }
    if (skip > rest.size())
      return std::nullopt;
    rest = rest.subspan(skip);
    field.whole = start.first(start.size() - rest.size());
    return field;
  }

private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < 10 && i < rest.size(); ++i) {
      auto byte = static_cast<uint64_t>(rest[i]);
      value |= (byte & 0x7f) << (7 * i);
      if (!(byte & 0x80)) {
        rest = rest.subspan(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }
  std::span<const std::byte> rest;
};

void append(std::string &out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void appendDelimited(std::string &out, uint64_t number, std::string_view payload) {
  appendVarint(out, number << 3 | 2);
  appendVarint(out, payload.size());
  out.append(payload);
}

/// The one raw_data field of a serialized tensor, and the tensor without it.
struct StrippedTensor {
  std::span<const std::byte> data;
  std::string rest;
};
std::optional<StrippedTensor> stripTensor(std::span<const std::byte> tensor) {
  if (tensor.size() < kWorthStripping)
    return std::nullopt;
  StrippedTensor result;
  int found = 0;
  for (WireReader reader(tensor); !reader.done();) {
    std::optional<Field> field = reader.next();
    if (!field)
      return std::nullopt;
    if (field->number == kTensorRawData && field->delimited) {
      ++found;
      result.data = field->payload;
    } else if (field->whole.size() < kWorthStripping) {
      append(result.rest, field->whole);
    } else {
      return std::nullopt; // Large typed data: nothing to gain.
    }
  }
  if (found != 1 || result.data.size() < kWorthStripping)
    return std::nullopt;
  appendDelimited(result.rest, kTensorRawData, "");
  return result;
}

} // namespace

std::optional<StrippedModel> stripInitializers(std::span<const std::byte> model) {
  StrippedModel result;
  bool worthwhile = false;
  int graphs = 0;
  for (WireReader modelReader(model); !modelReader.done();) {
    std::optional<Field> modelField = modelReader.next();
    if (!modelField)
      return std::nullopt;
    if (modelField->number != kModelGraph) {
      append(result.model, modelField->whole);
      continue;
    }
    // Repeated occurrences merge; not worth following.
    if (!modelField->delimited || ++graphs > 1)
      return std::nullopt;
    std::string graph;
    for (WireReader graphReader(modelField->payload); !graphReader.done();) {
      std::optional<Field> field = graphReader.next();
      if (!field)
        return std::nullopt;
      if (field->number != kGraphInitializer || !field->delimited) {
        append(graph, field->whole);
        continue;
      }
      if (std::optional<StrippedTensor> tensor = stripTensor(field->payload)) {
        appendDelimited(graph, kGraphInitializer, tensor->rest);
        result.initializerData.emplace_back(tensor->data);
        worthwhile = true;
      } else {
        append(graph, field->whole);
        result.initializerData.emplace_back(std::nullopt);
      }
    }
    appendDelimited(result.model, kModelGraph, graph);
  }
  if (!worthwhile)
    return std::nullopt;
  return result;
}

} // namespace sluice
