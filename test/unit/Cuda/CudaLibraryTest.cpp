//===- CudaLibraryTest.cpp - Products of NVIDIA's library -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaLibraryModel.h"
#include "FakeBlas.h"

using namespace sluice::test;
using Catch::Contains;

namespace {

struct ProductModel : LibraryModel {
  explicit ProductModel(sluice_product what)
      : LibraryModel(SLUICE_LIBRARY_MATMUL, withScratch(what), (what.lhs_stride ? what.batches : 1) * what.m * what.k,
                     (what.rhs_stride ? what.batches : 1) * what.k * what.n) {
    fakeBlasFail("", 0);
    REQUIRE(what.batches * what.m * what.n <= kLibraryFloats);
  }
};

constexpr int64_t kFloat = 1;

} // namespace

TEST_CASE("a library's product is the row-major one, in every form", "[cuda]") {
  const int64_t m = 5, n = 7, k = 3;
  for (int64_t batches : {1, 3})
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true})
        for (bool isShared : {false, true}) {
          sluice_product what{kFloat, SLUICE_PRECISION_F32, batches, m, n, k, transposeLhs, transposeRhs,
                              m * k,  isShared ? 0 : k * n, 0};
          INFO(batches << " " << transposeLhs << " " << transposeRhs << " " << isShared);
          ProductModel model(what);
          addsAgain = transposeLhs;
          {
            SessionPtr session = model.open();
            REQUIRE(session);
            // The second step is recorded, the library's part too.
            for (int round = 0; round < 3; ++round) {
              std::vector<float> x = numbers(), y(256);
              REQUIRE(runOnce(session.get(), x, y) == 0);
              for (int64_t batch = 0; batch < batches; ++batch)
                for (int64_t row = 0; row < m; ++row)
                  for (int64_t column = 0; column < n; ++column) {
                    float sum = 0;
                    for (int64_t i = 0; i < k; ++i)
                      sum += x[batch * what.lhs_stride + (transposeLhs ? i * m + row : row * k + i)] *
                             x[lhsFloats + batch * what.rhs_stride + (transposeRhs ? column * k + i : i * n + column)];
                    REQUIRE(y[(batch * m + row) * n + column] == (addsAgain ? 2 * sum : sum));
                  }
            }
            CHECK(sluice_notes(session.get()) == std::string());
            CHECK_FALSE(usesGrid);
            CHECK_THAT(std::string(fakeCudaLog()), Contains("node gemm "));
          }
          CHECK(fakeCudaHeld() == 0);
          CHECK(fakeBlasHeld() == 0);
        }
}

TEST_CASE("f32 is exact unless rounding is asked for, and 16 bits are as they are", "[cuda]") {
  // CUDA_R_32F 0, CUDA_R_16F 2, CUDA_R_16BF 14; CUBLAS_COMPUTE_32F 68, _FAST_16F 74, _FAST_16BF 75, _FAST_TF32 77;
  // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION 16.
  checkArithmetic<ProductModel>(
      sluice_product{1, 0, 1, 4, 8, 4, 0, 0, 0, 0, 0},
      {{1, SLUICE_PRECISION_F32, "gemm NN 8,4,4 count 1 type 0 compute 68 mode 16 workspace 256"},
       {1, SLUICE_PRECISION_TF32, "gemm NN 8,4,4 count 1 type 0 compute 77 mode 16 workspace 256"},
       {1, SLUICE_PRECISION_BF16, "gemm NN 8,4,4 count 1 type 0 compute 75 mode 16 workspace 256"},
       {1, SLUICE_PRECISION_F16, "gemm NN 8,4,4 count 1 type 0 compute 74 mode 16 workspace 256"},
       {10, SLUICE_PRECISION_F32, "gemm NN 8,4,4 count 1 type 2 compute 68 mode 16 workspace 256"},
       {10, SLUICE_PRECISION_TF32, "gemm NN 8,4,4 count 1 type 2 compute 68 mode 16 workspace 256"},
       {16, SLUICE_PRECISION_F32, "gemm NN 8,4,4 count 1 type 14 compute 68 mode 16 workspace 256"}});
}

TEST_CASE("starting a library is no time of the GPU's", "[cuda]") {
  ProductModel model({kFloat, 0, 1, 4, 8, 4, 0, 0, 0, 0, 0});
  checkTimeOf(model);
}

TEST_CASE("a library that refuses leaves the product to the grid, and the session says so", "[cuda]") {
  for (const char *function : {"cublasCreate_v2", "cublasSetMathMode", "cublasSetStream_v2", "cublasSetWorkspace_v2",
                               "cublasGemmStridedBatchedEx"}) {
    INFO(function);
    ProductModel model({kFloat, 0, 1, 4, 8, 4, 0, 0, 0, 0, 0});
    fakeBlasFail(function, 3);
    SessionPtr session = model.open();
    REQUIRE(session);
    REQUIRE(errorOf(session.get()) == "");
    CHECK(usesGrid);
    CHECK_THAT(sluice_notes(session.get()), Contains("device 'accel0': cuBLAS fails with status 3, while ") &&
                                                Contains("so Sluice's own kernels compute the products\n"));
    fakeBlasFail("", 0);
    session.reset();
    CHECK(fakeBlasHeld() == 0);
  }
}

TEST_CASE("a library that refuses some products is said to have done the others", "[cuda]") {
  ProductModel model({kFloat, 0, 1, 4, 8, 4, 0, 0, 0, 0, 0});
  SessionPtr session = model.open();
  REQUIRE(session);
  REQUIRE(errorOf(session.get()) == "");
  fakeBlasFail("cublasGemmStridedBatchedEx", 15);
  REQUIRE(errorOf(session.get()) == "");
  fakeBlasFail("", 0);
  CHECK_THAT(sluice_notes(session.get()),
             Contains("while multiplying, so Sluice's own kernels compute some products\n"));
}

TEST_CASE("what a library cannot count it is not asked for", "[cuda]") {
  constexpr int64_t kTooLarge = int64_t(INT32_MAX) + 1;
  for (int64_t sluice_product::*extent :
       {&sluice_product::batches, &sluice_product::m, &sluice_product::n, &sluice_product::k}) {
    sluice_product what{kFloat, 0, 1, 4, 8, 4, 0, 0, 0, 0, 0};
    ProductModel model(what);
    what.*extent = kTooLarge;
    model.ask(what);
    SessionPtr session = model.open();
    REQUIRE(session);
    REQUIRE(errorOf(session.get()) == "");
    CHECK(usesGrid);
    CHECK_THAT(sluice_notes(session.get()), Contains("a product is too large for cuBLAS"));
  }
}

TEST_CASE("a library that fails fails the operator", "[cuda]") {
  ProductModel model({kFloat, 0, 1, 4, 8, 4, 0, 0, 0, 0, 0});
  SessionPtr session = model.open();
  REQUIRE(session);
  fakeBlasFail("cublasGemmStridedBatchedEx", 13);
  CHECK_THAT(errorOf(session.get()),
             Contains("operator 'first' failed: device 'accel0': cuBLAS fails with status 13, while multiplying"));
  fakeBlasFail("", 0);
  CHECK(errorOf(session.get()) == "");
}
