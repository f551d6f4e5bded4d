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
         "What the importer reads, up to opset "
      << kNewestOpset
      << ". *Since* lists the versions of the operator's domain from which on a converter serves, each until the next "
         "one's.\n\n"
         "Elements are of float, double, float16, bfloat16, bool, and of signed and unsigned integers of 2, 4, 8, 16, "
         "32 and 64 bits; the\nfloat8 types and float4e2m1 can be stored, moved and cast, strings stored, moved and "
         "read by the operators named after them.\nAll operators run on CPUs. *Known when compiling* is what is "
         "constant, follows from shapes, or is given as a fixed input.\n";
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
  CLI::App *command = driver::addCommand(app, "operators", "The ONNX operators that can be read, as Markdown");
  command->callback([&action] { action = printOperators; });
}

} // namespace sluice::bench
