//===- TensorData.cpp - Constant tensors of a model -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/TensorData.h"

#include "MappedFile.h"
#include "ModelInternals.h"
#include "sluice/Support/Text.h"

#include <bit>
#include <climits>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian");

namespace sluice {

namespace onnxtype {
namespace {
struct Info {
  const char *name;
  int bits;
};
constexpr Info kTypes[] = {
    {"undefined", 0},      {"float", 32},    {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"double", 64},   {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2}};
bool known(int32_t elementType) { return elementType >= 0 && elementType < static_cast<int32_t>(std::size(kTypes)); }
} // namespace

std::string name(int32_t elementType) {
  return known(elementType) ? kTypes[elementType].name : concat("type ", elementType);
}
int bits(int32_t elementType) { return known(elementType) ? kTypes[elementType].bits : 0; }
} // namespace onnxtype

Expected<int64_t> checkedElementCount(std::span<const int64_t> dims, std::string_view what) {
  int64_t bound = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return makeError(ErrorCode::InvalidInput, what, " has the negative dimension ", dim);
    empty |= dim == 0;
    if (__builtin_mul_overflow(bound, dim ? dim : 1, &bound) || bound > INT64_MAX / 16)
      return makeError(ErrorCode::InvalidInput, what, " has more than 2^59 elements");
  }
  return empty ? 0 : bound;
}

int64_t TensorData::elementCount() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

int64_t tensorByteCount(int32_t elementType, int64_t elementCount) {
  int bits = onnxtype::bits(elementType);
  return bits >= 8 ? elementCount * (bits / 8) : (elementCount * bits + 7) / 8;
}

std::vector<std::byte> unpackedBytes(const TensorData &data) {
  const int bits = onnxtype::bits(data.elementType);
  if (bits >= 8)
    return {data.bytes.begin(), data.bytes.end()};
  const bool isSigned = data.elementType == onnxtype::Int4 || data.elementType == onnxtype::Int2;
  const int perByte = 8 / bits;
  std::vector<std::byte> result(static_cast<size_t>(data.elementCount()));
  for (size_t i = 0; i < result.size(); ++i) {
    auto packed = static_cast<unsigned>(data.bytes[i / perByte]) >> (i % perByte * bits) & ((1U << bits) - 1);
    if (isSigned && packed >> (bits - 1))
      packed |= 0xffU << bits;
    result[i] = static_cast<std::byte>(packed);
  }
  return result;
}

namespace {

/// Narrows the elements of a typed field into packed bytes.
template <typename To, typename Field>
std::vector<std::byte> narrow(const Field &field) {
  std::vector<std::byte> bytes(sizeof(To) * field.size());
  for (int i = 0; i < field.size(); ++i) {
    To value = static_cast<To>(field.Get(i));
    std::memcpy(bytes.data() + sizeof(To) * i, &value, sizeof(To));
  }
  return bytes;
}

std::vector<std::byte> typedBytes(const ::onnx::TensorProto &tensor) {
  using namespace onnxtype;
  switch (tensor.data_type()) {
  case Float:
  case Complex64:
    return narrow<float>(tensor.float_data());
  case Double:
  case Complex128:
    return narrow<double>(tensor.double_data());
  case Int64:
    return narrow<int64_t>(tensor.int64_data());
  case UInt64:
    return narrow<uint64_t>(tensor.uint64_data());
  case UInt32:
    return narrow<uint32_t>(tensor.uint64_data());
  case Int32:
    return narrow<int32_t>(tensor.int32_data());
  case Int16:
  case UInt16:
  case Float16:
  case BFloat16:
    return narrow<uint16_t>(tensor.int32_data());
  default: // One byte an entry; 4-bit types hold two elements in it.
    return narrow<uint8_t>(tensor.int32_data());
  }
}

} // namespace

Expected<TensorData> checkedTensorShape(const ::onnx::TensorProto &tensor, int64_t bytes) {
  auto what = [&] { return concat("tensor '", excerpt(tensor.name()), "'"); };
  int32_t type = tensor.data_type();
  if (tensor.has_segment())
    return makeError(ErrorCode::Unsupported, what(), " is a segment of a larger tensor, which is not supported");
  if (type == onnxtype::String)
    return makeError(ErrorCode::Unsupported, what(), " holds strings, which are not supported here");
  if (!onnxtype::bits(type))
    return makeError(ErrorCode::InvalidInput, what(), " has the unknown element type ", type);
  TensorData result;
  result.elementType = type;
  result.dims.assign(tensor.dims().begin(), tensor.dims().end());
  SLUICE_ASSIGN_OR_RETURN(int64_t count, checkedElementCount(result.dims, what()));
  int64_t expected = tensorByteCount(type, count);
  if (bytes != expected)
    return makeError(ErrorCode::InvalidInput, what(), " holds ", bytes, " bytes of data, and its shape with ",
                     onnxtype::name(type), " elements needs ", expected);
  return result;
}

Expected<TensorData> checkedTensorData(const ::onnx::TensorProto &tensor, std::optional<std::span<const std::byte>> raw,
                                       std::shared_ptr<const void> owner) {
  if (!raw && tensor.has_raw_data())
    raw = std::as_bytes(std::span(tensor.raw_data()));
  if (!raw) {
    auto decoded = std::make_shared<std::vector<std::byte>>(typedBytes(tensor));
    raw = *decoded;
    owner = std::move(decoded);
  }
  Expected<TensorData> result = checkedTensorShape(tensor, static_cast<int64_t>(raw->size()));
  if (!result)
    return result;
  result->bytes = *raw;
  result->owner = std::move(owner);
  return result;
}

Expected<TensorData> inlineTensorData(const ::onnx::TensorProto &tensor, std::shared_ptr<const void> owner) {
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL)
    return makeError(ErrorCode::Unsupported, "tensor '", excerpt(tensor.name()),
                     "' keeps its data in another file, which only a model opened from a file can read");
  return checkedTensorData(tensor, std::nullopt, std::move(owner));
}

Expected<std::vector<int64_t>> integersOf(const TensorData &tensor) {
  std::vector<int64_t> values;
  values.reserve(tensor.elementCount());
  auto read = [&]<typename T>(T) {
    for (size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof(T));
      values.push_back(static_cast<int64_t>(value));
    }
  };
  switch (tensor.elementType) {
  case onnxtype::Int64:
  case onnxtype::UInt64:
    read(int64_t());
    break;
  case onnxtype::Int32:
    read(int32_t());
    break;
  case onnxtype::UInt32:
    read(uint32_t());
    break;
  case onnxtype::Int16:
    read(int16_t());
    break;
  case onnxtype::UInt16:
    read(uint16_t());
    break;
  case onnxtype::Int8:
    read(int8_t());
    break;
  case onnxtype::UInt8:
  case onnxtype::Bool:
    read(uint8_t());
    break;
  default:
    return makeError(ErrorCode::InvalidInput, "a tensor of ", onnxtype::name(tensor.elementType),
                     " is given where integers are needed");
  }
  return values;
}

Status checkStrings(const ::onnx::TensorProto &tensor) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  std::string what = concat("tensor '", excerpt(tensor.name()), "'");
  SLUICE_ASSIGN_OR_RETURN(int64_t count, checkedElementCount(dims, what));
  if (count != tensor.string_data_size())
    return makeError(ErrorCode::InvalidInput, what, " holds ", tensor.string_data_size(),
                     " strings, and its shape needs ", count);
  return {};
}

namespace {

/// Parses a file of one protobuf message.
template <typename Message>
Expected<std::shared_ptr<Message>> readMessage(const std::string &path, const char *kind) {
  SLUICE_ASSIGN_OR_RETURN(OpenedFile file, openRegularFile(path));
  if (file.size > INT_MAX)
    return makeError(ErrorCode::Unsupported, "'", path,
                     "' is larger than the 2 GiB that protobuf allows, give a smaller file");
  SLUICE_ASSIGN_OR_RETURN(auto mapping, MappedFile::map(file.handle, file.size, path));
  auto message = std::make_shared<Message>();
  if (!message->ParseFromArray(mapping->bytes().data(), static_cast<int>(file.size)))
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not a protobuf ", kind, ", give another file");
  return message;
}

Expected<HostTensor> hostTensor(std::shared_ptr<const ::onnx::TensorProto> proto, const std::string &path) {
  if (proto->data_type() == onnxtype::String) {
    if (Status status = checkStrings(*proto); !status)
      return makeError(status.error().code, status.error().message, ", in '", path, "', give another file");
    return makeStringTensor(proto->name(), {proto->dims().begin(), proto->dims().end()},
                            std::vector<std::string>(proto->string_data().begin(), proto->string_data().end()));
  }
  Expected<TensorData> data = inlineTensorData(*proto, proto);
  if (!data)
    return makeError(data.error().code, data.error().message, ", in '", path, "', give another file");
  Expected<ElementType> type = elementTypeFromOnnx(data->elementType);
  if (!type)
    return makeError(type.error().code, "'", path, "' cannot be read: ", type.error().message);
  return HostTensor{proto->name(), *type, data->dims, unpackedBytes(*data)};
}

/// `owner` keeps the sequence alive.
Expected<HostValue> hostSequence(const ::onnx::SequenceProto &sequence, const std::shared_ptr<const void> &owner,
                                 const std::string &path) {
  if (sequence.elem_type() != ::onnx::SequenceProto::TENSOR && sequence.tensor_values_size() == 0 &&
      sequence.elem_type() != ::onnx::SequenceProto::UNDEFINED)
    return makeError(ErrorCode::Unsupported, "'", path,
                     "' is a sequence of elements other than tensors, give a sequence of tensors");
  HostValue result{sequence.name(), true, {}};
  for (const ::onnx::TensorProto &tensor : sequence.tensor_values()) {
    SLUICE_ASSIGN_OR_RETURN(HostTensor element,
                            hostTensor(std::shared_ptr<const ::onnx::TensorProto>(owner, &tensor), path));
    result.tensors.push_back(std::move(element));
  }
  return result;
}

} // namespace

Expected<HostTensor> readTensorFile(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(auto proto, readMessage<::onnx::TensorProto>(path, "TensorProto"));
  return hostTensor(proto, path);
}

Expected<HostValue> readValueFile(const std::string &path, std::string_view kind) {
  if (kind == "sequence") {
    SLUICE_ASSIGN_OR_RETURN(auto proto, readMessage<::onnx::SequenceProto>(path, "SequenceProto"));
    return hostSequence(*proto, proto, path);
  }
  std::shared_ptr<const ::onnx::TensorProto> tensor;
  if (kind == "optional") {
    SLUICE_ASSIGN_OR_RETURN(auto proto, readMessage<::onnx::OptionalProto>(path, "OptionalProto"));
    if (proto->has_sequence_value())
      return hostSequence(proto->sequence_value(), proto, path);
    if (!proto->has_tensor_value())
      return HostValue{proto->name(), true, {}};
    tensor = std::shared_ptr<const ::onnx::TensorProto>(proto, &proto->tensor_value());
  } else {
    SLUICE_ASSIGN_OR_RETURN(auto proto, readMessage<::onnx::TensorProto>(path, "TensorProto"));
    tensor = proto;
  }
  SLUICE_ASSIGN_OR_RETURN(HostTensor read, hostTensor(tensor, path));
  return HostValue{read.name, false, {std::move(read)}};
}

} // namespace sluice
