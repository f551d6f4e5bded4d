//===- UniqueNames.h - Names that differ ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_UNIQUENAMES_H
#define SLUICE_PASSES_BRIDGE_UNIQUENAMES_H

#include "sluice/Support/Error.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace sluice {

class UniqueNames {
public:
  /// Returns the name if it is new, else a new name that begins with it.
  std::string make(std::string name) {
    while (int count = taken[name]++)
      name = concat(name, "#", count);
    return name;
  }

private:
  llvm::StringMap<int> taken;
};

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_UNIQUENAMES_H
