//===- Words.cpp - Facts as parts of sentences ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

namespace sluice::words {

std::string inQuotes(std::string_view name) { return concat("'", excerpt(name), "'"); }

std::string listOf(const std::vector<std::string> &names, size_t most) {
  std::string text;
  const size_t shown = names.size() == most + 1 ? most + 1 : std::min(names.size(), most);
  for (size_t i = 0; i < shown; ++i) {
    const bool isLast = i + 1 == names.size();
    text += concat(i == 0 ? "" : isLast ? " and " : ", ", inQuotes(names[i]));
  }
  return shown < names.size() ? concat(text, " and ", names.size() - shown, " more") : text;
}

std::string countOf(size_t count, std::string_view what) {
  return concat(count, " ", what, count == 1 ? "" : what.ends_with("ch") ? "es" : "s");
}

std::string commandText(const CommandFact &command) {
  if (!command.isCopy)
    return inQuotes(command.name);
  return concat("the copy of ", inQuotes(command.name), " from ", inQuotes(command.from), " to ", inQuotes(command.to));
}

std::string commandWithDevice(const CommandFact &command) {
  return concat(commandText(command), command.isCopy ? "" : " on ", command.isCopy ? "" : inQuotes(command.device));
}

std::string fromTo(const Interval &interval) {
  return concat("from ", formatDuration(interval.startNs), " to ", formatDuration(interval.endNs));
}

} // namespace sluice::words
