//===- Text.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Text.h"

#include <algorithm>
#include <boost/locale/utf.hpp>

namespace sluice {

static constexpr std::string_view kLeftOut = "...";

/// A byte of UTF-8 that continues a character.
static bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// `text` without the parts of characters at its ends.
static std::string_view wholeCharacters(std::string_view text, bool cutBefore, bool cutAfter) {
  while (cutBefore && !text.empty() && continues(text.front()))
    text.remove_prefix(1);
  if (!cutAfter)
    return text;
  // The last character is whole only if nothing of it follows; that is not known here, so one that may go on goes.
  size_t lead = text.size();
  while (lead > 0 && continues(text[lead - 1]))
    --lead;
  if (lead > 0 && (static_cast<unsigned char>(text[lead - 1]) & 0x80))
    text.remove_suffix(text.size() - (lead - 1));
  return text;
}

/// With '?' for control characters and for each byte that is no UTF-8.
static std::string printable(std::string text) {
  namespace utf = boost::locale::utf;
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = at;
    const utf::code_point point = utf::utf_traits<char>::decode(at, text.end());
    if (point == utf::illegal || point == utf::incomplete)
      at = begin + 1;
    else if (point >= 0x20 && point != 0x7F)
      continue;
    *begin = '?';
  }
  return text;
}

std::string excerpt(std::string_view text) {
  if (text.size() <= kMostQuoted)
    return printable(std::string(text));
  constexpr size_t kHead = (kMostQuoted - kLeftOut.size()) / 2, kTail = kMostQuoted - kLeftOut.size() - kHead;
  std::string result(wholeCharacters(text.substr(0, kHead), false, true));
  result += kLeftOut;
  result += wholeCharacters(text.substr(text.size() - kTail), true, false);
  return printable(std::move(result));
}

std::string excerptAround(std::string_view text, size_t position) {
  if (text.size() <= kMostQuoted)
    return printable(std::string(text));
  constexpr size_t kShown = kMostQuoted - 2 * kLeftOut.size();
  // More of what was read than of what follows.
  const size_t begin = std::min(position - std::min(position, kShown * 3 / 4), text.size() - kShown);
  const bool cutBefore = begin > 0, cutAfter = begin + kShown < text.size();
  std::string result(cutBefore ? kLeftOut : "");
  result += wholeCharacters(text.substr(begin, kShown), cutBefore, cutAfter);
  result += cutAfter ? kLeftOut : "";
  return printable(std::move(result));
}

std::string alternatives(const std::vector<std::string> &names) {
  const size_t shown = names.size() > kMostAlternatives ? kMostAlternatives - 1 : names.size();
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "'" : i + 1 < names.size() ? ", '" : " or '") + excerpt(names[i]) + "'";
  return shown < names.size() ? text + " or one of " + std::to_string(names.size() - shown) + " others" : text;
}

} // namespace sluice
