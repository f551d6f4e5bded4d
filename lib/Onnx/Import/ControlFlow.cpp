//===- ControlFlow.cpp - If, Loop, Scan -----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Alternatives.h"
#include "CountedLoops.h"
#include "GraphImporter.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

const ::onnx::GraphProto *GraphImporter::subgraph(const ::onnx::NodeProto &node, StringRef name) {
  for (const ::onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name && attribute.has_g())
      return &attribute.g();
  return nullptr;
}

Expected<SmallVector<Value>> GraphImporter::importBody(const ::onnx::GraphProto &body, ArrayRef<Value> arguments) {
  scopes.emplace_back();
  for (auto [input, argument] : llvm::zip(body.input(), arguments))
    scopes.back().values[input.name()] = argument;
  SLUICE_RETURN_IF_ERROR(importNodes(body));
  SmallVector<Value> results;
  for (const ::onnx::ValueInfoProto &output : body.output()) {
    SLUICE_ASSIGN_OR_RETURN(Value value, lookup(output.name()));
    results.push_back(value);
  }
  scopes.pop_back();
  unrolledNodes += body.node_size();
  return results;
}

Status GraphImporter::malformed(const ::onnx::NodeProto &node, StringRef reason, StringRef advice) {
  return makeError(ErrorCode::InvalidInput, "node ", describe(node), " of model '", model.path(),
                   "' cannot be imported: ", reason.str(), advice.empty() ? "" : ", ", advice.str());
}

Status GraphImporter::bindOutputs(const ::onnx::NodeProto &node, ArrayRef<Value> results) {
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      scopes.back().values[node.output(i)] = results[i];
  return {};
}

Status GraphImporter::importIf(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  const ::onnx::GraphProto *thenBranch = subgraph(node, "then_branch"), *elseBranch = subgraph(node, "else_branch");
  if (inputs.size() != 1 || !inputs[0] || !isTensor(inputs[0]) || elementCount(inputs[0].getType()) != 1 ||
      !thenBranch || !elseBranch || thenBranch->output_size() < node.output_size() ||
      elseBranch->output_size() < node.output_size())
    return malformed(node,
                     "its condition must be a single value, and each branch must have as many outputs as the node");
  if (std::optional<SmallVector<int64_t>> known = getIntegers(inputs[0])) {
    SLUICE_ASSIGN_OR_RETURN(SmallVector<Value> results, importBody(known->front() ? *thenBranch : *elseBranch, {}));
    return bindOutputs(node, results);
  }
  // What a branch asks of indices does not matter where it is not chosen.
  auto noArguments = [](ValueRange) { return SmallVector<Value>(); };
  auto ifTrue = importProgram(*thenBranch, {}, noArguments, locationOf(node), /*mayNotRun=*/true);
  auto ifFalse = ifTrue ? importProgram(*elseBranch, {}, noArguments, locationOf(node), /*mayNotRun=*/true)
                        : Expected<Program>(propagate(ifTrue));
  if (!ifFalse) {
    reportUnsupported(
        node, concat("its condition is not known before the model runs, and one of its branches cannot be imported: ",
                     ifFalse.error().message));
    return {};
  }
  for (int i = 0; i < node.output_size(); ++i) {
    Value one = ifTrue->results[i], other = ifFalse->results[i];
    if (!one || !other)
      return {}; // What it lacks is in the list.
  }
  onnximport::Builder build(builder, locationOf(node));
  Value condition = build.reshape(inputs[0], {});
  if (std::optional<SmallVector<Value>> results = makeIf(node, condition, *ifTrue, *ifFalse))
    return bindOutputs(node, *results);
  // Operators have no effects: both run, and the condition chooses.
  for (Program *program : {&*ifTrue, &*ifFalse})
    builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(),
                                                        program->region->front().getOperations());
  NodeContext context = contextOf(node, inputs);
  Alternatives alternatives(context);
  SmallVector<Value> results;
  for (int i = 0; i < node.output_size(); ++i) {
    results.push_back(alternatives.choose(condition, ifTrue->results[i], ifFalse->results[i]));
    if (results.back())
      continue;
    reportUnsupported(node, concat("its condition is not known before the model runs, and result ", i,
                                   " differs between the two branches: ", alternatives.problem()));
    return {};
  }
  return bindOutputs(node, results);
}

SmallVector<Value> GraphImporter::countInputs(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                              ArrayRef<Value> inputs, Trips &trips) {
  SmallVector<Value> counted(inputs);
  auto outside = [&](const std::string &name) {
    Expected<Value> value = lookup(name);
    return value ? *value : Value();
  };
  NodeContext context = contextOf(node, inputs);
  const CountedTrips found = countTrips(context, body, inputs, outside);
  const Value most = !inputs[0] || !found.trips
                         ? found.trips
                         : context.binary(BinaryKind::min, context.reshape(inputs[0], {}), found.trips);
  if (!most)
    return counted;
  trips.isCounted = found.isExact && (!inputs[0] || getIntegers(inputs[0]));
  counted[0] = most;
  return counted;
}

Status GraphImporter::importLoop(const ::onnx::NodeProto &node, ArrayRef<Value> given) {
  const ::onnx::GraphProto *body = subgraph(node, "body");
  if (!body || given.size() < 2 || body->input_size() != static_cast<int>(given.size()))
    return malformed(node, "its body must have as many inputs as the node");
  size_t carried = given.size() - 2;
  int stacked = body->output_size() - 1 - static_cast<int>(carried);
  if (stacked < 0 || node.output_size() > body->output_size() - 1)
    return malformed(
        node,
        "its body must return a condition and a value for each loop-carried input and for each output of the node");
  auto known = [](Value value) -> std::optional<int64_t> {
    std::optional<SmallVector<int64_t>> values = value ? getIntegers(value) : std::nullopt;
    return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
  };
  if ((given[0] && !isTensor(given[0])) || (given[1] && !isTensor(given[1])))
    return malformed(node, "its trip count or its condition is a sequence instead of a tensor");
  Trips count;
  const SmallVector<Value> inputs = countInputs(node, *body, given, count);
  std::optional<int64_t> trips = inputs[0] ? known(inputs[0]) : std::optional(INT64_MAX);
  std::optional<int64_t> goesOn = inputs[1] ? known(inputs[1]) : std::optional<int64_t>(1);
  if (inputs[0] && trips && goesOn && !unrolls(*body, *trips)) {
    count.known = trips;
    count.most = mostTrips(node, inputs, trips);
    if (succeeds([&] { return importLoopProgram(node, *body, inputs, count, /*isChoice=*/true); }))
      return {};
  }
  onnximport::Builder build(builder, locationOf(node));
  SmallVector<Value> state(given.drop_front(2));
  std::vector<SmallVector<Value>> stacks(stacked);
  for (int64_t trip = 0; !trips || trip < *trips; ++trip) {
    const bool isTried = inputs[0] || unrollsLoops || Count(trip) * body->node_size() <= kMostTriedNodes;
    if (!trips || !goesOn || unrolledNodes > kMostUnrolledNodes || !isTried)
      return importOpenLoop(node, *body, inputs, Trips{inputs[0] ? trips : std::nullopt, count.isCounted});
    if (!*goesOn)
      break;
    SmallVector<Value> arguments{build.reshape(build.integers({trip}), {}), build.splat(builder.getI1Type(), 1)};
    arguments.append(state);
    SLUICE_ASSIGN_OR_RETURN(SmallVector<Value> results, importBody(*body, arguments));
    if (llvm::is_contained(ArrayRef(results).drop_front(), Value()))
      return {}; // What it lacks is in the list.
    goesOn = known(results.front());
    state.assign(results.begin() + 1, results.begin() + 1 + carried);
    for (int i = 0; i < stacked; ++i)
      stacks[i].push_back(results[1 + carried + i]);
    ++unrolledNodes; // An empty body ends too.
    // The program has a growing sequence once for each iteration.
    constexpr int64_t kElementsOfNode = 64;
    for (Value value : state)
      unrolledNodes += isList(value) ? static_cast<int64_t>(elementsOf(value).size()) / kElementsOfNode : 0;
  }
  for (SmallVector<Value> &stack : stacks) {
    if (stack.empty()) {
      reportUnsupported(node, "it stacks the values of its iterations, and it has no iteration");
      return {};
    }
    SLUICE_ASSIGN_OR_RETURN(Value value, stackValues(build, node, stack, 0));
    state.push_back(value);
  }
  return bindOutputs(node, state);
}

bool GraphImporter::unrolls(const ::onnx::GraphProto &body, int64_t trips) {
  nextPart();
  const onnximport::Builder build(builder, builder.getUnknownLoc());
  return build.decide(unrollsLoops || Count(trips) * std::max(body.node_size(), 1) <= kMostLoopNodes);
}

Expected<Value> GraphImporter::stackValues(onnximport::Builder &build, const ::onnx::NodeProto &node,
                                           ArrayRef<Value> values, int64_t axis) {
  if (!llvm::all_of(values, isTensor)) {
    Status status = malformed(node, "it stacks sequences");
    return propagate(status);
  }
  int64_t rank = rankOf(values.front()) + 1;
  SmallVector<Value> slabs;
  for (Value value : values) {
    Dims dims(shapeOf(value));
    if (rankOf(value) != rank - 1 || axis < -rank || axis >= rank) {
      Status status = malformed(node, "the values that it stacks differ in rank, or the axis is out of range");
      return propagate(status);
    }
    dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), 1);
    slabs.push_back(build.reshape(value, dims));
  }
  Value stacked = build.concat(slabs, axis < 0 ? axis + rank : axis);
  if (!stacked) {
    Status status = malformed(node, build.message());
    return propagate(status);
  }
  return stacked;
}

Expected<SmallVector<Value>> GraphImporter::scan(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  const ::onnx::GraphProto *body = subgraph(node, "body");
  NodeContext context(builder, locationOf(node), model, node, opsetOf(node), inputs);
  auto wrong = [&](StringRef reason) {
    Status status = malformed(node, reason);
    return propagate(status);
  };
  int64_t scanned = context.integerOr("num_scan_inputs", 0), carried = static_cast<int64_t>(inputs.size()) - scanned;
  if (!body || scanned < 1 || carried < 0 || body->input_size() != static_cast<int>(inputs.size()) ||
      body->output_size() < carried || body->output_size() < node.output_size() ||
      llvm::is_contained(inputs, Value()) || !llvm::all_of(inputs, isTensor))
    return wrong("its body must have as many inputs and outputs as the node, which must all be tensors");
  size_t stacked = body->output_size() - carried;
  Dims inputAxes = context.integersAt("scan_input_axes").value_or(Dims(scanned, 0));
  Dims outputAxes = context.integersAt("scan_output_axes").value_or(Dims(stacked, 0));
  Dims inputReversed =
      context.integersAt(context.opset < 9 ? "directions" : "scan_input_directions").value_or(Dims(scanned, 0));
  Dims outputReversed = context.integersAt("scan_output_directions").value_or(Dims(stacked, 0));
  if (!context.mistyped.empty())
    return wrong(context.mistyped);
  if (inputAxes.size() != static_cast<size_t>(scanned) || inputReversed.size() != static_cast<size_t>(scanned) ||
      outputAxes.size() != stacked || outputReversed.size() != stacked)
    return wrong("its lists of axes and directions must have one entry for each scanned input or output");
  ScanForm form{0, static_cast<size_t>(carried), inputAxes, outputAxes, inputReversed, outputReversed};
  for (int64_t i = 0; i < scanned; ++i) {
    Value sequence = inputs[carried + i];
    int64_t rank = rankOf(sequence);
    if (inputAxes[i] < -rank || inputAxes[i] >= rank)
      return wrong("the axis of a scanned input is out of range");
    form.inputAxes[i] += inputAxes[i] < 0 ? rank : 0;
    int64_t extent = shapeOf(sequence)[form.inputAxes[i]];
    if (i > 0 && extent != form.trips)
      return wrong("its scanned inputs differ in length");
    form.trips = extent;
  }
  SmallVector<Value> results;
  auto asProgram = [&]() -> Status {
    SLUICE_ASSIGN_OR_RETURN(results, scanProgram(node, *body, form, inputs));
    return {};
  };
  if (!unrolls(*body, form.trips) && succeeds(asProgram))
    return results;
  return scanUnrolled(node, *body, form, inputs);
}

Expected<SmallVector<Value>> GraphImporter::scanUnrolled(const ::onnx::NodeProto &node, const ::onnx::GraphProto &body,
                                                         const ScanForm &form, ArrayRef<Value> inputs) {
  onnximport::Builder build(builder, locationOf(node));
  const size_t carried = form.carried;
  SmallVector<Value> state(inputs.take_front(carried));
  std::vector<SmallVector<Value>> stacks(form.outputAxes.size());
  for (int64_t trip = 0; trip < form.trips; ++trip) {
    if (++unrolledNodes > kMostUnrolledNodes) {
      reportUnsupported(node, concat("its unrolled iterations have more than ", kMostUnrolledNodes, " nodes"));
      return SmallVector<Value>();
    }
    SmallVector<Value> arguments(state);
    for (auto [i, sequence] : llvm::enumerate(inputs.drop_front(carried))) {
      Dims dims(shapeOf(sequence));
      dims.erase(dims.begin() + form.inputAxes[i]);
      int64_t at = form.inputReversed[i] ? form.trips - 1 - trip : trip;
      arguments.push_back(build.reshape(build.sliceAxis(sequence, form.inputAxes[i], at, 1), dims));
    }
    SLUICE_ASSIGN_OR_RETURN(SmallVector<Value> results, importBody(body, arguments));
    if (llvm::is_contained(results, Value()))
      return SmallVector<Value>(); // What it lacks is in the list.
    state.assign(results.begin(), results.begin() + carried);
    for (size_t i = 0; i < stacks.size(); ++i)
      stacks[i].insert(form.outputReversed[i] ? stacks[i].begin() : stacks[i].end(), results[carried + i]);
  }
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].empty()) {
      reportUnsupported(node, "its scanned inputs are empty");
      return SmallVector<Value>();
    }
    SLUICE_ASSIGN_OR_RETURN(Value value, stackValues(build, node, stacks[i], form.outputAxes[i]));
    state.push_back(value);
  }
  return state;
}

Status GraphImporter::importScan(const ::onnx::NodeProto &node, ArrayRef<Value> inputs) {
  if (opsetOf(node) >= 9) {
    SLUICE_ASSIGN_OR_RETURN(SmallVector<Value> results, scan(node, inputs));
    return results.empty() ? Status() : bindOutputs(node, results);
  }
  // The first version scans each member of a batch by itself, up to lengths that come first.
  if (inputs.size() < 2 || llvm::is_contained(inputs.drop_front(), Value()) ||
      !llvm::all_of(inputs.drop_front(), [](Value value) { return isTensor(value) && rankOf(value) > 0; }))
    return malformed(node, "its operands have no batch dimension");
  onnximport::Builder build(builder, locationOf(node));
  int64_t batch = shapeOf(inputs[1])[0];
  if (inputs[0] || batch < 1 ||
      llvm::any_of(inputs.drop_front(), [&](Value value) { return shapeOf(value)[0] != batch; })) {
    reportUnsupported(
        node, "its operands differ in batch size, their batch is empty, or it has lengths of sequences (operand 0)");
    return {};
  }
  std::vector<SmallVector<Value>> columns;
  for (int64_t member = 0; member < batch; ++member) {
    SmallVector<Value> operands;
    for (Value input : inputs.drop_front())
      operands.push_back(build.reshape(build.sliceAxis(input, 0, member, 1), shapeOf(input).drop_front()));
    SLUICE_ASSIGN_OR_RETURN(SmallVector<Value> results, scan(node, operands));
    if (results.empty())
      return {};
    columns.resize(results.size());
    for (auto [column, value] : llvm::zip(columns, results))
      column.push_back(value);
  }
  SmallVector<Value> stacked;
  for (ArrayRef<Value> column : columns) {
    SLUICE_ASSIGN_OR_RETURN(Value value, stackValues(build, node, column, 0));
    stacked.push_back(value);
  }
  return bindOutputs(node, stacked);
}

} // namespace sluice::onnximport
