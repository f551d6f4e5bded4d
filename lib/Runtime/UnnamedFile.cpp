//===- UnnamedFile.cpp - Files that are gone with their users -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "UnnamedFile.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace sluice::runtime {

int openUnnamed(const char *directory) {
  int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
    return fd;
  // Some file systems have names only.
  std::string path = std::string(directory) + "/sluice-XXXXXX";
  fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0)
    unlink(path.c_str());
  return fd;
}

int takeBlocks(int fd, int64_t bytes) {
  int error = EINTR;
  while (error == EINTR)
    error = bytes > 0 ? posix_fallocate(fd, 0, bytes) : 0;
  return error;
}

} // namespace sluice::runtime
