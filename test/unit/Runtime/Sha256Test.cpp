//===- Sha256Test.cpp - Against FIPS 180-4's examples ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Sha256.h"

#include <catch2/catch.hpp>

using namespace sluice::runtime;

TEST_CASE("SHA-256 of the standard's examples", "[runtime]") {
  auto of = [](const std::string &text) { return sha256Hex(text.data(), text.size()); };
  CHECK(of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(of(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how the data is cut", "[runtime]") {
  std::string data(1000, '\0');
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i * 7);
  std::string whole = sha256Hex(data.data(), data.size());
  for (size_t piece : {1, 3, 55, 56, 63, 64, 65, 119, 128, 999}) {
    Sha256 hash;
    for (size_t at = 0; at < data.size(); at += piece)
      hash.update(data.data() + at, std::min(piece, data.size() - at));
    CHECK(hash.finish() == whole);
  }
}
