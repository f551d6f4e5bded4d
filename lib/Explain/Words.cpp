//===- Words.cpp - Facts as parts of sentences ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <cctype>
#include <cstdio>

namespace sluice::words {

std::string inQuotes(std::string_view name) { return concat("'", excerpt(name), "'"); }

std::string named(std::string_view noun, std::string_view name) {
  if (noun == "new value of a state")
    return concat("the new value ", inQuotes(name), " of a state");
  return noun.empty() ? inQuotes(name) : concat(noun, " ", inQuotes(name));
}

std::string capital(std::string text) {
  if (!text.empty())
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

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

std::string commandName(const CommandFact &command) {
  if (!command.isCopy)
    return named(command.noun, command.name);
  return concat(command.ofCopies > 1 ? concat("copy ", command.copyNumber, " of ", command.ofCopies) : "the copy",
                " of ", named(command.noun, command.name));
}

std::string commandText(const CommandFact &command) {
  return concat(commandName(command),
                command.isCopy ? concat(" from ", inQuotes(command.from), " to ", inQuotes(command.to)) : "");
}

std::string formatCount(int64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;)
    text.insert(at -= 3, ",");
  return text;
}

std::string commandWithDevice(const CommandFact &command) {
  return concat(commandText(command), command.isCopy ? "" : " on ", command.isCopy ? "" : inQuotes(command.device));
}

} // namespace sluice::words

namespace sluice {

std::string describeSpan(const Interval &interval, int64_t stepNs) {
  if (interval.startNs == interval.endNs)
    return interval.startNs == 0        ? "at the start of the step"
           : interval.startNs == stepNs ? "at the end of the step"
                                        : concat("at ", formatDuration(interval.startNs));
  if (interval.startNs == 0 && interval.endNs == stepNs)
    return "during the whole step";
  static constexpr struct {
    int64_t ns;
    const char *name;
    int digits;
  } kUnits[] = {{1000000000, " s", 9}, {1000000, " ms", 6}, {1000, " us", 3}};
  for (const auto &unit : kUnits) {
    if (interval.startNs < unit.ns)
      continue;
    // Two digits of the difference, where the times have them.
    int digits = 2;
    for (int64_t step = unit.ns / 100; digits < unit.digits && (interval.endNs - interval.startNs) / step < 10;
         step /= 10)
      ++digits;
    if (digits == 2)
      break;
    auto text = [&](int64_t ns) {
      char buffer[64];
      std::snprintf(buffer, sizeof buffer, "%.*f", digits, static_cast<double>(ns) / static_cast<double>(unit.ns));
      return concat(buffer, unit.name);
    };
    return concat("from ", text(interval.startNs), " to ", text(interval.endNs));
  }
  return concat("from ", formatDuration(interval.startNs), " to ", formatDuration(interval.endNs));
}

} // namespace sluice
