//===- LoadedArtifact.cpp - An artifact directory, opened -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LoadedArtifact.h"
#include "CpuFeatures.h"
#include "Model.h"
#include "Sha256.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::runtime {

namespace {

constexpr int64_t kManifestSchema = 1;
constexpr size_t kMaxManifestBytes = size_t(16) << 20;

class File {
public:
  // Non-blocking, so that a pipe without a writer cannot hang the open.
  explicit File(const std::string &path) : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd >= 0)
      close(fd);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  /// The size of a regular file; -1 with errno set otherwise.
  int64_t size() const {
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0)
      return -1;
    if (!S_ISREG(info.st_mode)) {
      errno = EINVAL;
      return -1;
    }
    return info.st_size;
  }
  const int fd;
};

auto cannotRead(const std::string &path) {
  return failure("cannot read '", path, "': ", std::strerror(errno), ", give a directory that sluice compile wrote");
}

/// As read, which a signal may interrupt.
ssize_t readSome(int file, char *data, size_t bytes) {
  ssize_t got;
  while ((got = read(file, data, bytes)) < 0 && errno == EINTR)
    ;
  return got;
}

Result<std::string> readSmallFile(const std::string &path) {
  File file(path);
  int64_t bytes = file.size();
  if (bytes < 0)
    return cannotRead(path);
  if (static_cast<size_t>(bytes) > kMaxManifestBytes)
    return failure("'", path, "' has ", bytes, " bytes, and a manifest has at most ", kMaxManifestBytes,
                   ", give a directory that sluice compile wrote");
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t got = readSome(file.fd, text.data() + done, text.size() - done);
    if (got < 0)
      return cannotRead(path);
    if (got == 0) {
      text.resize(done);
      break;
    }
    done += static_cast<size_t>(got);
  }
  return text;
}

Status checkHash(const std::string &path, const std::string &found, const std::string &wanted) {
  if (found != wanted)
    return failure("'", path, "' was changed, its hash is not the one in the manifest, compile the model again");
  return {};
}

/// Of the file of code, before any of it runs.
Status checkFileHash(const std::string &path, const std::string &wanted) {
  constexpr size_t kPieceBytes = size_t(1) << 16;
  File file(path);
  if (file.size() < 0)
    return cannotRead(path);
  Sha256 hash;
  std::string piece(kPieceBytes, '\0');
  ssize_t got;
  while ((got = readSome(file.fd, piece.data(), piece.size())) > 0)
    hash.update(piece.data(), static_cast<size_t>(got));
  if (got < 0)
    return cannotRead(path);
  return checkHash(path, hash.finish(), wanted);
}

bool isPlainFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

bool isHash(const std::string &text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

int64_t Manifest::rankBytes() const {
  int64_t total = sections.empty() ? parameterBytes : 0;
  for (const ManifestSection &section : sections)
    total += section.bytes;
  return total;
}

Status checkRanks(const std::string &model, uint32_t wanted, const sluice_communicator *given) {
  const uint32_t numRanks = given ? given->num_ranks : 1;
  if (wanted != numRanks)
    return failure("model '", model, "' needs ", wanted, wanted > 1 ? " ranks" : " rank", " and was started on ",
                   numRanks, numRanks == 1 ? " rank" : " ranks", ", start ", wanted, wanted > 1 ? " ranks" : " rank");
  return {};
}

/// What a manifest says of ranks; nothing of one that runs alone.
static Status parseRanks(const nlohmann::json &json, const std::string &origin, Manifest &manifest) {
  constexpr int64_t kMostRanks = 1 << 20, kPage = 4096;
  auto bad = [&](const char *what) { return failure("'", origin, "' has ", what, ", compile the model again"); };
  auto found = json.find("ranks");
  if (found == json.end())
    return {};
  auto numberIn = [](const nlohmann::json &value, int64_t least, int64_t most) {
    return value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
  };
  if (!numberIn(*found, 2, kMostRanks))
    return bad("no number of ranks");
  manifest.numRanks = found->get<uint32_t>();
  auto sections = json.find("sections"), hashes = json.find("piece_hashes");
  if (sections == json.end() || !sections->is_array() || hashes == json.end() || !hashes->is_array())
    return bad("no sections of parameters for its ranks");
  int64_t bytes = 0, numPieces = 0;
  for (const nlohmann::json &entry : *sections) {
    const bool isWhole = entry.is_object() && entry.contains("bytes") && entry.contains("pieces") &&
                         numberIn(entry["bytes"], 1, manifest.parameterBytes) && entry["pieces"].is_array() &&
                         entry["pieces"].size() == manifest.numRanks;
    if (!isWhole)
      return bad("a section of parameters without a size or without the pieces of its ranks");
    ManifestSection &section = manifest.sections.emplace_back();
    section.bytes = entry["bytes"].get<int64_t>();
    for (const nlohmann::json &piece : entry["pieces"]) {
      if (!numberIn(piece, 0, section.numPieces))
        return bad("a section of parameters whose pieces are not numbered");
      section.pieces.push_back(piece.get<uint32_t>());
      section.numPieces = std::max(section.numPieces, section.pieces.back() + 1);
    }
    if (section.bytes % kPage != 0 || section.bytes > (manifest.parameterBytes - bytes) / section.numPieces)
      return bad("sections of parameters that do not match the size of the file");
    bytes += section.bytes * section.numPieces;
    numPieces += section.numPieces;
  }
  if (bytes != manifest.parameterBytes || static_cast<int64_t>(hashes->size()) != numPieces)
    return bad("sections of parameters that do not match the size of the file");
  Sha256 all;
  for (const nlohmann::json &hash : *hashes) {
    if (!hash.is_string() || !isHash(hash.get<std::string>()))
      return bad("a piece of parameters without its SHA-256");
    manifest.pieceHashes.push_back(hash.get<std::string>());
    all.update(manifest.pieceHashes.back().data(), manifest.pieceHashes.back().size());
  }
  if (bytes > 0 && all.finish() != manifest.parameterHash)
    return bad("a parameter hash that does not match the hashes of the pieces");
  return {};
}

Result<Manifest> parseManifest(const std::string &text, const std::string &origin) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return failure("'", origin, "' is not a JSON object, compile the model again");
  std::string problem;
  auto integer = [&](const char *key, int64_t &out) {
    auto it = json.find(key);
    bool fits = it != json.end() && it->is_number_integer() &&
                (!it->is_number_unsigned() || it->template get<uint64_t>() <= uint64_t(INT64_MAX));
    if (fits)
      out = it->template get<int64_t>();
    else if (problem.empty())
      problem = failure("'", origin, "' has no integer '", key, "', compile the model again").value();
  };
  auto string = [&](const char *key, std::string &out) {
    auto it = json.find(key);
    if (it != json.end() && it->is_string())
      out = it->template get<std::string>();
    else if (problem.empty())
      problem = failure("'", origin, "' has no string '", key, "', compile the model again").value();
  };
  Manifest manifest;
  int64_t schema = 0, abiMajor = 0;
  integer("schema", schema);
  if (problem.empty() && schema != kManifestSchema)
    return failure("'", origin, "' has schema ", schema, " and this runtime reads ", kManifestSchema,
                   ", compile the model again with this release");
  integer("abi_major", abiMajor);
  if (problem.empty() && abiMajor != SLUICE_ABI_MAJOR)
    return failure("'", origin, "' has ABI version ", abiMajor, ", and this runtime has ABI version ", SLUICE_ABI_MAJOR,
                   ", compile the model again with this release");
  string("name", manifest.name);
  string("compiler", manifest.compiler);
  string("cpu_features", manifest.cpuFeatures);
  string("model", manifest.model);
  string("model_hash", manifest.modelHash);
  string("parameters", manifest.parameters);
  string("parameter_hash", manifest.parameterHash);
  integer("parameter_bytes", manifest.parameterBytes);
  if (!problem.empty())
    return tl::unexpected(problem);
  manifest.abiMajor = static_cast<uint32_t>(abiMajor);
  if (!isPlainFileName(manifest.model))
    return failure("'", origin, "' names model file '", manifest.model,
                   "', which must be in the directory of the manifest, compile the model again");
  if (!isHash(manifest.modelHash))
    return failure("'", origin, "' has model hash '", manifest.modelHash,
                   "', which is not a SHA-256, compile the model again");
  if (manifest.parameterBytes < 0)
    return failure("'", origin, "' has ", manifest.parameterBytes, " bytes of parameters, compile the model again");
  if (manifest.parameterBytes > 0 && !isPlainFileName(manifest.parameters))
    return failure("'", origin, "' names parameter file '", manifest.parameters,
                   "', which must be in the directory of the manifest, compile the model again");
  if (manifest.parameterBytes > 0 && !isHash(manifest.parameterHash))
    return failure("'", origin, "' has parameter hash '", manifest.parameterHash,
                   "', which is not a SHA-256, compile the model again");
  if (Status status = parseRanks(json, origin, manifest); !status)
    return tl::unexpected(status.error());
  return manifest;
}

LoadedArtifact::LoadedArtifact(LoadedArtifact &&other) noexcept
    : library(std::exchange(other.library, nullptr)), mapping(std::exchange(other.mapping, nullptr)),
      mapped(other.mapped), path(std::move(other.path)), source(other.source), gridTable(other.gridTable) {}

LoadedArtifact::~LoadedArtifact() {
  if (mapping)
    munmap(mapping, static_cast<size_t>(mapped));
  if (library)
    dlclose(library);
}

/// The hash of mapped bytes, which are not held afterwards: a model may stream them, and has promised to hold less.
static std::string hashMapped(const void *data, int64_t bytes) {
  constexpr int64_t kPieceBytes = int64_t(1) << 20;
  Sha256 hash;
  for (int64_t done = 0; done < bytes; done += kPieceBytes) {
    const char *piece = static_cast<const char *>(data) + done;
    const auto size = static_cast<size_t>(std::min(bytes - done, kPieceBytes));
    hash.update(piece, size);
    (void)madvise(const_cast<char *>(piece), size, MADV_DONTNEED);
  }
  return hash.finish();
}

/// Maps the parameters, a rank's pieces one behind the other, and hashes them.
Status LoadedArtifact::map(const Manifest &manifest, const std::string &path, bool verify, uint32_t rank) {
  File file(path);
  int64_t bytes = file.size();
  if (bytes < 0)
    return cannotRead(path);
  if (bytes != manifest.parameterBytes)
    return failure("'", path, "' has ", bytes, " bytes and the manifest lists ", manifest.parameterBytes,
                   " bytes, compile the model again");
  const int64_t own = manifest.rankBytes();
  const bool isPieces = !manifest.sections.empty();
  auto at = [&](int64_t offset) { return static_cast<char *>(mapping) + offset; };
  void *whole = mmap(nullptr, static_cast<size_t>(own), isPieces ? PROT_NONE : PROT_READ,
                     isPieces ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, isPieces ? -1 : file.fd, 0);
  if (whole == MAP_FAILED)
    return failure("cannot map '", path, "': ", std::strerror(errno),
                   ", free memory or raise the memory limit of the process");
  mapping = whole, mapped = own;
  verify |= own <= kAlwaysHashedBytes;
  auto check = [&](const void *data, int64_t size, const std::string &hash) {
    return verify ? checkHash(path, hashMapped(data, size), hash) : Status();
  };
  if (!isPieces) {
    this->path = path;
    return check(mapping, own, manifest.parameterHash);
  }
  int64_t filled = 0, begin = 0;
  size_t firstHash = 0;
  for (const ManifestSection &section : manifest.sections) {
    const uint32_t piece = section.pieces[rank];
    if (mmap(at(filled), static_cast<size_t>(section.bytes), PROT_READ, MAP_PRIVATE | MAP_FIXED, file.fd,
             begin + piece * section.bytes) == MAP_FAILED)
      return failure("cannot map '", path, "': ", std::strerror(errno),
                     ", free memory or raise the memory limit of the process");
    if (Status status = check(at(filled), section.bytes, manifest.pieceHashes[firstHash + piece]); !status)
      return status;
    filled += section.bytes;
    begin += section.bytes * section.numPieces;
    firstHash += section.numPieces;
  }
  return {};
}

Result<LoadedArtifact> LoadedArtifact::open(const std::string &directory, bool verify,
                                            const sluice_communicator *communicator) {
  std::string manifestPath = directory + "/manifest.json";
  Result<std::string> text = readSmallFile(manifestPath);
  if (!text)
    return tl::unexpected(text.error());
  Result<Manifest> manifest = parseManifest(*text, manifestPath);
  if (!manifest)
    return tl::unexpected(manifest.error());
  if (Status status = checkCpuFeatures(manifest->cpuFeatures); !status)
    return tl::unexpected(status.error());
  if (Status status = checkRanks(manifest->name, manifest->numRanks, communicator); !status)
    return tl::unexpected(status.error());

  LoadedArtifact artifact;
  if (manifest->parameterBytes > 0)
    if (Status status = artifact.map(*manifest, directory + "/" + manifest->parameters, verify,
                                     communicator ? communicator->rank : 0);
        !status)
      return tl::unexpected(status.error());

  // With a slash, so that it is never looked for in the library path.
  std::string path = directory + "/" + manifest->model;
  if (Status status = checkFileHash(path, manifest->modelHash); !status)
    return tl::unexpected(status.error());
  artifact.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!artifact.library) {
    const char *why = dlerror();
    return failure("cannot load the model's code: ", why ? why : path.c_str(), ", compile the model again");
  }
  using GetModel = const sluice_model *(*)();
  auto get = reinterpret_cast<GetModel>(dlsym(artifact.library, "sluice_model_get"));
  if (!get)
    return failure("'", path, "' exports no sluice_model_get, compile the model again");
  artifact.source = get();
  artifact.gridTable = static_cast<const sluice_grid *const *>(dlsym(artifact.library, SLUICE_GRID_TABLE));
  const sluice_model *model = artifact.source;
  if (!model || model->size < kLeastModelBytes || model->abi_major != manifest->abiMajor || !model->parameter_hash ||
      model->parameter_bytes != manifest->rankBytes() || std::max(model->num_ranks, 1u) != manifest->numRanks ||
      (manifest->parameterBytes > 0 && manifest->parameterHash != model->parameter_hash))
    return failure("'", path, "' is not the model that the manifest describes, compile the model again");
  return artifact;
}

} // namespace sluice::runtime
