//===- PartitionModel.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionModel.h"

#include "sluice/Support/Count.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace sluice {

Tiling replicatedTiling(const TensorProgram &program, size_t axes) {
  Tiling tiling;
  tiling.tensors.assign(program.tensors.size(), std::vector<AxisTiling>(axes));
  tiling.rules.assign(program.operators.size(), std::vector<uint32_t>(axes));
  return tiling;
}

PartitionModel::PartitionModel(const TensorProgram &program, const PartitionMachine &machine, PartitionCost cost)
    : program(program), machine(machine), cost(cost) {
  constexpr int64_t kNegligible = 256;
  for (const ProgramOperator &op : program.operators)
    negligibleFlops = std::max(negligibleFlops, op.flops / kNegligible);
  nodeOf.assign(program.tensors.size(), ~uint32_t(0));
  for (size_t t = 0; t < program.tensors.size(); ++t)
    if (!program.tensors[t].updates.valid())
      nodeOf[t] = numTensorNodes++;
  for (size_t t = 0; t < program.tensors.size(); ++t)
    if (program.tensors[t].updates.valid())
      nodeOf[t] = nodeOf[program.tensors[t].updates.index()];
  splits.resize(numTensorNodes);
  auto note = [&](TensorId id, AxisTiling tiling) {
    std::vector<AxisTiling> &list = splits[nodeOf[id.index()]];
    if (tiling.isSplit() && std::find(list.begin(), list.end(), tiling) == list.end())
      list.push_back(tiling);
  };
  for (const ProgramOperator &op : program.operators)
    for (const TilingRule &rule : op.rules) {
      for (size_t i = 0; i < op.operands.size(); ++i)
        note(op.operands[i], rule.operands[i]);
      for (size_t i = 0; i < op.results.size(); ++i) {
        note(op.results[i], rule.results[i]);
        // Partial results may be scattered along any dimension.
        if (rule.results[i].isPartial())
          for (uint32_t d = 0; d < program.tensors[op.results[i].index()].shape.size(); ++d)
            note(op.results[i], AxisTiling::split(d));
      }
    }
  for (std::vector<AxisTiling> &list : splits)
    std::sort(list.begin(), list.end(),
              [](AxisTiling a, AxisTiling b) { return std::pair(a.blocks, a.dim) < std::pair(b.blocks, b.dim); });
  std::map<std::pair<std::vector<int64_t>, int64_t>, uint32_t> shapes;
  for (const ProgramTensor &tensor : program.tensors)
    shapeOf.push_back(
        shapes.try_emplace({tensor.shape, tensor.elementBytes}, static_cast<uint32_t>(shapes.size())).first->second);
  findKinds();
}

TilingCode codeOf(const std::vector<AxisTiling> &tilings) {
  TilingCode code;
  for (AxisTiling t : tilings) {
    code.kinds = code.kinds << 5 | (t.isReplicated() ? 0
                                    : t.isSplit()    ? 1 + t.dim
                                                     : 1 + kMostTiledDims + static_cast<uint64_t>(t.reduction));
    code.blocks = code.blocks << 5 | t.blocks;
  }
  return code;
}

/// Gives distinct keys ascending numbers from 0.
template <typename Key>
class Numbering {
public:
  uint32_t of(const Key &key) { return numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second; }

private:
  std::map<Key, uint32_t> numbers;
};

void PartitionModel::findKinds() {
  Numbering<std::vector<int64_t>> kinds;
  Numbering<std::string> names;
  for (const ProgramOperator &op : program.operators) {
    std::vector<TensorId> slots = op.operands;
    slots.insert(slots.end(), op.results.begin(), op.results.end());
    std::vector<int64_t> key{names.of(op.kind), op.flops, op.bytesMoved, static_cast<int64_t>(op.operands.size()),
                             static_cast<int64_t>(slots.size())};
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      const uint32_t node = nodeOf[slots[slot].index()];
      key.push_back(shapeOf[slots[slot].index()]);
      key.push_back(std::find(slots.begin(), slots.end(), slots[slot]) - slots.begin());
      key.push_back(std::find_if(slots.begin(), slots.end(), [&](TensorId id) { return nodeOf[id.index()] == node; }) -
                    slots.begin());
    }
    for (const TilingRule &rule : op.rules) {
      for (const std::vector<AxisTiling> *tilings : {&rule.operands, &rule.results})
        for (AxisTiling tiling : *tilings)
          key.insert(key.end(), {static_cast<int64_t>(codeOf({tiling}).kinds), tiling.blocks});
      key.insert(key.end(), {rule.divisor, rule.mostParts, rule.dividesWork, rule.uneven,
                             static_cast<int64_t>(rule.halos.size())});
      for (const Halo &halo : rule.halos)
        key.insert(key.end(), {halo.low, halo.high, static_cast<int64_t>(halo.fill)});
    }
    kindOf.push_back(kinds.of(key));
  }
}

int64_t PartitionModel::convert(TensorId id, const std::vector<AxisTiling> &from, const std::vector<AxisTiling> &to) {
  if (from == to)
    return 0;
  const TilingCode source = codeOf(from), target = codeOf(to);
  auto [entry, isNew] =
      known.try_emplace({source.kinds, source.blocks, target.kinds, target.blocks, shapeOf[id.index()]});
  if (isNew)
    entry->second = conversionCost(cost, program.tensors[id.index()], from, to, machine.mesh);
  return entry->second;
}

int64_t PartitionModel::work(const ProgramOperator &op, const std::vector<uint32_t> &rules) const {
  int64_t sum = cost == PartitionCost::Time ? operatorNs(op, rules, machine) : 0;
  for (size_t slot = 0; slot < op.operands.size(); ++slot)
    sum = saturatingAdd(
        sum, stepsCost(cost, planHalos(op, slot, program.tensors[op.operands[slot].index()], rules, machine.mesh),
                       machine.mesh));
  return sum;
}

int64_t PartitionModel::pays(const ProgramOperator &op, TensorId id, const std::vector<uint32_t> &rules,
                             const std::vector<AxisTiling> &held, const std::vector<AxisTiling> &copy,
                             std::optional<uint32_t> recursiveAxis) {
  const ProgramTensor &tensor = program.tensors[id.index()];
  int64_t sum = 0;
  std::vector<std::vector<AxisTiling>> seen;
  auto pay = [&](std::vector<AxisTiling> form, bool isResult) {
    if (!isResult) {
      if (std::find(seen.begin(), seen.end(), form) != seen.end())
        return;
      seen.push_back(form);
    }
    if (!recursiveAxis) {
      if (isResult || form != copy)
        sum = saturatingAdd(sum, isResult ? convert(id, form, held) : convert(id, held, form));
      return;
    }
    const std::vector<AxisTiling> &from = isResult ? form : held, &to = isResult ? held : form;
    uint32_t axis = *recursiveAxis;
    sum = saturatingAdd(sum, ghostBytes(shapeWithin(tensor, from, to, axis, machine.mesh), tensor.elementBytes,
                                        {from[axis]}, {to[axis]}, Mesh{{machine.mesh.axes[axis]}}));
  };
  auto forms = [&](const std::vector<TensorId> &slots, std::vector<AxisTiling> TilingRule::*which, bool areResults) {
    for (size_t slot = 0; slot < slots.size(); ++slot)
      if (slots[slot] == id) {
        std::vector<AxisTiling> form;
        for (uint32_t rule : rules)
          form.push_back((op.rules[rule].*which)[slot]);
        pay(std::move(form), areResults);
      }
  };
  forms(op.operands, &TilingRule::operands, false);
  forms(op.results, &TilingRule::results, true);
  return sum;
}

/// All ways to give each of `axes` one of its options that `isValid` accepts; the other axes are as in `given`.
template <typename T, typename Options, typename Valid>
static std::vector<std::vector<T>> tuples(const std::vector<uint32_t> &axes, const std::vector<T> &given,
                                          Options options, Valid isValid) {
  std::vector<std::vector<T>> all{given};
  for (uint32_t axis : axes) {
    std::vector<std::vector<T>> more;
    for (const std::vector<T> &tuple : all)
      for (const T &option : options(axis)) {
        more.push_back(tuple);
        more.back()[axis] = option;
      }
    all = std::move(more);
  }
  std::vector<std::vector<T>> valid;
  for (std::vector<T> &tuple : all)
    if (isValid(tuple))
      valid.push_back(std::move(tuple));
  return valid;
}

/// `given`, made whole (a tensor) or replicated (an operator) along `axes`.
template <typename T>
static std::vector<T> wholeAlong(const std::vector<uint32_t> &axes, std::vector<T> given) {
  for (uint32_t axis : axes)
    given[axis] = T();
  return given;
}

/// Makes one instance: operator by operator, with the tensors each one touches.
class PartitionModel::Builder {
public:
  Builder(PartitionModel &model, const Request &request)
      : model(model), request(request), mesh(model.machine.mesh), ranges(liveRanges(model.program)),
        tensorOf(model.numTensorNodes), tuplesOf(model.numTensorNodes), heldOf(model.numTensorNodes),
        copies(model.numTensorNodes), isShared(model.program.tensors.size()) {
    instance.problem.name = model.program.name;
    instance.problem.usageLimit = request.memoryBytes;
    instance.problem.nodes.resize(model.numTensorNodes);
    instance.tilings.resize(model.numTensorNodes);
    instance.isView.assign(model.numTensorNodes, false);
    for (uint32_t t = 0; t < model.program.tensors.size(); ++t)
      if (!model.program.tensors[t].updates.valid())
        tensorOf[model.nodeOf[t]] = t;
    if (request.sharesCopies)
      findShared();
  }

  std::optional<Instance> run() {
    // Before the first cost is computed, which takes much longer than counting.
    if (hasTooManyEntries())
      return std::nullopt;
    for (uint32_t i = 0; i < model.program.operators.size(); ++i)
      addOperator(OperatorId(i));
    for (uint32_t node = 0; node < model.numTensorNodes; ++node)
      describeTensor(node);
    return std::move(instance);
  }

private:
  /// A tensor node that an operator touches.
  struct Adjacent {
    uint32_t node = 0, slot = 0; ///< The first of the operator's slots that holds one of the tensors.
    std::vector<TensorId> ids;
  };
  using RuleTuples = std::vector<std::vector<uint32_t>>;

  int64_t partsAlong(const auto &tuple, const auto &choice) const {
    int64_t parts = 1;
    for (size_t axis = 0; axis < tuple.size(); ++axis)
      if (tuple[axis] == choice)
        parts *= mesh.axes[axis].size;
    return parts;
  }

  /// The tensor's tilings that it can be held in and that the filter accepts.
  std::vector<std::vector<AxisTiling>> tensorTuples(uint32_t node) const {
    const uint32_t t = tensorOf[node];
    const ProgramTensor &tensor = model.program.tensors[t];
    auto options = [&](uint32_t) {
      std::vector<AxisTiling> list{AxisTiling()};
      list.insert(list.end(), model.splits[node].begin(), model.splits[node].end());
      return list;
    };
    auto isPossible = [&](const std::vector<AxisTiling> &tuple) {
      return tilingsCombine(tuple) &&
             std::all_of(model.splits[node].begin(), model.splits[node].end(), [&](AxisTiling split) {
               return tensor.canSplit(split.dim, partsAlong(tuple, split), split.blocks);
             });
    };
    const std::vector<AxisTiling> &given = request.given.tensors[t];
    if (!request.filter.tensor)
      return tuples(request.axes, given, options, isPossible);
    auto isWanted = [&](const std::vector<AxisTiling> &tuple) {
      return isPossible(tuple) && std::all_of(request.axes.begin(), request.axes.end(), [&](uint32_t axis) {
               return request.filter.tensor(TensorId(t), tuple[axis]);
             });
    };
    std::vector<std::vector<AxisTiling>> list = tuples(request.axes, given, options, isWanted);
    if (list.empty())
      list = {wholeAlong(request.axes, given)};
    return list;
  }

  void findShared() {
    constexpr size_t kNone = ~size_t(0);
    std::vector<size_t> reader(model.program.tensors.size(), kNone);
    for (size_t i = 0; i < model.program.operators.size(); ++i)
      for (TensorId id : model.program.operators[i].operands) {
        isShared[id.index()] = isShared[id.index()] || (reader[id.index()] != kNone && reader[id.index()] != i);
        reader[id.index()] = i;
      }
  }

  /// Lists the rules of the operators and the tilings of their tensors, until the matrices would have too many entries.
  bool hasTooManyEntries() {
    Count entries; // In all matrices, counted once per edge.
    for (uint32_t i = 0; i < model.program.operators.size(); ++i) {
      instance.rules.push_back(ruleTuples(OperatorId(i)));
      for (const Adjacent &adjacent : adjacentOf(model.program.operators[i])) {
        std::vector<std::vector<AxisTiling>> &list = tuplesOf[adjacent.node];
        if (list.empty())
          list = tensorTuples(adjacent.node);
        entries +=
            Count(list.size()) * (isShared[tensorOf[adjacent.node]] ? list.size() : 1) * instance.rules[i].size();
        if (entries > Count(request.mostEntries))
          return true;
      }
    }
    return false;
  }

  /// Fills the node of a tensor.
  void describeTensor(uint32_t node) {
    if (!instance.tilings[node].empty())
      return;
    const uint32_t t = tensorOf[node];
    const ProgramTensor &tensor = model.program.tensors[t];
    const std::vector<std::vector<AxisTiling>> tuples =
        tuplesOf[node].empty() ? tensorTuples(node) : std::move(tuplesOf[node]);
    std::vector<std::vector<AxisTiling>> list;
    for (const std::vector<AxisTiling> &held : tuples)
      for (const std::vector<AxisTiling> &copy : isShared[t] ? tuples : std::vector<std::vector<AxisTiling>>{held}) {
        list.push_back(held);
        copies[node].push_back(copy);
      }
    TilingNode &entry = instance.problem.nodes[node];
    entry.name = tensor.name;
    entry.lower = ranges[t].begin;
    entry.upper = ranges[t].end;
    std::vector<TilingCode> codes;
    for (size_t i = 0; i < list.size(); ++i) {
      entry.costs.push_back(std::min(model.convert(TensorId(t), list[i], copies[node][i]), kForbiddenTilingCost - 1));
      entry.usages.push_back(partBytes(tensor, list[i], mesh));
      codes.push_back(codeOf(list[i]));
      codes.push_back(codeOf(copies[node][i]));
    }
    heldOf[node] = heldNumbers.of(codes);
    instance.tilings[node] = std::move(list);
  }

  /// The operator's rules per axis that the mesh allows and the filter accepts.
  RuleTuples ruleTuples(OperatorId id) const {
    const ProgramOperator &op = model.program.operators[id.index()];
    const std::vector<uint32_t> &given = request.given.rules[id.index()];
    if (op.peer) {
      const std::vector<uint32_t> only = messageRules(op, mesh);
      RuleTuples list{given};
      for (uint32_t axis : request.axes)
        list.front()[axis] = only[axis];
      return list;
    }
    const bool hasStrides =
        std::any_of(op.rules.begin(), op.rules.end(), [](const TilingRule &rule) { return rule.isStrided(); });
    auto options = [&](uint32_t axis) {
      std::vector<uint32_t> list;
      for (uint32_t r = 0; r < op.rules.size(); ++r)
        if (op.rules[r].allows(mesh.axes[axis].size))
          list.push_back(r);
      return list;
    };
    auto isAllowed = [&](const std::vector<uint32_t> &tuple) {
      return std::all_of(tuple.begin(), tuple.end(),
                         [&](uint32_t rule) { return op.rules[rule].allows(partsAlong(tuple, rule)); }) &&
             (!hasStrides || rulesCombine(op, tuple));
    };
    RuleTuples list;
    for (const auto &filter : request.filter.rules) {
      if (!list.empty())
        break;
      list = tuples(request.axes, given, options, [&](const std::vector<uint32_t> &tuple) {
        return isAllowed(tuple) && std::all_of(request.axes.begin(), request.axes.end(),
                                               [&](uint32_t axis) { return filter(id, tuple[axis]); });
      });
    }
    if (request.filter.rules.empty())
      list = tuples(request.axes, given, options, isAllowed);
    else if (list.empty())
      list = {wholeAlong(request.axes, given)};
    if (request.recursive || !model.mayRepeat(op))
      keepFewestWhole(list);
    return list;
  }

  /// Keeps the tuples that run whole along the fewest axes.
  void keepFewestWhole(RuleTuples &list) const {
    auto whole = [&](const std::vector<uint32_t> &tuple) {
      return std::count_if(request.axes.begin(), request.axes.end(), [&](uint32_t axis) { return tuple[axis] == 0; });
    };
    ptrdiff_t fewest = std::numeric_limits<ptrdiff_t>::max();
    for (const std::vector<uint32_t> &tuple : list)
      fewest = std::min(fewest, whole(tuple));
    std::erase_if(list, [&](const std::vector<uint32_t> &tuple) { return whole(tuple) > fewest; });
  }

  std::vector<Adjacent> adjacentOf(const ProgramOperator &op) const {
    std::vector<Adjacent> adjacent;
    uint32_t slot = 0;
    for (const std::vector<TensorId> *slots : {&op.operands, &op.results})
      for (TensorId id : *slots) {
        const uint32_t node = model.nodeOf[id.index()];
        auto found =
            std::find_if(adjacent.begin(), adjacent.end(), [&](const Adjacent &each) { return each.node == node; });
        if (found == adjacent.end())
          found = adjacent.insert(found, {node, slot, {}});
        if (std::find(found->ids.begin(), found->ids.end(), id) == found->ids.end())
          found->ids.push_back(id);
        ++slot;
      }
    return adjacent;
  }

  /// Adds the operator's node and its edges.
  void addOperator(OperatorId id) {
    TilingProblem &problem = instance.problem;
    const ProgramOperator &op = model.program.operators[id.index()];
    const RuleTuples &list = instance.rules[id.index()];
    const uint32_t kind = model.kindOf[id.index()], rules = ruleNumbers.of(list);
    const auto node = static_cast<uint32_t>(problem.nodes.size());
    TilingNode entry;
    entry.name = op.name;
    if (auto [like, isNew] = nodeLike.try_emplace({kind, rules}, node); !isNew)
      entry.costs = problem.nodes[like->second].costs;
    else
      for (const std::vector<uint32_t> &tuple : list)
        entry.costs.push_back(request.recursive ? 0 : model.work(op, tuple));
    entry.usages.assign(list.size(), 0);
    problem.nodes.push_back(std::move(entry));
    instance.isView.push_back(op.flops == 0 && op.operands.size() == 1 && op.results.size() == 1);
    for (const Adjacent &adjacent : adjacentOf(op)) {
      describeTensor(adjacent.node);
      auto [shared, isNew] = matrixOf.try_emplace({kind, rules, adjacent.slot, heldOf[adjacent.node]},
                                                  static_cast<uint32_t>(problem.matrices.size()));
      problem.edges.push_back({adjacent.node, node, shared->second});
      if (isNew)
        problem.matrices.push_back(matrix(op, adjacent, list));
    }
  }

  /// The operator's cost for a tensor, per tiling of the tensor and per rule of the operator.
  TilingMatrix matrix(const ProgramOperator &op, const Adjacent &adjacent, const RuleTuples &list) {
    const std::vector<std::vector<AxisTiling>> &held = instance.tilings[adjacent.node];
    const TensorId copied(tensorOf[adjacent.node]);
    const std::optional<uint32_t> recursiveAxis = request.recursive ? std::optional(request.axes[0]) : std::nullopt;
    TilingMatrix matrix{static_cast<uint32_t>(held.size()), static_cast<uint32_t>(list.size()), {}};
    matrix.costs.reserve(held.size() * list.size());
    for (size_t i = 0; i < held.size(); ++i)
      for (const std::vector<uint32_t> &choice : list) {
        int64_t sum = 0;
        for (TensorId id : adjacent.ids)
          sum = saturatingAdd(sum, model.pays(op, id, choice, held[i],
                                              id == copied ? copies[adjacent.node][i] : held[i], recursiveAxis));
        matrix.costs.push_back(std::min(sum, kForbiddenTilingCost - 1));
      }
    return matrix;
  }

  PartitionModel &model;
  const Request &request;
  const Mesh &mesh;
  const std::vector<LiveRange> ranges; ///< Per tensor.
  std::vector<uint32_t> tensorOf;      ///< Per tensor node: the tensor that updates none.
  Instance instance;
  std::vector<std::vector<std::vector<AxisTiling>>> tuplesOf; ///< Per tensor node: its tilings, until it is described.
  // Operators of one kind, by the same rules, of tensors held in the same ways, have one matrix.
  Numbering<std::vector<TilingCode>> heldNumbers;
  Numbering<RuleTuples> ruleNumbers;
  std::vector<uint32_t> heldOf;                               ///< Per tensor node, described.
  std::vector<std::vector<std::vector<AxisTiling>>> copies;   ///< [node of a tensor][strategy][axis]
  std::vector<bool> isShared;                                 ///< Per tensor: several operators share its copy.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodeLike; ///< [kind, rules]: a node that has their costs.
  std::map<std::array<uint32_t, 4>, uint32_t> matrixOf;       ///< [kind, rules, slot, held]
};

std::optional<PartitionModel::Instance> PartitionModel::build(const Request &request) {
  return Builder(*this, request).run();
}

Tiling PartitionModel::decode(const Instance &instance, const std::vector<uint32_t> &choice) const {
  Tiling tiling;
  for (uint32_t node : nodeOf)
    tiling.tensors.push_back(instance.tilings[node][choice[node]]);
  for (size_t i = 0; i < program.operators.size(); ++i)
    tiling.rules.push_back(instance.rules[i][choice[numTensorNodes + i]]);
  return tiling;
}

std::optional<std::vector<uint32_t>> PartitionModel::encode(const Instance &instance, const Tiling &tiling) const {
  std::vector<uint32_t> choice(numTensorNodes + program.operators.size());
  auto find = [&](const auto &list, const auto &tuple, uint32_t node) {
    auto at = std::find(list.begin(), list.end(), tuple);
    choice[node] = static_cast<uint32_t>(at - list.begin());
    return at != list.end();
  };
  for (size_t t = 0; t < nodeOf.size(); ++t)
    if (!find(instance.tilings[nodeOf[t]], tiling.tensors[t], nodeOf[t]))
      return std::nullopt;
  for (uint32_t i = 0; i < program.operators.size(); ++i)
    if (!find(instance.rules[i], tiling.rules[i], numTensorNodes + i))
      return std::nullopt;
  return choice;
}

int64_t PartitionModel::charge(const Tiling &tiling) {
  int64_t sum = 0;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const ProgramOperator &op = program.operators[i];
    sum = saturatingAdd(sum, work(op, tiling.rules[i]));
    std::vector<TensorId> ids;
    for (const std::vector<TensorId> *slots : {&op.operands, &op.results})
      for (TensorId id : *slots)
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
          ids.push_back(id);
          const std::vector<AxisTiling> &held = tiling.tensors[id.index()];
          sum = saturatingAdd(sum, pays(op, id, tiling.rules[i], held, held, std::nullopt));
        }
  }
  return sum;
}

} // namespace sluice
