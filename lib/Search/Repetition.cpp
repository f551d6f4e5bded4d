//===- Repetition.cpp - Finding and checking repeated blocks --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Repetition.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace sluice {

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// What operators of the same place in two blocks have in common, except for where their operands come from. Their
/// signatures may differ: each layer has a seed of its own for dropout.
static std::string canonicalForm(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
                                 OperatorId id) {
  const Operator &op = graph.op(id);
  std::string form = op.kind + '|';
  auto add = [&](auto... numbers) { ((form += std::to_string(numbers) + ','), ...); };
  add(op.flops, op.bytesMoved, op.workspaceBytes, op.demandBytes, op.colocation, op.communicates ? 1 : 0);
  for (size_t device = 0; device < costs.numDevices; ++device)
    add(costs.timeNs(id, DeviceId(device)));
  if (!placement.empty())
    add(placement[id.index()].value);
  for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs}) {
    form += '|';
    for (TensorId t : *list) {
      const Tensor &tensor = graph.tensor(t);
      add(static_cast<int>(tensor.kind), tensor.bytes, tensor.touchedBytes, tensor.isPooled ? 1 : 0,
          tensor.isOutput ? 1 : 0, tensor.updates.valid() ? 1 : 0);
    }
  }
  for (auto [input, output] : op.inPlace)
    add(input, output);
  return form;
}

namespace {

/// Stretches of a sequence of numbers that consist of repetitions.
class RunFinder {
public:
  explicit RunFinder(std::vector<uint32_t> labels) : labels(std::move(labels)) {}

  /// The runs of [from, to) of at least `least` blocks for each of the likely periods, those that cover the most first.
  std::vector<BlockRun> longest(size_t from, size_t to, size_t least) const {
    std::vector<BlockRun> runs;
    for (size_t period : likelyPeriods(from, to, least))
      if (BlockRun run = longestOf(period, from, to); run.count >= least)
        runs.push_back(run);
    // A multiple of a period covers almost as much: the smaller one comes first unless the larger covers another block.
    std::stable_sort(runs.begin(), runs.end(), [](const BlockRun &a, const BlockRun &c) {
      return a.period * a.count + c.period > c.period * c.count + a.period;
    });
    return runs;
  }

  /// Adds disjoint runs of [from, to) of at least `least` blocks: the longest of all, and those on either side of it.
  /// Stops when it has looked at `labelsLeft` labels, because a sequence with many short runs would take quadratic
  /// time.
  void addRuns(size_t from, size_t to, size_t least, std::vector<BlockRun> &runs, size_t &labelsLeft) const {
    if (to - from > labelsLeft)
      return;
    labelsLeft -= to - from;
    const std::vector<BlockRun> found = longest(from, to, least);
    if (found.empty())
      return;
    const BlockRun run = found.front();
    addRuns(from, run.begin, least, runs, labelsLeft);
    runs.push_back(run);
    addRuns(run.end(), to, least, runs, labelsLeft);
  }

private:
  /// The distances between neighbouring occurrences of the same few labels, the most frequent first.
  std::vector<size_t> likelyPeriods(size_t from, size_t to, size_t least) const {
    static constexpr size_t kMostPeriods = 12;
    using Window = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Window, size_t> last;
    std::map<size_t, size_t> votes;
    for (size_t x = from; x + 2 < to; ++x) {
      auto [place, isNew] = last.try_emplace({labels[x], labels[x + 1], labels[x + 2]}, x);
      if (!isNew)
        ++votes[x - std::exchange(place->second, x)];
    }
    // Blocks of one or two operators.
    votes.try_emplace(1, 0);
    votes.try_emplace(2, 0);
    std::vector<std::pair<size_t, size_t>> ranked(votes.begin(), votes.end());
    std::erase_if(ranked, [&](const auto &vote) { return vote.first * least > to - from; });
    // Each vote covers one operator, whatever the period.
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &c) { return a.second > c.second; });
    if (ranked.size() > kMostPeriods)
      ranked.resize(kMostPeriods);
    std::vector<size_t> periods;
    periods.reserve(ranked.size());
    for (const auto &[period, count] : ranked)
      periods.push_back(period);
    return periods;
  }

  BlockRun longestOf(size_t period, size_t from, size_t to) const {
    BlockRun best;
    size_t begin = from;
    for (size_t x = from; x < to; ++x) {
      if (x + period < to && labels[x] == labels[x + period])
        continue;
      // [begin, x + period) has this period.
      if (const size_t count = x > begin ? (x - begin) / period + 1 : 0; count > best.count)
        best = {begin, period, count};
      begin = x + 1;
    }
    return best;
  }

  std::vector<uint32_t> labels;
};

/// Where an operator is in the runs.
struct Place {
  size_t run = 0, block = 0, position = 0;
  bool isInside = false;
};

std::vector<Place> placesIn(const Repetition &repetition, size_t operators) {
  std::vector<Place> places(operators);
  for (size_t r = 0; r < repetition.runs.size(); ++r) {
    const BlockRun &run = repetition.runs[r];
    for (size_t at = run.begin; at < run.end(); ++at)
      places[repetition.order[at].index()] = {r, (at - run.begin) / run.period, (at - run.begin) % run.period, true};
  }
  return places;
}

} // namespace

/// Gives the runs the layers of `main`, as far as operands connect them with it, and removes the others.
static void alignRuns(const Graph &graph, Repetition &repetition, size_t main) {
  std::vector<BlockRun> &runs = repetition.runs;
  const std::vector<Place> places = placesIn(repetition, graph.numOperators());
  std::vector<char> isAligned(runs.size(), 0);
  isAligned[main] = 1;
  auto align = [&](size_t r) {
    // A block has its layer's number plus or minus a constant.
    std::map<std::pair<bool, int64_t>, size_t> votes;
    auto vote = [&](OperatorId op, OperatorId other) {
      const Place &own = places[op.index()], &place = places[other.index()];
      if (!place.isInside || place.run == r || !isAligned[place.run])
        return;
      const int64_t layer = runs[place.run].layerOf(place.block), block = static_cast<int64_t>(own.block);
      ++votes[{false, layer - block}];
      ++votes[{true, layer + block}];
    };
    for (size_t at = runs[r].begin; at < runs[r].end(); ++at) {
      const OperatorId op = repetition.order[at];
      for (TensorId input : graph.op(op).inputs)
        if (graph.tensor(input).producer.valid())
          vote(op, graph.tensor(input).producer);
      for (TensorId output : graph.op(op).outputs)
        for (OperatorId reader : graph.tensor(output).consumers)
          vote(op, reader);
    }
    const auto best =
        std::max_element(votes.begin(), votes.end(), [](const auto &a, const auto &c) { return a.second < c.second; });
    // One operand of most blocks says it.
    if (best == votes.end() || best->second * 2 < runs[r].count)
      return false;
    runs[r].isReversed = best->first.first;
    runs[r].layer = best->first.second;
    return true;
  };
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (size_t r = 0; r < runs.size(); ++r)
      if (!isAligned[r] && align(r))
        isAligned[r] = isChanged = true;
  }
  size_t kept = 0;
  for (size_t r = 0; r < runs.size(); ++r)
    if (isAligned[r])
      runs[kept++] = runs[r];
  runs.resize(kept);
}

std::optional<Repetition> findRepetition(const Graph &graph, const CostTable &costs,
                                         std::span<const DeviceId> placement, size_t leastBlocks) {
  Expected<std::vector<OperatorId>> order = graph.topologicalOrder();
  if (!order)
    return std::nullopt;
  std::unordered_map<std::string, uint32_t> known;
  std::vector<uint32_t> labels;
  for (OperatorId op : *order)
    labels.push_back(known.try_emplace(canonicalForm(graph, costs, placement, op), static_cast<uint32_t>(known.size()))
                         .first->second);
  const RunFinder finder(std::move(labels));
  leastBlocks = std::max<size_t>(leastBlocks, 2);
  static constexpr size_t kMostTried = 6;
  const std::vector<BlockRun> mains = finder.longest(0, order->size(), leastBlocks);
  for (size_t i = 0; i < std::min(mains.size(), kMostTried); ++i) {
    const BlockRun &main = mains[i];
    // The blocks of a training step's other runs may begin anywhere within this one: all positions at which as many
    // blocks fit are alike, and the first one is taken.
    Repetition repetition{*order, {}, static_cast<int64_t>(main.count)};
    // The runs of other passes over the layers lack at most some of the first and last ones.
    static constexpr size_t kMostMissing = 4;
    const size_t least = std::max(leastBlocks, main.count - std::min(main.count, kMostMissing));
    // The passes over the layers are few, and so are the runs of a model.
    static constexpr size_t kMostLooks = 16;
    size_t labelsLeft = kMostLooks * order->size();
    finder.addRuns(0, main.begin, least, repetition.runs, labelsLeft);
    const size_t place = repetition.runs.size();
    repetition.runs.push_back(main);
    finder.addRuns(main.end(), order->size(), least, repetition.runs, labelsLeft);
    alignRuns(graph, repetition, place);
    if (check(graph, costs, placement, repetition))
      return repetition;
    // The longest run alone.
    repetition.runs = {main};
    if (check(graph, costs, placement, repetition))
      return repetition;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

namespace {

class Checker {
public:
  Checker(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement, const Repetition &repetition)
      : graph(graph), costs(costs), placement(placement), repetition(repetition) {}

  Status run() {
    if (!graph.isTopological(repetition.order) || repetition.runs.empty())
      return makeError(ErrorCode::Internal, "a repetition has no topological order or no run, graph '", graph.name,
                       "', this is a bug of Sluice, please report it");
    size_t end = 0;
    for (const BlockRun &run : repetition.runs) {
      if (run.period == 0 || run.count == 0 || run.begin < end || run.end() > repetition.order.size())
        return makeError(ErrorCode::Internal, "runs of a repetition overlap or are empty, graph '", graph.name,
                         "', this is a bug of Sluice, please report it");
      end = run.end();
    }
    places = placesIn(repetition, graph.numOperators());
    for (const BlockRun &run : repetition.runs)
      for (size_t at = run.begin; at + run.period < run.end(); ++at)
        if (!isAlike(run, repetition.order[at], repetition.order[at + run.period]))
          return makeError(ErrorCode::InvalidInput, "operators '", graph.op(repetition.order[at]).name, "' and '",
                           graph.op(repetition.order[at + run.period]).name,
                           "' are at the same position of two repeated blocks and differ, leave this run of blocks out "
                           "of the list of repetitions");
    return {};
  }

private:
  bool isAlike(const BlockRun &run, OperatorId idA, OperatorId idC) const {
    const Operator &a = graph.op(idA), &c = graph.op(idC);
    if (a.kind != c.kind || a.flops != c.flops || a.bytesMoved != c.bytesMoved ||
        a.workspaceBytes != c.workspaceBytes || a.demandBytes != c.demandBytes || a.communicates != c.communicates ||
        a.colocation != c.colocation || a.inPlace != c.inPlace || a.inputs.size() != c.inputs.size() ||
        a.outputs.size() != c.outputs.size())
      return false;
    if (!placement.empty() && placement[idA.index()] != placement[idC.index()])
      return false;
    for (size_t device = 0; device < costs.numDevices; ++device)
      if (costs.timeNs(idA, DeviceId(device)) != costs.timeNs(idC, DeviceId(device)))
        return false;
    for (size_t i = 0; i < a.outputs.size(); ++i)
      if (!isAlike(graph.tensor(a.outputs[i]), graph.tensor(c.outputs[i])))
        return false;
    for (size_t i = 0; i < a.inputs.size(); ++i)
      if (!isAlike(graph.tensor(a.inputs[i]), graph.tensor(c.inputs[i])) || !isMoved(run, a.inputs[i], c.inputs[i]))
        return false;
    return true;
  }

  static bool isAlike(const Tensor &a, const Tensor &c) {
    return a.kind == c.kind && a.bytes == c.bytes && a.touchedBytes == c.touchedBytes && a.isPooled == c.isPooled &&
           a.isOutput == c.isOutput && a.updates.valid() == c.updates.valid();
  }

  /// Whether the operand of a block is that of the block before it, moved by a block, or comes from outside of the
  /// runs.
  bool isMoved(const BlockRun &run, TensorId idA, TensorId idC) const {
    const Tensor &a = graph.tensor(idA), &c = graph.tensor(idC);
    if (!a.producer.valid() && !c.producer.valid())
      return true;
    if (!a.producer.valid() || !c.producer.valid())
      return false;
    const Place &placeA = places[a.producer.index()], &placeC = places[c.producer.index()];
    if (!placeA.isInside && !placeC.isInside)
      return idA == idC;
    // The other operand is what a block outside of the run would have written.
    auto isBeyond = [&](const Place &place, bool isForward) {
      const BlockRun &from = repetition.runs[place.run];
      return from.isReversed == run.isReversed ? (isForward ? place.block + 1 >= from.count : place.block == 0)
                                               : (isForward ? place.block == 0 : place.block + 1 >= from.count);
    };
    if (!placeA.isInside || !placeC.isInside || placeA.run != placeC.run)
      return placeC.isInside ? isBeyond(placeC, false) : isBeyond(placeA, true);
    const BlockRun &from = repetition.runs[placeA.run];
    const bool isSameWay = from.isReversed == run.isReversed;
    auto outputOf = [&](OperatorId op, TensorId output) {
      const std::vector<TensorId> &outputs = graph.op(op).outputs;
      return std::find(outputs.begin(), outputs.end(), output) - outputs.begin();
    };
    return placeA.position == placeC.position && outputOf(a.producer, idA) == outputOf(c.producer, idC) &&
           (isSameWay ? placeA.block + 1 == placeC.block : placeA.block == placeC.block + 1);
  }

  const Graph &graph;
  const CostTable &costs;
  std::span<const DeviceId> placement;
  const Repetition &repetition;
  std::vector<Place> places;
};

} // namespace

Status check(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
             const Repetition &repetition) {
  return Checker(graph, costs, placement, repetition).run();
}

} // namespace sluice
