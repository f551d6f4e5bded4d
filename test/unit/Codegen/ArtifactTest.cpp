//===- ArtifactTest.cpp - Files of a compiled model -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include "sluice/Codegen/Artifact.h"
#include "sluice/Support/Json.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

static std::span<const std::byte> bytesOf(const char *text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

TEST_CASE("parameters are aligned, hashed and named at the end", "[codegen]") {
  TemporaryDirectory directory;
  std::string path = directory.path + "/parameters.bin";
  auto writer = ParameterFileWriter::create(path);
  REQUIRE(writer);
  CHECK(writer->append(bytesOf("abc")).value() == 0);
  CHECK(writer->beginTensor().value() == 64);
  REQUIRE(writer->write(bytesOf("de")));
  REQUIRE(writer->write(bytesOf("f")));
  CHECK(writer->append({}).value() == 128);
  CHECK(!std::filesystem::exists(path));
  auto summary = writer->finish();
  REQUIRE(summary);
  CHECK(summary->bytes == 128);
  // python3 -c 'import hashlib; print(hashlib.sha256(b"abc".ljust(64, b"\0") + b"def".ljust(64, b"\0")).hexdigest())'
  CHECK(summary->hash == "ca4760f1ada1e802e0d8346f18c6113544197cda085f8cb318c5bcb7e0f62177");
  auto text = readFile(path);
  REQUIRE(text);
  CHECK(text->substr(0, 3) == "abc");
  CHECK(text->substr(64, 3) == "def");
  CHECK(text->size() == 128);
}

TEST_CASE("a parameter file that is not finished leaves nothing", "[codegen]") {
  TemporaryDirectory directory;
  {
    auto writer = ParameterFileWriter::create(directory.path + "/parameters.bin");
    REQUIRE(writer);
    REQUIRE(writer->append(bytesOf("abc")));
  }
  CHECK(std::filesystem::is_empty(directory.path));
  auto nowhere = ParameterFileWriter::create(directory.path + "/missing/parameters.bin");
  REQUIRE(!nowhere);
  CHECK_THAT(nowhere.error().message, Catch::Contains("missing/parameters.bin"));
}

TEST_CASE("a model without parameters has no parameter file", "[codegen]") {
  TemporaryDirectory directory;
  auto writer = ParameterFileWriter::create(directory.path + "/parameters.bin");
  REQUIRE(writer);
  auto summary = writer->finish();
  REQUIRE(summary);
  CHECK(summary->bytes == 0);
  CHECK(summary->hash.empty());
  CHECK(std::filesystem::is_empty(directory.path));
}

TEST_CASE("the manifest says what the loader checks", "[codegen]") {
  TemporaryDirectory directory;
  ManifestInfo info{"model\xff", "x86-64-v3", {128, std::string(64, 'a')}};
  const std::string hash(64, 'b');
  REQUIRE(writeManifest(directory.path, info, hash));
  auto json = readJsonFile(directory.path + "/manifest.json");
  REQUIRE(json);
  CHECK((*json)["schema"] == 1);
  CHECK((*json)["abi_major"] == SLUICE_ABI_MAJOR);
  CHECK((*json)["cpu_features"] == "x86-64-v3");
  CHECK((*json)["model"] == "model.so");
  CHECK((*json)["model_hash"] == hash);
  CHECK((*json)["parameters"] == "parameters.bin");
  CHECK((*json)["parameter_bytes"] == 128);
  CHECK((*json)["inputs"] == Json::array());
  CHECK(!json->contains("symbols"));
}

static ManifestInfo symbolicModel() {
  ManifestInfo info;
  info.name = "my model";
  info.inputs = {{"ids", "i64", {2, 512}, 8192, {"", "sequence"}}, {"mask", "i1", {512}, 512, {"sequence"}}};
  info.outputs = {{"y", "f32", {2, 511}, 4088, {"", "sequence - 1"}}};
  info.symbols = {{"sequence", 1, 512, 7, 0, 1}};
  return info;
}

TEST_CASE("the manifest has the shapes of inputs and outputs, and the symbols", "[codegen]") {
  TemporaryDirectory directory;
  REQUIRE(writeManifest(directory.path, symbolicModel(), ""));
  auto json = readJsonFile(directory.path + "/manifest.json");
  REQUIRE(json);
  CHECK((*json)["inputs"].dump() == R"([{"name":"ids","type":"i64","shape":[2,"sequence"],"bytes":8192},)"
                                    R"({"name":"mask","type":"i1","shape":["sequence"],"bytes":512}])");
  CHECK((*json)["outputs"][0]["shape"].dump() == R"([2,"sequence - 1"])");
  CHECK((*json)["symbols"].dump() == R"([{"name":"sequence","least":1,"most":512,"step":7,"input":0,"dimension":1}])");
}

TEST_CASE("the header has the symbols", "[codegen]") {
  TemporaryDirectory directory;
  REQUIRE(writeCHeader(directory.path, symbolicModel()));
  auto text = readFile(directory.path + "/model.h");
  REQUIRE(text);
  CHECK_THAT(*text, Catch::Contains("/* \"ids\": i64[2,sequence] */\n#define SLUICE_MY_MODEL_INPUT_IDS 0\n#define "
                                    "SLUICE_MY_MODEL_INPUT_IDS_ELEMENTS 1024\n"));
  CHECK_THAT(*text, Catch::Contains("f32[2,sequence - 1]"));
  CHECK_THAT(*text, Catch::Contains("#define SLUICE_MY_MODEL_NUM_SYMBOLS 1\n\n/* \"sequence\": dimension 1 of input "
                                    "\"ids\" */\n#define SLUICE_MY_MODEL_SYMBOL_SEQUENCE 0\n#define "
                                    "SLUICE_MY_MODEL_SYMBOL_SEQUENCE_LEAST 1\n#define "
                                    "SLUICE_MY_MODEL_SYMBOL_SEQUENCE_MOST 512\n#define "
                                    "SLUICE_MY_MODEL_SYMBOL_SEQUENCE_STEP 7\n"));
}

TEST_CASE("the header's names are C's, and distinct", "[codegen]") {
  TemporaryDirectory directory;
  ManifestInfo info;
  info.name = "my model";
  info.inputs = {{"input.1", "f32", {1, 3}, 12}, {"input:1", "i64", {}, 8}};
  info.outputs = {{"*/ int evil; /*", "f32", {0, 5}, 0}};
  REQUIRE(writeCHeader(directory.path, info));
  auto text = readFile(directory.path + "/model.h");
  REQUIRE(text);
  CHECK_THAT(*text, Catch::Contains("#define SLUICE_MY_MODEL_NUM_INPUTS 2\n"));
  CHECK_THAT(*text, Catch::Contains("#define SLUICE_MY_MODEL_INPUT_INPUT_1 0\n"));
  CHECK_THAT(*text, Catch::Contains("#define SLUICE_MY_MODEL_INPUT_INPUT_1_2 1\n"));
  CHECK_THAT(*text, Catch::Contains("#define SLUICE_MY_MODEL_INPUT_INPUT_1_ELEMENTS 3\n"));
  CHECK_THAT(*text, Catch::Contains("f32[1,3]"));
  CHECK_THAT(*text, !Catch::Contains("*/ int evil"));
  CHECK_THAT(*text, !Catch::Contains("SYMBOL"));
}
