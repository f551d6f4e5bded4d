//===- Control.cpp - Kernels of if, loop and concurrent -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The kernel is a program: it calls the kernels of the program's operators one after the other, and each of them may
// use all threads. Tensors are in the workspace, at the offsets that ProgramMemory.h assigns.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/ProgramMemory.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "sluice/Runtime/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace {

/// Emits programs in the entry of a kernel.
class ProgramEmitter {
public:
  ProgramEmitter(ProgramsOpInterface op, KernelEmitter &kernel)
      : op(op), kernel(kernel), b(kernel.entry()), loc(kernel.loc()), ptr(LLVM::LLVMPointerType::get(b.getContext())),
        offsets(programOffsets(op)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(kernel.entryPointer(i));
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      results.push_back(kernel.entryPointer(op->getNumOperands() + i));
    // Buffers without bytes lie anywhere.
    workspace = programBytes(op) > 0 ? kernel.entryPointer(op->getNumOperands() + op->getNumResults())
                                     : LLVM::ZeroOp::create(b, loc, ptr).getResult();
    for (Region &region : op->getRegions()) {
      programs.push_back(describeProgram(op, region.front()));
      starts.push_back(numBuffers);
      numBuffers += programs.back().buffers.size();
      for (Operation *member : programs.back().operators)
        prepare(member);
    }
  }

  Value integer(int64_t value, unsigned bits = 64) { return arith::ConstantIntOp::create(b, loc, value, bits); }

  /// The bytes of a tensor of the step.
  static Extent bytesOf(Value tensor) { return productOf(extentsOf(tensor)) * elementBytes(elementOf(tensor)); }

  /// Copies a tensor of the type of `like`.
  void copy(Value to, Value from, Value like) {
    if (const Extent bytes = bytesOf(like); !bytes.is(0))
      LLVM::MemcpyOp::create(b, loc, to, from, kernel.entryExtent(bytes), /*isVolatile=*/false);
  }

  Value offset(Value base, Value bytes) {
    return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
  }

  /// The address of the operator's own buffer beside a program's.
  Value ownBuffer(unsigned program) { return buffer(program, *programs[program].own); }

  Value loadFlag(Value address) {
    Value byte = LLVM::LoadOp::create(b, loc, b.getI8Type(), address);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, byte, integer(0, 8));
  }

  /// Runs program number `program` on arguments at `arguments`, unless `status` is an error; what it yields goes to
  /// `places`, by yield, where the first yield is read as `flag` instead if that is wanted. Returns the status.
  Value run(unsigned program, ArrayRef<Value> arguments, ArrayRef<Value> places, Value status, Value *flag = nullptr) {
    Block &block = op->getRegion(program).front();
    const ProgramMemory &memory = programs[program];
    bind(program, arguments, places);
    for (Operation *member : memory.operators)
      status = call(program, member, status);
    Operation *yield = block.getTerminator();
    // It may be an argument whose memory a move overwrites.
    if (flag)
      *flag = loadFlag(addressOf(program, yield->getOperand(0)));
    for (auto [i, move] : llvm::enumerate(memory.moves))
      if (move == YieldMove::Saved)
        copy(buffer(program, memory.ofSaved.lookup(i)), addressOf(program, yield->getOperand(i)), yield->getOperand(i));
    for (auto [i, move] : llvm::enumerate(memory.moves)) {
      if (move == YieldMove::Saved)
        copy(places[i], buffer(program, memory.ofSaved.lookup(i)), yield->getOperand(i));
      else if (move == YieldMove::Copied)
        copy(places[i], addressOf(program, yield->getOperand(i)), yield->getOperand(i));
    }
    return status;
  }

  /// Runs program 0, whose members yield what they make; returns the status.
  Value runAtOnce() {
    bind(0, operands, results);
    ArrayRef<Operation *> list = programs[0].operators;
    const auto count = static_cast<int64_t>(list.size());
    // The slots are the environment, then each member's arguments, then each member's status.
    Value shared = LLVM::AllocaOp::create(b, loc, ptr, ptr, integer(2 * count + 1));
    auto slot = [&](OpBuilder &at, Value base, int64_t index) -> Value {
      return LLVM::GEPOp::create(at, loc, ptr, ptr, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    };
    LLVM::StoreOp::create(b, loc, kernel.environment(), slot(b, shared, 0));
    for (auto [i, member] : llvm::enumerate(list)) {
      pass(0, member);
      LLVM::StoreOp::create(b, loc, members.find(member)->second.args, slot(b, shared, 1 + static_cast<int64_t>(i)));
    }
    kernel.forEachAtOnce(count, shared, [&](OpBuilder &each, Value base, Value item) {
      Value environment = LLVM::LoadOp::create(each, loc, ptr, slot(each, base, 0));
      for (auto [i, member] : llvm::enumerate(list)) {
        const auto number = static_cast<int64_t>(i);
        Value isThis = arith::CmpIOp::create(each, loc, arith::CmpIPredicate::eq, item,
                                             arith::ConstantIntOp::create(each, loc, number, 64));
        auto chosen = scf::IfOp::create(each, loc, isThis, /*withElseRegion=*/false);
        OpBuilder inside = OpBuilder::atBlockBegin(&chosen.getThenRegion().front());
        Value args = LLVM::LoadOp::create(inside, loc, ptr, slot(inside, base, 1 + number));
        auto result = func::CallOp::create(inside, loc, members.find(member)->second.symbol, inside.getI32Type(),
                                           {environment, args});
        LLVM::StoreOp::create(inside, loc, result.getResult(0), slot(inside, base, 1 + count + number));
      }
    });
    Value status = integer(0, 32);
    for (int64_t i = 0; i < count; ++i) {
      Value own = LLVM::LoadOp::create(b, loc, b.getI32Type(), slot(b, shared, 1 + count + i));
      Value works = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, status, integer(0, 32));
      status = arith::SelectOp::create(b, loc, works, own, status);
    }
    return status;
  }

  SmallVector<Value> operands, results; ///< Their addresses.

private:
  struct Member {
    std::string symbol;
    SmallVector<Value> inputs; ///< Each once.
    Value args;                ///< An array of addresses.
  };

  /// Emits a member's kernel. The array of its arguments is made where the outer kernel begins, because a loop would
  /// make one in each iteration.
  void prepare(Operation *member) {
    Member &entry = members[member];
    SmallVector<unsigned> slots;
    for (Value operand : member->getOperands()) {
      Value viewed = viewedValue(operand);
      auto *at = llvm::find(entry.inputs, viewed);
      slots.push_back(static_cast<unsigned>(at - entry.inputs.begin()));
      if (at == entry.inputs.end())
        entry.inputs.push_back(viewed);
    }
    entry.symbol = kernel.emitMember(member, slots);
    const auto count = static_cast<int64_t>(entry.inputs.size()) + member->getNumResults() + 1;
    entry.args = LLVM::AllocaOp::create(b, loc, ptr, ptr, integer(count));
  }

  /// Says where the program's arguments lie, and what it writes to its places.
  void bind(unsigned program, ArrayRef<Value> arguments, ArrayRef<Value> places) {
    addresses.clear();
    for (auto [argument, address] : llvm::zip(op->getRegion(program).front().getArguments(), arguments))
      addresses[argument] = address;
    for (const auto &[value, yield] : programs[program].writtenTo)
      addresses[value] = places[yield];
  }

  /// Writes the addresses that a member's kernel takes.
  void pass(unsigned program, Operation *member) {
    const Member &entry = members.find(member)->second;
    int32_t next = 0;
    auto add = [&](Value address) {
      Value at = LLVM::GEPOp::create(b, loc, ptr, ptr, entry.args, ArrayRef<LLVM::GEPArg>{next++});
      LLVM::StoreOp::create(b, loc, address, at);
    };
    for (Value input : entry.inputs)
      add(addressOf(program, input));
    for (Value result : member->getResults())
      add(addressOf(program, result));
    if (auto at = programs[program].ofWorkspace.find(member); at != programs[program].ofWorkspace.end())
      add(buffer(program, at->second));
  }

  Value call(unsigned program, Operation *member, Value status) {
    Value works = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, status, integer(0, 32));
    auto chosen = scf::IfOp::create(b, loc, b.getI32Type(), works, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&chosen.getThenRegion().front());
      pass(program, member);
      const Member &entry = members.find(member)->second;
      auto result = func::CallOp::create(b, loc, entry.symbol, b.getI32Type(), {kernel.environment(), entry.args});
      scf::YieldOp::create(b, loc, result.getResults());
      b.setInsertionPointToStart(&chosen.getElseRegion().front());
      scf::YieldOp::create(b, loc, status);
    }
    return chosen.getResult(0);
  }

  /// The address of a value of the program that is bound.
  Value addressOf(unsigned program, Value value) {
    value = viewedValue(value);
    if (Value known = addresses.lookup(value))
      return known;
    return buffer(program, programs[program].ofValue.lookup(value));
  }

  Value buffer(unsigned program, unsigned number) {
    return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), workspace,
                               ArrayRef<LLVM::GEPArg>{integer(offsets[starts[program] + number])});
  }

  ProgramsOpInterface op;
  KernelEmitter &kernel;
  OpBuilder &b;
  Location loc;
  Type ptr;
  SmallVector<int64_t> offsets;
  Value workspace;
  std::vector<ProgramMemory> programs;
  SmallVector<size_t> starts; ///< The number of each program's first buffer among those of all programs.
  size_t numBuffers = 0;
  llvm::DenseMap<Operation *, Member> members;
  llvm::DenseMap<Value, Value> addresses; ///< Addresses outside the workspace, of the program that is bound.
};

} // namespace

static void emitIfKernel(IfOp op, KernelEmitter &kernel) {
  ProgramEmitter programs(cast<ProgramsOpInterface>(op.getOperation()), kernel);
  OpBuilder &b = kernel.entry();
  Location loc = kernel.loc();
  Value condition = programs.loadFlag(programs.operands[0]);
  Value none = programs.integer(0, 32);
  auto chosen = scf::IfOp::create(b, loc, b.getI32Type(), condition, /*withElseRegion=*/true);
  for (auto [program, region] : {std::pair(0u, &chosen.getThenRegion()), {1u, &chosen.getElseRegion()}}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&region->front());
    Value status = programs.run(program, ArrayRef(programs.operands).drop_front(), programs.results, none);
    scf::YieldOp::create(b, loc, status);
  }
  kernel.returns(chosen.getResult(0));
}

static void emitLoopKernel(LoopOp op, KernelEmitter &kernel) {
  ProgramEmitter programs(cast<ProgramsOpInterface>(op.getOperation()), kernel);
  OpBuilder &b = kernel.entry();
  Location loc = kernel.loc();
  Type i64 = b.getI64Type(), i32 = b.getI32Type(), i1 = b.getI1Type();
  const size_t carried = op.getCarried().size(), stacked = op.getNumStacked();
  // The carried tensors are updated where the results are.
  for (size_t i = 0; i < carried; ++i)
    programs.copy(programs.results[i], programs.operands[2 + i], op.getCarried()[i]);
  Value trips = LLVM::LoadOp::create(b, loc, i64, programs.operands[0]);
  // Stacks have room for so many iterations in this step.
  const Extent room = stacked > 0 ? extentsOf(op.getResult(carried))[0] : Extent(static_cast<int64_t>(op.getMost()));
  Value most = arith::MinSIOp::create(b, loc, trips, kernel.entryExtent(room));
  Value goesOn = programs.loadFlag(programs.operands[1]);
  SmallVector<Value> first{programs.integer(0), programs.integer(0, 32), goesOn};
  auto loop = scf::WhileOp::create(b, loc, TypeRange{i64, i32, i1}, first);
  SmallVector<Location> locations(first.size(), loc);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *test = b.createBlock(&loop.getBefore(), {}, {i64, i32, i1}, locations);
    Value isLess = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, test->getArgument(0), most);
    Value works =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, test->getArgument(1), programs.integer(0, 32));
    Value runs = arith::AndIOp::create(b, loc, isLess, works);
    runs = arith::AndIOp::create(b, loc, runs, test->getArgument(2));
    scf::ConditionOp::create(b, loc, runs, test->getArguments());

    Block *body = b.createBlock(&loop.getAfter(), {}, {i64, i32, i1}, locations);
    Value iteration = body->getArgument(0), number = programs.ownBuffer(0);
    LLVM::StoreOp::create(b, loc, iteration, number);
    SmallVector<Value> arguments{number}, places{Value()};
    for (size_t i = 0; i < carried; ++i) {
      arguments.push_back(programs.results[i]);
      places.push_back(programs.results[i]);
    }
    llvm::append_range(arguments, ArrayRef(programs.operands).drop_front(2 + carried));
    for (size_t i = 0; i < stacked; ++i) {
      const Extent slab = ProgramEmitter::bytesOf(op.getBody().front().getTerminator()->getOperand(1 + carried + i));
      Value at = arith::MulIOp::create(b, loc, iteration, kernel.entryExtent(slab));
      places.push_back(programs.offset(programs.results[carried + i], at));
    }
    Value stopped = arith::SelectOp::create(b, loc, kernel.isStopped(), programs.integer(SLUICE_KERNEL_STOPPED, 32),
                                            body->getArgument(1));
    Value next, status = programs.run(0, arguments, places, stopped, &next);
    Value following = arith::AddIOp::create(b, loc, iteration, programs.integer(1));
    scf::YieldOp::create(b, loc, ValueRange{following, status, next});
  }
  Value count = loop.getResult(0);
  for (size_t i = 0; i < stacked; ++i) {
    const Extent slab = ProgramEmitter::bytesOf(op.getBody().front().getTerminator()->getOperand(1 + carried + i));
    Value from = arith::MulIOp::create(b, loc, count, kernel.entryExtent(slab));
    Value whole = kernel.entryExtent(ProgramEmitter::bytesOf(op.getResult(carried + i)));
    Value rest = arith::SubIOp::create(b, loc, whole, from);
    LLVM::MemsetOp::create(b, loc, programs.offset(programs.results[carried + i], from), programs.integer(0, 8), rest,
                           /*isVolatile=*/false);
  }
  LLVM::StoreOp::create(b, loc, count, programs.results[carried + stacked]);
  Value isShort = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, count, trips);
  Value isEndless = arith::AndIOp::create(b, loc, isShort, loop.getResult(2));
  Value code =
      arith::SelectOp::create(b, loc, isEndless, programs.integer(SLUICE_KERNEL_ENDLESS, 32), programs.integer(0, 32));
  Value works = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, loop.getResult(1), programs.integer(0, 32));
  kernel.returns(arith::SelectOp::create(b, loc, works, code, loop.getResult(1)));
}

static void emitConcurrentKernel(ConcurrentOp op, KernelEmitter &kernel) {
  kernel.returns(ProgramEmitter(cast<ProgramsOpInterface>(op.getOperation()), kernel).runAtOnce());
}

template <typename OpTy>
static LogicalResult checkProgramKernel(OpTy op, const sluice::emit::VectorTarget &, const KernelStyle &style) {
  if (style.form == KernelForm::Grids)
    return op.emitError("contains a program of several kernels, which GPU code (grids) does not support");
  for (Region &region : op->getRegions())
    if (!region.front().template getOps<ConstantOp>().empty())
      return op.emitError("has a program with constants of its own, run dataflow-fuse first");
  return success();
}

void sluice::dataflow::attachControlKernels(MLIRContext *context) {
  attach<CheckedKernelModel<emitIfKernel, checkProgramKernel<IfOp>, KernelExtents::OfStep>,
         CheckedKernelModel<emitLoopKernel, checkProgramKernel<LoopOp>, KernelExtents::OfStep>,
         CheckedKernelModel<emitConcurrentKernel, checkProgramKernel<ConcurrentOp>, KernelExtents::OfStep>>(context);
}
