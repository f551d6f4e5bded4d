//===- HostTensor.cpp - A tensor in host memory ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/HostTensor.h"

#include "sluice/Support/Rng.h"

#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

namespace sluice {

namespace {

template <typename T>
T load(const HostTensor &tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T, typename Make>
void fill(HostTensor &tensor, const Make &make) {
  for (int64_t i = 0, n = tensor.numElements(); i < n; ++i) {
    T value = make();
    std::memcpy(tensor.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

} // namespace

double HostTensor::valueAt(int64_t index) const {
  switch (type) {
  case ElementType::Float32:
    return load<float>(*this, index);
  case ElementType::Float64:
    return load<double>(*this, index);
  case ElementType::Float16:
    return halfToFloat(load<uint16_t>(*this, index));
  case ElementType::BFloat16:
    return bfloat16ToFloat(load<uint16_t>(*this, index));
  case ElementType::Int8:
  case ElementType::Int4:
  case ElementType::Int2:
    return load<int8_t>(*this, index);
  case ElementType::Int16:
    return load<int16_t>(*this, index);
  case ElementType::Int32:
    return load<int32_t>(*this, index);
  case ElementType::Int64:
    return static_cast<double>(load<int64_t>(*this, index));
  case ElementType::Bool:
  case ElementType::UInt8:
  case ElementType::UInt4:
  case ElementType::UInt2:
    return load<uint8_t>(*this, index);
  case ElementType::UInt16:
    return load<uint16_t>(*this, index);
  case ElementType::UInt32:
    return load<uint32_t>(*this, index);
  case ElementType::UInt64:
    return static_cast<double>(load<uint64_t>(*this, index));
  case ElementType::Float8E4M3FN:
  case ElementType::Float8E4M3FNUZ:
  case ElementType::Float8E5M2:
  case ElementType::Float8E5M2FNUZ:
  case ElementType::Float8E8M0:
  case ElementType::Float4E2M1:
    return smallFloatToFloat(type, load<uint8_t>(*this, index));
  case ElementType::String:
    return 0;
  }
  return 0;
}

Expected<int64_t> tensorBytes(ElementType type, const std::vector<int64_t> &shape) {
  constexpr int64_t kMax = int64_t(1) << 62;
  int64_t bytes = elementBytes(type);
  bool empty = false, tooLarge = false;
  for (int64_t dimension : shape) {
    if (dimension < 0)
      return makeError(ErrorCode::InvalidInput, "shape ", formatShape(shape), " has a dimension of ", dimension,
                       ", give dimensions of at least 0");
    if (dimension == 0)
      empty = true;
    else if (bytes > kMax / dimension)
      tooLarge = true;
    else
      bytes *= dimension;
  }
  if (empty)
    return 0;
  if (tooLarge)
    return makeError(ErrorCode::InvalidInput, "tensor of shape ", formatShape(shape),
                     " has more than 2^62 bytes, give a smaller tensor");
  return bytes;
}

Expected<HostTensor> makeTensor(std::string name, ElementType type, std::vector<int64_t> shape) {
  SLUICE_ASSIGN_OR_RETURN(int64_t bytes, tensorBytes(type, shape));
  HostTensor tensor{std::move(name), type, std::move(shape), {}};
  try {
    tensor.bytes.resize(static_cast<size_t>(bytes));
  } catch (const std::bad_alloc &) {
    return makeError(ErrorCode::Io, "cannot allocate ", bytes, " bytes for tensor '", tensor.name,
                     "', free memory or give a smaller tensor");
  } catch (const std::length_error &) {
    return makeError(ErrorCode::Io, "cannot allocate ", bytes, " bytes for tensor '", tensor.name,
                     "', free memory or give a smaller tensor");
  }
  return tensor;
}

HostTensor makeStringTensor(std::string name, std::vector<int64_t> shape, std::span<const std::string> elements) {
  HostTensor tensor{std::move(name), ElementType::String, std::move(shape), {}};
  tensor.bytes.resize(elements.size() * sizeof(StringElement));
  for (size_t i = 0; i < elements.size(); ++i)
    tensor.data<StringElement>()[i] = {elements[i].data(), static_cast<int64_t>(elements[i].size())};
  ownText(tensor);
  return tensor;
}

void ownText(HostTensor &tensor) {
  if (tensor.type != ElementType::String)
    return;
  size_t size = 0;
  std::span elements(tensor.data<StringElement>(), static_cast<size_t>(tensor.numElements()));
  for (const StringElement &element : elements)
    size += element.view().size();
  auto text = std::make_shared<std::string>();
  text->reserve(size);
  for (StringElement &element : elements) {
    text->append(element.view());
    element.data = text->data() + text->size() - element.view().size();
  }
  tensor.text = std::move(text);
}

void fillRandom(HostTensor &tensor, uint64_t seed, uint64_t stream) {
  Rng rng = Rng(seed).fork(stream);
  // 24 bits are exact in single precision.
  auto real = [&] { return static_cast<float>(static_cast<double>(rng.below(1 << 24)) / (1 << 23) - 1.0); };
  auto coarse = [&] { return static_cast<float>(rng.below(1 << 8)) / (1 << 7) - 1.0f; };
  auto integer = [&] { return rng.below(4); };
  switch (tensor.type) {
  case ElementType::Float32:
    return fill<float>(tensor, real);
  case ElementType::Float64:
    return fill<double>(tensor, real);
  // 8 bits are exact in both; more would round some values up to 1.
  case ElementType::Float16:
    return fill<uint16_t>(tensor, [&] { return floatToHalf(coarse()); });
  case ElementType::BFloat16:
    return fill<uint16_t>(tensor, [&] { return floatToBfloat16(coarse()); });
  case ElementType::String:
    return fill<StringElement>(tensor, [&] { return StringElement{&"abcd"[rng.below(4)], 1}; });
  case ElementType::Bool:
    return fill<uint8_t>(tensor, [&] { return static_cast<uint8_t>(rng.below(2)); });
  default:
    break;
  }
  // Of two bits, signed or not, 0 and 1 are the ones above 0 that all types have.
  if (elementBits(tensor.type) == 2)
    return fill<uint8_t>(tensor, [&] { return static_cast<uint8_t>(rng.below(2)); });
  switch (elementBytes(tensor.type)) {
  case 1:
    return fill<uint8_t>(tensor, integer);
  case 2:
    return fill<uint16_t>(tensor, integer);
  case 4:
    return fill<uint32_t>(tensor, integer);
  default:
    return fill<uint64_t>(tensor, integer);
  }
}

/// The first `count` positions of a dimension.
static void cut(HostTensor &tensor, size_t dimension, int64_t count) {
  if (count == tensor.shape[dimension])
    return;
  const int64_t width = elementBytes(tensor.type);
  int64_t outer = 1, inner = width;
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    (d < dimension ? outer : inner) *= d == dimension ? 1 : tensor.shape[d];
  const int64_t from = tensor.shape[dimension] * inner, to = count * inner;
  for (int64_t row = 0; row < outer && to > 0; ++row)
    std::memmove(tensor.bytes.data() + row * to, tensor.bytes.data() + row * from, static_cast<size_t>(to));
  tensor.bytes.resize(static_cast<size_t>(outer * to));
  tensor.shape[dimension] = count;
}

static Status notInRange(const std::string &name, int64_t count, int64_t most, const char *of) {
  return makeError(ErrorCode::Internal, "output '", name, "' holds ", count, " of ", most, " ", of,
                   ", this is a bug of Sluice, please report it");
}

/// The name without `suffix`, where it ends so.
static std::optional<std::string> nameBefore(const std::string &name, std::string_view suffix) {
  if (!name.ends_with(suffix))
    return std::nullopt;
  return name.substr(0, name.size() - suffix.size());
}

/// Marks what lengths of sequences and presences of optionals take away, themselves among it.
static Status dropAbsent(const std::vector<HostTensor> &outputs, std::vector<bool> &isDropped) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const HostTensor &output = outputs[i];
    const std::optional<std::string> sequence = nameBefore(output.name, kLengthSuffix),
                                     optional = nameBefore(output.name, kPresenceSuffix);
    const bool isLength = sequence && output.type == ElementType::Int64,
               isPresence = optional && output.type == ElementType::Bool;
    if ((!isLength && !isPresence) || output.numElements() != 1)
      continue;
    isDropped[i] = true;
    const int64_t kept = isLength ? *output.data<int64_t>() : output.valueAt(0) != 0 ? INT64_MAX : 0;
    const std::string &name = isLength ? *sequence : *optional;
    int64_t elements = 0;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const bool isElement = outputs[k].name == name + "[" + std::to_string(elements) + "]";
      if (isElement ? elements++ >= kept : outputs[k].name == name && kept == 0)
        isDropped[k] = true;
    }
    if (isLength && (kept < 0 || kept > elements))
      return notInRange(name, kept, elements, "elements");
  }
  return {};
}

Status cutToExtents(std::vector<HostTensor> &outputs) {
  std::vector<bool> isDropped(outputs.size());
  SLUICE_RETURN_IF_ERROR(dropAbsent(outputs, isDropped));
  for (HostTensor &output : outputs)
    for (size_t d = 0; d < output.shape.size(); ++d)
      for (size_t i = 0; i < outputs.size(); ++i) {
        const HostTensor &extent = outputs[i];
        if (extent.name != extentName(output.name, d) || extent.type != ElementType::Int64 || extent.numElements() != 1)
          continue;
        const int64_t count = *extent.data<int64_t>();
        if (count < 0 || count > output.shape[d])
          return notInRange(output.name, count, output.shape[d], "positions");
        cut(output, d, count);
        isDropped[i] = true;
      }
  size_t kept = 0;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!isDropped[i])
      std::swap(outputs[kept++], outputs[i]);
  outputs.resize(kept);
  return {};
}

std::string formatShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace sluice
