//===- Problem.cpp - What is simulated, and its limits --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Simulator.h"
#include "sluice/Support/Rates.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include "Numbers.h"

#include <algorithm>
#include <cmath>

namespace sluice {

Status StepTime::check() const {
  if (baseNs < 0 || baseNs > kLongestNs || spreadNs < 0 || spreadNs > kLongestNs)
    return makeError(ErrorCode::InvalidInput, "the step time has times of ", baseNs, " and ", spreadNs,
                     " ns, which are out of range, give 0 to 1e15 ns");
  if (!(sigma >= 0 && sigma <= 10))
    return makeError(ErrorCode::InvalidInput, "the step time has a sigma of ", sigma,
                     ", which is out of range, give 0 to 10");
  return {};
}

int64_t StepTime::draw(Rng &rng) const {
  const auto base = static_cast<double>(baseNs), spread = static_cast<double>(spreadNs);
  double ns = base;
  if (kind == Kind::Uniform)
    ns += spread * rng.uniform();
  else if (kind == Kind::Exponential)
    ns -= spread * std::log1p(-rng.uniform());
  else if (kind == Kind::LogNormal)
    ns *= std::exp(sigma * rng.normal());
  return std::llround(std::clamp(ns, 1.0, 1e18));
}

int64_t StepTime::leastNs() const { return kind == Kind::LogNormal ? 1 : std::max<int64_t>(baseNs, 1); }

Expected<StepTime> parseStepTime(std::string_view text) {
  const NamedNumbers parts = splitNumbers(text);
  StepTime time;
  if (parts.name == "fixed")
    time.kind = StepTime::Kind::Fixed;
  else if (parts.name == "uniform")
    time.kind = StepTime::Kind::Uniform;
  else if (parts.name == "lognormal")
    time.kind = StepTime::Kind::LogNormal;
  else if (parts.name != "exponential")
    return makeError(
        ErrorCode::InvalidInput, "unknown distribution '", excerpt(text),
        "' of the step time, give fixed:TIME, uniform:TIME,TIME, exponential:TIME,TIME or lognormal:TIME,SIGMA");
  const size_t numbers = time.kind == StepTime::Kind::Fixed ? 1 : 2;
  if (parts.numbers.size() != numbers)
    return makeError(ErrorCode::InvalidInput, "step time '", excerpt(text), "' has ", parts.numbers.size(),
                     " numbers, write '", parts.name, "' with ", numbers, numbers == 1 ? " number" : " numbers");
  SLUICE_ASSIGN_OR_RETURN(time.baseNs, parseDuration(parts.numbers[0]));
  if (time.kind == StepTime::Kind::LogNormal) {
    SLUICE_ASSIGN_OR_RETURN(time.sigma, parseNumber(parts.numbers[1]));
  } else if (numbers == 2) {
    SLUICE_ASSIGN_OR_RETURN(time.spreadNs, parseDuration(parts.numbers[1]));
  }
  SLUICE_RETURN_IF_ERROR(time.check());
  return time;
}

Status Exchange::check() const {
  if (bytes < 0 || bytes > kLongestNs)
    return makeError(ErrorCode::InvalidInput, bytes,
                     " bytes for an exchange of updates are out of range, give 0 to 1e15 bytes");
  if (shards < 1 || shards > kMostWorkers)
    return makeError(ErrorCode::InvalidInput, shards, " shards for an exchange of updates are out of range, give 1 to ",
                     kMostWorkers, " shards");
  if (!isRate(pushBytesPerSec) || !isRate(pullBytesPerSec))
    return makeError(ErrorCode::InvalidInput, "an exchange of updates at ", pushBytesPerSec, " and ", pullBytesPerSec,
                     " bytes per second is out of range, give rates of ", kLeastRate, " to ", kGreatestRate,
                     " bytes per second");
  if (latencyNs < 0 || latencyNs > kMaxOverheadNs)
    return makeError(ErrorCode::InvalidInput, "an exchange of updates with a latency of ", latencyNs,
                     " ns is out of range, give 0 to ", kMaxOverheadNs, " ns");
  return {};
}

Expected<Exchange> exchangeOver(const Machine &machine, Exchange::Kind kind, int64_t bytes, int64_t shards) {
  Exchange exchange{kind, bytes, shards, kGreatestRate, kGreatestRate, 0};
  if (kind == Exchange::Kind::Free)
    return exchange;
  bool found = false;
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto use = [&](MemoryId from, MemoryId to) {
    const LinkId id = machine.findLink(from, to);
    if (!id.valid())
      return;
    found = true;
    const Link &link = machine.link(id);
    auto rate = [&](MemoryId memory) { return std::min(link.rateFrom(memory), link.duplexBytesPerSec / 2); };
    exchange.pushBytesPerSec = std::min(exchange.pushBytesPerSec, rate(from));
    exchange.pullBytesPerSec = std::min(exchange.pullBytesPerSec, rate(to));
    exchange.latencyNs = std::max(exchange.latencyNs, link.latencyNs);
  };
  for (DeviceId device : devices)
    if (kind == Exchange::Kind::Server)
      use(machine.device(device).memory, Machine::hostMemory());
    else
      for (DeviceId peer : devices)
        use(machine.device(device).memory, machine.device(peer).memory);
  if (!found)
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name, "' needs a link ",
                     kind == Exchange::Kind::Server ? "from the host's memory to an accelerator"
                                                    : "between two accelerators",
                     " for the exchange of updates, give a machine that has one");
  SLUICE_RETURN_IF_ERROR(exchange.check());
  return exchange;
}

Status BarrierProblem::check() const {
  if (workers < 1 || workers > kMostWorkers)
    return makeError(ErrorCode::InvalidInput, "the barrier simulation cannot have ", workers, " workers, give 1 to ",
                     kMostWorkers);
  if (durationNs < 1 || durationNs > kLongestNs)
    return makeError(ErrorCode::InvalidInput, "the barrier simulation cannot have a duration of ", durationNs,
                     " ns, give 1 to 1e15 ns");
  if (!(stragglers >= 0 && stragglers <= 1))
    return makeError(ErrorCode::InvalidInput,
                     "the share of slow workers (stragglers) in the barrier simulation cannot be ", stragglers,
                     ", give 0 to 1");
  if (!(slowness >= 1 && slowness <= 1e6))
    return makeError(ErrorCode::InvalidInput, "slow workers of the barrier simulation cannot be slowed by a factor of ",
                     slowness, ", give 1 to 1e6");
  if (retestNs < 0 || retestNs > kLongestNs)
    return makeError(ErrorCode::InvalidInput, "the time between two tests of a barrier cannot be ", retestNs,
                     " ns in the barrier simulation, give 0 to 1e15 ns");
  if (!recorded.empty() && (static_cast<int64_t>(recorded.size()) != workers || stragglers != 0))
    return makeError(ErrorCode::InvalidInput, "the times of ", recorded.size(),
                     " workers are recorded, and the barrier simulation has ", workers,
                     " workers, of which a share of ", stragglers,
                     " is slowed, simulate only the recorded workers, and slow none");
  for (const RecordedWorker &worker : recorded) {
    auto isTime = [](int64_t timeNs) { return timeNs >= 1 && timeNs <= kLongestNs; };
    if (worker.startNs < 0 || worker.startNs > kLongestNs || worker.stepsNs.empty() ||
        !std::all_of(worker.stepsNs.begin(), worker.stepsNs.end(), isTime))
      return makeError(
          ErrorCode::InvalidInput, "recorded worker ", &worker - recorded.data(),
          " has no steps, or times that are out of range, give a start from 0 to 1e15 ns and steps of 1 to 1e15 ns");
  }
  SLUICE_RETURN_IF_ERROR(barrier.check());
  SLUICE_RETURN_IF_ERROR(stepTime.check());
  return exchange.check();
}

int64_t BarrierProblem::numStragglers() const { return std::llround(stragglers * static_cast<double>(workers)); }

} // namespace sluice
