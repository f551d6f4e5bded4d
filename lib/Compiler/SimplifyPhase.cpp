//===- SimplifyPhase.cpp - Simplification and training --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Machine/RankMachine.h"

using namespace mlir;

namespace sluice {

Status Stage::run(const Pipeline &pipeline) {
  SLUICE_RETURN_IF_ERROR(pipeline.run(*module));
  passes.append(pipeline);
  const FirstError said(module->getContext());
  if (failed(dataflow::verifyAtPoints(*module)))
    return makeError(ErrorCode::Internal, "a compiler pass loses the extents of tensors whose sizes have a range: ",
                     said.messageOr("no reason is given"), ", option '--dim', give sizes instead of ranges");
  return {};
}

static Pipeline::Options overlapOptions(const Machine &machine, int64_t requests) {
  const Device &device = machine.device(machine.computeDevices().front());
  const Link *link = machine.links.empty() ? nullptr : &machine.links.front();
  return {{"requests", optionText(requests)},
          {"flops-per-sec", optionText(device.flopsPerSec)},
          {"bytes-per-sec", optionText(device.memoryBytesPerSec)},
          {"link-bytes-per-sec", optionText(link ? link->bytesPerSec : device.memoryBytesPerSec)},
          {"link-latency", optionText(link ? link->latencyNs : int64_t(0))}};
}

Expected<Simplified> simplify(Imported imported, const CompilerOptions &options) {
  Pipeline passes;
  if (!options.states.empty()) {
    std::string lines;
    for (const std::string &state : options.states)
      lines += state + "\n";
    passes.onFunctions("dataflow-carry-states", {{"states", lines}});
  }
  if (options.prune.parts > 0)
    passes.onFunctions("dataflow-prune", {{"parts", optionText(options.prune.parts)},
                                          {"layers", options.prune.layers},
                                          {"seed", std::to_string(options.seed)},
                                          {"threads", std::to_string(options.threads)}});
  passes.onFunctions("dataflow-simplify", {{"differentiable", optionText(options.training.has_value())}});
  if (!options.training)
    passes.onFunctions("dataflow-share-windows");
  if (options.requests > 1)
    passes.onFunctions("dataflow-overlap-requests", overlapOptions(imported.origin->described, options.requests));
  SLUICE_RETURN_IF_ERROR(imported.run(passes));
  return Simplified{std::move(imported)};
}

/// Rates of a rank, and of the exchanges between ranks.
static void addRates(Pipeline::Options &pass, const Machine &machine, uint32_t ranks) {
  const Machine own = machineOfRank(machine, ranks);
  const Device &device = own.device(own.computeDevices().front());
  const Link *link = own.links.empty() ? nullptr : &own.links.front();
  pass.insert(pass.end(), {{"flops-per-sec", optionText(device.flopsPerSec)},
                           {"bytes-per-sec", optionText(device.memoryBytesPerSec)},
                           {"link-bytes-per-sec", optionText(link ? link->bytesPerSec : device.memoryBytesPerSec / 2)},
                           {"link-latency", optionText(link ? link->latencyNs : int64_t(0))}});
}

/// Refuses options that a pipeline does not have.
static Status checkPipeline(const CompilerOptions &options) {
  auto refuse = [](const auto &...what) {
    return makeError(ErrorCode::Unsupported, "a pipeline ", what..., ", leave out this option or --pipeline");
  };
  if (options.training->accumulate == kAccumulateRanks)
    return refuse("cannot exchange gradients between steps, option '--train accumulate=ranks'");
  if (options.training->accumulate > 1)
    return refuse("updates the weights after its microbatches and so cannot have option '--train accumulate=",
                  options.training->accumulate, "'");
  if (options.devices > 1 && options.devices != options.training->pipeline->numRanks())
    return refuse("of ", options.training->pipeline->numRanks(), " ranks cannot be divided over ", options.devices,
                  " devices, option '--devices ", options.devices, "'");
  if (options.splitOperators)
    return refuse("does not split operators, option '--split-operators'");
  if (!options.planFile.empty())
    return refuse("has one plan for each rank and cannot read a single plan, option '--plan'");
  return {};
}

Expected<Simplified> differentiate(Simplified simplified, const CompilerOptions &options) {
  if (!options.training)
    return simplified;
  const TrainingOptions &training = *options.training;
  auto weights = simplified.main().getBody().getOps<dataflow::StateOp>();
  if (llvm::none_of(weights, [](dataflow::StateOp state) { return state.getTrainable(); }))
    return makeError(ErrorCode::InvalidInput, "model '", simplified.origin->modelPath, "' has no weights to train",
                     training.trainable.empty() ? "" : concat(", no name matches '", training.trainable, "'"),
                     ", option '--trainable', give a regular expression that matches whole names of initializers");
  if (training.accumulate == kAccumulateRanks && options.devices > 1)
    return makeError(ErrorCode::InvalidInput,
                     "'--train accumulate=ranks' is for copies of the whole model, and the model is split over ",
                     options.devices, " devices, option '--devices', leave out one of the two options");
  if (training.pipeline)
    SLUICE_RETURN_IF_ERROR(checkPipeline(options));
  const int64_t accumulate = training.pipeline ? kAccumulateRanks : training.accumulate;
  Pipeline::Options train{{"loss", training.loss},
                          {"output", training.output},
                          {"axis", optionText(training.classAxis)},
                          {"accumulate", optionText(accumulate)},
                          {"optimizer", training.optimizer},
                          {"lr", optionText(training.learningRate)},
                          {"momentum", optionText(training.momentum)},
                          {"nesterov", optionText(training.nesterov)},
                          {"beta1", optionText(training.beta1)},
                          {"beta2", optionText(training.beta2)},
                          {"epsilon", optionText(training.epsilon)},
                          {"weight-decay", optionText(training.weightDecay)}};
  if (training.ignoreIndex)
    train.emplace_back("ignore-index", optionText(*training.ignoreIndex));
  Pipeline passes;
  if (training.pipeline)
    passes.onFunctions("dataflow-mark-positions");
  passes.onFunctions("dataflow-train", std::move(train));
  if (const std::optional<PipelineOptions> &pipeline = training.pipeline) {
    auto number = [](uint32_t value) { return optionText(static_cast<int64_t>(value)); };
    Pipeline::Options pass{{"rank", number(pipeline->rank)},
                           {"ranks", number(pipeline->numRanks())},
                           {"group-ranks", number(pipeline->groupRanks)},
                           {"stages", number(pipeline->stages)},
                           {"microbatches", number(pipeline->microbatches)},
                           {"schedule", pipelineKindNames()[static_cast<size_t>(pipeline->schedule)]}};
    addRates(pass, simplified.origin->described, pipeline->numRanks());
    passes.onFunctions("dataflow-pipeline", std::move(pass));
  }
  passes.onFunctions("dataflow-simplify");
  SLUICE_RETURN_IF_ERROR(simplified.run(passes));
  return simplified;
}

} // namespace sluice
