//===- Import.h - ONNX to the dataflow dialect ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_IMPORT_H
#define SLUICE_ONNX_IMPORT_H

#include "sluice/Onnx/Dimensions.h"
#include "sluice/Onnx/ModelFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

#include <optional>

namespace sluice {

/// Options for the import of a model that will be trained.
struct TrainingImport {
  /// POSIX extended regular expression. An initializer is trainable if its whole name matches. If the expression is
  /// empty, every initializer with more than one float is trainable.
  std::string trainable;
  /// Seed of dropout's masks.
  uint64_t seed = 0;
};

/// Adds operators that compute the gradient of `root` (times `seed`) with respect to each value of `wrt`. The result is
/// null for a value without a gradient.
using GradientBuilder = std::function<llvm::FailureOr<llvm::SmallVector<mlir::Value>>(
    mlir::OpBuilder &, mlir::Value root, mlir::Value seed, llvm::ArrayRef<mlir::Value> wrt)>;

struct ImportOptions {
  DimBindings dims;
  /// If present, the model is imported for training. Trainable initializers become `dataflow.state`s. Batch
  /// normalization uses the statistics of the batch and updates the running statistics (results with the attribute
  /// `dataflow.updates`). Dropout drops elements. If it is absent, the model is imported for inference.
  std::optional<TrainingImport> training;
  /// Inputs whose data is known, by name; the program is specialised to this data. Two kinds of inputs must be here.
  /// First, inputs that determine shapes, if the importer finds no bounds of the extents. Second, inputs that determine
  /// axes, if the importer cannot import the operator once for each choice of axes. The inputs remain arguments of the
  /// function, but are not read. The attribute `dataflow.fixed` of such an argument has the value.
  std::map<std::string, HostTensor> fixedInputs;
  /// Limit of the iterations of a loop; 0 means no limit. A step fails if a loop exceeds the limit. A loop that stacks
  /// tensors needs the limit if its number of iterations depends on data and nothing else bounds this number: the
  /// stacks have room for as many iterations as the limit allows.
  int64_t maxIterations = 0;
  /// Unrolls loops of known length, up to 100,000 nodes in total, and recurrences over sequences of at most 2,048
  /// elements. Set it for devices that cannot run loops.
  bool unrollsLoops = false;
  /// True if a device runs grids. A grid cannot run the program of a single expert, so all experts of a `MoE` or `QMoE`
  /// are then computed in one batch.
  bool hasGrids = false;
  /// A result whose extent depends on data is computed with its greatest extent, and only its first positions are
  /// valid. If true, dataflow.take_first takes the valid positions before an operator that would mix them with
  /// invalid ones. Extents then follow the data of each step. Do not set it for training, or for
  /// devices whose kernels have constant extents.
  bool findsExtents = false;
  /// Bounds of the elements of tensors that determine extents, such as the limit of a Range, by the name of the tensor.
  /// A bound is needed if the model does not imply one. A step in which an element exceeds its bound fails.
  std::map<std::string, ValueBounds> bounds;
  /// Needed for models that contain gradient operators. If it is absent, these models are not supported.
  GradientBuilder buildGradient;
};

/// Imports the model's graph as `func.func @main` of the dataflow dialect. The shape in a tensor's type is static. For
/// an extent that varies, the shape has the upper bound of the extent, and the encoding of the type has the expression
/// of the extent. Inputs are arguments and outputs are results, in the model's order, each with its name in the
/// attribute `dataflow.name`. The locations of operators have the names of their nodes. Initializers of more than a few
/// hundred bytes are resources that refer to the mapped file.
///
/// The importer computes everything that follows from shapes, so no shape arithmetic is left. Branches with a known
/// condition and short loops of known length become part of the program; other branches and loops become dataflow.if
/// and dataflow.loop. A sequence among inputs or outputs becomes one argument or result for each element, such as
/// "x[0]". If an extent of an output depends on data, there are two cases. With ImportOptions::findsExtents, the step
/// finds the extent. Otherwise the output has room for the largest result, and a further result, such as "y:extent0",
/// has the valid extent.
///
/// Fails on unknown operators, versions, types and attributes, with one error that lists all nodes concerned; on
/// dimensions without a size; and on a node whose operands do not fit its operator. The context must have the dataflow
/// and func dialects loaded, or allow loading.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const ModelFile &model,
                                                        const ImportOptions &options = {});

} // namespace sluice

#endif // SLUICE_ONNX_IMPORT_H
