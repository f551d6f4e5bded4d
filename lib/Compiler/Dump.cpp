//===- Dump.cpp - The IR after each phase ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Dump.h"

#include "sluice/Codegen/GridLowering.h"
#include "sluice/Support/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace sluice {

Status dumpPhase(ModuleOp module, Phase phase, const std::string &directory) {
  if (directory.empty())
    return {};
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return makeError(ErrorCode::Io, "cannot create directory '", directory, "': ", error.message(),
                     ", choose another with --dump-phases");
  const auto index = static_cast<unsigned>(phase);
  const std::string path = concat(directory, "/", index, "-", phaseNames()[index]);
  std::string text;
  llvm::raw_string_ostream out(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(64).elideLargeResourceString(64);
  module->print(out, flags);
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path + ".mlir", text + "\n"));
  if (phase == Phase::Codegen)
    for (const DeviceCode &code : deviceCodeOf(module))
      SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(path, ".sm_", code.architecture, ".ptx"), code.ptx));
  return {};
}

} // namespace sluice
