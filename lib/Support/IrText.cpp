//===- IrText.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/IrText.h"

#include <algorithm>

namespace sluice {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isInName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '_' || c == '$' || c == '.' || c == '-';
}

Status checkResultNumbers(std::string_view text, std::string_view name) {
  constexpr std::string_view kBytecode = "ML\xEFR";
  if (text.starts_with(kBytecode))
    return {};
  const size_t end = text.size();
  for (size_t i = 0; i < end;) {
    const char c = text[i++];
    if (c == '"') {
      for (; i < end && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\' && i + 1 < end;
      ++i;
    } else if (c == '/' && i < end && text[i] == '/') {
      i = std::min(text.find('\n', i), end);
    } else if (c == '%') {
      while (i < end && isInName(text[i]))
        ++i;
      if (i == end || text[i] != '#')
        continue;
      int64_t number = 0;
      for (++i; i < end && isDigit(text[i]); ++i)
        number = std::min(10 * number + (text[i] - '0'), kMostResultNumber + 1);
      if (number > kMostResultNumber)
        return makeError(ErrorCode::InvalidInput, "line ", std::count(text.begin(), text.begin() + i, '\n') + 1,
                         " of '", name, "': the number of a result exceeds ", kMostResultNumber,
                         ", correct the number after '#'");
    }
  }
  return {};
}

} // namespace sluice
