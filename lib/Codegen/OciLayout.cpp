//===- OciLayout.cpp - An image of a static program -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OciLayout.h"

#include "lib/Runtime/Sha256.h"
#include "sluice/Codegen/Artifact.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Triple.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {

constexpr size_t kTarBlock = 512; ///< Of an archive.
/// The time of all entries and of the image: images with the same contents are the same bytes.
constexpr const char *kCreated = "1970-01-01T00:00:00Z";
constexpr const char *kLayoutFile = "oci-layout";

/// POSIX.1-1988's header of a file, all of whose numbers are octal digits.
struct TarHeader {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
  char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], padding[12];
};
static_assert(sizeof(TarHeader) == kTarBlock);

/// An archive of one program that everybody may execute. `name` has at most 100 characters.
std::string archiveOf(const std::string &name, const std::string &program) {
  TarHeader header{};
  auto number = [](auto &field, uint64_t value) {
    std::snprintf(field, sizeof field, "%0*llo", static_cast<int>(sizeof field) - 1,
                  static_cast<unsigned long long>(value));
  };
  std::memcpy(header.name, name.data(), name.size());
  number(header.mode, 0755);
  number(header.uid, 0);
  number(header.gid, 0);
  number(header.size, program.size());
  number(header.mtime, 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  number(header.major, 0);
  number(header.minor, 0);
  std::memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i)
    sum += reinterpret_cast<const unsigned char *>(&header)[i];
  std::snprintf(header.checksum, sizeof header.checksum, "%06o", sum);

  std::string archive(reinterpret_cast<const char *>(&header), kTarBlock);
  archive += program;
  archive.append((kTarBlock - program.size() % kTarBlock) % kTarBlock, '\0');
  archive.append(2 * kTarBlock, '\0'); // The end.
  return archive;
}

/// As Go names architectures, which images do.
std::string imageArchitecture(const TargetSpec &target) {
  const std::string name = llvm::Triple(target.triple).getArchName().str();
  return llvm::StringSwitch<std::string>(name).Case("x86_64", "amd64").Case("aarch64", "arm64").Default(name);
}

/// Writes blobs into a layout, and describes them.
class BlobWriter {
public:
  explicit BlobWriter(std::string directory) : directory(std::move(directory)) {}

  /// The descriptor of the blob.
  Expected<Json> write(const char *mediaType, const std::string &bytes) const {
    const std::string digest = runtime::sha256Hex(bytes.data(), bytes.size());
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/blobs/sha256/", digest), bytes));
    Json descriptor;
    descriptor["mediaType"] = mediaType;
    descriptor["digest"] = "sha256:" + digest;
    descriptor["size"] = bytes.size();
    return descriptor;
  }

private:
  std::string directory;
};

/// What containers do with the layer.
Json describeImage(const std::string &name, const TargetSpec &target, const std::string &layerDigest) {
  Json config;
  config["created"] = kCreated;
  config["architecture"] = imageArchitecture(target);
  config["os"] = "linux";
  config["config"]["Entrypoint"] = std::vector<std::string>{"/" + name};
  config["config"]["WorkingDir"] = "/";
  config["rootfs"]["type"] = "layers";
  config["rootfs"]["diff_ids"] = std::vector<std::string>{layerDigest};
  Json step;
  step["created"] = kCreated;
  step["created_by"] = compilerVersion();
  config["history"].push_back(step);
  return config;
}

Status fillLayout(const std::string &directory, const std::string &name, const TargetSpec &target,
                  const std::string &program) {
  constexpr const char *kManifestType = "application/vnd.oci.image.manifest.v1+json";
  const BlobWriter blobs(directory);
  SLUICE_ASSIGN_OR_RETURN(Json layer, blobs.write("application/vnd.oci.image.layer.v1.tar", archiveOf(name, program)));
  // The layer is not compressed, so its digest is that of its contents.
  const Json config = describeImage(name, target, layer["digest"]);
  Json manifest;
  manifest["schemaVersion"] = 2;
  manifest["mediaType"] = kManifestType;
  SLUICE_ASSIGN_OR_RETURN(manifest["config"],
                          blobs.write("application/vnd.oci.image.config.v1+json", jsonText(config)));
  manifest["layers"].push_back(layer);
  SLUICE_ASSIGN_OR_RETURN(Json entry, blobs.write(kManifestType, jsonText(manifest)));
  entry["platform"]["architecture"] = imageArchitecture(target);
  entry["platform"]["os"] = "linux";
  entry["annotations"]["org.opencontainers.image.ref.name"] = name;
  Json index, version;
  index["schemaVersion"] = 2;
  index["mediaType"] = "application/vnd.oci.image.index.v1+json";
  index["manifests"].push_back(entry);
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(directory + "/index.json", jsonText(index, 2) + "\n"));
  version["imageLayoutVersion"] = "1.0.0";
  return writeFileAtomically(concat(directory, "/", kLayoutFile), jsonText(version) + "\n");
}

/// Gives the whole image its name, in the place of an image of an earlier compilation and of no other folder. Between
/// the two renames neither image has the name.
Status replaceOlder(const std::string &made, const std::string &path, const std::string &older) {
  auto renamed = [&](const std::string &from, const std::string &to) -> Status {
    if (std::error_code error = llvm::sys::fs::rename(from, to))
      return makeError(ErrorCode::Io, "cannot rename '", from, "' to '", to, "': ", error.message(),
                       ", choose another directory with -o");
    return {};
  };
  if (!llvm::sys::fs::exists(path))
    return renamed(made, path);
  if (!llvm::sys::fs::exists(concat(path, "/", kLayoutFile)))
    return makeError(ErrorCode::InvalidInput, "folder '", path, "' has no ", kLayoutFile,
                     " and is therefore not an OCI image, option '-o', remove the folder or choose another directory");
  SLUICE_RETURN_IF_ERROR(renamed(path, older));
  if (Status status = renamed(made, path); !status) {
    (void)llvm::sys::fs::rename(older, path);
    return status;
  }
  llvm::sys::fs::remove_directories(older);
  return {};
}

} // namespace

Status writeOciLayout(const std::string &path, const std::string &name, const TargetSpec &target,
                      const std::string &program) {
  constexpr size_t kMostName = sizeof(TarHeader::name) - 1;
  if (name.size() > kMostName)
    return makeError(ErrorCode::Unsupported, "the model's name '", excerpt(name), "' has ", name.size(),
                     " characters, and in an image a name may have at most ", kMostName, ", rename the model's file");
  // Of this process only.
  const std::string made = concat(path, ".new.", llvm::sys::Process::getProcessId());
  auto create = [&](const char *folder) -> Expected<Temporary> {
    if (std::error_code error = llvm::sys::fs::create_directory(made + folder, /*IgnoreExisting=*/false))
      return makeError(ErrorCode::Io, "cannot create directory '", made, folder, "': ", error.message(),
                       ", choose another with -o");
    Temporary result(made + folder);
    // It is still empty, and so can be removed.
    if (!result.isOpen())
      return makeError(ErrorCode::Io, "cannot open directory '", made, folder, "': ", std::strerror(errno),
                       ", raise the limit of open files or choose another with -o");
    return result;
  };
  // Each folder stays open, so that it can be emptied when the system refuses to open more.
  SLUICE_ASSIGN_OR_RETURN(Temporary image, create(""));
  SLUICE_ASSIGN_OR_RETURN(Temporary blobs, create("/blobs"));
  SLUICE_ASSIGN_OR_RETURN(Temporary contents, create("/blobs/sha256"));
  SLUICE_RETURN_IF_ERROR(fillLayout(made, name, target, program));
  SLUICE_RETURN_IF_ERROR(replaceOlder(made, path, concat(path, ".old.", llvm::sys::Process::getProcessId())));
  for (Temporary *folder : {&contents, &blobs, &image})
    folder->keep();
  return {};
}

} // namespace sluice
