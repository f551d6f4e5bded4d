//===- BackingFile.h - A file below the memories ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a plan keeps in a file is read and written by the runtime's own calls, never by
// page faults, and past the page cache where the file system allows direct I/O: what a
// model holds is then its arenas. Elsewhere the pages are given back as soon as they
// were copied.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BACKINGFILE_H
#define SLUICE_RUNTIME_BACKINGFILE_H

#include "Result.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::runtime {

/// Addresses, offsets and lengths of direct I/O are multiples of it.
inline constexpr int64_t kBlockBytes = 4096;

class BackingFile {
public:
  /// An existing file, to be read. Remembers its size and when it changed.
  static Result<std::unique_ptr<BackingFile>> open(const std::string &path);
  /// A file of `bytes`, all blocks of which are taken now, in `directory`. It has no name, and is gone with this object
  /// or the process. `memoryName` is for errors.
  static Result<std::unique_ptr<BackingFile>> create(const std::string &directory, int64_t bytes,
                                                     const char *memoryName);
  ~BackingFile();
  BackingFile(const BackingFile &) = delete;
  BackingFile &operator=(const BackingFile &) = delete;

  /// Copies `bytes` at `offset` of the file to memory. Direct where address and offset are multiples of kBlockBytes: up
  /// to the end of the last block of `room` bytes may then be written. Any thread; several at once.
  Status read(void *to, int64_t room, int64_t offset, int64_t bytes) const;
  /// The reverse, of a created file. `room`: how many bytes may be read from the address and written at the offset.
  Status write(const void *from, int64_t room, int64_t offset, int64_t bytes);
  /// Fails where an opened file is not what it was when it was opened.
  Status checkUnchanged() const;

  const std::string &path() const { return name; }
  int64_t bytes() const { return length; }
  bool isDirect() const { return direct; }

private:
  BackingFile(int fd, std::string name, int64_t length, bool direct)
      : fd(fd), name(std::move(name)), length(length), direct(direct) {}
  Status readPlain(char *to, int64_t offset, int64_t bytes) const;
  Status writePlain(const char *from, int64_t offset, int64_t bytes);
  Status readByBuffer(char *to, int64_t offset, int64_t bytes) const;
  Status writeByBuffer(const char *from, int64_t offset, int64_t bytes);
  auto cannot(const char *what, int64_t offset, int64_t bytes, const std::string &why) const;

  struct Free {
    void operator()(char *memory) const;
  };
  using Buffer = std::unique_ptr<char, Free>;
  /// Buffers of kBufferBytes, for what has no address or offset for direct I/O: as many as are in use at once.
  Result<Buffer> takeBuffer() const;
  void giveBack(Buffer buffer) const;

  const int fd;
  const std::string name;
  const int64_t length;
  const bool direct;
  int64_t changedSec = 0, changedNs = 0;
  std::mutex partial; ///< Of blocks of which a part is written.
  mutable std::mutex mutex;
  mutable std::vector<Buffer> buffers;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_BACKINGFILE_H
