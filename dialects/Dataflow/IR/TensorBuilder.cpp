//===- TensorBuilder.cpp - Dataflow operators, tersely --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/TensorBuilder.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace sluice::dataflow {

RankedTensorType TensorBuilder::type(Type elementType, ArrayRef<int64_t> dims) {
  // Bytes and sums of a few such counts stay within 64 bits.
  int64_t bound = 1;
  for (int64_t extent : dims)
    if (extent < 0) {
      llvm::raw_string_ostream(whyNot) << "its result has the negative extent " << extent;
      return nullptr;
    } else if (llvm::MulOverflow(bound, std::max<int64_t>(extent, 1), bound) || bound > INT64_MAX / 16) {
      whyNot = "its result has more than 2^59 elements";
      return nullptr;
    }
  return RankedTensorType::get(dims, elementType);
}

FoldLog *TensorBuilder::foldLog() const {
  return builder.getContext()->getLoadedDialect<DataflowDialect>()->getFoldLog();
}

/// Whether shapes, axes, paddings and the like may be computed by the operator: short lists and small tables, from
/// constants.
static bool computesShape(Operation *op) {
  constexpr int64_t kMostOfList = 64, kMostOfTable = 16, kMostOfRange = 8;
  return llvm::all_of(op->getOperands(), [](Value operand) { return getConstant(operand) != nullptr; }) &&
         llvm::all_of(op->getResultTypes(), [&](Type type) {
           const auto tensor = mlir::cast<RankedTensorType>(type);
           if (tensor.getRank() > 1 && isa<FloatType>(tensor.getElementType()))
             return false;
           const bool isList = tensor.getRank() <= 1 || isa<NonzeroOp>(op); // Its count is an extent.
           return elementCount(type) <= (isa<RangeOp>(op) ? kMostOfRange : isList ? kMostOfList : kMostOfTable);
         });
}

/// Erases an operation just made; a pattern's driver holds it in its worklist
/// and has to hear of it.
static void discard(OpBuilder &builder, Operation *op) {
  if (auto *listener = mlir::dyn_cast_if_present<RewriterBase::Listener>(builder.getListener()))
    listener->notifyOperationErased(op);
  op->erase();
}

SmallVector<Value> TensorBuilder::create(StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes,
                                         TypeRange types) {
  for (Value operand : operands)
    if (!operand)
      return {};
  for (Type type : types)
    if (!type)
      return {};
  // Verifiers and inference speak through diagnostics.
  const FirstError said(builder.getContext());
  auto refuse = [&](StringRef fallback) {
    if (whyNot.empty())
      whyNot = said.messageOr(fallback.str());
    return SmallVector<Value>();
  };

  OperationName operation(name, builder.getContext());
  OperationState state(location, operation);
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(types);
  if (types.empty()) {
    DictionaryAttr dictionary = builder.getDictionaryAttr(attributes);
    auto *inference = operation.getInterface<InferTypeOpInterface>();
    if (!inference)
      return refuse("its result type is unknown");
    auto emitError = [&] { return mlir::emitError(location); };
    if (failed(operation.verifyInherentAttrs(state.attributes, emitError)))
      return refuse("its attributes are invalid for this operator");
    SmallVector<Type> inferred;
    if (operation.getOpPropertyByteSize()) {
      // Inference reads attributes from the operator's properties, which only exist with it: make some.
      std::vector<std::max_align_t> storage(operation.getOpPropertyByteSize() / sizeof(std::max_align_t) + 1);
      OpaqueProperties properties(storage.data());
      operation.initOpProperties(properties, OpaqueProperties(nullptr));
      bool ok = succeeded(operation.setOpPropertiesFromAttribute(operation, properties, dictionary, emitError)) &&
                succeeded(inference->inferReturnTypes(builder.getContext(), location, operands, dictionary, properties,
                                                      {}, inferred));
      operation.destroyOpProperties(properties);
      if (!ok)
        return refuse("the shapes or types of its operands do not match");
    } else if (failed(inference->inferReturnTypes(builder.getContext(), location, operands, dictionary,
                                                  OpaqueProperties(nullptr), {}, inferred))) {
      return refuse("the shapes or types of its operands do not match");
    }
    state.addTypes(inferred);
  }
  for (Type type : state.types) {
    auto shape = mlir::cast<RankedTensorType>(type).getShape();
    if (!this->type(mlir::cast<RankedTensorType>(type).getElementType(), shape))
      return {};
  }
  Operation *op = builder.create(state);
  if (failed(mlir::verify(op, /*verifyRecursively=*/false))) {
    discard(builder, op);
    return refuse("the shapes or types of its operands do not match");
  }
  SmallVector<Value> results;
  if (FoldLog *log = foldLog(); log && !log->decide(computesShape(op)))
    return llvm::to_vector_of<Value>(op->getResults());
  // Folded without results means changed in place.
  if (succeeded(builder.tryFold(op, results)) && !results.empty()) {
    discard(builder, op);
    return results;
  }
  return llvm::to_vector_of<Value>(op->getResults());
}

SmallVector<Value> TensorBuilder::createLike(Operation *op, ValueRange operands, ArrayRef<NamedAttribute> changed,
                                             TypeRange types) {
  if (op->getNumRegions() > 0) {
    if (!llvm::all_of(operands, [](Value operand) { return operand; }))
      return {};
    IRMapping mapping;
    mapping.map(op->getOperands(), operands);
    Operation *copy = builder.clone(*op, mapping);
    copy->setLoc(location);
    return llvm::to_vector_of<Value>(copy->getResults());
  }
  NamedAttrList attributes(op->getAttrDictionary());
  for (NamedAttribute attribute : changed)
    attributes.set(attribute.getName(), attribute.getValue());
  return create(op->getName().getStringRef(), operands, attributes.getAttrs(), types);
}

Value TensorBuilder::unary(UnaryKind kind, Value x, double alpha, double beta) {
  return create<UnaryOp>(
      {x}, {attribute("kind", UnaryKindAttr::get(context(), kind)), number("alpha", alpha), number("beta", beta)});
}

Value TensorBuilder::binary(BinaryKind kind, Value lhs, Value rhs) {
  return create<BinaryOp>({lhs, rhs}, attribute("kind", BinaryKindAttr::get(context(), kind)));
}

Value TensorBuilder::compare(ComparePredicate predicate, Value lhs, Value rhs) {
  return create<CompareOp>({lhs, rhs}, attribute("predicate", ComparePredicateAttr::get(context(), predicate)));
}

Value TensorBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return create<SelectOp>({condition, onTrue, onFalse});
}

Value TensorBuilder::cast(Value x, Type elementType, bool saturate) {
  if (!x || typeOf(x).getElementType() == elementType)
    return x;
  SmallVector<NamedAttribute> attributes;
  if (saturate)
    attributes.push_back(attribute("saturate", builder.getUnitAttr()));
  return create<CastOp>({x}, attributes, {withElement(typeOf(x), elementType)});
}

Value TensorBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  return create<ReduceOp>(
      {x}, {attribute("kind", ReduceKindAttr::get(context(), kind)), list("axes", axes), flag("keep_dims", keepDims)});
}

Value TensorBuilder::matmul(Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  SmallVector<NamedAttribute> attributes;
  if (transposeLhs)
    attributes.push_back(attribute("transpose_lhs", builder.getUnitAttr()));
  if (transposeRhs)
    attributes.push_back(attribute("transpose_rhs", builder.getUnitAttr()));
  return create<MatmulOp>({lhs, rhs}, attributes);
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> dims) {
  if (!x || (shapeOf(x) == dims && !keepsAll()))
    return x;
  return create<ReshapeOp>({x}, {}, {type(typeOf(x).getElementType(), dims)});
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return create<TransposeOp>({x}, list("permutation", permutation));
}

Value TensorBuilder::expand(Value x, ArrayRef<int64_t> dims) {
  if (!x || (shapeOf(x) == dims && !keepsAll()))
    return x;
  return create<ExpandOp>({x}, {}, {type(typeOf(x).getElementType(), dims)});
}

Value TensorBuilder::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps, ArrayRef<int64_t> dims) {
  if (!x)
    return x;
  return create<SliceOp>({x}, {list("starts", starts), list("steps", steps)}, {type(typeOf(x).getElementType(), dims)});
}

Value TensorBuilder::sliceAxis(Value x, int64_t axis, int64_t start, int64_t extent) {
  if (!x)
    return x;
  Dims dims(shapeOf(x)), starts(dims.size(), 0), steps(dims.size(), 1);
  dims[axis] = extent;
  starts[axis] = start;
  return slice(x, starts, steps, dims);
}

Value TensorBuilder::concat(ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return create<ConcatOp>(values, integer("axis", axis));
}

Value TensorBuilder::softmax(Value x, int64_t axis, bool log) {
  return create<SoftmaxOp>({x}, {integer("axis", axis), flag("log", log)});
}

Value TensorBuilder::instanceNorm(Value x, Value scale, Value bias, double epsilon) {
  return create<InstanceNormOp>({x, scale, bias}, number("epsilon", epsilon));
}

Value TensorBuilder::iota(Type elementType, int64_t extent, int64_t axis, int64_t rank) {
  Value range = create<RangeOp>({splat(elementType, 0), splat(elementType, 1)}, {}, {type(elementType, {extent})});
  Dims dims(rank, 1);
  dims[axis] = extent;
  return reshape(range, dims);
}

Value TensorBuilder::splat(Type elementType, double value, ArrayRef<int64_t> dims) {
  RankedTensorType result = type(elementType, dims);
  if (!result)
    return {};
  Attribute element;
  if (isa<FloatType>(elementType))
    element = builder.getFloatAttr(elementType, value);
  else if (!isa<IntegerType>(elementType)) {
    whyNot = "its elements are not numbers";
    return {};
  } else if (value >= -0x1p63 && value < 0x1p63) {
    element = builder.getIntegerAttr(elementType, static_cast<int64_t>(value));
  } else {
    llvm::raw_string_ostream(whyNot) << "its elements are " << elementType << " and cannot be " << value;
    return {};
  }
  return ConstantOp::create(builder, location, SplatElementsAttr::get(result, element));
}

Value TensorBuilder::integers(ArrayRef<int64_t> values) {
  auto result = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  return ConstantOp::create(builder, location, DenseElementsAttr::get(result, values));
}

} // namespace sluice::dataflow
