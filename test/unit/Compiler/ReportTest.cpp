//===- ReportTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Report.h"
#include "Example.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace sluice;
using Catch::Contains;

TEST_CASE("the report's data is the plan's", "[report]") {
  const PlanFile file = test::chainPlan(6);
  const Json data = reportData(file);
  CHECK(data["makespanNs"] == file.summary.makespanNs);
  CHECK(data["operators"].size() == 6);
  CHECK(data["edges"].size() == 5);
  CHECK(data["commands"].size() == file.plan.commands.size());
  int64_t moved = 0;
  for (const Json &swap : data["swaps"])
    moved += swap["movedBytes"].get<int64_t>();
  CHECK(moved == file.plan.bytesCopied(file.problem.graph));
  int64_t highest = 0;
  for (const Json &sample : data["memories"][1]["samples"])
    highest = std::max(highest, sample[1].get<int64_t>());
  CHECK(highest > 0);
  CHECK(highest <= 2048);
}

TEST_CASE("copied tensors say why", "[report]") {
  const Json data = reportData(test::chainPlan(6));
  std::map<std::string, std::string> why;
  for (const Json &swap : data["swaps"])
    why[swap["name"]] = swap["why"];
  CHECK(why["opx"] == "the caller gives it in host memory");
  CHECK(why["opt5"] == "the caller reads it in host memory");
  int paused = 0;
  for (const auto &[name, text] : why)
    paused += text.find("used once a step, by 'op") != std::string::npos;
  CHECK(paused >= 1);
}

TEST_CASE("a name is never markup", "[report]") {
  const std::string page = reportHtml(test::chainPlan(3, "</script><script>alert('1')</script>&"));
  CHECK(page.find("<script>alert") == std::string::npos);
  size_t elements = 0;
  for (size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1))
    ++elements;
  CHECK(elements == 2);
}

TEST_CASE("a name is neither markup nor the end of a string in drawings", "[report]") {
  const PlanFile file = test::chainPlan(3, "<b>&\"; x -> y \\");
  const std::string svg = reportSvg(file), dot = reportDot(file);
  CHECK(svg.find("<b>") == std::string::npos);
  CHECK_THAT(svg, Contains("&lt;b&gt;&amp;&quot;; x"));
  CHECK_THAT(dot, Contains("o0 [label=\"<b>&\\\"; x -> y \\\\0\\nmatmul"));
  size_t arrows = 0; // Of edges alone, outside names.
  for (size_t at = dot.find("\n  o"); at != std::string::npos; at = dot.find("\n  o", at + 1))
    arrows += dot.compare(at + 5, 4, " -> ") == 0;
  CHECK(arrows == 2);
}

TEST_CASE("the page says what differs in another plan, where there is one", "[report]") {
  const PlanFile a = test::chainPlan(6), b = test::chainPlan(6, "op", 8192);
  const PlanDiff diff = diffPlans(a, b, {"a", "<b>.json"});
  const std::string page = reportHtml(a, &diff);
  CHECK_THAT(page, Contains("A is this plan, B is &lt;b&gt;.json."));
  CHECK_THAT(page, Contains("The limit of &#39;accel0&#39; is 2.00 KiB in A and 8.00 KiB in B."));
  CHECK_THAT(reportHtml(a), !Contains("Beside another plan"));
}

TEST_CASE("the page asks nothing of the network", "[report]") {
  const std::string page = reportHtml(test::chainPlan(3));
  for (const char *word : {"src=", "href=", "@import", "url(", "fetch("})
    CHECK(page.find(word) == std::string::npos);
  CHECK_THAT(page, Catch::Contains("default-src 'none'"));
}

TEST_CASE("large graphs are listed and not drawn", "[report]") {
  const PlanFile file = test::chainPlan(kReportGraphLimit + 1, "op", 1 << 20);
  CHECK_FALSE(reportData(file).contains("edges"));
  CHECK_THAT(reportHtml(file), Catch::Contains("Not drawn: 401 operators"));
}

TEST_CASE("layers follow the longest path, rows avoid crossings", "[report]") {
  // Two chains declared crosswise: a0 -> b1, a1 -> b0, and a join.
  Graph graph;
  auto add = [&](const std::string &name, std::vector<TensorId> inputs) {
    TensorId out = graph.addTensor(test::makeTensor(name + ":0", TensorKind::Activation, 64));
    Operator op;
    op.name = name;
    op.inputs = std::move(inputs);
    op.outputs = {out};
    graph.addOperator(op);
    return out;
  };
  TensorId a0 = add("a0", {}), a1 = add("a1", {});
  TensorId b0 = add("b0", {a1}), b1 = add("b1", {a0});
  add("join", {b0, b1, a0});
  const std::vector<GraphPlace> places = layoutGraph(graph);
  CHECK(places[0].layer == 0);
  CHECK(places[2].layer == 1);
  CHECK(places[4].layer == 2);
  CHECK((places[0].row < places[1].row) == (places[3].row < places[2].row));
  std::set<std::pair<uint32_t, uint32_t>> distinct;
  for (const GraphPlace &place : places)
    distinct.insert({place.layer, place.row});
  CHECK(distinct.size() == places.size());
}
