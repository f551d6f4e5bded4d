//===- WasmModule.h - A model for browsers ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_WASMMODULE_H
#define SLUICE_CODEGEN_WASMMODULE_H

#include "LinkJob.h"
#include "sluice/Codegen/Artifact.h"

#include <span>
#include <string>

namespace sluice {

/// Links freestanding objects of wasm32, parameters included, into DIR/NAME.wasm, which imports nothing, and writes
/// DIR/NAME.mjs, an ES module that loads and runs it, and DIR/NAME.html, a page that tries it. Fails if the objects
/// need a function that none defines, or if an input or output has a type for which JavaScript has no arrays.
Status writeWasmModule(const LinkJob &job, const ManifestInfo &info, std::span<const std::string> objects,
                       const std::string &directory, const std::string &name);

} // namespace sluice

#endif // SLUICE_CODEGEN_WASMMODULE_H
