//===- StagesFile.cpp - The ranks of a compiled pipeline ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StagesFile.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Text.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace sluice::driver {

namespace fs = std::filesystem;

static constexpr int64_t kSchema = 1, kMostRanks = 1024;

std::vector<std::pair<StateType, uint32_t>> StagesFile::allStates() const {
  std::vector<std::pair<StateType, uint32_t>> all;
  std::set<std::string> known;
  for (uint32_t rank = 0; rank < numRanks(); ++rank)
    for (const StateType &state : states[rank])
      if (known.insert(state.name).second)
        all.emplace_back(state, rank);
  return all;
}

std::string stagesFileOf(const std::string &directory) { return (fs::path(directory) / "stages.json").string(); }

bool isPipelineDirectory(const std::string &directory) {
  std::error_code ignored;
  return fs::exists(stagesFileOf(directory), ignored);
}

std::string folderOfRank(const std::string &directory, uint32_t rank) {
  return (fs::path(directory) / concat("rank", rank)).string();
}

Status refusePipeline(const std::string &directory) {
  if (!isPipelineDirectory(directory))
    return {};
  return makeError(ErrorCode::InvalidInput, "'", directory,
                   "' is a pipeline, and this command reads one compiled model, give the folder of a rank, such as '",
                   folderOfRank(directory, 0), "'");
}

static Expected<StateType> readState(const JsonReader &entry) {
  StateType state;
  SLUICE_ASSIGN_OR_RETURN(state.name, entry.string("name"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t type, entry.integer("type"));
  SLUICE_ASSIGN_OR_RETURN(state.type, elementTypeFromOnnx(type));
  SLUICE_ASSIGN_OR_RETURN(const JsonReader shape, entry.member("shape"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<JsonReader> extents, shape.elements());
  for (const JsonReader &each : extents) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t extent, each.asInteger());
    if (extent < 0)
      return makeError(ErrorCode::InvalidInput, "an extent of state '", excerpt(state.name), "' is negative, '",
                       entry.where(), "', compile the model again");
    state.shape.push_back(extent);
  }
  return state;
}

Expected<StagesFile> readStagesFile(const std::string &directory) {
  const std::string path = stagesFileOf(directory);
  SLUICE_ASSIGN_OR_RETURN(const Json json, readJsonFile(path));
  const JsonReader reader(json, concat("'", path, "'"));
  auto numberIn = [&](std::string_view key, int64_t least, int64_t most) -> Expected<int64_t> {
    SLUICE_ASSIGN_OR_RETURN(const int64_t number, reader.integer(key));
    if (number < least || number > most)
      return makeError(ErrorCode::InvalidInput, "member '", key, "' is ", number, " and must be from ", least, " to ",
                       most, ", '", path, "', compile the model again");
    return number;
  };
  StagesFile file;
  SLUICE_RETURN_IF_ERROR(numberIn("schema", kSchema, kSchema).map([](int64_t) {}));
  SLUICE_ASSIGN_OR_RETURN(const int64_t stages, numberIn("stages", 1, kMostRanks));
  SLUICE_ASSIGN_OR_RETURN(const int64_t microbatches, numberIn("microbatches", 1, kMostRanks));
  SLUICE_ASSIGN_OR_RETURN(file.schedule, reader.string("schedule"));
  SLUICE_ASSIGN_OR_RETURN(const JsonReader list, reader.member("ranks"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<JsonReader> ranks, list.elements());
  if (ranks.size() < 2 || ranks.size() > static_cast<size_t>(kMostRanks))
    return makeError(ErrorCode::InvalidInput, "the file lists ", ranks.size(), " ranks and must list 2 to ", kMostRanks,
                     ", '", path, "', compile the model again");
  for (const JsonReader &rank : ranks) {
    SLUICE_ASSIGN_OR_RETURN(const JsonReader states, rank.member("states"));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<JsonReader> entries, states.elements());
    SLUICE_ASSIGN_OR_RETURN(std::string digest, rank.string("digest"));
    file.digests.push_back(std::move(digest));
    std::vector<StateType> &own = file.states.emplace_back();
    std::set<std::string> known;
    for (const JsonReader &entry : entries) {
      SLUICE_ASSIGN_OR_RETURN(StateType state, readState(entry));
      if (!known.insert(state.name).second)
        return makeError(ErrorCode::InvalidInput, "state '", excerpt(state.name), "' is listed twice, '", entry.where(),
                         "', compile the model again");
      own.push_back(std::move(state));
    }
  }
  file.stages = static_cast<uint32_t>(stages);
  file.microbatches = static_cast<uint32_t>(microbatches);
  if (json.contains("groupRanks")) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t groupRanks, numberIn("groupRanks", 1, file.numRanks()));
    file.groupRanks = static_cast<uint32_t>(groupRanks);
  }
  if (file.numRanks() % file.groupRanks != 0)
    return makeError(ErrorCode::InvalidInput, "the file lists ", file.numRanks(), " ranks in groups of ",
                     file.groupRanks, ", '", path, "', compile the model again");
  if (const uint32_t groups = file.numRanks() / file.groupRanks; file.stages % groups != 0)
    return makeError(ErrorCode::InvalidInput, "'", path, "' has ", file.stages, " stages for ", groups,
                     " groups of ranks, and the stages cannot be divided equally between the groups, compile the "
                     "model again");
  return file;
}

Status writeStagesFile(const std::string &directory, const StagesFile &file) {
  Json json;
  json["schema"] = kSchema;
  json["stages"] = file.stages;
  json["microbatches"] = file.microbatches;
  json["groupRanks"] = file.groupRanks;
  json["schedule"] = file.schedule;
  json["ranks"] = Json::array();
  for (uint32_t rank = 0; rank < file.numRanks(); ++rank) {
    Json states = Json::array();
    for (const StateType &state : file.states[rank])
      states.push_back({{"name", state.name}, {"type", static_cast<int64_t>(state.type)}, {"shape", state.shape}});
    json["ranks"].push_back({{"digest", file.digests[rank]}, {"states", std::move(states)}});
  }
  for (const PipelineCandidate &candidate : file.weighed) {
    Json entry{{"stages", candidate.stages}, {"groupRanks", candidate.groupRanks}};
    if (candidate.problem.empty()) {
      entry["stepNs"] = candidate.stepNs;
      entry["peakBytes"] = candidate.peakBytes;
      entry["isLimited"] = candidate.isLimited;
    } else {
      entry["problem"] = candidate.problem;
    }
    json["weighed"].push_back(std::move(entry));
  }
  return writeFileAtomically(stagesFileOf(directory), jsonText(json, 1) + "\n");
}

} // namespace sluice::driver
