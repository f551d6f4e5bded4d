//===- NpyFuzzer.cpp - Any bytes as a NumPy file --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/Npy.h"

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto tensor = sluice::parseNpy({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (tensor && static_cast<int64_t>(tensor->bytes.size()) > static_cast<int64_t>(size))
    std::abort();
  return 0;
}
