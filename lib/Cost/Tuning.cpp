//===- Tuning.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/Tuning.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace sluice {

static constexpr std::array<std::string_view, 3> kStateNames = {"at", "never", "unknown"};
static constexpr int64_t kMostNs = int64_t(1) << 62;

Json tuningToJson(const Tuning &tuning) {
  Json json;
  json["schema"] = kTuningSchema;
  json["origin"] = tuning.origin;
  json["device"] = tuning.device;
  json["kernels"] = Json::array();
  for (const auto &[key, kernel] : tuning.kernels) {
    Json entry{{"key", key}, {"kind", kernel.kind}, {"shape", kernel.shape}, {"tuning", Json::object()}};
    if (kernel.tuning.algorithm != TunedAlgorithm::Any)
      entry["tuning"]["algorithm"] = kAlgorithmNames[static_cast<size_t>(kernel.tuning.algorithm)];
    for (const TuningField &field : kTuningFields)
      if (kernel.tuning.*field.value != 0)
        entry["tuning"][std::string(field.name)] = kernel.tuning.*field.value;
    entry["ns"] = kernel.ns;
    entry["defaultNs"] = kernel.defaultNs;
    entry["trials"] = kernel.trials;
    entry["finished"] = kernel.isFinished;
    json["kernels"].push_back(std::move(entry));
  }
  json["thresholds"] = Json::array();
  for (const auto &[rate, threshold] : tuning.thresholds) {
    Json entry{{"rate", rate}, {"state", kStateNames[static_cast<size_t>(threshold.state)]}};
    if (threshold.state == CrossingState::At)
      entry["ns"] = threshold.ns;
    json["thresholds"].push_back(std::move(entry));
  }
  json["profile"] = profileToJson(tuning.profile);
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Expected<int64_t> inRange(const JsonReader &reader, std::string_view key, int64_t least, int64_t most) {
  Expected<int64_t> value = reader.integer(key);
  if (value && (*value < least || *value > most))
    return makeError(ErrorCode::InvalidInput, key, " ", *value, " is out of range, at '", reader.where(), "', write ",
                     least, " to ", most);
  return value;
}

/// The position of a member's text in `names`.
template <size_t count>
static Expected<size_t> nameIn(const JsonReader &reader, std::string_view key,
                               const std::array<std::string_view, count> &names) {
  SLUICE_ASSIGN_OR_RETURN(std::string name, reader.string(key));
  auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end())
    return static_cast<size_t>(found - names.begin());
  return makeError(ErrorCode::InvalidInput, key, " '", name.substr(0, 80), "' is not known, at '", reader.where(),
                   "', write ", alternatives({names.begin(), names.end()}));
}

static Expected<KernelTuning> readFields(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"algorithm", kTuningFields[0].name, kTuningFields[1].name,
                                          kTuningFields[2].name, kTuningFields[3].name, kTuningFields[4].name}));
  static_assert(kTuningFields.size() == 5);
  KernelTuning tuning;
  if (reader.has("algorithm")) {
    SLUICE_ASSIGN_OR_RETURN(size_t algorithm, nameIn(reader, "algorithm", kAlgorithmNames));
    tuning.algorithm = static_cast<TunedAlgorithm>(algorithm);
  }
  for (const TuningField &field : kTuningFields)
    if (reader.has(field.name)) {
      SLUICE_ASSIGN_OR_RETURN(int64_t value, inRange(reader, field.name, 0, field.most));
      tuning.*field.value = value;
    }
  return tuning;
}

static Status readKernel(Tuning &tuning, const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"key", "kind", "shape", "tuning", "ns", "defaultNs", "trials", "finished"}));
  SLUICE_ASSIGN_OR_RETURN(std::string key, reader.string("key"));
  SLUICE_ASSIGN_OR_RETURN(JsonReader fields, reader.member("tuning"));
  TunedKernel kernel;
  SLUICE_ASSIGN_OR_RETURN(kernel.kind, reader.string("kind"));
  SLUICE_ASSIGN_OR_RETURN(kernel.shape, reader.string("shape", ""));
  SLUICE_ASSIGN_OR_RETURN(kernel.tuning, readFields(fields));
  SLUICE_ASSIGN_OR_RETURN(kernel.ns, inRange(reader, "ns", 1, kMostNs));
  SLUICE_ASSIGN_OR_RETURN(kernel.defaultNs, inRange(reader, "defaultNs", 1, kMostNs));
  SLUICE_ASSIGN_OR_RETURN(kernel.trials, inRange(reader, "trials", 1, kMostNs));
  SLUICE_ASSIGN_OR_RETURN(kernel.isFinished, reader.boolean("finished", false));
  if (!tuning.kernels.emplace(key, std::move(kernel)).second)
    return makeError(ErrorCode::InvalidInput, "kernel '", key.substr(0, 80), "' is tuned twice, at '", reader.where(),
                     "', keep one");
  return {};
}

static Status readThreshold(Tuning &tuning, const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"rate", "state", "ns"}));
  SLUICE_ASSIGN_OR_RETURN(size_t rate, nameIn(reader, "rate", kRateNames));
  SLUICE_ASSIGN_OR_RETURN(size_t state, nameIn(reader, "state", kStateNames));
  Threshold threshold{static_cast<CrossingState>(state), 0};
  if (threshold.state == CrossingState::At) {
    SLUICE_ASSIGN_OR_RETURN(threshold.ns, inRange(reader, "ns", 1, kMostChunkNs));
  } else if (reader.has("ns")) {
    return makeError(ErrorCode::InvalidInput, "a threshold in state '", kStateNames[state],
                     "' cannot have a time, at '", reader.where(), ".ns', leave 'ns' out");
  }
  if (!tuning.thresholds.emplace(kRateNames[rate], threshold).second)
    return makeError(ErrorCode::InvalidInput, "rate '", kRateNames[rate], "' has two thresholds, at '", reader.where(),
                     "', keep one");
  return {};
}

Expected<Tuning> tuningFromJson(const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, reader.integer("schema"));
  if (schema != kTuningSchema)
    return makeError(ErrorCode::Unsupported, "tuning schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads ", kTuningSchema, ", run 'sluice tune' again");
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"schema", "origin", "device", "kernels", "thresholds", "profile"}));
  Tuning tuning;
  SLUICE_ASSIGN_OR_RETURN(tuning.origin, reader.string("origin"));
  SLUICE_ASSIGN_OR_RETURN(tuning.device, reader.string("device"));
  for (auto [key, read] : {std::pair(std::string_view("kernels"), &readKernel),
                           std::pair(std::string_view("thresholds"), &readThreshold)}) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                            reader.member(key).and_then([](const JsonReader &list) { return list.elements(); }));
    for (const JsonReader &entry : entries)
      SLUICE_RETURN_IF_ERROR(read(tuning, entry));
  }
  SLUICE_ASSIGN_OR_RETURN(JsonReader times, reader.member("profile"));
  SLUICE_ASSIGN_OR_RETURN(tuning.profile, profileFromJson(times));
  return tuning;
}

Expected<Tuning> readTuning(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  return tuningFromJson(JsonReader(json, path + ":"));
}

/// At most 80 characters of a text, those around its first difference from another.
static std::string differingPart(const std::string &text, const std::string &other) {
  const size_t differs = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first - text.begin();
  constexpr size_t kShown = 80, kBefore = 40;
  if (std::max(text.size(), other.size()) <= kShown || differs <= kBefore)
    return text.substr(0, kShown);
  return "..." + text.substr(differs - kBefore, kShown - 3);
}

std::string tuningDifference(const Tuning &tuning, const std::string &origin, const std::string &device) {
  for (auto [what, theirs, ours] : {std::tuple("with compiler and processor", &tuning.origin, &origin),
                                    std::tuple("on device", &tuning.device, &device)})
    if (*theirs != *ours)
      return concat(what, " '", differingPart(*theirs, *ours), "', and this computer has '",
                    differingPart(*ours, *theirs), "'");
  return "";
}

Status checkTuning(const Tuning &tuning, const std::string &origin, const std::string &device,
                   const std::string &where) {
  if (const std::string difference = tuningDifference(tuning, origin, device); !difference.empty())
    return makeError(ErrorCode::InvalidInput, "the tuning in '", where, "' was measured ", difference,
                     ", run 'sluice tune' on this computer or leave the file out");
  return {};
}

std::string chunkTimes(const Tuning &tuning) {
  std::string text;
  for (const auto &[rate, threshold] : tuning.thresholds)
    if (threshold.state != CrossingState::Unknown)
      text += concat(text.empty() ? "" : ",", rate, "=",
                     threshold.state == CrossingState::Never ? std::string("never")
                                                             : std::to_string(std::max<int64_t>(threshold.ns / 2, 1)));
  return text;
}

} // namespace sluice
