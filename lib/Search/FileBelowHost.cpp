//===- FileBelowHost.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FileBelowHost.h"

#include "sluice/Support/IdRange.h"
#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

/// The memories of the turned machine.
static constexpr MemoryId kBelow = MemoryId(0u), kHost = MemoryId(1u);

int64_t FileBelowHost::wholeBlocks(int64_t bytes) const {
  return saturatingAdd(bytes, blockBytes - 1) / blockBytes * blockBytes;
}

Expected<std::optional<FileBelowHost>> FileBelowHost::of(const SearchProblem &problem, int64_t blockBytes) {
  const MemoryId file = fileBelowHost(*problem.machine);
  if (!file.valid())
    return std::optional<FileBelowHost>();
  FileBelowHost turned(problem, file, blockBytes);
  const int64_t limit = problem.capacityBytes[0];
  if (turned.homes > limit)
    return makeError(ErrorCode::Infeasible, "inputs, outputs and states need ", formatBytes(turned.homes),
                     " of memory '", problem.machine->memory(Machine::hostMemory()).name, "', and its limit is ",
                     formatBytes(limit), ", raise --memory ", problem.machine->memory(Machine::hostMemory()).name,
                     " by more than ", turned.homes - limit, " bytes");
  return std::optional<FileBelowHost>(std::move(turned));
}

FileBelowHost::FileBelowHost(const SearchProblem &problem, MemoryId file, int64_t blockBytes)
    : problem(problem), file(file), blockBytes(blockBytes) {
  turnMachine();
  turnTensors();
  turnOperators();
}

void FileBelowHost::turnMachine() {
  const Machine &own = *problem.machine;
  machine.name = own.name;
  machine.memories = {{own.memory(file).name, own.memory(file).capacityBytes},
                      {own.memory(Machine::hostMemory()).name, own.memory(Machine::hostMemory()).capacityBytes}};
  // Ids of devices stay: one that has another memory does not compute, and nothing is placed on it.
  machine.devices = own.devices;
  for (Device &device : machine.devices)
    device.memory = kHost;
  Link link = own.link(linkBelow());
  link.a = link.a == file ? kBelow : kHost;
  link.b = link.a == kBelow ? kHost : kBelow;
  link.trunk = {};
  machine.links = {link};
}

bool FileBelowHost::staysAtHome(TensorId t) const {
  const Tensor &tensor = problem.graph->tensor(t);
  // Rows that are looked up are read where the file is mapped.
  constexpr int64_t kFewer = 4;
  const bool isLookedUp = tensor.touchedBytes > 0 && tensor.touchedBytes <= tensor.bytes / kFewer;
  return tensor.isPooled || tensor.kind == TensorKind::Input || tensor.kind == TensorKind::State || tensor.isOutput ||
         tensor.updates.valid() || isLookedUp;
}

void FileBelowHost::turnTensors() {
  graph.name = problem.graph->name;
  graph.keepsOrder = problem.graph->keepsOrder;
  for (const Tensor &own : problem.graph->tensors()) {
    const TensorId id(graph.numTensors());
    Tensor tensor;
    tensor.name = own.name;
    tensor.type = own.type;
    if (!staysAtHome(id)) {
      tensor.kind = own.kind;
      tensor.bytes = wholeBlocks(own.bytes);
    } else if (!own.producer.valid()) {
      // Nobody reads it in the turned problem.
      tensor.kind = TensorKind::Parameter;
    }
    graph.addTensor(std::move(tensor));
    // A state and its new value have one place; what nobody touches has none.
    const bool isTouched = own.producer.valid() || !own.consumers.empty() || own.updatedBy.valid();
    if (staysAtHome(id) && !own.updates.valid() && isTouched)
      homes = saturatingAdd(homes, own.homeBytes());
  }
}

void FileBelowHost::turnOperators() {
  const Graph &own = *problem.graph;
  // Operators that read a state's old value run before the operator that replaces it. A tensor without bytes between
  // them makes the planner keep this order.
  std::vector<std::vector<TensorId>> before(own.numOperators()), after(own.numOperators());
  for (TensorId t : idsBelow<TensorId>(own.numTensors())) {
    const TensorId next = own.tensor(t).updatedBy;
    const OperatorId writer = next.valid() ? own.tensor(next).producer : OperatorId();
    if (!writer.valid())
      continue;
    for (OperatorId reader : own.tensor(t).consumers) {
      if (reader == writer)
        continue;
      Tensor token;
      token.name = concat("before '", own.tensor(next).name, "'");
      const TensorId id = graph.addTensor(std::move(token));
      after[reader.index()].push_back(id);
      before[writer.index()].push_back(id);
    }
  }
  for (OperatorId id : idsBelow<OperatorId>(own.numOperators())) {
    Operator op = own.op(id);
    if (op.bytesMoved == 0)
      for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs})
        for (TensorId t : *list)
          op.bytesMoved = saturatingAdd(op.bytesMoved, own.tensor(t).bytes);
    std::vector<uint32_t> newIndex(op.inputs.size());
    std::vector<TensorId> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      newIndex[i] = static_cast<uint32_t>(inputs.size());
      if (!staysAtHome(op.inputs[i]) || own.tensor(op.inputs[i]).producer.valid())
        inputs.push_back(op.inputs[i]);
    }
    std::erase_if(op.inPlace, [&](std::pair<uint32_t, uint32_t> pair) {
      return staysAtHome(op.inputs[pair.first]) || staysAtHome(op.outputs[pair.second]);
    });
    for (auto &[input, output] : op.inPlace)
      input = newIndex[input];
    // An operator that writes a home runs once; that matters where its results could be wanted again.
    bool writesHome = false, isWanted = op.outputs.size() > 1;
    for (TensorId t : op.outputs) {
      writesHome |= staysAtHome(t);
      isWanted |= staysAtHome(t) && !own.tensor(t).consumers.empty();
    }
    isRepeatable &= !(writesHome && (isWanted || !after[id.index()].empty()));
    op.inputs = std::move(inputs);
    op.inputs.insert(op.inputs.end(), before[id.index()].begin(), before[id.index()].end());
    op.outputs.insert(op.outputs.end(), after[id.index()].begin(), after[id.index()].end());
    op.workspaceBytes = op.workspaceBytes > 0 ? wholeBlocks(op.workspaceBytes) : 0;
    graph.addOperator(std::move(op));
  }
}

SearchProblem FileBelowHost::turned() const {
  SearchProblem result = problem;
  result.graph = &graph;
  result.machine = &machine;
  const int64_t left = problem.capacityBytes[0] - homes;
  // An unlimited memory stays one.
  const bool isLimited = problem.capacityBytes[0] < int64_t(1) << 62;
  result.capacityBytes = {problem.capacityBytes[file.index()],
                          isLimited ? left / blockBytes * blockBytes : problem.capacityBytes[0]};
  return result;
}

namespace {
/// Renumbers a plan's commands without some copies. What happened before a command by way of one that is left out still
/// does: who waited for that one, and who follows it on its stream, waits for what it waited for.
class WithoutCopies {
public:
  explicit WithoutCopies(const Plan &plan) : plan(plan) {}

  template <typename IsKept>
  std::vector<Command> run(const IsKept &isKept) {
    std::vector<std::vector<CommandId>> standIns(plan.commands.size());
    std::vector<std::vector<CommandId>> owed(plan.streams.size()); ///< By the stream's next command.
    std::vector<CommandId> last(plan.streams.size());
    std::vector<Command> kept;
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      Command command = plan.commands[i];
      std::vector<CommandId> waits = std::move(owed[command.stream.index()]);
      owed[command.stream.index()].clear();
      for (CommandId wait : command.waits)
        waits.insert(waits.end(), standIns[wait.index()].begin(), standIns[wait.index()].end());
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      if (!isKept(command)) {
        owed[command.stream.index()] = waits;
        standIns[i] = std::move(waits);
        if (const CommandId before = last[command.stream.index()]; before.valid())
          standIns[i].push_back(before);
        continue;
      }
      std::erase_if(waits, [&](CommandId wait) { return kept[wait.index()].stream == command.stream; });
      command.waits = std::move(waits);
      last[command.stream.index()] = CommandId(kept.size());
      standIns[i] = {CommandId(kept.size())};
      kept.push_back(std::move(command));
    }
    return kept;
  }

private:
  const Plan &plan;
};
} // namespace

Plan FileBelowHost::turnBack(const Plan &plan) const {
  const Graph &own = *problem.graph;
  Plan result = plan;
  result.arenaBytes.assign(problem.machine->memories.size(), 0);
  result.arenaBytes[0] = plan.arenaBytes[kHost.index()];
  result.arenaBytes[file.index()] = plan.arenaBytes[kBelow.index()];
  for (Stream &stream : result.streams)
    stream.kind = stream.kind == StreamKind::SwapIn    ? StreamKind::FileIn
                  : stream.kind == StreamKind::SwapOut ? StreamKind::FileOut
                                                       : stream.kind;
  // What stays at home, and what only orders operators, is nowhere else.
  std::vector<ResidencyId> renumbered(plan.residencies.size());
  result.residencies.clear();
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    Residency residency = plan.residencies[i];
    const TensorId t = residency.tensor;
    if (t.valid() && (t.index() >= own.numTensors() || staysAtHome(t)))
      continue;
    residency.memory = residency.memory == kBelow ? file : Machine::hostMemory();
    if (residency.segment == Segment::Home)
      residency.bytes = own.tensor(t).bytes;
    renumbered[i] = ResidencyId(result.residencies.size());
    result.residencies.push_back(residency);
  }
  result.commands = WithoutCopies(plan).run([&](const Command &command) {
    return command.kind == CommandKind::Launch || renumbered[command.reads[0].index()].valid();
  });
  std::vector<ResidencyId> home(own.numTensors());
  auto homeOf = [&](TensorId t) {
    ResidencyId &id = home[t.index()];
    if (!id.valid()) {
      id = ResidencyId(result.residencies.size());
      const Tensor &tensor = own.tensor(t);
      result.residencies.push_back(
          {t, Machine::hostMemory(), Segment::Home, 0, tensor.bytes, !tensor.producer.valid()});
    }
    return id;
  };
  for (Command &command : result.commands) {
    if (command.kind == CommandKind::Copy) {
      command.link = linkBelow();
      command.reads[0] = renumbered[command.reads[0].index()];
      command.writes[0] = renumbered[command.writes[0].index()];
      continue;
    }
    const Operator &op = own.op(command.op);
    auto next = command.reads.begin();
    std::vector<ResidencyId> reads, writes;
    for (TensorId t : op.inputs) {
      // The turned operator reads what an operator writes, be it without bytes.
      const bool isRead = !staysAtHome(t) || own.tensor(t).producer.valid();
      const ResidencyId read = isRead ? *next++ : ResidencyId();
      reads.push_back(staysAtHome(t) ? homeOf(t) : renumbered[read.index()]);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      writes.push_back(staysAtHome(op.outputs[i]) ? homeOf(op.outputs[i]) : renumbered[command.writes[i].index()]);
    if (op.workspaceBytes > 0)
      writes.push_back(renumbered[command.writes.back().index()]);
    command.reads = std::move(reads);
    command.writes = std::move(writes);
  }
  return result;
}

std::vector<int64_t> FileBelowHost::turnBack(const std::vector<int64_t> &bytes) const {
  std::vector<int64_t> result(problem.machine->memories.size(), 0);
  result[0] = saturatingAdd(bytes[kHost.index()], homes);
  result[file.index()] = bytes[kBelow.index()];
  return result;
}

std::vector<MinimumBytes> FileBelowHost::turnBack(const std::vector<MinimumBytes> &bytes) const {
  std::vector<MinimumBytes> result(problem.machine->memories.size());
  result[0] = bytes[kHost.index()];
  result[0].bytes = saturatingAdd(result[0].bytes, homes);
  result[file.index()] = bytes[kBelow.index()];
  return result;
}

} // namespace sluice
