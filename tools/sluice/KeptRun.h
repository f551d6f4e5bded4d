//===- KeptRun.h - A run for another machine --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_KEPTRUN_H
#define SLUICE_TOOLS_SLUICE_KEPTRUN_H

#include "RunInputs.h"
#include "sluice/Compiler/Compilation.h"

namespace sluice::driver {

/// Writes a folder for sluice-runner: `folder`/model, the compiled model; inputs that are data, and the references of
/// `expect`, as .npy files; and last run.json: { schema, quantized, inputs: [{file} or {seed}], outputs: [{index,
/// file}] }. If large weights follow from little data, `folder`/weights is such a run too, on the host. Its results are
/// the bytes of model/parameters.bin that "weights" of run.json names, [{offset, bytes}] by result; a copy of the
/// folder may leave them zero. Fails before it writes anything if an input does not fit or cannot be a .npy file.
Status keepRun(const std::string &folder, Compilation &compilation, std::vector<GivenInput> given,
               const std::string &expect, bool quantized);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_KEPTRUN_H
