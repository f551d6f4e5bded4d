//===- Count.h - Elements, bytes and operations, counted safely -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A Count is a signed 64-bit number of elements, bytes or operations whose arithmetic saturates: sums, differences and
// products that exceed 64 bits become the largest or the smallest number. Extents and attributes come from a model's
// file, so a product of them may have any value. A product that wraps around could become zero, and code may divide by
// it. It could also become a number of bytes that is too small.
//
// Division by zero is defined. The quotient is the largest number for a positive dividend, the smallest number for a
// negative dividend, and 0 for 0 / 0; the remainder is the dividend. Therefore `max(1, 32768 / work)` needs no check of
// `work`.
//
// A Count converts to and from integers without a cast. If one operand is an integer and the other a Count, the result
// is a Count.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_COUNT_H
#define SLUICE_SUPPORT_COUNT_H

#include <concepts>
#include <cstdint>
#include <limits>

namespace sluice {

class Count {
public:
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

  constexpr Count() = default;
  template <std::integral T>
  constexpr Count(T value) : number(static_cast<int64_t>(value)) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(int64_t))
      if (value > static_cast<T>(kMost))
        number = kMost;
  }
  constexpr operator int64_t() const { return number; }
  constexpr int64_t value() const { return number; }
  /// True for the largest and the smallest number. Such a number is most likely the result of saturation, and there are
  /// never so many elements, bytes or operations.
  constexpr bool isSaturated() const { return number == kMost || number == kLeast; }

  friend constexpr Count operator+(Count a, Count b) {
    int64_t sum = 0;
    return __builtin_add_overflow(a.number, b.number, &sum) ? bound(a.number < 0) : Count(sum);
  }
  friend constexpr Count operator-(Count a, Count b) {
    int64_t difference = 0;
    return __builtin_sub_overflow(a.number, b.number, &difference) ? bound(a.number < 0) : Count(difference);
  }
  friend constexpr Count operator*(Count a, Count b) {
    int64_t product = 0;
    return __builtin_mul_overflow(a.number, b.number, &product) ? bound((a.number < 0) != (b.number < 0))
                                                                : Count(product);
  }
  friend constexpr Count operator/(Count a, Count b) {
    if (b.number == 0)
      return a.number == 0 ? Count() : bound(a.number < 0);
    return a.number == kLeast && b.number == -1 ? Count(kMost) : Count(a.number / b.number);
  }
  friend constexpr Count operator%(Count a, Count b) {
    return b.number == 0 ? a : b.number == -1 ? Count() : Count(a.number % b.number);
  }
  friend constexpr Count operator-(Count a) { return Count() - a; }

  // Without these overloads, arithmetic of a Count and an integer would be ambiguous, because built-in arithmetic
  // matches equally well. The macro's argument is an operator, which cannot be in parentheses.
  // NOLINTBEGIN(bugprone-macro-parentheses)
#define SLUICE_COUNT_OPERATOR(op)                                                                                      \
  template <std::integral T>                                                                                           \
  friend constexpr Count operator op(Count a, T b) {                                                                   \
    return a op Count(b);                                                                                              \
  }                                                                                                                    \
  template <std::integral T>                                                                                           \
  friend constexpr Count operator op(T a, Count b) {                                                                   \
    return Count(a) op b;                                                                                              \
  }                                                                                                                    \
  constexpr Count &operator op##=(Count other) { return *this = *this op other; }                                      \
  /* Changes an int64_t by a Count, without wrapping around. */                                                        \
  friend constexpr int64_t &operator op##=(int64_t &total, Count other) { return total = Count(total) op other; }
  // NOLINTEND(bugprone-macro-parentheses)
  SLUICE_COUNT_OPERATOR(+)
  SLUICE_COUNT_OPERATOR(-)
  SLUICE_COUNT_OPERATOR(*)
  SLUICE_COUNT_OPERATOR(/)
  SLUICE_COUNT_OPERATOR(%)
#undef SLUICE_COUNT_OPERATOR

private:
  static constexpr Count bound(bool isNegative) { return Count(isNegative ? kLeast : kMost); }

  int64_t number = 0;
};

} // namespace sluice

#endif // SLUICE_SUPPORT_COUNT_H
