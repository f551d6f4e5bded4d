//===- Package.h - Forms of a compiled model --------------------*- C++ -*-===//
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

/// Forms of a compiled model. Only the first form has a manifest, so the runtime does not open a directory of another
/// form.
enum class PackageForm : uint8_t {
  Shared,     ///< model.so, parameters.bin, manifest.json, model.h: the runtime and `sluice run` open the directory.
  Object,     ///< NAME.o, parameters.bin, model.h: the application links the object and calls sluice_open_model.
  Static,     ///< libNAME.a with the parameters inside, NAME.pc, model.h: sluice_open_NAME opens the model.
  Executable, ///< NAME, a static program that reads and writes .npy files.
  Oci,        ///< NAME.oci, a folder with the layout of an OCI image of the same program.
  Wasm,       ///< NAME.wasm, which imports nothing, NAME.mjs, which loads it, and NAME.html, a page for trying it.
};
/// The names of the forms, in lower case and in the order of PackageForm.
const std::vector<std::string> &packageFormNames();

struct PackageOptions {
  PackageForm form = PackageForm::Shared;
  /// True for a package that needs no runtime, and nothing of a C library except memcpy, memmove and memset. Its code
  /// has the parameters, a static arena, and functions for initialization, a step and messages. The field must be true
  /// for Wasm, may be true for Object, and must be false for other forms. If it is true, the form Object consists of
  /// NAME.o and model.h.
  bool isFreestanding = false;
  /// The directory of libsluice_standalone.a for the target, which executables and images link. If it is empty, the
  /// directory in the build or the installation of this program is used.
  std::string runtimeDirectory;

  bool linksRuntime() const { return form == PackageForm::Executable || form == PackageForm::Oci; }
  /// Whether the parameters are inside the package. The package then has no parameter file, and writePackage() fails if
  /// the parameters exceed 1 GiB.
  bool embedsParameters() const { return isFreestanding || form > PackageForm::Object; }
};

/// Fails, and says what to do, if the form cannot be made: WebAssembly has only the form Wasm, only the form Shared
/// supports grids and several ranks, and executables and images need the target's runtime and a C++ compiler. Call it
/// before compiling.
Status checkPackage(const PackageOptions &options, const TargetSpec &target, int64_t numRanks);

/// Fails if a target has addresses of 32 bits and the program needs more than 4 GiB of memory. Call it before code is
/// generated.
Status checkAddresses(const ManifestInfo &info, const TargetSpec &target);

/// Links objects of `target` into a package in an existing directory. Forms that embed the parameters read them from
/// `parameterFile`; for other forms, this file is in the directory. Files of an earlier compilation that do not belong
/// to the form (model.so, parameters.bin) are removed. Files are written under temporary names and then renamed. Equal
/// objects give equal bytes. Fails if freestanding objects call functions of a library, and names the operator.
Status writePackage(const ManifestInfo &info, const TargetSpec &target, const PackageOptions &options,
                    std::span<const std::string> objects, const std::string &parameterFile,
                    const std::string &directory);

} // namespace sluice

#endif // SLUICE_CODEGEN_PACKAGE_H
