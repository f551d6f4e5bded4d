//===- LinkPhase.cpp - From LLVM's dialect to an artifact -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ImportedProgram.h"
#include "Parameters.h"
#include "sluice/Codegen/CompileProgram.h"
#include "sluice/Codegen/Passes.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace sluice {

/// Writes the file of parameters.
static Expected<ParameterFileWriter::Summary> writeParameterFile(const ParameterLayout &layout, const std::string &path,
                                                                 int threads) {
  SLUICE_ASSIGN_OR_RETURN(ParameterFileWriter writer, ParameterFileWriter::create(path));
  SLUICE_RETURN_IF_ERROR(writeParameters(layout, writer, threads));
  Expected<ParameterFileWriter::Summary> summary = writer.finish();
  if (summary)
    summary->sections = layout.sections;
  return summary;
}

namespace {
/// What is made of the model's weights.
struct WrittenWeights {
  ParameterFileWriter::Summary parameters;
  std::string digest; ///< Of the program as it was imported; empty if no program was kept.
};
} // namespace

/// Writes the file of parameters, and meanwhile hashes the weights as they were imported.
static Expected<WrittenWeights> writeWeights(const Planned &planned, const ParameterLayout &layout,
                                             const std::string &path, int threads) {
  const std::shared_ptr<ImportedProgram> &imported = planned.fused->origin->imported;
  WrittenWeights result;
  Expected<DigestSource> source = imported ? digestSource(imported->module()) : DigestSource();
  Expected<ParameterFileWriter::Summary> parameters = ParameterFileWriter::Summary();
  parallelFor(usableThreads(threads), imported && source ? 2 : 1, [&](size_t task) {
    if (task == 0)
      parameters = writeParameterFile(layout, path, threads);
    else
      result.digest = digestOf(*source);
  });
  // Of missing data the file of parameters knows the name.
  if (!parameters)
    return propagate(parameters);
  if (!source)
    return propagate(source);
  result.parameters = std::move(*parameters);
  return result;
}

/// Plans of buckets that an earlier compilation into the directory had.
static void removeBucketPlans(const std::string &directory) {
  const llvm::Regex name("^plan-[0-9]+(x[0-9]+)*\\.json$");
  std::error_code error;
  std::vector<std::string> old;
  for (llvm::sys::fs::directory_iterator entry(directory, error), end; entry != end && !error; entry.increment(error))
    if (name.match(llvm::sys::path::filename(entry->path())))
      old.push_back(entry->path());
  for (const std::string &path : old)
    llvm::sys::fs::remove(path);
}

/// Writes what the model and the plan say, for people and for exports.
static Status writeDecisions(const Planned &planned, const std::string &digest, const std::string &directory) {
  removeBucketPlans(directory);
  SLUICE_RETURN_IF_ERROR(planned.writeFiles(directory + "/" + kPlanFileName));
  if (const std::string &partition = planned.fused->partitionFile; !partition.empty())
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(directory + "/" + kPartitionFileName, partition));
  const Origin &origin = *planned.fused->origin;
  if (!origin.imported)
    return {};
  origin.imported->decide(planned.fused->bridge.operators, planned.fused->bridge.graph, planned.fused->measured,
                          planned.fused->costs, planned.result.plan);
  return origin.imported->write(directory, origin.modelPath, digest);
}

/// Runs the passes that write objects with this prefix, and reads the objects.
static Expected<std::vector<std::string>> makeObjects(Program &program, const CompilerOptions &options,
                                                      const std::string &parameterHash, const std::string &prefix) {
  constexpr int64_t kMostBytes = int64_t(1) << 32;
  Pipeline passes;
  if (options.package.isFreestanding)
    passes.onModule("exec-to-freestanding");
  else
    passes.onModule("exec-to-llvm", {{"compiler", compilerVersion()},
                                     {"cpu-features", program.origin->target.required},
                                     {"parameter-hash", parameterHash}});
  passes.onModule(
      "emit-objects",
      {{"prefix", prefix}, {"threads", std::to_string(options.threads)}, {"level", std::to_string(options.optLevel)}});
  SLUICE_RETURN_IF_ERROR(program.run(passes));
  std::vector<std::string> objects;
  const int64_t count =
      exec::ExecDialect::ObjectsAttrHelper(program.module->getContext()).getAttr(*program.module).getInt();
  for (int64_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(std::string object, readFile(objectFileName(prefix, static_cast<size_t>(i)), kMostBytes));
    objects.push_back(std::move(object));
  }
  return objects;
}

Expected<Artifact> link(Program &program, const CompilerOptions &options, const std::string &directory) {
  const Planned &planned = *program.planned;
  SLUICE_RETURN_IF_ERROR(checkPackage(options.package, program.origin->target, numRanksOf(planned.fused->main())));
  // As the program reads them.
  const ParameterLayout layout = layOutParameters(planned.fused->bridge, numRanksOf(planned.fused->main()));
  SLUICE_RETURN_IF_ERROR(checkEvaluationBudget(layout));
  if (directory == "-")
    return makeError(ErrorCode::InvalidInput,
                     "'-' is not a directory, option '-o', give ./- for a directory of that name");
  SLUICE_ASSIGN_OR_RETURN(OutputDirectory output, OutputDirectory::open(directory, options.interrupt));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::create("sluice-objects"));
  // The manifest makes an artifact: an older one must not vouch for new files.
  llvm::sys::fs::remove(directory + "/" + kManifestFile);
  const std::string parameterFile =
      options.package.embedsParameters() ? folder.file(kParameterFile) : directory + "/" + kParameterFile;
  SLUICE_ASSIGN_OR_RETURN(const WrittenWeights weights, writeWeights(planned, layout, parameterFile, options.threads));
  SLUICE_RETURN_IF_ERROR(writeDecisions(planned, weights.digest, directory));
  SLUICE_ASSIGN_OR_RETURN(ManifestInfo description,
                          describeProgram(*program.module, program.origin->target, weights.parameters));
  description.requests = options.requests;
  SLUICE_RETURN_IF_ERROR(checkAddresses(description, program.origin->target));

  const std::string prefix =
      options.dumpPhases.empty()
          ? folder.file("model")
          : concat(options.dumpPhases, "/", static_cast<unsigned>(Phase::Link), "-", phaseNames().back());
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> objects,
                          makeObjects(program, options, weights.parameters.hash, prefix));
  SLUICE_RETURN_IF_ERROR(
      writePackage(description, program.origin->target, options.package, objects, parameterFile, directory));
  output.keep();
  return Artifact{directory,
                  program.passes.inDirectory(directory).with("emit-objects", "prefix", directory + "/model")};
}

} // namespace sluice
