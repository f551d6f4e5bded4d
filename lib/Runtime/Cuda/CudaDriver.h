//===- CudaDriver.h - NVIDIA's driver, where there is one -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The driver's API is loaded at run time, so it is not needed to build or to link. This header declares the functions
// that the runtime calls, as in NVIDIA's documentation ("CUDA Driver API").
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDADRIVER_H
#define SLUICE_RUNTIME_CUDADRIVER_H

#include "../Result.h"

#include <cstddef>
#include <cstdint>

namespace sluice::runtime {

using CuResult = int; ///< 0 is success.
using CuDevice = int;
using CuPointer = unsigned long long;
using CuContext = struct CuContextTag *;
using CuStream = struct CuStreamTag *;
using CuEvent = struct CuEventTag *;
using CuModule = struct CuModuleTag *;
using CuFunction = struct CuFunctionTag *;
using CuGraph = struct CuGraphTag *;
using CuGraphExec = struct CuGraphExecTag *;

struct CuUuid {
  char bytes[16];
};

inline constexpr CuResult kCuOutOfMemory = 2, kCuNotReady = 600;
/// Values of CUdevice_attribute, CUjit_option, CUevent_flags and CUstream_flags.
inline constexpr int kCuComputeMajor = 75, kCuComputeMinor = 76;
inline constexpr int kCuClockKilohertz = 13, kCuMultiprocessors = 16;
inline constexpr int kCuJitErrorLog = 5, kCuJitErrorLogBytes = 6;
inline constexpr unsigned kCuEventNoTiming = 2, kCuStreamNonBlocking = 1;
/// A value of CUstreamCaptureMode: calls that would disturb the capture fail, only on the capturing thread.
inline constexpr int kCuCaptureThread = 1;

struct CudaDriver {
  CuResult (*init)(unsigned flags);
  CuResult (*getErrorName)(CuResult error, const char **text);
  CuResult (*getErrorString)(CuResult error, const char **text);
  CuResult (*deviceGetCount)(int *count);
  CuResult (*deviceGet)(CuDevice *device, int ordinal);
  CuResult (*deviceGetName)(char *name, int length, CuDevice device);
  CuResult (*deviceGetUuid)(CuUuid *uuid, CuDevice device);
  CuResult (*deviceTotalMem)(size_t *bytes, CuDevice device);
  CuResult (*deviceGetAttribute)(int *value, int attribute, CuDevice device);
  CuResult (*primaryRetain)(CuContext *context, CuDevice device);
  CuResult (*primaryRelease)(CuDevice device);
  CuResult (*setCurrent)(CuContext context);
  CuResult (*memAlloc)(CuPointer *pointer, size_t bytes);
  CuResult (*memFree)(CuPointer pointer);
  CuResult (*memsetAsync)(CuPointer pointer, unsigned char value, size_t bytes, CuStream stream);
  CuResult (*hostAlloc)(void **pointer, size_t bytes, unsigned flags);
  CuResult (*hostFree)(void *pointer);
  CuResult (*copyIn)(CuPointer destination, const void *source, size_t bytes, CuStream stream);
  CuResult (*copyOut)(void *destination, CuPointer source, size_t bytes, CuStream stream);
  CuResult (*copyWithin)(CuPointer destination, CuPointer source, size_t bytes, CuStream stream);
  CuResult (*streamCreate)(CuStream *stream, unsigned flags);
  CuResult (*streamDestroy)(CuStream stream);
  CuResult (*streamSynchronize)(CuStream stream);
  CuResult (*streamQuery)(CuStream stream);
  CuResult (*streamWaitEvent)(CuStream stream, CuEvent event, unsigned flags);
  CuResult (*eventCreate)(CuEvent *event, unsigned flags);
  CuResult (*eventDestroy)(CuEvent event);
  CuResult (*eventRecord)(CuEvent event, CuStream stream);
  CuResult (*eventSynchronize)(CuEvent event);
  CuResult (*eventElapsed)(float *milliseconds, CuEvent from, CuEvent to);
  CuResult (*moduleLoad)(CuModule *module, const void *image, unsigned numOptions, int *options, void **values);
  CuResult (*moduleUnload)(CuModule module);
  CuResult (*moduleGetFunction)(CuFunction *function, CuModule module, const char *name);
  CuResult (*launch)(CuFunction function, unsigned blocksX, unsigned blocksY, unsigned blocksZ, unsigned threadsX,
                     unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, CuStream stream, void **parameters,
                     void **extra);

  // Functions of CUDA 11.4 and newer. graphs() returns whether they exist.
  CuResult (*hostRegister)(void *pointer, size_t bytes, unsigned flags);
  CuResult (*hostUnregister)(void *pointer);
  CuResult (*streamBeginCapture)(CuStream stream, int mode);
  CuResult (*streamEndCapture)(CuStream stream, CuGraph *graph);
  CuResult (*graphInstantiate)(CuGraphExec *runnable, CuGraph graph, unsigned long long flags);
  CuResult (*graphLaunch)(CuGraphExec runnable, CuStream stream);
  CuResult (*graphDestroy)(CuGraph graph);
  CuResult (*graphExecDestroy)(CuGraphExec runnable);
  bool graphs() const { return graphInstantiate && graphLaunch; }

  /// The text of an error, such as "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
  std::string explain(CuResult error) const;
};

/// The driver of the process, loaded and initialized at the first call. The failure says what is missing: the library,
/// a function or a GPU.
Result<const CudaDriver *> cudaDriver();

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDADRIVER_H
