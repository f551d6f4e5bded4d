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

/// A library on one GPU, which computes some kernels in the place of grids. Any thread may call it, with the GPU's
/// context current.
class CudaLibrary {
public:
  /// A request of services.h: a function, whether to add to the result, and the function's settings.
  struct Request {
    uint32_t function;
    bool accumulates;
    const void *settings;
  };
  virtual ~CudaLibrary() = default;
  /// Opens the library at the first call, and prepares this kernel on the host. Returns whether the library can compute
  /// it.
  bool prepare(const Request &request);
  /// May be called once prepare() has returned true. Queues the kernel on the stream; `args` are two operands, the
  /// result and the workspace. Returns false, and does nothing, if the library does not compute it. Fails with the
  /// message to report.
  Result<bool> compute(const Request &request, CuStream stream, void *const *args);
  /// Why the library did not compute all kernels; empty if it did.
  std::string problem() const;

  const size_t settingsBytes;

protected:
  /// `kernels`: the kernels that it computes, in words, in the plural.
  CudaLibrary(const char *name, const char *kernels, size_t settingsBytes);
  std::string failed(int status, const char *doing) const;
  /// Remembers why, and returns false.
  bool absent(std::string reason);
  /// The result of compute() for a call that ended with this status.
  Result<bool> finish(int status, const char *doing);

private:
  virtual Status open() = 0;
  virtual bool describe(const Request &request) = 0;
  virtual Result<bool> run(const Request &request, CuStream stream, void *const *args) = 0;
  /// Whether a status says that something may not work here, but elsewhere.
  virtual bool isRefusal(int status) const = 0;

  const char *name, *kernels;
  mutable std::mutex mutex; ///< Guards all members below.
  std::string why;
  bool isTried = false, isOpen = false;
  bool isUsed = false; ///< Whether the library computed some kernels.
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDALIBRARY_H
