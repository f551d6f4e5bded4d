//===- BarrierRun.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BarrierRun.h"

#include "MpiWindows.h"
#include "RankGroup.h"
#include "SharedOptions.h"
#include "sluice/Barriers/CheckTrace.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

namespace sluice::driver {
namespace {

/// The states of a training step with `accumulate=ranks`, by their numbers.
struct ExchangedStates {
  std::vector<uint32_t> gradients;
  std::vector<uint32_t> models; ///< States that the model itself updates: running statistics, the step of dropout.
  uint32_t scale = 0;           ///< One over the number of gradients in a sum; 0: there is nothing to apply.
  std::optional<uint32_t> trainingStep;
  bool isLinear = true; ///< Whether updates are linear in the gradients.
};

std::optional<ExchangedStates> exchangedStatesOf(const sluice_model &model) {
  constexpr std::string_view kGradient = ".gradient";
  std::map<std::string, uint32_t> numbers;
  for (uint32_t i = 0; i < model.num_states; ++i)
    numbers[tableEntry(model.states, i).name] = i;
  const auto scale = numbers.find("optimizer.scale");
  if (scale == numbers.end() || tableEntry(model.states, scale->second).bytes != sizeof(double))
    return std::nullopt;
  ExchangedStates states;
  states.scale = scale->second;
  std::set<std::string> others = {"optimizer.scale", "optimizer.step"};
  for (const auto &[name, number] : numbers)
    if (name.ends_with(kGradient)) {
      const std::string parameter = name.substr(0, name.size() - kGradient.size());
      if (!numbers.contains(parameter))
        continue;
      states.gradients.push_back(number);
      states.isLinear &= !numbers.contains(parameter + ".square");
      others.insert({name, parameter});
      for (const char *suffix : {".momentum", ".mean", ".square", ".residual"})
        others.insert(parameter + suffix);
    }
  for (const auto &[name, number] : numbers)
    if (!others.contains(name))
      states.models.push_back(number);
  if (const auto step = numbers.find("training.step"); step != numbers.end())
    states.trainingStep = step->second;
  if (states.gradients.empty())
    return std::nullopt;
  return states;
}

/// A trial has a quarter of the steps of its run, and at most 12. A run that chooses its barrier has at least 12 steps.
constexpr int64_t kTrialShare = 4, kMostTrialSteps = 12, kLeastChosenSteps = 12;

int64_t elapsedNs(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - since).count();
}

/// The number of the rank that `slow` names.
Expected<int64_t> slowRankOf(const Disturbance &slow, int64_t numRanks) {
  constexpr std::string_view kRank = "rank";
  if (slow.device.starts_with(kRank))
    if (Expected<int64_t> rank = parseInteger(slow.device.substr(kRank.size())); rank && *rank >= 0 && *rank < numRanks)
      return *rank;
  return makeError(ErrorCode::InvalidInput, "no rank is named '", slow.device, "', option '--slow', use rank0 to rank",
                   numRanks - 1);
}

/// An opened model whose steps begin with an update.
class SessionReplica final : public Replica {
public:
  static Expected<std::unique_ptr<SessionReplica>> open(const std::string &directory, const BarrierRunOptions &options,
                                                        int threads, int64_t rank) {
    SLUICE_ASSIGN_OR_RETURN(RunSession session, RunSession::openAlone(directory, threads, options.spill));
    std::optional<ExchangedStates> states = exchangedStatesOf(session.model());
    if (!states)
      return makeError(ErrorCode::InvalidInput, "model '", directory,
                       "' does not exchange gradients, option '--barrier', compile the model with "
                       "'--train loss=LOSS,accumulate=ranks'");
    return std::unique_ptr<SessionReplica>(new SessionReplica(std::move(session), std::move(*states), options, rank));
  }

  const sluice_model &model() const { return session.model(); }
  bool isLinear() const { return states.isLinear; }
  const std::vector<HostTensor> &lastOutputs() const { return outputs; }
  Expected<std::vector<HostTensor>> readStates() const { return session.readStates(); }

  Status prepare(std::vector<GivenInput> given, const std::map<std::string, int64_t> &sizes) {
    SLUICE_ASSIGN_OR_RETURN(StepInputs made,
                            StepInputs::create(session, std::move(given), batchesAfter(options.steps), sizes));
    inputs.emplace(std::move(made));
    SLUICE_ASSIGN_OR_RETURN(outputs, session.makeOutputs());
    return {};
  }

  /// Batches that all ranks have used when each has done so many steps.
  int64_t batchesAfter(int64_t steps) const { return first.batches + (steps - first.steps) * options.numRanks; }

  const std::vector<GradientRun> &gradientRuns() const { return runs; }

  Status restore(const SavedStates &saved) {
    first = saved.progress;
    isRestored = true;
    return session.writeStates(saved.states);
  }
  Expected<std::vector<StateType>> stateTypes() const { return session.stateTypes(); }

  Status step(int64_t clock, std::span<const double> sum, std::span<double> gradients, double &loss) override {
    const int64_t step = first.steps + clock;
    const auto begin = std::chrono::steady_clock::now();
    SLUICE_RETURN_IF_ERROR(runStep(step, sum, outputs));
    loss = outputs.front().valueAt(0);
    SLUICE_RETURN_IF_ERROR(readGradients(gradients));
    const bool isSlow = slowRank == rank && step >= options.slow->step;
    const int64_t tookNs = elapsedNs(begin);
    const double leastNs =
        static_cast<double>(std::max(tookNs, options.stepNs)) * (isSlow ? options.slow->factor : 1.0);
    return sleepUntil(begin, std::llround(leastNs));
  }

  Status finish(std::span<const double> sum) override {
    std::vector<std::vector<std::byte>> saved;
    for (uint32_t number : states.models) {
      saved.emplace_back(static_cast<size_t>(tableEntry(model().states, number).bytes));
      SLUICE_RETURN_IF_ERROR(session.readState(number, saved.back().data(), static_cast<int64_t>(saved.back().size())));
    }
    // This step is run for the update at its begin. Its gradients and its loss are of no use.
    SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> unused, session.makeOutputs());
    SLUICE_RETURN_IF_ERROR(runStep(options.steps, sum, unused));
    for (size_t i = 0; i < saved.size(); ++i)
      SLUICE_RETURN_IF_ERROR(
          session.writeState(states.models[i], saved[i].data(), static_cast<int64_t>(saved[i].size())));
    const std::vector<double> zeros(sum.size());
    SLUICE_RETURN_IF_ERROR(writeSum(zeros, 0));
    return setTrainingStep(batchesAfter(options.steps));
  }

private:
  SessionReplica(RunSession session, ExchangedStates states, const BarrierRunOptions &options, int64_t rank)
      : session(std::move(session)), states(std::move(states)), options(options), rank(rank) {
    if (options.slow)
      slowRank = slowRankOf(*options.slow, options.numRanks).value_or(-1);
    for (uint32_t number : this->states.gradients) {
      const sluice_tensor_desc state = tableEntry(model().states, number);
      const bool isDouble = state.element_type == static_cast<int32_t>(ElementType::Float64);
      runs.push_back({state.bytes / (isDouble ? 8 : 4), isDouble});
    }
  }

  Status runStep(int64_t step, std::span<const double> sum, std::vector<HostTensor> &to) {
    const int64_t batch = batchesAfter(step) + rank;
    if (std::exchange(isRestored, false))
      SLUICE_RETURN_IF_ERROR(addToRestored(sum));
    else if (sum.empty())
      SLUICE_RETURN_IF_ERROR(writeScale(0));
    else
      SLUICE_RETURN_IF_ERROR(writeSum(sum, 1.0 / static_cast<double>(options.numRanks)));
    SLUICE_RETURN_IF_ERROR(setTrainingStep(batch));
    if (rank == 0 && options.keepEvery > 0 && step % options.keepEvery == 0 && step > first.steps &&
        step < options.steps) {
      // The update by `sum` is still to come: it is part of the states, and the first that a restored run applies.
      SLUICE_ASSIGN_OR_RETURN(const std::vector<HostTensor> kept, session.readStates());
      SLUICE_RETURN_IF_ERROR(options.keep({step, batchesAfter(step)}, kept));
    }
    return session.step(inputs->at(batch), to);
  }

  /// Before its first step a restored rank has the sum that was kept with its states. Without a barrier that keeps
  /// ranks in step, others may have pushed gradients since the restart.
  Status addToRestored(std::span<const double> sum) {
    if (sum.empty())
      return {};
    double scale = 0;
    SLUICE_RETURN_IF_ERROR(session.readState(states.scale, &scale, sizeof scale));
    std::vector<double> both(sum.begin(), sum.end());
    if (scale != 0) {
      std::vector<double> kept(sum.size());
      SLUICE_RETURN_IF_ERROR(readGradients(kept));
      for (size_t i = 0; i < both.size(); ++i)
        both[i] += kept[i] * scale * static_cast<double>(options.numRanks);
    }
    return writeSum(both, 1.0 / static_cast<double>(options.numRanks));
  }

  Status setTrainingStep(int64_t step) {
    return states.trainingStep ? session.writeState(*states.trainingStep, &step, sizeof step) : Status();
  }

  Status writeScale(double scale) { return session.writeState(states.scale, &scale, sizeof scale); }

  /// Calls `visit` with each gradient's state, element type and part of `values`, until it fails.
  template <typename T, typename Visit>
  Status forEachGradient(std::span<T> values, Visit visit) {
    size_t first = 0;
    for (size_t i = 0; i < states.gradients.size(); ++i) {
      const auto part = values.subspan(first, static_cast<size_t>(runs[i].elements));
      first += part.size();
      SLUICE_RETURN_IF_ERROR(visit(states.gradients[i], runs[i].isDouble, part));
    }
    return {};
  }

  Status writeSum(std::span<const double> sum, double scale) {
    SLUICE_RETURN_IF_ERROR(forEachGradient(sum, [&](uint32_t state, bool isDouble, std::span<const double> part) {
      if (isDouble)
        return session.writeState(state, part.data(), static_cast<int64_t>(part.size_bytes()));
      floats.assign(part.begin(), part.end());
      return session.writeState(state, floats.data(), static_cast<int64_t>(floats.size() * sizeof(float)));
    }));
    return writeScale(scale);
  }

  Status readGradients(std::span<double> gradients) {
    return forEachGradient(gradients, [&](uint32_t state, bool isDouble, std::span<double> part) {
      if (isDouble)
        return session.readState(state, part.data(), static_cast<int64_t>(part.size_bytes()));
      floats.resize(part.size());
      Status read = session.readState(state, floats.data(), static_cast<int64_t>(floats.size() * sizeof(float)));
      std::copy(floats.begin(), floats.end(), part.begin());
      return read;
    });
  }

  static Status sleepUntil(std::chrono::steady_clock::time_point begin, int64_t leastNs) {
    constexpr int64_t kMostNapNs = 20'000'000;
    for (int64_t leftNs = leastNs - elapsedNs(begin); leftNs > 0; leftNs = leastNs - elapsedNs(begin)) {
      if (interrupted)
        return makeError(
            ErrorCode::Interrupted,
            "the run was interrupted during a wait of option '--slow' or '--step-time', run the command again");
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(leftNs, kMostNapNs)));
    }
    return {};
  }

  RunSession session;
  const ExchangedStates states;
  const BarrierRunOptions &options;
  const int64_t rank;
  int64_t slowRank = -1;
  RunProgress first;             ///< When this run began.
  bool isRestored = false;       ///< The next step begins with the restored sum.
  std::vector<GradientRun> runs; ///< One for each of states.gradients.
  std::optional<StepInputs> inputs;
  std::vector<HostTensor> outputs;
  std::vector<float> floats;
};

/// Some of the steps of a run, from step `first` on. What is left to apply after the last of them is applied first by
/// the next part.
class PartReplica final : public Replica {
public:
  PartReplica(Replica &whole, int64_t first, bool isLast, std::vector<double> &left)
      : whole(whole), first(first), isLast(isLast), left(left) {}

  Status step(int64_t step, std::span<const double> sum, std::span<double> gradients, double &loss) override {
    std::vector<double> both = std::exchange(left, {});
    if (both.empty())
      return whole.step(first + step, sum, gradients, loss);
    for (size_t i = 0; i < sum.size(); ++i)
      both[i] += sum[i];
    return whole.step(first + step, both, gradients, loss);
  }

  Status finish(std::span<const double> sum) override {
    if (isLast)
      return whole.finish(sum);
    left.assign(sum.begin(), sum.end());
    return {};
  }

private:
  Replica &whole;
  const int64_t first;
  const bool isLast;
  std::vector<double> &left;
};

/// Runs all ranks as threads. The first failure is that of a rank that failed by itself.
Expected<std::vector<std::vector<RankStep>>> trainThreads(LocalWindows &windows, const BarrierTraining &training,
                                                          const std::vector<std::unique_ptr<Replica>> &replicas) {
  std::vector<std::vector<RankStep>> records(replicas.size());
  std::mutex mutex;
  Status first;
  auto train = [&](size_t rank) {
    const auto number = static_cast<int64_t>(rank);
    Expected<std::vector<RankStep>> steps;
    try {
      steps = trainUnderBarrier(windows.member(number), training, *replicas[rank]);
    } catch (const std::exception &error) {
      steps = makeError(ErrorCode::Io, "the system gives a rank no more memory, ", error.what(),
                        ", free memory or run fewer ranks");
    }
    if (steps) {
      records[rank] = std::move(*steps);
      return;
    }
    {
      const std::lock_guard lock(mutex);
      if (first)
        first = tl::unexpected(steps.error());
    }
    windows.leave(number, steps.error().message);
  };
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < replicas.size(); ++rank) {
    try {
      threads.emplace_back(train, rank);
    } catch (const std::exception &error) {
      windows.leave(static_cast<int64_t>(rank), concat("the system starts no more threads: ", error.what()));
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  if (!first)
    return propagate(first);
  return records;
}

/// Gives all replicas the saved states, if the run begins with some, and returns the steps that they have done.
Expected<int64_t> restore(const std::string &directory, const BarrierRunOptions &options,
                          const std::vector<std::unique_ptr<SessionReplica>> &replicas) {
  if (options.fromStates.empty())
    return 0;
  SLUICE_ASSIGN_OR_RETURN(const ModelIdentity identity, identityOf(directory));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<StateType> wanted, replicas.front()->stateTypes());
  SLUICE_ASSIGN_OR_RETURN(const SavedStates saved,
                          loadStates(options.fromStates, identity, wanted, options.isCompatible));
  SLUICE_RETURN_IF_ERROR(checkStepsLeft(options.fromStates, saved.progress, options.steps));
  for (const auto &replica : replicas)
    SLUICE_RETURN_IF_ERROR(replica->restore(saved));
  return saved.progress.steps;
}

/// Sends the first bytes of `own` to each process, as many as `sendBytes` has for it, and receives from each.
Status exchange(const sluice_communicator &ranks, const void *own, const std::vector<int64_t> &sendBytes,
                std::vector<void *> receive, const std::vector<int64_t> &receiveBytes) {
  std::vector<uint32_t> members(ranks.num_ranks);
  std::iota(members.begin(), members.end(), 0);
  const std::vector<const void *> send(members.size(), own);
  if (ranks.exchange(ranks.self, members.data(), ranks.num_ranks, send.data(), sendBytes.data(), receive.data(),
                     receiveBytes.data()) != 0)
    return makeError(ErrorCode::Io, ranks.error(ranks.self));
  return {};
}

/// The records of all processes, in the first one.
Expected<std::vector<std::vector<RankStep>>> gather(const sluice_communicator &ranks, std::vector<RankStep> own) {
  static_assert(std::is_trivially_copyable_v<RankStep>);
  const size_t count = ranks.num_ranks;
  const bool isFirst = ranks.rank == 0;
  const auto bytes = static_cast<int64_t>(own.size() * sizeof(RankStep));
  std::vector<std::vector<RankStep>> all(count, std::vector<RankStep>(isFirst ? own.size() : 0));
  std::vector<int64_t> sendBytes(count, 0);
  sendBytes[0] = bytes;
  std::vector<void *> receive;
  for (std::vector<RankStep> &one : all)
    receive.push_back(one.data());
  SLUICE_RETURN_IF_ERROR(
      exchange(ranks, own.data(), sendBytes, std::move(receive), std::vector<int64_t>(count, isFirst ? bytes : 0)));
  return all;
}

/// The barrier that the first process has chosen, in all processes. Without one they all fail.
Expected<Barrier> shareBarrier(const sluice_communicator &ranks, const std::optional<Barrier> &chosen) {
  struct Message {
    bool isChosen = false;
    Barrier barrier;
  };
  static_assert(std::is_trivially_copyable_v<Message>);
  const size_t count = ranks.num_ranks;
  const Message own = {chosen.has_value(), chosen.value_or(Barrier())};
  Message received;
  std::vector<int64_t> receiveBytes(count, 0);
  receiveBytes[0] = sizeof received;
  SLUICE_RETURN_IF_ERROR(exchange(ranks, &own, std::vector<int64_t>(count, ranks.rank == 0 ? sizeof own : 0),
                                  std::vector<void *>(count, &received), receiveBytes));
  if (!received.isChosen)
    return makeError(ErrorCode::Infeasible, "rank 0 has chosen no barrier, see its error, option '--barrier', give a ",
                     "barrier by name");
  return received.barrier;
}

std::vector<std::string> inputNames(const sluice_model &model) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < model.num_inputs; ++i)
    names.push_back(tableEntry(model.inputs, i).name);
  return names;
}

/// Of one rank, from its first arrival at the barrier to its last push.
struct RankSummary {
  int64_t tookNs = 0, waitedNs = 0, mostStale = 0;
  double meanStale = 0;
};

RankSummary summaryOf(const std::vector<RankStep> &steps, const std::vector<int64_t> &staleness) {
  RankSummary summary;
  summary.tookNs = steps.back().pushNs - steps.front().arriveNs;
  for (const RankStep &step : steps)
    summary.waitedNs += step.passNs - step.arriveNs;
  for (int64_t stale : staleness) {
    summary.mostStale = std::max(summary.mostStale, stale);
    summary.meanStale += static_cast<double>(stale) / static_cast<double>(staleness.size());
  }
  return summary;
}

/// The mean over the ranks of the loss of each step.
std::vector<double> meanLosses(const BarrierOutcome &outcome) {
  std::vector<double> losses(outcome.ranks.front().size());
  for (const auto &steps : outcome.ranks)
    for (size_t i = 0; i < steps.size(); ++i)
      losses[i] += steps[i].loss / static_cast<double>(outcome.ranks.size());
  return losses;
}

/// The metrics that a simulation has too, until the first rank has ended its last step.
struct CommonMetrics {
  BarrierMetrics metrics;
  int64_t durationNs = 0;
};

CommonMetrics metricsOf(const BarrierRunOptions &options, const BarrierOutcome &outcome) {
  const TrainingTrace common = traceOf(outcome.ranks);
  BarrierProblem problem;
  problem.workers = options.numRanks;
  problem.barrier = outcome.barrier;
  problem.durationNs = std::max<int64_t>(common.durationNs, 1);
  // A rank that starts late does not wait before its start. The metrics need no times of steps.
  for (const std::vector<RankStep> &steps : outcome.ranks)
    problem.recorded.push_back({steps.front().arriveNs - common.beginNs, {}});
  return {measureTrace(problem, common.trace), common.durationNs};
}

/// What a part of a run under one barrier needs.
struct Part {
  Barrier barrier;
  int64_t first = 0, steps = 1; ///< Of the steps of this run.
  bool isLast = true;
};

/// The records of all ranks, in the first process.
Expected<std::vector<std::vector<RankStep>>> runPart(const Part &part, BarrierTraining training,
                                                     const sluice_communicator *processes,
                                                     const std::vector<std::unique_ptr<SessionReplica>> &wholes,
                                                     std::vector<std::vector<double>> &left, BarrierOutcome &outcome) {
  training.barrier = part.barrier;
  training.steps = part.steps;
  const int64_t numRanks = processes ? processes->num_ranks : static_cast<int64_t>(wholes.size());
  std::vector<std::unique_ptr<Replica>> replicas;
  for (size_t i = 0; i < wholes.size(); ++i)
    replicas.push_back(std::make_unique<PartReplica>(*wholes[i], part.first, part.isLast, left[i]));
  const int64_t doubles = training.windowDoubles(numRanks);
  outcome.windowBytes =
      std::max(outcome.windowBytes, (doubles + static_cast<int64_t>(kNumRankCounters)) * int64_t(sizeof(double)));
  if (!processes) {
    SLUICE_ASSIGN_OR_RETURN(const auto windows, LocalWindows::create(numRanks, doubles));
    return trainThreads(*windows, training, replicas);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Windows> windows, createMpiWindows(doubles));
  SLUICE_ASSIGN_OR_RETURN(std::vector<RankStep> own, trainUnderBarrier(*windows, training, *replicas.front()));
  return gather(*processes, std::move(own));
}

/// The trial without its first step, in which ranks touch new memory.
Expected<BarrierChoice> chooseAfter(const std::vector<std::vector<RankStep>> &steps, int64_t stepsLeft,
                                    const BarrierRunOptions &options) {
  BarrierTrial trial;
  trial.stepsLeft = stepsLeft;
  trial.retestNs = options.retestNs;
  trial.seed = options.seed;
  trial.losses.resize(steps.front().size());
  for (const std::vector<RankStep> &rank : steps) {
    trial.ranks.emplace_back();
    for (size_t i = 0; i < rank.size(); ++i) {
      if (i > 0)
        trial.ranks.back().stepsNs.push_back(std::max<int64_t>(rank[i].pushNs - rank[i].readNs, 1));
      trial.losses[i] += rank[i].loss / static_cast<double>(steps.size());
    }
  }
  return chooseBarrier(trial, *options.mostLossRatio);
}

/// Runs the trial, and sets the barrier of the other steps.
Status runTrial(const BarrierRunOptions &options, const BarrierTraining &training, const sluice_communicator *processes,
                const std::vector<std::unique_ptr<SessionReplica>> &replicas, std::vector<std::vector<double>> &left,
                BarrierOutcome &outcome) {
  const Part part = {Barrier(), 0, outcome.trialSteps, false};
  SLUICE_ASSIGN_OR_RETURN(outcome.ranks, runPart(part, training, processes, replicas, left, outcome));
  Status status;
  std::optional<Barrier> chosen;
  if (outcome.isFirst) {
    Expected<BarrierChoice> choice = chooseAfter(outcome.ranks, training.steps - outcome.trialSteps, options);
    if (choice) {
      chosen = choice->candidates[choice->chosen].barrier;
      outcome.choice = std::move(*choice);
    } else {
      status = tl::unexpected(choice.error());
    }
  }
  if (processes) {
    const Expected<Barrier> shared = shareBarrier(*processes, chosen);
    if (status && !shared)
      status = tl::unexpected(shared.error());
    if (shared)
      chosen = *shared;
  }
  if (status)
    outcome.barrier = *chosen;
  return status;
}

} // namespace

bool exchangesGradients(const sluice_model &model) { return exchangedStatesOf(model).has_value(); }

Expected<BarrierOutcome> runUnderBarrier(const std::string &directory, const BarrierRunOptions &options,
                                         const ReadInputs &readInputs, const std::map<std::string, int64_t> &sizes) {
  const sluice_communicator *processes = nullptr;
  if (isMpiProcess()) {
    SLUICE_ASSIGN_OR_RETURN(processes, mpiCommunicator());
  }
  const bool isProcess = processes != nullptr;
  BarrierTraining training;
  training.barrier = options.barrier;
  training.steps = options.steps;
  training.retestNs = options.retestNs;
  training.seed = options.seed;
  training.isStopped = [] { return interrupted.load(); };
  SLUICE_RETURN_IF_ERROR(training.check(options.numRanks));
  if (options.mostLossRatio && options.steps < kLeastChosenSteps)
    return makeError(ErrorCode::InvalidInput, "a run of ", options.steps,
                     " steps is too short to choose a barrier, option '--barrier auto', give at least ",
                     kLeastChosenSteps, " steps or a barrier by name");
  if (options.slow)
    SLUICE_RETURN_IF_ERROR(slowRankOf(*options.slow, options.numRanks));
  int threads = options.threads;
  if (threads == 0 && !isProcess)
    threads = static_cast<int>(std::max<int64_t>(std::thread::hardware_concurrency() / options.numRanks, 1));

  std::vector<std::unique_ptr<SessionReplica>> replicas;
  for (int64_t i = 0; i < (isProcess ? 1 : options.numRanks); ++i) {
    SLUICE_ASSIGN_OR_RETURN(
        auto replica, SessionReplica::open(directory, options, threads, isProcess ? int64_t(processes->rank) : i));
    replicas.push_back(std::move(replica));
  }
  if (!replicas.front()->isLinear() && (options.mostLossRatio || !training.isBulk(options.numRanks)))
    return makeError(ErrorCode::Unsupported, "with adam or adamw, barrier '",
                     options.mostLossRatio ? "auto" : barrierText(options.barrier),
                     "' would let the weights of the ranks drift apart, option '--barrier', train with sgd or "
                     "momentum, or give bsp");
  SLUICE_ASSIGN_OR_RETURN(const std::vector<GivenInput> given, readInputs(inputNames(replicas.front()->model())));
  BarrierOutcome outcome;
  SLUICE_ASSIGN_OR_RETURN(outcome.firstStep, restore(directory, options, replicas));
  training.steps = options.steps - outcome.firstStep;
  for (const auto &replica : replicas)
    SLUICE_RETURN_IF_ERROR(replica->prepare(given, sizes));
  training.gradients = replicas.front()->gradientRuns();
  outcome.isFirst = !isProcess || processes->rank == 0;
  outcome.barrier = options.barrier;
  std::vector<std::vector<double>> left(replicas.size());
  // The few steps that a continued run has left stay under BSP.
  if (options.mostLossRatio && training.steps >= kLeastChosenSteps) {
    outcome.trialSteps = std::min(kMostTrialSteps, training.steps / kTrialShare);
    SLUICE_RETURN_IF_ERROR(runTrial(options, training, processes, replicas, left, outcome));
  }
  std::vector<std::vector<RankStep>> trial = std::exchange(outcome.ranks, {});
  const Part part = {outcome.barrier, outcome.trialSteps, training.steps - outcome.trialSteps, true};
  SLUICE_ASSIGN_OR_RETURN(outcome.ranks, runPart(part, training, processes, replicas, left, outcome));
  for (size_t rank = 0; rank < trial.size(); ++rank)
    outcome.ranks[rank].insert(outcome.ranks[rank].begin(), trial[rank].begin(), trial[rank].end());
  if (!outcome.isFirst)
    return outcome;
  outcome.outputs = replicas.front()->lastOutputs();
  outcome.progress = {options.steps, replicas.front()->batchesAfter(options.steps)};
  SLUICE_ASSIGN_OR_RETURN(outcome.states, replicas.front()->readStates());
  return outcome;
}

void printBarrierOutcome(const BarrierRunOptions &options, const BarrierOutcome &outcome) {
  const std::vector<double> losses = meanLosses(outcome);
  if (losses.size() > 1) {
    constexpr size_t kMostRows = 11;
    Table table({"step", "loss, mean of the ranks"});
    const size_t rows = std::min(losses.size(), kMostRows);
    for (size_t row = 0; row < rows; ++row) {
      const size_t step = row * (losses.size() - 1) / (rows - 1);
      table.add({concat(outcome.firstStep + static_cast<int64_t>(step) + 1), concat(losses[step])});
    }
    table.print();
  }
  const std::vector<std::vector<int64_t>> staleness = stalenessOf(outcome.ranks);
  for (size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    const RankSummary summary = summaryOf(outcome.ranks[rank], staleness[rank]);
    printLine(concat("rank ", rank),
              concat(outcome.ranks[rank].size(), " steps in ", formatDuration(summary.tookNs), ", ",
                     formatPercent(static_cast<double>(summary.waitedNs) /
                                   static_cast<double>(std::max<int64_t>(summary.tookNs, 1))),
                     " at the barrier, staleness ", summary.mostStale, " at most and ",
                     std::round(summary.meanStale * 100) / 100, " on average"));
  }
  if (outcome.choice) {
    Table table({"barrier", "simulated speed", "at the barrier", "updates late", "estimated loss", ""});
    for (size_t i = 0; i < outcome.choice->candidates.size(); ++i) {
      const BarrierCandidate &one = outcome.choice->candidates[i];
      table.add({barrierText(one.barrier), concat(std::round(one.speed * 1000) / 1000, "x"),
                 formatPercent(one.waitingShare), concat(std::round(one.meanLate * 1000) / 1000),
                 std::isfinite(one.lossRatio) ? concat(std::round(one.lossRatio * 1000) / 1000, "x") : "unknown",
                 i == outcome.choice->chosen               ? "chosen"
                 : one.lossRatio <= *options.mostLossRatio ? ""
                                                           : "loss too high"});
    }
    printLine("trial", concat(outcome.trialSteps, " steps under bsp"));
    table.print();
  }
  const CommonMetrics common = metricsOf(options, outcome);
  printLine("barrier", concat(barrierText(outcome.barrier), ": in the ", formatDuration(common.durationNs),
                              " until a rank ends ", std::round(common.metrics.meanSteps * 10) / 10,
                              " steps on average, ", formatPercent(common.metrics.waitingShare), " at the barrier, ",
                              std::round(common.metrics.meanLate * 1000) / 1000, " updates late"));
  printLine("windows", concat(formatBytes(outcome.windowBytes), " for each rank"));
}

Json barrierOutcomeToJson(const BarrierRunOptions &options, const BarrierOutcome &outcome) {
  const std::vector<std::vector<int64_t>> staleness = stalenessOf(outcome.ranks);
  int64_t beginNs = INT64_MAX;
  for (const auto &steps : outcome.ranks)
    beginNs = std::min(beginNs, steps.front().arriveNs);
  Json json;
  json["barrier"] = barrierText(outcome.barrier);
  if (outcome.choice) {
    Json candidates = Json::array();
    for (const BarrierCandidate &one : outcome.choice->candidates) {
      candidates.push_back({{"barrier", barrierText(one.barrier)},
                            {"speed", one.speed},
                            {"waitingShare", one.waitingShare},
                            {"meanLate", one.meanLate}});
      candidates.back()["lossRatio"] = std::isfinite(one.lossRatio) ? Json(one.lossRatio) : Json();
    }
    json["choice"] = {{"mostLossRatio", *options.mostLossRatio},
                      {"trialSteps", outcome.trialSteps},
                      {"candidates", std::move(candidates)}};
  }
  json["steps"] = options.steps;
  json["firstStep"] = outcome.firstStep;
  json["retestNs"] = options.retestNs;
  json["windowBytes"] = outcome.windowBytes;
  for (size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    const RankSummary summary = summaryOf(outcome.ranks[rank], staleness[rank]);
    Json entry = {{"rank", rank}, {"tookNs", summary.tookNs}, {"waitedNs", summary.waitedNs}};
    entry["staleness"] = staleness[rank];
    for (const RankStep &step : outcome.ranks[rank]) {
      entry["passNs"].push_back(step.passNs - beginNs);
      entry["pushNs"].push_back(step.pushNs - beginNs);
      entry["waitNs"].push_back(step.passNs - step.arriveNs);
      entry["tests"].push_back(step.tests);
      entry["loss"].push_back(step.loss);
    }
    json["ranks"].push_back(std::move(entry));
  }
  const CommonMetrics common = metricsOf(options, outcome);
  json["common"] = {{"durationNs", common.durationNs},
                    {"meanSteps", common.metrics.meanSteps},
                    {"waitingShare", common.metrics.waitingShare},
                    {"meanLate", common.metrics.meanLate},
                    {"meanProgress", common.metrics.meanProgress}};
  json["series"]["loss"] = meanLosses(outcome);
  return json;
}

} // namespace sluice::driver
