//===- Link.cpp - Objects to a shared library -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/ObjectEmission.h"

#include "sluice/Support/Json.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Triple.h"
#include <cstdio>
#include <cstring>

namespace sluice {

namespace {

/// A directory that goes away with what is in it.
class TemporaryDirectory {
public:
  static Expected<TemporaryDirectory> create() {
    llvm::SmallString<128> path;
    if (std::error_code failed = llvm::sys::fs::createUniqueDirectory("sluice-link", path))
      return makeError(ErrorCode::Io, "cannot create a temporary directory: ", failed.message(),
                       ", set TMPDIR to a directory that can be written");
    return TemporaryDirectory(path.str().str());
  }
  TemporaryDirectory(TemporaryDirectory &&other) noexcept : path(std::exchange(other.path, {})) {}
  TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
  ~TemporaryDirectory() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  explicit TemporaryDirectory(std::string path) : path(std::move(path)) {}
  std::string path;
};

Expected<std::string> findLinker(const TargetSpec &target) {
  const bool isForeign = !checkRunsOnHost(target);
  for (const char *name : {"ld.lld-22", "ld.lld", "ld"})
    if (isForeign && llvm::StringRef(name) == "ld")
      return makeError(ErrorCode::NotFound, "no linker for target 'cpu:", target.name, "' found, install lld (ld.lld)");
    else if (auto found = llvm::sys::findProgramByName(name, {SLUICE_LLVM_TOOLS_DIR}))
      return *found;
    else if (auto inPath = llvm::sys::findProgramByName(name))
      return *inPath;
  return makeError(ErrorCode::NotFound, "no linker found, install lld (ld.lld) or binutils (ld)");
}

/// What kernels may call: memcpy, powf, conversions of f16. By file, since the
/// .so names that -lm looks for come with the development packages.
std::vector<std::string> findSystemLibraries(const TargetSpec &target) {
  // As Debian names the folders: those of its packages for the architecture, and of its cross compilers.
  const std::string name = llvm::Triple(target.triple).getArchName().str() + "-linux-gnu";
  std::vector<std::string> folders = {"/lib/" + name, "/usr/lib/" + name, "/usr/" + name + "/lib"};
  if (checkRunsOnHost(target))
    folders.insert(folders.end(), {"/lib64", "/usr/lib64", "/usr/lib"});
  std::vector<std::string> found;
  for (const char *name : {"libm.so.6", "libc.so.6", "libgcc_s.so.1"})
    for (const std::string &folder : folders) {
      std::string path = folder + "/" + name;
      if (llvm::sys::fs::exists(path)) {
        found.push_back(path);
        break;
      }
    }
  return found;
}

} // namespace

Status linkSharedLibrary(std::span<const std::string> objects, const TargetSpec &target, const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(std::string linker, findLinker(target));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory work, TemporaryDirectory::create());
  std::string linked = work.file("linked.so"), messages = work.file("messages");
  std::vector<std::string> arguments = {linker,          "-shared",          "-o", linked, "--build-id=none",
                                        "--gc-sections", "--hash-style=gnu", "-z", "now",  "-z",
                                        "noexecstack",   "--soname=model.so"};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(work.file(std::to_string(i) + ".o"));
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(arguments.back(), objects[i]));
  }
  std::vector<std::string> libraries = findSystemLibraries(target);
  arguments.push_back("--as-needed");
  arguments.insert(arguments.end(), libraries.begin(), libraries.end());
  // Where all three are here, a symbol that none has would fail at load.
  if (libraries.size() == 3)
    arguments.push_back("--no-undefined");

  std::vector<llvm::StringRef> views(arguments.begin(), arguments.end());
  std::string problem;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(messages),
                                                llvm::StringRef(messages)};
  int code = llvm::sys::ExecuteAndWait(linker, views, std::nullopt, redirects, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &problem);
  if (code != 0) {
    if (Expected<std::string> said = readFile(messages, 1 << 20); said && problem.empty())
      problem = *said;
    return makeError(ErrorCode::Internal, "linker '", linker,
                     "' failed: ", problem.empty() ? "no reason given" : problem);
  }
  SLUICE_ASSIGN_OR_RETURN(std::string library, readFile(linked, int64_t(1) << 32));
  return writeFileAtomically(path, library);
}

} // namespace sluice
