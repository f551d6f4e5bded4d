//===- PlanStories.cpp - What plan files say, printed ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlanStories.h"
#include "SharedOptions.h"
#include "StagesFile.h"
#include "sluice/Explain/PlanDiff.h"
#include "sluice/Support/Text.h"

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

namespace sluice::driver {

bool isPlanPath(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return true;
  if (!std::filesystem::is_regular_file(path, ignored))
    return false;
  // Neither a protocol buffer's first byte nor a textual model's is a brace.
  char first = 0;
  std::ifstream(path) >> first;
  if (first != '{')
    return false;
  const Expected<Json> json = readJsonFile(path);
  return !json || !json->contains("services"); // A pipeline has them, and is a model.
}

Expected<PlanFile> readPlanAt(const std::string &path) {
  SLUICE_RETURN_IF_ERROR(refusePipeline(path));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return readPlanFile((std::filesystem::path(path) / kPlanFileName).string());
  return readPlanFile(path);
}

/// A line a sentence; what several are about stands before the first.
static void printSentences(const std::vector<Sentence> &sentences) {
  constexpr int kAboutWidth = 8;
  const std::string *about = nullptr;
  for (const Sentence &sentence : sentences) {
    const bool isNew = !about || *about != sentence.about;
    std::cout << "  " << std::left << std::setw(kAboutWidth) << (isNew ? sentence.about : "") << sentence.text << '\n';
    about = &sentence.about;
  }
}

Status printExplanations(const PlanFile &file, const std::vector<std::string> &names, bool asJson) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Explanation> explanations, explain(file, names));
  if (asJson) {
    Json json;
    json["explained"] = Json::array();
    for (const Explanation &explanation : explanations)
      json["explained"].push_back(explanationToJson(explanation));
    printJson(json);
    return {};
  }
  bool isFirst = true;
  auto print = [&](const auto &facts) {
    std::cout << (isFirst ? "" : "\n") << titleOf(facts) << '\n';
    printSentences(describe(facts));
    isFirst = false;
  };
  for (const Explanation &explanation : explanations) {
    for (const OperatorFacts &facts : explanation.operators)
      print(facts);
    for (const TensorFacts &facts : explanation.tensors)
      print(facts);
  }
  return {};
}

Status printDiff(const std::string &pathA, const std::string &pathB, bool asJson) {
  SLUICE_ASSIGN_OR_RETURN(PlanFile a, readPlanAt(pathA));
  SLUICE_ASSIGN_OR_RETURN(PlanFile b, readPlanAt(pathB));
  const PlanDiff diff = diffPlans(a, b, {pathA, pathB});
  if (asJson) {
    printJson(diffToJson(diff));
    return {};
  }
  printLine("A", pathA);
  printLine("B", pathB);
  for (const PlanDiff::Setting &setting : diff.settings)
    if (!setting.differs() && (setting.name == "model" || setting.name == "machine"))
      printLine(setting.name, excerpt(setting.values[0]));
  std::cout << '\n';
  Table table({"", "A", "B", "change"});
  for (const PlanDiff::Figure &figure : diff.figures)
    if (figure.isShown())
      table.add({figure.name, formatFigure(figure, 0), formatFigure(figure, 1), formatChange(figure)});
  table.print();
  std::cout << '\n';
  printSentences(describe(diff));
  return {};
}

} // namespace sluice::driver
