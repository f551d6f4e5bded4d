//===- CudaRanks.h - Collectives in a GPU's memory --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDARANKS_H
#define SLUICE_RUNTIME_CUDARANKS_H

#include "../Collective.h"
#include "../Device.h"
#include "CudaDriver.h"
#include "Nccl.h"

#include <map>
#include <memory>
#include <mutex>

namespace sluice::runtime {

/// One GPU's part in what ranks do together. Parts are packed and combined on the
/// GPU, in the order of ranks, so results have the bits that they have in the
/// host's memory, but for which NaN a sum of NaNs is. They travel by NCCL's sends and receives where every rank has
/// NCCL and a GPU of its own, else through the host's memory. What exchanges is one
/// thread's, what sends nothing may be another's meanwhile.
class CudaRanks {
public:
  /// `copy` moves bytes between the host's memory and the GPU's, as Device::copy.
  CudaRanks(const CudaDriver &driver, CuDevice device, Ranks &ranks, Device &copies);
  /// The GPU's context is current, and nothing runs.
  ~CudaRanks();
  CudaRanks(const CudaRanks &) = delete;
  CudaRanks &operator=(const CudaRanks &) = delete;

  /// What only the first of a kind has to do: all ranks meet, code is loaded.
  Status prepare(uint32_t kind);
  /// sluice_kernel_env's `collective`, with addresses on the GPU, once that is prepared.
  /// Complete when it returns.
  Status run(uint32_t kind, void *const *args, const void *settings, int64_t bytes, CuStream stream);
  /// All ranks come here: a send that is complete on the GPU may still need NCCL's
  /// threads, which end with this object.
  Status endStep();
  /// How bytes travel, and why so; null before the first did.
  const char *exchangesBy() const { return text.empty() ? nullptr : text.c_str(); }

private:
  class Space;

  /// All ranks together, before their first exchange: NCCL or the host.
  Status connect();
  Result<CuFunction> function(const std::string &name);
  char *hostMemory(size_t which, size_t bytes);

  const CudaDriver &cu;
  CuDevice device;
  Ranks &ranks;
  Device &copies;
  bool isConnected = false;
  bool hasSent = false; ///< By NCCL, in this step.
  const NcclLibrary *nccl = nullptr;
  NcclComm comm = nullptr; ///< Null: through the host's memory.
  std::string text;
  /// What goes by way of the host's memory, grown as is needed: what is sent, what is received.
  std::unique_ptr<char[]> hostParts[2];
  size_t hostBytes[2] = {};
  std::mutex mutex; ///< Of the code.
  CuModule module = nullptr;
  std::map<std::string, CuFunction> functions;
};

/// The functions that CudaRanks packs and combines with, as PTX for sm_70 and later.
/// sluice_combine_T_K, of T in f32, f64, s32, s64 and K in sum, max, min: result,
///   parts, elements, number of parts.
/// sluice_rows_N, of N bytes at once (1, 4, 8): target, its stride, source, its stride, rows,
///   words a row; strides in bytes.
/// sluice_fill_N (1, 2, 4, 8): target, words, the word.
/// All parameters are 64 bits; any number of blocks and threads.
std::string collectivePtx();

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDARANKS_H
