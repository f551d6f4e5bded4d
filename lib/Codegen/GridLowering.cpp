//===- GridLowering.cpp - Grids to device code and host code ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/GridLowering.h"

#include "GridCheck.h"
#include "PtxEmission.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "passes/ExecToLLVM/ConstantTables.h"
#include "passes/LowerKernels/Passes.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Runtime/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using sluice::dataflow::DataflowDialect;

namespace sluice {

namespace {

static_assert(offsetof(sluice_kernel_env, grids) == 40 && offsetof(sluice_kernel_env, launch_grid) == 48,
              "kernels read the environment by these offsets");

template <typename... Ops>
void forEach(func::FuncOp function, auto fn) {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    if (isa<Ops...>(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    OpBuilder b(op);
    Value value = fn(b, op);
    if (value)
      op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
}

Value constantI32(OpBuilder &b, Location loc, int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }

/// A thread's part of products and copies, as a sluice_thread's functions; `field` reads one of those.
void toHostProducts(func::FuncOp function, function_ref<Value(OpBuilder &, Type, size_t)> field) {
  MLIRContext *context = function.getContext();
  Location loc = function.getLoc();
  auto ptr = LLVM::LLVMPointerType::get(context);
  auto call = [&](OpBuilder &b, size_t offset, ValueRange args) {
    SmallVector<Value> all{field(b, ptr, offset), function.getBody().front().getArgument(0)};
    llvm::append_range(all, args);
    SmallVector<Type> types(ValueRange(all).drop_front().getTypes());
    LLVM::CallOp::create(b, loc, LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types), all);
  };
  OpBuilder start = OpBuilder::atBlockBegin(&function.getBody().front());
  Value slots[3];
  auto keep = [&](OpBuilder &b, Value &slot, ValueRange values) {
    if (!slot) {
      Value count = LLVM::ConstantOp::create(start, loc, start.getI64IntegerAttr(static_cast<int64_t>(values.size())));
      slot = LLVM::AllocaOp::create(start, loc, ptr, start.getI32Type(), count);
    }
    for (auto [i, value] : llvm::enumerate(values)) {
      Value at = LLVM::GEPOp::create(b, loc, ptr, b.getI32Type(), slot, ArrayRef<LLVM::GEPArg>{int32_t(i)});
      LLVM::StoreOp::create(b, loc, value, at);
    }
  };
  forEach<NVVM::MmaOp>(function, [&](OpBuilder &b, Operation *op) -> Value {
    auto product = cast<NVVM::MmaOp>(op);
    NVVM::MMATypes type = *product.getMultiplicandAPtxType();
    keep(b, slots[0], product.getOperandA());
    keep(b, slots[1], product.getOperandB());
    keep(b, slots[2], product.getOperandC());
    Value number = constantI32(b, loc,
                               type == NVVM::MMATypes::tf32   ? SLUICE_MULTIPLY_TF32
                               : type == NVVM::MMATypes::bf16 ? SLUICE_MULTIPLY_BF16
                                                              : SLUICE_MULTIPLY_F16);
    call(b, offsetof(sluice_thread, multiply), {number, slots[0], slots[1], slots[2]});
    return LLVM::LoadOp::create(b, loc, product.getType(), slots[2], /*alignment=*/4);
  });
  forEach<NVVM::CpAsyncOp>(function, [&](OpBuilder &b, Operation *op) -> Value {
    auto copy = cast<NVVM::CpAsyncOp>(op);
    Value bytes = constantI32(b, loc, copy.getSize());
    auto generic = [](Value pointer) { return pointer.getDefiningOp<LLVM::AddrSpaceCastOp>().getArg(); };
    call(b, offsetof(sluice_thread, copy_later),
         {generic(copy.getDst()), generic(copy.getSrc()), bytes, copy.getCpSize()});
    return {};
  });
  forEach<NVVM::CpAsyncCommitGroupOp>(function, [](OpBuilder &, Operation *) -> Value { return {}; });
  forEach<NVVM::CpAsyncWaitGroupOp>(function, [&](OpBuilder &b, Operation *op) -> Value {
    assert(cast<NVVM::CpAsyncWaitGroupOp>(op).getN() == 0 && "all copies are waited for together");
    call(b, offsetof(sluice_thread, finish_copies), {});
    return {};
  });
  // To nearest, ties away from zero; NaN and infinity stay.
  forEach<NVVM::ConvertFloatToTF32Op>(function, [&](OpBuilder &b, Operation *op) -> Value {
    constexpr int64_t kHalf = 0x1000, kKept = ~int64_t(0x1fff), kInfinity = 0x7f800000;
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), op->getOperand(0));
    Value rounded = arith::AddIOp::create(b, loc, bits, constantI32(b, loc, kHalf));
    rounded = arith::AndIOp::create(b, loc, rounded, constantI32(b, loc, kKept));
    Value magnitude = arith::AndIOp::create(b, loc, bits, constantI32(b, loc, 0x7fffffff));
    Value finite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, magnitude, constantI32(b, loc, kInfinity));
    return arith::SelectOp::create(b, loc, finite, rounded, bits);
  });
  forEach<NVVM::ConvertF32x2ToF16x2Op, NVVM::ConvertF32x2ToBF16x2Op>(
      function, [&](OpBuilder &b, Operation *op) -> Value {
        // The first operand is the upper half.
        Value pair = vector::FromElementsOp::create(b, loc, VectorType::get(2, b.getF32Type()),
                                                    ValueRange{op->getOperand(1), op->getOperand(0)});
        return arith::TruncFOp::create(b, loc, op->getResult(0).getType(), pair);
      });
  // The copies' addresses in memories of their own.
  SmallVector<Operation *> unused;
  function.walk([&](LLVM::AddrSpaceCastOp op) {
    if (op.use_empty())
      unused.push_back(op);
  });
  for (Operation *op : unused)
    op->erase();
}

/// Whether the architecture is one or newer: known where PTX is made of the module.
void compareArchitecture(gpu::GPUModuleOp module) {
  LLVM::GlobalOp global;
  module.walk([&](scf::IfOp op) {
    auto least = DataflowDialect::ArchitectureAttrHelper(op->getContext()).getAttr(op);
    if (!least)
      return;
    if (!global) {
      OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
      global = LLVM::GlobalOp::create(b, op.getLoc(), b.getI32Type(), /*isConstant=*/true, LLVM::Linkage::External,
                                      kArchitectureGlobal, Attribute());
    }
    OpBuilder b(op);
    Value own = LLVM::LoadOp::create(b, op.getLoc(), b.getI32Type(), LLVM::AddressOfOp::create(b, op.getLoc(), global));
    Value bound = constantI32(b, op.getLoc(), least.getInt());
    op.getConditionMutable().assign(arith::CmpIOp::create(b, op.getLoc(), arith::CmpIPredicate::uge, own, bound));
    op->removeAttr(DataflowDialect::ArchitectureAttrHelper::getNameStr());
  });
}

/// Leaves the code of one architecture.
void chooseArchitecture(func::FuncOp function, unsigned architecture) {
  SmallVector<scf::IfOp> found;
  function.walk([&](scf::IfOp op) {
    if (op->hasAttr(DataflowDialect::ArchitectureAttrHelper::getNameStr()))
      found.push_back(op);
  });
  for (scf::IfOp op : found) {
    Block *chosen = DataflowDialect::ArchitectureAttrHelper(op->getContext()).getAttr(op).getInt() <= architecture
                        ? op.thenBlock()
                        : op.elseBlock();
    chosen->getTerminator()->erase();
    op->getBlock()->getOperations().splice(Block::iterator(op), chosen->getOperations());
    op.erase();
  }
}

/// The same as reads and calls of a sluice_thread, the function's first
/// argument; the second has the tensors' addresses and the extents.
void toHost(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  auto ptr = LLVM::LLVMPointerType::get(context);
  Block &entry = function.getBody().front();
  Location loc = function.getLoc();
  unsigned numTensors = entry.getNumArguments();
  Value self = entry.addArgument(ptr, loc), args = entry.addArgument(ptr, loc);
  OpBuilder start = OpBuilder::atBlockBegin(&entry);
  for (unsigned i = 0; i < numTensors; ++i) {
    Value at = LLVM::GEPOp::create(start, loc, ptr, ptr, args, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    Value given = LLVM::LoadOp::create(start, loc, entry.getArgument(i).getType(), at);
    entry.getArgument(i).replaceAllUsesWith(given);
  }
  entry.eraseArguments(0, numTensors);
  function.setType(FunctionType::get(context, {ptr, ptr}, {}));
  auto field = [&](OpBuilder &b, Type type, size_t offset) -> Value {
    Value at = LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), self, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return LLVM::LoadOp::create(b, loc, type, at);
  };
  auto position = [&](size_t offset) {
    return [=](OpBuilder &b, Operation *) -> Value {
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), field(b, b.getI64Type(), offset));
    };
  };
  forEach<gpu::ThreadIdOp>(function, position(offsetof(sluice_thread, thread)));
  forEach<gpu::BlockIdOp>(function, position(offsetof(sluice_thread, block)));
  forEach<gpu::BarrierOp>(function, [&](OpBuilder &b, Operation *) -> Value {
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {ptr});
    LLVM::CallOp::create(b, loc, type, ValueRange{field(b, ptr, offsetof(sluice_thread, barrier)), self});
    return {};
  });
  forEach<gpu::ShuffleOp>(function, [&](OpBuilder &b, Operation *op) -> Value {
    auto shuffle = cast<gpu::ShuffleOp>(op);
    Type i64 = b.getI64Type(), own = shuffle.getValue().getType();
    Value value = own == i64 ? shuffle.getValue() : Value(arith::ExtUIOp::create(b, loc, i64, shuffle.getValue()));
    auto type = LLVM::LLVMFunctionType::get(i64, {ptr, i64, b.getI32Type()});
    Value exchange = field(b, ptr, offsetof(sluice_thread, exchange));
    Value result =
        LLVM::CallOp::create(b, loc, type, ValueRange{exchange, self, value, shuffle.getOffset()}).getResult();
    return own == i64 ? result : Value(arith::TruncIOp::create(b, loc, own, result));
  });
  toHostProducts(function, field);
  forEach<LLVM::AddrSpaceCastOp>(function, [&](OpBuilder &b, Operation *op) -> Value {
    auto offset = DataflowDialect::SharedAttrHelper(op->getContext()).getAttr(op->getOperand(0).getDefiningOp());
    Value shared = field(b, ptr, offsetof(sluice_thread, shared));
    return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), shared,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset.getInt())});
  });
  forEach<LLVM::AddressOfOp>(function, [](OpBuilder &, Operation *) -> Value { return {}; });
}

/// 0 where a launch says how many there are.
int32_t blocksOf(gpu::GPUFuncOp function) {
  const std::optional<ArrayRef<int32_t>> size = function.getKnownGridSize();
  return size ? size->front() : 0;
}
int32_t threadsOf(gpu::GPUFuncOp function) { return function.getKnownBlockSize()->front(); }

/// Bytes that a block's threads share.
int64_t sharedBytesOf(gpu::GPUFuncOp function) {
  int64_t end = 0;
  function.walk([&](LLVM::AddressOfOp op) {
    auto buffer = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(op, op.getGlobalNameAttr());
    auto bytes = static_cast<int64_t>(cast<LLVM::LLVMArrayType>(buffer.getType()).getNumElements());
    end = std::max(end, DataflowDialect::SharedAttrHelper(op->getContext()).getAttr(op).getInt() + bytes);
  });
  return end;
}

/// Threads of a block wait for each other.
bool waits(gpu::GPUFuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<gpu::BarrierOp, gpu::ShuffleOp, NVVM::MmaOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The name of the global that holds an architecture's PTX begins so.
constexpr llvm::StringLiteral kPtxGlobal = "sluice.ptx.sm_";

std::string hostName(gpu::GPUFuncOp function) { return (function.getName() + "_thread").str(); }

/// The address of a grid's host code, which is no LLVM function yet.
Value hostAddress(OpBuilder &builder, Location loc, gpu::GPUFuncOp function) {
  auto ptr = LLVM::LLVMPointerType::get(builder.getContext());
  Value host = func::ConstantOp::create(builder, loc, builder.getFunctionType({ptr, ptr}, {}), hostName(function));
  return UnrealizedConversionCastOp::create(builder, loc, ptr, host).getResult(0);
}

/// sluice_grid and sluice_image constants. Loaders of models for GPUs find all
/// grids by a null-terminated table.
void defineDescriptors(ModuleOp module, gpu::GPUModuleOp device, const std::vector<DeviceCode> &codes, bool hostCode) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  ConstantTables tables(builder, loc, "sluice.grid_names");
  Type i32 = tables.i32(), i64 = tables.i64(), ptr = tables.ptr();
  std::vector<LLVM::GlobalOp> texts;
  for (const DeviceCode &code : codes) {
    std::string text = code.ptx + '\0';
    texts.push_back(LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
                                           /*isConstant=*/true, LLVM::Linkage::Internal,
                                           (kPtxGlobal + Twine(code.architecture)).str(), builder.getStringAttr(text)));
  }
  Type image = tables.structOf({i64, i32, i32, ptr, i64});
  LLVM::GlobalOp images;
  if (!codes.empty())
    images = tables.addTable("sluice.images", image, codes.size(), [&](size_t i) {
      return tables.aggregate(image,
                              {tables.integer(i64, sizeof(sluice_image)), tables.integer(i32, codes[i].architecture),
                               tables.integer(i32, 0), tables.address(texts[i]),
                               tables.integer(i64, static_cast<int64_t>(codes[i].ptx.size()) + 1)});
    });
  Type grid = tables.structOf({i64, ptr, i32, i32, i32, i32, i32, ptr, i32, ptr});
  SymbolTable symbols(module);
  std::vector<LLVM::GlobalOp> descriptors;
  for (auto function : device.getOps<gpu::GPUFuncOp>()) {
    symbols.lookup<LLVM::GlobalOp>(function.getName()).erase();
    LLVM::GlobalOp descriptor = tables.addValue(function.getName(), grid, [&] {
      Value thread = hostCode ? hostAddress(builder, loc, function) : tables.null();
      return tables.aggregate(
          grid, {tables.integer(i64, sizeof(sluice_grid)), tables.string(function.getName()),
                 tables.integer(i32, blocksOf(function)), tables.integer(i32, threadsOf(function)),
                 tables.integer(i32, sharedBytesOf(function)), tables.integer(i32, function.getNumArguments()),
                 tables.integer(i32, waits(function)), thread, tables.integer(i32, static_cast<int64_t>(codes.size())),
                 images ? tables.address(images) : tables.null()});
    });
    // Not local: what refers to one local global is compiled as one part.
    descriptor.setLinkage(LLVM::Linkage::External);
    descriptors.push_back(descriptor);
  }
  if (!codes.empty()) {
    LLVM::GlobalOp all = tables.addTable(SLUICE_GRID_TABLE, ptr, descriptors.size() + 1, [&](size_t i) {
      return i < descriptors.size() ? tables.address(descriptors[i]) : tables.null();
    });
    all.setLinkage(LLVM::Linkage::External);
  }
  tables.finish();
}

} // namespace

std::vector<DeviceCode> deviceCodeOf(ModuleOp module) {
  std::vector<DeviceCode> codes;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    StringRef name = global.getSymName();
    DeviceCode code;
    if (!name.consume_front(kPtxGlobal) || name.getAsInteger(10, code.architecture))
      continue;
    // The text ends with a zero.
    code.ptx = cast<StringAttr>(global.getValueOrNull()).getValue().drop_back().str();
    codes.push_back(std::move(code));
  }
  return codes;
}

/// PTX of the grids, for each architecture.
static Expected<std::vector<DeviceCode>> emitDevice(gpu::GPUModuleOp device, std::span<const unsigned> architectures) {
  OwningOpRef<gpu::GPUModuleOp> code = device.clone();
  compareArchitecture(*code);
  std::vector<GridFunction> grids;
  for (auto function : code->getOps<gpu::GPUFuncOp>()) {
    grids.push_back({function.getName().str(),
                     DataflowDialect::OperatorAttrHelper(function->getContext()).getAttr(function).str()});
    function->removeAttr(DataflowDialect::OperatorAttrHelper::getNameStr());
  }
  code->walk([](LLVM::AddressOfOp op) { op->removeAttr(DataflowDialect::SharedAttrHelper::getNameStr()); });
  SLUICE_RETURN_IF_ERROR(lowerGridsToNVVM(*code));
  return emitPtx(*code, grids, architectures);
}

/// The code of one of the grid's threads, on the host.
static void addHostCode(OpBuilder &builder, gpu::GPUFuncOp function, unsigned architecture) {
  auto host = func::FuncOp::create(builder, function.getLoc(), hostName(function), function.getFunctionType());
  IRMapping mapping;
  function.getBody().cloneInto(&host.getBody(), mapping);
  forEach<gpu::ReturnOp>(host, [](OpBuilder &b, Operation *op) -> Value {
    func::ReturnOp::create(b, op->getLoc());
    return {};
  });
  chooseArchitecture(host, architecture);
  toHost(host);
}

Expected<std::vector<DeviceCode>> lowerGrids(ModuleOp module, const GridTargets &targets) {
  std::vector<DeviceCode> codes;
  SLUICE_ASSIGN_OR_RETURN(gpu::GPUModuleOp device, checkedGrids(module));
  if (!device)
    return codes;
  if (!device.getOps<gpu::GPUFuncOp>().empty() && targets.architectures.empty() && !targets.hostCode)
    return makeError(ErrorCode::InvalidInput, "the target has no GPU to run the grids of gpu.module '",
                     device.getName().str(),
                     "', attribute 'exec.target', add cuda:sm_90 or cuda:emulated to the attribute");
  PassManager math(module.getContext(), gpu::GPUModuleOp::getOperationName());
  math.addNestedPass<gpu::GPUFuncOp>(createExpandMathPass());
  if (failed(math.run(device)))
    return makeError(ErrorCode::Internal,
                     "a kernel has math that cannot be expanded, this is a bug of Sluice, please report it");
  if (!targets.architectures.empty()) {
    SLUICE_ASSIGN_OR_RETURN(codes, emitDevice(device, targets.architectures));
  }
  defineDescriptors(module, device, codes, targets.hostCode);
  if (targets.hostCode) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (auto function : device.getOps<gpu::GPUFuncOp>())
      addHostCode(builder, function, targets.hostArchitecture);
  }
  device.erase();
  return codes;
}

} // namespace sluice
