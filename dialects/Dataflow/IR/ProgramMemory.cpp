//===- ProgramMemory.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ProgramMemory.h"

using namespace mlir;

namespace sluice::dataflow {

namespace {

class Describer {
public:
  Describer(ProgramsOpInterface op, Block &program)
      : program(program), yield(cast<YieldOp>(program.getTerminator())), places(op.getYieldPlaces(program)),
        areConcurrent(op.areConcurrent()) {
    for (Operation &member : program.without_terminator())
      if (!isa<ReshapeOp, ConstantOp>(member)) {
        position[&member] = static_cast<int64_t>(memory.operators.size());
        memory.operators.push_back(&member);
      }
    end = static_cast<int64_t>(memory.operators.size());
    for (Operation &member : program)
      for (Value operand : member.getOperands())
        noteUse(viewedValue(operand), member);
    if (int64_t bytes = op.getOwnBytes(program))
      memory.own = add({0, end + kMoves, bytes});
  }

  ProgramMemory run() {
    for (unsigned i = 0; i < yield.getNumOperands(); ++i)
      memory.moves.push_back(chooseMove(i));
    for (Operation *member : memory.operators) {
      const int64_t at = areConcurrent ? 0 : position[member], after = areConcurrent ? end : at + 1;
      for (Value result : member->getResults())
        if (!memory.writtenTo.contains(result))
          memory.ofValue[result] =
              add({at, std::max(lastUse.lookup(result) + 1, after), tensorBytes(result.getType())});
      if (int64_t bytes = cast<CostOpInterface>(member).getWorkspaceBytes())
        memory.ofWorkspace[member] = add({at, after, bytes});
    }
    for (auto [i, move] : llvm::enumerate(memory.moves))
      if (move == YieldMove::Saved)
        memory.ofSaved[i] = add({end, end + kMoves, tensorBytes(yield.getOperand(i).getType())});
    return std::move(memory);
  }

private:
  /// Values are saved first, and copied then.
  static constexpr int64_t kMoves = 2;

  void noteUse(Value value, Operation &user) {
    if (isa<ReshapeOp>(user))
      return;
    // The terminator reads when all others have run.
    const int64_t at = &user == yield ? end + kMoves - 1 : position.lookup(&user);
    int64_t &last = lastUse.try_emplace(value, -1).first->second;
    last = std::max(last, at);
  }

  unsigned add(ProgramBuffer buffer) {
    memory.buffers.push_back(buffer);
    return static_cast<unsigned>(memory.buffers.size() - 1);
  }

  /// Whether operator `writer` may write to an argument's memory: everything else has read it before, and the operator
  /// itself reads each element just before it writes that.
  bool isFree(BlockArgument argument, Operation *writer) {
    if (!lastUse.contains(argument))
      return true;
    const int64_t last = lastUse.lookup(argument), at = position.lookup(writer);
    if (last != at)
      return last < at;
    SmallVector<unsigned> overwritable = overwritableOperands(writer);
    return llvm::all_of(writer->getOpOperands(), [&](OpOperand &operand) {
      return viewedValue(operand.get()) != argument || llvm::is_contained(overwritable, operand.getOperandNumber());
    });
  }

  YieldMove chooseMove(unsigned number) {
    const int64_t place = places[number];
    if (place == ProgramsOpInterface::kNoMemory)
      return YieldMove::None;
    Value value = viewedValue(yield.getOperand(number));
    BlockArgument target = place >= 0 ? program.getArgument(static_cast<unsigned>(place)) : BlockArgument();
    if (value == target)
      return YieldMove::None;
    if (Operation *producer = value.getDefiningOp()) {
      if (memory.writtenTo.contains(value) || (target && !isFree(target, producer)))
        return YieldMove::Copied;
      memory.writtenTo[value] = number;
      return YieldMove::Written;
    }
    const bool isElsewhere =
        llvm::is_contained(places, static_cast<int64_t>(cast<BlockArgument>(value).getArgNumber()));
    return isElsewhere ? YieldMove::Saved : YieldMove::Copied;
  }

  Block &program;
  YieldOp yield;
  SmallVector<int64_t> places;
  ProgramMemory memory;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Value, int64_t> lastUse;
  bool areConcurrent;
  int64_t end = 0;
};

std::vector<ProgramMemory> describeAll(ProgramsOpInterface op) {
  std::vector<ProgramMemory> all;
  for (Region &region : op->getRegions())
    all.push_back(describeProgram(op, region.front()));
  return all;
}

} // namespace

ProgramMemory describeProgram(ProgramsOpInterface op, Block &program) { return Describer(op, program).run(); }

SmallVector<int64_t> programOffsets(ProgramsOpInterface op) {
  if (ArrayRef<int64_t> chosen = op.getBufferOffsets(); !chosen.empty())
    return SmallVector<int64_t>(chosen);
  SmallVector<int64_t> offsets;
  for (const ProgramMemory &memory : describeAll(op)) {
    Count next = 0;
    for (const ProgramBuffer &buffer : memory.buffers) {
      offsets.push_back(next);
      next = (next + buffer.bytes + (kProgramAlignment - 1)) / kProgramAlignment * kProgramAlignment;
    }
  }
  return offsets;
}

int64_t programBytes(ProgramsOpInterface op) {
  SmallVector<int64_t> offsets = programOffsets(op);
  Count bytes = 0;
  size_t next = 0;
  for (const ProgramMemory &memory : describeAll(op))
    for (const ProgramBuffer &buffer : memory.buffers)
      bytes = std::max(bytes, Count(offsets[next++]) + buffer.bytes);
  return bytes;
}

LogicalResult verifyProgramOffsets(ProgramsOpInterface op) {
  ArrayRef<int64_t> offsets = op.getBufferOffsets();
  if (offsets.empty())
    return success();
  size_t count = 0;
  for (const ProgramMemory &memory : describeAll(op)) {
    ArrayRef<ProgramBuffer> buffers = memory.buffers;
    if (offsets.size() < count + buffers.size())
      return op->emitOpError("has only ") << offsets.size() << " offsets, give one offset for each buffer";
    ArrayRef<int64_t> own = offsets.slice(count, buffers.size());
    count += buffers.size();
    // By address, as those that share bytes are few.
    auto order = llvm::to_vector(llvm::seq<size_t>(0, own.size()));
    llvm::stable_sort(order, [&](size_t a, size_t b) { return own[a] < own[b]; });
    for (size_t i = 0; i < order.size(); ++i) {
      const ProgramBuffer &one = buffers[order[i]];
      if (own[order[i]] < 0 || own[order[i]] % kProgramAlignment != 0)
        return op->emitOpError("has offset ") << own[order[i]] << ", which is not a multiple of " << kProgramAlignment;
      for (size_t j = i + 1; j < order.size() && own[order[j]] < Count(own[order[i]]) + one.bytes; ++j)
        if (const ProgramBuffer &other = buffers[order[j]];
            other.bytes > 0 && other.lower < one.upper && one.lower < other.upper)
          return op->emitOpError("has buffers at ")
                 << own[order[i]] << " and " << own[order[j]] << " that overlap while both are in use";
    }
  }
  if (count != offsets.size())
    return op->emitOpError("has ") << offsets.size() << " offsets for " << count
                                   << " buffers, give one offset for each buffer";
  return success();
}

} // namespace sluice::dataflow
