//===- CudaBlas.h - NVIDIA's products, where they are installed -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// cuBLAS is loaded at run time, like the driver. This header declares the functions that the runtime calls, as in
// NVIDIA's documentation ("cuBLAS Library").
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDABLAS_H
#define SLUICE_RUNTIME_CUDABLAS_H

#include "CudaLibrary.h"

namespace sluice::runtime {

struct CudaBlas {
  using Handle = struct CublasTag *;
  /// Values of cudaDataType_t, cublasComputeType_t and cublasOperation_t.
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
  /// Column-major products: C[m, n] = alpha * op(A)[m, k] * op(B)[k, n] + beta * C, for each of `count` matrices.
  int (*multiply)(Handle handle, int opA, int opB, int m, int n, int k, const void *alpha, const void *a, int typeA,
                  int strideA, long long batchA, const void *b, int typeB, int strideB, long long batchB,
                  const void *beta, void *c, int typeC, int strideC, long long batchC, int count, int compute,
                  int algorithm);
};

/// The library of the process, loaded at the first call. The failure says what is missing.
Result<const CudaBlas *> cudaBlas();

/// Computes the matrix products of sluice_product.
class CudaProducts final : public CudaLibrary {
public:
  CudaProducts() : CudaLibrary("cuBLAS", "products", sizeof(sluice_product)) {}
  ~CudaProducts() override;

private:
  Status open() override;
  bool describe(const Request &request) override;
  Result<bool> run(const Request &request, CuStream stream, void *const *args) override;
  bool isRefusal(int status) const override;

  CudaBlas::Handle handle = nullptr;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDABLAS_H
