//===- CudaDnn.cpp - NVIDIA's convolutions, where they are installed ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaDnn.h"
#include "../SharedLibrary.h"

#include <cstring>
#include <vector>

namespace sluice::runtime {

/// Those beside it that libcudnn opens when they are needed, and ends the process where they are not there.
static std::string missingPart(const SharedLibrary &library) {
  std::vector<const char *> parts{"libcudnn_cnn.so.9"};
  if (library.fileName() == "libcudnn.so.8")
    parts = {"libcudnn_ops_infer.so.8", "libcudnn_cnn_infer.so.8", "libcudnn_cnn_train.so.8"};
  for (const char *part : parts)
    if (!library.hasBeside(part))
      return part;
  return "";
}

static Result<CudaDnn> load() {
  CudaDnn dnn{};
  SharedLibrary library({"libcudnn.so.9", "libcudnn.so.8"});
  library.find(dnn.create, "cudnnCreate");
  library.find(dnn.destroy, "cudnnDestroy");
  library.find(dnn.setStream, "cudnnSetStream");
  library.find(dnn.createTensor, "cudnnCreateTensorDescriptor");
  library.find(dnn.destroyTensor, "cudnnDestroyTensorDescriptor");
  library.find(dnn.setTensor, "cudnnSetTensor4dDescriptor");
  library.find(dnn.createFilter, "cudnnCreateFilterDescriptor");
  library.find(dnn.destroyFilter, "cudnnDestroyFilterDescriptor");
  library.find(dnn.setFilter, "cudnnSetFilter4dDescriptor");
  library.find(dnn.createConvolution, "cudnnCreateConvolutionDescriptor");
  library.find(dnn.destroyConvolution, "cudnnDestroyConvolutionDescriptor");
  library.find(dnn.setConvolution, "cudnnSetConvolution2dDescriptor");
  library.find(dnn.setGroups, "cudnnSetConvolutionGroupCount");
  library.find(dnn.setMath, "cudnnSetConvolutionMathType");
  library.find(dnn.workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  library.find(dnn.forward, "cudnnConvolutionForward");
  library.find(dnn.dataWorkspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  library.find(dnn.backwardData, "cudnnConvolutionBackwardData");
  library.find(dnn.filterWorkspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  library.find(dnn.backwardFilter, "cudnnConvolutionBackwardFilter");
  if (std::string problem = library.problem(); !problem.empty())
    return failure("no cuDNN: ", problem);
  if (std::string part = missingPart(library); !part.empty())
    return failure("no cuDNN: its library '", part, "' is missing");
  return dnn;
}

Result<const CudaDnn *> cudaDnn() { return loadedOnce<CudaDnn, load>(); }

CudaConvolution::CudaConvolution(const sluice_convolution &what) {
  const CudaDnn &dnn = **cudaDnn();
  constexpr int32_t kHalf = 10, kBrain = 16; // ONNX's numbers.
  const int type = what.element_type == kHalf    ? CudaDnn::kF16
                   : what.element_type == kBrain ? CudaDnn::kBF16
                                                 : CudaDnn::kF32;
  // Operands of 16 bits are multiplied exactly, as they are. It has no mode that rounds to
  // bf16; tf32 keeps more digits.
  int math = CudaDnn::kExact;
  if (type != CudaDnn::kF32)
    math = CudaDnn::kTensorCores;
  else if (what.precision == SLUICE_PRECISION_F16)
    math = CudaDnn::kHalves;
  else if (what.precision != SLUICE_PRECISION_F32)
    math = CudaDnn::kDefaultMath;
  const int format = what.channels_last ? CudaDnn::kChannelsLast : CudaDnn::kChannelsFirst;
  auto number = [](int64_t value) { return static_cast<int>(value); };
  auto then = [&](auto function, auto... args) {
    if (!status)
      status = function(args...);
  };
  then(dnn.createTensor, &input);
  then(dnn.createTensor, &result);
  then(dnn.createFilter, &filters);
  then(dnn.createConvolution, &convolution);
  then(dnn.setTensor, input, format, type, number(what.batch), number(what.channels), number(what.in_height),
       number(what.in_width));
  then(dnn.setTensor, result, format, type, number(what.batch), number(what.filters), number(what.out_height),
       number(what.out_width));
  then(dnn.setFilter, filters, type, format, number(what.filters), number(what.channels / what.groups),
       number(what.kernel_height), number(what.kernel_width));
  then(dnn.setConvolution, convolution, number(what.pad_height), number(what.pad_width), number(what.stride_height),
       number(what.stride_width), number(what.dilation_height), number(what.dilation_width), CudaDnn::kCrossCorrelation,
       CudaDnn::kF32);
  then(dnn.setGroups, convolution, number(what.groups));
  then(dnn.setMath, convolution, math);
}

CudaConvolution::~CudaConvolution() {
  const CudaDnn &dnn = **cudaDnn();
  if (input)
    dnn.destroyTensor(input);
  if (result)
    dnn.destroyTensor(result);
  if (filters)
    dnn.destroyFilter(filters);
  if (convolution)
    dnn.destroyConvolution(convolution);
}

CudaConvolutions::~CudaConvolutions() {
  if (!handle)
    return;
  // Its last stream may be gone.
  (*cudaDnn())->setStream(handle, nullptr);
  (*cudaDnn())->destroy(handle);
}

Status CudaConvolutions::open() {
  Result<const CudaDnn *> found = cudaDnn();
  if (!found)
    return tl::unexpected(found.error());
  CudaDnn::Handle made = nullptr;
  if (int status = (*found)->create(&made))
    return failure(failed(status, "starting"));
  handle = made;
  return {};
}

bool CudaConvolutions::isRefusal(int status) const {
  // cudnnStatus_t, before version 9: NOT_INITIALIZED, ALLOC_FAILED, BAD_PARAM, INVALID_VALUE, ARCH_MISMATCH,
  // NOT_SUPPORTED, RUNTIME_PREREQUISITE_MISSING, VERSION_MISMATCH. Since: by the thousand, and two of no memory.
  switch (status) {
  case 1:
  case 2:
  case 3:
  case 5:
  case 6:
  case 9:
  case 11:
  case 14:
  case 4003:
  case 4004:
    return true;
  default:
    return status >= 1000 && status < 4000;
  }
}

int CudaConvolutions::workspaceOf(const Known &known, int algorithm, size_t &bytes) const {
  const CudaDnn &dnn = **cudaDnn();
  const CudaConvolution &it = known.description;
  switch (known.function) {
  case SLUICE_LIBRARY_CONV_DATA_GRADIENT:
    return dnn.dataWorkspace(handle, it.filters, it.result, it.convolution, it.input, algorithm, &bytes);
  case SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT:
    return dnn.filterWorkspace(handle, it.input, it.result, it.convolution, it.filters, algorithm, &bytes);
  default:
    return dnn.workspace(handle, it.input, it.filters, it.convolution, it.result, algorithm, &bytes);
  }
}

int CudaConvolutions::launch(const Known &known, bool accumulates, void *const *args, size_t workspaceBytes) const {
  const CudaDnn &dnn = **cudaDnn();
  const CudaConvolution &it = known.description;
  const float one = 1, before = accumulates ? 1 : 0;
  switch (known.function) {
  case SLUICE_LIBRARY_CONV_DATA_GRADIENT:
    return dnn.backwardData(handle, &one, it.filters, args[1], it.result, args[0], it.convolution, known.algorithm,
                            args[3], workspaceBytes, &before, it.input, args[2]);
  case SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT:
    return dnn.backwardFilter(handle, &one, it.input, args[0], it.result, args[1], it.convolution, known.algorithm,
                              args[3], workspaceBytes, &before, it.filters, args[2]);
  default:
    return dnn.forward(handle, &one, it.input, args[0], it.filters, args[1], it.convolution, known.algorithm, args[3],
                       workspaceBytes, &before, it.result, args[2]);
  }
}

void CudaConvolutions::choose(Known &known, size_t workspaceBytes) const {
  if (known.description.status) {
    known.refused = failed(known.description.status, "describing a convolution");
    return;
  }
  std::vector<int> algorithms{CudaDnn::kGradientGemm};
  if (known.function == SLUICE_LIBRARY_CONV)
    algorithms = {CudaDnn::kPrecomputedGemm, CudaDnn::kImplicitGemm};
  for (int algorithm : algorithms) {
    size_t bytes = 0;
    int status = workspaceOf(known, algorithm, bytes);
    if (!status && bytes <= workspaceBytes) {
      known.refused.clear();
      known.algorithm = algorithm;
      return;
    }
    if (known.refused.empty())
      known.refused = status ? failed(status, "preparing a convolution")
                             : "cuDNN needs " + std::to_string(bytes) + " bytes of workspace where " +
                                   std::to_string(workspaceBytes) + " are planned";
  }
}

static sluice_convolution convolutionOf(const CudaLibrary::Request &request) {
  sluice_convolution what;
  std::memcpy(&what, request.settings, sizeof what);
  return what;
}

CudaConvolutions::Key CudaConvolutions::keyOf(const Request &request) const {
  return {request.function, std::string(static_cast<const char *>(request.settings), settingsBytes)};
}

bool CudaConvolutions::describe(const Request &request) {
  const sluice_convolution what = convolutionOf(request);
  for (int64_t number : {what.batch, what.channels, what.in_height, what.in_width, what.filters, what.out_height,
                         what.out_width, what.kernel_height, what.kernel_width, what.pad_height, what.pad_width,
                         what.stride_height, what.stride_width, what.dilation_height, what.dilation_width, what.groups})
    if (number > INT32_MAX)
      return absent("a convolution is too large for cuDNN, which counts in 32 bits");
  auto [found, isNew] = all.try_emplace(keyOf(request), request.function, what);
  if (isNew)
    choose(found->second, static_cast<size_t>(what.workspace_bytes));
  return found->second.refused.empty() || absent(found->second.refused);
}

Result<bool> CudaConvolutions::run(const Request &request, CuStream stream, void *const *args) {
  Known &known = all.at(keyOf(request));
  int status = (*cudaDnn())->setStream(handle, stream);
  if (!status)
    status = launch(known, request.accumulates, args, static_cast<size_t>(convolutionOf(request).workspace_bytes));
  // Its code is loaded now, for which there may be no memory, and the grid writes all of what this may have.
  const bool isFirst = !known.hasRun && !request.accumulates;
  known.hasRun |= status == 0;
  Result<bool> finished = status && isFirst ? absent(failed(status, "convolving")) : finish(status, "convolving");
  if (finished && !*finished)
    known.refused = failed(status, "convolving");
  return finished;
}

} // namespace sluice::runtime
