//===- Nccl.cpp - NVIDIA's collectives, where they are --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Nccl.h"
#include "../SharedLibrary.h"

namespace sluice::runtime {

std::string NcclLibrary::explain(NcclResult error) const {
  const char *text = getErrorString(error);
  return std::string(text ? text : "no explanation") + " (" + std::to_string(error) + ")";
}

static Result<NcclLibrary> load() {
  SharedLibrary library({"libnccl.so.2"});
  if (!library.isOpen())
    return failure("no NCCL: ", library.error());
  NcclLibrary nccl{};
  library.find(nccl.getVersion, "ncclGetVersion");
  library.find(nccl.getUniqueId, "ncclGetUniqueId");
  library.find(nccl.commInitRank, "ncclCommInitRank");
  library.find(nccl.commAbort, "ncclCommAbort");
  library.find(nccl.commGetAsyncError, "ncclCommGetAsyncError");
  library.find(nccl.getErrorString, "ncclGetErrorString");
  library.find(nccl.send, "ncclSend");
  library.find(nccl.recv, "ncclRecv");
  library.find(nccl.groupStart, "ncclGroupStart");
  library.find(nccl.groupEnd, "ncclGroupEnd");
  if (std::string problem = library.problem(); !problem.empty())
    return failure("NCCL is too old: ", problem, ", install a newer NCCL");
  return nccl;
}

Result<const NcclLibrary *> ncclLibrary() { return loadedOnce<NcclLibrary, load>(); }

} // namespace sluice::runtime
