//===- Package.h - What a compiled model is linked to -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_PACKAGE_H
#define SLUICE_CODEGEN_PACKAGE_H

#include "sluice/Codegen/Artifact.h"
#include "sluice/Codegen/Target.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Forms of a compiled model. All but the first hold no manifest, so that nothing takes them for a directory to load.
enum class PackageForm : uint8_t {
  Shared,     ///< model.so, parameters.bin, manifest.json, model.h: what the Runtime and `sluice run` open.
  Object,     ///< NAME.o, parameters.bin, model.h: for the application's own linker and sluice_open_model.
  Static,     ///< libNAME.a with the parameters inside, NAME.pc, model.h: sluice_open_NAME opens it.
  Executable, ///< NAME, a static program that reads and writes .npy files.
  Oci,        ///< NAME.oci, a folder with the layout of an OCI image of that program.
  Wasm,       ///< NAME.wasm, which imports nothing, NAME.mjs, which loads it, and NAME.html, a page for trying it.
};
/// In the order of the values, in small letters.
const std::vector<std::string> &packageFormNames();

struct PackageOptions {
  PackageForm form = PackageForm::Shared;
  /// The code has the parameters, a static arena, and functions for initialization, a step and messages, which need no
  /// runtime and no C library but memcpy, memmove and memset. Always so for Wasm. An Object is NAME.o alone, with
  /// model.h; other forms cannot be so.
  bool isFreestanding = false;
  /// Of libsluice_standalone.a for the target, which executables and images link; empty: where this program's build or
  /// installation has it.
  std::string runtimeDirectory;

  bool linksRuntime() const { return form == PackageForm::Executable || form == PackageForm::Oci; }
  /// Whether the parameters are inside, at most 1 GiB of them: no parameter file belongs to such a package.
  bool embedsParameters() const { return isFreestanding || form > PackageForm::Object; }
};

/// Fails, and says what to do, if the form cannot be made for the target: other forms than shared hold no code of
/// grids, and executables and images need the target's runtime. Call before the work of compiling.
Status checkPackage(const PackageOptions &options, const TargetSpec &target, int64_t numRanks);

/// Fails if a program of a target with addresses of 32 bits takes more memory than they reach. Call before its code is
/// made.
Status checkAddresses(const ManifestInfo &info, const TargetSpec &target);

/// Links objects of `target` into the form, in an existing directory. Forms that embed the parameters read them from
/// `parameterFile`; the others have it in the directory. A model.so that an earlier compilation left there is
/// removed. Files are written beside, then renamed; bit-reproducible. Fails if freestanding objects call functions
/// of a library, and names the operator.
Status writePackage(const ManifestInfo &info, const TargetSpec &target, const PackageOptions &options,
                    std::span<const std::string> objects, const std::string &parameterFile,
                    const std::string &directory);

} // namespace sluice

#endif // SLUICE_CODEGEN_PACKAGE_H
