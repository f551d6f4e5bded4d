//===- Serving.h - Requests that wait for a device --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Several models share one device that runs one request at a time, in the order
// of arrival (SwapAdvisor, Huang, Jin and Li, ASPLOS 2020, section 6.3). If each
// model has its own part of the memory, the time of a request does not depend on the
// previous request. If the running model has the whole memory, a request that follows
// a request of another model must first load the parameters of its own model.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SIMULATOR_SERVING_H
#define SLUICE_SIMULATOR_SERVING_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <vector>

namespace sluice {

struct ServedModel {
  int64_t warmNs = 0; ///< Time of a request on the device after a request of the same model.
  int64_t coldNs = 0; ///< Time of a request after a request of another model, and of the first request.
};

/// Requests arrive as a Poisson process; each is for a model drawn uniformly.
struct ServingProblem {
  std::vector<ServedModel> models;
  double requestsPerSec = 0;

  /// Checks that there is at least one model, that times are in [1 ns, 1000 s], and that the rate is in [1e-3, 1e9].
  Status check() const;
};

struct ServingParams {
  int64_t requests = 100'000; ///< Number of requests that are counted, 1 to 1e8.
  int64_t warmup = 10'000;    ///< Number of requests before the counted ones, while the queue fills; 0 to 1e8.
  uint64_t seed = 0;
};

struct ServingStats {
  double meanWaitNs = 0; ///< Mean time from arrival until the device begins.
  double meanLatencyNs = 0;
  /// Percentiles of the latency, which is the time from arrival until the device is done: the
  /// least latency that 50%, and 99%, of the requests do not exceed.
  int64_t medianNs = 0, p99Ns = 0;
  int64_t longestNs = 0;
  double requestsPerSec = 0; ///< Completed requests per second.
  int64_t switches = 0;      ///< Requests that followed a request of another model.
};

/// Simulates the queue request by request. The sequence of requested models depends only on the seed and the number of
/// models, and not on the rate or the times of the models. The times between arrivals are the same too, up to a factor
/// that depends on the rate. With one seed, alternatives are therefore compared on the same requests.
Expected<ServingStats> simulateServing(const ServingProblem &problem, const ServingParams &params = {});

/// The fraction of time in which the device has to work. At 1 and above the queue grows
/// without limit, and latencies depend only on the length of the run.
double offeredLoad(const ServingProblem &problem);
/// The mean wait by the formula of Pollaczek and Khinchine for M/G/1 queues. The formula is exact if all models have
/// the same times. The wait of a request then does not depend on the models of this and the previous request, which
/// determine whether the request is cold. Infinite at an offered load of 1 and above.
double expectedWaitNs(const ServingProblem &problem);

} // namespace sluice

#endif // SLUICE_SIMULATOR_SERVING_H
