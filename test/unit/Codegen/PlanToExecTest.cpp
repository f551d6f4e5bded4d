//===- PlanToExecTest.cpp - Plans as programs -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include "passes/Bridge/PlanToExec.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t kCount = 64, kBytes = 256;

/// y = (x + w)^2 + h; h' = h + x, on an accelerator that keeps w and h... or
/// whatever the plan says.
struct Model {
  Graph graph;
  Machine machine;
  Plan plan;
  ExecBinding binding;
  TensorId x, w, h, t, y, newH;
  ResidencyId homeX, homeY, homeH, homeNewH;

  explicit Model(MLIRContext &context) {
    auto tensor = [&](const char *name, TensorKind kind) {
      Tensor data;
      data.name = name;
      data.kind = kind;
      data.bytes = kBytes;
      return graph.addTensor(data);
    };
    x = tensor("x", TensorKind::Input);
    w = tensor("w", TensorKind::Parameter);
    h = tensor("h", TensorKind::State);
    t = tensor("t", TensorKind::Activation);
    y = tensor("y", TensorKind::Activation);
    newH = tensor("h_new", TensorKind::Activation);
    graph.mutableTensor(y).isOutput = true;
    graph.setUpdates(newH, h);
    addOperator("first", {x, w}, t);
    addOperator("second", {t, h}, y);
    addOperator("third", {h, x}, newH);

    machine.name = "test";
    machine.memories = {{"host"}, {"accel0", 4096}};
    Device accelerator;
    accelerator.name = "accel0";
    accelerator.kind = DeviceKind::Emulated;
    accelerator.memory = MemoryId(1);
    machine.devices = {accelerator};
    Link link;
    link.a = MemoryId(0);
    link.b = MemoryId(1);
    machine.links = {link};

    plan.placement.assign(3, DeviceId(0));
    plan.streams = {
        {DeviceId(0), StreamKind::Compute}, {DeviceId(0), StreamKind::SwapIn}, {DeviceId(0), StreamKind::SwapOut}};
    plan.arenaBytes = {0, 1536};

    auto type = RankedTensorType::get({kCount}, Float32Type::get(&context));
    binding.name = "model";
    binding.kernels = {"add", "square_sum", "add"};
    binding.homeOffsets.assign(graph.numTensors(), 0);
    binding.parameterBytes = binding.stateBytes = kBytes;
    binding.states = {{h, "h", type}};
    binding.inputs = {{x, "x", type}};
    binding.outputs = {{y, "y", type}};

    ResidencyId onDeviceX = arena(x, 0), onDeviceW = arena(w, 256, true), onDeviceH = arena(h, 512),
                onDeviceT = arena(t, 768), onDeviceY = arena(y, 1024), onDeviceNewH = arena(newH, 1280);
    homeX = home(x, true);
    homeH = home(h, true);
    homeY = home(y, false);
    homeNewH = home(newH, false);
    CommandId swapX = copy(homeX, onDeviceX, 1, {});
    CommandId swapH = copy(homeH, onDeviceH, 1, {});
    launch(0, {onDeviceX, onDeviceW}, onDeviceT, {swapX});
    CommandId second = launch(1, {onDeviceT, onDeviceH}, onDeviceY, {swapH});
    CommandId third = launch(2, {onDeviceH, onDeviceX}, onDeviceNewH, {});
    copy(onDeviceY, homeY, 2, {second});
    copy(onDeviceNewH, homeNewH, 2, {third});
  }

  void addOperator(const char *name, std::vector<TensorId> inputs, TensorId output) {
    Operator op;
    op.name = name;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    graph.addOperator(op);
  }
  ResidencyId arena(TensorId tensor, int64_t offset, bool initial = false) {
    plan.residencies.push_back({tensor, MemoryId(1), Segment::Arena, offset, kBytes, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  ResidencyId home(TensorId tensor, bool initial) {
    plan.residencies.push_back({tensor, MemoryId(0), Segment::Home, 0, kBytes, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  CommandId launch(int op, std::vector<ResidencyId> reads, ResidencyId write, std::vector<CommandId> waits) {
    plan.commands.push_back(
        {CommandKind::Launch, StreamId(0), OperatorId(op), LinkId(), std::move(reads), {write}, std::move(waits)});
    return CommandId(plan.commands.size() - 1);
  }
  CommandId copy(ResidencyId from, ResidencyId to, int stream, std::vector<CommandId> waits) {
    plan.commands.push_back(
        {CommandKind::Copy, StreamId(stream), OperatorId(), LinkId(0), {from}, {to}, std::move(waits)});
    return CommandId(plan.commands.size() - 1);
  }
};

std::string kernels() {
  return elementwiseKernel("add", "vector<16xf32>", kCount, "%r = arith.addf %a, %b : vector<16xf32>") +
         elementwiseKernel("square_sum", "f32", kCount, "%s = arith.mulf %a, %a : f32\n %r = arith.addf %s, %b : f32");
}

Expected<exec::ProgramOp> build(ModuleOp module, const Model &model) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  return buildExecProgram(builder, model.machine, {{&model.graph, &model.plan}}, model.binding);
}

} // namespace

TEST_CASE("a plan becomes a program that runs, with state kept between steps", "[codegen][bridge]") {
  auto context = makeContext();
  context->loadAllAvailableDialects();
  Model model(*context);
  Status valid = validatePlan(model.graph, model.machine, model.plan);
  if (!valid)
    FAIL(valid.error().message);
  auto module = parse(*context, kernels());
  auto program = build(*module, model);
  if (!program)
    FAIL(program.error().message);
  CHECK(program->getStateBytes() == kBytes);
  REQUIRE(program->getInit(program->getStep()));

  TemporaryDirectory directory;
  std::vector<float> w(kCount, 2.0f), x(kCount);
  compileTo(directory.path, *module, w);
  Session session(directory.path);
  float h = 0;
  for (int step = 1; step <= 3; ++step) {
    for (int64_t i = 0; i < kCount; ++i)
      x[i] = static_cast<float>(step);
    std::vector<float> y = session.run(x, kCount);
    float sum = static_cast<float>(step) + 2.0f;
    for (int64_t i = 0; i < kCount; ++i)
      CHECK(y[i] == sum * sum + h);
    h += static_cast<float>(step);
  }
}

TEST_CASE("a state stays on its device, where callers read and write it", "[codegen][bridge]") {
  auto context = makeContext();
  context->loadAllAvailableDialects();
  Model model(*context);
  // The same plan without copies of h: its new value is in its place when a step ends.
  model.graph.mutableOp(OperatorId(2)).inPlace = {{0, 0}};
  Plan &plan = model.plan;
  const ResidencyId x(0u), w(1u), h(2u), t(3u), y(4u), newH(5u);
  plan.residencies[h.index()].initial = true;
  plan.residencies[newH.index()].offset = plan.residencies[h.index()].offset;
  plan.residencies[model.homeY.index()].initial = false;
  plan.residencies.erase(plan.residencies.begin() + model.homeNewH.index());
  plan.residencies.erase(plan.residencies.begin() + model.homeH.index());
  const ResidencyId homeY(model.homeY.index() - 1);
  plan.commands.clear();
  const CommandId swapX = model.copy(model.homeX, x, 1, {});
  model.launch(0, {x, w}, t, {swapX});
  const CommandId second = model.launch(1, {t, h}, y, {});
  model.launch(2, {h, x}, newH, {});
  model.copy(y, homeY, 2, {second});
  Status valid = validatePlan(model.graph, model.machine, plan);
  if (!valid)
    FAIL(valid.error().message);
  auto module = parse(*context, kernels());
  auto program = build(*module, model);
  if (!program)
    FAIL(program.error().message);
  auto init = program->getInit(program->getStep());
  REQUIRE(init);
  CHECK(llvm::range_size(init.getBody().getOps<exec::SwapInOp>()) == 2);
  CHECK(llvm::range_size(program->getStep().getBody().getOps<exec::SwapInOp>()) == 1);

  TemporaryDirectory directory;
  std::vector<float> weight(kCount, 2.0f), input(kCount, 3.0f);
  compileTo(directory.path, *module, weight);
  Session session(directory.path);
  auto read = [&] {
    std::vector<float> values(kCount, -1.0f);
    REQUIRE(sluice_read_state(session.session, 0, values.data(), kBytes) == 0);
    CHECK(std::equal(values.begin() + 1, values.end(), values.begin()));
    return values[0];
  };
  CHECK(read() == 0);
  CHECK(session.run(input, kCount)[0] == 25);
  CHECK(session.run(input, kCount)[kCount - 1] == 28);
  CHECK(read() == 6);
  const std::vector<float> written(kCount, 100.0f);
  REQUIRE(sluice_write_state(session.session, 0, written.data(), kBytes) == 0);
  CHECK(session.run(input, kCount)[0] == 125);
  CHECK(read() == 103);
}

TEST_CASE("the new value of a state waits for the readers of the old one", "[codegen][bridge]") {
  auto context = makeContext();
  context->loadAllAvailableDialects();
  Model model(*context);
  // A copy of h issued just before h' is written home, unordered in the plan.
  ResidencyId again = model.arena(model.h, 0);
  model.plan.residencies[again.index()].offset = 1024;
  model.plan.arenaBytes[1] = 2048;
  model.plan.residencies[again.index()].offset = 1536;
  CommandId last(model.plan.commands.size() - 1);
  Command write = model.plan.commands.back();
  model.plan.commands.pop_back();
  CommandId reader = model.copy(model.homeH, again, 1, {});
  model.plan.commands.push_back(write);
  CHECK(reader == last);
  auto module = parse(*context, kernels());
  auto program = build(*module, model);
  if (!program)
    FAIL(program.error().message);
  auto writes = llvm::to_vector(program->getStep().getBody().getOps<exec::SwapOutOp>());
  REQUIRE(writes.size() == 2);
  CHECK(writes[1].getWaits().size() == 3);
}

TEST_CASE("what a program cannot say is an error that names the tensor", "[codegen][bridge]") {
  auto context = makeContext();
  context->loadAllAvailableDialects();
  Model model(*context);
  auto module = parse(*context, kernels());
  auto failsWith = [&](const std::string &text) {
    auto program = build(*module, model);
    REQUIRE(!program);
    CHECK_THAT(program.error().message, Catch::Contains(text));
    CHECK(module->getOps<exec::ProgramOp>().empty());
  };
  SECTION("an output that is an input") {
    model.binding.outputs[0].tensor = model.x;
    failsWith("'x' is more than one of input, output and state");
  }
  SECTION("a state that grows") {
    model.graph.mutableTensor(model.newH).bytes = 512;
    failsWith("state 'h' changes its size");
  }
  SECTION("a parameter kept in the host's arena") {
    model.plan.arenaBytes[0] = 256;
    model.plan.residencies[1].memory = MemoryId(0);
    failsWith("'w' is in the arena of memory 'host' between steps");
  }
  SECTION("a plan that forgets a wait") {
    model.plan.commands[2].waits.clear();
    failsWith("C7");
  }
  SECTION("a plan that never writes an output") {
    model.plan.commands.erase(model.plan.commands.begin() + 5);
    failsWith("C13");
  }
}
