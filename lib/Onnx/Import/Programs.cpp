//===- Programs.cpp - Control flow that runs ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The branches of an If and the bodies of a Loop and a Scan become programs of
// dataflow.if and dataflow.loop: docs/rationale/control-flow.md.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Expected<GraphImporter::Program> GraphImporter::importProgram(const ::onnx::GraphProto &graph, TypeRange types,
                                                              const ArgumentMaker &argumentsOf, Location location,
                                                              bool mayNotRun) {
  Program program;
  program.region = &regions.emplace_back();
  Block *block = new Block;
  program.region->push_back(block);
  block->addArguments(types, SmallVector<Location>(types.size(), location));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(block);
  // Indices are checked ahead of time if it runs.
  conditions += mayNotRun;
  const size_t depth = scopes.size();
  auto results = importBody(graph, argumentsOf(block->getArguments()));
  scopes.resize(depth);
  conditions -= mayNotRun;
  if (!results)
    return propagate(results);
  program.results = std::move(*results);
  return std::move(program);
}

bool GraphImporter::succeeds(function_ref<Status()> import) {
  const size_t reported = unsupported.size(), made = regions.size();
  const Status imported = import();
  if (imported && unsupported.size() == reported)
    return true;
  unsupported.resize(reported);
  for (size_t i = made; i < regions.size(); ++i)
    regions[i].dropAllReferences();
  return false;
}

static std::string describeType(Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value.getType();
  return text;
}

std::optional<SmallVector<Value>> GraphImporter::takeInputs(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  SmallVector<Value> whole;
  for (Value input : inputs) {
    const bool isBounded = input && isTensor(input) && extents.isBounded(input);
    whole.push_back(!isBounded ? input : findsHere() ? takeFound(input) : Value());
    if (isBounded && !whole.back()) {
      reportUnsupported(node, "its operand has an extent that depends on data and is known only when the model runs" +
                                  origins.describe(input, extents, nameOf(node)));
      return std::nullopt;
    }
  }
  return whole;
}

bool GraphImporter::isTensors(const ::onnx::NodeProto &node, ArrayRef<Value> results) {
  if (llvm::all_of(results, isTensor) &&
      llvm::none_of(results, [&](Value value) { return extents.isBounded(value) || ranks.vary(value); }))
    return true;
  reportUnsupported(node,
                    "its body makes a sequence, or a tensor whose extent or rank is known only when the model runs");
  return false;
}

/// The operations of a program, and the bytes that they move.
static Count workOf(Region &region) {
  Count work = 0;
  for (Operation &op : region.front())
    if (auto cost = dyn_cast<CostOpInterface>(op); cost && !isConstantExpression(op.getResult(0)))
      work += Count(cost.getFlops()) + cost.getBytesMoved();
  return work;
}

std::optional<SmallVector<Value>> GraphImporter::makeIf(const ::onnx::NodeProto &node, Value condition, Program &ifTrue,
                                                        Program &ifFalse) {
  // This takes some tens of microseconds. Beside that it costs little that the operators of branches are not fused with
  // those around them.
  constexpr int64_t kLeastWork = 1 << 18;
  auto fits = [&](const Program &program) {
    auto isOpen = [&](Value value) { return extents.isBounded(value) || ranks.vary(value); };
    // What a branch finds may be the extent of its results.
    WalkResult walked = program.region->walk([&](Operation *op) {
      return WalkResult(failure(isa<TakeFirstOp>(op) || llvm::any_of(op->getOperands(), isOpen)));
    });
    return !walked.wasInterrupted() && llvm::all_of(program.results, isTensor) &&
           llvm::none_of(program.results, isOpen);
  };
  auto isSame = [](auto pair) { return std::get<0>(pair).getType() == std::get<1>(pair).getType(); };
  if (!llvm::all_of(llvm::zip(ifTrue.results, ifFalse.results), isSame) || unrollsLoops ||
      std::max(workOf(*ifTrue.region), workOf(*ifFalse.region)) < kLeastWork || !fits(ifTrue) || !fits(ifFalse))
    return std::nullopt;
  for (Program *program : {&ifTrue, &ifFalse}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&program->region->front());
    YieldOp::create(builder, locationOf(node), ArrayRef(program->results).take_front(node.output_size()));
  }
  SmallVector<Value> captured = isolate(builder, {ifTrue.region, ifFalse.region});
  SmallVector<Type> types(ValueRange(ArrayRef(ifTrue.results).take_front(node.output_size())).getTypes());
  auto chosen = IfOp::create(builder, locationOf(node), types, condition, captured, DenseI64ArrayAttr());
  chosen.getThen().takeBody(*ifTrue.region);
  chosen.getOtherwise().takeBody(*ifFalse.region);
  return SmallVector<Value>(chosen.getResults());
}

std::optional<SmallVector<Value>> GraphImporter::makeLoop(const ::onnx::NodeProto &node, const LoopParts &parts,
                                                          Program &program) {
  onnximport::Builder build(builder, locationOf(node));
  if (!isTensors(node, program.results))
    return std::nullopt;
  for (auto [i, before] : llvm::enumerate(parts.carried))
    if (Value after = program.results[1 + i]; after.getType() != before.getType()) {
      reportUnsupported(node,
                        concat("its number of iterations is large or known only when the model runs, and its state ", i,
                               " is ", describeType(before), " before an iteration and ", describeType(after),
                               " after it: give the largest number of iterations by '--max-iterations'"));
      return std::nullopt;
    }
  SmallVector<Value> results = createLoop(build, parts, *program.region, program.results);
  if (results.empty()) {
    reportUnsupported(
        node, concat("the results that ", parts.most, " iterations stack have more elements than 64 bits can count"));
    return std::nullopt;
  }
  return results;
}

Status GraphImporter::importLoopProgram(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                        ArrayRef<Value> given, const Trips &trips, bool isChoice) {
  onnximport::Builder build(builder, locationOf(node));
  const std::optional<SmallVector<Value>> whole = takeInputs(node, given);
  if (!whole)
    return {};
  const ArrayRef<Value> inputs = *whole;
  const size_t carried = inputs.size() - 2;
  const bool stacks = static_cast<size_t>(body.output_size()) > 1 + carried;
  LoopParts parts;
  parts.carried = ValueRange(inputs.drop_front(2));
  parts.most = trips.most;
  if (stacks && parts.most == kEndless) {
    reportUnsupported(
        node, "its number of iterations is known only when the model runs, and it stacks values of iterations: " +
                  adviseBound(node, inputs));
    return {};
  }
  auto single = [](Value value, Type type) {
    return !value || (isTensor(value) && elementTypeOf(value) == type && elementCount(value.getType()) == 1);
  };
  if (!single(inputs[0], builder.getI64Type()) || !single(inputs[1], builder.getI1Type()))
    return malformed(node, "its trip count must be a single int64, and its condition a single bool");
  if (!llvm::all_of(parts.carried, [](Value value) { return value && isTensor(value); })) {
    reportUnsupported(node,
                      "its number of iterations is unknown or large, and its state does not consist of tensors: " +
                          adviseBound(node, inputs));
    return {};
  }
  parts.trips = inputs[0] ? inputs[0] : build.integers({trips.known.value_or(kEndless)});
  parts.condition = inputs[1] ? inputs[1] : build.splat(builder.getI1Type(), 1);
  SmallVector<Type> types{RankedTensorType::get({}, builder.getI64Type())};
  llvm::append_range(types, parts.carried.getTypes());
  auto argumentsOf = [&](ValueRange given) {
    SmallVector<Value> arguments{given[0], build.splat(builder.getI1Type(), 1)};
    llvm::append_range(arguments, given.drop_front());
    return arguments;
  };
  // Stacks are full if only the known number of iterations ends the loop.
  auto isTrue = [](Value value) {
    std::optional<SmallVector<int64_t>> known = value ? getIntegers(value) : std::nullopt;
    return !value || (known && known->front() != 0);
  };
  const bool runs = isTrue(inputs[1]) && trips.known.value_or(inputs[0] ? 0 : kEndless) > 0;
  SLUICE_ASSIGN_OR_RETURN(Program program,
                          importProgram(body, types, argumentsOf, locationOf(node), /*mayNotRun=*/!runs));
  if (llvm::is_contained(program.results, Value()))
    return {}; // What it lacks is in the list.
  if (!single(program.results[0], builder.getI1Type()))
    return malformed(node, "the condition that its body returns must be a single bool");
  const bool holds = trips.known && isTrue(inputs[1]) && (trips.isCounted || isTrue(program.results[0]));
  if (isChoice && stacks && !holds) {
    reportUnsupported(node,
                      "the number of slices that it stacks depends on data and is known only when the model runs");
    return {};
  }
  std::optional<SmallVector<Value>> results = makeLoop(node, parts, program);
  if (!results)
    return {};
  Value count = results->pop_back_val();
  if (!holds)
    for (size_t i = carried; i < results->size(); ++i)
      extents.set((*results)[i], 0, count);
  return bindOutputs(node, *results);
}

Expected<SmallVector<Value>> GraphImporter::scanProgram(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                                        const ScanForm &form, ArrayRef<Value> given) {
  onnximport::Builder build(builder, locationOf(node));
  const std::optional<SmallVector<Value>> whole = takeInputs(node, given);
  if (!whole)
    return SmallVector<Value>();
  const ArrayRef<Value> inputs = *whole;
  const size_t carried = form.carried;
  LoopParts parts;
  parts.carried = ValueRange(inputs.take_front(carried));
  parts.most = form.trips;
  parts.trips = build.integers({form.trips});
  parts.condition = build.splat(builder.getI1Type(), 1);
  SmallVector<Type> types{RankedTensorType::get({}, builder.getI64Type())};
  llvm::append_range(types, parts.carried.getTypes());
  auto argumentsOf = [&](ValueRange given) {
    SmallVector<Value> arguments(given.drop_front());
    for (auto [i, sequence] : llvm::enumerate(inputs.drop_front(carried))) {
      Value at = positionAt(build, given[0], form.trips, form.inputReversed[i] != 0);
      arguments.push_back(sliceAt(build, sequence, at, form.inputAxes[i]));
    }
    return arguments;
  };
  SLUICE_ASSIGN_OR_RETURN(Program program,
                          importProgram(body, types, argumentsOf, locationOf(node), /*mayNotRun=*/form.trips < 1));
  if (llvm::is_contained(program.results, Value()))
    return SmallVector<Value>(); // What it lacks is in the list.
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&program.region->front());
    program.results.insert(program.results.begin(), build.splat(builder.getI1Type(), 1));
  }
  std::optional<SmallVector<Value>> results = makeLoop(node, parts, program);
  if (!results)
    return SmallVector<Value>();
  results->pop_back();
  for (size_t i = carried; i < results->size(); ++i) {
    Value &stack = (*results)[i];
    const int64_t rank = rankOf(stack),
                  axis = form.outputAxes[i - carried] + (form.outputAxes[i - carried] < 0 ? rank : 0);
    if (axis < 0 || axis >= rank) {
      Status status = malformed(node, "the axis along which it stacks is out of range");
      return propagate(status);
    }
    if (form.outputReversed[i - carried])
      stack = turned(build, stack);
    Dims order = trailingAxes(1, rank);
    order.insert(order.begin() + axis, 0);
    if (axis != 0)
      stack = build.transpose(stack, order);
  }
  return std::move(*results);
}

} // namespace sluice::onnximport
