//===- Grid.cpp - Kernels as grids of threads -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Runtime/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cstddef>

using namespace mlir;

namespace sluice::dataflow {

namespace {
/// Threads of a block whose threads do not share anything.
constexpr int64_t kBlockThreads = 256;
/// Of sluice_kernel_env (abi.h).
constexpr int64_t kEnvGrids = offsetof(sluice_kernel_env, grids),
                  kEnvLaunchGrid = offsetof(sluice_kernel_env, launch_grid),
                  kEnvLaunchBlocks = offsetof(sluice_kernel_env, launch_blocks);

gpu::GPUModuleOp deviceModule(ModuleOp module) {
  for (auto device : module.getOps<gpu::GPUModuleOp>())
    return device;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return gpu::GPUModuleOp::create(builder, module.getLoc(), kDeviceModule);
}

/// How many threads fold a row together. Shorter rows leave a warp's threads
/// idle; a few long ones would leave the device idle.
int64_t chooseTeam(int64_t items, int64_t length) {
  constexpr int64_t kWarpRow = 1024, kBlockRow = 16384, kFewItems = 512;
  if (length < kWarpThreads)
    return 1;
  if (length <= kWarpRow)
    return kWarpThreads;
  return length >= kBlockRow && items < kFewItems ? 4 * kBlockThreads : kBlockThreads;
}
} // namespace

std::string gridProblem(Operation *op) {
  if (usesStrings(op))
    return "works on strings, which stay in the host's memory";
  if (op->hasTrait<HostFunction>())
    return "calls a function of the host";
  std::string problem;
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  ScopedDiagnosticHandler capture(op->getContext(), [&](Diagnostic &diagnostic) { problem = diagnostic.str(); });
  if (failed(KernelEmitter::emit(op, "kernel", *scratch, {}, {}, {KernelForm::Grids})))
    return problem;
  scratch->walk([&](Operation *inner) {
    if (!isa_and_nonnull<math::MathDialect>(inner->getDialect()) ||
        isa<math::AbsFOp, math::SqrtOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp, math::FmaOp,
            math::CopySignOp>(inner))
      return;
    if (getElementTypeOrSelf(inner->getResult(0).getType()).isF64())
      problem = "computes '" + inner->getName().getStringRef().str() + "' of f64, for which GPUs have no function";
  });
  return problem;
}

void KernelEmitter::grid(const Extent &blocks, int64_t threads, function_ref<void()> body) {
  assert(threads % kWarpThreads == 0 && threads <= 1024 && "blocks are whole warps");
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  std::string name = symbol + "_grid" + std::to_string(numChunks++);
  bool hasWorkspace = cast<CostOpInterface>(kernelOp).getWorkspaceBytes() > 0;
  size_t numTensors = argumentElement.size(), numArguments = argumentSlots[numTensors] + hasWorkspace;

  OpBuilder deviceBuilder = OpBuilder::atBlockEnd(deviceModule(module).getBody());
  auto device = gpu::GPUFuncOp::create(deviceBuilder, location, name,
                                       b.getFunctionType(SmallVector<Type>(numArguments, ptr), {}));
  device->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  mostBlocks = std::max(mostBlocks, blocks.most());
  device.setKnownBlockSize(ArrayRef<int32_t>{static_cast<int32_t>(threads), 1, 1});
  mostOwnBlocks.reset();
  if (blocks.isConstant())
    device.setKnownGridSize(ArrayRef<int32_t>{
        static_cast<int32_t>(std::min<int64_t>(blocks.most(), std::numeric_limits<int32_t>::max())), 1, 1});
  else
    mostOwnBlocks = blocks.most();
  std::string node = nodeName(location);
  DataflowDialect::OperatorAttrHelper(b.getContext())
      .setAttr(device, b.getStringAttr(node.empty() ? kernelOp->getName().getStringRef() : node));
  chunkBody = device;
  Block *block = &device.getBody().front();
  pointers.clear();
  for (size_t i = 0; i < numTensors; ++i)
    pointers.push_back(block->getArgument(argumentSlots[i]));
  pointers.push_back(hasWorkspace ? Value(block->getArguments().back()) : Value());
  SmallVector<unsigned> overwritten = overwritableOperands(kernelOp);
  for (unsigned i = 0; i < numTensors; ++i) {
    if (llvm::is_contained(overwritten, i) || (i == numOperands && !overwritten.empty()))
      continue;
    // Operands of one memory share an argument, so that none aliases another.
    chunkBody.setArgAttr(argumentSlots[i], "llvm.noalias", b.getUnitAttr());
    if (i < numOperands)
      chunkBody.setArgAttr(argumentSlots[i], "llvm.readonly", b.getUnitAttr());
  }
  for (unsigned i : overwritten)
    for (StringRef attribute : {"llvm.noalias", "llvm.readonly"})
      chunkBody.removeArgAttr(argumentSlots[i], attribute);

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  auto forget = [&] {
    memo.clear();
    bound.clear();
    splits.clear();
    bodyExtents = ExtentValues();
    gridWords.clear();
  };
  forget();
  sharedBytes = 0;
  body();
  b.setInsertionPointToEnd(block);
  gpu::ReturnOp::create(b, location);
  mostWords = std::max<int64_t>(mostWords, device.getNumArguments());
  launchGrid(name, blocks);
  forget();
}

Value KernelEmitter::gridArguments() {
  OpBuilder &eb = entryBuilder;
  Value own = kernel.getBody().front().getArgument(1);
  if (gridWords.empty())
    return own;
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  const size_t total = chunkBody.getNumArguments(), numTensors = total - gridWords.size();
  Value all = LLVM::AllocaOp::create(eb, location, ptr, ptr,
                                     arith::ConstantIntOp::create(eb, location, static_cast<int64_t>(total), 64));
  auto at = [&](Value base, size_t i) -> Value {
    return LLVM::GEPOp::create(eb, location, ptr, ptr, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
  };
  for (size_t i = 0; i < total; ++i) {
    Value word = i < numTensors ? LLVM::LoadOp::create(eb, location, ptr, at(own, i)).getResult()
                                : entryExtent(Extent(gridWords[i - numTensors], symbols));
    LLVM::StoreOp::create(eb, location, word, at(all, i));
  }
  return all;
}

/// The descriptor is defined when the device's code is.
void KernelEmitter::launchGrid(StringRef name, const Extent &blocks) {
  OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(moduleBuilder, location, b.getI8Type(), /*isConstant=*/true, LLVM::Linkage::External, name,
                         Attribute());
  OpBuilder &eb = entryBuilder;
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Block &entry = kernel.getBody().front();
  auto field = [&](int64_t offset) -> Value {
    Value at = LLVM::GEPOp::create(eb, location, ptr, b.getI8Type(), entry.getArgument(0),
                                   ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return LLVM::LoadOp::create(eb, location, ptr, at);
  };
  Value launch = field(blocks.isConstant() ? kEnvLaunchGrid : kEnvLaunchBlocks);
  SmallVector<Value> given{field(kEnvGrids), LLVM::AddressOfOp::create(eb, location, ptr, name)};
  if (!blocks.isConstant())
    given.push_back(entryExtent(blocks));
  given.push_back(gridArguments());
  auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), SmallVector<Type>(ValueRange(given).getTypes()));
  given.insert(given.begin(), launch);
  Value result = LLVM::CallOp::create(eb, location, type, given).getResult();
  if (status) {
    Value isOk = arith::CmpIOp::create(eb, location, arith::CmpIPredicate::eq, status,
                                       arith::ConstantIntOp::create(eb, location, 0, 32));
    result = arith::SelectOp::create(eb, location, isOk, result, status);
  }
  status = result;
}

void KernelEmitter::parallelRows(const Extent &items, const Extent &length, const Work &work,
                                 function_ref<void(Value, Value)> body) {
  if (!inGrids())
    return parallel(items, work, body);
  const int64_t extent = items.most();
  if (extent == 0)
    return;
  // The same team at all points of symbols, so that a row's sum has one order.
  team = chooseTeam(extent, length.most());
  // A block no larger than the work, but whole warps.
  int64_t threads = std::max(team, kBlockThreads), total = extent * team;
  if (total < threads)
    threads = (total + kWarpThreads - 1) / kWarpThreads * kWarpThreads;
  int64_t perBlock = threads / team;
  grid(items.ceilDiv(perBlock), threads, [&] {
    Value thread = threadIndex(), item = blockIndex();
    if (perBlock > 1) {
      Value member = team == 1 ? thread : Value(arith::DivUIOp::create(b, location, thread, index(team)));
      item = add(mul(item, perBlock), member);
    }
    if (team > 1)
      position = perBlock == 1 ? thread : Value(arith::RemUIOp::create(b, location, thread, index(team)));
    auto run = [&] { body(item, add(item, index(1))); };
    if (isMultipleOf(items, perBlock))
      return run();
    ifThen(arith::CmpIOp::create(b, location, arith::CmpIPredicate::ult, item, index(items)), run);
  });
  team = 1;
  position = Value();
}

//===----------------------------------------------------------------------===//
// What a thread has
//===----------------------------------------------------------------------===//

Value KernelEmitter::threadIndex() { return gpu::ThreadIdOp::create(b, location, gpu::Dimension::x); }
Value KernelEmitter::blockIndex() {
  return gpu::BlockIdOp::create(b, location, gpu::Dimension::x,
                                mostOwnBlocks ? b.getIndexAttr(*mostOwnBlocks) : IntegerAttr());
}

void KernelEmitter::barrier() {
  gpu::BarrierOp::create(b, location);
  // What was read before may have changed.
  memo.clear();
}

void KernelEmitter::forArchitecture(unsigned least, function_ref<void()> newer, function_ref<void()> older) {
  auto chosen =
      scf::IfOp::create(b, location, arith::ConstantIntOp::create(b, location, 1, 1), /*withElseRegion=*/true);
  DataflowDialect::ArchitectureAttrHelper(chosen->getContext())
      .setAttr(chosen, b.getI32IntegerAttr(static_cast<int32_t>(least)));
  for (auto [region, body] : {std::pair(&chosen.getThenRegion(), newer), std::pair(&chosen.getElseRegion(), older)}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&region->front());
    memo.clear();
    body();
  }
}

Value KernelEmitter::sharedBuffer(Type type, int64_t count) {
  constexpr int64_t kAlignment = 32;
  constexpr unsigned kSharedSpace = 3;
  int64_t offset = (sharedBytes + kAlignment - 1) / kAlignment * kAlignment;
  int64_t bytes = count * std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
  sharedBytes = offset + bytes;
  std::string name = (chunkBody.getName() + "_shared" + Twine(offset)).str();
  OpBuilder deviceBuilder = OpBuilder::atBlockBegin(deviceModule(module).getBody());
  LLVM::GlobalOp::create(deviceBuilder, location, LLVM::LLVMArrayType::get(b.getI8Type(), bytes), /*isConstant=*/false,
                         LLVM::Linkage::Internal, name, Attribute(), kAlignment, kSharedSpace);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&chunkBody.getFunctionBody().front());
  auto own = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  auto address = LLVM::AddressOfOp::create(b, location, own, name);
  DataflowDialect::SharedAttrHelper(address->getContext()).setAttr(address, b.getI64IntegerAttr(offset));
  return LLVM::AddrSpaceCastOp::create(b, location, LLVM::LLVMPointerType::get(b.getContext()), address);
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

Value KernelEmitter::shuffle(Value value, int64_t distance) {
  Type type = value.getType();
  Value raw = value;
  // Words of 32 and 64 bits are what is exchanged.
  unsigned bits = type.getIntOrFloatBitWidth(), wide = bits <= 32 ? 32 : 64;
  if (isa<FloatType>(type))
    raw = arith::BitcastOp::create(b, location, b.getIntegerType(bits), raw);
  if (bits < wide)
    raw = arith::ExtUIOp::create(b, location, b.getIntegerType(wide), raw);
  raw = gpu::ShuffleOp::create(b, location, raw, distance, kWarpThreads, gpu::ShuffleMode::XOR).getShuffleResult();
  if (bits < wide)
    raw = arith::TruncIOp::create(b, location, b.getIntegerType(bits), raw);
  if (isa<FloatType>(type))
    raw = arith::BitcastOp::create(b, location, type, raw);
  return raw;
}

Value KernelEmitter::joinTeam(Value value, function_ref<Value(Value, Value)> join) {
  auto joinWarp = [&] {
    // Every thread gets the same bits: what is joined commutes.
    for (int64_t distance = kWarpThreads / 2; distance > 0; distance /= 2)
      value = join(value, shuffle(value, distance));
  };
  if (team == 1)
    return value;
  joinWarp();
  if (team == kWarpThreads)
    return value;
  int64_t warps = team / kWarpThreads;
  Type type = value.getType();
  Value buffer = sharedBuffer(type, warps);
  Value lane = arith::RemUIOp::create(b, location, position, index(kWarpThreads));
  Value isFirst = arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq, lane, index(0));
  ifThen(isFirst,
         [&] { store(buffer, type, arith::DivUIOp::create(b, location, position, index(kWarpThreads)), value); });
  barrier();
  if (warps == kWarpThreads) {
    value = load(buffer, type, lane);
    joinWarp();
  } else {
    value = load(buffer, type, index(0));
    for (int64_t i = 1; i < warps; ++i)
      value = join(value, load(buffer, type, index(i)));
  }
  // Nobody writes the buffer again (in a loop) before all have read it.
  barrier();
  return value;
}

void KernelEmitter::once(function_ref<void()> body) {
  if (team == 1)
    return body();
  ifThen(arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq, position, index(0)), body);
}

//===----------------------------------------------------------------------===//
// Groups without anchor
//===----------------------------------------------------------------------===//

/// A thread has a run of elements, 16 bytes of the widest operand, where those
/// lie together for every operand, else one: neighbours' accesses are neighbours.
/// Where a step gives the number of all elements, which all lie together, its last
/// run may be shorter.
void KernelEmitter::emitGridLoops(unsigned result, Value value) {
  constexpr int64_t kRunBytes = 16, kMostRun = 8;
  collapsed.clear();
  if (TransposeOp transpose = tiledTranspose(value))
    return emitGridTranspose(result, value, transpose);
  bool vectorize = isVectorizable(value);
  SmallVector<SmallVector<size_t>> members;
  if (vectorize)
    collapse(value, {}, members);
  const Extents shape = extents(value);
  Type elementType = argumentElement[numOperands + result];
  int64_t widest = 1;
  for (Type type : argumentElement)
    widest = std::max<int64_t>(widest, elementBytes(type));
  int64_t run = vectorize && !shape.empty() ? std::min(kMostRun, std::max<int64_t>(1, kRunBytes / widest)) : 1;
  const bool isLine = shape.size() == 1 && !shape.back().isConstant();
  while (run > 1 && !isLine && !isMultipleOf(shape.back(), run))
    run /= 2;
  const bool hasTail = run > 1 && isLine && !isMultipleOf(shape.back(), run);
  Extents runs(shape);
  if (run > 1)
    runs.back() = runs.back().ceilDiv(run);
  auto put = [&](ArrayRef<Value> at, int64_t lanes) {
    accessLanes = lanes;
    Value out = elements(value, at, lanes);
    store(pointers[numOperands + result], elementType, linearize(at, shape), out);
    accessLanes = 1;
  };
  parallel(productOf(runs), {}, [&](Value item, Value) {
    SmallVector<Value> at = delinearize(item, runs);
    if (run > 1)
      at.back() = mul(at.back(), run);
    if (!hasTail)
      return put(at, run);
    Value end = index(shape.back()), after = add(at.back(), index(run));
    Value isWhole = arith::CmpIOp::create(b, location, arith::CmpIPredicate::ule, after, end);
    ifThen(isWhole, [&] { put(at, run); });
    loop(at.back(), arith::SelectOp::create(b, location, isWhole, at.back(), end), 1, [&](Value i) { put({i}, 1); });
  });
}

} // namespace sluice::dataflow
