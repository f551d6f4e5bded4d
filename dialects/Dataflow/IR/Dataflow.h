//===- Dataflow.h - The graph dialect ---------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_DATAFLOW_H
#define SLUICE_DATAFLOW_IR_DATAFLOW_H

#include "dialects/Dataflow/IR/TensorView.h"
#include "sluice/Support/KernelTuning.h"
#include "sluice/Tiling/TilingRule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Dataflow/IR/DataflowEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Dataflow/IR/DataflowAttrs.h.inc"

namespace sluice::dataflow {
/// Which operators fold, in the order in which they are built, a list for each part of a program.
class FoldLog {
public:
  /// From the first part on, for another program.
  void replay() { part = 0, next = 0, isRecorded = true; }
  void nextPart() {
    ++part;
    next = 0;
  }
  /// Whether the operator folds that is built now: `folds` says so of the first program.
  bool decide(bool folds) {
    if (part >= decisions.size())
      decisions.resize(part + 1);
    std::vector<bool> &own = decisions[part];
    if (!isRecorded)
      own.push_back(folds);
    return next < own.size() && own[next++] && folds;
  }

private:
  std::vector<std::vector<bool>> decisions;
  size_t part = 0, next = 0;
  bool isRecorded = false;
};
} // namespace sluice::dataflow

// The dialect's discardable attributes are of the types above.
#include "dialects/Dataflow/IR/DataflowDialect.h.inc"

namespace sluice {
struct TunableKernel;
namespace emit {
struct VectorTarget;
} // namespace emit
} // namespace sluice

namespace sluice::dataflow {
class KernelEmitter;
struct KernelStyle;
struct LibraryCall;
class TensorBuilder;

/// The trait of operators of whose interface a library of its own has the model. The dialect declares the promises, and
/// Models.h keeps them.
template <typename Interface>
struct Promises {
  template <typename OpTy>
  class Impl : public mlir::OpTrait::TraitBase<OpTy, Impl> {};
};

/// The trait of operators that have no text among their operands and results, and whose kernels call a function of the
/// host all the same.
template <typename OpTy>
class HostFunction : public mlir::OpTrait::TraitBase<OpTy, HostFunction> {};

/// The trait of elemental operators whose elements cost about as much as a load: an element of the result is one of an
/// operand, found without a division, or a number that follows from its position.
template <typename OpTy>
class AsCheapAsLoad : public mlir::OpTrait::TraitBase<OpTy, AsCheapAsLoad> {};

namespace detail {
llvm::LogicalResult verifyInferredTypes(mlir::Operation *op);
} // namespace detail

/// The trait of operators whose types are inferred. Inference checks the attributes, and the operators' verifiers rely
/// on it. InferTypeOpInterface would verify the types after them, together with the regions.
template <typename OpTy>
class InferredBeforeVerified : public mlir::OpTrait::TraitBase<OpTy, InferredBeforeVerified> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return detail::verifyInferredTypes(op); }
};

/// The devices that run an operator by one of its rules.
struct PartRule {
  const TilingRule *rule = nullptr;
  int64_t parts = 1;
  mlir::Value number; ///< tensor<i64>: which of the parts, from 0.
};
namespace detail {
[[noreturn]] void reportMissingModel(mlir::Operation *op, llvm::StringRef interface);
llvm::LogicalResult verifyLibrary(mlir::Operation *op);
llvm::SmallVector<mlir::Value> buildSamePart(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> rules,
                                             mlir::ValueRange operands);
} // namespace detail
} // namespace sluice::dataflow

#define GET_TYPEDEF_CLASSES
#include "dialects/Dataflow/IR/DataflowTypes.h.inc"

#include "dialects/Dataflow/IR/DataflowInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/Dataflow/IR/DataflowOps.h.inc"

namespace sluice::dataflow {

/// What a library says of an operator; null where the operator promises nothing. Ends a program that has not registered
/// the library.
template <typename Interface>
Interface modelOf(mlir::Operation *op) {
  auto model = mlir::dyn_cast<Interface>(op);
  if (!model && op->hasTrait<Promises<Interface>::template Impl>())
    detail::reportMissingModel(op, llvm::getTypeName<Interface>());
  return model;
}

/// The model node's name behind a location; empty where it has none.
std::string nodeName(mlir::Location loc);

/// A constant's bytes, where it has them: dense of any size, or a resource that
/// is loaded. False: it is a splat, which `view.data` then holds one element of
/// when `allowSplat` is set, or the data is not there.
bool getConstantBytes(mlir::ElementsAttr value, TensorView &view, bool &isSplat);

/// Copies a constant's elements to dense storage of tensorBytes(value.getType())
/// bytes, splats repeated. Fails where a resource's data is not there.
llvm::LogicalResult copyConstant(mlir::ElementsAttr value, char *destination);

/// Dense (or splat) attribute over row-major storage, i1 a byte an element.
mlir::DenseElementsAttr makeDense(mlir::RankedTensorType type, llvm::ArrayRef<char> data);

/// A constant of lazily mapped data. `data` must stay valid as long as `owner`
/// is held; the attribute holds it. Names are made unique.
mlir::ElementsAttr makeResource(mlir::RankedTensorType type, llvm::StringRef name, llvm::ArrayRef<char> data,
                                std::shared_ptr<const void> owner);

/// The constant that defines a value, or null.
mlir::ElementsAttr getConstant(mlir::Value value);
/// The one value every element of a constant has, as a double; nullopt where it
/// is not a splat (or not a constant).
std::optional<double> getSplat(mlir::Value value);
/// All elements of a small integer constant.
std::optional<llvm::SmallVector<int64_t>> getIntegers(mlir::Value value);

/// numpy's result shape; fails where extents do not agree.
llvm::FailureOr<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// The type of one of `parts` equal parts along a dimension; fails where there are none.
llvm::FailureOr<mlir::RankedTensorType> partType(mlir::RankedTensorType whole, int64_t dim, int64_t parts);
/// The type of a rank's part of a cut; fails if the dimension does not consist of equal blocks with equal parts.
llvm::FailureOr<mlir::RankedTensorType> partType(mlir::RankedTensorType whole, CutAttr cut);
/// The type in which dimension `dim` is two: blocks, and the elements of a block; fails if blocks are not equal.
llvm::FailureOr<mlir::RankedTensorType> typeInBlocks(mlir::RankedTensorType type, int64_t dim, int64_t blocks);
/// Copies part number `part` along a dimension, of the result's type.
void copyPart(TensorView whole, int64_t dim, int64_t part, MutableTensorView result);
/// Copies the elements [begin, end) along a dimension, and the last one again until the result is full.
void copyElements(TensorView whole, int64_t dim, int64_t begin, int64_t end, MutableTensorView result);
/// True for collectives that exchange something, which runs beside computing.
bool communicates(mlir::Operation *op);

/// How the kernel of an operator, or of a group by its anchor, is tuned; empty where it is not.
KernelTuning tuningOf(mlir::Operation *op);

/// What a value is a view of: a reshape's operand has the same memory.
mlir::Value viewedValue(mlir::Value value);
/// The tensor in whose memory a member of a group finds an operand: what a slice of the same group from the first
/// element on, by steps of 1, is taken of; else the operand itself.
mlir::Value slicedTensor(mlir::Value operand);
/// Whether a slice begins at the first element and leaves none out between.
bool isLeadingSlice(SliceOp slice);

/// Operands of an operator or group whose memory its result may take: each of
/// their elements is read just before the result's at the same place is written, and
/// no other operand is a view of them.
llvm::SmallVector<unsigned> overwritableOperands(mlir::Operation *op);

/// The addition of operand number `operand`, of the result's type, behind a group's
/// anchor: a library makes it itself where the result has that operand's memory. The
/// epilogue then has `sum` in the place of the addition.
struct LibraryAddition {
  BinaryOp addition;
  unsigned operand;
  mlir::Value sum;
};
/// Of a group whose anchor asks a library; behind additions of other values there may be one.
std::optional<LibraryAddition> libraryAddition(mlir::Operation *kernel);

/// True where the value is constant, or follows from constants alone through
/// operators that can evaluate themselves. Looks at all the value follows from.
bool isConstantExpression(mlir::Value value);

/// The same, remembered, for a block that does not change meanwhile.
class ConstantExpressions {
public:
  /// Looks at the operators of `block`, in order.
  explicit ConstantExpressions(mlir::Block &block);
  bool contains(mlir::Value value);
  /// Whether the operator runs, as a kernel or part of one: it is no parameter,
  /// no state and no constant, and moves data. Not for terminators.
  bool runs(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_DATAFLOW_H
