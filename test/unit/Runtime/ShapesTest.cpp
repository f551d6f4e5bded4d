//===- ShapesTest.cpp - Models whose extents depend on symbols ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Arena.h"
#include "TestModel.h"

#include <array>
#include <cstring>
#include <numeric>

using namespace sluice::test;
using sluice::runtime::allocateHostArena;
using sluice::runtime::Arena;

namespace {

constexpr int64_t kRows = 4, kColumns = 8;

/// y[rows, columns] = x[rows, columns] + row[columns] + more[rows + columns][0], all of floats; 0 to 4 rows, 1 to 8
/// columns.
class SymbolicModel : public TestModel {
public:
  explicit SymbolicModel(Program step, uint32_t accelerators = 0) : TestModel(step, kRows * kColumns, accelerators) {
    inputs = {tensor("x", 2, matrix.data(), kRows * kColumns), tensor("row", 1, &matrix[1], kColumns),
              tensor("more", 1, &sum, kRows + kColumns)};
    outputs = {tensor("y", 2, matrix.data(), kRows * kColumns)};
    model.symbols = symbols.data();
    model.num_symbols = 2;
    model.extents = [](const int64_t *symbols, int64_t *extents) {
      const int64_t rows = symbols[0], columns = symbols[1];
      const int64_t all[] = {rows, columns, columns, rows + columns, rows, columns};
      std::copy(std::begin(all), std::end(all), extents);
    };
  }

  std::array<sluice_symbol_desc, 2> symbols{{{sizeof(sluice_symbol_desc), "rows", 0, kRows, 1, 0, 0},
                                             {sizeof(sluice_symbol_desc), "columns", 1, kColumns, 1, 0, 1}}};

private:
  static sluice_tensor_desc tensor(const char *name, uint32_t rank, const int64_t *shape, int64_t floats) {
    return {sizeof(sluice_tensor_desc), name, 1, rank, shape, floats * 4, nullptr, nullptr, 0, nullptr, nullptr};
  }

  std::array<int64_t, 2> matrix{kRows, kColumns};
  int64_t sum = kRows + kColumns;
};

int32_t addRow(const sluice_kernel_env *env, void **args) {
  const int64_t rows = env->symbols[0], columns = env->symbols[1];
  const auto *x = static_cast<const float *>(args[0]), *row = static_cast<const float *>(args[1]),
             *more = static_cast<const float *>(args[2]);
  for (int64_t i = 0; i < rows * columns; ++i)
    static_cast<float *>(args[3])[i] = x[i] + row[i % columns] + more[rows + columns - 1];
  return 0;
}

const int64_t kMatrixBytes = kRows * kColumns * 4, kRowBytes = kColumns * 4, kMoreBytes = (kRows + kColumns) * 4;

int32_t stepOnHost(const sluice_api *api, sluice_context *context) {
  Issuer issuer{api, context};
  issuer.launch(streamOf(0, SLUICE_STREAM_COMPUTE), addRow,
                {inputSlot(kMatrixBytes, 0), inputSlot(kRowBytes, 1), inputSlot(kMoreBytes, 2), arenaSlot(0, 0, 128)});
  issuer.copy(streamOf(0, SLUICE_STREAM_OUT), outputSlot(kMatrixBytes), arenaSlot(0, 0, 128), {0}, UINT32_MAX);
  return issuer.failed;
}

/// The same on an accelerator, by way of a copy of the result in host memory, which has the bytes of the bounds.
int32_t stepOnAccelerator(const sluice_api *api, sluice_context *context) {
  Issuer issuer{api, context};
  const uint32_t in = streamOf(1, SLUICE_STREAM_IN), out = streamOf(1, SLUICE_STREAM_OUT);
  issuer.copy(in, arenaSlot(1, 0, kMatrixBytes), inputSlot(kMatrixBytes, 0));
  issuer.copy(in, arenaSlot(1, 128, kRowBytes), inputSlot(kRowBytes, 1));
  issuer.copy(in, arenaSlot(1, 192, kMoreBytes), inputSlot(kMoreBytes, 2));
  issuer.launch(streamOf(1, SLUICE_STREAM_COMPUTE), addRow,
                {arenaSlot(1, 0, kMatrixBytes), arenaSlot(1, 128, kRowBytes), arenaSlot(1, 192, kMoreBytes),
                 arenaSlot(1, 256, 128)},
                {0, 1, 2});
  issuer.copy(out, arenaSlot(0, 0, 128), arenaSlot(1, 256, 128), {3});
  issuer.copy(out, outputSlot(kMatrixBytes), arenaSlot(1, 256, 128), {3});
  return issuer.failed;
}

/// A buffer whose end is the end of the accessible memory: a byte behind it cannot be read or written.
class ExactBuffer {
public:
  explicit ExactBuffer(int64_t floats, float first = 0) : count(static_cast<size_t>(floats)) {
    auto made = allocateHostArena(1024, "test");
    REQUIRE(made);
    arena = std::move(*made);
    data = reinterpret_cast<float *>(arena->base() + arena->bytes()) - count;
    std::iota(data, data + count, first);
  }
  std::vector<float> values() const { return {data, data + count}; }

  size_t count;
  float *data = nullptr;

private:
  std::unique_ptr<Arena> arena;
};

int32_t setShapes(sluice_session *session, int64_t rows, int64_t columns) {
  const int64_t x[] = {rows, columns}, row[] = {columns}, more[] = {rows + columns};
  const int64_t *shapes[] = {x, row, more};
  return sluice_set_shapes(session, shapes);
}

using Shape = std::vector<int64_t>;

Shape shapeOf(const sluice_session *session, uint32_t port, uint32_t index, uint32_t rank) {
  Shape shape(rank, -1);
  REQUIRE(sluice_get_shape(session, port, index, shape.data(), nullptr) == 0);
  return shape;
}

int64_t bytesOf(const sluice_session *session, uint32_t port, uint32_t index) {
  int64_t bytes = -1;
  REQUIRE(sluice_get_shape(session, port, index, nullptr, &bytes) == 0);
  return bytes;
}

/// Runs a step on buffers of exactly the current sizes, and checks its result.
void checkStep(sluice_session *session, int64_t rows, int64_t columns) {
  INFO(rows << " rows, " << columns << " columns");
  ExactBuffer x(rows * columns, 1), row(columns, 100), more(rows + columns, 1000), y(rows * columns, -5);
  const void *inputs[] = {x.data, row.data, more.data};
  void *outputs[] = {y.data};
  REQUIRE(sluice_run(session, inputs, outputs) == 0);
  std::vector<float> expected;
  for (int64_t i = 0; i < rows * columns; ++i)
    expected.push_back(static_cast<float>(1 + i + 100 + i % columns + 1000 + rows + columns - 1));
  CHECK(y.values() == expected);
}

} // namespace

TEST_CASE("steps compute at the shapes that were set", "[runtime]") {
  SymbolicModel onHost(stepOnHost), onAccelerator(stepOnAccelerator, 1);
  for (TestModel *model : {static_cast<TestModel *>(&onHost), static_cast<TestModel *>(&onAccelerator)}) {
    SessionPtr session = model->open();
    REQUIRE(session);
    CHECK(sluice_describe(session.get())->num_symbols == 2);
    // At first the upper bounds.
    CHECK(shapeOf(session.get(), SLUICE_PORT_INPUT, 0, 2) == Shape{4, 8});
    CHECK(shapeOf(session.get(), SLUICE_PORT_OUTPUT, 0, 2) == Shape{4, 8});
    checkStep(session.get(), 4, 8);
    for (auto [rows, columns] : {std::pair(3, 5), {1, 8}, {4, 1}, {2, 3}, {4, 8}, {0, 2}, {1, 1}}) {
      REQUIRE(setShapes(session.get(), rows, columns) == 0);
      CHECK(shapeOf(session.get(), SLUICE_PORT_INPUT, 0, 2) == Shape{rows, columns});
      CHECK(shapeOf(session.get(), SLUICE_PORT_INPUT, 2, 1) == Shape{rows + columns});
      CHECK(shapeOf(session.get(), SLUICE_PORT_OUTPUT, 0, 2) == Shape{rows, columns});
      CHECK(bytesOf(session.get(), SLUICE_PORT_INPUT, 1) == columns * 4);
      CHECK(bytesOf(session.get(), SLUICE_PORT_OUTPUT, 0) == rows * columns * 4);
      checkStep(session.get(), rows, columns);
      checkStep(session.get(), rows, columns);
    }
  }
}

TEST_CASE("copies of inputs and outputs move the bytes of the current shapes", "[runtime]") {
  SymbolicModel model(stepOnAccelerator, 1);
  SessionPtr session = model.open();
  REQUIRE(session);
  checkStep(session.get(), 4, 8);
  CHECK(statsOf(session.get()).bytes_in == kMatrixBytes + kRowBytes + kMoreBytes);
  CHECK(statsOf(session.get()).bytes_out == 2 * kMatrixBytes);
  REQUIRE(setShapes(session.get(), 2, 3) == 0);
  checkStep(session.get(), 2, 3);
  CHECK(statsOf(session.get()).bytes_in == (6 + 3 + 5) * 4);
  // Between memories the slot is moved, to the output its data.
  CHECK(statsOf(session.get()).bytes_out == kMatrixBytes + 6 * 4);
}

TEST_CASE("inputs and outputs without elements need no buffers", "[runtime]") {
  SymbolicModel model(stepOnAccelerator, 1);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> row(3), more(3);
  const void *inputs[] = {nullptr, row.data(), more.data()};
  void *outputs[] = {nullptr};
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error()) == "input 'x' has no buffer, give the address of its 128 bytes");
  REQUIRE(setShapes(session.get(), 2, 3) == 0);
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error()) == "input 'x' has no buffer, give the address of its 24 bytes");
  REQUIRE(setShapes(session.get(), 0, 3) == 0);
  CHECK(sluice_run(session.get(), inputs, outputs) == 0);
}

TEST_CASE("shapes that do not fit leave a session as it was", "[runtime]") {
  SymbolicModel model(stepOnHost);
  SessionPtr session = model.open();
  REQUIRE(session);
  REQUIRE(setShapes(session.get(), 2, 3) == 0);
  auto errorOf = [&](Shape x, Shape row, Shape more) -> std::string {
    const int64_t *shapes[] = {x.data(), row.data(), more.data()};
    const std::string error = sluice_set_shapes(session.get(), shapes) == 0 ? "" : sluice_last_error();
    CHECK(shapeOf(session.get(), SLUICE_PORT_INPUT, 0, 2) == Shape{2, 3});
    CHECK(shapeOf(session.get(), SLUICE_PORT_INPUT, 1, 1) == Shape{3});
    return error;
  };
  CHECK(errorOf({4, 9}, {9}, {13}) == "input 'x' has extent 9 in dimension 1, which is symbol 'columns', give 1 to 8");
  CHECK(errorOf({4, 0}, {0}, {4}) == "input 'x' has extent 0 in dimension 1, which is symbol 'columns', give 1 to 8");
  CHECK(errorOf({-1, 3}, {3}, {2}) == "input 'x' has extent -1 in dimension 0, which is symbol 'rows', give 0 to 4");
  CHECK(errorOf({INT64_MAX, 3}, {3}, {2}).find("input 'x' has extent 9223372036854775807 in dimension 0") == 0);
  CHECK(errorOf({2, 5}, {4}, {7}) == "input 'row' has extent 4 in dimension 0 and needs extent 5, which follows from "
                                     "symbol 'columns' = 5 (dimension 1 of input 'x'), give inputs that agree");
  CHECK(errorOf({2, 5}, {5}, {8}) ==
        "input 'more' has extent 8 in dimension 0 and needs extent 7, which follows from symbol 'rows' = 2 (dimension "
        "0 of "
        "input 'x') and symbol 'columns' = 5 (dimension 1 of input 'x'), give inputs that agree");
  checkStep(session.get(), 2, 3);
  const int64_t x[] = {1, 1};
  const int64_t *shapes[] = {x, nullptr, nullptr};
  CHECK(sluice_set_shapes(session.get(), shapes) != 0);
  CHECK(std::string(sluice_last_error()) == "input 'row' has no shape, give the address of its 1 extents");
  CHECK(sluice_set_shapes(session.get(), nullptr) != 0);
  CHECK(std::string(sluice_last_error()) == "input 'x' has no shape, give the address of its 2 extents");
  checkStep(session.get(), 2, 3);
}

TEST_CASE("a symbol may have the values of steps alone", "[runtime]") {
  SymbolicModel model(stepOnHost);
  model.symbols[1].least = 2, model.symbols[1].step = 3;
  SessionPtr session = model.open();
  REQUIRE(session);
  for (int64_t columns = 1; columns <= 8; ++columns) {
    const bool isAllowed = columns == 2 || columns == 5 || columns == 8;
    CHECK((setShapes(session.get(), 3, columns) == 0) == isAllowed);
    if (isAllowed)
      checkStep(session.get(), 3, columns);
  }
  CHECK(setShapes(session.get(), 3, 4) != 0);
  CHECK(std::string(sluice_last_error()) ==
        "input 'x' has extent 4 in dimension 1, which is symbol 'columns', give 2 to 8 in steps of 3");
}

TEST_CASE("a model without symbols takes its own shapes alone", "[runtime]") {
  TestModel model([](const sluice_api *, sluice_context *) -> int32_t { return 0; }, 4);
  sluice_tensor_desc scalar = model.inputs[0];
  scalar.name = "scale", scalar.rank = 0, scalar.shape = nullptr, scalar.bytes = 4;
  model.inputs.push_back(scalar);
  SessionPtr session = model.open();
  REQUIRE(session);
  CHECK(sluice_describe(session.get())->num_symbols == 0);
  const int64_t good[] = {4}, bad[] = {5};
  const int64_t *shapes[] = {good, nullptr};
  CHECK(sluice_set_shapes(session.get(), shapes) == 0);
  shapes[0] = bad;
  CHECK(sluice_set_shapes(session.get(), shapes) != 0);
  CHECK(std::string(sluice_last_error()) ==
        "input 'x' has extent 5 in dimension 0 and needs extent 4, give data of this extent");
  CHECK(shapeOf(session.get(), SLUICE_PORT_INPUT, 0, 1) == Shape{4});
  CHECK(bytesOf(session.get(), SLUICE_PORT_OUTPUT, 0) == 16);
  CHECK(bytesOf(session.get(), SLUICE_PORT_INPUT, 1) == 4);
  int64_t shape = -1;
  CHECK(sluice_get_shape(session.get(), SLUICE_PORT_OUTPUT, 1, &shape, nullptr) != 0);
  CHECK(std::string(sluice_last_error()) ==
        "output 1 does not exist, because the model has 1 output and the first has number 0, give a smaller number");
  CHECK(sluice_get_shape(session.get(), SLUICE_PORT_INPUT, 2, &shape, nullptr) != 0);
  CHECK(sluice_get_shape(session.get(), 2, 0, &shape, nullptr) != 0);
  CHECK(std::string(sluice_last_error()).find("port 2 is neither an input nor an output") == 0);
  CHECK(shape == -1);
}

TEST_CASE("inputs are checked as far as they have elements", "[runtime]") {
  SymbolicModel model([](const sluice_api *, sluice_context *) -> int32_t { return 0; });
  const std::vector<int64_t> range = {0, 9, 0};
  const std::vector<int32_t> fixed = {7, 7, 7, 7, 7, 7, 7, 7};
  model.inputs[0].element_type = 6, model.inputs[0].range = range.data();
  model.inputs[1].fixed = fixed.data();
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<int32_t> x(32, 3), row(8, 7), more(12);
  std::vector<float> y(32);
  const void *inputs[] = {x.data(), row.data(), more.data()};
  void *outputs[] = {y.data()};
  CHECK(sluice_run(session.get(), inputs, outputs) == 0);
  // Behind the elements of [2, 3] and [3] these are of nobody's concern.
  x[6] = 10, row[3] = 8;
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  REQUIRE(setShapes(session.get(), 2, 3) == 0);
  CHECK(sluice_run(session.get(), inputs, outputs) == 0);
  x[5] = 10;
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error()).find("value 10 is out of range, element 5 of input 'x'") == 0);
  x[5] = 9, row[2] = 8;
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error())
            .find("input 'row' has a value other than the one for which the model was compiled") == 0);
}

TEST_CASE("sessions of one model have shapes of their own", "[runtime]") {
  SymbolicModel model(stepOnHost);
  SessionPtr one = model.open(), other = model.open();
  REQUIRE((one && other));
  REQUIRE(setShapes(one.get(), 1, 2) == 0);
  checkStep(other.get(), 4, 8);
  checkStep(one.get(), 1, 2);
}

TEST_CASE("models from before minor version 11 have no symbols", "[runtime]") {
  // Their description ends before the fields: what lies behind it must not be read.
  SymbolicModel model(stepOnHost);
  model.model.abi_minor = 10;
  model.model.size = offsetof(sluice_model, num_symbols);
  const auto bytes = static_cast<int64_t>(model.model.size);
  auto arena = allocateHostArena((bytes + 63) / 64 * 64, "test");
  REQUIRE(arena);
  char *end = (*arena)->base() + (*arena)->bytes();
  const sluice_model *old = reinterpret_cast<const sluice_model *>(end - bytes);
  std::memcpy(end - bytes, model.get(), static_cast<size_t>(bytes));
  SessionPtr session(sluice_open_model(old, nullptr, 0, nullptr));
  REQUIRE(session);
  const sluice_model *described = sluice_describe(session.get());
  CHECK(described->size == sizeof(sluice_model));
  CHECK(described->num_symbols == 0);
  CHECK(described->extents == nullptr);
  CHECK(described->inputs == model.model.inputs);
  CHECK(setShapes(session.get(), 4, 8) == 0);
  CHECK(setShapes(session.get(), 2, 3) != 0);
}

TEST_CASE("symbols that contradict the model are refused", "[runtime]") {
  auto errorOf = [](void (*spoil)(SymbolicModel &)) -> std::string {
    SymbolicModel model(stepOnAccelerator, 1);
    spoil(model);
    return model.open() ? "" : sluice_last_error();
  };
  CHECK(errorOf([](SymbolicModel &) {}) == "");
  CHECK(errorOf([](SymbolicModel &m) { m.model.symbols = nullptr; }).find("2 symbols and no table") !=
        std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[0].size = 8; }).find("entries of 8 bytes") != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.model.extents = nullptr; }).find("no function that computes its extents") !=
        std::string::npos);
  const char *noRange = "symbol 1 has no name or no range";
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].name = nullptr; }).find(noRange) != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].least = 9; }).find(noRange) != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].least = -1; }).find(noRange) != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].step = 0; }).find(noRange) != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].step = 2; }).find(noRange) != std::string::npos);
  const char *nowhere = "symbol 'columns' does not name a dimension of an input";
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].input = 3; }).find(nowhere) != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].dimension = 2; }).find(nowhere) != std::string::npos);
  CHECK(errorOf([](SymbolicModel &m) { m.symbols[1].most = 9; }) ==
        "tensor 'x' has extent 9 in dimension 1, outside of 0 to 8, compile the model again");
  CHECK(errorOf([](SymbolicModel &m) { m.model.num_ranks = 2; }) ==
        "model 'test' has symbolic extents and 2 ranks, which cannot be combined, compile the model for one size of "
        "each dimension");
}

namespace {

/// As stepOnHost, by way of an arena of `Bytes`.
template <int64_t Bytes>
int32_t stepIn(const sluice_api *api, sluice_context *context) {
  Issuer issuer{api, context};
  issuer.launch(
      streamOf(0, SLUICE_STREAM_COMPUTE), addRow,
      {inputSlot(kMatrixBytes, 0), inputSlot(kRowBytes, 1), inputSlot(kMoreBytes, 2), arenaSlot(0, 0, Bytes)});
  issuer.copy(streamOf(0, SLUICE_STREAM_OUT), outputSlot(kMatrixBytes), arenaSlot(0, 0, Bytes), {0}, UINT32_MAX);
  return issuer.failed;
}

class BucketModel : public SymbolicModel {
public:
  BucketModel() : SymbolicModel(stepOnHost) {
    model.num_buckets = 2;
    model.buckets = buckets.data();
  }

  std::array<std::array<int64_t, 2>, 2> bounds{{{1, 4}, {2, 8}}};
  std::array<int64_t, 2> arenas{64, 128};
  std::array<sluice_bucket_desc, 2> buckets{
      {{sizeof(sluice_bucket_desc), bounds[0].data(), &arenas[0], 0, 0, 2, nullptr, stepIn<16>},
       {sizeof(sluice_bucket_desc), bounds[1].data(), &arenas[1], 0, 0, 2, nullptr, stepIn<64>}}};
};

} // namespace

TEST_CASE("a step runs the first program whose bounds hold", "[runtime]") {
  BucketModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  auto check = [&](int64_t rows, int64_t columns, const int64_t *bounds, int64_t arena, int64_t peak) {
    INFO(rows << " rows, " << columns << " columns");
    REQUIRE(setShapes(session.get(), rows, columns) == 0);
    checkStep(session.get(), rows, columns);
    const sluice_stats stats = statsOf(session.get());
    CHECK(stats.bounds == bounds);
    CHECK(stats.planned_arena_bytes[0] == arena);
    CHECK(stats.arena_peak_bytes[0] == peak);
  };
  for (int round = 0; round < 2; ++round) {
    check(1, 4, model.bounds[0].data(), 64, 16);
    check(0, 1, model.bounds[0].data(), 64, 16);
    check(2, 4, model.bounds[1].data(), 128, 64);
    check(1, 5, model.bounds[1].data(), 128, 64);
    check(3, 1, nullptr, model.memories[0].arena_bytes, 128);
    check(4, 8, nullptr, model.memories[0].arena_bytes, 128);
  }
}

TEST_CASE("an arena has the bytes of the program in use", "[runtime]") {
  // The first bucket's step needs 16 bytes.
  BucketModel model;
  model.arenas[0] = 8;
  SessionPtr session = model.open();
  REQUIRE(session);
  REQUIRE(setShapes(session.get(), 1, 4) == 0);
  ExactBuffer x(4), row(4), more(5), y(4);
  const void *inputs[] = {x.data, row.data, more.data};
  void *outputs[] = {y.data};
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error()).find("uses 16 bytes at offset 0 of the arena") != std::string::npos);
  REQUIRE(setShapes(session.get(), 2, 4) == 0);
  checkStep(session.get(), 2, 4);
}

TEST_CASE("buckets that contradict the model are refused", "[runtime]") {
  auto errorOf = [](auto change) {
    BucketModel model;
    change(model);
    CHECK(model.open() == nullptr);
    return std::string(sluice_last_error());
  };
  const std::string lacks = "bucket 1 has no bounds, arenas or step, compile the model again";
  CHECK(errorOf([](BucketModel &m) { m.buckets[1].bounds = nullptr; }).find(lacks) != std::string::npos);
  CHECK(errorOf([](BucketModel &m) { m.buckets[1].arena_bytes = nullptr; }).find(lacks) != std::string::npos);
  CHECK(errorOf([](BucketModel &m) { m.buckets[1].step = nullptr; }).find(lacks) != std::string::npos);
  CHECK(errorOf([](BucketModel &m) {
          m.arenas[1] = 1 << 20;
        }).find("bucket 1 has an arena of 1048576 bytes of memory") != std::string::npos);
  CHECK(errorOf([](BucketModel &m) { m.model.buckets = nullptr; }).find("2 buckets and no table") != std::string::npos);
}

namespace {

/// y[kept] = the elements of x[8] that are above 0; kept is found by the kernel.
class FindingModel : public TestModel {
public:
  explicit FindingModel(Program step, uint32_t accelerators = 0) : TestModel(step, 64, accelerators) {
    inputs = {{sizeof(sluice_tensor_desc), "x", 1, 1, &extent, 32, nullptr, nullptr, 0, nullptr, nullptr}};
    outputs = {{sizeof(sluice_tensor_desc), "y", 1, 1, &extent, 32, nullptr, nullptr, 0, nullptr, nullptr}};
    model.symbols = &symbol;
    model.num_symbols = 1;
    model.extents = [](const int64_t *symbols, int64_t *extents) {
      extents[0] = kExtent;
      extents[1] = symbols[0];
    };
  }

  static constexpr int64_t kExtent = 8;
  sluice_symbol_desc symbol{sizeof(sluice_symbol_desc), "kept", 0, kExtent, 1, UINT32_MAX, 0};

private:
  int64_t extent = kExtent;
};

int32_t keepPositive(const sluice_kernel_env *env, void **args) {
  const auto *x = static_cast<const float *>(args[0]);
  int64_t kept = 0;
  for (int64_t i = 0; i < FindingModel::kExtent; ++i)
    if (x[i] > 0)
      static_cast<float *>(args[1])[kept++] = x[i];
  if (x[0] == -2)
    kept = 9;
  const_cast<int64_t *>(env->symbols)[0] = kept;
  return 0;
}

int32_t findOnHost(const sluice_api *api, sluice_context *context) {
  Issuer issuer{api, context};
  issuer.launch(streamOf(0, SLUICE_STREAM_COMPUTE), keepPositive, {inputSlot(32), arenaSlot(0, 0, 32)});
  issuer.copy(streamOf(0, SLUICE_STREAM_OUT), outputSlot(32), arenaSlot(0, 0, 32), {0}, UINT32_MAX);
  return issuer.failed;
}

int32_t findOnAccelerator(const sluice_api *api, sluice_context *context) {
  Issuer issuer{api, context};
  issuer.copy(streamOf(1, SLUICE_STREAM_IN), arenaSlot(1, 0, 32), inputSlot(32));
  issuer.launch(streamOf(1, SLUICE_STREAM_COMPUTE), keepPositive, {arenaSlot(1, 0, 32), arenaSlot(1, 64, 32)}, {0});
  issuer.copy(streamOf(1, SLUICE_STREAM_OUT), outputSlot(32), arenaSlot(1, 64, 32), {1});
  return issuer.failed;
}

} // namespace

TEST_CASE("shapes of outputs follow from what a step finds", "[runtime]") {
  FindingModel onHost(findOnHost), onAccelerator(findOnAccelerator, 1);
  for (FindingModel *model : {&onHost, &onAccelerator}) {
    SessionPtr session = model->open();
    REQUIRE(session);
    CHECK(shapeOf(session.get(), SLUICE_PORT_OUTPUT, 0, 1) == Shape{8});
    auto step = [&](std::vector<float> x) {
      x.resize(FindingModel::kExtent, -1);
      std::vector<float> y(FindingModel::kExtent);
      const void *in[] = {x.data()};
      void *out[] = {y.data()};
      REQUIRE(sluice_run(session.get(), in, out) == 0);
      y.resize(static_cast<size_t>(shapeOf(session.get(), SLUICE_PORT_OUTPUT, 0, 1)[0]));
      CHECK(bytesOf(session.get(), SLUICE_PORT_OUTPUT, 0) == static_cast<int64_t>(y.size() * 4));
      return y;
    };
    CHECK(step({1, -1, 3}) == std::vector<float>{1, 3});
    CHECK(step({}).empty());
    // More than the step before found.
    CHECK(step({1, 2, 3, 4, 5, 6, 7, 8}) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    const int64_t shape[] = {8}, *shapes[] = {shape};
    CHECK(sluice_set_shapes(session.get(), shapes) == 0);
    CHECK(step({0, 5}) == std::vector<float>{5});
    // The next step may find more than the last one: buffers of its outputs need the bytes of the upper bound.
    CHECK(sluice_reset(session.get()) == 0);
    CHECK(shapeOf(session.get(), SLUICE_PORT_OUTPUT, 0, 1) == Shape{8});
    CHECK(bytesOf(session.get(), SLUICE_PORT_OUTPUT, 0) == 32);
    CHECK(step({2, 4, 6}) == std::vector<float>{2, 4, 6});
  }
}

TEST_CASE("a step that finds more than there is room for fails", "[runtime]") {
  FindingModel model(findOnHost);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(FindingModel::kExtent, -2), y(FindingModel::kExtent);
  const void *in[] = {x.data()};
  void *out[] = {y.data()};
  CHECK(sluice_run(session.get(), in, out) != 0);
  CHECK(std::string(sluice_last_error()).find("tensor 'y' has extent 9 in dimension 0, outside of 0 to 8") !=
        std::string::npos);
  x.assign(x.size(), 4);
  CHECK(sluice_run(session.get(), in, out) == 0);
}
