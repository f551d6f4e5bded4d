//===- HostTensor.h - A tensor in host memory -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_HOSTTENSOR_H
#define SLUICE_TENSORIO_HOSTTENSOR_H

#include "sluice/TensorIO/ElementType.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// An element of a tensor of strings: text without a zero behind it, not owned.
/// Lies as the runtime's sluice_string.
struct StringElement {
  const char *data = nullptr;
  int64_t size = 0;

  std::string_view view() const { return size > 0 ? std::string_view(data, static_cast<size_t>(size)) : ""; }
};

/// Dense, row-major, in this machine's byte order; `bytes` holds exactly the
/// elements. A scalar has an empty shape.
struct HostTensor {
  std::string name;
  ElementType type = ElementType::Float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  /// Keeps what strings point to; null where that is another's.
  std::shared_ptr<const void> text = nullptr;

  int64_t numElements() const { return static_cast<int64_t>(bytes.size()) / elementBytes(type); }
  template <typename T>
  T *data() {
    return reinterpret_cast<T *>(bytes.data());
  }
  template <typename T>
  const T *data() const {
    return reinterpret_cast<const T *>(bytes.data());
  }
  /// Element `index`, widened; 64-bit integers may lose their low bits. 0 for strings.
  double valueAt(int64_t index) const;
};

/// Fails on a negative dimension and on more than 2^62 bytes.
Expected<int64_t> tensorBytes(ElementType type, const std::vector<int64_t> &shape);
/// All zeros. Fails also where the memory cannot be had.
Expected<HostTensor> makeTensor(std::string name, ElementType type, std::vector<int64_t> shape);

/// Has as many elements as `shape` says.
HostTensor makeStringTensor(std::string name, std::vector<int64_t> shape, std::span<const std::string> elements);
/// Copies what strings point to, so that the tensor owns it. Other types stay as they are.
void ownText(HostTensor &tensor);

/// Fills with values of its type: floating point uniform in [-1, 1), integers
/// uniform in 0..3 (valid indices of nearly everything), booleans fair, strings
/// one of four letters. A
/// function of seed, stream, type and size alone; tensors of one model take
/// different streams.
void fillRandom(HostTensor &tensor, uint64_t seed, uint64_t stream = 0);

/// What a program calls the output that says how much of dimension `dimension` of its output `name` holds:
/// "y:extent0".
inline std::string extentName(const std::string &name, size_t dimension) {
  return name + ":extent" + std::to_string(dimension);
}
/// What a program calls the output that says how many elements of its output "x", a sequence, are there: "x:length", an
/// i64; and whether there is a value of it, an optional: "x:present", a bool. The elements are outputs "x[0]", "x[1]",
/// ...
inline constexpr std::string_view kLengthSuffix = ":length", kPresenceSuffix = ":present";
/// Cuts outputs to what their extents, lengths and presences say, and takes these away. Fails where one is no number in
/// range.
Status cutToExtents(std::vector<HostTensor> &outputs);

/// [2x3x224] of these dimensions.
std::string formatShape(const std::vector<int64_t> &shape);

} // namespace sluice

#endif // SLUICE_TENSORIO_HOSTTENSOR_H
