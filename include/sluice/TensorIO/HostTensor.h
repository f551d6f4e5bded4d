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

/// An element of a tensor of strings: a view of text without a terminating zero. It has the
/// layout of the runtime's sluice_string.
struct StringElement {
  const char *data = nullptr;
  int64_t size = 0;

  std::string_view view() const { return size > 0 ? std::string_view(data, static_cast<size_t>(size)) : ""; }
};

/// A tensor that is dense and row-major in this machine's byte order. `bytes` consists of the
/// elements without padding. A scalar has an empty shape.
struct HostTensor {
  std::string name;
  ElementType type = ElementType::Float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  /// Owns the text of strings; null if another object owns it.
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
  /// Element `index` as a double. 64-bit integers may lose their low bits. 0 for strings.
  double valueAt(int64_t index) const;
};

/// The bytes of a tensor. Fails on a negative dimension and on more than 2^62 bytes.
Expected<int64_t> tensorBytes(ElementType type, const std::vector<int64_t> &shape);
/// A tensor of zeros. Fails as tensorBytes does, and if the memory cannot be allocated.
Expected<HostTensor> makeTensor(std::string name, ElementType type, std::vector<int64_t> shape);

/// A tensor with the given values; their number must match `shape`.
HostTensor makeStringTensor(std::string name, std::vector<int64_t> shape, std::span<const std::string> elements);
/// Copies the text of strings, so that the tensor owns it. Tensors of other types do not change.
void ownText(HostTensor &tensor);

/// Fills a tensor with random values of its type. Floating-point numbers of 16, 32 and 64 bits are uniform in [-1, 1);
/// smaller ones have the bit patterns 0 to 3. Integers are uniform in 0..3, which are valid indices in nearly all
/// models; integers of 2 bits are uniform in 0..1. Booleans are true with probability 1/2. Each string is one of four
/// letters. The values depend only on seed, stream, type and size. Tensors of one model should have different streams.
void fillRandom(HostTensor &tensor, uint64_t seed, uint64_t stream = 0);

/// An output whose extent depends on data has room for the greatest extent, and a further output has its *valid
/// extent*: the number of positions with data. This function returns the name of the output with the valid extent of
/// dimension `dimension` of output `name`, such as "y:extent0".
inline std::string extentName(const std::string &name, size_t dimension) {
  return name + ":extent" + std::to_string(dimension);
}
/// The names of two further outputs: "x:length", an i64, is the number of elements of an output "x" that is a sequence,
/// and "x:present", a bool, says whether an output "x" that is an optional has a value. The elements are outputs
/// "x[0]", "x[1]" and so on.
inline constexpr std::string_view kLengthSuffix = ":length", kPresenceSuffix = ":present";
/// Cuts outputs to their valid extents and removes elements and optionals that have no value. Then removes the further
/// outputs with extents, lengths and presences. Fails if an extent or a length is out of range.
Status cutToExtents(std::vector<HostTensor> &outputs);

/// The text of a shape, such as "[2x3x224]".
std::string formatShape(const std::vector<int64_t> &shape);

} // namespace sluice

#endif // SLUICE_TENSORIO_HOSTTENSOR_H
