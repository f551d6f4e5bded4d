//===- FileBelowHost.h - The host's memory as a processor's own -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Consider a machine whose devices all compute in the host's memory, with a file below this memory. It is equivalent to
// a machine with an accelerator: the file corresponds to the host's memory, and the host's memory corresponds to the
// accelerator's memory. The planner solves the problem of the equivalent machine, and its plan is translated back.
//
// Some tensors have homes in the host's memory, where operators read and write them: inputs, outputs, states, pooled
// parameters, and parameters of which a step reads only a few rows. In the equivalent problem, these tensors have no
// bytes, and the memory is smaller by the size of the homes. Tensors that stream have a whole number of blocks there,
// so that direct I/O can use their addresses.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_FILEBELOWHOST_H
#define SLUICE_LIB_SEARCH_FILEBELOWHOST_H

#include "sluice/Machine/FileTier.h"
#include "sluice/Search/Search.h"

#include <optional>

namespace sluice {

class FileBelowHost {
public:
  /// Returns nothing if the machine is of another kind. The problem must outlive the object and have a capacity for
  /// each memory, and its machine must pass its checks. Sizes of tensors that stream, and of workspaces, become
  /// multiples of `blockBytes`. Fails if the homes alone exceed the host's memory.
  static Expected<std::optional<FileBelowHost>> of(const SearchProblem &problem, int64_t blockBytes = kFileBlockBytes);

  /// The equivalent problem, which refers to this object.
  SearchProblem turned() const;
  /// False if an operator must not run twice although a recomputation could use it. A search must then not recompute.
  bool mayRecompute() const { return isRepeatable; }
  /// Translates a plan for turned() into a plan for the problem.
  Plan turnBack(const Plan &plan) const;
  /// Translates bytes per memory in the same way; the homes are included.
  std::vector<int64_t> turnBack(const std::vector<int64_t> &bytes) const;
  std::vector<MinimumBytes> turnBack(const std::vector<MinimumBytes> &bytes) const;
  /// Homes in the host's memory.
  int64_t homeBytes() const { return homes; }

private:
  FileBelowHost(const SearchProblem &problem, MemoryId file, int64_t blockBytes);
  void turnMachine();
  void turnTensors();
  void turnOperators();
  /// Whether the tensor has a home in the host's memory.
  bool staysAtHome(TensorId t) const;
  int64_t wholeBlocks(int64_t bytes) const;
  LinkId linkBelow() const { return problem.machine->findLink(Machine::hostMemory(), file); }

  SearchProblem problem;
  MemoryId file;
  int64_t blockBytes;
  Graph graph;
  Machine machine;
  int64_t homes = 0;
  bool isRepeatable = true;
};

} // namespace sluice

#endif // SLUICE_LIB_SEARCH_FILEBELOWHOST_H
