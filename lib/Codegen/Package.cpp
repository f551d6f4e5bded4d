//===- Package.cpp - What a compiled model is linked to -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/Package.h"

#include "LinkJob.h"
#include "sluice/Codegen/ObjectEmission.h"
#include "sluice/Support/Json.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <cctype>

namespace sluice {

namespace {

constexpr const char *kEntryName = "sluice_model_get", *kStandalone = "libsluice_standalone.a";
/// Beyond it, addresses of 32 bits between code and data might not reach.
constexpr int64_t kMostEmbeddedBytes = int64_t(1) << 30;

std::string architectureOf(const TargetSpec &target) { return llvm::Triple(target.triple).getArchName().str(); }

Expected<std::string> findRuntime(const PackageOptions &options, const TargetSpec &target) {
  const std::string architecture = architectureOf(target);
  std::vector<std::string> folders = {options.runtimeDirectory};
  if (options.runtimeDirectory.empty()) {
    const std::string own = llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(nullptr, nullptr)).str();
    // As it is installed, and beside this program's build folder.
    folders = {own + "/../lib/" + architecture + "-linux-gnu", own + "/../../" + architecture + "/lib"};
    if (checkRunsOnHost(target))
      folders.insert(folders.begin(), own + "/../lib");
  }
  for (const std::string &folder : folders)
    if (std::string path = folder + "/" + kStandalone; llvm::sys::fs::exists(path))
      return path;
  return makeError(
      ErrorCode::NotFound, "no ", kStandalone, " for target 'cpu:", target.name, "', option '--emit executable', ",
      checkRunsOnHost(target) ? "build sluice_standalone" : "run 'scripts/build --target " + architecture + "'",
      " or give its directory with --runtime");
}

/// A C++ compiler as the linker's driver, for the libraries of C and C++ that it knows.
Expected<std::vector<std::string>> findDriver(const TargetSpec &target) {
  const std::string triple = architectureOf(target) + "-linux-gnu";
  for (const char *name : {"clang++-22", "clang++"})
    if (const std::string tool = findTool(name); !tool.empty())
      return std::vector<std::string>{tool, "--target=" + triple, "-fuse-ld=lld"};
  for (const std::string &name : {triple + "-g++", std::string(checkRunsOnHost(target) ? "g++" : "")})
    if (const std::string tool = name.empty() ? "" : findTool(name.c_str()); !tool.empty())
      return std::vector<std::string>{tool};
  return makeError(ErrorCode::NotFound, "no C++ compiler for target 'cpu:", target.name,
                   "', option '--emit executable', install clang-22 and g++-", triple);
}

/// Letters, digits and underscores, of which a symbol's or a file's name is made.
std::string identifierOf(const std::string &name) {
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128 ? c : '_';
  return result.empty() ? "model" : result;
}

/// One object of all, in which only the entry is visible, under the model's own name.
Expected<std::string> joinObjects(const LinkJob &job, const TargetSpec &target, std::span<const std::string> objects,
                                  const std::string &symbol) {
  SLUICE_ASSIGN_OR_RETURN(std::string linker, findLinker(target));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> files, job.writeObjects(objects));
  const std::string joined = job.file("joined.o");
  std::vector<std::string> arguments = {"-r", "-o", joined};
  arguments.insert(arguments.end(), files.begin(), files.end());
  SLUICE_RETURN_IF_ERROR(job.run(linker, arguments));

  auto failed = [&joined](llvm::Error error) {
    return makeError(ErrorCode::Internal, "an object cannot be rewritten, '", joined, "', ",
                     llvm::toString(std::move(error)), ", set TMPDIR to a disk with room");
  };
  auto binary = llvm::object::createBinary(joined);
  if (!binary)
    return failed(binary.takeError());
  llvm::objcopy::ConfigManager config;
  config.Common.InputFilename = config.Common.OutputFilename = joined;
  if (llvm::Error error = config.Common.SymbolsToKeepGlobal.addMatcher(llvm::objcopy::NameOrPattern::create(
          kEntryName, llvm::objcopy::MatchStyle::Literal, [](llvm::Error each) { return each; })))
    return failed(std::move(error));
  config.Common.SymbolsToRename[kEntryName] = symbol;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, *binary->getBinary(), stream))
    return failed(std::move(error));
  return std::string(bytes.begin(), bytes.end());
}

/// The object that holds the parameters and opens the model with them.
Expected<std::string> embedParameters(const ManifestInfo &info, const TargetSpec &target, const std::string &file,
                                      const std::string &modelFunction, const std::string &openFunction) {
  if (info.parameters.bytes > kMostEmbeddedBytes)
    return makeError(ErrorCode::Unsupported, "the model has ", info.parameters.bytes,
                     " bytes of parameters and a program holds at most ", kMostEmbeddedBytes,
                     " of them, option '--emit', give object or shared");
  std::string parameters;
  if (info.parameters.bytes > 0) {
    SLUICE_ASSIGN_OR_RETURN(parameters, readFile(file, kMostEmbeddedBytes));
  }
  return emitOpenFunction({modelFunction, openFunction, parameters}, target);
}

Status writeStatic(const ManifestInfo &info, const TargetSpec &target, const std::string &directory,
                   const std::string &name, const std::string &model, const std::string &opening) {
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(model, "model.o"));
  members.emplace_back(llvm::MemoryBufferRef(opening, "parameters.o"));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return makeError(ErrorCode::Internal, "an archive cannot be made: ", llvm::toString(archive.takeError()));
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/lib", name, ".a"), (*archive)->getBuffer().str()));
  const std::string package = concat("prefix=${pcfiledir}\n\nName: ", name, "\nDescription: model ", name, " for ",
                                     target.name, ", compiled by ", compilerVersion(),
                                     "\nVersion: " SLUICE_VERSION "\nRequires: sluice_runtime\n"
                                     "Libs: -L${prefix} -l",
                                     name, "\nCflags: -I${prefix}\n");
  return writeFileAtomically(concat(directory, "/", name, ".pc"), package);
}

Status writeExecutable(const LinkJob &job, const TargetSpec &target, const PackageOptions &options,
                       std::span<const std::string> objects, const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(std::string runtime, findRuntime(options, target));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> driver, findDriver(target));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> arguments, job.writeObjects(objects));
  arguments.insert(arguments.begin(), driver.begin() + 1, driver.end());
  const std::string linked = job.file("linked");
  for (const std::string &argument :
       {runtime, std::string("-static"), std::string("-pthread"), std::string("-Wl,--gc-sections"),
        std::string("-Wl,--build-id=none"), std::string("-Wl,-s"), std::string("-o"), linked})
    arguments.push_back(argument);
  SLUICE_RETURN_IF_ERROR(job.run(driver.front(), arguments));
  SLUICE_ASSIGN_OR_RETURN(std::string program, readFile(linked, int64_t(1) << 32));
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path, program));
  if (std::error_code error = llvm::sys::fs::setPermissions(path, static_cast<llvm::sys::fs::perms>(0755)))
    return makeError(ErrorCode::Io, "cannot make '", path, "' a program: ", error.message(),
                     ", choose another directory with -o");
  return {};
}

} // namespace

const std::vector<std::string> &packageFormNames() {
  static const std::vector<std::string> names = {"shared", "object", "static", "executable"};
  return names;
}

Status checkPackage(const PackageOptions &options, const TargetSpec &target, int64_t numRanks) {
  const std::string form = packageFormNames()[static_cast<size_t>(options.form)];
  if (options.form == PackageForm::Shared)
    return {};
  if (numRanks > 1)
    return makeError(ErrorCode::Unsupported, "the model is split over ", numRanks, " ranks, option '--emit ", form,
                     "', give --emit shared or one device");
  if (!target.architectures.empty() || target.emulatesGrids)
    return makeError(ErrorCode::Unsupported, "target '", target.name, "' has grids, option '--emit ", form,
                     "', give --emit shared or a target without cuda");
  if (options.form != PackageForm::Executable)
    return {};
  if (Expected<std::string> runtime = findRuntime(options, target); !runtime)
    return propagate(runtime);
  Expected<std::vector<std::string>> driver = findDriver(target);
  return driver ? Status() : propagate(driver);
}

bool embedsParameters(PackageForm form) { return form == PackageForm::Static || form == PackageForm::Executable; }

Status writePackage(const ManifestInfo &info, const TargetSpec &target, const PackageOptions &options,
                    std::span<const std::string> objects, const std::string &parameterFile,
                    const std::string &directory) {
  if (options.form == PackageForm::Shared) {
    SLUICE_ASSIGN_OR_RETURN(const std::string hash, linkSharedLibrary(objects, target, directory + "/" + kModelFile));
    SLUICE_RETURN_IF_ERROR(writeCHeader(directory, info));
    return writeManifest(directory, info, hash);
  }
  // An earlier compilation's: it would be another model.
  llvm::sys::fs::remove(directory + "/" + kModelFile);
  const std::string name = identifierOf(info.name), modelFunction = "sluice_model_" + name;
  SLUICE_ASSIGN_OR_RETURN(LinkJob job, LinkJob::create());
  SLUICE_ASSIGN_OR_RETURN(std::string model, joinObjects(job, target, objects, modelFunction));
  if (options.form == PackageForm::Object) {
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/", name, ".o"), model));
    return writeCHeader(directory, info, {modelFunction, ""});
  }
  llvm::sys::fs::remove(directory + "/" + kParameterFile);
  const bool isProgram = options.form == PackageForm::Executable;
  const std::string openFunction = isProgram ? "sluice_open_embedded" : "sluice_open_" + name;
  SLUICE_ASSIGN_OR_RETURN(std::string opening,
                          embedParameters(info, target, parameterFile, modelFunction, openFunction));
  if (isProgram) {
    const std::string both[] = {std::move(model), std::move(opening)};
    SLUICE_RETURN_IF_ERROR(writeExecutable(job, target, options, both, concat(directory, "/", name)));
  } else {
    SLUICE_RETURN_IF_ERROR(writeStatic(info, target, directory, name, model, opening));
    SLUICE_RETURN_IF_ERROR(writeCHeader(directory, info, {"", openFunction}));
  }
  return {};
}

} // namespace sluice
