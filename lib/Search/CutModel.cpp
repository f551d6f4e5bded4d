//===- CutModel.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CutModel.h"

#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

namespace sluice::search {

/// Whether all copies across the border are over one link, and follow each other on one stream in each direction.
static const Link *serialLink(const Machine &machine, const std::vector<uint8_t> &isInside) {
  const Link *only = nullptr;
  for (const Link &link : machine.links)
    if (isInside[link.a.index()] != isInside[link.b.index()]) {
      if (only)
        return nullptr;
      only = &link;
    }
  if (!only)
    return nullptr;
  // Any device has streams for files; other copies are on a stream of a device at one end (Plan.h).
  const bool isOfFile = machine.isFile(only->a) || machine.isFile(only->b);
  auto copies = [&](const Device &device) {
    return isOfFile ||
           (device.memory != Machine::hostMemory() && (device.memory == only->a || device.memory == only->b));
  };
  return std::count_if(machine.devices.begin(), machine.devices.end(), copies) == 1 ? only : nullptr;
}

BorderRates borderRates(const Machine &machine, const std::vector<MemoryId> &memories) {
  std::vector<uint8_t> isInside(machine.memories.size(), 0);
  for (MemoryId m : memories)
    isInside[m.index()] = 1;
  auto isNear = [&](MemoryId m) { return isInside[m.index()] != 0; };
  auto isBorder = [&](const Link &link) { return isNear(link.a) != isNear(link.b); };
  BorderRates rates;
  for (const Link &link : machine.links) {
    // A link that uses another's rates adds nothing to them.
    if (!isBorder(link) || (link.trunk.valid() && isBorder(machine.link(link.trunk))))
      continue;
    const auto [near, far] = isNear(link.a) ? std::pair(link.a, link.b) : std::pair(link.b, link.a);
    rates.in += link.rateFrom(far) * 1e-9;
    rates.out += link.rateFrom(near) * 1e-9;
    rates.both += link.duplexBytesPerSec * 1e-9;
  }
  if (const Link *link = serialLink(machine, isInside)) {
    rates.isSerial = true;
    rates.latency = static_cast<double>(link->latencyNs);
  }
  return rates;
}

namespace {

class ModelBuilder {
public:
  ModelBuilder(const BoundProblem &problem, bool repeats) : problem(problem), graph(problem.graph), repeats(repeats) {}

  CutModel build(std::vector<MemoryId> memories, std::vector<OperatorId> cuts) {
    model.memories = std::move(memories);
    model.cuts = std::move(cuts);
    inside.assign(problem.machine.memories.size(), 0);
    for (MemoryId m : model.memories)
      inside[m.index()] = 1;
    model.rates = borderRates(problem.machine, model.memories);
    findSpans();
    groupWork();
    int64_t homes = 0;
    for (uint32_t i = 0; i < graph.numTensors(); ++i)
      addTensor(TensorId(i), homes);
    findRoom(homes);
    return std::move(model);
  }

private:
  struct Span {
    int first, last;
  };

  bool isIn(OperatorId op) const {
    return inside[problem.machine.device(problem.placement[op.index()]).memory.index()];
  }

  /// The segments in which each operator's first launch may be: from the last cut before it to the first after it.
  void findSpans() {
    const int cuts = static_cast<int>(model.cuts.size());
    spans.assign(graph.numOperators(), {0, cuts});
    std::vector<OperatorId> stack;
    std::vector<uint8_t> seen(graph.numOperators(), 0);
    auto flood = [&](OperatorId from, const auto &forEachNext, const auto &mark) {
      stack.push_back(from);
      while (!stack.empty()) {
        const OperatorId op = stack.back();
        stack.pop_back();
        forEachNext(op, [&](OperatorId next) {
          if (!seen[next.index()]) {
            seen[next.index()] = 1;
            mark(next);
            stack.push_back(next);
          }
        });
      }
    };
    for (int j = 1; j <= cuts; ++j)
      flood(
          model.cuts[j - 1],
          [&](OperatorId op, const auto &visit) {
            for (TensorId input : graph.op(op).inputs)
              if (OperatorId maker = graph.tensor(input).producer; maker.valid())
                visit(maker);
          },
          [&](OperatorId op) { spans[op.index()].last = j - 1; });
    std::fill(seen.begin(), seen.end(), 0);
    for (int j = cuts; j >= 1; --j) {
      const OperatorId v = model.cuts[j - 1];
      spans[v.index()].first = j;
      seen[v.index()] = 1;
      flood(
          v,
          [&](OperatorId op, const auto &visit) {
            for (TensorId output : graph.op(op).outputs)
              for (OperatorId reader : graph.tensor(output).consumers)
                visit(reader);
          },
          [&](OperatorId op) { spans[op.index()].first = j; });
    }
  }

  int loadOf(OperatorId op) const {
    const DeviceId device = problem.placement[op.index()];
    const bool communicates = graph.op(op).communicates;
    for (size_t i = 0; i < model.loads.size(); ++i)
      if (model.loads[i].device == device && model.loads[i].communicates == communicates)
        return static_cast<int>(i);
    return -1;
  }

  double timeNs(OperatorId op) const {
    return static_cast<double>(problem.costs.timeNs(op, problem.placement[op.index()]));
  }

  void groupWork() {
    std::map<std::tuple<int, int, int>, double> groups;
    for (uint32_t i = 0; i < graph.numOperators(); ++i) {
      const OperatorId op(i);
      if (loadOf(op) < 0)
        model.loads.push_back({problem.placement[i], graph.op(op).communicates});
      groups[{spans[i].first, spans[i].last, loadOf(op)}] += timeNs(op);
    }
    for (const auto &[key, ns] : groups)
      model.work.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), ns});
  }

  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  /// Reads that follow each other whatever the order: of those that end before `limit`, as many as possible.
  void addReads(Life &life, const Tensor &tensor, int limit) const {
    std::vector<Span> reads;
    for (OperatorId reader : tensor.consumers)
      if (isIn(reader) && spans[reader.index()].last < limit)
        reads.push_back(spans[reader.index()]);
    std::sort(reads.begin(), reads.end(),
              [](Span a, Span b) { return std::pair(a.last, -a.first) < std::pair(b.last, -b.first); });
    int until = -1;
    for (Span read : reads)
      if (read.first > until) {
        life.events.push_back({read.first, read.last, LifeEvent::Read});
        until = read.last;
      }
  }

  /// The cuts whose operators read the tensor.
  void addForced(Life &life, const Tensor &tensor, int limit) const {
    for (OperatorId reader : tensor.consumers)
      if (const int cut = spans[reader.index()].first;
          isIn(reader) && cut > 0 && cut <= limit && model.cuts[cut - 1] == reader)
        life.forced.push_back(cut);
  }

  int cleanBy(const Tensor &tensor) const {
    const int last = static_cast<int>(model.cuts.size());
    int by = kNoLimit;
    if (tensor.isOutput && !inside[0])
      by = last;
    for (OperatorId reader : tensor.consumers)
      if (!isIn(reader))
        by = std::min(by, spans[reader.index()].last);
    return by == kNoLimit ? -1 : by;
  }

  Life givenLife(const Tensor &tensor, LifeState start, int limit = kNoLimit) const {
    Life life;
    life.bytes = static_cast<double>(tensor.bytes);
    life.heldBytes = static_cast<double>(inside[0] ? tensor.homeBytes() : tensor.bytes);
    life.start = start;
    addReads(life, tensor, limit);
    addForced(life, tensor, limit);
    return life;
  }

  Life madeLife(const Tensor &tensor, Life::End end) const {
    const OperatorId maker = tensor.producer;
    Life life;
    life.bytes = life.heldBytes = static_cast<double>(tensor.bytes);
    life.first = spans[maker.index()].first;
    life.end = end;
    if (isIn(maker)) {
      life.start = Unborn;
      life.events.push_back({spans[maker.index()].first, spans[maker.index()].last, LifeEvent::Make});
      life.cleanBy = cleanBy(tensor);
      if (repeats && graph.isRepeatable(maker)) {
        life.againLoad = loadOf(maker);
        life.againNs = timeNs(maker) / static_cast<double>(graph.op(maker).outputs.size());
      }
    } else if (end != Life::Anywhere) {
      life.end = end == Life::Outside ? Life::Anywhere : Life::Inside;
    }
    addReads(life, tensor, kNoLimit);
    addForced(life, tensor, kNoLimit);
    return life;
  }

  uint32_t keep(Life life) {
    life.last = std::max(life.cleanBy, life.end == Life::Anywhere ? 0 : static_cast<int>(model.cuts.size()));
    for (const LifeEvent &event : life.events)
      life.last = std::max(life.last, event.last);
    std::sort(life.forced.begin(), life.forced.end());
    model.lives.push_back(std::move(life));
    return static_cast<uint32_t>(model.lives.size() - 1);
  }

  /// A state that starts with a copy outside alone, inside alone or both ends so.
  std::vector<uint32_t> stateLives(TensorId t, TensorId next, LifeState start) {
    const Life::End end = start == Absent ? Life::Outside : start == Dirty ? Life::Inside : Life::Both;
    const Tensor &old = graph.tensor(t), &updated = graph.tensor(next);
    const OperatorId updater = updated.producer;
    const std::vector<OperatorId> &readers = old.consumers;
    if (!isIn(updater) || std::find(readers.begin(), readers.end(), updater) == readers.end())
      return {keep(givenLife(old, start)), keep(madeLife(updated, end))};
    const Span span = spans[updater.index()];
    Life life = givenLife(old, start, span.first);
    if (model.cuts.size() > 0 && span.first > 0 && model.cuts[span.first - 1] == updater)
      life.forced.push_back(span.first);
    life.events.push_back({span.first, span.last, LifeEvent::Update});
    life.end = end;
    life.cleanBy = cleanBy(updated);
    addReads(life, updated, kNoLimit);
    addForced(life, updated, kNoLimit);
    return {keep(std::move(life))};
  }

  void addTensor(TensorId t, int64_t &homes) {
    const Tensor &tensor = graph.tensor(t);
    if (tensor.updates.valid())
      return;
    const bool isUpdatedOutput = tensor.updatedBy.valid() && graph.tensor(tensor.updatedBy).isOutput;
    const bool isOwnHome =
        tensor.producer.valid() ? tensor.isOutput : tensor.kind == TensorKind::Input && !tensor.consumers.empty();
    if (inside[0] && (isUpdatedOutput || isOwnHome)) {
      homes = saturatingAdd(homes, tensor.bytes);
      return;
    }
    const bool isRead =
        std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId reader) { return isIn(reader); });
    if (tensor.producer.valid()) {
      if (!isIn(tensor.producer) && !isRead)
        return;
      Life life = madeLife(tensor, Life::Anywhere);
      // Where all happens in one segment, nothing costs anything.
      int latestFirst = 0, earliestLast = kNoLimit;
      for (const LifeEvent &event : life.events) {
        latestFirst = std::max(latestFirst, event.first);
        earliestLast = std::min(earliestLast, event.last);
      }
      if (life.start != Unborn || life.cleanBy >= 0 || !life.forced.empty() || latestFirst > earliestLast)
        model.choices.push_back({{keep(std::move(life))}});
    } else if (tensor.updatedBy.valid()) {
      std::vector<std::vector<uint32_t>> ways;
      for (LifeState start : {Absent, Dirty, Clean})
        ways.push_back(stateLives(t, tensor.updatedBy, start));
      model.choices.push_back(std::move(ways));
    } else if (isRead) {
      std::vector<std::vector<uint32_t>> ways{{keep(givenLife(tensor, Absent))}};
      if (tensor.kind != TensorKind::Input) {
        Life stays = givenLife(tensor, Clean);
        stays.end = Life::Inside;
        ways.push_back({keep(std::move(stays))});
      }
      model.choices.push_back(std::move(ways));
    }
  }

  void findRoom(int64_t homes) {
    int64_t capacity = 0;
    for (MemoryId m : model.memories)
      capacity =
          saturatingAdd(capacity, std::min(problem.capacities[m.index()], problem.machine.memory(m).capacityBytes));
    for (OperatorId v : model.cuts) {
      double room = static_cast<double>(capacity) - static_cast<double>(homes);
      const Operator &op = graph.op(v);
      if (isIn(v)) {
        room -= static_cast<double>(op.workspaceBytes);
        std::vector<int64_t> shared(op.outputs.size(), 0);
        for (auto [input, output] : op.inPlace)
          shared[output] = std::max(
              shared[output], std::min(graph.tensor(op.inputs[input]).bytes, graph.tensor(op.outputs[output]).bytes));
        for (size_t k = 0; k < op.outputs.size(); ++k) {
          const Tensor &output = graph.tensor(op.outputs[k]);
          room += static_cast<double>(shared[k]);
          if (!output.isOutput || !inside[0])
            room -= static_cast<double>(output.bytes);
        }
      }
      model.room.push_back(room);
    }
  }

  const BoundProblem &problem;
  const Graph &graph;
  bool repeats;
  CutModel model;
  std::vector<uint8_t> inside;
  std::vector<Span> spans;
};

} // namespace

CutModel makeCutModel(const BoundProblem &problem, std::vector<MemoryId> memories, std::vector<OperatorId> cuts,
                      bool repeats) {
  return ModelBuilder(problem, repeats).build(std::move(memories), std::move(cuts));
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {

/// Above, the relation of all pairs of operators takes too much memory.
constexpr size_t kMostPairs = size_t(1) << 28;

class ChainFinder {
public:
  explicit ChainFinder(const BoundProblem &problem)
      : problem(problem), graph(problem.graph), order(modelOrder(graph)) {}

  std::vector<std::vector<OperatorId>> find(size_t most, const std::vector<OperatorId> &through) {
    std::vector<std::vector<OperatorId>> chains;
    auto keep = [&](std::vector<OperatorId> chain) {
      if (!chain.empty() && std::find(chains.begin(), chains.end(), chain) == chains.end())
        chains.push_back(std::move(chain));
    };
    auto add = [&](const auto &weight) { keep(thin(heaviestPath(weight), most)); };
    add([&](OperatorId op) { return static_cast<double>(timeNs(op)); });
    const std::vector<double> related = relatedShares();
    // The higher the power, the more a path prefers a few operators that nearly all others precede or follow.
    for (int power : {1, 8, 64})
      add([&](OperatorId op) { return std::pow(related[op.index()], power); });
    for (const OperatorId v : through) {
      // Others weigh nothing beside it, so the heaviest path leads through it.
      const double much = 2 * static_cast<double>(graph.numOperators());
      auto weight = [&](OperatorId op) { return op == v ? much : std::pow(related[op.index()], 8); };
      keep(thin(heaviestPath(weight), most, v));
      keep({v});
    }
    return chains;
  }

private:
  int64_t timeNs(OperatorId op) const { return problem.costs.timeNs(op, problem.placement[op.index()]); }

  template <typename Visit>
  void forEachBefore(OperatorId op, const Visit &visit) const {
    for (TensorId input : graph.op(op).inputs)
      if (OperatorId maker = graph.tensor(input).producer; maker.valid())
        visit(maker);
  }

  template <typename Weight>
  std::vector<OperatorId> heaviestPath(const Weight &weight) const {
    std::vector<double> total(graph.numOperators(), 0);
    std::vector<OperatorId> before(graph.numOperators());
    OperatorId end;
    for (const OperatorId op : order) {
      double &sum = total[op.index()];
      forEachBefore(op, [&](OperatorId maker) {
        if (!before[op.index()].valid() || total[maker.index()] > sum) {
          sum = total[maker.index()];
          before[op.index()] = maker;
        }
      });
      sum += weight(op);
      if (!end.valid() || sum > total[end.index()])
        end = op;
    }
    std::vector<OperatorId> path;
    for (OperatorId op = end; op.valid(); op = before[op.index()])
      path.push_back(op);
    std::reverse(path.begin(), path.end());
    return path;
  }

  /// For each operator the share of all that precede or follow it.
  std::vector<double> relatedShares() const {
    const size_t count = graph.numOperators();
    std::vector<double> related(count, 1);
    if (count * count > kMostPairs)
      return relatedByLevels();
    const size_t words = (count + 63) / 64;
    std::vector<uint64_t> ancestors(count * words, 0);
    std::vector<uint32_t> descendants(count, 0), numAncestors(count, 0);
    for (const OperatorId op : order) {
      uint64_t *own = &ancestors[op.index() * words];
      forEachBefore(op, [&](OperatorId maker) {
        const uint64_t *theirs = &ancestors[maker.index() * words];
        for (size_t w = 0; w < words; ++w)
          own[w] |= theirs[w];
        own[maker.index() / 64] |= uint64_t(1) << (maker.index() % 64);
      });
      for (size_t w = 0; w < words; ++w)
        for (uint64_t bits = own[w]; bits != 0; bits &= bits - 1) {
          ++numAncestors[op.index()];
          ++descendants[w * 64 + std::countr_zero(bits)];
        }
    }
    for (size_t i = 0; i < count; ++i)
      related[i] = static_cast<double>(numAncestors[i] + descendants[i] + 1) / static_cast<double>(count);
    return related;
  }

  /// The same by estimate: unrelated are those that a path of the longest length may reach at the same step.
  std::vector<double> relatedByLevels() const {
    const size_t count = graph.numOperators();
    std::vector<int> soonest(count, 0), latest(count, 0);
    int depth = 0;
    for (const OperatorId op : order) {
      forEachBefore(op, [&](OperatorId maker) {
        soonest[op.index()] = std::max(soonest[op.index()], soonest[maker.index()] + 1);
      });
      depth = std::max(depth, soonest[op.index()]);
    }
    std::fill(latest.begin(), latest.end(), depth);
    for (size_t i = order.size(); i-- > 0;)
      forEachBefore(order[i], [&](OperatorId maker) {
        latest[maker.index()] = std::min(latest[maker.index()], latest[order[i].index()] - 1);
      });
    std::vector<int> width(depth + 2, 0);
    for (size_t i = 0; i < count; ++i) {
      ++width[soonest[i]];
      --width[latest[i] + 1];
    }
    for (int level = 1; level <= depth; ++level)
      width[level] += width[level - 1];
    std::vector<double> related(count);
    for (size_t i = 0; i < count; ++i)
      related[i] = 1 - static_cast<double>(width[soonest[i]] - 1) / static_cast<double>(count);
    return related;
  }

  /// Operators of a path that divide its time and its operands' bytes evenly, `always` among them.
  std::vector<OperatorId> thin(const std::vector<OperatorId> &path, size_t most, OperatorId always = {}) const {
    if (path.size() <= most)
      return path;
    double allNs = 0, allBytes = 0;
    auto bytesOf = [&](OperatorId op) {
      double bytes = 0;
      for (const std::vector<TensorId> *list : {&graph.op(op).inputs, &graph.op(op).outputs})
        for (TensorId t : *list)
          bytes += static_cast<double>(graph.tensor(t).bytes);
      return bytes;
    };
    for (const OperatorId op : path) {
      allNs += static_cast<double>(timeNs(op));
      allBytes += bytesOf(op);
    }
    std::vector<OperatorId> chosen;
    double passed = 0;
    for (const OperatorId op : path) {
      passed += static_cast<double>(timeNs(op)) / std::max(allNs, 1.0) + bytesOf(op) / std::max(allBytes, 1.0) +
                1.0 / static_cast<double>(path.size());
      if (op == always || passed / 3 * static_cast<double>(most) >= static_cast<double>(chosen.size()) + 0.5)
        chosen.push_back(op);
    }
    return chosen;
  }

  const BoundProblem &problem;
  const Graph &graph;
  Schedule order;
};

} // namespace

std::vector<std::vector<OperatorId>> cutChains(const BoundProblem &problem, size_t most,
                                               const std::vector<OperatorId> &through) {
  return ChainFinder(problem).find(most, through);
}

} // namespace sluice::search
