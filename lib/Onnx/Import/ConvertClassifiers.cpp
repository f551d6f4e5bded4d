//===- ConvertClassifiers.cpp - Linear models and support vector machines -===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A linear model is a product with its coefficients. Where the standard does not define a result, such as the scores of
// two classes if a model computes only one of them, the result is the same as ONNX Runtime's: see
// docs/rationale/classic-models.md.
//
//===----------------------------------------------------------------------===//
#include "Ml.h"

#include <numeric>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

using Numbers = SmallVector<double>;

Numbers numbersAt(NodeContext &node, StringRef name) { return node.numbersAt(name).value_or(Numbers()); }

/// Reports where a list has not so many entries.
LogicalResult requireEntries(NodeContext &node, StringRef name, size_t entries, int64_t wanted) {
  if (static_cast<int64_t>(entries) == wanted)
    return success();
  return node.invalid("its " + name + " have " + Twine(entries) + " entries instead of " + Twine(wanted));
}

/// x * rows^T + offsets of f32, where `rows` holds `count` lists of as many numbers as x has features.
Value linear(NodeContext &node, Value x, ArrayRef<double> rows, StringRef name, int64_t count) {
  const int64_t features = shapeOf(x)[1];
  if (count < 1 || failed(requireEntries(node, name, rows.size(), Count(count) * features)))
    return {};
  Numbers columns(rows.size());
  for (int64_t k = 0; k < count; ++k)
    for (int64_t feature = 0; feature < features; ++feature)
      columns[feature * count + k] = rows[k * features + feature];
  Type type = Float32Type::get(node.context());
  x = node.cast(x, type);
  Value weights = numberConstant(node, columns, type, {features, count});
  return node.matmul(x, weights);
}

LogicalResult linearRegressor(NodeContext &node) {
  FailureOr<Regressor> model = readRegressor(node);
  if (failed(model))
    return failure();
  const int64_t targets = node.integerOr("targets", 1);
  if (targets < 1)
    return node.invalid("its targets is " + Twine(targets) + " and must be at least 1");
  Value scores = linear(node, model->x, numbersAt(node, "coefficients"), "coefficients", targets);
  if (!scores)
    return failure();
  const Numbers intercepts = numbersAt(node, "intercepts");
  if (!intercepts.empty() && failed(requireEntries(node, "intercepts", intercepts.size(), targets)))
    return failure();
  return node.result(transformed(node, model->transform, plus(node, scores, intercepts)));
}

LogicalResult linearClassifier(NodeContext &node) {
  FailureOr<Classifier> model = readClassifier(node, "classlabels_ints");
  if (failed(model))
    return failure();
  const ClassLabels &labels = model->labels;
  const Numbers coefficients = numbersAt(node, "coefficients"), intercepts = numbersAt(node, "intercepts");
  // One score for each intercept, or for as many lists as there are coefficients for.
  const int64_t features = std::max<int64_t>(shapeOf(model->x)[1], 1);
  const int64_t count = static_cast<int64_t>(intercepts.empty() ? coefficients.size() / features : intercepts.size());
  if (count != labels.count && (count != 1 || labels.count != 2))
    return node.invalid("it has " + Twine(count) + " scores for " + Twine(labels.count) + " classes");
  Value scores = linear(node, model->x, coefficients, "coefficients", count);
  if (!scores)
    return failure();
  scores = plus(node, scores, intercepts);
  if (count == labels.count)
    return node.results({labels.ofLargest(node, scores), transformed(node, model->transform, scores)});
  Value zero = node.splat(elementTypeOf(scores), 0);
  Value isPositive = node.compare(ComparePredicate::gt, node.reshape(scores, {shapeOf(model->x)[0]}), zero);
  return node.results({labels.ofPair(node, isPositive), bothClasses(node, model->transform, scores, true)});
}

//===----------------------------------------------------------------------===//
// Support vector machines
//===----------------------------------------------------------------------===//

enum class Similarity : uint8_t { Linear, Poly, Rbf, Sigmoid };

/// How alike each row is to each of `count` support vectors: [N, count].
Value similarities(NodeContext &node, Value x, int64_t count) {
  const Numbers vectors = numbersAt(node, "support_vectors"), given = numbersAt(node, "kernel_params");
  FailureOr<Similarity> kind = node.choiceOr<Similarity>("kernel_type", "LINEAR",
                                                         {{"LINEAR", Similarity::Linear},
                                                          {"POLY", Similarity::Poly},
                                                          {"RBF", Similarity::Rbf},
                                                          {"SIGMOID", Similarity::Sigmoid}});
  if (failed(kind))
    return {};
  if (!given.empty() && failed(requireEntries(node, "kernel_params", given.size(), 3)))
    return {};
  const Numbers params = given.empty() ? Numbers{0, 0, 0} : given;
  Type type = Float32Type::get(node.context());
  auto number = [&](double value) { return node.splat(type, value); };
  const int64_t rows = shapeOf(x)[0], features = shapeOf(x)[1];
  if (*kind == Similarity::Rbf) {
    // Differences lose nothing where vectors lie far from the origin, as products would.
    if (failed(requireEntries(node, "support_vectors", vectors.size(), Count(count) * features)))
      return {};
    Value wide = node.reshape(node.cast(x, type), {rows, 1, features});
    Value difference = node.sub(wide, numberConstant(node, vectors, type, {1, count, features}));
    Value distance = node.reduce(ReduceKind::sum_square, difference, {2}, false);
    return node.unary(UnaryKind::exp, node.mul(distance, number(-params[0])));
  }
  Value product = linear(node, x, vectors, "support_vectors", count);
  if (!product || *kind == Similarity::Linear)
    return product;
  Value scaled = node.mul(product, number(params[0]));
  scaled = node.add(scaled, number(params[1]));
  return *kind == Similarity::Sigmoid ? node.unary(UnaryKind::tanh, scaled)
                                      : node.binary(BinaryKind::pow, scaled, number(params[2]));
}

LogicalResult svmRegressor(NodeContext &node) {
  FailureOr<Regressor> model = readRegressor(node);
  if (failed(model))
    return failure();
  const Numbers coefficients = numbersAt(node, "coefficients"), rho = numbersAt(node, "rho");
  const int64_t count = node.integerOr("n_supports", 0);
  if (rho.empty())
    return node.invalid("it has no attribute 'rho'");
  if (count < 0)
    return node.invalid("its n_supports is " + Twine(count) + " and must be at least 0");
  Value alike = count > 0 ? similarities(node, model->x, count) : model->x;
  Value scores = alike ? linear(node, alike, coefficients, "coefficients", 1) : Value();
  if (!scores)
    return failure();
  scores = plus(node, scores, {rho[0]});
  if (node.integerOr("one_class", 0) == 0)
    return node.result(transformed(node, model->transform, scores));
  Type type = elementTypeOf(scores);
  Value isInside = node.compare(ComparePredicate::gt, scores, node.splat(type, 0));
  Value inside = node.splat(type, 1), outside = node.splat(type, -1);
  return node.result(node.select(isInside, inside, outside));
}

/// The machine of several classes: one for each two of them.
class PairwiseMachine {
public:
  explicit PairwiseMachine(NodeContext &node) : node(node), type(Float32Type::get(node.context())) {}

  LogicalResult convert(Value x, const ClassLabels &labels, PostTransform transform, ArrayRef<int64_t> perClass) {
    classes = labels.count;
    pairs = Count(classes) * (classes - 1) / 2;
    const Numbers probA = numbersAt(node, "prob_a"), probB = numbersAt(node, "prob_b"), rho = numbersAt(node, "rho");
    if (failed(requireEntries(node, "vectors_per_class", perClass.size(), classes)) ||
        failed(requireEntries(node, "rho", rho.size(), pairs)) ||
        failed(requireEntries(node, "prob_b", probB.size(), static_cast<int64_t>(probA.size()))) ||
        (!probA.empty() && failed(requireEntries(node, "prob_a", probA.size(), pairs))))
      return failure();
    Value scores = scoresOf(x, perClass, rho);
    if (!scores)
      return failure();
    Value winners = labels.ofLargest(node, votes(scores));
    if (!probA.empty()) {
      Value p = probabilities(scores, probA, probB);
      return node.results({winners, transformed(node, transform, p)});
    }
    return node.results(
        {winners, classes == 2 ? bothClasses(node, transform, scores, false) : transformed(node, transform, scores)});
  }

private:
  void forPairs(function_ref<void(int64_t pair, int64_t i, int64_t j)> body) const {
    for (int64_t i = 0, pair = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j)
        body(pair++, i, j);
  }

  /// A number of a table is a double, then a float.
  static constexpr int64_t kBytesWhileMade = sizeof(double) + sizeof(float);

  /// The scores of pairs: a product of the similarities with, for classes i < j, the coefficients of i's vectors
  /// against j (row j - 1) and those of j's against i (row i).
  Value scoresOf(Value x, ArrayRef<int64_t> perClass, ArrayRef<double> rho) {
    Count total = 0;
    Dims starts;
    for (int64_t vectors : perClass) {
      if (vectors < 0) {
        (void)node.invalid("a number in its vectors_per_class is negative");
        return {};
      }
      starts.push_back(total);
      total += vectors;
    }
    const int64_t count = total;
    const Numbers coefficients = numbersAt(node, "coefficients");
    if (failed(requireEntries(node, "coefficients", coefficients.size(), Count(classes - 1) * count)) ||
        failed(node.spend(Count(count) * pairs * kBytesWhileMade)))
      return {};
    Value alike = similarities(node, x, count);
    if (!alike)
      return {};
    Numbers weights(count * pairs, 0);
    forPairs([&](int64_t pair, int64_t i, int64_t j) {
      for (int64_t k = starts[i]; k < starts[i] + perClass[i]; ++k)
        weights[k * pairs + pair] = coefficients[(j - 1) * count + k];
      for (int64_t k = starts[j]; k < starts[j] + perClass[j]; ++k)
        weights[k * pairs + pair] = coefficients[i * count + k];
    });
    return plus(node, node.matmul(alike, numberConstant(node, weights, type, {count, pairs})), rho);
  }

  /// How often each class wins: against another of greater number with a positive score.
  Value votes(Value scores) {
    Numbers won(pairs * classes, 0), constant(classes, 0);
    forPairs([&](int64_t pair, int64_t i, int64_t j) {
      won[pair * classes + i] = 1;
      won[pair * classes + j] = -1;
      constant[j] += 1;
    });
    Value isPositive = node.compare(ComparePredicate::gt, scores, node.splat(type, 0));
    Value wins = node.cast(isPositive, type);
    Value table = numberConstant(node, won, type, {pairs, classes});
    return plus(node, node.matmul(wins, table), constant);
  }

  /// Platt's, of each pair, and those of classes from them.
  Value probabilities(Value scores, ArrayRef<double> probA, ArrayRef<double> probB) {
    constexpr double kLeast = 1e-7;
    Value a = numberConstant(node, probA, type, {1, pairs});
    Value exponent = plus(node, node.mul(scores, a), probB);
    Value p = node.unary(UnaryKind::sigmoid, node.unary(UnaryKind::neg, exponent));
    p = node.binary(BinaryKind::max, p, node.splat(type, kLeast));
    p = node.binary(BinaryKind::min, p, node.splat(type, 1 - kLeast));
    return node.create<CoupleProbabilitiesOp>({p}, {}, {node.type(type, {shapeOf(scores)[0], classes})});
  }

  NodeContext &node;
  Type type;
  int64_t classes = 0, pairs = 0;
};

LogicalResult svmClassifier(NodeContext &node) {
  FailureOr<Classifier> model = readClassifier(node, "classlabels_ints");
  if (failed(model))
    return failure();
  const ClassLabels &labels = model->labels;
  const Dims perClass = node.integersAt("vectors_per_class").value_or(Dims());
  constexpr int64_t kMostClasses = 256;
  if (llvm::any_of(perClass, [](int64_t vectors) { return vectors != 0; })) {
    if (labels.count < 2 || labels.count > kMostClasses)
      return node.unsupported("it has " + Twine(labels.count) + " classes, 2 to " + Twine(kMostClasses) +
                              " are supported");
    return PairwiseMachine(node).convert(model->x, labels, model->transform, perClass);
  }
  const Numbers rho = numbersAt(node, "rho");
  if (rho.empty())
    return node.invalid("it has no attribute 'rho'");
  Value scores = linear(node, model->x, numbersAt(node, "coefficients"), "coefficients", labels.count);
  if (!scores)
    return failure();
  scores = plus(node, scores, {rho[0]});
  return node.results({labels.ofLargest(node, scores), transformed(node, model->transform, scores)});
}

constexpr OperatorEntry kOperators[] = {
    {"ai.onnx.ml", "LinearClassifier", 1, linearClassifier},
    {"ai.onnx.ml", "LinearRegressor", 1, linearRegressor},
    {"ai.onnx.ml", "SVMClassifier", 1, svmClassifier},
    {"ai.onnx.ml", "SVMRegressor", 1, svmRegressor},
};

} // namespace

ArrayRef<OperatorEntry> classifierOperators() { return kOperators; }

} // namespace sluice::onnximport
