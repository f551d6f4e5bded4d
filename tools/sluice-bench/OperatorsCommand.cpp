//===- OperatorsCommand.cpp - sluice-bench operators ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Onnx/ModelFile.h"
#include "sluice/Onnx/Operators.h"

#include <iostream>

namespace sluice::bench {
namespace {

/// "1, 13": the opsets from which on another converter serves.
std::string versionsOf(const SupportedOperator &entry) {
  std::string text;
  for (int64_t version : entry.since)
    text += concat(text.empty() ? "" : ", ", version);
  return text;
}

Status printOperators() {
  std::ostream &out = std::cout;
  out << "<!-- Made by `sluice-bench operators`. -->\n# ONNX operators\n\n"
         "The importer reads these operators, up to opset "
      << kNewestOpset
      << ". The column *since* lists versions of the operator's domain. From each of them on, until the next one, one "
         "converter reads the operator.\n\n"
         "- Element types are float, double, float16, bfloat16, bool, and signed and unsigned integers of 2, 4, 8, 16, "
         "32 and 64 bits.\n"
         "- Elements of the float8 types and of float4e2m1 can be stored, moved and cast.\n"
         "- Strings can be stored and moved. The operators on strings read them.\n"
         "- All operators run on CPUs.\n"
         "- A value is *known at compile time* if it is constant, follows from shapes, or is an input given by "
         "`--fix`.\n"
         "- `--bound NAME=N` gives the bound of a tensor, if the model does not imply one.\n";
  std::string domain = "-";
  for (const SupportedOperator &entry : supportedOperators()) {
    if (entry.domain != domain) {
      domain = entry.domain;
      out << "\n## " << (domain.empty() ? "ai.onnx" : domain) << "\n\n| operator | since | limits |\n|---|---|---|\n";
    }
    out << "| " << entry.name << " | " << versionsOf(entry) << " | " << entry.limits << " |\n";
  }
  return {};
}

} // namespace

void addOperatorsCommand(CLI::App &app, Action &action) {
  CLI::App *command =
      driver::addCommand(app, "operators", "List the ONNX operators that the importer reads, as Markdown");
  command->callback([&action] { action = printOperators; });
}

} // namespace sluice::bench
