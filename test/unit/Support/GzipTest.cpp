//===- GzipTest.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Gzip.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {
// `printf 'tilings' | gzip -n`
constexpr unsigned char kPacked[] = {0x1f, 0x8b, 0x08, 0,    0, 0,    0,    0,    0,    0x03, 0x2b, 0xc9, 0xcc, 0xc9,
                                     0xcc, 0x4b, 0x2f, 0x06, 0, 0xdd, 0x6c, 0xa5, 0x11, 0x07, 0,    0,    0};
const std::string packed(reinterpret_cast<const char *>(kPacked), sizeof kPacked);
} // namespace

TEST_CASE("gzip is unpacked, members one after the other", "[gzip]") {
  CHECK(isGzip(packed));
  CHECK_FALSE(isGzip("{}"));
  CHECK(*gunzip(packed, "f") == "tilings");
  CHECK(*gunzip(packed + packed, "f") == "tilingstilings");
}

TEST_CASE("damaged, cut and enormous gzip is refused", "[gzip]") {
  CHECK(gunzip(packed.substr(0, packed.size() - 1), "f")
            .error()
            .message.find("the compressed data in 'f' is cut short") != std::string::npos);
  CHECK(!gunzip(packed.substr(0, 2), "f"));
  std::string damaged = packed;
  damaged[11] = '\x55';
  CHECK(gunzip(damaged, "f").error().message.find("the compressed data in 'f' is damaged") != std::string::npos);
  CHECK(!gunzip(packed + "rest", "f"));
  CHECK(gunzip(packed, "f", 6).error().message == "'f' unpacks to more than 6 bytes, give a smaller file");
}
