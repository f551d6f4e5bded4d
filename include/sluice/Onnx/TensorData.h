//===- TensorData.h - Constant tensors of a model ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A constant is a view of the mapped model file, of a mapped file of external data, or of
// the parsed protobuf. A constant in typed fields is a view of bytes that were decoded from them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_TENSORDATA_H
#define SLUICE_ONNX_TENSORDATA_H

#include "sluice/Support/Error.h"
#include "sluice/TensorIO/HostTensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace sluice {

/// The numbers of ONNX's TensorProto.DataType, including those that are newer than the installed protobuf schema.
namespace onnxtype {
enum Number : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};
/// "float", "int64" and so on; "type 99" for a number that ONNX does not define.
std::string name(int32_t elementType);
/// Bits of one element in raw data; 0 for strings and unknown numbers.
int bits(int32_t elementType);
} // namespace onnxtype

/// The number of elements of a shape. Fails, naming `what`, on a negative dimension, and if the product of the
/// dimensions times 16 (the bytes of the largest element type) does not fit int64. This check counts dimensions of zero
/// as one, so no partial product overflows.
Expected<int64_t> checkedElementCount(std::span<const int64_t> dims, std::string_view what);

struct TensorData {
  int32_t elementType = onnxtype::Undefined;
  std::vector<int64_t> dims;
  /// Row-major and little-endian data, not aligned. Types of 4 and 2 bits are packed, low bits first, unless the number
  /// of bytes equals the number of elements (unpackedBytes). Empty if the data is missing.
  std::span<const std::byte> bytes;
  /// Keeps `bytes` alive.
  std::shared_ptr<const void> owner;

  int64_t elementCount() const;
};

/// The bytes of a number of elements; the number must come from checkedElementCount.
int64_t tensorByteCount(int32_t elementType, int64_t elementCount);

/// The data, with elements of packed types of 4 and 2 bits unpacked to one byte each. Int4 and Int2 are sign-extended,
/// and other packed types are zero-extended. Data of all other types is unchanged.
std::vector<std::byte> unpackedBytes(const TensorData &data);

/// Decodes the typed or raw fields of a TensorProto and checks them against its dims. `owner` keeps `tensor` alive.
/// Fails on strings, segments, unknown types, and external data, which only a ModelFile can open.
Expected<TensorData> inlineTensorData(const ::onnx::TensorProto &tensor, std::shared_ptr<const void> owner);

/// The integers of an INT32, INT64, or smaller integer or bool tensor.
Expected<std::vector<int64_t>> integersOf(const TensorData &tensor);

/// Reads a .pb file that holds one TensorProto without external data, as the ONNX backend tests keep them.
Expected<HostTensor> readTensorFile(const std::string &path);

/// A tensor, or a sequence of them; an optional without a value is an empty sequence.
struct HostValue {
  std::string name;
  bool isSequence = false;
  std::vector<HostTensor> tensors;
};
/// Reads a .pb file that holds a value of a DeclaredTensor's `kind`: one TensorProto, SequenceProto or OptionalProto.
Expected<HostValue> readValueFile(const std::string &path, std::string_view kind);

} // namespace sluice

#endif // SLUICE_ONNX_TENSORDATA_H
