//===- OperatorTable.cpp - Which converter for which version --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

#include <map>

namespace sluice::onnximport {

namespace {
struct Versions {
  std::map<int64_t, Converter> bySince;
};
using Table = std::map<std::pair<llvm::StringRef, llvm::StringRef>, Versions>;

const Table &table() {
  static const Table built = [] {
    Table result;
    for (llvm::ArrayRef<OperatorEntry> family :
         {elementwiseOperators(), linearOperators(), windowOperators(), normOperators(), reduceOperators(),
          movementOperators(), indexingOperators(), resizeOperators(), constantOperators(), quantizeOperators(),
          recurrentOperators()})
      for (const OperatorEntry &entry : family)
        result[{entry.domain, entry.name}].bySince.emplace(entry.since, entry.convert);
    return result;
  }();
  return built;
}
} // namespace

Converter findConverter(llvm::StringRef domain, llvm::StringRef name, int64_t version, bool &known) {
  if (domain == "ai.onnx")
    domain = "";
  auto found = table().find({domain, name});
  known = found != table().end();
  if (!known)
    return nullptr;
  auto after = found->second.bySince.upper_bound(version);
  return after == found->second.bySince.begin() ? nullptr : std::prev(after)->second;
}

} // namespace sluice::onnximport
