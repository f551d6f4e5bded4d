//===- LinkJob.h - Running a linker -----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_LINKJOB_H
#define SLUICE_CODEGEN_LINKJOB_H

#include "sluice/Codegen/Target.h"
#include "sluice/Support/Temporaries.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Finds LLVM's linker, or GNU's if the target has the host's architecture.
Expected<std::string> findLinker(const TargetSpec &target);

/// The path of a program in LLVM's folder or in PATH; empty if neither has it.
std::string findTool(const char *name);

/// A temporary directory for a linker's files. It is removed with its contents when this object is destroyed.
class LinkJob {
public:
  static Expected<LinkJob> create();
  std::string file(const std::string &name) const { return folder.file(name); }
  /// Writes objects into the directory, and returns their paths.
  Expected<std::vector<std::string>> writeObjects(std::span<const std::string> objects) const;
  /// Runs a tool. Fails with the first of the tool's own messages.
  Status run(const std::string &tool, const std::vector<std::string> &arguments) const;

private:
  explicit LinkJob(TemporaryDirectory folder) : folder(std::move(folder)) {}
  TemporaryDirectory folder;
};

} // namespace sluice

#endif // SLUICE_CODEGEN_LINKJOB_H
