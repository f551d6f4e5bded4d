//===- CudaBlas.cpp - NVIDIA's products, where they are installed ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaBlas.h"
#include "../SharedLibrary.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sluice::runtime {

static Result<CudaBlas> load() {
  CudaBlas blas{};
  SharedLibrary library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
  library.find(blas.create, "cublasCreate_v2");
  library.find(blas.destroy, "cublasDestroy_v2");
  library.find(blas.setMathMode, "cublasSetMathMode");
  library.find(blas.setStream, "cublasSetStream_v2");
  library.find(blas.setWorkspace, "cublasSetWorkspace_v2");
  library.find(blas.multiply, "cublasGemmStridedBatchedEx");
  if (std::string problem = library.problem(); !problem.empty())
    return failure("no cuBLAS: ", problem);
  return blas;
}

Result<const CudaBlas *> cudaBlas() { return loadedOnce<CudaBlas, load>(); }

CudaProducts::~CudaProducts() {
  if (!handle)
    return;
  // Its last stream may be gone.
  (*cudaBlas())->setStream(handle, nullptr);
  (*cudaBlas())->destroy(handle);
}

Status CudaProducts::open() {
  Result<const CudaBlas *> found = cudaBlas();
  if (!found)
    return tl::unexpected(found.error());
  CudaBlas::Handle made = nullptr;
  if (int status = (*found)->create(&made))
    return failure(failed(status, "starting"));
  if (int status = (*found)->setMathMode(made, CudaBlas::kExactSums)) {
    (*found)->destroy(made);
    return failure(failed(status, "asking for exact sums"));
  }
  handle = made;
  return {};
}

bool CudaProducts::isRefusal(int status) const {
  // cublasStatus_t: NOT_INITIALIZED, ALLOC_FAILED, INVALID_VALUE, ARCH_MISMATCH, NOT_SUPPORTED.
  constexpr int kRefusals[] = {1, 3, 7, 8, 15};
  return std::find(std::begin(kRefusals), std::end(kRefusals), status) != std::end(kRefusals);
}

bool CudaProducts::describe(const Request &request) {
  sluice_product what;
  std::memcpy(&what, request.settings, sizeof what);
  for (int64_t extent : {what.batches, what.m, what.n, what.k})
    if (extent > INT32_MAX)
      return absent("a product is too large for cuBLAS, which counts in 32 bits");
  return true;
}

Result<bool> CudaProducts::run(const Request &request, CuStream stream, void *const *args) {
  sluice_product what;
  std::memcpy(&what, request.settings, sizeof what);
  const CudaBlas &blas = **cudaBlas();
  // Another stream brings its own workspace back.
  if (int status = blas.setStream(handle, stream))
    return finish(status, "taking a stream");
  if (int status = blas.setWorkspace(handle, args[3], static_cast<size_t>(what.workspace_bytes)))
    return finish(status, "taking a workspace");

  constexpr int32_t kHalf = 10, kBrain = 16; // ONNX's numbers.
  const int type = what.element_type == kHalf    ? CudaBlas::kF16
                   : what.element_type == kBrain ? CudaBlas::kBF16
                                                 : CudaBlas::kF32;
  // Operands of 16 bits are multiplied exactly, as they are.
  int compute = CudaBlas::kExact;
  if (type == CudaBlas::kF32 && what.precision == SLUICE_PRECISION_TF32)
    compute = CudaBlas::kFastTF32;
  else if (type == CudaBlas::kF32 && what.precision == SLUICE_PRECISION_BF16)
    compute = CudaBlas::kFastBF16;
  else if (type == CudaBlas::kF32 && what.precision == SLUICE_PRECISION_F16)
    compute = CudaBlas::kFastF16;
  const auto m = static_cast<int>(what.m), n = static_cast<int>(what.n), k = static_cast<int>(what.k);
  auto operation = [](int64_t transposed) { return transposed ? CudaBlas::kTransposed : CudaBlas::kAsIs; };
  const float one = 1, before = request.accumulates ? 1 : 0;
  constexpr int kDefaultAlgorithm = -1;
  // A row-major matrix is its transpose, column-major: C' = B' A'.
  return finish(blas.multiply(handle, operation(what.transpose_rhs), operation(what.transpose_lhs), n, m, k, &one,
                              args[1], type, what.transpose_rhs ? k : n, what.rhs_stride, args[0], type,
                              what.transpose_lhs ? m : k, what.lhs_stride, &before, args[2], type, n, what.m * what.n,
                              static_cast<int>(what.batches), compute, kDefaultAlgorithm),
                "multiplying");
}

} // namespace sluice::runtime
