//===- FreestandingCheck.h - What freestanding objects call -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_FREESTANDINGCHECK_H
#define SLUICE_CODEGEN_FREESTANDINGCHECK_H

#include "sluice/Support/Error.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Fails if the relocatable object, of ELF or WebAssembly, has an undefined symbol other than memcpy, memmove, memset
/// and those that a linker defines. The error names the symbol and the operator whose kernel uses it; `kernels` are
/// pairs of a kernel's function and an operator.
Status checkFreestanding(std::string_view object, std::span<const std::pair<std::string, std::string>> kernels);

} // namespace sluice

#endif // SLUICE_CODEGEN_FREESTANDINGCHECK_H
