//===- Ml.h - What converters of ai.onnx.ml share ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_ML_H
#define SLUICE_LIB_ONNX_IMPORT_ML_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// A node's only input as rows of features of a float type: a list is one row, and integers become f32. Null, with a
/// report, where it is neither a list nor a matrix.
mlir::Value featureRows(NodeContext &node);

/// Constants of numbers computed while importing; null, with a message, where there are not as many as `dims` have
/// elements.
mlir::Value numberConstant(NodeContext &node, llvm::ArrayRef<double> values, mlir::Type type,
                           llvm::ArrayRef<int64_t> dims);
mlir::Value integerConstant(NodeContext &node, llvm::ArrayRef<int64_t> values, mlir::Type type,
                            llvm::ArrayRef<int64_t> dims);
mlir::Value textConstant(NodeContext &node, llvm::ArrayRef<std::string> values);
mlir::NamedAttribute texts(NodeContext &node, llvm::StringRef name, llvm::ArrayRef<std::string> values);

/// As cast(), and between numbers and text.
mlir::Value castAny(NodeContext &node, mlir::Value x, mlir::Type type);

enum class PostTransform : uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };
/// Scores [N, K].
mlir::Value transformed(NodeContext &node, PostTransform transform, mlir::Value scores);

/// The labels of classes, which an attribute of integers or one of texts lists.
struct ClassLabels {
  mlir::Value list;
  int64_t count = 0;
  bool areIntegers = false;

  /// Those at `places` [N].
  mlir::Value at(NodeContext &node, mlir::Value places) const;
  /// The label of the largest score of each row of scores [N, K]; of equal ones the first.
  mlir::Value ofLargest(NodeContext &node, mlir::Value scores) const;
  /// Label 1 where `isPositive` [N], else label 0.
  mlir::Value ofPair(NodeContext &node, mlir::Value isPositive) const;
};
/// Fails with a report unless the node has one of both attributes.
llvm::FailureOr<ClassLabels> classLabels(NodeContext &node, llvm::StringRef integers);

/// What the nodes of models that compute scores have in common; both readers fail with a report.
struct Regressor {
  mlir::Value x; ///< As featureRows().
  PostTransform transform = PostTransform::None;
};
struct Classifier : Regressor {
  ClassLabels labels;
};
llvm::FailureOr<Regressor> readRegressor(NodeContext &node);
/// `integers` names the attribute of labels that are integers.
llvm::FailureOr<Classifier> readClassifier(NodeContext &node, llvm::StringRef integers);

/// The scores with an offset for each column, or without any.
mlir::Value plus(NodeContext &node, mlir::Value scores, llvm::ArrayRef<double> offsets);

/// Scores s [N, 1] of the second of two classes as scores [N, 2] of both: as probabilities, 1 - s and s, or with both
/// signs; with Logistic the logistic function of -s and s.
mlir::Value bothClasses(NodeContext &node, PostTransform transform, mlir::Value scores, bool areProbabilities);

/// The places of x's elements among keys, of which the last of equal ones counts (or the first); the number of keys
/// where an element is none of them. i64.
mlir::Value placeOfNumber(NodeContext &node, mlir::Value x, mlir::Value keys);
mlir::Value placeOfText(NodeContext &node, mlir::Value x, llvm::ArrayRef<std::string> keys);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_ML_H
