//===- ErrorTest.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Error.h"

#include <catch2/catch.hpp>

using namespace sluice;

TEST_CASE("users are asked once to report a bug", "[support]") {
  const std::string request = ", this is a bug of Sluice, please report it with the command and its input";
  CHECK(textForUsers({ErrorCode::Internal, "buffers 'a' and 'b' overlap", {}}) ==
        "buffers 'a' and 'b' overlap" + request);
  CHECK(textForUsers({ErrorCode::Internal, "x, this is a bug of Sluice, please report it, in 'm.onnx'", {}}) ==
        "x, this is a bug of Sluice, please report it, in 'm.onnx'");
  CHECK(textForUsers({ErrorCode::Io, "cannot read 'a', correct the path", {}}) == "cannot read 'a', correct the path");
}
