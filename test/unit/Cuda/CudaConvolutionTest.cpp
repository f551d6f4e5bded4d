//===- CudaConvolutionTest.cpp - Convolutions that cuDNN computes ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaLibraryModel.h"
#include "FakeDnn.h"

using namespace sluice::test;
using Catch::Contains;

namespace {

constexpr int64_t kFloat = 1;

struct ConvolutionModel : LibraryModel {
  explicit ConvolutionModel(const sluice_convolution &what)
      : LibraryModel(SLUICE_LIBRARY_CONV, withScratch(what),
                     what.batch * what.channels * what.in_height * what.in_width,
                     what.filters * what.channels / what.groups * what.kernel_height * what.kernel_width) {
    fakeDnnFail("", 0);
    fakeDnnNeed(64);
    REQUIRE(what.batch * what.filters * what.out_height * what.out_width <= kLibraryFloats);
  }
};

/// 2 images of 4 channels, 5 by 4, by 6 filters of 3 by 2 in 2 groups.
sluice_convolution grouped() {
  sluice_convolution what{};
  what.element_type = kFloat;
  what.batch = 2, what.channels = 4, what.in_height = 5, what.in_width = 4;
  what.filters = 6, what.kernel_height = 3, what.kernel_width = 2;
  what.pad_height = 1, what.pad_width = 2;
  what.stride_height = 2, what.stride_width = 1;
  what.dilation_height = 1, what.dilation_width = 3;
  what.groups = 2;
  what.out_height = 3, what.out_width = 5;
  return what;
}

/// What of `x`, the images and then the filters, becomes element (image, filter, row, column).
float convolved(const sluice_convolution &what, const std::vector<float> &x, int64_t image, int64_t filter, int64_t row,
                int64_t column) {
  const int64_t perGroup = what.channels / what.groups, first = filter / (what.filters / what.groups) * perGroup;
  float sum = 0;
  for (int64_t c = 0; c < perGroup; ++c)
    for (int64_t ky = 0; ky < what.kernel_height; ++ky)
      for (int64_t kx = 0; kx < what.kernel_width; ++kx) {
        const int64_t py = row * what.stride_height + ky * what.dilation_height - what.pad_height,
                      px = column * what.stride_width + kx * what.dilation_width - what.pad_width;
        if (py < 0 || py >= what.in_height || px < 0 || px >= what.in_width)
          continue;
        const int64_t from = what.channels_last
                                 ? ((image * what.in_height + py) * what.in_width + px) * what.channels + first + c
                                 : ((image * what.channels + first + c) * what.in_height + py) * what.in_width + px;
        const int64_t by = what.channels_last
                               ? ((filter * what.kernel_height + ky) * what.kernel_width + kx) * perGroup + c
                               : ((filter * perGroup + c) * what.kernel_height + ky) * what.kernel_width + kx;
        sum += x[from] * x[lhsFloats + by];
      }
  return sum;
}

} // namespace

TEST_CASE("a library's convolution is the dialect's, in either layout", "[cuda]") {
  for (int64_t last : {0, 1}) {
    sluice_convolution what = grouped();
    what.channels_last = last;
    INFO(last);
    {
      ConvolutionModel model(what);
      SessionPtr session = model.open();
      REQUIRE(session);
      // The second step is recorded, the library's part too.
      for (int round = 0; round < 3; ++round) {
        std::vector<float> x = numbers(), y(kLibraryFloats);
        REQUIRE(runOnce(session.get(), x, y) == 0);
        for (int64_t i = 0; i < what.batch; ++i)
          for (int64_t m = 0; m < what.filters; ++m)
            for (int64_t row = 0; row < what.out_height; ++row)
              for (int64_t column = 0; column < what.out_width; ++column) {
                const int64_t at = last ? ((i * what.out_height + row) * what.out_width + column) * what.filters + m
                                        : ((i * what.filters + m) * what.out_height + row) * what.out_width + column;
                REQUIRE(y[at] == convolved(what, x, i, m, row, column));
              }
      }
      CHECK(sluice_notes(session.get()) == std::string());
      CHECK_FALSE(usesGrid);
      CHECK_THAT(std::string(fakeCudaLog()), Contains("node conv 2,4,5,4 filters 6,3,2 groups 2 format " +
                                                      std::to_string(last) + " type 0 math 3 algorithm 1"));
      CHECK(fakeDnnHeld() == 5); // Described once: two tensors, filters, how, and the handle.
    }
    CHECK(fakeCudaHeld() == 0);
    CHECK(fakeDnnHeld() == 0);
  }
}

TEST_CASE("f32 convolutions are exact unless rounding is asked for, and 16 bits are as they are", "[cuda]") {
  struct Case {
    int64_t type, precision;
    const char *line;
  };
  // CUDNN_DATA_FLOAT 0, HALF 2, BFLOAT16 9; CUDNN_DEFAULT_MATH 0, TENSOR_OP_MATH 1, _ALLOW_CONVERSION 2, FMA_MATH 3.
  for (const Case &each : {Case{1, SLUICE_PRECISION_F32, "type 0 math 3 "},
                           {1, SLUICE_PRECISION_TF32, "type 0 math 0 "},
                           {1, SLUICE_PRECISION_BF16, "type 0 math 0 "},
                           {1, SLUICE_PRECISION_F16, "type 0 math 2 "},
                           {10, SLUICE_PRECISION_F32, "type 2 math 1 "},
                           {10, SLUICE_PRECISION_TF32, "type 2 math 1 "},
                           {16, SLUICE_PRECISION_F32, "type 9 math 1 "}}) {
    sluice_convolution what = grouped();
    what.element_type = each.type, what.precision = each.precision;
    ConvolutionModel model(what);
    SessionPtr session = model.open();
    REQUIRE(session);
    REQUIRE(errorOf(session.get()) == "");
    CHECK_THAT(std::string(fakeCudaLog()), Contains(each.line));
  }
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
            "device 'accel0': cuDNN needs 257 bytes of workspace where 256 are planned, its convolutions run as "
            "grids\n");
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
    // CUDNN_STATUS_NOT_SUPPORTED, of version 8 and 9.
    for (int status : {9, 3000}) {
      INFO(function);
      ConvolutionModel model(grouped());
      fakeDnnFail(function, status);
      SessionPtr session = model.open();
      REQUIRE(session);
      REQUIRE(errorOf(session.get()) == "");
      CHECK(usesGrid);
      CHECK_THAT(sluice_notes(session.get()),
                 Contains("device 'accel0': cuDNN fails with status " + std::to_string(status) + ", while ") &&
                     Contains("its convolutions run as grids\n"));
      fakeDnnFail("", 0);
      session.reset();
      CHECK(fakeDnnHeld() == 0);
    }
  }
}

TEST_CASE("a convolution that the library fails at fails the operator", "[cuda]") {
  // CUDNN_STATUS_EXECUTION_FAILED, of version 8 and 9.
  for (int status : {8, 5000}) {
    ConvolutionModel model(grouped());
    SessionPtr session = model.open();
    REQUIRE(session);
    fakeDnnFail("cudnnConvolutionForward", status);
    CHECK_THAT(errorOf(session.get()), Contains("operator 'first' failed: device 'accel0': cuDNN fails with status " +
                                                std::to_string(status) + ", while convolving"));
    fakeDnnFail("", 0);
    CHECK(errorOf(session.get()) == "");
  }
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
