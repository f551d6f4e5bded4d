//===- ConvertOlderTrees.cpp - The older ensembles of trees ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Forest.h"
#include "Ml.h"

#include <map>
#include <set>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

using Numbers = SmallVector<double>;

/// A node or leaf of the older operators.
using Identity = std::pair<int64_t, int64_t>; ///< Tree, node.

std::string text(Identity identity) {
  return "node " + std::to_string(identity.second) + " of tree " + std::to_string(identity.first);
}

/// Reads nodes and leaves. `weights` names the attributes of the leaves' weights: "class" or "target".
class OlderForest {
public:
  OlderForest(NodeContext &node, Forest &forest, std::string weights)
      : node(node), forest(forest), kind(std::move(weights)) {}

  LogicalResult read() { return failure(failed(readNodes()) || failed(readBranches()) || failed(readWeights())); }

  /// Of the weights, in the order of the model.
  Dims targets;
  Numbers values;

private:
  LogicalResult readNodes() {
    const Dims treeIds = node.integersAt("nodes_treeids").value_or(Dims());
    Lists lists(node, "nodes_treeids", treeIds.size());
    const Dims nodeIds = lists.integers("nodes_nodeids"), features = lists.integers("nodes_featureids"),
               missing = lists.optional("nodes_missing_value_tracks_true");
    const SmallVector<std::string> modes = lists.texts("nodes_modes");
    trueIds = lists.integers("nodes_truenodeids");
    falseIds = lists.integers("nodes_falsenodeids");
    const Numbers splits = lists.numbersOrTensor("nodes_values");
    if (lists.isWrong())
      return failure();
    for (size_t i = 0; i < treeIds.size(); ++i) {
      const Identity identity{treeIds[i], nodeIds[i]};
      Branch place{modes[i] == "LEAF", static_cast<int64_t>(forest.leaves.size())};
      if (place.isLeaf) {
        forest.leaves.emplace_back();
      } else {
        std::optional<uint8_t> test = testOf(modes[i]);
        if (!test)
          return node.invalid(
              "entry " + Twine(i) + " of its nodes_modes is '" + modes[i] +
              "', ONNX defines BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ and LEAF");
        const uint8_t nan = !missing.empty() && missing[i] != 0 ? IsNan : 0;
        place.index = static_cast<int64_t>(forest.nodes.size());
        forest.nodes.push_back({features[i], splits[i], static_cast<uint8_t>(*test | nan), {}, {}, i});
      }
      if (!places.try_emplace(identity, place).second)
        return node.invalid("its nodes_nodeids define " + text(identity) + " twice");
      identities.push_back(identity);
    }
    return success();
  }

  LogicalResult readBranches() {
    std::set<Identity> below;
    auto branch = [&](Identity to, StringRef name, Branch &result) -> LogicalResult {
      auto found = places.find(to);
      if (found == places.end())
        return node.invalid("its " + name + " refer to " + text(to) + ", which nodes_nodeids do not define");
      below.insert(to);
      result = found->second;
      return success();
    };
    for (TreeNode &one : forest.nodes) {
      const int64_t tree = identities[one.entry].first;
      if (failed(branch({tree, trueIds[one.entry]}, "nodes_truenodeids", one.onTrue)) ||
          failed(branch({tree, falseIds[one.entry]}, "nodes_falsenodeids", one.onFalse)))
        return failure();
    }
    // A tree's root is below no node of it.
    std::map<int64_t, int64_t> roots;
    for (Identity identity : identities)
      roots[identity.first] += below.count(identity) == 0;
    for (auto [tree, count] : roots)
      if (count != 1)
        return node.invalid("tree " + Twine(tree) + " of its nodes_treeids has " + Twine(count) +
                            " roots (nodes that no other node branches to) instead of one");
    for (Identity identity : identities)
      if (below.count(identity) == 0)
        forest.roots.push_back(places.at(identity));
    return success();
  }

  LogicalResult readWeights() {
    targets = node.integersAt(kind + "_ids").value_or(Dims());
    const std::string first = kind + "_ids";
    Lists lists(node, first, targets.size());
    const Dims trees = lists.integers(kind + "_treeids"), nodes = lists.integers(kind + "_nodeids");
    values = lists.numbersOrTensor(kind + "_weights");
    if (lists.isWrong())
      return failure();
    for (size_t i = 0; i < targets.size(); ++i) {
      auto place = places.find({trees[i], nodes[i]});
      if (place == places.end() || !place->second.isLeaf)
        return node.invalid("entry " + Twine(i) + " of its " + kind + "_nodeids is " + text({trees[i], nodes[i]}) +
                            ", which is not a leaf of the tree");
      if (targets[i] < 0 || targets[i] >= forest.targets)
        return node.invalid("its " + kind + "_ids contain " + Twine(targets[i]) + ", and its " +
                            (kind == "class" ? "classes" : "targets") + " are numbered from 0 to " +
                            Twine(forest.targets - 1));
      forest.leaves[place->second.index].push_back({targets[i], values[i]});
    }
    return success();
  }

  NodeContext &node;
  Forest &forest;
  std::string kind;
  std::vector<Identity> identities;
  Dims trueIds, falseIds;
  std::map<Identity, Branch> places; ///< A model may use any number, also those that LLVM's maps reserve.
};

/// What is added to scores; fails with a report unless there are none, one of those numbers.
FailureOr<Numbers> baseValues(NodeContext &node, ArrayRef<int64_t> counts) {
  Numbers values = node.numbersAt("base_values").value_or(Numbers());
  if (values.empty())
    values = node.numbersIn("base_values_as_tensor");
  if (values.empty() || llvm::is_contained(counts, static_cast<int64_t>(values.size())))
    return values;
  return node.invalid("its base_values have " + Twine(values.size()) + " entries instead of " + Twine(counts.back()));
}

LogicalResult treeEnsembleRegressor(NodeContext &node) {
  FailureOr<Regressor> model = readRegressor(node);
  if (failed(model))
    return failure();
  std::optional<Aggregate> aggregate = aggregateOf(node.stringOr("aggregate_function", "SUM"));
  if (!aggregate)
    return node.invalid("its aggregate_function is '" + node.stringOr("aggregate_function", "") +
                        "', ONNX defines SUM, AVERAGE, MIN and MAX");
  Forest forest;
  forest.targets = node.integerOr("n_targets", 1);
  if (forest.targets < 1)
    return node.invalid("its n_targets is " + Twine(forest.targets) + " and must be at least 1");
  FailureOr<Numbers> base = baseValues(node, {forest.targets});
  if (failed(base) || failed(OlderForest(node, forest, "target").read()))
    return failure();
  Value scores = aggregate->apply(node, model->x, forest, "nodes_featureids");
  if (!scores)
    return failure();
  scores = plus(node, scores, *base);
  return node.result(node.cast(transformed(node, model->transform, scores), Float32Type::get(node.context())));
}

LogicalResult treeEnsembleClassifier(NodeContext &node) {
  FailureOr<Classifier> model = readClassifier(node, "classlabels_int64s");
  if (failed(model))
    return failure();
  const ClassLabels &labels = model->labels;
  Forest forest;
  forest.targets = labels.count;
  const Dims baseCounts = labels.count <= 2 ? Dims{1, labels.count} : Dims{labels.count};
  FailureOr<Numbers> base = baseValues(node, baseCounts);
  OlderForest reader(node, forest, "class");
  if (failed(base) || failed(reader.read()))
    return failure();
  // Two classes of which one alone has weights: that the second is meant by it.
  const bool isPair = labels.count <= 2 && llvm::all_equal(reader.targets);
  const int64_t scored = reader.targets.empty() ? 0 : reader.targets.front();
  if (isPair) {
    forest.targets = 1;
    for (auto &leaf : forest.leaves)
      for (Weight &weight : leaf)
        weight.target = 0;
    if (base->size() == 2)
      base->erase(base->begin());
  } else if (static_cast<int64_t>(base->size()) != labels.count && !base->empty()) {
    base->resize(labels.count, 0);
  }
  Value scores = Aggregate().apply(node, model->x, forest, "nodes_featureids");
  if (!scores)
    return failure();
  scores = plus(node, scores, *base);
  Type f32 = Float32Type::get(node.context());
  if (!isPair)
    return node.results({labels.ofLargest(node, scores), node.cast(transformed(node, model->transform, scores), f32)});
  if (labels.count == 1 && !labels.areIntegers)
    return node.unsupported("it has one class, whose label is not a number");
  const bool areProbabilities =
      labels.count == 2 && llvm::all_of(reader.values, [](double value) { return value >= 0; });
  Value list = node.reshape(scores, {shapeOf(model->x)[0]});
  Value isPositive =
      node.compare(ComparePredicate::gt, list, node.splat(elementTypeOf(scores), areProbabilities ? 0.5 : 0));
  Value label = labels.ofPair(node, isPositive);
  Value both = scores;
  if (labels.count == 2 && scored == 0)
    both = bothClasses(node, model->transform, scores, areProbabilities);
  else if (labels.count == 2)
    both = transformed(node, model->transform,
                       node.concat({node.splat(elementTypeOf(scores), 0, shapeOf(scores)), scores}, 1));
  else
    both = transformed(node, model->transform, scores);
  return node.results({label, node.cast(both, f32)});
}

constexpr OperatorEntry kOperators[] = {
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, treeEnsembleClassifier},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, treeEnsembleRegressor},
};

} // namespace

ArrayRef<OperatorEntry> olderTreeOperators() { return kOperators; }

} // namespace sluice::onnximport
