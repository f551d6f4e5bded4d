//===- BackingFile.h - A file below the memories ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The runtime reads and writes the tensors that a plan keeps in a file by calls, never by page faults. If the file
// system allows direct I/O, the data bypasses the page cache, and the arenas are all the memory that a model occupies.
// Otherwise pages of the cache are released as soon as they are copied.
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

/// Addresses, offsets and lengths of direct I/O are multiples of this number of bytes.
inline constexpr int64_t kBlockBytes = 4096;

class BackingFile {
public:
  /// Opens an existing file for reading, and remembers its size and the time of its last change.
  static Result<std::unique_ptr<BackingFile>> open(const std::string &path);
  /// Creates a file of `bytes` bytes in `directory` and reserves all its blocks. The file has no name, and disappears
  /// with this object or the process. `memoryName` is for errors.
  static Result<std::unique_ptr<BackingFile>> create(const std::string &directory, int64_t bytes,
                                                     const char *memoryName);
  ~BackingFile();
  BackingFile(const BackingFile &) = delete;
  BackingFile &operator=(const BackingFile &) = delete;

  /// Copies `bytes` bytes at `offset` of the file to memory. I/O is direct if the address and the offset are multiples
  /// of kBlockBytes; then the rest of the last block may be written too, within the `room` bytes of the memory. Several
  /// threads may call at once.
  Status read(void *to, int64_t room, int64_t offset, int64_t bytes) const;
  /// Copies from memory to a file of create(). `room`: how many bytes may be read at the address and written at the
  /// offset.
  Status write(const void *from, int64_t room, int64_t offset, int64_t bytes);
  /// Fails if the file of open() has changed since then.
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
  /// Returns a buffer of kBufferBytes, for data whose address or offset does not allow direct I/O. There are as many
  /// buffers as are in use at once.
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
