//===- GeneratorTest.cpp - States that grow, and text from them -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include <array>
#include <numeric>

using namespace sluice::test;

namespace {

constexpr int64_t kMostPast = 4, kMostNew = 2, kRoom = kMostPast + kMostNew, kTokens = 10;

/// Steps of 1 or 2 tokens, of which a state keeps 6. The logits of a token are greatest at the sum, modulo 10, of it
/// and those before it, where the mask has ones.
class SumModel : public TestModel {
public:
  SumModel() : TestModel(step, 1) {
    inputs = {tensor("input_ids", 7, 2, ids.data(), kMostNew * 8),
              tensor("attention_mask", 7, 2, mask.data(), kRoom * 8)};
    outputs = {tensor("logits", 1, 3, logits.data(), kMostNew * kTokens * 4)};
    states = {tensor("cache", 7, 1, &room, kRoom * 8)};
    model.num_states = 1, model.states = states.data();
    model.state_offsets = &offset, model.state_bytes = kRoom * 8;
    model.symbols = symbols.data(), model.num_symbols = 2;
    model.extents = [](const int64_t *symbols, int64_t *extents) {
      const int64_t past = symbols[0], fresh = symbols[1];
      const int64_t all[] = {1, fresh, 1, past + fresh, 1, fresh, kTokens};
      std::copy(std::begin(all), std::end(all), extents);
    };
    model.advance = [](const int64_t *symbols, int64_t *next) {
      const int64_t length = symbols[0] + symbols[1], fresh = symbols[1];
      next[0] = length, next[1] = fresh;
    };
  }

  std::array<sluice_symbol_desc, 2> symbols{
      {{sizeof(sluice_symbol_desc), "past", 0, kMostPast, 1, SLUICE_SYMBOL_STATE, 0},
       {sizeof(sluice_symbol_desc), "new", 1, kMostNew, 1, 0, 1}}};
  std::vector<sluice_tensor_desc> states;

private:
  static sluice_tensor_desc tensor(const char *name, int32_t type, uint32_t rank, const int64_t *shape, int64_t bytes) {
    return {sizeof(sluice_tensor_desc), name, type, rank, shape, bytes, nullptr, nullptr, 0, nullptr, nullptr};
  }
  static int32_t step(const sluice_api *api, sluice_context *context) {
    Issuer issuer{api, context};
    issuer.launch(streamOf(0, SLUICE_STREAM_COMPUTE), sum,
                  {inputSlot(kMostNew * 8, 0), inputSlot(kRoom * 8, 1), slot(0, SLUICE_SEGMENT_STATE, 0, kRoom * 8),
                   arenaSlot(0, 0, kMostNew * kTokens * 4)});
    issuer.copy(streamOf(0, SLUICE_STREAM_OUT), outputSlot(kMostNew * kTokens * 4),
                arenaSlot(0, 0, kMostNew * kTokens * 4), {0}, UINT32_MAX);
    return issuer.failed;
  }
  static int32_t sum(const sluice_kernel_env *env, void **args) {
    const int64_t past = env->symbols[0], fresh = env->symbols[1];
    const auto *ids = static_cast<const int64_t *>(args[0]), *mask = static_cast<const int64_t *>(args[1]);
    auto *cache = static_cast<int64_t *>(args[2]);
    auto *logits = static_cast<float *>(args[3]);
    for (int64_t row = 0; row < fresh; ++row) {
      cache[past + row] = ids[row];
      int64_t sum = 0;
      for (int64_t i = 0; i <= past + row; ++i)
        sum += cache[i] * mask[i];
      for (int64_t token = 0; token < kTokens; ++token)
        logits[row * kTokens + token] = token == sum % kTokens ? 1.0F : 0.0F;
    }
    return 0;
  }

  std::array<int64_t, 2> ids{1, kMostNew}, mask{1, kRoom};
  std::array<int64_t, 3> logits{1, kMostNew, kTokens};
  int64_t room = kRoom, offset = 0;
};

struct CloseGenerator {
  void operator()(sluice_generator *generator) const { sluice_generator_close(generator); }
};
using GeneratorPtr = std::unique_ptr<sluice_generator, CloseGenerator>;

int32_t setShapes(sluice_session *session, int64_t fresh, int64_t all) {
  const int64_t ids[] = {1, fresh}, mask[] = {1, all};
  const int64_t *shapes[] = {ids, mask};
  return sluice_set_shapes(session, shapes);
}

int64_t extentOf(const sluice_session *session, uint32_t port, uint32_t index) {
  std::vector<int64_t> shape(3, -1);
  REQUIRE(sluice_get_shape(session, port, index, shape.data(), nullptr) == 0);
  return shape[1];
}

/// A step on these tokens with a mask of ones.
int32_t runStep(sluice_session *session, std::vector<int64_t> tokens) {
  const std::vector<int64_t> mask(kRoom, 1);
  std::vector<float> logits(kMostNew * kTokens);
  const void *inputs[] = {tokens.data(), mask.data()};
  void *outputs[] = {logits.data()};
  return sluice_run(session, inputs, outputs);
}

std::vector<int64_t> readCache(const sluice_session *session) {
  std::vector<int64_t> cache(kRoom, -1);
  REQUIRE(sluice_read_state(session, 0, cache.data(), kRoom * 8) == 0);
  return cache;
}

} // namespace

TEST_CASE("a session keeps how long states are, and shapes follow", "[runtime]") {
  SumModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  // Symbols have their upper bounds at first, lengths their least.
  CHECK(extentOf(session.get(), SLUICE_PORT_INPUT, 1) == 2);
  REQUIRE(runStep(session.get(), {3, 4}) == 0);
  CHECK(extentOf(session.get(), SLUICE_PORT_INPUT, 1) == 4);
  CHECK(extentOf(session.get(), SLUICE_PORT_OUTPUT, 0) == 2);
  CHECK(setShapes(session.get(), 1, 4) != 0);
  CHECK(
      std::string(sluice_last_error()) ==
      "input 'attention_mask' has extent 4 in dimension 1 and needs extent 3, which follows from symbol 'past' = 2 "
      "(the length of state 'cache') and symbol 'new' = 1 (dimension 1 of input 'input_ids'), give inputs that agree");
  REQUIRE(setShapes(session.get(), 1, 3) == 0);
  REQUIRE(runStep(session.get(), {5}) == 0);
  CHECK(extentOf(session.get(), SLUICE_PORT_INPUT, 1) == 4);
  CHECK(readCache(session.get()) == std::vector<int64_t>{3, 4, 5, 0, 0, 0});
}

TEST_CASE("a state that is full ends a session's steps until it is reset", "[runtime]") {
  SumModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  for (int step = 0; step < 3; ++step)
    REQUIRE(runStep(session.get(), {1, 2}) == 0);
  const std::string full = "state 'cache' is full, a step may begin with at most 4 positions and the state holds 6, "
                           "symbol 'past', reset the session or compile the model with a larger range";
  CHECK(runStep(session.get(), {1, 2}) != 0);
  CHECK(sluice_last_error() == full);
  CHECK(setShapes(session.get(), 1, 7) != 0);
  CHECK(sluice_last_error() == full);
  CHECK(readCache(session.get()) == std::vector<int64_t>{1, 2, 1, 2, 1, 2});
  REQUIRE(sluice_reset(session.get()) == 0);
  CHECK(readCache(session.get()) == std::vector<int64_t>(kRoom, 0));
  CHECK(extentOf(session.get(), SLUICE_PORT_INPUT, 1) == 2);
  REQUIRE(runStep(session.get(), {7, 8}) == 0);
  CHECK(readCache(session.get()) == std::vector<int64_t>{7, 8, 0, 0, 0, 0});
}

TEST_CASE("the length of a state is set between steps", "[runtime]") {
  SumModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  REQUIRE(setShapes(session.get(), 2, 2) == 0);
  for (int64_t token : {1, 3, 5})
    REQUIRE(runStep(session.get(), {token, token + 1}) == 0);
  CHECK(runStep(session.get(), {1, 2}) != 0);
  // The last positions of a full state are taken back, and a step writes them again.
  REQUIRE(sluice_set_length(session.get(), 0, 2) == 0);
  CHECK(extentOf(session.get(), SLUICE_PORT_INPUT, 1) == 4);
  REQUIRE(runStep(session.get(), {7, 8}) == 0);
  CHECK(readCache(session.get()) == std::vector<int64_t>{1, 2, 7, 8, 5, 6});
  REQUIRE(sluice_set_length(session.get(), 0, 0) == 0);
  REQUIRE(sluice_set_length(session.get(), 0, 4) == 0);
  CHECK(sluice_set_length(session.get(), 0, 5) != 0);
  CHECK(sluice_last_error() == std::string("state 'cache' cannot have 5 positions, symbol 'past', give 0 to 4"));
  CHECK(sluice_set_length(session.get(), 0, -1) != 0);
  for (uint32_t other : {1U, 2U}) {
    CHECK(sluice_set_length(session.get(), other, 0) != 0);
    CHECK(sluice_last_error() == "symbol " + std::to_string(other) +
                                     " is not the length of a state, the model has 2 symbols, give one whose input is "
                                     "SLUICE_SYMBOL_STATE");
  }
  REQUIRE(runStep(session.get(), {9, 10}) == 0);
  CHECK(readCache(session.get()) == std::vector<int64_t>{1, 2, 7, 8, 9, 10});
}

TEST_CASE("a generator goes on from its prompt", "[runtime]") {
  SumModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  for (int again = 0; again < 2; ++again) {
    GeneratorPtr text(sluice_generator_open(session.get(), nullptr, nullptr));
    REQUIRE(text);
    const std::vector<int64_t> prompt = {1, 2, 4};
    REQUIRE(sluice_generator_feed(text.get(), prompt.data(), prompt.size()) == 0);
    std::vector<int64_t> tokens(4, -1);
    for (int64_t &token : tokens)
      if (sluice_generator_next(text.get(), &token) != 0)
        break;
    // 1 + 2 + 4 = 7; 14; 18; and the state had no room for another step.
    CHECK(tokens == std::vector<int64_t>{7, 4, 8, -1});
    CHECK(std::string(sluice_last_error())
              .find("state 'cache' is full, a step may begin with at most 4 positions and the state holds 5") == 0);
    CHECK(readCache(session.get()) == std::vector<int64_t>{1, 2, 4, 7, 4, 0});
  }
}

TEST_CASE("tokens that were generated go on with those that are fed", "[runtime]") {
  SumModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  GeneratorPtr text(sluice_generator_open(session.get(), nullptr, nullptr));
  REQUIRE(text);
  const int64_t one = 1;
  int64_t token = -1;
  CHECK(sluice_generator_next(text.get(), &token) != 0);
  CHECK(std::string(sluice_last_error()) == "no token was given to continue from, feed at least one token");
  REQUIRE(sluice_generator_feed(text.get(), &one, 1) == 0);
  REQUIRE(sluice_generator_next(text.get(), &token) == 0);
  CHECK(token == 1);
  REQUIRE(sluice_generator_feed(text.get(), &one, 1) == 0);
  REQUIRE(sluice_generator_next(text.get(), &token) == 0);
  CHECK(token == 3);
}

TEST_CASE("a generator names what of a model it cannot use", "[runtime]") {
  auto errorOf = [](void (*spoil)(SumModel &)) -> std::string {
    SumModel model;
    spoil(model);
    SessionPtr session = model.open();
    if (!session)
      return sluice_last_error();
    return GeneratorPtr(sluice_generator_open(session.get(), nullptr, nullptr)) ? "" : sluice_last_error();
  };
  CHECK(errorOf([](SumModel &) {}) == "");
  CHECK(errorOf([](SumModel &m) { m.inputs[0].name = "x"; }) ==
        "input 'x' has no data, give the address of its 16 bytes");
  CHECK(errorOf([](SumModel &m) {
          m.inputs[0].name = "position_ids";
        }).find("model 'test' has no input 'input_ids' or 'tokens', its inputs are 'position_ids', 'attention_mask'") ==
        0);
  CHECK(errorOf([](SumModel &m) {
          m.inputs[1].element_type = 1;
        }).find("input 'attention_mask' has elements of type 1") == 0);
  CHECK(errorOf([](SumModel &m) { m.outputs[0].element_type = 7; }).find("output 'logits' does not hold logits") == 0);
  CHECK(errorOf([](SumModel &m) {
          m.outputs.push_back(m.outputs[0]);
          m.outputs[0].name = "a", m.outputs[1].name = "b";
        }).find("model 'test' has 2 outputs and none is named 'logits'") == 0);
  CHECK(errorOf([](SumModel &m) {
          m.model.advance = nullptr;
        }).find("model's symbol 'past' must be the length of a state, and names no state") == 0);
}
