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
/// A record of which operators fold, in the order in which they are built. Each part of a program has a list.
class FoldLog {
public:
  /// Starts again at the first part, to build another program by the record.
  void replay() { part = 0, next = 0, isRecorded = true; }
  void nextPart() {
    ++part;
    next = 0;
  }
  /// Whether the current operator folds: `folds` in the first program, and what was recorded in later ones.
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

/// The trait of operators that have the model of an interface in a separate library. The dialect declares promised
/// interfaces, and registerDataflow() in Models.h registers the models.
template <typename Interface>
struct Promises {
  template <typename OpTy>
  class Impl : public mlir::OpTrait::TraitBase<OpTy, Impl> {};
};

/// The trait of operators whose kernels call a function of the host although their operands and results are no text.
template <typename OpTy>
class HostFunction : public mlir::OpTrait::TraitBase<OpTy, HostFunction> {};

/// The trait of operators that let the step fail if their operands have certain elements.
template <typename OpTy>
class FailsOnData : public mlir::OpTrait::TraitBase<OpTy, FailsOnData> {};

/// The trait of elemental operators whose elements cost about as much as a load. An element of the result is either an
/// element of an operand, found without a division, or a number computed from its position.
template <typename OpTy>
class AsCheapAsLoad : public mlir::OpTrait::TraitBase<OpTy, AsCheapAsLoad> {};

namespace detail {
llvm::LogicalResult verifyStaticExtents(mlir::Operation *op);
llvm::LogicalResult verifyInferredTypes(mlir::Operation *op);
} // namespace detail

/// The trait of operators whose operands and results have no unknown extents.
template <typename OpTy>
class StaticExtents : public mlir::OpTrait::TraitBase<OpTy, StaticExtents> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return detail::verifyStaticExtents(op); }
};

/// The trait of operators whose types are inferred. Inference checks the attributes, and the operators' verifiers rely
/// on it. InferTypeOpInterface would verify the types after the verifiers, together with the regions.
template <typename OpTy>
class InferredBeforeVerified : public mlir::OpTrait::TraitBase<OpTy, InferredBeforeVerified> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return detail::verifyInferredTypes(op); }
};

/// The parts in which devices run an operator by one of its rules.
struct PartRule {
  const TilingRule *rule = nullptr;
  int64_t parts = 1;
  mlir::Value number; ///< The number of the part, from 0: a tensor<i64>.
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

/// The model of a promised interface for an operator; null if the operator does not promise it. Ends the process if the
/// library of the model is not registered.
template <typename Interface>
Interface modelOf(mlir::Operation *op) {
  auto model = mlir::dyn_cast<Interface>(op);
  if (!model && op->hasTrait<Promises<Interface>::template Impl>())
    detail::reportMissingModel(op, llvm::getTypeName<Interface>());
  return model;
}

/// The name of the model's node in a location; empty if it has none.
std::string nodeName(mlir::Location loc);

/// Sets `view` to the bytes of a constant that is dense or a loaded resource, and returns true. For a splat, sets
/// `view.data` to its single element and `isSplat` to true. Returns false if the data is missing, or if the constant is
/// dense of i1, whose storage is not one byte per element.
bool getConstantBytes(mlir::ElementsAttr value, TensorView &view, bool &isSplat);

/// Copies the elements of a constant, those of a splat repeated, to tensorBytes(value.getType()) bytes of dense
/// storage. Fails if the data of a resource is missing.
llvm::LogicalResult copyConstant(mlir::ElementsAttr value, char *destination);

/// Makes a dense (or splat) attribute of row-major storage, in which an i1 takes one byte.
mlir::DenseElementsAttr makeDense(mlir::RankedTensorType type, llvm::ArrayRef<char> data);

/// Makes a constant of lazily mapped data. The attribute holds `owner`, and `data` must stay valid while `owner` is
/// held. The name is made unique.
mlir::ElementsAttr makeResource(mlir::RankedTensorType type, llvm::StringRef name, llvm::ArrayRef<char> data,
                                std::shared_ptr<const void> owner);

/// The constant that defines a value, or null.
mlir::ElementsAttr getConstant(mlir::Value value);
/// The value that all elements of a constant have, as a double; nullopt if they differ or if `value` is not a constant.
std::optional<double> getSplat(mlir::Value value);
/// All elements of a small integer constant.
std::optional<llvm::SmallVector<int64_t>> getIntegers(mlir::Value value);

/// The shape of numpy's broadcasting; fails if extents do not agree.
llvm::FailureOr<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// The type of one of `parts` equal parts along a dimension; fails if the extent cannot be divided.
llvm::FailureOr<mlir::RankedTensorType> partType(mlir::RankedTensorType whole, int64_t dim, int64_t parts);
/// The type of a rank's part of a cut; fails if the dimension does not consist of equal blocks with equal parts.
llvm::FailureOr<mlir::RankedTensorType> partType(mlir::RankedTensorType whole, CutAttr cut);
/// The type in which dimension `dim` is replaced by two: blocks, and the elements of a block. Fails if blocks would not
/// be equal.
llvm::FailureOr<mlir::RankedTensorType> typeInBlocks(mlir::RankedTensorType type, int64_t dim, int64_t blocks);
/// Copies part number `part` along a dimension. The result's type gives the size of a part.
void copyPart(TensorView whole, int64_t dim, int64_t part, MutableTensorView result);
/// Copies the elements [begin, end) along a dimension, and the last one again until the result is full.
void copyElements(TensorView whole, int64_t dim, int64_t begin, int64_t end, MutableTensorView result);
/// Whether the operator is a collective that exchanges data, which can overlap with computing.
bool communicates(mlir::Operation *op);

/// The tuning of the kernel of an operator, or of a group by its anchor; empty if it has none.
KernelTuning tuningOf(mlir::Operation *op);

/// The value whose memory a value has: through reshapes, their operand.
mlir::Value viewedValue(mlir::Value value);
/// The tensor in whose memory a member of a group finds an operand. If the operand is a leading slice (isLeadingSlice)
/// of the same group, it is the sliced tensor, else the operand itself.
mlir::Value slicedTensor(mlir::Value operand);
/// Whether a slice begins at the first element and has steps of 1.
bool isLeadingSlice(SliceOp slice);

/// The operands whose memory the result of an operator or group may take. Each of their elements is read just before
/// the result's element at the same place is written, and no other operand is a view of them.
llvm::SmallVector<unsigned> overwritableOperands(mlir::Operation *op);

/// The addition of operand number `operand`, of the result's type, right after a group's anchor. A library performs it
/// itself if the result has that operand's memory. Then `sum` takes the place of the addition in the epilogue.
struct LibraryAddition {
  BinaryOp addition;
  unsigned operand;
  mlir::Value sum;
};
/// The library's addition of a group whose anchor asks a library. Additions of other values may come before it.
std::optional<LibraryAddition> libraryAddition(mlir::Operation *kernel);

/// Whether a value is a constant, or follows only from constants through operators that can evaluate themselves. Visits
/// all operators that the value follows from.
bool isConstantExpression(mlir::Value value);

/// Answers the same question for all values of a block, which must not change meanwhile.
class ConstantExpressions {
public:
  /// Visits the operators of `block` once, in order.
  explicit ConstantExpressions(mlir::Block &block);
  bool contains(mlir::Value value);
  /// Whether the operator runs, as a kernel or as part of one: it moves data and is not a parameter, a state or a
  /// constant. Must not be called for terminators.
  bool runs(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_DATAFLOW_H
