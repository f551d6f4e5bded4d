//===- Error.cpp - Errors as values ---------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Error.h"

namespace sluice {

std::string textForUsers(const Error &error) {
  if (error.code != ErrorCode::Internal || error.message.find("this is a bug of Sluice") != std::string::npos)
    return error.message;
  return error.message + ", this is a bug of Sluice, please report it with the command and its input";
}

} // namespace sluice
