//===- BackingFile.cpp - A file below the memories ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BackingFile.h"
#include "UnnamedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::runtime {

namespace {

constexpr int64_t kBufferBytes = int64_t(1) << 20;
/// A call moves no more: between calls a page cache is emptied, where there is one.
constexpr int64_t kCallBytes = int64_t(16) << 20;

int64_t roundUp(int64_t value) { return (value + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }
int64_t roundDown(int64_t value) { return value / kBlockBytes * kBlockBytes; }
bool isAligned(const void *address) { return reinterpret_cast<uintptr_t>(address) % kBlockBytes == 0; }

/// Direct I/O from now on; false where the file system has none. Some take the flag and refuse the first read.
bool makeDirect(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0)
    return false;
  void *block = std::aligned_alloc(kBlockBytes, kBlockBytes);
  const bool works = block && pread(fd, block, kBlockBytes, 0) >= 0;
  std::free(block);
  if (!works)
    (void)fcntl(fd, F_SETFL, flags);
  return works;
}

} // namespace

void BackingFile::Free::operator()(char *memory) const { std::free(memory); }

auto BackingFile::cannot(const char *what, int64_t offset, int64_t bytes, const std::string &why) const {
  return failure("cannot ", what, " ", bytes, " bytes at offset ", offset, " of '", name, "', ", why);
}

Result<std::unique_ptr<BackingFile>> BackingFile::open(const std::string &path) {
  // Non-blocking, so that a pipe without a writer cannot hang the open.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const std::string why = info.st_mode == 0 ? std::strerror(errno) : "it is not a regular file";
    if (fd >= 0)
      close(fd);
    return failure("cannot read '", path, "': ", why, ", give a directory that sluice compile wrote");
  }
  std::unique_ptr<BackingFile> file(new BackingFile(fd, path, info.st_size, makeDirect(fd)));
  file->changedSec = info.st_mtim.tv_sec;
  file->changedNs = info.st_mtim.tv_nsec;
  return file;
}

Result<std::unique_ptr<BackingFile>> BackingFile::create(const std::string &directory, int64_t bytes,
                                                         const char *memoryName) {
  const int64_t length = roundUp(bytes);
  const int fd = openUnnamed(directory.c_str());
  const int error = fd < 0 ? errno : takeBlocks(fd, length);
  if (error) {
    if (fd >= 0)
      close(fd);
    return failure("cannot create a file of ", bytes, " bytes for memory '", memoryName, "', directory '", directory,
                   "': ", std::strerror(error),
                   ", give a writable directory of a disk that has the space and allows files of this size");
  }
  return std::unique_ptr<BackingFile>(
      new BackingFile(fd, "a file in '" + directory + "' for memory '" + memoryName + "'", length, makeDirect(fd)));
}

BackingFile::~BackingFile() { close(fd); }

Status BackingFile::checkUnchanged() const {
  struct stat info = {};
  if (fstat(fd, &info) != 0)
    return failure("cannot read '", name, "': ", std::strerror(errno),
                   ", check the disk, and that the file still exists");
  if (info.st_size != length || info.st_mtim.tv_sec != changedSec || info.st_mtim.tv_nsec != changedNs)
    return failure("'", name, "' was changed after it was opened, from ", length, " bytes to ", int64_t(info.st_size),
                   ", compile the model again and do not change its files");
  return {};
}

Result<BackingFile::Buffer> BackingFile::takeBuffer() const {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!buffers.empty()) {
      Buffer buffer = std::move(buffers.back());
      buffers.pop_back();
      return buffer;
    }
  }
  Buffer buffer(static_cast<char *>(std::aligned_alloc(kBlockBytes, kBufferBytes)));
  if (!buffer)
    return failure("the system gave no memory for a buffer of ", kBufferBytes, " bytes");
  return buffer;
}

void BackingFile::giveBack(Buffer buffer) const {
  std::lock_guard<std::mutex> lock(mutex);
  buffers.push_back(std::move(buffer));
}

Status BackingFile::readPlain(char *to, int64_t offset, int64_t bytes) const {
  for (int64_t done = 0; done < bytes;) {
    const int64_t piece = std::min(bytes - done, kCallBytes);
    const ssize_t got = pread(fd, to + done, static_cast<size_t>(piece), offset + done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return cannot("read", offset, bytes, std::strerror(errno));
    if (!direct && got > 0)
      (void)posix_fadvise(fd, offset + done, got, POSIX_FADV_DONTNEED);
    done += got;
    // The last block of a file may be a part of one.
    if (got < piece)
      return offset + done >= length ? Status()
                                     : cannot("read", offset, bytes,
                                              "the file was shortened to " + std::to_string(offset + done) +
                                                  " bytes while the model runs, compile the model again");
  }
  return {};
}

Status BackingFile::writePlain(const char *from, int64_t offset, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    const int64_t piece = std::min(bytes - done, kCallBytes);
    const ssize_t put = pwrite(fd, from + done, static_cast<size_t>(piece), offset + done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return cannot("write", offset, bytes,
                    std::string(put < 0 ? std::strerror(errno) : "the disk is full") +
                        ", give a directory of a disk with room");
    if (!direct) {
      // Pages that are not written yet would stay.
      (void)sync_file_range(fd, offset + done, put,
                            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
      (void)posix_fadvise(fd, offset + done, put, POSIX_FADV_DONTNEED);
    }
    done += put;
  }
  return {};
}

Status BackingFile::readByBuffer(char *to, int64_t offset, int64_t bytes) const {
  Result<Buffer> buffer = takeBuffer();
  if (!buffer)
    return tl::unexpected(buffer.error());
  Status status;
  for (int64_t at = offset; at < offset + bytes && status;) {
    const int64_t begin = roundDown(at), end = std::min(roundUp(offset + bytes), begin + kBufferBytes);
    status = readPlain(buffer->get(), begin, end - begin);
    const int64_t piece = std::min(end, offset + bytes) - at;
    if (status)
      std::memcpy(to + (at - offset), buffer->get() + (at - begin), static_cast<size_t>(piece));
    at += piece;
  }
  giveBack(std::move(*buffer));
  return status;
}

Status BackingFile::read(void *to, int64_t room, int64_t offset, int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > length || bytes > length - offset)
    return cannot("read", offset, bytes, "which has " + std::to_string(length) + " bytes, compile the model again");
  char *const start = static_cast<char *>(to);
  if (!direct)
    return readPlain(start, offset, bytes);
  if (!isAligned(to) || offset % kBlockBytes != 0)
    return readByBuffer(start, offset, bytes);
  if (roundUp(bytes) <= room)
    return readPlain(start, offset, roundUp(bytes));
  const int64_t whole = roundDown(bytes);
  Status status = readPlain(start, offset, whole);
  return status && whole < bytes ? readByBuffer(start + whole, offset + whole, bytes - whole) : status;
}

Status BackingFile::writeByBuffer(const char *from, int64_t offset, int64_t bytes) {
  // Two who write parts of one block must not both begin with what it had before.
  std::lock_guard<std::mutex> lock(partial);
  Result<Buffer> buffer = takeBuffer();
  if (!buffer)
    return tl::unexpected(buffer.error());
  Status status;
  for (int64_t at = offset; at < offset + bytes && status;) {
    const int64_t begin = roundDown(at), end = std::min(roundUp(offset + bytes), begin + kBufferBytes);
    const int64_t piece = std::min(end, offset + bytes) - at;
    // What lies around it in its blocks stays.
    if (begin < at || at + piece < end)
      status = readPlain(buffer->get(), begin, end - begin);
    if (!status)
      break;
    std::memcpy(buffer->get() + (at - begin), from + (at - offset), static_cast<size_t>(piece));
    status = writePlain(buffer->get(), begin, end - begin);
    at += piece;
  }
  giveBack(std::move(*buffer));
  return status;
}

Status BackingFile::write(const void *from, int64_t room, int64_t offset, int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset > length || bytes > length - offset)
    return cannot("write", offset, bytes, "which has " + std::to_string(length) + " bytes, compile the model again");
  const char *const start = static_cast<const char *>(from);
  if (!direct)
    return writePlain(start, offset, bytes);
  if (!isAligned(from) || offset % kBlockBytes != 0)
    return writeByBuffer(start, offset, bytes);
  if (roundUp(bytes) <= room)
    return writePlain(start, offset, roundUp(bytes));
  const int64_t whole = roundDown(bytes);
  Status status = writePlain(start, offset, whole);
  return status && whole < bytes ? writeByBuffer(start + whole, offset + whole, bytes - whole) : status;
}

} // namespace sluice::runtime
