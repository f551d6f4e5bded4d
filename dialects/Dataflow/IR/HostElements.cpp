//===- HostElements.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/HostElements.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace sluice::dataflow {

namespace {
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

double widen(Half value) {
  llvm::APFloat f(llvm::APFloat::IEEEhalf(), llvm::APInt(16, value.bits));
  bool loses;
  f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return f.convertToDouble();
}
double widen(BFloat value) { return llvm::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
template <typename T>
auto widen(T value) {
  return value;
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    llvm::APFloat f(value);
    bool loses;
    f.convert(std::is_same_v<T, Half> ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
              llvm::APFloat::rmNearestTiesToEven, &loses);
    return T{static_cast<uint16_t>(f.bitcastToAPInt().getZExtValue())};
  } else {
    return static_cast<T>(value);
  }
}

/// Small floats are stored as their codes, which are bytes.
double decode(Type type, double code) {
  auto floatType = cast<FloatType>(type);
  llvm::APFloat f(floatType.getFloatSemantics(), llvm::APInt(floatType.getWidth(), static_cast<uint64_t>(code)));
  bool loses;
  f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return f.convertToDouble();
}
/// As storing rounds: beyond the range lies infinity, or NaN where there is none, or in float4 the largest value.
double encode(Type type, double value) {
  const llvm::fltSemantics &semantics = cast<FloatType>(type).getFloatSemantics();
  if (isa<Float4E2M1FNType>(type)) {
    if (std::isnan(value))
      return 8; // Negative zero.
    value = std::clamp(value, -6.0, 6.0);
  }
  llvm::APFloat f(value);
  bool loses;
  f.convert(semantics,
            isa<Float8E8M0FNUType>(type) ? llvm::APFloat::rmTowardPositive : llvm::APFloat::rmNearestTiesToEven,
            &loses);
  return static_cast<double>(f.bitcastToAPInt().getZExtValue());
}

/// Calls fn(T()) with the C++ type an element is stored as.
template <typename Fn>
void dispatch(Type type, Fn fn) {
  if (type.isF32())
    return fn(float());
  if (type.isF64())
    return fn(double());
  if (type.isF16())
    return fn(Half());
  if (type.isBF16())
    return fn(BFloat());
  if (isSmallFloat(type))
    return fn(uint8_t());
  bool isUnsigned = isUnsignedElement(type);
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return fn(uint8_t());
  case 2:
  case 4:
  case 8:
    return isUnsigned ? fn(uint8_t()) : fn(int8_t());
  case 16:
    return isUnsigned ? fn(uint16_t()) : fn(int16_t());
  case 32:
    return isUnsigned ? fn(uint32_t()) : fn(int32_t());
  default:
    return isUnsigned ? fn(uint64_t()) : fn(int64_t());
  }
}
} // namespace

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

ElementReader::ElementReader(TensorView tensor, ArrayRef<int64_t> resultShape) : tensor(tensor), shape(resultShape) {
  ArrayRef<int64_t> own = tensor.type.getShape();
  SmallVector<int64_t> ownStrides = rowMajorStrides(own);
  strides.assign(shape.size(), 0);
  size_t skip = shape.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1)
      strides[skip + i] = ownStrides[i];
  int64_t count = elementCount(tensor.type), resultCount = 1;
  for (int64_t extent : shape)
    resultCount *= extent;
  access = count == 1 ? Single : count == resultCount ? Contiguous : General;
}

void ElementReader::offsets(int64_t start, int64_t count, int64_t *out) const {
  SmallVector<int64_t> digits(shape.size());
  int64_t rest = start, offset = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    digits[i] = rest % shape[i];
    rest /= shape[i];
    offset += digits[i] * strides[i];
  }
  for (int64_t n = 0; n < count; ++n) {
    out[n] = offset;
    for (size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++digits[i] < shape[i])
        break;
      offset -= digits[i] * strides[i];
      digits[i] = 0;
    }
  }
}

template <typename T>
void ElementReader::readAs(int64_t start, int64_t count, T *out) const {
  dispatch(tensor.type.getElementType(), [&](auto sample) {
    using Stored = decltype(sample);
    auto at = [&](int64_t i) {
      Stored value;
      std::memcpy(&value, tensor.data + i * sizeof(Stored), sizeof(Stored));
      return static_cast<T>(widen(value));
    };
    if (access == Single) {
      std::fill(out, out + count, at(0));
    } else if (access == Contiguous) {
      for (int64_t i = 0; i < count; ++i)
        out[i] = at(start + i);
    } else {
      int64_t index[kRun];
      offsets(start, count, index);
      for (int64_t i = 0; i < count; ++i)
        out[i] = at(index[i]);
    }
  });
  if (isSmallFloat(tensor.type.getElementType()))
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(decode(tensor.type.getElementType(), static_cast<double>(out[i])));
}

void ElementReader::read(int64_t start, int64_t count, double *out) const { readAs(start, count, out); }
void ElementReader::read(int64_t start, int64_t count, int64_t *out) const { readAs(start, count, out); }

template <typename T>
static void writeAs(MutableTensorView tensor, int64_t start, int64_t count, const T *values) {
  Type type = tensor.type.getElementType();
  T fitted[kRun];
  if (isSmallFloat(type)) {
    for (int64_t i = 0; i < count; ++i)
      fitted[i] = static_cast<T>(encode(type, static_cast<double>(values[i])));
    values = fitted;
  } else if (unsigned width = type.getIntOrFloatBitWidth(); isa<IntegerType>(type) && width > 1 && width < 8) {
    for (int64_t i = 0; i < count; ++i) {
      auto bits = static_cast<uint64_t>(static_cast<int64_t>(values[i])) & ((1U << width) - 1);
      fitted[i] = isUnsignedElement(type) ? static_cast<T>(bits) : static_cast<T>(llvm::SignExtend64(bits, width));
    }
    values = fitted;
  }
  dispatch(tensor.type.getElementType(), [&](auto sample) {
    using Stored = decltype(sample);
    for (int64_t i = 0; i < count; ++i) {
      Stored value;
      if constexpr (std::is_same_v<T, double>)
        value = narrow<Stored>(values[i]);
      else if constexpr (std::is_integral_v<Stored>)
        value = static_cast<Stored>(values[i]);
      else
        value = narrow<Stored>(static_cast<double>(values[i]));
      std::memcpy(tensor.data + (start + i) * sizeof(Stored), &value, sizeof(Stored));
    }
  });
}

void writeElements(MutableTensorView tensor, int64_t start, int64_t count, const double *values) {
  writeAs(tensor, start, count, values);
}
void writeElements(MutableTensorView tensor, int64_t start, int64_t count, const int64_t *values) {
  writeAs(tensor, start, count, values);
}

template <typename T>
static void copyRow(const char *source, char *result, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(result + i * sizeof(T), source + i * stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

void stridedCopy(const char *source, char *result, ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, int64_t base,
                 int64_t width) {
  int64_t rows = 1;
  if (llvm::is_contained(shape, 0))
    return;
  for (int64_t extent : shape.empty() ? shape : shape.drop_back())
    rows *= extent;
  int64_t columns = shape.empty() ? 1 : shape.back(), stride = shape.empty() ? 1 : strides.back();
  SmallVector<int64_t> digits(shape.size(), 0);
  int64_t offset = base;
  for (int64_t row = 0; row < rows; ++row) {
    const char *from = source + offset * width;
    char *to = result + row * columns * width;
    if (stride == 1)
      std::memcpy(to, from, columns * width);
    else if (width == 1)
      copyRow<uint8_t>(from, to, columns, stride);
    else if (width == 2)
      copyRow<uint16_t>(from, to, columns, stride);
    else if (width == 4)
      copyRow<uint32_t>(from, to, columns, stride);
    else
      copyRow<uint64_t>(from, to, columns, stride);
    for (size_t i = shape.empty() ? 0 : shape.size() - 1; i-- > 0;) {
      offset += strides[i];
      if (++digits[i] < shape[i])
        break;
      offset -= digits[i] * strides[i];
      digits[i] = 0;
    }
  }
}

int64_t clampToInteger(double x, unsigned width, bool isUnsigned) {
  if (std::isnan(x))
    return 0;
  double top = std::ldexp(1.0, isUnsigned ? width : width - 1), bottom = isUnsigned ? 0 : -top;
  llvm::APInt highest = isUnsigned ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width);
  if (x >= top)
    return isUnsigned ? static_cast<int64_t>(highest.getZExtValue()) : highest.getSExtValue();
  if (x <= bottom)
    return isUnsigned ? 0 : llvm::APInt::getSignedMinValue(width).getSExtValue();
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x)) : static_cast<int64_t>(x);
}

} // namespace sluice::dataflow
