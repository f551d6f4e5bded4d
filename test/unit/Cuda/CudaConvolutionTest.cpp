//===- CudaConvolutionTest.cpp - Convolutions that cuDNN computes ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaLibraryModel.h"
#include "FakeDnn.h"
#include "LibraryReference.h"

#include <algorithm>
#include <tuple>

using namespace sluice::test;
using Catch::Contains;

namespace {

constexpr int64_t kFloat = 1;

struct ConvolutionModel : LibraryModel {
  explicit ConvolutionModel(const sluice_convolution &what, uint32_t function = SLUICE_LIBRARY_CONV)
      : LibraryModel(function, withScratch(what),
                     function == SLUICE_LIBRARY_CONV_DATA_GRADIENT ? windows(what) : images(what),
                     function == SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT ? windows(what) : filters(what)) {
    fakeDnnFail("", 0);
    fakeDnnNeed(64);
    REQUIRE(windows(what) <= kLibraryFloats);
  }
  static int64_t images(const sluice_convolution &what) {
    return what.batch * what.channels * what.in_height * what.in_width;
  }
  static int64_t filters(const sluice_convolution &what) {
    return what.filters * what.channels / what.groups * what.kernel_height * what.kernel_width;
  }
  static int64_t windows(const sluice_convolution &what) {
    return what.batch * what.filters * what.out_height * what.out_width;
  }
};

/// 2 images of 4 channels, 4 by 3, by 6 filters of 3 by 2 in 2 groups.
sluice_convolution grouped() {
  sluice_convolution what{};
  what.element_type = kFloat;
  what.batch = 2, what.channels = 4, what.in_height = 4, what.in_width = 3;
  what.filters = 6, what.kernel_height = 3, what.kernel_width = 2;
  what.pad_height = 1, what.pad_width = 2;
  what.stride_height = 2, what.stride_width = 1;
  what.dilation_height = 1, what.dilation_width = 3;
  what.groups = 2;
  what.out_height = 2, what.out_width = 4;
  return what;
}

} // namespace

TEST_CASE("a library's convolutions and their gradients are the dialect's, in either layout", "[cuda]") {
  for (uint32_t function :
       {SLUICE_LIBRARY_CONV, SLUICE_LIBRARY_CONV_DATA_GRADIENT, SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT})
    for (int64_t last : {0, 1}) {
      sluice_convolution what = grouped();
      what.channels_last = last;
      INFO(function << " " << last);
      {
        ConvolutionModel model(what, function);
        addsAgain = last == 1;
        SessionPtr session = model.open();
        REQUIRE(session);
        // The second step is recorded, the library's part too.
        for (int round = 0; round < 3; ++round) {
          std::vector<float> x = numbers(), y(kLibraryFloats), sums(kLibraryFloats);
          REQUIRE(runOnce(session.get(), x, y) == 0);
          int64_t made = 0;
          forEachProduct(what, [&](int64_t image, int64_t filter, int64_t window) {
            const int64_t lhs = function == SLUICE_LIBRARY_CONV_DATA_GRADIENT ? window : image,
                          rhs = function == SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT ? window : filter,
                          to = function == SLUICE_LIBRARY_CONV                 ? window
                               : function == SLUICE_LIBRARY_CONV_DATA_GRADIENT ? image
                                                                               : filter;
            sums[to] += (addsAgain ? 2.0f : 1.0f) * x[lhs] * x[lhsFloats + rhs];
            made = std::max(made, to + 1);
          });
          REQUIRE(made > 60);
          REQUIRE(std::equal(y.begin(), y.begin() + made, sums.begin()));
        }
        CHECK(sluice_notes(session.get()) == std::string());
        CHECK_FALSE(usesGrid);
        const char *name = function == SLUICE_LIBRARY_CONV                 ? "node conv "
                           : function == SLUICE_LIBRARY_CONV_DATA_GRADIENT ? "node conv-data "
                                                                           : "node conv-filters ";
        CHECK_THAT(std::string(fakeCudaLog()), Contains(name + std::string("2,4,4,3 filters 6,3,2 groups 2 format ") +
                                                        std::to_string(last) + " type 0 math 3 algorithm 1"));
        CHECK(fakeDnnHeld() == 5); // Described once: two tensors, filters, how, and the handle.
      }
      CHECK(fakeCudaHeld() == 0);
      CHECK(fakeDnnHeld() == 0);
    }
}

TEST_CASE("f32 convolutions are exact unless rounding is asked for, and 16 bits are as they are", "[cuda]") {
  // CUDNN_DATA_FLOAT 0, HALF 2, BFLOAT16 9; CUDNN_DEFAULT_MATH 0, TENSOR_OP_MATH 1, _ALLOW_CONVERSION 2, FMA_MATH 3.
  checkArithmetic<ConvolutionModel>(grouped(), {{1, SLUICE_PRECISION_F32, "type 0 math 3 "},
                                                {1, SLUICE_PRECISION_TF32, "type 0 math 0 "},
                                                {1, SLUICE_PRECISION_BF16, "type 0 math 0 "},
                                                {1, SLUICE_PRECISION_F16, "type 0 math 2 "},
                                                {10, SLUICE_PRECISION_F32, "type 2 math 1 "},
                                                {10, SLUICE_PRECISION_TF32, "type 2 math 1 "},
                                                {16, SLUICE_PRECISION_F32, "type 9 math 1 "}});
}

TEST_CASE("a convolution takes the first algorithm that the planned workspace serves", "[cuda]") {
  for (bool last : {false, true}) {
    INFO(last);
    sluice_convolution what = grouped();
    what.channels_last = last;
    ConvolutionModel model(what);
    fakeDnnNeed(kScratch + 1);
    SessionPtr session = model.open();
    REQUIRE(session);
    REQUIRE(errorOf(session.get()) == "");
    CHECK(usesGrid == last);
    const std::string notes = sluice_notes(session.get()), log = fakeCudaLog();
    if (last) {
      CHECK(notes ==
            "device 'accel0': cuDNN needs 257 bytes of workspace where 256 are planned, so Sluice's own kernels "
            "compute the convolutions\n");
    } else {
      CHECK(notes == "");
      CHECK_THAT(log, Contains("algorithm 0 workspace 256"));
    }
  }
}

TEST_CASE("a library that refuses leaves the convolution to the grid, and the session says so", "[cuda]") {
  for (const char *function :
       {"cudnnCreate", "cudnnCreateTensorDescriptor", "cudnnSetTensor4dDescriptor", "cudnnCreateFilterDescriptor",
        "cudnnSetFilter4dDescriptor", "cudnnCreateConvolutionDescriptor", "cudnnSetConvolution2dDescriptor",
        "cudnnSetConvolutionGroupCount", "cudnnSetConvolutionMathType", "cudnnGetConvolutionForwardWorkspaceSize",
        "cudnnSetStream", "cudnnConvolutionForward"}) {
    // CUDNN_STATUS_NOT_INITIALIZED, ALLOC_FAILED, NOT_SUPPORTED of version 8, NOT_INITIALIZED, BAD_PARAM,
    // NOT_SUPPORTED, INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED of version 9; EXECUTION_FAILED of both, the first time.
    for (int status : {1, 2, 9, 1001, 2000, 3000, 4004, 8, 5000}) {
      INFO(function << " " << status);
      ConvolutionModel model(grouped());
      fakeDnnFail(function, status);
      SessionPtr session = model.open();
      REQUIRE(session);
      REQUIRE(errorOf(session.get()) == "");
      CHECK(usesGrid);
      CHECK_THAT(sluice_notes(session.get()),
                 Contains("device 'accel0': cuDNN fails with status " + std::to_string(status) + ", while ") &&
                     Contains("so Sluice's own kernels compute the convolutions\n"));
      // It is not asked again, in a step that is recorded least of all.
      fakeDnnFail("", 0);
      usesGrid = false;
      REQUIRE(errorOf(session.get()) == "");
      CHECK(usesGrid);
      session.reset();
      CHECK(fakeDnnHeld() == 0);
    }
  }
}

TEST_CASE("a gradient that the library refuses is the grid's", "[cuda]") {
  for (auto [function, name, sized] : {std::tuple(SLUICE_LIBRARY_CONV_DATA_GRADIENT, "cudnnConvolutionBackwardData",
                                                  "cudnnGetConvolutionBackwardDataWorkspaceSize"),
                                       std::tuple(SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT, "cudnnConvolutionBackwardFilter",
                                                  "cudnnGetConvolutionBackwardFilterWorkspaceSize")})
    for (const char *failing : {name, sized, ""}) {
      INFO(name << " " << failing);
      ConvolutionModel model(grouped(), function);
      fakeDnnFail(failing, 3000);
      // Of one algorithm alone the sums are in the same order each time.
      fakeDnnNeed(*failing ? 64 : kScratch + 1);
      SessionPtr session = model.open();
      REQUIRE(session);
      REQUIRE(errorOf(session.get()) == "");
      CHECK(usesGrid);
      CHECK_THAT(sluice_notes(session.get()), Contains(*failing ? "cuDNN fails with status 3000, while "
                                                                : "cuDNN needs 257 bytes of workspace where 256"));
      fakeDnnFail("", 0);
    }
}

TEST_CASE("a convolution that the library once did and then fails at fails the operator", "[cuda]") {
  // CUDNN_STATUS_INTERNAL_ERROR, EXECUTION_FAILED, of version 8 and 9.
  for (int status : {4, 8, 4000, 5000}) {
    ConvolutionModel model(grouped());
    // Traced steps are none of a graph's.
    SessionPtr session = model.open(nullptr, /*trace=*/true);
    REQUIRE(session);
    REQUIRE(errorOf(session.get()) == "");
    fakeDnnFail("cudnnConvolutionForward", status);
    CHECK_THAT(errorOf(session.get()), Contains("operator 'first' failed: device 'accel0': cuDNN fails with status " +
                                                std::to_string(status) + ", while convolving"));
    CHECK_FALSE(usesGrid);
    fakeDnnFail("", 0);
    CHECK(errorOf(session.get()) == "");
  }
}

TEST_CASE("starting and asking cuDNN is no time of the GPU's", "[cuda]") {
  ConvolutionModel model(grouped());
  checkTimeOf(model);
}

TEST_CASE("a convolution that the library cannot count it is not asked for", "[cuda]") {
  sluice_convolution what = grouped();
  ConvolutionModel model(what);
  what.in_width = int64_t(INT32_MAX) + 1;
  model.ask(what);
  SessionPtr session = model.open();
  REQUIRE(session);
  REQUIRE(errorOf(session.get()) == "");
  CHECK(usesGrid);
  CHECK_THAT(sluice_notes(session.get()), Contains("a convolution is too large for cuDNN"));
}
