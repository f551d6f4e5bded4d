//===- Link.cpp - Objects to a shared library -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LinkJob.h"
#include "lib/Runtime/Sha256.h"
#include "sluice/Codegen/ObjectEmission.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Triple.h"
#include <cstdio>
#include <cstring>

namespace sluice {

std::string findTool(const char *name) {
  if (auto found = llvm::sys::findProgramByName(name, {SLUICE_LLVM_TOOLS_DIR}))
    return *found;
  auto inPath = llvm::sys::findProgramByName(name);
  return inPath ? *inPath : "";
}

Expected<std::string> findLinker(const TargetSpec &target) {
  for (const char *name : {"ld.lld-22", "ld.lld"})
    if (std::string tool = findTool(name); !tool.empty())
      return tool;
  if (!checkRunsOnHost(target))
    return makeError(ErrorCode::NotFound, "no linker for target 'cpu:", target.name, "' found, install lld (ld.lld)");
  if (std::string tool = findTool("ld"); !tool.empty())
    return tool;
  return makeError(ErrorCode::NotFound, "no linker found, install lld (ld.lld) or binutils (ld)");
}

Expected<LinkJob> LinkJob::create() {
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::create("sluice-link"));
  return LinkJob(std::move(folder));
}

Expected<std::vector<std::string>> LinkJob::writeObjects(std::span<const std::string> objects) const {
  std::vector<std::string> paths;
  for (size_t i = 0; i < objects.size(); ++i) {
    paths.push_back(file(std::to_string(i) + ".o"));
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(paths.back(), objects[i]));
  }
  return paths;
}

/// The first line of a linker's messages that is no warning, without its "ld.lld: error: ".
static llvm::StringRef firstProblem(llvm::StringRef messages) {
  while (!messages.empty()) {
    auto [line, rest] = messages.split('\n');
    if (!line.trim().empty() && !line.contains("warning: ")) {
      const size_t at = line.find("error: ");
      return at == llvm::StringRef::npos ? line : line.substr(at + llvm::StringRef("error: ").size());
    }
    messages = rest;
  }
  return "no reason given";
}

Status LinkJob::run(const std::string &tool, const std::vector<std::string> &arguments) const {
  const std::string messages = file("messages");
  std::vector<llvm::StringRef> views = {tool};
  views.insert(views.end(), arguments.begin(), arguments.end());
  std::string problem;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(messages),
                                                llvm::StringRef(messages)};
  const int code = llvm::sys::ExecuteAndWait(tool, views, std::nullopt, redirects, /*SecondsToWait=*/0,
                                             /*MemoryLimit=*/0, &problem);
  if (code == 0)
    return {};
  constexpr int64_t kMostBytes = int64_t(1) << 20;
  if (Expected<std::string> said = readFile(messages, kMostBytes); said && problem.empty())
    problem = *said;
  return makeError(ErrorCode::Io, "linker '", tool, "' failed: ", excerpt(firstProblem(problem)),
                   ", make room in TMPDIR, free memory or end other programs");
}

namespace {

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

Expected<std::string> linkSharedLibrary(std::span<const std::string> objects, const TargetSpec &target,
                                        const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(std::string linker, findLinker(target));
  SLUICE_ASSIGN_OR_RETURN(LinkJob job, LinkJob::create());
  const std::string linked = job.file("linked.so");
  std::vector<std::string> arguments = {
      "-shared", "-o",  linked, "--build-id=none", "--gc-sections",    "--hash-style=gnu",
      "-z",      "now", "-z",   "noexecstack",     "--soname=model.so"};
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> files, job.writeObjects(objects));
  arguments.insert(arguments.end(), files.begin(), files.end());
  std::vector<std::string> libraries = findSystemLibraries(target);
  arguments.push_back("--as-needed");
  arguments.insert(arguments.end(), libraries.begin(), libraries.end());
  // Where all three are here, a symbol that none has would fail at load.
  if (libraries.size() == 3)
    arguments.push_back("--no-undefined");
  SLUICE_RETURN_IF_ERROR(job.run(linker, arguments));
  SLUICE_ASSIGN_OR_RETURN(std::string library, readFile(linked, int64_t(1) << 32));
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path, library));
  return runtime::sha256Hex(library.data(), library.size());
}

} // namespace sluice
