//===- ElasticRun.h - Ranks that begin again when one dies ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_ELASTICRUN_H
#define SLUICE_TOOLS_SLUICE_ELASTICRUN_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <string>

namespace sluice::driver {

struct ElasticRun {
  std::string launcher; ///< mpirun, with options between spaces; it takes -n.
  int64_t numRanks = 1;
  int64_t steps = 1;      ///< Of each rank, from the begin of the training on.
  std::string states;     ///< The folder that the run keeps its states in.
  std::string fromStates; ///< That the user wants the run to begin with; may be empty.
};

/// Starts this process's own command on ranks, without --elastic and --launcher, and again from the kept states
/// whenever the launcher ends because a rank was lost: with a status other than 0, 1 and 2. An error that a rank
/// reports itself (1, 2) would come again and ends the run. Also fails where ranks are lost again and again and no
/// states are kept in between, where the launcher does not start, and on Ctrl-C.
Status runElastic(const ElasticRun &run);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_ELASTICRUN_H
