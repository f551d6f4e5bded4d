//===- TensorDataTest.cpp - Every way a tensor holds its data -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

#include <cstring>

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;

namespace {

::onnx::TensorProto tensorOf(int32_t type, std::initializer_list<int64_t> dims) {
  ::onnx::TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  return tensor;
}

template <typename T>
std::vector<T> elementsOf(const TensorData &data) {
  std::vector<T> values(data.bytes.size() / sizeof(T));
  std::memcpy(values.data(), data.bytes.data(), values.size() * sizeof(T));
  return values;
}

} // namespace

TEST_CASE("Types of less than a byte unpack, low bits first", "[onnx]") {
  auto unpacked = [](int32_t type, int64_t count, const char *raw) {
    ::onnx::TensorProto tensor = tensorOf(type, {count});
    tensor.set_raw_data(raw);
    std::vector<int> values;
    for (std::byte byte : unpackedBytes(*inlineTensorData(tensor, nullptr)))
      values.push_back(static_cast<int8_t>(byte));
    return values;
  };
  CHECK(unpacked(onnxtype::UInt4, 3, "\x21\x0f") == std::vector<int>{1, 2, 15});
  CHECK(unpacked(onnxtype::Int4, 3, "\x81\x0f") == std::vector<int>{1, -8, -1});
  CHECK(unpacked(onnxtype::UInt2, 5, "\x1b\x02") == std::vector<int>{3, 2, 1, 0, 2});
  CHECK(unpacked(onnxtype::Int2, 5, "\x1b\x02") == std::vector<int>{-1, -2, 1, 0, -2});
  CHECK(unpacked(onnxtype::Int8, 2, "\x80\x01") == std::vector<int>{-128, 1});
}

TEST_CASE("Typed fields decode to packed elements", "[onnx]") {
  SECTION("float16 in int32_data") {
    ::onnx::TensorProto tensor = tensorOf(onnxtype::Float16, {2});
    tensor.add_int32_data(0x3c00);
    tensor.add_int32_data(0xc000);
    CHECK(elementsOf<uint16_t>(*inlineTensorData(tensor, nullptr)) == std::vector<uint16_t>{0x3c00, 0xc000});
  }
  SECTION("int8 in int32_data") {
    ::onnx::TensorProto tensor = tensorOf(onnxtype::Int8, {3});
    for (int value : {-128, 0, 127})
      tensor.add_int32_data(value);
    CHECK(elementsOf<int8_t>(*inlineTensorData(tensor, nullptr)) == std::vector<int8_t>{-128, 0, 127});
    CHECK(*integersOf(*inlineTensorData(tensor, nullptr)) == std::vector<int64_t>{-128, 0, 127});
  }
  SECTION("uint32 in uint64_data") {
    ::onnx::TensorProto tensor = tensorOf(onnxtype::UInt32, {1});
    tensor.add_uint64_data(0xfffffffe);
    CHECK(elementsOf<uint32_t>(*inlineTensorData(tensor, nullptr)) == std::vector<uint32_t>{0xfffffffe});
  }
  SECTION("bool in int32_data") {
    ::onnx::TensorProto tensor = tensorOf(onnxtype::Bool, {2});
    tensor.add_int32_data(1);
    tensor.add_int32_data(0);
    CHECK(elementsOf<uint8_t>(*inlineTensorData(tensor, nullptr)) == std::vector<uint8_t>{1, 0});
  }
  SECTION("double, int64, int32, float") {
    ::onnx::TensorProto tensor = tensorOf(onnxtype::Double, {});
    tensor.add_double_data(0.5);
    CHECK(elementsOf<double>(*inlineTensorData(tensor, nullptr)) == std::vector<double>{0.5});
    tensor = tensorOf(onnxtype::Int64, {1});
    tensor.add_int64_data(-7);
    CHECK(elementsOf<int64_t>(*inlineTensorData(tensor, nullptr)) == std::vector<int64_t>{-7});
    tensor = tensorOf(onnxtype::Int32, {1});
    tensor.add_int32_data(-7);
    CHECK(elementsOf<int32_t>(*inlineTensorData(tensor, nullptr)) == std::vector<int32_t>{-7});
    tensor = tensorOf(onnxtype::Float, {1});
    tensor.add_float_data(2.5f);
    CHECK(elementsOf<float>(*inlineTensorData(tensor, nullptr)) == std::vector<float>{2.5f});
  }
  SECTION("4-bit types take half a byte, rounded up") {
    ::onnx::TensorProto tensor = tensorOf(onnxtype::Int4, {3});
    tensor.set_raw_data("ab");
    CHECK(inlineTensorData(tensor, nullptr));
    tensor.set_raw_data("abc");
    CHECK_FALSE(inlineTensorData(tensor, nullptr));
  }
}

TEST_CASE("What cannot be decoded is refused", "[onnx]") {
  ::onnx::TensorProto tensor = tensorOf(onnxtype::String, {1});
  tensor.add_string_data("s");
  CHECK_THAT(messageOf(inlineTensorData(tensor, nullptr)), Contains("strings"));
  tensor = tensorOf(onnxtype::Float, {2});
  tensor.add_float_data(1);
  CHECK_THAT(messageOf(inlineTensorData(tensor, nullptr)), Contains("holds 4 bytes"));
  tensor.mutable_segment()->set_begin(0);
  CHECK_THAT(messageOf(inlineTensorData(tensor, nullptr)), Contains("segment"));
  TensorData floats;
  floats.elementType = onnxtype::Float;
  CHECK_THAT(messageOf(integersOf(floats)), Contains("float"));
}

TEST_CASE("Tensor files read back", "[onnx]") {
  TemporaryDirectory directory;
  ::onnx::TensorProto tensor = tensorOf(onnxtype::Float, {2});
  tensor.add_float_data(1);
  tensor.add_float_data(2);
  writeFile(directory / "t.pb", tensor.SerializeAsString());
  Expected<HostTensor> read = readTensorFile(directory / "t.pb");
  REQUIRE(read);
  CHECK(read->name == "t");
  CHECK(read->shape == std::vector<int64_t>{2});
  CHECK(read->valueAt(0) == 1);
  CHECK(read->valueAt(1) == 2);
  writeFile(directory / "bad.pb", "\xff\xff\xff");
  CHECK_THAT(messageOf(readTensorFile(directory / "bad.pb")), Contains("not a protobuf TensorProto"));
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  writeFile(directory / "out.pb", tensor.SerializeAsString());
  CHECK_THAT(messageOf(readTensorFile(directory / "out.pb")), Contains("another file"));
}
