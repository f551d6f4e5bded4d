//===- ModelBuilders.h - Models that scripts/models builds ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_MODELBUILDERS_H
#define SLUICE_TOOLS_SLUICEBENCH_MODELBUILDERS_H

#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice::bench {

/// Runs the scripts; what they write lives in a temporary directory as long as
/// the object.
class ModelBuilders {
public:
  /// `scripts` is their directory; empty: beside the sources that this program
  /// was built from. Fails where it has none.
  static Expected<std::unique_ptr<ModelBuilders>> create(const std::string &scripts);
  ModelBuilders(const ModelBuilders &) = delete;

  /// Builds a model without weights and returns the file; the one before is
  /// overwritten. `flags` are further arguments of scripts/models/build.
  Expected<std::string> build(const std::string &name, int64_t batch, const std::vector<std::string> &flags) const;
  /// What scripts/models/footprint has of SwapAdvisor's models.
  Expected<Json> paperModels() const;

private:
  ModelBuilders(std::filesystem::path scripts, TemporaryDirectory folder);
  std::filesystem::path scripts;
  TemporaryDirectory folder;
};

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_MODELBUILDERS_H
