//===- Error.h - Errors as values -------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// User mistakes are reported as values of type Error, never by exceptions or asserts. A message has the form `<what>,
// <where>, <what to do>`: lower case, no full stop, names in single quotes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_ERROR_H
#define SLUICE_SUPPORT_ERROR_H

#include <cstdint>
#include <sstream>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace sluice {

enum class ErrorCode : uint8_t {
  InvalidInput, ///< A file, model or option has an invalid value.
  NotFound,     ///< A file, device, tensor or solver does not exist.
  Unsupported,  ///< The input is valid but not supported.
  Infeasible,   ///< No solution within the given limits exists or was found.
  Io,           ///< The operating system or the runtime refused a read, a write, a mapping or a step.
  Interrupted,  ///< The user or a clock stopped the work before there was a result.
  Internal,     ///< A bug of Sluice, found by a validator.
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  /// The operators concerned, if any, as indices into the problem's graph.
  std::vector<uint32_t> operators;
};

template <typename T>
using Expected = tl::expected<T, Error>;
/// Success or an Error.
using Status = tl::expected<void, Error>;

/// Concatenates values that can be printed with `<<`.
template <typename... Ts>
std::string concat(const Ts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// For example: `return makeError(ErrorCode::NotFound, "device '", name, "' is not in ...");`
template <typename... Ts>
tl::unexpected<Error> makeError(ErrorCode code, const Ts &...parts) {
  return tl::unexpected<Error>(Error{code, concat(parts...), {}});
}

/// The text for a user: the message and, if the error is Internal, a request to report the bug. The request is added
/// only if the message does not contain one.
std::string textForUsers(const Error &error);

/// Returns the error of another result.
template <typename T>
tl::unexpected<Error> propagate(tl::expected<T, Error> &failed) {
  return tl::unexpected<Error>(std::move(failed.error()));
}

} // namespace sluice

#define SLUICE_ERROR_JOIN_(a, b) a##b
#define SLUICE_ERROR_JOIN(a, b) SLUICE_ERROR_JOIN_(a, b)

// The check wants parentheses around macro arguments, but `(Graph graph) = ...` declares no variable.
// NOLINTBEGIN(bugprone-macro-parentheses)
/// `SLUICE_ASSIGN_OR_RETURN(Graph graph, readGraph(path));` declares `graph` as the expression's value. If the
/// expression fails, the enclosing function returns its error. If the type has a comma, write `auto` instead, because
/// the macro would split the type.
#define SLUICE_ASSIGN_OR_RETURN(declaration, ...)                                                                      \
  auto SLUICE_ERROR_JOIN(expected, __LINE__) = (__VA_ARGS__);                                                          \
  if (!SLUICE_ERROR_JOIN(expected, __LINE__))                                                                          \
    return ::sluice::propagate(SLUICE_ERROR_JOIN(expected, __LINE__));                                                 \
  declaration = std::move(*SLUICE_ERROR_JOIN(expected, __LINE__))
// NOLINTEND(bugprone-macro-parentheses)

/// Returns the error of a Status from the enclosing function.
#define SLUICE_RETURN_IF_ERROR(...)                                                                                    \
  do {                                                                                                                 \
    if (auto status = (__VA_ARGS__); !status)                                                                          \
      return ::sluice::propagate(status);                                                                              \
  } while (false)

#endif // SLUICE_SUPPORT_ERROR_H
