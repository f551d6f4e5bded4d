//===- Artifact.h - An artifact directory, opened ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_ARTIFACT_H
#define SLUICE_RUNTIME_ARTIFACT_H

#include "Result.h"
#include "sluice/Runtime/abi.h"

#include <string>

namespace sluice::runtime {

/// A parameter file up to this size is hashed whenever it is opened (a fraction
/// of a second); a larger one when asked.
inline constexpr int64_t kAlwaysHashedBytes = int64_t(64) << 20;

/// manifest.json, checked.
struct Manifest {
  std::string name, cpuFeatures, compiler;
  uint32_t abiMajor = 0;
  std::string model;      ///< A file name in the artifact's directory.
  std::string parameters; ///< Likewise; "" where there are none.
  int64_t parameterBytes = 0;
  std::string parameterHash; ///< SHA-256, hex; "" where there are none.
};

/// `origin` names the text in errors.
Result<Manifest> parseManifest(const std::string &text, const std::string &origin);

/// Owns a model's code and the mapping of its parameters.
class Artifact {
public:
  /// `verify`: hash the parameters whatever their size. Everything that can be
  /// checked is checked before the model's code is loaded.
  static Result<Artifact> open(const std::string &directory, bool verify);
  Artifact(Artifact &&other) noexcept;
  Artifact &operator=(Artifact &&) = delete;
  ~Artifact();

  const sluice_model *model() const { return source; }
  const void *parameters() const { return mapping; }

private:
  Artifact() = default;

  void *library = nullptr;
  void *mapping = nullptr;
  int64_t mapped = 0;
  const sluice_model *source = nullptr;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_ARTIFACT_H
