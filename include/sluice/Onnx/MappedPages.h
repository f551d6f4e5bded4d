//===- MappedPages.h - Memory of mapped models ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Weights are views of mapped files. A page of such a file enters the process when it is first read and stays there
// until it is released, so a process that reads all weights without releasing pages holds the whole model. All
// functions ignore bytes outside the files that this library mapped, and may be called from several threads.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_MAPPEDPAGES_H
#define SLUICE_ONNX_MAPPEDPAGES_H

#include <cstddef>
#include <span>

namespace sluice {

/// Asks the system to read bytes that will be needed soon, and does not wait for them.
void prefetchPages(std::span<const std::byte> bytes);

/// Removes the pages that hold the bytes from the process. The bytes stay readable: the system reads a page again when
/// it is used.
void releasePages(std::span<const std::byte> bytes);

} // namespace sluice

#endif // SLUICE_ONNX_MAPPEDPAGES_H
