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

/// A parameter file of at most this many bytes is hashed whenever it is opened, which takes a fraction of a second. A
/// larger one is hashed only on request.
inline constexpr int64_t kAlwaysHashedBytes = int64_t(64) << 20;

/// A part of a parameter file for several ranks: pieces of equal size, of which each rank maps one.
struct ManifestSection {
  int64_t bytes = 0;            ///< The size of a piece, a multiple of 4096.
  std::vector<uint32_t> pieces; ///< Per rank: the number of its piece.
  uint32_t numPieces = 0;
};

/// The checked contents of manifest.json.
struct Manifest {
  std::string name, cpuFeatures, compiler;
  uint32_t abiMajor = 0;
  std::string model;      ///< A file name in the artifact's directory.
  std::string modelHash;  ///< SHA-256 of that file, in hexadecimal digits.
  std::string parameters; ///< A file name like `model`; "" if there are no parameters.
  int64_t parameterBytes = 0;
  /// SHA-256 of the parameters, or of the text of all pieceHashes; "" if there are no parameters.
  std::string parameterHash;
  uint32_t numRanks = 1;
  // The parts of the parameter file, in order; empty unless the file is for several ranks.
  std::vector<ManifestSection> sections;
  std::vector<std::string> pieceHashes; ///< The SHA-256 of each piece, section by section.
  /// The bytes that one rank maps.
  int64_t rankBytes() const;
};

/// Fails if the number of ranks of the model is not that of the communicator, or 1 without a communicator.
Status checkRanks(const std::string &model, uint32_t wanted, const sluice_communicator *given);

/// `origin` names the text in errors.
Result<Manifest> parseManifest(const std::string &text, const std::string &origin);

/// Owns a model's code and the mapping of its parameters.
class LoadedArtifact {
public:
  /// Opens an artifact. Checks all that can be checked, the hash of the code included, before it loads the model's
  /// code. `verify`: whether to hash parameters of any size. Only this rank's pieces of a parameter file for several
  /// ranks are mapped and hashed.
  static Result<LoadedArtifact> open(const std::string &directory, bool verify,
                                     const sluice_communicator *communicator);
  LoadedArtifact(LoadedArtifact &&other) noexcept;
  LoadedArtifact &operator=(LoadedArtifact &&) = delete;
  ~LoadedArtifact();

  const sluice_model *model() const { return source; }
  const void *parameters() const { return mapping; }
  /// The path of the parameter file; empty if there is none, or if ranks map pieces of it.
  const std::string &parameterPath() const { return path; }
  /// The model's SLUICE_GRID_TABLE; null if the model has no code for GPUs.
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
