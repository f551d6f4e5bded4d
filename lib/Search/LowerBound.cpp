//===- LowerBound.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file computes bounds by three arguments, each with a certificate: the longest chain of operators and copies, the
// busiest device, and cuts (CutModel.h), which combine work, copies and memory. The operators of the cuts must form a
// chain, which heuristics choose. They look first at the times at which the most bytes must be in a memory, and some of
// the chains lead through these times.
//
//===----------------------------------------------------------------------===//

#include "sluice/Search/LowerBound.h"

#include "CutModel.h"
#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sluice {

const ProvenBound &LowerBounds::always() const {
  const ProvenBound &best = path.ns > work.ns ? path : work;
  return repeatCuts.ns > best.ns ? repeatCuts : best;
}

const ProvenBound &LowerBounds::once() const { return onceCuts.ns > always().ns ? onceCuts : always(); }

namespace {

constexpr size_t kMaxMoments = 128, kMinMoments = 8;
/// Operators and tensors looked at for all moments together.
constexpr size_t kMaxVisits = 5'000'000;
constexpr size_t kMostCuts = 40;
/// Steps through tensors' lives: of a chain's trial, and of the best chain's prices.
constexpr size_t kTrialEffort = 1'000'000, kFullEffort = 40'000'000;

constexpr size_t kTrialIterations = 60, kIterations = 400;

class Bounder {
public:
  explicit Bounder(const BoundProblem &problem)
      : problem(problem), graph(problem.graph), machine(problem.machine), topological(modelOrder(graph)) {}

  LowerBounds solve() {
    LowerBounds bounds;
    measurePaths();
    boundWork(bounds.work);
    boundPath(bounds.path);
    for (std::vector<MemoryId> &memories : regions())
      boundCuts(std::move(memories), bounds);
    return bounds;
  }

private:
  MemoryId memoryOf(OperatorId op) const { return machine.device(problem.placement[op.index()]).memory; }

  /// One copy out of `from` and one into `to` at least; the same where the two
  /// are linked.
  int64_t moveNs(MemoryId from, MemoryId to, int64_t bytes) const {
    if (from == to)
      return 0;
    int64_t leave = std::numeric_limits<int64_t>::max(), enter = leave;
    for (const Link &link : machine.links) {
      if (link.a == from || link.b == from)
        leave = std::min(leave, transferTimeNs(link, bytes));
      if (link.a == to || link.b == to)
        enter = std::min(enter, transferTimeNs(link, bytes));
    }
    return machine.findLink(from, to).valid() ? std::max(leave, enter) : saturatingAdd(leave, enter);
  }

  /// Earliest starts, and least times from operators' ends to the step's.
  void measurePaths() {
    heads.assign(graph.numOperators(), 0);
    tails.assign(graph.numOperators(), 0);
    headOf.assign(graph.numOperators(), {});
    tailOf.assign(graph.numOperators(), {});
    auto raise = [](int64_t &least, OperatorId &by, int64_t ns, OperatorId through) {
      if (ns > least) {
        least = ns;
        by = through;
      }
    };
    for (OperatorId op : topological)
      for (TensorId input : graph.op(op).inputs) {
        const Tensor &tensor = graph.tensor(input);
        if (OperatorId before = tensor.producer; before.valid())
          raise(heads[op.index()], headOf[op.index()],
                saturatingAdd(saturatingAdd(heads[before.index()], timeNs(before)),
                              moveNs(memoryOf(before), memoryOf(op), tensor.bytes)),
                before);
        else if (tensor.kind == TensorKind::Input)
          raise(heads[op.index()], headOf[op.index()], moveNs(Machine::hostMemory(), memoryOf(op), tensor.bytes), {});
      }
    for (size_t i = topological.size(); i-- > 0;) {
      OperatorId op = topological[i];
      for (TensorId output : graph.op(op).outputs) {
        const Tensor &tensor = graph.tensor(output);
        for (OperatorId after : tensor.consumers)
          raise(tails[op.index()], tailOf[op.index()],
                saturatingAdd(moveNs(memoryOf(op), memoryOf(after), tensor.bytes),
                              saturatingAdd(timeNs(after), tails[after.index()])),
                after);
        if (tensor.isOutput)
          raise(tails[op.index()], tailOf[op.index()], moveNs(memoryOf(op), Machine::hostMemory(), tensor.bytes), {});
      }
    }
  }

  int64_t timeNs(OperatorId op) const { return problem.costs.timeNs(op, problem.placement[op.index()]); }

  void prove(ProvenBound &bound, BoundCertificate certificate) const {
    // The checker has the last word on what a certificate is worth.
    if (Expected<int64_t> ns = provenNs(problem, certificate); ns && (*ns > bound.ns || bound.ns == 0)) {
      bound.ns = *ns;
      bound.certificate = std::move(certificate);
    }
  }

  void boundPath(ProvenBound &bound) const {
    int64_t longest = -1;
    OperatorId middle;
    for (const OperatorId op : topological)
      if (const int64_t ns = saturatingAdd(saturatingAdd(heads[op.index()], tails[op.index()]), timeNs(op));
          ns > longest) {
        longest = ns;
        middle = op;
      }
    if (!middle.valid())
      return;
    BoundCertificate certificate;
    certificate.argument = BoundArgument::Chain;
    for (OperatorId op = middle; op.valid(); op = headOf[op.index()])
      certificate.operators.push_back(op);
    std::reverse(certificate.operators.begin(), certificate.operators.end());
    for (OperatorId op = tailOf[middle.index()]; op.valid(); op = tailOf[op.index()])
      certificate.operators.push_back(op);
    prove(bound, std::move(certificate));
  }

  /// What a device does one after the other: computing, and communicating beside it.
  size_t loadOf(OperatorId op) const { return 2 * problem.placement[op.index()].index() + graph.op(op).communicates; }

  /// A device starts no sooner than the first of its operators can, and after
  /// the last the least of their tails remains.
  void boundWork(ProvenBound &bound) const {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    struct Load {
      int64_t work = 0, head = kNever, tail = kNever;
    };
    std::vector<Load> loads(2 * machine.devices.size());
    for (const OperatorId op : topological) {
      Load &load = loads[loadOf(op)];
      load.work = saturatingAdd(load.work, timeNs(op));
      load.head = std::min(load.head, heads[op.index()]);
      load.tail = std::min(load.tail, tails[op.index()]);
    }
    int64_t most = 0;
    BoundCertificate certificate;
    certificate.argument = BoundArgument::Work;
    for (size_t i = 0; i < loads.size(); ++i)
      if (loads[i].work > 0)
        if (const int64_t ns = saturatingAdd(saturatingAdd(loads[i].head, loads[i].work), loads[i].tail); ns > most) {
          most = ns;
          certificate.device = DeviceId(i / 2);
          certificate.communicates = i % 2;
        }
    if (most > 0)
      prove(bound, std::move(certificate));
  }

  /// The sets of memories whose bytes are counted: each accelerator's, and where there are files, all that are none.
  std::vector<std::vector<MemoryId>> regions() const {
    std::vector<std::vector<MemoryId>> sets;
    std::vector<MemoryId> all;
    for (uint32_t m = 0; m < machine.memories.size(); ++m) {
      if (machine.isFile(MemoryId(m)))
        continue;
      all.push_back(MemoryId(m));
      const bool isUsed = std::any_of(topological.begin(), topological.end(),
                                      [&](OperatorId op) { return memoryOf(op) == MemoryId(m); });
      if (m > 0 && isUsed)
        sets.push_back({MemoryId(m)});
    }
    if (machine.hasFiles())
      sets.push_back(std::move(all));
    return sets;
  }

  enum Side : char { Neither, Ancestor, Self, Descendant };

  std::vector<Side> sidesOf(OperatorId v) const {
    std::vector<Side> side(graph.numOperators(), Neither);
    std::vector<OperatorId> stack;
    auto flood = [&](Side value, auto neighbours) {
      stack.push_back(v);
      while (!stack.empty()) {
        OperatorId op = stack.back();
        stack.pop_back();
        neighbours(op, [&](OperatorId next) {
          if (side[next.index()] == Neither) {
            side[next.index()] = value;
            stack.push_back(next);
          }
        });
      }
    };
    side[v.index()] = Self;
    flood(Ancestor, [&](OperatorId op, auto visit) {
      for (TensorId input : graph.op(op).inputs)
        if (OperatorId producer = graph.tensor(input).producer; producer.valid())
          visit(producer);
    });
    flood(Descendant, [&](OperatorId op, auto visit) {
      for (TensorId output : graph.op(op).outputs)
        for (OperatorId reader : graph.tensor(output).consumers)
          visit(reader);
    });
    return side;
  }

  /// Operators at whose starts bounds look.
  std::vector<OperatorId> moments() const {
    const size_t visits = kMaxVisits / (graph.numOperators() + graph.numTensors() + 1);
    const size_t count = std::min(std::clamp(visits, kMinMoments, kMaxMoments), topological.size());
    std::vector<OperatorId> chosen;
    for (size_t k = 0; k < count; ++k)
      chosen.push_back(topological[k * topological.size() / count]);
    return chosen;
  }

  /// Bytes around an operator's start, as one cut sees them.
  struct Moment {
    double across = 0; ///< Made before and read after, or the operator's own.
    double given = 0;  ///< Parameters, states and inputs that are read after.
    double nsBefore = 0, nsAfter = 0;
  };

  Moment momentAt(OperatorId v, const std::vector<uint8_t> &isInside) const {
    const std::vector<Side> side = sidesOf(v);
    auto isIn = [&](OperatorId op) { return isInside[memoryOf(op).index()] != 0; };
    Moment moment;
    for (const Tensor &tensor : graph.tensors()) {
      bool isAfter = false, isOwn = tensor.producer == v;
      for (OperatorId reader : tensor.consumers) {
        isOwn |= reader == v;
        isAfter |= isIn(reader) && (reader == v || side[reader.index()] == Descendant);
      }
      const bool isBefore = tensor.producer.valid() && side[tensor.producer.index()] == Ancestor;
      if (tensor.producer.valid() ? (isBefore && isAfter) || (isOwn && isIn(v)) : false)
        moment.across += static_cast<double>(tensor.bytes);
      else if (!tensor.producer.valid() && isAfter)
        moment.given += static_cast<double>(tensor.bytes);
    }
    std::vector<double> before(2 * machine.devices.size(), 0), after(before);
    for (uint32_t i = 0; i < side.size(); ++i)
      if (side[i] != Neither)
        (side[i] == Ancestor ? before : after)[loadOf(OperatorId(i))] += static_cast<double>(timeNs(OperatorId(i)));
    moment.nsBefore = *std::max_element(before.begin(), before.end());
    moment.nsAfter = *std::max_element(after.begin(), after.end());
    return moment;
  }

  /// The operators at whose starts one cut alone gives the best bounds, by estimate: with copies both ways, with copies
  /// back alone, and by bytes.
  std::vector<OperatorId> tightest(const std::vector<MemoryId> &memories) const {
    std::vector<uint8_t> isInside(machine.memories.size(), 0);
    double capacity = 0;
    for (MemoryId m : memories) {
      isInside[m.index()] = 1;
      capacity += static_cast<double>(problem.capacities[m.index()]);
    }
    const search::BorderRates rates = search::borderRates(machine, memories);
    std::array<std::pair<double, OperatorId>, 3> best{};
    for (const OperatorId v : moments()) {
      const Moment at = momentAt(v, isInside);
      auto ns = [](double bytes, double rate) { return std::max(0.0, bytes) / std::max(rate, 1e-12); };
      const double out = ns(at.across - capacity, rates.out), in = ns(at.across + at.given - capacity, rates.in);
      const std::array<double, 3> scores = {
          std::max(out, at.nsBefore) + std::max(in, at.nsAfter),
          at.nsBefore + std::max(ns(at.given + at.across / 8 - capacity, rates.in), at.nsAfter), at.across + at.given};
      for (size_t i = 0; i < best.size(); ++i)
        if (!best[i].second.valid() || scores[i] > best[i].first)
          best[i] = {scores[i], v};
    }
    std::vector<OperatorId> found;
    for (const auto &[score, v] : best)
      if (v.valid() && std::find(found.begin(), found.end(), v) == found.end())
        found.push_back(v);
    return found;
  }

  /// All that operators in the memories touch fits at once.
  bool isRoomy(const std::vector<MemoryId> &memories) const {
    double bytes = 0, capacity = 0;
    for (const Tensor &tensor : graph.tensors())
      bytes += static_cast<double>(tensor.bytes);
    for (const Operator &op : graph.operators())
      bytes += static_cast<double>(op.workspaceBytes);
    for (MemoryId m : memories)
      capacity += static_cast<double>(problem.capacities[m.index()]);
    return bytes <= capacity;
  }

  void boundCuts(std::vector<MemoryId> memories, LowerBounds &bounds) const {
    const bool roomy = isRoomy(memories);
    const std::vector<std::vector<OperatorId>> chains =
        roomy ? std::vector<std::vector<OperatorId>>{{}} : search::cutChains(problem, kMostCuts, tightest(memories));
    for (const bool repeats : {false, true}) {
      // Every chain is tried in short, and the best two at length.
      std::vector<std::pair<double, size_t>> trials;
      for (size_t i = 0; i < chains.size(); ++i) {
        search::PricedCuts priced = price(memories, chains[i], repeats, roomy ? 0 : kTrialEffort, kTrialIterations);
        trials.emplace_back(-priced.ns, i);
        prove(repeats ? bounds.repeatCuts : bounds.onceCuts, std::move(priced.certificate));
      }
      std::sort(trials.begin(), trials.end());
      for (size_t i = 0; i < std::min<size_t>(trials.size(), roomy ? 0 : 2); ++i)
        prove(repeats ? bounds.repeatCuts : bounds.onceCuts,
              price(memories, chains[trials[i].second], repeats, kFullEffort / 2, kIterations).certificate);
    }
  }

  search::PricedCuts price(const std::vector<MemoryId> &memories, const std::vector<OperatorId> &chain, bool repeats,
                           size_t effort, size_t iterations) const {
    return search::priceCuts(search::makeCutModel(problem, memories, chain, repeats), repeats, {effort, iterations});
  }

  const BoundProblem &problem;
  const Graph &graph;
  const Machine &machine;
  Schedule topological;
  std::vector<int64_t> heads, tails;      ///< Per operator.
  std::vector<OperatorId> headOf, tailOf; ///< Per operator: what these lead through; invalid where nothing does.
};

} // namespace

LowerBounds planLowerBounds(const Graph &graph, const Machine &machine, const CostTable &costs,
                            std::span<const int64_t> capacities, std::span<const DeviceId> placement) {
  const BoundProblem problem{graph, machine, costs, capacities, placement};
  return Bounder(problem).solve();
}

} // namespace sluice
