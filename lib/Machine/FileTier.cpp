//===- FileTier.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/FileTier.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sluice {

MemoryId fileBelowHost(const Machine &machine) {
  for (DeviceId device : machine.computeDevices())
    if (machine.device(device).memory != Machine::hostMemory())
      return {};
  for (size_t m = 0; m < machine.memories.size(); ++m)
    if (machine.isFile(MemoryId(m)) && machine.findLink(Machine::hostMemory(), MemoryId(m)).valid())
      return MemoryId(m);
  return {};
}

namespace {

constexpr int64_t kChunkBytes = int64_t(4) << 20;
constexpr int64_t kFileBytes = int64_t(64) << 20;
/// Reads go on for no longer.
constexpr double kReadSeconds = 0.4;
/// Blocks that are read one by one.
constexpr int kSingleBlocks = 16;

class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  const int fd;
};

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer allocateBlocks(int64_t bytes) {
  return Buffer(
      static_cast<char *>(std::aligned_alloc(static_cast<size_t>(kFileBlockBytes), static_cast<size_t>(bytes))));
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

auto cannotMeasure(const std::string &where) {
  return makeError(ErrorCode::Io, "cannot measure the disk, '", where, "', ", std::strerror(errno),
                   ", give a directory of a disk with room");
}

/// Direct I/O from now on; false where the file system has none.
bool makeDirect(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}

/// The rate of reads of large chunks, and the time of a read of one block, of a file's first `bytes`.
Expected<DiskRates> timeReads(int fd, int64_t bytes, const std::string &where) {
  const Buffer buffer = allocateBlocks(kChunkBytes);
  if (!buffer)
    return cannotMeasure(where);
  const bool isDirect = makeDirect(fd);
  if (!isDirect) // What the page cache has would be read at the memory's rate.
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  DiskRates rates;
  int64_t done = 0;
  const double start = seconds();
  while (done + kChunkBytes <= bytes && (done == 0 || seconds() - start < kReadSeconds)) {
    if (pread(fd, buffer.get(), kChunkBytes, done) != kChunkBytes)
      return cannotMeasure(where);
    done += kChunkBytes;
  }
  if (done == 0) {
    if (pread(fd, buffer.get(), static_cast<size_t>(bytes), 0) != bytes)
      return cannotMeasure(where);
    done = bytes;
  }
  rates.readBytesPerSec = static_cast<double>(done) / std::max(seconds() - start, 1e-9);
  std::vector<double> times;
  for (int i = 0; i < kSingleBlocks; ++i) {
    const int64_t at = bytes / kFileBlockBytes * (2 * i + 1) / (2 * kSingleBlocks) * kFileBlockBytes;
    const double before = seconds();
    if (pread(fd, buffer.get(), kFileBlockBytes, at) != kFileBlockBytes)
      return cannotMeasure(where);
    times.push_back(seconds() - before);
  }
  std::nth_element(times.begin(), times.begin() + kSingleBlocks / 2, times.end());
  rates.readLatencyNs = static_cast<int64_t>(1e9 * times[kSingleBlocks / 2]);
  return rates;
}

} // namespace

std::string temporaryFileDirectory() {
  const char *const named = std::getenv("TMPDIR");
  if (named && *named)
    return named;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

Expected<DiskRates> measureReads(const std::string &path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0)
    return cannotMeasure(path);
  constexpr int64_t kLeastBytes = int64_t(1) << 20;
  if (!S_ISREG(info.st_mode) || info.st_size < kLeastBytes)
    return makeError(ErrorCode::InvalidInput, "the file is too small to measure the disk, '", path,
                     "', give a file of at least 1 MiB");
  SLUICE_ASSIGN_OR_RETURN(DiskRates rates, timeReads(file.fd, info.st_size / kFileBlockBytes * kFileBlockBytes, path));
  rates.writeBytesPerSec = rates.readBytesPerSec;
  return rates;
}

Expected<DiskRates> measureDisk(const std::string &directory) {
  std::string path = directory + "/sluice-disk-XXXXXX";
  const Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.fd < 0)
    return cannotMeasure(directory);
  unlink(path.c_str());
  const Buffer buffer = allocateBlocks(kChunkBytes);
  if (!buffer)
    return cannotMeasure(directory);
  // Disks that compress or find equal blocks must not see zeros.
  uint64_t random = 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < kChunkBytes; i += 8) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(buffer.get() + i, &random, sizeof random);
  }
  const double start = seconds();
  int64_t done = 0;
  for (; done < kFileBytes && (done == 0 || seconds() - start < kReadSeconds); done += kChunkBytes)
    if (pwrite(file.fd, buffer.get(), kChunkBytes, done) != kChunkBytes)
      return cannotMeasure(directory);
  if (fdatasync(file.fd) != 0)
    return cannotMeasure(directory);
  const double tookSeconds = seconds() - start;
  SLUICE_ASSIGN_OR_RETURN(DiskRates rates, timeReads(file.fd, done, directory));
  rates.writeBytesPerSec = static_cast<double>(done) / std::max(tookSeconds, 1e-9);
  return rates;
}

void attachDisk(Machine &machine, const DiskRates &rates) {
  const MemoryId file(machine.memories.size());
  machine.memories.push_back({kDiskName, std::numeric_limits<int64_t>::max(), MemoryKind::File});
  Link link;
  link.a = file;
  link.b = Machine::hostMemory();
  link.bytesPerSec = std::max(rates.readBytesPerSec, 1e6);
  link.reverseBytesPerSec = std::max(rates.writeBytesPerSec, 1e6);
  // A disk shares its rate among those who read and write.
  link.duplexBytesPerSec = std::max(link.bytesPerSec, link.reverseBytesPerSec);
  link.latencyNs = std::max<int64_t>(rates.readLatencyNs, 0);
  machine.links.push_back(link);
}

} // namespace sluice
