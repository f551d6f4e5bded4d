//===- FakeCollectives.h - Host forms of the runtime's PTX ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What collectivePtx of CudaRanks.h promises, written from that alone. Addresses
// are the fake device's.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKECOLLECTIVES_H
#define SLUICE_TEST_UNIT_CUDA_FAKECOLLECTIVES_H

#include <cstdint>
#include <functional>
#include <string>

/// One of those functions; none where there is no such.
struct HostForm {
  int parameters = 0;
  /// False where an address is not on the device.
  std::function<bool(const uint64_t *parameters)> run;
  explicit operator bool() const { return static_cast<bool>(run); }
};
HostForm findHostForm(const std::string &name);

#endif // SLUICE_TEST_UNIT_CUDA_FAKECOLLECTIVES_H
