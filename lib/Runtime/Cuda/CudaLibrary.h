//===- CudaLibrary.h - What NVIDIA's libraries compute ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDALIBRARY_H
#define SLUICE_RUNTIME_CUDALIBRARY_H

#include "CudaDriver.h"
#include "sluice/Runtime/services.h"

#include <mutex>
#include <string>

namespace sluice::runtime {

/// A library on one GPU, which computes some kernels in the place of grids. Any
/// thread; the GPU's context is current.
class CudaLibrary {
public:
  /// As services.h says: a function, whether to add to what is there, its settings.
  struct Request {
    uint32_t function;
    bool accumulates;
    const void *settings;
  };
  virtual ~CudaLibrary() = default;
  /// Opens the library the first time, and prepares what the host has to for this
  /// kernel. Whether the library is of use for it.
  bool prepare(const Request &request);
  /// Once prepare() has returned true: has the kernel computed behind what is on the
  /// stream; args are two operands, the result and the workspace. Whether it is the
  /// library's; where it is not, nothing has been done. Fails with what to report.
  Result<bool> compute(const Request &request, CuStream stream, void *const *args);
  /// Why kernels were not the library's, all or some; empty: they all were.
  std::string problem() const;

  const size_t settingsBytes;

protected:
  /// `kernels`: what it computes, in the plural.
  CudaLibrary(const char *name, const char *kernels, size_t settingsBytes);
  std::string failed(int status, const char *doing) const;
  /// Remembers why; false.
  bool absent(std::string reason);
  /// What compute returns of a call that ended so.
  Result<bool> finish(int status, const char *doing);

private:
  virtual Status open() = 0;
  virtual bool describe(const Request &request) = 0;
  virtual Result<bool> run(const Request &request, CuStream stream, void *const *args) = 0;
  /// Whether a status says that something may not work here, but elsewhere.
  virtual bool isRefusal(int status) const = 0;

  const char *name, *kernels;
  mutable std::mutex mutex; ///< Of all below.
  std::string why;
  bool isTried = false, isOpen = false;
  bool isUsed = false; ///< Some kernels were the library's.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDALIBRARY_H
