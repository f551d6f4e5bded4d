//===- RegexTest.cpp - Regular expressions --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HostFunctions.h"
#include "StringFunctions.h"

#include <catch2/catch.hpp>

#include <string>

using namespace sluice::runtime;

namespace {

std::string settingsOf(int64_t count, const std::string &pattern) {
  const int64_t numbers[] = {count, static_cast<int64_t>(pattern.size())};
  return std::string(reinterpret_cast<const char *>(numbers), sizeof numbers) + pattern;
}

/// Which of the texts match, a digit each; what is wrong where none is asked.
std::string matches(const std::string &pattern, const std::vector<std::string> &texts) {
  TextStore store;
  std::vector<sluice_string> in;
  for (const std::string &text : texts)
    in.push_back({text.data(), static_cast<int64_t>(text.size())});
  std::vector<uint8_t> out(texts.size(), 7);
  void *args[] = {in.data(), out.data()};
  const int32_t status = runStringFunction(store, SLUICE_STRING_MATCH, args, settingsOf(in.size(), pattern));
  if (status == 3)
    return store.problem();
  REQUIRE(status == 0);
  std::string result;
  for (uint8_t one : out)
    result += static_cast<char>('0' + one);
  return result;
}

} // namespace

TEST_CASE("expressions match whole texts", "[runtime][regex]") {
  CHECK(matches("a+b?", {"a", "aab", "b", "aaba", ""}) == "11000");
  CHECK(matches("", {"", "a"}) == "10");
  CHECK(matches("(?i)stra\u00dfe.", {"STRA\u00dfE\u00e9", "strase1"}) == "10");
  CHECK(matches(std::string("a\\x00b"), {std::string("a\0b", 3), "ab"}) == "10");
  // No text takes longer than its length asks for.
  CHECK(matches("(a*)*b", {std::string(100000, 'a')}) == "0");
}

TEST_CASE("wrong expressions are errors", "[runtime][regex]") {
  CHECK(matches("a(b", {"ab"}) ==
        "regular expression 'a(b' is invalid (RE2 reports \"missing ): a(b\"), correct the model");
  // RE2 has no references back.
  CHECK(matches("(a)\\1", {"aa"}).find("invalid escape sequence") != std::string::npos);
  CHECK(matches("((a{100}){100}){100}", {"a"}).find("is invalid") != std::string::npos);
  CHECK(matches("\xff", {"a"}).find("invalid UTF-8") != std::string::npos);
}

TEST_CASE("an expression is compiled by the library itself", "[runtime][regex]") {
  char error[8] = "";
  CHECK(sluice_regex_compile("(", 1, error, sizeof error) == nullptr);
  CHECK(std::string(error) == "missing");
  void *regex = sluice_regex_compile("a", 1, error, sizeof error);
  REQUIRE(regex);
  CHECK(sluice_regex_matches(regex, "a", 1) == 1);
  CHECK(sluice_regex_matches(regex, nullptr, 0) == 0);
  sluice_regex_release(regex);
}
