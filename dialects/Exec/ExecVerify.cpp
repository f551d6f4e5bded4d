//===- ExecVerify.cpp - What a planned program must obey --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file checks the constraints C1 to C18 of the dialect's description. It shares no code with the plan validator,
// because a program may come from a file, or from a pass that changed it. The time is O((commands + slots) x (streams +
// log slots)).
//
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Exec/ProgramSymbols.h"
#include "sluice/Support/Rates.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace sluice::exec;

namespace {

constexpr int64_t kArenaAlignment = 64;

/// What the program declares, by number. C2 holds: names are declared symbols.
struct Declarations {
  SmallVector<MemoryOp> memories;
  SmallVector<DeviceOp> devices;
  SmallVector<LinkOp> links;
  SmallVector<StreamOp> streams;
  SmallVector<InputOp> inputs;
  SmallVector<OutputOp> outputs;
  llvm::StringMap<ExpertOp> experts;         ///< By operator.
  std::map<uint64_t, uint64_t> lastElements; ///< Of experts, by group.
  DeclarationNumbers numbers;

  explicit Declarations(ProgramOp program)
      : memories(program.getBody().getOps<MemoryOp>()), devices(program.getBody().getOps<DeviceOp>()),
        links(program.getBody().getOps<LinkOp>()), streams(program.getBody().getOps<StreamOp>()),
        inputs(program.getBody().getOps<InputOp>()), outputs(program.getBody().getOps<OutputOp>()), numbers(program) {
    for (ExpertOp expert : program.getBody().getOps<ExpertOp>()) {
      experts.try_emplace(expert.getOp(), expert);
      uint64_t &last = lastElements[expert.getGroup()];
      last = std::max<uint64_t>(last, expert.getElement());
    }
  }

  uint32_t memoryOfStream(uint32_t stream) {
    return numbers[devices[numbers[streams[stream].getDeviceAttr()]].getMemoryAttr()];
  }
};

LogicalResult verifyDeclarations(Declarations &known) {
  auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  for (MemoryOp memory : known.memories) {
    int64_t arena = memory.getArena();
    if (arena < 0 || (memory.getCapacity() && arena > static_cast<int64_t>(*memory.getCapacity())))
      return memory.emitOpError() << "C3: arena of " << arena << " bytes exceeds the capacity of the memory";
  }
  if (!known.memories.empty() && known.memories.front().getFile())
    return known.memories.front().emitOpError("C3: the first memory must be that of the host and not a file");
  for (DeviceOp device : known.devices) {
    if (known.memories[known.numbers[device.getMemoryAttr()]].getFile())
      return device.emitOpError("C3: must not compute in a file");
    double speed = device.getSpeed().convertToDouble();
    if (static_cast<int64_t>(device.getThreads()) < 1 || device.getThreads() > UINT32_MAX || !positive(speed))
      return device.emitOpError("C3: threads must be at least 1 and speed positive");
  }
  for (LinkOp link : known.links) {
    double rate = link.getRate().convertToDouble(), duplex = link.getDuplex().convertToDouble();
    if (!positive(rate) || !sluice::isDuplexRate(rate, duplex) || static_cast<int64_t>(link.getLatency()) < 0)
      return link.emitOpError(
          "C3: rate must be positive, duplex must be in [rate, 2 x rate] and latency must be at least 0");
    if (link.getFirst() == link.getSecond())
      return link.emitOpError("C3: a link must join two different memories");
  }
  auto verifyPort = [](auto port) -> LogicalResult {
    if (!denseBytes(cast<RankedTensorType>(port.getType())))
      return port.emitOpError("C3: needs a static shape, and an element type that ONNX has");
    return success();
  };
  for (InputOp input : known.inputs)
    if (failed(verifyPort(input)))
      return failure();
  for (OutputOp output : known.outputs)
    if (failed(verifyPort(output)))
      return failure();
  return success();
}

/// Where a slot's bytes are. Arenas, the state store and each output are
/// *areas*: address spaces in which slots may overlap.
struct Slot {
  SlotOpInterface op;
  uint32_t memory = 0;
  std::optional<uint32_t> area; ///< None: inputs and parameters, never written.
  int64_t begin = 0, end = 0;
  bool written = false;
  bool overwritten = false;
  /// Last command that touches it, per stream, and the command that wrote it.
  SmallVector<std::pair<uint32_t, uint32_t>, 2> touches; ///< (stream, command)
  uint32_t writer = 0;

  bool heldFromStart() { return op.isInitiallyHeld(); }
};

/// Checks one body, init or step, command by command in issue order.
class BodyVerifier {
public:
  /// `step`: the one that the body is of, or that it is the init of.
  BodyVerifier(ProgramOp program, Declarations &known, StepOp step) : program(program), known(known), step(step) {}

  LogicalResult run(Region &body);
  LogicalResult checkOutputsWritten();
  LogicalResult checkResident(BodyVerifier *init);

private:
  bool isFile(uint32_t memory) { return known.memories[memory].getFile(); }
  uint32_t stateArea() const { return known.memories.size(); }
  uint32_t outputArea(int64_t index) const { return known.memories.size() + 1 + index; }
  int64_t arenaBytes(uint32_t memory) {
    return step.getArenas() ? (*step.getArenas())[memory] : static_cast<int64_t>(known.memories[memory].getArena());
  }
  /// Bytes of an input or output at the step's bounds.
  int64_t portBytes(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    if (!step.getBounds() || !sluice::dataflow::symbolsOf(tensor))
      return *denseBytes(tensor);
    return *denseBytes(sluice::dataflow::typeAt(tensor, sluice::dataflow::Point(*step.getBounds())));
  }

  LogicalResult addSlot(SlotOpInterface op);
  LogicalResult addArenaSlot(SlotOp op, Slot &slot);
  LogicalResult addHome(HomeOp op, Slot &slot);
  LogicalResult checkCommand(CommandOpInterface op);
  LogicalResult checkLaunch(LaunchOp op, uint32_t stream);
  LogicalResult checkCopy(Operation *op, Value source, Value destination, int64_t bytes, FlatSymbolRefAttr linkName,
                          uint32_t stream);
  LogicalResult checkFileCopy(Operation *op, const Slot &from, const Slot &to, StreamKind kind);
  LogicalResult checkWrittenRanges(CommandOpInterface op);
  LogicalResult checkRead(Operation *op, Slot &slot);
  LogicalResult write(Operation *op, Slot &slot, uint32_t command, uint32_t stream);
  void touch(Slot &slot, uint32_t command, uint32_t stream);

  /// Whether `earlier`, on `stream`, happens before command `later`.
  bool happensBefore(uint32_t earlier, uint32_t stream, uint32_t later) const {
    return clocks[later * known.streams.size() + stream] > earlier;
  }
  Slot &slotOf(Value value) { return slots[slotIds.find(value)->second]; }
  static std::string nameOf(Slot &slot) {
    StringAttr tensor = slot.op.getHeldTensor();
    return tensor ? ("'" + tensor.getValue() + "'").str() : "workspace";
  }

  ProgramOp program;
  Declarations &known;
  StepOp step;
  SmallVector<Slot, 0> slots;
  llvm::DenseMap<Value, uint32_t> slotIds;
  llvm::DenseMap<Value, std::pair<uint32_t, uint32_t>> events; ///< -> (stream, command)
  /// Per command and stream: 1 + the last command of that stream that happens
  /// before it, itself included; 0: none.
  std::vector<uint32_t> clocks;
  std::vector<int64_t> lastOnStream;
  /// Per area: start of a range -> (its end, the slot whose bytes it last held).
  std::vector<std::map<int64_t, std::pair<int64_t, uint32_t>>> owners;
};

LogicalResult BodyVerifier::addArenaSlot(SlotOp op, Slot &slot) {
  uint32_t memory = known.numbers[op.getMemoryAttr()];
  int64_t at = op.getAt(), bytes = op.getBytes(), arena = arenaBytes(memory);
  if (at < 0 || at % kArenaAlignment || bytes < 0 || bytes > arena || at > arena - bytes)
    return op.emitOpError() << "C4: bytes [" << at << ", " << at << " + " << bytes << ") must start at a multiple of "
                            << kArenaAlignment << " and end within the arena's " << arena << " bytes";
  slot.memory = memory;
  slot.area = memory;
  slot.begin = at;
  slot.end = at + bytes;
  return success();
}

LogicalResult BodyVerifier::addHome(HomeOp op, Slot &slot) {
  int64_t position = op.getPosition(), bytes = op.getBytes();
  auto within = [&](int64_t limit, StringRef what) -> LogicalResult {
    if (position < 0 || bytes < 0 || bytes > limit || position > limit - bytes)
      return op.emitOpError() << "C5: bytes [" << position << ", " << position << " + " << bytes
                              << ") are not within the " << what << "'s " << limit << " bytes";
    slot.begin = position;
    slot.end = position + bytes;
    return success();
  };
  auto port = [&](auto &ports, StringRef what) -> LogicalResult {
    if (position < 0 || position >= static_cast<int64_t>(ports.size()))
      return op.emitOpError() << "C5: " << what << " " << position << " is not declared";
    int64_t declared = portBytes(ports[position].getType());
    if (bytes != declared)
      return op.emitOpError() << "C5: " << what << " " << position << " has " << declared << " bytes, and the slot has "
                              << bytes;
    slot.end = bytes;
    return success();
  };
  slot.memory = op.getMemory() ? known.numbers[op.getMemoryAttr()] : 0;
  if (op.getMemory() && (op.getKind() != HomeKind::Parameter || !isFile(slot.memory)))
    return op.emitOpError("C5: only the home of a parameter may name a memory, and this memory must be a file");
  switch (op.getKind()) {
  case HomeKind::Parameter:
    return within(program.getParameterBytes(), "parameter file");
  case HomeKind::Input:
    return port(known.inputs, "input");
  case HomeKind::Output:
    if (op.getResident())
      return op.emitOpError("C6: an output cannot be resident, because it has no value before the step");
    if (failed(port(known.outputs, "output")))
      return failure();
    slot.area = outputArea(position);
    return success();
  case HomeKind::State:
    slot.area = stateArea();
    return within(program.getStateBytes(), "state store");
  }
  llvm_unreachable("unknown home kind");
}

LogicalResult BodyVerifier::addSlot(SlotOpInterface op) {
  Slot slot;
  slot.op = op;
  Operation *raw = op.getOperation();
  if (auto arena = dyn_cast<SlotOp>(raw)) {
    if (failed(addArenaSlot(arena, slot)))
      return failure();
    if (arena.getResident() && !arena.getTensorAttr())
      return arena.emitOpError("C6: workspace cannot be resident");
  } else if (failed(addHome(cast<HomeOp>(raw), slot))) {
    return failure();
  }
  uint32_t id = slots.size();
  slotIds[op.getSlotValue()] = id;
  slots.push_back(std::move(slot));
  Slot &added = slots.back();
  if (!added.heldFromStart() || !added.area || added.begin == added.end)
    return success();
  // Bytes held from the start are nobody else's.
  auto &ranges = owners[*added.area];
  auto next = ranges.lower_bound(added.begin);
  if (next != ranges.begin() && std::prev(next)->second.first > added.begin)
    --next;
  if (next != ranges.end() && next->first < added.end)
    return raw->emitOpError() << "C10: resident " << nameOf(added) << " overlaps resident "
                              << nameOf(slots[next->second.second]);
  ranges.emplace(added.begin, std::pair(added.end, id));
  return success();
}

void BodyVerifier::touch(Slot &slot, uint32_t command, uint32_t stream) {
  for (auto &[touched, last] : slot.touches)
    if (touched == stream) {
      last = command;
      return;
    }
  slot.touches.emplace_back(stream, command);
}

LogicalResult BodyVerifier::checkRead(Operation *op, Slot &slot) {
  if (!slot.heldFromStart()) {
    if (!slot.written)
      return op->emitOpError() << "C7: reads " << nameOf(slot) << ", which no earlier command has written";
    auto writer = slot.touches.front(); // The first touch of a written slot is its write.
    if (!happensBefore(slot.writer, writer.first, clocks.size() / known.streams.size() - 1))
      return op->emitOpError() << "C7: reads " << nameOf(slot)
                               << ", whose write is not ordered before this command, wait for the event of the write";
  }
  if (slot.overwritten)
    return op->emitOpError() << "C7: reads " << nameOf(slot) << ", which has been overwritten";
  return success();
}

LogicalResult BodyVerifier::write(Operation *op, Slot &slot, uint32_t command, uint32_t stream) {
  if (!slot.area || slot.heldFromStart() || slot.written)
    return op->emitOpError() << "C6: writes " << nameOf(slot)
                             << (slot.written ? ", which another command has written"
                                              : ", which is resident, a parameter or an input");
  slot.written = true;
  slot.writer = command;
  touch(slot, command, stream);
  if (slot.begin == slot.end)
    return success();
  uint32_t id = slotIds.find(slot.op.getSlotValue())->second;
  auto &ranges = owners[*slot.area];
  auto next = ranges.upper_bound(slot.begin);
  if (next != ranges.begin())
    --next;
  while (next != ranges.end() && next->first < slot.end) {
    auto [begin, held] = *next;
    auto [end, previous] = held;
    if (end <= slot.begin) {
      ++next;
      continue;
    }
    Slot &old = slots[previous];
    for (auto [oldStream, last] : old.touches)
      if (!happensBefore(last, oldStream, command))
        return op->emitOpError() << "C10: writes " << nameOf(slot) << " over " << nameOf(old)
                                 << ", which an earlier command may still use, wait for the event of that command";
    old.overwritten = true;
    next = ranges.erase(next);
    if (begin < slot.begin)
      ranges.emplace(begin, std::pair(slot.begin, previous));
    if (end > slot.end)
      next = ranges.emplace(slot.end, std::pair(end, previous)).first;
  }
  ranges.emplace(slot.begin, std::pair(slot.end, id));
  return success();
}

LogicalResult BodyVerifier::checkWrittenRanges(CommandOpInterface op) {
  auto overlap = [](Slot &a, Slot &b) { return a.area && a.area == b.area && a.begin < b.end && b.begin < a.end; };
  OperandRange writes = op.getWrittenSlots();
  for (auto [i, value] : llvm::enumerate(writes)) {
    Slot &written = slotOf(value);
    for (Value other : writes.drop_front(i + 1))
      if (value == other || overlap(written, slotOf(other)))
        return op->emitOpError() << "C11: writes " << nameOf(written) << " and " << nameOf(slotOf(other))
                                 << " to the same bytes";
    for (Value read : op.getReadSlots())
      if (overlap(written, slotOf(read)) && (written.begin != slotOf(read).begin || !written.op.getHeldTensor()))
        return op->emitOpError() << "C11: writes " << nameOf(written) << " over part of " << nameOf(slotOf(read))
                                 << ", which it reads";
  }
  return success();
}

LogicalResult BodyVerifier::checkLaunch(LaunchOp op, uint32_t stream) {
  if (StreamKind kind = known.streams[stream].getKind(); kind != StreamKind::Compute && kind != StreamKind::Communicate)
    return op.emitOpError() << "C8: stream '" << op.getStream() << "' does not compute";
  uint32_t memory = known.memoryOfStream(stream);
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getReads()), SmallVector<Value>(op.getWrites())))
    if (slotOf(value).memory != memory)
      return op.emitOpError() << "C8: " << nameOf(slotOf(value)) << " is not in memory '"
                              << known.memories[memory].getRuntimeName() << "' of the stream's device";
  const ExpertOp expert = known.experts.lookup(op.getOp());
  if (!expert)
    return success();
  const uint64_t mask = ExpertOp(expert).getMask();
  // The runtime reads the mask for the whole group.
  const uint64_t last = known.lastElements.at(ExpertOp(expert).getGroup());
  Slot *const flags = mask < op.getReads().size() ? &slotOf(op.getReads()[mask]) : nullptr;
  if (known.devices[known.numbers[known.streams[stream].getDeviceAttr()]].getKind() != DeviceKind::Cpu || !flags ||
      static_cast<uint64_t>(flags->end - flags->begin) <= last)
    return op.emitOpError() << "C18: expert '" << op.getOp() << "' must run on a CPU and read a mask of at least "
                            << last + 1 << " elements, one for each expert of its group";
  return success();
}

LogicalResult BodyVerifier::checkCopy(Operation *op, Value source, Value destination, int64_t bytes,
                                      FlatSymbolRefAttr linkName, uint32_t stream) {
  Slot &from = slotOf(source), &to = slotOf(destination);
  if (!from.op.getHeldTensor() || from.op.getHeldTensor() != to.op.getHeldTensor())
    return op->emitOpError() << "C9: copies " << nameOf(from) << " to " << nameOf(to)
                             << ", which is a slot of another tensor";
  if (bytes < 0 || bytes > from.end - from.begin || bytes > to.end - to.begin)
    return op->emitOpError() << "C9: copies " << bytes
                             << " bytes, which is more than the size of its source or destination slot";
  LinkOp link = known.links[known.numbers[linkName]];
  uint32_t first = known.numbers[link.getFirstAttr()], second = known.numbers[link.getSecondAttr()];
  if (!((first == from.memory && second == to.memory) || (first == to.memory && second == from.memory)))
    return op->emitOpError() << "C9: link '" << linkName.getValue() << "' does not join memories '"
                             << known.memories[from.memory].getRuntimeName() << "' and '"
                             << known.memories[to.memory].getRuntimeName() << "'";
  StreamKind kind = known.streams[stream].getKind();
  if (isa<ReadOp, WriteOp>(op) || isFile(from.memory) || isFile(to.memory))
    return checkFileCopy(op, from, to, kind);
  bool directionHolds = isa<SwapInOp>(op)    ? from.memory == 0 && to.memory != 0
                        : isa<SwapOutOp>(op) ? from.memory != 0 && to.memory == 0
                                             : from.memory != 0 && to.memory != 0;
  if (!directionHolds)
    return op->emitOpError("C9: swap_in must copy from the host's memory, swap_out must copy to the host's memory, and "
                           "copy must join two other memories");
  uint32_t memory = known.memoryOfStream(stream);
  const bool copies = kind == StreamKind::Compute || kind == StreamKind::In || kind == StreamKind::Out;
  bool streamHolds =
      memory != 0 && copies &&
      ((kind != StreamKind::Out && memory == to.memory) || (kind != StreamKind::In && memory == from.memory));
  if (!streamHolds)
    return op->emitOpError() << "C9: stream '" << known.streams[stream].getSymName()
                             << "' must be of kind in or compute on the destination's device, or of kind out or "
                                "compute on the source's device";
  return success();
}

LogicalResult BodyVerifier::checkFileCopy(Operation *op, const Slot &from, const Slot &to, StreamKind kind) {
  const bool reads = isa<ReadOp>(op) && isFile(from.memory) && !isFile(to.memory);
  const bool writes = isa<WriteOp>(op) && isFile(to.memory) && !isFile(from.memory);
  if (!reads && !writes)
    return op->emitOpError("C9: only exec.read may read from a file, only exec.write may write to a file, and the "
                           "other end must not be a file");
  if (kind != (reads ? StreamKind::FileIn : StreamKind::FileOut))
    return op->emitOpError() << "C9: must be on a stream of kind " << (reads ? "file_in" : "file_out");
  return success();
}

LogicalResult BodyVerifier::checkCommand(CommandOpInterface op) {
  // Dominance is verified after us.
  for (Value operand : op->getOperands())
    if (!slotIds.contains(operand) && !events.contains(operand))
      return op->emitOpError("C1: uses a value that neither a slot nor an earlier command of this body defines");
  uint32_t stream = known.numbers[op.getStreamRef()];
  size_t numStreams = known.streams.size();
  uint32_t command = clocks.size() / numStreams;
  clocks.resize(clocks.size() + numStreams, 0);
  uint32_t *clock = &clocks[command * numStreams];
  auto join = [&](uint32_t earlier) {
    for (size_t s = 0; s < numStreams; ++s)
      clock[s] = std::max(clock[s], clocks[earlier * numStreams + s]);
  };
  if (lastOnStream[stream] >= 0)
    join(lastOnStream[stream]);
  for (Value wait : op.getWaitEvents()) {
    auto [waitStream, waitCommand] = events.find(wait)->second;
    if (waitStream == stream)
      return op->emitOpError("C12: waits for an earlier command of the same stream, which needs no wait");
    join(waitCommand);
  }
  clock[stream] = command + 1;
  lastOnStream[stream] = command;
  events[op.getEventValue()] = {stream, command};

  LogicalResult shape = llvm::TypeSwitch<Operation *, LogicalResult>(op.getOperation())
                            .Case([&](LaunchOp launch) { return checkLaunch(launch, stream); })
                            .Case<SwapInOp, SwapOutOp, CopyOp, ReadOp, WriteOp>([&](auto copy) {
                              return checkCopy(copy, copy.getSource(), copy.getDestination(), copy.getBytes(),
                                               copy.getLinkAttr(), stream);
                            })
                            .Default([](Operation *) { return success(); });
  if (failed(shape) || failed(checkWrittenRanges(op)))
    return failure();
  for (Value value : op.getReadSlots()) {
    if (failed(checkRead(op, slotOf(value))))
      return failure();
    touch(slotOf(value), command, stream);
  }
  for (Value value : op.getWrittenSlots())
    if (failed(write(op, slotOf(value), command, stream)))
      return failure();
  return success();
}

LogicalResult BodyVerifier::run(Region &body) {
  if (body.front().getNumArguments() != 0)
    return body.getParentOp()->emitOpError("C1: a body must not have arguments");
  owners.resize(known.memories.size() + 1 + known.outputs.size());
  lastOnStream.assign(known.streams.size(), -1);
  // Resident bytes are taken before the first command, wherever they are named.
  for (Operation &op : body.getOps())
    if (auto slot = dyn_cast<SlotOpInterface>(&op); slot && failed(addSlot(slot)))
      return failure();
  for (Operation &op : body.getOps()) {
    if (auto command = dyn_cast<CommandOpInterface>(&op)) {
      if (failed(checkCommand(command)))
        return failure();
    } else if (!isa<SlotOpInterface>(&op)) {
      return op.emitOpError("C1: only slots and commands are allowed in the bodies of a program");
    }
  }
  return success();
}

LogicalResult BodyVerifier::checkOutputsWritten() {
  for (auto [index, output] : llvm::enumerate(known.outputs)) {
    bool whole = llvm::any_of(slots, [&, index = index](Slot &slot) {
      return slot.area == outputArea(index) && slot.written && !slot.overwritten;
    });
    if (!whole)
      return step.emitOpError() << "C13: output " << index << " '" << output.getTensor() << "' is never written";
  }
  return success();
}

LogicalResult BodyVerifier::checkResident(BodyVerifier *init) {
  std::map<std::pair<uint32_t, int64_t>, Slot *> loaded;
  if (init)
    for (Slot &slot : init->slots)
      if (slot.area && slot.written && !slot.overwritten && slot.begin < slot.end)
        loaded[{*slot.area, slot.begin}] = &slot;
  std::set<llvm::StringRef> replaced;
  for (Slot &slot : slots)
    if (StringAttr state = slot.op.getReplaced())
      replaced.insert(state.getValue());
  for (Slot &slot : slots) {
    // One without bytes has nothing to keep, and may share its address.
    if (!slot.heldFromStart() || !slot.area || slot.begin == slot.end)
      continue;
    auto sameTensor = [&](Slot &other) {
      return other.begin == slot.begin &&
             (other.op.getHeldTensor() == slot.op.getHeldTensor() || other.op.getReplaced() == slot.op.getHeldTensor());
    };
    auto &ranges = owners[*slot.area];
    auto held = ranges.upper_bound(slot.begin);
    if (held != ranges.begin())
      --held;
    for (; held != ranges.end() && held->first < slot.end; ++held) {
      auto [end, holder] = held->second;
      if (end > slot.begin && !sameTensor(slots[holder]))
        return slot.op->emitOpError() << "C14: " << nameOf(slot) << " is resident, and " << nameOf(slots[holder])
                                      << " is at its address when the step ends";
      if (end > slot.begin && *slot.area != stateArea() && replaced.count(slot.op.getHeldTensor()) &&
          slots[holder].op.getReplaced() != slot.op.getHeldTensor())
        return slot.op->emitOpError()
               << "C14: " << nameOf(slot)
               << " is resident, and at the end of the step its address holds something other than its new value";
    }
    if (*slot.area == stateArea())
      continue;
    auto load = loaded.find({*slot.area, slot.begin});
    if (load == loaded.end() || load->second->end != slot.end ||
        load->second->op.getHeldTensor() != slot.op.getHeldTensor())
      return slot.op->emitOpError() << "C14: " << nameOf(slot) << " is resident, and init does not load it";
  }
  return success();
}

/// C18, without launches.
LogicalResult verifyExperts(ProgramOp program, const Declarations &known) {
  constexpr int64_t kBlock = 4096;
  auto experts = llvm::to_vector(program.getBody().getOps<ExpertOp>());
  if (experts.empty() == program.getExpertSlots().has_value())
    return program.emitOpError("C18: has experts without slots or slots without experts, give both or none");
  if (experts.empty())
    return success();
  if (llvm::none_of(known.memories, [](MemoryOp memory) { return memory.getFile(); }))
    return experts.front().emitOpError(
        "C18: is an expert of a program without a memory of kind file, declare a memory of kind file");
  llvm::StringSet<> names;
  for (auto [i, expert] : llvm::enumerate(experts)) {
    const auto group = static_cast<int64_t>(expert.getGroup()), element = static_cast<int64_t>(expert.getElement());
    const auto order = std::pair(group, element);
    if (group < 0 || group > UINT32_MAX || element < 0 || element > UINT32_MAX || expert.getMask() > UINT32_MAX ||
        !names.insert(expert.getOp()).second ||
        (i > 0 && order <= std::pair(static_cast<int64_t>(experts[i - 1].getGroup()),
                                     static_cast<int64_t>(experts[i - 1].getElement()))))
      return expert.emitOpError("C18: has a group or an element that is out of range or out of order, or an operator "
                                "that an earlier expert names");
    const auto position = static_cast<int64_t>(expert.getPosition()), bytes = static_cast<int64_t>(expert.getBytes());
    const auto most = static_cast<int64_t>(program.getParameterBytes());
    if (position < 0 || position % kBlock != 0 || bytes < 1 || bytes > most || position > most - bytes ||
        bytes > INT64_MAX - kBlock)
      return expert.emitOpError() << "C18: bytes [" << position << ", " << position << " + " << bytes
                                  << ") must start at a multiple of " << kBlock
                                  << " and end within the parameter file's " << most << " bytes";
  }
  MemoryOp host = known.memories.front();
  const auto slots = static_cast<int64_t>(*program.getExpertSlots());
  const int64_t room = (host.getCapacity() ? static_cast<int64_t>(*host.getCapacity()) : INT64_MAX) -
                       static_cast<int64_t>(host.getArena());
  if (slots < 1 || slots > UINT32_MAX)
    return program.emitOpError() << "C18: " << slots << " slots are out of range, give 1 to " << UINT32_MAX;
  if (slots > room / program.getExpertSlotBytes())
    return program.emitOpError() << "C18: " << slots << " slots of " << program.getExpertSlotBytes()
                                 << " bytes do not fit into the host's memory in addition to the arena of "
                                 << host.getArena() << " bytes, give fewer slots";
  return success();
}

/// Steps, inits, and what they say of symbols and arenas.
LogicalResult verifyBodies(ProgramOp program, const Declarations &known, ArrayRef<ProgramSymbol> symbols) {
  auto steps = llvm::to_vector(program.getBody().getOps<StepOp>());
  auto inits = llvm::to_vector(program.getBody().getOps<InitOp>());
  const auto unbounded = llvm::find_if(steps, [](StepOp step) { return !step.getBounds(); });
  if (unbounded == steps.end() || std::next(unbounded) != steps.end() || known.memories.empty())
    return program.emitOpError("C1: needs at least one memory, and a last step that is the only one without bounds");
  for (auto [i, step] : llvm::enumerate(steps)) {
    for (StepOp other : ArrayRef(steps).take_front(i))
      if (other.getBoundsAttr() == step.getBoundsAttr())
        return step.emitOpError("C17: has the same bounds as an earlier step");
    if (step.getBounds().has_value() != step.getArenas().has_value())
      return step.emitOpError("C17: must have both bounds and arenas, or neither");
    if (!step.getBounds())
      continue;
    const ArrayRef<int64_t> bounds = *step.getBounds(), arenas = *step.getArenas();
    if (bounds.size() != symbols.size() || arenas.size() != known.memories.size())
      return step.emitOpError() << "C17: has " << bounds.size() << " bounds and " << arenas.size()
                                << " arenas, and the program has " << symbols.size() << " symbols and "
                                << known.memories.size() << " memories";
    for (auto [bound, symbol] : llvm::zip(bounds, symbols))
      if (bound < symbol.least || bound > symbol.most || (bound - symbol.least) % symbol.step != 0)
        return step.emitOpError() << "C17: bound " << bound << " is not a value of symbol '" << symbol.name
                                  << "', which has values from " << symbol.least << " to " << symbol.most
                                  << " in steps of " << symbol.step;
    for (auto [arena, memory] : llvm::zip(arenas, known.memories))
      if (arena < 0 || arena > static_cast<int64_t>(MemoryOp(memory).getArena()))
        return step.emitOpError() << "C17: arena of " << arena << " bytes must be from 0 to "
                                  << MemoryOp(memory).getArena() << ", the size of the program's arena in memory '"
                                  << MemoryOp(memory).getRuntimeName() << "'";
  }
  for (auto [i, init] : llvm::enumerate(inits)) {
    auto isSame = [bounds = InitOp(init).getBoundsAttr()](auto other) { return other.getBoundsAttr() == bounds; };
    if (llvm::none_of(steps, isSame) || llvm::any_of(ArrayRef(inits).take_front(i), isSame))
      return init.emitOpError("C1: must have the bounds of a step, and no other init may have the same bounds");
  }
  return success();
}

} // namespace

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : getBody().getOps())
    if (!isa<MemoryOp, DeviceOp, LinkOp, StreamOp, InputOp, OutputOp, StateOp, ExpertOp, InitOp, StepOp>(&op))
      return op.emitOpError("C1: does not belong in a program");
  Declarations known(*this);
  if (getParameterBytes() > INT64_MAX || getStateBytes() > INT64_MAX)
    return emitOpError("C3: parameter and state bytes must not be negative");
  if (getStateInitial() &&
      (*getStateInitial() > getParameterBytes() || getParameterBytes() - *getStateInitial() > getStateBytes()))
    return emitOpError("C3: the initial contents of the states must be inside the parameter file and must not be "
                       "larger than the state store (the memory of all states)");
  if (getSends()) {
    const auto others = static_cast<size_t>(llvm::count(*getSends(), -1));
    if (getSends()->size() < 2 || llvm::any_of(*getSends(), [](int64_t bytes) { return bytes < -1; }) ||
        (others > 0 && others + 1 != getSends()->size()))
      return emitOpError("C3: 'sends' must list the bytes for each of at least two ranks: numbers from 0, or one "
                         "number from 0 and -1 for all ranks that do not run this program");
  }
  for (StateOp state : getBody().getOps<StateOp>()) {
    if (std::optional<ArrayRef<int64_t>> cuts = state.getCuts()) {
      const int64_t rank =
          isa<RankedTensorType>(state.getType()) ? cast<RankedTensorType>(state.getType()).getRank() : 0;
      for (size_t i = 0; i < cuts->size(); i += 3)
        if (i + 3 > cuts->size() || (*cuts)[i] < 0 || (*cuts)[i] >= rank || (*cuts)[i + 1] < 2 || (*cuts)[i + 2] < 1)
          return state.emitOpError()
                 << "C3: '" << state.getTensor()
                 << "' must list its cuts as triples: a dimension of the state, a count of at least 2 and a "
                    "stride of at least 1";
    }
    if (std::optional<ArrayRef<int64_t>> blocks = state.getCutBlocks()) {
      if (!state.getCuts() || blocks->size() != state.getCuts()->size() / 3 ||
          llvm::any_of(*blocks, [](int64_t count) { return count < 1; }))
        return state.emitOpError() << "C3: '" << state.getTensor()
                                   << "' must list a number of blocks of at least 1 for each of its cuts";
      for (auto [i, count] : llvm::enumerate(*blocks)) {
        const int64_t dim = (*state.getCuts())[3 * i], extent = cast<RankedTensorType>(state.getType()).getDimSize(dim);
        if (extent % count != 0)
          return state.emitOpError() << "C3: '" << state.getTensor() << "' has an extent of " << extent
                                     << " in dimension " << dim
                                     << ", which must be a multiple of its number of blocks, " << count;
      }
    }
    auto type = dyn_cast<RankedTensorType>(state.getType());
    std::optional<int64_t> bytes = type ? denseBytes(type) : std::nullopt;
    if (!bytes || !onnxElementType(type.getElementType()))
      return state.emitOpError() << "C3: '" << state.getTensor() << "' has no static size";
    if (state.getPosition() > getStateBytes() || *bytes > static_cast<int64_t>(getStateBytes() - state.getPosition()))
      return state.emitOpError() << "C5: '" << state.getTensor()
                                 << "' exceeds the state store (the memory of all states), whose size in bytes is "
                                 << getStateBytes();
  }
  if (failed(verifyDeclarations(known)) || failed(verifyExperts(*this, known)))
    return failure();
  FailureOr<SmallVector<ProgramSymbol>> symbols = findSymbols(*this);
  if (failed(symbols) || failed(verifyBodies(*this, known, *symbols)))
    return failure();
  for (StepOp step : getBody().getOps<StepOp>()) {
    std::optional<BodyVerifier> init;
    if (InitOp before = getInit(step)) {
      for (Operation &op : before.getBody().getOps())
        if (isa<LaunchOp>(&op))
          return op.emitOpError("C15: init may contain only copies");
      if (failed(init.emplace(*this, known, step).run(before.getBody())))
        return failure();
    }
    BodyVerifier body(*this, known, step);
    if (failed(body.run(step.getBody())) || failed(body.checkOutputsWritten()) ||
        failed(body.checkResident(init ? &*init : nullptr)))
      return failure();
  }
  return success();
}
