//===- PlanFile.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/PlanFile.h"

#include "sluice/Plan/PlanJson.h"
#include "sluice/Simulator/Simulator.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

namespace sluice {

PlanFile makePlanFile(const SearchProblem &problem, const SearchResult &result) {
  PlanFile file;
  file.problem = {*problem.graph, *problem.machine, *problem.costs, problem.capacityBytes, problem.placement};
  file.plan = result.plan;
  PlanSummary &summary = file.summary;
  summary.makespanNs = result.makespanNs;
  summary.idealNs = result.idealNs;
  summary.lowerBoundNs = result.lowerBoundNs;
  summary.certificate = result.certificate;
  summary.onceBoundNs = result.onceBoundNs;
  summary.onceCertificate = result.onceCertificate;
  summary.evaluations = result.evaluations;
  for (const MinimumBytes &minimum : result.minimumBytes)
    summary.minimumBytes.push_back(minimum.bytes);
  summary.peakBytes = result.peakBytes;
  summary.baselines = result.baselines;
  summary.history = result.history;
  return file;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Json summaryToJson(const PlanFile &file) {
  const PlanSummary &summary = file.summary;
  Json json;
  json["makespanNs"] = summary.makespanNs;
  json["idealNs"] = summary.idealNs;
  json["lowerBoundNs"] = summary.lowerBoundNs;
  if (summary.certificate)
    json["certificate"] = certificateToJson(file.problem.graph, file.problem.machine, *summary.certificate);
  if (summary.onceBoundNs > 0)
    json["onceBoundNs"] = summary.onceBoundNs;
  if (summary.onceCertificate)
    json["onceCertificate"] = certificateToJson(file.problem.graph, file.problem.machine, *summary.onceCertificate);
  json["bytesSwappedIn"] = file.plan.bytesSwappedIn(file.problem.graph);
  json["bytesSwappedOut"] = file.plan.bytesSwappedOut(file.problem.graph);
  json["computedAgain"] = file.plan.computedAgain().size();
  json["evaluations"] = summary.evaluations;
  json["memories"] = Json::object();
  for (size_t m = 0; m < file.problem.machine.memories.size(); ++m) {
    Json &memory = json["memories"][file.problem.machine.memories[m].name];
    memory["capacityBytes"] = file.problem.capacities[m];
    memory["minimumBytes"] = summary.minimumBytes[m];
    memory["peakBytes"] = summary.peakBytes[m];
    memory["arenaBytes"] = file.plan.arenaBytes[m];
  }
  json["baselines"] = Json::array();
  for (const Baseline &baseline : summary.baselines) {
    Json entry;
    entry["name"] = baseline.name;
    if (baseline.makespanNs)
      entry["makespanNs"] = *baseline.makespanNs;
    if (!baseline.makespanNs || !baseline.reason.empty())
      entry[baseline.makespanNs ? "notTaken" : "infeasible"] = baseline.reason;
    json["baselines"].push_back(std::move(entry));
  }
  json["splits"] = Json::array();
  for (const NamedSplit &split : summary.splits)
    json["splits"].push_back({{"operator", split.op}, {"rule", split.rule}, {"parts", split.parts}});
  for (const SearchPoint &point : summary.history)
    json["history"].push_back({point.evaluations, point.makespanNs});
  for (const BucketChoice &choice : summary.buckets.choices) {
    json["buckets"]["symbol"] = summary.buckets.symbol;
    json["buckets"]["choices"].push_back(
        {{"bounds", choice.bounds}, {"meanNs", choice.meanNs}, {"meanBytes", choice.meanBytes}});
  }
  return json;
}

Json planFileToJson(const PlanFile &file) {
  Json json;
  json["schema"] = kPlanFileSchema;
  json["problem"] = problemToJson(file.problem);
  json["plan"] = planToJson(file.problem.graph, file.problem.machine, file.plan);
  json["summary"] = summaryToJson(file);
  return json;
}

Status writePlanFile(const std::string &path, const PlanFile &file) {
  return writeFileAtomically(path, jsonText(planFileToJson(file), 1) + "\n");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// An integer member that is not negative.
static Status readAmount(int64_t &target, const JsonReader &reader, std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(int64_t value, reader.integer(key));
  if (value < 0)
    return makeError(ErrorCode::InvalidInput, key, " ", value, " is negative, at '", reader.where(),
                     "', correct the plan");
  target = value;
  return {};
}

static Status readMemories(PlanSummary &summary, const Machine &machine, const JsonReader &reader) {
  summary.minimumBytes.assign(machine.memories.size(), 0);
  summary.peakBytes.assign(machine.memories.size(), 0);
  for (size_t m = 0; m < machine.memories.size(); ++m) {
    SLUICE_ASSIGN_OR_RETURN(JsonReader memory, reader.member(machine.memories[m].name));
    Status status = readAmount(summary.minimumBytes[m], memory, "minimumBytes").and_then([&] {
      return readAmount(summary.peakBytes[m], memory, "peakBytes");
    });
    if (!status)
      return status;
  }
  return {};
}

static Status readBaselines(PlanSummary &summary, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, reader.elements());
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(std::string name, entry.string("name"));
    Baseline baseline;
    baseline.name = name;
    if (entry.has("makespanNs")) {
      int64_t makespanNs = 0;
      SLUICE_RETURN_IF_ERROR(readAmount(makespanNs, entry, "makespanNs"));
      baseline.makespanNs = makespanNs;
    }
    SLUICE_ASSIGN_OR_RETURN(std::string reason,
                            baseline.makespanNs ? entry.string("notTaken", "") : entry.string("infeasible"));
    baseline.reason = reason;
    summary.baselines.push_back(std::move(baseline));
  }
  return {};
}

static Expected<std::vector<NamedSplit>> readSplits(const JsonReader &reader) {
  std::vector<NamedSplit> splits;
  if (!reader.has("splits"))
    return splits;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                          reader.member("splits").and_then([](const JsonReader &list) { return list.elements(); }));
  for (const JsonReader &entry : entries) {
    Expected<std::string> op = entry.string("operator"), rule = entry.string("rule");
    Expected<int64_t> parts = entry.integer("parts");
    if (!op || !rule)
      return op ? propagate(rule) : propagate(op);
    if (!parts)
      return propagate(parts);
    splits.push_back({std::move(*op), std::move(*rule), *parts});
  }
  return splits;
}

static Expected<BucketTable> readBuckets(const JsonReader &reader) {
  BucketTable table;
  if (!reader.has("buckets"))
    return table;
  SLUICE_ASSIGN_OR_RETURN(JsonReader buckets, reader.member("buckets"));
  SLUICE_ASSIGN_OR_RETURN(table.symbol, buckets.string("symbol"));
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> choices,
                          buckets.member("choices").and_then([](const JsonReader &list) { return list.elements(); }));
  for (const JsonReader &entry : choices) {
    BucketChoice &choice = table.choices.emplace_back();
    SLUICE_ASSIGN_OR_RETURN(choice.meanNs, entry.number("meanNs"));
    SLUICE_ASSIGN_OR_RETURN(choice.meanBytes, entry.number("meanBytes"));
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> bounds,
                            entry.member("bounds").and_then([](const JsonReader &list) { return list.elements(); }));
    for (const JsonReader &bound : bounds) {
      SLUICE_ASSIGN_OR_RETURN(int64_t value, bound.asInteger());
      choice.bounds.push_back(value);
    }
  }
  return table;
}

static Expected<std::vector<SearchPoint>> readHistory(const JsonReader &reader) {
  std::vector<SearchPoint> history;
  if (!reader.has("history"))
    return history;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                          reader.member("history").and_then([](const JsonReader &list) { return list.elements(); }));
  for (const JsonReader &entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> pair, entry.elements());
    if (pair.size() != 2)
      return makeError(ErrorCode::InvalidInput, "a point of the search has ", pair.size(), " numbers, at '",
                       entry.where(), "', give the evaluations and the makespan");
    SearchPoint point;
    SLUICE_ASSIGN_OR_RETURN(point.evaluations, pair[0].asInteger());
    SLUICE_ASSIGN_OR_RETURN(point.makespanNs, pair[1].asInteger());
    const SearchPoint before = history.empty() ? SearchPoint{0, std::numeric_limits<int64_t>::max()} : history.back();
    if (point.evaluations < before.evaluations || point.makespanNs < 0 || point.makespanNs >= before.makespanNs)
      return makeError(
          ErrorCode::InvalidInput,
          "each point of a search must have more evaluations and a smaller makespan than the previous one, at '",
          entry.where(), "', correct the history");
    history.push_back(point);
  }
  return history;
}

/// The bounds' certificates, where the file has them.
static Status readCertificates(PlanSummary &summary, const Graph &graph, const Machine &machine,
                               const JsonReader &reader) {
  if (reader.has("onceBoundNs"))
    SLUICE_RETURN_IF_ERROR(readAmount(summary.onceBoundNs, reader, "onceBoundNs"));
  for (const auto &[key, target] :
       {std::pair("certificate", &summary.certificate), std::pair("onceCertificate", &summary.onceCertificate)}) {
    if (!reader.has(key))
      continue;
    SLUICE_ASSIGN_OR_RETURN(*target, reader.member(key).and_then([&](const JsonReader &member) {
      return certificateFromJson(graph, machine, member);
    }));
  }
  if (summary.onceCertificate)
    summary.onceCertificate->repeats = false;
  return {};
}

static Expected<PlanSummary> summaryFromJson(const Graph &graph, const Machine &machine, const JsonReader &reader) {
  PlanSummary summary;
  SLUICE_ASSIGN_OR_RETURN(JsonReader memories, reader.member("memories"));
  SLUICE_ASSIGN_OR_RETURN(JsonReader baselines, reader.member("baselines"));
  Status status = readAmount(summary.idealNs, reader, "idealNs")
                      .and_then([&] { return readAmount(summary.lowerBoundNs, reader, "lowerBoundNs"); })
                      .and_then([&] { return readAmount(summary.evaluations, reader, "evaluations"); })
                      .and_then([&] { return readMemories(summary, machine, memories); })
                      .and_then([&] { return readBaselines(summary, baselines); })
                      .and_then([&] { return readCertificates(summary, graph, machine, reader); });
  if (!status)
    return propagate(status);
  SLUICE_ASSIGN_OR_RETURN(std::vector<NamedSplit> splits, readSplits(reader));
  summary.splits = std::move(splits);
  SLUICE_ASSIGN_OR_RETURN(summary.buckets, readBuckets(reader));
  SLUICE_ASSIGN_OR_RETURN(summary.history, readHistory(reader));
  return summary;
}

/// The file's members, of a schema this version reads.
static Status checkSchema(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"schema", "problem", "plan", "summary"}));
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, reader.integer("schema"));
  if (schema < 1 || schema > kPlanFileSchema)
    return makeError(ErrorCode::Unsupported, "plan file schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads 1 to ", kPlanFileSchema, ", use a newer version of Sluice");
  return {};
}

/// The plan of a file, valid for this graph and machine and within capacities.
static Expected<Plan> readPlan(const Graph &graph, const Machine &machine, const std::vector<int64_t> &capacities,
                               const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(JsonReader member, reader.member("plan"));
  Expected<Plan> plan = planFromJson(graph, machine, member);
  if (!plan)
    return propagate(plan);
  // What a file says is the user's to correct, whatever the validator calls it.
  if (Status status = validatePlan(graph, machine, *plan); !status)
    return makeError(ErrorCode::InvalidInput, status.error().message, ", in '", reader.where(),
                     "', correct the plan or make the plan anew");
  const std::vector<int64_t> used = plan->bytesUsed(graph, machine);
  for (size_t m = 0; m < capacities.size(); ++m)
    if (used[m] > capacities[m])
      return makeError(ErrorCode::Infeasible, "the plan uses ", used[m], " bytes of memory '", machine.memories[m].name,
                       "', which has ", capacities[m], " bytes, in '", reader.where(),
                       "', give more memory or make a new plan");
  return plan;
}

Expected<PlanFile> planFileFromJson(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(checkSchema(reader));
  PlanFile file;
  SLUICE_ASSIGN_OR_RETURN(ProblemFile problem, reader.member("problem").and_then(problemFromJson));
  file.problem = std::move(problem);
  const ProblemFile &given = file.problem;
  SLUICE_ASSIGN_OR_RETURN(Plan plan, readPlan(given.graph, given.machine, given.capacities, reader));
  file.plan = std::move(plan);
  SLUICE_ASSIGN_OR_RETURN(PlanSummary summary, reader.member("summary").and_then([&](const JsonReader &member) {
    return summaryFromJson(given.graph, given.machine, member);
  }));
  file.summary = std::move(summary);
  file.summary.makespanNs = simulate(given.graph, given.machine, given.costs, file.plan).makespanNs;
  return file;
}

Expected<PlanFile> readPlanFile(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  return planFileFromJson(JsonReader(json, path));
}

/// A figure, where the file has it, is the one that follows from the plan.
static Status checkFigure(const JsonReader &given, const Json &derived, std::string_view key) {
  if (!given.has(key))
    return {};
  SLUICE_ASSIGN_OR_RETURN(int64_t value, given.integer(key));
  const int64_t expected = derived[std::string(key)].get<int64_t>();
  if (value != expected)
    return makeError(ErrorCode::InvalidInput, key, " is ", value, " and the value of the plan is ", expected, ", at '",
                     given.where(), "', make the plan anew");
  return {};
}

/// Operators are where the problem wants them, and those of a colour together.
static Status checkPlacement(const PlanFile &file, const JsonReader &reader) {
  std::unordered_map<int32_t, DeviceId> deviceOfColour;
  for (size_t i = 0; i < file.plan.placement.size(); ++i) {
    const Operator &op = file.problem.graph.op(OperatorId(i));
    const DeviceId device = file.plan.placement[i];
    auto bad = [&](const auto &...what) {
      return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' is ", what..., ", at '", reader.where(),
                       "plan.placement', make the plan anew");
    };
    if (!file.problem.placement.empty() && file.problem.placement[i].valid() && file.problem.placement[i] != device)
      return bad("not placed on the device that the problem requires");
    if (op.colocation >= 0 && deviceOfColour.emplace(op.colocation, device).first->second != device)
      return bad("not on the device of the other operators of colocation ", op.colocation);
  }
  return {};
}

/// A bound is at most the makespan, and its certificate proves it.
static Status checkBound(const PlanFile &file, std::string_view key, const JsonReader &given) {
  const PlanSummary &summary = file.summary;
  const bool isOnce = key == "onceBoundNs";
  const int64_t bound = isOnce ? summary.onceBoundNs : summary.lowerBoundNs;
  if (bound > summary.makespanNs && !(isOnce && !file.plan.computedAgain().empty()))
    return makeError(ErrorCode::InvalidInput, key, " is ", bound, ", above the plan's makespan of ", summary.makespanNs,
                     " ns, at '", given.where(), "', make the plan anew");
  const std::optional<BoundCertificate> &certificate = isOnce ? summary.onceCertificate : summary.certificate;
  if (!certificate)
    return {};
  const ProblemFile &problem = file.problem;
  SLUICE_ASSIGN_OR_RETURN(int64_t ns, provenNs({problem.graph, problem.machine, problem.costs, problem.capacities,
                                                file.plan.placement, problem.placement},
                                               *certificate));
  if (ns < bound)
    return makeError(ErrorCode::InvalidInput, key, " is ", bound, " and its certificate proves ", ns, " ns, at '",
                     given.where(), "', make the plan anew");
  return {};
}

Expected<PlanFile> checkPlanFile(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  const JsonReader reader(json, path + ":");
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, planFileFromJson(reader));
  SLUICE_RETURN_IF_ERROR(checkPlacement(file, reader));
  SLUICE_ASSIGN_OR_RETURN(JsonReader given, reader.member("summary"));
  const Json derived = summaryToJson(file);
  for (std::string_view key : {"makespanNs", "bytesSwappedIn", "bytesSwappedOut", "computedAgain"})
    SLUICE_RETURN_IF_ERROR(checkFigure(given, derived, key));
  SLUICE_ASSIGN_OR_RETURN(JsonReader memories, given.member("memories"));
  for (const auto &[name, figures] : derived["memories"].items()) {
    SLUICE_ASSIGN_OR_RETURN(JsonReader memory, memories.member(name));
    for (std::string_view key : {"capacityBytes", "arenaBytes"})
      SLUICE_RETURN_IF_ERROR(checkFigure(memory, figures, key));
  }
  SLUICE_RETURN_IF_ERROR(checkBound(file, "lowerBoundNs", given));
  SLUICE_RETURN_IF_ERROR(checkBound(file, "onceBoundNs", given));
  return file;
}

/// What `use` makes of a file of a schema that is known.
template <typename Use>
static auto readChecked(const std::string &path, const Use &use) -> decltype(use(std::declval<JsonReader>())) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  JsonReader reader(json, path);
  SLUICE_RETURN_IF_ERROR(checkSchema(reader));
  return use(reader);
}

Expected<std::vector<NamedSplit>> readPlanSplits(const std::string &path) {
  return readChecked(path, [](const JsonReader &reader) { return reader.member("summary").and_then(readSplits); });
}

Expected<Plan> readPlanOn(const Graph &graph, const Machine &machine, const std::string &path) {
  std::vector<int64_t> capacities;
  for (const Memory &memory : machine.memories)
    capacities.push_back(memory.capacityBytes);
  return readChecked(path, [&](const JsonReader &reader) { return readPlan(graph, machine, capacities, reader); });
}

static Expected<SearchResult> readResult(const SearchProblem &problem, const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(Plan plan, readPlan(*problem.graph, *problem.machine, problem.capacityBytes, reader));
  SLUICE_ASSIGN_OR_RETURN(PlanSummary summary, reader.member("summary").and_then([&](const JsonReader &member) {
    return summaryFromJson(*problem.graph, *problem.machine, member);
  }));
  SearchResult result;
  result.makespanNs = simulate(*problem.graph, *problem.machine, *problem.costs, plan).makespanNs;
  result.plan = std::move(plan);
  result.idealNs = summary.idealNs;
  result.lowerBoundNs = summary.lowerBoundNs;
  result.certificate = std::move(summary.certificate);
  result.onceBoundNs = summary.onceBoundNs;
  result.onceCertificate = std::move(summary.onceCertificate);
  for (int64_t bytes : summary.minimumBytes)
    result.minimumBytes.push_back({bytes, OperatorId()});
  result.peakBytes = std::move(summary.peakBytes);
  result.baselines = std::move(summary.baselines);
  result.evaluations = summary.evaluations;
  result.history = std::move(summary.history);
  return result;
}

Expected<SearchResult> readPlanFor(const SearchProblem &problem, const std::string &path) {
  return readChecked(path, [&](const JsonReader &reader) { return readResult(problem, reader); });
}

} // namespace sluice
