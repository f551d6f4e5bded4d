//===- Ml.h - What converters of ai.onnx.ml share ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_ML_H
#define SLUICE_LIB_ONNX_IMPORT_ML_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// A node's only input as rows of features of a float type. A list is one row, and integers become f32. Null, with a
/// report, if the input is neither a list nor a matrix.
mlir::Value featureRows(NodeContext &node);

/// A constant of numbers computed while importing; null, with a message, if their number is not that of the elements of
/// `dims`.
mlir::Value numberConstant(NodeContext &node, llvm::ArrayRef<double> values, mlir::Type type,
                           llvm::ArrayRef<int64_t> dims);
mlir::Value integerConstant(NodeContext &node, llvm::ArrayRef<int64_t> values, mlir::Type type,
                            llvm::ArrayRef<int64_t> dims);
mlir::Value textConstant(NodeContext &node, llvm::ArrayRef<std::string> values);
mlir::NamedAttribute texts(NodeContext &node, llvm::StringRef name, llvm::ArrayRef<std::string> values);

/// Does what cast() does, and also converts between numbers and text.
mlir::Value castAny(NodeContext &node, mlir::Value x, mlir::Type type);

enum class PostTransform : uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };
/// Scores [N, K].
mlir::Value transformed(NodeContext &node, PostTransform transform, mlir::Value scores);

/// The labels of classes, from an attribute of integers or one of texts.
struct ClassLabels {
  mlir::Value list;
  int64_t count = 0;
  bool areIntegers = false;

  /// The labels at `places` [N].
  mlir::Value at(NodeContext &node, mlir::Value places) const;
  /// The label of the largest score of each row of scores [N, K]; the first of equal scores counts.
  mlir::Value ofLargest(NodeContext &node, mlir::Value scores) const;
  /// Label 1 for elements of `isPositive` [N] that are true, else label 0.
  mlir::Value ofPair(NodeContext &node, mlir::Value isPositive) const;
};
/// Fails with a report unless the node has one of both attributes.
llvm::FailureOr<ClassLabels> classLabels(NodeContext &node, llvm::StringRef integers);

/// The common parts of nodes of models that compute scores. Both readers fail with a report.
struct Regressor {
  mlir::Value x; ///< The input in the form of featureRows().
  PostTransform transform = PostTransform::None;
};
struct Classifier : Regressor {
  ClassLabels labels;
};
llvm::FailureOr<Regressor> readRegressor(NodeContext &node);
/// `integers` is the name of the attribute of integer labels.
llvm::FailureOr<Classifier> readClassifier(NodeContext &node, llvm::StringRef integers);

/// The scores plus an offset for each column, or unchanged if there are no offsets.
mlir::Value plus(NodeContext &node, mlir::Value scores, llvm::ArrayRef<double> offsets);

/// Turns scores s [N, 1] of the second of two classes into scores [N, 2] of both: 1 - s and s for probabilities, else
/// -s and s, to which Logistic applies the logistic function.
mlir::Value bothClasses(NodeContext &node, PostTransform transform, mlir::Value scores, bool areProbabilities);

/// The positions of x's elements among keys, as i64. Of equal keys, the last counts (or the first). An element that is
/// no key gets the number of keys.
mlir::Value placeOfNumber(NodeContext &node, mlir::Value x, mlir::Value keys);
mlir::Value placeOfText(NodeContext &node, mlir::Value x, llvm::ArrayRef<std::string> keys);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_ML_H
