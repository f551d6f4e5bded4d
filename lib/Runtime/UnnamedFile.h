//===- UnnamedFile.h - Files that are gone with their users -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_UNNAMEDFILE_H
#define SLUICE_RUNTIME_UNNAMEDFILE_H

#include <cstdint>

namespace sluice::runtime {

/// A file that is gone with its last descriptor and mapping; -1 and errno.
int openUnnamed(const char *directory);
/// Blocks for all of it: a full disk is met here, not by a store. Returns an error's number, or 0.
int takeBlocks(int fd, int64_t bytes);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_UNNAMEDFILE_H
