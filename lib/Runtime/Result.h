//===- Result.h - Errors inside the runtime ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The runtime shares no code with the compiler, so it has its own short error
// type: the message that sluice_last_error returns.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_RESULT_H
#define SLUICE_RUNTIME_RESULT_H

#include <sstream>
#include <string>
#include <tl/expected.hpp>

namespace sluice::runtime {

template <typename T>
using Result = tl::expected<T, std::string>;
using Status = Result<void>;

template <typename... Ts>
tl::unexpected<std::string> failure(const Ts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return tl::unexpected<std::string>(out.str());
}

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_RESULT_H
