//===- ExplainJson.cpp - Explanations as JSON -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "sluice/Explain/Explain.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace sluice {

using namespace words;

Json words::factToJson(const CommandFact &command) {
  Json json;
  json["command"] = command.id.value;
  json[command.isCopy ? "copy" : "launch"] = command.name;
  if (command.isCopy) {
    json["from"] = command.from;
    json["to"] = command.to;
    json["copyNumber"] = command.copyNumber;
    json["ofCopies"] = command.ofCopies;
  }
  json["device"] = command.device;
  json["startNs"] = command.interval.startNs;
  json["endNs"] = command.interval.endNs;
  return json;
}

static Json toJson(const Timing &timing) {
  static constexpr const char *kWhy[] = {"data", "state", "bytes", "order"};
  Json json = factToJson(timing.command);
  json["stallNs"] = timing.stallNs;
  json["slackNs"] = timing.slackNs;
  json["critical"] = timing.isCritical;
  if (timing.slackBy.id.valid())
    json["slackBy"] = factToJson(timing.slackBy);
  json["after"] = Json::array();
  for (const Dependency &dependency : timing.after) {
    Json entry = factToJson(dependency.command);
    entry["why"] = kWhy[static_cast<size_t>(dependency.why)];
    if (!dependency.tensor.empty())
      entry["tensor"] = dependency.tensor;
    entry["sameStream"] = dependency.onSameStream;
    if (dependency.sake) {
      Json &sake = entry["sake"] = factToJson(dependency.sake->command);
      sake["waits"] = dependency.sake->isWaiter;
      sake["why"] = kWhy[static_cast<size_t>(dependency.sake->why)];
    }
    json["after"].push_back(std::move(entry));
  }
  return json;
}

static Json limitToJson(int64_t bytes) {
  return bytes == std::numeric_limits<int64_t>::max() ? Json(nullptr) : Json(bytes);
}

static Json toJson(const std::vector<Sentence> &sentences) {
  Json list = Json::array();
  for (const Sentence &sentence : sentences)
    list.push_back({{"about", sentence.about}, {"text", sentence.text}});
  return list;
}

static Json toJson(const DeviceChoice &choice) {
  return {{"device", choice.device},
          {"timeNs", choice.timeNs},
          {"crossingBytes", choice.crossingBytes},
          {"crossingNs", choice.crossingNs}};
}

static Json toJson(const OperatorFacts &facts) {
  Json json;
  json["operator"] = facts.name;
  json["kind"] = facts.kind;
  json["fixed"] = facts.isFixed;
  json["chosen"] = toJson(facts.chosen);
  json["others"] = Json::array();
  for (const DeviceChoice &other : facts.others)
    json["others"].push_back(toJson(other));
  json["colocated"] = facts.colocated;
  json["memory"] = facts.memory;
  json["limitBytes"] = limitToJson(facts.limitBytes);
  json["homeBytes"] = facts.homeBytes;
  json["workspaceBytes"] = facts.workspaceBytes;
  json["launches"] = Json::array();
  for (const LaunchFact &launch : facts.launches) {
    Json entry = toJson(launch.timing);
    entry["position"] = launch.position;
    entry["ofPositions"] = launch.ofPositions;
    entry["dataReadyNs"] = launch.dataReadyNs;
    if (launch.dataMaker.id.valid())
      entry["dataMaker"] = factToJson(launch.dataMaker);
    if (launch.stallFor.id.valid())
      entry["stallFor"] = factToJson(launch.stallFor);
    entry["meanwhile"] = launch.meanwhile;
    entry["inUseBytes"] = launch.inUseBytes;
    entry["inPlace"] = Json::array();
    for (const auto &[output, input] : launch.inPlace)
      entry["inPlace"].push_back({output, input});
    entry["againBytes"] = launch.againBytes;
    entry["copyInsteadNs"] = launch.copyInsteadNs;
    json["launches"].push_back(std::move(entry));
  }
  json["sentences"] = toJson(describe(facts));
  return json;
}

static Json toJson(const AbsenceFact &absence) {
  Json json;
  json["memory"] = absence.memory;
  json["dropped"] = absence.isDropped;
  json["away"] = Json::array();
  for (const Interval &interval : absence.away)
    json["away"].push_back({interval.startNs, interval.endNs});
  json["times"] = Json::array();
  for (const Interval &interval : absence.times)
    json["times"].push_back({interval.startNs, interval.endNs});
  json["limitBytes"] = limitToJson(absence.limitBytes);
  json["homeBytes"] = absence.homeBytes;
  json["needBytes"] = absence.needBytes;
  json["mostInUseBytes"] = absence.mostInUseBytes;
  json["atNs"] = absence.atNs;
  json["freeOffset"] = absence.freeOffset ? Json(*absence.freeOffset) : Json(nullptr);
  json["backSlackNs"] = absence.backSlackNs;
  if (absence.staying)
    json["stayingGainNs"] = absence.staying->gainNs;
  json["guests"] = Json::array();
  for (const AbsenceFact::Guest &guest : absence.guests)
    json["guests"].push_back(
        {{guest.isWorkspace ? "workspaceOf" : "tensor", guest.name}, {"bytes", guest.bytes}, {"fromNs", guest.fromNs}});
  return json;
}

static Json toJson(const CopyFact &copy) {
  static constexpr const char *kWhy[] = {"input", "output", "new-state", "other-device", "not-kept", "evicted",
                                         "moved", "unread", "second",    "returned",     "restored"};
  Json json = toJson(copy.timing);
  json["why"] = kWhy[static_cast<size_t>(copy.why)];
  json["bytes"] = copy.bytes;
  json["aloneNs"] = copy.aloneNs;
  json["sharing"] = Json::array();
  for (const MissingFact &other : copy.sharing) {
    json["sharing"].push_back(factToJson(other.command));
    json["sharing"].back()["sharedNs"] = other.ns;
  }
  if (!copy.producerDevice.empty())
    json["producerDevice"] = copy.producerDevice;
  if (!copy.newValue.empty())
    json["newValue"] = copy.newValue;
  if (copy.absence)
    json["absence"] = toJson(*copy.absence);
  if (copy.reader.id.valid()) {
    json["reader"] = factToJson(copy.reader);
    json["readerWaitNs"] = copy.readerWaitNs;
    json["readerMissing"] = Json::array();
    for (const MissingFact &missing : copy.readerMissing) {
      json["readerMissing"].push_back(factToJson(missing.command));
      json["readerMissing"].back()["missingNs"] = missing.ns;
    }
    json["readerAfter"] = factToJson(copy.readerAfter);
  }
  return json;
}

static Json toJson(const StayFact &stay) {
  Json json;
  json["memory"] = stay.memory;
  if (stay.isHome)
    json["home"] = true;
  else
    json["offset"] = stay.offset;
  json["bytes"] = stay.bytes;
  json["startNs"] = stay.interval.startNs;
  json["endNs"] = stay.interval.endNs;
  json["initial"] = stay.isInitial;
  json["kept"] = stay.untilEnd;
  if (stay.maker.id.valid())
    json["maker"] = factToJson(stay.maker);
  json["launches"] = stay.launches;
  return json;
}

static Json toJson(const TensorFacts &facts) {
  Json json;
  json["tensor"] = facts.name;
  json["kind"] = facts.kind;
  json["type"] = facts.type;
  json["bytes"] = facts.bytes;
  if (!facts.producer.empty())
    json["producer"] = facts.producer;
  json["consumers"] = facts.consumers;
  json["stays"] = Json::array();
  for (const StayFact &stay : facts.stays)
    json["stays"].push_back(toJson(stay));
  json["copies"] = Json::array();
  for (const CopyFact &copy : facts.copies)
    json["copies"].push_back(toJson(copy));
  json["sentences"] = toJson(describe(facts));
  return json;
}

Json explanationToJson(const Explanation &explanation) {
  Json json;
  json["name"] = explanation.name;
  json["operators"] = Json::array();
  for (const OperatorFacts &facts : explanation.operators)
    json["operators"].push_back(toJson(facts));
  json["tensors"] = Json::array();
  for (const TensorFacts &facts : explanation.tensors)
    json["tensors"].push_back(toJson(facts));
  return json;
}

} // namespace sluice
