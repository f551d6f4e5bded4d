//===- Temporaries.h - Temporary files and folders --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Destructors remove temporary files, but a process can end without running destructors: by a signal, or if memory runs
// out in code without exceptions. The handlers of these cases find the temporary files in a table of their paths and
// remove them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_TEMPORARIES_H
#define SLUICE_SUPPORT_TEMPORARIES_H

#include "sluice/Support/Error.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// A file or folder that is removed, with all that is in it, when the object is destroyed or the process ends. A forked
/// child does not remove what its parent made.
class Temporary {
public:
  /// Makes an existing file or folder temporary.
  explicit Temporary(std::string path);
  Temporary(Temporary &&) noexcept;
  Temporary &operator=(Temporary &&) = delete;
  ~Temporary();

  const std::string &path() const;
  /// Whether it is a folder that is open. What is in such a folder can be removed when the system refuses to open more.
  bool isOpen() const;
  /// The file or folder stays when the process ends.
  void keep();

private:
  friend class PendingFile;
  friend class TemporaryDirectory;
  friend class OutputDirectory;
  struct Record;
  explicit Temporary(std::unique_ptr<Record> record);
  /// Enters the path into the table.
  void list();
  std::unique_ptr<Record> record;
};

/// A new folder in TMPDIR, by default /tmp. Put only files into it, and no folders. The object keeps its folder open,
/// so its files can always be removed. To remove a folder within it that is not empty, the process has to open that
/// folder, which the system may refuse.
class TemporaryDirectory {
public:
  /// The name of the folder begins with `prefix`.
  static Expected<TemporaryDirectory> create(std::string_view prefix = "sluice");
  const std::string &path() const { return folder.path(); }
  std::string file(std::string_view name) const;

private:
  explicit TemporaryDirectory(Temporary folder) : folder(std::move(folder)) {}
  Temporary folder;
};

/// The folder into which a command writes its files. Only one process at a time may write to it, because the files of
/// two processes must not mix. The folder is locked by flock as long as the object lives, if the file system has such
/// locks.
class OutputDirectory {
public:
  /// Makes the folder and its parents if they do not exist. Waits while another process has the lock. Fails with
  /// Interrupted if `stop` becomes true during this wait.
  static Expected<OutputDirectory> open(const std::string &path, const std::atomic<bool> *stop = nullptr);
  OutputDirectory(OutputDirectory &&other) noexcept;
  OutputDirectory &operator=(OutputDirectory &&) = delete;
  /// Without keep(), a folder that open() made is removed with all that is in it. A folder that existed before stays.
  ~OutputDirectory();
  void keep();

private:
  OutputDirectory() = default;
  int descriptor = -1;
  std::optional<Temporary> made;
};

/// A file that gets its name when it is complete. Until then it has a temporary name that no
/// other process or PendingFile uses, in the same folder.
class PendingFile {
public:
  static Expected<PendingFile> create(const std::string &path);
  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile();

  Status write(std::string_view data);
  /// Closes the file and gives it its final name. An older file of this name is replaced. Fails if
  /// hasAllocationFailed().
  Status keep();

private:
  PendingFile(Temporary file, std::string path, int descriptor);
  Temporary file;
  std::string path;
  int descriptor;
};

/// Writes all of `data`. Returns false and sets errno if the system refuses it.
bool writeAll(int descriptor, std::string_view data);

/// Removes all temporary files and folders of this process. Async-signal-safe, and allocates nothing.
void removeTemporaries() noexcept;

/// From this call on, failures of operator new are recorded. Streams of the standard library ignore these failures and
/// lose text, so PendingFile::keep fails after one.
void watchAllocations();
bool hasAllocationFailed();

} // namespace sluice

#endif // SLUICE_SUPPORT_TEMPORARIES_H
