//===- Profile.h - Measured times -------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `sluice profile` measured on one machine, keyed by what was measured and
// not by names in a model, so that one profile serves many models.
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

/// 2 added the links' spread and samples; 3 where it was made, operators' shapes
/// and links' settings; 4 links' event latencies.
inline constexpr int kProfileSchema = 4;

struct OperatorMeasurement {
  int64_t medianNs = 0;
  int64_t spreadNs = 0;     ///< Between the quartiles.
  int64_t samples = 0;      ///< Runs measured, at least 1.
  OperatorShape shape = {}; ///< Of no kind before schema 3.
};

struct LinkMeasurement {
  int64_t latencyNs = 0;
  double bytesPerSec = 0;       ///< One direction alone.
  double duplexBytesPerSec = 0; ///< Both directions together.
  double spread = 0;            ///< Between the quartiles of copies' times over the fit's.
  int64_t samples = 0;          ///< Copies measured; 0: not known (schema 1).
  int64_t eventLatencyNs = 0;   ///< As Link has it.
  std::string setting = {};     ///< linkKey when it was measured; empty: not known.
};

/// Gives a link what was measured of it, noise cut off at what a link can mean.
void setMeasured(Link &link, const LinkMeasurement &measured);

/// What a machine's description enforces of a link: "free", or of a throttled one
/// its rates and latency.
std::string linkKey(const Link &link);

/// A copy of `bytes` that was alone on its link.
struct CopySample {
  int64_t bytes = 0, ns = 0;
};
/// Latency and rate of the line through the sizes' median times that deviates
/// least in proportion (weighted least squares); a line that would leave the
/// latency negative goes through zero. Both directions together are left at the
/// rate. Samples with positive bytes and times, at least one.
LinkMeasurement fitLink(const std::vector<CopySample> &samples);

struct Profile {
  /// Compiler and processor; times made elsewhere do not compare. Empty: not known.
  std::string origin = {};
  /// (Operator::signature, deviceKey) -> time: by the device's own clock where
  /// it has one, else the host's with its launch.
  std::map<std::pair<std::string, std::string>, OperatorMeasurement> operators;
  /// (memory name, memory name), as in the machine's links -> rates.
  std::map<std::pair<std::string, std::string>, LinkMeasurement> links;
};

/// What makes two devices run an operator alike: kind, threads, speed and, for
/// a GPU, its rates. "cpu/8t", "emulated/2t/0.5x".
std::string deviceKey(const Device &device);

Json profileToJson(const Profile &profile);
Expected<Profile> profileFromJson(const JsonReader &reader);

/// The machine with its measured links' rates; other links are unchanged.
Machine withMeasuredLinks(Machine machine, const Profile &profile);

/// Measured times where the profile has them (an operator without a signature
/// has none), `fallback`'s elsewhere. Both must outlive the model.
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
