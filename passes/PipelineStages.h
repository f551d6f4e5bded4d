//===- PipelineStages.h - The stages of a training step ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Decides which stage of a pipeline runs each operator of a training step, and in which pass. The step must be made by
// dataflow-train to exchange gradients: it keeps the gradients as states, and begins with the update by them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_PIPELINESTAGES_H
#define SLUICE_PASSES_PIPELINESTAGES_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Pipeline/Cuts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

namespace sluice {

/// How often a value is computed in a step.
enum class ValueScope : uint8_t {
  Step,       ///< Once: constants and weights, and what follows from them.
  Counted,    ///< For each microbatch, by every group itself: what follows from states that only count.
  Microbatch, ///< For each microbatch, by the stage of its operator.
};

/// Rates of the machine, to estimate the time of operators.
struct StageRates {
  double flopsPerSec = 1e11, bytesPerSec = 1e10; ///< Of a rank's device.
  double linkBytesPerSec = 1e10;                 ///< Between two stages.
  int64_t linkLatencyNs = 0;
};

/// The operators of a training step by stages. It points into the function, whose operators must stay.
class PipelineStages {
public:
  /// A weight that the step updates.
  struct Weight {
    dataflow::StateOp state;
    dataflow::StateOp sum;                  ///< Holds the sum of the gradients when the update runs.
    mlir::Value gradient;                   ///< The gradient of one microbatch.
    llvm::SmallVector<mlir::Value> terms;   ///< Their sum is the gradient; each is of one stage.
    llvm::SmallVector<uint32_t> termStages; ///< Per term: the stage that makes it.
    uint32_t stage = 0;                     ///< The first stage that reads the weight.
  };
  /// A state that an optimizer updates: a weight, or a state of the optimizer's own.
  struct Update {
    dataflow::StateOp state;
    mlir::Value next;
    std::optional<size_t> weight; ///< The weight to whose update this state belongs; absent for a counter that every
                                  ///< group updates itself.
  };
  /// A state that the model itself updates from microbatch to microbatch.
  struct ModelState {
    dataflow::StateOp state;
    mlir::Value next;
    ValueScope scope = ValueScope::Counted; ///< Counted or Microbatch.
    uint32_t stage = 0;                     ///< With Microbatch: the stage that keeps it.
  };

  explicit PipelineStages(mlir::func::FuncOp function) : function(function) {}
  /// Cuts the step into stages. Emits an error and fails if the function is not such a training step, if it has fewer
  /// operators than stages, or if a state of the model would be in two stages.
  llvm::LogicalResult run(uint32_t numStages, const StageRates &rates);

  mlir::func::FuncOp getFunction() const { return function; }
  mlir::Value getLoss() const { return loss; }          ///< A member's result.
  unsigned getLossNumber() const { return lossNumber; } ///< Among the function's results.
  dataflow::StateOp getScale() const { return scale; }
  llvm::ArrayRef<Weight> getWeights() const { return weights; }
  llvm::ArrayRef<Update> getUpdates() const { return updates; }
  llvm::ArrayRef<ModelState> getModelStates() const { return modelStates; }
  const ModelState *findModelState(dataflow::StateOp state) const;
  /// The weight that the state is; absent for states that never change.
  std::optional<size_t> findWeight(dataflow::StateOp state) const;
  /// Operators of Microbatch scope, in order.
  llvm::ArrayRef<mlir::Operation *> getMembers() const { return members; }
  ValueScope scopeOf(mlir::Value value) const;
  bool isMember(mlir::Operation *op) const { return stages.contains(op); }
  uint32_t stageOf(mlir::Operation *member) const { return stages.lookup(member); }
  bool isForward(mlir::Operation *member) const { return forward.contains(member); }
  /// The weights from which a value of Step or Counted scope follows, by way of other counted states too.
  llvm::SmallVector<size_t> weightsOf(mlir::Value value) const;

private:
  llvm::LogicalResult findResults();
  llvm::LogicalResult findUpdates();
  void findMembers();
  void findScopes();
  llvm::LogicalResult findPositions();
  CutProblem cutProblem(uint32_t numStages, const StageRates &rates) const;
  llvm::LogicalResult assignStages(const CutSolution &cuts);
  void findTerms(Weight &weight);
  uint32_t stageOf(mlir::Value value, uint32_t otherwise) const;

  mlir::func::FuncOp function;
  mlir::Value loss;
  unsigned lossNumber = 0;
  dataflow::StateOp scale;
  std::vector<std::pair<dataflow::StateOp, mlir::Value>> next; ///< All states with a next value.
  std::vector<Weight> weights;
  std::vector<Update> updates;
  std::vector<ModelState> modelStates;
  llvm::SmallVector<mlir::Operation *> reached; ///< What the loss, the gradients and the model's states follow from.
  llvm::SmallVector<mlir::Operation *> members;
  llvm::DenseSet<mlir::Operation *> forward;
  llvm::DenseMap<mlir::Value, ValueScope> scopes;
  llvm::DenseMap<mlir::Operation *, size_t> positions; ///< Of members: in the order of the forward pass.
  size_t numPositions = 0;
  llvm::DenseMap<mlir::Operation *, uint32_t> stages;
};

} // namespace sluice

#endif // SLUICE_PASSES_PIPELINESTAGES_H
