//===- PartitionTest.cpp - Programs of ranks against the whole ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Random tilings of small training steps: the pass makes the program of all ranks,
// an interpreter runs it as each of them, a collective by its definition, and what
// comes of it is what the whole program computes.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "Reference.h"

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Models.h"
#include "passes/Bridge/TilingAttributes.h"
#include "passes/Passes.h"
#include "sluice/Support/Rng.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>
#include <map>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;
using namespace sluice::test;

namespace {

using Ranks = std::vector<Environment>;

/// Ranks of a rank's group, by position.
std::vector<int64_t> membersOf(GroupAttr group, int64_t rank, int64_t numRanks) {
  auto outside = [&](int64_t r) {
    int64_t left = r;
    for (auto [count, stride] : llvm::zip(group.getCounts(), group.getStrides()))
      left -= r / stride % count * stride;
    return left;
  };
  std::vector<int64_t> members(group.size(), -1);
  for (int64_t r = 0; r < numRanks; ++r)
    if (outside(r) == outside(rank))
      members[group.positionOf(r)] = r;
  for (int64_t member : members)
    REQUIRE(member >= 0);
  return members;
}

Tensor part(const Tensor &whole, CutAttr cut, int64_t rank) {
  const int64_t blocks = cut.getBlocks(), dim = cut.getDim(), width = whole.shape()[dim] / blocks,
                share = width / cut.getGroup().size(), number = cut.getGroup().positionOf(rank);
  Index shape(whole.shape());
  shape[dim] = share * blocks;
  Tensor result(RankedTensorType::get(shape, whole.element()));
  forEachIndex(shape, [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    from[dim] = at[dim] / share * width + number * share + at[dim] % share;
    result.set(result.linearOf(at), whole.at(from));
  });
  return result;
}

/// The elements [first, second) of a dimension that a rank has, and where those of its whole group begin and end.
struct Span {
  int64_t first = 0, second = 0, groupFirst = 0, groupSecond = 0;
};
Span spanOf(UnevenAttr uneven, GroupAttr group, int64_t rank) {
  int64_t parts = 1, part = 0;
  if (GroupAttr outside = uneven.getOutside())
    parts = outside.size(), part = outside.positionOf(rank);
  const int64_t extent = uneven.getExtent(), size = group.size();
  const int64_t own = part * size + group.positionOf(rank), all = parts * size;
  return {extent * own / all, extent * (own + 1) / all, extent * part / parts, extent * (part + 1) / parts};
}

/// Of uneven parts: `members` are the ranks that hold `parts`. Elements beyond a rank's own are copies of its last one.
Tensor collectUneven(Operation *op, const std::vector<const Tensor *> &parts, const std::vector<int64_t> &members,
                     int64_t position) {
  Tensor result(op->getResult(0).getType());
  const GroupAttr group = cast<CollectiveOpInterface>(op).getRankGroup();
  const int64_t rank = members[position];
  // The element of a dimension, counted from the start of the whole one, that is at a place of the result.
  auto joined = [&](int64_t at, UnevenAttr uneven) {
    const Span own = spanOf(uneven, group, rank);
    return std::min(own.groupFirst + at, own.groupSecond - 1);
  };
  auto cut = [&](int64_t at, UnevenAttr uneven) {
    const Span own = spanOf(uneven, group, rank);
    return std::min(own.first + at, own.second - 1);
  };
  auto holderOf = [&](int64_t element, UnevenAttr uneven) {
    for (size_t i = 0; i < members.size(); ++i)
      if (const Span other = spanOf(uneven, group, members[i]); element >= other.first && element < other.second)
        return std::pair(i, element - other.first);
    FAIL("nobody has element " << element);
    return std::pair(size_t(0), int64_t(0));
  };
  forEachIndex(result.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    double value = 0;
    if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      const int64_t dim = scatter.getDim();
      from[dim] = cut(at[dim], *scatter.getUneven()) - spanOf(*scatter.getUneven(), group, rank).groupFirst;
      value = parts[0]->at(from);
      for (size_t p = 1; p < parts.size(); ++p) {
        const double other = parts[p]->at(from);
        value = scatter.getReduction() == CombineKind::sum   ? value + other
                : scatter.getReduction() == CombineKind::max ? std::max(value, other)
                                                             : std::min(value, other);
      }
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      const int64_t dim = gather.getDim();
      auto [holder, place] = holderOf(joined(at[dim], *gather.getUneven()), *gather.getUneven());
      from[dim] = place;
      value = parts[holder]->at(from);
    } else if (auto exchange = dyn_cast<AllToAllOp>(op)) {
      const int64_t join = exchange.getJoin(), split = exchange.getSplit();
      auto [holder, place] = holderOf(joined(at[join], *exchange.getUnevenJoin()), *exchange.getUnevenJoin());
      from[join] = place;
      from[split] =
          cut(at[split], *exchange.getUnevenSplit()) - spanOf(*exchange.getUnevenSplit(), group, rank).groupFirst;
      value = parts[holder]->at(from);
    } else if (auto shard = dyn_cast<ShardOp>(op)) {
      const int64_t dim = shard.getDim();
      from[dim] = cut(at[dim], *shard.getUneven()) - spanOf(*shard.getUneven(), group, rank).groupFirst;
      value = parts[position]->at(from);
    } else {
      auto halo = cast<HaloOp>(op);
      const int64_t dim = halo.getDim(), extent = halo.getUneven()->getExtent();
      const Span own = spanOf(*halo.getUneven(), group, rank);
      const int64_t high = own.second + static_cast<int64_t>(halo.getHigh());
      const int64_t element = std::min(own.first - static_cast<int64_t>(halo.getLow()) + at[dim], high - 1);
      if (element < 0 || element >= extent) {
        value = halo.getLowest() ? -std::numeric_limits<double>::infinity() : 0;
      } else {
        auto [holder, place] = holderOf(element, *halo.getUneven());
        from[dim] = place;
        value = parts[holder]->at(from);
      }
    }
    result.set(result.linearOf(at), value);
  });
  return result;
}

/// Element by element, of what the group's ranks hold.
Tensor collect(Operation *op, const std::vector<const Tensor *> &parts, const std::vector<int64_t> &members,
               int64_t position) {
  if (op->hasAttr("uneven") || op->hasAttr("uneven_split"))
    return collectUneven(op, parts, members, position);
  Tensor result(op->getResult(0).getType());
  auto combined = [&](CombineKind how, llvm::ArrayRef<int64_t> at) {
    double value = parts[0]->at(at);
    for (size_t p = 1; p < parts.size(); ++p) {
      const double other = parts[p]->at(at);
      value = how == CombineKind::sum   ? value + other
              : how == CombineKind::max ? std::max(value, other)
                                        : std::min(value, other);
    }
    return value;
  };
  const auto own = static_cast<int64_t>(parts.size());
  forEachIndex(result.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    double value = 0;
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      value = combined(reduce.getReduction(), at);
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      from[scatter.getDim()] += position * result.shape()[scatter.getDim()];
      value = combined(scatter.getReduction(), from);
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      const int64_t extent = parts[0]->shape()[gather.getDim()];
      from[gather.getDim()] %= extent;
      value = parts[at[gather.getDim()] / extent]->at(from);
    } else if (auto exchange = dyn_cast<AllToAllOp>(op)) {
      const int64_t extent = parts[0]->shape()[exchange.getJoin()];
      from[exchange.getJoin()] %= extent;
      from[exchange.getSplit()] += position * result.shape()[exchange.getSplit()];
      value = parts[at[exchange.getJoin()] / extent]->at(from);
    } else if (auto shard = dyn_cast<ShardOp>(op)) {
      from[shard.getDim()] += position * result.shape()[shard.getDim()];
      value = parts[position]->at(from);
    } else {
      auto halo = cast<HaloOp>(op);
      const int64_t dim = halo.getDim(), extent = parts[0]->shape()[dim];
      const int64_t global = at[dim] - static_cast<int64_t>(halo.getLow()) + position * extent;
      from[dim] = (global + extent) % extent;
      value = global < 0 || global >= own * extent ? halo.getLowest() ? -std::numeric_limits<double>::infinity() : 0
                                                   : parts[global / extent]->at(from);
    }
    result.set(result.linearOf(at), value);
  });
  return result;
}

/// Runs the block as all ranks at once, arguments given.
void runRanks(Block &block, Ranks &ranks) {
  const auto numRanks = static_cast<int64_t>(ranks.size());
  for (Operation &op : block.without_terminator()) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      std::vector<Tensor> results;
      for (int64_t r = 0; r < numRanks; ++r) {
        std::vector<const Tensor *> parts;
        const std::vector<int64_t> members = membersOf(collective.getRankGroup(), r, numRanks);
        for (int64_t member : members)
          parts.push_back(&ranks[member].at(op.getOperand(0)));
        results.push_back(collect(&op, parts, members, collective.getRankGroup().positionOf(r)));
      }
      for (int64_t r = 0; r < numRanks; ++r)
        ranks[r].insert({op.getResult(0), std::move(results[r])});
      continue;
    }
    for (int64_t r = 0; r < numRanks; ++r) {
      if (auto state = dyn_cast<StateOp>(op)) {
        Tensor initial(state.getType());
        REQUIRE(succeeded(state.copyInitial(r, initial.bytes.data())));
        ranks[r].insert({state.getResult(), initial});
      } else {
        interpret(&op, ranks[r]);
      }
    }
  }
}

/// How operators' rules split a tensor.
std::vector<AxisTiling> splitsOf(const TensorProgram &program, TensorId id) {
  std::vector<AxisTiling> list;
  auto note = [&](const std::vector<TensorId> &tensors, const std::vector<AxisTiling> &tilings) {
    for (size_t slot = 0; slot < tensors.size(); ++slot)
      if (tensors[slot] == id && tilings[slot].isSplit() && !llvm::is_contained(list, tilings[slot]))
        list.push_back(tilings[slot]);
  };
  for (const ProgramOperator &op : program.operators)
    for (const TilingRule &rule : op.rules) {
      note(op.operands, rule.operands);
      note(op.results, rule.results);
    }
  return list;
}

/// Any tiling that is one. With `strides`, tensors and operators are split in blocks where that is possible.
MeshTiling randomTiling(const TensorProgram &program, const std::vector<int64_t> &sizes, Rng &rng, bool strides) {
  MeshTiling decided;
  for (int64_t size : sizes) {
    decided.mesh.axes.emplace_back();
    decided.mesh.axes.back().name = "axis" + std::to_string(decided.mesh.axes.size());
    decided.mesh.axes.back().size = size;
  }
  auto draw = [&](size_t count) { return static_cast<size_t>(rng.below(count)); };
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const ProgramTensor &tensor = program.tensors[t];
    const std::vector<AxisTiling> splits = strides ? splitsOf(program, TensorId(t)) : std::vector<AxisTiling>();
    std::vector<int64_t> parts(tensor.shape.size(), 1);
    std::vector<AxisTiling> held(sizes.size());
    for (size_t a = 0; a < sizes.size(); ++a) {
      const size_t dim = draw(parts.size() + 1);
      uint32_t blocks = 1;
      for (AxisTiling split : splits)
        if (split.splits(static_cast<uint32_t>(dim)) && draw(2) == 0)
          blocks = split.blocks;
      if (dim == parts.size() || !tensor.canSplit(dim, parts[dim] * sizes[a], blocks))
        continue;
      held[a] = AxisTiling::split(static_cast<uint32_t>(dim), blocks);
      if (!tilingsCombine(held)) {
        held[a] = {};
        continue;
      }
      parts[dim] *= sizes[a];
    }
    decided.tiling.tensors.push_back(tensor.updates.valid() ? decided.tiling.tensors[tensor.updates.index()] : held);
  }
  for (const ProgramOperator &op : program.operators) {
    std::vector<uint32_t> rules(sizes.size(), 0);
    std::vector<int64_t> parts(op.rules.size(), 1);
    for (size_t a = 0; a < sizes.size(); ++a) {
      const size_t rule = draw(op.rules.size());
      if (rule == 0 || !op.rules[rule].allows(parts[rule] * sizes[a]))
        continue;
      rules[a] = static_cast<uint32_t>(rule);
      if (rulesCombine(op, rules))
        parts[rule] *= sizes[a];
      else
        rules[a] = 0;
    }
    decided.tiling.rules.push_back(std::move(rules));
  }
  return decided;
}

struct Loaded {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;

  explicit Loaded(const std::string &text) {
    loadDataflow(context);
    context.loadDialect<func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    REQUIRE(module);
  }
  func::FuncOp main(ModuleOp of) { return *of.getOps<func::FuncOp>().begin(); }
  void run(ModuleOp on, std::unique_ptr<Pass> pass) {
    std::string problem;
    ScopedDiagnosticHandler capture(&context, [&](Diagnostic &diagnostic) {
      problem += diagnostic.str() + "\n";
      return success();
    });
    PassManager manager(&context);
    manager.addNestedPass<func::FuncOp>(std::move(pass));
    const bool succeeded = mlir::succeeded(manager.run(on));
    INFO(problem);
    REQUIRE(succeeded);
  }
};

/// Labels are classes, other numbers small.
std::vector<Tensor> makeArguments(func::FuncOp function, Rng &rng) {
  std::vector<Tensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    Fill fill;
    if (cast<RankedTensorType>(type).getElementType().isInteger(64))
      fill.low = 0, fill.high = 3;
    arguments.push_back(makeInput(type, fill, rng));
  }
  return arguments;
}

/// With `uneven`, the program has extents that leave a remainder, and all kinds of collectives of uneven parts. With
/// `strides`, parts of states and of operators are strided too.
void checkPartitions(const std::string &text, const std::string &optimizer, int rounds, bool uneven = false,
                     bool strides = false) {
  Loaded loaded(text);
  loaded.run(*loaded.module, createSimplifyPass());
  if (!optimizer.empty()) {
    TrainPassOptions train;
    train.optimizer = optimizer;
    loaded.run(*loaded.module, createTrainPass(train));
    loaded.run(*loaded.module, createSimplifyPass());
  }
  Rng rng(11);
  func::FuncOp whole = loaded.main(*loaded.module);
  const std::vector<Tensor> arguments = makeArguments(whole, rng);
  Ranks alone(1);
  for (auto [argument, tensor] : llvm::zip(whole.getArguments(), arguments))
    alone[0].insert({argument, tensor});
  runRanks(whole.front(), alone);

  std::map<std::string, int> seen, seenUneven;
  int stridedOperators = 0, stridedStates = 0;
  const std::vector<std::vector<int64_t>> meshes =
      uneven ? std::vector<std::vector<int64_t>>{{3}, {2, 2}, {2, 3}, {3, 2}, {4}, {5}}
             : std::vector<std::vector<int64_t>>{{2}, {4}, {2, 2}, {2, 1, 2}, {3, 2}};
  for (int round = 0; round < rounds; ++round) {
    OwningOpRef<ModuleOp> copy = loaded.module->clone();
    func::FuncOp function = loaded.main(*copy);
    auto bridged = buildTensorProgram(function);
    REQUIRE(bridged);
    const MeshTiling decided = randomTiling(bridged->program, meshes[round % meshes.size()], rng, strides);
    for (const ProgramOperator &op : bridged->program.operators)
      for (uint32_t rule : decided.tiling.rules[&op - bridged->program.operators.data()])
        stridedOperators += op.rules[rule].isStrided();
    annotateTiling(function, *bridged, decided);
    // What is written is what is read.
    auto read = readTiling(function, *bridged);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    REQUIRE(read->tiling.tensors == decided.tiling.tensors);
    REQUIRE(read->tiling.rules == decided.tiling.rules);
    loaded.run(*copy, createPartitionPass());
    loaded.run(*copy, createSimplifyPass());
    function = loaded.main(*copy);
    std::string ir;
    llvm::raw_string_ostream(ir) << function;
    INFO("round " << round << "\n" << ir);
    const auto numRanks = DataflowDialect::RanksAttrHelper(function->getContext()).getAttr(function).getInt();
    REQUIRE(numRanks == decided.mesh.numDevices());
    Ranks ranks(numRanks);
    for (Environment &values : ranks)
      for (auto [argument, tensor] : llvm::zip(function.getArguments(), arguments))
        values.insert({argument, tensor});
    runRanks(function.front(), ranks);
    function.walk([&](StateOp state) {
      if (state.getCuts())
        for (auto cut : state.getCuts()->getAsRange<CutAttr>())
          stridedStates += cut.getBlocks() > 1;
    });
    function.walk([&](CollectiveOpInterface op) {
      ++seen[op->getName().stripDialect().str()];
      if (op->hasAttr("uneven") || op->hasAttr("uneven_split"))
        ++seenUneven[op->getName().stripDialect().str()];
    });
    for (unsigned i = 0; i < whole.getNumResults(); ++i) {
      const Tensor &expected = alone[0].at(whole.front().getTerminator()->getOperand(i));
      const Value result = function.front().getTerminator()->getOperand(i);
      auto updates = function.getResultAttrOfType<StringAttr>(i, "dataflow.updates");
      for (int64_t r = 0; r < numRanks; ++r) {
        Tensor own = expected;
        if (updates)
          for (StateOp state : function.front().getOps<StateOp>())
            if (state.getName() == updates.getValue() && state.getCuts())
              for (auto cut : state.getCuts()->getAsRange<CutAttr>())
                own = part(own, cut, r);
        REQUIRE(ranks[r].at(result).type == own.type);
        CHECK(difference(ranks[r].at(result), own, 2e-4) == "");
      }
    }
  }
  if (strides) {
    CHECK(stridedOperators > 0);
    CHECK(stridedStates > 0);
  }
  // Random tilings need them all; halos only convolutions have.
  CHECK(seen["all_reduce"] > 0);
  std::map<std::string, int> &counted = uneven ? seenUneven : seen;
  for (const char *name : {"all_gather", "reduce_scatter", "all_to_all", "shard"})
    CHECK(counted[name] > 0);
  if (text.find("conv") != std::string::npos)
    CHECK(counted["halo"] > 0);
}

/// Constants that are no splats, of any shape: `name` is sin(0.7 + i * step).
std::string weights(const std::string &name, const std::string &shape, int64_t count, double step) {
  const std::string flat = "tensor<" + std::to_string(count) + "xf32>";
  return "%" + name + "0 = dataflow.constant dense<0.7> : tensor<f32>\n%" + name + "1 = dataflow.constant dense<" +
         std::to_string(step) + "> : tensor<f32>\n%" + name + "2 = dataflow.range %" + name + "0, %" + name +
         "1 : (tensor<f32>, tensor<f32>) -> " + flat + "\n%" + name + "3 = dataflow.unary sin %" + name +
         "2 : " + flat + "\n%" + name + " = dataflow.reshape %" + name + "3 : " + flat + " -> tensor<" + shape +
         "xf32>\n";
}

/// A trainable state whose elements differ.
std::string state(const std::string &name, const std::vector<int64_t> &shape) {
  std::string text = "", type = "";
  int64_t count = 1;
  for (int64_t extent : shape) {
    type += std::to_string(extent) + "x";
    count *= extent;
  }
  Rng rng(count);
  std::function<void(size_t)> write = [&](size_t dim) {
    if (dim == shape.size()) {
      text += std::to_string(rng.uniform() - 0.5);
      return;
    }
    text += "[";
    for (int64_t i = 0; i < shape[dim]; ++i) {
      text += i ? ", " : "";
      write(dim + 1);
    }
    text += "]";
  };
  write(0);
  return "%" + name + " = dataflow.state \"" + name + "\" trainable dense<" + text + "> : tensor<" + type + "f32>\n";
}

} // namespace

TEST_CASE("a perceptron's ranks compute what it does whole", "[passes][tiling]") {
  const std::string body = R"(
      %h = dataflow.matmul %x, %w : tensor<12x8xf32>, tensor<8x12xf32>
      %b = dataflow.binary add %h, %v : tensor<12x12xf32>, tensor<12xf32>
      %a = dataflow.unary tanh %b : tensor<12x12xf32>
      %y = dataflow.matmul %a, %u : tensor<12x12xf32>, tensor<12x4xf32>
      return %y : tensor<12x4xf32>
    })";
  const std::string head = "func.func @main(%x: tensor<12x8xf32>) -> tensor<12x4xf32> {\n";
  checkPartitions(head + weights("w", "8x12", 96, 0.3) + weights("v", "12", 12, 0.5) + weights("u", "12x4", 48, 0.4) +
                      body,
                  "", 40);
  checkPartitions(head + state("w", {8, 12}) + state("v", {12}) + state("u", {12, 4}) + body, "adam", 40);
}

TEST_CASE("a convolutional network's ranks compute what it does whole", "[passes][tiling]") {
  const std::string body = R"(
      %c = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<4x2x12x12xf32>, tensor<4x2x3x3xf32> -> tensor<4x4x12x12xf32>
      %r = dataflow.unary relu %c : tensor<4x4x12x12xf32>
      %p = dataflow.pool max %r kernel [3, 3] strides [2, 2] pads [1, 1] to [0, 0] dilations [1, 1] : tensor<4x4x12x12xf32> -> tensor<4x4x6x6xf32>
      %d = dataflow.conv %p, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<4x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<4x4x6x6xf32>
      %m = dataflow.reduce mean %d axes [2, 3] : tensor<4x4x6x6xf32> -> tensor<4x4xf32>
      %y = dataflow.matmul %m, %u : tensor<4x4xf32>, tensor<4x4xf32>
      return %y : tensor<4x4xf32>
    })";
  const std::string head = "func.func @main(%x: tensor<4x2x12x12xf32>) -> tensor<4x4xf32> {\n";
  checkPartitions(head + state("w", {4, 2, 3, 3}) + state("v", {4, 4, 3, 3}) + state("u", {4, 4}) + body, "momentum",
                  30);
}

TEST_CASE("a transformer's ranks compute what it does whole", "[passes][tiling]") {
  const std::string body = R"(
      %e = dataflow.gather %table, %x {axis = 0 : i64} : tensor<12x8xf32>, tensor<2x6xi64> -> tensor<2x6x8xf32>
      %n = dataflow.layer_norm %e, %scale {axis = 2 : i64, epsilon = 1.0e-5 : f64} : tensor<2x6x8xf32>, tensor<8xf32> -> tensor<2x6x8xf32>
      %q = dataflow.matmul %n, %wq : tensor<2x6x8xf32>, tensor<8x8xf32>
      %k = dataflow.matmul %n, %wk : tensor<2x6x8xf32>, tensor<8x8xf32>
      %qh = dataflow.reshape %q : tensor<2x6x8xf32> -> tensor<2x6x4x2xf32>
      %kh = dataflow.reshape %k : tensor<2x6x8xf32> -> tensor<2x6x4x2xf32>
      %qt = dataflow.transpose %qh [0, 2, 1, 3] : tensor<2x6x4x2xf32>
      %kt = dataflow.transpose %kh [0, 2, 1, 3] : tensor<2x6x4x2xf32>
      %s = dataflow.matmul %qt, %kt transposed : tensor<2x4x6x2xf32>, tensor<2x4x6x2xf32>
      %p = dataflow.softmax %s {axis = 3 : i64} : tensor<2x4x6x6xf32> -> tensor<2x4x6x6xf32>
      %o = dataflow.matmul %p, %kt : tensor<2x4x6x6xf32>, tensor<2x4x6x2xf32>
      %ot = dataflow.transpose %o [0, 2, 1, 3] : tensor<2x4x6x2xf32>
      %oh = dataflow.reshape %ot : tensor<2x6x4x2xf32> -> tensor<2x6x8xf32>
      %r = dataflow.binary add %e, %oh : tensor<2x6x8xf32>, tensor<2x6x8xf32>
      %f = dataflow.matmul %r, %up : tensor<2x6x8xf32>, tensor<8x12xf32>
      %g = dataflow.unary gelu %f : tensor<2x6x12xf32>
      %y = dataflow.matmul %g, %down : tensor<2x6x12xf32>, tensor<12x4xf32>
      return %y : tensor<2x6x4xf32>
    })";
  const std::string head = "func.func @main(%x: tensor<2x6xi64>) -> tensor<2x6x4xf32> {\n";
  checkPartitions(head + state("table", {12, 8}) + state("scale", {8}) + state("wq", {8, 8}) + state("wk", {8, 8}) +
                      state("up", {8, 12}) + state("down", {12, 4}) + body,
                  "sgd", 30);
}

TEST_CASE("ranks with parts of fused weights compute what the whole does", "[passes][tiling]") {
  // Queries, keys and values of 4 heads in one matrix; a gate and a value in another.
  const std::string body = R"(
      %q = dataflow.matmul %x, %qkv : tensor<2x6x8xf32>, tensor<8x24xf32>
      %b = dataflow.binary add %q, %bias : tensor<2x6x24xf32>, tensor<24xf32>
      %q0 = dataflow.slice %b from [0, 0, 0] by [1, 1, 1] : tensor<2x6x24xf32> -> tensor<2x6x8xf32>
      %k0 = dataflow.slice %b from [0, 0, 8] by [1, 1, 1] : tensor<2x6x24xf32> -> tensor<2x6x8xf32>
      %v0 = dataflow.slice %b from [0, 0, 16] by [1, 1, 1] : tensor<2x6x24xf32> -> tensor<2x6x8xf32>
      %q1 = dataflow.reshape %q0 : tensor<2x6x8xf32> -> tensor<2x6x4x2xf32>
      %k1 = dataflow.reshape %k0 : tensor<2x6x8xf32> -> tensor<2x6x4x2xf32>
      %v1 = dataflow.reshape %v0 : tensor<2x6x8xf32> -> tensor<2x6x4x2xf32>
      %q2 = dataflow.transpose %q1 [0, 2, 1, 3] : tensor<2x6x4x2xf32>
      %k2 = dataflow.transpose %k1 [0, 2, 1, 3] : tensor<2x6x4x2xf32>
      %v2 = dataflow.transpose %v1 [0, 2, 1, 3] : tensor<2x6x4x2xf32>
      %s = dataflow.matmul %q2, %k2 transposed : tensor<2x4x6x2xf32>, tensor<2x4x6x2xf32>
      %p = dataflow.softmax %s {axis = 3 : i64} : tensor<2x4x6x6xf32> -> tensor<2x4x6x6xf32>
      %o = dataflow.matmul %p, %v2 : tensor<2x4x6x6xf32>, tensor<2x4x6x2xf32>
      %ot = dataflow.transpose %o [0, 2, 1, 3] : tensor<2x4x6x2xf32>
      %oh = dataflow.reshape %ot : tensor<2x6x4x2xf32> -> tensor<2x6x8xf32>
      %r = dataflow.binary add %x, %oh : tensor<2x6x8xf32>, tensor<2x6x8xf32>
      %f = dataflow.matmul %r, %up : tensor<2x6x8xf32>, tensor<8x16xf32>
      %f0 = dataflow.slice %f from [0, 0, 0] by [1, 1, 1] : tensor<2x6x16xf32> -> tensor<2x6x8xf32>
      %f1 = dataflow.slice %f from [0, 0, 8] by [1, 1, 1] : tensor<2x6x16xf32> -> tensor<2x6x8xf32>
      %g = dataflow.unary sigmoid %f0 : tensor<2x6x8xf32>
      %m = dataflow.binary mul %g, %f1 : tensor<2x6x8xf32>, tensor<2x6x8xf32>
      %y = dataflow.matmul %m, %down : tensor<2x6x8xf32>, tensor<8x4xf32>
      return %y : tensor<2x6x4xf32>
    })";
  const std::string head = "func.func @main(%x: tensor<2x6x8xf32>) -> tensor<2x6x4xf32> {\n";
  checkPartitions(head + state("qkv", {8, 24}) + state("bias", {24}) + state("up", {8, 16}) + state("down", {8, 4}) +
                      body,
                  "momentum", 24, false, true);
}

TEST_CASE("ranks with uneven parts compute what the whole does", "[passes][tiling]") {
  const std::string perceptron = R"(
      %h = dataflow.matmul %x, %w : tensor<10x7xf32>, tensor<7x11xf32>
      %b = dataflow.binary add %h, %v : tensor<10x11xf32>, tensor<11xf32>
      %a = dataflow.unary tanh %b : tensor<10x11xf32>
      %n = dataflow.reduce mean %a axes [0] : tensor<10x11xf32> -> tensor<11xf32>
      %m = dataflow.reduce max %a axes [0] : tensor<10x11xf32> -> tensor<11xf32>
      %c = dataflow.binary sub %a, %n : tensor<10x11xf32>, tensor<11xf32>
      %d = dataflow.binary div %c, %m : tensor<10x11xf32>, tensor<11xf32>
      %y = dataflow.matmul %d, %u : tensor<10x11xf32>, tensor<11x5xf32>
      return %y : tensor<10x5xf32>
    })";
  const std::string head = "func.func @main(%x: tensor<10x7xf32>) -> tensor<10x5xf32> {\n";
  checkPartitions(head + weights("w", "7x11", 77, 0.3) + weights("v", "11", 11, 0.5) + weights("u", "11x5", 55, 0.4) +
                      perceptron,
                  "", 60, true);
  checkPartitions(head + state("w", {7, 11}) + state("v", {11}) + state("u", {11, 5}) + perceptron, "adam", 60, true);

  // Images of odd sizes with halos, and windows of two positions that leave no row out.
  const std::string network = R"(
      %c = dataflow.conv %x, %w strides [1, 1] pads [1, 2, 1, 2] dilations [1, 1] : tensor<5x3x9x11xf32>, tensor<5x3x3x5xf32> -> tensor<5x5x9x11xf32>
      %r = dataflow.unary relu %c : tensor<5x5x9x11xf32>
      %p = dataflow.pool max %r kernel [3, 3] strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<5x5x9x11xf32> -> tensor<5x5x9x11xf32>
      %d = dataflow.conv %p, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<5x5x9x11xf32>, tensor<7x5x3x3xf32> -> tensor<5x7x9x11xf32>
      %m = dataflow.reduce mean %d axes [2, 3] : tensor<5x7x9x11xf32> -> tensor<5x7xf32>
      %y = dataflow.matmul %m, %u : tensor<5x7xf32>, tensor<7x5xf32>
      return %y : tensor<5x5xf32>
    })";
  const std::string images = "func.func @main(%x: tensor<5x3x9x11xf32>) -> tensor<5x5xf32> {\n";
  checkPartitions(images + state("w", {5, 3, 3, 5}) + state("v", {7, 5, 3, 3}) + state("u", {7, 5}) + network,
                  "momentum", 30, true);

  const std::string transformer = R"(
      %e = dataflow.gather %table, %x {axis = 0 : i64} : tensor<11x10xf32>, tensor<3x7xi64> -> tensor<3x7x10xf32>
      %n = dataflow.layer_norm %e, %scale {axis = 2 : i64, epsilon = 1.0e-5 : f64} : tensor<3x7x10xf32>, tensor<10xf32> -> tensor<3x7x10xf32>
      %q = dataflow.matmul %n, %wq : tensor<3x7x10xf32>, tensor<10x10xf32>
      %qh = dataflow.reshape %q : tensor<3x7x10xf32> -> tensor<3x7x5x2xf32>
      %qt = dataflow.transpose %qh [0, 2, 1, 3] : tensor<3x7x5x2xf32>
      %s = dataflow.matmul %qt, %qt transposed : tensor<3x5x7x2xf32>, tensor<3x5x7x2xf32>
      %p = dataflow.softmax %s {axis = 3 : i64} : tensor<3x5x7x7xf32> -> tensor<3x5x7x7xf32>
      %o = dataflow.matmul %p, %qt : tensor<3x5x7x7xf32>, tensor<3x5x7x2xf32>
      %ot = dataflow.transpose %o [0, 2, 1, 3] : tensor<3x5x7x2xf32>
      %oh = dataflow.reshape %ot : tensor<3x7x5x2xf32> -> tensor<3x7x10xf32>
      %r = dataflow.binary add %e, %oh : tensor<3x7x10xf32>, tensor<3x7x10xf32>
      %f = dataflow.matmul %r, %up : tensor<3x7x10xf32>, tensor<10x13xf32>
      %g = dataflow.unary gelu %f : tensor<3x7x13xf32>
      %y = dataflow.matmul %g, %down : tensor<3x7x13xf32>, tensor<13x5xf32>
      return %y : tensor<3x7x5xf32>
    })";
  const std::string tokens = "func.func @main(%x: tensor<3x7xi64>) -> tensor<3x7x5xf32> {\n";
  checkPartitions(tokens + state("table", {11, 10}) + state("scale", {10}) + state("wq", {10, 10}) +
                      state("up", {10, 13}) + state("down", {13, 5}) + transformer,
                  "sgd", 30, true);
}

TEST_CASE("half precision is summed in single", "[passes][tiling]") {
  Loaded loaded(R"(
    func.func @main(%x: tensor<4x8xf16> {dataflow.tiling = #dataflow.tiling<S1>}, %w: tensor<8x4xf16> {dataflow.tiling = #dataflow.tiling<S0>}) -> tensor<4x4xf16>
        attributes {dataflow.mesh = array<i64: 2>} {
      %y = dataflow.matmul %x, %w {dataflow.rules = ["contraction"]} : tensor<4x8xf16>, tensor<8x4xf16>
      return %y : tensor<4x4xf16>
    })");
  loaded.run(*loaded.module, createPartitionPass());
  int casts = 0;
  loaded.module->walk([&](AllReduceOp op) {
    CHECK(op.getType().getElementType().isF32());
    CHECK(op.getInput().getDefiningOp<CastOp>());
    casts += isa<CastOp>(*op->user_begin());
  });
  CHECK(casts == 1);
}
