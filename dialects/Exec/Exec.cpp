//===- Exec.cpp - The planned program form ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Exec/Exec.h"

#include "dialects/Dataflow/IR/Dataflow.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exec;

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecInterfaces.cpp.inc"
#include "dialects/Exec/ExecTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  registerAttributes();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Exec/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
}

std::optional<int32_t> sluice::exec::onnxElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return 9;
    case 2:
      return isUnsigned ? 25 : 26;
    case 4:
      return isUnsigned ? 21 : 22;
    case 8:
      return isUnsigned ? 2 : 3;
    case 16:
      return isUnsigned ? 4 : 5;
    case 32:
      return isUnsigned ? 12 : 6;
    case 64:
      return isUnsigned ? 13 : 7;
    default:
      return std::nullopt;
    }
  }
  return llvm::TypeSwitch<Type, std::optional<int32_t>>(type)
      .Case([](Float32Type) { return 1; })
      .Case([](dataflow::StringType) { return 8; })
      .Case([](Float16Type) { return 10; })
      .Case([](Float64Type) { return 11; })
      .Case([](BFloat16Type) { return 16; })
      .Case([](Float8E4M3FNType) { return 17; })
      .Case([](Float8E4M3FNUZType) { return 18; })
      .Case([](Float8E5M2Type) { return 19; })
      .Case([](Float8E5M2FNUZType) { return 20; })
      .Case([](Float4E2M1FNType) { return 23; })
      .Case([](Float8E8M0FNUType) { return 24; })
      .Case([](ComplexType complex) -> std::optional<int32_t> {
        if (complex.getElementType().isF32())
          return 14;
        return complex.getElementType().isF64() ? std::optional<int32_t>(15) : std::nullopt;
      })
      .Default([](Type) { return std::nullopt; });
}

std::optional<int64_t> sluice::exec::denseBytes(RankedTensorType type) {
  if (!type.hasStaticShape() || !onnxElementType(type.getElementType()))
    return std::nullopt;
  auto complex = dyn_cast<ComplexType>(type.getElementType());
  int64_t bytes =
      complex ? 2 * dataflow::elementBytes(complex.getElementType()) : dataflow::elementBytes(type.getElementType());
  for (int64_t dim : type.getShape())
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return std::nullopt;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Builders and names
//===----------------------------------------------------------------------===//

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name, int64_t parameterBytes,
                      int64_t stateBytes) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getParameterBytesAttrName(state.name), builder.getI64IntegerAttr(parameterBytes));
  state.addAttribute(getStateBytesAttrName(state.name), builder.getI64IntegerAttr(stateBytes));
  state.addRegion()->emplaceBlock();
}

void InitOp::build(OpBuilder &builder, OperationState &state, DenseI64ArrayAttr bounds) {
  if (bounds)
    state.addAttribute(getBoundsAttrName(state.name), bounds);
  state.addRegion()->emplaceBlock();
}

void StepOp::build(OpBuilder &builder, OperationState &state, DenseI64ArrayAttr bounds, DenseI64ArrayAttr arenas) {
  if (bounds)
    state.addAttribute(getBoundsAttrName(state.name), bounds);
  if (arenas)
    state.addAttribute(getArenasAttrName(state.name), arenas);
  state.addRegion()->emplaceBlock();
}

int64_t ProgramOp::getExpertSlotBytes() {
  constexpr int64_t kBlock = 4096;
  int64_t most = 0;
  for (ExpertOp expert : getBody().getOps<ExpertOp>())
    most = std::max(most, static_cast<int64_t>(llvm::alignTo(expert.getBytes(), kBlock)));
  return most;
}

StepOp ProgramOp::getStep() {
  return *llvm::find_if(getBody().getOps<StepOp>(), [](StepOp step) { return !step.getBounds(); });
}

InitOp ProgramOp::getInit(StepOp step) {
  for (InitOp init : getBody().getOps<InitOp>())
    if (init.getBoundsAttr() == step.getBoundsAttr())
      return init;
  return {};
}

/// Values are named after what they stand for, so that dumps read like plans.
static StringRef slotName(StringAttr tensor) { return tensor && !tensor.empty() ? tensor.getValue() : "scratch"; }

void SlotOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getSlot(), slotName(getTensorAttr())); }
void HomeOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getSlot(), slotName(getTensorAttr())); }
void LaunchOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), "ran"); }
void SwapInOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), "in"); }
void SwapOutOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), "out"); }
void CopyOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), "copied"); }
void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), "read"); }
void WriteOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), "wrote"); }

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

DeclarationNumbers::DeclarationNumbers(ProgramOp program) : symbols(program) {
  llvm::DenseMap<OperationName, uint32_t> counts;
  for (Operation &op : program.getBody().getOps())
    if (isa<MemoryOp, DeviceOp, LinkOp, StreamOp>(&op))
      numbers[&op] = counts[op.getName()]++;
}

/// C2: `user` names a declared symbol, of the kind that it needs.
template <typename Declared>
static LogicalResult verifySymbol(Operation *user, Operation *found, StringRef kind, FlatSymbolRefAttr name) {
  if (!found)
    return user->emitOpError() << "C2: " << kind << " '" << name.getValue() << "' is not declared";
  if (isa<Declared>(found))
    return success();
  InFlightDiagnostic error = user->emitOpError() << "C2: '" << name.getValue() << "' must be a " << kind;
  error.attachNote(found->getLoc()) << "declared here as '" << found->getName() << "'";
  return error;
}

template <typename Declared>
static LogicalResult verifyNamed(Operation *user, StringRef kind, FlatSymbolRefAttr name,
                                 SymbolTableCollection &symbols) {
  return verifySymbol<Declared>(user, symbols.lookupNearestSymbolFrom(user, name), kind, name);
}

LogicalResult DeviceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyNamed<MemoryOp>(*this, "memory", getMemoryAttr(), symbols);
}

LogicalResult LinkOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return failure(failed(verifyNamed<MemoryOp>(*this, "memory", getFirstAttr(), symbols)) ||
                 failed(verifyNamed<MemoryOp>(*this, "memory", getSecondAttr(), symbols)));
}

LogicalResult StreamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyNamed<DeviceOp>(*this, "device", getDeviceAttr(), symbols);
}

LogicalResult SlotOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyNamed<MemoryOp>(*this, "memory", getMemoryAttr(), symbols);
}

LogicalResult HomeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return getMemoryAttr() ? verifyNamed<MemoryOp>(*this, "memory", getMemoryAttr(), symbols) : success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyNamed<StreamOp>(*this, "stream", getStreamAttr(), symbols)))
    return failure();
  // Kernels are not the program's: they are lowered with the module's other functions.
  Operation *module = (*this)->getParentOfType<ProgramOp>()->getParentOp();
  Operation *found = symbols.lookupNearestSymbolFrom(module, getKernelAttr());
  return verifySymbol<FunctionOpInterface>(*this, found, "kernel", getKernelAttr());
}

template <typename Copy>
static LogicalResult verifyCopySymbols(Copy copy, SymbolTableCollection &symbols) {
  return failure(failed(verifyNamed<LinkOp>(copy, "link", copy.getLinkAttr(), symbols)) ||
                 failed(verifyNamed<StreamOp>(copy, "stream", copy.getStreamAttr(), symbols)));
}

LogicalResult SwapInOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyCopySymbols(*this, symbols); }
LogicalResult SwapOutOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyCopySymbols(*this, symbols); }
LogicalResult CopyOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyCopySymbols(*this, symbols); }
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyCopySymbols(*this, symbols); }
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyCopySymbols(*this, symbols); }

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

bool SlotOp::isInitiallyHeld() { return getResident(); }
bool HomeOp::isInitiallyHeld() {
  return getKind() == HomeKind::Parameter || getKind() == HomeKind::Input || getResident();
}

OperandRange LaunchOp::getReadSlots() { return getReads(); }
OperandRange LaunchOp::getWrittenSlots() { return getWrites(); }
OperandRange SwapInOp::getReadSlots() { return getOperation()->getOperands().take_front(1); }
OperandRange SwapInOp::getWrittenSlots() { return getOperation()->getOperands().slice(1, 1); }
OperandRange SwapOutOp::getReadSlots() { return getOperation()->getOperands().take_front(1); }
OperandRange SwapOutOp::getWrittenSlots() { return getOperation()->getOperands().slice(1, 1); }
OperandRange CopyOp::getReadSlots() { return getOperation()->getOperands().take_front(1); }
OperandRange CopyOp::getWrittenSlots() { return getOperation()->getOperands().slice(1, 1); }
OperandRange ReadOp::getReadSlots() { return getOperation()->getOperands().take_front(1); }
OperandRange ReadOp::getWrittenSlots() { return getOperation()->getOperands().slice(1, 1); }
OperandRange WriteOp::getReadSlots() { return getOperation()->getOperands().take_front(1); }
OperandRange WriteOp::getWrittenSlots() { return getOperation()->getOperands().slice(1, 1); }
