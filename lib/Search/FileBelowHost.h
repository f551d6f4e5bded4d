//===- FileBelowHost.h - The host's memory as a processor's own -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A machine whose devices all compute in the host's memory, with a file below it, is
// an accelerator's machine with other names: the file is what the host's memory is to
// an accelerator, and the host's memory is the accelerator's. The planner solves that
// machine's problem, and the plan is read back.
//
// What the caller gives or gets, states, pooled parameters, and parameters of which a step
// reads few rows have homes in the host's memory, where operators read and write them: in the planner's
// problem they have no bytes, and the memory is smaller by the homes. Tensors that stream are whole blocks there, so
// that all their addresses suit direct I/O.
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
  /// Nothing for problems of other machines. The problem outlives this, and has a capacity per memory; its machine
  /// passes its checks. `blockBytes`: of what tensors that stream, and workspaces, are multiples. Fails where homes
  /// alone exceed the host's memory.
  static Expected<std::optional<FileBelowHost>> of(const SearchProblem &problem, int64_t blockBytes = kFileBlockBytes);

  /// The accelerator's problem. It refers to this object.
  SearchProblem turned() const;
  /// False where an operator may not run twice that could otherwise gain by it: a search must not try.
  bool mayRecompute() const { return isRepeatable; }
  /// The plan of turned() as one of the problem.
  Plan turnBack(const Plan &plan) const;
  /// Bytes per memory likewise, homes included.
  std::vector<int64_t> turnBack(const std::vector<int64_t> &bytes) const;
  std::vector<MinimumBytes> turnBack(const std::vector<MinimumBytes> &bytes) const;
  /// Homes in the host's memory.
  int64_t homeBytes() const { return homes; }

private:
  FileBelowHost(const SearchProblem &problem, MemoryId file, int64_t blockBytes);
  void turnMachine();
  void turnTensors();
  void turnOperators();
  /// It has a home in the host's memory.
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
