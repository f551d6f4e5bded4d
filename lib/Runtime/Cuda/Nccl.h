//===- Nccl.h - NVIDIA's collectives, where they are ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// NCCL is loaded at run time, like the driver. This header declares the functions that the runtime calls, as in
// NVIDIA's documentation ("NCCL API").
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_NCCL_H
#define SLUICE_RUNTIME_NCCL_H

#include "CudaDriver.h"

namespace sluice::runtime {

using NcclResult = int; ///< 0 is success.
using NcclComm = struct NcclCommTag *;
struct NcclUniqueId {
  char internal[128];
};
/// Values of ncclDataType_t and ncclResult_t.
inline constexpr int kNcclBytes = 0;
inline constexpr NcclResult kNcclInProgress = 7;

struct NcclLibrary {
  NcclResult (*getVersion)(int *version); ///< 22105 means 2.21.5.
  NcclResult (*getUniqueId)(NcclUniqueId *id);
  /// Returns once all ranks have called it.
  NcclResult (*commInitRank)(NcclComm *comm, int numRanks, NcclUniqueId id, int rank);
  NcclResult (*commAbort)(NcclComm comm);
  NcclResult (*commGetAsyncError)(NcclComm comm, NcclResult *error);
  const char *(*getErrorString)(NcclResult error);
  NcclResult (*send)(const void *data, size_t count, int type, int peer, NcclComm comm, CuStream stream);
  NcclResult (*recv)(void *data, size_t count, int type, int peer, NcclComm comm, CuStream stream);
  NcclResult (*groupStart)();
  NcclResult (*groupEnd)();

  /// The text of an error, such as "invalid usage (5)".
  std::string explain(NcclResult error) const;
};

/// The library of the process, loaded at the first call. The failure says what is missing.
Result<const NcclLibrary *> ncclLibrary();

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_NCCL_H
