//===- DiffJson.cpp - Differences as JSON ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "sluice/Explain/PlanDiff.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace sluice {

/// A list of what `entry` makes of each.
template <typename Range, typename Function>
static Json listOf(const Range &range, const Function &entry) {
  Json list = Json::array();
  for (const auto &item : range)
    list.push_back(entry(item));
  return list;
}

static Json both(const Pair &values) { return {{"a", values[0]}, {"b", values[1]}}; }

static Json figuresToJson(const PlanDiff &diff) {
  static constexpr const char *kUnits[] = {"ns", "bytes", "bytes", "count"};
  return listOf(diff.figures, [](const PlanDiff::Figure &figure) {
    // Neither a limit that nobody set nor the bytes of a memory that is not there have a number.
    auto value = [&](size_t which) {
      const int64_t number = figure.values[which];
      const bool isUnlimited = figure.unit == PlanDiff::Unit::Limit && number == std::numeric_limits<int64_t>::max();
      return isUnlimited || !figure.isKnown[which] ? Json(nullptr) : Json(number);
    };
    return Json{
        {"name", figure.name}, {"unit", kUnits[static_cast<size_t>(figure.unit)]}, {"a", value(0)}, {"b", value(1)}};
  });
}

static Json onlyToJson(const PlanDiff &diff) {
  return {{"operatorsOfA", diff.onlyOperators[0]},
          {"operatorsOfB", diff.onlyOperators[1]},
          {"tensorsOfA", diff.onlyTensors[0]},
          {"tensorsOfB", diff.onlyTensors[1]}};
}

Json diffToJson(const PlanDiff &diff) {
  Json json;
  json["a"] = diff.labels[0];
  json["b"] = diff.labels[1];
  json["sameDecisions"] = diff.sameDecisions;
  json["sameGraph"] = diff.sameGraph;
  json["sharedOperators"] = diff.sharedOperators;
  json["settings"] = listOf(diff.settings, [](const PlanDiff::Setting &setting) {
    return Json{{"name", setting.name}, {"a", setting.values[0]}, {"b", setting.values[1]}};
  });
  json["figures"] = figuresToJson(diff);
  json["devices"] = listOf(diff.devices, [](const PlanDiff::DeviceTime &device) {
    return Json{{"device", device.device},
                {"computeNs", both(device.computeNs)},
                {"copyWaitNs", both(device.copyWaitNs)},
                {"otherWaitNs", both(device.otherWaitNs)},
                {"restNs", both(device.restNs)}};
  });
  json["only"] = onlyToJson(diff);
  json["costs"] = listOf(diff.costs, [](const PlanDiff::Cost &cost) {
    return Json{{"operator", cost.op}, {"device", cost.device}, {"timeNs", both(cost.timeNs)}};
  });
  json["placed"] = listOf(diff.placed, [](const PlanDiff::Placed &placed) {
    return Json{{"operator", placed.op},
                {"device", {{"a", placed.devices[0]}, {"b", placed.devices[1]}}},
                {"timeNs", both(placed.timeNs)}};
  });
  json["orderedOperators"] = diff.orderedOperators;
  json["reordered"] = listOf(diff.reordered, [](const PlanDiff::Reordered &op) {
    return Json{
        {"operator", op.op}, {"device", op.device}, {"position", both(op.position)}, {"startNs", both(op.startNs)}};
  });
  json["copied"] = listOf(diff.copied, [](const PlanDiff::Copied &copied) {
    return Json{{"tensor", copied.tensor},      {"kind", copied.kind},     {"bytes", copied.bytes},
                {"in", both(copied.in)},        {"out", both(copied.out)}, {"between", both(copied.between)},
                {"moreBytes", copied.moreBytes}};
  });
  json["kept"] = listOf(diff.kept, [](const PlanDiff::Kept &kept) {
    return Json{
        {"tensor", kept.tensor}, {"memory", kept.memory}, {"bytes", kept.bytes}, {"plan", kept.inB ? "b" : "a"}};
  });
  json["again"] = listOf(diff.again, [](const PlanDiff::Again &again) {
    return Json{{"operator", again.op}, {"launches", both(again.launches)}, {"timeNs", again.timeNs}};
  });
  json["waiting"] = listOf(diff.waiting, [](const PlanDiff::Waiting &waiting) {
    return Json{
        {"operator", waiting.op}, {"waitNs", both(waiting.waitNs)}, {"longest", words::factToJson(waiting.longest)}};
  });
  json["sentences"] = listOf(describe(diff), [](const Sentence &sentence) {
    return Json{{"about", sentence.about}, {"text", sentence.text}};
  });
  return json;
}

} // namespace sluice
