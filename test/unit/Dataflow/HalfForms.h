//===- HalfForms.h - Forms of half-precision products that a host runs ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_HALFFORMS_H
#define SLUICE_TEST_UNIT_DATAFLOW_HALFFORMS_H

#include "KernelHarness.h"

#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "sluice/Codegen/Target.h"

#include <catch2/catch.hpp>

namespace sluice::test::halves {

/// A form of products that this host runs.
struct Form {
  std::string dot;
  int64_t lanes;
};

/// Two lanes and one have no instructions: any host runs their plain form.
inline std::vector<Form> forms() {
  auto host = resolveTarget("native");
  REQUIRE(host);
  std::vector<Form> all{{"pairs", 2}, {"pairs", 1}};
  for (int64_t lanes = 4; lanes <= host->vectorLanes(32) && host->halfProducts != "none"; lanes *= 2)
    all.push_back({"pairs", lanes});
  if (host->halfProducts == "tiles")
    all.push_back({"tiles", host->vectorLanes(32)});
  return all;
}

/// Whether these are the vectors that models are compiled for on this host.
inline bool isHosts(const Form &form) { return form.lanes == resolveTarget("native")->vectorLanes(32); }

/// The attribute, and the packed bytes as a type.
struct Panels {
  std::string text, type;
};

inline Panels panelsOf(const Form &form, const std::string &element, int64_t columns, int64_t segments,
                       int64_t length) {
  emit::VectorTarget target;
  target.lanesF32 = form.lanes;
  const int64_t panel = emit::integerPanel(columns, target), parts = element == "f16" ? 2 : 1;
  const emit::IntegerPanels packed{form.dot == "tiles" ? emit::IntegerDot::Tiles : emit::IntegerDot::Quads,
                                   columns,
                                   segments,
                                   2 * length,
                                   panel,
                                   false,
                                   parts};
  return {"<dot = " + form.dot + ", parts = " + std::to_string(parts) + ", columns = " + std::to_string(columns) +
              ", segments = " + std::to_string(segments) + ", length = " + std::to_string(length) +
              ", panel = " + std::to_string(panel) + ">",
          tensorOf({packed.bytes()}, "i8")};
}

inline std::string packed(const std::string &matrix, const Panels &panels) {
  return "%p = dataflow.pack_half_rhs %w panels " + panels.text + " : (" + matrix + ") -> " + panels.type + "\n";
}

} // namespace sluice::test::halves

#endif // SLUICE_TEST_UNIT_DATAFLOW_HALFFORMS_H
