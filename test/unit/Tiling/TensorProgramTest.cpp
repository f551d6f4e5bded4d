//===- TensorProgramTest.cpp - Programs, meshes and what fits them --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/TensorProgram.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace sluice;

namespace {

TilingRule rule(const std::string &name, std::vector<AxisTiling> operands, AxisTiling result, int64_t divisor) {
  TilingRule made;
  made.name = name;
  made.operands = std::move(operands);
  made.results = {result};
  made.divisor = divisor;
  return made;
}

/// y[8,12] = x[8,4] w[4,12], and w's next value.
TensorProgram product() {
  const AxisTiling whole = AxisTiling::replicated(), rows = AxisTiling::split(0), columns = AxisTiling::split(1);
  TensorProgram program;
  program.tensors = {{"x", {8, 4}, 4, TensorRole::Input},
                     {"w", {4, 12}, 4, TensorRole::State},
                     {"y", {8, 12}, 4, TensorRole::Output},
                     {"next", {4, 12}, 4, TensorRole::Output, TensorId(1)}};
  ProgramOperator matmul{"matmul", {TensorId(0), TensorId(1)}, {TensorId(2)}, 768, 704, {}};
  matmul.rules = {replicatedRule(2, 1), rule("rows", {rows, whole}, rows, 8),
                  rule("columns", {whole, columns}, columns, 12),
                  rule("contraction", {columns, rows}, AxisTiling::partial(PartialKind::Sum), 4)};
  ProgramOperator update{"update", {TensorId(1)}, {TensorId(3)}, 48, 384, {}};
  update.rules = {replicatedRule(1, 1), rule("dim 0", {rows}, rows, 4), rule("dim 1", {columns}, columns, 12)};
  program.operators = {matmul, update};
  return program;
}

Tiling whole(const TensorProgram &program, size_t axes) {
  Tiling tiling;
  tiling.tensors.assign(program.tensors.size(), std::vector<AxisTiling>(axes));
  tiling.rules.assign(program.operators.size(), std::vector<uint32_t>(axes));
  return tiling;
}

} // namespace

TEST_CASE("programs that contradict themselves are refused", "[tiling]") {
  REQUIRE(product().check());
  auto refused = [](const std::string &part, const std::function<void(TensorProgram &)> &spoil) {
    TensorProgram program = product();
    spoil(program);
    Status status = program.check();
    REQUIRE(!status);
    CAPTURE(status.error().message, part);
    CHECK(status.error().message.find(part) != std::string::npos);
  };
  refused("negative size", [](TensorProgram &p) { p.tensors[0].shape[0] = -1; });
  refused("not a state or has a different shape", [](TensorProgram &p) { p.tensors[3].updates = TensorId(0); });
  refused("not a state or has a different shape", [](TensorProgram &p) { p.tensors[3].updates = TensorId(9); });
  refused("negative work", [](TensorProgram &p) { p.operators[0].flops = -1; });
  refused("is not written by an earlier operator", [](TensorProgram &p) { p.operators[0].operands[0] = TensorId(3); });
  refused("is not written by an earlier operator", [](TensorProgram &p) { p.operators[0].operands[0] = TensorId(77); });
  refused("written twice", [](TensorProgram &p) { p.operators[1].results[0] = TensorId(2); });
  refused("neither a result of an operator nor an input of the program",
          [](TensorProgram &p) { p.operators.pop_back(); });
  refused("does not replicate", [](TensorProgram &p) { p.operators[0].rules.erase(p.operators[0].rules.begin()); });
  refused("two rules", [](TensorProgram &p) { p.operators[0].rules[2].name = "rows"; });
  refused("not a multiple of 3", [](TensorProgram &p) { p.operators[0].rules[1].divisor = 3; });
  refused("has uneven parts of dimension 0 of 'x', whose extent 8 is not 4", [](TensorProgram &p) {
    p.operators[0].rules[1].uneven = true;
    p.operators[0].rules[1].divisor = 4;
  });
  refused("which has rank 2", [](TensorProgram &p) { p.operators[0].rules[1].operands[0].dim = 2; });
  refused("1 tilings for 2 operands", [](TensorProgram &p) { p.operators[0].rules[1].operands.pop_back(); });
  refused("has a tiling with partial results",
          [](TensorProgram &p) { p.operators[0].rules[1].operands[1] = AxisTiling::partial(PartialKind::Sum); });
  refused("which the rule does not split", [](TensorProgram &p) { p.operators[0].rules[1].halos = {{}, {1, 0}}; });
  refused("at least 1 part", [](TensorProgram &p) { p.operators[0].rules[1].mostParts = 0; });
}

TEST_CASE("meshes are bounded, and number devices with the last axis fastest", "[tiling]") {
  Mesh mesh{{{"machines", 2}, {"gpus", 3}}};
  REQUIRE(mesh.check());
  CHECK(mesh.numDevices() == 6);
  CHECK(mesh.coordinates(4) == std::vector<int64_t>{1, 1});
  CHECK(!Mesh{}.check());
  CHECK(!Mesh{{{"a", 0}}}.check());
  CHECK(!Mesh{{{"a", 2}, {"a", 2}}}.check());
  CHECK(!Mesh{{{"a", int64_t(1) << 40}, {"b", int64_t(1) << 40}}}.check());
}

TEST_CASE("tilings are held against program and mesh", "[tiling]") {
  TensorProgram program = product();
  Mesh mesh{{{"outer", 2}, {"inner", 4}}};
  Tiling good = whole(program, 2);
  good.tensors[0] = {AxisTiling::split(0), AxisTiling::split(0)};
  good.rules[0] = {1, 2};
  REQUIRE(validateTiling(program, mesh, good));
  CHECK(partShape(program.tensors[0].shape, good.tensors[0], mesh) == std::vector<int64_t>{1, 4});
  CHECK(good.operandTilings(program, OperatorId(0), 1) ==
        std::vector<AxisTiling>{AxisTiling::replicated(), AxisTiling::split(1)});
  CHECK(good.resultTilings(program, OperatorId(0), 0) ==
        std::vector<AxisTiling>{AxisTiling::split(0), AxisTiling::split(1)});
  auto refused = [&](const std::string &part, const std::function<void(Tiling &)> &spoil) {
    Tiling tiling = good;
    spoil(tiling);
    Status status = validateTiling(program, mesh, tiling);
    REQUIRE(!status);
    CAPTURE(status.error().message, part);
    CHECK(status.error().message.find(part) != std::string::npos);
  };
  refused("another program", [](Tiling &t) { t.rules.pop_back(); });
  refused("1 tilings for 2 axes", [](Tiling &t) { t.tensors[0].pop_back(); });
  refused("1 rules for 2 axes", [](Tiling &t) { t.rules[0].pop_back(); });
  refused("partial results along 'outer'", [](Tiling &t) { t.tensors[2][0] = AxisTiling::partial(PartialKind::Sum); });
  refused("along dimension 7", [](Tiling &t) { t.tensors[2][0] = AxisTiling::split(7); });
  // Each axis divides 4, both together do not.
  refused("is split in 8", [](Tiling &t) { t.tensors[0] = {AxisTiling::split(1), AxisTiling::split(1)}; });
  refused("no rule 4", [](Tiling &t) { t.rules[0][0] = 4; });
  refused("'contraction' on 8 parts", [](Tiling &t) { t.rules[0] = {3, 3}; });
  refused("other than that of the state", [](Tiling &t) { t.tensors[3][0] = AxisTiling::split(0); });
  program.operators[0].rules[1].results[0] = AxisTiling::partial(PartialKind::Max);
  refused("partial results of two kinds", [](Tiling &t) { t.rules[0] = {1, 3}; });
}
