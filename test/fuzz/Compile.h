//===- Compile.h - A file through every phase to code -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_COMPILE_H
#define SLUICE_TEST_FUZZ_COMPILE_H

#include "sluice/Compiler/Options.h"

#include <cstdint>
#include <string>

namespace sluice::fuzz {

/// Options that bound the work: one plan, one thread, no extra time. Each number selects a machine, a limit of memory
/// and a target, or a training step.
CompilerOptions optionsOf(uint64_t number);

/// Compiles a model or a module of the dataflow dialect to objects in memory. A program that is not small is only
/// imported.
Status compileToObjects(const std::string &path, const CompilerOptions &options);

/// Aborts, after printing the message, if the error says that Sluice has a bug.
void abortOnBug(const Error &error);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_COMPILE_H
