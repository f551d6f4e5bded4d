//===- Fuse.cpp - Operators that run as one kernel ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_FUSEPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

/// Kernels beyond this size gain nothing and compile slowly.
constexpr size_t kMaxMembers = 48;

/// A future kernel: members in program order, the last one's result is what
/// leaves it.
struct Group {
  SmallVector<Operation *> members;
  Operation *anchor = nullptr;
  bool isElementwise = true; ///< All members but the anchor.
  bool isLoad = false;       ///< All members are as cheap as a load.
  size_t index = 0;          ///< Among all groups.
};

class Grouping {
public:
  explicit Grouping(Block &block) : constants(block) {
    for (Operation &op : block.without_terminator())
      if (constants.runs(&op))
        place(&op);
  }

  /// Groups of more than one member.
  SmallVector<Group *> fused() {
    SmallVector<Group *> result;
    for (std::unique_ptr<Group> &group : groups)
      if (group && group->members.size() > 1)
        result.push_back(group.get());
    return result;
  }

private:
  void place(Operation *op) {
    auto owned = std::make_unique<Group>();
    Group *group = owned.get();
    group->members.push_back(op);
    if (isa<KernelOpInterface>(op))
      group->anchor = op;
    else
      group->isElementwise = isa<ElementwiseOpInterface>(op);
    group->isLoad = op->hasTrait<AsCheapAsLoad>();
    group->index = groups.size();
    groups.push_back(std::move(owned));
    groupOf[op] = group;
    SmallVector<OpOperand *> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (producer && groupOf.count(producer) && operand.get().hasOneUse() && producer->getNumResults() == 1)
        operands.push_back(&operand);
    }
    // The latest first. Who joins runs later, and keeps what it reads until
    // then: a sum of many products takes each as it comes, rather than the first
    // once all others are there.
    llvm::stable_sort(operands, [](OpOperand *a, OpOperand *c) {
      return c->get().getDefiningOp()->isBeforeInBlock(a->get().getDefiningOp());
    });
    for (OpOperand *operand : operands) {
      Group *from = groupOf[operand->get().getDefiningOp()];
      if (from != group && canJoin(*from, *group, op, operand->getOperandNumber(), operand->get()))
        join(from, group);
    }
    for (OpOperand *operand : operands) {
      Group *from = groupOf[operand->get().getDefiningOp()];
      if (from != group && canLoad(*from, *group))
        join(from, group);
    }
  }

  /// Whether a consumer that has no form for vectors computes what it would load else, however often it reads that: a
  /// gather whose result it broadcasts, or the indices of a gather.
  static bool canLoad(const Group &from, const Group &to) {
    return from.isLoad && !to.anchor && !to.isElementwise && (to.isLoad || to.members.size() > 1) &&
           from.members.size() + to.members.size() <= kMaxMembers;
  }

  static bool canJoin(const Group &from, const Group &to, Operation *consumer, unsigned index, Value value) {
    if (from.members.size() + to.members.size() > kMaxMembers)
      return false;
    if (!isa<ElementwiseOpInterface, ElementalOpInterface, KernelOpInterface>(value.getDefiningOp()) ||
        value.getDefiningOp()->hasAttr(DataflowDialect::MaterializedAttrHelper::getNameStr()))
      return false;
    if (isa<ElementwiseOpInterface>(consumer)) {
      // One element of the consumer reads one of the value.
      if (!haveSameShape(value.getType(), consumer->getResult(0).getType()))
        return false;
      if (from.anchor && to.anchor)
        return false;
      if (from.anchor && !cast<KernelOpInterface>(from.anchor).allowsEpilogue())
        return false;
      // A library's result becomes the epilogue's in its place.
      auto library = dyn_cast_or_null<LibraryOpInterface>(from.anchor);
      if (library && library.getLibrary() && value.getType() != consumer->getResult(0).getType())
        return false;
      // An epilogue runs on vectors: only element-wise members have that form.
      if ((from.anchor || to.anchor) && !(from.isElementwise && to.isElementwise))
        return false;
      return true;
    }
    if (auto kernel = dyn_cast<KernelOpInterface>(consumer))
      return !from.anchor && ((from.isElementwise && kernel.allowsPrologue(index)) ||
                              (from.members.size() == 1 && readsCache(kernel, index, value)));
    return false;
  }

  /// Whether an operand is the leading part of a state that grows, which the kernel reads where it lies.
  static bool readsCache(KernelOpInterface kernel, unsigned index, Value value) {
    auto slice = value.getDefiningOp<SliceOp>();
    return slice && isLeadingSlice(slice) &&
           isa_and_present<StateOp, InsertOp>(viewedValue(slice.getInput()).getDefiningOp()) &&
           kernel.readsSlice(index);
  }

  void join(Group *from, Group *to) {
    SmallVector<Operation *> merged;
    std::merge(from->members.begin(), from->members.end(), to->members.begin(), to->members.end(),
               std::back_inserter(merged), [](Operation *a, Operation *c) { return a->isBeforeInBlock(c); });
    to->members = std::move(merged);
    // A slice that the kernel reads where it lies is no part of its loops.
    const bool isRead = from->members.size() == 1 && isa<SliceOp>(from->members.front()) && to->anchor;
    to->isElementwise &= from->isElementwise || isRead;
    to->isLoad &= from->isLoad;
    if (from->anchor)
      to->anchor = from->anchor;
    for (Operation *op : from->members)
      groupOf[op] = to;
    groups[from->index].reset();
  }

  ConstantExpressions constants;
  std::vector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;
};

bool isSplat(Value value) {
  auto dense = dyn_cast_if_present<DenseElementsAttr>(getConstant(value));
  return dense && dense.isSplat();
}

/// Moves a group's members into one fused operator at the last one's place.
void outline(const Group &group) {
  Operation *last = group.members.back();
  llvm::SmallPtrSet<Operation *, 16> members(group.members.begin(), group.members.end());
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> splats;
  for (Operation *op : group.members)
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && members.contains(producer))
        continue;
      // Contractions read their operands from memory.
      if (op != group.anchor && isSplat(operand))
        splats.insert(producer);
      else
        inputs.insert(operand);
    }
  OpBuilder b(last);
  SmallVector<Location> locations;
  for (Operation *op : group.members)
    locations.push_back(op->getLoc());
  auto fused =
      FusedOp::create(b, FusedLoc::get(b.getContext(), locations), last->getResultTypes(), inputs.getArrayRef());
  Block *body = b.createBlock(&fused.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  b.setInsertionPointToStart(body);
  for (Operation *op : splats)
    if (!inputs.contains(op->getResult(0)))
      b.clone(*op, mapping);
  for (Operation *op : group.members) {
    // An operand may be both: a splat here, an argument of the anchor there.
    IRMapping own = mapping;
    for (Value operand : op->getOperands())
      if (op != group.anchor && isSplat(operand) && inputs.contains(operand))
        own.map(operand, b.clone(*operand.getDefiningOp())->getResult(0));
    Operation *copy = b.clone(*op, own);
    mapping.map(op->getResults(), copy->getResults());
  }
  SmallVector<Value> results;
  for (Value result : last->getResults())
    results.push_back(mapping.lookup(result));
  YieldOp::create(b, last->getLoc(), results);
  last->replaceAllUsesWith(fused.getResults());
  for (Operation *op : llvm::reverse(group.members))
    op->erase();
}

/// Gives the programs of an operator their constants from outside, where parameters are.
class ConstantHoister {
public:
  explicit ConstantHoister(ProgramsOpInterface op) : op(op), b(op) {}

  void run() {
    for (Region &region : op->getRegions()) {
      Block &program = region.front();
      llvm::SetVector<Value> wanted;
      ConstantExpressions constants(program);
      for (Operation &member : program)
        if (&member == program.getTerminator() || constants.runs(&member))
          for (Value operand : member.getOperands())
            if (constants.contains(operand))
              wanted.insert(operand);
      for (Value value : wanted) {
        op.capture(outside(value));
        value.replaceUsesWithIf(program.getArguments().back(), [&](OpOperand &use) {
          return use.getOwner() == program.getTerminator() || constants.runs(use.getOwner());
        });
      }
    }
  }

private:
  Value outside(Value value) {
    if (Value known = copies.lookupOrNull(value))
      return known;
    Operation *producer = value.getDefiningOp();
    for (Value operand : producer->getOperands())
      outside(operand);
    b.clone(*producer, copies);
    return copies.lookup(value);
  }

  ProgramsOpInterface op;
  OpBuilder b;
  IRMapping copies;
};

/// Gives the next values of states operators of their own where these would overwrite a state too early. One place
/// holds both values, so all other readers of a state come before the operator that writes its next value.
class StateWrites {
public:
  explicit StateWrites(func::FuncOp function) : function(function), block(function.getBody().front()) {}

  void run() {
    llvm::StringMap<StateOp> states;
    for (StateOp state : block.getOps<StateOp>())
      states[state.getName()] = state;
    Operation *terminator = block.getTerminator();
    for (OpOperand &operand : terminator->getOpOperands()) {
      const StringAttr name = updatedState(function, operand.getOperandNumber());
      StateOp state = name ? states.lookup(name.getValue()) : StateOp();
      Operation *writer = viewedValue(operand.get()).getDefiningOp();
      if (!state || !writer)
        continue;
      SmallVector<Operation *> readers = readersOf(state);
      if (!isTooEarly(state, writer, readers)) {
        for (Operation *reader : readers)
          if (reader != writer)
            behind[reader].push_back(writer);
        continue;
      }
      OpBuilder b(terminator);
      b.setInsertionPointAfter(lastOf(operand.get(), readers));
      operand.set(CopyOp::create(b, operand.get().getLoc(), operand.get()));
    }
  }

private:
  /// The last of a state's readers, of the operators that read its next value, and of those that make it. A copy that
  /// comes right after it needs no memory of its own, and nothing stays in memory until the step ends.
  Operation *lastOf(Value next, ArrayRef<Operation *> readers) {
    Operation *last = next.getDefiningOp();
    auto take = [&](Operation *op) {
      if (Operation *outer = block.findAncestorOpInBlock(*op); outer && last->isBeforeInBlock(outer))
        last = outer;
    };
    llvm::for_each(readers, take);
    llvm::for_each(readersOf(viewedValue(next)), take);
    return last;
  }

  /// Operators that read a value's memory.
  static SmallVector<Operation *> readersOf(Value value) {
    SmallVector<Operation *> readers;
    for (Operation *user : value.getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        llvm::append_range(readers, readersOf(reshape.getResult()));
      else if (!user->hasTrait<OpTrait::IsTerminator>() && !llvm::is_contained(readers, user))
        readers.push_back(user);
    }
    return readers;
  }

  bool isTooEarly(StateOp state, Operation *writer, ArrayRef<Operation *> readers) {
    const SmallVector<unsigned> overwritable = overwritableOperands(writer);
    for (OpOperand &operand : writer->getOpOperands())
      if (viewedValue(operand.get()) == state.getResult() &&
          !llvm::is_contained(overwritable, operand.getOperandNumber()))
        return true;
    // Another reader that runs behind the writer would read the next value.
    llvm::SetVector<Operation *> later;
    later.insert(writer);
    for (size_t i = 0; i < later.size(); ++i) {
      for (Value result : later[i]->getResults())
        later.insert_range(readersOf(result));
      if (auto found = behind.find(later[i]); found != behind.end())
        later.insert_range(found->second);
    }
    return llvm::any_of(readers, [&](Operation *reader) { return reader != writer && later.contains(reader); });
  }

  func::FuncOp function;
  Block &block;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> behind; ///< Writers that come after a reader of their state.
};

struct Fuse : sluice::impl::FusePassBase<Fuse> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    copyResults(block);
    fuse(block);
    StateWrites(getOperation()).run();
  }

  static void fuse(Block &block) {
    for (auto op : llvm::make_early_inc_range(block.getOps<ProgramsOpInterface>())) {
      for (Region &region : op->getRegions())
        fuse(region.front());
      ConstantHoister(op).run();
      for (Region &region : op->getRegions())
        eraseUnused(region.front());
    }
    {
      Grouping grouping(block);
      for (Group *group : grouping.fused())
        outline(*group);
    }
    // Constants that only groups read are theirs now.
    eraseUnused(block);
  }

  static void eraseUnused(Block &block) {
    ConstantExpressions constants(block);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && op.getNumResults() > 0 && constants.contains(op.getResult(0)))
        op.erase();
  }

  /// Gives every result of the function an operator of its own that writes it.
  static void copyResults(Block &block) {
    ConstantExpressions constants(block);
    Operation *terminator = block.getTerminator();
    OpBuilder b(terminator);
    llvm::SmallPtrSet<Value, 8> taken;
    for (OpOperand &operand : terminator->getOpOperands()) {
      // The value whose memory it is: reshapes move nothing.
      Value root = operand.get();
      while (auto reshape = root.getDefiningOp<ReshapeOp>()) {
        if (constants.contains(root))
          break;
        root = reshape.getInput();
      }
      if (!isa<BlockArgument>(root) && !root.getDefiningOp<StateOp>() && !constants.contains(root) &&
          taken.insert(root).second)
        continue;
      operand.set(CopyOp::create(b, operand.get().getLoc(), operand.get()));
    }
  }
};
} // namespace
