//===- ModelIdentity.cpp - Which compiled model a directory has -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ModelIdentity.h"

#include "StagesFile.h"
#include "lib/Runtime/Sha256.h"
#include "sluice/Codegen/Artifact.h"
#include "sluice/Support/Json.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace sluice::driver {

namespace fs = std::filesystem;

/// The ranks of a pipeline are one model.
static Expected<ModelIdentity> identityOfPipeline(const std::string &directory) {
  SLUICE_ASSIGN_OR_RETURN(const StagesFile stages, readStagesFile(directory));
  ModelIdentity identity;
  std::string all;
  for (uint32_t rank = 0; rank < stages.numRanks(); ++rank) {
    SLUICE_ASSIGN_OR_RETURN(ModelIdentity own, identityOf(folderOfRank(directory, rank)));
    if (own.digest != stages.digests[rank])
      return makeError(ErrorCode::InvalidInput, "'", folderOfRank(directory, rank), "' holds another model than '",
                       stagesFileOf(directory), "' lists for this rank, compile the model again");
    identity.name = std::move(own.name);
    all += own.digest;
  }
  identity.digest = runtime::sha256Hex(all.data(), all.size());
  return identity;
}

Expected<ModelIdentity> identityOf(const std::string &directory) {
  if (isPipelineDirectory(directory))
    return identityOfPipeline(directory);
  const std::string path = (fs::path(directory) / kManifestFile).string();
  SLUICE_ASSIGN_OR_RETURN(const Json json, readJsonFile(path));
  const JsonReader manifest(json, concat("'", path, "'"));
  ModelIdentity identity;
  SLUICE_ASSIGN_OR_RETURN(identity.name, manifest.string("name"));
  SLUICE_ASSIGN_OR_RETURN(const std::string code, manifest.string("model_hash"));
  SLUICE_ASSIGN_OR_RETURN(const std::string parameters, manifest.string("parameter_hash"));
  const std::string both = code + parameters;
  identity.digest = runtime::sha256Hex(both.data(), both.size());
  return identity;
}

} // namespace sluice::driver
