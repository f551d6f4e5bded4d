//===- Package.cpp - What a compiled model is linked to -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/Package.h"

#include "FreestandingCheck.h"
#include "LinkJob.h"
#include "OciLayout.h"
#include "WasmModule.h"
#include "passes/ExecToLLVM/Passes.h"
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

constexpr const char *kStandalone = "libsluice_standalone.a";
/// Beyond it, addresses of 32 bits between code and data might not reach.
constexpr int64_t kMostEmbeddedBytes = int64_t(1) << 30;

/// The option that chooses the form.
std::string formOption(const PackageOptions &options) {
  return options.form == PackageForm::Object && options.isFreestanding
             ? "--runtime none"
             : "--emit " + packageFormNames()[static_cast<size_t>(options.form)];
}

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
  return makeError(ErrorCode::NotFound, "no runtime library ", kStandalone, " for target 'cpu:", target.name,
                   "', option '", formOption(options), "', ",
                   checkRunsOnHost(target) ? "build sluice_standalone"
                                           : "run 'scripts/build --target " + architecture + "'",
                   " or give its directory with --runtime");
}

/// A C++ compiler as the linker's driver, for the libraries of C and C++ that it knows.
Expected<std::vector<std::string>> findDriver(const PackageOptions &options, const TargetSpec &target) {
  const std::string triple = architectureOf(target) + "-linux-gnu";
  for (const char *name : {"clang++-22", "clang++"})
    if (const std::string tool = findTool(name); !tool.empty())
      return std::vector<std::string>{tool, "--target=" + triple, "-fuse-ld=lld"};
  for (const std::string &name : {triple + "-g++", std::string(checkRunsOnHost(target) ? "g++" : "")})
    if (const std::string tool = name.empty() ? "" : findTool(name.c_str()); !tool.empty())
      return std::vector<std::string>{tool};
  return makeError(ErrorCode::NotFound, "no C++ compiler for target 'cpu:", target.name, "', option '",
                   formOption(options), "', install clang-22 and g++-", triple);
}

/// Letters, digits and underscores, of which a symbol's or a file's name is made.
std::string identifierOf(const std::string &name) {
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128 ? c : '_';
  return result.empty() ? "model" : result;
}

struct Entry {
  std::string from, to;
};

/// One object of all, in which only the entries are visible, under names of the model's own.
Expected<std::string> joinObjects(const LinkJob &job, const TargetSpec &target, std::span<const std::string> objects,
                                  std::span<const Entry> entries) {
  SLUICE_ASSIGN_OR_RETURN(std::string linker, findLinker(target));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> files, job.writeObjects(objects));
  const std::string joined = job.file("joined.o");
  std::vector<std::string> arguments = {"-r", "-o", joined};
  arguments.insert(arguments.end(), files.begin(), files.end());
  SLUICE_RETURN_IF_ERROR(job.run(linker, arguments));

  auto failed = [&joined](llvm::Error error) {
    return makeError(ErrorCode::Io, "an object cannot be rewritten, '", joined, "', ", llvm::toString(std::move(error)),
                     ", set TMPDIR to a disk with room");
  };
  auto binary = llvm::object::createBinary(joined);
  if (!binary)
    return failed(binary.takeError());
  llvm::objcopy::ConfigManager config;
  config.Common.InputFilename = config.Common.OutputFilename = joined;
  for (const Entry &entry : entries) {
    if (llvm::Error error = config.Common.SymbolsToKeepGlobal.addMatcher(llvm::objcopy::NameOrPattern::create(
            entry.from, llvm::objcopy::MatchStyle::Literal, [](llvm::Error each) { return each; })))
      return failed(std::move(error));
    config.Common.SymbolsToRename[entry.from] = entry.to;
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, *binary->getBinary(), stream))
    return failed(std::move(error));
  return std::string(bytes.begin(), bytes.end());
}

/// The parameters, for an object that holds them.
Expected<std::string> readParameters(const ManifestInfo &info, const std::string &file) {
  if (info.parameters.bytes > kMostEmbeddedBytes)
    return makeError(ErrorCode::Unsupported, "the model has ", info.parameters.bytes,
                     " bytes of parameters and a program can hold at most ", kMostEmbeddedBytes,
                     ", option '--emit', give object or shared");
  if (info.parameters.bytes == 0)
    return std::string();
  return readFile(file, kMostEmbeddedBytes);
}

Status writeStatic(const ManifestInfo &info, const TargetSpec &target, const std::string &directory,
                   const std::string &name, const std::string &model, const std::string &opening) {
  std::vector<llvm::NewArchiveMember> members;
  members.emplace_back(llvm::MemoryBufferRef(model, "model.o"));
  members.emplace_back(llvm::MemoryBufferRef(opening, "parameters.o"));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return makeError(ErrorCode::Internal, "an archive cannot be made: ", llvm::toString(archive.takeError()),
                     ", this is a bug of Sluice, please report it");
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/lib", name, ".a"), (*archive)->getBuffer().str()));
  const std::string package = concat("prefix=${pcfiledir}\n\nName: ", name, "\nDescription: model ", name, " for ",
                                     target.name, ", compiled by ", compilerVersion(),
                                     "\nVersion: " SLUICE_VERSION "\nRequires: sluice_runtime\n"
                                     "Libs: -L${prefix} -l",
                                     name, "\nCflags: -I${prefix}\n");
  return writeFileAtomically(concat(directory, "/", name, ".pc"), package);
}

/// The bytes of a static program.
Expected<std::string> linkExecutable(const LinkJob &job, const TargetSpec &target, const PackageOptions &options,
                                     std::span<const std::string> objects) {
  SLUICE_ASSIGN_OR_RETURN(std::string runtime, findRuntime(options, target));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> driver, findDriver(options, target));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> arguments, job.writeObjects(objects));
  arguments.insert(arguments.begin(), driver.begin() + 1, driver.end());
  const std::string linked = job.file("linked");
  for (const std::string &argument :
       {runtime, std::string("-static"), std::string("-pthread"), std::string("-Wl,--gc-sections"),
        std::string("-Wl,--build-id=none"), std::string("-Wl,-s"), std::string("-o"), linked})
    arguments.push_back(argument);
  SLUICE_RETURN_IF_ERROR(job.run(driver.front(), arguments));
  return readFile(linked, int64_t(1) << 32);
}

Status writeExecutable(const std::string &path, const std::string &program) {
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path, program));
  if (std::error_code error = llvm::sys::fs::setPermissions(path, static_cast<llvm::sys::fs::perms>(0755)))
    return makeError(ErrorCode::Io, "cannot make file '", path, "' executable: ", error.message(),
                     ", choose another directory with -o");
  return {};
}

/// The objects, and one with the parameters that freestanding code reads.
Expected<std::vector<std::string>> withParameters(std::span<const std::string> objects, const std::string &parameters,
                                                  const TargetSpec &target) {
  std::vector<std::string> all(objects.begin(), objects.end());
  if (!parameters.empty()) {
    SLUICE_ASSIGN_OR_RETURN(all.emplace_back(), emitParameters(kFreestandingParameters, parameters, target));
  }
  return all;
}

Status writeFreestanding(const LinkJob &job, const ManifestInfo &info, const TargetSpec &target,
                         std::span<const std::string> objects, const std::string &directory, const std::string &name) {
  const FreestandingFunctions functions = {"sluice_init_" + name, "sluice_run_" + name, "sluice_message_" + name};
  std::vector<Entry> entries;
  for (size_t i = 0; i < functions.size(); ++i)
    entries.push_back({kFreestandingEntries[i], functions[i]});
  SLUICE_ASSIGN_OR_RETURN(std::string joined, joinObjects(job, target, objects, entries));
  SLUICE_RETURN_IF_ERROR(checkFreestanding(joined, info.kernels));
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/", name, ".o"), joined));
  return writeFreestandingHeader(directory, info, functions, target.required);
}

} // namespace

const std::vector<std::string> &packageFormNames() {
  static const std::vector<std::string> names = {"shared", "object", "static", "executable", "oci", "wasm"};
  return names;
}

Status checkPackage(const PackageOptions &options, const TargetSpec &target, int64_t numRanks) {
  const bool isWasm = llvm::Triple(target.triple).isWasm();
  if (isWasm && options.form != PackageForm::Wasm)
    return makeError(ErrorCode::Unsupported, "target 'cpu:", target.name, "' needs '--emit wasm', option '",
                     formOption(options), "', give --emit wasm");
  if (!isWasm && options.form == PackageForm::Wasm)
    return makeError(ErrorCode::Unsupported, "'--emit wasm' makes WebAssembly, and the target is 'cpu:", target.name,
                     "', option '--target', give cpu:wasm32+simd128");
  if (options.form == PackageForm::Shared)
    return {};
  const std::string option = formOption(options);
  if (numRanks > 1)
    return makeError(ErrorCode::Unsupported, "'", option,
                     "' makes a program that runs on one rank, and the model is split over ", numRanks,
                     " ranks, leave this option out or compile for one device");
  if (!target.architectures.empty() || target.emulatesGrids)
    return makeError(ErrorCode::Unsupported, "'", option,
                     "' makes a program that cannot run GPU kernels (grids), and target '", target.name,
                     "' has GPU kernels, leave this option out or give a target without cuda");
  if (!options.linksRuntime())
    return {};
  if (Expected<std::string> runtime = findRuntime(options, target); !runtime)
    return propagate(runtime);
  Expected<std::vector<std::string>> driver = findDriver(options, target);
  return driver ? Status() : propagate(driver);
}

Status checkAddresses(const ManifestInfo &info, const TargetSpec &target) {
  if (!llvm::Triple(target.triple).isArch32Bit())
    return {};
  constexpr int64_t kMostBytes = int64_t(4) << 30, kCodeAndStack = int64_t(64) << 20;
  Count bytes = Count(info.staticBytes) + info.parameters.rankBytes() + kCodeAndStack;
  for (const std::vector<PortInfo> *ports : {&info.inputs, &info.outputs})
    for (const PortInfo &port : *ports)
      bytes += port.bytes;
  if (bytes > kMostBytes)
    return makeError(ErrorCode::Unsupported, "the program with its inputs, outputs, code and stack needs ",
                     formatBytes(bytes), ", and target '", target.name, "' can address ", formatBytes(kMostBytes),
                     ", compile a smaller model or a smaller batch");
  return {};
}

Status writePackage(const ManifestInfo &info, const TargetSpec &target, const PackageOptions &options,
                    std::span<const std::string> objects, const std::string &parameterFile,
                    const std::string &directory) {
  if (options.form == PackageForm::Shared) {
    SLUICE_ASSIGN_OR_RETURN(const std::string hash, linkSharedLibrary(objects, target, directory + "/" + kModelFile));
    SLUICE_RETURN_IF_ERROR(writeCHeader(directory, info));
    return writeManifest(directory, info, hash);
  }
  // An earlier compilation's: they would be another model's.
  llvm::sys::fs::remove(directory + "/" + kModelFile);
  if (options.embedsParameters())
    llvm::sys::fs::remove(directory + "/" + kParameterFile);
  const std::string name = identifierOf(info.name), modelFunction = "sluice_model_" + name;
  SLUICE_ASSIGN_OR_RETURN(LinkJob job, LinkJob::create());
  std::string parameters;
  if (options.embedsParameters()) {
    SLUICE_ASSIGN_OR_RETURN(parameters, readParameters(info, parameterFile));
  }
  if (options.isFreestanding) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> all, withParameters(objects, parameters, target));
    return options.form == PackageForm::Wasm ? writeWasmModule(job, info, all, directory, name)
                                             : writeFreestanding(job, info, target, all, directory, name);
  }
  const Entry entry[] = {{kModelEntry, modelFunction}};
  SLUICE_ASSIGN_OR_RETURN(std::string model, joinObjects(job, target, objects, entry));
  if (options.form == PackageForm::Object) {
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/", name, ".o"), model));
    return writeCHeader(directory, info, {modelFunction, ""});
  }
  const bool isLibrary = options.form == PackageForm::Static;
  const std::string openFunction = isLibrary ? "sluice_open_" + name : "sluice_open_embedded";
  SLUICE_ASSIGN_OR_RETURN(std::string opening, emitOpenFunction({modelFunction, openFunction, parameters}, target));
  if (isLibrary) {
    SLUICE_RETURN_IF_ERROR(writeStatic(info, target, directory, name, model, opening));
    return writeCHeader(directory, info, {"", openFunction});
  }
  const std::string both[] = {std::move(model), std::move(opening)};
  SLUICE_ASSIGN_OR_RETURN(std::string program, linkExecutable(job, target, options, both));
  if (options.form == PackageForm::Executable)
    return writeExecutable(concat(directory, "/", name), program);
  return writeOciLayout(concat(directory, "/", name, ".oci"), name, target, program);
}

} // namespace sluice
