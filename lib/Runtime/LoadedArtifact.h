//===- LoadedArtifact.h - An artifact directory, opened ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_LOADEDARTIFACT_H
#define SLUICE_RUNTIME_LOADEDARTIFACT_H

#include "Result.h"
#include "sluice/Runtime/sluice.h"

#include <string>
#include <vector>

namespace sluice::runtime {

/// A parameter file up to this size is hashed whenever it is opened (a fraction
/// of a second); a larger one when asked.
inline constexpr int64_t kAlwaysHashedBytes = int64_t(64) << 20;

/// A part of a parameter file that several ranks read: pieces of one size, of
/// which each rank maps its own.
struct ManifestSection {
  int64_t bytes = 0;            ///< Of a piece; a multiple of 4096.
  std::vector<uint32_t> pieces; ///< Per rank.
  uint32_t numPieces = 0;
};

/// manifest.json, checked.
struct Manifest {
  std::string name, cpuFeatures, compiler;
  uint32_t abiMajor = 0;
  std::string model;      ///< A file name in the artifact's directory.
  std::string modelHash;  ///< SHA-256 of that file, hex.
  std::string parameters; ///< Likewise; "" where there are none.
  int64_t parameterBytes = 0;
  std::string parameterHash; ///< SHA-256, hex; "" where there are none.
  uint32_t numRanks = 1;
  // Of several ranks; parameterHash is then the pieces' hashes'.
  std::vector<ManifestSection> sections;
  std::vector<std::string> pieceHashes; ///< Of all sections, one after the other.
  /// What one rank maps.
  int64_t rankBytes() const;
};

/// Fails where a model is for another number of ranks than there are.
Status checkRanks(const std::string &model, uint32_t wanted, const sluice_communicator *given);

/// `origin` names the text in errors.
Result<Manifest> parseManifest(const std::string &text, const std::string &origin);

/// Owns a model's code and the mapping of its parameters.
class LoadedArtifact {
public:
  /// `verify`: hash the parameters whatever their size. Everything that can be
  /// checked is checked before the model's code is loaded, its own hash always. Of
  /// a parameter file for several ranks only this one's pieces are mapped, and
  /// hashed.
  static Result<LoadedArtifact> open(const std::string &directory, bool verify,
                                     const sluice_communicator *communicator);
  LoadedArtifact(LoadedArtifact &&other) noexcept;
  LoadedArtifact &operator=(LoadedArtifact &&) = delete;
  ~LoadedArtifact();

  const sluice_model *model() const { return source; }
  const void *parameters() const { return mapping; }
  /// The parameter file's; empty where there is none, and for ranks' pieces of one.
  const std::string &parameterPath() const { return path; }
  /// SLUICE_GRID_TABLE: null where the model has no code for GPUs.
  const sluice_grid *const *grids() const { return gridTable; }

private:
  LoadedArtifact() = default;
  Status map(const Manifest &manifest, const std::string &path, bool verify, uint32_t rank);

  void *library = nullptr;
  void *mapping = nullptr;
  int64_t mapped = 0;
  std::string path;
  const sluice_model *source = nullptr;
  const sluice_grid *const *gridTable = nullptr;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_LOADEDARTIFACT_H
