//===- OciLayout.h - An image of a static program ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_OCILAYOUT_H
#define SLUICE_CODEGEN_OCILAYOUT_H

#include "sluice/Codegen/Target.h"

#include <string>

namespace sluice {

/// Writes the folder `path` in the image layout of the OCI image specification 1.0: one image, named `name`, whose only
/// layer is an uncompressed archive with the program `/NAME`, which is the image's entry point. The bytes depend on the
/// arguments alone. An older image at that path is replaced when the
/// new one is complete; another folder there is an error.
Status writeOciLayout(const std::string &path, const std::string &name, const TargetSpec &target,
                      const std::string &program);

} // namespace sluice

#endif // SLUICE_CODEGEN_OCILAYOUT_H
