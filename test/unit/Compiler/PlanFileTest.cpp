//===- PlanFileTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Example.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using test::ScratchFile;

static Expected<PlanFile> parse(const Json &json) { return planFileFromJson(JsonReader(json, "plan.json")); }

TEST_CASE("a plan file keeps problem, plan and summary", "[planfile]") {
  const PlanFile file = test::chainPlan(6);
  REQUIRE(file.plan.bytesSwappedIn(file.problem.graph) > 640);
  const Json json = planFileToJson(file);
  Expected<PlanFile> read = parse(json);
  REQUIRE(read);
  CHECK(planFileToJson(*read) == json);
  CHECK(read->summary.makespanNs == file.summary.makespanNs);
  CHECK(read->summary.baselines.size() == file.summary.baselines.size());
  REQUIRE(read->summary.history.size() > 1);
  CHECK(read->summary.history.back().makespanNs == file.summary.makespanNs);
  CHECK(read->summary.history.back().evaluations <= file.summary.evaluations);
}

TEST_CASE("a plan's time is simulated, whatever its file says", "[planfile]") {
  const PlanFile file = test::chainPlan(4);
  Json json = planFileToJson(file);
  json["summary"]["makespanNs"] = 1;
  CHECK(parse(json)->summary.makespanNs == file.summary.makespanNs);
}

TEST_CASE("broken plan files are refused, each with its reason", "[planfile]") {
  Json json = planFileToJson(test::chainPlan(4));
  std::string reason;
  SECTION("schema") {
    json["schema"] = 99;
    reason = "schema 99";
  }
  SECTION("no plan") {
    json.erase("plan");
    reason = "plan";
  }
  SECTION("unknown key") {
    json["more"] = 1;
    reason = "more";
  }
  SECTION("a command lost") {
    json["plan"]["commands"].erase(json["plan"]["commands"].size() - 1);
    reason = "make the plan anew";
  }
  SECTION("arena beyond the limit") {
    json["problem"]["capacities"]["accel0"] = 640;
    reason = "bytes of memory 'accel0', which has 640";
  }
  SECTION("negative ideal") {
    json["summary"]["idealNs"] = -1;
    reason = "idealNs -1 is negative";
  }
  SECTION("baseline without a time or a reason") {
    json["summary"]["baselines"] = Json::array({Json{{"name", "odd"}}});
    reason = "infeasible";
  }
  SECTION("a split without its rule") {
    json["summary"]["splits"] = Json::array({Json{{"operator", "op0"}, {"parts", 2}}});
    reason = "rule";
  }
  SECTION("splits that are no list") {
    json["summary"]["splits"] = 3;
    reason = "splits";
  }
  SECTION("a search that gets worse") {
    json["summary"]["history"] = {{1, 500}, {2, 600}};
    reason = "each point of a search must have more evaluations and a smaller makespan than the previous one, at "
             "'plan.json.summary.history[1]'";
  }
  SECTION("a point of a search without its time") {
    json["summary"]["history"] = Json::array({Json::array({1})});
    reason = "has 1 numbers";
  }
  Expected<PlanFile> read = parse(json);
  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().message, Catch::Contains(reason));
  CHECK(read.error().code != ErrorCode::Internal);
}

TEST_CASE("a plan file says what was split; one of schema 1 splits nothing", "[planfile]") {
  PlanFile file = test::chainPlan(3);
  file.summary.splits = {{"op0", "rows", 3}};
  ScratchFile scratch;
  REQUIRE(writePlanFile(scratch.path, file));
  Expected<std::vector<NamedSplit>> splits = readPlanSplits(scratch.path);
  REQUIRE(splits);
  REQUIRE(splits->size() == 1);
  CHECK(splits->front().op == "op0");
  CHECK(splits->front().rule == "rows");
  CHECK(splits->front().parts == 3);
  Json json = planFileToJson(file);
  CHECK(planFileToJson(*parse(json)) == json);
  json["schema"] = 1;
  json["summary"].erase("splits");
  Expected<PlanFile> old = parse(json);
  REQUIRE(old);
  CHECK(old->summary.splits.empty());
}

TEST_CASE("random damage to a plan file never crashes its reading", "[planfile]") {
  const std::string text = planFileToJson(test::chainPlan(3)).dump();
  Rng rng(7);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = text;
    for (uint64_t i = 0, changes = 1 + rng.below(4); i < changes; ++i)
      damaged[rng.below(damaged.size())] = "0123456789-[]{},:\"ae"[rng.below(20)];
    Expected<Json> json = parseJson(damaged, "damaged");
    refused += !json || !parse(*json);
  }
  CHECK(refused > 100);
}

TEST_CASE("a saved plan fits a model imported anew, by its names", "[planfile]") {
  const PlanFile file = test::chainPlan(5);
  ScratchFile scratch;
  REQUIRE(writePlanFile(scratch.path, file));
  const PlanFile same = test::chainPlan(5, "op", 4096), other = test::chainPlan(5, "else");
  auto problemOf = [](const PlanFile &of) {
    return SearchProblem{&of.problem.graph, &of.problem.machine, &of.problem.costs, of.problem.capacities, {}};
  };
  Expected<SearchResult> found = readPlanFor(problemOf(same), scratch.path);
  REQUIRE(found);
  CHECK(found->makespanNs == file.summary.makespanNs);
  Expected<SearchResult> missing = readPlanFor(problemOf(other), scratch.path);
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().message, Catch::Contains("'op0' is not in the graph"));
}

TEST_CASE("names that are not UTF-8 do not break writing", "[planfile]") {
  ScratchFile scratch;
  REQUIRE(writePlanFile(scratch.path, test::chainPlan(3, "\xff\xfe")));
  CHECK(readPlanFile(scratch.path));
}
