//===- IntegerForms.h - Forms of products of bytes that a host runs -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_INTEGERFORMS_H
#define SLUICE_TEST_UNIT_DATAFLOW_INTEGERFORMS_H

#include "KernelHarness.h"

#include "dialects/Dataflow/Emit/IntegerProductPacking.h"
#include "sluice/Codegen/Target.h"

#include <catch2/catch.hpp>

namespace sluice::test::integers {

/// A form of products that this host runs: 0 lanes of a form that any target runs are the host's.
struct Form {
  std::string dot;
  int64_t lanes = 0;
};

inline int64_t hostLanes() {
  auto host = resolveTarget("native");
  REQUIRE(host);
  return host->vectorLanes(32);
}

inline std::vector<Form> forms() {
  auto host = resolveTarget("native");
  REQUIRE(host);
  std::vector<Form> all{{"plain", hostLanes()}, {"plain", 4}, {"plain", 2}, {"plain", 1}};
  for (int64_t lanes = 4; lanes <= hostLanes(); lanes *= 2)
    all.push_back({"pairs", lanes});
  for (int64_t lanes = 4; lanes <= hostLanes() && host->byteProducts != "pairs"; lanes *= 2)
    all.push_back({"quads", lanes});
  if (host->byteProducts == "tiles")
    all.push_back({"tiles", hostLanes()});
  return all;
}

inline emit::IntegerDot dotOf(const Form &form) {
  return form.dot == "tiles"   ? emit::IntegerDot::Tiles
         : form.dot == "quads" ? emit::IntegerDot::Quads
         : form.dot == "pairs" ? emit::IntegerDot::Pairs
                               : emit::IntegerDot::Plain;
}

/// Tiles have no zero points of columns.
inline Form usable(const Form &form, bool hasZeroPoints) {
  return form.dot == "tiles" && hasZeroPoints ? Form{"quads", form.lanes} : form;
}

inline int64_t panelOf(int64_t columns, const Form &form) {
  emit::VectorTarget target;
  target.lanesF32 = form.lanes;
  return emit::integerPanel(columns, target);
}

inline std::string panels(const Form &form, int64_t columns, int64_t segments, int64_t length, bool zeroPoints) {
  return "<dot = " + form.dot + ", columns = " + std::to_string(columns) + ", segments = " + std::to_string(segments) +
         ", length = " + std::to_string(length) + ", panel = " + std::to_string(panelOf(columns, form)) +
         ", zeroPoints = " + (zeroPoints ? "true" : "false") + ">";
}

inline constexpr Fill kBytes{-128, 127}, kUnsigned{0, 255};
inline Fill fillOf(const std::string &element) { return element == "i8" ? kBytes : kUnsigned; }

} // namespace sluice::test::integers

#endif // SLUICE_TEST_UNIT_DATAFLOW_INTEGERFORMS_H
