//===- Temporaries.h - Files that end with the process ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Destructors remove temporary files, but a process also ends without them: by a signal, or where memory ran out in
// code without exceptions. A table of all temporary paths lets the handlers of such ends remove them.
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
  /// A path that exists and becomes temporary.
  explicit Temporary(std::string path);
  Temporary(Temporary &&) noexcept;
  Temporary &operator=(Temporary &&) = delete;
  ~Temporary();

  const std::string &path() const;
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

/// A new folder in TMPDIR, by default /tmp. Put files into it, and no folders: the system may refuse to open them, and
/// then they cannot be removed.
class TemporaryDirectory {
public:
  /// Its name begins with `prefix`.
  static Expected<TemporaryDirectory> create(std::string_view prefix = "sluice");
  const std::string &path() const { return folder.path(); }
  std::string file(std::string_view name) const;

private:
  explicit TemporaryDirectory(Temporary folder) : folder(std::move(folder)) {}
  Temporary folder;
};

/// A folder for a command's files, which one process at a time fills: the files of two must not mix. It is locked by
/// flock as long as the object lives; a file system without such locks has none.
class OutputDirectory {
public:
  /// Makes the folder and those above it where they are absent. Waits while another process holds it. Fails with
  /// Interrupted if `stop` becomes true meanwhile.
  static Expected<OutputDirectory> open(const std::string &path, const std::atomic<bool> *stop = nullptr);
  OutputDirectory(OutputDirectory &&other) noexcept;
  OutputDirectory &operator=(OutputDirectory &&) = delete;
  /// Without keep(), a folder that open() made is removed with all that is in it. One that was there stays.
  ~OutputDirectory();
  void keep();

private:
  OutputDirectory() = default;
  int descriptor = -1;
  std::optional<Temporary> made;
};

/// A file that gets its name when it is whole. Until then it has a temporary name beside it, which no other process or
/// PendingFile uses.
class PendingFile {
public:
  static Expected<PendingFile> create(const std::string &path);
  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile();

  Status write(std::string_view data);
  /// Closes the file and gives it its name, over that of an older file.
  Status keep();

private:
  PendingFile(Temporary file, std::string path, int descriptor);
  Temporary file;
  std::string path;
  int descriptor;
};

/// Writes all of `data`; false, and errno, where the system refuses it.
bool writeAll(int descriptor, std::string_view data);

/// Removes all temporary files and folders of this process. Async-signal-safe, and allocates nothing.
void removeTemporaries() noexcept;

/// From here on failures of operator new are remembered. Streams of the standard library swallow them and lose text; so
/// no PendingFile gets its name after one.
void watchAllocations();
bool hasAllocationFailed();

} // namespace sluice

#endif // SLUICE_SUPPORT_TEMPORARIES_H
