//===- PlanFuzzer.cpp - Any bytes as a plan file, and all that reads one --===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// A plan file that is accepted is reported, drawn, explained and compared: none of these
// may fail on it. Tuning files share the target.
#include "test/fuzz/Folder.h"

#include "sluice/Compiler/Report.h"
#include "sluice/Cost/Tuning.h"
#include "sluice/Explain/Explain.h"
#include "sluice/Explain/PlanDiff.h"
#include "sluice/Search/PlanFile.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace sluice;

static void explainAll(const PlanFile &file) {
  std::vector<std::string> names;
  constexpr size_t kMostNames = 12;
  for (const Operator &op : file.problem.graph.operators())
    names.push_back(op.name);
  for (const Tensor &tensor : file.problem.graph.tensors())
    names.push_back(tensor.name);
  names.resize(std::min(names.size(), kMostNames));
  for (const std::string &name : names)
    if (const Expected<std::vector<Explanation>> explanations = explain(file, {name}))
      for (const Explanation &each : *explanations)
        (void)explanationToJson(each);
  (void)explainStep(file);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Expected<Json> json = parseJson({reinterpret_cast<const char *>(data), size}, "fuzz");
  if (!json)
    return 0;
  if (const Expected<Tuning> tuning = tuningFromJson(JsonReader(*json, "fuzz"))) {
    const Json again = tuningToJson(*tuning);
    if (!tuningFromJson(JsonReader(again, "again")))
      std::abort();
    (void)chunkTimes(*tuning);
  }
  const Expected<PlanFile> file = planFileFromJson(JsonReader(*json, "fuzz"));
  if (!file)
    return 0;
  const Json again = planFileToJson(*file);
  const Expected<PlanFile> second = planFileFromJson(JsonReader(again, "again"));
  if (!second)
    std::abort();
  (void)checkPlanFile(fuzz::fileWith("plan.json", again.dump()));
  explainAll(*file);
  const PlanDiff diff = diffPlans(*file, *second, {"a", "b"});
  (void)describe(diff);
  (void)diffToJson(diff);
  ReportExtras extras;
  extras.against = &*second;
  extras.diff = &diff;
  (void)reportHtml(*file, extras);
  (void)reportText(*file, 80);
  (void)reportDot(*file);
  (void)reportSvg(*file);
  return 0;
}
