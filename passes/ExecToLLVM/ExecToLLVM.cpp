//===- ExecToLLVM.cpp - exec to the Runtime's C ABI -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The tables have the layout that a C compiler gives the structures of abi.h on a 64-bit target: LLVM lays out literal
// structs in the same way as C.
//
//===----------------------------------------------------------------------===//
#include "passes/ExecToLLVM/ConstantTables.h"
#include "passes/ExecToLLVM/ExtentFunction.h"
#include "passes/ExecToLLVM/Passes.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Exec/ProgramName.h"
#include "dialects/Exec/ProgramSymbols.h"
#include "sluice/Runtime/abi.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exec;

namespace sluice {
#define GEN_PASS_DEF_EXECTOLLVMPASS
#include "passes/ExecToLLVM/Passes.h.inc"
} // namespace sluice

static_assert(sizeof(sluice_slot) == 32 && offsetof(sluice_slot, offset) == 16, "slots are packed as four words");

namespace {

/// Commands a function: keeps LLVM's passes linear in the program's length.
constexpr size_t kCommandsPerFunction = 256;
constexpr size_t kWordsPerSlot = 4, kWordsPerCut = sizeof(sluice_cut) / sizeof(int64_t);

class ProgramLowering {
public:
  ProgramLowering(ProgramOp program, const ExecToLLVMPassOptions &options)
      : program(program), options(options), builder(program), loc(program.getLoc()), tables(builder, loc),
        numbers(program) {}

  LogicalResult run();

private:
  /// What one body's functions need of each command.
  struct Call {
    bool isLaunch = false;
    uint32_t stream = 0, link = 0, nameId = 0;
    FlatSymbolRefAttr kernel;
    int64_t slots = 0, source = 0; ///< Word indices into the slot table.
    uint32_t numSlots = 0;
    int64_t waits = 0;
    uint32_t numWaits = 0;
    int64_t bytes = 0;
  };

  /// A step's functions, and what its plan says.
  struct Body {
    LLVM::LLVMFuncOp init, step; ///< No init: null.
    uint32_t numCommands = 0;
    int64_t bytesIn = 0, bytesOut = 0;
    int64_t bytesRead = 0, bytesWritten = 0; ///< From and to files.
  };

  struct Calls {
    std::vector<Call> step, init;
  };

  Body addStep(StepOp step, const Calls &calls, StringRef prefix);
  std::vector<Call> collectCalls(Region &body);
  std::vector<int64_t> slotWords(Value slot);

  LLVM::LLVMFuncOp addBody(StringRef name, ArrayRef<Call> calls);
  LLVM::LLVMFuncOp addCalls(std::string name, ArrayRef<Call> calls, uint32_t firstCommand);
  LLVM::LLVMFuncOp addFunction(StringRef name, LLVM::Linkage linkage);
  /// Calls in order, each followed by an early return of a non-zero status.
  void emitSequence(LLVM::LLVMFuncOp function, size_t count, llvm::function_ref<Value(size_t)> call);

  LLVM::GlobalOp addPorts(StringRef name, auto ports);
  LLVM::GlobalOp addSymbols(ArrayRef<ProgramSymbol> symbols);
  LLVM::GlobalOp addMemories();
  LLVM::GlobalOp addExperts();
  LLVM::GlobalOp addDevices();
  LLVM::GlobalOp addLinks();
  LLVM::GlobalOp addStreams();
  LLVM::GlobalOp addNames(StringRef name, const NamePool &names);
  LLVM::GlobalOp addBuckets(ArrayRef<StepOp> steps, ArrayRef<Body> bodies);
  Value functionAddress(LLVM::LLVMFuncOp function) {
    return function ? LLVM::AddressOfOp::create(builder, loc, function).getResult() : tables.null();
  }
  LLVM::GlobalOp addModel(const Body &whole, LLVM::GlobalOp buckets, uint32_t numBuckets);
  void addEntry(LLVM::GlobalOp model);

  ProgramOp program;
  const ExecToLLVMPassOptions &options;
  OpBuilder builder;
  Location loc;
  ConstantTables tables;

  DeclarationNumbers numbers;
  SequencePool<int64_t> slots;
  SequencePool<uint32_t> waits;
  NamePool opNames, tensorNames;
  LLVM::GlobalOp slotTable, waitTable;
  SmallVector<int64_t> upperBounds; ///< Of the symbols.
};

std::vector<int64_t> ProgramLowering::slotWords(Value slot) {
  auto words = [](uint32_t memory, uint32_t segment, uint32_t index, int64_t offset, int64_t bytes) {
    return std::vector<int64_t>{static_cast<int64_t>(memory | uint64_t(segment) << 32), static_cast<int64_t>(index),
                                offset, bytes};
  };
  if (auto arena = slot.getDefiningOp<SlotOp>())
    return words(numbers[arena.getMemoryAttr()], SLUICE_SEGMENT_ARENA, 0, arena.getAt(), arena.getBytes());
  auto home = slot.getDefiningOp<HomeOp>();
  bool numbered = home.getKind() == HomeKind::Input || home.getKind() == HomeKind::Output;
  return words(home.getMemory() ? numbers[home.getMemoryAttr()] : 0, static_cast<uint32_t>(home.getKind()),
               numbered ? home.getPosition() : 0, numbered ? 0 : home.getPosition(), home.getBytes());
}

std::vector<ProgramLowering::Call> ProgramLowering::collectCalls(Region &body) {
  std::vector<Call> calls;
  llvm::DenseMap<Value, uint32_t> commands;
  for (Operation &op : body.getOps()) {
    auto command = dyn_cast<CommandOpInterface>(&op);
    if (!command)
      continue;
    Call call;
    call.stream = numbers[command.getStreamRef()];
    std::vector<uint32_t> waitNumbers;
    for (Value wait : command.getWaitEvents())
      waitNumbers.push_back(commands.lookup(wait));
    call.numWaits = waitNumbers.size();
    if (!waitNumbers.empty())
      call.waits = waits.intern(waitNumbers);
    commands[command.getEventValue()] = calls.size();

    if (auto launch = dyn_cast<LaunchOp>(&op)) {
      call.isLaunch = true;
      call.kernel = launch.getKernelAttr();
      call.nameId = opNames.intern(launch.getOp());
      std::vector<int64_t> words;
      for (OperandRange range : {command.getReadSlots(), command.getWrittenSlots()})
        for (Value slot : range)
          llvm::append_range(words, slotWords(slot));
      call.numSlots = words.size() / kWordsPerSlot;
      call.slots = words.empty() ? 0 : slots.intern(words);
    } else {
      Value source = command.getReadSlots().front(), destination = command.getWrittenSlots().front();
      call.slots = slots.intern(slotWords(destination));
      call.source = slots.intern(slotWords(source));
      call.link = numbers[op.getAttrOfType<FlatSymbolRefAttr>("link")];
      call.bytes = op.getAttrOfType<IntegerAttr>("bytes").getInt();
      call.nameId = tensorNames.intern(source.getDefiningOp<SlotOpInterface>().getHeldTensor().getValue());
    }
    calls.push_back(call);
  }
  return calls;
}

LLVM::LLVMFuncOp ProgramLowering::addFunction(StringRef name, LLVM::Linkage linkage) {
  auto type = LLVM::LLVMFunctionType::get(tables.i32(), {tables.ptr(), tables.ptr()});
  return LLVM::LLVMFuncOp::create(builder, loc, name, type, linkage);
}

void ProgramLowering::emitSequence(LLVM::LLVMFuncOp function, size_t count, llvm::function_ref<Value(size_t)> call) {
  Region &body = function.getBody();
  Block *done = builder.createBlock(&body, body.end(), tables.i32(), loc);
  LLVM::ReturnOp::create(builder, loc, done->getArgument(0));
  builder.setInsertionPointToEnd(&function.getBody().front());
  for (size_t i = 0; i < count; ++i) {
    Value status = call(i);
    if (i + 1 == count) {
      LLVM::BrOp::create(builder, loc, status, done);
      break;
    }
    Value failed = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, status, tables.integer(tables.i32(), 0));
    Block *next = builder.createBlock(done);
    builder.setInsertionPointAfterValue(failed);
    LLVM::CondBrOp::create(builder, loc, failed, done, status, next, ValueRange());
    builder.setInsertionPointToEnd(next);
  }
  if (count == 0)
    LLVM::BrOp::create(builder, loc, tables.integer(tables.i32(), 0), done);
}

LLVM::LLVMFuncOp ProgramLowering::addCalls(std::string name, ArrayRef<Call> calls, uint32_t firstCommand) {
  LLVM::LLVMFuncOp function = addFunction(name, LLVM::Linkage::Internal);
  function.setNoInline(true);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Type i32 = tables.i32(), i64 = tables.i64(), ptr = tables.ptr();
  Value api = entry->getArgument(0), context = entry->getArgument(1);
  auto loadEntry = [&](size_t offset) -> Value {
    Value at = LLVM::GEPOp::create(builder, loc, ptr, builder.getI8Type(), api,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    return LLVM::LoadOp::create(builder, loc, ptr, at);
  };
  Value launchEntry = loadEntry(offsetof(sluice_api, launch));
  Value copyEntry = loadEntry(offsetof(sluice_api, copy));
  auto launchType = LLVM::LLVMFunctionType::get(i32, {ptr, i32, i32, ptr, i32, ptr, i32, ptr, i32});
  auto copyType = LLVM::LLVMFunctionType::get(i32, {ptr, i32, i32, i32, ptr, ptr, i64, i32, ptr, i32});

  emitSequence(function, calls.size(), [&](size_t i) -> Value {
    const Call &call = calls[i];
    auto u32 = [&](uint32_t value) { return tables.integer(i32, static_cast<int32_t>(value)); };
    Value command = u32(firstCommand + i), stream = u32(call.stream);
    Value waitList = call.numWaits ? tables.address(waitTable, i32, call.waits) : tables.null();
    Value first = tables.address(slotTable, i64, call.slots);
    if (call.isLaunch) {
      Value kernel = LLVM::AddressOfOp::create(builder, loc, ptr, call.kernel.getValue());
      return LLVM::CallOp::create(builder, loc, launchType,
                                  ValueRange{launchEntry, context, command, stream, kernel, u32(call.nameId), first,
                                             u32(call.numSlots), waitList, u32(call.numWaits)})
          .getResult();
    }
    Value source = tables.address(slotTable, i64, call.source);
    return LLVM::CallOp::create(builder, loc, copyType,
                                ValueRange{copyEntry, context, command, stream, u32(call.link), first, source,
                                           tables.integer(i64, call.bytes), u32(call.nameId), waitList,
                                           u32(call.numWaits)})
        .getResult();
  });
  return function;
}

LLVM::LLVMFuncOp ProgramLowering::addBody(StringRef name, ArrayRef<Call> calls) {
  std::vector<LLVM::LLVMFuncOp> parts;
  for (size_t first = 0; first < calls.size(); first += kCommandsPerFunction)
    parts.push_back(addCalls((name + "." + Twine(parts.size())).str(),
                             calls.slice(first, std::min(kCommandsPerFunction, calls.size() - first)), first));
  LLVM::LLVMFuncOp function = addFunction(name, LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock(builder);
  emitSequence(function, parts.size(), [&](size_t i) -> Value {
    return LLVM::CallOp::create(builder, loc, parts[i], ValueRange(entry->getArguments())).getResult();
  });
  return function;
}

//===----------------------------------------------------------------------===//
// Tables; fields in abi.h's order
//===----------------------------------------------------------------------===//

LLVM::GlobalOp ProgramLowering::addPorts(StringRef name, auto ports) {
  std::vector<decltype(*ports.begin())> list(ports.begin(), ports.end());
  std::vector<int64_t> dims, starts, fixed, fixedStarts, cuts, cutStarts, ranges, rangeStarts, blocks, blockStarts;
  for (auto port : list) {
    cutStarts.push_back(cuts.size());
    blockStarts.push_back(-1);
    if constexpr (requires { port.getCuts(); }) {
      llvm::append_range(cuts, port.getCuts().value_or(ArrayRef<int64_t>()));
      if (std::optional<ArrayRef<int64_t>> own = port.getCutBlocks()) {
        blockStarts.back() = static_cast<int64_t>(blocks.size());
        llvm::append_range(blocks, *own);
      }
    }
    starts.push_back(dims.size());
    llvm::append_range(dims, cast<RankedTensorType>(port.getType()).getShape());
    SmallVector<AffineExpr> range;
    if constexpr (std::is_same_v<decltype(port), InputOp>)
      range = rangeOf(port);
    rangeStarts.push_back(range.empty() ? -1 : static_cast<int64_t>(ranges.size()));
    for (AffineExpr number : range)
      ranges.push_back(dataflow::valueAt(number, upperBounds).value_or(0));
    auto value = port->template getAttrOfType<DenseI8ArrayAttr>(ExecDialect::FixedAttrHelper::getNameStr());
    fixedStarts.push_back(value ? static_cast<int64_t>(fixed.size()) : -1);
    if (value) {
      fixed.resize(fixed.size() + llvm::divideCeil(value.size(), sizeof(int64_t)));
      std::copy_n(value.asArrayRef().data(), value.size(),
                  reinterpret_cast<int8_t *>(fixed.data() + fixedStarts.back()));
    }
  }
  LLVM::GlobalOp shapes = tables.addIntegers((name + ".shapes").str(), dims);
  LLVM::GlobalOp values = tables.addIntegers((name + ".fixed").str(), fixed);
  LLVM::GlobalOp cutTable = tables.addIntegers((name + ".cuts").str(), cuts);
  cutStarts.push_back(cuts.size());
  Type i64 = tables.i64(), i32 = tables.i32(), ptr = tables.ptr();
  // Most models have none.
  LLVM::GlobalOp rangeTable = ranges.empty() ? nullptr : tables.addIntegers((name + ".ranges").str(), ranges);
  LLVM::GlobalOp blockTable = blocks.empty() ? nullptr : tables.addIntegers((name + ".blocks").str(), blocks);
  Type type = tables.structOf({i64, ptr, i32, i32, ptr, i64, ptr, ptr, i32, ptr, ptr});
  return tables.addTable(name, type, list.size(), [&](size_t i) {
    auto tensor = cast<RankedTensorType>(list[i].getType());
    return tables.aggregate(
        type, {tables.integer(i64, sizeof(sluice_tensor_desc)), tables.string(list[i].getTensor()),
               tables.integer(i32, *onnxElementType(tensor.getElementType())), tables.integer(i32, tensor.getRank()),
               tables.address(shapes, i64, starts[i]), tables.integer(i64, *denseBytes(tensor)),
               fixedStarts[i] < 0 ? tables.null() : tables.address(values, i64, fixedStarts[i]),
               tables.address(cutTable, i64, cutStarts[i]),
               tables.integer(i32, (cutStarts[i + 1] - cutStarts[i]) / kWordsPerCut),
               rangeStarts[i] < 0 ? tables.null() : tables.address(rangeTable, i64, rangeStarts[i]),
               blockStarts[i] < 0 ? tables.null() : tables.address(blockTable, i64, blockStarts[i])});
  });
}

LLVM::GlobalOp ProgramLowering::addSymbols(ArrayRef<ProgramSymbol> symbols) {
  Type i64 = tables.i64(), i32 = tables.i32(), ptr = tables.ptr();
  Type type = tables.structOf({i64, ptr, i64, i64, i64, i32, i32});
  return tables.addTable("sluice.symbols", type, symbols.size(), [&](size_t i) {
    const ProgramSymbol &symbol = symbols[i];
    return tables.aggregate(type, {tables.integer(i64, sizeof(sluice_symbol_desc)), tables.string(symbol.name),
                                   tables.integer(i64, symbol.least), tables.integer(i64, symbol.most),
                                   tables.integer(i64, symbol.step), tables.integer(i32, symbol.input),
                                   tables.integer(i32, symbol.dimension)});
  });
}

LLVM::GlobalOp ProgramLowering::addMemories() {
  auto list = llvm::to_vector(program.getBody().getOps<MemoryOp>());
  Type i64 = tables.i64(), ptr = tables.ptr();
  Type i32 = tables.i32();
  Type type = tables.structOf({i64, ptr, i64, i64, i32});
  return tables.addTable("sluice.memories", type, list.size(), [&](size_t i) {
    MemoryOp memory = list[i];
    int64_t capacity = memory.getCapacity() ? static_cast<int64_t>(*memory.getCapacity()) : INT64_MAX;
    return tables.aggregate(type,
                            {tables.integer(i64, sizeof(sluice_memory_desc)), tables.string(memory.getRuntimeName()),
                             tables.integer(i64, memory.getArena()), tables.integer(i64, capacity),
                             tables.integer(i32, memory.getFile() ? SLUICE_MEMORY_FILE : SLUICE_MEMORY_RAM)});
  });
}

LLVM::GlobalOp ProgramLowering::addExperts() {
  auto list = llvm::to_vector(program.getBody().getOps<ExpertOp>());
  Type i64 = tables.i64(), i32 = tables.i32();
  Type type = tables.structOf({i64, i32, i32, i32, i32, i64, i64});
  return tables.addTable("sluice.experts", type, list.size(), [&](size_t i) {
    ExpertOp expert = list[i];
    auto number = [&](Type of, uint64_t value) { return tables.integer(of, static_cast<int64_t>(value)); };
    return tables.aggregate(type, {number(i64, sizeof(sluice_expert_desc)), number(i32, opNames.intern(expert.getOp())),
                                   number(i32, expert.getMask()), number(i32, expert.getGroup()),
                                   number(i32, expert.getElement()), number(i64, expert.getPosition()),
                                   number(i64, expert.getBytes())});
  });
}

LLVM::GlobalOp ProgramLowering::addDevices() {
  auto list = llvm::to_vector(program.getBody().getOps<DeviceOp>());
  Type i64 = tables.i64(), i32 = tables.i32(), ptr = tables.ptr();
  Type type = tables.structOf({i64, ptr, i32, i32, i32, tables.f64()});
  return tables.addTable("sluice.devices", type, list.size(), [&](size_t i) {
    DeviceOp device = list[i];
    return tables.aggregate(type,
                            {tables.integer(i64, sizeof(sluice_device_desc)), tables.string(device.getRuntimeName()),
                             tables.integer(i32, static_cast<int32_t>(device.getKind())),
                             tables.integer(i32, numbers[device.getMemoryAttr()]),
                             tables.integer(i32, static_cast<int32_t>(device.getThreads())),
                             tables.real(device.getSpeed().convertToDouble())});
  });
}

LLVM::GlobalOp ProgramLowering::addLinks() {
  auto list = llvm::to_vector(program.getBody().getOps<LinkOp>());
  Type i64 = tables.i64(), i32 = tables.i32(), f64 = tables.f64();
  Type type = tables.structOf({i64, i32, i32, f64, f64, i64, i32});
  return tables.addTable("sluice.links", type, list.size(), [&](size_t i) {
    LinkOp link = list[i];
    return tables.aggregate(
        type, {tables.integer(i64, sizeof(sluice_link_desc)), tables.integer(i32, numbers[link.getFirstAttr()]),
               tables.integer(i32, numbers[link.getSecondAttr()]), tables.real(link.getRate().convertToDouble()),
               tables.real(link.getDuplex().convertToDouble()), tables.integer(i64, link.getLatency()),
               tables.integer(i32, link.getThrottle())});
  });
}

LLVM::GlobalOp ProgramLowering::addStreams() {
  auto list = llvm::to_vector(program.getBody().getOps<StreamOp>());
  Type i64 = tables.i64(), i32 = tables.i32();
  Type type = tables.structOf({i64, i32, i32});
  return tables.addTable("sluice.streams", type, list.size(), [&](size_t i) {
    return tables.aggregate(type, {tables.integer(i64, sizeof(sluice_stream_desc)),
                                   tables.integer(i32, numbers[list[i].getDeviceAttr()]),
                                   tables.integer(i32, static_cast<int32_t>(list[i].getKind()))});
  });
}

LLVM::GlobalOp ProgramLowering::addNames(StringRef name, const NamePool &names) {
  return tables.addTable(name, tables.ptr(), names.names().size(),
                         [&](size_t i) { return tables.string(names.names()[i]); });
}

LLVM::GlobalOp ProgramLowering::addBuckets(ArrayRef<StepOp> steps, ArrayRef<Body> bodies) {
  std::vector<int64_t> numbers, starts;
  for (StepOp step : steps) {
    starts.push_back(static_cast<int64_t>(numbers.size()));
    llvm::append_range(numbers, *StepOp(step).getBounds());
    llvm::append_range(numbers, *StepOp(step).getArenas());
  }
  LLVM::GlobalOp table = tables.addIntegers("sluice.bucket_numbers", numbers);
  Type i64 = tables.i64(), i32 = tables.i32(), ptr = tables.ptr();
  Type type = tables.structOf({i64, ptr, ptr, i64, i64, i32, ptr, ptr, i64, i64});
  return tables.addTable("sluice.buckets", type, steps.size(), [&](size_t i) {
    const auto numSymbols = static_cast<int64_t>(StepOp(steps[i]).getBounds()->size());
    return tables.aggregate(type,
                            {tables.integer(i64, sizeof(sluice_bucket_desc)), tables.address(table, i64, starts[i]),
                             tables.address(table, i64, starts[i] + numSymbols), tables.integer(i64, bodies[i].bytesIn),
                             tables.integer(i64, bodies[i].bytesOut), tables.integer(i32, bodies[i].numCommands),
                             functionAddress(bodies[i].init), functionAddress(bodies[i].step),
                             tables.integer(i64, bodies[i].bytesRead), tables.integer(i64, bodies[i].bytesWritten)});
  });
}

LLVM::GlobalOp ProgramLowering::addModel(const Body &whole, LLVM::GlobalOp buckets, uint32_t numBuckets) {
  Block &body = program.getBody().front();
  auto count = [&]<typename Op>() -> int64_t { return llvm::range_size(body.getOps<Op>()); };
  const SmallVector<ProgramSymbol> symbols = *findSymbols(program); // The program is verified.
  for (const ProgramSymbol &symbol : symbols)
    upperBounds.push_back(symbol.most);
  LLVM::GlobalOp inputs = addPorts("sluice.inputs", body.getOps<InputOp>());
  LLVM::GlobalOp outputs = addPorts("sluice.outputs", body.getOps<OutputOp>());
  LLVM::GlobalOp states = addPorts("sluice.states", body.getOps<StateOp>());
  std::vector<int64_t> positions;
  for (StateOp state : body.getOps<StateOp>())
    positions.push_back(state.getPosition());
  LLVM::GlobalOp stateOffsets = tables.addIntegers("sluice.state_offsets", positions);
  LLVM::GlobalOp sent = program.getSends() ? tables.addIntegers("sluice.bytes_sent", *program.getSends()) : nullptr;
  LLVM::GlobalOp symbolTable = symbols.empty() ? nullptr : addSymbols(symbols);
  LLVM::LLVMFuncOp extents = symbols.empty() ? nullptr : addExtentFunction(builder, program);
  LLVM::LLVMFuncOp ranges = symbols.empty() ? nullptr : addRangeFunction(builder, program);
  LLVM::LLVMFuncOp advance = symbols.empty() ? nullptr : addAdvanceFunction(builder, program);
  LLVM::GlobalOp memories = addMemories(), devices = addDevices(), links = addLinks(), streams = addStreams();
  const int64_t numExperts = count.operator()<ExpertOp>();
  LLVM::GlobalOp experts = numExperts > 0 ? addExperts() : nullptr;
  LLVM::GlobalOp ops = addNames("sluice.op_names", opNames), tensors = addNames("sluice.tensor_names", tensorNames);

  Type i64 = tables.i64(), i32 = tables.i32(), ptr = tables.ptr();
  SmallVector<Type> types;
  SmallVector<llvm::unique_function<Value()>> makers;
  auto field = [&](Type type, llvm::unique_function<Value()> make) {
    types.push_back(type);
    makers.push_back(std::move(make));
  };
  auto number = [&](Type type, int64_t value) { field(type, [=, this] { return tables.integer(type, value); }); };
  auto text = [&](std::string value) { field(ptr, [value, this] { return tables.string(value); }); };
  auto pointer = [&](LLVM::GlobalOp global) { field(ptr, [=, this] { return tables.address(global); }); };
  auto function = [&](LLVM::LLVMFuncOp target) { field(ptr, [=, this] { return functionAddress(target); }); };
  number(i64, sizeof(sluice_model));
  number(i32, SLUICE_ABI_MAJOR);
  number(i32, SLUICE_ABI_MINOR);
  text(modelName(program.getSymName()).str());
  text(options.compiler);
  text(options.cpuFeatures);
  text(options.parameterHash);
  number(i64, program.getParameterBytes());
  number(i64, program.getStateBytes());
  for (int64_t n : {count.operator()<InputOp>(), count.operator()<OutputOp>(), count.operator()<MemoryOp>(),
                    count.operator()<DeviceOp>(), count.operator()<LinkOp>(), count.operator()<StreamOp>()})
    number(i32, n);
  number(i32, whole.numCommands);
  number(i32, opNames.names().size());
  number(i32, tensorNames.names().size());
  for (LLVM::GlobalOp table : {inputs, outputs, memories, devices, links, streams, ops, tensors})
    pointer(table);
  number(i64, whole.bytesIn);
  number(i64, whole.bytesOut);
  function(whole.init);
  function(whole.step);
  number(i32, positions.size());
  pointer(states);
  pointer(stateOffsets);
  number(i64, program.getStateInitial() ? static_cast<int64_t>(*program.getStateInitial()) : -1);
  number(i32, program.getNumRanks());
  auto optional = [&](LLVM::GlobalOp global) {
    field(ptr, [=, this] { return global ? tables.address(global) : tables.null(); });
  };
  optional(sent);
  number(i32, static_cast<int64_t>(symbols.size()));
  optional(symbolTable);
  function(extents);
  function(ranges);
  number(i32, numBuckets);
  optional(buckets);
  function(advance);
  number(i64, whole.bytesRead);
  number(i64, whole.bytesWritten);
  number(i32, numExperts);
  number(i32, static_cast<int64_t>(program.getExpertSlots().value_or(0)));
  optional(experts);

  Type type = tables.structOf(types);
  return tables.addValue("sluice.model", type, [&] {
    SmallVector<Value> values;
    for (auto &make : makers)
      values.push_back(make());
    return tables.aggregate(type, values);
  });
}

void ProgramLowering::addEntry(LLVM::GlobalOp model) {
  auto type = LLVM::LLVMFunctionType::get(tables.ptr(), {});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, "sluice_model_get", type);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  LLVM::ReturnOp::create(builder, loc, tables.address(model));
}

ProgramLowering::Body ProgramLowering::addStep(StepOp step, const Calls &calls, StringRef prefix) {
  Body body;
  for (Operation &op : step.getBody().getOps()) {
    if (!isa<SwapInOp, SwapOutOp, CopyOp, ReadOp, WriteOp>(&op))
      continue;
    const int64_t bytes = op.getAttrOfType<IntegerAttr>("bytes").getInt();
    body.bytesIn += isa<SwapInOp, CopyOp>(&op) ? bytes : 0;
    body.bytesOut += isa<SwapOutOp, CopyOp>(&op) ? bytes : 0;
    body.bytesRead += isa<ReadOp>(&op) ? bytes : 0;
    body.bytesWritten += isa<WriteOp>(&op) ? bytes : 0;
  }
  body.numCommands = static_cast<uint32_t>(calls.step.size());
  if (!calls.init.empty())
    body.init = addBody((prefix + ".init").str(), calls.init);
  body.step = addBody((prefix + ".step").str(), calls.step);
  return body;
}

LogicalResult ProgramLowering::run() {
  if (failed(checkKernels(program)))
    return failure();
  const auto steps = llvm::to_vector(program.getBody().getOps<StepOp>()); // The last one is without bounds.
  std::vector<Calls> calls;
  for (StepOp step : steps) {
    calls.push_back({collectCalls(step.getBody()), {}});
    if (InitOp init = program.getInit(step))
      calls.back().init = collectCalls(init.getBody());
  }
  slotTable = tables.addIntegers("sluice.slots", ArrayRef<int64_t>(slots.elements()));
  waitTable = tables.addIntegers("sluice.waits", ArrayRef<uint32_t>(waits.elements()));
  const ArrayRef<StepOp> small = ArrayRef(steps).drop_back();
  std::vector<Body> bodies;
  for (size_t i = 0; i < small.size(); ++i)
    bodies.push_back(addStep(small[i], calls[i], ("sluice.bucket" + Twine(i)).str()));
  const Body whole = addStep(steps.back(), calls.back(), "sluice");
  addEntry(addModel(whole, small.empty() ? nullptr : addBuckets(small, bodies), static_cast<uint32_t>(small.size())));
  tables.finish();
  program.erase();
  return success();
}

struct ExecToLLVM final : sluice::impl::ExecToLLVMPassBase<ExecToLLVM> {
  using ExecToLLVMPassBase::ExecToLLVMPassBase;
  void runOnOperation() override {
    if (failed(checkOneProgram(getOperation())))
      return signalPassFailure();
    ExecToLLVMPassOptions options{compiler, cpuFeatures, parameterHash};
    for (ProgramOp program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (failed(lowerExecToLLVM(program, options)))
        return signalPassFailure();
  }
};

} // namespace

LogicalResult sluice::checkKernels(ProgramOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  Type pointer = LLVM::LLVMPointerType::get(program.getContext());
  auto type = LLVM::LLVMFunctionType::get(IntegerType::get(program.getContext(), 32), {pointer, pointer});
  for (StepOp step : program.getBody().getOps<StepOp>())
    for (LaunchOp launch : step.getBody().getOps<LaunchOp>()) {
      auto kernel = symbols.lookup<LLVM::LLVMFuncOp>(launch.getKernelAttr().getAttr());
      if (!kernel)
        return launch.emitOpError() << "launches '" << launch.getKernel()
                                    << "', which is not an llvm.func of the module, lower the kernels first";
      if (kernel.getFunctionType() != type)
        return launch.emitOpError() << "launches '" << launch.getKernel() << "', whose type must be " << type;
    }
  return success();
}

LogicalResult sluice::checkOneProgram(ModuleOp module) {
  auto programs = llvm::to_vector(module.getOps<ProgramOp>());
  if (programs.size() > 1)
    return programs[1].emitOpError("is the second program of the module, and a compiled model must have one");
  return success();
}

LogicalResult sluice::lowerExecToLLVM(ProgramOp program, const ExecToLLVMPassOptions &options) {
  return ProgramLowering(program, options).run();
}
