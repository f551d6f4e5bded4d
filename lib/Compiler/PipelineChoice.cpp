//===- PipelineChoice.cpp - Pipelines, tilings, and both ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/PipelineChoice.h"

#include "SplitProgram.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Compiler/Partitioning.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Machine/RankMachine.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Support/Units.h"
#include "sluice/Tiling/Groups.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace sluice {

namespace {

/// Weighs one candidate.
class Weighing {
public:
  Weighing(const std::string &modelPath, const CompilerOptions &options, const PipelineOptions &pipeline)
      : modelPath(modelPath), options(options), pipeline(pipeline) {}

  Expected<PipelineCandidate> run() {
    PipelineCandidate candidate{pipeline.stages, pipeline.groupRanks, 0, 0, false, {}};
    std::vector<GroupProgram> groups;
    GroupMachine machine;
    int64_t capacityBytes = 0;
    for (uint32_t group = 0; group < pipeline.groups; ++group) {
      SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, compile(group, Phase::Differentiate));
      if (group == 0) {
        SLUICE_ASSIGN_OR_RETURN(machine, groupMachine(compilation->machine(), pipeline.groups, pipeline.groupRanks));
        SLUICE_ASSIGN_OR_RETURN(capacityBytes, capacityOfRank(compilation->machine()));
      }
      SLUICE_ASSIGN_OR_RETURN(SplitProgram split, splitGroup(*compilation));
      candidate.peakBytes = std::max(candidate.peakBytes, split.solution.report.peakBytes);
      groups.push_back(
          {std::move(split.program), std::move(split.solution.tiling), std::move(split.solution.report.conversions)});
    }
    SLUICE_ASSIGN_OR_RETURN(const GroupTimeline timeline, simulateGroups(groups, machine));
    candidate.stepNs = timeline.makespanNs;
    candidate.isLimited = candidate.peakBytes > capacityBytes;
    if (!candidate.isLimited)
      return candidate;
    int64_t addedNs = 0;
    for (uint32_t group = 0; group < pipeline.groups; ++group) {
      SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, compile(group, Phase::Place));
      addedNs = std::max(addedNs, compilation->result().makespanNs - compilation->result().idealNs);
    }
    candidate.stepNs = saturatingAdd(candidate.stepNs, addedNs);
    return candidate;
  }

private:
  Expected<std::unique_ptr<Compilation>> compile(uint32_t group, Phase last) const {
    if (options.interrupt && *options.interrupt)
      return makeError(ErrorCode::Interrupted, "stopped, option '--pipeline', run the command again");
    CompilerOptions own = options;
    own.training->pipeline = pipeline;
    own.training->pipeline->rank = group * pipeline.groupRanks;
    own.dumpPhases.clear();
    own.dumpProblem.clear();
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(modelPath, std::move(own)));
    SLUICE_RETURN_IF_ERROR(compilation->run(last));
    return compilation;
  }

  Expected<SplitProgram> splitGroup(Compilation &compilation) const {
    auto main = *compilation.module().getOps<func::FuncOp>().begin();
    return splitStage(main, compilation.name(), compilation.machine(), pipeline, partitionParams(options));
  }

  /// The memory that a rank's device has, with the limits of the options.
  Expected<int64_t> capacityOfRank(const Machine &machine) const {
    const Machine ofRank = machineOfRank(machine, pipeline.numRanks());
    const Graph graph;
    const CostTable costs;
    SearchProblem problem;
    problem.graph = &graph, problem.machine = &ofRank, problem.costs = &costs;
    for (const Memory &memory : ofRank.memories)
      problem.capacityBytes.push_back(memory.capacityBytes);
    for (const std::string &limit : options.memory) {
      if (limit.ends_with('%'))
        return makeError(
            ErrorCode::Unsupported,
            "stages=best compares plans with different numbers of stages, and a percentage would give each "
            "of them another limit, option '--memory ",
            limit, "', give bytes, or a number of stages by --pipeline stages=N");
      if (fileBelowHost(ofRank).valid())
        return makeError(ErrorCode::Unsupported, "option '--memory ", limit,
                         "' makes ranks read weights from a file, which the ranks of a pipeline cannot do, machine '",
                         machine.name, "', leave the option out, or give a machine without a memory of kind 'file'");
      SLUICE_RETURN_IF_ERROR(applyMemoryOption(problem, limit));
    }
    return problem.capacityBytes[ofRank.device(ofRank.computeDevices().front()).memory.index()];
  }

  const std::string &modelPath;
  const CompilerOptions &options;
  const PipelineOptions pipeline;
};

} // namespace

Expected<PipelineChoice> choosePipeline(const std::string &modelPath, const CompilerOptions &options) {
  const uint32_t ranks = options.training->pipeline->numRanks();
  PipelineChoice choice;
  std::optional<Error> first;
  bool isFound = false;
  for (uint32_t stages = 1; stages <= ranks; ++stages) {
    if (ranks % stages != 0)
      continue;
    PipelineOptions pipeline = *options.training->pipeline;
    pipeline.stages = pipeline.groups = stages;
    pipeline.groupRanks = ranks / stages;
    Expected<PipelineCandidate> weighed = Weighing(modelPath, options, pipeline).run();
    // What cannot be done with one number of stages may be possible with another.
    if (!weighed && (weighed.error().code == ErrorCode::Interrupted || weighed.error().code == ErrorCode::Internal ||
                     weighed.error().code == ErrorCode::Io))
      return propagate(weighed);
    if (!weighed) {
      first = first ? first : weighed.error();
      choice.candidates.push_back({stages, pipeline.groupRanks, 0, 0, false, weighed.error().message});
      continue;
    }
    choice.candidates.push_back(std::move(*weighed));
    if (!isFound || choice.candidates.back().stepNs < choice.chosen().stepNs)
      choice.best = choice.candidates.size() - 1;
    isFound = true;
  }
  if (!isFound)
    return tl::unexpected<Error>(std::move(*first));
  return choice;
}

} // namespace sluice
