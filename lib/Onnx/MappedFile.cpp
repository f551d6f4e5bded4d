//===- MappedFile.cpp - Read-only mappings --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "MappedFile.h"

#include "sluice/Onnx/MappedPages.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice {

FileHandle::~FileHandle() {
  if (fd >= 0)
    ::close(fd);
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

namespace {
/// The mappings of the process. Views of them come without their owner, and advice about other memory could destroy it.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> ends; ///< By the first address: the address behind the last.
};
} // namespace

static Mappings &mappings() {
  // Never destroyed: a mapping may be a part of something that is destroyed when the process ends.
  static auto *const all = new Mappings;
  return *all;
}

/// Gives advice about the pages of a mapping that hold at least one of the bytes.
static void advise(std::span<const std::byte> bytes, int advice) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()), end = begin + bytes.size();
  Mappings &all = mappings();
  // The lock keeps the mapping in place.
  std::lock_guard lock(all.mutex);
  auto found = all.ends.upper_bound(begin);
  if (bytes.empty() || found == all.ends.begin() || end > std::prev(found)->second)
    return;
  const uintptr_t from = begin / page * page;
  // Advice is only a request: without it everything is slower or larger, and still right.
  (void)::madvise(reinterpret_cast<void *>(from), end - from, advice);
}

void prefetchPages(std::span<const std::byte> bytes) { advise(bytes, MADV_WILLNEED); }

void releasePages(std::span<const std::byte> bytes) { advise(bytes, MADV_DONTNEED); }

MappedFile::MappedFile(const std::byte *data, size_t size) : data(data), size(size) {
  if (size == 0)
    return;
  std::lock_guard lock(mappings().mutex);
  const auto begin = reinterpret_cast<uintptr_t>(data);
  mappings().ends[begin] = begin + size;
}

MappedFile::~MappedFile() {
  if (size == 0)
    return;
  std::lock_guard lock(mappings().mutex);
  mappings().ends.erase(reinterpret_cast<uintptr_t>(data));
  ::munmap(const_cast<std::byte *>(data), size);
}

Expected<std::shared_ptr<const MappedFile>> MappedFile::map(const FileHandle &file, size_t size,
                                                            std::string_view name) {
  const void *data = nullptr;
  if (size) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED)
      return makeError(ErrorCode::Io, "cannot map '", name, "', ", std::strerror(errno),
                       ", free memory or give a smaller file");
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte *>(data), size));
}

Expected<OpenedFile> openRegularFile(const std::string &path) {
  // Non-blocking, so that a FIFO cannot hang the open; it has no effect on regular files.
  FileHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!handle)
    return makeError(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "cannot open '", path, "', ",
                     std::strerror(errno), ", check the path and its permissions");
  struct stat info {};
  if (::fstat(handle.get(), &info) != 0)
    return makeError(ErrorCode::Io, "cannot examine '", path, "', ", std::strerror(errno),
                     ", check its disk or copy it to another");
  if (!S_ISREG(info.st_mode))
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not a regular file, give the model's file");
  return OpenedFile{std::move(handle), static_cast<size_t>(info.st_size)};
}

Expected<FileHandle> openDirectoryOf(const std::string &path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  FileHandle handle(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle)
    return makeError(ErrorCode::Io, "cannot open the directory of '", path, "', ", std::strerror(errno),
                     ", check its permissions");
  return handle;
}

Expected<OpenedFile> openBeneath(const FileHandle &root, std::string_view location, const FileMention &mention) {
  auto refuse = [&](const auto &...why) {
    return makeError(ErrorCode::InvalidInput, mention.kind, " '", excerpt(location), "' of ", mention.owner, " ",
                     why..., mention.hasAdvice ? ", keep it in" : " and must be in", " a regular file below the ",
                     mention.home, "'s own directory");
  };
  if (location.empty())
    return refuse("has no file name");
  if (location.front() == '/')
    return refuse("is an absolute path");
  if (location.find('\0') != std::string_view::npos || location.size() > 4096)
    return refuse("is not a file name");
  if (concat("/", location, "/").find("/../") != std::string::npos)
    return refuse("leads out of the ", mention.home, "'s directory");

  FileHandle directory;
  int at = root.get();
  while (true) {
    size_t slash = location.find('/');
    std::string component(location.substr(0, slash));
    bool last = slash == std::string_view::npos;
    if (component.empty() || component == ".") {
      if (last)
        return refuse("is not a file");
      location.remove_prefix(slash + 1);
      continue;
    }
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY);
    FileHandle next(::openat(at, component.c_str(), flags));
    if (!next) {
      if (errno == ELOOP)
        return refuse("passes through the symbolic link '", component, "'");
      if (errno == ENOENT)
        return makeError(ErrorCode::NotFound, mention.kind, " file '", component, "' of ", mention.owner,
                         " does not exist beside the ", mention.home, ", add the file or correct its path");
      // With O_DIRECTORY a symbolic link reports ENOTDIR, as a plain file in the middle of a path does.
      return refuse("cannot be opened at '", component, "': ", std::strerror(errno));
    }
    if (!last) {
      directory = std::move(next);
      at = directory.get();
      location.remove_prefix(slash + 1);
      continue;
    }
    struct stat info {};
    if (::fstat(next.get(), &info) != 0)
      return refuse("cannot be examined: ", std::strerror(errno));
    if (!S_ISREG(info.st_mode))
      return refuse("is not a regular file");
    if (info.st_nlink != 1)
      return refuse("has ", info.st_nlink, " hard links, so the file may belong to another directory");
    return OpenedFile{std::move(next), static_cast<size_t>(info.st_size)};
  }
}

} // namespace sluice
