//===- FakeBlas.cpp - cuBLAS without a GPU ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeBlas.h"
#include "FakeCuda.h"
#include "FakeLibrary.h"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace sluice::test;

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

FakeFailure failure;
int numHeld = 0;

/// cudaDataType_t's types, which are other numbers elsewhere.
FakeType typeOf(int type) { return type == kF32 ? FakeType::F32 : type == kF16 ? FakeType::F16 : FakeType::BF16; }

} // namespace

extern "C" {

void fakeBlasFail(const char *function, int status) { failure = {function, status}; }
int fakeBlasHeld() { return numHeld; }

int cublasCreate_v2(Handle **handle) {
  failure.takeFrom("FAKE_BLAS");
  if (int status = failure.of("cublasCreate_v2"))
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
  return failure.of("cublasSetMathMode");
}
int cublasSetStream_v2(Handle *handle, void *stream) {
  handle->stream = stream;
  handle->workspace = nullptr, handle->workspaceBytes = 0;
  return failure.of("cublasSetStream_v2");
}
int cublasSetWorkspace_v2(Handle *handle, void *workspace, size_t bytes) {
  if (bytes > 0 && !fakeCudaHost(workspace, bytes))
    return kInvalidValue;
  handle->workspace = workspace, handle->workspaceBytes = bytes;
  return failure.of("cublasSetWorkspace_v2");
}
int cublasGemmStridedBatchedEx(Handle *handle, int opA, int opB, int m, int n, int k, const float *alpha, const void *a,
                               int typeA, int strideA, long long batchA, const void *b, int typeB, int strideB,
                               long long batchB, const float *beta, void *c, int typeC, int strideC, long long batchC,
                               int count, int compute, int) {
  if (int status = failure.of("cublasGemmStridedBatchedEx"))
    return status;
  if (*alpha != 1 || (*beta != 0 && *beta != 1) || (typeA != kF32 && typeA != kF16 && typeA != kBF16) ||
      typeB != typeA || typeC != typeA)
    return kNotSupported;
  if (strideA < (opA ? k : m) || strideB < (opB ? n : k) || strideC < m)
    return kInvalidValue;
  const FakeType type = typeOf(typeA);
  auto extent = [&](int rows, int columns, int stride, long long batch) {
    return bytesOf(type) * static_cast<size_t>(batch * (count - 1) + int64_t(columns - 1) * stride + rows);
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
  const bool adds = *beta == 1;
  return fakeCudaEnqueue(handle->stream, what + (adds ? " added" : ""), [=] {
    std::fill_n(scratch, scratchBytes, '\x5a');
    for (int64_t item = 0; item < count; ++item)
      for (int64_t column = 0; column < n; ++column)
        for (int64_t row = 0; row < m; ++row) {
          double sum = adds ? readNumber(z, type, item * batchC + column * strideC + row) : 0;
          for (int64_t i = 0; i < k; ++i)
            sum += readNumber(x, type, item * batchA + (opA ? row * strideA + i : i * strideA + row)) *
                   readNumber(y, type, item * batchB + (opB ? i * strideB + column : column * strideB + i));
          writeNumber(z, type, item * batchC + column * strideC + row, sum);
        }
  });
}

} // extern "C"
