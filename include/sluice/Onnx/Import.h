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

/// How a model is read that is to be trained.
struct TrainingImport {
  /// ECMAScript regular expression that a trainable initializer's whole name matches; empty: every one that holds more
  /// than one float.
  std::string trainable;
  /// Of dropout's masks.
  uint64_t seed = 0;
};

/// Adds operators that compute the gradient of `root` (times `seed`) by each of `wrt`; null where none flows.
using GradientBuilder = std::function<llvm::FailureOr<llvm::SmallVector<mlir::Value>>(
    mlir::OpBuilder &, mlir::Value root, mlir::Value seed, llvm::ArrayRef<mlir::Value> wrt)>;

struct ImportOptions {
  DimBindings dims;
  /// Trainable initializers become `dataflow.state`s; batch normalisation uses the batch's statistics, and updates the
  /// running ones (results with the attribute `dataflow.updates`); dropout drops. Absent: the model as it infers.
  std::optional<TrainingImport> training;
  /// Inputs whose data is known now, by name: the program is specialised to it. Shapes, axes and the like that are
  /// graph inputs need this, as all shapes are static. Their arguments stay, unread, with the value in the attribute
  /// `dataflow.fixed`.
  std::map<std::string, HostTensor> fixedInputs;
  /// The most iterations of a loop, 0: no limit. A step fails if a loop would run more often. A loop that stacks
  /// tensors and whose number of iterations only the data says needs the limit: its stacks have room for so many.
  int64_t maxIterations = 0;
  /// Unrolls loops and recurrences of known length, up to 100,000 nodes and 2,048 elements. Set it for devices that run
  /// no loops.
  bool unrollsLoops = false;
  /// Where operators mix what holds of a tensor with what does not, lets extents follow what the data says in each
  /// step: dataflow.take_first. Not for devices whose kernels have constant extents, nor for training.
  bool findsExtents = false;
  /// By name of a tensor that gives extents, such as the limit of a Range: what its elements are at most, where the
  /// model does not show it. A step in which one is greater fails.
  std::map<std::string, ValueBounds> bounds;
  /// For models that ask for gradients themselves; absent: those are not supported.
  GradientBuilder buildGradient;
};

/// The model's graph as `func.func @main` of the dataflow dialect: static types, inputs as arguments and outputs as
/// results in the model's order, each with its name in the attribute `dataflow.name`; operators keep their nodes'
/// names as locations. Initializers beyond a few hundred bytes are resources that point into the mapped file.
///
/// What follows from shapes alone is computed on the way, so shape arithmetic leaves nothing behind. Control flow that
/// is known and short becomes part of the program; other branches and loops are dataflow.if and dataflow.loop. Inputs
/// and outputs that are sequences are one argument or result an element, "x[0]". An output whose extent only the data
/// says has an extent that is found in the step (ImportOptions::findsExtents), or room for all there can be, and a
/// result more, "y:extent0", with what holds of it.
///
/// Fails on operators, versions, types or attributes it does not know, with one error that lists all such nodes; on
/// unbound dimensions; and on a node whose operands do not fit its operator. The context must have the dataflow and
/// func dialects loaded, or allow loading.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const ModelFile &model,
                                                        const ImportOptions &options = {});

} // namespace sluice

#endif // SLUICE_ONNX_IMPORT_H
