//===- ExecToFreestanding.cpp - exec to straight calls ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The issue order of a program respects every wait. A program of launches on one CPU is therefore a sequence of calls
// on one thread. The code that this pass emits checks the same conditions before a step as the runtime does, and a
// status number identifies each failure. No constant contains an address, so the code also runs on systems that do not
// relocate it.
//
//===----------------------------------------------------------------------===//
#include "passes/ExecToLLVM/ConstantTables.h"
#include "passes/ExecToLLVM/Passes.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/TensorView.h"
#include "dialects/Exec/ProgramSymbols.h"
#include "sluice/Runtime/abi.h"
#include "sluice/Support/Units.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exec;

namespace sluice {
#define GEN_PASS_DEF_EXECTOFREESTANDINGPASS
#include "passes/ExecToLLVM/Passes.h.inc"
} // namespace sluice

namespace {

/// The most launches in one emitted function. The time of LLVM's passes grows faster than a function's length.
constexpr size_t kLaunchesPerFunction = 256;

int64_t arenaBytes(ProgramOp program) {
  auto memories = program.getBody().getOps<MemoryOp>();
  return alignUp(static_cast<int64_t>((*memories.begin()).getArena()));
}

template <typename... Parts>
LogicalResult refuse(Operation *op, const Parts &...parts) {
  sluice::emitError(op, makeError(ErrorCode::Unsupported, parts...).value());
  return failure();
}

/// Where the name of a function begins with that of a kernel, it is the kernel's chunk or member.
bool belongsTo(StringRef function, StringRef kernel) {
  return function.consume_front(kernel) && (function.empty() || function.starts_with("_"));
}

/// What the runtime does for a kernel, by the fields of sluice_kernel_env that it reads; null: nothing but parallel
/// loops.
const char *serviceOf(LLVM::LLVMFuncOp function) {
  if (function.isExternal() || function.getNumArguments() != 2)
    return nullptr;
  for (Operation *user : function.getArgument(0).getUsers()) {
    auto field = dyn_cast<LLVM::GEPOp>(user);
    switch (field ? field.getRawConstantIndices().front() : 0) {
    case offsetof(sluice_kernel_env, string_function):
      return "text or images";
    case offsetof(sluice_kernel_env, collective):
      return "exchanges between ranks";
    case offsetof(sluice_kernel_env, library):
      return "libraries of GPUs";
    case offsetof(sluice_kernel_env, launch_grid):
    case offsetof(sluice_kernel_env, launch_blocks):
      return "grids";
    default:
      break;
    }
  }
  return nullptr;
}

bool usesTiles(LLVM::LLVMFuncOp function) {
  return function
      .walk([](Operation *op) {
        return llvm::any_of(op->getResultTypes(), llvm::IsaPred<LLVM::LLVMX86AMXType>) ? WalkResult::interrupt()
                                                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

class FreestandingLowering {
public:
  explicit FreestandingLowering(ProgramOp program)
      : program(program), builder(program), loc(program.getLoc()), tables(builder, loc), ptr(tables.ptr()),
        i8(builder.getI8Type()), i32(tables.i32()), i64(tables.i64()) {}

  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult checkLaunch(LaunchOp launch);

  void addStorage();
  void addInit();
  void addRun();
  void addMessages();
  LLVM::LLVMFuncOp addParallelFor();
  LLVM::LLVMFuncOp addScan(StringRef name, ArrayRef<Type> extras, llvm::function_ref<Value(Block &, Value)> isWrong);
  LLVM::LLVMFuncOp addRangeScan(StringRef name, Type element);
  LLVM::LLVMFuncOp addPart(StringRef name, ArrayRef<LaunchOp> launches);
  LLVM::LLVMFuncOp addFunction(StringRef name, Type result, ArrayRef<Type> arguments, LLVM::Linkage linkage);
  void checkInput(LLVM::LLVMFuncOp function, InputOp input, Value data);
  /// Returns `status` from the function if `isWrong`; the builder goes on behind that.
  void returnIf(LLVM::LLVMFuncOp function, Value isWrong, Value status);
  Value addressOf(Value slot, Value inputs, Value outputs);

  Value offset(Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    return LLVM::GEPOp::create(builder, loc, ptr, i8, base, ValueRange{tables.integer(i64, bytes)});
  }
  Value load(Type type, Value address) { return LLVM::LoadOp::create(builder, loc, type, address); }
  Value at(Type element, Value base, Value index) {
    return LLVM::GEPOp::create(builder, loc, ptr, element, base, ValueRange{index});
  }
  Value compare(LLVM::ICmpPredicate predicate, Value a, Value b) {
    return LLVM::ICmpOp::create(builder, loc, predicate, a, b);
  }
  Value global(StringRef name) { return LLVM::AddressOfOp::create(builder, loc, ptr, name); }
  /// The number of a failure, which addMessages describes.
  Value statusOf(std::string message) {
    messages.push_back(std::move(message));
    return tables.integer(i32, static_cast<int64_t>(messages.size()) - 1);
  }

  ProgramOp program;
  OpBuilder builder;
  Location loc;
  ConstantTables tables;
  Type ptr, i8, i32, i64;
  int64_t statesAt = 0, numFixed = 0;
  std::vector<std::string> messages;
  LLVM::LLVMFuncOp differs, leavesRange32, leavesRange64;
};

LogicalResult FreestandingLowering::checkLaunch(LaunchOp launch) {
  auto module = program->getParentOfType<ModuleOp>();
  auto stream = cast<StreamOp>(SymbolTable::lookupNearestSymbolFrom(launch, launch.getStreamAttr()));
  auto device = cast<DeviceOp>(SymbolTable::lookupNearestSymbolFrom(stream, stream.getDeviceAttr()));
  if (device.getKind() != DeviceKind::Cpu)
    return refuse(launch, "operator '", launch.getOp().str(), "' runs on device '", device.getRuntimeName().str(),
                  "', which needs the runtime, compile for a machine with a CPU only, such as --machine host");
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!belongsTo(function.getSymName(), launch.getKernel()))
      continue;
    if (const char *service = serviceOf(function))
      return refuse(launch, "operator '", launch.getOp().str(), "' works with ", service,
                    ", which needs the runtime, leave the operator out of the model, or compile with --emit shared and "
                    "without --runtime none");
    if (usesTiles(function))
      return refuse(launch, "operator '", launch.getOp().str(),
                    "' uses tile registers (AMX), which a program without the runtime cannot enable, option "
                    "'--target', give cpu:x86-64-v4 or lower");
  }
  return success();
}

static LogicalResult refuseCopy(CommandOpInterface command) {
  auto moved = command.getReadSlots().front().getDefiningOp<SlotOpInterface>();
  return refuse(command, "tensor '", moved.getHeldTensor().getValue().str(),
                "' is copied between memories, which needs the runtime, leave out --memory and compile for a machine "
                "with a CPU only");
}

LogicalResult FreestandingLowering::check() {
  const SmallVector<ProgramSymbol> symbols = *findSymbols(program); // The program is verified.
  if (!symbols.empty())
    return refuse(program, "extent '", symbols.front().name.str(),
                  "' has a range of sizes, and a program without the runtime needs one size, give this size by --dim");
  if (program.getExpertSlots())
    return refuse(program,
                  "experts are read from a file when they are chosen, which needs the runtime, leave out --memory");
  if (program.getNumRanks() > 1)
    return refuse(program, "the program is one of ", program.getNumRanks(),
                  " ranks, which need the runtime to exchange data, compile for one device");
  auto checkPort = [&](auto port) -> LogicalResult {
    if (dataflow::isString(cast<RankedTensorType>(port.getType()).getElementType()))
      return refuse(port, "tensor '", port.getTensor().str(),
                    "' holds text, which needs the runtime, compile with --emit shared and without --runtime none");
    return success();
  };
  for (InputOp input : program.getBody().getOps<InputOp>())
    if (failed(checkPort(input)))
      return failure();
  for (OutputOp output : program.getBody().getOps<OutputOp>())
    if (failed(checkPort(output)))
      return failure();
  // Launches first: where one is on another device, copies follow from it.
  Region &body = program.getStep().getBody();
  for (LaunchOp launch : body.getOps<LaunchOp>())
    if (failed(checkLaunch(launch)))
      return failure();
  for (auto command : body.getOps<CommandOpInterface>())
    if (!isa<LaunchOp>(command.getOperation()))
      return refuseCopy(command);
  for (InitOp init : program.getBody().getOps<InitOp>())
    return refuse(init, "the program fills the memory of a device before the first step, which needs the runtime, "
                        "compile for a machine with a CPU only, such as --machine host");
  const StringRef memory = (*program.getBody().getOps<MemoryOp>().begin()).getSymName();
  for (SlotOp slot : body.getOps<SlotOp>())
    if (slot.getMemory() != memory)
      return refuse(slot, "the program uses memory '", slot.getMemory().str(), "' in addition to '", memory.str(),
                    "', and a program without the runtime can use one memory, compile for a machine with a CPU only");
  return success();
}

LLVM::LLVMFuncOp FreestandingLowering::addFunction(StringRef name, Type result, ArrayRef<Type> arguments,
                                                   LLVM::Linkage linkage) {
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, LLVM::LLVMFunctionType::get(result, arguments), linkage);
  function.addEntryBlock(builder);
  return function;
}

void FreestandingLowering::returnIf(LLVM::LLVMFuncOp function, Value isWrong, Value status) {
  Block *here = builder.getInsertionBlock();
  Region &body = function.getBody();
  Block *fails = builder.createBlock(&body, body.end()), *next = builder.createBlock(&body, body.end());
  builder.setInsertionPointToEnd(here);
  LLVM::CondBrOp::create(builder, loc, isWrong, fails, ValueRange(), next, ValueRange());
  builder.setInsertionPointToEnd(fails);
  LLVM::ReturnOp::create(builder, loc, status);
  builder.setInsertionPointToEnd(next);
}

void FreestandingLowering::addStorage() {
  statesAt = arenaBytes(program);
  auto bytes = [&](int64_t count) { return LLVM::LLVMArrayType::get(i8, static_cast<uint64_t>(count)); };
  auto zeros = [&](StringRef name, Type type, uint64_t alignment) {
    auto made = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                                       Attribute(), alignment);
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&made.getInitializerRegion());
    LLVM::ReturnOp::create(builder, loc, LLVM::ZeroOp::create(builder, loc, type).getResult());
  };
  zeros("sluice.memory", bytes(freestandingMemoryBytes(program)), kArenaAlignment);
  zeros("sluice.ready", i8, 1);
  if (program.getParameterBytes() == 0)
    return;
  // Hidden: its address is relative to the code.
  auto parameters =
      LLVM::GlobalOp::create(builder, loc, bytes(program.getParameterBytes()), /*isConstant=*/true,
                             LLVM::Linkage::External, kFreestandingParameters, Attribute(), kArenaAlignment);
  parameters.setVisibility_(LLVM::Visibility::Hidden);
  parameters.setDsoLocal(true);
}

void FreestandingLowering::addInit() {
  LLVM::LLVMFuncOp function =
      addFunction(kFreestandingEntries[0], LLVM::LLVMVoidType::get(builder.getContext()), {}, LLVM::Linkage::External);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&function.getBody().front());
  const auto bytes = static_cast<int64_t>(program.getStateBytes());
  const int64_t initial = program.getStateInitial() ? static_cast<int64_t>(*program.getStateInitial()) : -1;
  const int64_t copied = initial < 0 ? 0 : static_cast<int64_t>(program.getParameterBytes()) - initial;
  Value states = bytes > 0 ? offset(global("sluice.memory"), statesAt) : Value();
  if (copied > 0)
    LLVM::MemcpyOp::create(builder, loc, states, offset(global(kFreestandingParameters), initial),
                           tables.integer(i64, copied), /*isVolatile=*/false);
  if (bytes > copied)
    LLVM::MemsetOp::create(builder, loc, offset(states, copied), tables.integer(i8, 0),
                           tables.integer(i64, bytes - copied), /*isVolatile=*/false);
  LLVM::StoreOp::create(builder, loc, tables.integer(i8, 1), global("sluice.ready"));
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// `void (pool, extent, grain, chunk, args)`: sluice_kernel_env.parallel_for on the calling thread. It runs the chunks
/// of the runtime's threads in their order.
LLVM::LLVMFuncOp FreestandingLowering::addParallelFor() {
  Type none = LLVM::LLVMVoidType::get(builder.getContext());
  LLVM::LLVMFuncOp function = addFunction("sluice.for", none, {ptr, i64, i64, ptr, ptr}, LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(builder);
  Region &body = function.getBody();
  Block *entry = &body.front();
  Value extent = entry->getArgument(1), grain = entry->getArgument(2);
  Block *head = builder.createBlock(&body, body.end(), i64, loc);
  Block *chunk = builder.createBlock(&body, body.end()), *done = builder.createBlock(&body, body.end());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPointToEnd(entry);
  Value isWhole = compare(LLVM::ICmpPredicate::slt, grain, tables.integer(i64, 1));
  Value step = LLVM::SelectOp::create(builder, loc, isWhole, extent, grain);
  LLVM::BrOp::create(builder, loc, tables.integer(i64, 0), head);
  builder.setInsertionPointToEnd(head);
  Value begin = head->getArgument(0);
  LLVM::CondBrOp::create(builder, loc, compare(LLVM::ICmpPredicate::slt, begin, extent), chunk, ValueRange(), done,
                         ValueRange());
  builder.setInsertionPointToEnd(chunk);
  Value rest = LLVM::SubOp::create(builder, loc, extent, begin);
  Value isLast = compare(LLVM::ICmpPredicate::slt, rest, step);
  Value end = LLVM::AddOp::create(builder, loc, begin, LLVM::SelectOp::create(builder, loc, isLast, rest, step));
  LLVM::CallOp::create(builder, loc, LLVM::LLVMFunctionType::get(none, {ptr, i64, i64}),
                       ValueRange{entry->getArgument(3), entry->getArgument(4), begin, end});
  LLVM::BrOp::create(builder, loc, end, head);
  return function;
}

/// `i1 (data, count, extras)`: whether `isWrong` holds for one of `count` positions. Its block has the arguments.
LLVM::LLVMFuncOp FreestandingLowering::addScan(StringRef name, ArrayRef<Type> extras,
                                               llvm::function_ref<Value(Block &, Value)> isWrong) {
  SmallVector<Type> arguments = {ptr, i64};
  llvm::append_range(arguments, extras);
  Type i1 = builder.getI1Type();
  LLVM::LLVMFuncOp function = addFunction(name, i1, arguments, LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(builder);
  Region &body = function.getBody();
  Block *entry = &body.front(), *head = builder.createBlock(&body, body.end(), i64, loc);
  Block *test = builder.createBlock(&body, body.end()), *done = builder.createBlock(&body, body.end(), i1, loc);
  LLVM::ReturnOp::create(builder, loc, done->getArgument(0));
  builder.setInsertionPointToEnd(entry);
  LLVM::BrOp::create(builder, loc, tables.integer(i64, 0), head);
  builder.setInsertionPointToEnd(head);
  Value index = head->getArgument(0);
  LLVM::CondBrOp::create(builder, loc, compare(LLVM::ICmpPredicate::slt, index, entry->getArgument(1)), test,
                         ValueRange(), done, ValueRange{tables.integer(i1, 0)});
  builder.setInsertionPointToEnd(test);
  Value wrong = isWrong(*entry, index);
  Value next = LLVM::AddOp::create(builder, loc, index, tables.integer(i64, 1));
  LLVM::CondBrOp::create(builder, loc, wrong, done, ValueRange{wrong}, head, ValueRange{next});
  return function;
}

/// Whether a value is outside of [low, high], and not the other value that is allowed.
LLVM::LLVMFuncOp FreestandingLowering::addRangeScan(StringRef name, Type element) {
  return addScan(name, {i64, i64, i64}, [&](Block &arguments, Value index) -> Value {
    Value value = load(element, at(element, arguments.getArgument(0), index));
    if (element != i64)
      value = LLVM::SExtOp::create(builder, loc, i64, value);
    Value isLow = compare(LLVM::ICmpPredicate::slt, value, arguments.getArgument(2));
    Value isHigh = compare(LLVM::ICmpPredicate::sgt, value, arguments.getArgument(3));
    Value isOther = compare(LLVM::ICmpPredicate::ne, value, arguments.getArgument(4));
    return LLVM::AndOp::create(builder, loc, LLVM::OrOp::create(builder, loc, isLow, isHigh), isOther);
  });
}

/// What Executor.cpp checks of an input's values.
void FreestandingLowering::checkInput(LLVM::LLVMFuncOp function, InputOp input, Value data) {
  auto type = cast<RankedTensorType>(input.getType());
  const std::string name = input.getTensor().str();
  if (auto fixed = input->getAttrOfType<DenseI8ArrayAttr>(ExecDialect::FixedAttrHelper::getNameStr())) {
    const std::string constant = "sluice.fixed" + std::to_string(numFixed++);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(program);
      const StringRef bytes(reinterpret_cast<const char *>(fixed.asArrayRef().data()), fixed.size());
      LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(i8, bytes.size()), /*isConstant=*/true,
                             LLVM::Linkage::Internal, constant, builder.getStringAttr(bytes));
      if (!differs)
        differs = addScan("sluice.differs", {ptr}, [&](Block &arguments, Value index) {
          return compare(LLVM::ICmpPredicate::ne, load(i8, at(i8, arguments.getArgument(0), index)),
                         load(i8, at(i8, arguments.getArgument(2), index)));
        });
    }
    Value wrong = LLVM::CallOp::create(builder, loc, differs,
                                       ValueRange{data, tables.integer(i64, fixed.size()), global(constant)})
                      .getResult();
    returnIf(
        function, wrong,
        statusOf(
            "input '" + name +
            "' has a value other than the one for which the model was compiled, compile the model for this value"));
  }
  const SmallVector<AffineExpr> range = rangeOf(input);
  if (range.empty())
    return;
  SmallVector<Value> arguments = {data, tables.integer(i64, type.getNumElements())};
  SmallVector<int64_t> numbers;
  for (AffineExpr number : range) {
    numbers.push_back(dataflow::valueAt(number, {}).value_or(0));
    arguments.push_back(tables.integer(i64, numbers.back()));
  }
  const bool isNarrow = type.getElementTypeBitWidth() == 32;
  LLVM::LLVMFuncOp &scan = isNarrow ? leavesRange32 : leavesRange64;
  if (!scan) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    scan = addRangeScan(isNarrow ? "sluice.leaves32" : "sluice.leaves64", isNarrow ? i32 : i64);
  }
  Value wrong = LLVM::CallOp::create(builder, loc, scan, arguments).getResult();
  returnIf(function, wrong,
           statusOf(concat("a value of input '", name, "' is out of range, give values from ", numbers[0], " to ",
                           numbers[1],
                           numbers[2] < numbers[0] || numbers[2] > numbers[1] ? concat(", or ", numbers[2]) : "")));
}

Value FreestandingLowering::addressOf(Value slot, Value inputs, Value outputs) {
  if (auto arena = slot.getDefiningOp<SlotOp>())
    return offset(global("sluice.memory"), static_cast<int64_t>(arena.getAt()));
  auto home = slot.getDefiningOp<HomeOp>();
  const auto position = static_cast<int64_t>(home.getPosition());
  auto port = [&](Value ports) { return load(ptr, at(ptr, ports, tables.integer(i64, position))); };
  switch (home.getKind()) {
  case HomeKind::Parameter:
    return offset(global(kFreestandingParameters), position);
  case HomeKind::State:
    return offset(global("sluice.memory"), statesAt + position);
  case HomeKind::Input:
    return port(inputs);
  case HomeKind::Output:
    return port(outputs);
  }
  llvm_unreachable("a home is of one of these kinds");
}

/// Whether the kernel may return something else than 0.
static bool canFail(LLVM::LLVMFuncOp kernel) {
  bool canFail = kernel.isExternal();
  kernel.walk([&](LLVM::ReturnOp op) { canFail |= !matchPattern(op.getOperand(0), m_Zero()); });
  return canFail;
}

/// `i32 (env, inputs, outputs)`, a sequence of launches.
LLVM::LLVMFuncOp FreestandingLowering::addPart(StringRef name, ArrayRef<LaunchOp> launches) {
  LLVM::LLVMFuncOp function = addFunction(name, i32, {ptr, ptr, ptr}, LLVM::Linkage::Internal);
  function.setNoInline(true);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = &function.getBody().front();
  builder.setInsertionPointToEnd(entry);
  size_t most = 1;
  for (LaunchOp launch : launches)
    most = std::max(most, launch.getReads().size() + launch.getWrites().size());
  Value args = LLVM::AllocaOp::create(builder, loc, ptr, ptr, tables.integer(i64, static_cast<int64_t>(most)));
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  for (LaunchOp launch : launches) {
    int64_t index = 0;
    for (OperandRange slots : {OperandRange(launch.getReads()), OperandRange(launch.getWrites())})
      for (Value slot : slots)
        LLVM::StoreOp::create(builder, loc, addressOf(slot, entry->getArgument(1), entry->getArgument(2)),
                              at(ptr, args, tables.integer(i64, index++)));
    auto kernel = symbols.lookup<LLVM::LLVMFuncOp>(launch.getKernel());
    // A failure is found in an object by the name of its function.
    kernel.setNoInline(true);
    Value status = LLVM::CallOp::create(builder, loc, kernel, ValueRange{entry->getArgument(0), args}).getResult();
    if (!canFail(kernel))
      continue;
    returnIf(function, compare(LLVM::ICmpPredicate::ne, status, tables.integer(i32, 0)),
             statusOf("operator '" + launch.getOp().str() + "' failed, check the values of the model's inputs"));
  }
  LLVM::ReturnOp::create(builder, loc, tables.integer(i32, 0));
  return function;
}

void FreestandingLowering::addRun() {
  LLVM::LLVMFuncOp parallelFor = addParallelFor();
  // Numbers of failures follow the order of a step: 0 and 1, inputs and outputs, then operators.
  messages = {"no error", "the model is not initialised, call its init function first"};
  LLVM::LLVMFuncOp function = addFunction(kFreestandingEntries[1], i32, {ptr, ptr}, LLVM::Linkage::External);
  Block *entry = &function.getBody().front();
  Value inputs = entry->getArgument(0), outputs = entry->getArgument(1), env, goesOn;
  constexpr int64_t kWords = sizeof(sluice_kernel_env) / sizeof(void *);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(entry);
    env = LLVM::AllocaOp::create(builder, loc, ptr, i64, tables.integer(i64, kWords));
    goesOn = LLVM::AllocaOp::create(builder, loc, ptr, i8, tables.integer(i64, 1));
    returnIf(function, compare(LLVM::ICmpPredicate::eq, load(i8, global("sluice.ready")), tables.integer(i8, 0)),
             tables.integer(i32, 1));
    auto checkPort = [&](auto port, Value ports, int64_t index, const char *what) -> Value {
      const int64_t bytes = *denseBytes(cast<RankedTensorType>(port.getType()));
      // A tensor without elements may have no memory.
      if (bytes == 0)
        return {};
      Value data = load(ptr, at(ptr, ports, tables.integer(i64, index)));
      returnIf(function, compare(LLVM::ICmpPredicate::eq, data, tables.null()),
               statusOf(concat(what, " '", port.getTensor().str(), "' has no buffer, give the address of its ", bytes,
                               " bytes")));
      return data;
    };
    int64_t index = 0;
    for (InputOp input : program.getBody().getOps<InputOp>())
      if (Value data = checkPort(input, inputs, index++, "input"))
        checkInput(function, input, data);
    index = 0;
    for (OutputOp output : program.getBody().getOps<OutputOp>())
      checkPort(output, outputs, index++, "output");
  }

  const auto launches = llvm::to_vector(program.getStep().getBody().getOps<LaunchOp>());
  std::vector<LLVM::LLVMFuncOp> parts;
  for (size_t first = 0; first < launches.size(); first += kLaunchesPerFunction)
    parts.push_back(addPart(concat("sluice.step.", parts.size()),
                            ArrayRef(launches).slice(first, std::min(kLaunchesPerFunction, launches.size() - first))));

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&function.getBody().back());
  LLVM::StoreOp::create(builder, loc, tables.integer(i8, 0), goesOn);
  for (int64_t word = 0; word < kWords; ++word) {
    const auto field = static_cast<size_t>(word) * sizeof(void *);
    Value value = tables.null();
    if (field == offsetof(sluice_kernel_env, size))
      value = tables.integer(i64, sizeof(sluice_kernel_env));
    else if (field == offsetof(sluice_kernel_env, parallel_for))
      value = LLVM::AddressOfOp::create(builder, loc, parallelFor);
    else if (field == offsetof(sluice_kernel_env, stop))
      value = goesOn;
    LLVM::StoreOp::create(builder, loc, value, at(i64, env, tables.integer(i64, word)));
  }
  for (LLVM::LLVMFuncOp part : parts) {
    Value status = LLVM::CallOp::create(builder, loc, part, ValueRange{env, inputs, outputs}).getResult();
    returnIf(function, compare(LLVM::ICmpPredicate::ne, status, tables.integer(i32, 0)), status);
  }
  LLVM::ReturnOp::create(builder, loc, tables.integer(i32, 0));
}

/// `const char *(status)`. A table of offsets into one text, where a table of addresses would have to be relocated.
void FreestandingLowering::addMessages() {
  const auto count = static_cast<int64_t>(messages.size());
  messages.push_back("the status is not one of the model's run function");
  std::string text;
  std::vector<uint32_t> starts;
  for (const std::string &message : messages) {
    starts.push_back(static_cast<uint32_t>(text.size()));
    (text += message) += '\0';
  }
  LLVM::GlobalOp offsets = tables.addIntegers("sluice.message_starts", starts);
  LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(i8, text.size()), /*isConstant=*/true,
                         LLVM::Linkage::Internal, "sluice.messages", builder.getStringAttr(text));
  LLVM::LLVMFuncOp function = addFunction(kFreestandingEntries[2], ptr, {i32}, LLVM::Linkage::External);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = &function.getBody().front();
  builder.setInsertionPointToEnd(entry);
  Value status = LLVM::ZExtOp::create(builder, loc, i64, entry->getArgument(0));
  Value last = tables.integer(i64, count);
  Value isKnown = compare(LLVM::ICmpPredicate::ult, status, last);
  Value start =
      load(i32, at(i32, tables.address(offsets), LLVM::SelectOp::create(builder, loc, isKnown, status, last)));
  LLVM::ReturnOp::create(builder, loc,
                         at(i8, global("sluice.messages"), LLVM::ZExtOp::create(builder, loc, i64, start)));
}

LogicalResult FreestandingLowering::run() {
  if (failed(check()))
    return failure();
  addStorage();
  addInit();
  addRun();
  addMessages();
  program.erase();
  return success();
}

struct ExecToFreestanding final : sluice::impl::ExecToFreestandingPassBase<ExecToFreestanding> {
  void runOnOperation() override {
    if (failed(checkOneProgram(getOperation())))
      return signalPassFailure();
    for (ProgramOp program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (failed(checkKernels(program)) || failed(FreestandingLowering(program).run()))
        return signalPassFailure();
  }
};

} // namespace

int64_t sluice::freestandingMemoryBytes(ProgramOp program) {
  return arenaBytes(program) + static_cast<int64_t>(program.getStateBytes());
}
