//===- Serving.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Serving.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {

Status ServingProblem::check() const {
  constexpr int64_t kLongestNs = 1'000'000'000'000;
  if (models.empty())
    return makeError(ErrorCode::InvalidInput, "the serving problem has no models, give at least one");
  for (size_t i = 0; i < models.size(); ++i)
    for (int64_t ns : {models[i].warmNs, models[i].coldNs})
      if (ns < 1 || ns > kLongestNs)
        return makeError(ErrorCode::InvalidInput, "a request to model ", i, " takes ", ns,
                         " ns, which is out of range, give 1 ns to 1000 s");
  if (!(requestsPerSec >= 1e-3 && requestsPerSec <= 1e9))
    return makeError(ErrorCode::InvalidInput, "the serving problem has a rate of ", requestsPerSec,
                     " requests per second, which is out of range, give 0.001 to 1e9");
  return {};
}

Expected<ServingStats> simulateServing(const ServingProblem &problem, const ServingParams &params) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  constexpr int64_t kMostRequests = 100'000'000;
  if (params.requests < 1 || params.requests > kMostRequests || params.warmup < 0 || params.warmup > kMostRequests)
    return makeError(ErrorCode::InvalidInput, "a simulation of ", params.requests, " requests after ", params.warmup,
                     " requests of warm-up is out of range, give at least one request, and at most ", kMostRequests,
                     " of each");

  // Times are relative to the present arrival, as in Lindley's recursion, so that
  // they stay exact however long the run is.
  Rng rng(params.seed);
  const double meanGapNs = 1e9 / problem.requestsPerSec;
  std::vector<int64_t> latencies;
  latencies.reserve(static_cast<size_t>(params.requests));
  ServingStats stats;
  double waitNs = 0, waitSumNs = 0, latencySumNs = 0, elapsedNs = 0;
  size_t last = problem.models.size();
  for (int64_t i = -params.warmup; i < params.requests; ++i) {
    const size_t model = rng.below(problem.models.size());
    const bool cold = model != last;
    const double serviceNs = static_cast<double>(cold ? problem.models[model].coldNs : problem.models[model].warmNs);
    const double gapNs = -std::log1p(-rng.uniform()) * meanGapNs; // To the next arrival.
    if (i >= 0) {
      stats.switches += cold;
      waitSumNs += waitNs;
      latencySumNs += waitNs + serviceNs;
      latencies.push_back(std::llround(waitNs + serviceNs));
      // From this request's start to the next one's.
      elapsedNs += std::max(gapNs, waitNs + serviceNs) - waitNs;
    }
    last = model;
    waitNs = std::max(0.0, waitNs + serviceNs - gapNs);
  }

  const double count = static_cast<double>(params.requests);
  stats.meanWaitNs = waitSumNs / count;
  stats.meanLatencyNs = latencySumNs / count;
  stats.requestsPerSec = count / elapsedNs * 1e9;
  auto percentile = [&](int64_t percent) {
    const size_t rank = (latencies.size() * static_cast<size_t>(percent) + 99) / 100 - 1;
    std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(rank), latencies.end());
    return latencies[rank];
  };
  stats.longestNs = *std::max_element(latencies.begin(), latencies.end());
  stats.medianNs = percentile(50);
  stats.p99Ns = percentile(99);
  return stats;
}

namespace {
struct Moments {
  double first = 0, second = 0;
};
} // namespace

/// Of a request's time on the device, in seconds.
static Moments serviceMoments(const ServingProblem &problem) {
  const double count = static_cast<double>(problem.models.size());
  Moments moments;
  for (const ServedModel &model : problem.models) {
    const double warm = static_cast<double>(model.warmNs) * 1e-9, cold = static_cast<double>(model.coldNs) * 1e-9;
    moments.first += (warm / count + cold * (1 - 1 / count)) / count;
    moments.second += (warm * warm / count + cold * cold * (1 - 1 / count)) / count;
  }
  return moments;
}

double offeredLoad(const ServingProblem &problem) { return problem.requestsPerSec * serviceMoments(problem).first; }

double expectedWaitNs(const ServingProblem &problem) {
  const Moments moments = serviceMoments(problem);
  const double load = problem.requestsPerSec * moments.first;
  if (load >= 1)
    return std::numeric_limits<double>::infinity();
  return problem.requestsPerSec * moments.second / (2 * (1 - load)) * 1e9;
}

} // namespace sluice
