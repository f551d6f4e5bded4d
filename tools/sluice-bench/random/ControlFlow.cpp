//===- ControlFlow.cpp - Random branches and loops ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>

namespace sluice::bench {
namespace {

Value takeCarried(ModelWriter &w) {
  return w.take(
      [](const Value &value) {
        return value.type == ElementType::Float32 && value.rank() <= 3 && value.elements() > 0 &&
               value.elements() <= 400 && value.largest() <= 20 && value.error <= 1e-3;
      },
      ElementType::Float32, w.between(0, 3));
}

/// A few nodes on `x` that keep its shape and do not enlarge it above `most`.
Value chain(ModelWriter &w, const Value &x) {
  Value result = x;
  for (int64_t length = w.between(1, 3); length > 0; --length) {
    const double most = result.largest();
    Result next{x.type, x.shape, -most, most, result.error};
    switch (w.between(0, 3)) {
    case 0:
      result = w.add("Neg", {result}, next);
      break;
    case 1:
      result = w.add("Tanh", {result}, {x.type, x.shape, -1, 1, result.error + roundingOf(x.type, 1)});
      break;
    case 2: {
      const Value factor = w.constant(x.type, {}, 0.25, 0.75);
      next.error += roundingOf(x.type, most);
      result = w.add("Mul", {result, factor}, next);
      break;
    }
    default: {
      const Value other = w.constant(x.type, x.shape, -1, 1);
      next.low -= 1;
      next.high += 1;
      next.error += roundingOf(x.type, most + 1);
      result = w.add("Add", {result, other}, next);
    }
    }
  }
  return result;
}

::onnx::GraphProto &body(::onnx::NodeProto &node, std::string_view name) {
  ::onnx::AttributeProto &made = *node.add_attribute();
  made.set_name(std::string(name));
  made.set_type(::onnx::AttributeProto::GRAPH);
  made.mutable_g()->set_name(std::string(name));
  return *made.mutable_g();
}

void makeBranch(ModelWriter &w) {
  const Value x = takeCarried(w);
  const Value *known = w.find([](const Value &value) { return value.type == ElementType::Bool && value.rank() == 0; });
  const Value condition = known ? *known : w.source(ElementType::Bool, {}, 0, 1);
  ::onnx::NodeProto &node = w.node("If", {condition});
  Result result = ModelWriter::moved(x, x.shape);
  for (std::string_view name : {"then_branch", "else_branch"}) {
    ::onnx::GraphProto &graph = body(node, name);
    w.within(graph, [&] {
      const Value y = chain(w, x);
      ModelWriter::declare(*graph.add_output(), y);
      result.low = std::min(result.low, y.low);
      result.high = std::max(result.high, y.high);
      result.error = std::max(result.error, y.error);
    });
  }
  w.finish(node, result);
}

/// x = tanh(a x + b) some times over; the standard's condition stays true.
void makeLoop(ModelWriter &w) {
  const Value x = takeCarried(w);
  const int64_t trips = w.between(0, 5);
  const bool stacks = trips > 0 && w.random().chance(0.5);
  const Value count = w.number(trips);
  ::onnx::NodeProto &node = w.node("Loop", {count, Value{}, x});
  ::onnx::GraphProto &graph = body(node, "body");
  const double error = 8 * (x.error + roundingOf(x.type, x.largest() + 1));
  const double most = std::max(1.0, x.largest());
  w.within(graph, [&] {
    const Value index = w.introduce({ElementType::Int64, {}, 0, 5, 0}, "i");
    const Value going = w.introduce({ElementType::Bool, {}, 0, 1, 0}, "c");
    const Value carried = w.introduce({x.type, x.shape, -most, most, error}, "s");
    for (const Value &port : {index, going, carried})
      ModelWriter::declare(*graph.add_input(), port);
    const Value stays = w.add("Identity", {going}, {ElementType::Bool, {}, 0, 1, 0});
    const Value factor = w.constant(x.type, {}, 0.25, 0.9);
    const Value scaled = w.add("Mul", {carried, factor}, {x.type, x.shape, -most, most, error});
    const Value term = w.constant(x.type, x.shape, -1, 1);
    const Value sum = w.add("Add", {scaled, term}, {x.type, x.shape, -most - 1, most + 1, error});
    const Value next = w.add("Tanh", {sum}, {x.type, x.shape, -1, 1, error});
    ModelWriter::declare(*graph.add_output(), stays);
    ModelWriter::declare(*graph.add_output(), next);
    if (stacks) {
      const Value stacked = w.add("Neg", {sum}, {x.type, x.shape, -most - 1, most + 1, error});
      ModelWriter::declare(*graph.add_output(), stacked);
    }
  });
  w.finish(node, {x.type, x.shape, -most, most, error});
  if (stacks) {
    Shape shape = x.shape;
    shape.insert(shape.begin(), trips);
    w.finish(node, {x.type, shape, -most - 1, most + 1, error});
  }
}

/// A loop that ends when its body says so: the condition is a state that the body before it computed.
void makeEndingLoop(ModelWriter &w) {
  const Value x = takeCarried(w);
  const bool isBounded = w.random().chance(0.5);
  const Value first = w.source(ElementType::Bool, {}, 0, 1);
  ::onnx::NodeProto &node = w.node("Loop", {isBounded ? w.number(w.between(0, 5)) : Value{}, Value{}, x, first});
  ::onnx::GraphProto &graph = body(node, "body");
  const double error = 8 * (x.error + roundingOf(x.type, x.largest() + 1));
  const double most = std::max(1.0, x.largest());
  const Result flag{ElementType::Bool, {}, 0, 1, 0};
  w.within(graph, [&] {
    const Value index = w.introduce({ElementType::Int64, {}, 0, 5, 0}, "i");
    const Value going = w.introduce(flag, "c");
    const Value carried = w.introduce({x.type, x.shape, -most, most, error}, "s");
    const Value known = w.introduce(flag, "f");
    for (const Value &port : {index, going, carried, known})
      ModelWriter::declare(*graph.add_input(), port);
    const Value factor = w.constant(x.type, {}, 0.25, 0.9);
    const Value scaled = w.add("Mul", {carried, factor}, {x.type, x.shape, -most, most, error});
    const Value term = w.constant(x.type, x.shape, -1, 1);
    const Value sum = w.add("Add", {scaled, term}, {x.type, x.shape, -most - 1, most + 1, error});
    const Value next = w.add("Tanh", {sum}, {x.type, x.shape, -1, 1, error});
    const Value stays = w.add("Identity", {known}, flag);
    const Value goesOn = w.add("Less", {index, w.number(w.between(0, 3))}, flag);
    for (const Value &port : {stays, next, goesOn})
      ModelWriter::declare(*graph.add_output(), port);
  });
  w.finish(node, {x.type, x.shape, -most, most, error});
  w.finish(node, flag);
}

/// A running state over the rows of a tensor.
void makeScan(ModelWriter &w) {
  const int64_t steps = w.between(1, 6), width = w.between(1, 9);
  const Value rows = w.source(ElementType::Float32, {steps, width}, -1, 1);
  const Value start = w.source(ElementType::Float32, {width}, -1, 1);
  const double error = 8 * roundingOf(rows.type, 2);
  ::onnx::NodeProto &node = w.node("Scan", {start, rows});
  ModelWriter::set(node, "num_scan_inputs", 1);
  if (w.random().chance(0.3))
    ModelWriter::set(node, "scan_input_directions", std::vector<int64_t>{1});
  ::onnx::GraphProto &graph = body(node, "body");
  w.within(graph, [&] {
    const Value state = w.introduce({rows.type, {width}, -1, 1, error}, "s");
    const Value row = w.introduce({rows.type, {width}, -1, 1, 0}, "r");
    ModelWriter::declare(*graph.add_input(), state);
    ModelWriter::declare(*graph.add_input(), row);
    const Value sum = w.add("Add", {state, row}, {rows.type, {width}, -2, 2, error});
    const Value next = w.add("Tanh", {sum}, {rows.type, {width}, -1, 1, error});
    const Value shown = w.add("Mul", {next, row}, {rows.type, {width}, -1, 1, error});
    ModelWriter::declare(*graph.add_output(), next);
    ModelWriter::declare(*graph.add_output(), shown);
  });
  w.finish(node, {rows.type, {width}, -1, 1, error});
  w.finish(node, {rows.type, {steps, width}, -1, 1, error});
}

} // namespace

std::vector<OperatorMaker> controlMakers() {
  return {{"branch", 2, makeBranch}, {"loop", 1, makeLoop}, {"ending loop", 1, makeEndingLoop}, {"scan", 1, makeScan}};
}

const std::vector<OperatorMaker> &allMakers() {
  static const std::vector<OperatorMaker> kMakers = [] {
    std::vector<OperatorMaker> makers;
    for (const std::vector<OperatorMaker> &some : {unaryMakers(), binaryMakers(), movementMakers(), reductionMakers(),
                                                   contractionMakers(), integerMakers(), controlMakers()})
      makers.insert(makers.end(), some.begin(), some.end());
    return makers;
  }();
  return kMakers;
}

void addRandomNode(ModelWriter &writer, const std::vector<OperatorMaker> &makers) {
  int total = 0;
  for (const OperatorMaker &maker : makers)
    total += maker.weight;
  auto drawn = static_cast<int>(writer.random().below(static_cast<uint64_t>(total)));
  for (const OperatorMaker &maker : makers)
    if ((drawn -= maker.weight) < 0)
      return maker.make(writer);
}

} // namespace sluice::bench
