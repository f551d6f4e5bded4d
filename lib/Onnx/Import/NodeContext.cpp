//===- NodeContext.cpp - What a converter sees of a node ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"
#include "Extents.h"
#include "Origins.h"

#include "sluice/Onnx/TensorData.h"
#include "sluice/Support/Units.h"

#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"

#include <cmath>
#include <tuple>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

ElementsAttr constantAttribute(MLIRContext *context, const TensorData &data, StringRef name) {
  Type elementType = elementTypeFromOnnx(context, data.elementType);
  if (!elementType)
    return nullptr;
  auto type = RankedTensorType::get(data.dims, elementType);
  // Missing data: a resource without any.
  if (data.bytes.empty() && data.elementCount() != 0)
    return DenseResourceElementsAttr::get(type, DenseResourceElementsHandle::getManagerInterface(context).insert(name));
  if (onnxtype::bits(data.elementType) < 8 && static_cast<int64_t>(data.bytes.size()) != data.elementCount()) {
    auto unpacked = std::make_shared<std::vector<std::byte>>(unpackedBytes(data));
    TensorData wide{data.elementType, data.dims, *unpacked, unpacked};
    return constantAttribute(context, wide, name);
  }
  ArrayRef<char> bytes(reinterpret_cast<const char *>(data.bytes.data()), data.bytes.size());
  if (static_cast<int64_t>(bytes.size()) <= kInlineBytes)
    return makeDense(type, bytes);
  return makeResource(type, name, bytes, data.owner);
}

Value stringConstant(OpBuilder &builder, Location location, const ::onnx::TensorProto &tensor) {
  SmallVector<StringRef> values(tensor.string_data().begin(), tensor.string_data().end());
  auto type = RankedTensorType::get(Dims(tensor.dims().begin(), tensor.dims().end()),
                                    elementTypeFromOnnx(builder.getContext(), onnxtype::String));
  return StringConstantOp::create(builder, location, type, builder.getStrArrayAttr(values));
}

//===----------------------------------------------------------------------===//
// NodeContext
//===----------------------------------------------------------------------===//

int64_t NodeContext::roomOf(int64_t here, size_t index) const {
  if (!found)
    return here;
  // Nodes of loops and functions are imported several times.
  const std::string name = sluice::concat(index, " ", nodeName(loc()));
  return found->rooms.try_emplace({name, found->uses[name]++}, here).first->second;
}

/// An operand that gives extents has at most this many elements.
static constexpr int64_t kMostSizes = 16;

std::pair<Value, int64_t> NodeContext::sourceOf(Value list, int64_t position) {
  while (Operation *op = list.getDefiningOp()) {
    if (isa<ConcatOp>(op)) {
      for (Value part : op->getOperands()) {
        const int64_t length = shapeOf(part)[0];
        if (position < length) {
          list = part;
          break;
        }
        position -= length;
      }
    } else if (auto slice = dyn_cast<SliceOp>(op); slice && rankOf(list) == 1) {
      position = slice.getStarts()[0] + position * slice.getSteps()[0];
      list = slice.getInput();
    } else if (isa<ReshapeOp>(op) && elementCount(list.getType()) == 1 && rankOf(op->getOperand(0)) <= 1) {
      list = op->getOperand(0);
    } else {
      break;
    }
  }
  return {list, position};
}

FailureOr<int64_t> NodeContext::countAt(size_t index, StringRef what) {
  const int64_t count = elementCount(inputs[index].getType());
  if (count > kMostSizes && !getIntegers(inputs[index]))
    return unsupported("its input '" + what + "' has " + Twine(count) +
                       " elements that are known only when the model runs, and at most " + Twine(kMostSizes) +
                       " are supported" + originOf(inputs[index]));
  return count;
}

FailureOr<SmallVector<NodeContext::Element>> NodeContext::elementsAt(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  Value given = inputs[index];
  const int64_t count = elementCount(given.getType());
  if (rankOf(given) > 1 || count > kMostSizes || !isa<IntegerType>(elementTypeOf(given)) || extents->isBounded(given))
    return unsupported("its " + what + " is not known before the model runs" + originOf(given));
  // A bound of what is known all the same is of no use.
  const ValueBounds *said = bounds && !getIntegers(given) ? bounds->use(inputName(index).str()) : nullptr;
  SmallVector<Element> result;
  for (int64_t i = 0; i < count; ++i) {
    Element element;
    std::tie(element.list, element.position) = sourceOf(given, i);
    Value one = rankOf(element.list) == 0 ? element.list : sliceAxis(element.list, 0, element.position, 1);
    element.value = cast(reshape(one, {}), mlir().getI64Type());
    if (!element.value)
      return failure();
    if (std::optional<SmallVector<int64_t>> known = getIntegers(element.value)) {
      element.known = known->front();
      element.range = {known->front(), known->front()};
    } else {
      element.range = intervalOf(element.value);
      element.range.high = said ? said->high : element.range.high;
    }
    result.push_back(element);
  }
  return result;
}

FailureOr<SmallVector<NodeContext::Size>> NodeContext::sizesAt(size_t index, StringRef what,
                                                               const std::optional<Dims> &otherwise) {
  SmallVector<Size> result;
  if (std::optional<SmallVector<int64_t>> values = has(index) ? getIntegers(inputs[index]) : std::nullopt) {
    for (int64_t value : *values)
      result.push_back({value});
    return result;
  }
  FailureOr<SmallVector<Element>> elements = elementsAt(index, what);
  if (failed(elements))
    return failure();
  for (auto [i, element] : llvm::enumerate(*elements)) {
    if (element.known) {
      result.push_back({*element.known});
      continue;
    }
    int64_t bound = element.range.high;
    if (bound == Interval::kNone && otherwise && otherwise->size() == elements->size() && (*otherwise)[i] >= 0)
      bound = (*otherwise)[i];
    if (bound == Interval::kNone)
      return unbounded(index, what);
    Value zero = splat(mlir().getI64Type(), 0);
    const bool isPositive = element.range.hasLow() && element.range.low >= 0;
    Value own, &counted = found ? (*this->sizes)[{element.list, element.position}] : own;
    // Within programs of operators values live no longer than these.
    if (!counted || (counted.getParentBlock() != mlir().getInsertionBlock() &&
                     counted.getParentBlock() != element.list.getParentBlock()))
      counted = isPositive ? element.value : binary(BinaryKind::max, element.value, zero);
    if (!counted)
      return failure();
    result.push_back({roomOf(std::max<int64_t>(bound, 0), index * kMostSizes + i), counted});
  }
  return result;
}

Value NodeContext::held(Value value, int64_t dimension, Value count) {
  if (!value || !count)
    return value;
  // What is computed of a constant would be one too, and all of it hold.
  if (getConstant(value))
    value = create<CopyOp>({value});
  if (value)
    extents->set(value, dimension, count);
  return value;
}

std::string NodeContext::originOf(Value operand) const {
  return origins ? origins->describe(operand, *extents, nodeName(loc())) : "";
}

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

const ::onnx::AttributeProto *NodeContext::find(StringRef name, ::onnx::AttributeProto::AttributeType type) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute || attribute->type() == type || attribute->type() == ::onnx::AttributeProto::UNDEFINED)
    return attribute;
  auto nameOf = [](::onnx::AttributeProto::AttributeType of) { return ::onnx::AttributeProto::AttributeType_Name(of); };
  mistyped =
      "its attribute '" + name.str() + "' is of type " + nameOf(attribute->type()) + " instead of " + nameOf(type);
  return nullptr;
}

LogicalResult NodeContext::knows(ArrayRef<StringRef> attributes, int outputs) {
  for (const ::onnx::AttributeProto &attribute : proto.attribute())
    if (!llvm::is_contained(attributes, attribute.name()))
      return unsupported("its attribute '" + attribute.name() + "' is not supported");
  for (int i = outputs; i < proto.output_size(); ++i)
    if (wantsOutput(i))
      return unsupported("its output " + Twine(i) + " is not supported");
  return success();
}

int64_t NodeContext::integerOr(StringRef name, int64_t fallback) const {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::INT);
  return attribute ? attribute->i() : fallback;
}

double NodeContext::numberOr(StringRef name, double fallback) const {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::FLOAT);
  return attribute ? attribute->f() : static_cast<float>(fallback); // Defaults are f32 as well.
}

std::string NodeContext::stringOr(StringRef name, StringRef fallback) const {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : fallback.str();
}

std::optional<Dims> NodeContext::integersAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return Dims(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<std::string>> NodeContext::stringsAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::STRINGS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

std::optional<SmallVector<double>> NodeContext::numbersAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<double>(attribute->floats().begin(), attribute->floats().end());
}

FailureOr<Dims> NodeContext::constantIntegers(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  if (elementCount(inputs[index].getType()) == 0)
    return Dims();
  if (std::optional<SmallVector<int64_t>> values = getIntegers(inputs[index]))
    return Dims(*values);
  if (isa<BlockArgument>(inputs[index]) && found)
    return unsupported("its " + what + " is not known before the model runs, give its value by --fix " +
                       inputName(index) + "=FILE");
  return unsupported("its " + what + " is not known before the model runs" + originOf(inputs[index]));
}

FailureOr<SmallVector<double>> NodeContext::constantNumbers(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  ElementsAttr constant = getConstant(inputs[index]);
  // What a shape or a scale follows from is not trained.
  if (auto state = inputs[index].getDefiningOp<StateOp>(); state && state.getTrainable())
    constant = state.getValue();
  if (!constant || elementCount(constant.getType()) > kFoldElements)
    return unsupported("its " + what + " is not known before the model runs" + originOf(inputs[index]));
  if (std::optional<SmallVector<double>> values = numbersOf(constant))
    return *values;
  return unsupported("the data of its " + what + " is missing");
}

std::optional<SmallVector<double>> NodeContext::numbersOf(ElementsAttr constant) {
  auto type = RankedTensorType::get(constant.getShapedType().getShape(), constant.getElementType());
  std::vector<char> bytes(dataflow::tensorBytes(type));
  if (failed(copyConstant(constant, bytes.data())))
    return std::nullopt;
  DenseElementsAttr dense = makeDense(type, bytes);
  SmallVector<double> values;
  if (isa<IntegerType>(type.getElementType())) {
    const bool isUnsigned = isUnsignedElement(type.getElementType());
    for (const APInt &value : dense.getValues<APInt>())
      values.push_back(isUnsigned ? static_cast<double>(value.getZExtValue())
                                  : static_cast<double>(value.getSExtValue()));
    return values;
  }
  for (APFloat wide : dense.getValues<APFloat>()) {
    bool loses;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    values.push_back(wide.convertToDouble());
  }
  return values;
}

SmallVector<double> NodeContext::numbersIn(StringRef name) {
  const ::onnx::AttributeProto *attribute = find(name, ::onnx::AttributeProto::TENSOR);
  if (!attribute || attribute->t().data_type() == onnxtype::String)
    return {};
  Value list = constant(attribute->t());
  ElementsAttr data = list ? getConstant(list) : ElementsAttr();
  return data ? numbersOf(data).value_or(SmallVector<double>()) : SmallVector<double>();
}

std::optional<Dims> NodeContext::declaredShape(int output) const {
  if (output >= proto.output_size())
    return std::nullopt;
  auto shapeIn = [&](const auto &values) -> std::optional<Dims> {
    for (const ::onnx::ValueInfoProto &value : values) {
      if (value.name() != proto.output(output) || !value.type().tensor_type().has_shape())
        continue;
      Dims dims;
      for (const auto &dim : value.type().tensor_type().shape().dim())
        dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
      return dims;
    }
    return std::nullopt;
  };
  std::optional<Dims> shape = shapeIn(model.graph().output());
  return shape ? shape : shapeIn(model.graph().value_info());
}

Value NodeContext::constant(const ::onnx::TensorProto &tensor) {
  ElementsAttr unshared;
  if (tensor.data_type() == onnxtype::String)
    return stringConstant(mlir(), loc(), tensor);
  ElementsAttr &known = budget ? budget->constants[&tensor] : unshared;
  if (known)
    return ConstantOp::create(mlir(), loc(), known);
  Expected<TensorData> data = model.tensor(tensor);
  if (!data) {
    (void)(data.error().code == ErrorCode::Unsupported ? unsupported(data.error().message)
                                                       : invalid(data.error().message, ""));
    return {};
  }
  StringRef name = tensor.name().empty() && proto.output_size() ? StringRef(proto.output(0)) : StringRef(tensor.name());
  ElementsAttr value = constantAttribute(context(), *data, name);
  if (!value) {
    (void)unsupported("its elements are of type " + onnxtype::name(data->elementType));
    return {};
  }
  known = value;
  return ConstantOp::create(mlir(), loc(), value);
}

/// Whether the least and the greatest element of a constant are allowed everywhere. They are found once, however many
/// nodes read the constant.
bool NodeContext::isKnownToFit(Value indices, ArrayRef<AllowedIndices> allowed) const {
  ElementsAttr constant = getConstant(indices);
  if (!budget || !constant)
    return false;
  auto [known, isNew] = budget->indexBounds.try_emplace(constant);
  if (isNew)
    known->second = indexBounds(indices);
  return known->second && llvm::all_of(allowed, [bounds = *known->second](const AllowedIndices &one) {
           return bounds.first >= one.low && bounds.second <= one.high;
         });
}

LogicalResult NodeContext::limit(Value indices, ArrayRef<AllowedIndices> allowed) {
  // An axis without elements has no index, which the operator's verifier refuses.
  if (!indices || allowed.empty() ||
      llvm::any_of(allowed, [](const AllowedIndices &one) { return one.low > one.high; }) || mayNotRun)
    return success();
  if (std::optional<WrongIndex> wrong =
          isKnownToFit(indices, allowed) ? std::nullopt : findWrongIndex(indices, allowed)) {
    const auto &[low, high, other] = wrong->allowed;
    return invalid("value " + Twine(wrong->value) + " is out of range, element " + Twine(wrong->position) +
                       " of its indices",
                   "give " +
                       (low == high         ? "the value " + std::to_string(low)
                        : high == INT64_MAX ? "values of at least " + std::to_string(low)
                                            : "values from " + std::to_string(low) + " to " + std::to_string(high)) +
                       (other ? ", or " + std::to_string(*other) + " for an element to ignore" : std::string()));
  }
  // One range is all that an input has: what is wrong for every entry of a tuple.
  AllowedIndices all = allowed.front();
  for (const AllowedIndices &one : allowed)
    all.low = std::min(all.low, one.low), all.high = std::max(all.high, one.high);
  limitIndices(indices, all);
  return success();
}

LogicalResult NodeContext::spend(Count bytes) {
  if (!budget || budget->take(bytes))
    return success();
  return unsupported("it makes a constant of " + formatBytes(bytes) +
                     ", with which the constants that the import computes exceed their limit of " +
                     formatBytes(ImportBudget::kMostBytes));
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

LogicalResult NodeContext::invalid(const Twine &why, StringRef what) {
  if (reason.empty()) {
    reason = why.str();
    advice = what.str();
  }
  return failure();
}

LogicalResult NodeContext::unsupported(const Twine &why) {
  isUnsupported = true;
  return invalid(why);
}

FailureOr<SmallVector<Value>> NodeContext::importBody(const ::onnx::GraphProto &body, ArrayRef<Value> arguments) {
  if (body.input_size() != static_cast<int>(arguments.size()) || llvm::is_contained(arguments, Value()))
    return invalid("the inputs of one of its subgraphs do not match its operands");
  Expected<SmallVector<Value>> results = bodyImporter(body, arguments);
  if (!results)
    return results.error().code == ErrorCode::Unsupported ? unsupported(results.error().message)
                                                          : invalid(results.error().message, "");
  if (llvm::is_contained(*results, Value()))
    return unsupported("one of its subgraphs has unsupported nodes");
  return std::move(*results);
}

LogicalResult NodeContext::results(ArrayRef<Value> values) {
  for (Value value : values)
    if (!value)
      return invalid(message().empty() ? Twine("its operands do not fit together") : Twine(message()));
  outputs.assign(values.begin(), values.end());
  return success();
}

} // namespace sluice::onnximport
