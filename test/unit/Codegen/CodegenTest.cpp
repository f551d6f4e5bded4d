//===- CodegenTest.cpp - Programs compiled and run --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Support/Json.h"

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t kCount = 64;

std::string kernels() {
  return elementwiseKernel("add", "vector<16xf32>", kCount, "%r = arith.addf %a, %b : vector<16xf32>") +
         elementwiseKernel("square_sum", "f32", kCount, "%s = arith.mulf %a, %a : f32\n %r = arith.addf %s, %b : f32");
}

/// y = (x + w)^2 + w, all on the host.
const char *kHostProgram = R"(
exec.program @host_model parameters 256 state 0 {
  exec.memory @host arena 256
  exec.device @cpu cpu in @host threads 2 speed 1.0
  exec.stream @cpu.compute compute of @cpu
  exec.input "x" : tensor<4x16xf32>
  exec.output "y" : tensor<64xf32>
  exec.step {
    %x = exec.home input 0 bytes 256 tensor "x"
    %w = exec.home parameter 0 bytes 256 tensor "w"
    %y = exec.home output 0 bytes 256 tensor "y"
    %t = exec.slot @host at 0 bytes 256 tensor "t"
    %e0 = exec.launch @add "first" reads(%x, %w) writes(%t) on @cpu.compute
    %e1 = exec.launch @square_sum "second" reads(%t, %w) writes(%y) on @cpu.compute
  }
}
)";

/// The same on an accelerator that keeps w, with x's place reused for y.
const char *kDeviceProgram = R"(
exec.program @device_model parameters 256 state 0 {
  exec.memory @host
  exec.memory @accel0 arena 768 capacity 1024
  exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 0
  exec.stream @accel0.compute compute of @accel0.device
  exec.stream @accel0.in in of @accel0.device
  exec.stream @accel0.out out of @accel0.device
  exec.input "x" : tensor<4x16xf32>
  exec.output "y" : tensor<64xf32>
  exec.init {
    %w = exec.home parameter 0 bytes 256 tensor "w"
    %w_0 = exec.slot @accel0 at 256 bytes 256 tensor "w"
    %e = exec.swap_in %w to %w_0 bytes 256 via @bus on @accel0.in
  }
  exec.step {
    %w = exec.slot @accel0 at 256 bytes 256 tensor "w" resident
    %x = exec.home input 0 bytes 256 tensor "x"
    %y = exec.home output 0 bytes 256 tensor "y"
    %x_0 = exec.slot @accel0 at 0 bytes 256 tensor "x"
    %t = exec.slot @accel0 at 512 bytes 256 tensor "t"
    %y_0 = exec.slot @accel0 at 0 bytes 256 tensor "y"
    %e0 = exec.swap_in %x to %x_0 bytes 256 via @bus on @accel0.in
    %e1 = exec.launch @add "first" reads(%x_0, %w) writes(%t) on @accel0.compute wait(%e0)
    %e2 = exec.launch @square_sum "second" reads(%t, %w) writes(%y_0) on @accel0.compute
    %e3 = exec.swap_out %y_0 to %y bytes 256 via @bus on @accel0.out wait(%e2)
  }
}
)";

std::vector<float> ramp(float scale) {
  std::vector<float> values(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    values[i] = scale * static_cast<float>(i - 20);
  return values;
}

void checkNumbers(Session &session) {
  std::vector<float> w = ramp(0.5f);
  for (float scale : {1.0f, -3.0f}) {
    std::vector<float> x = ramp(scale), y = session.run(x, kCount);
    for (int64_t i = 0; i < kCount; ++i)
      CHECK(y[i] == Approx((x[i] + w[i]) * (x[i] + w[i]) + w[i]));
  }
}

} // namespace

TEST_CASE("a program compiled for the host computes its model", "[codegen]") {
  auto context = makeContext();
  TemporaryDirectory directory;
  auto module = parse(*context, kernels() + kHostProgram);
  compileTo(directory.path, *module, ramp(0.5f));
  Session session(directory.path);

  const sluice_model *model = sluice_describe(session.session);
  CHECK(model->size == sizeof(sluice_model));
  CHECK(model->abi_major == SLUICE_ABI_MAJOR);
  CHECK(std::string(model->name) == "host_model");
  CHECK(model->parameter_bytes == 256);
  CHECK(std::string(model->parameter_hash).size() == 64);
  REQUIRE(model->num_inputs == 1);
  CHECK(model->inputs[0].size == sizeof(sluice_tensor_desc));
  CHECK(std::string(model->inputs[0].name) == "x");
  CHECK(model->inputs[0].element_type == 1);
  REQUIRE(model->inputs[0].rank == 2);
  CHECK(model->inputs[0].shape[0] == 4);
  CHECK(model->inputs[0].shape[1] == 16);
  CHECK(model->inputs[0].bytes == 256);
  REQUIRE(model->num_outputs == 1);
  CHECK(model->outputs[0].rank == 1);
  REQUIRE(model->num_ops == 2);
  CHECK(std::string(model->op_names[0]) == "first");
  CHECK(std::string(model->op_names[1]) == "second");
  CHECK(model->num_commands == 2);
  CHECK(model->init == nullptr);
  CHECK(model->planned_bytes_in == 0);
  checkNumbers(session);

  auto header = readFile(directory.path + "/model.h");
  REQUIRE(header);
  CHECK_THAT(*header, Catch::Contains("/* \"x\": f32[4,16] */\n#define SLUICE_HOST_MODEL_INPUT_X 0\n"));

  void *library = dlopen((directory.path + "/model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  CHECK(dlsym(library, "sluice_model_get"));
  for (const char *hidden : {"add", "square_sum", "sluice.step", "sluice.model"})
    CHECK(!dlsym(library, hidden));
  dlclose(library);
}

TEST_CASE("a program compiled for an accelerator computes its model and moves what was planned", "[codegen]") {
  auto context = makeContext();
  TemporaryDirectory directory;
  auto module = parse(*context, kernels() + kDeviceProgram);
  compileTo(directory.path, *module, ramp(0.5f));
  Session session(directory.path);

  const sluice_model *model = sluice_describe(session.session);
  REQUIRE(model->num_memories == 2);
  CHECK(std::string(model->memories[1].name) == "accel0");
  CHECK(model->memories[1].arena_bytes == 768);
  CHECK(model->memories[1].capacity_bytes == 1024);
  CHECK(model->memories[0].capacity_bytes == INT64_MAX);
  REQUIRE(model->num_devices == 1);
  CHECK(model->devices[0].kind == SLUICE_DEVICE_EMULATED);
  CHECK(model->devices[0].memory == 1);
  CHECK(model->devices[0].speed == 1.0);
  REQUIRE(model->num_links == 1);
  CHECK(model->links[0].memory_b == 1);
  CHECK(model->links[0].duplex_bytes_per_sec == 2.0e10);
  REQUIRE(model->num_streams == 3);
  CHECK(model->streams[2].kind == SLUICE_STREAM_OUT);
  CHECK(model->planned_bytes_in == 256);
  CHECK(model->planned_bytes_out == 256);
  checkNumbers(session);

  sluice_stats stats{};
  stats.size = sizeof(stats);
  sluice_get_stats(session.session, &stats);
  CHECK(stats.bytes_in == model->planned_bytes_in);
  CHECK(stats.bytes_out == model->planned_bytes_out);
  CHECK(stats.init_bytes_in == 256);
}

TEST_CASE("compiling is reproducible to the bit, on any number of threads", "[codegen]") {
  std::string first;
  for (unsigned threads : {1u, 2u, 3u}) {
    auto context = makeContext();
    TemporaryDirectory directory;
    auto module = parse(*context, kernels() + kDeviceProgram);
    EmissionParams params;
    params.parts = 3;
    params.threads = threads;
    compileTo(directory.path, *module, ramp(0.5f), params);
    auto library = readFile(directory.path + "/model.so");
    REQUIRE(library);
    if (first.empty())
      first = *library;
    CHECK(*library == first);
    Session session(directory.path);
    checkNumbers(session);
  }
}

TEST_CASE("long programs are cut into several functions and run whole", "[codegen]") {
  // 2 x 300 launches on two homes by turns: y = x + 600 w.
  std::string program = R"(
exec.program @long parameters 256 state 0 {
  exec.memory @host arena 1024
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @s compute of @cpu
  exec.input "x" : tensor<64xf32>
  exec.output "y" : tensor<64xf32>
  exec.step {
    %w = exec.home parameter 0 bytes 256 tensor "w"
    %t0 = exec.home input 0 bytes 256 tensor "x"
)";
  constexpr int kLaunches = 600;
  for (int i = 1; i <= kLaunches; ++i) {
    std::string n = std::to_string(i);
    program +=
        "%t" + n + " = " +
        (i == kLaunches ? "exec.home output 0 bytes 256 tensor \"y\"\n"
                        : "exec.slot @host at " + std::to_string(i % 2 * 256) + " bytes 256 tensor \"t" + n + "\"\n");
    program += "%e" + n + " = exec.launch @add \"op" + n + "\" reads(%t" + std::to_string(i - 1) + ", %w) writes(%t" +
               n + ") on @s\n";
  }
  program += "}\n}\n";
  auto context = makeContext();
  TemporaryDirectory directory;
  auto module = parse(*context, kernels() + program);
  compileTo(directory.path, *module, std::vector<float>(kCount, 1.0f));
  Session session(directory.path);
  const sluice_model *model = sluice_describe(session.session);
  REQUIRE(model->num_ops == kLaunches);
  for (int i = 0; i < kLaunches; ++i)
    CHECK(std::string(model->op_names[i]) == "op" + std::to_string(i + 1));
  std::vector<float> y = session.run(ramp(1.0f), kCount);
  for (int64_t i = 0; i < kCount; ++i)
    CHECK(y[i] == static_cast<float>(i - 20) + kLaunches);
}

TEST_CASE("a kernel's parallel loop runs on the runtime's pool", "[codegen]") {
  // Chunks of 16 of 64 elements, each adding element by element.
  std::string kernel = R"(
func.func private @chunk(%args: !llvm.ptr, %begin: i64, %end: i64) {
  %pa = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %pr = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %lower = arith.index_cast %begin : i64 to index
  %upper = arith.index_cast %end : i64 to index
  %one = arith.constant 1 : index
  scf.for %i = %lower to %upper step %one {
    %at = arith.index_cast %i : index to i64
    %ea = llvm.getelementptr %pa[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %er = llvm.getelementptr %pr[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %a = llvm.load %ea : !llvm.ptr -> f32
    %r = arith.negf %a : f32
    llvm.store %r, %er : f32, !llvm.ptr
  }
  return
}
func.func @negate(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %pool_at = llvm.getelementptr %env[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %pool = llvm.load %pool_at : !llvm.ptr -> !llvm.ptr
  %for_at = llvm.getelementptr %env[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %for = llvm.load %for_at : !llvm.ptr -> !llvm.ptr
  %function = func.constant @chunk : (!llvm.ptr, i64, i64) -> ()
  %chunk = builtin.unrealized_conversion_cast %function : (!llvm.ptr, i64, i64) -> () to !llvm.ptr
  %extent = arith.constant 64 : i64
  %grain = arith.constant 16 : i64
  llvm.call %for(%pool, %extent, %grain, %chunk, %args) : !llvm.ptr, (!llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr) -> ()
  %ok = arith.constant 0 : i32
  return %ok : i32
}
exec.program @parallel parameters 4 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 2 speed 1.0
  exec.stream @s compute of @cpu
  exec.input "x" : tensor<64xf32>
  exec.output "y" : tensor<64xf32>
  exec.step {
    %x = exec.home input 0 bytes 256 tensor "x"
    %y = exec.home output 0 bytes 256 tensor "y"
    %e = exec.launch @negate "negate" reads(%x, %x) writes(%y) on @s
  }
}
)";
  auto context = makeContext();
  TemporaryDirectory directory;
  auto module = parse(*context, kernel);
  compileTo(directory.path, *module, {0.0f});
  Session session(directory.path);
  std::vector<float> x = ramp(2.0f), y = session.run(x, kCount);
  for (int64_t i = 0; i < kCount; ++i)
    CHECK(y[i] == -x[i]);
}

/// The kernel stores the values of two symbols; z has each kind of expression.
static std::string symbolicProgram() {
  return R"(
#symbols = #dataflow.symbols<"rows" = 1 to 4, "columns" = 1 to 7>
func.func @store(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %at = llvm.getelementptr %env[)" +
         std::to_string(offsetof(sluice_kernel_env, symbols)) + R"(] : (!llvm.ptr) -> !llvm.ptr, i8
  %symbols = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %both = llvm.load %symbols {alignment = 8 : i64} : !llvm.ptr -> vector<2xi64>
  %y_at = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %y = llvm.load %y_at : !llvm.ptr -> !llvm.ptr
  llvm.store %both, %y {alignment = 8 : i64} : vector<2xi64>, !llvm.ptr
  %ok = arith.constant 0 : i32
  return %ok : i32
}
exec.program @symbolic parameters 4 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @s compute of @cpu
  exec.input "first" : tensor<11xf32, #dataflow.extents<()[s0, s1] -> (s0 + s1), #symbols>>
  exec.input "x" : tensor<2x7x4xf32, #dataflow.extents<()[s0, s1] -> (2, s1, s0), #symbols>>
  exec.output "y" : tensor<2xi64>
  exec.output "z" : tensor<3x3x5x28xi8, #dataflow.extents<()[s0, s1] ->
    (s1 ceildiv 3, s1 mod 4, (s1 - 5) floordiv 2 + 4, s0 * s1), #symbols>>
  exec.step {
    %first = exec.home input 0 bytes 44 tensor "first"
    %x = exec.home input 1 bytes 224 tensor "x"
    %y = exec.home output 0 bytes 16 tensor "y"
    %z = exec.home output 1 bytes 1260 tensor "z"
    %e = exec.launch @store "store" reads(%first, %x) writes(%y, %z) on @s
  }
}
)";
}

TEST_CASE("a program with symbols computes the shapes of each step", "[codegen]") {
  auto context = makeContext();
  context->loadDialect<dataflow::DataflowDialect>();
  TemporaryDirectory directory;
  auto module = parse(*context, symbolicProgram());
  compileTo(directory.path, *module, {0.0f});
  Session opened(directory.path);
  sluice_session *session = opened.session;
  const sluice_model *model = sluice_describe(session);
  REQUIRE(model->num_symbols == 2);
  CHECK(model->symbols[0].size == sizeof(sluice_symbol_desc));
  CHECK(std::string(model->symbols[0].name) == "rows");
  CHECK(model->symbols[0].input == 1);
  CHECK(model->symbols[0].dimension == 2);
  CHECK(std::string(model->symbols[1].name) == "columns");
  CHECK(model->symbols[1].least == 1);
  CHECK(model->symbols[1].most == 7);
  CHECK(model->symbols[1].step == 1);
  CHECK(model->symbols[1].dimension == 1);
  CHECK(model->inputs[0].shape[0] == 11);
  CHECK(model->outputs[1].bytes == 1260);

  const std::vector<float> first(11), x(56);
  std::vector<int8_t> z(1260);
  auto floorHalf = [](int64_t value) { return (value - (value % 2 != 0 && value < 0 ? 1 : 0)) / 2; };
  for (int64_t rows = 1; rows <= 4; ++rows)
    for (int64_t columns = 1; columns <= 7; ++columns) {
      const int64_t firstShape[] = {rows + columns}, xShape[] = {2, columns, rows};
      const int64_t *shapes[] = {firstShape, xShape};
      INFO(rows << " rows, " << columns << " columns");
      REQUIRE(sluice_set_shapes(session, shapes) == 0);
      std::vector<int64_t> found(4);
      int64_t bytes = 0;
      REQUIRE(sluice_get_shape(session, SLUICE_PORT_OUTPUT, 1, found.data(), &bytes) == 0);
      CHECK(found == std::vector<int64_t>{(columns + 2) / 3, columns % 4, floorHalf(columns - 5) + 4, rows * columns});
      CHECK(bytes == found[0] * found[1] * found[2] * found[3]);
      std::vector<int64_t> y(2);
      const void *inputs[] = {first.data(), x.data()};
      void *outputs[] = {y.data(), z.data()};
      REQUIRE(sluice_run(session, inputs, outputs) == 0);
      CHECK(y == std::vector<int64_t>{rows, columns});
    }

  auto manifest = readJsonFile(directory.path + "/manifest.json");
  REQUIRE(manifest);
  CHECK((*manifest)["inputs"][0]["shape"].dump() == R"(["rows + columns"])");
  CHECK((*manifest)["inputs"][1]["shape"].dump() == R"([2,"columns","rows"])");
  CHECK((*manifest)["outputs"][0]["shape"].dump() == "[2]");
  CHECK((*manifest)["outputs"][1]["shape"].dump() ==
        R"(["columns ceildiv 3","columns mod 4","(columns - 5) floordiv 2 + 4","rows * columns"])");
  CHECK((*manifest)["symbols"][0].dump() == R"({"name":"rows","least":1,"most":4,"step":1,"input":1,"dimension":2})");
}

TEST_CASE("a symbol that no library has is found when linking", "[codegen]") {
  auto context = makeContext();
  auto module = parse(*context, R"(
llvm.func @no_such_function() -> i32
llvm.func @sluice_model_get() -> i32 {
  %0 = llvm.call @no_such_function() : () -> i32
  llvm.return %0 : i32
})");
  auto target = resolveTarget("x86-64-v3");
  REQUIRE(target);
  auto objects = emitObjects(*module, *target);
  REQUIRE(objects);
  TemporaryDirectory directory;
  const auto linked = linkSharedLibrary(*objects, *target, directory.path + "/model.so");
  REQUIRE(!linked);
  CHECK_THAT(linked.error().message, Catch::Contains("no_such_function"));
  CHECK(!readFile(directory.path + "/model.so"));
}

TEST_CASE("targets are resolved by name", "[codegen]") {
  auto v3 = resolveTarget("cpu:x86-64-v3");
  REQUIRE(v3);
  CHECK(v3->vectorBits == 256);
  CHECK(v3->vectorLanes(32) == 8);
  CHECK(v3->required == "x86-64-v3");
  auto v4 = resolveTarget("x86-64-v4");
  REQUIRE(v4);
  CHECK(v4->vectorBits == 512);
  // Levels have no instructions for bf16; a host that has them needs them of those that run its code.
  CHECK(v4->halfProducts == "none");
  CHECK(resolveTarget("x86-64")->vectorBits == 128);
  auto native = resolveTarget("native");
  REQUIRE(native);
  CHECK(native->vectorBits >= 128);
  CHECK(!native->required.empty());
  // A level's kernels are the same wherever they are compiled.
  CHECK(v3->l2Bytes == 1 << 20);
  CHECK(v4->l2Bytes == 1 << 20);
  CHECK(native->l2Bytes >= 256 << 10);
  CHECK(native->l2Bytes <= 4 << 20);
  CHECK((native->required.find("+amx-bf16") != std::string::npos) == (native->halfProducts == "tiles"));
  CHECK(checkRunsOnHost(*native));
  auto unknown = resolveTarget("cpu:z80");
  REQUIRE(!unknown);
  CHECK_THAT(unknown.error().message, Catch::Contains("'cpu:z80'") && Catch::Contains("x86-64-v3"));
}

TEST_CASE("other CPUs are resolved by architecture and features", "[codegen]") {
  auto arm = resolveTarget("cpu:aarch64");
  REQUIRE(arm);
  CHECK(arm->triple == "aarch64-unknown-linux-gnu");
  CHECK(arm->required == "aarch64");
  CHECK(arm->vectorLanes(32) == 4);
  CHECK(arm->numVectorRegisters == 32);
  CHECK(arm->byteProducts == "pairs");
  CHECK(!checkRunsOnHost(*arm));
  // Features are given in either way, once, and by either name; the resolved name has them all.
  auto dot = resolveTarget("aarch64+dotprod,+fp16,+fullfp16,cuda:sm_80");
  REQUIRE(dot);
  CHECK(dot->name == "aarch64+dotprod+fp16");
  CHECK(dot->required == "aarch64,+dotprod,+fullfp16");
  CHECK(dot->features == "+neon,+dotprod,+fullfp16");
  CHECK(dot->byteProducts == "quads");
  CHECK(dot->architectures == std::vector<unsigned>{80});
  auto again = resolveTarget(dot->name);
  REQUIRE(again);
  CHECK(again->features == dot->features);
  // Without vectors a lane is a register of its own.
  CHECK(resolveTarget("riscv64")->vectorLanes(32) == 1);
  CHECK(resolveTarget("riscv64")->byteProducts == "plain");
  CHECK(resolveTarget("riscv64+v")->vectorLanes(32) == 4);
  CHECK(resolveTarget("riscv64,+v,+zvl256b")->vectorLanes(32) == 8);
  for (const char *wrong :
       {"aarch64+avx2", "aarch64+", "+dotprod", "native+dotprod", "riscv64+zvl256b", "aarch64,riscv64"})
    CHECK(!resolveTarget(wrong));
}
