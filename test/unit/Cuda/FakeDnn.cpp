//===- FakeDnn.cpp - cuDNN without a GPU ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeDnn.h"
#include "FakeCuda.h"
#include "FakeLibrary.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

using namespace sluice::test;

namespace {

constexpr int kBadParameter = 2000, kTooLittle = 2006, kBadShape = 2008, kNotSupported = 3000, kNotThisLayout = 3004;
/// cudnnDataType_t, cudnnTensorFormat_t, cudnnConvolutionFwdAlgo_t.
constexpr int kF32 = 0, kF16 = 2, kBF16 = 9, kLast = 1, kImplicit = 0, kPrecomputed = 1;

struct Handle {
  void *stream = nullptr;
};
/// A tensor [n, c, h, w], or filters [n, c, h, w], in either order in memory.
struct Tensor {
  int format = -1, type = -1;
  int64_t n = 0, c = 0, h = 0, w = 0;

  size_t bytes() const { return bytesOf(fakeType()) * static_cast<size_t>(n * c * h * w); }
  FakeType fakeType() const { return type == kF32 ? FakeType::F32 : type == kF16 ? FakeType::F16 : FakeType::BF16; }
  int64_t at(int64_t i, int64_t channel, int64_t y, int64_t x) const {
    return format == kLast ? ((i * h + y) * w + x) * c + channel : ((i * c + channel) * h + y) * w + x;
  }
};
struct Performance {
  int algorithm, status;
  float milliseconds;
  size_t workspace;
  int determinism, math, reserved[3];
};
struct Convolution {
  int64_t padH, padW, strideH, strideW, dilationH, dilationW;
  int type = -1, groups = 1, math = 0;
};

FakeFailure failure;
size_t needed = 64;
int numHeld = 0;

template <typename T>
int make(const char *function, T **made) {
  if (int status = failure.of(function))
    return status;
  *made = new T();
  ++numHeld;
  return 0;
}
template <typename T>
int unmake(T *made) {
  delete made;
  --numHeld;
  return 0;
}

int set(const char *function, Tensor *tensor, Tensor to) {
  if (int status = failure.of(function))
    return status;
  if ((to.type != kF32 && to.type != kF16 && to.type != kBF16) || std::min({to.n, to.c, to.h, to.w}) < 1)
    return kBadParameter;
  *tensor = to;
  return 0;
}

int64_t windows(int64_t extent, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation) {
  return (extent + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
}

int check(const Tensor &x, const Tensor &w, const Convolution &conv, const Tensor &y, int algorithm) {
  if (x.format != w.format || x.format != y.format || x.type != w.type || x.type != y.type || conv.type != kF32)
    return kBadParameter;
  if (w.c * conv.groups != x.c || w.n % conv.groups || y.n != x.n || y.c != w.n ||
      y.h != windows(x.h, w.h, conv.padH, conv.strideH, conv.dilationH) ||
      y.w != windows(x.w, w.w, conv.padW, conv.strideW, conv.dilationW))
    return kBadShape;
  if (algorithm != kImplicit && algorithm != kPrecomputed)
    return kNotSupported;
  return x.format == kLast && algorithm != kPrecomputed ? kNotThisLayout : 0;
}

/// Of the algorithms for gradients all but one sum in another order each time.
int checkGradient(const Tensor &x, const Tensor &w, const Convolution &conv, const Tensor &y, int algorithm) {
  constexpr int kInOrder = 1;
  const int status = check(x, w, conv, y, kPrecomputed);
  return status || algorithm == kInOrder ? status : kNotSupported;
}
int gradientWorkspace(const char *function, const Tensor &x, const Tensor &w, const Convolution &conv, const Tensor &y,
                      int algorithm, size_t &bytes) {
  if (int status = failure.of(function))
    return status;
  bytes = needed;
  return checkGradient(x, w, conv, y, algorithm);
}

struct Described {
  Tensor image, filters, windows;
  Convolution conv;
};
/// Which of the three is computed, of the two others.
enum class Of { Image, Filters, Windows };

/// Calls fn(image's first element, filters', windows') of each window's products along the channels.
template <typename Fn>
void forEachTap(const Described &all, Fn fn) {
  const auto &[in, filters, out, conv] = all;
  const int64_t perGroup = filters.n / conv.groups;
  for (int64_t i = 0; i < out.n; ++i)
    for (int64_t row = 0; row < out.h; ++row)
      for (int64_t column = 0; column < out.w; ++column)
        for (int64_t ky = 0; ky < filters.h; ++ky)
          for (int64_t kx = 0; kx < filters.w; ++kx) {
            const int64_t y = row * conv.strideH + ky * conv.dilationH - conv.padH,
                          x = column * conv.strideW + kx * conv.dilationW - conv.padW;
            if (y < 0 || y >= in.h || x < 0 || x >= in.w)
              continue;
            for (int64_t m = 0; m < out.c; ++m)
              fn(in.at(i, m / perGroup * filters.c, y, x), filters.at(m, 0, ky, kx), out.at(i, m, row, column));
          }
}

std::vector<double> numbersOf(const char *data, const Tensor &tensor) {
  const FakeType type = tensor.fakeType();
  std::vector<double> numbers(tensor.bytes() / bytesOf(type));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = readNumber(data, type, static_cast<int64_t>(i));
  return numbers;
}

std::string list(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

int launch(const char *function, int checked, Handle *handle, float alpha, float beta, const Described &all,
           std::array<const void *, 3> pointers, Of of, int algorithm, void *workspace, size_t workspaceBytes) {
  if (int status = failure.of(function))
    return status;
  if (checked)
    return checked;
  if (algorithm == kPrecomputed && workspaceBytes < needed)
    return kTooLittle;
  const auto &[in, filters, out, conv] = all;
  char *const image = fakeCudaHost(pointers[0], in.bytes()),
              *const weights = fakeCudaHost(pointers[1], filters.bytes()),
              *const windows = fakeCudaHost(pointers[2], out.bytes());
  char *const scratch = workspaceBytes ? fakeCudaHost(workspace, workspaceBytes) : nullptr;
  if (alpha != 1 || (beta != 0 && beta != 1) || !image || !weights || !windows || (workspaceBytes && !scratch))
    return kBadParameter;
  const char *name = of == Of::Windows ? "conv " : of == Of::Image ? "conv-data " : "conv-filters ";
  const std::string what = name + list({in.n, in.c, in.h, in.w}) + " filters " +
                           list({filters.n, filters.h, filters.w}) + " groups " + std::to_string(conv.groups) +
                           " format " + std::to_string(in.format) + " type " + std::to_string(in.type) + " math " +
                           std::to_string(conv.math) + " algorithm " + std::to_string(algorithm) + " workspace " +
                           std::to_string(workspaceBytes);
  const bool adds = beta == 1;
  return fakeCudaEnqueue(handle->stream, what + (adds ? " added" : ""), [=] {
    // What it scribbles there is nobody's.
    std::fill_n(scratch, workspaceBytes, '\x5a');
    std::vector<double> x, w, y;
    auto read = [&](std::vector<double> &numbers, const char *data, const Tensor &tensor, Of which) {
      if (which != of || adds)
        numbers = numbersOf(data, tensor);
      else
        numbers.assign(tensor.bytes() / bytesOf(tensor.fakeType()), 0);
    };
    read(x, image, all.image, Of::Image);
    read(w, weights, all.filters, Of::Filters);
    read(y, windows, all.windows, Of::Windows);
    auto write = [](char *data, const Tensor &tensor, const std::vector<double> &numbers) {
      const size_t count = tensor.bytes() / bytesOf(tensor.fakeType());
      for (size_t i = 0; i < count; ++i)
        writeNumber(data, tensor.fakeType(), static_cast<int64_t>(i), numbers[i]);
    };
    // Whole models run on it.
    const int64_t count = all.filters.c, along = all.image.at(0, 1, 0, 0), within = all.filters.at(0, 1, 0, 0);
    switch (of) {
    case Of::Windows:
      forEachTap(all, [&](int64_t i, int64_t f, int64_t o) {
        double sum = 0;
        for (int64_t c = 0; c < count; ++c)
          sum += x[i + c * along] * w[f + c * within];
        y[o] += sum;
      });
      return write(windows, all.windows, y);
    case Of::Image:
      forEachTap(all, [&](int64_t i, int64_t f, int64_t o) {
        for (int64_t c = 0; c < count; ++c)
          x[i + c * along] += y[o] * w[f + c * within];
      });
      return write(image, all.image, x);
    case Of::Filters:
      forEachTap(all, [&](int64_t i, int64_t f, int64_t o) {
        for (int64_t c = 0; c < count; ++c)
          w[f + c * within] += x[i + c * along] * y[o];
      });
      return write(weights, all.filters, w);
    }
  });
}

} // namespace

extern "C" {

void fakeDnnFail(const char *function, int status) { failure = {function, status}; }
void fakeDnnNeed(size_t bytes) { needed = bytes; }
int fakeDnnHeld() { return numHeld; }

int cudnnCreate(Handle **handle) {
  failure.takeFrom("FAKE_DNN");
  int status = make("cudnnCreate", handle);
  if (!status)
    fakeCudaTakeTime();
  return status;
}
int cudnnDestroy(Handle *handle) { return fakeCudaHasStream(handle->stream) ? unmake(handle) : kBadParameter; }
int cudnnSetStream(Handle *handle, void *stream) {
  handle->stream = stream;
  return failure.of("cudnnSetStream");
}
int cudnnCreateTensorDescriptor(Tensor **tensor) { return make("cudnnCreateTensorDescriptor", tensor); }
int cudnnDestroyTensorDescriptor(Tensor *tensor) { return unmake(tensor); }
int cudnnSetTensor4dDescriptor(Tensor *tensor, int format, int type, int n, int c, int h, int w) {
  return set("cudnnSetTensor4dDescriptor", tensor, {format, type, n, c, h, w});
}
int cudnnCreateFilterDescriptor(Tensor **filter) { return make("cudnnCreateFilterDescriptor", filter); }
int cudnnDestroyFilterDescriptor(Tensor *filter) { return unmake(filter); }
int cudnnSetFilter4dDescriptor(Tensor *filter, int type, int format, int k, int c, int h, int w) {
  return set("cudnnSetFilter4dDescriptor", filter, {format, type, k, c, h, w});
}
int cudnnCreateConvolutionDescriptor(Convolution **conv) { return make("cudnnCreateConvolutionDescriptor", conv); }
int cudnnDestroyConvolutionDescriptor(Convolution *conv) { return unmake(conv); }
int cudnnSetConvolution2dDescriptor(Convolution *conv, int padH, int padW, int strideH, int strideW, int dilationH,
                                    int dilationW, int mode, int type) {
  if (int status = failure.of("cudnnSetConvolution2dDescriptor"))
    return status;
  constexpr int kCrossCorrelation = 1;
  if (mode != kCrossCorrelation || padH < 0 || padW < 0 || std::min({strideH, strideW, dilationH, dilationW}) < 1)
    return kBadParameter;
  *conv = {padH, padW, strideH, strideW, dilationH, dilationW, type};
  return 0;
}
int cudnnSetConvolutionGroupCount(Convolution *conv, int groups) {
  conv->groups = groups;
  return failure.of("cudnnSetConvolutionGroupCount");
}
int cudnnSetConvolutionMathType(Convolution *conv, int math) {
  conv->math = math;
  return failure.of("cudnnSetConvolutionMathType");
}
int cudnnGetConvolutionForwardWorkspaceSize(Handle *, Tensor *x, Tensor *w, Convolution *conv, Tensor *y, int algorithm,
                                            size_t *bytes) {
  if (int status = failure.of("cudnnGetConvolutionForwardWorkspaceSize"))
    return status;
  fakeCudaTakeTime();
  *bytes = algorithm == kPrecomputed ? needed : 0;
  return check(*x, *w, *conv, *y, algorithm);
}
/// Made-up times: Winograd's algorithm twice as fast as the precomputed one, and one that is not supported.
int cudnnFindConvolutionForwardAlgorithm(Handle *, Tensor *x, Tensor *w, Convolution *conv, Tensor *y, int most,
                                         int *count, Performance *found) {
  if (int status = check(*x, *w, *conv, *y, kPrecomputed))
    return status;
  constexpr int kDirect = 3, kWinograd = 6;
  *count = std::min(most, 3);
  std::copy_n(std::initializer_list<Performance>{{kWinograd, 0, 1, 0, 1, conv->math, {}},
                                                 {kPrecomputed, 0, 2, needed, 1, conv->math, {}},
                                                 {kDirect, kNotSupported, -1, 0, 0, 0, {}}}
                  .begin(),
              *count, found);
  return 0;
}
int cudnnConvolutionForward(Handle *handle, const float *alpha, Tensor *xDesc, const void *x, Tensor *wDesc,
                            const void *w, Convolution *conv, int algorithm, void *workspace, size_t workspaceBytes,
                            const float *beta, Tensor *yDesc, void *y) {
  const int status = check(*xDesc, *wDesc, *conv, *yDesc, algorithm);
  return launch("cudnnConvolutionForward", status, handle, *alpha, *beta, {*xDesc, *wDesc, *yDesc, *conv}, {x, w, y},
                Of::Windows, algorithm, workspace, workspaceBytes);
}
int cudnnGetConvolutionBackwardDataWorkspaceSize(Handle *, Tensor *w, Tensor *dy, Convolution *conv, Tensor *dx,
                                                 int algorithm, size_t *bytes) {
  return gradientWorkspace("cudnnGetConvolutionBackwardDataWorkspaceSize", *dx, *w, *conv, *dy, algorithm, *bytes);
}
int cudnnConvolutionBackwardData(Handle *handle, const float *alpha, Tensor *wDesc, const void *w, Tensor *dyDesc,
                                 const void *dy, Convolution *conv, int algorithm, void *workspace,
                                 size_t workspaceBytes, const float *beta, Tensor *dxDesc, void *dx) {
  const int status = checkGradient(*dxDesc, *wDesc, *conv, *dyDesc, algorithm);
  return launch("cudnnConvolutionBackwardData", status, handle, *alpha, *beta, {*dxDesc, *wDesc, *dyDesc, *conv},
                {dx, w, dy}, Of::Image, algorithm, workspace, workspaceBytes);
}
int cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle *, Tensor *x, Tensor *dy, Convolution *conv, Tensor *dw,
                                                   int algorithm, size_t *bytes) {
  return gradientWorkspace("cudnnGetConvolutionBackwardFilterWorkspaceSize", *x, *dw, *conv, *dy, algorithm, *bytes);
}
int cudnnConvolutionBackwardFilter(Handle *handle, const float *alpha, Tensor *xDesc, const void *x, Tensor *dyDesc,
                                   const void *dy, Convolution *conv, int algorithm, void *workspace,
                                   size_t workspaceBytes, const float *beta, Tensor *dwDesc, void *dw) {
  const int status = checkGradient(*xDesc, *dwDesc, *conv, *dyDesc, algorithm);
  return launch("cudnnConvolutionBackwardFilter", status, handle, *alpha, *beta, {*xDesc, *dwDesc, *dyDesc, *conv},
                {x, dw, dy}, Of::Filters, algorithm, workspace, workspaceBytes);
}

} // extern "C"
