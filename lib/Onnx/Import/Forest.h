//===- Forest.h - Decision trees while importing ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// TreeEnsemble numbers nodes and leaves separately; the two older operators give both an id within their tree. Both
// forms become a list of nodes and a list of leaves. These are checked, numbered so that the branches of a node come
// after it, and made constants.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_FOREST_H
#define SLUICE_LIB_ONNX_IMPORT_FOREST_H

#include "NodeContext.h"

#include <vector>

namespace sluice::onnximport {

// Bits of tree_ensemble's tests: the outcomes of comparing a feature with a threshold for which the test is true.
enum Outcome : uint8_t { Equal = 1, Greater = 2, Less = 4, IsNan = 8 };
inline constexpr uint8_t kAtMost = Less | Equal, kAtLeast = Greater | Equal, kDiffers = Less | Greater | IsNan;

struct Branch {
  bool isLeaf = false;
  int64_t index = 0;
};

struct TreeNode {
  int64_t feature = 0;
  double threshold = 0;
  uint8_t test = 0;
  Branch onTrue, onFalse;
  size_t entry = 0; ///< The index in the model's lists of nodes.
};

struct Weight {
  int64_t target = 0;
  double value = 0;
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<llvm::SmallVector<Weight, 1>> leaves;
  std::vector<Branch> roots;
  int64_t targets = 0;
};

/// How the weights of a target are joined.
struct Aggregate {
  dataflow::ReduceKind kind = dataflow::ReduceKind::sum;
  bool isMean = false;

  /// Builds the operator, whose result [N, targets] has the type of x [N, features]; null, with a report, if a tree is
  /// invalid. `features` is the name of the attribute that lists the nodes' features.
  mlir::Value apply(NodeContext &node, mlir::Value x, const Forest &forest, llvm::StringRef features) const;
};
std::optional<Aggregate> aggregateOf(llvm::StringRef name);

/// The test of a node's mode; nothing if ONNX does not define the mode.
std::optional<uint8_t> testOf(llvm::StringRef mode);

/// Lists of a node that must have the same length.
class Lists {
public:
  Lists(NodeContext &node, llvm::StringRef first, size_t count) : converted(node), first(first), count(count) {}

  Dims integers(llvm::StringRef name) { return checked(name, converted.integersAt(name).value_or(Dims())); }
  /// Missing lists too.
  Dims optional(llvm::StringRef name) {
    Dims values = converted.integersAt(name).value_or(Dims());
    return values.empty() ? values : checked(name, std::move(values));
  }
  llvm::SmallVector<std::string> texts(llvm::StringRef name) {
    return checked(name, converted.stringsAt(name).value_or(llvm::SmallVector<std::string>()));
  }
  llvm::SmallVector<double> numbers(llvm::StringRef name) { return checked(name, converted.numbersIn(name)); }
  /// As an attribute of floats, or the one of that name and "_as_tensor".
  llvm::SmallVector<double> numbersOrTensor(const std::string &name) {
    llvm::SmallVector<double> values = converted.numbersAt(name).value_or(llvm::SmallVector<double>());
    return values.empty() ? numbers(name + "_as_tensor") : checked(name, std::move(values));
  }
  bool isWrong() const { return wrong; }

private:
  template <typename List>
  List checked(llvm::StringRef name, List values) {
    if (values.size() == count)
      return values;
    if (!wrong)
      (void)converted.invalid("its " + name + " has " + llvm::Twine(values.size()) + " entries and its " + first +
                              " has " + llvm::Twine(count) + ", both numbers must be equal");
    wrong = true;
    return List(count);
  }
  NodeContext &converted;
  llvm::StringRef first;
  size_t count;
  bool wrong = false;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_FOREST_H
