//===- CudaBlas.h - NVIDIA's products, where they are installed -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// cuBLAS is found at run time, as the driver is. Declared here are its functions
// that the runtime calls, as its documentation ("cuBLAS Library") has them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDABLAS_H
#define SLUICE_RUNTIME_CUDABLAS_H

#include "CudaDriver.h"
#include "sluice/Runtime/services.h"

#include <mutex>
#include <string>

namespace sluice::runtime {

struct CudaBlas {
  using Handle = struct CublasTag *;
  /// cudaDataType_t, cublasComputeType_t, cublasOperation_t.
  static constexpr int kF32 = 0, kF16 = 2, kBF16 = 14;
  static constexpr int kExact = 68, kFastF16 = 74, kFastBF16 = 75, kFastTF32 = 77;
  static constexpr int kAsIs = 0, kTransposed = 1;
  /// CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: sums of parts are not rounded to 16 bits.
  static constexpr int kExactSums = 16;

  int (*create)(Handle *handle);
  int (*destroy)(Handle handle);
  int (*setMathMode)(Handle handle, int mode);
  int (*setStream)(Handle handle, CuStream stream);
  int (*setWorkspace)(Handle handle, void *workspace, size_t bytes);
  /// Column-major: C[m, n] = alpha op(A)[m, k] op(B)[k, n] + beta C, for each of `count`.
  int (*multiply)(Handle handle, int opA, int opB, int m, int n, int k, const void *alpha, const void *a, int typeA,
                  int strideA, long long batchA, const void *b, int typeB, int strideB, long long batchB,
                  const void *beta, void *c, int typeC, int strideC, long long batchC, int count, int compute,
                  int algorithm);
};

/// The process' library, loaded on the first call. Fails saying what is missing.
Result<const CudaBlas *> cudaBlas();

/// Products on one GPU. Any thread.
class CudaProducts {
public:
  ~CudaProducts();
  /// Opens the library where that is not done. Returns 0 or SLUICE_LIBRARY_ABSENT. The
  /// GPU's context is current, as below.
  int32_t start();
  /// Once start() has returned 0: has lhs x rhs computed behind what is on the stream: args are both, the result
  /// and the workspace. Returns 0; SLUICE_LIBRARY_ABSENT where the library does not
  /// take this product, and nothing has been done; else its own number.
  int32_t multiply(const sluice_product &what, CuStream stream, void *const *args);
  /// Why products were not the library's, all or some; empty: they all were.
  std::string problem() const;

private:
  int32_t absent(std::string reason);

  mutable std::mutex mutex; ///< Of all below.
  CudaBlas::Handle handle = nullptr;
  std::string why;
  bool isUsed = false; ///< Some products were the library's.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDABLAS_H
