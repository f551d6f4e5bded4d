//===- SpartanPrograms.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SpartanPrograms.h"

#include <algorithm>
#include <set>

namespace sluice::bench {
namespace {

using Shape = std::vector<int64_t>;

class Maker {
public:
  TensorProgram program;

  const Shape &shape(TensorId id) const { return program.tensors[id.index()].shape; }

  TensorId create(Shape shape) {
    start("new", {}, std::move(shape));
    return finish([&](uint32_t dim) { return std::pair(std::vector<AxisTiling>(), AxisTiling::split(dim)); });
  }
  TensorId map(const std::vector<TensorId> &operands) {
    start("map", operands, shape(operands[0]));
    return finish([&](uint32_t dim) {
      return std::pair(std::vector<AxisTiling>(operands.size(), AxisTiling::split(dim)), AxisTiling::split(dim));
    });
  }
  /// A view.
  TensorId transpose(TensorId a) {
    start("transpose", {a}, {shape(a)[1], shape(a)[0]});
    program.operators.back().flops = 0;
    return finish([](uint32_t dim) {
      return std::pair(std::vector<AxisTiling>{AxisTiling::split(1 - dim)}, AxisTiling::split(dim));
    });
  }
  /// Sums along an axis: parts of it make partial sums.
  TensorId fold(TensorId a, uint32_t axis) {
    start("fold", {a}, {shape(a)[1 - axis]});
    add("kept", {AxisTiling::split(1 - axis)}, AxisTiling::split(0), shape(a)[1 - axis]);
    add("folded", {AxisTiling::split(axis)}, AxisTiling::partial(PartialKind::Sum), shape(a)[axis]);
    return program.operators.back().results[0];
  }
  TensorId scan(TensorId a, uint32_t axis) {
    start("scan", {a}, shape(a));
    add("other", {AxisTiling::split(1 - axis)}, AxisTiling::split(1 - axis), shape(a)[1 - axis]);
    return program.operators.back().results[0];
  }
  TensorId dot(TensorId a, TensorId b) {
    const int64_t rows = shape(a)[0], inner = shape(a)[1], columns = shape(b)[1];
    start("dot", {a, b}, {rows, columns});
    add("rows", {AxisTiling::split(0), AxisTiling()}, AxisTiling::split(0), rows);
    add("columns", {AxisTiling(), AxisTiling::split(1)}, AxisTiling::split(1), columns);
    add("inner", {AxisTiling::split(1), AxisTiling::split(0)}, AxisTiling::partial(PartialKind::Sum), inner);
    return program.operators.back().results[0];
  }

private:
  void start(const char *kind, std::vector<TensorId> operands, Shape result) {
    ProgramOperator op;
    op.name = kind + std::to_string(program.operators.size());
    op.operands = std::move(operands);
    op.results = {TensorId(program.tensors.size())};
    op.flops = op.bytesMoved = 1; // Bytes sent are counted, not work.
    op.rules = {replicatedRule(op.operands.size(), 1)};
    program.tensors.push_back({op.name, std::move(result), 4, TensorRole::Intermediate});
    program.operators.push_back(std::move(op));
  }
  void add(const char *name, std::vector<AxisTiling> operands, AxisTiling result, int64_t divisor) {
    TilingRule rule;
    rule.name = name;
    rule.operands = std::move(operands);
    rule.results = {result};
    rule.divisor = divisor;
    program.operators.back().rules.push_back(std::move(rule));
  }
  /// A rule a dimension of the result: what it says of operands and result.
  template <typename Fn>
  TensorId finish(Fn rule) {
    const TensorId result = program.operators.back().results[0];
    for (uint32_t dim = 0; dim < shape(result).size(); ++dim) {
      auto [operands, tiling] = rule(dim);
      add(dim ? "columns" : "rows", std::move(operands), tiling, shape(result)[dim]);
    }
    return result;
  }
};

/// All tilings, tensor by tensor.
class Enumeration {
public:
  Enumeration(const TensorProgram &program, const Mesh &mesh, int64_t limit)
      : program(program), mesh(mesh), best(limit), chosen(program.tensors.size()), endingAt(program.tensors.size()),
        known(program.operators.size()) {
    for (uint32_t i = 0; i < program.operators.size(); ++i) {
      TensorId last = program.operators[i].results[0];
      for (TensorId id : program.operators[i].operands)
        last = std::max(last, id);
      endingAt[last.index()].push_back(i);
    }
  }

  int64_t run() {
    visit(0, 0);
    return best;
  }

private:
  void visit(size_t tensor, int64_t sent) {
    if (sent >= best)
      return;
    if (tensor == program.tensors.size()) {
      best = sent;
      return;
    }
    for (chosen[tensor] = 0; chosen[tensor] < program.tensors[tensor].shape.size(); ++chosen[tensor]) {
      int64_t sum = sent;
      for (uint32_t op : endingAt[tensor])
        sum += sentBy(op);
      visit(tensor + 1, sum);
    }
  }

  /// By the best of its rules that share the work.
  int64_t sentBy(uint32_t index) {
    const ProgramOperator &op = program.operators[index];
    size_t key = chosen[op.results[0].index()];
    for (TensorId id : op.operands)
      key = 2 * key + chosen[id.index()];
    std::vector<int64_t> &table = known[index];
    table.resize(size_t(2) << op.operands.size(), -1);
    if (table[key] >= 0)
      return table[key];
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t r = 1; r < op.rules.size(); ++r) {
      int64_t sum = converted(op.results[0], op.rules[r].results[0], held(op.results[0]));
      std::set<std::pair<TensorId, uint32_t>> read; // A tensor read twice in one way comes once.
      for (size_t slot = 0; slot < op.operands.size(); ++slot) {
        const AxisTiling wanted = op.rules[r].operands[slot];
        if (read.emplace(op.operands[slot], wanted.isSplit() ? wanted.dim : ~0U).second)
          sum += converted(op.operands[slot], held(op.operands[slot]), wanted);
      }
      least = std::min(least, sum);
    }
    return table[key] = least;
  }
  AxisTiling held(TensorId id) const { return AxisTiling::split(chosen[id.index()]); }
  int64_t converted(TensorId id, AxisTiling from, AxisTiling to) const {
    const ProgramTensor &tensor = program.tensors[id.index()];
    int64_t sum = 0;
    for (const CollectiveStep &step : planConversion(tensor.shape, tensor.elementBytes, {from}, {to}, mesh))
      sum += step.bytes;
    return sum;
  }

  const TensorProgram &program;
  const Mesh &mesh;
  int64_t best;
  std::vector<uint32_t> chosen;                ///< Per tensor: the dimension that is split.
  std::vector<std::vector<uint32_t>> endingAt; ///< Per tensor: operators whose last it is.
  std::vector<std::vector<int64_t>> known;     ///< Per operator, by its tensors' choices.
};

} // namespace

TensorProgram randomSpartanProgram(int operators, Rng &rng) {
  Maker maker;
  std::vector<TensorId> matrices;
  auto extent = [&] { return kSpartanExtent * static_cast<int64_t>(1 + rng.below(4)); };
  auto any = [&] { return matrices[rng.below(matrices.size())]; };
  /// One there is of such a shape, else a new array.
  auto matching = [&](const Shape &shape) {
    std::vector<TensorId> list;
    for (TensorId id : matrices)
      if (maker.shape(id) == shape)
        list.push_back(id);
    if (!list.empty() && rng.chance(0.75))
      return list[rng.below(list.size())];
    return matrices.emplace_back(maker.create(shape));
  };
  matrices.push_back(maker.create({extent(), extent()}));
  for (int i = 0; i < operators; ++i) {
    const TensorId a = any();
    switch (rng.below(6)) {
    case 0:
      matrices.push_back(maker.map({a}));
      break;
    case 1:
      matrices.push_back(maker.map({a, matching(maker.shape(a))}));
      break;
    case 2: {
      // Rows as there are, so that later operators find arrays that suit them.
      const TensorId b = any();
      matrices.push_back(maker.dot(a, matching({maker.shape(a)[1], maker.shape(b)[1]})));
      break;
    }
    case 3:
      matrices.push_back(maker.transpose(a));
      break;
    case 4:
      maker.fold(a, static_cast<uint32_t>(rng.below(2)));
      break;
    default:
      matrices.push_back(maker.scan(a, static_cast<uint32_t>(rng.below(2))));
    }
  }
  maker.program.name = "spartan";
  return std::move(maker.program);
}

TensorProgram spartanFailure(int64_t size) {
  Maker maker;
  const TensorId a = maker.create({size, size}), b = maker.create({size, size}), c = maker.map({a, b});
  const TensorId d = maker.map({maker.transpose(a), maker.transpose(b)});
  maker.map({c, d});
  maker.program.name = "failure";
  return std::move(maker.program);
}

int64_t fewestBytes(const TensorProgram &program, const Mesh &mesh, int64_t limit) {
  return Enumeration(program, mesh, limit).run();
}

} // namespace sluice::bench
