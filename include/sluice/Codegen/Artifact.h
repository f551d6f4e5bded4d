//===- Artifact.h - The files of a compiled model -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The functions of this header write three files of an artifact directory: parameters.bin (if the model has
// parameters), manifest.json, which the runtime's loader checks, and model.h. linkSharedLibrary() writes model.so, and
// the compiler also writes plan.json and program.mlirbc.
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

/// The name and version of this compiler, such as "sluice 0.1.0 (LLVM 22.1.8)".
std::string compilerVersion();

/// Writes a parameter file from its beginning to its end and keeps no part of it in memory.
/// The file gets its name when finish() succeeds. If finish() fails or is not called, the file is removed.
class ParameterFileWriter {
public:
  static Expected<ParameterFileWriter> create(const std::string &path);
  ParameterFileWriter(ParameterFileWriter &&) noexcept;
  ParameterFileWriter &operator=(ParameterFileWriter &&) noexcept;
  ~ParameterFileWriter();

  /// Starts a tensor and returns its offset, a multiple of `alignment`. `alignment` must divide kParameterPage.
  Expected<int64_t> beginTensor(int64_t alignment = kArenaAlignment);
  /// Appends bytes to the tensor that was started last.
  Status write(std::span<const std::byte> data);
  /// Starts a tensor, writes all of its bytes and returns its offset.
  Expected<int64_t> append(std::span<const std::byte> data);

  /// Begins the next piece (one rank's part, see ParameterSection) at a multiple of kParameterPage. Returns its offset.
  Expected<int64_t> beginPiece();

  struct Summary {
    int64_t bytes = 0;
    /// SHA-256 in hexadecimal digits; "" for an empty file, which is removed. If the file has pieces, this is the hash
    /// of the pieces' hashes, so that a rank can check its own pieces without reading the others.
    std::string hash;
    std::vector<std::string> pieceHashes = {};
    std::vector<ParameterSection> sections = {}; ///< Only for models of several ranks; the caller fills it in.
    /// Parameter bytes of one rank.
    int64_t rankBytes() const;
  };
  /// Completes the file. No other member may be called afterwards.
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
  /// Per dimension: "" if the extent is a number, and otherwise an expression of symbols, such as "sequence".
  std::vector<std::string> expressions = {};
  std::string expression(size_t dimension) const {
    return dimension < expressions.size() ? expressions[dimension] : std::string();
  }
};

/// An integer whose value may differ from step to step: the extent of dimension `dimension` of input `input`, a value
/// that a kernel finds, or the length of a state. Possible values are `least`, `least` + `step`, ..., `most`.
struct SymbolInfo {
  std::string name;
  int64_t least = 0, most = 0, step = 1;
  uint32_t input = 0, dimension = 0;
  bool isFound = false; ///< A kernel finds the value at run time; `input` and `dimension` have no meaning.
  std::string state;    ///< If the symbol is the length of a state: the name of the state. Otherwise empty.
};

/// Ports and symbols in the form of the manifest.
Json portsToJson(std::span<const PortInfo> ports);
Json symbolsToJson(std::span<const SymbolInfo> symbols);

/// The description of a compiled program, which is written next to its code.
struct ManifestInfo {
  std::string name;
  std::string cpuFeatures; ///< The features of TargetSpec::required.
  ParameterFileWriter::Summary parameters;
  int64_t numRanks = 1;
  /// The number of requests that a step computes at once. Its outputs are those of `requests` - 1 steps before.
  int64_t requests = 1;
  std::vector<PortInfo> inputs = {}, outputs = {};
  std::vector<SymbolInfo> symbols = {};
  /// For each bucket (a set of sizes that has a plan of its own): the upper bounds of the symbols.
  std::vector<std::vector<int64_t>> buckets = {};
  int64_t staticBytes = 0; ///< Bytes of the arena and the states of a freestanding program.
  /// For each kernel: its function, and an operator that launches it.
  std::vector<std::pair<std::string, std::string>> kernels = {};
};
/// Writes DIR/manifest.json; `modelHash` is the SHA-256 of model.so in hexadecimal digits.
Status writeManifest(const std::string &directory, const ManifestInfo &info, const std::string &modelHash);

/// Names of the functions of a model that is linked into the application. Both are empty for a model that is opened by
/// its directory.
struct HeaderFunctions {
  std::string model; ///< Returns the model, for sluice_open_model.
  std::string open;  ///< Opens the model with its parameters.
};
/// Names of the functions of a freestanding program (PackageOptions::isFreestanding), in the order of
/// kFreestandingEntries.
using FreestandingFunctions = std::array<std::string, 3>;
/// Writes DIR/model.h for a freestanding program: extents of inputs and outputs, sizes of memory, and functions. The
/// header includes no header of Sluice. `processor` is the processor that the code needs, such as "x86-64-v3".
Status writeFreestandingHeader(const std::string &directory, const ManifestInfo &info,
                               const FreestandingFunctions &functions, const std::string &processor);

/// Writes DIR/model.h for applications in C and C++: indices, shapes and sizes of inputs and outputs, symbols with
/// their ranges, and the functions. Names are changed into identifiers of C, which are all different.
Status writeCHeader(const std::string &directory, const ManifestInfo &info, const HeaderFunctions &functions = {});

} // namespace sluice

#endif // SLUICE_CODEGEN_ARTIFACT_H
