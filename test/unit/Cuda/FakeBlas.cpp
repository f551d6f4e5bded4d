//===- FakeBlas.cpp - cuBLAS without a GPU ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeBlas.h"
#include "FakeCuda.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>

namespace {

constexpr int kInvalidValue = 7, kNotSupported = 15;
/// cudaDataType_t.
constexpr int kF32 = 0, kF16 = 2, kBF16 = 14;

struct Handle {
  int mode = 0;
  void *stream = nullptr;
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
};

std::string failing;
int failStatus = 0, numHeld = 0;

int fails(const char *function) { return failing == function ? failStatus : 0; }

size_t bytesOf(int type) { return type == kF32 ? 4 : 2; }

float halfToFloat(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/// Nearest, ties to even; patterns ascend as their numbers do.
uint16_t floatToHalf(float value) {
  const float size = std::fabs(value);
  uint32_t below = 0, above = 0x7bff;
  while (above - below > 1) {
    const uint32_t middle = (below + above) / 2;
    (halfToFloat(static_cast<uint16_t>(middle)) <= size ? below : above) = middle;
  }
  const float down = size - halfToFloat(static_cast<uint16_t>(below)),
              up = halfToFloat(static_cast<uint16_t>(above)) - size;
  const uint32_t nearest = down < up || (down == up && below % 2 == 0) ? below : above;
  return static_cast<uint16_t>(nearest | (std::signbit(value) ? 0x8000u : 0u));
}

double read(const void *data, int type, int64_t i) {
  if (type == kF32)
    return static_cast<const float *>(data)[i];
  const uint16_t bits = static_cast<const uint16_t *>(data)[i];
  return type == kF16 ? halfToFloat(bits) : std::bit_cast<float>(uint32_t(bits) << 16);
}

void write(void *data, int type, int64_t i, double value) {
  const auto rounded = static_cast<float>(value);
  if (type == kF32) {
    static_cast<float *>(data)[i] = rounded;
    return;
  }
  uint16_t bits = 0;
  if (type == kF16) {
    bits = floatToHalf(rounded);
  } else {
    const auto word = std::bit_cast<uint32_t>(rounded);
    bits = static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  static_cast<uint16_t *>(data)[i] = bits;
}

} // namespace

extern "C" {

void fakeBlasFail(const char *function, int status) { failing = function, failStatus = status; }
int fakeBlasHeld() { return numHeld; }

int cublasCreate_v2(Handle **handle) {
  if (const char *wanted = std::getenv("FAKE_BLAS")) {
    static const std::regex words("fail=(\\w+):(\\d+)");
    std::cmatch parts;
    if (!std::regex_match(wanted, parts, words)) {
      std::fprintf(stderr, "FAKE_BLAS: '%s' is not what it knows\n", wanted);
      std::abort();
    }
    fakeBlasFail(parts[1].str().c_str(), std::stoi(parts[2]));
  }
  if (int status = fails("cublasCreate_v2"))
    return status;
  fakeCudaTakeTime();
  *handle = new Handle;
  ++numHeld;
  return 0;
}
int cublasDestroy_v2(Handle *handle) {
  // As the real one: it waits for what is on its stream.
  if (!fakeCudaHasStream(handle->stream))
    return kInvalidValue;
  delete handle;
  --numHeld;
  return 0;
}
int cublasSetMathMode(Handle *handle, int mode) {
  handle->mode = mode;
  return fails("cublasSetMathMode");
}
int cublasSetStream_v2(Handle *handle, void *stream) {
  handle->stream = stream;
  handle->workspace = nullptr, handle->workspaceBytes = 0;
  return fails("cublasSetStream_v2");
}
int cublasSetWorkspace_v2(Handle *handle, void *workspace, size_t bytes) {
  if (bytes > 0 && !fakeCudaHost(workspace, bytes))
    return kInvalidValue;
  handle->workspace = workspace, handle->workspaceBytes = bytes;
  return fails("cublasSetWorkspace_v2");
}
int cublasGemmStridedBatchedEx(Handle *handle, int opA, int opB, int m, int n, int k, const float *alpha, const void *a,
                               int typeA, int strideA, long long batchA, const void *b, int typeB, int strideB,
                               long long batchB, const float *beta, void *c, int typeC, int strideC, long long batchC,
                               int count, int compute, int) {
  if (int status = fails("cublasGemmStridedBatchedEx"))
    return status;
  if (*alpha != 1 || *beta != 0 || (typeA != kF32 && typeA != kF16 && typeA != kBF16) || typeB != typeA ||
      typeC != typeA)
    return kNotSupported;
  if (strideA < (opA ? k : m) || strideB < (opB ? n : k) || strideC < m)
    return kInvalidValue;
  auto extent = [&](int rows, int columns, int stride, long long batch) {
    return bytesOf(typeA) * static_cast<size_t>(batch * (count - 1) + int64_t(columns - 1) * stride + rows);
  };
  char *x = fakeCudaHost(a, extent(opA ? k : m, opA ? m : k, strideA, batchA)),
       *y = fakeCudaHost(b, extent(opB ? n : k, opB ? k : n, strideB, batchB)),
       *z = fakeCudaHost(c, extent(m, n, strideC, batchC));
  if (!x || !y || !z)
    return kInvalidValue;
  // What it scribbles there is nobody's.
  char *scratch = handle->workspaceBytes ? fakeCudaHost(handle->workspace, handle->workspaceBytes) : nullptr;
  const size_t scratchBytes = handle->workspaceBytes;
  std::string what = std::string("gemm ") + (opA ? "T" : "N") + (opB ? "T " : "N ") + std::to_string(m) + "," +
                     std::to_string(n) + "," + std::to_string(k) + " count " + std::to_string(count) + " type " +
                     std::to_string(typeA) + " compute " + std::to_string(compute) + " mode " +
                     std::to_string(handle->mode) + " workspace " + std::to_string(scratchBytes);
  return fakeCudaEnqueue(handle->stream, what, [=] {
    std::fill_n(scratch, scratchBytes, '\x5a');
    for (int64_t item = 0; item < count; ++item)
      for (int64_t column = 0; column < n; ++column)
        for (int64_t row = 0; row < m; ++row) {
          double sum = 0;
          for (int64_t i = 0; i < k; ++i)
            sum += read(x, typeA, item * batchA + (opA ? row * strideA + i : i * strideA + row)) *
                   read(y, typeA, item * batchB + (opB ? i * strideB + column : column * strideB + i));
          write(z, typeA, item * batchC + column * strideC + row, sum);
        }
  });
}

} // extern "C"
