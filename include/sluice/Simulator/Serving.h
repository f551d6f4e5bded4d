//===- Serving.h - Requests that wait for a device --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Several models share one device that runs one request at a time, in the order
// of arrival (SwapAdvisor, Huang, Jin and Li, ASPLOS 2020, section 6.3). Where
// each model has its own part of the memory, a request takes as long whatever ran
// before it; where the whole memory is the running model's, one that follows
// another model's must bring its parameters first.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SIMULATOR_SERVING_H
#define SLUICE_SIMULATOR_SERVING_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <vector>

namespace sluice {

struct ServedModel {
  int64_t warmNs = 0; ///< A request's time on the device after one of the same model.
  int64_t coldNs = 0; ///< After one of another model, and of the first request.
};

/// Requests arrive as a Poisson process; each is for a model drawn uniformly.
struct ServingProblem {
  std::vector<ServedModel> models;
  double requestsPerSec = 0;

  /// At least one model, times in [1 ns, 1000 s], a rate in [1e-3, 1e9].
  Status check() const;
};

struct ServingParams {
  int64_t requests = 100'000; ///< That count, at least 1 and at most 1e8.
  int64_t warmup = 10'000;    ///< Before those, while the queue fills; as many at most.
  uint64_t seed = 0;
};

struct ServingStats {
  double meanWaitNs = 0; ///< From arrival until the device begins.
  double meanLatencyNs = 0;
  /// From arrival until the device is done; the least latency that half, and 99
  /// in a hundred, of the requests do not exceed.
  int64_t medianNs = 0, p99Ns = 0;
  int64_t longestNs = 0;
  double requestsPerSec = 0; ///< Completed.
  int64_t switches = 0;      ///< Requests that followed another model's.
};

/// One run of the queue, request by request. Deterministic by the seed: the same
/// seed gives the same arrivals, scaled, and the same models at any rate and with
/// any times, so that alternatives are compared on the same requests.
Expected<ServingStats> simulateServing(const ServingProblem &problem, const ServingParams &params = {});

/// The share of the time that the device would have to work; at 1 and above the
/// queue grows without end, and latencies say only how long the run was.
double offeredLoad(const ServingProblem &problem);
/// The queue's mean wait by Pollaczek's and Khinchine's formula for M/G/1, exact
/// here: whether a request is cold depends on its model and the one before, which
/// are independent of the wait where all models are alike. Infinite at an offered
/// load of 1 and above.
double expectedWaitNs(const ServingProblem &problem);

} // namespace sluice

#endif // SLUICE_SIMULATOR_SERVING_H
