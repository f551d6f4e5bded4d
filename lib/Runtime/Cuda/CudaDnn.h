//===- CudaDnn.h - NVIDIA's convolutions, where they are installed -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// cuDNN is loaded at run time, like the driver. This header declares the functions that the runtime calls, as in
// NVIDIA's documentation ("cuDNN Backend", library cudnn_cnn). They are the same in versions 8 and 9.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDADNN_H
#define SLUICE_RUNTIME_CUDADNN_H

#include "CudaLibrary.h"

#include <map>
#include <utility>

namespace sluice::runtime {

struct CudaDnn {
  using Handle = struct CudnnTag *;
  using Tensor = struct CudnnTensorTag *;
  using Filter = struct CudnnFilterTag *;
  using Convolution = struct CudnnConvolutionTag *;
  /// Values of cudnnDataType_t, cudnnTensorFormat_t and cudnnConvolutionMode_t.
  static constexpr int kF32 = 0, kF16 = 2, kBF16 = 9;
  static constexpr int kChannelsFirst = 0, kChannelsLast = 1;
  static constexpr int kCrossCorrelation = 1;
  /// Values of cudnnMathType_t. The default may round f32 to tf32, and kHalves to f16.
  static constexpr int kDefaultMath = 0, kTensorCores = 1, kHalves = 2, kExact = 3;
  /// cudnnConvolutionFwdAlgo_t: those that sum products of the operands, in some order.
  /// Winograd's and FFT, behind them, transform operands first, which costs digits.
  static constexpr int kImplicitGemm = 0, kPrecomputedGemm = 1;
  /// cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdFilterAlgo_t: of those the one
  /// whose sums are in the same order each time.
  static constexpr int kGradientGemm = 1;

  int (*create)(Handle *handle);
  int (*destroy)(Handle handle);
  int (*setStream)(Handle handle, CuStream stream);
  int (*createTensor)(Tensor *tensor);
  int (*destroyTensor)(Tensor tensor);
  int (*setTensor)(Tensor tensor, int format, int type, int n, int c, int h, int w);
  int (*createFilter)(Filter *filter);
  int (*destroyFilter)(Filter filter);
  int (*setFilter)(Filter filter, int type, int format, int k, int c, int h, int w);
  int (*createConvolution)(Convolution *convolution);
  int (*destroyConvolution)(Convolution convolution);
  int (*setConvolution)(Convolution convolution, int padHeight, int padWidth, int strideHeight, int strideWidth,
                        int dilationHeight, int dilationWidth, int mode, int type);
  int (*setGroups)(Convolution convolution, int groups);
  int (*setMath)(Convolution convolution, int math);
  int (*workspace)(Handle handle, Tensor x, Filter w, Convolution convolution, Tensor y, int algorithm, size_t *bytes);
  /// y = alpha conv(x, w) + beta y.
  int (*forward)(Handle handle, const void *alpha, Tensor xDesc, const void *x, Filter wDesc, const void *w,
                 Convolution convolution, int algorithm, void *workspace, size_t bytes, const void *beta, Tensor yDesc,
                 void *y);
  int (*dataWorkspace)(Handle handle, Filter w, Tensor dy, Convolution convolution, Tensor dx, int algorithm,
                       size_t *bytes);
  int (*backwardData)(Handle handle, const void *alpha, Filter wDesc, const void *w, Tensor dyDesc, const void *dy,
                      Convolution convolution, int algorithm, void *workspace, size_t bytes, const void *beta,
                      Tensor dxDesc, void *dx);
  int (*filterWorkspace)(Handle handle, Tensor x, Tensor dy, Convolution convolution, Filter dw, int algorithm,
                         size_t *bytes);
  int (*backwardFilter)(Handle handle, const void *alpha, Tensor xDesc, const void *x, Tensor dyDesc, const void *dy,
                        Convolution convolution, int algorithm, void *workspace, size_t bytes, const void *beta,
                        Filter dwDesc, void *dw);
};

/// The library of the process, loaded at the first call. The failure says what is missing.
Result<const CudaDnn *> cudaDnn();

/// The descriptors of a convolution for the library; invalid if `status` is not 0.
struct CudaConvolution {
  explicit CudaConvolution(const sluice_convolution &what);
  ~CudaConvolution();
  CudaConvolution(const CudaConvolution &) = delete;
  CudaConvolution &operator=(const CudaConvolution &) = delete;

  CudaDnn::Tensor input = nullptr, result = nullptr;
  CudaDnn::Filter filters = nullptr;
  CudaDnn::Convolution convolution = nullptr;
  int status = 0;
};

/// Computes the convolutions of sluice_convolution, and their gradients.
class CudaConvolutions final : public CudaLibrary {
public:
  CudaConvolutions() : CudaLibrary("cuDNN", "convolutions", sizeof(sluice_convolution)) {}
  ~CudaConvolutions() override;

private:
  struct Known {
    Known(uint32_t function, const sluice_convolution &what) : function(function), description(what) {}
    uint32_t function;
    CudaConvolution description;
    int algorithm = 0;
    bool hasRun = false;
    std::string refused; ///< Why no algorithm can be used; empty if one can.
  };
  Status open() override;
  bool describe(const Request &request) override;
  Result<bool> run(const Request &request, CuStream stream, void *const *args) override;
  bool isRefusal(int status) const override;
  int workspaceOf(const Known &known, int algorithm, size_t &bytes) const;
  int launch(const Known &known, bool accumulates, void *const *args, size_t workspaceBytes) const;
  /// The first algorithm that supports the convolution and needs no more workspace than there is.
  void choose(Known &known, size_t workspaceBytes) const;

  CudaDnn::Handle handle = nullptr;
  using Key = std::pair<uint32_t, std::string>; ///< The function and its settings.
  Key keyOf(const Request &request) const;
  std::map<Key, Known> all;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDADNN_H
