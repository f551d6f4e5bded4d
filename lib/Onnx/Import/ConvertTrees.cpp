//===- ConvertTrees.cpp - TreeEnsemble ------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Forest.h"
#include "Ml.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

using Numbers = SmallVector<double>;

/// A chain of comparisons in place of a node that tests membership in a set: `nodes[at]` and new ones.
void replaceMembership(std::vector<TreeNode> &nodes, size_t at, ArrayRef<double> members, uint8_t missing) {
  const TreeNode original = nodes[at];
  if (members.empty()) {
    nodes[at].test = missing;
    return;
  }
  for (auto [i, member] : llvm::enumerate(members)) {
    TreeNode test = original;
    test.threshold = member;
    test.test = Equal | missing;
    const bool isLast = i + 1 == members.size();
    if (!isLast)
      test.onFalse = {false, static_cast<int64_t>(nodes.size() + (i == 0 ? 0 : 1))};
    if (i == 0)
      nodes[at] = test;
    else
      nodes.push_back(test);
  }
}

LogicalResult readForest(NodeContext &node, Forest &forest) {
  constexpr const char *kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  constexpr int64_t kMember = std::size(kModes);
  const Dims features = node.integersAt("nodes_featureids").value_or(Dims());
  Lists nodes(node, "nodes_featureids", features.size());
  const Numbers modes = nodes.numbers("nodes_modes"), splits = nodes.numbers("nodes_splits");
  const Dims trueIds = nodes.integers("nodes_truenodeids"), trueLeafs = nodes.integers("nodes_trueleafs"),
             falseIds = nodes.integers("nodes_falsenodeids"), falseLeafs = nodes.integers("nodes_falseleafs"),
             missing = nodes.optional("nodes_missing_value_tracks_true");
  const Dims targets = node.integersAt("leaf_targetids").value_or(Dims());
  Lists leaves(node, "leaf_targetids", targets.size());
  const Numbers weights = leaves.numbers("leaf_weights"), members = node.numbersIn("membership_values");
  if (nodes.isWrong() || leaves.isWrong())
    return failure();
  forest.targets = node.integerOr("n_targets", 0);
  if (forest.targets < 1)
    return node.invalid("its n_targets is " + Twine(forest.targets) + " and must be at least 1");
  for (auto [target, weight] : llvm::zip(targets, weights)) {
    if (target < 0 || target >= forest.targets)
      return node.invalid("its leaf_targetids contain target " + Twine(target) +
                          ", and its targets are numbered from 0 to " + Twine(forest.targets - 1));
    forest.leaves.push_back({Weight{target, weight}});
  }
  auto branch = [&](int64_t index, int64_t isLeaf, StringRef name) -> FailureOr<Branch> {
    const size_t count = isLeaf ? targets.size() : features.size();
    if (index < 0 || static_cast<size_t>(index) >= count)
      return node.invalid("its " + name + " refer to " + (isLeaf ? "leaf " : "node ") + Twine(index) + ", and its " +
                          (isLeaf ? "leaves" : "nodes") + " are numbered from 0 to " +
                          Twine(static_cast<int64_t>(count) - 1));
    return Branch{isLeaf != 0, index};
  };
  std::vector<Numbers> sets(features.size());
  size_t member = 0;
  for (size_t i = 0; i < features.size(); ++i) {
    FailureOr<Branch> onTrue = branch(trueIds[i], trueLeafs[i], "nodes_truenodeids"),
                      onFalse = branch(falseIds[i], falseLeafs[i], "nodes_falsenodeids");
    if (failed(onTrue) || failed(onFalse))
      return failure();
    if (!(modes[i] >= 0 && modes[i] <= kMember))
      return node.invalid("its nodes_modes contain the value " + llvm::formatv("{0}", modes[i]).str() +
                          ", and ONNX defines 0 to " + Twine(kMember));
    const auto mode = static_cast<int64_t>(modes[i]);
    const uint8_t nan = !missing.empty() && missing[i] != 0 ? IsNan : 0;
    const uint8_t test = mode == kMember ? 0 : *testOf(kModes[mode]);
    forest.nodes.push_back({features[i], splits[i], static_cast<uint8_t>(test | nan), *onTrue, *onFalse, i});
    if (mode != kMember)
      continue;
    while (member < members.size() && !std::isnan(members[member]))
      sets[i].push_back(members[member++]);
    if (member++ >= members.size())
      return node.invalid("its membership_values end before the values of node " + Twine(i));
  }
  for (int64_t root : node.integersAt("tree_roots").value_or(Dims())) {
    FailureOr<Branch> tree = branch(root, false, "tree_roots");
    if (failed(tree))
      return failure();
    // A node whose branches are one leaf is that leaf.
    const TreeNode &one = forest.nodes[root];
    const bool isLeaf = one.onTrue.isLeaf && one.onFalse.isLeaf && one.onTrue.index == one.onFalse.index;
    forest.roots.push_back(isLeaf ? one.onTrue : *tree);
  }
  for (size_t i = 0; i < features.size(); ++i)
    if (modes[i] == kMember)
      replaceMembership(forest.nodes, i, sets[i], forest.nodes[i].test & IsNan);
  return success();
}

LogicalResult treeEnsemble(NodeContext &node) {
  Value x = featureRows(node);
  if (!x)
    return failure();
  constexpr const char *kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr PostTransform kTransforms[] = {PostTransform::None, PostTransform::Softmax, PostTransform::Logistic,
                                           PostTransform::SoftmaxZero, PostTransform::Probit};
  const int64_t aggregate = node.integerOr("aggregate_function", 1), transform = node.integerOr("post_transform", 0);
  if (aggregate < 0 || aggregate >= int64_t(std::size(kAggregates)) || transform < 0 ||
      transform >= int64_t(std::size(kTransforms)))
    return node.invalid("its aggregate_function is " + Twine(aggregate) + ", for which ONNX defines 0 to " +
                        Twine(std::size(kAggregates) - 1) + ", and its post_transform is " + Twine(transform) +
                        ", for which ONNX defines 0 to " + Twine(std::size(kTransforms) - 1));
  Forest forest;
  if (failed(readForest(node, forest)))
    return failure();
  Value scores = aggregateOf(kAggregates[aggregate])->apply(node, x, forest, "nodes_featureids");
  if (!scores)
    return failure();
  return node.result(node.cast(transformed(node, kTransforms[transform], scores), elementTypeOf(node.input(0))));
}

constexpr OperatorEntry kOperators[] = {
    {"ai.onnx.ml", "TreeEnsemble", 5, treeEnsemble},
};

} // namespace

ArrayRef<OperatorEntry> treeOperators() { return kOperators; }

} // namespace sluice::onnximport
