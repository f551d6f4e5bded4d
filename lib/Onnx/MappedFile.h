//===- MappedFile.h - Read-only mappings ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_MAPPEDFILE_H
#define SLUICE_LIB_ONNX_MAPPEDFILE_H

#include "sluice/Support/Error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// Owns a file descriptor.
class FileHandle {
public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd(fd) {}
  FileHandle(FileHandle &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  FileHandle &operator=(FileHandle &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~FileHandle();
  int get() const { return fd; }
  explicit operator bool() const { return fd >= 0; }

private:
  int fd = -1;
};

/// A whole file, mapped read-only and paged in on use. MappedPages.h describes when its pages leave memory.
class MappedFile {
public:
  /// Maps `size` bytes of an open regular file.
  static Expected<std::shared_ptr<const MappedFile>> map(const FileHandle &file, size_t size, std::string_view name);
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data, size}; }

private:
  MappedFile(const std::byte *data, size_t size);
  const std::byte *data;
  size_t size;
};

struct OpenedFile {
  FileHandle handle;
  size_t size = 0;
};
/// Opens a regular file by a path of the user's. Follows links.
Expected<OpenedFile> openRegularFile(const std::string &path);

/// The words by which errors name a file that another file mentions, and the place where it must be.
struct FileMention {
  std::string_view kind;  ///< "external data".
  std::string_view owner; ///< "tensor 'w'".
  std::string_view home;  ///< "model": the file must be below the model's directory.
  /// Whether the error ends with advice; if not, the caller adds the place and the advice.
  bool hasAdvice = true;
};
/// Opens a regular file by a path that another file mentions: relative to `root`, component by component, through no
/// symbolic link, to a file with one name.
Expected<OpenedFile> openBeneath(const FileHandle &root, std::string_view location, const FileMention &mention);

/// The directory of a file, to open other files beneath.
Expected<FileHandle> openDirectoryOf(const std::string &path);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_MAPPEDFILE_H
