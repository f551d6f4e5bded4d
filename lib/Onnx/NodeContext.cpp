//===- NodeContext.cpp - What a converter sees of a node ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

#include "sluice/Onnx/TensorData.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }
ArrayRef<int64_t> shapeOf(Value value) { return tensorType(value).getShape(); }
Type elementTypeOf(Value value) { return tensorType(value).getElementType(); }

Type elementTypeFromOnnx(MLIRContext *context, int32_t onnxType) {
  auto integer = [&](unsigned width, IntegerType::SignednessSemantics sign = IntegerType::Signless) {
    return IntegerType::get(context, width, sign);
  };
  switch (onnxType) {
  case onnxtype::Float:
    return Float32Type::get(context);
  case onnxtype::Double:
    return Float64Type::get(context);
  case onnxtype::Float16:
    return Float16Type::get(context);
  case onnxtype::BFloat16:
    return BFloat16Type::get(context);
  case onnxtype::Bool:
    return integer(1);
  case onnxtype::Int8:
    return integer(8);
  case onnxtype::Int16:
    return integer(16);
  case onnxtype::Int32:
    return integer(32);
  case onnxtype::Int64:
    return integer(64);
  case onnxtype::UInt8:
    return integer(8, IntegerType::Unsigned);
  case onnxtype::UInt16:
    return integer(16, IntegerType::Unsigned);
  case onnxtype::UInt32:
    return integer(32, IntegerType::Unsigned);
  case onnxtype::UInt64:
    return integer(64, IntegerType::Unsigned);
  default:
    return nullptr;
  }
}

/// Larger constants stay where they are.
static constexpr size_t kInlineBytes = 1024;

ElementsAttr constantAttribute(MLIRContext *context, const TensorData &data, StringRef name) {
  Type elementType = elementTypeFromOnnx(context, data.elementType);
  if (!elementType)
    return nullptr;
  auto type = RankedTensorType::get(data.dims, elementType);
  ArrayRef<char> bytes(reinterpret_cast<const char *>(data.bytes.data()), data.bytes.size());
  if (bytes.size() <= kInlineBytes)
    return makeDense(type, bytes);
  return makeResource(type, name, bytes, data.owner);
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

RankedTensorType Builder::type(Type elementType, ArrayRef<int64_t> dims) {
  Expected<int64_t> count = checkedElementCount(std::span(dims.data(), dims.size()), "its result");
  if (!count) {
    whyNot = count.error().message;
    return nullptr;
  }
  return RankedTensorType::get(dims, elementType);
}

SmallVector<Value> Builder::create(StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes,
                                   TypeRange types) {
  for (Value operand : operands)
    if (!operand)
      return {};
  for (Type type : types)
    if (!type)
      return {};
  // Verifiers and inference speak through diagnostics.
  std::string said;
  ScopedDiagnosticHandler handler(builder.getContext(), [&](Diagnostic &diagnostic) {
    if (said.empty())
      said = diagnostic.str();
    return success();
  });
  auto refuse = [&](StringRef fallback) {
    if (whyNot.empty())
      whyNot = said.empty() ? fallback.str() : said;
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
      return refuse("its attributes do not fit");
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
        return refuse("its operands do not fit together");
    } else if (failed(inference->inferReturnTypes(builder.getContext(), location, operands, dictionary,
                                                  OpaqueProperties(nullptr), {}, inferred))) {
      return refuse("its operands do not fit together");
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
    op->erase();
    return refuse("its operands do not fit together");
  }
  SmallVector<Value> results;
  // Folded without results means changed in place.
  if (succeeded(builder.tryFold(op, results)) && !results.empty()) {
    op->erase();
    return results;
  }
  return llvm::to_vector_of<Value>(op->getResults());
}

Value Builder::unary(UnaryKind kind, Value x, double alpha, double beta) {
  return create<UnaryOp>(
      {x}, {attribute("kind", UnaryKindAttr::get(context(), kind)), number("alpha", alpha), number("beta", beta)});
}

Value Builder::binary(BinaryKind kind, Value lhs, Value rhs) {
  return create<BinaryOp>({lhs, rhs}, attribute("kind", BinaryKindAttr::get(context(), kind)));
}

Value Builder::compare(ComparePredicate predicate, Value lhs, Value rhs) {
  return create<CompareOp>({lhs, rhs}, attribute("predicate", ComparePredicateAttr::get(context(), predicate)));
}

Value Builder::select(Value condition, Value onTrue, Value onFalse) {
  return create<SelectOp>({condition, onTrue, onFalse});
}

Value Builder::cast(Value x, Type elementType, bool saturate) {
  if (!x || elementTypeOf(x) == elementType)
    return x;
  SmallVector<NamedAttribute> attributes;
  if (saturate)
    attributes.push_back(attribute("saturate", builder.getUnitAttr()));
  return create<CastOp>({x}, attributes, {type(elementType, shapeOf(x))});
}

Value Builder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  return create<ReduceOp>(
      {x}, {attribute("kind", ReduceKindAttr::get(context(), kind)), list("axes", axes), flag("keep_dims", keepDims)});
}

Value Builder::matmul(Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  SmallVector<NamedAttribute> attributes;
  if (transposeLhs)
    attributes.push_back(attribute("transpose_lhs", builder.getUnitAttr()));
  if (transposeRhs)
    attributes.push_back(attribute("transpose_rhs", builder.getUnitAttr()));
  return create<MatmulOp>({lhs, rhs}, attributes);
}

Value Builder::reshape(Value x, ArrayRef<int64_t> dims) {
  if (!x || shapeOf(x) == dims)
    return x;
  return create<ReshapeOp>({x}, {}, {type(elementTypeOf(x), dims)});
}

Value Builder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return create<TransposeOp>({x}, list("permutation", permutation));
}

Value Builder::expand(Value x, ArrayRef<int64_t> dims) {
  if (!x || shapeOf(x) == dims)
    return x;
  return create<ExpandOp>({x}, {}, {type(elementTypeOf(x), dims)});
}

Value Builder::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps, ArrayRef<int64_t> dims) {
  if (!x)
    return x;
  return create<SliceOp>({x}, {list("starts", starts), list("steps", steps)}, {type(elementTypeOf(x), dims)});
}

Value Builder::sliceAxis(Value x, int64_t axis, int64_t start, int64_t extent) {
  if (!x)
    return x;
  Dims dims(shapeOf(x)), starts(dims.size(), 0), steps(dims.size(), 1);
  dims[axis] = extent;
  starts[axis] = start;
  return slice(x, starts, steps, dims);
}

Value Builder::concat(ValueRange values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return create<ConcatOp>(values, integer("axis", axis));
}

Value Builder::softmax(Value x, int64_t axis, bool log) {
  return create<SoftmaxOp>({x}, {integer("axis", axis), flag("log", log)});
}

Value Builder::instanceNorm(Value x, Value scale, Value bias, double epsilon) {
  return create<InstanceNormOp>({x, scale, bias}, number("epsilon", epsilon));
}

Value Builder::iota(Type elementType, int64_t extent, int64_t axis, int64_t rank) {
  Value range = create<RangeOp>({splat(elementType, 0), splat(elementType, 1)}, {}, {type(elementType, {extent})});
  Dims dims(rank, 1);
  dims[axis] = extent;
  return reshape(range, dims);
}

Value Builder::splat(Type elementType, double value, ArrayRef<int64_t> dims) {
  RankedTensorType result = type(elementType, dims);
  if (!result)
    return {};
  Attribute element;
  if (isa<FloatType>(elementType))
    element = builder.getFloatAttr(elementType, value);
  else
    element = builder.getIntegerAttr(elementType, static_cast<int64_t>(value));
  return ConstantOp::create(builder, location, SplatElementsAttr::get(result, element));
}

Value Builder::integers(ArrayRef<int64_t> values) {
  auto result = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  return ConstantOp::create(builder, location, DenseElementsAttr::get(result, values));
}

//===----------------------------------------------------------------------===//
// NodeContext
//===----------------------------------------------------------------------===//

LogicalResult NodeContext::require(size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!has(i))
      return invalid("it has no input " + Twine(i));
  return success();
}

const ::onnx::AttributeProto *NodeContext::find(StringRef name) const {
  for (const ::onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t NodeContext::integerOr(StringRef name, int64_t fallback) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : fallback;
}

double NodeContext::numberOr(StringRef name, double fallback) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->f() : fallback;
}

std::string NodeContext::stringOr(StringRef name, StringRef fallback) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : fallback.str();
}

std::optional<Dims> NodeContext::integersAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return Dims(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<double>> NodeContext::numbersAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return SmallVector<double>(attribute->floats().begin(), attribute->floats().end());
}

FailureOr<Dims> NodeContext::constantIntegers(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  if (std::optional<SmallVector<int64_t>> values = getIntegers(inputs[index]))
    return Dims(*values);
  return unsupported("its " + what + " is not known before the model runs");
}

FailureOr<SmallVector<double>> NodeContext::constantNumbers(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  ElementsAttr constant = getConstant(inputs[index]);
  if (!constant || elementCount(constant.getType()) > kFoldElements)
    return unsupported("its " + what + " is not known before the model runs");
  if (isa<IntegerType>(constant.getElementType())) {
    FailureOr<Dims> integers = constantIntegers(index, what);
    if (failed(integers))
      return failure();
    return SmallVector<double>(integers->begin(), integers->end());
  }
  auto type = RankedTensorType::get(shapeOf(inputs[index]), constant.getElementType());
  std::vector<char> bytes(dataflow::tensorBytes(type));
  if (failed(copyConstant(constant, bytes.data())))
    return unsupported("the data of its " + what + " is not there");
  SmallVector<double> values;
  for (const APFloat &value : makeDense(type, bytes).getValues<APFloat>()) {
    APFloat wide = value;
    bool loses;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    values.push_back(wide.convertToDouble());
  }
  return values;
}

Value NodeContext::constant(const ::onnx::TensorProto &tensor) {
  Expected<TensorData> data = model.tensor(tensor);
  if (!data) {
    (void)(data.error().code == ErrorCode::Unsupported ? unsupported(data.error().message)
                                                       : invalid(data.error().message));
    return {};
  }
  StringRef name = tensor.name().empty() && proto.output_size() ? StringRef(proto.output(0)) : StringRef(tensor.name());
  ElementsAttr value = constantAttribute(context(), *data, name);
  if (!value) {
    (void)unsupported("its elements are of type " + onnxtype::name(data->elementType));
    return {};
  }
  return ConstantOp::create(mlir(), loc(), value);
}

FailureOr<int64_t> NodeContext::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return invalid("axis " + Twine(axis) + " is out of range for a tensor of " + Twine(rank) + " dimensions");
  return axis < 0 ? axis + rank : axis;
}

FailureOr<Dims> NodeContext::axes(ArrayRef<int64_t> given, int64_t rank) {
  Dims result;
  for (int64_t one : given) {
    FailureOr<int64_t> normal = axis(one, rank);
    if (failed(normal))
      return failure();
    result.push_back(*normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return invalid("it names an axis twice");
  return result;
}

LogicalResult NodeContext::invalid(const Twine &why) {
  if (reason.empty())
    reason = why.str();
  return failure();
}

LogicalResult NodeContext::unsupported(const Twine &why) {
  isUnsupported = true;
  return invalid(why);
}

LogicalResult NodeContext::results(ArrayRef<Value> values) {
  for (Value value : values)
    if (!value)
      return invalid(message().empty() ? Twine("its operands do not fit together") : Twine(message()));
  outputs.assign(values.begin(), values.end());
  return success();
}

} // namespace sluice::onnximport
