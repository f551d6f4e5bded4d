//===- ReportTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Report.h"
#include "Example.h"
#include "sluice/Plan/CopiedBytes.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

using namespace sluice;
using Catch::Contains;

TEST_CASE("the report's data is the plan's", "[report]") {
  const PlanFile file = test::chainPlan(6);
  const Json data = reportData(file);
  CHECK(data["makespanNs"] == file.summary.makespanNs);
  for (const auto &[name, column] : data["operators"].items())
    CHECK(column.size() == 6);
  for (const auto &[name, column] : data["tensors"].items())
    CHECK(column.size() == file.problem.graph.numTensors());
  for (const auto &[name, column] : data["commands"].items())
    CHECK(column.size() == file.plan.commands.size());
  for (const auto &[name, column] : data["residencies"].items())
    CHECK(column.size() == file.plan.residencies.size());
  int64_t moved = 0;
  for (size_t c = 0; c < file.plan.commands.size(); ++c)
    if (data["commands"]["operator"][c] == -1) {
      const size_t source = data["commands"]["reads"][c][0];
      moved += data["tensors"]["bytes"][data["residencies"]["tensor"][source].get<size_t>()].get<int64_t>();
    }
  CHECK(moved == file.plan.bytesCopied(file.problem.graph));
  int64_t highest = 0;
  for (const Json &sample : data["memories"][1]["samples"])
    highest = std::max(highest, sample[1].get<int64_t>());
  CHECK(highest > 0);
  CHECK(highest <= 2048);
  CHECK(data["history"].back()[1] == file.summary.makespanNs);
}

TEST_CASE("copied tensors say why", "[report]") {
  const PlanFile file = test::chainPlan(6);
  const Json data = reportData(file);
  std::map<std::string, std::string> why;
  for (size_t i = 0; i < data["why"]["tensor"].size(); ++i)
    why[file.problem.graph.tensor(TensorId(data["why"]["tensor"][i].get<uint32_t>())).name] = data["why"]["text"][i][0];
  CHECK(why["opx"] == "the caller gives it in the host's memory");
  CHECK(why["opt5"] == "the caller reads it in the host's memory");
  int streamed = 0;
  for (const auto &[name, text] : why)
    streamed +=
        text.find("it is not kept in 'accel0' between steps. It does not fit with the others as planned: at ") !=
            std::string::npos &&
        text.find("; meanwhile its addresses are used by ") != std::string::npos;
  CHECK(streamed >= 1);
}

TEST_CASE("the page says what each step copies, by memory", "[report]") {
  const PlanFile file = test::chainPlan(6);
  const CopiedBytes copied = copiedBytes(file.problem.graph, file.problem.machine, file.plan);
  REQUIRE(copied.in > copied.out);
  REQUIRE(copied.out > 0);
  const std::string page = reportHtml(file);
  CHECK_THAT(page, Contains("<b>" + formatBytes(copied.in) + "</b><span>copied into accel0 in each step</span>"));
  CHECK_THAT(page, Contains("<b>" + formatBytes(copied.out) + "</b><span>copied out of accel0 in each step</span>"));
  CHECK_THAT(page, !Contains("into host"));
  CHECK_THAT(page, !Contains("<span>read from"));
}

TEST_CASE("stalls are the times in which nothing is computed", "[report]") {
  const PlanFile file = test::chainPlan(6);
  const Json data = reportData(file);
  const Json &commands = data["commands"];
  int64_t stalled = 0, busy = 0, last = 0;
  for (const Json &ns : data["stalls"]["ns"])
    stalled += ns.get<int64_t>();
  for (size_t c = 0; c < file.plan.commands.size(); ++c)
    if (commands["operator"][c] != -1) {
      busy += commands["endNs"][c].get<int64_t>() - commands["startNs"][c].get<int64_t>();
      last = std::max(last, commands["endNs"][c].get<int64_t>());
    }
  CHECK(stalled > 0);
  CHECK(stalled == last - busy);
  for (const Json &text : data["stalls"]["text"])
    CHECK_THAT(text.get<std::string>(), Contains(". The operator waits for "));
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

/// Of a row's cells, behind its label: 0 to 8.
static std::vector<int> levelsOf(const std::string &line, size_t columns) {
  std::vector<int> levels;
  for (size_t i = 22; i < line.size(); i += line[i] == ' ' ? 1 : 3) {
    REQUIRE((line[i] == ' ' || line.compare(i, 2, "\xE2\x96") == 0)); // U+2581 to U+2588
    levels.push_back(line[i] == ' ' ? 0 : static_cast<unsigned char>(line[i + 2]) - 0x80);
  }
  CHECK(levels.size() <= columns);
  levels.resize(columns);
  return levels;
}

TEST_CASE("characters show how busy streams are, and the bytes in use", "[report]") {
  constexpr size_t kColumns = 40;
  const PlanFile file = test::chainPlan(6);
  const Timeline timeline = simulate(file.problem.graph, file.problem.machine, file.problem.costs, file.plan);
  std::istringstream text(reportText(file, kColumns + 22));
  std::string line;
  std::getline(text, line);
  CHECK(line.size() == kColumns + 22);
  CHECK_THAT(line, Contains(formatDuration(file.summary.makespanNs)));

  // A cell is rounded up to an eighth.
  for (size_t s = 0; s < file.plan.streams.size(); ++s) {
    double busyNs = 0;
    for (size_t c = 0; c < file.plan.commands.size(); ++c)
      if (file.plan.commands[c].stream == StreamId(s))
        busyNs += static_cast<double>(timeline.commands[c].endNs - timeline.commands[c].startNs);
    std::getline(text, line);
    const std::vector<int> levels = levelsOf(line, kColumns);
    const double drawn = std::accumulate(levels.begin(), levels.end(), 0.0) / (8 * kColumns);
    const double busy = busyNs / static_cast<double>(timeline.makespanNs);
    CHECK(drawn >= busy - 1e-6);
    CHECK(drawn < busy + 1.0 / 8);
  }

  const MemoryProfile profile = memoryProfile(file.problem.machine, file.plan, timeline);
  std::vector<int> heights(kColumns);
  std::getline(text, line);
  CHECK(line.empty());
  for (const char *label : {"accel0", "  used ", "  limit 2.00 KiB", ""}) {
    std::getline(text, line);
    CHECK(line.rfind(label, 0) == 0);
    const std::vector<int> levels = levelsOf(line, kColumns);
    for (size_t c = 0; c < kColumns; ++c)
      heights[c] += levels[c];
  }
  CHECK(*std::max_element(heights.begin(), heights.end()) == (profile.peakBytes[1] * 32 + 2047) / 2048);
  for (const MemoryProfile::Sample &sample : profile.perMemory[1])
    if (sample.timeNs < timeline.makespanNs)
      CHECK(heights[sample.timeNs * kColumns / timeline.makespanNs] >= sample.bytes * 32 / 2048);
}

TEST_CASE("the page says what differs in another plan, where there is one", "[report]") {
  const PlanFile a = test::chainPlan(6), b = test::chainPlan(6, "op", 8192);
  const PlanDiff diff = diffPlans(a, b, {"a", "<b>.json"});
  const std::string page = reportHtml(a, {&b, &diff, {}});
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

TEST_CASE("a measured step is read by command, on a device's own clock where it has one", "[report]") {
  const PlanFile file = test::chainPlan(2);
  const test::ScratchFile scratch;
  auto event = [&](size_t command, size_t track, double us, int rank = 0) {
    const Command &of = file.plan.commands[command];
    const Graph &graph = file.problem.graph;
    const std::string name = of.kind == CommandKind::Launch
                                 ? graph.op(of.op).name
                                 : graph.tensor(file.plan.residencies[of.reads[0].index()].tensor).name;
    const Json arguments = {{"command", command}, {"rank", rank}};
    return Json{{"ph", "X"}, {"name", name}, {"tid", track}, {"ts", us}, {"dur", 1.5}, {"args", arguments}};
  };
  auto read = [&](Json events) {
    REQUIRE(writeFileAtomically(scratch.path, Json{{"traceEvents", std::move(events)}}.dump()));
    return readMeasuredSteps(file, scratch.path);
  };
  const Expected<std::vector<MeasuredStep>> alone =
      read({{{"ph", "M"}}, event(0, 0, 2), event(1, 1, 3), event(0, 7, 2.5)});
  REQUIRE(alone);
  REQUIRE(alone->size() == 1);
  const MeasuredStep &step = alone->front();
  CHECK(concat(step.name, ".json") == std::filesystem::path(scratch.path).filename().string());
  CHECK(step.commands[0].startNs == 2500);
  CHECK(step.commands[0].endNs == 4000);
  CHECK(step.commands[1].startNs == 3000);
  CHECK(step.commands[2].startNs == -1);
  CHECK(step.makespanNs == 4500);
  CHECK(reportData(file, {nullptr, nullptr, {step}})["measured"][0]["startNs"][1] == 3000);

  const Expected<std::vector<MeasuredStep>> ranks = read({event(0, 0, 2, 1), event(0, 0, 4, 0)});
  REQUIRE(ranks);
  REQUIRE(ranks->size() == 2);
  CHECK_THAT((*ranks)[0].name, Catch::StartsWith("rank 0 of "));
  CHECK((*ranks)[0].commands[0].startNs == 4000);
  CHECK((*ranks)[1].commands[0].startNs == 2000);

  Json other = event(0, 0, 2), late = other, beyond = other;
  other["name"] = "another";
  late["ts"] = 1e300;
  beyond["args"]["command"] = 4000000000u;
  CHECK_THAT(read({other}).error().message, Contains("command 0 of the trace is 'another' and that of the plan is '"));
  CHECK_THAT(read({late}).error().message, Contains("is out of range"));
  CHECK_THAT(read({beyond}).error().message, Contains("and the plan has "));
  CHECK_THAT(read({event(0, 0, 2, 256)}).error().message, Contains("rank 256 is out of range"));
  CHECK_THAT(read(Json::array()).error().message, Contains("the trace has no commands"));
}

TEST_CASE("random damage to a trace never crashes its reading", "[report]") {
  const PlanFile file = test::chainPlan(3);
  const Timeline timeline = simulate(file.problem.graph, file.problem.machine, file.problem.costs, file.plan);
  const std::string text = traceJson(file.problem.graph, file.problem.machine, file.plan, timeline).dump();
  const test::ScratchFile scratch;
  Rng rng(7);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = text;
    for (uint64_t i = 0, changes = 1 + rng.below(4); i < changes; ++i)
      damaged[rng.below(damaged.size())] = "0123456789-[]{},:\"ae"[rng.below(20)];
    REQUIRE(writeFileAtomically(scratch.path, damaged));
    const Expected<std::vector<MeasuredStep>> steps = readMeasuredSteps(file, scratch.path);
    refused += !steps;
    for (const MeasuredStep &step : steps ? *steps : std::vector<MeasuredStep>())
      CHECK(step.commands.size() == file.plan.commands.size());
  }
  CHECK(refused > 100);
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
