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

/// The collectives of one GPU. Parts are packed and combined on the GPU, in the order of ranks, so results have the
/// same bits as in the host's memory, except for the bits of NaNs in sums of NaNs. Parts are sent by NCCL if every rank
/// has NCCL and a GPU of its own, else through the host's memory. Collectives that exchange data must run on one
/// thread. Those that send nothing may run on another thread at the same time.
class CudaRanks {
public:
  /// `copy` moves bytes between the host's memory and the GPU's, like Device::copy.
  CudaRanks(const CudaDriver &driver, CuDevice device, Ranks &ranks, Device &copies);
  /// Call it while the GPU's context is current and nothing runs.
  ~CudaRanks();
  CudaRanks(const CudaRanks &) = delete;
  CudaRanks &operator=(const CudaRanks &) = delete;

  /// Does the work that only the first collective of a kind needs: all ranks meet, and code is loaded.
  Status prepare(uint32_t kind);
  /// sluice_kernel_env's `collective`, with addresses on the GPU, once that is prepared.
  /// Complete when it returns.
  Status run(uint32_t kind, void *const *args, const void *settings, int64_t bytes, CuStream stream);
  /// All ranks must call it, because a send that is complete on the GPU may still need NCCL's threads, which end with
  /// this object.
  Status endStep();
  /// A line about how bytes are sent, and why; null before the first exchange.
  const char *exchangesBy() const { return text.empty() ? nullptr : text.c_str(); }

private:
  class Space;

  /// Chooses NCCL or the host's memory. All ranks call it together before their first exchange.
  Status connect();
  Result<CuFunction> function(const std::string &name);
  char *hostMemory(size_t which, size_t bytes);

  const CudaDriver &cu;
  CuDevice device;
  Ranks &ranks;
  Device &copies;
  bool isConnected = false;
  bool hasSent = false; ///< Whether NCCL has sent something in this step.
  const NcclLibrary *nccl = nullptr;
  NcclComm comm = nullptr; ///< Null if bytes are sent through the host's memory.
  std::string text;
  /// Host memory for sent and for received bytes, which grows as needed.
  std::unique_ptr<char[]> hostParts[2];
  size_t hostBytes[2] = {};
  std::mutex mutex; ///< Guards the loaded code.
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
