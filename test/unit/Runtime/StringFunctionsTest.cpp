//===- StringFunctionsTest.cpp - Functions on text ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StringFunctions.h"
#include "TestModel.h"

#include <cstring>
#include <limits>
#include <string>

using namespace sluice::runtime;
using namespace sluice::test;

namespace {

struct Settings {
  Settings &number(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Settings &text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes += value;
    return *this;
  }
  Settings &list(const std::vector<std::string> &values) {
    number(static_cast<int64_t>(values.size()));
    for (const std::string &value : values)
      text(value);
    return *this;
  }
  std::string bytes;
};

/// Of texts that outlive them.
template <typename Text>
std::vector<sluice_string> elements(const std::vector<Text> &texts) {
  std::vector<sluice_string> result;
  for (const Text &text : texts)
    result.push_back({text.data(), static_cast<int64_t>(text.size())});
  return result;
}

std::vector<std::string> textsOf(const std::vector<sluice_string> &elements) {
  std::vector<std::string> result;
  for (const sluice_string &element : elements)
    result.emplace_back(element.size ? element.data : "", static_cast<size_t>(element.size));
  return result;
}

using Texts = std::vector<std::string>;
using Literals = std::vector<std::string_view>;

Texts normalized(const Texts &words, int64_t change, bool caseMatters, const Texts &stopWords) {
  TextStore store;
  std::vector<sluice_string> in = elements(words), out(std::max<size_t>(words.size(), 1));
  int64_t count = -1;
  void *args[] = {in.data(), out.data(), &count};
  Settings settings;
  settings.number(static_cast<int64_t>(words.size())).number(change).number(caseMatters).list(stopWords);
  REQUIRE(runStringFunction(store, SLUICE_STRING_NORMALIZE, args, settings.bytes) == 0);
  out.resize(static_cast<size_t>(count));
  return textsOf(out);
}

/// Each text's parts, as many as it has.
std::vector<Texts> partsOf(const Texts &texts, std::string_view delimiter, int64_t room) {
  TextStore store;
  std::vector<sluice_string> in = elements(texts), out(texts.size() * static_cast<size_t>(room));
  std::vector<int64_t> counts(texts.size());
  int64_t most = -1;
  void *args[] = {in.data(), out.data(), counts.data(), &most};
  Settings settings;
  settings.number(static_cast<int64_t>(texts.size())).number(room).text(delimiter);
  REQUIRE(runStringFunction(store, SLUICE_STRING_SPLIT, args, settings.bytes) == 0);
  std::vector<Texts> result;
  int64_t greatest = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto first = out.begin() + static_cast<ptrdiff_t>(i) * room;
    for (auto rest = first + counts[i]; rest != first + room; ++rest)
      CHECK(rest->size == 0);
    result.push_back(textsOf({first, first + counts[i]}));
    greatest = std::max(greatest, counts[i]);
  }
  CHECK(most == greatest);
  return result;
}

} // namespace

TEST_CASE("words are taken out and change their case", "[runtime][strings]") {
  const Texts days = {"monday", "Tuesday", "wednesday"};
  CHECK(normalized(days, 0, true, {"monday"}) == Texts{"Tuesday", "wednesday"});
  CHECK(normalized(days, 1, true, {"tuesday"}) == Texts{"monday", "tuesday", "wednesday"});
  CHECK(normalized(days, 2, false, {"tuesday", "MONDAY"}) == Texts{"WEDNESDAY"});
  CHECK(normalized(days, 2, false, days) == Texts{""});
  CHECK(normalized({}, 2, false, {}) == Texts{""});
  // Beyond ASCII; a byte that is no UTF-8, a surrogate and an overlong form stay.
  CHECK(normalized({"\u00e9t\u00e9 \u0431"}, 2, true, {}) == Texts{"\u00c9T\u00c9 \u0411"});
  CHECK(normalized({"\xffz\xed\xa0\x80\xc1\x81\xc3"}, 2, true, {}) == Texts{"\xffZ\xed\xa0\x80\xc1\x81\xc3"});
}

TEST_CASE("texts split as Python splits them", "[runtime][strings]") {
  CHECK(partsOf({"a-b", "-", "", "x--y-"}, "-", 4) ==
        std::vector<Texts>{{"a", "b"}, {"", ""}, {""}, {"x", "", "y", ""}});
  CHECK(partsOf({"a-b-c"}, "-", 2) == std::vector<Texts>{{"a", "b-c"}});
  CHECK(partsOf({"  a  b c ", "   ", ""}, "", 5) == std::vector<Texts>{{"a", "b", "c"}, {}, {}});
  CHECK(partsOf({"  a b  c "}, "", 2) == std::vector<Texts>{{"a", "b  c "}});
  CHECK(partsOf({"abab"}, "ab", 8) == std::vector<Texts>{{"", "", ""}});
}

TEST_CASE("texts are compared, joined and found", "[runtime][strings]") {
  TextStore store;
  std::vector<sluice_string> a = elements(Literals{"x", "", "yz"}), b = elements(Literals{"x", "q", "y"}), joined(3);
  std::vector<uint8_t> same(3, 7);
  void *equalArgs[] = {a.data(), b.data(), same.data()};
  REQUIRE(runStringFunction(store, SLUICE_STRING_EQUAL, equalArgs, Settings().number(3).bytes) == 0);
  CHECK(same == std::vector<uint8_t>{1, 0, 0});
  void *concatArgs[] = {a.data(), b.data(), joined.data()};
  REQUIRE(runStringFunction(store, SLUICE_STRING_CONCAT, concatArgs, Settings().number(3).bytes) == 0);
  CHECK(textsOf(joined) == Texts{"xx", "q", "yzy"});
  std::vector<int64_t> places(3);
  void *findArgs[] = {b.data(), places.data()};
  REQUIRE(runStringFunction(store, SLUICE_STRING_FIND, findArgs, Settings().number(3).list({"y", "x", "y"}).bytes) ==
          0);
  CHECK(places == std::vector<int64_t>{1, 3, 0});
}

TEST_CASE("long texts stay until the store is cleared", "[runtime][strings]") {
  TextStore store;
  const std::string text(100000, 'a');
  std::vector<sluice_string> a = elements(Literals{text, "b"}), out(2);
  void *args[] = {a.data(), a.data(), out.data()};
  REQUIRE(runStringFunction(store, SLUICE_STRING_CONCAT, args, Settings().number(2).bytes) == 0);
  CHECK(textsOf(out) == Texts{text + text, "bb"});
}

TEST_CASE("texts of more parts than are declared are errors", "[runtime][strings]") {
  TextStore store;
  std::vector<sluice_string> in = elements(Literals{"a b", "a b c"}), parts(4);
  std::vector<int64_t> counts(2);
  int64_t most = 0;
  void *args[] = {in.data(), parts.data(), counts.data(), &most};
  const std::string whole = Settings().number(2).number(2).text(" ").number(1).bytes;
  CHECK(runStringFunction(store, SLUICE_STRING_SPLIT, args, whole) == 3);
  CHECK(store.problem() == "text 'a b c' has more parts than the 2 that the model declares, declare more parts for the "
                           "output of the operator");
  store.clear();
  CHECK(store.problem() == "");
  CHECK(runStringFunction(store, SLUICE_STRING_SPLIT, args, Settings().number(1).number(2).text(" ").number(1).bytes) ==
        0);
  CHECK(textsOf({parts[0], parts[1]}) == Texts{"a", "b"});
}

TEST_CASE("texts and numbers become each other", "[runtime][strings]") {
  TextStore store;
  std::vector<sluice_string> in = elements(Literals{" 2.5 ", "-INF", "1e3"}), out(3);
  std::vector<float> numbers(3);
  void *read[] = {in.data(), numbers.data()}, *write[] = {numbers.data(), out.data()};
  const std::string settings = Settings().number(3).number(SLUICE_NUMBER_F32).bytes;
  REQUIRE(runStringFunction(store, SLUICE_STRING_TO_NUMBER, read, settings) == 0);
  CHECK(numbers == std::vector<float>{2.5F, -std::numeric_limits<float>::infinity(), 1000});
  REQUIRE(runStringFunction(store, SLUICE_STRING_FROM_NUMBER, write, settings) == 0);
  CHECK(textsOf(out) == Texts{"2.5", "-INF", "1000"});
  in = elements(Literals{"1", "0x10", "1"});
  read[0] = in.data();
  CHECK(runStringFunction(store, SLUICE_STRING_TO_NUMBER, read, settings) == 3);
  CHECK(store.problem() ==
        "text '0x10' is not a number of the type to which the model casts it, element 1, give decimal numbers");
  CHECK(runStringFunction(store, SLUICE_STRING_TO_NUMBER, read, Settings().number(3).number(9).bytes) == 1);
}

TEST_CASE("what is checked passes or fails with the message", "[runtime][strings]") {
  TextStore store;
  std::vector<uint8_t> in{1, 1, 0}, out(3, 7);
  void *args[] = {in.data(), out.data()};
  CHECK(runStringFunction(store, SLUICE_CHECK, args, Settings().number(3).text("it is wrong").bytes) == 3);
  CHECK(store.problem() == "it is wrong, element 2");
  CHECK(runStringFunction(store, SLUICE_CHECK, args, Settings().number(2).text("it is wrong").bytes) == 0);
  CHECK(out == std::vector<uint8_t>{1, 1, 7});
}

TEST_CASE("settings that do not fit fail", "[runtime][strings]") {
  TextStore store;
  std::vector<sluice_string> out(4);
  void *args[] = {out.data(), out.data(), out.data()};
  CHECK(runStringFunction(store, SLUICE_STRING_CONSTANT, args, "") == 1);
  CHECK(runStringFunction(store, SLUICE_STRING_CONSTANT, args, Settings().number(1).number(1000).bytes) == 1);
  CHECK(runStringFunction(store, 99, args, Settings().number(0).bytes) == 1);
}

TEST_CASE("a step refuses text without an address", "[runtime][strings]") {
  TestModel model([](const sluice_api *, sluice_context *) { return 0; }, 16);
  model.inputs[0].element_type = 8;
  model.inputs[0].bytes = 4 * sizeof(sluice_string);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<sluice_string> words(4, sluice_string{nullptr, 0});
  std::vector<float> y(16);
  const void *inputs[] = {words.data()};
  void *outputs[] = {y.data()};
  CHECK(sluice_run(session.get(), inputs, outputs) == 0);
  words[2] = {nullptr, 5};
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error()).find(", element 2") != std::string::npos);
  words[2] = {"x", -1};
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
}
