//===- GridCheck.cpp - Grids as lower-grids expects them --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GridCheck.h"

#include "dialects/Dataflow/Emit/KernelEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {

namespace {

class Checker {
public:
  Checker(gpu::GPUModuleOp device, gpu::GPUFuncOp function) : device(device), function(function) {}

  Status run(const SymbolTable &symbols) {
    if (!DataflowDialect::OperatorAttrHelper(function.getContext()).getAttr(function))
      return bad("has no attribute '", DataflowDialect::OperatorAttrHelper::getNameStr().str(), "'");
    SLUICE_RETURN_IF_ERROR(checkSizes());
    auto isWord = [](Type type) { return isa<LLVM::LLVMPointerType>(type) || type.isInteger(64); };
    if (function.isExternal() || function.getNumResults() > 0 || !function.isKernel() ||
        function.getNumWorkgroupAttributions() + function.getNumPrivateAttributions() > 0 ||
        !llvm::all_of(function.getArgumentTypes(), isWord))
      return bad("is not a kernel that takes pointers and extents of type i64 and returns nothing");
    if (!symbols.lookup<LLVM::GlobalOp>(function.getName()))
      return bad("has no llvm.mlir.global of the same name for the descriptor");
    Operation *foreign = nullptr;
    function.walk([&](Operation *op) {
      if (!foreign && !isLowered(op))
        foreign = op;
    });
    return foreign ? bad("contains '", foreign->getName().getStringRef().str(), "' in a form that cannot be lowered")
                   : Status();
  }

private:
  /// Both are along x alone, and known, but for the number of blocks where a launch says it.
  Status checkSizes() {
    constexpr int32_t kMostThreads = 1024;
    auto isLine = [](std::optional<ArrayRef<int32_t>> size) {
      return size && size->size() == 3 && size->front() > 0 && (*size)[1] == 1 && (*size)[2] == 1;
    };
    if (function.getKnownGridSize() && !isLine(function.getKnownGridSize()))
      return bad("has a known_grid_size of more than one dimension");
    if (!isLine(function.getKnownBlockSize()))
      return bad("has no known_block_size of one dimension");
    if (const int32_t threads = function.getKnownBlockSize()->front();
        threads > kMostThreads || threads % kWarpThreads != 0)
      return bad("has ", threads, " threads, a multiple of ", kWarpThreads, " up to ", kMostThreads, " is allowed");
    return {};
  }

  template <typename... Ts>
  Status bad(const Ts &...what) {
    return makeError(ErrorCode::InvalidInput, "function '", function.getName().str(), "' ", what..., ", gpu.module '",
                     device.getName().str(), "', write grids as dataflow-emit-kernels does");
  }

  /// The address in shared memory that a pointer is cast from.
  static LLVM::AddressOfOp sharedAddress(Value pointer) {
    auto cast = pointer.getDefiningOp<LLVM::AddrSpaceCastOp>();
    return cast ? cast.getArg().getDefiningOp<LLVM::AddressOfOp>() : LLVM::AddressOfOp();
  }

  /// Whether a global is a buffer of bytes whose offset is known.
  static bool isShared(LLVM::AddressOfOp address) {
    auto offset = DataflowDialect::SharedAttrHelper(address.getContext()).getAttr(address);
    auto buffer = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(address, address.getGlobalNameAttr());
    return offset && offset.getInt() >= 0 && buffer && isa<LLVM::LLVMArrayType>(buffer.getType());
  }

  /// Whether a pointer into a memory of its own is cast from one that host code can use.
  static bool isGeneric(Value pointer) {
    auto cast = pointer.getDefiningOp<LLVM::AddrSpaceCastOp>();
    auto type = cast ? dyn_cast<LLVM::LLVMPointerType>(cast.getArg().getType()) : LLVM::LLVMPointerType();
    return type && type.getAddressSpace() == 0;
  }

  /// Operations of other kinds pass through: the lowering to LLVM's dialect reports those that it does not know.
  static bool isLowered(Operation *op) {
    if (auto thread = dyn_cast<gpu::ThreadIdOp>(op))
      return thread.getDimension() == gpu::Dimension::x;
    if (auto block = dyn_cast<gpu::BlockIdOp>(op))
      return block.getDimension() == gpu::Dimension::x;
    if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
      Type type = shuffle.getValue().getType();
      return shuffle.getMode() == gpu::ShuffleMode::XOR && (type.isInteger(32) || type.isInteger(64)) &&
             shuffle.getValid().use_empty();
    }
    if (auto product = dyn_cast<NVVM::MmaOp>(op)) {
      const std::optional<NVVM::MMATypes> type = product.getMultiplicandAPtxType();
      return type && llvm::is_contained({NVVM::MMATypes::tf32, NVVM::MMATypes::bf16, NVVM::MMATypes::f16}, *type) &&
             product.getOperandA().size() == 4 && product.getOperandB().size() == 2 &&
             product.getOperandC().size() == 4;
    }
    if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op))
      return copy.getCpSize() && isGeneric(copy.getDst()) && isGeneric(copy.getSrc());
    if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op))
      return wait.getN() == 0;
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
      return isShared(address) &&
             llvm::all_of(address->getUsers(), [](Operation *user) { return isa<LLVM::AddrSpaceCastOp>(user); });
    if (op->hasAttr(DataflowDialect::ArchitectureAttrHelper::getNameStr())) {
      auto choice = dyn_cast<scf::IfOp>(op);
      return choice && choice.elseBlock() && choice->getNumResults() == 0 &&
             DataflowDialect::ArchitectureAttrHelper(op->getContext()).getAttr(op);
    }
    if (auto cast = dyn_cast<LLVM::AddrSpaceCastOp>(op)) {
      auto isCopy = [](Operation *user) { return isa<NVVM::CpAsyncOp>(user); };
      return sharedAddress(cast) || llvm::all_of(cast->getUsers(), isCopy);
    }
    return true;
  }

  gpu::GPUModuleOp device;
  gpu::GPUFuncOp function;
};

} // namespace

Expected<gpu::GPUModuleOp> checkedGrids(ModuleOp module) {
  auto devices = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (devices.empty())
    return gpu::GPUModuleOp();
  if (devices.size() > 1)
    return makeError(ErrorCode::InvalidInput, "the module has ", devices.size(),
                     " gpu.modules, of which the first two are '", devices[0].getName().str(), "' and '",
                     devices[1].getName().str(), "', put the grids of all GPUs into one gpu.module");
  const SymbolTable symbols(module);
  for (Operation &op : devices.front().getBody()->getOperations()) {
    if (auto function = dyn_cast<gpu::GPUFuncOp>(op))
      SLUICE_RETURN_IF_ERROR(Checker(devices.front(), function).run(symbols));
    else if (!isa<LLVM::GlobalOp>(op))
      return makeError(ErrorCode::InvalidInput, "'", op.getName().getStringRef().str(),
                       "' is neither gpu.func nor llvm.mlir.global, gpu.module '", devices.front().getName().str(),
                       "', write grids as dataflow-emit-kernels does");
  }
  return devices.front();
}

} // namespace sluice
