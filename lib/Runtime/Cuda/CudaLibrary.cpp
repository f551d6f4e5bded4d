//===- CudaLibrary.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaLibrary.h"

namespace sluice::runtime {

CudaLibrary::CudaLibrary(const char *name, const char *kernels, size_t settingsBytes)
    : settingsBytes(settingsBytes), name(name), kernels(kernels) {}

bool CudaLibrary::prepare(const Request &request) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isTried) {
    isTried = true;
    Status opened = open();
    isOpen = opened ? true : absent(opened.error());
  }
  return isOpen && describe(request);
}

Result<bool> CudaLibrary::compute(const Request &request, CuStream stream, void *const *args) {
  std::lock_guard<std::mutex> lock(mutex);
  return run(request, stream, args);
}

std::string CudaLibrary::problem() const {
  std::lock_guard<std::mutex> lock(mutex);
  if (why.empty())
    return "";
  return why + ", so Sluice's own kernels compute " + (isUsed ? "some " : "the ") + kernels;
}

std::string CudaLibrary::failed(int status, const char *doing) const {
  return std::string(name) + " fails with status " + std::to_string(status) + ", while " + doing;
}

bool CudaLibrary::absent(std::string reason) {
  if (why.empty())
    why = std::move(reason);
  return false;
}

Result<bool> CudaLibrary::finish(int status, const char *doing) {
  if (status && isRefusal(status))
    return absent(failed(status, doing));
  if (status)
    return failure(failed(status, doing), ", compile the model with --gpu-libraries off");
  isUsed = true;
  return true;
}

} // namespace sluice::runtime
