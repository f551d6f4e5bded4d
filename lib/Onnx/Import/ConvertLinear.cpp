//===- ConvertLinear.cpp - Matrix products --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Linear.h"
#include "Quantize.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

/// numpy.matmul by a `product` of matrices.
static Value numpyProduct(NodeContext &node, Value lhs, Value rhs, function_ref<Value(Value, Value)> multiply) {
  if (!lhs || !rhs)
    return {};
  if (rankOf(lhs) == 0 || rankOf(rhs) == 0) {
    (void)node.invalid("one of its operands is a scalar instead of a vector or a matrix");
    return {};
  }
  // A vector is a row on the left, a column on the right; its dimension leaves the result.
  bool row = rankOf(lhs) == 1, column = rankOf(rhs) == 1;
  if (row)
    lhs = node.reshape(lhs, {1, shapeOf(lhs)[0]});
  if (column)
    rhs = node.reshape(rhs, {shapeOf(rhs)[0], 1});
  Value product = multiply(lhs, rhs);
  if (!product || (!row && !column))
    return product;
  Dims dims(shapeOf(product));
  if (column)
    dims.pop_back();
  if (row)
    dims.erase(column ? dims.end() - 1 : dims.end() - 2);
  return node.reshape(product, dims);
}

Value numpyMatmul(NodeContext &node, Value lhs, Value rhs) {
  return numpyProduct(node, lhs, rhs, [&](Value a, Value b) { return node.matmul(a, b); });
}

bool isBytes(Value value) {
  auto type = dyn_cast<IntegerType>(elementTypeOf(value));
  return type && type.getWidth() == 8;
}

Value integerMatmul(NodeContext &node, ByteOperand lhs, ByteOperand rhs, Type otherwise) {
  if (!lhs.bytes || !rhs.bytes)
    return {};
  Type type = node.mlir().getI32Type();
  const int64_t lhsRank = rankOf(lhs.bytes), rhsRank = rankOf(rhs.bytes);
  // [.., M, 1] and [N], or one for all.
  auto count = [](Value zero) { return zero ? elementCount(zero.getType()).value() : int64_t(1); };
  const int64_t columns = count(rhs.zeroPoint);
  const bool isPerRow = count(lhs.zeroPoint) != 1;
  bool fits = isBytes(lhs.bytes) && isBytes(rhs.bytes) && (!isPerRow || lhsRank > 1) &&
              (columns == 1 || (rankOf(rhs.zeroPoint) > 0 && shapeOf(rhs.zeroPoint).back() == columns));
  if (!fits) {
    const Value a = centered(node, lhs.bytes, lhs.zeroPoint, otherwise, std::max<int64_t>(0, lhsRank - 2));
    const Value b = centered(node, rhs.bytes, rhs.zeroPoint, otherwise, rhsRank - 1);
    return numpyMatmul(node, a, b);
  }
  Value lhsZero, rhsZero;
  if (lhs.zeroPoint)
    lhsZero = node.cast(
        isPerRow ? alongAxis(node, lhs.zeroPoint, lhsRank, lhsRank - 2) : node.reshape(lhs.zeroPoint, {}), type);
  if (rhs.zeroPoint)
    rhsZero = node.cast(node.reshape(rhs.zeroPoint, columns == 1 ? Dims() : Dims{columns}), type);
  return numpyProduct(node, lhs.bytes, rhs.bytes, [&](Value a, Value b) {
    SmallVector<Value> operands{a, b};
    for (Value zero : {lhsZero, rhsZero})
      if (zero)
        operands.push_back(zero);
    const int32_t sizes[] = {1, 1, lhsZero ? 1 : 0, rhsZero ? 1 : 0};
    return node.create<IntegerMatmulOp>(
        operands, {node.attribute("operandSegmentSizes", node.mlir().getDenseI32ArrayAttr(sizes))});
  });
}

const Dequantized *dequantizedBytes(NodeContext &node, Value value, int64_t axis) {
  if (!node.dequantized || !value || !elementTypeOf(value).isF32())
    return nullptr;
  auto found = node.dequantized->find(value);
  if (found == node.dequantized->end() || !isBytes(found->second.bytes) || found->second.block != 0)
    return nullptr;
  const Dequantized &from = found->second;
  auto fits = [&](Value parameter) {
    return !parameter || elementCount(parameter.getType()) == 1 || (rankOf(parameter) == 1 && from.axis == axis);
  };
  return fits(from.scale) && fits(from.zeroPoint) ? &from : nullptr;
}

/// The elements of a small constant of f32; none of others.
static std::vector<float> constantFloats(Value value) {
  ElementsAttr constant = getConstant(value);
  if (!constant || !elementTypeOf(value).isF32() || elementCount(value.getType()) > kFoldElements)
    return {};
  std::vector<float> values(elementCount(value.getType()));
  if (failed(copyConstant(constant, reinterpret_cast<char *>(values.data()))))
    return {};
  return values;
}

Value addIntegerBias(NodeContext &node, Value sums, Value bias, Value scale, int64_t axis) {
  if (!node.dequantized || !sums || !bias || !scale)
    return {};
  auto found = node.dequantized->find(bias);
  if (found == node.dequantized->end() || !elementTypeOf(found->second.bytes).isInteger(32) || rankOf(bias) != 1 ||
      found->second.block != 0)
    return {};
  const Dequantized &from = found->second;
  if (from.zeroPoint && getSplat(from.zeroPoint) != 0.0)
    return {};
  std::vector<float> own = constantFloats(from.scale), wanted = constantFloats(scale);
  if (own.empty() || wanted.empty() || (own.size() != 1 && wanted.size() != 1 && own.size() != wanted.size()))
    return {};
  constexpr float kRounding = 1e-6F;
  for (size_t i = 0; i < std::max(own.size(), wanted.size()); ++i) {
    const float a = own[own.size() == 1 ? 0 : i], b = wanted[wanted.size() == 1 ? 0 : i];
    if (!(std::abs(a - b) <= kRounding * std::abs(b)))
      return {};
  }
  return node.add(sums, alongAxis(node, from.bytes, rankOf(sums), axis));
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

/// The product of two matrices, the second one perhaps transposed: of the bytes they were dequantized from, where they
/// were. Scales of columns come behind it, of rows not at all. A `bias` that it has added becomes null.
Value quantizedMatmul(NodeContext &node, Value lhs, Value rhs, bool transposeRhs = false, Value *bias = nullptr) {
  constexpr int64_t kNoAxis = -1;
  const int64_t rank = rankOf(rhs);
  const Dequantized *a = dequantizedBytes(node, lhs, kNoAxis);
  const Dequantized *b = dequantizedBytes(node, rhs, transposeRhs ? rank - 2 : rank - 1);
  if (!a || !b || rank < 2)
    return {};
  Value bytes = b->bytes;
  if (transposeRhs)
    bytes = node.transpose(bytes, {1, 0});
  Type wide = elementTypeOf(lhs);
  Value sums = integerMatmul(node, {a->bytes, a->zeroPoint}, {bytes, b->zeroPoint}, wide);
  const Value lhsScale = alongAxis(node, a->scale, rankOf(lhs), -1), rhsScale = alongAxis(node, b->scale, 1, 0);
  Value scale = node.mul(lhsScale, rhsScale);
  if (bias)
    if (Value biased = addIntegerBias(node, sums, *bias, scale, rankOf(sums) - 1)) {
      sums = biased;
      *bias = {};
    }
  return node.mul(node.cast(sums, wide), scale);
}

LogicalResult matmul(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value product = quantizedMatmul(node, node.input(0), node.input(1));
  if (!product)
    product = blockMatmul(node, node.input(0), node.input(1), /*transposeRhs=*/false);
  return node.result(product ? product : numpyMatmul(node, node.input(0), node.input(1)));
}

LogicalResult gemm(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (rankOf(node.input(0)) != 2 || rankOf(node.input(1)) != 2)
    return node.invalid("its operands must be matrices");
  const bool transposeA = node.integerOr("transA", 0) != 0, transposeB = node.integerOr("transB", 0) != 0;
  Type type = elementTypeOf(node.input(0));
  double alpha = node.numberOr("alpha", 1), beta = node.numberOr("beta", 1);
  if (isa<IntegerType>(type) && (alpha != std::floor(alpha) || beta != std::floor(beta)))
    return node.unsupported("its operands are integers, and 'alpha' or 'beta' is no whole number");
  Value product, addend = node.input(2);
  if (!transposeA)
    product =
        quantizedMatmul(node, node.input(0), node.input(1), transposeB, alpha == 1 && beta == 1 ? &addend : nullptr);
  if (!product && !transposeA)
    product = blockMatmul(node, node.input(0), node.input(1), transposeB);
  if (!product)
    product = node.matmul(node.input(0), node.input(1), transposeA, transposeB);
  if (alpha != 1)
    product = node.mul(product, node.splat(type, alpha));
  if (!addend || beta == 0)
    return node.result(product);
  if (beta != 1)
    addend = node.mul(addend, node.splat(type, beta));
  Value sum = node.add(product, addend);
  if (sum && product && shapeOf(sum) != shapeOf(product))
    return node.invalid("its third operand must broadcast to the shape of the product");
  return node.result(sum);
}

/// Gemm, with an activation behind it.
LogicalResult fusedGemm(NodeContext &node) {
  if (failed(
          node.knows({"activation", "activation_alpha", "activation_beta", "alpha", "beta", "transA", "transB"}, 1)) ||
      failed(gemm(node)))
    return failure();
  const std::string activation = node.stringOr("activation", "");
  if (llvm::is_contained({"LeakyRelu", "Elu", "ThresholdedRelu", "HardSigmoid", "Clip"}, activation) &&
      !node.find("activation_alpha"))
    return node.invalid("its activation '" + activation + "' has no attribute 'activation_alpha'");
  return node.result(activate(node, node.outputs.front(), activation, node.numberOr("activation_alpha", 0),
                              node.numberOr("activation_beta", 0)));
}

/// ONNX Runtime's product with transpositions and a factor.
LogicalResult fusedMatmul(NodeContext &node) {
  if (failed(node.require(2)) || failed(node.knows({"alpha", "transA", "transB", "transBatchA", "transBatchB"}, 1)))
    return failure();
  if (rankOf(node.input(0)) < 2 || rankOf(node.input(1)) < 2)
    return node.unsupported("one of its operands is a vector, only matrices are supported");
  // The first dimension becomes a matrix's, and those that were before the last become batches.
  auto operand = [&](size_t index, StringRef movesBatches) {
    Value x = node.input(index);
    if (node.integerOr(movesBatches, 0) == 0)
      return x;
    Dims order;
    for (int64_t d = 1; d + 1 < rankOf(x); ++d)
      order.push_back(d);
    order.append({0, rankOf(x) - 1});
    return node.transpose(x, order);
  };
  const Value rhs = operand(1, "transBatchB");
  Value product =
      node.matmul(operand(0, "transBatchA"), rhs, node.integerOr("transA", 0) != 0, node.integerOr("transB", 0) != 0);
  double alpha = node.numberOr("alpha", 1);
  if (alpha != 1)
    product = node.mul(product, node.splat(elementTypeOf(node.input(0)), alpha));
  return node.result(product);
}

LogicalResult matmulInteger(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return node.result(
      integerMatmul(node, {node.input(0), node.input(2)}, {node.input(1), node.input(3)}, node.mlir().getI32Type()));
}

/// An operand of einsum and a letter for each of its dimensions.
struct Term {
  Value x;
  std::string letters;

  int64_t extent(char letter) const {
    size_t at = letters.find(letter);
    return at == std::string::npos ? 1 : shapeOf(x)[at];
  }
};

/// "ab...,bc" -> its terms, its result last. The dimensions that "..." stands for are called '0', '1', ... from the
/// last one back.
FailureOr<SmallVector<std::string>> einsumTerms(NodeContext &node) {
  std::string equation = node.stringOr("equation", "");
  std::erase(equation, ' ');
  size_t arrow = equation.find("->");
  SmallVector<StringRef> texts;
  StringRef(equation).take_front(arrow).split(texts, ',');
  if (texts.size() != node.inputCount())
    return node.invalid("its equation has " + Twine(texts.size()) + " terms for " + Twine(node.inputCount()) +
                        " operands");
  constexpr size_t kMostHidden = 10;
  size_t mostHidden = 0;
  auto spelled = [&](StringRef text, size_t hidden) -> FailureOr<std::string> {
    std::string letters;
    auto [before, after] = text.split("...");
    for (StringRef part : {before, after})
      if (!llvm::all_of(part, [](char letter) { return llvm::isAlpha(letter); }))
        return node.invalid("its equation has a character other than letters, ',', '...' and '->'");
    letters = before.str();
    for (size_t i = text.contains("...") ? hidden : 0; i-- > 0;)
      letters += static_cast<char>('0' + i);
    return letters + after.str();
  };
  SmallVector<std::string> terms;
  for (auto [i, text] : llvm::enumerate(texts)) {
    size_t rank = static_cast<size_t>(rankOf(node.input(i))), shown = text.size() - (text.contains("...") ? 3 : 0);
    if (shown <= rank && rank - shown > kMostHidden)
      return node.unsupported("'...' of its equation stands for " + Twine(rank - shown) + " dimensions, at most " +
                              Twine(kMostHidden) + " are supported");
    if (shown > rank || (shown < rank && !text.contains("...")))
      return node.invalid("a term of its equation has " + Twine(shown) + " letters, and the operand has " +
                          Twine(rank) + " dimensions");
    FailureOr<std::string> letters = spelled(text, rank - shown);
    if (failed(letters))
      return failure();
    mostHidden = std::max(mostHidden, rank - shown);
    terms.push_back(*letters);
  }
  std::string result;
  if (arrow == std::string::npos) {
    // Without one: what stands for "...", then the letters that occur once, in order.
    for (size_t i = mostHidden; i-- > 0;)
      result += static_cast<char>('0' + i);
    std::string all = StringRef(equation).str(), once;
    for (char letter : all)
      if (llvm::isAlpha(letter) && llvm::count(all, letter) == 1)
        once += letter;
    llvm::sort(once);
    result += once;
  } else {
    FailureOr<std::string> letters = spelled(StringRef(equation).drop_front(arrow + 2), mostHidden);
    if (failed(letters))
      return failure();
    result = *letters;
  }
  terms.push_back(result);
  return terms;
}

Value arrange(NodeContext &node, const Term &term, StringRef order) {
  Dims permutation;
  for (char letter : order)
    permutation.push_back(static_cast<int64_t>(term.letters.find(letter)));
  return term.letters == order ? term.x : node.transpose(term.x, permutation);
}

/// Each letter once: where one stands twice, the diagonal of its two dimensions.
FailureOr<Term> diagonals(NodeContext &node, Term term) {
  for (size_t i = 0; i < term.letters.size() && term.x; ++i) {
    size_t other = term.letters.find(term.letters[i], i + 1);
    if (other == std::string::npos)
      continue;
    Dims shape(shapeOf(term.x)), order, kept;
    if (shape[i] != shape[other])
      return node.invalid(Twine("the letter '") + Twine(term.letters[i]) + "' of its equation stands for the extents " +
                          Twine(shape[i]) + " and " + Twine(shape[other]) + " of one operand");
    std::string letters;
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != i && d != other) {
        order.push_back(static_cast<int64_t>(d));
        kept.push_back(shape[d]);
        letters += term.letters[d];
      }
    order.push_back(static_cast<int64_t>(i));
    order.push_back(static_cast<int64_t>(other));
    // Along the diagonal of [n, n], elements lie n + 1 apart.
    int64_t n = shape[i];
    Dims flat(kept), starts(kept.size() + 1, 0), steps(kept.size() + 1, 1);
    flat.push_back(n * n);
    kept.push_back(n);
    steps.back() = n > 1 ? n + 1 : 1;
    term = {node.slice(node.reshape(node.transpose(term.x, order), flat), starts, steps, kept),
            letters + term.letters[i]};
    i = static_cast<size_t>(-1);
  }
  return term;
}

/// The term summed over letters that nothing else needs; extents of 1 that others broadcast go too.
Term summed(NodeContext &node, const Term &term, llvm::function_ref<bool(char)> isNeeded) {
  Dims axes;
  std::string kept;
  for (auto [axis, letter] : llvm::enumerate(term.letters))
    if (isNeeded(letter))
      kept += letter;
    else
      axes.push_back(static_cast<int64_t>(axis));
  return {axes.empty() ? term.x : node.reduce(ReduceKind::sum, term.x, axes, false), kept};
}

/// One batched product. Letters of both that are needed later are batch dimensions; the other common ones are summed.
FailureOr<Term> contracted(NodeContext &node, const Term &lhs, const Term &rhs,
                           llvm::function_ref<bool(char)> isNeeded) {
  std::string batch, rows, columns, inner;
  for (char letter : lhs.letters)
    (rhs.letters.find(letter) == std::string::npos ? rows : isNeeded(letter) ? batch : inner) += letter;
  for (char letter : rhs.letters)
    if (lhs.letters.find(letter) == std::string::npos)
      columns += letter;
  Dims dims;
  for (char letter : batch + inner)
    if (lhs.extent(letter) != rhs.extent(letter))
      return node.invalid(Twine("the extents of '") + Twine(letter) + "' of its equation differ between operands");
  for (char letter : batch + rows)
    dims.push_back(lhs.extent(letter));
  for (char letter : columns)
    dims.push_back(rhs.extent(letter));
  auto extentOf = [](const Term &term, StringRef group) {
    Count extent = 1;
    for (char letter : group)
      extent *= term.extent(letter);
    return extent;
  };
  Value left = node.reshape(arrange(node, lhs, batch + rows + inner),
                            {extentOf(lhs, batch), extentOf(lhs, rows), extentOf(lhs, inner)});
  Value right = node.reshape(arrange(node, rhs, batch + inner + columns),
                             {extentOf(rhs, batch), extentOf(rhs, inner), extentOf(rhs, columns)});
  return Term{node.reshape(node.matmul(left, right), dims), batch + rows + columns};
}

/// A sum of products, as diagonals, reductions, transpositions and batched matrix products, operand after operand.
LogicalResult einsum(NodeContext &node) {
  if (failed(node.require(std::max<size_t>(1, node.inputCount()))))
    return failure();
  FailureOr<SmallVector<std::string>> texts = einsumTerms(node);
  if (failed(texts))
    return failure();
  std::string result = texts->pop_back_val();
  SmallVector<Term> terms;
  for (auto [i, letters] : llvm::enumerate(*texts)) {
    FailureOr<Term> term = diagonals(node, {node.input(i), letters});
    if (failed(term))
      return failure();
    if (!term->x)
      return node.result({});
    terms.push_back(*term);
  }
  auto extentOf = [&](char letter) {
    int64_t extent = 1;
    for (const Term &term : terms)
      if (int64_t own = term.extent(letter); own != 1)
        extent = own;
    return extent;
  };
  for (char letter : result)
    if (llvm::count(result, letter) > 1 ||
        llvm::none_of(terms, [&](const Term &term) { return term.letters.find(letter) != std::string::npos; }))
      return node.invalid("each letter in the result of its equation must be unique and must occur in an operand");
  // A broadcast extent of 1 is no dimension of its operand.
  for (Term &term : terms) {
    Term own = term;
    term = summed(node, own, [&](char letter) { return own.extent(letter) == extentOf(letter); });
  }
  Term all = terms.front();
  for (size_t i = 0; i < terms.size(); ++i) {
    auto isNeeded = [&](char letter, size_t from) {
      return result.find(letter) != std::string::npos ||
             llvm::any_of(ArrayRef(terms).drop_front(from),
                          [&](const Term &term) { return term.letters.find(letter) != std::string::npos; });
    };
    auto neededLater = [&](char letter) { return isNeeded(letter, i + 1); };
    if (i > 0) {
      const Term &next = terms[i];
      auto inOther = [&](const Term &other) {
        return [&, neededLater](char letter) {
          return neededLater(letter) || other.letters.find(letter) != std::string::npos;
        };
      };
      Term left = summed(node, all, inOther(next)), right = summed(node, next, inOther(left));
      if (!left.x || !right.x)
        return node.result({});
      FailureOr<Term> product = contracted(node, left, right, neededLater);
      if (failed(product))
        return failure();
      all = *product;
    } else if (terms.size() == 1) {
      all = summed(node, all, neededLater);
    }
    if (!all.x)
      return node.result({});
  }
  return node.result(arrange(node, all, result));
}

/// Of the rows from `row` on and the columns left, by the first row's minors.
Value determinant(NodeContext &node, Value x, int64_t row, ArrayRef<int64_t> columns) {
  int64_t rank = rankOf(x);
  Value sum;
  for (size_t i = 0; i < columns.size(); ++i) {
    Value entry = node.sliceAxis(node.sliceAxis(x, rank - 2, row, 1), rank - 1, columns[i], 1);
    Dims rest(columns);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (!rest.empty())
      entry = node.mul(entry, determinant(node, x, row + 1, rest));
    sum = !sum ? entry : i % 2 ? node.sub(sum, entry) : node.add(sum, entry);
  }
  return sum;
}

LogicalResult det(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t rank = rankOf(x);
  constexpr int64_t kLargest = 4;
  if (rank < 2 || shapeOf(x)[rank - 1] != shapeOf(x)[rank - 2])
    return node.invalid("the last two dimensions of its input must be equal");
  if (shapeOf(x)[rank - 1] < 1 || shapeOf(x)[rank - 1] > kLargest)
    return node.unsupported("its matrices have " + Twine(shapeOf(x)[rank - 1]) + " rows, 1 to " + Twine(kLargest) +
                            " are supported");
  Dims columns;
  for (int64_t i = 0; i < shapeOf(x)[rank - 1]; ++i)
    columns.push_back(i);
  return node.result(node.reshape(determinant(node, x, 0, columns), shapeOf(x).drop_back(2)));
}

constexpr OperatorEntry kOperators[] = {
    {"", "MatMul", 1, matmul},
    {"", "Gemm", 1, gemm},
    {"com.microsoft", "FusedGemm", 1, fusedGemm},
    {"com.microsoft", "FusedMatMul", 1, fusedMatmul},
    {"", "MatMulInteger", 10, matmulInteger},
    {"", "Einsum", 12, einsum},
    {"", "Det", 11, det},
};

} // namespace

Value activate(NodeContext &node, Value x, StringRef activation, double first, double second) {
  if (!x || activation.empty() || activation == "Identity")
    return x;
  if (activation == "Clip") {
    const Value most = node.splat(elementTypeOf(x), second);
    const Value least = node.splat(elementTypeOf(x), first);
    return node.binary(BinaryKind::min, node.binary(BinaryKind::max, x, least), most);
  }
  const std::optional<UnaryKind> kind = llvm::StringSwitch<std::optional<UnaryKind>>(activation)
                                            .Case("Relu", UnaryKind::relu)
                                            .Case("Tanh", UnaryKind::tanh)
                                            .Case("Sigmoid", UnaryKind::sigmoid)
                                            .Case("Softplus", UnaryKind::softplus)
                                            .Case("Softsign", UnaryKind::softsign)
                                            .Case("LeakyRelu", UnaryKind::leaky_relu)
                                            .Case("Elu", UnaryKind::elu)
                                            .Case("ThresholdedRelu", UnaryKind::thresholded_relu)
                                            .Case("HardSigmoid", UnaryKind::hard_sigmoid)
                                            .Default(std::nullopt);
  if (kind)
    return node.unary(*kind, x, first, second);
  (void)node.unsupported("its activation is '" + activation + "', which is not supported");
  return {};
}

ArrayRef<OperatorEntry> linearOperators() { return kOperators; }

} // namespace sluice::onnximport
