//===- Artifact.h - The files of a compiled model -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An artifact directory holds model.so, parameters.bin (where there are any),
// manifest.json (what the Runtime's loader checks) and model.h.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_ARTIFACT_H
#define SLUICE_CODEGEN_ARTIFACT_H

#include "sluice/Plan/ParameterSection.h"
#include "sluice/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

inline constexpr const char *kModelFile = "model.so";
inline constexpr const char *kParameterFile = "parameters.bin";
inline constexpr const char *kManifestFile = "manifest.json";
inline constexpr const char *kHeaderFile = "model.h";

/// "sluice 0.1.0 (LLVM 22.1.8)"
std::string compilerVersion();

/// Writes a parameter file front to back: nothing is kept in memory. It gets its
/// name only when finish() succeeds; otherwise nothing stays behind.
class ParameterFileWriter {
public:
  static Expected<ParameterFileWriter> create(const std::string &path);
  ParameterFileWriter(ParameterFileWriter &&) noexcept;
  ParameterFileWriter &operator=(ParameterFileWriter &&) noexcept;
  ~ParameterFileWriter();

  /// Starts a tensor: its offset, a multiple of kArenaAlignment.
  Expected<int64_t> beginTensor();
  /// Appends bytes of the tensor begun last.
  Status write(std::span<const std::byte> data);
  /// beginTensor and write in one.
  Expected<int64_t> append(std::span<const std::byte> data);

  /// Begins the next piece of a section, at a multiple of kParameterPage; its offset.
  Expected<int64_t> beginPiece();

  struct Summary {
    int64_t bytes = 0;
    /// SHA-256 in hex; "" for an empty file, which is not kept. Of a file of pieces
    /// it is the hash of theirs, so that no rank needs to read others'.
    std::string hash;
    std::vector<std::string> pieceHashes = {};
    std::vector<ParameterSection> sections = {}; ///< Of a model of several ranks: the caller's to say.
    /// What one rank has of them.
    int64_t rankBytes() const;
  };
  /// Call once, last.
  Expected<Summary> finish();

private:
  Status padTo(int64_t alignment);
  Status endPiece();

  struct Impl;
  explicit ParameterFileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

struct ManifestInfo {
  std::string name;
  std::string cpuFeatures; ///< TargetSpec::required.
  ParameterFileWriter::Summary parameters;
  int64_t numRanks = 1;
};
/// Writes DIR/manifest.json.
Status writeManifest(const std::string &directory, const ManifestInfo &info);

/// An input or output, as model.h tells it.
struct PortInfo {
  std::string name;
  std::string elementType; ///< "f32"
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};
/// Writes DIR/model.h: indices, shapes and sizes of inputs and outputs for
/// applications in C and C++. Names that C cannot spell are mapped to ones it
/// can, and kept distinct.
Status writeCHeader(const std::string &directory, const std::string &modelName, std::span<const PortInfo> inputs,
                    std::span<const PortInfo> outputs);

} // namespace sluice

#endif // SLUICE_CODEGEN_ARTIFACT_H
