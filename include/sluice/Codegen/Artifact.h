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
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

  /// Starts a tensor and returns its offset, a multiple of `alignment`, which kParameterPage is a multiple of.
  Expected<int64_t> beginTensor(int64_t alignment = kArenaAlignment);
  /// Appends bytes of the tensor begun last.
  Status write(std::span<const std::byte> data);
  /// beginTensor and write in one.
  Expected<int64_t> append(std::span<const std::byte> data);

  /// Begins the next piece (one rank's part, see ParameterSection) at a multiple of kParameterPage. Returns its offset.
  Expected<int64_t> beginPiece();

  struct Summary {
    int64_t bytes = 0;
    /// SHA-256 in hex; "" for an empty file, which is not kept. If the file has pieces, this is the hash of the pieces'
    /// hashes, so that a rank can check its own pieces without reading the others.
    std::string hash;
    std::vector<std::string> pieceHashes = {};
    std::vector<ParameterSection> sections = {}; ///< Only for models of several ranks; the caller fills it in.
    /// Parameter bytes of one rank.
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

/// An input or output.
struct PortInfo {
  std::string name;
  std::string elementType; ///< "f32"
  /// Extents that depend on symbols are given at their upper bounds; `bytes` is the size of this shape.
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  /// Per dimension: "" where the extent is a number, else the expression of symbols' names: "sequence".
  std::vector<std::string> expressions = {};
  std::string expression(size_t dimension) const {
    return dimension < expressions.size() ? expressions[dimension] : std::string();
  }
};

/// An integer whose value may differ from step to step: the extent of one dimension of an input. Possible values are
/// `least`, `least` + `step`, ..., `most`.
struct SymbolInfo {
  std::string name;
  int64_t least = 0, most = 0, step = 1;
  uint32_t input = 0, dimension = 0;
  bool isFound = false; ///< A kernel finds the value at run time; no input gives it.
  std::string state;    ///< The state whose length this is; empty for an extent of an input or a found symbol.
};

/// Ports and symbols in the form of the manifest.
Json portsToJson(std::span<const PortInfo> ports);
Json symbolsToJson(std::span<const SymbolInfo> symbols);

/// The description of the program that is written next to the code.
struct ManifestInfo {
  std::string name;
  std::string cpuFeatures; ///< TargetSpec::required.
  ParameterFileWriter::Summary parameters;
  int64_t numRanks = 1;
  std::vector<PortInfo> inputs = {}, outputs = {};
  std::vector<SymbolInfo> symbols = {};
  /// For each bucket: its upper bounds of the symbols.
  std::vector<std::vector<int64_t>> buckets = {};
  int64_t staticBytes = 0; ///< The arena and the states of a freestanding program.
  /// The function of each kernel, and an operator that launches it.
  std::vector<std::pair<std::string, std::string>> kernels = {};
};
/// Writes DIR/manifest.json; `modelHash` is the SHA-256 of model.so in hex.
Status writeManifest(const std::string &directory, const ManifestInfo &info, const std::string &modelHash);

/// Functions of a model that is linked into the application; both empty: it is opened by its directory.
struct HeaderFunctions {
  std::string model; ///< Returns the model, for sluice_open_model.
  std::string open;  ///< Opens it with its parameters.
};
/// The functions of a freestanding program, in the order of kFreestandingEntries.
using FreestandingFunctions = std::array<std::string, 3>;
/// Writes DIR/model.h for a program that needs no header of Sluice: extents of inputs and outputs, sizes of memory,
/// functions. `processor` is what its code needs.
Status writeFreestandingHeader(const std::string &directory, const ManifestInfo &info,
                               const FreestandingFunctions &functions, const std::string &processor);

/// Writes DIR/model.h: indices, shapes and sizes of inputs and outputs, symbols with their ranges, and the functions,
/// for applications in C and C++. Names that C cannot spell are mapped to ones it can, and kept distinct.
Status writeCHeader(const std::string &directory, const ManifestInfo &info, const HeaderFunctions &functions = {});

} // namespace sluice

#endif // SLUICE_CODEGEN_ARTIFACT_H
