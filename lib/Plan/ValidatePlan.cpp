//===- ValidatePlan.cpp - The plan's independent check --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// "Happens before" is decided by vector clocks with one entry for each stream. The clock of a command has the number of
// commands of each stream that are complete when the command starts. Address conflicts are found by replaying the
// creations of residencies in issue order. A map has the residency that was created last at each address. A new
// residency is compared only with the residencies in the map: each of them was itself created after all commands that
// touched the residencies before it at these addresses.
//
//===----------------------------------------------------------------------===//

#include "sluice/Plan/Plan.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <set>

namespace sluice {

namespace {

class Validator {
public:
  Validator(const Graph &graph, const Machine &machine, const Plan &plan)
      : graph(graph), machine(machine), plan(plan) {}

  Status run() {
    return checkPlacement()
        .and_then([&] { return checkStreams(); })
        .and_then([&] { return checkArenas(); })
        .and_then([&] { return checkResidencies(); })
        .and_then([&] { return checkCommands(); })
        .and_then([&] { return buildClocks(); })
        .and_then([&] { return checkReads(); })
        .and_then([&] { return checkUpdates(); })
        .and_then([&] { return checkAddresses(); })
        .and_then([&] { return checkEnd(); });
  }

private:
  using TouchId = Id<struct TouchTag>;
  struct Touch {
    StreamId stream;
    CommandId command; ///< The stream's last that reads or writes the residency.
    TouchId next;      ///< Of the same residency.
  };
  struct Occupant {
    int64_t end;
    ResidencyId residency;
  };
  /// Start address -> who was created there last. Ranges are disjoint.
  using AddressMap = std::map<int64_t, Occupant>;

  const Graph &graph;
  const Machine &machine;
  const Plan &plan;
  std::vector<ResidencyId> home;   ///< Per tensor.
  std::vector<TensorId> newValue;  ///< Per tensor: what updates it.
  std::vector<CommandId> creator;  ///< Per residency.
  std::vector<TouchId> firstTouch; ///< Per residency: a list with one touch a stream.
  std::vector<Touch> touches;
  std::vector<uint32_t> clocks;     ///< [command * streams + stream]
  std::vector<uint32_t> position;   ///< Per command: how many in its stream, it included.
  std::vector<AddressMap> occupied; ///< Per memory.
  StreamId communication;           ///< Of all that communicates; invalid until the first.
  OperatorId communicated;          ///< The last operator that did; invalid before the first.

  template <typename... Ts>
  tl::unexpected<Error> bad(const Ts &...parts) const {
    return makeError(ErrorCode::Internal, parts..., ", invalid plan");
  }

  std::string describe(ResidencyId id) const {
    const Residency &r = plan.residencies[id.index()];
    std::string what = r.tensor.valid() ? concat("'", graph.tensor(r.tensor).name, "'") : std::string("workspace");
    return concat(what, " (residency ", id.value, " in '", machine.memory(r.memory).name, "')");
  }
  std::string describe(CommandId id) const {
    const Command &c = plan.commands[id.index()];
    if (c.kind == CommandKind::Launch)
      return concat("command ", id.value, " (launch of '", graph.op(c.op).name, "')");
    return concat("command ", id.value, " (copy of ", describe(c.reads[0]), ")");
  }

  bool happensBefore(CommandId a, CommandId b) const {
    StreamId stream = plan.commands[a.index()].stream;
    return a < b && clocks[b.index() * plan.streams.size() + stream.index()] >= position[a.index()];
  }

  Status checkPlacement() {
    if (plan.placement.size() != graph.numOperators())
      return bad("placement has ", plan.placement.size(), " entries for ", graph.numOperators(), " operators");
    for (size_t i = 0; i < plan.placement.size(); ++i) {
      DeviceId device = plan.placement[i];
      const std::string &name = graph.op(OperatorId(i)).name;
      if (device.index() >= machine.devices.size())
        return bad("operator '", name, "' is placed on a device that does not exist");
      if (!machine.device(device).computes)
        return bad("operator '", name, "' is placed on device '", machine.device(device).name,
                   "', which does not compute");
    }
    return {};
  }

  Status checkStreams() {
    std::set<std::pair<DeviceId, StreamKind>> seen;
    for (const Stream &stream : plan.streams) {
      if (stream.device.index() >= machine.devices.size())
        return bad("a stream names a device that does not exist");
      if (!seen.insert({stream.device, stream.kind}).second)
        return bad("device '", machine.device(stream.device).name, "' has two streams of one kind");
      if ((stream.kind == StreamKind::FileIn || stream.kind == StreamKind::FileOut) && !machine.hasFiles())
        return bad("device '", machine.device(stream.device).name,
                   "' has a stream for files, and the machine has no file");
    }
    return {};
  }

  Status checkArenas() {
    if (plan.arenaBytes.size() != machine.memories.size())
      return bad("plan has ", plan.arenaBytes.size(), " arenas for ", machine.memories.size(), " memories");
    for (size_t i = 0; i < plan.arenaBytes.size(); ++i) {
      const Memory &memory = machine.memories[i];
      if (plan.arenaBytes[i] < 0)
        return bad("arena of memory '", memory.name, "' has a negative size");
      if (plan.arenaBytes[i] > memory.capacityBytes)
        return bad("arena of memory '", memory.name, "' has ", plan.arenaBytes[i], " bytes, and the capacity is ",
                   memory.capacityBytes);
    }
    return {};
  }

  /// Beside files, homes in the host's memory count: what they hold could lie in a file.
  Status checkHostHomes() {
    if (!machine.hasFiles())
      return {};
    int64_t bytes = plan.arenaBytes[0];
    for (size_t i = 0; i < graph.numTensors(); ++i) {
      const TensorId old = graph.tensor(TensorId(i)).updates;
      // A state's new value takes the state's place.
      if (!home[i].valid() || (old.valid() && home[old.index()].valid()))
        continue;
      const Residency &r = plan.residencies[home[i].index()];
      if (r.memory == Machine::hostMemory())
        bytes = saturatingAdd(bytes, std::min(r.bytes, graph.tensor(TensorId(i)).homeBytes()));
    }
    const Memory &host = machine.memory(Machine::hostMemory());
    if (bytes > host.capacityBytes)
      return bad("arena and homes in memory '", host.name, "' have ", bytes, " bytes, and the capacity is ",
                 host.capacityBytes);
    return {};
  }

  Status checkResidencies() {
    home.assign(graph.numTensors(), ResidencyId());
    newValue.assign(graph.numTensors(), TensorId());
    for (size_t i = 0; i < graph.numTensors(); ++i)
      if (TensorId old = graph.tensor(TensorId(i)).updates; old.valid())
        newValue[old.index()] = TensorId(i);
    for (size_t i = 0; i < plan.residencies.size(); ++i)
      SLUICE_RETURN_IF_ERROR(checkResidency(ResidencyId(i)));
    for (size_t i = 0; i < graph.numTensors(); ++i)
      if (TensorId next = newValue[i]; next.valid() && home[i].valid() && home[next.index()].valid())
        if (plan.residencies[home[i].index()].memory != plan.residencies[home[next.index()].index()].memory)
          return bad(describe(home[next.index()]), " has its home in a memory other than that of its state");
    return checkHostHomes();
  }

  Status checkResidency(ResidencyId id) {
    const Residency &r = plan.residencies[id.index()];
    if (r.memory.index() >= machine.memories.size())
      return bad("residency ", id.value, " is in a memory that does not exist");
    if (r.tensor.valid() && r.tensor.index() >= graph.numTensors())
      return bad("residency ", id.value, " is of a tensor that does not exist");
    if (r.bytes < 0 || (r.tensor.valid() && r.bytes < graph.tensor(r.tensor).bytes))
      return bad(describe(id), " has ", r.bytes, " bytes, and its data needs ",
                 r.tensor.valid() ? graph.tensor(r.tensor).bytes : 0, " bytes");
    bool written = r.tensor.valid() && graph.tensor(r.tensor).producer.valid();
    if (r.segment == Segment::Home) {
      if (!r.tensor.valid())
        return bad(describe(id), " is a home without a tensor");
      const Tensor &tensor = graph.tensor(r.tensor);
      if (tensor.kind == TensorKind::Activation && !tensor.isOutput && !tensor.updates.valid())
        return bad(describe(id), " is the home of an activation, which cannot have one");
      const bool isKept =
          tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State || tensor.updates.valid();
      const bool mayBeInFile = isKept && !tensor.isOutput;
      if (r.memory != Machine::hostMemory() && !(machine.isFile(r.memory) && mayBeInFile))
        return bad(describe(id), " has its home outside host memory");
      if (r.offset != 0)
        return bad(describe(id), " has an offset in its home");
      if (r.initial == written)
        return bad("home of ", describe(id),
                   written ? " is marked 'initial' but an operator writes it" : " is not marked 'initial'");
      if (home[r.tensor.index()].valid())
        return bad(describe(id), " has two homes");
      home[r.tensor.index()] = id;
      return {};
    }
    if (r.initial) {
      bool kept =
          r.tensor.valid() && !written &&
          (graph.tensor(r.tensor).kind == TensorKind::Parameter || graph.tensor(r.tensor).kind == TensorKind::State);
      if (!kept)
        return bad(describe(id), " is marked 'initial' in an arena but is neither a parameter nor a state");
    }
    if (r.offset < 0 || r.offset % kArenaAlignment != 0)
      return bad(describe(id), " has offset ", r.offset, ", not a multiple of ", kArenaAlignment);
    if (saturatingAdd(r.offset, r.bytes) > plan.arenaBytes[r.memory.index()])
      return bad(describe(id), " ends at byte ", saturatingAdd(r.offset, r.bytes), ", outside its arena of ",
                 plan.arenaBytes[r.memory.index()], " bytes");
    return {};
  }

  Status checkCommands() {
    creator.assign(plan.residencies.size(), CommandId());
    firstTouch.assign(plan.residencies.size(), TouchId());
    touches.clear();
    touches.reserve(2 * plan.residencies.size());
    std::vector<bool> launched(graph.numOperators(), false);
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      CommandId id(i);
      const Command &command = plan.commands[i];
      if (command.stream.index() >= plan.streams.size())
        return bad("command ", i, " is on stream ", command.stream.value,
                   ", which does not exist, because the plan has ", plan.streams.size(), " streams");
      for (const std::vector<ResidencyId> *list : {&command.reads, &command.writes})
        for (ResidencyId r : *list)
          if (r.index() >= plan.residencies.size())
            return bad("command ", i, " uses residency ", r.value, ", which does not exist, because the plan has ",
                       plan.residencies.size(), " residencies");
      for (CommandId wait : command.waits)
        if (!(wait < id))
          return bad("command ", i, " waits for command ", wait.value, ", which must be issued before command ", i);
      Status status = command.kind == CommandKind::Launch ? checkLaunch(id, launched) : checkCopy(id);
      if (!status)
        return status;
      for (ResidencyId r : command.writes) {
        if (plan.residencies[r.index()].initial)
          return bad(describe(id), " writes ", describe(r), ", which is marked 'initial'");
        if (creator[r.index()].valid())
          return bad(describe(id), " writes ", describe(r), ", which command ", creator[r.index()].value, " wrote");
        creator[r.index()] = id;
        touch(r, id);
      }
      for (ResidencyId r : command.reads)
        touch(r, id);
    }
    for (size_t i = 0; i < launched.size(); ++i)
      if (!launched[i])
        return bad("operator '", graph.op(OperatorId(i)).name, "' is never launched");
    return {};
  }

  void touch(ResidencyId r, CommandId id) {
    StreamId stream = plan.commands[id.index()].stream;
    TouchId *at = &firstTouch[r.index()];
    for (; at->valid(); at = &touches[at->index()].next)
      if (Touch &t = touches[at->index()]; t.stream == stream) {
        t.command = id;
        return;
      }
    *at = TouchId(touches.size());
    touches.push_back({stream, id, TouchId()});
  }

  Status checkLaunch(CommandId id, std::vector<bool> &launched) {
    const Command &command = plan.commands[id.index()];
    if (command.op.index() >= graph.numOperators())
      return bad("command ", id.value, " launches an operator that does not exist");
    const Operator &op = graph.op(command.op);
    if (launched[command.op.index()] && !graph.isRepeatable(command.op))
      return bad("operator '", op.name,
                 "' is launched twice, and the second launch would overwrite an output or a state");
    launched[command.op.index()] = true;
    const Stream &stream = plan.streams[command.stream.index()];
    const bool apart = op.communicates && stream.kind == StreamKind::Communicate;
    if (stream.kind != StreamKind::Compute && !apart)
      return bad(describe(id), stream.kind == StreamKind::Communicate ? " is on a stream for communication"
                                                                      : " is on a stream for copies");
    if (stream.device != plan.placement[command.op.index()])
      return bad(describe(id), " runs on a device other than that of its operator");
    if (op.communicates && !communication.valid())
      communication = command.stream;
    if (op.communicates && communication != command.stream)
      return bad(describe(id), " communicates on another stream than the previous command that communicates");
    if (op.communicates && graph.keepsOrder && communicated.valid() && command.op < communicated)
      return bad(describe(id), " communicates after operator '", graph.op(communicated).name,
                 "', which comes later in the program, keep the order in which ranks exchange data");
    if (op.communicates)
      communicated = command.op;

    size_t workspaces = op.workspaceBytes > 0 ? 1 : 0;
    if (command.reads.size() != op.inputs.size() || command.writes.size() != op.outputs.size() + workspaces)
      return bad(describe(id), " has ", command.reads.size(), " reads and ", command.writes.size(),
                 " writes for an operator of ", op.inputs.size(), " inputs, ", op.outputs.size(), " outputs and ",
                 workspaces, " workspaces");
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (plan.residencies[command.reads[i].index()].tensor != op.inputs[i])
        return bad(describe(id), " reads ", describe(command.reads[i]), " where input ", i, " is '",
                   graph.tensor(op.inputs[i]).name, "'");
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (plan.residencies[command.writes[i].index()].tensor != op.outputs[i])
        return bad(describe(id), " writes ", describe(command.writes[i]), " where output ", i, " is '",
                   graph.tensor(op.outputs[i]).name, "'");
    if (workspaces) {
      const Residency &workspace = plan.residencies[command.writes.back().index()];
      if (workspace.tensor.valid())
        return bad(describe(id), " has a tensor as its workspace");
      if (workspace.bytes < op.workspaceBytes)
        return bad(describe(id), " has a workspace of ", workspace.bytes, " bytes and needs ", op.workspaceBytes,
                   " bytes");
    }
    MemoryId memory = machine.device(stream.device).memory;
    for (const std::vector<ResidencyId> *list : {&command.reads, &command.writes})
      for (ResidencyId r : *list)
        if (plan.residencies[r.index()].memory != memory)
          return bad(describe(id), " uses ", describe(r), ", which is not in the device's memory '",
                     machine.memory(memory).name, "'");
    return {};
  }

  Status checkCopy(CommandId id) {
    const Command &command = plan.commands[id.index()];
    if (command.reads.size() != 1 || command.writes.size() != 1)
      return bad("command ", id.value, " is a copy without exactly one source and one destination");
    const Residency &from = plan.residencies[command.reads[0].index()];
    const Residency &to = plan.residencies[command.writes[0].index()];
    if (!from.tensor.valid() || from.tensor != to.tensor)
      return bad(describe(id), " has ", describe(command.writes[0]), " as its destination, which is another tensor");
    if (command.link.index() >= machine.links.size())
      return bad(describe(id), " is over a link that does not exist");
    const Link &link = machine.link(command.link);
    bool joins = (from.memory == link.a && to.memory == link.b) || (from.memory == link.b && to.memory == link.a);
    if (!joins)
      return bad(describe(id), " is over a link that does not join its two memories");
    const Stream &stream = plan.streams[command.stream.index()];
    if (stream.kind == StreamKind::Communicate)
      return bad(describe(id), " is on a stream for communication");
    if (stream.kind == StreamKind::Compute)
      return bad(describe(id), " is on a stream for computing");
    const bool isFileStream = stream.kind == StreamKind::FileIn || stream.kind == StreamKind::FileOut;
    if (isFileStream != (machine.isFile(link.a) || machine.isFile(link.b)))
      return bad(describe(id), isFileStream
                                   ? " is on a stream for files, and copies between two memories that are not files"
                                   : " copies from or to a file, on a stream that is not for files");
    // The bound of cuts counts on copies in one direction following each other on one stream of a device.
    if (isFileStream) {
      const bool reads = stream.kind == StreamKind::FileIn;
      if (!machine.isFile((reads ? from : to).memory))
        return bad(describe(id), reads ? " copies to a file, on a stream that copies from files"
                                       : " copies from a file, on a stream that copies to files");
      return {};
    }
    const MemoryId memory = machine.device(stream.device).memory;
    if (memory == Machine::hostMemory() || memory != (stream.kind == StreamKind::SwapIn ? to : from).memory)
      return bad(describe(id), " must be on the swap-in stream of an accelerator whose memory it writes, or on the "
                               "swap-out stream of one whose memory it reads");
    return {};
  }

  Status buildClocks() {
    size_t streams = plan.streams.size();
    // Sixteen gigabytes of clocks is no plan of ours.
    constexpr size_t kMaxEntries = size_t(1) << 32;
    if (streams != 0 && plan.commands.size() > kMaxEntries / streams)
      return makeError(ErrorCode::Unsupported, plan.commands.size(), " commands on ", streams,
                       " streams are too many to check, plan fewer devices");
    clocks.assign(plan.commands.size() * streams, 0);
    position.assign(plan.commands.size(), 0);
    std::vector<CommandId> last(streams);
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const Command &command = plan.commands[i];
      uint32_t *mine = clocks.data() + i * streams;
      auto join = [&](CommandId earlier) {
        const uint32_t *theirs = clocks.data() + earlier.index() * streams;
        for (size_t s = 0; s < streams; ++s)
          mine[s] = std::max(mine[s], theirs[s]);
      };
      CommandId &previous = last[command.stream.index()];
      if (previous.valid())
        join(previous);
      for (CommandId wait : command.waits)
        join(wait);
      position[i] = ++mine[command.stream.index()];
      previous = CommandId(i);
    }
    return {};
  }

  Status checkReads() {
    for (size_t i = 0; i < plan.commands.size(); ++i)
      for (ResidencyId r : plan.commands[i].reads) {
        if (plan.residencies[r.index()].initial)
          continue;
        CommandId id(i), wrote = creator[r.index()];
        if (!wrote.valid())
          return bad(describe(id), " reads ", describe(r), ", which no command writes");
        if (!happensBefore(wrote, id))
          return bad(describe(id), " reads ", describe(r), " without waiting for command ", wrote.value,
                     ", which writes it: neither a wait nor a common stream orders the two commands");
      }
    return {};
  }

  /// A state's home takes the new value once nothing reads the old one there.
  Status checkUpdates() {
    for (size_t i = 0; i < graph.numTensors(); ++i) {
      ResidencyId old = home[i], next = newValue[i].valid() ? home[newValue[i].index()] : ResidencyId();
      if (!old.valid() || !next.valid() || !creator[next.index()].valid())
        continue;
      CommandId writer = creator[next.index()];
      for (TouchId at = firstTouch[old.index()]; at.valid(); at = touches[at.index()].next)
        if (const Touch &t = touches[at.index()]; t.command != writer && !happensBefore(t.command, writer))
          return bad(describe(t.command), " reads the home of ", describe(old), " and is not ordered before ",
                     describe(writer), ", which puts the state's new value there");
    }
    return {};
  }

  /// `command` may overwrite its own input by an in-place pair of its operator.
  bool mayOverwrite(CommandId id, ResidencyId read, ResidencyId written) const {
    const Command &command = plan.commands[id.index()];
    if (command.kind != CommandKind::Launch)
      return false;
    if (plan.residencies[read.index()].offset != plan.residencies[written.index()].offset)
      return false;
    for (auto [input, output] : graph.op(command.op).inPlace)
      if (command.reads[input] == read && command.writes[output] == written)
        return true;
    return false;
  }

  /// `id`, created by `by`, may take addresses of `former`.
  Status checkDisplaced(ResidencyId former, ResidencyId id, CommandId by) const {
    if (!by.valid())
      return bad(describe(id), " overlaps ", describe(former), ", and both are marked 'initial'");
    for (TouchId at = firstTouch[former.index()]; at.valid(); at = touches[at.index()].next) {
      const Touch &t = touches[at.index()];
      if (t.command == by ? mayOverwrite(by, former, id) : happensBefore(t.command, by))
        continue;
      return bad(describe(id), " overlaps ", describe(former), ", and ", describe(t.command), " is not ordered before ",
                 describe(by));
    }
    return {};
  }

  /// Records that `id` now takes its addresses, created by `by` (invalid for
  /// initial ones), after checking all it displaces.
  Status occupy(ResidencyId id, CommandId by) {
    const Residency &r = plan.residencies[id.index()];
    if (r.segment != Segment::Arena || r.bytes == 0)
      return {};
    AddressMap &map = occupied[r.memory.index()];
    int64_t begin = r.offset, end = r.offset + r.bytes;
    auto at = map.upper_bound(begin);
    if (at != map.begin() && std::prev(at)->second.end > begin)
      --at;
    AddressMap::node_type spare; // Of an occupant that goes: memory for the one that comes.
    while (at != map.end() && at->first < end) {
      const Occupant occupant = at->second;
      SLUICE_RETURN_IF_ERROR(checkDisplaced(occupant.residency, id, by));
      if (occupant.end > end)
        map.insert(std::next(at), {end, occupant});
      if (at->first < begin)
        (at++)->second.end = begin;
      else
        spare = map.extract(at++);
    }
    if (spare.empty()) {
      map.insert(at, {begin, {end, id}});
      return {};
    }
    spare.key() = begin;
    spare.mapped() = {end, id};
    map.insert(at, std::move(spare));
    return {};
  }

  Status checkAddresses() {
    occupied.assign(machine.memories.size(), {});
    for (size_t i = 0; i < plan.residencies.size(); ++i)
      if (plan.residencies[i].initial)
        SLUICE_RETURN_IF_ERROR(occupy(ResidencyId(i), CommandId()));
    for (size_t i = 0; i < plan.commands.size(); ++i)
      for (ResidencyId r : plan.commands[i].writes)
        SLUICE_RETURN_IF_ERROR(occupy(r, CommandId(i)));
    return {};
  }

  bool homeIsWritten(TensorId tensor) const {
    ResidencyId id = home[tensor.index()];
    return id.valid() && creator[id.index()].valid();
  }

  Status checkEnd() {
    // Tensors that no operator writes are in their homes already.
    for (size_t i = 0; i < graph.numTensors(); ++i) {
      TensorId id(i);
      const Tensor &tensor = graph.tensor(id);
      if (tensor.isOutput && tensor.producer.valid() && !homeIsWritten(id))
        return bad("output '", tensor.name, "' is not in host memory when the step ends");
    }
    std::vector<bool> kept(graph.numTensors(), false);
    for (size_t i = 0; i < plan.residencies.size(); ++i) {
      const Residency &r = plan.residencies[i];
      if (!r.initial || r.segment != Segment::Arena)
        continue;
      kept[r.tensor.index()] = true;
      TensorId expected = newValue[r.tensor.index()].valid() ? newValue[r.tensor.index()] : r.tensor;
      int64_t bytes = graph.tensor(expected).bytes;
      if (bytes == 0)
        continue;
      const AddressMap &map = occupied[r.memory.index()];
      auto at = map.find(r.offset);
      const Residency *holder = at == map.end() ? nullptr : &plan.residencies[at->second.residency.index()];
      // A holder of another offset has lost its first bytes to what was created there since.
      if (!holder || holder->tensor != expected || holder->offset != r.offset || at->second.end < r.offset + bytes)
        return bad("the place of ", describe(ResidencyId(i)), " does not hold '", graph.tensor(expected).name,
                   "' when the step ends");
    }
    for (size_t i = 0; i < graph.numTensors(); ++i) {
      if (!newValue[i].valid() || homeIsWritten(newValue[i]))
        continue;
      if (home[i].valid() || !kept[i])
        return bad("new value '", graph.tensor(newValue[i]).name, "' of state '", graph.tensor(TensorId(i)).name,
                   "' is not in its home when the step ends");
    }
    return {};
  }
};

} // namespace

Status validatePlan(const Graph &graph, const Machine &machine, const Plan &plan) {
  return graph.check().and_then([&] { return machine.check(); }).and_then([&] {
    return validatePlanOfChecked(graph, machine, plan);
  });
}

Status validatePlanOfChecked(const Graph &graph, const Machine &machine, const Plan &plan) {
  return Validator(graph, machine, plan).run();
}

} // namespace sluice
