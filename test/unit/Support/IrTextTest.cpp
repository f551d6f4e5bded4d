//===- IrTextTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/IrText.h"

#include <catch2/catch.hpp>

using namespace sluice;

static std::string refusal(std::string_view text) {
  const Status status = checkResultNumbers(text, "a.mlir");
  return status ? "" : status.error().message;
}

TEST_CASE("numbers of results have a limit", "[support]") {
  CHECK(refusal("") == "");
  CHECK(refusal("%") == "");
  CHECK(refusal("%x#") == "");
  CHECK(refusal("%r:2 = f\n%s = g %r#1, %r#65535 : i32") == "");
  CHECK(refusal("f\ng %r#65536") ==
        "line 2 of 'a.mlir': the number of a result exceeds 65535, correct the number after '#'");
  CHECK(refusal("g %r.a-b$_9#99999999999999999999999999") != "");
  CHECK(refusal("g %0#2147483648") != "");
}

TEST_CASE("only references to results count", "[support]") {
  CHECK(refusal("#map70000 = x // %x#70000\nf \"%x#70000 \\\" %x#70000\"") == "");
  CHECK(refusal("f \"open\n%x#70000") != "");
  CHECK(refusal("f \"\\\\\" %x#70000") != "");
  CHECK(refusal("// comment\n%x#70000") != "");
  CHECK(refusal("f \"ends with \\") == "");
  CHECK(refusal("ML\xEFR %x#70000") == "");
}
