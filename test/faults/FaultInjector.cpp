//===- FaultInjector.cpp - Fails one call of the system -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A library for LD_PRELOAD. It counts the calls of each kind that a program makes after the start of main, and fails
// one of them. sweep.py runs commands with it. The environment says what to fail:
//   SLUICE_FAULT_KIND     a name of kKinds; without it nothing fails
//   SLUICE_FAULT_AT       the number of the call that fails, from 1
//   SLUICE_FAULT_LASTING  if it is 1, all later calls of the kind fail too, as on a full disk
//   SLUICE_FAULT_REPORT   a file: the kind, the number and the stack of the first call that failed
//   SLUICE_FAULT_COUNTS   a file: a line `kind count` for each kind, written when the program exits
// Programs that the process starts run without the library. Calls within libc are not intercepted, and the few
// allocations whose failure ends a process inside libc or the loader, before anyone can handle it, are not failed.
//
//===----------------------------------------------------------------------===//
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
// The allocator itself, which glibc exports: dlsym allocates, so it cannot find malloc for the first call of malloc.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

enum Kind {
  kMemory,
  kMap,
  kOpen,
  kRead,
  kWrite,
  kPrint,
  kClose,
  kStat,
  kRename,
  kSync,
  kTruncate,
  kFolder,
  kThread,
  kLoad,
  kProcess,
  kShortRead,
  kShortWrite,
  kNumKinds
};

struct KindInfo {
  const char *name;
  int error;
};
constexpr KindInfo kKinds[kNumKinds] = {{"memory", ENOMEM}, {"map", ENOMEM},   {"open", EMFILE},     {"read", EIO},
                                        {"write", ENOSPC},  {"print", ENOSPC}, {"close", EIO},       {"stat", EIO},
                                        {"rename", ENOSPC}, {"sync", EIO},     {"truncate", ENOSPC}, {"folder", ENOSPC},
                                        {"thread", EAGAIN}, {"load", 0},       {"process", EAGAIN},  {"short-read", 0},
                                        {"short-write", 0}};

std::array<std::atomic<uint64_t>, kNumKinds> counts;
int failing = kNumKinds;
uint64_t failingAt = 0;
bool isLasting = false, hasStarted = false;
int reportFile = -1;
pid_t process = 0;
char countsPath[4096];
/// Of the loader, and of libc's registration of destructors of threads: a failed allocation there ends the process.
uintptr_t loaderBegin = 0, loaderEnd = 0, destructors = 0;
/// The injector's own calls are not counted.
__attribute__((tls_model("initial-exec"))) thread_local bool isInside = false;

struct Inside {
  bool outer = isInside;
  Inside() { isInside = true; }
  ~Inside() { isInside = outer; }
};

void writeReport(Kind kind, uint64_t number) {
  if (reportFile < 0)
    return;
  Inside inside;
  char line[64];
  const int length =
      std::snprintf(line, sizeof line, "%s %llu\n", kKinds[kind].name, static_cast<unsigned long long>(number));
  (void)!syscall(SYS_write, reportFile, line, length);
  void *frames[48];
  backtrace_symbols_fd(frames, backtrace(frames, 48), reportFile);
}

/// Counts a call, and returns whether it must fail.
bool fails(Kind kind) {
  if (!hasStarted || isInside)
    return false;
  const uint64_t number = counts[kind].fetch_add(1, std::memory_order_relaxed) + 1;
  if (kind != failing || (isLasting ? number < failingAt : number != failingAt))
    return false;
  if (number == failingAt)
    writeReport(kind, number);
  errno = kKinds[kind].error;
  return true;
}

bool failsMemory(void *caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  constexpr uintptr_t kDestructorsBytes = 512;
  if (!hasStarted || (address >= loaderBegin && address < loaderEnd) || address - destructors < kDestructorsBytes)
    return false;
  return fails(kMemory);
}

template <typename Function>
Function next(const char *name) {
  Inside inside;
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int findLoader(dl_phdr_info *info, size_t, void *) {
  if (info->dlpi_addr != getauxval(AT_BASE))
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) {
      const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
      loaderBegin = info->dlpi_addr;
      loaderEnd = end > loaderEnd ? end : loaderEnd;
    }
  return 1;
}

void readEnvironment() {
  Inside inside;
  if (const char *kind = std::getenv("SLUICE_FAULT_KIND"))
    for (failing = 0; failing < kNumKinds && std::strcmp(kKinds[failing].name, kind) != 0;)
      ++failing;
  const char *at = std::getenv("SLUICE_FAULT_AT"), *lasting = std::getenv("SLUICE_FAULT_LASTING");
  failingAt = at ? std::strtoull(at, nullptr, 10) : 0;
  isLasting = lasting && *lasting == '1';
  if (const char *path = std::getenv("SLUICE_FAULT_REPORT"))
    reportFile = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (const char *path = std::getenv("SLUICE_FAULT_COUNTS"))
    std::strncpy(countsPath, path, sizeof countsPath - 1);
  unsetenv("LD_PRELOAD");
  process = getpid();
  dl_iterate_phdr(findLoader, nullptr);
  destructors = reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl"));
  // The first stack that is read loads a library.
  void *frame;
  backtrace(&frame, 1);
}

__attribute__((destructor)) void writeCounts() {
  if (!countsPath[0] || getpid() != process)
    return;
  Inside inside;
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, countsPath, O_WRONLY | O_CREAT | O_TRUNC, 0666));
  for (int kind = 0; kind < kNumKinds; ++kind)
    dprintf(file, "%s %llu\n", kKinds[kind].name, static_cast<unsigned long long>(counts[kind].load()));
  syscall(SYS_close, file);
}

int (*realMain)(int, char **, char **);

int countedMain(int argc, char **argv, char **environment) {
  readEnvironment();
  hasStarted = true;
  return realMain(argc, argv, environment);
}

/// Half of the bytes, at least one: a transfer that was cut short, which is no error.
size_t shortened(Kind kind, size_t bytes) { return bytes > 1 && fails(kind) ? bytes / 2 : bytes; }

mode_t modeOf(int flags, va_list list) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

} // namespace

#define NEXT(name) static const auto real = next<decltype(&name)>(#name)
/// `mode` is the last argument of a call that may have one.
#define TAKE_MODE(flags)                                                                                               \
  va_list list;                                                                                                        \
  va_start(list, flags);                                                                                               \
  const mode_t mode = modeOf(flags, list);                                                                             \
  va_end(list)

extern "C" {

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(), void (*fini)(),
                      void (*loaderFini)(), void *stackEnd) {
  const auto real =
      next<int (*)(decltype(program), int, char **, void (*)(), void (*)(), void (*)(), void *)>("__libc_start_main");
  realMain = program;
  return real(countedMain, argc, argv, init, fini, loaderFini, stackEnd);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *malloc(size_t bytes) { return failsMemory(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) {
  return failsMemory(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  return failsMemory(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  return failsMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return failsMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  void *found = failsMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
  if (!found)
    return ENOMEM;
  *result = found;
  return 0;
}
void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  NEXT(mmap);
  return fails(kMap) ? MAP_FAILED : real(address, bytes, protection, flags, file, offset);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

int open(const char *path, int flags, ...) {
  TAKE_MODE(flags);
  NEXT(open);
  return fails(kOpen) ? -1 : real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  TAKE_MODE(flags);
  NEXT(open64);
  return fails(kOpen) ? -1 : real(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  TAKE_MODE(flags);
  NEXT(openat);
  return fails(kOpen) ? -1 : real(folder, path, flags, mode);
}
FILE *fopen(const char *path, const char *mode) {
  NEXT(fopen);
  return fails(kOpen) ? nullptr : real(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  NEXT(fopen64);
  return fails(kOpen) ? nullptr : real(path, mode);
}
int mkostemp(char *pattern, int flags) {
  NEXT(mkostemp);
  return fails(kOpen) ? -1 : real(pattern, flags);
}
int pipe(int *ends) noexcept {
  NEXT(pipe);
  return fails(kOpen) ? -1 : real(ends);
}
int close(int file) {
  NEXT(close);
  // The descriptor is closed all the same, as Linux does it.
  const bool isFailure = fails(kClose);
  const int result = real(file);
  if (!isFailure)
    return result;
  errno = kKinds[kClose].error;
  return -1;
}

ssize_t read(int file, void *data, size_t bytes) {
  NEXT(read);
  return fails(kRead) ? -1 : real(file, data, shortened(kShortRead, bytes));
}
ssize_t pread(int file, void *data, size_t bytes, off_t offset) {
  NEXT(pread);
  return fails(kRead) ? -1 : real(file, data, bytes, offset);
}
ssize_t pread64(int file, void *data, size_t bytes, off64_t offset) {
  NEXT(pread64);
  return fails(kRead) ? -1 : real(file, data, bytes, offset);
}
ssize_t write(int file, const void *data, size_t bytes) {
  NEXT(write);
  // Diagnostics must be seen.
  if (file == STDERR_FILENO)
    return real(file, data, bytes);
  return fails(kWrite) ? -1 : real(file, data, shortened(kShortWrite, bytes));
}
ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset) {
  NEXT(pwrite);
  return fails(kWrite) ? -1 : real(file, data, shortened(kShortWrite, bytes), offset);
}
ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset) {
  NEXT(pwrite64);
  return fails(kWrite) ? -1 : real(file, data, shortened(kShortWrite, bytes), offset);
}
ssize_t writev(int file, const iovec *pieces, int count) {
  NEXT(writev);
  return file != STDERR_FILENO && fails(kWrite) ? -1 : real(file, pieces, count);
}
size_t fwrite(const void *data, size_t bytes, size_t count, FILE *stream) {
  NEXT(fwrite);
  if (stream == stderr || !fails(kPrint))
    return real(data, bytes, count, stream);
  stream->_flags |= _IO_ERR_SEEN;
  return 0;
}
int fsync(int file) {
  NEXT(fsync);
  return fails(kSync) ? -1 : real(file);
}
int fdatasync(int file) {
  NEXT(fdatasync);
  return fails(kSync) ? -1 : real(file);
}
int ftruncate(int file, off_t bytes) noexcept {
  NEXT(ftruncate);
  return fails(kTruncate) ? -1 : real(file, bytes);
}
int ftruncate64(int file, off64_t bytes) noexcept {
  NEXT(ftruncate64);
  return fails(kTruncate) ? -1 : real(file, bytes);
}
int posix_fallocate(int file, off_t offset, off_t bytes) {
  NEXT(posix_fallocate);
  return fails(kTruncate) ? kKinds[kTruncate].error : real(file, offset, bytes);
}
int posix_fallocate64(int file, off64_t offset, off64_t bytes) {
  NEXT(posix_fallocate64);
  return fails(kTruncate) ? kKinds[kTruncate].error : real(file, offset, bytes);
}

int stat(const char *path, struct stat *info) noexcept {
  NEXT(stat);
  return fails(kStat) ? -1 : real(path, info);
}
int stat64(const char *path, struct stat64 *info) noexcept {
  NEXT(stat64);
  return fails(kStat) ? -1 : real(path, info);
}
int fstat(int file, struct stat *info) noexcept {
  NEXT(fstat);
  return fails(kStat) ? -1 : real(file, info);
}
int fstat64(int file, struct stat64 *info) noexcept {
  NEXT(fstat64);
  return fails(kStat) ? -1 : real(file, info);
}
int rename(const char *from, const char *to) noexcept {
  NEXT(rename);
  return fails(kRename) ? -1 : real(from, to);
}
int renameat2(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags) noexcept {
  NEXT(renameat2);
  return fails(kRename) ? -1 : real(fromFolder, from, toFolder, to, flags);
}
int mkdir(const char *path, mode_t mode) noexcept {
  NEXT(mkdir);
  return fails(kFolder) ? -1 : real(path, mode);
}
char *mkdtemp(char *pattern) noexcept {
  NEXT(mkdtemp);
  return fails(kFolder) ? nullptr : real(pattern);
}

//===----------------------------------------------------------------------===//
// Threads, libraries, processes
//===----------------------------------------------------------------------===//

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) noexcept {
  NEXT(pthread_create);
  return fails(kThread) ? kKinds[kThread].error : real(thread, attributes, body, argument);
}
void *dlopen(const char *path, int flags) noexcept {
  NEXT(dlopen);
  // A failure of the loader itself, so that dlerror has its message.
  const bool isFailure = fails(kLoad);
  Inside inside;
  return real(isFailure ? "/nonexistent/injected-fault.so" : path, flags);
}
pid_t fork() noexcept {
  NEXT(fork);
  return fails(kProcess) ? -1 : real();
}
int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) {
  NEXT(posix_spawn);
  return fails(kProcess) ? kKinds[kProcess].error : real(child, path, actions, attributes, arguments, environment);
}

} // extern "C"
