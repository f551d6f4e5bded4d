//===- Exhaustive.cpp - An optimal placement of a few operators -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The search is branch and bound in two levels. The upper level gives devices to operators one after the other. For
// every complete placement that no bound excludes, the lower level extends an order by one ready operator at a time. A
// branch ends if its lower bound is not below the best makespan.
//
// A placement is bounded by the longest path, by the work of each device between earliest starts and tails (Carlier's
// preemptive bound), and by a weighted mean of the work of all devices. A prefix of an order is bounded by the times of
// its commands, which are final if no two copies share a link. A prefix is also dropped if another prefix of the same
// operators left every stream and tensor available no later, or if it only exchanges two independent neighbours of an
// order that is searched anyway.
//
//===----------------------------------------------------------------------===//

#include "Exhaustive.h"

#include "Evaluator.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace sluice {
namespace {

/// Placements first, operator by operator; of each that no bound excludes then its
/// orders. With links that no two copies share, what is appended to an order later
/// delays nothing before it, so that a prefix's times are final; else they are lower
/// bounds, and whole orders are simulated.
class BranchAndBound {
public:
  BranchAndBound(const SolverInput &input, ListSchedule start, int64_t startNs, int64_t steps)
      : input(input), index(input.index), count(input.topological.size()), units(input.problem), best(std::move(start)),
        bestNs(startNs), left(steps), timers(count + 1, StepTimer(index)), evaluator(index),
        uses(units.members.size() + 1, MemoryUse(input.problem)), grown(count),
        tails(count * index.machine.devices.size()), heads(tails.size()), placement(count),
        remainingNs(index.machine.devices.size()), leastTailNs(remainingNs.size()) {
    for (size_t unit = 0; unit < units.members.size(); ++unit)
      if (units.device[unit].valid())
        for (OperatorId member : units.members[unit])
          uses[0].add(member, units.device[unit]);
    weighDevices();
  }

  /// False where the steps or the time ran out.
  bool run() {
    settle(0);
    return !stopped;
  }
  int64_t makespanNs() const { return bestNs; }
  ListSchedule &schedule() { return best; }

private:
  struct Choice {
    int64_t boundNs;
    DeviceId device;
  };
  struct Child {
    int64_t boundNs;
    OperatorId op;
  };
  struct Job {
    int64_t startNs, leftNs, tailNs; ///< Not before; to work; from its end to the step's.
  };

  bool mustStop() { return stopped = stopped || left <= 0 || input.budget.mustStop(); }
  bool isDone(uint32_t done, OperatorId op) const { return done >> op.value & 1; }
  bool isReady(uint32_t done, OperatorId op) const {
    for (uint32_t before : index.predecessors(op))
      if (!(done >> before & 1))
        return false;
    return true;
  }
  bool allowed(OperatorId op, DeviceId device) const {
    const DeviceId settled = units.device[units.unitOf[op.index()]];
    return !settled.valid() || settled == device;
  }
  size_t cell(OperatorId op, DeviceId device) const {
    return op.index() * index.machine.devices.size() + device.index();
  }

  /// Least time from an operator's end on a device to the step's, each path alone.
  void measureTails() {
    for (size_t i = count; i-- > 0;) {
      const OperatorId op = input.topological[i];
      for (DeviceId device : index.devices) {
        int64_t &tail = tails[cell(op, device)];
        tail = 0;
        auto follow = [&](OperatorId next, const TensorId *moved) {
          int64_t way = std::numeric_limits<int64_t>::max();
          for (DeviceId target : index.devices)
            if (allowed(next, target)) {
              int64_t move =
                  moved ? index.moveNs(index.memoryOf[device.index()], index.memoryOf[target.index()], moved->value)
                        : 0;
              way = std::min(way, move + index.timeNs(next, target) + tails[cell(next, target)]);
            }
          tail = std::max(tail, way);
        };
        for (TensorId output : index.graph.op(op).outputs) {
          const Tensor &tensor = index.graph.tensor(output);
          for (OperatorId reader : tensor.consumers)
            follow(reader, &output);
          if (tensor.isOutput)
            tail = std::max(tail, index.moveNs(index.memoryOf[device.index()], 0, output.value));
        }
        for (TensorId read : index.graph.op(op).inputs)
          if (OperatorId writer = writerAfter(index.graph, op, read); writer.valid())
            follow(writer, nullptr);
      }
    }
  }

  /// Earliest ends, each path alone.
  void measureHeads() {
    for (OperatorId op : input.topological)
      for (DeviceId device : index.devices) {
        int64_t start = 0;
        auto follow = [&](OperatorId producer, const uint32_t *moved) {
          int64_t soonest = std::numeric_limits<int64_t>::max();
          for (DeviceId maker : index.devices)
            if (allowed(producer, maker))
              soonest = std::min(soonest, heads[cell(producer, maker)] +
                                              (moved ? index.moveNs(index.memoryOf[maker.index()],
                                                                    index.memoryOf[device.index()], *moved)
                                                     : 0));
          start = std::max(start, soonest);
        };
        for (uint32_t tensor : index.inputs(op))
          if (OperatorId producer = index.graph.tensor(TensorId(tensor)).producer; producer.valid())
            follow(producer, &tensor);
          else
            start = std::max(start, index.moveNs(0, index.memoryOf[device.index()], tensor));
        for (uint32_t before : index.predecessors(op))
          follow(OperatorId(before), nullptr);
        heads[cell(op, device)] = start + index.timeNs(op, device);
      }
  }

  /// When a tensor can be in a device's memory at the earliest.
  int64_t arrivalNs(const StepTimer &timer, uint32_t done, uint32_t tensor, DeviceId device) const {
    const uint32_t memory = index.memoryOf[device.index()];
    if (timer.arrivalNs(tensor, memory) >= 0)
      return timer.arrivalNs(tensor, memory);
    const OperatorId producer = index.graph.tensor(TensorId(tensor)).producer;
    if (producer.valid() && !isDone(done, producer)) {
      int64_t soonest = std::numeric_limits<int64_t>::max();
      for (DeviceId maker : index.devices)
        if (allowed(producer, maker))
          soonest = std::min(soonest, heads[cell(producer, maker)] +
                                          index.moveNs(index.memoryOf[maker.index()], memory, tensor));
      return soonest;
    }
    const DeviceId maker = producer.valid() ? timer.deviceOf(producer) : DeviceId();
    const uint32_t from = maker.valid() ? index.memoryOf[maker.index()] : 0;
    auto hop = [&](int64_t readyNs, uint32_t a, uint32_t b, int64_t freeNs) {
      return std::max(readyNs, freeNs) + index.copyNs(index.link(a, b), tensor);
    };
    // Whichever device of the memory wants it first brings it in.
    int64_t freeNs = std::numeric_limits<int64_t>::max();
    for (DeviceId other : index.devices)
      if (index.memoryOf[other.index()] == memory)
        freeNs = std::min(freeNs, timer.clockNs(other, StreamKind::SwapIn));
    int64_t home = timer.arrivalNs(tensor, 0);
    if (memory != 0 && from != 0 && index.link(from, memory).valid())
      return hop(timer.arrivalNs(tensor, from), from, memory, freeNs);
    if (home < 0)
      home = hop(timer.arrivalNs(tensor, from), from, 0, timer.clockNs(maker, StreamKind::SwapOut));
    return memory == 0 ? home : hop(home, 0, memory, freeNs);
  }

  /// No order of what is settled, with whatever devices for the rest, is faster. After
  /// measureHeads and measureTails.
  int64_t placementBoundNs() {
    int64_t bound = 0;
    for (std::vector<Job> &each : jobs)
      each.clear();
    jobs.resize(index.machine.devices.size());
    struct Share {
      int64_t startNs, tailNs;
      double work;
    };
    std::vector<Share> shares;
    for (OperatorId op : input.topological) {
      constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
      int64_t path = kNever;
      Share share{kNever, kNever, std::numeric_limits<double>::infinity()};
      for (size_t d = 0; d < index.devices.size(); ++d) {
        const DeviceId device = index.devices[d];
        if (!allowed(op, device))
          continue;
        const int64_t start = heads[cell(op, device)] - index.timeNs(op, device), tail = tails[cell(op, device)];
        path = std::min(path, heads[cell(op, device)] + tail);
        share = {std::min(share.startNs, start), std::min(share.tailNs, tail),
                 std::min(share.work, weighted(op, d, weights))};
        if (units.device[units.unitOf[op.index()]].valid())
          jobs[device.index()].push_back({start, index.timeNs(op, device), tail});
      }
      shares.push_back(share);
      bound = std::max(bound, path);
    }
    for (std::vector<Job> &each : jobs)
      bound = std::max(bound, preemptiveNs(each));
    // Operators that start no earlier and end no later than some share a span; a weighted
    // mean of the devices' work in it is no longer than it.
    for (const Share &first : shares)
      for (const Share &last : shares) {
        double work = 0;
        for (const Share &each : shares)
          if (each.startNs >= first.startNs && each.tailNs >= last.tailNs)
            work += each.work;
        if (work > 0)
          bound = std::max(bound, first.startNs + last.tailNs + static_cast<int64_t>(std::ceil(work * (1 - 1e-9))));
      }
    return bound;
  }

  /// One device's work, each job between its earliest start and its tail: the longest
  /// tail first, interrupted at will, is least (Carlier 1982).
  static int64_t preemptiveNs(std::vector<Job> &jobs) {
    int64_t now = 0, bound = 0;
    for (;;) {
      Job *next = nullptr;
      int64_t soonest = std::numeric_limits<int64_t>::max();
      for (Job &job : jobs)
        if (job.leftNs > 0) {
          if (job.startNs > now)
            soonest = std::min(soonest, job.startNs);
          else if (!next || job.tailNs > next->tailNs)
            next = &job;
        }
      if (!next && soonest == std::numeric_limits<int64_t>::max())
        return bound;
      if (!next) {
        now = soonest;
        continue;
      }
      const int64_t ran =
          std::min(next->leftNs, soonest == std::numeric_limits<int64_t>::max() ? next->leftNs : soonest - now);
      next->leftNs -= ran;
      now += ran;
      if (next->leftNs == 0)
        bound = std::max(bound, now + next->tailNs);
    }
  }

  /// No completion of the prefix is faster.
  int64_t boundNs(const StepTimer &timer, uint32_t done) {
    int64_t bound = timer.makespanNs();
    std::fill(remainingNs.begin(), remainingNs.end(), 0);
    std::fill(leastTailNs.begin(), leastTailNs.end(), std::numeric_limits<int64_t>::max());
    for (OperatorId op : input.topological) {
      if (isDone(done, op))
        continue;
      const DeviceId device = placement[op.index()];
      int64_t start = timer.clockNs(device, StreamKind::Compute);
      for (uint32_t tensor : index.inputs(op))
        start = std::max(start, arrivalNs(timer, done, tensor, device));
      for (uint32_t before : index.predecessors(op))
        start = std::max(start, isDone(done, OperatorId(before)) ? timer.operatorEndNs(OperatorId(before))
                                                                 : heads[cell(OperatorId(before), placement[before])]);
      const int64_t ns = index.timeNs(op, device), tail = tails[cell(op, device)];
      heads[cell(op, device)] = start + ns;
      remainingNs[device.index()] += ns;
      leastTailNs[device.index()] = std::min(leastTailNs[device.index()], tail);
      bound = std::max(bound, start + ns + tail);
      if (bound >= bestNs)
        return bound;
    }
    for (DeviceId device : index.devices)
      if (remainingNs[device.index()] > 0)
        bound = std::max(bound, timer.clockNs(device, StreamKind::Compute) + remainingNs[device.index()] +
                                    leastTailNs[device.index()]);
    return bound;
  }

  /// Weights of devices, by which all work spread over them takes the longest: an
  /// operator counts where its time is least by weight. Subgradient ascent of
  /// the relaxation of unrelated machines (Lawler and Labetoulle 1978).
  void weighDevices() {
    const size_t devices = index.devices.size();
    std::vector<double> trial(devices, 1.0 / static_cast<double>(devices)), used(devices);
    double best = -1;
    for (int round = 1; round <= 300; ++round) {
      std::fill(used.begin(), used.end(), 0);
      double total = 0;
      for (OperatorId op : input.topological) {
        size_t at = devices;
        for (size_t d = 0; d < devices; ++d)
          if (allowed(op, index.devices[d]) && (at == devices || weighted(op, d, trial) < weighted(op, at, trial)))
            at = d;
        total += weighted(op, at, trial);
        used[at] += static_cast<double>(index.timeNs(op, index.devices[at]));
      }
      if (total > best) {
        best = total;
        weights = trial;
      }
      double sum = 0, all = 0;
      for (double time : used)
        all += time;
      for (size_t d = 0; d < devices; ++d) {
        trial[d] *= std::exp((used[d] / std::max(all, 1.0) - 1.0 / static_cast<double>(devices)) / std::sqrt(round));
        sum += trial[d];
      }
      for (double &weight : trial)
        weight /= sum;
    }
  }
  double weighted(OperatorId op, size_t d, const std::vector<double> &by) const {
    return by[d] * static_cast<double>(index.timeNs(op, index.devices[d]));
  }

  /// What the rest of the schedule depends on: of a tensor still to be read that
  /// is not in a memory, the end of time, for a copy will take its turn.
  void describe(const StepTimer &timer, uint32_t done, std::vector<int64_t> &state) const {
    state.clear();
    state.push_back(timer.makespanNs());
    for (DeviceId device : index.devices)
      for (StreamKind kind : {StreamKind::Compute, StreamKind::SwapIn, StreamKind::SwapOut})
        state.push_back(timer.clockNs(device, kind));
    for (uint32_t t = 0; t < index.graph.numTensors(); ++t) {
      const Tensor &tensor = index.graph.tensor(TensorId(t));
      const bool made = !tensor.producer.valid() || isDone(done, tensor.producer);
      if (made && std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                              [&](OperatorId reader) { return !isDone(done, reader); }))
        for (uint32_t m = 0; m < index.numMemories; ++m)
          state.push_back(timer.arrivalNs(t, m) < 0 ? std::numeric_limits<int64_t>::max() : timer.arrivalNs(t, m));
    }
    for (OperatorId op : input.topological)
      if (isDone(done, op))
        for (TensorId read : index.graph.op(op).inputs)
          if (OperatorId writer = writerAfter(index.graph, op, read); writer.valid() && !isDone(done, writer))
            state.push_back(timer.operatorEndNs(op));
  }

  /// True where the same operators were reached before with nothing later; remembers this
  /// state otherwise. Where links are shared, times
  /// are not final and so nothing is dominated.
  bool isDominated(const StepTimer &timer, uint32_t done) {
    if (index.timesAreBounds)
      return false;
    describe(timer, done, described);
    std::vector<std::vector<int64_t>> &known = seen[done];
    for (const std::vector<int64_t> &other : known)
      if (std::equal(other.begin(), other.end(), described.begin(), std::less_equal<>()))
        return true;
    if (remembered >= kMostStates)
      return false;
    std::erase_if(known, [&](const std::vector<int64_t> &other) {
      const bool worse = std::equal(described.begin(), described.end(), other.begin(), std::less_equal<>());
      remembered -= worse;
      return worse;
    });
    known.push_back(described);
    ++remembered;
    return false;
  }

  /// Streams that grew with the operator appended at a depth.
  uint64_t streamsOf(size_t depth) const {
    uint64_t mask = 0;
    for (DeviceId device : index.devices)
      for (StreamKind kind : {StreamKind::Compute, StreamKind::SwapIn, StreamKind::SwapOut})
        if (timers[depth].clockNs(device, kind) != timers[depth + 1].clockNs(device, kind))
          mask |= uint64_t(1) << (device.index() * 3 + size_t(kind));
    return mask;
  }

  /// True where appending the last operator and this one the other way round
  /// means the same program, which comes from that order: they are independent,
  /// read nothing in common and share no stream.
  bool isSwapped(size_t depth, OperatorId op, uint64_t streams) const {
    if (depth == 0 || !(op < prefix.back()) || (streams & grown[depth - 1]))
      return false;
    for (uint32_t before : index.predecessors(op))
      if (before == prefix.back().value)
        return false;
    for (uint32_t a : index.inputs(op))
      for (uint32_t b : index.inputs(prefix.back()))
        if (a == b)
          return false;
    return true;
  }

  /// The devices of the first operator whose unit is open, most promising first.
  void settle(size_t depth) {
    const auto open = std::find_if(input.topological.begin(), input.topological.end(),
                                   [&](OperatorId op) { return !units.device[units.unitOf[op.index()]].valid(); });
    if (open == input.topological.end()) {
      measureTails();
      for (OperatorId op : input.topological)
        placement[op.index()] = units.device[units.unitOf[op.index()]];
      seen.clear();
      remembered = 0;
      extend(0, 0);
      return;
    }
    const uint32_t unit = units.unitOf[open->index()];
    std::vector<Choice> choices;
    for (DeviceId device : index.devices) {
      if (uses[depth].excessWith(units.members[unit], device) > 0)
        continue;
      units.device[unit] = device;
      measureHeads();
      measureTails();
      choices.push_back({placementBoundNs(), device});
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice &a, const Choice &b) { return a.boundNs < b.boundNs; });
    for (const Choice &choice : choices) {
      if (choice.boundNs >= bestNs || mustStop())
        break;
      --left;
      units.device[unit] = choice.device;
      uses[depth + 1] = uses[depth];
      for (OperatorId member : units.members[unit])
        uses[depth + 1].add(member, choice.device);
      settle(depth + 1);
    }
    units.device[unit] = DeviceId();
  }

  /// Every ready operator in turn.
  void extend(size_t depth, uint32_t done) {
    if (depth == count) {
      const int64_t makespan =
          index.timesAreBounds ? evaluator.makespanNs(placement, prefix) : timers[depth].makespanNs();
      if (makespan < bestNs) {
        bestNs = makespan;
        best.placement = placement;
        best.order = prefix;
      }
      return;
    }
    std::vector<Child> children;
    for (OperatorId op : input.topological) {
      if (isDone(done, op) || !isReady(done, op))
        continue;
      timers[depth + 1] = timers[depth];
      timers[depth + 1].append(op, placement[op.index()]);
      if (isSwapped(depth, op, streamsOf(depth)))
        continue;
      const int64_t bound = boundNs(timers[depth + 1], done | uint32_t(1) << op.value);
      if (bound < bestNs)
        children.push_back({bound, op});
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child &a, const Child &b) { return a.boundNs < b.boundNs; });
    for (const Child &child : children) {
      if (child.boundNs >= bestNs || mustStop())
        break;
      --left;
      const uint32_t next = done | uint32_t(1) << child.op.value;
      timers[depth + 1] = timers[depth];
      timers[depth + 1].append(child.op, placement[child.op.index()]);
      grown[depth] = streamsOf(depth);
      if (isDominated(timers[depth + 1], next))
        continue;
      prefix.push_back(child.op);
      extend(depth + 1, next);
      prefix.pop_back();
    }
  }

  static constexpr size_t kMostStates = 1'000'000;

  const SolverInput &input;
  const StepIndex &index;
  size_t count;
  Units units;
  ListSchedule best;
  int64_t bestNs;
  int64_t left; ///< Steps.
  bool stopped = false;
  std::vector<StepTimer> timers; ///< Per depth.
  Evaluator evaluator;
  std::vector<MemoryUse> uses; ///< Per units settled.
  std::vector<uint64_t> grown; ///< Per depth: streamsOf the operator appended there.
  std::vector<int64_t> tails;  ///< [operator, device]
  std::vector<int64_t> heads;  ///< [operator, device]: earliest end, of the bound at hand.
  std::vector<double> weights; ///< Of the devices that compute; their sum is 1.
  std::vector<DeviceId> placement;
  std::vector<int64_t> remainingNs, leastTailNs; ///< Per device, of the bound at hand.
  std::vector<std::vector<Job>> jobs;            ///< Per device, of the bound at hand.
  std::vector<OperatorId> prefix;
  std::vector<int64_t> described;
  std::unordered_map<uint32_t, std::vector<std::vector<int64_t>>> seen;
  size_t remembered = 0;
};

} // namespace

bool isSmallEnough(const SolverInput &input) {
  return input.topological.size() <= kExhaustiveOperators && input.problem.machine->devices.size() <= 16;
}

bool searchExhaustively(const SolverInput &input, ListSchedule &best, int64_t &bestNs) {
  const bool hadOne = bestNs != std::numeric_limits<int64_t>::max();
  BranchAndBound search(input, std::move(best), bestNs, input.budget.evaluations * kStepsPerEvaluation);
  const bool complete = search.run();
  best = std::move(search.schedule());
  best.optimal = complete && (hadOne || search.makespanNs() < bestNs);
  bestNs = search.makespanNs();
  return complete;
}

Expected<ListSchedule> placeExhaustively(const SolverInput &input) {
  const std::string &name = input.problem.graph->name;
  if (!isSmallEnough(input))
    return makeError(ErrorCode::Unsupported, "placement solver 'exhaustive' supports at most ", kExhaustiveOperators,
                     " operators on 16 devices, and graph '", name, "' has ", input.topological.size(),
                     " operators on ", input.problem.machine->devices.size(), " devices, use solver 'best'");
  ListSchedule best;
  int64_t bestNs = std::numeric_limits<int64_t>::max();
  // A good start prunes more than its search takes.
  constexpr int64_t kStartEvaluations = 20'000;
  SolverInput first = input;
  first.budget.evaluations = std::min(first.budget.evaluations, kStartEvaluations);
  if (Expected<ListSchedule> start = placeByNeighbourhoods(first)) {
    bestNs = Evaluator(input.index).makespanNs(start->placement, start->order);
    best = std::move(*start);
  }
  const bool complete = searchExhaustively(input, best, bestNs);
  best.stoppedByClock = !complete && input.budget.mustStop();
  if (!complete && !(best.stoppedByClock && bestNs != std::numeric_limits<int64_t>::max()))
    return makeError(ErrorCode::Unsupported, "placement solver 'exhaustive' gave up after ",
                     input.budget.evaluations * kStepsPerEvaluation, " steps, too few for graph '", name,
                     "', allow more evaluations or use solver 'best'");
  if (bestNs == std::numeric_limits<int64_t>::max())
    return makeError(ErrorCode::Infeasible, "no placement of graph '", name,
                     "' keeps within the capacities of the memories, raise the capacities or pin fewer operators");
  return best;
}

} // namespace sluice
