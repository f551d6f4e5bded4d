//===- CountedLoops.cpp - Loops whose condition compares a counter --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Exporters write `while (i < n)` as a Loop without a trip count. Its condition
// compares a state, to which each iteration adds a constant, with a number that
// no iteration changes. In iteration t, each side of the comparison is
// `base + offset + step * t`. The difference of the sides tells after how many
// iterations the condition is false.
//
//===----------------------------------------------------------------------===//
#include "CountedLoops.h"

#include "Lists.h"
#include "StepIntegers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

namespace {

/// base + offset + step * t, in iteration t.
struct Linear {
  Value base; ///< An integer of one element; null: 0.
  int64_t offset = 0, step = 0;
  bool isCast = false; ///< A cast on the way keeps small numbers only.
};

class LoopCondition {
public:
  LoopCondition(NodeContext &context, const ::onnx::GraphProto &body, ArrayRef<Value> inputs, ValueLookup outside)
      : context(context), body(body), inputs(inputs), outside(outside) {
    for (auto [i, input] : llvm::enumerate(body.input()))
      inputOf[input.name()] = i;
    for (const ::onnx::NodeProto &node : body.node())
      for (const std::string &output : node.output())
        makerOf[output] = &node;
    for (const ::onnx::TensorProto &constant : body.initializer())
      constantOf[constant.name()] = &constant;
  }

  CountedTrips trips() { return tripsOf(body.output(0).name()); }

private:
  /// The number of iterations after which a condition that each of them computes is false.
  CountedTrips tripsOf(const std::string &name) {
    const ::onnx::NodeProto *node = makerBehind(name).node;
    if (!node || ++looked > kMostNodes || !node->domain().empty())
      return {};
    const std::string &type = node->op_type();
    if (type == "Cast" && node->input_size() == 1) // A truth value remains one.
      return tripsOf(node->input(0));
    if (node->input_size() != 2)
      return {};
    const std::string &one = node->input(0), &other = node->input(1);
    if (type == "And") {
      const CountedTrips first = tripsOf(one), second = tripsOf(other);
      return least(first, second);
    }
    if (type == "Less" || type == "LessOrEqual")
      return tripsUntil(one, other, type == "LessOrEqual");
    if (type == "Greater" || type == "GreaterOrEqual")
      return tripsUntil(other, one, type == "GreaterOrEqual");
    return {};
  }

  CountedTrips least(CountedTrips one, CountedTrips other) {
    if (!one.trips || !other.trips)
      return {one.trips ? one.trips : other.trips, false};
    return {context.binary(BinaryKind::min, one.trips, other.trips), one.isExact && other.isExact};
  }

  /// While `lower` < `upper`, or while `lower` <= `upper`.
  CountedTrips tripsUntil(const std::string &lower, const std::string &upper, bool orEqual) {
    std::optional<Linear> less = linear(lower), more = linear(upper);
    int64_t closer = 0, apart = 0;
    if (!less || !more || llvm::SubOverflow(less->step, more->step, closer) || closer < 1 ||
        llvm::SubOverflow(more->offset, less->offset, apart) || llvm::AddOverflow(apart, int64_t(orEqual), apart))
      return {};
    // Until the loop ends, a side that moves is then between the other side and where it starts, up to a step.
    const bool areSmall = isSmall(*less) && isSmall(*more) && (less->step == 0 || more->step == 0);
    if ((less->isCast || more->isCast || (less->base && more->base)) && !areSmall)
      return {};
    // A base beyond kMost counts as kMost: sums do not wrap around, and no loop runs 2^40 iterations.
    constexpr int64_t kMost = int64_t(1) << 61, kMostStep = int64_t(1) << 20;
    if (apart < -kMost / 2 || apart > kMost / 2 || closer > kMostStep)
      return {};
    StepIntegers integers(context);
    auto baseOf = [&](const Linear &side) {
      Type i64 = context.mlir().getI64Type();
      return side.base ? integers.clamp(context.cast(context.reshape(side.base, {}), i64), -kMost, kMost)
                       : integers.scalar(0);
    };
    Value high = baseOf(*more), low = baseOf(*less);
    Value difference = context.add(context.sub(high, low), integers.scalar(apart));
    Value distance = context.binary(BinaryKind::max, difference, integers.scalar(0));
    // The first iteration runs before the condition is computed.
    Value trips = context.add(integers.divideUp(distance, integers.scalar(closer)), integers.scalar(1));
    return {trips, trips && getIntegers(trips) && areSmall};
  }

  /// Whether a side starts at a small number and takes small steps.
  bool isSmall(const Linear &side) const {
    const Interval base = side.base ? intervalOf(side.base) : Interval{0, 0};
    auto within = [](int64_t value) { return value > -kMostSmall && value < kMostSmall; };
    return within(base.low) && within(base.high) && within(side.offset) && within(side.step);
  }

  std::optional<Linear> linear(const std::string &given) {
    const Maker maker = makerBehind(given);
    if (++looked > kMostNodes)
      return std::nullopt;
    std::optional<Linear> result = maker.node ? linearOf(*maker.node) : linearName(maker.name);
    if (result)
      result->isCast |= maker.isCast;
    return result;
  }

  std::optional<Linear> linearName(const std::string &name) {
    if (auto found = inputOf.find(name); found != inputOf.end())
      return linearInput(found->second);
    if (auto found = constantOf.find(name); found != constantOf.end())
      return invariant(context.constant(*found->second));
    return invariant(outside(name));
  }

  std::optional<Linear> linearOf(const ::onnx::NodeProto &node) {
    if (!node.domain().empty())
      return std::nullopt;
    if (node.op_type() == "Constant" && node.attribute_size() == 1) {
      const ::onnx::AttributeProto &value = node.attribute(0);
      return value.name() == "value_int" ? std::optional(Linear{{}, value.i()})
             : value.name() == "value"   ? invariant(context.constant(value.t()))
                                         : std::nullopt;
    }
    if (node.input_size() != 2 || (node.op_type() != "Add" && node.op_type() != "Sub"))
      return std::nullopt;
    const std::optional<Linear> first = linear(node.input(0)), second = linear(node.input(1));
    return sum(first, second, node.op_type() == "Sub");
  }

  static std::optional<Linear> sum(std::optional<Linear> a, std::optional<Linear> b, bool isDifference) {
    if (!a || !b || (b->base && (a->base || isDifference)))
      return std::nullopt;
    Linear sum{a->base ? a->base : b->base};
    sum.isCast = a->isCast || b->isCast;
    const bool overflows =
        isDifference
            ? llvm::SubOverflow(a->offset, b->offset, sum.offset) || llvm::SubOverflow(a->step, b->step, sum.step)
            : llvm::AddOverflow(a->offset, b->offset, sum.offset) || llvm::AddOverflow(a->step, b->step, sum.step);
    return overflows ? std::nullopt : std::optional(sum);
  }

  /// The number of the iteration, or a state that does not change or that a constant is added to.
  std::optional<Linear> linearInput(size_t number) {
    if (number == 0)
      return Linear{{}, 0, 1};
    if (number == 1)
      return std::nullopt;
    const std::string &state = body.input(static_cast<int>(number)).name();
    const Maker next = makerBehind(body.output(static_cast<int>(number) - 1).name());
    std::optional<Linear> start = invariant(inputs[number]);
    if (!start || (!next.node && next.name != state))
      return std::nullopt;
    start->isCast |= next.isCast;
    if (!next.node)
      return start;
    const bool isSum = next.node->op_type() == "Add";
    if ((!isSum && next.node->op_type() != "Sub") || !next.node->domain().empty() || next.node->input_size() != 2)
      return std::nullopt;
    const bool isFirst = isState(next.node->input(0), state);
    if (!isFirst && !(isSum && isState(next.node->input(1), state)))
      return std::nullopt;
    const std::optional<Linear> added = linear(next.node->input(isFirst ? 1 : 0));
    if (!added || added->base || added->step != 0 ||
        (!isSum && llvm::SubOverflow(int64_t(0), added->offset, start->step)))
      return std::nullopt;
    if (isSum)
      start->step = added->offset;
    start->isCast |= added->isCast;
    return start;
  }

  bool isState(const std::string &name, const std::string &state) const {
    const Maker maker = makerBehind(name);
    return !maker.node && maker.name == state;
  }

  std::optional<Linear> invariant(Value value) const {
    if (!value || !isTensor(value) || elementCount(value.getType()) != 1)
      return std::nullopt;
    auto type = dyn_cast<IntegerType>(elementTypeOf(value));
    if (!type || type.getWidth() < 32 || type.isUnsigned())
      return std::nullopt;
    std::optional<SmallVector<int64_t>> known = getIntegers(value);
    return known ? Linear{{}, known->front()} : Linear{value};
  }

  /// What makes a tensor of one element, behind nodes that keep its value.
  struct Maker {
    std::string name;
    const ::onnx::NodeProto *node = nullptr; ///< Null: the body's nodes do not make it.
    bool isCast = false;
  };
  Maker makerBehind(const std::string &name) const {
    Maker maker{name};
    for (int left = kMostNodes; left > 0 && (maker.node = makerOf.lookup(maker.name)); --left) {
      const ::onnx::NodeProto &node = *maker.node;
      const std::string &type = node.op_type();
      const bool isCast = type == "Cast" && keepsSmall(node);
      if (!node.domain().empty() || node.input_size() < 1 ||
          (!isCast && type != "Identity" && type != "Squeeze" && type != "Unsqueeze" && type != "Reshape"))
        break;
      maker.isCast |= isCast;
      maker.name = node.input(0);
    }
    return maker;
  }

  /// Whether a cast keeps integers below 2^24.
  static bool keepsSmall(const ::onnx::NodeProto &cast) {
    return llvm::any_of(cast.attribute(), [](const ::onnx::AttributeProto &attribute) {
      return attribute.name() == "to" &&
             llvm::is_contained({onnxtype::Float, onnxtype::Double, onnxtype::Int64, onnxtype::Int32}, attribute.i());
    });
  }

  /// The most nodes that are looked at: states may be added to each other.
  static constexpr int kMostNodes = 64;
  /// The sum of a base, an offset and a step of this size is below 2^24.
  static constexpr int64_t kMostSmall = int64_t(1) << 22;

  NodeContext &context;
  const ::onnx::GraphProto &body;
  ArrayRef<Value> inputs;
  ValueLookup outside;
  llvm::StringMap<size_t> inputOf;
  llvm::StringMap<const ::onnx::NodeProto *> makerOf;
  llvm::StringMap<const ::onnx::TensorProto *> constantOf;
  int looked = 0;
};

} // namespace

CountedTrips countTrips(NodeContext &context, const ::onnx::GraphProto &body, ArrayRef<Value> inputs,
                        ValueLookup outside) {
  return LoopCondition(context, body, inputs, outside).trips();
}

} // namespace sluice::onnximport
