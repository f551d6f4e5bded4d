//===- ControlKernelTest.cpp - Programs within kernels --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Lists of names and of one type each, with commas.
std::string repeated(const std::string &text, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; ++i)
    result += (i ? ", " : "") + text;
  return result;
}

/// A loop over so many carried and captured vectors, and what its body says.
Case loopOf(int64_t carried, int64_t captured, int64_t stacked, const std::string &body) {
  constexpr int64_t kMost = 6;
  const std::string type = "tensor<5xf32>", stack = tensorOf({kMost, 5}, "f32");
  std::string arguments = "%n: tensor<i64>, %c: tensor<i1>", carries, captures, inner = "%i: tensor<i64>";
  std::vector<Fill> fills = {{0, 5}, {0, 1}};
  for (int64_t i = 0; i < carried + captured; ++i) {
    const std::string name = std::to_string(i);
    arguments += ", %x" + name + ": " + type;
    (i < carried ? carries : captures) += std::string(i == 0 || i == carried ? "" : ", ") + "%x" + name;
    inner += ", %a" + name + ": " + type;
    fills.push_back({-1, 1});
  }
  std::string types = "tensor<i64>, tensor<i1>";
  for (int64_t i = 0; i < carried + captured; ++i)
    types += ", " + type;
  std::string results = repeated(type, carried);
  if (stacked > 0)
    results += (carried > 0 ? ", " : "") + repeated(stack, stacked);
  results += std::string(carried + stacked > 0 ? ", " : "") + "tensor<i64>";
  return {arguments,
          "%r:" + std::to_string(carried + stacked + 1) + " = dataflow.loop %n, %c carried(" + carries + ") captured(" +
              captures + ") {most = " + std::to_string(kMost) + " : i64} : (" + types + ") -> (" + results +
              ") {\n^bb0(" + inner + "):\n" + body + "}",
          fills};
}

/// `yield` of a condition that holds, and values.
std::string yieldOf(const std::vector<std::string> &values) {
  std::string text = "%on = dataflow.compare ge %i, %i : tensor<i64>, tensor<i64>\ndataflow.yield %on";
  for (const std::string &value : values)
    text += ", " + value;
  text += " : tensor<i1>";
  for (size_t i = 0; i < values.size(); ++i)
    text += ", tensor<5xf32>";
  return text + "\n";
}

std::string binary(const std::string &result, const std::string &kind, const std::string &a, const std::string &b) {
  return result + " = dataflow.binary " + kind + " " + a + ", " + b + " : tensor<5xf32>, tensor<5xf32>\n";
}

} // namespace

TEST_CASE("a loop updates what it carries, where that is", "[dataflow][control]") {
  std::vector<Case> cases;
  cases.push_back(loopOf(1, 1, 0, binary("%s", "add", "%a0", "%a1") + yieldOf({"%s"})));
  // Its old value is read later.
  cases.push_back(
      loopOf(1, 1, 1, binary("%s", "add", "%a0", "%a1") + binary("%t", "mul", "%s", "%a0") + yieldOf({"%s", "%t"})));
  // Exchanged, turned around, and one value for two.
  cases.push_back(loopOf(2, 0, 0, yieldOf({"%a1", "%a0"})));
  cases.push_back(loopOf(3, 0, 1, binary("%s", "add", "%a0", "%a1") + yieldOf({"%a1", "%a2", "%s", "%a0"})));
  cases.push_back(loopOf(2, 1, 2, binary("%s", "sub", "%a0", "%a2") + yieldOf({"%s", "%s", "%s", "%a1"})));
  // Captured, or as it was.
  cases.push_back(loopOf(2, 1, 1, yieldOf({"%a2", "%a1", "%a0"})));
  cases.push_back(loopOf(0, 1, 1, yieldOf({"%a0"})));
  for (Case &c : cases)
    for (int64_t trips : {0, 1, 5}) {
      Case fixed = c;
      fixed.fills[0] = {static_cast<double>(trips), static_cast<double>(trips)};
      fixed.fills[1] = {1, 1};
      checkKernels({fixed, c});
    }
}

TEST_CASE("a loop ends by its condition", "[dataflow][control]") {
  const std::string body = binary("%s", "add", "%a0", "%a1") +
                           "%sum = dataflow.reduce sum %s axes [0] : tensor<5xf32> -> tensor<f32>\n"
                           "%all = dataflow.reduce sum %a1 axes [0] : tensor<5xf32> -> tensor<f32>\n"
                           "%go = dataflow.compare lt %sum, %all : tensor<f32>, tensor<f32>\n"
                           "dataflow.yield %go, %s, %a0 : tensor<i1>, tensor<5xf32>, tensor<5xf32>\n";
  checkKernels({loopOf(1, 1, 1, body), loopOf(1, 1, 1, body), loopOf(1, 1, 1, body)});
}

TEST_CASE("a loop's condition is what it was before the state changed", "[dataflow][control]") {
  Case one{"%n: tensor<i64>, %c: tensor<i1>, %b: tensor<i1>, %x: tensor<5xf32>",
           "%r:3 = dataflow.loop %n, %c carried(%b, %x) captured() {most = 6 : i64} : (tensor<i64>, tensor<i1>, "
           "tensor<i1>, tensor<5xf32>) -> (tensor<i1>, tensor<5xf32>, tensor<i64>) {\n"
           "^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<5xf32>):\n" +
               binary("%t", "add", "%s", "%s") +
               "%no = dataflow.unary logical_not %go : tensor<i1>\n"
               "dataflow.yield %go, %no, %t : tensor<i1>, tensor<i1>, tensor<5xf32>\n}",
           {{5, 5}, {1, 1}, {1, 1}, {-1, 1}}};
  checkKernels({one});
}

TEST_CASE("a program may have no bytes", "[dataflow][control]") {
  checkKernels({{"%c: tensor<i1>, %x: tensor<0x3xf32>",
                 "%r = dataflow.if %c captured(%x) : (tensor<i1>, tensor<0x3xf32>) -> tensor<0x3xf32> {\n"
                 "^bb0(%a: tensor<0x3xf32>):\n%b = dataflow.unary exp %a : tensor<0x3xf32>\n"
                 "%d = dataflow.unary tanh %b : tensor<0x3xf32>\ndataflow.yield %d : tensor<0x3xf32>\n} else {\n"
                 "^bb0(%a: tensor<0x3xf32>):\ndataflow.yield %a : tensor<0x3xf32>\n}",
                 {{0, 1}, {-1, 1}}}});
}

TEST_CASE("programs hold programs", "[dataflow][control]") {
  const std::string inner =
      "%d = dataflow.compare lt %i, %i : tensor<i64>, tensor<i64>\n"
      "%y = dataflow.if %d captured(%a0, %a1) : (tensor<i1>, tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {\n"
      "^bb0(%p: tensor<5xf32>, %q: tensor<5xf32>):\n" +
      binary("%s", "add", "%p", "%q") +
      "dataflow.yield %s : tensor<5xf32>\n} else {\n^bb0(%p: tensor<5xf32>, %q: tensor<5xf32>):\n" +
      binary("%s", "sub", "%p", "%q") + binary("%t", "mul", "%s", "%q") + "dataflow.yield %t : tensor<5xf32>\n}\n";
  checkKernels({loopOf(1, 1, 1, inner + yieldOf({"%y", "%a0"}))});
  const std::string outer = "%go = dataflow.compare ge %i, %i : tensor<i64>, tensor<i64>\n"
                            "%z:2 = dataflow.loop %i, %go carried(%a0) captured(%a1) {most = 9 : i64} : (tensor<i64>, "
                            "tensor<i1>, tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<i64>) {\n"
                            "^bb0(%j: tensor<i64>, %p: tensor<5xf32>, %q: tensor<5xf32>):\n" +
                            binary("%s", "add", "%p", "%q") +
                            "%more = dataflow.compare ge %j, %j : tensor<i64>, tensor<i64>\n"
                            "dataflow.yield %more, %s : tensor<i1>, tensor<5xf32>\n}\n";
  checkKernels({loopOf(1, 1, 0, outer + yieldOf({"%z#0"}))});
}

TEST_CASE("operators run at the same time", "[dataflow][control]") {
  const std::string loop = "tensor<i64>, tensor<i1>, tensor<5xf32>, tensor<5xf32>";
  const std::string body =
      "%r:5 = dataflow.concurrent captured(%n, %c, %x, %y) : (" + loop +
      ") -> (tensor<5xf32>, tensor<i64>, tensor<5xf32>, tensor<5xf32>, tensor<i64>) {\n"
      "^bb0(%m: tensor<i64>, %go: tensor<i1>, %p: tensor<5xf32>, %q: tensor<5xf32>):\n"
      "%a:2 = dataflow.loop %m, %go carried(%p) captured(%q) {most = 6 : i64} : (" +
      loop + ") -> (tensor<5xf32>, tensor<i64>) {\n^bb0(%i: tensor<i64>, %s: tensor<5xf32>, %t: tensor<5xf32>):\n" +
      binary("%u", "add", "%s", "%t") + binary("%v", "mul", "%u", "%s") + yieldOf({"%v"}) + "}\n" +
      binary("%b", "max", "%p", "%q") + "%d:2 = dataflow.loop %m, %go carried(%q) captured(%p) {most = 6 : i64} : (" +
      loop + ") -> (tensor<5xf32>, tensor<i64>) {\n^bb0(%i: tensor<i64>, %s: tensor<5xf32>, %t: tensor<5xf32>):\n" +
      binary("%u", "sub", "%s", "%t") + yieldOf({"%u"}) +
      "}\ndataflow.yield %a#0, %a#1, %b, %d#0, %d#1 : tensor<5xf32>, tensor<i64>, tensor<5xf32>, tensor<5xf32>, "
      "tensor<i64>\n}";
  Case one{"%n: tensor<i64>, %c: tensor<i1>, %x: tensor<5xf32>, %y: tensor<5xf32>", body, {{0, 5}, {0, 1}, {-1, 1}}};
  Case planned = one;
  planned.isPlanned = true;
  checkKernels({one, planned, one});
}

TEST_CASE("random programs share memory without harm", "[dataflow][control]") {
  Rng rng(7);
  std::vector<Case> cases;
  for (int round = 0; round < 60; ++round) {
    const auto carried = static_cast<int64_t>(rng.below(4)), captured = 1 + static_cast<int64_t>(rng.below(2)),
               stacked = static_cast<int64_t>(rng.below(3));
    std::vector<std::string> values;
    for (int64_t i = 0; i < carried + captured; ++i)
      values.push_back("%a" + std::to_string(i));
    auto any = [&] { return values[rng.below(values.size())]; };
    std::string body;
    const uint64_t members = rng.below(8);
    for (uint64_t k = 0; k < members; ++k) {
      const std::string name = "%v" + std::to_string(k);
      const char *kinds[] = {"add", "sub", "max", "min"};
      body += binary(name, kinds[rng.below(4)], any(), any());
      values.push_back(name);
    }
    std::vector<std::string> yielded;
    for (int64_t i = 0; i < carried + stacked; ++i)
      yielded.push_back(any());
    Case one = loopOf(carried, captured, stacked, body + yieldOf(yielded));
    one.isPlanned = round % 2 == 1;
    cases.push_back(one);
  }
  checkKernels(cases);
}
