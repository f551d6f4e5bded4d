//===- Temporaries.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Temporaries.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice {

struct Temporary::Record {
  std::string path;
  pid_t owner = 0;
  /// Of a folder: it can be emptied when the process may open no more files.
  int folder = -1;
  /// In `table`; kUnlisted where it is full.
  size_t slot = kUnlisted;

  static constexpr size_t kUnlisted = SIZE_MAX;
  ~Record() {
    if (folder >= 0)
      close(folder);
  }
};

namespace {

/// A handler of signals may lock nothing, so the table has a fixed size. A path beyond it is removed by its object
/// only.
constexpr size_t kMostListed = 256;
struct Listed {
  std::atomic<const char *> path{nullptr};
  std::atomic<pid_t> owner{0};
  std::atomic<int> folder{-1};
};
std::array<Listed, kMostListed> table;

std::atomic<bool> allocationFailed{false};

/// Between the creation of a file and its entry into the table no signal may end the process.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &old, nullptr); }

private:
  sigset_t old;
};

/// -1 where the path is no folder, or a link.
int openFolder(const char *path) { return ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

bool removeTree(int parent, const char *name, int depth);

/// std::filesystem would allocate.
void empty(int folder, int depth) {
  // A removal may hide later entries from the reading in progress: it is repeated until it removes nothing.
  for (bool isRemoving = true; isRemoving;) {
    isRemoving = false;
    alignas(dirent64) char buffer[4096];
    ssize_t bytes;
    lseek(folder, 0, SEEK_SET);
    while ((bytes = getdents64(folder, buffer, sizeof buffer)) > 0)
      for (ssize_t at = 0; at < bytes;) {
        const auto *entry = reinterpret_cast<const dirent64 *>(buffer + at);
        at += entry->d_reclen;
        if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
          isRemoving |= removeTree(folder, entry->d_name, depth + 1);
      }
  }
}

/// Whether it was there and is gone.
bool removeTree(int parent, const char *name, int depth) {
  constexpr int kMostLevels = 32;
  if (unlinkat(parent, name, 0) == 0)
    return true;
  if ((errno != EISDIR && errno != EPERM) || depth == kMostLevels)
    return false;
  // An empty folder need not be opened, which the system may refuse.
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
    return true;
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0)
    return false;
  empty(folder, depth);
  close(folder);
  return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

void removeListed(const char *path, int folder) {
  if (folder < 0) {
    removeTree(AT_FDCWD, path, 0);
    return;
  }
  empty(folder, 0);
  unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

} // namespace

//===----------------------------------------------------------------------===//
// Temporary
//===----------------------------------------------------------------------===//

Temporary::Temporary(std::unique_ptr<Record> record) : record(std::move(record)) {}

Temporary::Temporary(std::string path) : record(std::make_unique<Record>()) {
  record->path = std::move(path);
  record->folder = openFolder(record->path.c_str());
  list();
}

Temporary::Temporary(Temporary &&) noexcept = default;

void Temporary::list() {
  record->owner = getpid();
  for (size_t i = 0; i < kMostListed && record->slot == Record::kUnlisted; ++i) {
    pid_t none = 0;
    if (!table[i].owner.compare_exchange_strong(none, record->owner))
      continue;
    table[i].folder = record->folder;
    table[i].path.store(record->path.c_str(), std::memory_order_release);
    record->slot = i;
  }
}

void Temporary::keep() {
  if (!record)
    return;
  if (record->slot != Record::kUnlisted && record->owner == getpid()) {
    // Null: a handler reads the path, and the process is about to end.
    if (!table[record->slot].path.exchange(nullptr)) {
      (void)record.release();
      return;
    }
    table[record->slot].owner = 0;
  }
  record.reset();
}

Temporary::~Temporary() {
  if (!record)
    return;
  if (record->owner == getpid())
    removeListed(record->path.c_str(), record->folder);
  keep();
}

const std::string &Temporary::path() const { return record->path; }

bool Temporary::isOpen() const { return record->folder >= 0; }

void removeTemporaries() noexcept {
  const int error = errno;
  for (Listed &listed : table)
    if (listed.owner.load() == getpid())
      if (const char *path = listed.path.exchange(nullptr))
        removeListed(path, listed.folder);
  errno = error;
}

//===----------------------------------------------------------------------===//
// Folders and files
//===----------------------------------------------------------------------===//

Expected<TemporaryDirectory> TemporaryDirectory::create(std::string_view prefix) {
  const char *parent = std::getenv("TMPDIR");
  // All memory is taken before there is a folder.
  Temporary folder(std::make_unique<Temporary::Record>());
  folder.record->path = std::string(parent && *parent ? parent : "/tmp") + "/" + std::string(prefix) + "-XXXXXX";
  SignalsBlocked blocked;
  const bool isMade = mkdtemp(folder.record->path.data()) != nullptr;
  if (isMade)
    folder.record->folder = openFolder(folder.path().c_str());
  if (folder.record->folder < 0) {
    const int why = errno;
    if (isMade)
      rmdir(folder.path().c_str());
    return makeError(ErrorCode::Io, "cannot create a temporary directory, '", folder.path(), "', ", std::strerror(why),
                     ", set TMPDIR to a directory that can be written");
  }
  folder.list();
  return TemporaryDirectory(std::move(folder));
}

std::string TemporaryDirectory::file(std::string_view name) const { return folder.path() + "/" + std::string(name); }

static tl::unexpected<Error> cannotCreate(const std::string &path, int why) {
  return makeError(ErrorCode::Io, "cannot create directory '", path, "', ", std::strerror(why),
                   ", choose another path or make room on its disk");
}

/// Whether the path still names the open folder, which another process may have removed; -1 and errno where the system
/// does not say.
static int isStillNamed(int folder, const char *path) {
  struct stat held, named;
  if (fstat(folder, &held) != 0)
    return -1;
  if (stat(path, &named) != 0)
    return errno == ENOENT ? 0 : -1;
  return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// False if `stop` becomes true while another process has the lock.
static bool lock(int folder, const std::atomic<bool> *stop) {
  constexpr timespec kPause{0, 20'000'000};
  // A search that was ended by Ctrl-C goes on with its best plan.
  const bool wasStopped = stop && *stop;
  while (flock(folder, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
    if (stop && *stop && !wasStopped)
      return false;
    nanosleep(&kPause, nullptr);
  }
  return true;
}

Expected<OutputDirectory> OutputDirectory::open(const std::string &path, const std::atomic<bool> *stop) {
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  if (const std::filesystem::path parent = std::filesystem::path(name).parent_path(); !parent.empty()) {
    std::error_code error;
    std::filesystem::create_directories(parent, error);
    if (error)
      return cannotCreate(path, error.value());
  }
  // A holder that fails removes the folder that it made, and then there may be another of the name.
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    OutputDirectory directory;
    Temporary folder(std::make_unique<Temporary::Record>());
    folder.record->path = name;
    {
      SignalsBlocked blocked;
      const bool isMade = mkdir(name.c_str(), 0777) == 0;
      if (!isMade && errno != EEXIST)
        return cannotCreate(path, errno);
      directory.descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (isMade && directory.descriptor >= 0)
        folder.record->folder = openFolder(name.c_str());
      if (directory.descriptor < 0 || (isMade && folder.record->folder < 0)) {
        const int why = errno;
        if (isMade)
          rmdir(name.c_str());
        return cannotCreate(path, why);
      }
      // Where another process was faster to lock it, the folder is no longer this one's to remove.
      if (isMade && (flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) {
        folder.list();
        directory.made.emplace(std::move(folder));
        return directory;
      }
    }
    if (!lock(directory.descriptor, stop))
      return makeError(ErrorCode::Interrupted, "stopped while another process writes to directory '", path,
                       "', run the command again when that process has ended");
    const int isNamed = isStillNamed(directory.descriptor, name.c_str());
    if (isNamed < 0)
      return cannotCreate(path, errno);
    if (isNamed)
      return directory;
  }
  return makeError(ErrorCode::Io, "other processes remove directory '", path, "' again and again, choose another path");
}

OutputDirectory::OutputDirectory(OutputDirectory &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), made(std::move(other.made)) {}

OutputDirectory::~OutputDirectory() {
  // It is removed under the lock.
  made.reset();
  if (descriptor >= 0)
    close(descriptor);
}

void OutputDirectory::keep() {
  if (made)
    made->keep();
}

static tl::unexpected<Error> cannotWrite(const std::string &path) {
  const int code = errno;
  return makeError(code == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, "cannot write '", path, "', ",
                   std::strerror(code),
                   code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO
                       ? ", make room on its disk or choose another path"
                       : ", check the path and its permissions");
}

PendingFile::PendingFile(Temporary file, std::string path, int descriptor)
    : file(std::move(file)), path(std::move(path)), descriptor(descriptor) {}

PendingFile::PendingFile(PendingFile &&other) noexcept
    : file(std::move(other.file)), path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)) {}

PendingFile::~PendingFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Expected<PendingFile> PendingFile::create(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  // All memory is taken before there is a file.
  Temporary file(std::make_unique<Temporary::Record>());
  file.record->path = path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(counter++);
  std::string copy = path;
  SignalsBlocked blocked;
  // It is listed first: another thread may take the signal that ends the process.
  file.list();
  const int descriptor = ::open(file.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int why = errno;
    file.keep();
    errno = why;
    return cannotWrite(path);
  }
  return PendingFile(std::move(file), std::move(copy), descriptor);
}

bool writeAll(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::write(descriptor, data.data(), data.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    data.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

Status PendingFile::write(std::string_view data) {
  if (!writeAll(descriptor, data))
    return cannotWrite(path);
  return {};
}

Status PendingFile::keep() {
  if (hasAllocationFailed())
    return makeError(ErrorCode::Io, "out of memory before all of '", path,
                     "' was written, free memory or give a smaller problem");
  // A disk may refuse data as late as here.
  if (::close(std::exchange(descriptor, -1)) != 0)
    return cannotWrite(path);
  SignalsBlocked blocked;
  if (::rename(file.path().c_str(), path.c_str()) != 0)
    return cannotWrite(path);
  file.keep();
  return {};
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

void watchAllocations() {
  std::set_new_handler([] {
    allocationFailed = true;
    throw std::bad_alloc();
  });
}

bool hasAllocationFailed() { return allocationFailed; }

} // namespace sluice
