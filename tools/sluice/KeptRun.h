//===- KeptRun.h - A run for another machine --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_KEPTRUN_H
#define SLUICE_TOOLS_SLUICE_KEPTRUN_H

#include "RunInputs.h"
#include "sluice/Compiler/Compilation.h"

namespace sluice::driver {

/// Writes what sluice-runner runs: `folder`/model, the compiled model; inputs that
/// are data and references, where `expect` names any, as .npy; and, last,
/// run.json: { schema, quantized, inputs: [{file} or {seed}], outputs: [{index, file}] }.
/// `folder`/weights is such a run too, on the host, where large weights follow from
/// little: its results are the bytes of model/parameters.bin that run.json's
/// "weights" name, [{offset, bytes}] by result, and a copy may leave them zero.
/// Fails before anything is written where an input does not fit or no .npy holds it.
Status keepRun(const std::string &folder, Compilation &compilation, std::vector<GivenInput> given,
               const std::string &expect, bool quantized);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_KEPTRUN_H
