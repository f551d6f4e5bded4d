//===- StateTest.cpp - Tensors that live across steps ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

using namespace sluice::test;

namespace {

/// Two states of four floats, at 64 and at 128: each step adds the first to the second.
class StateModel : public TestModel {
public:
  StateModel() : TestModel(step, 4) {
    sluice_tensor_desc state{
        sizeof(sluice_tensor_desc), "weight", 1, 1, shape.data(), 16, nullptr, nullptr, 0, nullptr};
    states = {state, state};
    states[1].name = "sum";
    model.num_states = 2;
    model.states = states.data();
    model.state_offsets = offsets.data();
    model.state_bytes = 192;
  }

  std::vector<sluice_tensor_desc> states;
  std::vector<int64_t> offsets{64, 128};

protected:
  static int32_t add(const sluice_kernel_env *, void **args) {
    for (int i = 0; i < 4; ++i)
      static_cast<float *>(args[1])[i] += static_cast<const float *>(args[0])[i];
    return 0;
  }

private:
  static int32_t step(const sluice_api *api, sluice_context *context) {
    const sluice_slot slots[] = {slot(0, SLUICE_SEGMENT_STATE, 64, 16), slot(0, SLUICE_SEGMENT_STATE, 128, 16)};
    return api->launch(context, 0, streamOf(0, SLUICE_STREAM_COMPUTE), add, 0, slots, 2, nullptr, 0);
  }
};

/// The same states, of which the second stays in the memory of an accelerator between steps: at 0 in the step for
/// inputs of up to two floats, and else at 64.
class KeptModel : public StateModel {
public:
  KeptModel() {
    memories.push_back({sizeof(sluice_memory_desc), "accel0", 4096, 4096});
    devices.push_back({sizeof(sluice_device_desc), "accel0", SLUICE_DEVICE_EMULATED, 1, 2, 1.0});
    links.push_back({sizeof(sluice_link_desc), 0, 1, 1e9, 1.5e9, 1000, 0});
    for (uint32_t kind : {SLUICE_STREAM_COMPUTE, SLUICE_STREAM_IN, SLUICE_STREAM_OUT})
      streams.push_back({sizeof(sluice_stream_desc), 1, kind});
    model.init = init<64>, model.step = keepingStep<64>;
    model.num_symbols = 1, model.symbols = &symbol;
    model.extents = [](const int64_t *symbols, int64_t *extents) { extents[0] = extents[1] = symbols[0]; };
    model.num_buckets = 1, model.buckets = &bucket;
  }

private:
  template <int64_t At>
  static int32_t init(const sluice_api *api, sluice_context *context) {
    Issuer issuer{api, context};
    issuer.copy(streamOf(1, SLUICE_STREAM_IN), arenaSlot(1, At, 16), slot(0, SLUICE_SEGMENT_STATE, 128, 16));
    return issuer.failed;
  }
  template <int64_t At>
  static int32_t keepingStep(const sluice_api *api, sluice_context *context) {
    Issuer issuer{api, context};
    const uint32_t weight =
        issuer.copy(streamOf(1, SLUICE_STREAM_IN), arenaSlot(1, At + 128, 16), slot(0, SLUICE_SEGMENT_STATE, 64, 16));
    issuer.launch(streamOf(1, SLUICE_STREAM_COMPUTE), add, {arenaSlot(1, At + 128, 16), arenaSlot(1, At, 16)},
                  {weight});
    return issuer.failed;
  }

  sluice_symbol_desc symbol{sizeof(sluice_symbol_desc), "length", 1, 4, 1, 0, 0};
  int64_t bound = 2;
  int64_t arenas[2] = {4096, 1024};
  sluice_bucket_desc bucket{sizeof(sluice_bucket_desc), &bound, arenas, 0, 0, 2, init<0>, keepingStep<0>, 0, 0};
};

using Values = std::vector<float>;

Values readState(const sluice_session *session, uint32_t index) {
  Values values(4, -1);
  REQUIRE(sluice_read_state(session, index, values.data(), 16) == 0);
  return values;
}

int32_t runStep(sluice_session *session) {
  Values x(4), y(4);
  return runOnce(session, x, y);
}

} // namespace

TEST_CASE("states are read and written between steps", "[runtime]") {
  StateModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  CHECK(readState(session.get(), 0) == Values{0, 0, 0, 0});
  const Values weight{1, 2, 3, 4};
  REQUIRE(sluice_write_state(session.get(), 0, weight.data(), 16) == 0);
  CHECK(readState(session.get(), 1) == Values{0, 0, 0, 0});
  for (float step = 1; step <= 3; ++step) {
    REQUIRE(runStep(session.get()) == 0);
    CHECK(readState(session.get(), 0) == weight);
    CHECK(readState(session.get(), 1) == Values{step, 2 * step, 3 * step, 4 * step});
  }
  const Values sum{-10, 0, 10, 20};
  REQUIRE(sluice_write_state(session.get(), 1, sum.data(), 16) == 0);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(readState(session.get(), 1) == Values{-9, 2, 13, 24});
}

TEST_CASE("states that stay on a device are read, written and reset", "[runtime]") {
  alignas(64) float parameters[48] = {};
  for (int i = 0; i < 4; ++i)
    parameters[16 + i] = 1, parameters[32 + i] = 5; // The weight's and the sum's initial values.
  KeptModel model;
  model.model.parameter_bytes = sizeof parameters;
  model.model.state_initial = 0;
  SessionPtr session = model.open(parameters);
  REQUIRE(session);
  auto setLength = [&](int64_t length) {
    const int64_t *const shapes[] = {&length};
    return sluice_set_shapes(session.get(), shapes);
  };
  auto sum = [&] { return readState(session.get(), 1)[3]; };
  // Before the first step nothing is on the device.
  CHECK(sum() == 5);
  const Values first{7, 7, 7, 7};
  REQUIRE(sluice_write_state(session.get(), 1, first.data(), 16) == 0);
  REQUIRE(setLength(4) == 0);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(sum() == 8);
  CHECK(statsOf(session.get()).init_bytes_in == 16);
  REQUIRE(runStep(session.get()) == 0);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(sum() == 10);
  CHECK(sum() == 10);
  // A step copies the weight alone.
  CHECK(statsOf(session.get()).bytes_in == 16);
  CHECK(statsOf(session.get()).bytes_out == 0);
  const Values written{20, 30, 40, 50};
  REQUIRE(sluice_write_state(session.get(), 1, written.data(), 16) == 0);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(readState(session.get(), 1) == Values{21, 31, 41, 51});
  // Another program has it at another address.
  REQUIRE(setLength(1) == 0);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(sum() == 52);
  REQUIRE(setLength(3) == 0);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(sum() == 53);
  REQUIRE(sluice_reset(session.get()) == 0);
  CHECK(sum() == 5);
  REQUIRE(runStep(session.get()) == 0);
  CHECK(sum() == 6);
}

TEST_CASE("sessions of one model have states of their own", "[runtime]") {
  StateModel model;
  SessionPtr one = model.open(), other = model.open();
  REQUIRE((one && other));
  const Values weight{1, 1, 1, 1};
  REQUIRE(sluice_write_state(one.get(), 0, weight.data(), 16) == 0);
  CHECK(readState(one.get(), 0) == weight);
  CHECK(readState(other.get(), 0) == Values{0, 0, 0, 0});
}

TEST_CASE("the state store begins as the end of the parameters", "[runtime]") {
  // 64 bytes of parameters, then what the store begins with: 80 bytes, up to the weight's end. The rest are zeros.
  alignas(64) float parameters[36] = {};
  for (int i = 0; i < 4; ++i)
    parameters[32 + i] = static_cast<float>(i + 1);
  StateModel model;
  model.model.parameter_bytes = sizeof parameters;
  model.model.state_initial = 64;
  SessionPtr session = model.open(parameters);
  REQUIRE(session);
  CHECK(readState(session.get(), 0) == Values{1, 2, 3, 4});
  CHECK(readState(session.get(), 1) == Values{0, 0, 0, 0});
  REQUIRE(runStep(session.get()) == 0);
  CHECK(readState(session.get(), 1) == Values{1, 2, 3, 4});
  // What a step changes is not the file's, and another session begins anew.
  SessionPtr again = model.open(parameters);
  REQUIRE(again);
  CHECK(readState(again.get(), 1) == Values{0, 0, 0, 0});
}

TEST_CASE("a state of another number or size is refused", "[runtime]") {
  StateModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  Values values(8, 7);
  CHECK(sluice_read_state(session.get(), 2, values.data(), 16) != 0);
  CHECK(std::string(sluice_last_error()) ==
        "state 2 does not exist, because the model has 2 states and the first has number 0, give a smaller number");
  CHECK(sluice_write_state(session.get(), UINT32_MAX, values.data(), 16) != 0);
  for (int64_t bytes : {int64_t(-16), int64_t(0), int64_t(15), int64_t(32), INT64_MAX}) {
    CHECK(sluice_read_state(session.get(), 1, values.data(), bytes) != 0);
    CHECK(std::string(sluice_last_error()).find("state 'sum' has 16 bytes and the buffer ") == 0);
    CHECK(sluice_write_state(session.get(), 1, values.data(), bytes) != 0);
  }
  CHECK(values == Values(8, 7));
  CHECK(readState(session.get(), 1) == Values{0, 0, 0, 0});
}

TEST_CASE("tables of states that contradict the model are refused", "[runtime]") {
  alignas(64) static const float parameters[64] = {};
  auto errorOf = [](void (*spoil)(StateModel &)) -> std::string {
    StateModel model;
    model.model.parameter_bytes = sizeof parameters;
    spoil(model);
    return model.open(parameters) ? "" : sluice_last_error();
  };
  auto mentions = [&](void (*spoil)(StateModel &), const char *text) {
    return errorOf(spoil).find(text) != std::string::npos;
  };
  CHECK(errorOf([](StateModel &) {}) == "");
  CHECK(errorOf([](StateModel &m) { m.offsets[1] = 176; }) == "");
  const char *outside = "state 'sum' is not within the model's 192 bytes of state";
  CHECK(mentions([](StateModel &m) { m.offsets[1] = 177; }, outside));
  CHECK(mentions([](StateModel &m) { m.offsets[1] = -1; }, outside));
  CHECK(mentions([](StateModel &m) { m.offsets[1] = INT64_MAX; }, outside));
  CHECK(mentions([](StateModel &m) { m.states[1].bytes = INT64_MAX; }, outside));
  CHECK(mentions([](StateModel &m) { m.model.state_offsets = nullptr; }, "no table of their offsets"));
  CHECK(mentions([](StateModel &m) { m.states[0].name = nullptr; }, "model's state 0"));
  const char *begins = "states begin outside its parameter file";
  CHECK(errorOf([](StateModel &m) { m.model.state_initial = 64; }) == "");
  CHECK(errorOf([](StateModel &m) { m.model.state_initial = 256; }) == "");
  CHECK(mentions([](StateModel &m) { m.model.state_initial = 257; }, begins));
  CHECK(mentions([](StateModel &m) { m.model.state_initial = -2; }, begins));
  CHECK(mentions([](StateModel &m) { m.model.state_initial = 63; }, begins));
}
