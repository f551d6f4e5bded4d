//===- PortableTargets.h - CPUs beside x86-64 -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_PORTABLETARGETS_H
#define SLUICE_CODEGEN_PORTABLETARGETS_H

#include "sluice/Codegen/Target.h"

#include <optional>

namespace sluice {

/// Reads the name of a CPU that consists of its architecture and features: "aarch64", "aarch64+dotprod+i8mm" or
/// "riscv64+v", without "cpu:". Returns nothing if `name` begins with no such architecture. Fails on an unknown feature
/// and lists the known ones.
Expected<std::optional<TargetSpec>> resolvePortableCpu(std::string_view name);

/// The names for diagnostics: "cpu:aarch64" and so on.
std::vector<std::string> portableCpuNames();

} // namespace sluice

#endif // SLUICE_CODEGEN_PORTABLETARGETS_H
