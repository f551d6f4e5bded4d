//===- ConvertSequence.cpp - Sequences and optionals ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Alternatives.h"
#include "Lists.h"
#include "StepIntegers.h"
#include "StepMovement.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

/// The operands of a list are its elements and, where it has this attribute, its length.
static constexpr llvm::StringLiteral kHasLength = "hasLength";

static UnrealizedConversionCastOp castOf(Value value) { return value.getDefiningOp<UnrealizedConversionCastOp>(); }

Value makeList(OpBuilder &builder, Location location, ValueRange elements, Value length) {
  auto type = TupleType::get(builder.getContext(), elements.getTypes());
  SmallVector<Value> operands(elements);
  if (length)
    operands.push_back(length);
  auto list = UnrealizedConversionCastOp::create(builder, location, type, operands);
  if (length)
    list->setAttr(kHasLength, builder.getUnitAttr());
  return list.getResult(0);
}
Value makeAbsent(OpBuilder &builder, Location location) {
  return UnrealizedConversionCastOp::create(builder, location, NoneType::get(builder.getContext()), ValueRange())
      .getResult(0);
}
Value makePossible(OpBuilder &builder, Location location, Value value, Value present) {
  const Value operands[] = {value, present};
  return UnrealizedConversionCastOp::create(builder, location, NoneType::get(builder.getContext()), operands)
      .getResult(0);
}
bool isList(Value value) { return isa<TupleType>(value.getType()); }
bool isAbsent(Value value) { return isa<NoneType>(value.getType()) && castOf(value).getInputs().empty(); }
bool isPossible(Value value) { return isa<NoneType>(value.getType()) && !castOf(value).getInputs().empty(); }
SmallVector<Value> elementsOf(Value list) {
  UnrealizedConversionCastOp cast = castOf(list);
  return SmallVector<Value>(cast.getInputs().drop_back(cast->hasAttr(kHasLength) ? 1 : 0));
}
Value lengthOf(Value list) {
  UnrealizedConversionCastOp cast = castOf(list);
  return cast->hasAttr(kHasLength) ? cast.getInputs().back() : Value();
}
Value heldBy(Value possible) { return castOf(possible).getInputs().front(); }
Value presenceOf(Value possible) { return castOf(possible).getInputs().back(); }

namespace {

/// A sequence: all elements there may be, and how many are there.
struct Sequence {
  SmallVector<Value> elements;
  Value length; ///< An i64 scalar; null: all.

  int64_t most() const { return static_cast<int64_t>(elements.size()); }
  Value lengthAs(NodeContext &node) const { return length ? length : StepIntegers(node).scalar(most()); }
};

FailureOr<Sequence> sequenceAt(NodeContext &node, size_t index) {
  if (failed(node.require(index + 1)))
    return failure();
  if (!isList(node.input(index)))
    return node.invalid("input " + Twine(index) + " must be a sequence");
  return Sequence{elementsOf(node.input(index)), lengthOf(node.input(index))};
}

/// Fails where one of the inputs [first, end) is a sequence or an optional.
LogicalResult requireTensors(NodeContext &node, size_t first, size_t end) {
  for (size_t i = first; i < end; ++i)
    if (node.has(i) && !isTensor(node.input(i)))
      return node.invalid("its input " + Twine(i) + " is not a tensor");
  return success();
}

/// A position in a sequence: a number, or an i64 scalar where only a step says it.
struct Position {
  int64_t number = 0;
  Value value;
};

/// [-length, length) -> [0, length); for an insertion `length` is one more. Where there is no input, the last one.
FailureOr<Position> positionAt(NodeContext &node, size_t index, const Sequence &in, bool inserts) {
  const int64_t count = in.most(), limit = inserts ? count + 1 : count;
  StepIntegers integers(node);
  Value length = in.length, last = length;
  if (length && !inserts)
    last = node.sub(length, integers.scalar(1));
  if (!node.has(index))
    return Position{limit - 1, last};
  if (failed(requireTensors(node, index, index + 1)))
    return failure();
  Value given = node.input(index);
  const std::optional<SmallVector<int64_t>> known = getIntegers(given);
  if (!isa<IntegerType>(elementTypeOf(given)) || elementCount(given.getType()) != 1 ||
      (known && (known->front() < -count || known->front() >= limit)))
    return node.invalid("its position must be one integer within a sequence of length " + Twine(count));
  if (known && !length)
    return Position{known->front() < 0 ? known->front() + count : known->front(), {}};
  if (failed(node.limit(given, AllowedIndices{-count, limit - 1, std::nullopt})))
    return failure();
  Value at = node.reshape(integers.vectorOf(given), {}), whole = in.lengthAs(node);
  Value fromEnd = node.add(at, whole), zero = integers.scalar(0);
  Value isNegative = node.compare(ComparePredicate::lt, at, zero);
  at = node.select(isNegative, fromEnd, at);
  // Positions that a step computes wrongly are those at the ends.
  Value highest = last ? last : integers.scalar(limit - 1);
  return Position{0, integers.clamp(at, zero, highest)};
}

/// The alternative that a position says.
Value elementAt(NodeContext &node, const Position &at, ArrayRef<Value> elements) {
  if (!at.value)
    return elements[at.number];
  Alternatives alternatives(node);
  Value chosen = alternatives.choose(at.value, elements);
  if (!chosen)
    (void)node.unsupported("its position is known only when the model runs, and the tensors of its sequence differ in "
                           "a way that is not supported: " +
                           alternatives.problem());
  return chosen;
}

LogicalResult listResult(NodeContext &node, ArrayRef<Value> elements, Value length = {}) {
  if (llvm::is_contained(elements, Value()))
    return node.result({});
  return node.result(makeList(node.mlir(), node.loc(), elements, length));
}

LogicalResult sequenceEmpty(NodeContext &node) { return listResult(node, {}); }

LogicalResult sequenceConstruct(NodeContext &node) {
  if (failed(node.require(node.inputCount())) || failed(requireTensors(node, 0, node.inputCount())))
    return failure();
  SmallVector<Value> elements;
  for (size_t i = 0; i < node.inputCount(); ++i)
    elements.push_back(node.input(i));
  return listResult(node, elements);
}

/// Choosing elements takes time and code in proportion to the square of a sequence's length.
constexpr int64_t kMostChosen = 128;

LogicalResult checkChosen(NodeContext &node, const Position &at, const Sequence &in) {
  if (!at.value || in.most() <= kMostChosen)
    return success();
  return node.unsupported(
      "its position is known only when the model runs, which is supported for sequences of at most " +
      Twine(kMostChosen) + " tensors, and its sequence has " + Twine(in.most()));
}

LogicalResult sequenceInsert(NodeContext &node) {
  FailureOr<Sequence> in = sequenceAt(node, 0);
  if (failed(in) || failed(node.require(2)) || failed(requireTensors(node, 1, 2)))
    return failure();
  FailureOr<Position> at = positionAt(node, 2, *in, /*inserts=*/true);
  if (failed(at) || failed(checkChosen(node, *at, *in)))
    return failure();
  Value inserted = node.input(1), length;
  if (in->length) {
    StepIntegers integers(node);
    length = node.add(in->length, integers.scalar(1));
  }
  if (!at->value) {
    in->elements.insert(in->elements.begin() + at->number, inserted);
    return listResult(node, in->elements, length);
  }
  // Element k is that of before, the new one, or that before it.
  SmallVector<Value> elements;
  for (int64_t k = 0; k <= in->most(); ++k) {
    SmallVector<Value> choices;
    if (k > 0)
      choices.push_back(in->elements[k - 1]);
    choices.push_back(inserted);
    if (k < in->most())
      choices.push_back(in->elements[k]);
    Value first = StepIntegers(node).scalar(k > 0 ? k - 1 : k);
    elements.push_back(elementAt(node, {0, node.sub(at->value, first)}, choices));
    if (!elements.back())
      return failure();
  }
  return listResult(node, elements, length);
}

LogicalResult sequenceErase(NodeContext &node) {
  FailureOr<Sequence> in = sequenceAt(node, 0);
  if (failed(in))
    return failure();
  if (in->elements.empty())
    return node.invalid("its sequence is empty");
  FailureOr<Position> at = positionAt(node, 1, *in, /*inserts=*/false);
  if (failed(at) || failed(checkChosen(node, *at, *in)))
    return failure();
  Value length;
  if (in->length) {
    StepIntegers integers(node);
    length = node.sub(in->length, integers.scalar(1));
  }
  if (!at->value) {
    in->elements.erase(in->elements.begin() + at->number);
    return listResult(node, in->elements, length);
  }
  SmallVector<Value> elements;
  for (int64_t k = 0; k + 1 < in->most(); ++k) {
    Value first = StepIntegers(node).scalar(k);
    Value behind = node.sub(at->value, first);
    elements.push_back(elementAt(node, {0, behind}, {in->elements[k + 1], in->elements[k]}));
    if (!elements.back())
      return failure();
  }
  return listResult(node, elements, length);
}

LogicalResult sequenceElement(NodeContext &node) {
  FailureOr<Sequence> in = sequenceAt(node, 0);
  if (failed(in))
    return failure();
  if (in->elements.empty())
    return node.invalid("its sequence is empty");
  FailureOr<Position> at = positionAt(node, 1, *in, /*inserts=*/false);
  if (failed(at) || failed(checkChosen(node, *at, *in)))
    return failure();
  Value element = elementAt(node, *at, in->elements);
  return element ? node.result(element) : failure();
}

LogicalResult sequenceLength(NodeContext &node) {
  FailureOr<Sequence> in = sequenceAt(node, 0);
  if (failed(in))
    return failure();
  return node.result(in->lengthAs(node));
}

/// The elements that there are, dense along `axis`, where they differ; those behind the last are empty.
LogicalResult takeElements(NodeContext &node, Sequence &in, int64_t axis) {
  StepIntegers integers(node);
  for (auto [k, element] : llvm::enumerate(in.elements)) {
    for (int64_t d = 0; d < rankOf(element); ++d)
      if (d != axis && (node.extents->of(element, d) || shapeOf(element)[d] != shapeOf(in.elements.front())[d]))
        return node.unsupported("its tensors differ in dimensions other than " + Twine(axis) +
                                ", and the number of these tensors is known only when the model runs, give the values "
                                "that determine the number by --fix");
    Value own = node.extents->of(element, axis), index = integers.scalar(static_cast<int64_t>(k));
    Value isThere = node.compare(ComparePredicate::gt, in.length, index);
    Value extent = own ? own : integers.scalar(shapeOf(element)[axis]), none = integers.scalar(0);
    Value copy = node.create<CopyOp>({element}), count = node.select(isThere, extent, none);
    Value part = node.held(copy, axis, count);
    element = part ? node.whole(part) : Value();
    if (element && node.extents->isBounded(element))
      return node.unsupported(
          "the number of tensors in its sequence is known only when the model runs, and so are their extents, give the "
          "values that determine the number by --fix, or a lower bound of the size of their parts by --bound");
  }
  return success();
}

LogicalResult concatFromSequence(NodeContext &node) {
  FailureOr<Sequence> in = sequenceAt(node, 0);
  if (failed(in))
    return failure();
  if (in->elements.empty() || !llvm::all_of(in->elements, isTensor))
    return node.invalid("its sequence must have at least one element, and only tensors");
  bool adds = node.integerOr("new_axis", 0) != 0;
  int64_t rank = rankOf(in->elements.front()) + adds;
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rank);
  if (failed(axis))
    return failure();
  const Type first = in->elements.front().getType();
  for (Value element : in->elements)
    if (rankOf(element) + adds != rank)
      return node.invalid("the ranks of the tensors in its sequence do not match the result");
  if (in->length && llvm::any_of(in->elements, [&](Value element) {
        return element.getType() != first || node.extents->isBounded(element);
      })) {
    if (adds)
      return node.unsupported("the extents of its tensors differ, and the number of these tensors is known only when "
                              "the model runs, give the values that determine the number by --fix");
    if (failed(takeElements(node, *in, *axis)))
      return failure();
    in->length = {};
  }
  for (Value &element : in->elements) {
    element = node.whole(element);
    Dims dims(shapeOf(element));
    if (adds)
      dims.insert(dims.begin() + *axis, 1);
    element = node.reshape(element, dims);
  }
  Value all = node.concat(in->elements, *axis);
  if (!in->length || !all)
    return node.result(all);
  Value each = StepIntegers(node).scalar(shapeOf(all)[*axis] / in->most());
  return node.result(node.held(all, *axis, node.mul(in->length, each)));
}

LogicalResult splitToSequence(NodeContext &node) {
  if (failed(node.require(1)) || failed(requireTensors(node, 0, 2)))
    return failure();
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  int64_t extent = shapeOf(x)[*axis];
  constexpr int64_t kMostParts = 10000;
  auto tooMany = [&](int64_t parts) {
    return node.unsupported("it splits into " + Twine(parts) + " tensors, at most " + Twine(kMostParts) +
                            " are supported");
  };
  Dims sizes;
  bool drops = false;
  if (!node.has(1)) {
    if (extent > kMostParts)
      return tooMany(extent);
    sizes.assign(extent, 1);
    drops = node.integerOr("keepdims", 1) == 0;
  } else {
    // The length of a list of sizes tells the number of parts.
    if (rankOf(node.input(1)) == 1 && elementCount(node.input(1).getType()) > 0 && !getIntegers(node.input(1))) {
      FailureOr<SmallVector<Value>> parts = splitFound(node, *axis, shapeOf(node.input(1))[0]);
      return failed(parts) ? failure() : listResult(node, *parts);
    }
    if (rankOf(node.input(1)) == 0 && !getIntegers(node.input(1))) {
      FailureOr<EvenParts> even = splitEvenlyFound(node, *axis);
      return failed(even) ? failure() : listResult(node, even->parts, even->count);
    }
    FailureOr<Dims> given = node.constantIntegers(1, "split");
    if (failed(given))
      return failure();
    sizes = *given;
    if (rankOf(node.input(1)) == 0) {
      // Parts of one size, the last as large as what is left.
      int64_t size = sizes.front();
      if (const Count count = size > 0 ? (Count(extent) + size - 1) / size : Count(); count > kMostParts)
        return tooMany(count);
      sizes.clear();
      for (int64_t left = extent; size > 0 && left > 0; left -= size)
        sizes.push_back(std::min(size, left));
    }
  }
  int64_t start = 0;
  SmallVector<Value> parts;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent - start)
      return node.invalid("the sizes of its split must have the sum " + Twine(extent));
    Value part = size == extent ? x : node.sliceAxis(x, *axis, size ? start : 0, size);
    if (drops && part) {
      Dims dims(shapeOf(part));
      dims.erase(dims.begin() + *axis);
      part = node.reshape(part, dims);
    }
    parts.push_back(part);
    start += size;
  }
  if (start != extent)
    return node.invalid("the sizes of its split must have the sum " + Twine(extent));
  return listResult(node, parts);
}

/// A subgraph for each element of the first sequence; of other sequences it gets the element beside, of tensors all.
LogicalResult sequenceMap(NodeContext &node) {
  FailureOr<Sequence> first = sequenceAt(node, 0);
  const ::onnx::AttributeProto *body = node.find("body", ::onnx::AttributeProto::GRAPH);
  if (failed(first) || failed(node.require(node.inputCount())))
    return failure();
  if (!body)
    return node.invalid("it has no body");
  SmallVector<SmallVector<Value>> columns(body->g().output_size());
  for (size_t i = 0; i < first->elements.size(); ++i) {
    SmallVector<Value> arguments;
    for (size_t k = 0; k < node.inputCount(); ++k) {
      Value input = node.input(k);
      if (isList(input) && elementsOf(input).size() != first->elements.size())
        return node.invalid("its sequences differ in length");
      arguments.push_back(isList(input) ? elementsOf(input)[i] : input);
    }
    FailureOr<SmallVector<Value>> results = node.importBody(body->g(), arguments);
    if (failed(results))
      return failure();
    if (!llvm::all_of(*results, [](Value value) { return value && isTensor(value); }))
      return node.invalid("a result of its body is not a tensor");
    for (auto [column, value] : llvm::zip(columns, *results))
      column.push_back(value);
  }
  SmallVector<Value> lists;
  for (ArrayRef<Value> column : columns)
    lists.push_back(makeList(node.mlir(), node.loc(), column, first->length));
  return node.results(lists);
}

LogicalResult optional(NodeContext &node) {
  return node.result(node.has(0) ? node.input(0) : makeAbsent(node.mlir(), node.loc()));
}

LogicalResult optionalHasElement(NodeContext &node) {
  Value given = node.has(0) ? node.input(0) : Value();
  if (given && isPossible(given))
    return node.result(presenceOf(given));
  return node.result(node.splat(node.mlir().getI1Type(), given && !isAbsent(given) ? 1 : 0));
}

LogicalResult optionalGetElement(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value given = node.input(0);
  // Branches that may not be chosen may ask for a value that is not there.
  if (isPossible(given) && !node.mayNotRun)
    return node.unsupported("only the running model knows whether its optional has a value: read the value in a branch "
                            "of an If on OptionalHasElement");
  if (isAbsent(given))
    return node.invalid("its optional has no value");
  return node.result(isPossible(given) ? heldBy(given) : given);
}

LogicalResult identity(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return node.result(node.input(0));
}

constexpr OperatorEntry kOperators[] = {
    {"", "SequenceEmpty", 11, sequenceEmpty, true},
    {"", "SequenceConstruct", 11, sequenceConstruct, true},
    {"", "SequenceInsert", 11, sequenceInsert, true},
    {"", "SequenceErase", 11, sequenceErase, true},
    {"", "SequenceAt", 11, sequenceElement, true},
    {"", "SequenceLength", 11, sequenceLength, true},
    {"", "ConcatFromSequence", 11, concatFromSequence, true},
    {"", "SplitToSequence", 11, splitToSequence, true},
    {"", "SequenceMap", 17, sequenceMap, true},
    {"", "Optional", 15, optional, true},
    {"", "OptionalHasElement", 15, optionalHasElement, true},
    {"", "OptionalGetElement", 15, optionalGetElement, true},
    {"", "Identity", 1, identity, true},
};

} // namespace

ArrayRef<OperatorEntry> sequenceOperators() { return kOperators; }

} // namespace sluice::onnximport
