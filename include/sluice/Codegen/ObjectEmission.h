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

/// Name of the entry function that exec-to-llvm adds to a module. The function returns the model's description.
inline constexpr const char *kModelEntry = "sluice_model_get";

struct EmissionParams {
  int optLevel = 3; ///< 0 to 3, with the meaning of a C compiler's -O option.
  /// Number of objects into which the module is split, and which are compiled in parallel. With
  /// 0, the size of the module decides. The bytes of the objects depend on `parts`, but not on `threads`.
  unsigned parts = 0;
  unsigned threads = 0; ///< 0 means one for each core.
};

/// Compiles a module to relocatable objects (ELF, or WebAssembly for wasm32). All of the module must be in the LLVM
/// dialect. Code for ELF is position independent. Objects contain no time stamps and no paths, so equal modules,
/// targets and parameters give equal bytes. The library into which the objects are linked exports only the symbols that
/// callers need: kModelEntry and the table of grids, or kFreestandingEntries. The module does not change.
Expected<std::vector<std::string>> emitObjects(mlir::ModuleOp module, const TargetSpec &target,
                                               const EmissionParams &params = {});

/// A C function that opens a model with the parameters that are in the function's own object.
struct OpenFunction {
  std::string model; ///< MODEL in `const sluice_model *MODEL(void)`, a function of another object.
  std::string name;  ///< NAME in `sluice_session *NAME(const sluice_options *options)`.
  std::string_view parameters;
};
/// Makes an object with this function, which calls sluice_open_model.
Expected<std::string> emitOpenFunction(const OpenFunction &open, const TargetSpec &target);

/// Makes an object with read-only data that is aligned to kArenaAlignment. Other objects refer to the data by `name`.
Expected<std::string> emitParameters(const std::string &name, std::string_view data, const TargetSpec &target);

/// Links objects of `target` into a shared library at `path` with LLVM's linker. If LLVM's linker is not installed and
/// the target has the host's architecture, GNU's linker is used. If the shared library needs libc, libm or libgcc_s, it
/// is linked against them, provided that they are in the system's folders or in the folders of Debian's cross
/// compilers. Their development files are not needed. A library that is not found must already be loaded by the program
/// that loads the shared library. The library is written beside `path` and then renamed. Equal objects give equal
/// bytes. Returns the SHA-256 of the library in hexadecimal digits. If linking fails, the error quotes the linker.
Expected<std::string> linkSharedLibrary(std::span<const std::string> objects, const TargetSpec &target,
                                        const std::string &path);

} // namespace sluice

#endif // SLUICE_CODEGEN_OBJECTEMISSION_H
