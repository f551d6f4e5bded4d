//===- TuningProgram.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TuningProgram.h"

#include "RunInputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::driver {

using dataflow::DataflowDialect;

TuningTrial::TuningTrial(std::shared_ptr<const Planned> planned, TemporaryDirectory directory, RunSession session)
    : planned(std::move(planned)), directory(std::move(directory)), session(std::move(session)),
      samples_(this->planned->fused->bridge.graph, this->planned->fused->measured, this->planned->result.plan) {}

Status TuningTrial::run(int64_t steps) {
  for (int64_t step = isWarm ? 0 : -1; step < steps; ++step) {
    SLUICE_RETURN_IF_ERROR(session.step(inputs, outputs));
    if (step >= 0)
      samples_.addStep(session);
  }
  isWarm = true;
  return {};
}

/// The attribute of the operator, or of a member of its group.
static dataflow::TuningAttr tuningIn(mlir::Operation *op) {
  dataflow::TuningAttr found;
  DataflowDialect::TuningAttrHelper helper(op->getContext());
  op->walk([&](mlir::Operation *member) {
    if (auto tuning = helper.getAttr(member))
      found = tuning;
  });
  return found;
}

std::string TuningTrial::kernelOf(size_t op) const {
  auto tuning = tuningIn(planned->fused->bridge.operators[op]);
  return tuning ? tuning.getKernel().str() : "";
}

std::map<std::string, int64_t> TuningTrial::kernelNs() const {
  std::map<std::string, int64_t> times;
  for (size_t i = 0; i < planned->fused->bridge.operators.size(); ++i)
    if (const std::string kernel = kernelOf(i); !kernel.empty() && samples_.medianNs(OperatorId(i)) > 0)
      times[kernel] += samples_.medianNs(OperatorId(i));
  return times;
}

int64_t TuningTrial::stepNs(std::string_view without) const {
  int64_t sum = 0;
  for (size_t i = 0; i < planned->fused->bridge.operators.size(); ++i)
    if (planned->fused->bridge.graph.op(OperatorId(i)).kind != without)
      sum += samples_.medianNs(OperatorId(i));
  return sum;
}

std::map<std::string, std::optional<dataflow::ConvAlgorithm>> TuningTrial::algorithms() const {
  std::map<std::string, std::optional<dataflow::ConvAlgorithm>> algorithms;
  for (size_t i = 0; i < planned->fused->bridge.operators.size(); ++i)
    planned->fused->bridge.operators[i]->walk(
        [&](dataflow::ConvOp conv) { algorithms[kernelOf(i)] = conv.getAlgorithm(); });
  return algorithms;
}

int64_t TuningTrial::estimatedNs(dataflow::Rate rate, std::string_view without) const {
  int64_t longest = 1;
  for (const Operator &op : planned->fused->bridge.graph.operators())
    if (op.kind != without)
      longest = std::max(longest, dataflow::Work{rate, op.flops, op.bytesMoved}.ns().value());
  return longest;
}

TuningProgram::TuningProgram(Partitioned taken, CompilerOptions given)
    : partitioned(std::move(taken)), options(std::move(given)) {
  const TargetSpec &spec = partitioned.origin->target;
  vectors = {spec.vectorLanes(32), spec.numVectorRegisters, spec.l2Bytes};
  tunable = tunableKernels(partitioned.main(), vectors);
}

Expected<TuningProgram> TuningProgram::open(const std::string &model, CompilerOptions options) {
  SLUICE_ASSIGN_OR_RETURN(Imported imported, importProgram(model, options));
  if (imported.origin->model)
    SLUICE_RETURN_IF_ERROR(imported.origin->model->requireData());
  SLUICE_ASSIGN_OR_RETURN(Simplified simplified, simplify(std::move(imported), options));
  SLUICE_ASSIGN_OR_RETURN(Simplified differentiated, differentiate(std::move(simplified), options));
  SLUICE_ASSIGN_OR_RETURN(Partitioned partitioned, partition(std::move(differentiated), options));
  return TuningProgram(std::move(partitioned), std::move(options));
}

Expected<std::unique_ptr<TuningTrial>> TuningProgram::compile(const Tuning &tuning, const std::string &file,
                                                              int threads) const {
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(file, jsonText(tuningToJson(tuning))));
  CompilerOptions own = options;
  own.tuningFile = file;
  SLUICE_ASSIGN_OR_RETURN(Fused fused, fuse(partitioned.copy(), own));
  SLUICE_ASSIGN_OR_RETURN(Planned planned, plan(std::make_shared<const Fused>(std::move(fused)), own));
  auto shared = std::make_shared<const Planned>(std::move(planned));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::create());
  if (Expected<Artifact> linked = compilePlan(shared, own, directory.path()); !linked)
    return propagate(linked);
  SLUICE_ASSIGN_OR_RETURN(RunSession session, RunSession::open(directory.path(), threads, /*trace=*/true));
  std::unique_ptr<TuningTrial> trial(new TuningTrial(std::move(shared), std::move(directory), std::move(session)));
  const sluice_model &model = trial->session.model();
  SLUICE_ASSIGN_OR_RETURN(trial->inputs,
                          makeInputs(model, trial->session.inputShapes(), std::vector<GivenInput>(model.num_inputs)));
  SLUICE_ASSIGN_OR_RETURN(trial->outputs, trial->session.makeOutputs());
  return trial;
}

} // namespace sluice::driver
