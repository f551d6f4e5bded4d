//===- LibraryReference.h - What services.h says of libraries ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_LIBRARYREFERENCE_H
#define SLUICE_TEST_UNIT_CUDA_LIBRARYREFERENCE_H

#include "FakeLibrary.h"
#include "sluice/Runtime/services.h"

#include <cstring>
#include <vector>

namespace sluice::test {

/// Calls fn(image's element, filters', windows') of each product.
template <typename Fn>
void forEachProduct(const sluice_convolution &what, Fn fn) {
  const int64_t perGroup = what.channels / what.groups;
  auto at = [&](int64_t i, int64_t c, int64_t y, int64_t x, int64_t channels, int64_t height, int64_t width) {
    return what.channels_last ? ((i * height + y) * width + x) * channels + c
                              : ((i * channels + c) * height + y) * width + x;
  };
  for (int64_t i = 0; i < what.batch; ++i)
    for (int64_t m = 0; m < what.filters; ++m)
      for (int64_t row = 0; row < what.out_height; ++row)
        for (int64_t column = 0; column < what.out_width; ++column)
          for (int64_t c = 0; c < perGroup; ++c)
            for (int64_t ky = 0; ky < what.kernel_height; ++ky)
              for (int64_t kx = 0; kx < what.kernel_width; ++kx) {
                const int64_t y = row * what.stride_height + ky * what.dilation_height - what.pad_height,
                              x = column * what.stride_width + kx * what.dilation_width - what.pad_width;
                const int64_t channel = m / (what.filters / what.groups) * perGroup + c;
                if (y >= 0 && y < what.in_height && x >= 0 && x < what.in_width)
                  fn(at(i, channel, y, x, what.channels, what.in_height, what.in_width),
                     at(m, c, ky, kx, perGroup, what.kernel_height, what.kernel_width),
                     at(i, m, row, column, what.filters, what.out_height, what.out_width));
              }
}

/// The same of (lhs's element, rhs's, the result's) of matrices.
template <typename Fn>
void forEachProduct(const sluice_product &what, Fn fn) {
  for (int64_t batch = 0; batch < what.batches; ++batch)
    for (int64_t m = 0; m < what.m; ++m)
      for (int64_t n = 0; n < what.n; ++n)
        for (int64_t k = 0; k < what.k; ++k)
          fn(batch * what.lhs_stride + (what.transpose_lhs ? k * what.m + m : m * what.k + k),
             batch * what.rhs_stride + (what.transpose_rhs ? n * what.k + k : k * what.n + n),
             (batch * what.m + m) * what.n + n);
}

/// Does on host memory what a library is asked for, with sums of f64; `elements` of the
/// result are all written.
inline void computeAsLibrary(uint32_t function, void *const *args, const void *settings, int64_t elements) {
  const bool adds = function & SLUICE_LIBRARY_ACCUMULATE;
  function &= ~uint32_t(SLUICE_LIBRARY_ACCUMULATE);
  int64_t element = 0;
  std::memcpy(&element, settings, sizeof element); // The first of both.
  const FakeType type = element == 1 ? FakeType::F32 : element == 10 ? FakeType::F16 : FakeType::BF16;
  std::vector<double> sums(static_cast<size_t>(elements));
  for (int64_t i = 0; adds && i < elements; ++i)
    sums[static_cast<size_t>(i)] = readNumber(args[2], type, i);
  auto add = [&](int64_t lhs, int64_t rhs, int64_t to) {
    sums.at(static_cast<size_t>(to)) += readNumber(args[0], type, lhs) * readNumber(args[1], type, rhs);
  };
  if (function == SLUICE_LIBRARY_MATMUL) {
    sluice_product what;
    std::memcpy(&what, settings, sizeof what);
    forEachProduct(what, add);
  } else {
    sluice_convolution what;
    std::memcpy(&what, settings, sizeof what);
    forEachProduct(what, [&](int64_t image, int64_t filter, int64_t window) {
      if (function == SLUICE_LIBRARY_CONV)
        add(image, filter, window);
      else if (function == SLUICE_LIBRARY_CONV_DATA_GRADIENT)
        add(window, filter, image);
      else
        add(image, window, filter);
    });
  }
  for (int64_t i = 0; i < elements; ++i)
    writeNumber(args[2], type, i, sums[static_cast<size_t>(i)]);
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CUDA_LIBRARYREFERENCE_H
