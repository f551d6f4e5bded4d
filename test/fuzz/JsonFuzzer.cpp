//===- JsonFuzzer.cpp - Any bytes as each of our JSON files ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// What is read must also survive being written and read again.
#include "sluice/Cost/Profile.h"
#include "sluice/Graph/GraphJson.h"
#include "sluice/Machine/MachineJson.h"
#include "sluice/Plan/PlanJson.h"
#include "sluice/Search/ProblemJson.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace sluice;

template <typename Read, typename Write>
static void roundTrip(const Json &json, Read read, Write write) {
  auto value = read(JsonReader(json, "fuzz"));
  if (!value)
    return;
  Json again = write(*value);
  if (!read(JsonReader(again, "again")))
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Expected<Json> json = parseJson({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (!json)
    return 0;
  roundTrip(*json, graphFromJson, graphToJson);
  roundTrip(*json, machineFromJson, machineToJson);
  roundTrip(*json, profileFromJson, profileToJson);
  if (Expected<ProblemFile> problem = problemFromJson(JsonReader(*json, "fuzz"))) {
    roundTrip(*json, problemFromJson, problemToJson);
    // A problem that carries a plan: checked, never trusted.
    if (json->contains("plan"))
      if (Expected<Plan> plan = planFromJson(problem->graph, problem->machine, JsonReader((*json)["plan"], "plan")))
        (void)validatePlan(problem->graph, problem->machine, *plan);
  }
  return 0;
}
