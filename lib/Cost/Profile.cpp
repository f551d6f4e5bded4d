//===- Profile.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/Profile.h"

#include "sluice/Support/Rates.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice {

std::string deviceKey(const Device &device) {
  switch (device.kind) {
  case DeviceKind::Cpu:
    return concat("cpu/", device.threads, "t");
  case DeviceKind::Emulated:
    return concat("emulated/", device.threads, "t/", device.speed, "x");
  case DeviceKind::Cuda:
    return concat("cuda/", device.flopsPerSec, "flops/", device.memoryBytesPerSec, "bytes");
  }
  return {};
}

std::string linkKey(const Link &link) {
  if (!link.throttle)
    return "free";
  return concat(link.bytesPerSec, "B/s/", link.duplexBytesPerSec, "B/s/", link.latencyNs, "ns");
}

/// Numbers of a shape by their names in the file.
static constexpr std::pair<const char *, int64_t OperatorShape::*> kShapeFields[] = {
    {"flops", &OperatorShape::flops},
    {"bytesMoved", &OperatorShape::bytesMoved},
    {"inputBytes", &OperatorShape::inputBytes},
    {"parameterBytes", &OperatorShape::parameterBytes},
    {"outputBytes", &OperatorShape::outputBytes},
    {"workspaceBytes", &OperatorShape::workspaceBytes}};

Json profileToJson(const Profile &profile) {
  Json json;
  json["schema"] = kProfileSchema;
  if (!profile.origin.empty())
    json["origin"] = profile.origin;
  json["operators"] = Json::array();
  for (const auto &[key, measured] : profile.operators) {
    Json entry;
    entry["signature"] = key.first;
    entry["device"] = key.second;
    entry["medianNs"] = measured.medianNs;
    entry["spreadNs"] = measured.spreadNs;
    entry["samples"] = measured.samples;
    if (!measured.shape.kind.empty()) {
      entry["kind"] = measured.shape.kind;
      for (auto [name, field] : kShapeFields)
        entry[name] = measured.shape.*field;
    }
    json["operators"].push_back(std::move(entry));
  }
  json["links"] = Json::array();
  for (const auto &[ends, measured] : profile.links) {
    Json entry;
    entry["between"] = Json::array({ends.first, ends.second});
    entry["latencyNs"] = measured.latencyNs;
    entry["bytesPerSec"] = measured.bytesPerSec;
    entry["duplexBytesPerSec"] = measured.duplexBytesPerSec;
    if (measured.eventLatencyNs > 0)
      entry["eventLatencyNs"] = measured.eventLatencyNs;
    if (measured.samples > 0) {
      entry["spread"] = measured.spread;
      entry["samples"] = measured.samples;
    }
    if (!measured.setting.empty())
      entry["setting"] = measured.setting;
    json["links"].push_back(std::move(entry));
  }
  return json;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// An integer member in [low, 2^62].
static Expected<int64_t> atLeast(const JsonReader &reader, std::string_view key, int64_t low) {
  Expected<int64_t> value = reader.integer(key);
  if (value && (*value < low || *value > int64_t(1) << 62))
    return makeError(ErrorCode::InvalidInput, key, " ", *value, " is out of range, at '", reader.where(),
                     "', write at least ", low);
  return value;
}

static Expected<double> rateOf(const JsonReader &reader, std::string_view key) {
  Expected<double> value = reader.number(key);
  if (value && !isRate(*value))
    return makeError(ErrorCode::InvalidInput, key, " ", *value, " is out of range, at '", reader.where(),
                     "', write a number from 1 to 1e21");
  return value;
}

/// As a machine's links have them.
static Expected<int64_t> latencyOf(const JsonReader &reader, std::string_view key) {
  Expected<int64_t> value = atLeast(reader, key, 0);
  if (value && *value > kMaxOverheadNs)
    return makeError(ErrorCode::InvalidInput, key, " ", *value, " is out of range, at '", reader.where(),
                     "', write at most ", kMaxOverheadNs, " (one hour)");
  return value;
}

static Status readOperator(Profile &profile, const JsonReader &reader) {
  if (Status keys = reader.onlyKeys({"signature", "device", "medianNs", "spreadNs", "samples", "kind", "flops",
                                     "bytesMoved", "inputBytes", "parameterBytes", "outputBytes", "workspaceBytes"});
      !keys)
    return keys;
  SLUICE_ASSIGN_OR_RETURN(std::string signature, reader.string("signature"));
  SLUICE_ASSIGN_OR_RETURN(std::string device, reader.string("device"));
  SLUICE_ASSIGN_OR_RETURN(int64_t median, atLeast(reader, "medianNs", 1));
  SLUICE_ASSIGN_OR_RETURN(int64_t spread, atLeast(reader, "spreadNs", 0));
  SLUICE_ASSIGN_OR_RETURN(int64_t samples, atLeast(reader, "samples", 1));
  OperatorMeasurement measured{median, spread, samples};
  if (reader.has("kind")) {
    SLUICE_ASSIGN_OR_RETURN(std::string kind, reader.string("kind"));
    measured.shape.kind = kind;
    for (auto [name, field] : kShapeFields) {
      SLUICE_ASSIGN_OR_RETURN(int64_t value, atLeast(reader, name, 0));
      measured.shape.*field = value;
    }
  }
  if (!profile.operators.emplace(std::pair(signature, device), std::move(measured)).second)
    return makeError(ErrorCode::InvalidInput, "operator '", signature, "' is measured twice on '", device, "', at '",
                     reader.where(), "', keep one");
  return {};
}

static Status readLink(Profile &profile, const JsonReader &reader) {
  if (Status keys = reader.onlyKeys({"between", "latencyNs", "bytesPerSec", "duplexBytesPerSec", "spread", "samples",
                                     "eventLatencyNs", "setting"});
      !keys)
    return keys;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> ends,
                          reader.member("between").and_then([](const JsonReader &list) { return list.elements(); }));
  if (ends.size() != 2)
    return makeError(ErrorCode::InvalidInput, "'between' must name two memories, at '", reader.where(),
                     ".between', write their two names");
  SLUICE_ASSIGN_OR_RETURN(std::string a, ends[0].asString());
  SLUICE_ASSIGN_OR_RETURN(std::string b, ends[1].asString());
  SLUICE_ASSIGN_OR_RETURN(int64_t latency, latencyOf(reader, "latencyNs"));
  SLUICE_ASSIGN_OR_RETURN(double rate, rateOf(reader, "bytesPerSec"));
  SLUICE_ASSIGN_OR_RETURN(double duplex, rateOf(reader, "duplexBytesPerSec"));
  SLUICE_ASSIGN_OR_RETURN(std::string setting, reader.string("setting", ""));
  SLUICE_ASSIGN_OR_RETURN(int64_t event, reader.has("eventLatencyNs") ? latencyOf(reader, "eventLatencyNs") : 0);
  if (latency + 2 * event > kMaxOverheadNs)
    return makeError(ErrorCode::InvalidInput, "latencyNs (", latency, ") and twice eventLatencyNs (", event,
                     ") are more than one hour together, at '", reader.where(), "', give shorter latencies");
  LinkMeasurement measured{latency, rate, duplex, 0, 0, event, setting};
  if (reader.has("spread") || reader.has("samples")) {
    SLUICE_ASSIGN_OR_RETURN(double spread, reader.number("spread"));
    if (spread < 0)
      return makeError(ErrorCode::InvalidInput, "spread ", spread, " is negative, at '", reader.where(),
                       "', give 0 or more");
    SLUICE_ASSIGN_OR_RETURN(int64_t samples, atLeast(reader, "samples", 1));
    measured.spread = spread;
    measured.samples = samples;
  }
  if (!profile.links.emplace(std::pair(a, b), measured).second)
    return makeError(ErrorCode::InvalidInput, "link '", a, "' - '", b, "' is measured twice, at '", reader.where(),
                     "', keep one");
  return {};
}

Expected<Profile> profileFromJson(const JsonReader &reader) {
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"schema", "origin", "operators", "links"}));
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, reader.integer("schema"));
  if (schema < 1 || schema > kProfileSchema)
    return makeError(ErrorCode::Unsupported, "profile schema ", schema, " is not known, at '", reader.where(),
                     "', this version reads 1 to ", kProfileSchema, ", use a newer version of Sluice");
  SLUICE_ASSIGN_OR_RETURN(std::string origin, reader.string("origin", ""));
  Profile profile;
  profile.origin = origin;
  for (auto [key, read] :
       {std::pair(std::string_view("operators"), &readOperator), std::pair(std::string_view("links"), &readLink)}) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries,
                            reader.member(key).and_then([](const JsonReader &list) { return list.elements(); }));
    for (const JsonReader &entry : entries)
      SLUICE_RETURN_IF_ERROR(read(profile, entry));
  }
  return profile;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

LinkMeasurement fitLink(const std::vector<CopySample> &samples) {
  std::map<int64_t, std::vector<double>> bySize;
  for (const CopySample &sample : samples)
    bySize[sample.bytes].push_back(static_cast<double>(sample.ns));
  // Sums of 1, x, xx, y, xy, each over yy: residuals count in proportion.
  double one = 0, x = 0, xx = 0, y = 0, xy = 0;
  for (auto &[bytes, times] : bySize) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    const double ns = times[times.size() / 2], size = static_cast<double>(bytes), weight = 1 / (ns * ns);
    one += weight;
    x += weight * size;
    xx += weight * size * size;
    y += weight * ns;
    xy += weight * size * ns;
  }
  const double determinant = one * xx - x * x;
  double nsPerByte = 0, latencyNs = -1;
  // Of a single size there is no line.
  if (bySize.size() > 1 && determinant > 0) {
    nsPerByte = (one * xy - x * y) / determinant;
    latencyNs = (y - nsPerByte * x) / one;
  }
  if (latencyNs < 0 || nsPerByte <= 0) {
    latencyNs = 0;
    nsPerByte = xy / xx;
  }
  LinkMeasurement fit;
  fit.latencyNs = std::llround(latencyNs);
  fit.bytesPerSec = fit.duplexBytesPerSec = 1e9 / nsPerByte;
  std::vector<double> ratios;
  for (const CopySample &sample : samples)
    ratios.push_back(static_cast<double>(sample.ns) / (latencyNs + nsPerByte * static_cast<double>(sample.bytes)));
  std::sort(ratios.begin(), ratios.end());
  fit.spread = ratios[ratios.size() * 3 / 4] - ratios[ratios.size() / 4];
  fit.samples = static_cast<int64_t>(samples.size());
  return fit;
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

void setMeasured(Link &link, const LinkMeasurement &measured) {
  link.latencyNs = measured.latencyNs;
  link.eventLatencyNs = measured.eventLatencyNs;
  link.bytesPerSec = measured.bytesPerSec;
  link.duplexBytesPerSec = std::clamp(measured.duplexBytesPerSec, measured.bytesPerSec, 2 * measured.bytesPerSec);
}

Machine withMeasuredLinks(Machine machine, const Profile &profile) {
  for (Link &link : machine.links) {
    auto found = profile.links.find({machine.memory(link.a).name, machine.memory(link.b).name});
    if (found == profile.links.end())
      found = profile.links.find({machine.memory(link.b).name, machine.memory(link.a).name});
    if (found == profile.links.end())
      continue;
    setMeasured(link, found->second);
  }
  return machine;
}

static const OperatorMeasurement *find(const Profile &profile, const Operator &op, const Device &device) {
  if (op.signature.empty())
    return nullptr;
  auto found = profile.operators.find({op.signature, deviceKey(device)});
  return found == profile.operators.end() ? nullptr : &found->second;
}

int64_t ProfiledCostModel::operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const {
  if (const OperatorMeasurement *measured = find(profile, graph.op(op), device))
    return std::max<int64_t>(1, measured->medianNs);
  return fallback.operatorTimeNs(graph, op, device);
}

bool ProfiledCostModel::isMeasured(const Graph &graph, OperatorId op, const Device &device) const {
  return find(profile, graph.op(op), device) != nullptr;
}

} // namespace sluice
