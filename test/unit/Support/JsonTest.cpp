//===- JsonTest.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Json.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace sluice;
using Catch::Contains;

namespace {
struct TemporaryDirectory {
  std::filesystem::path path;
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-json-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};
} // namespace

static std::string errorOf(std::string_view text) {
  Expected<Json> json = parseJson(text, "f.json");
  REQUIRE_FALSE(json);
  CHECK(json.error().code == ErrorCode::InvalidInput);
  CHECK_THAT(json.error().message, Contains("in 'f.json'"));
  return json.error().message;
}

TEST_CASE("what is written is read", "[support]") {
  std::string text = R"({"z":[1,-2,3.5,true,null,"é"],"a":{"b":{}},"empty":[]})";
  Expected<Json> json = parseJson(text, "f.json");
  REQUIRE(json);
  CHECK(json->dump() == text); // Order of keys kept.
}

TEST_CASE("malformed text names file and place", "[support]") {
  CHECK_THAT(errorOf(""), Contains("is empty"));
  CHECK_THAT(errorOf("{\"a\":\n 1,}"), Contains("line 2"));
  for (const char *text : {"{", "[1 2]", "{\"a\"}", "nul", "[1]x", "\"\x80\"", "[1e999]", "NaN", "{'a':1}", "[01]",
                           "\"\\ud800\"", "// c\n1"}) {
    CAPTURE(text);
    errorOf(text);
  }
}

TEST_CASE("text of another format is not called malformed", "[support]") {
  const auto problem = [](std::string_view text) { return parseJson(text, "model.onnx").error().message; };
  CHECK(problem(" \x08\x07") == "the text is not JSON, its first byte is 0x08, in 'model.onnx', give JSON");
  CHECK(problem("\xff{") == "the text is not JSON, its first byte is 0xff, in 'model.onnx', give JSON");
  CHECK(problem(" \n") == "the text is empty, in 'model.onnx', give JSON");
  CHECK(parseJson("\xEF\xBB\xBF[1]", "bom").has_value());
}

TEST_CASE("duplicate keys are refused at any depth", "[support]") {
  CHECK_THAT(errorOf(R"({"a":1,"b":2,"a":3})"), Contains("'a' appears twice"));
  CHECK_THAT(errorOf(R"([{"x":{"k":1,"k":1}}])"), Contains("'k' appears twice"));
  CHECK(parseJson(R"([{"a":1},{"a":1}])", "f.json"));
}

TEST_CASE("nesting is bounded", "[support]") {
  CHECK(parseJson(std::string(100, '[') + std::string(100, ']'), "f.json"));
  CHECK_THAT(errorOf(std::string(101, '[') + std::string(101, ']')), Contains("deeper than 100"));
  CHECK_THAT(errorOf(std::string(1'000'000, '[')), Contains("deeper than 100"));
}

TEST_CASE("typed reads name the path", "[support]") {
  Json json =
      *parseJson(R"({"devices":[{"name":"cpu"},{"name":3,"n":1e3,"big":18446744073709551615,"half":0.5}]})", "");
  JsonReader root(json, "m.json:");
  JsonReader device = (*root.member("devices")->elements())[1];
  CHECK(device.where() == "m.json:devices[1]");
  CHECK_THAT(device.string("name").error().message, Contains("m.json:devices[1].name") && Contains("number"));
  CHECK_THAT(device.string("nothing").error().message, Contains("'nothing' is missing"));
  CHECK(device.integer("n") == 1000);
  CHECK_FALSE(device.integer("big"));
  CHECK_FALSE(device.integer("half"));
  CHECK(device.number("half") == 0.5);
  CHECK(device.number("n") == 1000.0);
  CHECK(device.integer("absent", 7) == 7);
  CHECK(device.string("absent", "x") == "x");
  CHECK(device.boolean("absent", true) == true);
  CHECK_FALSE(device.boolean("n", true));
  CHECK_FALSE(device.elements());
  CHECK_FALSE(root.member("devices")->member("x"));
  CHECK(device.onlyKeys({"name", "n", "big", "half"}));
  CHECK_THAT(device.onlyKeys({"name", "n", "big"}).error().message, Contains("'half' is unknown"));
  CHECK_FALSE(root.member("devices")->onlyKeys({}));
}

TEST_CASE("bytes that are no UTF-8 are replaced in texts", "[support]") {
  CHECK(jsonText(Json{{"a", 1}, {"b", {2, 3}}}) == R"({"a":1,"b":[2,3]})");
  CHECK(jsonText(Json{{"a", 1}}, 1) == "{\n \"a\": 1\n}");
  CHECK(jsonText(Json("x\x80y")) == "\"x\xEF\xBF\xBDy\"");
}

TEST_CASE("files are replaced whole or not at all", "[support]") {
  TemporaryDirectory directory;
  std::string path = directory.path / "out.json";
  REQUIRE(writeFileAtomically(path, "one"));
  REQUIRE(writeFileAtomically(path, "two"));
  CHECK(readFile(path) == "two");

  CHECK_FALSE(writeFileAtomically(directory.path / "absent" / "out.json", "x"));
  CHECK_FALSE(writeFileAtomically(directory.path, "x"));
  size_t entries = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(directory.path))
    ++entries;
  CHECK(entries == 1); // No temporary stays behind.
}

TEST_CASE("a device is written to, not replaced", "[support]") {
  REQUIRE(writeFileAtomically("/dev/null", "x"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("reading refuses what is absent, too large or no file", "[support]") {
  TemporaryDirectory directory;
  std::string path = directory.path / "in.json";
  Expected<std::string> absent = readFile(path);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == ErrorCode::NotFound);
  CHECK_THAT(absent.error().message, Contains(path));
  REQUIRE(writeFileAtomically(path, "[1,2,3]"));
  CHECK(readFile(path, 7));
  CHECK_FALSE(readFile(path, 6));
  CHECK_FALSE(readFile("/dev/zero", 1 << 20)); // Endless.
  CHECK_FALSE(readFile(directory.path));
  REQUIRE(readJsonFile(path));
  CHECK(readJsonFile(path)->size() == 3);
}
