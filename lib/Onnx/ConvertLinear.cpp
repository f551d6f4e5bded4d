//===- ConvertLinear.cpp - Matrix products --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Linear.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value numpyMatmul(NodeContext &node, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  if (rankOf(lhs) == 0 || rankOf(rhs) == 0) {
    (void)node.invalid("an operand is a scalar");
    return {};
  }
  // A vector is a row on the left, a column on the right; its dimension leaves the result.
  bool row = rankOf(lhs) == 1, column = rankOf(rhs) == 1;
  if (row)
    lhs = node.reshape(lhs, {1, shapeOf(lhs)[0]});
  if (column)
    rhs = node.reshape(rhs, {shapeOf(rhs)[0], 1});
  Value product = node.matmul(lhs, rhs);
  if (!product || (!row && !column))
    return product;
  Dims dims(shapeOf(product));
  if (column)
    dims.pop_back();
  if (row)
    dims.erase(column ? dims.end() - 1 : dims.end() - 2);
  return node.reshape(product, dims);
}

Value centered(NodeContext &node, Value x, Value zeroPoint, Type type, int64_t axis) {
  Value wide = node.cast(x, type);
  if (!wide || !zeroPoint)
    return wide;
  Value zero = node.cast(zeroPoint, type);
  return node.sub(wide, alongAxis(node, zero, rankOf(wide), axis));
}

Value alongAxis(NodeContext &node, Value parameter, int64_t rank, int64_t axis) {
  if (!parameter)
    return parameter;
  // One value for all, or one for each position of the axis.
  ArrayRef<int64_t> shape = shapeOf(parameter);
  if (shape.size() == 1 && shape[0] != 1 && axis >= 0 && axis < rank) {
    Dims dims(rank, 1);
    dims[axis] = shape[0];
    return node.reshape(parameter, dims);
  }
  if (shape.size() == 1 && shape[0] == 1)
    return node.reshape(parameter, {});
  return parameter;
}

namespace {

LogicalResult matmul(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return node.result(numpyMatmul(node, node.input(0), node.input(1)));
}

LogicalResult gemm(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (rankOf(node.input(0)) != 2 || rankOf(node.input(1)) != 2)
    return node.invalid("an operand is no matrix");
  Value product =
      node.matmul(node.input(0), node.input(1), node.integerOr("transA", 0) != 0, node.integerOr("transB", 0) != 0);
  Type type = elementTypeOf(node.input(0));
  double alpha = node.numberOr("alpha", 1), beta = node.numberOr("beta", 1);
  if (alpha != 1)
    product = node.mul(product, node.splat(type, alpha));
  if (!node.has(2) || beta == 0)
    return node.result(product);
  Value addend = node.input(2);
  if (beta != 1)
    addend = node.mul(addend, node.splat(type, beta));
  Value sum = node.add(product, addend);
  if (sum && product && shapeOf(sum) != shapeOf(product))
    return node.invalid("its third operand does not broadcast to the product");
  return node.result(sum);
}

/// ONNX Runtime's product with transpositions and a factor.
LogicalResult fusedMatmul(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (node.integerOr("transBatchA", 0) != 0 || node.integerOr("transBatchB", 0) != 0)
    return node.unsupported("it transposes batch dimensions");
  if (rankOf(node.input(0)) < 2 || rankOf(node.input(1)) < 2)
    return node.unsupported("an operand is a vector");
  Value product =
      node.matmul(node.input(0), node.input(1), node.integerOr("transA", 0) != 0, node.integerOr("transB", 0) != 0);
  double alpha = node.numberOr("alpha", 1);
  if (alpha != 1)
    product = node.mul(product, node.splat(elementTypeOf(node.input(0)), alpha));
  return node.result(product);
}

LogicalResult matmulInteger(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Type type = IntegerType::get(node.context(), 32);
  int64_t lhsRank = rankOf(node.input(0)), rhsRank = rankOf(node.input(1));
  Value lhs = centered(node, node.input(0), node.input(2), type, std::max<int64_t>(0, lhsRank - 2));
  Value rhs = centered(node, node.input(1), node.input(3), type, rhsRank - 1);
  return node.result(numpyMatmul(node, lhs, rhs));
}

/// Products of one or two operands whose result needs only transposition, reduction and a batched matrix product.
LogicalResult einsum(NodeContext &node) {
  if (failed(node.require(std::max<size_t>(1, node.inputCount()))))
    return failure();
  if (node.inputCount() > 2)
    return node.unsupported("it has more than two operands");
  std::string equation = node.stringOr("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos)
    return node.unsupported("its equation names no result");
  SmallVector<StringRef> terms;
  StringRef(equation).take_front(arrow).split(terms, ',');
  std::string result = equation.substr(arrow + 2);
  if (terms.size() != node.inputCount())
    return node.invalid("its equation has " + Twine(terms.size()) + " terms for " + Twine(node.inputCount()) +
                        " operands");
  llvm::SmallDenseMap<char, int64_t> extents;
  auto unique = [](StringRef letters) {
    std::string sorted = letters.str();
    llvm::sort(sorted);
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
           llvm::all_of(letters, [](char letter) { return llvm::isAlpha(letter); });
  };
  for (auto [i, term] : llvm::enumerate(terms)) {
    if (!unique(term))
      return node.unsupported("a term of its equation repeats a letter or has '...'");
    if (static_cast<int64_t>(term.size()) != rankOf(node.input(i)))
      return node.invalid("a term of its equation does not fit its operand's rank");
    for (auto [axis, letter] : llvm::enumerate(term)) {
      auto [known, added] = extents.try_emplace(letter, shapeOf(node.input(i))[axis]);
      if (!added && known->second != shapeOf(node.input(i))[axis])
        return node.invalid(Twine("the extents of '") + Twine(letter) + "' in its equation differ");
    }
  }
  if (!unique(result) || llvm::any_of(result, [&](char letter) { return !extents.count(letter); }))
    return node.unsupported("the result of its equation repeats or invents a letter");

  // Letters of one operand alone that the result lacks are summed first.
  SmallVector<std::string> letters;
  SmallVector<Value> operands;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Dims summed;
    std::string kept;
    for (auto [axis, letter] : llvm::enumerate(term)) {
      bool elsewhere = result.find(letter) != std::string::npos || (terms.size() == 2 && terms[1 - i].contains(letter));
      if (elsewhere)
        kept += letter;
      else
        summed.push_back(static_cast<int64_t>(axis));
    }
    operands.push_back(summed.empty() ? node.input(i) : node.reduce(ReduceKind::sum, node.input(i), summed, false));
    letters.push_back(kept);
  }
  auto arrange = [&](Value x, StringRef from, StringRef to) {
    Dims permutation;
    for (char letter : to)
      permutation.push_back(static_cast<int64_t>(from.find(letter)));
    return from == to ? x : node.transpose(x, permutation);
  };
  if (terms.size() == 1)
    return node.result(arrange(operands[0], letters[0], result));

  std::string batch, rows, columns, inner;
  for (char letter : letters[0])
    (letters[1].find(letter) == std::string::npos ? rows
     : result.find(letter) == std::string::npos   ? inner
                                                  : batch) += letter;
  for (char letter : letters[1])
    if (letters[0].find(letter) == std::string::npos)
      columns += letter;
  auto extentOf = [&](StringRef group) {
    int64_t extent = 1;
    for (char letter : group)
      extent *= extents.lookup(letter);
    return extent;
  };
  Value lhs = node.reshape(arrange(operands[0], letters[0], batch + rows + inner),
                           {extentOf(batch), extentOf(rows), extentOf(inner)});
  Value rhs = node.reshape(arrange(operands[1], letters[1], batch + inner + columns),
                           {extentOf(batch), extentOf(inner), extentOf(columns)});
  Dims dims;
  for (char letter : batch + rows + columns)
    dims.push_back(extents.lookup(letter));
  return node.result(arrange(node.reshape(node.matmul(lhs, rhs), dims), batch + rows + columns, result));
}

constexpr OperatorEntry kOperators[] = {
    {"", "MatMul", 1, matmul},
    {"", "Gemm", 1, gemm},
    {"com.microsoft", "FusedMatMul", 1, fusedMatmul},
    {"", "MatMulInteger", 10, matmulInteger},
    {"", "Einsum", 12, einsum},
};

} // namespace

ArrayRef<OperatorEntry> linearOperators() { return kOperators; }

} // namespace sluice::onnximport
