//===- Forest.cpp - Decision trees while importing ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Forest.h"

#include "Ml.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

using Numbers = SmallVector<double>;

namespace {

/// The order in which nodes are numbered: behind all that branch to them, and those a test's truth leads to next to it.
class TreeOrder {
public:
  explicit TreeOrder(const Forest &forest) : forest(forest), marks(forest.nodes.size(), Mark::New) {}

  /// False where a node branches to itself, by way of others or not.
  bool run() {
    for (const Branch &root : llvm::reverse(forest.roots))
      if (!root.isLeaf && !visit(root.index))
        return false;
    // A cycle below no root is wrong, too: the older operators' root is the node to which no other branches, and a
    // wrong branch to the true root makes another node the root. Other nodes below no root are left out.
    const size_t reached = order.size();
    for (size_t node = 0; node < marks.size(); ++node)
      if (!visit(static_cast<int64_t>(node)))
        return false;
    order.resize(reached);
    std::reverse(order.begin(), order.end());
    return true;
  }
  std::vector<int64_t> order;
  int64_t inCycle = 0; ///< A node of one.

private:
  enum class Mark : uint8_t { New, Open, Done };
  bool visit(int64_t root) {
    // A model's trees may be deeper than the stack of calls.
    std::vector<std::pair<int64_t, int>> path;
    auto enter = [&](int64_t node) {
      if (marks[node] == Mark::Open)
        inCycle = node;
      if (marks[node] != Mark::New)
        return marks[node] == Mark::Done;
      marks[node] = Mark::Open;
      path.emplace_back(node, 0);
      return true;
    };
    if (!enter(root))
      return false;
    while (!path.empty()) {
      auto &[node, branches] = path.back();
      if (branches == 2) {
        marks[node] = Mark::Done;
        order.push_back(node);
        path.pop_back();
        continue;
      }
      const TreeNode &from = forest.nodes[node];
      const Branch &to = branches++ == 0 ? from.onFalse : from.onTrue;
      if (!to.isLeaf && !enter(to.index))
        return false;
    }
    return true;
  }

  const Forest &forest;
  std::vector<Mark> marks;
};

} // namespace

/// Checks what both forms share, and makes the operator. Its result [N, targets] is of x's type.
static Value convertForest(NodeContext &node, Value x, const Forest &forest, ReduceKind kind, StringRef features) {
  auto wrong = [&](const Twine &reason) {
    (void)node.invalid(reason);
    return Value();
  };
  constexpr size_t kMost = size_t(1) << 30;
  if (forest.nodes.size() + forest.leaves.size() > kMost || static_cast<size_t>(forest.targets) > kMost)
    return wrong("it has more than " + Twine(kMost) + " nodes or targets");
  const int64_t width = shapeOf(x)[1];
  if (width == 0)
    return wrong("its input has no features");
  for (const TreeNode &one : forest.nodes)
    if (one.feature < 0 || one.feature >= width)
      return wrong("entry " + Twine(one.entry) + " of its " + features + " names feature " + Twine(one.feature) +
                   ", and the features of its input are numbered from 0 to " + Twine(width - 1));
  TreeOrder numbered(forest);
  if (!numbered.run())
    return wrong("its trees have a cycle: the tree node of entry " + Twine(forest.nodes[numbered.inCycle].entry) +
                 " of its " + features + " is among its own descendants");
  std::vector<int64_t> numbers(forest.nodes.size(), 0);
  for (auto [number, original] : llvm::enumerate(numbered.order))
    numbers[original] = static_cast<int64_t>(number);
  // The operator has a node, also where all trees are leaves.
  const auto count = std::max<int64_t>(1, static_cast<int64_t>(numbered.order.size()));
  auto numberOf = [&](const Branch &to) { return to.isLeaf ? count + to.index : numbers[to.index]; };
  Dims nodes, tests, roots, begins{0}, targets;
  Numbers thresholds, weights;
  for (int64_t original : numbered.order) {
    const TreeNode &one = forest.nodes[original];
    nodes.append({one.feature, numberOf(one.onTrue), numberOf(one.onFalse)});
    thresholds.push_back(one.threshold);
    tests.push_back(one.test);
  }
  if (tests.empty()) {
    nodes.append({0, count, count});
    thresholds.push_back(0);
    tests.push_back(kAtMost);
  }
  for (const Branch &root : forest.roots)
    roots.push_back(numberOf(root));
  for (const auto &leaf : forest.leaves) {
    for (const Weight &weight : leaf) {
      targets.push_back(weight.target);
      weights.push_back(weight.value);
    }
    begins.push_back(static_cast<int64_t>(targets.size()));
  }
  if (forest.leaves.empty() || targets.empty() || roots.empty())
    return wrong("its trees must have leaves with weights");
  Type type = elementTypeOf(x), i32 = node.mlir().getI32Type(), ui8 = node.mlir().getIntegerType(8, false);
  auto list = [&](const Dims &values, Type element) {
    return integerConstant(node, values, element, {static_cast<int64_t>(values.size())});
  };
  auto floats = [&](const Numbers &values) {
    return numberConstant(node, values, type, {static_cast<int64_t>(values.size())});
  };
  SmallVector<Value> operands{x,
                              integerConstant(node, nodes, i32, {count, 3}),
                              floats(thresholds),
                              list(roots, i32),
                              list(begins, i32),
                              list(targets, i32),
                              floats(weights)};
  SmallVector<NamedAttribute> attributes{node.attribute("kind", ReduceKindAttr::get(node.context(), kind))};
  if (llvm::all_equal(tests))
    attributes.push_back(node.integer("test", tests[0]));
  else
    operands.push_back(list(tests, ui8));
  return node.create<TreeEnsembleOp>(operands, attributes, {node.type(type, {shapeOf(x)[0], forest.targets})});
}

Value Aggregate::apply(NodeContext &node, Value x, const Forest &forest, StringRef features) const {
  Value joined = convertForest(node, x, forest, kind, features);
  if (!joined || !isMean)
    return joined;
  return node.div(joined, node.splat(elementTypeOf(joined), static_cast<double>(forest.roots.size())));
}

std::optional<Aggregate> aggregateOf(StringRef name) {
  return llvm::StringSwitch<std::optional<Aggregate>>(name)
      .Case("AVERAGE", Aggregate{ReduceKind::sum, true})
      .Case("SUM", Aggregate{ReduceKind::sum})
      .Case("MIN", Aggregate{ReduceKind::min})
      .Case("MAX", Aggregate{ReduceKind::max})
      .Default(std::nullopt);
}

std::optional<uint8_t> testOf(StringRef mode) {
  return llvm::StringSwitch<std::optional<uint8_t>>(mode)
      .Case("BRANCH_LEQ", kAtMost)
      .Case("BRANCH_LT", Less)
      .Case("BRANCH_GTE", kAtLeast)
      .Case("BRANCH_GT", Greater)
      .Case("BRANCH_EQ", Equal)
      .Case("BRANCH_NEQ", kDiffers)
      .Default(std::nullopt);
}

} // namespace sluice::onnximport
