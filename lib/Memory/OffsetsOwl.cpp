//===- OffsetsOwl.cpp - Owl's greedy allocator ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OffsetsShared.h"
#include "Sections.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace sluice;
using namespace sluice::memory;

Expected<OffsetSolution> memory::packOwl(const OffsetProblem &problem) {
  std::vector<int64_t> blockBytes;
  std::vector<uint32_t> blockOf(problem.buffers.size(), 0);
  std::set<std::pair<int64_t, uint32_t>> free; // (bytes, block)
  std::set<std::pair<int64_t, uint32_t>> busy; // (until when, block)
  for (uint32_t id : bufferOrder(problem, BufferOrder::Start)) {
    const Buffer &buffer = problem.buffers[id];
    if (!occupies(buffer))
      continue;
    for (; !busy.empty() && busy.begin()->first <= buffer.lower; busy.erase(busy.begin()))
      free.emplace(blockBytes[busy.begin()->second], busy.begin()->second);
    auto chosen = free.lower_bound({buffer.bytes, 0});
    if (chosen == free.end() && !free.empty())
      chosen = free.lower_bound({free.rbegin()->first, 0});
    uint32_t block = static_cast<uint32_t>(blockBytes.size());
    if (chosen == free.end()) {
      blockBytes.push_back(0);
    } else {
      block = chosen->second;
      free.erase(chosen);
    }
    blockBytes[block] = std::max(blockBytes[block], buffer.bytes);
    busy.emplace(buffer.upper, block);
    blockOf[id] = block;
  }
  // A block's start suits each of its buffers only if alignments divide one
  // another: powers of two do, others take their product.
  std::vector<int64_t> blockAlignment(blockBytes.size(), 1);
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (occupies(problem.buffers[i])) {
      int64_t &alignment = blockAlignment[blockOf[i]];
      int64_t step = problem.buffers[i].alignment / std::gcd(alignment, problem.buffers[i].alignment);
      alignment = saturatingMul(alignment, step);
      if (alignment > int64_t(1) << 40)
        return makeError(ErrorCode::Unsupported, "the least common multiple of the alignments of buffers that share a "
                                                 "block exceeds 2^40, use powers of two as alignments");
    }
  std::vector<int64_t> blockOffset(blockBytes.size(), 0);
  int64_t end = 0;
  for (size_t b = 0; b < blockBytes.size(); ++b) {
    blockOffset[b] = alignUp(end, blockAlignment[b]);
    end = blockOffset[b] + blockBytes[b];
  }
  OffsetSolution solution;
  solution.evaluations = 1;
  solution.offsets.assign(problem.buffers.size(), 0);
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (occupies(problem.buffers[i])) {
      solution.offsets[i] = blockOffset[blockOf[i]];
      solution.peakBytes = std::max(solution.peakBytes, solution.offsets[i] + problem.buffers[i].bytes);
    }
  return solution;
}

Expected<OffsetSolution> sluice::solveOffsetsOwl(const OffsetProblem &problem) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  SLUICE_RETURN_IF_ERROR(withinBound(problem, maxLive(problem)));
  Expected<OffsetSolution> solution = packOwl(problem);
  if (!solution)
    return solution;
  SLUICE_RETURN_IF_ERROR(validate({problem.buffers, problem.ids, std::nullopt}, *solution));
  return withinCapacity(problem, std::move(*solution));
}
