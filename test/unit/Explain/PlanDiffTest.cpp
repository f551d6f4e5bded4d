//===- PlanDiffTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Explain/PlanDiff.h"
#include "Plans.h"
#include "sluice/Support/Rng.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;
using Catch::Contains;

static PlanDiff diffOf(const PlanFile &a, const PlanFile &b) { return diffPlans(a, b, {"a.json", "b.json"}); }
static std::string sentencesOf(const PlanFile &a, const PlanFile &b) { return textOf(describe(diffOf(a, b))); }

TEST_CASE("a plan and itself make the same decisions", "[plandiff]") {
  const PlanFile file = examplePlan();
  const PlanDiff diff = diffOf(file, file);
  CHECK(diff.sameDecisions);
  CHECK(diff.sameGraph);
  CHECK(textOf(describe(diff)) == "same: A and B contain the same decisions and were made in the same way.\n"
                                  "time: A step takes 770 ns in both.\n");
  CHECK(diffToJson(diff)["sameDecisions"] == true);
}

TEST_CASE("the same decisions may be made otherwise, and take another time", "[plandiff]") {
  const PlanFile a = examplePlan();
  PlanFile b = a;
  b.plan.solver = "other";
  b.plan.seed = 3;
  b.summary.evaluations = 9;
  std::string text = sentencesOf(a, b);
  CHECK_THAT(text, Contains("same: A and B contain the same decisions."));
  CHECK_THAT(text, Contains("made: The solver of A is 'by hand', of B 'other'."));
  CHECK_THAT(text, Contains("made: The seed of A is '18446744073709551615', of B '3'."));
  CHECK_THAT(text, Contains("made: The search tried 0 plans for A and 9 for B."));
  CHECK_THAT(text, !Contains("different time"));
  CHECK_THAT(text, !Contains("machine"));
  b.problem.costs.operatorNs[2 * 3 + 1] = 130; // d on the accelerator.
  text = sentencesOf(a, b);
  CHECK_THAT(text, Contains("graph: 1 operator takes a different time on the same device: 'd' on 'acc1' 100 ns in A "
                            "and 130 ns in B."));
  CHECK_THAT(text, Contains("A step takes 30 ns longer in B: 800 ns instead of 770 ns."));
}

TEST_CASE("a step that waits less for a copy says for which", "[plandiff]") {
  const PlanFile a = examplePlan(), b = examplePlan(true);
  const PlanDiff diff = diffOf(a, b);
  CHECK_FALSE(diff.sameDecisions);
  REQUIRE(diff.devices.size() == 1);
  CHECK(diff.devices[0].computeNs == Pair{400, 400});
  CHECK(diff.devices[0].copyWaitNs == Pair{74 + 74 + 148, 74 + 74});
  CHECK(diff.devices[0].restNs == Pair{74, 74});
  REQUIRE(diff.waiting.size() == 1);
  CHECK(diff.waiting[0].op == "d");
  const std::string text = textOf(describe(diff));
  CHECK_THAT(text, Contains("A step takes 148 ns less in B: 622 ns instead of 770 ns."));
  CHECK_THAT(text, Contains("Device 'acc1' waits for copies for 296 ns in A and 148 ns in B."));
  // The copies of w and t take as long; the last is named.
  CHECK_THAT(text, Contains("time: Idle times of devices before 1 operator differ: before 'd' 148 ns in A and "
                            "0 ns in B, of which the largest part in A is taken by copy 2 of 2 of 't' from 'host' to "
                            "'m1'."));
  CHECK_THAT(text, Contains("place: All operators are on devices of the same names."));
  CHECK_THAT(text, Contains("order: The operators run in the same order."));
  CHECK_THAT(text, Contains("copies: A and B copy the same tensors the same number of times."));
  for (const char *absent : {"computes for", "keeps", "not as often in both", "addresses", "limit", "only", "solver"})
    CHECK_THAT(text, !Contains(absent));
}

/// p -> q, and r beside them; all on one accelerator, in the order given.
static PlanFile threeOperators(const std::vector<int> &order, size_t deviceOfR = 1, int64_t capacity = 4096) {
  Builder b(2, capacity);
  const TensorId w = b.tensor("w", TensorKind::Parameter), v = b.tensor("v", TensorKind::Activation);
  const TensorId y = b.tensor("y", TensorKind::Activation, 64, true), z = b.tensor("z", TensorKind::Activation);
  const OperatorId ops[] = {b.op("p", {w}, {v}, 1), b.op("q", {v}, {y}, 1), b.op("r", {}, {z}, deviceOfR)};
  const ResidencyId kept = b.at(w, 1, 0, true), vAt = b.at(v, 1, 64), yAt = b.at(y, 1, 128);
  const ResidencyId zAt = b.at(z, static_cast<uint32_t>(deviceOfR), 192);
  CommandId q;
  for (int i : order) {
    if (i == 0)
      b.launch(ops[0], {kept}, {vAt});
    else if (i == 1)
      q = b.launch(ops[1], {vAt}, {yAt});
    else
      b.launch(ops[2], {}, {zAt});
  }
  b.copy(yAt, b.home(y, false), {q});
  return b.file();
}

TEST_CASE("the order's differences are the fewest operators that moved", "[plandiff]") {
  const PlanFile a = threeOperators({0, 1, 2}), b = threeOperators({2, 0, 1});
  const PlanDiff diff = diffOf(a, b);
  REQUIRE(diff.reordered.size() == 1);
  CHECK(diff.reordered[0].op == "r");
  CHECK(diff.reordered[0].position == Pair{3, 1});
  CHECK(diff.reordered[0].startNs == Pair{200, 0});
  CHECK_THAT(textOf(describe(diff)),
             Contains("order: The order is the same except for 1 of 3 operators: 'r' is operator 3 of 'acc1' in A and "
                      "operator 1 in B."));
}

TEST_CASE("operators on other devices are named with their times", "[plandiff]") {
  const PlanFile a = threeOperators({0, 1, 2}), b = threeOperators({0, 1, 2}, 2);
  const std::string text = sentencesOf(a, b);
  CHECK_THAT(text,
             Contains("place: 1 of 3 operators is on another device: 'r' on 'acc1' in A (100 ns) and on 'acc2' in "
                      "B (100 ns)."));
  CHECK_THAT(text, Contains("order: The operators that are on the same device in both plans run in the same order."));
  CHECK_THAT(text, Contains("time: 'acc2' runs operators in B only, for 100 ns."));
  CHECK_THAT(text, !Contains("has the memory"));
}

/// v is made on one accelerator and read on another, or on the same.
static PlanFile twoDevices(bool together) {
  Builder b(together ? 1 : 2, 4096);
  const TensorId v = b.tensor("v", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId p = b.op("p", {}, {v}, 0), q = b.op("q", {v}, {y}, together ? 0 : 1);
  const ResidencyId vHost = b.at(v, 0, 0);
  const CommandId runP = b.launch(p, {}, {vHost});
  if (together) {
    b.launch(q, {vHost}, {b.home(y, false)});
    return b.file();
  }
  const ResidencyId vIn = b.at(v, 1, 0), out = b.at(y, 1, 64);
  const CommandId in = b.copy(vHost, vIn, {runP});
  const CommandId runQ = b.launch(q, {vIn}, {out}, {in});
  b.copy(out, b.home(y, false), {runQ});
  return b.file();
}

TEST_CASE("time spent on another device's operator is not a copy's", "[plandiff]") {
  // q waits 900 ns for p and 74 ns for the copy of v.
  const PlanDiff diff = diffOf(twoDevices(true), twoDevices(false));
  REQUIRE(diff.devices.size() == 2);
  CHECK(diff.devices[1].device == "acc1");
  CHECK(diff.devices[1].otherWaitNs == Pair{0, 900});
  CHECK(diff.devices[1].copyWaitNs == Pair{0, 74});
  const std::string text = textOf(describe(diff));
  CHECK_THAT(text, Contains("before 'q' 0 ns in A and 974 ns in B, of which the largest part in B is taken by 'p' on "
                            "'cpu'."));
  CHECK_THAT(text, Contains("memory: Only the machine of B has the memory 'm2'."));
  CHECK_THAT(text, Contains("B copies 2 tensors that A does not"));
}

TEST_CASE("limits, and what is kept, copied and run again", "[plandiff]") {
  // x -> a -> t -> b -> u, c(t, u) -> y: t is kept, or swapped, or computed again.
  enum class Way { Keep, Swap, Again };
  auto plan = [](Way way) {
    Builder b(1, way == Way::Keep ? 512 : 256);
    const TensorId x = b.tensor("x", TensorKind::Parameter), t = b.tensor("t", TensorKind::Activation);
    const TensorId u = b.tensor("u", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
    const OperatorId a = b.op("a", {x}, {t}, 1), bb = b.op("b", {t}, {u}, 1), c = b.op("c", {t, u}, {y}, 1);
    const bool isKept = way != Way::Swap;
    const ResidencyId xAt = b.at(x, 1, 0, isKept), first = b.at(t, 1, 64), mid = b.at(u, 1, 128);
    std::vector<CommandId> waits;
    if (!isKept)
      waits = {b.copy(b.home(x, true), xAt)};
    const CommandId runA = b.launch(a, {xAt}, {first}, waits);
    b.launch(bb, {first}, {mid});
    ResidencyId again = first;
    waits.clear();
    if (way != Way::Keep)
      again = b.at(t, 1, 192);
    if (way == Way::Swap) {
      const ResidencyId host = b.at(t, 0, 0);
      const CommandId out = b.copy(first, host, {runA});
      waits = {b.copy(host, again, {out})};
    } else if (way == Way::Again) {
      b.launch(a, {xAt}, {again});
    }
    const ResidencyId result = b.at(y, 1, 64);
    if (way == Way::Keep)
      b.plan.residencies.back().offset = 256;
    const CommandId last = b.launch(c, {again, mid}, {result}, waits);
    b.copy(result, b.home(y, false), {last});
    return b.file();
  };
  const std::string swapped = sentencesOf(plan(Way::Keep), plan(Way::Swap));
  CHECK_THAT(swapped, Contains("memory: The limit of 'm1' is 512 B in A and 256 B in B."));
  CHECK_THAT(swapped, Contains("memory: Only A keeps 64 B on devices between steps and reads them there: 'x' in 'm1' "
                               "(64 B)."));
  CHECK_THAT(swapped, Contains("copies: B copies 2 tensors that A does not, 192 B in each step: activation 't' (64 B, "
                               "once in and once out); parameter 'x' (64 B, once in)."));
  CHECK_THAT(swapped, !Contains("A copies"));
  CHECK_THAT(swapped, !Contains("again:"));
  const std::string back = sentencesOf(plan(Way::Swap), plan(Way::Keep));
  CHECK_THAT(back, Contains("B keeps 64 B"));
  CHECK_THAT(back, Contains("A copies 2 tensors that B does not"));
  const std::string again = sentencesOf(plan(Way::Keep), plan(Way::Again));
  CHECK_THAT(again, Contains("again: 1 operator runs a different number of times: 'a' once in A and 2 times in B "
                             "(100 ns each)."));
  CHECK_THAT(again, Contains("A and B copy the same tensors the same number of times."));
  CHECK_THAT(again, !Contains("keeps"));
  // The second run of an operator has no place in the order.
  CHECK_THAT(again, Contains("order: The operators run for the first time in the same order."));
  CHECK_THAT(swapped, Contains("order: The operators run in the same order."));
}

TEST_CASE("plans that differ in addresses alone say so", "[plandiff]") {
  const PlanFile a = threeOperators({0, 1, 2});
  PlanFile b = a;
  b.plan.residencies[3].offset = 256; // z
  CHECK_THAT(sentencesOf(a, b),
             Contains("memory: A and B differ only in addresses: 1 of 5 residencies have other offsets."));
  // A wait for a command that ended long before orders nothing anew.
  PlanFile waits = b;
  waits.plan.commands.back().waits.push_back(CommandId(0u));
  CHECK_THAT(sentencesOf(a, waits), Contains("memory: A and B differ only in addresses and in what commands wait for: "
                                             "1 of 5 residencies have other offsets."));
  CHECK_THAT(sentencesOf(a, threeOperators({2, 0, 1})), !Contains("addresses"));
}

TEST_CASE("plans of different graphs are compared as far as they share operators", "[plandiff]") {
  const PlanFile a = threeOperators({0, 1, 2});
  PlanFile b = threeOperators({0, 1, 2});
  b.problem.graph.mutableOp(OperatorId(2)).name = "other";
  const PlanDiff diff = diffOf(a, b);
  CHECK_FALSE(diff.sameGraph);
  const std::string text = textOf(describe(diff));
  CHECK_THAT(text, Contains("graph: 1 operator is in A only: 'r'."));
  CHECK_THAT(text, Contains("graph: 1 operator is in B only: 'other'."));
  CHECK_THAT(text, Contains("graph: The sentences about places, order, copies and repeated operators compare the 2 "
                            "operators and the 4 tensors that both plans have."));
  CHECK(sentencesOf(a, examplePlan()) ==
        "graph: The plans have no operator name in common, so they are plans of different models.\n");
  // The same operators, of which one reads a tensor of another name.
  PlanFile c = a;
  c.problem.graph.mutableTensor(TensorId(0u)).name = "packed";
  const std::string packed = sentencesOf(a, c);
  CHECK_THAT(packed, Contains("graph: 1 tensor is in A only: 'w'."));
  CHECK_THAT(packed, Contains("graph: 1 tensor is in B only: 'packed'."));
  CHECK_THAT(packed, Contains("compare the 3 operators and the 3 tensors that both plans have."));
  CHECK_THAT(packed, Contains("copies: A and B copy the tensors that both have the same number of times."));
}

TEST_CASE("what ended the search is told where it differs", "[plandiff]") {
  const PlanFile a = examplePlan();
  PlanFile b = a;
  b.plan.stoppedByClock = true;
  CHECK_THAT(sentencesOf(a, b), Contains("made: The time limit ended the search for B and not the other one."));
  CHECK_THAT(sentencesOf(b, a), Contains("made: The time limit ended the search for A and not the other one."));
  CHECK_THAT(sentencesOf(b, b), !Contains("time limit"));
}

TEST_CASE("names used twice are told apart as in plan files", "[plandiff]") {
  auto twice = [] {
    Builder b(1, 256);
    const TensorId w = b.tensor("w", TensorKind::Parameter), v = b.tensor("w", TensorKind::Activation);
    const TensorId y = b.tensor("", TensorKind::Activation, 64, true);
    const OperatorId p = b.op("p", {w}, {v}, 0), q = b.op("#7", {v}, {y}, 0);
    const ResidencyId at = b.at(v, 0, 0);
    b.launch(p, {b.home(w, true)}, {at});
    b.launch(q, {at}, {b.home(y, false)});
    return b.file();
  };
  const PlanDiff diff = diffOf(twice(), twice());
  CHECK(diff.sameGraph);
  CHECK(diff.sharedOperators == 2);
  CHECK(diff.sameDecisions);
}

TEST_CASE("whatever plan file is read can be explained and compared", "[plandiff]") {
  const PlanFile original = examplePlan();
  const std::string text = planFileToJson(original).dump();
  Rng rng(11);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (uint64_t i = 0, changes = 1 + rng.below(2); i < changes; ++i)
      damaged[rng.below(damaged.size())] = "0123456789-[]{},:\"ae"[rng.below(20)];
    Expected<Json> json = parseJson(damaged, "damaged");
    if (!json)
      continue;
    Expected<PlanFile> file = planFileFromJson(JsonReader(*json, "damaged"));
    if (!file)
      continue;
    ++read;
    std::vector<std::string> names;
    for (size_t i = 0; i < file->problem.graph.numTensors(); ++i)
      names.push_back(concat("#", i));
    Expected<std::vector<Explanation>> explanations = explain(*file, names);
    REQUIRE(explanations);
    for (const Explanation &explanation : *explanations)
      CHECK_FALSE(explanationToJson(explanation)["tensors"][0]["sentences"].empty());
    CHECK_FALSE(diffToJson(diffOf(original, *file))["sentences"].empty());
    CHECK_FALSE(diffToJson(diffOf(*file, original))["sentences"].empty());
  }
  CHECK(read > 100);
}

TEST_CASE("figures have their change; limits that nobody set have none", "[plandiff]") {
  const PlanDiff diff = diffOf(examplePlan(), examplePlan(true));
  const PlanDiff::Figure &makespan = diff.figures.front();
  CHECK(makespan.values == Pair{770, 622});
  CHECK(formatChange(makespan) == "-148 ns, 0.808x");
  PlanDiff::Figure limit{"limit", PlanDiff::Unit::Limit, {std::numeric_limits<int64_t>::max(), 5}, "m", {true, true}};
  CHECK(formatFigure(limit, 0) == "no limit");
  CHECK(formatFigure(limit, 1) == "5 B");
  CHECK(formatChange(limit).empty());
  limit.isKnown[0] = false;
  CHECK(formatFigure(limit, 0) == "-");
  const Json json = diffToJson(diff);
  CHECK(json["figures"][0]["a"] == 770);
  CHECK(json["figures"][0]["unit"] == "ns");
  CHECK(json["waiting"][0]["operator"] == "d");
  CHECK(json["sentences"].size() == describe(diff).size());
}
