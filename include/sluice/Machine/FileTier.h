//===- FileTier.h - A file below the memory that computes -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_FILETIER_H
#define SLUICE_MACHINE_FILETIER_H

#include "sluice/Machine/Machine.h"

#include <string>

namespace sluice {

/// Addresses, offsets and lengths of direct I/O are multiples of this: the block size of every common disk divides it.
inline constexpr int64_t kFileBlockBytes = 4096;

/// The name of the memory that attachDisk adds.
inline constexpr const char *kDiskName = "disk";

/// The file from which parameters stream into the host's memory: on machines whose devices all compute in the host's
/// memory, the first file that has a link to it. Invalid on other machines.
MemoryId fileBelowHost(const Machine &machine);

/// What a disk does, in one direction at a time.
struct DiskRates {
  double readBytesPerSec = 0, writeBytesPerSec = 0;
  int64_t readLatencyNs = 0; ///< Of one block.
};

/// Writes a file without a name in `directory`, and reads it with direct I/O where the file system allows it. Takes
/// less than about two seconds, and 64 MiB of the disk. Fails naming the directory.
Expected<DiskRates> measureDisk(const std::string &directory);
/// Reads an existing file of at least 1 MiB with direct I/O, for a fraction of a second. Its write rate is taken to be
/// its read rate.
Expected<DiskRates> measureReads(const std::string &path);

/// Where what a plan writes to a file goes unless an option says otherwise, as in the runtime: TMPDIR, else /var/tmp,
/// which is on a disk where /tmp may be in memory, else /tmp.
std::string temporaryFileDirectory();

/// Adds a file below the host's memory, which is the last memory, and its link.
void attachDisk(Machine &machine, const DiskRates &rates);

} // namespace sluice

#endif // SLUICE_MACHINE_FILETIER_H
