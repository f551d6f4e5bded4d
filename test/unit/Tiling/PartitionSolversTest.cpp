//===- PartitionSolversTest.cpp - SoyBean's and Spartan's examples --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "sluice/Cost/CostModel.h"
#include "sluice/Support/Rng.h"
#include "sluice/Tiling/TilingPropagation.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

const AxisTiling kWhole = AxisTiling::replicated(), kRows = AxisTiling::split(0), kColumns = AxisTiling::split(1);

/// SoyBean's example (section 2.2): layers of `width` neurons trained on `batch` rows. x1 and the gradient by the last
/// layer's result are given.
struct Mlp {
  ProgramMaker maker;
  std::vector<TensorId> x, w, dx, dw, next;

  Mlp(int layers, int64_t batch, int64_t width) {
    x.push_back(maker.input("x1", batch, width));
    for (int l = 0; l < layers; ++l)
      w.push_back(maker.tensor("w" + std::to_string(l + 1), {width, width}, TensorRole::State));
    for (int l = 0; l < layers; ++l)
      x.push_back(maker.matmul("x" + std::to_string(l + 2), x[l], w[l]));
    dx.assign(layers + 1, TensorId());
    dw.assign(layers, TensorId());
    next.assign(layers, TensorId());
    dx[layers] = maker.input("dx" + std::to_string(layers + 1), batch, width);
    for (int l = layers; l-- > 0;) {
      std::string number = std::to_string(l + 1);
      dw[l] = maker.matmul("dw" + number, x[l], dx[l + 1], true);
      dx[l] = maker.matmul("dx" + number, dx[l + 1], w[l], false, true);
      next[l] = maker.elementwise("next" + number, {w[l], dw[l]});
      maker.update(next[l], w[l]);
    }
  }

  size_t operatorOf(TensorId result) const {
    for (size_t i = 0; i < maker.program.operators.size(); ++i)
      if (maker.program.operators[i].results[0] == result)
        return i;
    FAIL("no operator");
    return 0;
  }

  /// Along the first `dataAxes` the batch is split, along the others the neurons.
  Tiling hybrid(size_t dataAxes, size_t axes) const {
    Tiling tiling;
    tiling.tensors.assign(maker.program.tensors.size(), std::vector<AxisTiling>(axes));
    tiling.rules.assign(maker.program.operators.size(), std::vector<uint32_t>(axes));
    enum Rule : uint32_t { Rows = 1, Columns = 2, Contraction = 3 };
    for (size_t axis = 0; axis < axes; ++axis) {
      bool isData = axis < dataAxes;
      for (const std::vector<TensorId> *list : {&x, &dx})
        for (TensorId id : *list)
          tiling.tensors[id.index()][axis] = isData ? kRows : kColumns;
      for (size_t l = 0; l < w.size(); ++l) {
        // Along data axes, gradients are scattered, updated in parts and gathered.
        tiling.tensors[w[l].index()][axis] = tiling.tensors[next[l].index()][axis] = isData ? kWhole : kColumns;
        tiling.tensors[dw[l].index()][axis] = isData ? kRows : kColumns;
        tiling.rules[operatorOf(x[l + 1])][axis] = isData ? Rows : Columns;
        tiling.rules[operatorOf(dw[l])][axis] = isData ? Contraction : Columns;
        tiling.rules[operatorOf(dx[l])][axis] = isData ? Rows : Contraction;
        tiling.rules[operatorOf(next[l])][axis] = isData ? Rows : Columns;
      }
    }
    return tiling;
  }
};

Tiling replicatedLike(const TensorProgram &program, size_t axes) {
  Tiling tiling;
  tiling.tensors.assign(program.tensors.size(), std::vector<AxisTiling>(axes));
  tiling.rules.assign(program.operators.size(), std::vector<uint32_t>(axes));
  return tiling;
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

} // namespace

TEST_CASE("SoyBean's example counts as in its paper, and as ghost areas", "[tiling][partition]") {
  // 300 is not a multiple of 16, which the paper passes over: every extent is 4 times the example's.
  Mlp scaled(5, 400 * 4, 300 * 4);
  PartitionMachine machine = binaryMachine(4);
  REQUIRE(scaled.maker.program.check());
  struct Expected {
    size_t dataAxes;
    double paper, ghost;
  };
  for (auto [dataAxes, paper, ghost] : {Expected{4, 57.6, 54.0}, {0, 76.8, 72.0}, {2, 33.6, 25.2}}) {
    CAPTURE(dataAxes);
    Tiling tiling = scaled.hybrid(dataAxes, 4);
    REQUIRE(validateTiling(scaled.maker.program, machine.mesh, tiling));
    PartitionReport report = measurePartition(scaled.maker.program, machine, tiling);
    CHECK(megabytes(report.paperBytes) / 16 == Approx(paper));
    CHECK(megabytes(report.ghostBytes) / 16 == Approx(ghost));
    CHECK(megabytes(report.recursiveGhostBytes) / 16 == Approx(ghost));
  }
}

TEST_CASE("the search is no worse than SoyBean's example, by each count", "[tiling][partition]") {
  Mlp scaled(5, 400 * 4, 300 * 4);
  PartitionMachine machine = binaryMachine(4);
  auto solve = [&](PartitionCost cost, const std::string &solver) {
    PartitionParams params;
    params.cost = cost;
    params.solver = solver;
    auto solution = solvePartition(scaled.maker.program, machine, params);
    REQUIRE(solution);
    return solution->report;
  };
  CHECK(megabytes(solve(PartitionCost::Paper, "best").paperBytes) / 16 <= 33.6);
  CHECK(megabytes(solve(PartitionCost::Ghost, "best").ghostBytes) / 16 <= 25.2);
  CHECK(megabytes(solve(PartitionCost::Ghost, "soybean").recursiveGhostBytes) / 16 <= 25.2);
}

TEST_CASE("flat and recursive ghost areas agree on gathers and scatters, not on repartition", "[tiling][partition]") {
  Mesh mesh = binaryMachine(2).mesh;
  const std::vector<int64_t> shape{8, 8};
  constexpr int64_t kBytes = 8 * 8 * 4;
  auto ghost = [&](AxisTiling from, AxisTiling to) { return ghostBytes(shape, 4, {from, from}, {to, to}, mesh); };
  const AxisTiling sum = AxisTiling::partial(PartialKind::Sum);
  CHECK(ghost(kRows, kWhole) == 3 * kBytes);
  CHECK(ghost(sum, kRows) == 3 * kBytes);
  CHECK(ghost(sum, kWhole) == 6 * kBytes);
  CHECK(ghost(kRows, kColumns) == kBytes * 3 / 4);
  CHECK(paperBytes(shape, 4, {kRows, kRows}, {kColumns, kColumns}, mesh) == kBytes);
  CHECK(paperBytes(shape, 4, {sum, sum}, {kWhole, kWhole}, mesh) == 8 * kBytes);
  CHECK(paperBytes(shape, 4, {kWhole, kWhole}, {kRows, kColumns}, mesh) == 0);
  // Nothing divides: everyone gets everyone's.
  CHECK(ghostBytes({3, 5}, 4, {sum, kWhole}, {kWhole, kWhole}, mesh) == 4 * 60);
}

TEST_CASE("conversions are planned as collectives of known volumes", "[tiling][partition]") {
  Mesh mesh{{{"outer", 2, 1e9, 1000}, {"inner", 4, 1e10, 100}}};
  const std::vector<int64_t> shape{16, 16};
  const AxisTiling sum = AxisTiling::partial(PartialKind::Sum);
  auto plan = [&](std::vector<AxisTiling> from, std::vector<AxisTiling> to) {
    std::string text;
    for (const CollectiveStep &step : planConversion(shape, 4, from, to, mesh)) {
      text += std::string(text.empty() ? "" : "; ") + std::string(collectiveName(step.kind));
      for (uint32_t axis : step.axes)
        text += " " + mesh.axes[axis].name;
      text += " " + std::to_string(step.bytes);
    }
    return text;
  };
  constexpr int64_t kAll = 1024;
  CHECK(plan({kRows, kRows}, {kRows, kRows}) == "");
  CHECK(plan({kWhole, kWhole}, {kRows, kRows}) == "slice outer 0; slice inner 0");
  // (g - 1) / g of the result, on 8 devices.
  CHECK(plan({kRows, kRows}, {kWhole, kWhole}) ==
        "all-gather inner " + std::to_string(8 * kAll / 8 * 3) + "; all-gather outer " + std::to_string(8 * kAll / 2));
  CHECK(plan({sum, kWhole}, {kWhole, kWhole}) == "all-reduce outer " + std::to_string(8 * kAll));
  CHECK(plan({sum, sum}, {kWhole, kWhole}) == "all-reduce outer inner " + std::to_string(2 * 7 * kAll));
  CHECK(plan({sum, kWhole}, {kRows, kColumns}) ==
        "slice inner 0; reduce-scatter outer " + std::to_string(8 * kAll / 4 / 2));
  CHECK(plan({kWhole, kRows}, {kWhole, kColumns}) == "all-to-all inner " + std::to_string(8 * kAll / 4 * 3 / 4));
  // The outer axis cannot cut within what the inner one has cut.
  CHECK(plan({kWhole, kRows}, {kRows, kRows}) ==
        "all-gather inner " + std::to_string(8 * kAll * 3 / 4) + "; slice outer 0; slice inner 0");
  // Two axes exchange their dimensions.
  CHECK(plan({kRows, kColumns}, {kColumns, kRows}).find("all-gather") != std::string::npos);

  CollectiveStep reduce = planConversion(shape, 4, {sum, sum}, {kWhole, kWhole}, mesh)[0];
  // Inner: 2 * 3/4 of 1024 at 10 GB/s and 6 messages; outer: all of what is left, a quarter, at 1 GB/s, and 2.
  CHECK(collectiveNs(reduce, mesh) == Approx(2 * 0.75 * 102.4 + 600 + 256 + 2000).margin(1));
}

namespace {

/// The least sum over operators of their cheapest rules, by trying all tilings of tensors, and giving up those that
/// cost too much already. Shares nothing with the solvers but what one conversion costs.
class BruteForce {
public:
  /// With `blocks`, tensors are also split in so many.
  BruteForce(const TensorProgram &program, const Mesh &mesh, uint32_t blocks = 1) : program(program), mesh(mesh) {
    std::vector<AxisTiling> each = {kWhole, kRows, kColumns};
    if (blocks > 1)
      each.insert(each.end(), {AxisTiling::split(0, blocks), AxisTiling::split(1, blocks)});
    for (const ProgramTensor &tensor : program.tensors)
      for (std::vector<size_t> numbers(mesh.axes.size());;) {
        std::vector<AxisTiling> tuple;
        for (size_t number : numbers)
          tuple.push_back(each[number]);
        if (isPossible(tensor, tuple))
          options[&tensor - program.tensors.data()].push_back(tuple);
        size_t axis = 0;
        while (axis < numbers.size() && ++numbers[axis] == each.size())
          numbers[axis++] = 0;
        if (axis == numbers.size())
          break;
      }
    chosen.resize(program.tensors.size());
  }

  /// The least cost where that is below `limit`, else `limit`.
  int64_t solve(int64_t limit) {
    best = limit;
    visit(0, 0);
    return best;
  }

private:
  /// Whether axes that split one dimension do so in one number of blocks.
  static bool agree(const std::vector<AxisTiling> &tuple) {
    for (uint32_t dim : {0U, 1U}) {
      std::set<uint32_t> blocks;
      for (AxisTiling tiling : tuple)
        if (tiling.isSplit() && tiling.dim == dim)
          blocks.insert(tiling.blocks);
      if (blocks.size() > 1)
        return false;
    }
    return true;
  }
  bool isPossible(const ProgramTensor &tensor, const std::vector<AxisTiling> &tuple) const {
    for (uint32_t dim : {0U, 1U}) {
      int64_t parts = 1, blocks = 1;
      for (size_t axis = 0; axis < tuple.size(); ++axis)
        if (tuple[axis].isSplit() && tuple[axis].dim == dim) {
          parts *= mesh.axes[axis].size;
          blocks = tuple[axis].blocks;
        }
      if (tensor.shape[dim] < parts || (blocks > 1 && tensor.shape[dim] % (blocks * parts) != 0))
        return false;
    }
    return agree(tuple);
  }

  /// The cheapest rules of an operator whose tensors are chosen; whole only where nothing else can be.
  int64_t cheapest(const ProgramOperator &op) {
    int64_t least = std::numeric_limits<int64_t>::max();
    ptrdiff_t fewest = least;
    std::vector<uint32_t> rules(mesh.axes.size());
    for (;;) {
      bool allowed = true;
      for (uint32_t rule : rules) {
        int64_t parts = 1;
        for (size_t axis = 0; axis < rules.size(); ++axis)
          parts *= rules[axis] == rule ? mesh.axes[axis].size : 1;
        const int64_t extent = op.rules[rule].divisor;
        allowed &= rule == 0 || extent % parts == 0 || (op.rules[rule].uneven && extent >= parts);
      }
      for (size_t slot = 0; slot <= op.operands.size(); ++slot) {
        std::vector<AxisTiling> form;
        for (uint32_t rule : rules)
          form.push_back(slot == op.operands.size() ? op.rules[rule].results[0] : op.rules[rule].operands[slot]);
        allowed &= agree(form);
      }
      if (allowed) {
        ptrdiff_t whole = std::count(rules.begin(), rules.end(), 0U);
        int64_t sum = costOf(op, rules);
        if (whole < fewest || (whole == fewest && sum < least)) {
          fewest = whole;
          least = sum;
        }
      }
      size_t axis = 0;
      while (axis < rules.size() && ++rules[axis] == op.rules.size())
        rules[axis++] = 0;
      if (axis == rules.size())
        return least;
    }
  }

  int64_t costOf(const ProgramOperator &op, const std::vector<uint32_t> &rules) {
    int64_t sum = 0;
    std::vector<std::pair<uint32_t, std::vector<AxisTiling>>> paid;
    for (size_t slot = 0; slot <= op.operands.size(); ++slot) {
      bool isResult = slot == op.operands.size();
      TensorId id = isResult ? op.results[0] : op.operands[slot];
      std::vector<AxisTiling> form;
      for (uint32_t rule : rules)
        form.push_back(isResult ? op.rules[rule].results[0] : op.rules[rule].operands[slot]);
      if (!isResult) {
        std::pair<uint32_t, std::vector<AxisTiling>> entry(id.value, form);
        if (std::find(paid.begin(), paid.end(), entry) != paid.end())
          continue;
        paid.push_back(entry);
      }
      const std::vector<AxisTiling> &held = options.at(id.value)[chosen[id.index()]];
      const ProgramTensor &tensor = program.tensors[id.index()];
      sum += isResult ? ghostBytes(tensor.shape, 4, form, held, mesh) : ghostBytes(tensor.shape, 4, held, form, mesh);
    }
    return sum;
  }

  /// Operators whose last tensor is chosen at this depth add their costs.
  void visit(uint32_t tensor, int64_t cost) {
    if (cost >= best)
      return;
    if (tensor == program.tensors.size()) {
      best = cost;
      return;
    }
    for (chosen[tensor] = 0; chosen[tensor] < options.at(tensor).size(); ++chosen[tensor]) {
      int64_t sum = cost;
      for (size_t i = 0; i < program.operators.size(); ++i)
        if (lastTensor(program.operators[i]) == tensor)
          sum += remembered(i);
      visit(tensor + 1, sum);
    }
  }
  static uint32_t lastTensor(const ProgramOperator &op) {
    uint32_t last = op.results[0].value;
    for (TensorId id : op.operands)
      last = std::max(last, id.value);
    return last;
  }
  int64_t remembered(size_t i) {
    const ProgramOperator &op = program.operators[i];
    size_t at = 0, size = 1;
    auto count = [&](TensorId id) {
      at += size * chosen[id.index()];
      size *= options.at(id.value).size();
    };
    std::for_each(op.operands.begin(), op.operands.end(), count);
    count(op.results[0]);
    known.resize(program.operators.size());
    known[i].resize(size, -1);
    if (known[i][at] < 0)
      known[i][at] = cheapest(op);
    return known[i][at];
  }

  const TensorProgram &program;
  const Mesh &mesh;
  std::map<size_t, std::vector<std::vector<AxisTiling>>> options;
  std::vector<size_t> chosen;
  std::vector<std::vector<int64_t>> known; ///< Per operator, over its tensors' tilings.
  int64_t best = 0;
};

/// `count` tensors of random extents, some given, the others products, sums and transposes of those before.
TensorProgram randomProgram(size_t count, Rng &rng, const std::vector<int64_t> &extents = {8, 16, 24, 32},
                            bool uneven = false, uint32_t blocks = 1) {
  ProgramMaker maker;
  maker.uneven = uneven;
  maker.blocks = blocks;
  auto extent = [&] { return extents[rng.below(extents.size())]; };
  size_t given = 2 + rng.below(2);
  for (size_t i = 0; i < given; ++i)
    maker.input("t" + std::to_string(i), extent(), extent());
  while (maker.program.tensors.size() < count) {
    std::string name = "t" + std::to_string(maker.program.tensors.size());
    auto any = [&] { return TensorId(static_cast<size_t>(rng.below(maker.program.tensors.size()))); };
    TensorId a = any(), b = any();
    bool ta = rng.below(2), tb = rng.below(2);
    const std::vector<int64_t> &l = maker.shape(a), &r = maker.shape(b);
    if (blocks > 1 && rng.below(3) == 0 && l[1] >= 16)
      maker.half(name, a);
    else if (rng.below(6) == 0)
      maker.transpose(name, a);
    else if (l == r && rng.below(2))
      maker.elementwise(name, {a, b});
    else if (l[ta ? 0 : 1] == r[tb ? 1 : 0])
      maker.matmul(name, a, b, ta, tb);
    else if (rng.below(4) == 0)
      maker.elementwise(name, {a});
  }
  return std::move(maker.program);
}

} // namespace

TEST_CASE("the search equals brute force on 500 random graphs; SoyBean's cuts say how far they are",
          "[tiling][partition]") {
  Rng rng(2018);
  int64_t optimal = 0, soybeanOptimal = 0;
  double gap = 0;
  constexpr int kGraphs = 500;
  for (int graph = 0; graph < kGraphs; ++graph) {
    CAPTURE(graph);
    int axes = graph % 20 == 0 ? 3 : 1 + graph % 2; // The largest take most of the time.
    // 3, 6 and 10 tilings a tensor (3, 9 and 27 with the order of the axes).
    const size_t tensors[] = {10, 7, 6};
    TensorProgram program = randomProgram(tensors[axes - 1], rng);
    PartitionMachine machine = binaryMachine(axes);
    PartitionParams params;
    params.cost = PartitionCost::Ghost;
    auto best = solvePartition(program, machine, params);
    REQUIRE(best);
    // What costs more than the answer need not be looked at to know that nothing costs less.
    int64_t least = BruteForce(program, machine.mesh).solve(best->chargedCost + 1);
    CHECK(best->chargedCost == least);
    optimal += best->chargedCost == least;
    params.solver = "soybean";
    auto soybean = solvePartition(program, machine, params);
    REQUIRE(soybean);
    REQUIRE(soybean->chargedCost >= least);
    soybeanOptimal += soybean->chargedCost == least;
    if (least > 0)
      gap += static_cast<double>(soybean->chargedCost) / static_cast<double>(least) - 1;
  }
  CHECK(optimal == kGraphs);
  std::cout << "soybean: optimal on " << soybeanOptimal << " of " << kGraphs << " graphs, mean gap "
            << 100 * gap / kGraphs << " %\n";
}

/// Compares the solution of least ghost bytes with brute force over tilings in up to `mostBlocks` blocks, and returns
/// that of least volume. Both are validated.
static PartitionSolution solveBothCosts(const TensorProgram &program, const std::vector<int64_t> &sizes,
                                        uint32_t mostBlocks = 1) {
  REQUIRE(program.check());
  PartitionMachine machine;
  for (int64_t size : sizes)
    machine.mesh.axes.push_back({"axis" + std::to_string(machine.mesh.axes.size()), size});
  PartitionParams params;
  params.cost = PartitionCost::Ghost;
  auto best = solvePartition(program, machine, params);
  REQUIRE(best);
  REQUIRE(validatePartition(program, machine, *best));
  CHECK(best->chargedCost == BruteForce(program, machine.mesh, mostBlocks).solve(best->chargedCost + 1));
  params.cost = PartitionCost::Volume;
  auto volume = solvePartition(program, machine, params);
  REQUIRE(volume);
  REQUIRE(validatePartition(program, machine, *volume));
  return *volume;
}

TEST_CASE("uneven parts: the search equals brute force on 200 random graphs, and bytes are those of the devices",
          "[tiling][partition]") {
  Rng rng(7);
  const std::vector<std::vector<int64_t>> meshes = {{3}, {2}, {5}, {2, 2}, {2, 3}, {3, 2}};
  int unevenAnswers = 0;
  for (int graph = 0; graph < 200; ++graph) {
    const std::vector<int64_t> &sizes = meshes[static_cast<size_t>(graph) % meshes.size()];
    CAPTURE(graph, sizes);
    TensorProgram program = randomProgram(sizes.size() == 1 ? 8 : 6, rng, {5, 7, 10, 11}, true);
    const PartitionSolution volume = solveBothCosts(program, sizes);
    // All extents but 10 in 2 or 5 parts and 5 in 5 parts leave a remainder.
    for (size_t t = 0; t < program.tensors.size(); ++t)
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        if (AxisTiling held = volume.tiling.tensors[t][axis]; held.isSplit())
          unevenAnswers += program.tensors[t].shape[held.dim] % sizes[axis] != 0;
  }
  CHECK(unevenAnswers > 200);
}

TEST_CASE("strided parts: the search equals brute force on 150 random graphs, and bytes are those of the devices",
          "[tiling][partition]") {
  Rng rng(23);
  const std::vector<std::vector<int64_t>> meshes = {{2}, {4}, {2, 2}};
  int stridedAnswers = 0;
  for (int graph = 0; graph < 150; ++graph) {
    const std::vector<int64_t> &sizes = meshes[static_cast<size_t>(graph) % meshes.size()];
    CAPTURE(graph, sizes);
    TensorProgram program = randomProgram(sizes.size() == 1 ? 7 : 5, rng, {8, 16, 24, 32}, false, 2);
    const PartitionSolution volume = solveBothCosts(program, sizes, 2);
    for (const std::vector<AxisTiling> &tilings : volume.tiling.tensors)
      for (AxisTiling held : tilings)
        stridedAnswers += held.blocks > 1;
  }
  CHECK(stridedAnswers > 10);
}

TEST_CASE("strided parts: 12 in 3 blocks", "[tiling][partition]") {
  Mesh mesh{{{"outer", 2, 1e10, 100}, {"inner", 2, 1e10, 100}}};
  const AxisTiling sum = AxisTiling::partial(PartialKind::Sum), strided = AxisTiling::split(1, 3);
  auto plan = [&](std::vector<AxisTiling> from, std::vector<AxisTiling> to) {
    std::string text;
    for (const CollectiveStep &step : planConversion({4, 12}, 1, from, to, mesh))
      text += concat(text.empty() ? "" : "; ", collectiveName(step.kind), " ", step.dim, " in ", step.blocks, " ",
                     step.bytes);
    return text;
  };
  CHECK(plan({strided, kWhole}, {kWhole, kWhole}) == "all-gather 1 in 3 96");
  CHECK(plan({sum, kWhole}, {strided, kWhole}) == "reduce-scatter 1 in 3 96");
  CHECK(plan({kWhole, kWhole}, {strided, strided}) == "slice 1 in 3 0; slice 1 in 3 0");
  CHECK(plan({strided, kWhole}, {kRows, kWhole}) == "all-to-all 1 in 3 48");
  CHECK(plan({kRows, kWhole}, {strided, kWhole}) == "all-to-all 0 in 1 48");
  // Another number of blocks: everything is gathered and cut again.
  CHECK(plan({strided, kWhole}, {kColumns, kWhole}) == "all-gather 1 in 3 96; slice 1 in 1 0");
  CHECK(plan({strided, kWhole}, {kWhole, kColumns}) == "all-gather 1 in 3 96; slice 1 in 1 0");
  // Devices have columns 0 1 4 5 8 9 and 2 3 6 7 10 11, and want 0 to 5 and 6 to 11: each lacks two of six.
  const Mesh two{{mesh.axes[0]}};
  CHECK(ghostBytes({4, 12}, 1, {strided}, {kColumns}, two) == 2 * 4 * 2);
  CHECK(ghostBytes({4, 12}, 1, {strided}, {strided}, two) == 0);

  Mlp mlp(1, 12, 24);
  for (ProgramTensor &tensor : mlp.maker.program.tensors)
    if (tensor.role == TensorRole::State) {
      CHECK(tensor.canSplit(1, 4, 3));
      CHECK_FALSE(tensor.canSplit(1, 3, 3));
      CHECK_FALSE(tensor.canSplit(1, 2, 5));
    }
}

TEST_CASE("a program whose dimensions are split in different numbers of blocks is refused", "[tiling][partition]") {
  ProgramMaker maker;
  maker.blocks = 2;
  const TensorId a = maker.input("a", 8, 16);
  const TensorId b = maker.elementwise("b", {a});
  PartitionMachine machine = binaryMachine(2);
  Tiling tiling = replicatedLike(maker.program, 2);
  REQUIRE(validateTiling(maker.program, machine.mesh, tiling));
  tiling.tensors[b.index()] = {AxisTiling::split(1, 2), AxisTiling::split(1, 2)};
  CHECK(validateTiling(maker.program, machine.mesh, tiling));
  tiling.tensors[b.index()] = {AxisTiling::split(1, 2), AxisTiling::split(1)};
  CHECK(validateTiling(maker.program, machine.mesh, tiling).error().message.find("different numbers of blocks") !=
        std::string::npos);
  tiling.tensors[b.index()] = {AxisTiling::split(1, 5), kWhole};
  CHECK(validateTiling(maker.program, machine.mesh, tiling).error().message.find("parts of 5 blocks each") !=
        std::string::npos);
  tiling = replicatedLike(maker.program, 2);
  tiling.rules[0] = {3, 4}; // Columns, and columns in blocks.
  CHECK(validateTiling(maker.program, machine.mesh, tiling).error().message.find("rules that split one dimension") !=
        std::string::npos);
  maker.program.operators[0].rules[4].results[0].blocks = 3;
  CHECK(maker.program.check().error().message.find("in 3 blocks") != std::string::npos);
}

TEST_CASE("uneven parts: 10 and 7 in 3", "[tiling][partition]") {
  for (auto [extent, begins] : {std::pair<int64_t, std::vector<int64_t>>{10, {0, 3, 6, 10}}, {7, {0, 2, 4, 7}}})
    for (int64_t part = 0; part <= 3; ++part)
      CHECK(partBegin(extent, 3, part) == begins[static_cast<size_t>(part)]);
  CHECK(largestPart(10, 3) == 4);
  CHECK(largestPart(9, 3) == 3);
  // Parts of parts are parts.
  for (int64_t extent = 6; extent < 40; ++extent)
    for (int64_t part = 0; part < 3; ++part)
      CHECK(partBegin(extent, 6, 2 * part) == partBegin(extent, 3, part));
  CHECK(partBegin(INT64_MAX, INT64_MAX, INT64_MAX) == INT64_MAX);

  Mesh mesh{{{"all", 3, 1e10, 100}}};
  const AxisTiling sum = AxisTiling::partial(PartialKind::Sum);
  auto bytes = [&](AxisTiling from, AxisTiling to) {
    const std::vector<CollectiveStep> steps = planConversion({10, 7}, 1, {from}, {to}, mesh);
    REQUIRE(steps.size() == 1);
    return steps[0].bytes;
  };
  CHECK(bytes(kRows, kWhole) == 2 * 70);
  CHECK(bytes(sum, kRows) == 2 * 70);
  CHECK(bytes(sum, kWhole) == 2 * 2 * 70);
  CHECK(bytes(kWhole, kRows) == 0);
  // Ranks have 3, 3 and 4 rows, and keep 2, 2 and 3 columns of them.
  CHECK(bytes(kRows, kColumns) == 3 * 5 + 3 * 5 + 4 * 4);

  // A state is written from equal parts.
  Mlp mlp(1, 10, 7);
  for (ProgramTensor &tensor : mlp.maker.program.tensors)
    CHECK(tensor.canSplit(1, 3) == (tensor.role != TensorRole::State && !tensor.updates.valid()));
}

TEST_CASE("data parallelism sends twice (n - 1) / n of the weights a device, whatever the batch",
          "[tiling][partition]") {
  for (int64_t batch : {8, 64, 1024})
    for (int axes : {1, 2, 3}) {
      CAPTURE(batch, axes);
      // Weights as large as a batch of 64: extents alone do not tell what carries it.
      Mlp mlp(4, batch, 64);
      PartitionMachine machine = binaryMachine(axes);
      PartitionParams params;
      params.solver = "data-parallel";
      auto solution = solvePartition(mlp.maker.program, machine, params);
      REQUIRE(solution);
      const int64_t weights = 4 * 64 * 64 * 4, devices = machine.mesh.numDevices();
      CHECK(solution->report.bytes == 2 * (devices - 1) * weights);
      CHECK(solution->gathering.empty());
      const auto all = static_cast<size_t>(axes);
      for (const std::vector<TensorId> *list : {&mlp.x, &mlp.dx})
        for (TensorId id : *list)
          CHECK(solution->tiling.tensors[id.index()] == std::vector<AxisTiling>(all, kRows));
      for (TensorId id : mlp.w)
        CHECK(solution->tiling.tensors[id.index()] == std::vector<AxisTiling>(all));
      for (TensorId id : mlp.dw) // Sums over shares of the batch.
        CHECK(solution->tiling.rules[mlp.operatorOf(id)] == std::vector<uint32_t>(all, 3));
    }
  // Four images give four devices work: the others do the same as these, and no part of a weight.
  Mlp few(2, 4, 64);
  PartitionParams params;
  params.solver = "data-parallel";
  auto solution = solvePartition(few.maker.program, binaryMachine(3), params);
  REQUIRE(solution);
  CHECK(solution->tiling.tensors[few.x[1].index()] == std::vector<AxisTiling>{kRows, kRows, kWhole});
  CHECK(solution->tiling.rules[few.operatorOf(few.x[1])][2] == 0);
  // One image gives no operator a rule: all devices do the same, and none a part of a layer.
  Mlp one(2, 1, 64);
  for (ProgramOperator &op : one.maker.program.operators)
    std::erase_if(op.rules, [](const TilingRule &rule) { return rule.divisor == 1; });
  solution = solvePartition(one.maker.program, binaryMachine(1), params);
  REQUIRE(solution);
  CHECK(solution->report.bytes == 0);
  for (const std::vector<uint32_t> &rules : solution->tiling.rules)
    CHECK(rules[0] == 0);
}

TEST_CASE("the batch is the first input's of more than one dimension, and of what is as long", "[tiling][partition]") {
  // Positions come first and are no batch; a sample's mask has an extent of its own.
  for (int64_t batch : {1, 8}) {
    ProgramMaker maker;
    TensorId positions = maker.tensor("positions", {16}, TensorRole::Input), x = maker.input("x", batch, 16);
    TensorId y = maker.elementwise("y", {x}), p = maker.elementwise("p", {positions});
    for (ProgramOperator &op : maker.program.operators)
      std::erase_if(op.rules, [](const TilingRule &rule) { return rule.divisor == 1; });
    PartitionParams params;
    params.solver = "data-parallel";
    auto solution = solvePartition(maker.program, binaryMachine(1), params);
    REQUIRE(solution);
    for (TensorId id : {x, y})
      CHECK(solution->tiling.tensors[id.index()][0] == (batch > 1 ? kRows : kWhole));
    if (batch == 1)
      for (TensorId id : {positions, p})
        CHECK(solution->tiling.tensors[id.index()][0] == kWhole);
  }
}

TEST_CASE("model parallelism splits every weight and no batch, and operators work on their part",
          "[tiling][partition]") {
  // Activations so large that gathering weights, and splitting the batch, would send less.
  Mlp mlp(4, 1024, 64);
  PartitionParams params;
  params.solver = "model-parallel";
  auto solution = solvePartition(mlp.maker.program, binaryMachine(3), params);
  REQUIRE(solution);
  CHECK(solution->gathering.empty());
  for (size_t axis = 0; axis < 3; ++axis) {
    for (TensorId id : mlp.w)
      CHECK(solution->tiling.tensors[id.index()][axis].isSplit());
    for (const std::vector<TensorId> *list : {&mlp.x, &mlp.dx})
      for (TensorId id : *list)
        CHECK(solution->tiling.tensors[id.index()][axis] != kRows);
    for (size_t i = 0; i < mlp.maker.program.operators.size(); ++i) {
      const ProgramOperator &op = mlp.maker.program.operators[i];
      const TilingRule &rule = op.rules[solution->tiling.rules[i][axis]];
      for (size_t slot = 0; slot < op.operands.size(); ++slot)
        if (mlp.maker.program.tensors[op.operands[slot].index()].role == TensorRole::State)
          CHECK(rule.operands[slot].isSplit());
    }
  }
}

TEST_CASE("what carries the batch follows from operators' rules", "[tiling][partition]") {
  ProgramMaker maker;
  TensorId x = maker.input("x", 64, 32), w = maker.tensor("w", {32, 64}, TensorRole::Parameter);
  TensorId other = maker.input("other", 64, 64), apart = maker.input("apart", 16, 16);
  TensorId y = maker.matmul("y", x, w), turned = maker.transpose("turned", y);
  TensorId both = maker.elementwise("both", {turned, other});
  TensorId gram = maker.matmul("gram", both, y); // Sums over the batch.
  TilingPropagation batch(maker.program, [&](TensorId id) { return id == w; });
  batch.split(x, 0);
  CHECK(batch.dimOf(y) == 0U);
  CHECK(batch.dimOf(turned) == 1U);
  CHECK(batch.dimOf(other) == 1U); // From its reader, though both of its extents are the batch's.
  CHECK(!batch.dimOf(w));
  CHECK(!batch.dimOf(gram));
  CHECK(batch.isReached(w));
  CHECK(!batch.isReached(apart));
  CHECK(batch.rulesOf(OperatorId(3u)) == std::vector<uint32_t>{3});
  const Tiling tiling = batch.tiling(2);
  CHECK(validateTiling(maker.program, binaryMachine(2).mesh, tiling));
  CHECK(tiling.tensors[turned.index()] == std::vector<AxisTiling>{kColumns, kColumns});
  CHECK(tiling.rules[0] == std::vector<uint32_t>{1, 1});
  // What is split twice over has no one rule; both are said.
  TilingPropagation two(maker.program);
  two.split(w, 1);
  CHECK(two.dimOf(turned) == 0U);
  CHECK(two.dimOf(other) == 0U);
  CHECK(two.rulesOf(OperatorId(3u)) == std::vector<uint32_t>{1, 2});

  // An operator that has no rule gets the batch whole, and the solution names it.
  maker.program.operators[1].rules.resize(1);
  PartitionParams params;
  params.solver = "data-parallel";
  auto solution = solvePartition(maker.program, binaryMachine(1), params);
  REQUIRE(solution);
  REQUIRE(!solution->gathering.empty());
  CHECK(solution->gathering[0] == "turned");
}

TEST_CASE("views that meet again and again do not keep Spartan's greedy", "[tiling][partition]") {
  // Each pair of views, and of what they are joined in, is two ways on: 2^30 paths.
  constexpr int64_t kSide = 64;
  ProgramMaker maker;
  TensorId at = maker.transpose("at", maker.create("a", kSide, kSide));
  std::vector<TensorId> views;
  for (int i = 0; i < 30; ++i)
    views.push_back(maker.transpose("view" + std::to_string(i), at));
  for (int i = 0; i + 1 < 30; ++i)
    maker.elementwise("joined" + std::to_string(i), {views[i], views[i + 1]});
  maker.elementwise("all", views);
  PartitionParams params;
  params.cost = PartitionCost::Paper;
  params.solver = "spartan";
  auto solution = solvePartition(maker.program, binaryMachine(2), params);
  REQUIRE(solution);
  CHECK(solution->chargedCost == 0);
}

TEST_CASE("Spartan's greedy and its known failure", "[tiling][partition]") {
  constexpr int64_t kSide = 64, kBytes = kSide * kSide * 4;
  ProgramMaker maker;
  TensorId a = maker.create("a", kSide, kSide), b = maker.create("b", kSide, kSide);
  TensorId c = maker.elementwise("c", {a, b});
  TensorId ta = maker.transpose("at", a), tb = maker.transpose("bt", b);
  TensorId d = maker.elementwise("d", {ta, tb});
  maker.elementwise("e", {c, d});
  for (int axes : {1, 2, 3}) {
    CAPTURE(axes);
    PartitionMachine machine = binaryMachine(axes);
    PartitionParams params;
    params.cost = PartitionCost::Paper;
    params.solver = "spartan";
    auto greedy = solvePartition(maker.program, machine, params);
    REQUIRE(greedy);
    CHECK(greedy->chargedCost == 2 * kBytes);
    params.solver = "best";
    auto best = solvePartition(maker.program, machine, params);
    REQUIRE(best);
    CHECK(best->chargedCost == kBytes);
  }
}

TEST_CASE("the search finds Megatron's tiling of a transformer's feed-forward block by itself", "[tiling][partition]") {
  // y = gelu(x a) b, trained: few positions, wide weights (Shoeybi et al. 2019, section 3).
  constexpr int64_t kPositions = 256, kHidden = 1024;
  ProgramMaker maker;
  TensorId x = maker.input("x", kPositions, kHidden);
  TensorId a = maker.tensor("a", {kHidden, 4 * kHidden}, TensorRole::State);
  TensorId b = maker.tensor("b", {4 * kHidden, kHidden}, TensorRole::State);
  TensorId wide = maker.matmul("wide", x, a), active = maker.elementwise("active", {wide});
  TensorId y = maker.matmul("y", active, b);
  TensorId dy = maker.elementwise("dy", {y, x});
  TensorId db = maker.matmul("db", active, dy, true), dactive = maker.matmul("dactive", dy, b, false, true);
  TensorId dwide = maker.elementwise("dwide", {dactive, wide});
  TensorId da = maker.matmul("da", x, dwide, true);
  maker.matmul("dx", dwide, a, false, true);
  maker.update(maker.elementwise("nextA", {a, da}), a);
  maker.update(maker.elementwise("nextB", {b, db}), b);
  // One group of devices, as Megatron has them; several axes mix forms, and send less still.
  PartitionMachine machine;
  machine.mesh.axes = {{"gpus", 8}};
  auto solution = solvePartition(maker.program, machine);
  REQUIRE(solution);
  auto rules = [&](const std::string &name) {
    std::string text;
    for (size_t i = 0; i < maker.program.operators.size(); ++i)
      if (maker.program.operators[i].name == name)
        for (uint32_t rule : solution->tiling.rules[i])
          text += maker.program.operators[i].rules[rule].name + " ";
    return text;
  };
  // The first weight by columns, the second by rows: no communication between, one reduction after.
  CHECK(rules("wide") == "columns ");
  CHECK(rules("active") == "columns ");
  CHECK(rules("y") == "contraction ");
  CHECK(solution->tiling.tensors[a.index()] == std::vector<AxisTiling>{kColumns});
  CHECK(solution->tiling.tensors[b.index()] == std::vector<AxisTiling>{kRows});
  for (const PartitionBaseline &baseline : solution->baselines) {
    CAPTURE(baseline.solver);
    CHECK(solution->report.makespanNs <= baseline.report.makespanNs);
  }
}

TEST_CASE("a training step sends no more than Megatron's: every device transposes what it has gathered",
          "[tiling][partition]") {
  constexpr int64_t kPositions = 256, kHidden = 512;
  ProgramMaker maker;
  TensorId input = maker.input("input", kPositions, kHidden);
  TensorId a = maker.tensor("a", {kHidden, 4 * kHidden}, TensorRole::State);
  TensorId b = maker.tensor("b", {4 * kHidden, kHidden}, TensorRole::State);
  TensorId x = maker.elementwise("norm", {input});
  TensorId wide = maker.matmul("wide", x, a), active = maker.elementwise("active", {wide});
  TensorId y = maker.elementwise("residual", {maker.matmul("y", active, b), input});
  TensorId dy = maker.elementwise("dy", {y});
  TensorId db = maker.matmul("db", maker.transpose("activeT", active), dy);
  TensorId dwide = maker.elementwise("dwide", {maker.matmul("dactive", dy, b, false, true), wide});
  TensorId da = maker.matmul("da", maker.transpose("xT", x), dwide);
  maker.elementwise("dnorm", {maker.matmul("dx", dwide, a, false, true), x});
  maker.update(maker.elementwise("nextA", {a, da}), a);
  maker.update(maker.elementwise("nextB", {b, db}), b);
  const auto sizes = GENERATE(std::vector<int64_t>{2}, std::vector<int64_t>{4}, std::vector<int64_t>{2, 2},
                              std::vector<int64_t>{2, 2, 2});
  PartitionMachine machine;
  for (int64_t size : sizes)
    machine.mesh.axes.push_back({"axis" + std::to_string(machine.mesh.axes.size()), size});
  PartitionParams params;
  params.cost = PartitionCost::Volume;
  auto solution = solvePartition(maker.program, machine, params);
  REQUIRE(solution);
  // Two all-reduces, of y and of dx.
  CHECK(solution->report.bytes <= 2 * 2 * (machine.mesh.numDevices() - 1) * kPositions * kHidden * 4);
  // Products are divided among all devices.
  for (size_t i = 0; i < maker.program.operators.size(); ++i)
    if (maker.program.operators[i].flops > kPositions * kHidden * kHidden)
      CHECK(std::count(solution->tiling.rules[i].begin(), solution->tiling.rules[i].end(), 0U) == 0);
}

TEST_CASE("a partition keeps within the memory, or says what it would take", "[tiling][partition]") {
  Mlp mlp(3, 64, 256);
  PartitionMachine machine = binaryMachine(2);
  PartitionParams params;
  auto free = solvePartition(mlp.maker.program, machine, params);
  REQUIRE(free);
  params.solver = "data-parallel";
  auto data = solvePartition(mlp.maker.program, machine, params);
  REQUIRE(data);
  params.solver = "best";
  params.memoryBytes = data->report.peakBytes / 2;
  auto tight = solvePartition(mlp.maker.program, machine, params);
  REQUIRE(tight);
  CHECK(tight->report.peakBytes <= *params.memoryBytes);
  params.memoryBytes = 1000;
  auto impossible = solvePartition(mlp.maker.program, machine, params);
  REQUIRE(!impossible);
  CHECK(impossible.error().code == ErrorCode::Infeasible);
  CHECK(impossible.error().message.find("keeps within") != std::string::npos);
}

TEST_CASE("hostile partitions are refused, and wrong answers seen", "[tiling][partition]") {
  Mlp mlp(2, 8, 8);
  PartitionMachine machine = binaryMachine(1);
  PartitionParams params;
  params.solver = "nonsense";
  CHECK(!solvePartition(mlp.maker.program, machine, params));
  CHECK(!solvePartition(mlp.maker.program, PartitionMachine()));
  PartitionMachine still = machine;
  still.flopsPerSec = 0;
  CHECK(!solvePartition(mlp.maker.program, still));
  TensorProgram broken = mlp.maker.program;
  broken.tensors[0].shape[0] = -8;
  CHECK(!solvePartition(broken, machine));

  params.solver = "model-parallel";
  params.duplicationBytes = -1;
  CHECK(!solvePartition(mlp.maker.program, machine, params));
  params.duplicationBytes = 0;
  auto solution = solvePartition(mlp.maker.program, machine, params);
  REQUIRE(solution);
  auto refused = [&](const std::string &part, const std::function<void(PartitionSolution &)> &spoil) {
    PartitionSolution spoilt = *solution;
    spoil(spoilt);
    Status status = validatePartition(mlp.maker.program, machine, spoilt);
    REQUIRE(!status);
    CAPTURE(status.error().message, part);
    CHECK(status.error().message.find(part) != std::string::npos);
  };
  REQUIRE(!solution->report.conversions.empty());
  refused("bytes, and the report states", [](PartitionSolution &s) { ++s.report.bytes; });
  refused("bytes per device, and the report states", [](PartitionSolution &s) { --s.report.peakBytes; });
  refused("bytes per device, and the report states", [](PartitionSolution &s) { ++s.report.peakBytes; });
  const int64_t peak = solution->report.peakBytes;
  CHECK(validatePartition(mlp.maker.program, machine, *solution, peak));
  CHECK_FALSE(validatePartition(mlp.maker.program, machine, *solution, peak - 1));
  refused("does not begin with the tiling that the tensor has",
          [](PartitionSolution &s) { s.report.conversions[0].from = s.report.conversions[0].to; });
  refused("wrong sizes in the step", [](PartitionSolution &s) { ++s.report.conversions[0].steps[0].ownBytes; });
  refused("wrong sizes in the step", [](PartitionSolution &s) {
    ++s.report.conversions[0].steps[0].bytes;
    ++s.report.bytes;
  });
  refused("does not end with the tiling", [](PartitionSolution &s) { s.report.conversions[0].steps.clear(); });
  refused("which is not possible for the tiling", [](PartitionSolution &s) {
    s.report.conversions[0].steps.insert(s.report.conversions[0].steps.begin(), s.report.conversions[0].steps[0]);
  });
  refused("", [](PartitionSolution &s) {
    for (const CollectiveStep &step : s.report.conversions[0].steps)
      s.report.bytes -= step.bytes;
    s.report.conversions.erase(s.report.conversions.begin());
  });
}

TEST_CASE("machines become meshes, the farthest devices on the first axis", "[tiling][partition]") {
  Machine p2 = *machinePreset("p2.8xlarge");
  auto eight = partitionMachine(p2, 8);
  REQUIRE(eight);
  CHECK(eight->mesh.axes.size() == 3);
  CHECK(eight->mesh.axes[0].bytesPerSec == 1e10);
  CHECK(partitionMachine(p2, 6)->mesh.numDevices() == 6);
  CHECK(partitionMachine(p2, 7)->mesh.axes.size() == 1);
  CHECK(!partitionMachine(p2, 9));
  CHECK(!partitionMachine(p2, 0));
  // Links between the halves are slower.
  for (Link &link : p2.links)
    if (link.a != Machine::hostMemory() && (link.a.value - 1) / 4 != (link.b.value - 1) / 4)
      link.bytesPerSec = link.duplexBytesPerSec = 1e9;
  auto halves = partitionMachine(p2, 8);
  REQUIRE(halves);
  // What a link carries in all is shared by what a device sends and what it receives.
  CHECK(halves->mesh.axes[0].bytesPerSec == 5e8);
  CHECK(halves->mesh.axes[1].bytesPerSec == 1e10);
  // Devices in one memory need no link.
  Machine together = *machinePreset("host");
  together.devices.push_back(together.devices[0]);
  together.devices.back().name = "cpu1";
  CHECK(partitionMachine(together, 2)->mesh.axes[0].bytesPerSec == together.devices[0].memoryBytesPerSec);
  // Shares of one device.
  CHECK(partitionMachine(*machinePreset("h200"), 4)->flopsPerSec == Approx(67e12 / 4));
}

TEST_CASE("an operator on one device takes as long in a partition as in a plan", "[tiling][partition]") {
  Machine machine = *machinePreset("emulated");
  for (Device &device : machine.devices) {
    device.efficiency = {{"conv", 0.25}, {"matmul", 4}};
    device.speed = 0.5;
  }
  const Device &device = machine.device(machine.computeDevices()[0]);
  auto one = partitionMachine(machine, 1);
  REQUIRE(one);
  for (const char *kind : {"conv", "matmul", "add"})
    for (int64_t flops : {0, 1'000'000'000}) {
      TensorProgram program;
      program.tensors = {{"x", {64, 64}, 4, TensorRole::Input}, {"y", {64, 64}, 4, TensorRole::Output}};
      ProgramOperator op;
      op.name = op.kind = kind;
      op.operands = {TensorId(0u)};
      op.results = {TensorId(1u)};
      op.flops = flops;
      op.bytesMoved = 32768;
      op.rules = {replicatedRule(1, 1)};
      program.operators = {op};
      auto solution = solvePartition(program, *one);
      REQUIRE(solution);
      const OperatorShape shape{kind, flops, op.bytesMoved};
      CAPTURE(kind, flops);
      CHECK(std::abs(solution->report.computeNs - rooflineTimeNs(shape, device)) <= 1);
    }
}
