//===- CudaDriver.cpp - NVIDIA's driver, where there is one ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaDriver.h"
#include "../SharedLibrary.h"

namespace sluice::runtime {

std::string CudaDriver::explain(CuResult error) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(error, &name) != 0 || !name)
    return "CUDA error " + std::to_string(error);
  if (getErrorString(error, &text) != 0 || !text)
    text = "no explanation";
  return std::string(name) + " (" + std::to_string(error) + "): " + text;
}

static Result<CudaDriver> load() {
  constexpr const char *kLibrary = "libcuda.so.1";
  SharedLibrary library({kLibrary});
  if (!library.isOpen())
    return failure("no CUDA driver: ", library.error(), ", install NVIDIA's driver or compile for 'host'");
  CudaDriver driver{};
  auto find = [&](auto &function, const char *name) { library.find(function, name); };
  find(driver.init, "cuInit");
  find(driver.getErrorName, "cuGetErrorName");
  find(driver.getErrorString, "cuGetErrorString");
  find(driver.deviceGetCount, "cuDeviceGetCount");
  find(driver.deviceGet, "cuDeviceGet");
  find(driver.deviceGetName, "cuDeviceGetName");
  find(driver.deviceGetUuid, "cuDeviceGetUuid");
  find(driver.deviceTotalMem, "cuDeviceTotalMem_v2");
  find(driver.deviceGetAttribute, "cuDeviceGetAttribute");
  find(driver.primaryRetain, "cuDevicePrimaryCtxRetain");
  find(driver.primaryRelease, "cuDevicePrimaryCtxRelease_v2");
  find(driver.setCurrent, "cuCtxSetCurrent");
  find(driver.memAlloc, "cuMemAlloc_v2");
  find(driver.memFree, "cuMemFree_v2");
  find(driver.memsetAsync, "cuMemsetD8Async");
  find(driver.hostAlloc, "cuMemHostAlloc");
  find(driver.hostFree, "cuMemFreeHost");
  find(driver.copyIn, "cuMemcpyHtoDAsync_v2");
  find(driver.copyOut, "cuMemcpyDtoHAsync_v2");
  find(driver.copyWithin, "cuMemcpyDtoDAsync_v2");
  find(driver.streamCreate, "cuStreamCreate");
  find(driver.streamDestroy, "cuStreamDestroy_v2");
  find(driver.streamSynchronize, "cuStreamSynchronize");
  find(driver.streamQuery, "cuStreamQuery");
  find(driver.eventCreate, "cuEventCreate");
  find(driver.eventDestroy, "cuEventDestroy_v2");
  find(driver.eventRecord, "cuEventRecord");
  find(driver.eventSynchronize, "cuEventSynchronize");
  find(driver.eventElapsed, "cuEventElapsedTime");
  find(driver.moduleLoad, "cuModuleLoadDataEx");
  find(driver.moduleUnload, "cuModuleUnload");
  find(driver.moduleGetFunction, "cuModuleGetFunction");
  find(driver.launch, "cuLaunchKernel");
  find(driver.streamWaitEvent, "cuStreamWaitEvent");
  if (const std::string &missing = library.missingFunction(); !missing.empty())
    return failure("the CUDA driver '", kLibrary, "' has no function '", missing, "', install a newer driver");
  find(driver.hostRegister, "cuMemHostRegister_v2");
  find(driver.hostUnregister, "cuMemHostUnregister");
  find(driver.streamBeginCapture, "cuStreamBeginCapture_v2");
  find(driver.streamEndCapture, "cuStreamEndCapture");
  find(driver.graphInstantiate, "cuGraphInstantiateWithFlags");
  find(driver.graphLaunch, "cuGraphLaunch");
  find(driver.graphDestroy, "cuGraphDestroy");
  find(driver.graphExecDestroy, "cuGraphExecDestroy");
  if (CuResult result = driver.init(0))
    return failure("the CUDA driver does not start: ", driver.explain(result), ", check that nvidia-smi lists a GPU");
  return driver;
}

Result<const CudaDriver *> cudaDriver() { return loadedOnce<CudaDriver, load>(); }

} // namespace sluice::runtime
