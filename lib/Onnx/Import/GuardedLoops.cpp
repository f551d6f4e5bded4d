//===- GuardedLoops.cpp - Loops that run at most so often -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A loop whose state is a sequence, or changes its shape, cannot become a dataflow.loop. If its number of iterations
// has a small bound, it is unrolled to this bound. The program then computes every iteration on the results of the
// iteration before it, and each step chooses the state after the number of iterations that run in this step. The
// results of further iterations are not used.
//
//===----------------------------------------------------------------------===//
#include "Alternatives.h"
#include "GraphImporter.h"
#include "Intervals.h"
#include "StepIntegers.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

/// Whether a condition is known, and what it is.
static std::optional<bool> knownCondition(Value condition) {
  std::optional<SmallVector<int64_t>> values = condition ? getIntegers(condition) : std::nullopt;
  return values && values->size() == 1 ? std::optional(values->front() != 0) : std::nullopt;
}

static Value bothTrue(onnximport::Builder &build, Value one, Value other) {
  if (!one || !other || knownCondition(one) == true)
    return one ? other : one;
  if (knownCondition(other) == true)
    return one;
  Value no = build.splat(build.mlir().getI1Type(), 0);
  return build.select(one, other, no);
}

std::optional<Dims> GraphImporter::declaredStack(const ::onnx::NodeProto &node, int output) {
  auto declaredOf = [&](const ::onnx::NodeProto &maker, int number) {
    return NodeContext(builder, locationOf(maker), model, maker, opsetOf(maker), {}).declaredShape(number);
  };
  std::optional<Dims> declared = declaredOf(node, output);
  // Functions of halves compute with f32: the model declares what their results are cast to.
  for (const ::onnx::NodeProto &reader : model.graph().node())
    if (!declared && reader.op_type() == "Cast" && reader.input_size() == 1 && reader.input(0) == node.output(output))
      declared = declaredOf(reader, 0);
  return declared;
}

int64_t GraphImporter::mostTrips(const ::onnx::NodeProto &node, ArrayRef<Value> inputs, std::optional<int64_t> trips) {
  int64_t most = trips.value_or(kEndless);
  if (maxIterations > 0)
    most = std::min(most, maxIterations);
  if (trips || !inputs[0])
    return most;
  most = std::min(most, std::max<int64_t>(intervalOf(inputs[0]).high, 0));
  const bool isNamed = !node.input(0).empty(); // A count of the condition has no name.
  if (const ValueBounds *said = isNamed ? bounds.use(node.input(0)) : nullptr)
    most = std::min(most, said->high);
  // What it stacks has as many slabs as the model declares. Names within functions and bodies are others.
  for (int i = static_cast<int>(inputs.size()) - 2; scopes.size() == 1 && i < node.output_size(); ++i)
    if (std::optional<Dims> declared = declaredStack(node, i); declared && !declared->empty() && declared->front() >= 0)
      most = std::min(most, declared->front());
  return most;
}

std::string GraphImporter::adviseBound(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) const {
  std::string advice = "give the largest number of iterations by '--max-iterations'";
  if (inputs[0] && !node.input(0).empty())
    advice += concat(" or '--bound ", node.input(0), "=N'");
  return advice;
}

Status GraphImporter::importOpenLoop(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                     ArrayRef<Value> inputs, Trips trips) {
  NodeContext context = contextOf(node, inputs);
  trips.most = mostTrips(node, inputs, trips.known);
  if (trips.most != kEndless)
    trips.most = context.roomOf(trips.most);
  auto asProgram = [&] { return importLoopProgram(node, body, inputs, trips, /*isChoice=*/false); };
  const bool canUnroll = Count(trips.most) * std::max(body.node_size(), 1) <= kMostGuardedNodes;
  if (!canUnroll || succeeds(asProgram))
    return canUnroll ? Status() : asProgram();
  return importGuardedLoop(context, body, inputs, trips.most);
}

/// As many as `trips`, in a step that fails where these are more than `most`.
static Value checkTrips(onnximport::Builder &build, Value trips, int64_t most) {
  OpBuilder &builder = build.mlir();
  Region region;
  Block *block = new Block;
  region.push_back(block);
  block->addArgument(RankedTensorType::get({}, builder.getI64Type()), build.loc());
  Value more;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    more = build.splat(builder.getI1Type(), 1);
  }
  Value always = build.splat(builder.getI1Type(), 1);
  const LoopParts parts{trips, always, {}, most};
  SmallVector<Value> results = createLoop(build, parts, region, {more});
  return results.empty() ? Value() : results.back();
}

Expected<GraphImporter::GuardedLoop> GraphImporter::runGuarded(NodeContext &context, const ::onnx::GraphProto &body,
                                                               ArrayRef<Value> inputs, int64_t most) {
  const Type i64 = builder.getI64Type();
  StepIntegers integers(context);
  GuardedLoop loop;
  const size_t carried = inputs.size() - 2;
  loop.states.push_back(SmallVector<Value>(inputs.drop_front(2)));
  loop.ran = integers.scalar(0);
  Value runs = inputs[1] ? context.reshape(inputs[1], {}) : context.splat(builder.getI1Type(), 1);
  for (int64_t trip = 0;; ++trip) {
    if (inputs[0]) {
      Value trips = context.reshape(inputs[0], {}), number = integers.scalar(trip);
      runs = bothTrue(context, runs, context.compare(ComparePredicate::gt, trips, number));
    }
    if (trip == most || knownCondition(runs) == false)
      break;
    loop.ran = context.add(loop.ran, context.cast(runs, i64));
    SmallVector<Value> arguments{integers.scalar(trip), context.splat(builder.getI1Type(), 1)};
    arguments.append(loop.states.back());
    ++conditions;
    auto results = importBody(body, arguments);
    --conditions;
    if (!results)
      return propagate(results);
    if (llvm::is_contained(*results, Value()))
      return GuardedLoop(); // What it lacks is in the list.
    Value goesOn = results->front();
    if (!isTensor(goesOn) || !elementTypeOf(goesOn).isInteger(1) || elementCount(goesOn.getType()) != 1) {
      Status status = malformed(context.proto, "the condition that its body returns must be a single bool");
      return propagate(status);
    }
    runs = bothTrue(context, runs, context.reshape(goesOn, {}));
    loop.states.emplace_back(results->begin() + 1, results->begin() + 1 + static_cast<ptrdiff_t>(carried));
    loop.slabs.emplace_back(results->begin() + 1 + static_cast<ptrdiff_t>(carried), results->end());
  }
  // Where more iterations would run, as far as is known, the step fails.
  const bool isBounded = inputs[0] && intervalOf(inputs[0]).high <= most;
  if (!isBounded && knownCondition(runs) != false)
    loop.ran = checkTrips(context, context.add(loop.ran, context.cast(runs, i64)), most);
  return loop;
}

Status GraphImporter::importGuardedLoop(NodeContext &context, const ::onnx::GraphProto &body, ArrayRef<Value> inputs,
                                        int64_t most) {
  SLUICE_ASSIGN_OR_RETURN(GuardedLoop loop, runGuarded(context, body, inputs, most));
  if (!loop.ran)
    return {};
  Alternatives alternatives(context);
  SmallVector<Value> results;
  for (size_t i = 0; i + 2 < inputs.size(); ++i) {
    SmallVector<Value> after;
    for (ArrayRef<Value> state : loop.states)
      after.push_back(state[i]);
    results.push_back(alternatives.choose(loop.ran, after));
    if (results.back())
      continue;
    reportUnsupported(context.proto,
                      concat("its number of iterations is known only when the model runs, and state ", i,
                             " differs between iterations in a way that is not supported: ", alternatives.problem()));
    return {};
  }
  for (int i = static_cast<int>(results.size()); i < body.output_size() - 1; ++i) {
    SmallVector<Value> slabs;
    for (ArrayRef<Value> made : loop.slabs)
      slabs.push_back(made[i - static_cast<int>(results.size())]);
    auto isLikeFirst = [&](Value slab) { return slab.getType() == slabs.front().getType(); };
    if (slabs.empty() || !llvm::all_of(slabs, isLikeFirst)) {
      reportUnsupported(context.proto, "the values that it stacks differ in type or shape, or there are none");
      return {};
    }
    SLUICE_ASSIGN_OR_RETURN(Value stack, stackValues(context, context.proto, slabs, 0));
    loop.stacks.push_back(context.held(stack, 0, loop.ran));
  }
  results.append(loop.stacks);
  return bindOutputs(context.proto, results);
}

} // namespace sluice::onnximport
