//===- Program.cpp - From a plan to LLVM's dialect ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Codegen/Passes.h"
#include "sluice/Compiler/Phases.h"

using namespace mlir;

namespace sluice {

/// dataflow-apply-plan, for the plan in memory. The printed pipeline names its file.
static void addApplyPlan(Pipeline &passes, const std::shared_ptr<const Decisions> &decisions, const char *phase,
                         const std::vector<int64_t> &bounds = {}) {
  const std::string plan = bounds.empty() ? kPlanFileName : bucketPlanFile(kPlanFileName, bounds);
  const std::string bucket = boundsText(bounds);
  passes.onModule("dataflow-apply-plan", {{"plan", plan}, {"phase", phase}, {"bucket", bucket}},
                  [decisions, phase, bucket] {
                    ApplyPlanPassOptions options;
                    options.phase = phase;
                    options.bucket = bucket;
                    return createApplyPlanPass(options, decisions.get());
                  });
}

Expected<Program> place(std::shared_ptr<const Planned> planned, const CompilerOptions &options) {
  const Fused &fused = *planned->fused;
  auto decisions = std::make_shared<Decisions>();
  decisions->plan = planned->result.plan;
  Program program{fused.clone(), planned, decisions, {}};
  for (const Planned::OfBucket &bucket : planned->buckets) {
    auto own = std::make_shared<Decisions>();
    own->plan = bucket.result.plan;
    program.ofBuckets.push_back(std::move(own));
  }
  Pipeline passes;
  // The machine is in memory: its file may be a pipe, and the host's measurements differ each time.
  passes.onModule("exec-attach-machine", {{"machine", options.machine}, {"ranks", optionText(fused.ranks)}},
                  [machine = fused.ofRank] { return createAttachMachinePass(machine); });
  passes.onModule("exec-attach-target", {{"target", targetName(fused.origin->target)}});
  addApplyPlan(passes, program.decisions, "place");
  SLUICE_RETURN_IF_ERROR(program.run(passes));
  return program;
}

Status schedule(Program &program) {
  Pipeline passes;
  addApplyPlan(passes, program.decisions, "schedule");
  for (size_t i = 0; i < program.ofBuckets.size(); ++i)
    addApplyPlan(passes, program.ofBuckets[i], "schedule", program.planned->buckets[i].bucket->bounds);
  return program.run(passes);
}

Status buildProgram(Program &program, const CompilerOptions &options) {
  const Fused &fused = *program.planned->fused;
  SLUICE_RETURN_IF_ERROR(fused.ofRank.checkCompilable());
  if (fused.ranks > 1 && fused.ofRank.hasFiles())
    return makeError(ErrorCode::Unsupported,
                     "a model that is split over ranks cannot read weights from a file, memory '",
                     fused.ofRank.memories.back().name, "' of machine '", fused.ofRank.name,
                     "', compile for one device, or for a machine without files");
  Pipeline passes;
  passes.onModule("dataflow-to-exec", {{"name", program.origin->name}});
  passes.onModule("dataflow-emit-kernels",
                  {{"precision", matmulPrecisionName(options.matmulPrecision)}, {"chunks", fused.chunks}});
  return program.run(passes);
}

Status lowerProgram(Program &program, const CompilerOptions &options) {
  Pipeline passes;
  // No C library: kernel-simplify has quicker forms of some powers, and makes arithmetic of what is expanded.
  if (options.package.isFreestanding)
    for (const char *pass : {"kernel-simplify", "kernel-expand-math", "kernel-simplify", "kernel-expand-fma"})
      passes.onFunctions(pass);
  passes.onModule("lower-grids").onModule("lower-kernels");
  return program.run(passes);
}

Expected<Artifact> compilePlan(std::shared_ptr<const Planned> planned, const CompilerOptions &options,
                               const std::string &directory) {
  SLUICE_ASSIGN_OR_RETURN(Program program, place(std::move(planned), options));
  SLUICE_RETURN_IF_ERROR(schedule(program));
  SLUICE_RETURN_IF_ERROR(buildProgram(program, options));
  SLUICE_RETURN_IF_ERROR(lowerProgram(program, options));
  return link(program, options, directory);
}

} // namespace sluice
