//===- StagedCompile.cpp - A training step as a pipeline ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StagedCompile.h"

#include "ModelIdentity.h"
#include "StagesFile.h"
#include "sluice/Codegen/Artifact.h"
#include "sluice/Support/Temporaries.h"

#include <filesystem>
#include <optional>

namespace sluice::driver {

namespace fs = std::filesystem;

static Expected<std::vector<StateType>> statesOf(const Compilation &compilation) {
  std::vector<StateType> states;
  for (ModelPort &port : compilation.states()) {
    SLUICE_ASSIGN_OR_RETURN(const ElementType type, elementTypeFromOnnx(port.elementType));
    states.push_back({std::move(port.name), type, std::move(port.shape)});
  }
  return states;
}

void forgetPipeline(const std::string &directory) {
  std::error_code ignored;
  fs::remove(stagesFileOf(directory), ignored);
}

Status checkStagedOptions(const CompilerOptions &options) {
  if (options.package.form != PackageForm::Shared)
    return makeError(ErrorCode::Unsupported, "a pipeline is always compiled into a directory, option '--emit', ",
                     "leave this option out");
  if (!options.dumpPhases.empty() || !options.dumpProblem.empty())
    return makeError(
        ErrorCode::Unsupported, "option '", options.dumpPhases.empty() ? "--dump-problem" : "--dump-phases",
        "' prints a single program, and a model that is split into stages has a program for each rank, leave the "
        "option out, or print the program of rank 0 with --compile-to");
  return {};
}

Status compileStages(const std::string &modelPath, const CompilerOptions &options,
                     const std::optional<PipelineChoice> &choice, const std::string &directory,
                     const std::function<void(uint32_t rank, const Compilation &)> &done) {
  const PipelineOptions &pipeline = *options.training->pipeline;
  std::optional<OutputDirectory> output;
  StagesFile file{pipeline.stages,
                  pipeline.microbatches,
                  pipeline.groupRanks,
                  pipelineKindNames()[static_cast<size_t>(pipeline.schedule)],
                  {},
                  {},
                  {}};
  if (choice)
    file.weighed = choice->candidates;
  for (uint32_t rank = 0; rank < pipeline.numRanks(); ++rank) {
    CompilerOptions own = options;
    own.training->pipeline->rank = rank;
    if (options.interrupt && *options.interrupt)
      return makeError(ErrorCode::Interrupted, "stopped by the user, option '--pipeline', run the command again");
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(modelPath, std::move(own)));
    SLUICE_RETURN_IF_ERROR(compilation->machine().checkCompilable());
    SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Codegen));
    if (!output) {
      // The first rank has compiled. An older stages.json does not describe the new folders.
      SLUICE_ASSIGN_OR_RETURN(OutputDirectory opened, OutputDirectory::open(directory, options.interrupt));
      output.emplace(std::move(opened));
      forgetPipeline(directory);
      std::error_code ignored;
      fs::remove(fs::path(directory) / kManifestFile, ignored);
    }
    SLUICE_RETURN_IF_ERROR(compilation->link(folderOfRank(directory, rank)));
    SLUICE_ASSIGN_OR_RETURN(std::vector<StateType> states, statesOf(*compilation));
    SLUICE_ASSIGN_OR_RETURN(ModelIdentity identity, identityOf(folderOfRank(directory, rank)));
    file.states.push_back(std::move(states));
    file.digests.push_back(std::move(identity.digest));
    done(rank, *compilation);
  }
  SLUICE_RETURN_IF_ERROR(writeStagesFile(directory, file));
  output->keep();
  return {};
}

} // namespace sluice::driver
