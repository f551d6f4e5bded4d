//===- KernelEmitter.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Library/LibraryCall.h"
#include "sluice/Runtime/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cstddef>

using namespace mlir;

namespace sluice::dataflow {

namespace {
/// Chunk functions return nothing; their pointers do not alias, but for those of
/// operands that the result may take the place of.
constexpr StringLiteral kNoAlias = "llvm.noalias";

/// Of the environment. A service's function lies behind what it takes first.
constexpr int64_t kEnvPool = offsetof(sluice_kernel_env, pool),
                  kEnvParallelFor = offsetof(sluice_kernel_env, parallel_for),
                  kEnvStrings = offsetof(sluice_kernel_env, strings), kEnvRanks = offsetof(sluice_kernel_env, ranks),
                  kEnvLibraries = offsetof(sluice_kernel_env, libraries), kEnvStop = offsetof(sluice_kernel_env, stop),
                  kEnvSymbols = offsetof(sluice_kernel_env, symbols);
static_assert(offsetof(sluice_kernel_env, string_function) == kEnvStrings + 8 &&
                  offsetof(sluice_kernel_env, collective) == kEnvRanks + 8 &&
                  offsetof(sluice_kernel_env, library) == kEnvLibraries + 8,
              "services are pairs");

Value envField(OpBuilder &b, Location loc, Value env, int64_t offset) {
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value address = LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), env, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  return LLVM::LoadOp::create(b, loc, ptr, address);
}
} // namespace

static_assert(static_cast<int>(MatmulPrecision::TF32) == SLUICE_PRECISION_TF32 &&
                  static_cast<int>(MatmulPrecision::BF16) == SLUICE_PRECISION_BF16 &&
                  static_cast<int>(MatmulPrecision::F16) == SLUICE_PRECISION_F16,
              "precisions are numbered alike");

KernelEmitter::KernelEmitter(Operation *op, const VectorTarget &target, const KernelStyle &style, ModuleOp module,
                             StringRef symbol)
    : kernelOp(op), vectorTarget(target), style(style), module(module), symbol(symbol), b(op->getContext()),
      location(op->getLoc()), entryBuilder(op->getContext()) {
  if (inGrids())
    vectorTarget.lanesF32 = 1;
}

/// Fails where a tensor is larger than address spaces are: emitters count elements and bytes in 64 bits.
static LogicalResult checkAddressable(Operation *op) {
  constexpr int64_t kMostBytes = int64_t(1) << 56;
  auto check = [](Operation *member) -> WalkResult {
    for (Type type : llvm::concat<const Type>(SmallVector<Type>(member->getOperandTypes()),
                                              SmallVector<Type>(member->getResultTypes())))
      if (tensorBytes(type) > kMostBytes)
        return member->emitError("has a tensor of type ")
               << type
               << " in its kernel, and this tensor has more bytes than can be addressed, use smaller dimensions";
    return WalkResult::advance();
  };
  return failure(op->walk(check).wasInterrupted());
}

/// Fails if the operator has no kernel of this style, or if its loops would read from memory what another member of the
/// group computes.
static LogicalResult checkLoops(Operation *op, const VectorTarget &target, const KernelStyle &style) {
  auto group = dyn_cast<FusedOp>(op);
  auto anchor = dyn_cast_or_null<KernelOpInterface>(group ? group.getAnchor() : op);
  if (!anchor)
    return success();
  auto isFound = [&](OpOperand &operand) {
    const unsigned index = operand.getOperandNumber();
    const Value stored = anchor.readsSlice(index) ? slicedTensor(operand.get()) : operand.get();
    return !stored.getDefiningOp() || anchor.allowsPrologue(index);
  };
  if (group && style.form == KernelForm::Chunks)
    for (OpOperand &operand : anchor->getOpOperands())
      if (!isFound(operand))
        return op->emitError("member '") << anchor->getName()
                                         << "' reads from memory a value that another member of the fused operator "
                                            "computes, pass the value as an operand";
  return modelOf<EmitKernelOpInterface>(anchor).checkKernel(target, style);
}

/// Fails if types have symbols and the kernel of the operator, or of a member, has only the extents of the types.
static LogicalResult checkExtents(Operation *op) {
  SymbolsAttr symbols = symbolsOfKernel(op);
  if (!symbols)
    return success();
  auto takes = [&](Operation *member) {
    if (!symbolsOfKernel(member) || isa<ElementwiseOpInterface, ConstantOp, YieldOp>(member))
      return true;
    if (isa<KernelOpInterface>(member))
      return modelOf<EmitKernelOpInterface>(member).takesExtents();
    return isa<ElementalOpInterface>(member) && modelOf<EmitElementOpInterface>(member).takesExtents();
  };
  SmallVector<Operation *> members;
  if (auto group = dyn_cast<FusedOp>(op))
    for (Operation &member : group.getBody().front())
      members.push_back(&member);
  else
    members.push_back(op);
  for (Operation *member : members)
    if (!takes(member))
      return member->emitOpError("has a kernel that needs sizes that are known at compile time, give dimension ")
             << symbols.getNames()[0] << " one size";
  return success();
}

LogicalResult KernelEmitter::emit(Operation *op, StringRef symbol, ModuleOp module, const VectorTarget &target,
                                  ArrayRef<unsigned> slots, const KernelStyle &style) {
  if (!isa<KernelOpInterface, ElementwiseOpInterface, ElementalOpInterface, FusedOp>(op))
    return op->emitOpError("has no kernel, run the pass dataflow-simplify, which replaces the operator, or compute the "
                           "operands from constants only");
  if (failed(checkAddressable(op)) || failed(checkExtents(op)) || failed(checkLoops(op, target, style)))
    return failure();
  KernelEmitter emitter(op, target, style, module, symbol);
  emitter.symbols = symbolsOfKernel(op);
  unsigned next = 0;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    emitter.argumentSlots.push_back(slots.empty() ? i : slots[i]);
    next = std::max(next, emitter.argumentSlots.back() + 1);
  }
  next = std::max(next, style.numInputs);
  for (unsigned i = 0; i <= op->getNumResults(); ++i)
    emitter.argumentSlots.push_back(next++);
  emitter.emitBody();
  if (emitter.hasFailedMember)
    return failure();
  if (emitter.readsExpression)
    return op->emitError("member '") << emitter.anchor->getName()
                                     << "' reads from memory a value that another member of the fused operator "
                                        "computes, pass the value as an operand";
  if (emitter.mostBlocks > std::numeric_limits<int32_t>::max())
    return op->emitError("needs ") << emitter.mostBlocks << " blocks of threads, and a GPU launches at most "
                                   << std::numeric_limits<int32_t>::max() << ", run the operator on a CPU";
  // 4 KiB, a tensor's address or an extent in 8 bytes.
  constexpr int64_t kMostWords = 512;
  if (emitter.mostWords > kMostWords)
    return op->emitError("has ") << emitter.mostWords
                                 << " operands and extents, and a kernel of a GPU can have at most " << kMostWords
                                 << ", run the operator on a CPU";
  return success();
}

void KernelEmitter::emitBody() {
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
  kernel = func::FuncOp::create(moduleBuilder, location, symbol, b.getFunctionType({ptr, ptr}, {b.getI32Type()}));
  entryBuilder.setInsertionPointToStart(kernel.addEntryBlock());
  if (symbols) {
    symbolsAddress = envField(entryBuilder, location, environment(), kEnvSymbols);
    entryExtents = loadSymbols(entryBuilder, symbolsAddress);
  }

  auto group = dyn_cast<FusedOp>(kernelOp);
  numOperands = kernelOp->getNumOperands();
  for (unsigned i = 0; i < numOperands; ++i) {
    Value operand = group ? Value(group.getBody().getArgument(i)) : kernelOp->getOperand(i);
    // An operator that reads one value twice has it as one expression.
    argumentIndex.try_emplace(operand, i);
    argumentElement.push_back(cast<RankedTensorType>(operand.getType()).getElementType());
  }
  for (Type type : kernelOp->getResultTypes())
    argumentElement.push_back(cast<RankedTensorType>(type).getElementType());
  if (group)
    yielded.assign(group.getBody().front().getTerminator()->operand_begin(),
                   group.getBody().front().getTerminator()->operand_end());
  else
    yielded.assign(kernelOp->result_begin(), kernelOp->result_end());

  anchor = group ? group.getAnchor() : (isa<KernelOpInterface>(kernelOp) ? kernelOp : nullptr);
  if (anchor) {
    std::optional<LibraryCall> call;
    if (auto library = dyn_cast<LibraryOpInterface>(anchor); library && library.getLibrary() && inGrids()) {
      LibraryCall form{};
      if (succeeded(modelOf<LibraryCallOpInterface>(anchor).describeLibraryCall(style.precision, form)))
        call = form;
    }
    if (!call || !emitLibraryCall(*call))
      modelOf<EmitKernelOpInterface>(anchor).emitKernel(*this);
  } else {
    for (auto [i, value] : llvm::enumerate(yielded))
      inGrids() ? emitGridLoops(i, value) : emitLoops(i, value);
  }
  if (!status)
    status = arith::ConstantIntOp::create(entryBuilder, location, 0, 32);
  func::ReturnOp::create(entryBuilder, location, status);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value KernelEmitter::index(int64_t value) { return arith::ConstantIndexOp::create(b, location, value); }

Value KernelEmitter::constant(Type type, double value) { return emitConstant(b, location, type, value); }

static std::optional<int64_t> constantIndex(Value value) {
  if (auto op = value.getDefiningOp<arith::ConstantIndexOp>())
    return op.value();
  return std::nullopt;
}

Value KernelEmitter::add(Value a, Value c) {
  auto ca = constantIndex(a), cc = constantIndex(c);
  if (ca && cc)
    return index(*ca + *cc);
  if (ca && *ca == 0)
    return c;
  if (cc && *cc == 0)
    return a;
  return arith::AddIOp::create(b, location, a, c, arith::IntegerOverflowFlags::nsw);
}

Value KernelEmitter::mul(Value a, int64_t c) {
  if (c == 1)
    return a;
  if (auto ca = constantIndex(a))
    return index(*ca * c);
  if (c == 0)
    return index(0);
  return arith::MulIOp::create(b, location, a, index(c), arith::IntegerOverflowFlags::nsw);
}

KernelEmitter::CoveringWindow KernelEmitter::windowOver(Value element, Value tap, int64_t stride, int64_t padLow,
                                                        int64_t dilation, const Extent &windows) {
  Value reach = arith::SubIOp::create(b, location, add(element, index(padLow)), mul(tap, dilation));
  Value position = arith::DivSIOp::create(b, location, reach, index(stride));
  Value exact = arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq, mul(position, stride), reach);
  // Unsigned: a negative position is out of range too.
  Value inside = arith::CmpIOp::create(b, location, arith::CmpIPredicate::ult, position, index(windows));
  return {position, arith::AndIOp::create(b, location, exact, inside)};
}

static Value dividedUp(KernelEmitter &kernel, Value x, int64_t by) {
  return by == 1 ? x : Value(arith::CeilDivUIOp::create(kernel.builder(), kernel.loc(), x, kernel.index(by)));
}

Value KernelEmitter::tapsBefore(Value start, const Extent &limit, int64_t taps, int64_t dilation) {
  Value room = arith::SubIOp::create(b, location, index(limit), start);
  room = arith::MaxSIOp::create(b, location, room, index(0));
  return arith::MinSIOp::create(b, location, dividedUp(*this, room, dilation), index(taps));
}

KernelEmitter::TapRange KernelEmitter::tapsInside(Value start, const Extent &extent, int64_t taps, int64_t dilation) {
  Value before = arith::SubIOp::create(b, location, index(0), start);
  before = arith::MaxSIOp::create(b, location, before, index(0));
  Value low = dividedUp(*this, before, dilation), high = tapsBefore(start, extent, taps, dilation);
  // A window that lies in the padding altogether has no taps.
  return {low, arith::MaxSIOp::create(b, location, high, low)};
}

SmallVector<Value> KernelEmitter::delinearize(Value linear, const ExtentList &extents) {
  SmallVector<Value> digits(extents.size());
  Value rest = linear;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i].is(1)) {
      digits[i] = index(0);
      continue;
    }
    auto isOne = [](const Extent &outer) { return outer.is(1); };
    bool isOutermost = llvm::all_of(ArrayRef<Extent>(extents).take_front(i), isOne);
    if (isOutermost) {
      digits[i] = rest;
      for (size_t j = 0; j < i; ++j)
        digits[j] = index(0);
      break;
    }
    Value extent = divisor(extents[i]);
    digits[i] = arith::RemUIOp::create(b, location, rest, extent);
    rest = arith::DivUIOp::create(b, location, rest, extent);
  }
  noteSplit(linear, digits, extents);
  return digits;
}

Value KernelEmitter::linearize(ValueRange indices, const ExtentList &extents) {
  Value linear = index(0);
  Extent stride = 1;
  Extents strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * extents[i];
  }
  SmallVector<std::pair<Value, Extent>> terms;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i].is(1))
      continue;
    if (const Split *split = splitEndingAt(i, indices, extents)) {
      terms.emplace_back(split->linear, strides[i]);
      i -= split->digits.size() - 1;
    } else {
      terms.emplace_back(indices[i], strides[i]);
    }
  }
  for (const auto &[term, times] : llvm::reverse(terms))
    linear = add(linear, mul(term, times));
  return linear;
}

Value KernelEmitter::address(Value base, Type elementType, Value linear) {
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Type storage = storageType(elementType);
  if (auto constant = constantIndex(linear)) {
    if (*constant == 0)
      return base;
    if (*constant < std::numeric_limits<int32_t>::max())
      return LLVM::GEPOp::create(b, location, ptr, storage, base, ArrayRef<LLVM::GEPArg>{int32_t(*constant)},
                                 LLVM::GEPNoWrapFlags::inbounds);
  }
  Value offset =
      linear.getType().isIndex() ? arith::IndexCastOp::create(b, location, b.getI64Type(), linear).getResult() : linear;
  return LLVM::GEPOp::create(b, location, ptr, storage, base, ArrayRef<LLVM::GEPArg>{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value KernelEmitter::load(Value base, Type elementType, Value linear, int64_t lanes) {
  return emitLoad(b, location, address(base, elementType, linear), elementType, lanes, lanes == accessLanes);
}

void KernelEmitter::store(Value base, Type elementType, Value linear, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  emitStore(b, location, address(base, elementType, linear), elementType, value,
            type && type.getNumElements() == accessLanes);
}

Value KernelEmitter::stackBuffer(Type elementType, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&chunkBody.getFunctionBody().front());
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value size = arith::ConstantIntOp::create(b, location, count, 64);
  Type storage = storageType(computeType(elementType));
  return LLVM::AllocaOp::create(b, location, ptr, storage, size, /*alignment=*/64);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Work KernelEmitter::work(Rate rate) const {
  auto cost = cast<CostOpInterface>(kernelOp);
  return {rate, cost.getFlops(), cost.getBytesMoved(), /*specializes=*/true, tuningOf(kernelOp).chunkNs};
}

Work KernelEmitter::workBeside(Operation *member, Count bytes) const {
  const Count all = cast<CostOpInterface>(kernelOp).getFlops();
  return {Rate::Vectors, all - cast<CostOpInterface>(member).getFlops(), bytes};
}

void KernelEmitter::parallel(const Extent &extent, const Work &work, function_ref<void(Value, Value)> body,
                             int64_t multiple) {
  if (inGrids())
    return parallelRows(extent, /*length=*/1, work, body);
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  std::string chunkName = symbol + "_chunk" + std::to_string(numChunks);
  std::string bodyName = symbol + "_body" + std::to_string(numChunks++);
  OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());

  // The body, over pointers that do not alias; the last of them is the symbols' address.
  SmallVector<Type> types(argumentElement.size() + (symbols ? 2 : 1), ptr);
  types.push_back(i64);
  types.push_back(i64);
  auto loops = func::FuncOp::create(moduleBuilder, location, bodyName, b.getFunctionType(types, {}));
  chunkBody = loops;
  loops.setPrivate();
  Block *block = loops.addEntryBlock();
  SmallVector<unsigned> overwritten = overwritableOperands(kernelOp);
  for (unsigned i = 0; i < argumentElement.size() + 1; ++i)
    if (!llvm::is_contained(overwritten, i) && (i != numOperands || overwritten.empty()))
      loops.setArgAttr(i, kNoAlias, b.getUnitAttr());
  pointers.assign(block->args_begin(), block->args_begin() + argumentElement.size() + 1);
  b.setInsertionPointToStart(block);
  Value begin = arith::IndexCastOp::create(b, location, b.getIndexType(), block->getArgument(types.size() - 2));
  Value end = arith::IndexCastOp::create(b, location, b.getIndexType(), block->getArgument(types.size() - 1));
  memo.clear();
  bound.clear();
  splits.clear();
  const int64_t grain = chooseGrain(extent.most(), work, multiple, style.chunks);
  const bool isOneChunk = extent.most() <= grain && work.specializes;
  if (isOneChunk) {
    wholeBegin = begin;
    wholeEnd = end;
  }
  if (symbols) {
    loops.setArgAttr(argumentElement.size() + 1, kNoAlias, b.getUnitAttr());
    loops.setArgAttr(argumentElement.size() + 1, "llvm.readonly", b.getUnitAttr());
    bodyExtents = loadSymbols(b, block->getArgument(argumentElement.size() + 1));
  }
  body(begin, end);
  b.setInsertionPointToEnd(block);
  func::ReturnOp::create(b, location);
  memo.clear();
  bound.clear();
  bodyExtents = ExtentValues();
  wholeBegin = wholeEnd = {};

  // The chunk function parallel_for calls: unpacks the arguments.
  auto chunk = func::FuncOp::create(moduleBuilder, location, chunkName, b.getFunctionType({ptr, i64, i64}, {}));
  chunk.setPrivate();
  Block *chunkBlock = chunk.addEntryBlock();
  OpBuilder cb = OpBuilder::atBlockBegin(chunkBlock);
  SmallVector<Value> callArgs;
  Value given = chunkBlock->getArgument(0), address;
  if (symbols) {
    Value second = LLVM::GEPOp::create(cb, location, ptr, ptr, given, ArrayRef<LLVM::GEPArg>{int32_t(kContextSymbols)});
    address = LLVM::LoadOp::create(cb, location, ptr, second);
    given = LLVM::LoadOp::create(cb, location, ptr, given);
  }
  for (unsigned i = 0; i < argumentElement.size() + 1; ++i) {
    // Workspace, the last, is passed only where there is one.
    if (i == argumentElement.size() && cast<CostOpInterface>(kernelOp).getWorkspaceBytes() == 0) {
      callArgs.push_back(LLVM::ZeroOp::create(cb, location, ptr));
      continue;
    }
    Value slot = LLVM::GEPOp::create(cb, location, ptr, ptr, given, ArrayRef<LLVM::GEPArg>{int32_t(argumentSlots[i])});
    callArgs.push_back(LLVM::LoadOp::create(cb, location, ptr, slot));
  }
  if (symbols)
    callArgs.push_back(address);
  callArgs.push_back(chunkBlock->getArgument(1));
  callArgs.push_back(chunkBlock->getArgument(2));
  func::CallOp::create(cb, location, loops, callArgs);
  func::ReturnOp::create(cb, location);

  // The call from the kernel's entry; one chunk needs no pool.
  OpBuilder &eb = entryBuilder;
  Value args = chunkArguments();
  if (isOneChunk) {
    Value from = arith::ConstantIntOp::create(eb, location, 0, 64);
    func::CallOp::create(eb, location, chunk, ValueRange{args, from, entryExtent(extent)});
    return;
  }
  callParallelFor(chunk, extent, grain, args);
}

void KernelEmitter::callParallelFor(func::FuncOp chunk, const Extent &extent, int64_t grain, Value args) {
  OpBuilder &eb = entryBuilder;
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  Value pool = envField(eb, location, environment(), kEnvPool),
        parallelFor = envField(eb, location, environment(), kEnvParallelFor);
  // The chunk is no LLVM function yet: its address is a constant of func, cast.
  Value constant = func::ConstantOp::create(eb, location, chunk.getFunctionType(), chunk.getSymName());
  Value function = UnrealizedConversionCastOp::create(eb, location, ptr, constant).getResult(0);
  Value items = entryExtent(extent);
  Value perChunk = arith::ConstantIntOp::create(eb, location, grain, 64);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {ptr, i64, i64, ptr, ptr});
  LLVM::CallOp::create(eb, location, type, ValueRange{parallelFor, pool, items, perChunk, function, args});
}

void KernelEmitter::forEachAtOnce(int64_t extent, Value args, function_ref<void(OpBuilder &, Value, Value)> body) {
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
  auto chunk = func::FuncOp::create(moduleBuilder, location, symbol + "_chunk" + std::to_string(numChunks++),
                                    b.getFunctionType({ptr, i64, i64}, {}));
  chunk.setPrivate();
  Block *block = chunk.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockBegin(block);
  // A chunk may have several items: a single thread runs all of them as one chunk.
  auto loop = scf::ForOp::create(inside, location, block->getArgument(1), block->getArgument(2),
                                 arith::ConstantIntOp::create(inside, location, 1, 64));
  OpBuilder each = OpBuilder::atBlockBegin(loop.getBody());
  body(each, block->getArgument(0), loop.getInductionVar());
  func::ReturnOp::create(inside, location);
  callParallelFor(chunk, extent, /*grain=*/1, args);
}

std::pair<Value, Value> KernelEmitter::partsOf(Value begin, Value end, const Extent &length) {
  Value perPart = divisor(length);
  Value first = arith::DivUIOp::create(b, location, begin, perPart);
  return {first, arith::CeilDivUIOp::create(b, location, end, perPart)};
}

std::pair<Value, Value> KernelEmitter::itemsOfPart(Value part, Value begin, Value end, const Extent &length) {
  Value base = mul(part, length);
  Value after = arith::SubIOp::create(b, location, begin, base);
  Value from = arith::MaxSIOp::create(b, location, after, index(0));
  Value before = arith::SubIOp::create(b, location, end, base);
  return {from, arith::MinSIOp::create(b, location, before, divisor(length))};
}

void KernelEmitter::loopParts(Value begin, Value end, const Extent &length,
                              function_ref<void(Value part, Value from, Value to)> body) {
  auto [first, last] = partsOf(begin, end, length);
  loop(first, last, 1, [&](Value part) {
    auto [from, to] = itemsOfPart(part, begin, end, length);
    body(part, from, to);
  });
}

void KernelEmitter::parallelNest(const Extent &rows, const Extent &columns, const Work &work,
                                 function_ref<void(Value, Value, Value)> body) {
  if (!inGrids()) {
    parallel(rows, work, [&](Value begin, Value end) {
      loop(begin, end, 1, [&](Value row) { body(row, index(0), index(columns)); });
    });
    return;
  }
  parallel(rows * columns, work, [&](Value begin, Value) {
    SmallVector<Value> digits = delinearize(begin, {rows, columns});
    body(digits[0], digits[1], add(digits[1], index(1)));
  });
}

void KernelEmitter::parallelNest(const ExtentList &outer, const Extent &columns, const Work &work,
                                 function_ref<void(ArrayRef<Value>, Value, Value)> body) {
  if (inGrids())
    return parallelNest(productOf(outer), columns, work,
                        [&](Value row, Value from, Value to) { body(delinearize(row, outer), from, to); });
  parallel(productOf(outer), work, [&](Value begin, Value end) {
    loopItems(begin, end, outer, [&](ArrayRef<Value> row) { body(row, index(0), index(columns)); });
  });
}

Value KernelEmitter::environment() { return kernel.getBody().front().getArgument(0); }

Value KernelEmitter::isStopped() {
  Value at = envField(entryBuilder, location, environment(), kEnvStop);
  Value byte = LLVM::LoadOp::create(entryBuilder, location, b.getI8Type(), at, /*alignment=*/1, /*isVolatile=*/true);
  Value goesOn = arith::ConstantIntOp::create(entryBuilder, location, 0, 8);
  return arith::CmpIOp::create(entryBuilder, location, arith::CmpIPredicate::ne, byte, goesOn);
}

Value KernelEmitter::entryPointer(unsigned argument) {
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Value at = LLVM::GEPOp::create(entryBuilder, location, ptr, ptr, kernel.getBody().front().getArgument(1),
                                 ArrayRef<LLVM::GEPArg>{int32_t(argumentSlots[argument])});
  return LLVM::LoadOp::create(entryBuilder, location, ptr, at);
}

std::string KernelEmitter::emitMember(Operation *member, ArrayRef<unsigned> slots) {
  std::string name = symbol + "_member" + std::to_string(numMembers++);
  KernelStyle own = style;
  own.numInputs = 0;
  hasFailedMember |= failed(emit(member, name, module, vectorTarget, slots, own));
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    function.setPrivate();
  return name;
}

void KernelEmitter::callRuntime(Service service, uint32_t function, ArrayRef<char> settings) {
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(argumentElement.size()) + 1));
  Value number = arith::ConstantIntOp::create(entryBuilder, location, function, 32);
  status = requestService(service, number, constantSettings(settings), all);
}

bool KernelEmitter::emitLibraryCall(const LibraryCall &call) {
  SmallVector<int64_t> arguments;
  for (Value operand : anchor->getOperands()) {
    if (!isArgument(operand))
      return false;
    arguments.push_back(argumentIndex[operand]);
  }
  Value product = anchor->getResult(0);
  if (yielded.size() != 1 || yielded[0].getType() != product.getType())
    return false;
  arguments.append({numOperands, static_cast<int64_t>(argumentElement.size())});

  OpBuilder &eb = entryBuilder;
  Type i32 = eb.getI32Type();
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(eb, location, value, 32); };
  auto either = [&](Value condition, function_ref<void()> onTrue, function_ref<void()> onFalse) {
    auto chosen = scf::IfOp::create(eb, location, i32, condition, /*withElseRegion=*/true);
    Value before = status;
    for (auto [region, body] : {std::pair(&chosen.getThenRegion(), onTrue), {&chosen.getElseRegion(), onFalse}}) {
      OpBuilder::InsertionGuard guard(eb);
      eb.setInsertionPointToStart(&region->front());
      status = before;
      body();
      scf::YieldOp::create(eb, location, status ? status : number(0));
    }
    status = chosen.getResult(0);
  };
  std::optional<LibraryAddition> addition = libraryAddition(kernelOp);
  Value function = number(call.function), isInPlace;
  if (addition) {
    Value operand = entryPointer(addition->operand), result = entryPointer(numOperands);
    isInPlace = LLVM::ICmpOp::create(eb, location, LLVM::ICmpPredicate::eq, operand, result);
    function =
        arith::SelectOp::create(eb, location, isInPlace, number(call.function | SLUICE_LIBRARY_ACCUMULATE), function);
  }
  // In place: its members map each element (FusedOp's verifier).
  auto emitEpilogue = [&] {
    Value root = absorbed && yielded[0] == absorbed->getResult(0) ? absorbedSum : yielded[0];
    if (root == product)
      return;
    argumentIndex[product] = numOperands;
    emitGridLoops(0, root);
    argumentIndex.erase(product);
  };
  Value done = requestService(Service::Libraries, function, callSettings(call.settings), arguments);
  auto emitOwn = [&] { modelOf<EmitKernelOpInterface>(anchor).emitKernel(*this); };
  auto emitRest = [&] {
    status = done;
    if (!addition)
      return emitEpilogue();
    auto emitLessAddition = [&] {
      absorbed = addition->addition, absorbedSum = addition->sum;
      emitEpilogue();
      absorbed = nullptr;
    };
    either(isInPlace, emitLessAddition, emitEpilogue);
  };
  either(arith::CmpIOp::create(eb, location, arith::CmpIPredicate::eq, done, number(SLUICE_LIBRARY_ABSENT)), emitOwn,
         emitRest);
  return true;
}

KernelEmitter::Settings KernelEmitter::constantSettings(ArrayRef<char> bytes) {
  OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
  std::string name = symbol + "_settings";
  LLVM::GlobalOp::create(moduleBuilder, location, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
                         /*isConstant=*/true, LLVM::Linkage::Internal, name,
                         b.getStringAttr(StringRef(bytes.data(), bytes.size())),
                         /*alignment=*/8);
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  return {LLVM::AddressOfOp::create(entryBuilder, location, ptr, name), static_cast<int64_t>(bytes.size())};
}

KernelEmitter::Settings KernelEmitter::callSettings(ArrayRef<Extent> numbers) {
  if (llvm::all_of(numbers, [](const Extent &number) { return number.isConstant(); })) {
    SmallVector<char> bytes;
    for (const Extent &number : numbers)
      llvm::append_range(bytes, bytesOf(number.most()));
    return constantSettings(bytes);
  }
  OpBuilder &eb = entryBuilder;
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  const auto count = static_cast<int64_t>(numbers.size());
  Value address =
      LLVM::AllocaOp::create(eb, location, ptr, b.getI64Type(), arith::ConstantIntOp::create(eb, location, count, 64));
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value at = LLVM::GEPOp::create(eb, location, ptr, b.getI64Type(), address,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(eb, location, entryExtent(number), at);
  }
  return {address, count * static_cast<int64_t>(sizeof(int64_t))};
}

Value KernelEmitter::requestService(Service service, Value function, const Settings &settings,
                                    ArrayRef<int64_t> arguments) {
  OpBuilder &eb = entryBuilder;
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  // Operands that share memory share a slot; the runtime gets one address each.
  Value env = kernel.getBody().front().getArgument(0), args = kernel.getBody().front().getArgument(1);
  const auto tensors = static_cast<int64_t>(argumentElement.size()), count = static_cast<int64_t>(arguments.size());
  const bool hasWorkspace = cast<CostOpInterface>(kernelOp).getWorkspaceBytes() > 0;
  Value addresses =
      LLVM::AllocaOp::create(eb, location, ptr, ptr, arith::ConstantIntOp::create(eb, location, count, 64));
  for (int64_t i = 0; i < count; ++i) {
    auto at = [&](Value base, int64_t index) -> Value {
      return LLVM::GEPOp::create(eb, location, ptr, ptr, base, ArrayRef<LLVM::GEPArg>{int32_t(index)});
    };
    Value address = arguments[i] < tensors || hasWorkspace
                        ? LLVM::LoadOp::create(eb, location, ptr, at(args, argumentSlots[arguments[i]])).getResult()
                        : LLVM::ZeroOp::create(eb, location, ptr).getResult();
    LLVM::StoreOp::create(eb, location, address, at(addresses, i));
  }
  const int64_t field = service == Service::Strings ? kEnvStrings
                        : service == Service::Ranks ? kEnvRanks
                                                    : kEnvLibraries;
  Value self = envField(eb, location, env, field), callee = envField(eb, location, env, field + 8);
  auto type = LLVM::LLVMFunctionType::get(i32, {ptr, i32, ptr, ptr, i64});
  return LLVM::CallOp::create(eb, location, type,
                              ValueRange{callee, self, function, addresses, settings.address,
                                         arith::ConstantIntOp::create(eb, location, settings.bytes, 64)})
      .getResult();
}

void KernelEmitter::loop(Value lower, Value upper, int64_t step, function_ref<void(Value)> body) {
  auto lo = constantIndex(lower), hi = constantIndex(upper);
  if (lo && hi && *hi <= *lo)
    return;
  if (lo && hi && *hi - *lo <= step) {
    body(lower);
    return;
  }
  auto op = scf::ForOp::create(b, location, lower, upper, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

void KernelEmitter::loop(const Extent &lower, const Extent &upper, int64_t step, function_ref<void(Value)> body) {
  loop(index(lower), index(upper), step, body);
}

SmallVector<Value> KernelEmitter::reduce(Value lower, Value upper, int64_t step, ValueRange initial,
                                         function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, location, lower, upper, index(step), initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
    scf::YieldOp::create(b, location, next);
  }
  return SmallVector<Value>(op.getResults());
}

void KernelEmitter::nest(const ExtentList &extents, function_ref<void(ValueRange)> body) {
  SmallVector<Value> indices;
  std::function<void(size_t)> level = [&](size_t depth) {
    if (depth == extents.size())
      return body(indices);
    loop(0, extents[depth], 1, [&](Value i) {
      indices.push_back(i);
      level(depth + 1);
      indices.pop_back();
    });
  };
  level(0);
}

void KernelEmitter::ifThen(Value condition, function_ref<void()> body) {
  auto op = scf::IfOp::create(b, location, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

Value KernelEmitter::choose(Value condition, function_ref<Value()> onTrue, function_ref<Value()> onFalse) {
  auto op = scf::IfOp::create(
      b, location, condition,
      [&](OpBuilder &inner, Location) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        Value value = onTrue();
        scf::YieldOp::create(b, location, value);
      },
      [&](OpBuilder &inner, Location) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(inner.getInsertionBlock());
        Value value = onFalse();
        scf::YieldOp::create(b, location, value);
      });
  return op.getResult(0);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Extents KernelEmitter::extents(Value tensor) {
  if (auto it = collapsed.find(tensor); it != collapsed.end())
    return it->second;
  return extentsOf(tensor);
}

Value KernelEmitter::pointer(Value tensor) {
  auto it = argumentIndex.find(tensor);
  if (it != argumentIndex.end())
    return pointers[it->second];
  // An expression has no memory. emit() fails, and what is emitted until then is not used.
  readsExpression = true;
  return pointers.front();
}

Value KernelEmitter::workspace() { return pointers[argumentElement.size()]; }

Value KernelEmitter::element(Value tensor, ValueRange indices) { return elements(tensor, indices, 1); }

/// A value of `block` (or of one it is nested in) can be used at the end of it.
static bool isVisible(Value value, Block *at) {
  Block *home = value.getParentBlock();
  for (Block *block = at; block; block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
    if (block == home)
      return true;
  return false;
}

static bool isSameIndex(Value a, Value c) {
  return a == c || (constantIndex(a) && constantIndex(a) == constantIndex(c));
}

Value KernelEmitter::elements(Value tensor, ValueRange indices, int64_t lanes) {
  if (auto it = bound.find(tensor); it != bound.end() && it->second.lanes == lanes)
    return it->second.value;
  if (auto it = memo.find(tensor); it != memo.end())
    for (const Memo &entry : it->second)
      if (entry.lanes == lanes && llvm::equal(entry.indices, indices, isSameIndex) &&
          isVisible(entry.value, b.getBlock()))
        return entry.value;
  Value value = compute(tensor, indices, lanes);
  memo[tensor].push_back({SmallVector<Value>(indices), lanes, value});
  return value;
}

Value KernelEmitter::broadcastElements(Value tensor, ValueRange indices, int64_t lanes) {
  const Extents shape = extents(tensor);
  SmallVector<Value> own;
  size_t skip = indices.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    own.push_back(shape[i].is(1) ? index(0) : indices[skip + i]);
  if (lanes > 1 && (shape.empty() || shape.back().is(1))) {
    Value scalar = elements(tensor, own, 1);
    return vector::BroadcastOp::create(b, location, VectorType::get({lanes}, scalar.getType()), scalar);
  }
  return elements(tensor, own, lanes);
}

Value KernelEmitter::compute(Value tensor, ValueRange indices, int64_t lanes) {
  Type elementType = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (auto it = argumentIndex.find(tensor); it != argumentIndex.end())
    return load(pointers[it->second], elementType, linearize(indices, extents(tensor)), lanes);
  Operation *op = tensor.getDefiningOp();
  if (op == absorbed)
    return elements(absorbedSum, indices, lanes);
  if (auto constantOp = dyn_cast<ConstantOp>(op)) {
    // Only splats are cloned into groups.
    Type type = computeType(elementType);
    if (auto integer = dyn_cast<IntegerType>(type)) {
      APInt splat = cast<DenseElementsAttr>(constantOp.getValue()).getSplatValue<APInt>();
      Value scalar = arith::ConstantOp::create(b, location, IntegerAttr::get(type, splat));
      return lanes == 1 ? scalar
                        : Value(vector::BroadcastOp::create(b, location, VectorType::get({lanes}, type), scalar));
    }
    if (lanes > 1)
      type = VectorType::get({lanes}, type);
    return constant(type, *getSplat(tensor));
  }
  if (auto elementwise = modelOf<EmitScalarOpInterface>(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(broadcastElements(operand, indices, lanes));
    return elementwise.emitScalar(b, location, operands);
  }
  assert(lanes == 1 && "vector access to an expression that has none");
  return modelOf<EmitElementOpInterface>(op).emitElement(*this, indices);
}

bool KernelEmitter::isVectorizable(Value tensor) {
  if (argumentIndex.count(tensor))
    return true;
  Operation *op = tensor.getDefiningOp();
  if (!op || op == anchor)
    return op == anchor;
  if (isa<ConstantOp>(op))
    return true;
  return isa<ElementwiseOpInterface>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isVectorizable(operand); });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

bool KernelEmitter::hasEpilogue() const { return anchor && yielded[0] != anchor->getResult(0); }

bool KernelEmitter::canStoreVectors() {
  return llvm::all_of(yielded, [&](Value value) { return isVectorizable(value); });
}

Value KernelEmitter::resultPointer(unsigned result) {
  if (yielded[result] != anchor->getResult(result))
    return Value();
  return pointers[numOperands + result];
}

void KernelEmitter::store(Value value, ValueRange indices, int64_t lanes, unsigned result) {
  Value produced = anchor->getResult(result);
  bound.clear();
  // Expressions over the value just bound are new at every store.
  memo.clear();
  bound[produced] = {value, SmallVector<Value>(indices), lanes};
  // What a prologue collapsed, the epilogue indexes by its own dimensions.
  auto prologue = std::move(collapsed);
  collapsed.clear();
  Value out = elements(yielded[result], indices, lanes);
  collapsed = std::move(prologue);
  bound.clear();
  memo.clear();
  store(pointers[numOperands + result], argumentElement[numOperands + result],
        linearize(indices, extentsOf(yielded[result])), out);
}

void KernelEmitter::storeLanes(Value value, ValueRange indices, int64_t lanes) {
  if (lanes == 1 || canStoreVectors())
    return store(value, indices, lanes);
  SmallVector<Value> at(indices);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    at.back() = add(indices.back(), index(lane));
    store(vector::ExtractOp::create(b, location, value, lane), at);
  }
}

bool KernelEmitter::collapseRows() {
  collapsed.clear();
  SmallVector<int64_t> classes(extentsOf(yielded[0]).size(), 0);
  classes.back() = 1;
  SmallVector<SmallVector<size_t>> members;
  collapse(yielded[0], classes, members);
  return members.size() == 2 && members.back().front() + 1 == classes.size();
}

bool KernelEmitter::canStoreRows() {
  if (!isVectorizable(yielded[0]))
    return false;
  auto prologue = std::move(collapsed);
  const bool isCollapsed = collapseRows();
  collapsed = std::move(prologue);
  return isCollapsed;
}

void KernelEmitter::storeRow(Value value, Value row, Value column, int64_t lanes) {
  const SmallVector<Value> indices{row, column};
  bound.clear();
  memo.clear();
  bound[anchor->getResult(0)] = {value, indices, lanes};
  auto prologue = std::move(collapsed);
  collapseRows();
  Value out = elements(yielded[0], indices, lanes);
  Value at = linearize(indices, extents(yielded[0]));
  collapsed = std::move(prologue);
  bound.clear();
  memo.clear();
  store(pointers[numOperands], argumentElement[numOperands], at, out);
}

void KernelEmitter::inSink(OpBuilder &sink, function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(sink.getInsertionBlock(), sink.getInsertionPoint());
  body();
  sink.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
}

emit::SinkStyle KernelEmitter::sinkStyle() const {
  auto group = dyn_cast<FusedOp>(kernelOp);
  if (!group)
    return emit::SinkStyle::Inline;
  // A few additions and clamps are cheaper in every tile than a scratch tile.
  constexpr int64_t kShortEpilogue = 6;
  int64_t work = 0;
  for (Operation &op : group.getBody().front().without_terminator())
    if (&op != anchor && isa<ElementwiseOpInterface>(op))
      if (int64_t count = elementCount(op.getResult(0).getType()))
        work += cast<CostOpInterface>(op).getFlops() / count;
  return work > kShortEpilogue ? emit::SinkStyle::Looped : emit::SinkStyle::Inline;
}

//===----------------------------------------------------------------------===//
// Groups without anchor: one nest over the result
//===----------------------------------------------------------------------===//

void KernelEmitter::collapse(Value root, ArrayRef<int64_t> classes, SmallVectorImpl<SmallVector<size_t>> &members) {
  const Extents shape = extentsOf(root);
  size_t rank = shape.size();
  llvm::SetVector<Value> values;
  values.insert(root);
  for (size_t i = 0; i < values.size(); ++i)
    if (!argumentIndex.count(values[i]))
      if (Operation *op = values[i].getDefiningOp(); op && op != anchor)
        values.insert(op->operand_begin(), op->operand_end());

  auto aligned = [&](Value value) {
    const Extents own = extentsOf(value);
    Extents extents(rank - own.size(), 1);
    extents.append(own.begin(), own.end());
    return extents;
  };
  SmallVector<int64_t> last;
  for (size_t d = 0; d < rank; ++d) {
    if (shape[d].is(1))
      continue;
    SmallVector<int64_t> signature{classes.empty() ? 0 : classes[d]};
    for (Value value : values)
      signature.push_back(aligned(value)[d].is(1));
    if (members.empty() || signature != last)
      members.emplace_back();
    members.back().push_back(d);
    last = signature;
  }
  for (Value value : values) {
    const Extents own = aligned(value);
    Extents extents;
    for (ArrayRef<size_t> group : members) {
      Extent extent = 1;
      for (size_t d : group)
        extent = extent * own[d];
      extents.push_back(extent);
    }
    collapsed[value] = extents;
  }
}

Work KernelEmitter::loopWork(unsigned result, Count elements, int64_t lanes) const {
  // A gather reads at most one element of its table for each element of the result.
  const auto bytesOfArgument = [&](Type type) {
    Type element = cast<RankedTensorType>(type).getElementType();
    return std::min(elements, Count(elementCount(type))) * elementBytes(element);
  };
  Work work{Rate::Vectors, cast<CostOpInterface>(kernelOp).getFlops(),
            bytesOfArgument(kernelOp->getResult(result).getType())};
  for (Type type : kernelOp->getOperandTypes())
    work.bytes += bytesOfArgument(type);
  if (lanes == 1) {
    // An element takes as long as so many operations of vectors for its indices alone. LLVM vectorizes indices by
    // gathers where it knows the bounds, which takes long transpositions up to twice as long.
    constexpr int64_t kIndices = 5, kLong = 16384;
    work.operations += kIndices * elements;
    work.specializes = elements <= kLong;
  }
  return work;
}

void KernelEmitter::emitLoops(unsigned result, Value value) {
  collapsed.clear();
  if (TransposeOp transpose = tiledTranspose(value))
    return emitChunkTranspose(result, value, transpose);
  bool vectorize = isVectorizable(value);
  SmallVector<SmallVector<size_t>> members;
  if (vectorize)
    collapse(value, {}, members);
  Extents shape = extents(value);
  if (shape.empty())
    shape.push_back(1);
  // Where a step gives the number of rows, rows have more elements than one if any dimension has.
  size_t last = shape.size() - 1;
  if (!llvm::all_of(shape, [](const Extent &extent) { return extent.isConstant(); }))
    while (last > 0 && shape[last].is(1))
      --last;
  const ExtentList outer(ArrayRef(shape).take_front(last));
  const Extent rows = productOf(outer), columns = shape[last];
  if ((rows * columns).is(0))
    return;
  Type elementType = argumentElement[numOperands + result];
  int64_t lanes = vectorize && columns.most() >= vectorTarget.lanesF32 ? vectorTarget.lanesF32 : 1;
  auto put = [&](ValueRange indices, int64_t count) {
    // A scalar result has no dimension to index.
    ValueRange own = extents(value).empty() ? ValueRange() : indices;
    Value out = elements(value, own, count);
    store(pointers[numOperands + result], elementType, linearize(indices, shape), out);
  };

  const Work work = loopWork(result, rows.most() * Count(columns.most()), lanes);
  if (rows.is(1)) {
    // One long row: chunks are runs of elements, of whole vectors but for the last.
    constexpr int64_t kRun = 64;
    auto run = [&](Value begin, Value end) {
      const SmallVector<Value> zeros(shape.size(), index(0));
      auto at = [&](Value i, int64_t count) {
        SmallVector<Value> indices = zeros;
        indices[last] = i;
        put(indices, count);
      };
      Value split = begin;
      if (lanes > 1) {
        Value length = arith::SubIOp::create(b, location, end, begin);
        Value whole = mul(arith::DivUIOp::create(b, location, length, index(lanes)), lanes);
        split = add(begin, whole);
        loop(begin, split, lanes, [&](Value i) { at(i, lanes); });
      }
      loop(split, end, 1, [&](Value i) { at(i, 1); });
    };
    parallel(columns, work, run, kRun);
    return;
  }
  parallel(rows, work, [&](Value begin, Value end) {
    loopItems(begin, end, outer, [&](ArrayRef<Value> prefix) {
      auto at = [&](Value i, int64_t count) {
        SmallVector<Value> indices(prefix);
        indices.push_back(i);
        indices.resize(shape.size(), index(0));
        put(indices, count);
      };
      const Extent whole = columns / lanes * lanes;
      if (lanes > 1)
        loop(0, whole, lanes, [&](Value i) { at(i, lanes); });
      loop(lanes > 1 ? whole : Extent(0), columns, 1, [&](Value i) { at(i, 1); });
    });
  });
}

} // namespace sluice::dataflow
