//===- Profile.h - Measured times -------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Measurements of `sluice profile` on one machine. The keys are hashes of computations and
// not names of a model, so one profile serves many models.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COST_PROFILE_H
#define SLUICE_COST_PROFILE_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Support/Json.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Schema 2 added spread and samples of links. Schema 3 added the origin, shapes of operators
/// and settings of links. Schema 4 added event latencies of links.
inline constexpr int kProfileSchema = 4;

struct OperatorMeasurement {
  int64_t medianNs = 0;
  int64_t spreadNs = 0;     ///< Distance between the first and the third quartile.
  int64_t samples = 0;      ///< Number of measured runs, at least 1.
  OperatorShape shape = {}; ///< Its kind is empty in files before schema 3.
};

struct LinkMeasurement {
  int64_t latencyNs = 0;
  double bytesPerSec = 0;       ///< Rate while only one direction copies.
  double duplexBytesPerSec = 0; ///< Rate of both directions together while both copy.
  double spread = 0;            ///< Distance between the quartiles of copies' times, relative to the fitted times.
  int64_t samples = 0;          ///< Number of measured copies; 0 if unknown (schema 1).
  int64_t eventLatencyNs = 0;   ///< See Link::eventLatencyNs.
  std::string setting = {};     ///< linkKey() of the link when it was measured; empty if it is unknown.
};

/// Sets the measured figures of a link, clamped to the valid range of a link.
void setMeasured(Link &link, const LinkMeasurement &measured);

/// The speed that a machine's description enforces on a link, as text: the rates and latency of a throttled link, and
/// "free" for other links.
std::string linkKey(const Link &link);

/// A copy of `bytes` that was alone on its link.
struct CopySample {
  int64_t bytes = 0, ns = 0;
};
/// Fits latency and rate by weighted least squares. The result is the line with the least relative deviation from the
/// median time of each size. If its latency would be negative, a line through zero is fitted instead. The rate of both
/// directions together is set to the rate of one direction. Requires at least one sample, and positive bytes and times.
LinkMeasurement fitLink(const std::vector<CopySample> &samples);

struct Profile {
  /// Compiler and processor of the measurements; times of other compilers and processors are not comparable. It is
  /// empty if they are unknown.
  std::string origin = {};
  /// Maps the signature of an operator (Operator::signature) and the deviceKey of a device to the operator's time,
  /// including its launch. The time is by the device's own clock if it has one, and otherwise by the host's clock.
  std::map<std::pair<std::string, std::string>, OperatorMeasurement> operators;
  /// Maps the names of the two memories of a link (Link::a, then Link::b) to the measured rates and latencies.
  std::map<std::pair<std::string, std::string>, LinkMeasurement> links;
};

/// A text that is equal for devices on which an operator takes the same time. It contains kind,
/// threads, speed and, for a GPU, its rates: "cpu/8t", "emulated/2t/0.5x".
std::string deviceKey(const Device &device);

Json profileToJson(const Profile &profile);
Expected<Profile> profileFromJson(const JsonReader &reader);

/// The machine with the measured rates and latencies of those links that the profile has; other links are unchanged.
Machine withMeasuredLinks(Machine machine, const Profile &profile);

/// Uses measured times if the profile has them, and the times of `fallback` otherwise. An
/// operator without a signature has no measured time. `profile` and `fallback` must outlive the model.
class ProfiledCostModel final : public CostModel {
public:
  ProfiledCostModel(const Profile &profile, const CostModel &fallback) : profile(profile), fallback(fallback) {}
  int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const override;
  bool isMeasured(const Graph &graph, OperatorId op, const Device &device) const;

private:
  const Profile &profile;
  const CostModel &fallback;
};

} // namespace sluice

#endif // SLUICE_COST_PROFILE_H
