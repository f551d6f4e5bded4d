//===- ExplainTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What is said of plans made by hand, whose times are worked out in Plans.h, and what
// is not said of them.
//
//===----------------------------------------------------------------------===//

#include "Plans.h"
#include "sluice/Explain/PlanDiff.h"
#include "sluice/Plan/CopiedBytes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;
using Catch::Contains;

static Explanation explainOne(const PlanFile &file, const std::string &name) {
  Expected<std::vector<Explanation>> all = explain(file, {name});
  INFO((all ? "" : all.error().message));
  REQUIRE(all);
  REQUIRE(all->size() == 1);
  return all->front();
}
static OperatorFacts operatorOf(const PlanFile &file, const std::string &name) {
  const Explanation found = explainOne(file, name);
  REQUIRE(found.operators.size() == 1);
  return found.operators[0];
}
static TensorFacts tensorOf(const PlanFile &file, const std::string &name) {
  const Explanation found = explainOne(file, name);
  REQUIRE(found.tensors.size() == 1);
  return found.tensors[0];
}

TEST_CASE("an operator starts after what held it back longest", "[explain]") {
  const PlanFile file = examplePlan();
  const OperatorFacts b = operatorOf(file, "b"), c = operatorOf(file, "c"), d = operatorOf(file, "d");
  // b overwrites what the copy of t reads.
  const Timing &after = b.launches[0].timing;
  CHECK(after.command.interval.startNs == 248);
  REQUIRE(after.after.size() == 2);
  CHECK(after.after[0].why == Dependency::Why::Bytes);
  CHECK(after.after[0].tensor == "t");
  CHECK(after.after[0].command.isCopy);
  CHECK(after.after[1].why == Dependency::Why::Data);
  CHECK(after.after[1].command.name == "a");
  CHECK(after.stallNs == 74);
  std::string text = textOf(describe(b));
  CHECK_THAT(text, Contains("after: It starts at the end of copy 1 of 2 of 't' from 'm1' to 'host', which uses the "
                            "addresses of 't' until then."));
  CHECK_THAT(text,
             Contains("after: It also depends on 'a', which makes 't', and ended 74 ns before this start; this does "
                      "not delay it."));
  CHECK_THAT(text, !Contains("also waits"));
  CHECK_THAT(text, Contains("after: 'acc1' runs nothing for 74 ns before it."));
  CHECK_THAT(text, Contains("memory: It writes 'u' in place, over 't'."));
  CHECK_THAT(text, !Contains("workspace"));
  // c follows at once, and has a workspace.
  text = textOf(describe(c));
  CHECK(c.launches[0].timing.stallNs == 0);
  CHECK_THAT(text, Contains("It starts at the end of 'b', which makes 'u'."));
  CHECK_THAT(text, !Contains("runs nothing"));
  CHECK_THAT(text, !Contains("also"));
  CHECK_THAT(text, Contains("memory: These bytes include its workspace of 64 B."));
  // d waits for its operand, and for the copy before it, which is as long.
  CHECK(d.launches[0].timing.after[0].why == Dependency::Why::Data);
  CHECK(d.launches[0].dataReadyNs == 596);
  CHECK_THAT(textOf(describe(d)), Contains("It starts at the end of copy 2 of 2 of 't' from 'host' to 'm1'."));
}

TEST_CASE("an operator's slack is the step's", "[explain]") {
  // All of the one plan hangs together; in the other the copy of w may end with the step, 100 ns later.
  const OperatorFacts d = operatorOf(examplePlan(), "d");
  CHECK(d.launches[0].timing.isCritical);
  CHECK_THAT(
      textOf(describe(d)),
      Contains("then: It is on the critical path: if it ends later, the step gets longer, because the copy of 'y' "
               "from 'm1' to 'host', which waits for it, starts later."));
  CHECK_THAT(textOf(describe(d)), !Contains("could end"));
  const TensorFacts w = tensorOf(examplePlan(true), "w");
  REQUIRE(w.copies.size() == 1);
  CHECK_FALSE(w.copies[0].timing.isCritical);
  CHECK(w.copies[0].timing.slackNs == 100);
  CHECK_THAT(textOf(describe(w)), Contains("The copy could end up to 100 ns later without making the step longer; the "
                                           "end of the step sets this limit."));
  CHECK_THAT(textOf(describe(w)), !Contains("critical"));
  // The copy of t to m1 ends at 322, d reads it at 448.
  const TensorFacts t = tensorOf(examplePlan(true), "t");
  REQUIRE(t.copies.size() == 2);
  CHECK(t.copies[1].timing.slackNs == 126);
  CHECK(t.copies[1].timing.slackBy.name == "d");
  CHECK_THAT(textOf(describe(t)), Contains("Copy 2 of 2 could end up to 126 ns later without making the step longer; "
                                           "'d', which waits for it, sets this limit."));
}

TEST_CASE("an operator is compared with what it takes elsewhere", "[explain]") {
  PlanFile file = examplePlan();
  const OperatorFacts a = operatorOf(file, "a");
  CHECK_FALSE(a.isFixed);
  REQUIRE(a.others.size() == 1);
  CHECK(a.others[0].device == "cpu");
  CHECK(a.others[0].timeNs == 900);
  // Here x comes from the host; there t would go to the accelerator.
  CHECK(a.chosen.crossingBytes == 64);
  CHECK(a.chosen.crossingNs == 74);
  CHECK(a.others[0].crossingBytes == 64);
  std::string text = textOf(describe(a));
  CHECK_THAT(text,
             Contains("It takes 100 ns on 'acc1', and copies of inputs and results for it alone take 74 ns (64 B)."));
  CHECK_THAT(text, Contains("On 'cpu' it takes 900 ns, and copies of inputs"));
  CHECK_THAT(text, !Contains("The problem places"));
  CHECK_THAT(text, !Contains("only device"));
  CHECK_THAT(text, !Contains("one device with"));
  // b's data neither comes nor goes.
  CHECK_THAT(textOf(describe(operatorOf(file, "b"))), Contains("It takes 100 ns on 'acc1'."));

  file.problem.placement.assign(4, DeviceId());
  file.problem.placement[0] = DeviceId(1);
  file.problem.machine.devices[0].computes = false;
  file.problem.graph.mutableOp(OperatorId(0)).colocation = 5;
  file.problem.graph.mutableOp(OperatorId(1)).colocation = 5;
  text = textOf(describe(operatorOf(file, "a")));
  CHECK_THAT(text, Contains("The problem places it on 'acc1'."));
  CHECK_THAT(text, Contains("'acc1' is the only device of the machine that computes."));
  CHECK_THAT(text, Contains("It has to be on one device with 'b'."));
  CHECK_THAT(text, !Contains("'cpu'"));
  CHECK_THAT(textOf(describe(operatorOf(file, "c"))), !Contains("The problem places"));
}

TEST_CASE("an evicted tensor says who took its bytes, and when it is back", "[explain]") {
  const TensorFacts t = tensorOf(examplePlan(), "t");
  REQUIRE(t.copies.size() == 2);
  CHECK(t.copies[0].why == CopyFact::Why::Evicted);
  CHECK(t.copies[1].why == CopyFact::Why::Returned);
  const AbsenceFact &absence = *t.copies[1].absence;
  REQUIRE(absence.times.size() == 1);
  CHECK(absence.times[0].startNs == 348);
  CHECK(absence.times[0].endNs == 522);
  CHECK(absence.mostInUseBytes == 192);
  CHECK(absence.atNs == 348);
  CHECK_FALSE(absence.freeOffset);
  REQUIRE(absence.guests.size() == 1);
  CHECK(absence.guests[0].name == "u");
  CHECK(t.copies[1].reader.name == "d");
  CHECK(t.copies[1].readerWaitNs == 148);
  const std::string text = textOf(describe(t));
  CHECK_THAT(
      text,
      Contains(
          "Copy 1 of 2: it is copied from 'm1' to 'host' from 174 ns to 248 ns (64 B).\ncopied: It is swapped out of "
          "'m1'. With the others as planned, no single range of 64 B of 'm1' is free throughout its absence and "
          "its stays before and after it; in all there are enough bytes beside the 192 B that the others use at most; "
          "back for 'd' at 596 ns; 'd' waits 148 ns for it."));
  // The copy back runs from 522 ns, to other addresses.
  CHECK(absence.away[0].endNs == 596);
  CHECK(absence.leftOffset == 192);
  CHECK(absence.backOffset == 128);
  CHECK_THAT(text, Contains("It is not in 'm1' from 348 ns to 596 ns (its addresses are reserved again from 522 ns); "
                            "meanwhile the addresses that it left are used by 'u' (64 B)."));
  CHECK_THAT(text, Contains("'d' reads it, and copy 1 of 2 swapped it out; it left 'm1' at 348 ns."));
  CHECK_THAT(text, !Contains("would be exceeded"));
  CHECK_THAT(text, !Contains("if it stayed"));
  CHECK_THAT(text, Contains("'d' reads it first and waits 148 ns for this copy and for nothing else."));
  CHECK_THAT(text, !Contains("share the link"));
  CHECK_THAT(text, Contains("here: 'a' makes it."));
  CHECK_THAT(text, Contains("It is in 'm1' at bytes 192 to 256 from 74 ns to 348 ns, made by 'a'; 1 launch reads it "
                            "there."));
  CHECK_THAT(text, Contains("It is in 'm1' at bytes 128 to 192 from 522 ns to 696 ns, copied from 'host'; 1 launch"));
  // In the other plan nobody waits for it.
  CHECK_THAT(textOf(describe(tensorOf(examplePlan(true), "t"))),
             Contains("'d' reads it first and starts 126 ns after this copy ends, at the end of 'c'."));
}

TEST_CASE("a tensor whose bytes would not fit could not stay", "[explain]") {
  PlanFile file = examplePlan();
  file.problem.capacities[1] = 255;
  const std::string text = textOf(describe(tensorOf(file, "t")));
  CHECK_THAT(
      text,
      Contains(
          "It is swapped out of 'm1'. It does not fit with the others as planned: at 348 ns the others use 192 B of "
          "'m1', and with its 64 B the limit of 255 B would be exceeded by 1 B; back for 'd' at 596 ns"));
  CHECK_THAT(text, !Contains("single range"));
  // With another 64 bytes there is a place.
  file.problem.capacities[1] = 320;
  CHECK_THAT(
      textOf(describe(tensorOf(file, "t"))),
      Contains("It is swapped out of 'm1'; it could stay: from byte 256 of 'm1', 64 B are free for it if no other "
               "tensor stays as well; back for 'd'"));
}

TEST_CASE("copies say what they are for", "[explain]") {
  const PlanFile file = examplePlan();
  CHECK_THAT(textOf(describe(tensorOf(file, "x"))),
             Contains("(64 B).\ncopied: The caller gives it in the host's memory."));
  CHECK_THAT(textOf(describe(tensorOf(file, "y"))),
             Contains("(64 B).\ncopied: The caller reads it in the host's memory."));
  CHECK_THAT(textOf(describe(tensorOf(file, "y"))), Contains("here: No operator reads it."));
  const TensorFacts w = tensorOf(file, "w");
  REQUIRE(w.copies.size() == 1);
  CHECK(w.copies[0].why == CopyFact::Why::Restored);
  CHECK(w.copies[0].absence->guests.at(0).isWorkspace);
  CHECK_FALSE(w.copies[0].reader.id.valid());
  const std::string text = textOf(describe(w));
  CHECK_THAT(text, Contains("The next step begins with it in 'm1', and it left 'm1' at 174 ns"));
  CHECK_THAT(text, Contains(". It leaves 'm1' without a copy, because 'host' has the same bytes."));
  CHECK_THAT(text, Contains("its addresses are used by the workspace of 'c' (64 B)."));
  CHECK_THAT(text, Contains("from 0 ns to 174 ns, there since the step before; 1 launch reads it there."));
  CHECK_THAT(text, Contains("from 448 ns to 770 ns, copied from 'host', and stays there for the next step."));
  CHECK_THAT(text, !Contains("reads it first"));
  // s and its new value stay.
  CHECK_THAT(textOf(describe(tensorOf(file, "s"))), Contains("copied: It is not copied in this plan."));
  CHECK_THAT(textOf(describe(tensorOf(file, "s'"))), Contains("made by 'c', and stays there for the next step"));
  CHECK(tensorOf(file, "s'").kind == "new value of a state");
}

TEST_CASE("a parameter that is copied in each step is away over the step's end", "[explain]") {
  Builder b(1, 192);
  const TensorId w = b.tensor("w", TensorKind::Parameter), k = b.tensor("k", TensorKind::Parameter);
  const TensorId y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId op = b.op("op", {w, k}, {y}, 1);
  const ResidencyId kept = b.at(k, 1, 0, true), wIn = b.at(w, 1, 64), out = b.at(y, 1, 128);
  const CommandId in = b.copy(b.home(w, true), wIn);
  const CommandId run = b.launch(op, {wIn, kept}, {out}, {in});
  b.copy(out, b.home(y, false), {run});
  const TensorFacts facts = tensorOf(b.file(), "w");
  REQUIRE(facts.copies.size() == 1);
  CHECK(facts.copies[0].why == CopyFact::Why::NotKept);
  CHECK(facts.copies[0].absence->times.size() == 1);
  CHECK(facts.copies[0].absence->times[0].startNs == 174);
  CHECK(facts.copies[0].absence->times[0].endNs == 248);
  CHECK(facts.copies[0].absence->freeOffset == 64);
  const std::string text = textOf(describe(facts));
  CHECK_THAT(text,
             Contains("It is not in 'm1' from 174 ns of one step to 74 ns of the next step; meanwhile no other tensor "
                      "uses its addresses."));
  CHECK_THAT(
      text,
      Contains(
          "'op' reads it, and it is not kept in 'm1' between steps; if it stayed in 'm1' and all other decisions were "
          "kept, the step would be 74 ns shorter; the planner did not find this plan; from byte 64 of 'm1', 64 B are "
          "free for it if no other tensor stays as well. It leaves 'm1' without a copy, because 'host' has the same "
          "bytes."));
  CHECK_THAT(text, Contains("Its home is in 'host', where it is when the step begins."));
  const std::string kText = textOf(describe(tensorOf(b.file(), "k")));
  CHECK_THAT(kText, Contains("It is in 'm1' at bytes 0 to 64 during the whole step and between steps; 1 launch"));
  CHECK_THAT(kText, Contains("not copied"));
}

TEST_CASE("a state that is updated comes from its home", "[explain]") {
  Builder b(1, 4096);
  const TensorId s = b.tensor("s", TensorKind::State), n = b.tensor("n", TensorKind::State);
  b.graph.setUpdates(n, s);
  const OperatorId op = b.op("up", {s}, {n}, 1);
  const ResidencyId sIn = b.at(s, 1, 0), nOut = b.at(n, 1, 64);
  const CommandId in = b.copy(b.home(s, true), sIn);
  const CommandId run = b.launch(op, {sIn}, {nOut}, {in});
  b.copy(nOut, b.home(n, false), {run});
  const TensorFacts facts = tensorOf(b.file(), "s");
  REQUIRE(facts.copies.size() == 1);
  CHECK_FALSE(facts.copies[0].absence);
  const std::string text = textOf(describe(facts));
  CHECK_THAT(text, Contains("it is not kept in 'm1' between steps; each step leaves its new value 'n' at its home."));
  CHECK_THAT(text, !Contains("stay"));
  CHECK_THAT(textOf(describe(tensorOf(b.file(), "n"))), Contains("The next step finds it there, at its state's home."));
}

TEST_CASE("a parameter that is used twice may stay over the step's end", "[explain]") {
  // w comes for p and again for q; k takes its place between. Its first and its last stay are at one place.
  Builder b(1, 256);
  const TensorId w = b.tensor("w", TensorKind::Parameter), k = b.tensor("k", TensorKind::Activation);
  const TensorId v = b.tensor("v", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId p = b.op("p", {w}, {v}, 1), m = b.op("m", {v}, {k}, 1), q = b.op("q", {w, k}, {y}, 1);
  const ResidencyId first = b.at(w, 1, 0), vAt = b.at(v, 1, 64), kAt = b.at(k, 1, 128), again = b.at(w, 1, 0);
  const ResidencyId out = b.at(y, 1, 192), home = b.home(w, true);
  const CommandId in = b.copy(home, first);
  const CommandId runP = b.launch(p, {first}, {vAt}, {in});
  b.launch(m, {vAt}, {kAt});
  const CommandId back = b.copy(home, again, {runP});
  const CommandId last = b.launch(q, {again, kAt}, {out}, {back});
  b.copy(out, b.home(y, false), {last});
  const TensorFacts facts = tensorOf(b.file(), "w");
  REQUIRE(facts.copies.size() == 2);
  CHECK(facts.copies[0].why == CopyFact::Why::NotKept);
  CHECK(facts.copies[0].absence->freeOffset == 0);
  CHECK(facts.copies[1].why == CopyFact::Why::Returned);
}

TEST_CASE("a tensor made on one device and read on another is copied for that", "[explain]") {
  Builder b(1, 4096);
  const TensorId v = b.tensor("v", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId p = b.op("p", {}, {v}, 0), q = b.op("q", {v}, {y}, 1);
  const ResidencyId vHost = b.at(v, 0, 0), vIn = b.at(v, 1, 0), out = b.at(y, 1, 64);
  const CommandId runP = b.launch(p, {}, {vHost});
  const CommandId in = b.copy(vHost, vIn, {runP});
  const CommandId runQ = b.launch(q, {vIn}, {out}, {in});
  b.copy(out, b.home(y, false), {runQ});
  const TensorFacts facts = tensorOf(b.file(), "v");
  REQUIRE(facts.copies.size() == 1);
  CHECK(facts.copies[0].why == CopyFact::Why::OtherDevice);
  CHECK_THAT(textOf(describe(facts)), Contains("'cpu' makes it, and 'acc1' reads it."));
  CHECK_FALSE(facts.copies[0].absence);
  CHECK_THAT(textOf(describe(operatorOf(b.file(), "p"))),
             Contains("It starts when the step starts and waits for nothing."));
}

TEST_CASE("copies that share the link are told apart from slow ones", "[explain]") {
  Builder b(1, 4096);
  const TensorId x = b.tensor("x", TensorKind::Input, 1000), z = b.tensor("z", TensorKind::Activation, 1000, true);
  const TensorId y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId p = b.op("p", {}, {z}, 1), q = b.op("q", {x}, {y}, 1);
  b.machine.links[0].duplexBytesPerSec = 1e9; // Half each while both directions are busy.
  const ResidencyId zOut = b.at(z, 1, 0), xIn = b.at(x, 1, 1024), out = b.at(y, 1, 2048);
  const CommandId runP = b.launch(p, {}, {zOut});
  b.copy(zOut, b.home(z, false), {runP});
  const CommandId in = b.copy(b.home(x, true), xIn);
  const CommandId runQ = b.launch(q, {xIn}, {out}, {in});
  b.copy(out, b.home(y, false), {runQ});
  // In from 10 ns at 1 byte/ns; the copy out joins at 110, so that 900 bytes go at half the rate: 1910.
  const TensorFacts facts = tensorOf(b.file(), "x");
  CHECK(facts.copies[0].timing.command.interval.endNs == 1910);
  CHECK_THAT(textOf(describe(facts)),
             Contains("The copy takes 1.91 us instead of 1.01 us, because it shares the link with the copy of 'z' from "
                      "'m1' to 'host' for 1.81 us."));
  // The copy of y is alone.
  CHECK(tensorOf(b.file(), "y").copies[0].sharing.empty());
  CHECK_THAT(textOf(describe(tensorOf(b.file(), "y"))), !Contains("instead of"));
}

TEST_CASE("an operator that runs again says what copies would take instead", "[explain]") {
  Builder b(1, 256);
  const TensorId x = b.tensor("x", TensorKind::Parameter), t = b.tensor("t", TensorKind::Activation);
  const TensorId u = b.tensor("u", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId a = b.op("a", {x}, {t}, 1), bb = b.op("b", {t}, {u}, 1), c = b.op("c", {t, u}, {y}, 1);
  const ResidencyId kept = b.at(x, 1, 0, true), first = b.at(t, 1, 64), mid = b.at(u, 1, 128);
  const ResidencyId second = b.at(t, 1, 64), out = b.at(y, 1, 192);
  b.launch(a, {kept}, {first});
  b.launch(bb, {first}, {mid});
  b.launch(a, {kept}, {second});
  const CommandId last = b.launch(c, {second, mid}, {out});
  b.copy(out, b.home(y, false), {last});
  const OperatorFacts facts = operatorOf(b.file(), "a");
  REQUIRE(facts.launches.size() == 2);
  CHECK(facts.launches[1].copyInsteadNs == 74);
  const std::string text = textOf(describe(facts));
  CHECK_THAT(text, Contains("again: It runs again, for 100 ns; copying its results from the host's memory instead "
                            "(64 B) would take 74 ns on an idle link."));
  CHECK_THAT(text, Contains("Run 2 runs from 200 ns to 300 ns, as launch 3 of 4 on its stream."));
  CHECK_THAT(textOf(describe(operatorOf(b.file(), "b"))), !Contains("again"));
  // All that run 2 reads is there when the step begins: two launches go before it.
  CHECK_THAT(text,
             Contains("All operands are in 'm1' 200 ns before it starts; from then until it starts, 'acc1' runs 'a' "
                      "and 'b'."));
}

TEST_CASE("a wake-up between streams is told", "[explain]") {
  PlanFile file = examplePlan();
  file.problem.machine.links[0].eventLatencyNs = 7;
  CHECK_THAT(textOf(describe(operatorOf(file, "a"))),
             Contains("It starts 7 ns (the event latency) after the end of the copy of 'x'"));
  CHECK_THAT(textOf(describe(operatorOf(file, "c"))), !Contains("event latency"));
}

TEST_CASE("what has no name in the plan is refused with the nearest", "[explain]") {
  Builder b(1, 256);
  const TensorId w = b.tensor("weights", TensorKind::Parameter), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId op = b.op("MatMul_1", {w}, {y}, 0);
  b.launch(op, {b.home(w, true)}, {b.home(y, false)});
  const PlanFile file = b.file();
  Expected<std::vector<Explanation>> missing = explain(file, {"y", "matmul_2"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK_THAT(missing.error().message, Contains("'matmul_2' is neither an operator nor a tensor of the plan"));
  CHECK_THAT(missing.error().message, Contains("use 'MatMul_1'"));
  CHECK_THAT(explain(file, {"zzzzzzzz"}).error().message, Contains("give a name that 'sluice report' shows"));
  CHECK_THAT(explain(file, {std::string(5000, 'q') + "\x1b\xff"}).error().message, !Contains("\x1b"));
  CHECK_FALSE(explain(file, {""}));
}

TEST_CASE("odd names are found and printed without control characters", "[explain]") {
  Builder b(1, 256);
  const TensorId first = b.tensor("twice", TensorKind::Parameter), second = b.tensor("twice", TensorKind::Parameter);
  const TensorId y = b.tensor("", TensorKind::Activation, 64, true);
  const OperatorId op = b.op("n\xc3\xa4me\x1b\xff", {first, second}, {y}, 0);
  b.launch(op, {b.home(first, true), b.home(second, true)}, {b.home(y, false)});
  const PlanFile file = b.file();
  CHECK(explainOne(file, "twice").tensors.size() == 2);
  CHECK(explainOne(file, "#2").tensors.at(0).kind == "output");
  const Explanation odd = explainOne(file, "n\xc3\xa4me\x1b\xff");
  REQUIRE(odd.operators.size() == 1);
  CHECK(titleOf(odd.operators[0]) == "operator 'n\xc3\xa4me?\?', k");
  CHECK_NOTHROW(explanationToJson(odd).dump(-1, ' ', false, Json::error_handler_t::replace));
}

TEST_CASE("JSON has the facts and the sentences", "[explain]") {
  const PlanFile file = examplePlan();
  const Json b = explanationToJson(explainOne(file, "b"));
  CHECK(b["operators"][0]["launches"][0]["after"][0]["why"] == "bytes");
  CHECK(b["operators"][0]["launches"][0]["stallNs"] == 74);
  CHECK(b["operators"][0]["limitBytes"] == 256);
  CHECK(b["tensors"].empty());
  const Json t = explanationToJson(explainOne(file, "t"));
  CHECK(t["tensors"][0]["copies"][1]["why"] == "returned");
  CHECK(t["tensors"][0]["copies"][1]["absence"]["guests"][0]["tensor"] == "u");
  CHECK(t["tensors"][0]["copies"][1]["absence"]["freeOffset"].is_null());
  CHECK(t["tensors"][0]["sentences"].size() == describe(tensorOf(file, "t")).size());
}

TEST_CASE("a stall tells what the launch waits for, and what that waits for", "[explain]") {
  const PlanFile file = examplePlan();
  const StepFacts step = explainStep(file);
  std::map<std::string, const StallFact *> stalls;
  int64_t stalledNs = 0;
  for (const StallFact &stall : step.stalls) {
    stalls[stall.launch.name] = &stall;
    stalledNs += stall.stallNs;
  }
  // c follows b at once.
  CHECK(stalls.count("c") == 0);
  // All that the one stream of launches does not compute, up to its last launch.
  int64_t busyNs = 0, lastNs = 0;
  for (const char *name : {"a", "b", "c", "d"}) {
    const Interval interval = operatorOf(file, name).launches[0].timing.command.interval;
    busyNs += interval.endNs - interval.startNs;
    lastNs = std::max(lastNs, interval.endNs);
  }
  CHECK(stalledNs == lastNs - busyNs);
  REQUIRE(stalls.count("b") == 1);
  CHECK(stalls["b"]->stallNs == 74);
  // The place of x is free from a's end.
  CHECK(
      describe(*stalls["b"]) ==
      "'acc1' runs nothing for 74 ns before 'b'. The operator waits for the addresses of 't', "
      "which copy 1 of 2 of 't' from 'm1' to 'host' uses until 248 ns. From 174 ns on, when it waits for nothing else, "
      "64 B of 'm1' are free in one range elsewhere, enough for its 64 B. Copy 1 of 2 of 't' waits for 't', which "
      "'a' makes (until 174 ns).");
  REQUIRE(stalls.count("d") == 1);
  REQUIRE(stalls["d"]->chain.size() > 1);
  CHECK(stalls["d"]->chain[0].why == Dependency::Why::Data);
  CHECK_THAT(describe(*stalls["d"]),
             Contains(". The operator waits for copy 2 of 2 of 't' from 'host' to 'm1' (until 596 ns). Copy 2 of 2 of "
                      "'t' waits for "));
}

/// The step in which w, of as many bytes as x, is copied over x once a has read it, and c waits for w. t and y have 64
/// bytes at these addresses.
static StepFacts stepWithCopyOver(int64_t capacity, int64_t bytes, int64_t tOffset, int64_t yOffset) {
  Builder b(1, capacity);
  const TensorId x = b.tensor("x", TensorKind::Parameter, bytes), w = b.tensor("w", TensorKind::Parameter, bytes);
  const TensorId t = b.tensor("t", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId a = b.op("a", {x}, {t}, 1), c = b.op("c", {t, w}, {y}, 1);
  const ResidencyId xIn = b.at(x, 1, 0), wIn = b.at(w, 1, 0), mid = b.at(t, 1, tOffset), out = b.at(y, 1, yOffset);
  const CommandId inX = b.copy(b.home(x, true), xIn);
  const CommandId runA = b.launch(a, {xIn}, {mid}, {inX});
  const CommandId inW = b.copy(b.home(w, true), wIn, {runA});
  const CommandId runC = b.launch(c, {mid, wIn}, {out}, {inW});
  b.copy(out, b.home(y, false), {runC});
  return explainStep(b.file());
}

TEST_CASE("a stall tells whose bytes a copy waits for", "[explain]") {
  const StepFacts step = stepWithCopyOver(256, 64, 64, 128);
  REQUIRE(step.stalls.size() == 2);
  CHECK(
      describe(step.stalls[0]) ==
      "'acc1' runs nothing for 74 ns before 'a'. The operator waits for the copy of 'x' from 'host' to 'm1' (until 74 "
      "ns). The copy of 'x' starts when the step starts.");
  // Bytes 192 to 256 are free, and the copy could have begun with the step or after that of x.
  CHECK(
      describe(step.stalls[1]) ==
      "'acc1' runs nothing for 74 ns before 'c'. The operator waits for the copy of 'w' from 'host' to 'm1' (until 248 "
      "ns). The copy of 'w' waits for the addresses of 'x', which 'a' uses until 174 ns. From 74 ns on, when it waits "
      "for nothing else, 64 B of 'm1' are free in one range elsewhere, enough for its 64 B.");
  // 74 ns for x and 74 for w, and the copy of y after the last operator.
  REQUIRE(step.deviceTimes.size() == 1);
  CHECK(describe(step.deviceTimes[0]) ==
        "Of the 422 ns of a step, 'acc1' computes for 200 ns, waits before operators for "
        "148 ns (148 ns of that for copies) and runs nothing after its last operator for "
        "74 ns.");
  CHECK(step.criticalPath.size() == 5);
}

TEST_CASE("a stall whose addresses are free in pieces alone says so", "[explain]") {
  // 64 bytes are free on both sides of t.
  const StepFacts step = stepWithCopyOver(384, 128, 192, 320);
  REQUIRE(step.stalls.size() == 2);
  CHECK_THAT(
      describe(step.stalls[1]),
      Contains("From 138 ns on, when it waits for nothing else, 64 B of 'm1' are free in one range elsewhere, 64 B "
               "too little; the ranges together have enough: 128 B."));
}

TEST_CASE("why a tensor is copied is told once, with what takes its place", "[explain]") {
  const StepFacts step = explainStep(examplePlan());
  const PlanFile file = examplePlan();
  std::map<std::string, std::string> why;
  for (const auto &[id, facts] : step.copied) {
    CHECK(facts.name == file.problem.graph.tensor(id).name);
    why[facts.name] = whyCopied(facts, 0);
  }
  CHECK_THAT(why["t"], Catch::StartsWith("it is swapped out of 'm1'. With the others as planned, no single range"));
  CHECK_THAT(why["t"],
             Contains("; it is not in 'm1' from 348 ns to 596 ns (its addresses are reserved again from 522 ns); "
                      "meanwhile the addresses that it left are used by 'u' (64 B)"));
  CHECK(why["t"].find("are used by") == why["t"].rfind("are used by"));
  CHECK(whyCopied(tensorOf(file, "t"), 1) == "'d' reads it, and copy 1 of 2 swapped it out; it left 'm1' at 348 ns");
  CHECK(why.count("u") == 0);
}

/// p makes v, which q reads; v goes out and comes back at other addresses for r. `isRead`: the copy back is there.
static Builder movedCopy(bool isRead) {
  Builder b(1, 512);
  const TensorId k = b.tensor("k", TensorKind::Parameter), v = b.tensor("v", TensorKind::Activation, 20);
  const TensorId t = b.tensor("t", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId p = b.op("p", {k}, {v}, 1), q = b.op("q", {v, k}, {t}, 1), r = b.op("r", {v, t}, {y}, 1);
  const ResidencyId kept = b.at(k, 1, 0, true), first = b.at(v, 1, 64), away = b.at(v, 0, 0), tAt = b.at(t, 1, 128);
  const ResidencyId second = isRead ? b.at(v, 1, 192) : ResidencyId(), out = b.at(y, 1, 256);
  const CommandId runP = b.launch(p, {kept}, {first});
  const CommandId goes = b.copy(first, away, {runP});
  const CommandId comes = isRead ? b.copy(away, second, {goes}) : CommandId();
  b.launch(q, {first, kept}, {tAt});
  const CommandId runR = b.launch(r, {isRead ? second : first, tAt}, {out},
                                  isRead ? std::vector<CommandId>{comes} : std::vector<CommandId>{});
  b.copy(out, b.home(y, false), {runR});
  return b;
}

TEST_CASE("a tensor that is moved is not away, and one whose copy nobody reads stays", "[explain]") {
  // p 0-100, out 100-130, in 130-160, q 100-200: v is at its first addresses until 200.
  const TensorFacts moved = tensorOf(movedCopy(true).file(), "v");
  REQUIRE(moved.copies.size() == 2);
  for (const CopyFact &copy : moved.copies) {
    CHECK(copy.why == CopyFact::Why::Moved);
    CHECK(copy.absence->away.empty());
  }
  const std::string text = textOf(describe(moved));
  CHECK_THAT(text, Contains("It is moved through the host to other addresses of 'm1', 64 -> 192"));
  CHECK_THAT(text, !Contains("not in 'm1'"));
  CHECK_THAT(text, !Contains("brings it back"));
  CHECK_THAT(text, !Contains("away"));

  const TensorFacts unread = tensorOf(movedCopy(false).file(), "v");
  REQUIRE(unread.copies.size() == 1);
  CHECK(unread.copies[0].why == CopyFact::Why::Unread);
  CHECK(whyCopied(unread, 0) ==
        "nothing reads this copy, which could be left out (20 B); the tensor stays in 'm1' until 300 ns");
}

TEST_CASE("a second copy beside the first says who takes the first one's addresses", "[explain]") {
  // w for p at byte 0, and for r at byte 64, copied while p runs; then q writes its result over the first.
  Builder b(1, 320);
  const TensorId w = b.tensor("w", TensorKind::Parameter), v = b.tensor("v", TensorKind::Activation);
  const TensorId t = b.tensor("t", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId p = b.op("p", {w}, {v}, 1), q = b.op("q", {v}, {t}, 1), r = b.op("r", {w, t}, {y}, 1);
  const ResidencyId first = b.at(w, 1, 0), second = b.at(w, 1, 64), vAt = b.at(v, 1, 128), tAt = b.at(t, 1, 0);
  const ResidencyId out = b.at(y, 1, 192), home = b.home(w, true);
  const CommandId in = b.copy(home, first), again = b.copy(home, second);
  b.launch(p, {first}, {vAt}, {in});
  b.launch(q, {vAt}, {tAt});
  const CommandId runR = b.launch(r, {second, tAt}, {out}, {again});
  b.copy(out, b.home(y, false), {runR});
  const TensorFacts facts = tensorOf(b.file(), "w");
  REQUIRE(facts.copies.size() == 2);
  CHECK(facts.copies[0].why == CopyFact::Why::NotKept);
  CHECK(facts.copies[1].why == CopyFact::Why::Second);
  CHECK(facts.copies[1].absence->guests.at(0).name == "t");
  CHECK_THAT(whyCopied(facts, 1),
             Catch::StartsWith("a second copy, made while the first is still in place, at byte 0 of 'm1'"));
  CHECK_THAT(whyCopied(facts, 1), !Contains("not kept"));
}

TEST_CASE("a wait without data or addresses names the command for whose sake it is", "[explain]") {
  // c waits for the copy of w already, which only d reads.
  Builder b(1, 512);
  const TensorId k = b.tensor("k", TensorKind::Parameter), w = b.tensor("w", TensorKind::Parameter);
  const TensorId t = b.tensor("t", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId c = b.op("c", {k}, {t}, 1), d = b.op("d", {t, w}, {y}, 1);
  const ResidencyId kept = b.at(k, 1, 0, true), wIn = b.at(w, 1, 64), tAt = b.at(t, 1, 128), out = b.at(y, 1, 192);
  const CommandId in = b.copy(b.home(w, true), wIn);
  b.launch(c, {kept}, {tAt}, {in});
  const CommandId runD = b.launch(d, {tAt, wIn}, {out});
  b.copy(out, b.home(y, false), {runD});
  const std::string text = textOf(describe(operatorOf(b.file(), "c")));
  CHECK_THAT(text,
             Contains("It starts at the end of the copy of 'w' from 'host' to 'm1', for which the plan makes it wait "
                      "because 'd', later on its stream, reads 'w'."));
}

TEST_CASE("a link says what it can do", "[explain]") {
  const Machine machine = handMachine(1, 256);
  CHECK(describeLink(machine, machine.links[0]) == "The link of 'host' and 'm1' copies 953.67 MiB/s to 'm1', 953.67 "
                                                   "MiB/s to 'host' and at most 1.86 GiB/s both ways "
                                                   "together; each copy takes 10 ns more (the latency).");
}

/// Parameters w and v are copied in one after the other for op; q runs meanwhile, or where `isLate` after both.
static Builder twoCopied(int64_t capacityBytes, bool isLate) {
  Builder b(1, capacityBytes);
  const TensorId k = b.tensor("k", TensorKind::Parameter), w = b.tensor("w", TensorKind::Parameter, 128);
  const TensorId v = b.tensor("v", TensorKind::Parameter), t = b.tensor("t", TensorKind::Activation);
  const TensorId y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId q = b.op("q", {k}, {t}, 1), op = b.op("op", {t, w, v}, {y}, 1);
  const ResidencyId kept = b.at(k, 1, 0, true), tAt = b.at(t, 1, 64), wIn = b.at(w, 1, 128), vIn = b.at(v, 1, 256);
  const ResidencyId out = b.at(y, 1, 320);
  const CommandId first = isLate ? CommandId() : b.launch(q, {kept}, {tAt});
  b.copy(b.home(w, true), wIn);
  const CommandId inV = b.copy(b.home(v, true), vIn);
  if (!first.valid())
    b.launch(q, {kept}, {tAt}, {inV});
  // The stream orders the copies, so that the launch waits for the last alone.
  const CommandId run = b.launch(op, {tAt, wIn, vIn}, {out}, {inV});
  b.copy(out, b.home(y, false), {run});
  return b;
}

TEST_CASE("a wait is shared out among all that was missing", "[explain]") {
  // q 0-100, w 0-138, v 138-212, op from 212: it waits for v for 112 ns, for the first 38 of them for w as well.
  const PlanFile file = twoCopied(512, false).file();
  const TensorFacts v = tensorOf(file, "v"), w = tensorOf(file, "w");
  CHECK(v.copies[0].readerMissingNs == 112);
  CHECK(v.copies[0].readerWaitNs == 74);
  REQUIRE(v.copies[0].readerMissing.size() == 1);
  CHECK(v.copies[0].readerMissing[0].ns == 38);
  CHECK_THAT(
      textOf(describe(v)),
      Contains("'op' reads it first and waits 112 ns for this copy, the last 74 ns for nothing else; it also waits for "
               "the copy of 'w' from 'host' to 'm1', during the first 38 ns."));
  CHECK(w.copies[0].readerWaitNs == 0);
  CHECK_THAT(textOf(describe(w)),
             Contains("'acc1' is idle before 'op'; during the first 38 ns of that time this copy is "
                      "not complete."));
  const StepFacts step = explainStep(file);
  REQUIRE(step.stalls.size() == 1);
  CHECK(step.stalls[0].longestNs == 74);
  CHECK_THAT(
      describe(step.stalls[0]),
      Contains(" After 'acc1' becomes idle, the operator still waits for the copy of 'v' from 'host' to 'm1', 112 "
               "ns; for the copy of 'w' from 'host' to 'm1', 38 ns."));
}

TEST_CASE("a stall leads with what takes most of it", "[explain]") {
  // Without q before: w takes 138 ns of the 212.
  const PlanFile file = twoCopied(512, true).file();
  const StepFacts step = explainStep(file);
  const auto stall = std::find_if(step.stalls.begin(), step.stalls.end(),
                                  [](const StallFact &fact) { return fact.launch.name == "q"; });
  REQUIRE(stall != step.stalls.end());
  CHECK(stall->longest.name == "w");
  CHECK_THAT(
      describe(*stall),
      Contains("'acc1' runs nothing for 212 ns before 'q'. The largest part of that time, 138 ns, is taken by the "
               "copy of 'w' from 'host' to 'm1'. The operator waits for the copy of 'v'"));
}

TEST_CASE("tensors that could stay say what that would gain, and how many could", "[explain]") {
  // With v kept op starts after w at 138 and not at 212; with w kept, or both, after q at 100.
  std::map<std::string, std::string> why;
  for (const auto &[id, facts] : explainStep(twoCopied(576, false).file()).copied)
    why[facts.name] = whyCopied(facts, 0);
  CHECK_THAT(why["v"],
             Contains("if it stayed in 'm1' and all other decisions were kept, the step would be 74 ns shorter"));
  CHECK_THAT(why["w"],
             Contains("if it stayed in 'm1' and all other decisions were kept, the step would be 112 ns shorter"));
  CHECK_THAT(
      why["v"],
      Contains("2 tensors (192 B in total) could each stay in 'm1' between steps if the others did not; there is room "
               "for all of them together; the step would then be 112 ns shorter"));
  CHECK(why["y"] == "the caller reads it in the host's memory");
}

TEST_CASE("a tensor whose copy nobody waits for would gain nothing", "[explain]") {
  // w is there at 74, and q ends at 100.
  Builder b(1, 512);
  const TensorId k = b.tensor("k", TensorKind::Parameter), w = b.tensor("w", TensorKind::Parameter);
  const TensorId t = b.tensor("t", TensorKind::Activation), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId q = b.op("q", {k}, {t}, 1), op = b.op("op", {t, w}, {y}, 1);
  const ResidencyId kept = b.at(k, 1, 0, true), tAt = b.at(t, 1, 64), wIn = b.at(w, 1, 128), out = b.at(y, 1, 192);
  b.launch(q, {kept}, {tAt});
  const CommandId in = b.copy(b.home(w, true), wIn), run = b.launch(op, {tAt, wIn}, {out}, {in});
  b.copy(out, b.home(y, false), {run});
  const std::string text = textOf(describe(tensorOf(b.file(), "w")));
  CHECK_THAT(text,
             Contains("it could stay in 'm1', but the step would be no shorter, because its copy to 'm1' could end "
                      "26 ns later without making the step longer; from byte 128 of 'm1', 64 B are free"));
  CHECK_THAT(text, !Contains("if it stayed"));
  CHECK_THAT(text, Contains("'op' reads it first and starts 26 ns after this copy ends, at the end of 'q'."));
}

TEST_CASE("of many that could stay alone, those that fit together are counted", "[explain]") {
  // Three parameters come to one place, one after the other. Beside them are 64 bytes: each of them could stay there,
  // and the two others still come to the place that all of them have now.
  Builder b(1, 256);
  std::vector<OperatorId> ops;
  std::vector<TensorId> parameters;
  TensorId last = b.tensor("t0", TensorKind::Input);
  std::vector<ResidencyId> data = {b.at(last, 1, 64)};
  const CommandId start = b.copy(b.home(last, true), data[0]);
  CommandId before = start;
  for (int i = 0; i < 3; ++i) {
    const TensorId w = b.tensor(concat("w", i), TensorKind::Parameter);
    const TensorId next = b.tensor(concat("t", i + 1), TensorKind::Activation, 64, i == 2);
    const OperatorId op = b.op(concat("op", i), {last, w}, {next}, 1);
    const ResidencyId wIn = b.at(w, 1, 0), to = b.at(next, 1, i % 2 == 0 ? 128 : 64);
    const CommandId in = b.copy(b.home(w, true), wIn, i == 0 ? std::vector<CommandId>{} : std::vector{before});
    before = b.launch(op, {data.back(), wIn}, {to}, {in});
    data.push_back(to);
    last = next;
  }
  b.copy(data.back(), b.home(last, false), {before});
  size_t among = 0;
  for (const auto &[id, facts] : explainStep(b.file()).copied) {
    if (facts.kind != "parameter")
      continue;
    REQUIRE(facts.copies[0].absence->rivals);
    const RivalsFact &rivals = *facts.copies[0].absence->rivals;
    CHECK(rivals.count == 3);
    CHECK(rivals.together == 1);
    CHECK(rivals.togetherBytes == 64);
    among += rivals.isAmong;
    const std::string expected =
        concat("3 tensors (192 B in total) could each stay in 'm1' between steps if the others did not; when they are "
               "placed one after the other, there is room for 1 of them (64 B), ",
               rivals.isAmong ? "" : "not ", "including this one; the step would then be 74 ns shorter");
    CHECK_THAT(whyCopied(facts, 0), Contains(expected));
  }
  CHECK(among == 1);
}

TEST_CASE("a name of an operator and a tensor comes with what it is", "[explain]") {
  Builder b(1, 256);
  const TensorId w = b.tensor("same", TensorKind::Parameter), y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId op = b.op("same", {w}, {y}, 1);
  const ResidencyId wIn = b.at(w, 1, 0), out = b.at(y, 1, 64);
  const CommandId in = b.copy(b.home(w, true), wIn), run = b.launch(op, {wIn}, {out}, {in});
  b.copy(out, b.home(y, false), {run});
  const StepFacts step = explainStep(b.file());
  REQUIRE(step.stalls.size() == 1);
  CHECK(
      describe(step.stalls[0]) ==
      "'acc1' runs nothing for 74 ns before operator 'same'. The operator waits for the copy of parameter 'same' from "
      "'host' to 'm1' (until 74 ns). The copy of parameter 'same' starts when the step starts.");
}

TEST_CASE("short intervals are told with the digits that tell their ends apart", "[explain]") {
  Builder b(1, 4096);
  const TensorId w = b.tensor("w", TensorKind::Parameter), big = b.tensor("big", TensorKind::Input, 2000);
  const TensorId y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId op = b.op("op", {big, w}, {y}, 1);
  const ResidencyId bigIn = b.at(big, 1, 0), wIn = b.at(w, 1, 2048), out = b.at(y, 1, 2112);
  b.copy(b.home(big, true), bigIn);
  const CommandId in = b.copy(b.home(w, true), wIn), run = b.launch(op, {bigIn, wIn}, {out}, {in});
  b.copy(out, b.home(y, false), {run});
  // 2010 to 2084 ns.
  CHECK_THAT(textOf(describe(tensorOf(b.file(), "w"))), Contains("from 2.010 us to 2.084 us"));
  CHECK_THAT(textOf(describe(tensorOf(b.file(), "big"))), Contains("from 0 ns to 2.01 us"));
}

TEST_CASE("the whole step and single times have words of their own", "[explain]") {
  CHECK(describeSpan({0, 770}, 770) == "during the whole step");
  CHECK(describeSpan({0, 0}, 770) == "at the start of the step");
  CHECK(describeSpan({770, 770}, 770) == "at the end of the step");
  CHECK(describeSpan({1500, 1500}, 2000) == "at 1.50 us");
  CHECK(describeSpan({0, 769}, 770) == "from 0 ns to 769 ns");
  CHECK(describeSpan({1, 770}, 770) == "from 1 ns to 770 ns");
}

TEST_CASE("a command's slack is told for all commands of a step", "[explain]") {
  const PlanFile file = examplePlan(true);
  const StepFacts step = explainStep(file);
  REQUIRE(step.slackNs.size() == file.plan.commands.size());
  for (const auto &[id, tensor] : step.copied)
    for (const CopyFact &copy : tensor.copies) {
      CHECK(copy.timing.slackNs == step.slackNs[copy.timing.command.id.index()]);
      CHECK(copy.timing.command.ofCopies == tensor.copies.size());
      CHECK(&tensor.copies[copy.timing.command.copyNumber - 1] == &copy);
    }
}

namespace {

/// Operators a and b of the host's processor read parameters w and v, whose homes are in a file. The host's memory has
/// 256 bytes, of which 128 are the homes of an input and an output. v is copied over w.
Builder streamed() {
  Builder b(0, 0);
  b.machine.memories[0].capacityBytes = 256;
  b.machine.memories.push_back({"disk"});
  b.machine.memories[1].kind = MemoryKind::File;
  b.machine.links.push_back({MemoryId(0u), MemoryId(1u), 1e9, 1e9, 10});
  b.plan.arenaBytes = {128, 0};
  b.plan.streams = {{DeviceId(0u), StreamKind::Compute}, {DeviceId(0u), StreamKind::FileIn}};
  const TensorId x = b.tensor("x", TensorKind::Input), w = b.tensor("w", TensorKind::Parameter);
  const TensorId v = b.tensor("v", TensorKind::Parameter), t = b.tensor("t", TensorKind::Activation);
  const TensorId y = b.tensor("y", TensorKind::Activation, 64, true);
  const OperatorId a = b.op("a", {x, w}, {t}, 0), c = b.op("b", {t, v}, {y}, 0);
  auto inFile = [&](TensorId tensor) {
    b.plan.residencies.push_back({tensor, MemoryId(1u), Segment::Home, 0, 64, true});
    return ResidencyId(b.plan.residencies.size() - 1);
  };
  auto read = [&](ResidencyId to, TensorId tensor, std::vector<CommandId> waits) {
    b.plan.commands.push_back({CommandKind::Copy, StreamId(1u), {}, LinkId(0u), {inFile(tensor)}, {to}, waits});
    return CommandId(b.plan.commands.size() - 1);
  };
  const ResidencyId wIn = b.at(w, 0, 0), vIn = b.at(v, 0, 0), tIn = b.at(t, 0, 64);
  const CommandId readW = read(wIn, w, {}), runA = b.launch(a, {b.home(x, true), wIn}, {tIn}, {readW});
  b.launch(c, {tIn, vIn}, {b.home(y, false)}, {read(vIn, v, {runA})});
  return b;
}

} // namespace

TEST_CASE("reads from a file are copies in, beside homes that count", "[explain]") {
  const PlanFile file = streamed().file();
  const TensorFacts v = tensorOf(file, "v");
  REQUIRE(v.copies.size() == 1);
  CHECK(v.copies[0].why == CopyFact::Why::NotKept);
  const std::string text = textOf(describe(v));
  CHECK_THAT(
      text,
      Contains("It is copied from 'disk' to 'host' from 974 ns to 1.05 us (64 B).\ncopied: 'b' reads it, and it is "
               "not kept in 'host' between steps"));
  CHECK_THAT(text, Contains("meanwhile its addresses are used by 'w' (64 B)."));
  CHECK_THAT(textOf(describe(operatorOf(file, "a"))),
             Contains("128 B of 'host' are in use; the limit is 256 B, 128 B of which are homes."));
  const CopiedBytes copied = copiedBytes(file.problem.graph, file.problem.machine, file.plan);
  CHECK(copied.read == 128);
  CHECK(copied.in + copied.out + copied.written + copied.between == 0);
  const PlanDiff diff = diffPlans(file, file, {"a", "b"});
  const auto read = std::find_if(diff.figures.begin(), diff.figures.end(),
                                 [](const PlanDiff::Figure &figure) { return figure.name == "read from files"; });
  REQUIRE(read != diff.figures.end());
  CHECK(read->values == Pair{128, 128});
  CHECK(read->isShown());
}
