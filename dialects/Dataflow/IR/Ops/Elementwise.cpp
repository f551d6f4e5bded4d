//===- Elementwise.cpp - unary, binary, compare, select, cast, copy -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/ElementwiseKinds.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

/// numpy broadcast of the operands' shapes, with the given element type.
static LogicalResult inferBroadcast(std::optional<Location> loc, ValueRange operands, Type element,
                                    SmallVectorImpl<Type> &results) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value operand : operands)
    shapes.push_back(cast<RankedTensorType>(operand.getType()).getShape());
  auto shape = broadcastShapes(shapes);
  if (failed(shape))
    return emitOptionalError(loc, "operand shapes do not broadcast to each other");
  results.push_back(RankedTensorType::get(*shape, element));
  return success();
}

static LogicalResult verifySameElement(Operation *op, Value a, Value c) {
  if (elementOf(a) != elementOf(c))
    return op->emitOpError("operands have different element types, ") << elementOf(a) << " and " << elementOf(c);
  return success();
}

static LogicalResult verifyElements(Operation *op, StringRef kind, ElementClass elements, Type element) {
  if (elements == ElementClass::Number && element.isInteger(1))
    return op->emitOpError("'") << kind << "' is not defined on bool";
  StringRef wanted = elements == ElementClass::Float && !isa<FloatType>(element)       ? "float"
                     : elements == ElementClass::Integer && !isa<IntegerType>(element) ? "integer"
                     : elements == ElementClass::Bool && !element.isInteger(1)         ? "bool"
                                                                                       : "";
  if (!wanted.empty())
    return op->emitOpError("'") << kind << "' needs " << wanted << " elements, got " << element;
  return success();
}

/// An element-wise operator on transposed operands: those of lower rank gain
/// leading dimensions first, then follow the permutation.
static FailureOr<Operation *> permuteElementwise(Operation *op, OpBuilder &builder, ValueRange operands) {
  OperationState state(op->getLoc(), op->getName(), operands, /*types=*/{}, op->getAttrs());
  const Type element = getElementTypeOrSelf(op->getResult(0).getType());
  auto infer = [&](ValueRange values, SmallVectorImpl<Type> &types) {
    return inferBroadcast(std::nullopt, values, element, types);
  };
  SmallVector<Type> types;
  if (failed(sluice::dataflow::detail::inferRanged(std::nullopt, operands, types, infer)))
    return failure();
  state.addTypes(types);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// unary
//===----------------------------------------------------------------------===//

void UnaryOp::build(OpBuilder &builder, OperationState &state, Value input, UnaryKind kind, double alpha, double beta) {
  auto type = cast<RankedTensorType>(input.getType());
  if (rowOf(kind).isTest)
    type = withElement(type, builder.getI1Type());
  build(builder, state, type, UnaryKindAttr::get(builder.getContext(), kind), input, builder.getF64FloatAttr(alpha),
        builder.getF64FloatAttr(beta));
}

LogicalResult UnaryOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  auto type = cast<RankedTensorType>(adaptor.getInput().getType());
  results.push_back(
      rowOf(adaptor.getKind()).isTest ? RankedTensorType::get(type.getShape(), IntegerType::get(context, 1)) : type);
  return success();
}

LogicalResult UnaryOp::verify() {
  const UnaryRow &row = rowOf(getKind());
  return verifyElements(*this, row.name, row.elements, elementOf(getInput()));
}

int64_t UnaryOp::getFlops() { return elementCount(getResult().getType()) * rowOf(getKind()).flops; }
StringRef UnaryOp::getCostClass() { return "elementwise"; }

FailureOr<Operation *> UnaryOp::permute(OpBuilder &builder, ArrayRef<int64_t>, ValueRange operands) {
  return UnaryOp::create(builder, getLoc(), operands[0], getKind(), getAlpha().convertToDouble(),
                         getBeta().convertToDouble())
      .getOperation();
}

//===----------------------------------------------------------------------===//
// binary
//===----------------------------------------------------------------------===//

void BinaryOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, BinaryKind kind) {
  build(builder, state, kind, lhs, rhs);
}

LogicalResult BinaryOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  return inferBroadcast(loc, adaptor.getOperands(), elementOf(adaptor.getLhs()), results);
}

LogicalResult BinaryOp::verify() {
  if (failed(verifySameElement(*this, getLhs(), getRhs())))
    return failure();
  const BinaryRow &row = rowOf(getKind());
  return verifyElements(*this, row.name, row.elements, elementOf(getLhs()));
}

int64_t BinaryOp::getFlops() { return elementCount(getResult().getType()) * rowOf(getKind()).flops; }
StringRef BinaryOp::getCostClass() { return "elementwise"; }

FailureOr<Operation *> BinaryOp::permute(OpBuilder &builder, ArrayRef<int64_t>, ValueRange operands) {
  return permuteElementwise(*this, builder, operands);
}

namespace {
/// x + 0, x - 0, x * 1, x / 1 are x where broadcasting adds nothing.
/// (x * 0 is not 0: x may be NaN or infinite.)
struct DropNeutralOperand : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto neutral = [&](Value value, double wanted) {
      std::optional<double> splat = getSplat(value);
      return splat && *splat == wanted && !std::signbit(*splat);
    };
    Value kept;
    switch (op.getKind()) {
    case BinaryKind::add:
    case BinaryKind::sub:
      // -0 + 0 is +0: exact only for integers, or when subtracting +0.
      if ((isa<IntegerType>(elementOf(op.getLhs())) || op.getKind() == BinaryKind::sub) && neutral(op.getRhs(), 0))
        kept = op.getLhs();
      break;
    case BinaryKind::mul:
      kept = neutral(op.getRhs(), 1) ? op.getLhs() : neutral(op.getLhs(), 1) ? op.getRhs() : Value();
      break;
    case BinaryKind::div:
    case BinaryKind::pow:
      kept = neutral(op.getRhs(), 1) ? op.getLhs() : Value();
      break;
    default:
      break;
    }
    if (!kept || kept.getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, kept);
    return success();
  }
};

/// Whether every element is +0, above it, or NaN; false where that is not known.
bool isNeverNegative(Value x, int depth = 4) {
  if (std::optional<double> splat = getSplat(x))
    return !std::signbit(*splat);
  Operation *op = x.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto operandIs = [&](unsigned i) { return isNeverNegative(op->getOperand(i), depth - 1); };
  if (auto unary = dyn_cast<UnaryOp>(op))
    return unary.getKind() == UnaryKind::abs || unary.getKind() == UnaryKind::exp ||
           (unary.getKind() == UnaryKind::sqrt && operandIs(0));
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    if (binary.getKind() == BinaryKind::mul && binary.getLhs() == binary.getRhs())
      return true;
    return (binary.getKind() == BinaryKind::add || binary.getKind() == BinaryKind::mul) && operandIs(0) && operandIs(1);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    ReduceKind kind = reduce.getKind();
    return kind == ReduceKind::sum_square || kind == ReduceKind::l1 || kind == ReduceKind::l2 ||
           ((kind == ReduceKind::sum || kind == ReduceKind::mean) && operandIs(0));
  }
  return isa<ReshapeOp, ExpandOp, TransposeOp, CopyOp>(op) && operandIs(0);
}

/// x ^ 2 -> x * x, x ^ 0.5 -> sqrt(x): libm's pow is a hundred times slower.
struct ExpandSmallPower : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = getSplat(op.getRhs());
    if (op.getKind() != BinaryKind::pow || !exponent || op.getLhs().getType() != op.getType() ||
        !isa<FloatType>(elementOf(op.getLhs())))
      return failure();
    Value x = op.getLhs();
    Location loc = op.getLoc();
    if (*exponent == 2) {
      rewriter.replaceOpWithNewOp<BinaryOp>(op, x, x, BinaryKind::mul);
      return success();
    }
    if (*exponent == 3) {
      Value square = BinaryOp::create(rewriter, loc, x, x, BinaryKind::mul);
      rewriter.replaceOpWithNewOp<BinaryOp>(op, square, x, BinaryKind::mul);
      return success();
    }
    if (*exponent == 0.5) {
      // C's pow gives +0 for -0 and infinity for -infinity; sqrt gives -0 and NaN.
      if (!isNeverNegative(x)) {
        auto scalar = RankedTensorType::get({}, elementOf(x));
        auto number = [&](double value) -> Value {
          FloatAttr element = rewriter.getFloatAttr(elementOf(x), value);
          return ConstantOp::create(rewriter, loc, DenseElementsAttr::get(scalar, Attribute(element)));
        };
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        Value isLowest = CompareOp::create(rewriter, loc, x, number(-kInfinity), ComparePredicate::eq);
        x = BinaryOp::create(rewriter, loc, x, number(0), BinaryKind::add);
        x = SelectOp::create(rewriter, loc, isLowest, number(kInfinity), x);
      }
      rewriter.replaceOpWithNewOp<UnaryOp>(op, x, UnaryKind::sqrt);
      return success();
    }
    if (*exponent == -1) {
      rewriter.replaceOpWithNewOp<UnaryOp>(op, x, UnaryKind::reciprocal);
      return success();
    }
    return failure();
  }
};
} // namespace

void BinaryOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropNeutralOperand, ExpandSmallPower>(context);
}

//===----------------------------------------------------------------------===//
// compare
//===----------------------------------------------------------------------===//

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, ComparePredicate predicate) {
  build(builder, state, predicate, lhs, rhs);
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  return inferBroadcast(loc, adaptor.getOperands(), IntegerType::get(context, 1), results);
}

LogicalResult CompareOp::verify() { return verifySameElement(*this, getLhs(), getRhs()); }
StringRef CompareOp::getCostClass() { return "elementwise"; }

FailureOr<Operation *> CompareOp::permute(OpBuilder &builder, ArrayRef<int64_t>, ValueRange operands) {
  return permuteElementwise(*this, builder, operands);
}

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  return inferBroadcast(loc, adaptor.getOperands(), elementOf(adaptor.getOnTrue()), results);
}

LogicalResult SelectOp::verify() { return verifySameElement(*this, getOnTrue(), getOnFalse()); }
StringRef SelectOp::getCostClass() { return "elementwise"; }

FailureOr<Operation *> SelectOp::permute(OpBuilder &builder, ArrayRef<int64_t>, ValueRange operands) {
  return permuteElementwise(*this, builder, operands);
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

void CastOp::build(OpBuilder &builder, OperationState &state, Value input, Type elementType, bool saturate) {
  auto type = withElement(cast<RankedTensorType>(input.getType()), elementType);
  build(builder, state, type, input, saturate ? builder.getUnitAttr() : UnitAttr());
}

LogicalResult CastOp::verify() {
  if (getInput().getType().getShape() != getType().getShape())
    return emitOpError("result shape differs from that of the input");
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}

StringRef CastOp::getCostClass() { return "elementwise"; }

FailureOr<Operation *> CastOp::permute(OpBuilder &builder, ArrayRef<int64_t>, ValueRange operands) {
  return CastOp::create(builder, getLoc(), operands[0], elementOf(getResult()), getSaturate()).getOperation();
}

//===----------------------------------------------------------------------===//
// copy
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  results.push_back(adaptor.getInput().getType());
  return success();
}

int64_t CopyOp::getFlops() { return 0; }

FailureOr<Operation *> CopyOp::permute(OpBuilder &builder, ArrayRef<int64_t>, ValueRange operands) {
  return CopyOp::create(builder, getLoc(), operands[0]).getOperation();
}
