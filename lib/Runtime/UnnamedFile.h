//===- UnnamedFile.h - Files that are gone with their users -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_UNNAMEDFILE_H
#define SLUICE_RUNTIME_UNNAMEDFILE_H

#include <cstdint>

namespace sluice::runtime {

/// Creates a file that disappears with its last descriptor and mapping. Returns its descriptor, or -1 with errno set.
int openUnnamed(const char *directory);
/// Reserves blocks for `bytes` bytes of a file, so that a full disk fails here and not at a store. Returns 0, or a
/// value of errno.
int takeBlocks(int fd, int64_t bytes);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_UNNAMEDFILE_H
