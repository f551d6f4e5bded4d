//===- ConvertMl.cpp - Operators of ai.onnx.ml ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Ml.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

LogicalResult arrayFeatureExtractor(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), columns = node.input(1);
  if (rankOf(x) < 1)
    return node.invalid("its input is a scalar");
  int64_t extent = shapeOf(x).back();
  if (failed(node.limit(columns, AllowedIndices{-extent, extent - 1, std::nullopt})))
    return failure();
  Value list = node.reshape(columns, {elementCount(columns.getType())});
  Value y = node.create<GatherOp>({x, list}, node.integer("axis", rankOf(x) - 1));
  if (y && rankOf(y) == 1)
    y = node.reshape(y, {1, shapeOf(y)[0]});
  return node.result(y);
}

LogicalResult binarizer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  Type type = elementTypeOf(x);
  const double threshold = node.numberOr("threshold", 0);
  if (!isa<IntegerType>(type)) {
    Value limit = node.splat(type, threshold);
    return node.result(node.cast(node.compare(ComparePredicate::gt, x, limit), type));
  }
  // An integer is above the threshold where it is above the greatest integer that is not. Bounds of 64 bits are beyond
  // those of every type but themselves.
  if (type.getIntOrFloatBitWidth() < 32 || isUnsignedElement(type))
    return node.invalid("the elements of its input must be double, float, int32 or int64");
  const double bound = std::ldexp(1.0, static_cast<int>(type.getIntOrFloatBitWidth()) - 1),
               below = std::floor(threshold);
  if (std::isnan(threshold) || below >= bound)
    return node.result(node.splat(type, 0, shapeOf(x)));
  if (below < -bound)
    return node.result(node.splat(type, 1, shapeOf(x)));
  Value limit = integerConstant(node, {static_cast<int64_t>(below)}, type, {});
  return node.result(node.cast(node.compare(ComparePredicate::gt, x, limit), type));
}

LogicalResult scaler(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Type type = Float32Type::get(node.context());
  Value x = node.cast(node.input(0), type);
  const int64_t features = x && rankOf(x) > 0 ? shapeOf(x).back() : 1;
  for (auto [name, kind] : {std::pair("offset", BinaryKind::sub), std::pair("scale", BinaryKind::mul)}) {
    const SmallVector<double> values = node.numbersAt(name).value_or(SmallVector<double>());
    const auto count = static_cast<int64_t>(values.size());
    if (count > 1 && count != features)
      return node.invalid("its " + Twine(name) + " has " + Twine(count) + " entries, and the number of features is " +
                              Twine(features),
                          "give one entry for each feature or one for all");
    if (count > 0)
      x = node.binary(kind, x, numberConstant(node, values, type, {count}));
  }
  return node.result(x);
}

/// Text's words become numbers, the pool's and the input's alike: those of the pool's words where they first stand.
Dims numberWords(NodeContext &node, ArrayRef<std::string> words, Value &x) {
  llvm::StringMap<int64_t> numbers;
  Dims pool;
  for (auto [i, word] : llvm::enumerate(words))
    pool.push_back(numbers.try_emplace(word, static_cast<int64_t>(i)).first->second);
  SmallVector<StringRef> keys(words.begin(), words.end());
  x = node.create<StringFindOp>({x}, {node.mlir().getNamedAttr("keys", node.mlir().getStrArrayAttr(keys))},
                                {node.type(node.mlir().getI64Type(), shapeOf(x))});
  return pool;
}

/// How often each n-gram of a pool occurs in a row, its members up to max_skip_count elements apart.
LogicalResult tfIdfVectorizer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  std::optional<Dims> pool = node.integersAt("pool_int64s"), starts = node.integersAt("ngram_counts"),
                      places = node.integersAt("ngram_indexes");
  int64_t least = node.integerOr("min_gram_length", 1), longest = node.integerOr("max_gram_length", 1);
  int64_t skips = node.integerOr("max_skip_count", 0);
  if (std::optional<SmallVector<std::string>> words = node.stringsAt("pool_strings");
      words && isString(elementTypeOf(x)))
    pool = numberWords(node, *words, x);
  if (!pool || !starts || !places || pool->empty() || places->empty())
    return node.unsupported("its pool must have elements of the type of its input");
  constexpr int64_t kMost = 4096;
  if (rankOf(x) < 1 || rankOf(x) > 2 || least < 1 || longest < least || longest > kMost || skips < 0 ||
      longest * (Count(skips) + 1) > kMost || static_cast<int64_t>(places->size()) > kMost * kMost)
    return node.invalid("its input must be a list or a matrix, and its min_gram_length, max_gram_length and "
                        "max_skip_count must be in range");
  Type index = node.mlir().getI64Type(), wide = Float32Type::get(node.context());
  int64_t length = shapeOf(x).back(), rows = rankOf(x) == 2 ? shapeOf(x)[0] : 1;
  x = node.cast(node.reshape(x, {rows, length}), index);
  SmallVector<Value> counts;
  int64_t grams = 0;
  for (int64_t n = 1; n <= static_cast<int64_t>(starts->size()); ++n) {
    int64_t start = (*starts)[n - 1], end = n < static_cast<int64_t>(starts->size()) ? (*starts)[n] : pool->size();
    if (start < 0 || end < start || end > static_cast<int64_t>(pool->size()) || (end - start) % n != 0)
      return node.invalid("its ngram_counts must be ascending positions in the pool, and the entries between two "
                          "positions must be whole n-grams");
    int64_t number = (end - start) / n;
    grams += number;
    if (number == 0)
      continue;
    Value sum = node.splat(wide, 0, {rows, number});
    for (int64_t skip = 0; skip <= (n > 1 ? skips : 0) && n >= least && n <= longest; ++skip) {
      int64_t positions = length - (n - 1) * (skip + 1);
      if (positions < 1)
        break;
      Value matches;
      for (int64_t k = 0; k < n; ++k) {
        Dims members;
        for (int64_t gram = 0; gram < number; ++gram)
          members.push_back((*pool)[start + gram * n + k]);
        Value here = node.reshape(node.sliceAxis(x, 1, k * (skip + 1), positions), {rows, positions, 1});
        Value same = node.compare(ComparePredicate::eq, here, node.reshape(node.integers(members), {1, 1, number}));
        matches = matches ? node.binary(BinaryKind::logical_and, matches, same) : same;
      }
      sum = node.add(sum, node.reduce(ReduceKind::sum, node.cast(matches, wide), {1}, false));
    }
    counts.push_back(sum);
  }
  if (grams != static_cast<int64_t>(places->size()))
    return node.invalid("it has " + Twine(places->size()) + " ngram_indexes for " + Twine(grams) +
                        " n-grams, one for each is needed");
  if (*llvm::min_element(*places) < 0 || *llvm::max_element(*places) >= kMost * kMost)
    return node.invalid("its ngram_indexes are out of range");
  const int64_t columns = *llvm::max_element(*places) + 1;
  Value all = node.concat(counts, 1);
  std::string mode = node.stringOr("mode", "");
  if (mode == "IDF" || mode == "TFIDF") {
    SmallVector<double> weights = node.numbersAt("weights").value_or(SmallVector<double>(grams, 1.0));
    if (static_cast<int64_t>(weights.size()) != grams)
      return node.invalid("it has " + Twine(weights.size()) + " weights for " + Twine(grams) +
                          " n-grams, one for each is needed");
    SmallVector<Value> entries;
    for (double weight : weights)
      entries.push_back(node.splat(wide, weight, {1, 1}));
    if (mode == "IDF")
      all = node.binary(BinaryKind::min, all, node.splat(wide, 1));
    all = node.mul(all, node.concat(entries, 1));
  } else if (mode != "TF") {
    return node.invalid("its mode is '" + mode + "', ONNX defines 'TF', 'IDF' and 'TFIDF'");
  }
  // Columns that no n-gram has come from one of zeros behind the others.
  Dims sources(columns, grams);
  for (auto [gram, place] : llvm::enumerate(*places))
    sources[place] = static_cast<int64_t>(gram);
  all = node.concat({all, node.splat(wide, 0, {rows, 1})}, 1);
  Value y = node.create<GatherOp>({all, node.integers(sources)}, node.integer("axis", 1));
  return node.result(rankOf(node.input(0)) == 1 ? node.reshape(y, {columns}) : y);
}

constexpr OperatorEntry kOperators[] = {
    {"", "TfIdfVectorizer", 9, tfIdfVectorizer},
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, arrayFeatureExtractor},
    {"ai.onnx.ml", "Binarizer", 1, binarizer},
    {"ai.onnx.ml", "Scaler", 1, scaler},
};

} // namespace

ArrayRef<OperatorEntry> mlOperators() { return kOperators; }

} // namespace sluice::onnximport
