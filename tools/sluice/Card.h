//===- Card.h - A GPU that is measured -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_CARD_H
#define SLUICE_TOOLS_SLUICE_CARD_H

#include "lib/Runtime/Cuda/CudaDriver.h"
#include "sluice/Support/Error.h"

#include <functional>
#include <memory>
#include <vector>

namespace sluice::driver {

/// GPU number `ordinal` of the driver. Its context belongs to the opening thread.
class Card {
public:
  /// 0 if there is no driver.
  static int count();
  /// Fails if there is no such GPU or it cannot be used.
  static Expected<std::unique_ptr<Card>> open(int ordinal);
  ~Card();
  Card(const Card &) = delete;

  /// Memory that the card owns until it is closed, filled with numbers that are small in every type.
  Expected<runtime::CuPointer> allocate(size_t bytes);
  /// The least of `repeat` times of the work that `enqueue` puts on the default stream, after one run to warm up.
  Expected<double> seconds(int repeat, const std::function<int()> &enqueue);
  /// Read and written by copies of so many bytes within the card's memory.
  Expected<double> copyBytesPerSec(size_t bytes, int repeat);

  const runtime::CudaDriver &cu;
  char name[256] = {};
  size_t memoryBytes = 0;
  int architecture = 0; ///< 80 means sm_80.
  int multiprocessors = 0, clockKilohertz = 0;
  /// Multiply-adds of f32 on all lanes, at that clock.
  double flopsPerSec() const;

private:
  explicit Card(const runtime::CudaDriver &cu) : cu(cu) {}
  runtime::CuDevice device = 0;
  runtime::CuEvent begin = nullptr, end = nullptr;
  std::vector<runtime::CuPointer> memory;
  bool isRetained = false;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_CARD_H
