//===- Recompute.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The moment with the most live bytes divides the order into early and late operators. A late operator needs some early
// tensors. Each of these is either kept until then, or computed again from other tensors. The choice with the least
// cost is a minimum cut between the tensors that late operators need (source) and the tensors that are available anyway
// (sink). The capacity of the edge behind a tensor is the price of keeping it. The capacity of the edge behind an
// operator is the time of its second run. Edges of infinite capacity connect an operator with its inputs, because a
// second run needs all of them.
//
// Within one cut, a chain of second runs could reach back to the inputs of the network. Tensors that pass from one
// stretch of the order to the next are therefore kept, which bounds the length of these chains.
//
//===----------------------------------------------------------------------===//

#include "sluice/Swap/Recompute.h"

#include "ProblemIndex.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cmath>
#include <unordered_map>

namespace sluice {

using swap::Position;

namespace {

/// The side of the source in a minimum cut.
class MinimumCut {
public:
  using Vertex = uint32_t;
  static constexpr int64_t kUncut = int64_t(1) << 60;

  MinimumCut() : network(2) {}
  Vertex source() const { return 0; }
  Vertex sink() const { return 1; }
  Vertex add() { return static_cast<Vertex>(boost::add_vertex(network)); }
  void connect(Vertex from, Vertex to, int64_t capacity) {
    auto forward = boost::add_edge(from, to, network).first, back = boost::add_edge(to, from, network).first;
    network[forward] = {capacity, 0, back};
    network[back] = {0, 0, forward};
  }
  /// Per vertex: it can be reached from the source when the flow is greatest, so
  /// that of all minimum cuts this has the fewest vertices.
  std::vector<bool> solve() {
    const size_t count = boost::num_vertices(network);
    std::vector<boost::default_color_type> colour(count);
    std::vector<Edge> predecessor(count);
    std::vector<int64_t> distance(count);
    auto index = boost::get(boost::vertex_index, network);
    boost::boykov_kolmogorov_max_flow(
        network, boost::get(&Pipe::capacity, network), boost::get(&Pipe::residual, network),
        boost::get(&Pipe::reverse, network), boost::make_iterator_property_map(predecessor.begin(), index),
        boost::make_iterator_property_map(colour.begin(), index),
        boost::make_iterator_property_map(distance.begin(), index), index, source(), sink());
    std::vector<bool> reached(count);
    for (size_t v = 0; v < count; ++v)
      reached[v] = colour[v] == boost::black_color;
    return reached;
  }

private:
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Edge = Traits::edge_descriptor;
  struct Pipe {
    int64_t capacity = 0, residual = 0;
    Edge reverse;
  };
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Pipe> network;
};

/// Of a step, a time so short that what is read after it may as well stay.
constexpr int64_t kSoonPart = 32;

/// One moment of the order splits operators into early and late ones.
class Chooser {
public:
  Chooser(const SwapProblem &problem, MemoryId memory, const RecomputeParams &params)
      : graph(problem.graph), problem(problem), memory(memory), params(params), position(graph.numOperators()) {
    for (Position p : positions())
      position[opAt(p).index()] = p;
    moment = fullestMoment();
    measureTime();
    divide();
  }

  /// On the source's side of the cut are tensors at hand for late operators and
  /// second runs, and the second runs.
  Recomputation choose() {
    MinimumCut cut;
    std::vector<MinimumCut::Vertex> tensors(graph.numTensors(), cut.source()), runs(graph.numOperators());
    std::vector<OperatorId> candidates;
    for (Position p : earlyPositions())
      if (OperatorId op = opAt(p); inMemory(op) && graph.isRepeatable(op)) {
        candidates.push_back(op);
        runs[op.index()] = cut.add();
        cut.connect(runs[op.index()], cut.sink(), problem.costs.timeNs(op, problem.placement[op.index()]));
      }
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      if (!isCandidate(TensorId(i)))
        continue;
      const Tensor &tensor = graph.tensor(TensorId(i));
      const LateUse use = lateUse(TensorId(i));
      if (use == LateUse::Soon)
        continue;
      tensors[i] = cut.add();
      if (use == LateUse::Later)
        cut.connect(cut.source(), tensors[i], MinimumCut::kUncut);
      const bool again = graph.isRepeatable(tensor.producer) && !passesOn(tensor);
      const double price = params.nsPerByte * static_cast<double>(tensor.bytes);
      cut.connect(tensors[i], again ? runs[tensor.producer.index()] : cut.sink(),
                  static_cast<int64_t>(std::min(price, 0x1p50)));
    }
    for (OperatorId op : candidates)
      for (TensorId input : graph.op(op).inputs)
        if (tensors[input.index()] != cut.source()) // Not at hand anyway.
          cut.connect(runs[op.index()], tensors[input.index()], MinimumCut::kUncut);

    Recomputation result;
    const std::vector<bool> reached = cut.solve();
    for (OperatorId op : candidates)
      if (reached[runs[op.index()]])
        result.again.push_back(op);
    std::sort(result.again.begin(), result.again.end());
    result.late.resize(graph.numOperators());
    for (size_t i = 0; i < position.size(); ++i)
      result.late[i] = position[i] > moment;
    return result;
  }

private:
  bool inMemory(OperatorId op) const { return problem.machine.device(problem.placement[op.index()]).memory == memory; }
  IdRange<Position> positions() const { return idsBelow<Position>(problem.order.size()); }
  IdRange<Position> earlyPositions() const { return idsBelow<Position>(moment.index() + 1); }
  OperatorId opAt(Position p) const { return problem.order[p.index()]; }
  Position positionOf(OperatorId op) const { return position[op.index()]; }
  Position lastRead(const Tensor &tensor) const {
    Position last = positionOf(tensor.producer);
    for (OperatorId reader : tensor.consumers)
      last = std::max(last, positionOf(reader));
    return last;
  }
  bool madeHere(const Tensor &tensor) const { return tensor.producer.valid() && inMemory(tensor.producer); }

  /// Where most bytes are live of what operators of this memory make.
  Position fullestMoment() const {
    std::vector<int64_t> change(graph.numOperators() + 1, 0);
    for (const Tensor &tensor : graph.tensors())
      if (madeHere(tensor)) {
        change[positionOf(tensor.producer).index()] += tensor.bytes;
        change[lastRead(tensor).index() + 1] -= tensor.bytes;
      }
    int64_t live = 0, most = -1;
    Position at(0u);
    for (Position p : positions())
      if (live += change[p.index()]; live > most) {
        most = live;
        at = p;
      }
    return at;
  }

  void measureTime() {
    startNs.assign(problem.order.size() + 1, 0);
    for (Position p : positions()) {
      const OperatorId op = opAt(p);
      startNs[p.index() + 1] =
          saturatingAdd(startNs[p.index()], inMemory(op) ? problem.costs.timeNs(op, problem.placement[op.index()]) : 0);
    }
  }

  bool isEarly(OperatorId op) const { return positionOf(op) <= moment; }

  /// An activation that an early operator of this memory makes.
  bool isCandidate(TensorId id) const {
    const Tensor &tensor = graph.tensor(id);
    return madeHere(tensor) && isEarly(tensor.producer) && tensor.kind == TensorKind::Activation;
  }

  enum class LateUse : uint8_t {
    None,
    Soon, ///< Sooner than it could be copied out and back, or nearly at once: it stays anyway.
    Later,
  };
  LateUse lateUse(TensorId id) const {
    const Tensor &tensor = graph.tensor(id);
    Position before = positionOf(tensor.producer), after = swap::kNever;
    for (OperatorId reader : tensor.consumers)
      if (isEarly(reader))
        before = std::max(before, positionOf(reader));
      else
        after = std::min(after, positionOf(reader));
    if (after == swap::kNever)
      return LateUse::None;
    int64_t soonNs = startNs.back() / kSoonPart;
    if (const LinkId link = problem.machine.findLink(Machine::hostMemory(), memory); link.valid())
      soonNs = std::min(soonNs, 2 * transferTimeNs(problem.machine.link(link), tensor.bytes));
    return startNs[after.index()] - startNs[before.index() + 1] >= soonNs ? LateUse::Later : LateUse::Soon;
  }

  /// Divides the early operators into stretches, where few bytes pass.
  void divide() {
    const uint32_t count = moment.value + 1;
    std::vector<int64_t> made(count, 0), passing(count + 1, 0);
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      TensorId id(i);
      if (!isCandidate(id))
        continue;
      const Tensor &tensor = graph.tensor(id);
      const Position first = positionOf(tensor.producer);
      if (lateUse(id) == LateUse::Later)
        made[first.index()] = saturatingAdd(made[first.index()], tensor.bytes);
      Position last = first;
      for (OperatorId reader : tensor.consumers)
        if (isEarly(reader))
          last = std::max(last, positionOf(reader));
      passing[first.index()] += tensor.bytes;
      passing[last.index()] -= tensor.bytes;
    }
    for (uint32_t p = 1; p < count; ++p)
      passing[p] += passing[p - 1]; // Bytes made up to p and read early after it.
    stretch.assign(count, 0);
    uint32_t number = 0;
    for (uint32_t begin = 0; begin < count; ++number) {
      uint32_t end = count, best = count;
      int64_t bytes = 0;
      for (uint32_t p = begin; p < count; ++p) {
        bytes = saturatingAdd(bytes, made[p]);
        if (bytes >= params.stretchBytes / 2 && (best == count || passing[p] < passing[best]))
          best = p;
        if (bytes >= params.stretchBytes && best != count) {
          end = best + 1;
          break;
        }
      }
      std::fill(stretch.begin() + begin, stretch.begin() + end, number);
      begin = end;
    }
  }

  bool passesOn(const Tensor &tensor) const {
    const uint32_t own = stretch[positionOf(tensor.producer).index()];
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](OperatorId reader) {
      return isEarly(reader) && stretch[positionOf(reader).index()] != own;
    });
  }

  const Graph &graph;
  const SwapProblem &problem;
  MemoryId memory;
  const RecomputeParams &params;
  std::vector<Position> position; ///< Per operator.
  Position moment;                ///< The last early position.
  std::vector<int64_t> startNs;   ///< Per position.
  std::vector<uint32_t> stretch;  ///< Per early position.
};

} // namespace

Recomputation chooseRecomputation(const SwapProblem &problem, MemoryId memory, const RecomputeParams &params) {
  return Chooser(problem, memory, params).choose();
}

Recomputation recomputationOf(const Graph &graph, const Plan &plan) {
  Recomputation result;
  result.again = plan.computedAgain();
  std::sort(result.again.begin(), result.again.end());
  result.again.erase(std::unique(result.again.begin(), result.again.end()), result.again.end());
  result.late.assign(graph.numOperators(), false);
  // A residency of a later launch's results, or a copy of one.
  std::vector<bool> second(plan.residencies.size(), false), launched(graph.numOperators(), false);
  for (const Command &command : plan.commands) {
    const bool readsSecond =
        std::any_of(command.reads.begin(), command.reads.end(), [&](ResidencyId read) { return second[read.index()]; });
    bool writesSecond = readsSecond;
    if (command.kind == CommandKind::Launch) {
      writesSecond = launched[command.op.index()];
      launched[command.op.index()] = true;
      if (readsSecond && !writesSecond)
        result.late[command.op.index()] = true;
    }
    for (ResidencyId written : command.writes)
      second[written.index()] = writesSecond;
  }
  // One set of results each: what also reads second ones runs once.
  std::erase_if(result.again, [&](OperatorId op) { return result.late[op.index()]; });
  return result;
}

/// Those of `again` that late operators need, or others that they need.
static std::vector<OperatorId> neededAgain(const Graph &graph, const Recomputation &recomputation) {
  enum : char { No, Unneeded, Needed };
  std::vector<char> state(graph.numOperators(), No);
  for (OperatorId op : recomputation.again)
    state[op.index()] = Unneeded;
  std::vector<OperatorId> open;
  auto read = [&](OperatorId reader) {
    for (TensorId input : graph.op(reader).inputs)
      if (OperatorId producer = graph.tensor(input).producer; producer.valid() && state[producer.index()] == Unneeded) {
        state[producer.index()] = Needed;
        open.push_back(producer);
      }
  };
  for (size_t i = 0; i < graph.numOperators(); ++i)
    if (recomputation.late[i])
      read(OperatorId(i));
  while (!open.empty()) {
    OperatorId op = open.back();
    open.pop_back();
    read(op);
  }
  std::vector<OperatorId> result = recomputation.again;
  std::erase_if(result, [&](OperatorId op) { return state[op.index()] != Needed; });
  return result;
}

void RecomputedGraph::addTensors(const Graph &graph) {
  twice.name = graph.name;
  for (Tensor tensor : graph.tensors()) {
    tensor.producer = OperatorId();
    tensor.consumers.clear();
    tensor.updatedBy = TensorId();
    twice.addTensor(std::move(tensor));
  }
}

TensorId RecomputedGraph::addResult(const Graph &graph, TensorId first, const std::string &suffix) {
  Tensor tensor = graph.tensor(first);
  tensor.name += suffix;
  tensor.producer = OperatorId();
  tensor.consumers.clear();
  firstTensor.push_back(first);
  return twice.addTensor(std::move(tensor));
}

void RecomputedGraph::addRun(const CostTable &costs, OperatorId first, Operator op) {
  twice.addOperator(std::move(op));
  for (size_t device = 0; device < costs.numDevices; ++device)
    table.operatorNs.push_back(costs.timeNs(first, DeviceId(device)));
}

RecomputedGraph::RecomputedGraph(const Graph &graph, const CostTable &costs, const Recomputation &recomputation)
    : numOperators(graph.numOperators()), numTensors(graph.numTensors()),
      firstOperator(neededAgain(graph, recomputation)), table(costs) {
  addTensors(graph);
  std::unordered_map<TensorId, TensorId> second;
  for (OperatorId op : firstOperator)
    for (TensorId output : graph.op(op).outputs)
      second[output] = addResult(graph, output, " again");
  auto readSecond = [&](Operator &op) {
    for (TensorId &input : op.inputs)
      if (auto found = second.find(input); found != second.end())
        input = found->second;
  };
  for (size_t i = 0; i < numOperators; ++i) {
    Operator op = graph.op(OperatorId(i));
    if (recomputation.late[i])
      readSecond(op);
    twice.addOperator(std::move(op));
  }
  for (OperatorId first : firstOperator) {
    Operator op = graph.op(first);
    op.name += " again";
    readSecond(op);
    for (TensorId &output : op.outputs)
      output = second.at(output);
    addRun(costs, first, std::move(op));
  }
}

RecomputedGraph::RecomputedGraph(const Graph &graph, const CostTable &costs, std::span<const OperatorId> runs)
    : numOperators(graph.numOperators()), numTensors(graph.numTensors()), table(costs) {
  addTensors(graph);
  std::vector<TensorId> latest; // Per tensor: its latest result.
  for (TensorId t : idsBelow<TensorId>(numTensors))
    latest.push_back(t);
  std::vector<uint32_t> count(numOperators, 0);
  std::vector<Operator> firstRuns(numOperators), moreRuns;
  for (OperatorId run : runs) {
    Operator op = graph.op(run);
    for (TensorId &input : op.inputs)
      input = latest[input.index()];
    if (count[run.index()]++ == 0) {
      runOrder.push_back(run);
      firstRuns[run.index()] = std::move(op);
      continue;
    }
    const std::string suffix = concat(" again ", count[run.index()] - 1);
    op.name += suffix;
    for (TensorId &output : op.outputs) {
      const TensorId first = output;
      output = latest[first.index()] = addResult(graph, first, suffix);
    }
    runOrder.push_back(OperatorId(numOperators + moreRuns.size()));
    firstOperator.push_back(run);
    moreRuns.push_back(std::move(op));
  }
  for (Operator &op : firstRuns)
    twice.addOperator(std::move(op));
  for (size_t i = 0; i < moreRuns.size(); ++i)
    addRun(costs, firstOperator[i], std::move(moreRuns[i]));
}

std::vector<OperatorId> RecomputedGraph::order(std::span<const OperatorId> first) const {
  std::vector<OperatorId> result;
  result.reserve(twice.numOperators());
  std::vector<bool> done(twice.numOperators(), false);
  // Depth first, without recursion: chains of second runs may be long.
  std::vector<std::pair<OperatorId, bool>> open;
  for (OperatorId next : first) {
    open.push_back({next, false});
    while (!open.empty()) {
      auto [op, ready] = open.back();
      open.pop_back();
      if (done[op.index()])
        continue;
      if (ready) {
        done[op.index()] = true;
        result.push_back(op);
        continue;
      }
      open.push_back({op, true});
      const std::vector<OperatorId> before = twice.predecessors(op);
      for (auto at = before.rbegin(); at != before.rend(); ++at)
        if (at->index() >= numOperators && !done[at->index()])
          open.push_back({*at, false});
    }
  }
  return result;
}

std::vector<DeviceId> RecomputedGraph::placement(std::span<const DeviceId> first) const {
  std::vector<DeviceId> result(first.begin(), first.end());
  for (OperatorId op : firstOperator)
    result.push_back(first[op.index()]);
  return result;
}

Plan RecomputedGraph::planOfFirst(Plan plan) const {
  plan.placement.resize(numOperators);
  for (Residency &residency : plan.residencies)
    if (residency.tensor.valid() && residency.tensor.index() >= numTensors)
      residency.tensor = firstTensor[residency.tensor.index() - numTensors];
  for (Command &command : plan.commands)
    if (command.kind == CommandKind::Launch && command.op.index() >= numOperators)
      command.op = firstOperator[command.op.index() - numOperators];
  return plan;
}

} // namespace sluice
