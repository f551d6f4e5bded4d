//===- TextTest.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Text.h"

#include <catch2/catch.hpp>

using namespace sluice;

TEST_CASE("what a diagnostic quotes has at most 80 bytes", "[support]") {
  CHECK(excerpt("") == "");
  CHECK(excerpt("conv1") == "conv1");
  const std::string fits(kMostQuoted, 'a');
  CHECK(excerpt(fits) == fits);
  const std::string longer = "begin" + std::string(1'500'000, 'a') + "end";
  CHECK(excerpt(longer).size() == kMostQuoted);
  CHECK(excerpt(longer).starts_with("begin"));
  CHECK(excerpt(longer).ends_with("aend"));
  CHECK(excerpt(longer).find("...") != std::string::npos);
}

TEST_CASE("control characters are not quoted", "[support]") {
  CHECK(excerpt("a\nb\x1B[2Jc\x7F\t") == "a?b?[2Jc??");
  CHECK(excerpt(std::string_view("a\0b", 3)) == "a?b");
  CHECK(excerpt("na\xC3\xAFve") == "na\xC3\xAFve");
}

TEST_CASE("bytes that are no UTF-8 are not quoted", "[support]") {
  CHECK(excerpt("a\xFF\xC3") == "a??");
  CHECK(excerpt("\xC0\x80") == "??");        // Zero, too long.
  CHECK(excerpt("\xED\xA0\x80x") == "???x"); // Half of a pair of UTF-16.
  CHECK(excerpt("\xF0\x9F\x98\x80") == "\xF0\x9F\x98\x80");
}

TEST_CASE("an excerpt cuts no character of UTF-8", "[support]") {
  for (size_t shift = 0; shift < 3; ++shift) {
    std::string text(shift, 'x');
    for (int i = 0; i < 200; ++i)
      text += "\xE2\x82\xAC"; // The euro sign.
    for (const std::string &shown : {excerpt(text), excerptAround(text, 300), excerptAround(text, 0)}) {
      CAPTURE(shift, shown);
      CHECK(shown.size() <= kMostQuoted);
      std::string rest = shown;
      for (const std::string part : {"\xE2\x82\xAC", ".", "x"})
        for (size_t at; (at = rest.find(part)) != std::string::npos;)
          rest.erase(at, part.size());
      CHECK(rest.empty());
    }
  }
}

TEST_CASE("an excerpt around a position shows it", "[support]") {
  std::string text(1000, '.');
  for (size_t at : {size_t(0), size_t(40), size_t(500), size_t(960), size_t(999)}) {
    std::string marked = text;
    marked[at] = 'X';
    CAPTURE(at);
    CHECK(excerptAround(marked, at).find('X') != std::string::npos);
    CHECK(excerptAround(marked, at).size() <= kMostQuoted);
  }
  CHECK(excerptAround(text, 100'000).size() <= kMostQuoted);
  CHECK(excerptAround("short", 3) == "short");
}

TEST_CASE("alternatives are quoted and end with 'or'", "[support]") {
  CHECK(alternatives({}).empty());
  CHECK(alternatives({"a"}) == "'a'");
  CHECK(alternatives({"a", "b"}) == "'a' or 'b'");
  CHECK(alternatives({"a", "b", "c"}) == "'a', 'b' or 'c'");
  CHECK(alternatives({std::string(1000, 'x')}).size() == kMostQuoted + 2);
  const std::string most = alternatives(std::vector<std::string>(kMostAlternatives, "a"));
  CHECK(most.find("or 'a'") != std::string::npos);
  const std::string more = alternatives(std::vector<std::string>(kMostAlternatives + 1, "a"));
  CHECK(more.substr(more.size() - 18) == "or one of 2 others");
}
