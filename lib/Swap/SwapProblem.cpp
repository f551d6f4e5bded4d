//===- SwapProblem.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/SwapProblem.h"

#include "ProblemIndex.h"
#include "sluice/Support/Units.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

Status sluice::check(const SwapProblem &problem) {
  const Graph &graph = problem.graph;
  const Machine &machine = problem.machine;
  if (problem.placement.size() != graph.numOperators())
    return makeError(ErrorCode::InvalidInput, "the placement has ", problem.placement.size(), " devices for ",
                     graph.numOperators(), " operators, give one device for each operator");
  if (problem.capacityBytes.size() != machine.memories.size())
    return makeError(ErrorCode::InvalidInput, problem.capacityBytes.size(), " capacities are given for ",
                     machine.memories.size(), " memories, give one capacity for each memory");
  for (size_t m = 0; m < machine.memories.size(); ++m)
    if (problem.capacityBytes[m] < 0)
      return makeError(ErrorCode::InvalidInput, "capacity of memory '", machine.memories[m].name, "' is negative, ",
                       problem.capacityBytes[m], " bytes, give at least 0");
  if (problem.costs.numDevices != machine.devices.size() ||
      problem.costs.operatorNs.size() != graph.numOperators() * machine.devices.size())
    return makeError(ErrorCode::InvalidInput, "the cost table has a different number of operators or devices than the "
                                              "problem, make the table from the graph and machine of the problem");
  if (problem.order.size() != graph.numOperators() || !graph.isTopological(problem.order))
    return makeError(ErrorCode::InvalidInput, "the order is not a topological order of the graph's ",
                     graph.numOperators(), " operators, list each operator after the operators whose results it reads");
  for (size_t i = 0; i < problem.placement.size(); ++i) {
    DeviceId device = problem.placement[i];
    const std::string &name = graph.operators()[i].name;
    if (!device.valid() || device.index() >= machine.devices.size())
      return makeError(ErrorCode::InvalidInput, "operator '", name, "' is not placed on a device of machine '",
                       machine.name, "', place the operator on a device that computes");
    const Device &d = machine.device(device);
    if (!d.computes)
      return makeError(ErrorCode::InvalidInput, "operator '", name, "' is placed on device '", d.name,
                       "', which does not compute, place the operator on a device that computes");
    if (d.memory != Machine::hostMemory() && !machine.findLink(Machine::hostMemory(), d.memory).valid())
      return makeError(ErrorCode::InvalidInput, "memory '", machine.memory(d.memory).name,
                       "' has no link to the host's memory, machine '", machine.name, "', add the link");
  }
  OperatorId communicating;
  for (OperatorId op : idsBelow<OperatorId>(graph.numOperators())) {
    if (!graph.op(op).communicates)
      continue;
    if (!communicating.valid())
      communicating = op;
    // Ranks come to what communicates in one order, which is that of one stream.
    const DeviceId device = problem.placement[op.index()], first = problem.placement[communicating.index()];
    if (device != first)
      return makeError(ErrorCode::InvalidInput, "operators '", graph.op(communicating).name, "' and '",
                       graph.op(op).name, "' communicate and are placed on devices '", machine.device(first).name,
                       "' and '", machine.device(device).name, "', place both on one device");
  }
  int64_t total = 0;
  for (const Tensor &tensor : graph.tensors()) {
    if ((tensor.isOutput || tensor.updates.valid()) && !tensor.producer.valid())
      return makeError(ErrorCode::Unsupported, "tensor '", tensor.name, "' is an output that no operator writes",
                       ", insert an operator that copies it");
    // Twice the sum: as much again for alignment and for moved copies.
    total = saturatingAdd(total, saturatingMul(saturatingAdd(tensor.bytes, kArenaAlignment), 2));
  }
  for (const Operator &op : graph.operators())
    total = saturatingAdd(total, saturatingAdd(op.workspaceBytes, kArenaAlignment));
  if (total > int64_t(1) << 62)
    return makeError(ErrorCode::InvalidInput, "the graph's tensors sum to more than 2^61 bytes, give a smaller graph");
  return {};
}

ProblemIndex::ProblemIndex(const SwapProblem &problem, std::vector<uint8_t> keptStates)
    : problem(problem), numMemories(problem.machine.memories.size()), numPositions(problem.order.size()),
      numRam(static_cast<size_t>(std::count_if(problem.machine.memories.begin(), problem.machine.memories.end(),
                                               [](const Memory &m) { return m.kind != MemoryKind::File; }))),
      kept(std::move(keptStates)) {
  const Graph &graph = problem.graph;
  const Machine &machine = problem.machine;
  size_t numTensors = graph.numTensors();

  positionOf.resize(numPositions);
  memoryAt.resize(numPositions);
  swapDevice.resize(numMemories);
  for (Position p : positions()) {
    DeviceId device = problem.placement[opAt(p).index()];
    positionOf[opAt(p).index()] = p;
    memoryAt[p.index()] = machine.device(device).memory;
    DeviceId &swaps = swapDevice[memoryOf(p).index()];
    if (!swaps.valid() || device < swaps)
      swaps = device;
  }
  links.resize(numMemories * numMemories);
  for (uint32_t i = 0; i < machine.links.size(); ++i) {
    const Link &link = machine.links[i];
    for (auto [from, to] : {std::pair{link.a, link.b}, std::pair{link.b, link.a}}) {
      LinkId &best = links[from.index() * numMemories + to.index()];
      if (!best.valid())
        best = LinkId(i);
    }
  }

  bytes.resize(numTensors);
  dataBytes.resize(numTensors);
  totalUses.assign(numTensors, 0);
  lastUse.assign(numTensors, Position(0u));
  hasHome.assign(numTensors, 0);
  isParameterAt.assign(numTensors, 0);
  producers.resize(numTensors);
  pushToHost.assign(numTensors, 0);
  useStart.assign(numSpots() + 1, 0);
  for (uint32_t i = 0; i < numTensors; ++i) {
    const Tensor &tensor = graph.tensors()[i];
    bytes[i] = alignUp(tensor.bytes);
    dataBytes[i] = tensor.bytes;
    isParameterAt[i] = tensor.kind == TensorKind::Parameter;
    producers[i] = tensor.producer;
    hasHome[i] = (tensor.kind != TensorKind::Activation || tensor.isOutput || tensor.updates.valid()) &&
                 !isKept(TensorId(i)) && !isNewOfKept(TensorId(i)) && !isResting(TensorId(i)) &&
                 !isNewOfResting(TensorId(i));
    if (tensor.producer.valid())
      lastUse[i] = positionOf[tensor.producer.index()];
  }
  for (Position p : positions())
    for (TensorId t : operatorAt(p).inputs) {
      ++useStart[spot(t, memoryOf(p)).index() + 1];
      ++totalUses[t.index()];
      lastUse[t.index()] = std::max(lastUse[t.index()], p);
    }
  for (size_t s = 1; s < useStart.size(); ++s)
    useStart[s] += useStart[s - 1];
  useList.resize(useStart.back());
  std::vector<uint32_t> fill(useStart.begin(), useStart.end() - 1);
  for (Position p : positions())
    for (TensorId t : operatorAt(p).inputs)
      useList[fill[spot(t, memoryOf(p)).index()]++] = p;

  workingSets.resize(numPositions);
  for (Position p : positions())
    workingSets[p.index()] = graph.workingSetBytes(opAt(p));
  if (!hasFiles())
    timeCopiesIn();

  for (TensorId t : tensors()) {
    const Position produced = producedAt(t);
    if (!produced.valid() || memoryOf(produced) == Machine::hostMemory())
      continue;
    const MemoryId from = memoryOf(produced);
    for (MemoryId to : memories())
      if (to != from && !uses(spot(t, to)).empty() && (to == Machine::hostMemory() || !link(from, to).valid()))
        pushToHost[t.index()] = 1;
  }
}

void ProblemIndex::timeCopiesIn() {
  copiesInNs.assign(numSpots(), 0);
  for (MemoryId memory : acceleratorMemories())
    if (const LinkId in = link(Machine::hostMemory(), memory); in.valid())
      for (TensorId t : tensors())
        copiesInNs[spot(t, memory).index()] =
            transferTimeNs(problem.machine.link(in), Machine::hostMemory(), dataBytes[t.index()]);
}

bool ProblemIndex::mayBeInFile(TensorId t) const {
  auto mayAlone = [&](TensorId one) {
    const Tensor &tensor = problem.graph.tensor(one);
    const Position produced = producedAt(one);
    const bool isMadeOnHost = produced.valid() && memoryOf(produced) == Machine::hostMemory();
    return tensor.kind != TensorKind::Input && !tensor.isOutput && !isMadeOnHost && !pushToHost[one.index()] &&
           uses(spot(one, Machine::hostMemory())).empty();
  };
  // A state and its new value have one place.
  const Tensor &tensor = problem.graph.tensor(t);
  return hasFiles() && mayAlone(t) && (!tensor.updates.valid() || mayAlone(tensor.updates)) &&
         (!tensor.updatedBy.valid() || mayAlone(tensor.updatedBy));
}

bool ProblemIndex::diesFor(Position position, TensorId operand, TensorId output) const {
  const Tensor &tensor = problem.graph.tensor(operand);
  if (lastUse[operand.index()] != position || bytes[operand.index()] != bytes[output.index()] ||
      bytes[output.index()] == 0)
    return false;
  // The next step reads the new value of a state where this step leaves it.
  if (isNewOfKept(operand) || isNewOfResting(operand))
    return false;
  // What a step begins with is there again when it ends, but for what this replaces.
  return tensor.producer.valid() || tensor.kind == TensorKind::Input || problem.graph.tensor(output).updates == operand;
}

int64_t ProblemIndex::leastBytes(Position position) const {
  const MemoryId memory = memoryOf(position);
  auto onlyHere = [&](TensorId operand) {
    const Position produced = producedAt(operand);
    return uses(spot(operand, memory)).size() == totalUses[operand.index()] &&
           (!produced.valid() || memoryOf(produced) == memory);
  };
  if (operatorAt(position).inPlace.empty())
    return workingSets[position.index()];
  std::vector<TensorId> operands;
  matchInPlace(position, onlyHere, operands);
  int64_t least = workingSets[position.index()];
  for (TensorId operand : operands)
    if (operand.valid())
      least -= bytes[operand.index()];
  return least;
}

bool ProblemIndex::allOnHost() const {
  return std::all_of(memoryAt.begin(), memoryAt.end(), [](MemoryId memory) { return memory == Machine::hostMemory(); });
}

std::vector<Stay> swap::unlimitedStays(const ProblemIndex &index, MemoryId memory) {
  std::vector<Stay> stays;
  for (TensorId t : index.tensors()) {
    const int64_t bytes = index.bytes[t.index()];
    const Position produced = index.producedAt(t);
    const bool isProducedHere = produced.valid() && index.memoryOf(produced) == memory;
    if (memory == Machine::hostMemory()) {
      if (!index.hasHome[t.index()] && (isProducedHere || index.pushToHost[t.index()]))
        stays.push_back({t, produced, index.lastUse[t.index()], bytes});
      continue;
    }
    std::span<const Position> uses = index.uses(index.spot(t, memory));
    if ((uses.empty() && !isProducedHere) || index.isNewOfKept(t))
      continue;
    if (index.staysResident(t)) {
      stays.push_back({t, Position(0u), index.lastPosition(), bytes});
      continue;
    }
    Position last = uses.empty() ? produced : uses.back();
    // A reader over a direct link copies the tensor from here.
    for (MemoryId to : index.acceleratorMemories())
      if (isProducedHere && to != memory && index.link(memory, to).valid() && !index.uses(index.spot(t, to)).empty())
        last = std::max(last, index.uses(index.spot(t, to)).front());
    stays.push_back({t, isProducedHere ? produced : uses.front(), last, bytes});
  }
  for (Position p : index.positions())
    if (index.memoryOf(p) == memory && index.operatorAt(p).workspaceBytes > 0)
      stays.push_back({TensorId(), p, p, alignUp(index.operatorAt(p).workspaceBytes)});
  return stays;
}

std::pair<int64_t, Position> swap::peakOfStays(const ProblemIndex &index, std::span<const Stay> stays) {
  std::vector<int64_t> change(index.numPositions + 1, 0);
  for (const Stay &stay : stays) {
    change[stay.first.index()] += stay.bytes;
    if (stay.first > stay.last)
      change[0] += stay.bytes;
    if (index.numPositions > 0)
      change[stay.last.index() + 1] -= stay.bytes;
  }
  int64_t live = 0, peak = 0;
  Position where(0u);
  for (Position p : index.positions()) {
    live += change[p.index()];
    if (live > peak) {
      peak = live;
      where = p;
    }
  }
  return {peak, where};
}

std::vector<MinimumBytes> swap::minimumBytes(const ProblemIndex &index) {
  std::vector<MinimumBytes> minimum(index.numMemories);
  for (Position p : index.positions()) {
    if (index.memoryOf(p) == Machine::hostMemory())
      continue;
    MinimumBytes &entry = minimum[index.memoryOf(p).index()];
    int64_t bytes = index.leastBytes(p);
    if (!entry.op.valid() || bytes > entry.bytes)
      entry = {bytes, index.opAt(p)};
  }
  auto [bytes, position] = peakOfStays(index, unlimitedStays(index, Machine::hostMemory()));
  if (bytes > 0)
    minimum[0] = {bytes, index.opAt(position)};
  return minimum;
}

std::vector<MinimumBytes> sluice::minimumBytes(const SwapProblem &problem) {
  return swap::minimumBytes(ProblemIndex(problem));
}

std::vector<int64_t> sluice::livenessPeakBytes(const SwapProblem &problem, bool keepsStates) {
  ProblemIndex index(problem, statesToKeep(problem, keepsStates ? 1.0 : 0.0));
  std::vector<int64_t> peaks;
  for (MemoryId memory : index.memories())
    peaks.push_back(peakOfStays(index, unlimitedStays(index, memory)).first);
  return peaks;
}
