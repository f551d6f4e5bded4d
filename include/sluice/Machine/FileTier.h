//===- FileTier.h - A file as the tier below host memory --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MACHINE_FILETIER_H
#define SLUICE_MACHINE_FILETIER_H

#include "sluice/Machine/Machine.h"

#include <string>

namespace sluice {

/// Addresses, offsets and lengths of direct I/O are multiples of this number of bytes. It is a multiple of the block
/// size of every common disk.
inline constexpr int64_t kFileBlockBytes = 4096;

/// The name of the memory that attachDisk adds.
inline constexpr const char *kDiskName = "disk";

/// The file from which parameters stream into the host's memory: the first file that is linked to the host's memory.
/// Invalid if no file is linked to it, or if a device that computes has a memory of its own.
MemoryId fileBelowHost(const Machine &machine);

/// Rates of a disk that only reads or only writes.
struct DiskRates {
  double readBytesPerSec = 0, writeBytesPerSec = 0;
  int64_t readLatencyNs = 0; ///< Time to read one block of kFileBlockBytes.
};

/// Measures a disk. Writes an unnamed file of at most 64 MiB in `directory` and reads it, with direct I/O if the file
/// system supports it. Takes less than about two seconds. An error names the directory.
Expected<DiskRates> measureDisk(const std::string &directory);
/// Measures a disk by reading an existing file of at least 1 MiB for a fraction of a second, with direct I/O if the
/// file system supports it. The write rate is assumed to equal the read rate.
Expected<DiskRates> measureReads(const std::string &path);

/// The directory of the files to which a step writes, if no option names one; the runtime uses the same directory. It
/// is TMPDIR if TMPDIR is set, otherwise /var/tmp if this directory can be written, and otherwise /tmp. /tmp comes last
/// because it is often in memory.
std::string temporaryFileDirectory();

/// Appends a memory of kind File, named kDiskName, to the machine's memories, and adds its link to the host's memory.
void attachDisk(Machine &machine, const DiskRates &rates);

} // namespace sluice

#endif // SLUICE_MACHINE_FILETIER_H
