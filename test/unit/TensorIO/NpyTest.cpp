//===- NpyTest.cpp - NumPy's array files ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/Npy.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <stdlib.h>

using namespace sluice;

namespace {

std::string npy(const std::string &header, const std::string &data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + data;
}

std::string errorOf(const std::string &text) {
  Expected<HostTensor> tensor = parseNpy(text, "file.npy");
  return tensor ? "" : tensor.error().message;
}

} // namespace

TEST_CASE("a file as numpy writes it", "[tensorio]") {
  // numpy.save of numpy.array([[1, -2], [3, 4]], dtype='<i2').
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }";
  header.resize(117, ' ');
  header += '\n';
  std::string data("\x01\x00\xfe\xff\x03\x00\x04\x00", 8), file = npy(header, data);
  HostTensor tensor = *parseNpy(file, "file.npy");
  CHECK(tensor.type == ElementType::Int16);
  CHECK(tensor.shape == std::vector<int64_t>{2, 2});
  CHECK(tensor.valueAt(1) == -2);
  CHECK(formatNpy(tensor) == file);
  CHECK(parseNpy(npy(header, data, 2), "file.npy")->bytes == tensor.bytes);
  CHECK(parseNpy(npy(header, data, 3), "file.npy")->bytes == tensor.bytes);
}

TEST_CASE("every type and rank survives writing and reading", "[tensorio]") {
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-npy-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()));
  std::string path = pattern + "/some.tensor.npy";
  const std::vector<int64_t> shapes[] = {{}, {5}, {0, 3}, {2, 3, 4}, std::vector<int64_t>(40, 1)};
  for (int64_t number : {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16})
    for (const std::vector<int64_t> &shape : shapes) {
      HostTensor tensor = *makeTensor("some.tensor", *elementTypeFromOnnx(number), shape);
      fillRandom(tensor, 1);
      REQUIRE(writeNpy(path, tensor));
      Expected<HostTensor> back = readNpy(path);
      REQUIRE(back);
      CHECK(back->name == tensor.name);
      CHECK(back->type == tensor.type);
      CHECK(back->shape == tensor.shape);
      CHECK(back->bytes == tensor.bytes);
      CHECK((formatNpy(tensor).size() - tensor.bytes.size()) % 64 == 0);
    }
  CHECK_FALSE(readNpy(pattern + "/none.npy"));
  std::filesystem::remove_all(pattern);
}

TEST_CASE("other spellings that numpy reads", "[tensorio]") {
  CHECK(errorOf(npy("{\"shape\":(2L,),\"descr\":\"|u1\",\"fortran_order\":True}", "ab")) == "");
  CHECK(errorOf(npy("{'descr': '|b1', 'fortran_order': False, 'shape': ()}\n", "\x07")) == "");
  HostTensor flag = *parseNpy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\x07"), "file.npy");
  CHECK(flag.valueAt(0) == 1);
}

TEST_CASE("hostile NPY files are errors", "[tensorio]") {
  auto has = [](const std::string &text, const char *part) {
    std::string message = errorOf(text);
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
  };
  std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678");
  REQUIRE(errorOf(good) == "");
  for (size_t length = 0; length < good.size(); ++length)
    CHECK(errorOf(good.substr(0, length)) != "");
  has(good + "x", "9 bytes of data and its shape [2] of float32 needs 8");
  has("\x93NUMPX" + good.substr(6), "is not an NPY file");
  has(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678", 4), "NPY version 4");
  std::string longHeader = npy("", "", 2);
  longHeader.replace(8, 4, "\xff\xff\xff\xff");
  has(longHeader, "is truncated");
  auto header = [&](const char *text, const char *part) { has(npy(text, "12345678"), part); };
  header("", "'{' expected");
  header("{", "a string expected");
  header("{'descr': '<f4', 'fortran_order': False}", "once each");
  header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "once each");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "once each");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "once each");
  header("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", "True or False");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "dimensions of int64");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "dimensions of int64");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", "more than 2^62");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "needs 4000000000000");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2", "',' or ')' expected");
  header("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "',' or ')' expected");
  header("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "'>f4'");
  header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8'");
  header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "holds records");
  header("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", "Fortran order");
  std::string deep = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; ++i)
    deep += "1,";
  has(npy(deep + ")}", "1234"), "at most 64 dimensions");
}
