//===- Offload.cpp - The offload problem, its check, bound and files ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/Offload.h"

#include "OffloadIndex.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace sluice {

static constexpr size_t kMostNodes = 1'000'000;
static constexpr uint32_t kMostAccelerators = 1024;

Status OffloadProblem::check() const {
  auto bad = [&](const auto &...what) -> Status {
    return makeError(ErrorCode::InvalidInput, what..., ", instance '", name, "', correct the instance");
  };
  auto isAmount = [](double value) { return std::isfinite(value) && value >= 0 && value <= 1e300; };
  if (nodes.empty() || nodes.size() > kMostNodes)
    return bad("the instance has ", nodes.size(), " nodes, 1 to ", kMostNodes, " are allowed");
  if (accelerators > kMostAccelerators)
    return bad("the instance has ", accelerators, " accelerators, and at most ", kMostAccelerators, " are allowed");
  if (!isAmount(accelBytes))
    return bad("the memory of an accelerator is ", accelBytes, " bytes, which is out of range");
  double total = 0;
  for (const OffloadNode &node : nodes) {
    if (!isAmount(node.cpuTime) || !isAmount(node.accelTime) || !isAmount(node.bytes))
      return bad("node '", node.name, "' has a time or size that is negative or not finite");
    total += node.cpuTime + node.accelTime;
  }
  std::vector<uint32_t> missing(nodes.size());
  std::vector<std::vector<uint32_t>> next(nodes.size());
  for (const OffloadEdge &edge : edges) {
    if (edge.from >= nodes.size() || edge.to >= nodes.size())
      return bad("an edge names a node that does not exist");
    if (!isAmount(edge.cost))
      return bad("edge from '", nodes[edge.from].name, "' to '", nodes[edge.to].name, "' has the cost ", edge.cost,
                 ", which is out of range");
    total += edge.cost;
    ++missing[edge.to];
    next[edge.from].push_back(edge.to);
  }
  if (!std::isfinite(total))
    return bad("the sum of all times is too large");
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push_back(i);
  for (size_t i = 0; i < ready.size(); ++i)
    for (uint32_t to : next[ready[i]])
      if (--missing[to] == 0)
        ready.push_back(to);
  if (ready.size() != nodes.size())
    for (uint32_t i = 0; i < nodes.size(); ++i)
      if (missing[i] > 0)
        return bad("node '", nodes[i].name, "' is on a cycle or after one");
  return {};
}

Status validateOffload(const OffloadProblem &problem, const OffloadSolution &solution) {
  auto fail = [](const auto &...parts) -> Status { return makeError(ErrorCode::Internal, parts...); };
  const size_t count = problem.nodes.size();
  if (solution.part.size() != count)
    return fail(solution.part.size(), " parts for ", count, " nodes");
  std::vector<double> bytes(problem.accelerators), work(problem.accelerators);
  std::map<int32_t, int32_t> partOfColour;
  for (size_t i = 0; i < count; ++i) {
    const OffloadNode &node = problem.nodes[i];
    const int32_t part = solution.part[i];
    if (part != OffloadSolution::kCpu && (part < 0 || static_cast<uint32_t>(part) >= problem.accelerators))
      return fail("node '", node.name, "' is on accelerator ", part, ", and there are only ", problem.accelerators);
    if (node.colour >= 0 && partOfColour.emplace(node.colour, part).first->second != part)
      return fail("node '", node.name, "' must be on the device of the other nodes of its colorClass, ", node.colour);
    if (part == OffloadSolution::kCpu)
      continue;
    if (!node.supported)
      return fail("node '", node.name, "' is on an accelerator, which does not support this node");
    bytes[static_cast<size_t>(part)] += node.bytes;
    work[static_cast<size_t>(part)] += node.accelTime;
  }
  for (size_t a = 0; a < bytes.size(); ++a)
    if (bytes[a] > problem.accelBytes)
      return fail("accelerator ", a, " holds ", bytes[a], " bytes of ", problem.accelBytes);

  // What each set moves: per (node, set) in, per node out.
  std::map<std::pair<uint32_t, int32_t>, double> entering;
  std::map<uint32_t, double> leaving;
  for (const OffloadEdge &edge : problem.edges) {
    const int32_t from = solution.part[edge.from], to = solution.part[edge.to];
    if (from == to)
      continue;
    if (to != OffloadSolution::kCpu) {
      double &cost = entering[{edge.from, to}];
      cost = std::max(cost, edge.cost);
    }
    if (from != OffloadSolution::kCpu) {
      double &cost = leaving[edge.from];
      cost = std::max(cost, edge.cost);
    }
  }
  for (const auto &[key, cost] : entering)
    work[static_cast<size_t>(key.second)] += cost;
  for (const auto &[node, cost] : leaving)
    work[static_cast<size_t>(solution.part[node])] += cost;

  // Ends by relaxation: without a cycle the longest of n groups takes n rounds.
  std::vector<double> start(count), setStart(problem.accelerators);
  auto startOf = [&](uint32_t node) -> double & {
    const int32_t part = solution.part[node];
    return part == OffloadSolution::kCpu ? start[node] : setStart[static_cast<size_t>(part)];
  };
  auto endOf = [&](uint32_t node) {
    const int32_t part = solution.part[node];
    return startOf(node) +
           (part == OffloadSolution::kCpu ? problem.nodes[node].cpuTime : work[static_cast<size_t>(part)]);
  };
  // From sources to sinks: chains settle in one round, and only sets need more.
  std::vector<uint32_t> rank(count);
  for (uint32_t i = 0; const uint32_t node : OffloadIndex(problem).topological)
    rank[node] = i++;
  std::vector<OffloadEdge> edges = problem.edges;
  std::sort(edges.begin(), edges.end(),
            [&](const OffloadEdge &a, const OffloadEdge &b) { return rank[a.from] < rank[b.from]; });
  const size_t rounds = 2 * static_cast<size_t>(problem.accelerators) + 3;
  bool settled = false;
  for (size_t round = 0; round < rounds && !settled; ++round) {
    settled = true;
    for (const OffloadEdge &edge : edges) {
      const int32_t from = solution.part[edge.from], to = solution.part[edge.to];
      if ((from == to && from != OffloadSolution::kCpu) || startOf(edge.to) >= endOf(edge.from))
        continue;
      startOf(edge.to) = endOf(edge.from);
      settled = false;
    }
  }
  if (!settled)
    return fail("the sets of accelerators wait for each other in a cycle");
  double latency = 0;
  for (uint32_t i = 0; i < count; ++i)
    latency = std::max(latency, endOf(i));
  if (!(std::abs(latency - solution.latency) <= 1e-9 * std::max(1.0, latency)))
    return fail("the solution states a latency of ", solution.latency, ", and its latency is ", latency);
  return {};
}

namespace {

/// The cheapest way along a path.
double cheapestWay(const OffloadIndex &index, const std::vector<uint32_t> &path) {
  const OffloadProblem &problem = index.problem;
  const size_t length = path.size(), most = std::min<size_t>(problem.accelerators, length);
  auto edgeCost = [&](size_t i) { // From path[i] on.
    for (const auto &[to, cost] : index.out[path[i]])
      if (to == path[i + 1])
        return cost;
    return 0.0;
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // least[i][r]: the first i nodes, on r accelerators.
  std::vector<std::vector<double>> least(length + 1, std::vector<double>(most + 1, kNone));
  least[0][0] = 0;
  // Closing takes a set's size times the words of the graph's bits for each start.
  const size_t words = (index.count + 63) / 64;
  const bool closed = index.hasReach() && length * index.count * words <= 2'000'000'000;
  Closure closure(index);
  std::vector<uint32_t> alone;
  // Runs that begin at i, settled once least[i] is final.
  for (size_t i = 0; i < length; ++i) {
    for (size_t r = 0; r <= most; ++r)
      least[i + 1][r] = std::min(least[i + 1][r], least[i][r] + problem.nodes[path[i]].cpuTime);
    double bytes = 0, work = 0;
    size_t counted = 0;
    closure.clear();
    alone.clear();
    for (size_t end = i; end < length && most > 0; ++end) {
      if (closed ? !closure.add(path[end]) : !problem.nodes[path[end]].supported)
        break;
      if (!closed)
        alone.push_back(path[end]);
      const std::vector<uint32_t> &set = closed ? closure.nodes() : alone;
      for (; counted < set.size(); ++counted) {
        bytes += problem.nodes[set[counted]].bytes;
        work += problem.nodes[set[counted]].accelTime;
      }
      if (bytes > problem.accelBytes)
        break;
      const double way = work + (i > 0 ? edgeCost(i - 1) : 0) + (end + 1 < length ? edgeCost(end) : 0);
      for (size_t r = 0; r < most; ++r)
        least[end + 1][r + 1] = std::min(least[end + 1][r + 1], least[i][r] + way);
    }
  }
  return *std::min_element(least[length].begin(), least[length].end());
}

} // namespace

double offloadLowerBound(const OffloadProblem &problem) {
  const OffloadIndex index(problem);
  auto fastest = [&](const OffloadNode &node) {
    return node.supported && problem.accelerators > 0 ? std::min(node.cpuTime, node.accelTime) : node.cpuTime;
  };
  // Long paths by different measures; any path's cheapest way is a bound.
  const std::pair<double, double> weights[] = {{1, 0}, {1, 0.1}, {1, 1}, {0, 1}, {0, 0}};
  double bound = 0;
  std::vector<double> length(index.count);
  std::vector<uint32_t> next(index.count);
  constexpr uint32_t kEnd = ~uint32_t(0);
  for (auto [fast, edge] : weights) {
    uint32_t head = 0;
    for (size_t i = index.count; i-- > 0;) {
      const uint32_t node = index.topological[i];
      double after = 0;
      next[node] = kEnd;
      for (const auto &[to, cost] : index.out[node])
        if (next[node] == kEnd || edge * cost + length[to] > after) {
          after = edge * cost + length[to];
          next[node] = to;
        }
      const OffloadNode &spec = problem.nodes[node];
      // Without any weight: by what CPUs take.
      length[node] = after + (fast == 0 && edge == 0 ? spec.cpuTime : fast * fastest(spec));
      if (length[node] > length[head] || i + 1 == index.count)
        head = node;
    }
    std::vector<uint32_t> path;
    for (uint32_t node = head; node != kEnd; node = next[node])
      path.push_back(node);
    constexpr size_t kLongest = 2000;
    if (path.size() > kLongest) // A part of a path bounds too.
      path.resize(kLongest);
    bound = std::max(bound, cheapestWay(index, path));
    if (fast == 1 && edge == 0)
      bound = std::max(bound, length[head]);
  }
  return bound;
}

bool isOffloadJson(const Json &json) { return json.is_object() && json.contains("nodes") && json.contains("edges"); }

Expected<OffloadProblem> offloadFromJson(const JsonReader &reader) {
  OffloadProblem problem;
  problem.name = reader.where();
  Expected<double> bytes = reader.number("maxSizePerFPGA");
  Expected<double> accelerators = reader.number("maxFPGAs");
  Expected<double> cpus = reader.number("maxCPUs");
  Expected<JsonReader> nodes = reader.member("nodes");
  Expected<JsonReader> edges = reader.member("edges");
  for (Expected<double> *value : {&bytes, &accelerators, &cpus})
    if (!*value)
      return propagate(*value);
  for (Expected<JsonReader> *value : {&nodes, &edges})
    if (!*value)
      return propagate(*value);
  if (*cpus < 1)
    return makeError(ErrorCode::Unsupported, "maxCPUs is ", *cpus, ", and at least one CPU is needed, ", reader.where(),
                     ", give at least 1");
  if (!(*accelerators >= 0 && *accelerators <= kMostAccelerators) || *accelerators != std::floor(*accelerators))
    return makeError(ErrorCode::InvalidInput, "maxFPGAs is ", *accelerators, ", which is out of range, ",
                     reader.where(), ", give a whole number of at most ", kMostAccelerators);
  problem.accelBytes = *bytes;
  problem.accelerators = static_cast<uint32_t>(*accelerators);

  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> nodeList, nodes->elements());
  std::unordered_map<int64_t, uint32_t> indexOf;
  for (const JsonReader &entry : nodeList) {
    OffloadNode node;
    SLUICE_ASSIGN_OR_RETURN(int64_t id, entry.integer("id"));
    if (!indexOf.emplace(id, static_cast<uint32_t>(problem.nodes.size())).second)
      return makeError(ErrorCode::InvalidInput, "node ", id, " is listed twice, ", entry.where(),
                       ", list each node once");
    Expected<std::string> name = entry.string("name", concat("node", id));
    Expected<double> cpu = entry.number("cpuLatency"), accel = entry.number("fpgaLatency");
    Expected<double> size = entry.number("size");
    if (!name)
      return propagate(name);
    for (Expected<double> *value : {&cpu, &accel, &size})
      if (!*value)
        return propagate(*value);
    node.name = *name;
    node.cpuTime = *cpu;
    node.accelTime = *accel;
    node.bytes = *size;
    if (entry.has("supportedOnFpga")) {
      Expected<JsonReader> supported = entry.member("supportedOnFpga");
      if (supported->json().is_boolean()) {
        node.supported = *supported->asBool();
      } else {
        SLUICE_ASSIGN_OR_RETURN(int64_t number, supported->asInteger());
        node.supported = number != 0;
      }
    }
    if (entry.has("colorClass") && !entry.json()["colorClass"].is_null()) {
      SLUICE_ASSIGN_OR_RETURN(int64_t colour, entry.integer("colorClass"));
      if (colour < std::numeric_limits<int32_t>::min() || colour > std::numeric_limits<int32_t>::max())
        return makeError(ErrorCode::InvalidInput, "colorClass ", colour, " does not fit 32 bits, ", entry.where(),
                         ", give a smaller number");
      node.colour = static_cast<int32_t>(colour);
    }
    problem.nodes.push_back(std::move(node));
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> edgeList, edges->elements());
  for (const JsonReader &entry : edgeList) {
    Expected<int64_t> from = entry.integer("sourceId"), to = entry.integer("destId");
    Expected<double> cost = entry.number("cost");
    for (Expected<int64_t> *id : {&from, &to}) {
      if (!*id)
        return propagate(*id);
      if (!indexOf.contains(**id))
        return makeError(ErrorCode::InvalidInput, "node ", **id, " does not exist, ", entry.where(),
                         ", correct the edge");
    }
    if (!cost)
      return propagate(cost);
    problem.edges.push_back({indexOf[*from], indexOf[*to], *cost});
  }
  SLUICE_RETURN_IF_ERROR(problem.check());
  return problem;
}

} // namespace sluice
