//===- ObjectEmission.h - LLVM dialect to a shared library -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_OBJECTEMISSION_H
#define SLUICE_CODEGEN_OBJECTEMISSION_H

#include "sluice/Codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <string_view>
#include <vector>

namespace sluice {

/// The function of a module that exec-to-llvm makes.
inline constexpr const char *kModelEntry = "sluice_model_get";

struct EmissionParams {
  int optLevel = 3; ///< 0 to 3, as a C compiler's.
  /// How many objects the module is split into, compiled in parallel; 0: by its
  /// size. The bytes depend on this, and never on the number of threads.
  unsigned parts = 0;
  unsigned threads = 0; ///< 0: one a core.
};

/// Compiles a module wholly in the LLVM dialect to ELF objects, position
/// independent, without time stamps or paths: equal modules and targets give
/// equal bytes. Only the functions that callers need are visible outside the library that
/// they are linked into: kModelEntry, or kFreestandingEntries. The module is left as it was.
Expected<std::vector<std::string>> emitObjects(mlir::ModuleOp module, const TargetSpec &target,
                                               const EmissionParams &params = {});

/// A C function that opens a model with the parameters that its object holds.
struct OpenFunction {
  std::string model; ///< `const sluice_model *MODEL(void)`, of another object.
  std::string name;  ///< `sluice_session *NAME(const sluice_options *options)`
  std::string_view parameters;
};
/// The object of such a function, which calls sluice_open_model.
Expected<std::string> emitOpenFunction(const OpenFunction &open, const TargetSpec &target);

/// The object of read-only data aligned to kArenaAlignment, which is visible to other objects by `name`.
Expected<std::string> emitParameters(const std::string &name, std::string_view data, const TargetSpec &target);

/// Links objects of `target` into a shared library at `path` with LLVM's linker, or
/// GNU's for the host's architecture, against the C library's libc, libm and
/// libgcc_s where they are needed and found (their development files are not
/// needed). For another architecture these are found where Debian's cross compilers
/// have them; without them, the program that loads the library has to have loaded
/// them. Written beside, then renamed; bit-reproducible. Returns the SHA-256 of
/// the library in hex. Fails with the linker's own words.
Expected<std::string> linkSharedLibrary(std::span<const std::string> objects, const TargetSpec &target,
                                        const std::string &path);

} // namespace sluice

#endif // SLUICE_CODEGEN_OBJECTEMISSION_H
