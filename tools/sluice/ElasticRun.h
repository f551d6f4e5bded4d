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
  std::string launcher; ///< mpirun, with options separated by spaces. It must accept -n.
  int64_t numRanks = 1;
  int64_t steps = 1;      ///< The steps of each rank since the beginning of the training.
  std::string states;     ///< The folder in which the run saves its states.
  std::string fromStates; ///< The folder of states with which the run begins; may be empty.
};

/// Starts this process's own command on ranks, without --elastic and --launcher, and again from the kept states
/// whenever the launcher ends because a rank was lost: with a status other than 0, 1 and 2. An error that a rank
/// reports itself (status 1 or 2) would occur again, so it ends the run. Also fails if ranks are lost repeatedly
/// without saved states in between, if the launcher does not start, and on Ctrl-C.
Status runElastic(const ElasticRun &run);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_ELASTICRUN_H
