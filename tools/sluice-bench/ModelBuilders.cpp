//===- ModelBuilders.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ModelBuilders.h"

#include "llvm/Support/Program.h"

#include <optional>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

Expected<fs::path> findScripts(const std::string &given) {
  std::vector<fs::path> starts;
  if (!given.empty()) {
    starts.push_back(given);
  } else {
    std::error_code ignored;
    for (fs::path at = fs::read_symlink("/proc/self/exe", ignored); at.has_relative_path(); at = at.parent_path())
      starts.push_back(at.parent_path() / "scripts" / "models");
    starts.push_back(fs::path("scripts") / "models");
  }
  std::error_code ignored;
  for (const fs::path &start : starts)
    if (fs::exists(start / "build", ignored) && fs::exists(start / "footprint", ignored))
      return start;
  return makeError(ErrorCode::NotFound,
                   "cannot find the model builders, directory 'scripts/models', give the directory with --scripts");
}

/// Runs a script, its standard output into a file.
Status runScript(const std::vector<std::string> &command, const fs::path &output) {
  std::vector<llvm::StringRef> arguments(command.begin(), command.end());
  const std::string out = output.string();
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(out), std::nullopt};
  std::string problem;
  if (llvm::sys::ExecuteAndWait(command.front(), arguments, std::nullopt, redirects, 0, 0, &problem) != 0)
    return makeError(ErrorCode::Unsupported, "'", command.front(), "' failed", problem.empty() ? "" : ": ", problem,
                     ", install Debian's python3-onnx, which this program needs");
  return {};
}

} // namespace

ModelBuilders::ModelBuilders(fs::path scripts, TemporaryDirectory folder)
    : scripts(std::move(scripts)), folder(std::move(folder)) {}

Expected<std::string> ModelBuilders::build(const std::string &name, int64_t batch,
                                           const std::vector<std::string> &flags) const {
  const fs::path model = folder.file("model");
  std::vector<std::string> command = {(scripts / "build").string(), name, "--batch",
                                      std::to_string(batch),        "-o", model.string()};
  command.insert(command.end(), flags.begin(), flags.end());
  SLUICE_RETURN_IF_ERROR(runScript(command, folder.file("build.log")));
  return (model / "model.onnx").string();
}

Expected<Json> ModelBuilders::paperModels() const {
  const fs::path table = folder.file("paper.json");
  SLUICE_RETURN_IF_ERROR(runScript({(scripts / "footprint").string(), "--paper", "--format=json"}, table));
  return readJsonFile(table.string());
}

Expected<std::unique_ptr<ModelBuilders>> ModelBuilders::create(const std::string &scripts) {
  SLUICE_ASSIGN_OR_RETURN(fs::path found, findScripts(scripts));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::create("sluice-bench"));
  return std::unique_ptr<ModelBuilders>(new ModelBuilders(std::move(found), std::move(folder)));
}

} // namespace sluice::bench
