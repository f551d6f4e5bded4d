//===- TextModel.cpp - Models in ONNX's textual syntax --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ModelInternals.h"

#include "sluice/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <onnx/defs/parser.h>
#include <stdexcept>

namespace sluice {

namespace {
constexpr size_t kTextLimit = size_t(16) << 20;
constexpr int kDeepestBrackets = 100;
} // namespace

/// How deep brackets nest outside comments and strings, at most; the arrow in `(x) => (y)` closes nothing. The parser
/// calls itself at each opening bracket, without a limit of its own. A closing bracket without an opening one counts
/// nothing: the parser stops there.
static int deepestBrackets(std::string_view text) {
  int depth = 0, deepest = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
    case '#':
      at = std::min(text.find('\n', at), text.size());
      break;
    case '"': // No character escapes the closing one.
      at = std::min(text.find('"', at + 1), text.size());
      break;
    case '=':
      at += at + 1 < text.size() && text[at + 1] == '>';
      break;
    case '{':
    case '(':
    case '<':
    case '[':
      deepest = std::max(deepest, ++depth);
      break;
    case '}':
    case ')':
    case '>':
    case ']':
      depth = std::max(depth - 1, 0);
      break;
    default:
      break;
    }
  }
  return deepest;
}

/// The parser's message, "[ParseError at position (line: 1 column: 9)]\nError context: <a line>\n<what is wrong>", with
/// the line shortened around the column.
static std::string shortMessage(std::string_view message) {
  constexpr std::string_view kColumn = "column: ", kContext = "\nError context: ";
  const size_t context = message.find(kContext);
  if (context == std::string_view::npos)
    return excerpt(message);
  const size_t begin = context + kContext.size(), end = std::min(message.find('\n', begin), message.size());
  size_t column = 0;
  if (size_t at = message.find(kColumn); at < context)
    std::from_chars(message.data() + at + kColumn.size(), message.data() + context, column);
  const std::string_view wrong = message.substr(std::min(end + 1, message.size()));
  return concat(excerpt(message.substr(0, context)), " ", excerpt(wrong), " In '",
                excerptAround(message.substr(begin, end - begin), column), "'");
}

Status parseTextModel(std::string_view text, const std::string &path, ::onnx::ModelProto &model) {
  if (text.size() > kTextLimit)
    return makeError(ErrorCode::Unsupported, "textual model '", path, "' is larger than 16 MiB, give a binary one");
  // The parser expects ASCII.
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) <= 0; }))
    return makeError(ErrorCode::InvalidInput, "'", path,
                     "' is not text in ASCII, give an ONNX file or the text of a model");
  if (int depth = deepestBrackets(text); depth > kDeepestBrackets)
    return makeError(ErrorCode::InvalidInput, "textual model '", path, "' is nested too deeply, with ", depth,
                     " brackets inside each other, give at most ", kDeepestBrackets);
  const std::string copy(text);
  ::onnx::OnnxParser parser(copy.c_str());
  auto wrong = [&](std::string_view message) {
    return makeError(ErrorCode::InvalidInput, "cannot parse textual model '", path, "': ", shortMessage(message),
                     ", correct its syntax");
  };
  auto here = [&](std::string_view message) {
    return wrong(concat("[ParseError at position ", parser.GetCurrentPos(),
                        "]\nError context: ", parser.GetErrorContext(), "\n", message));
  };
  // Numbers go through std::stoll and friends.
  try {
    ::onnx::Common::Status status = parser.Parse(model);
    if (!status.IsOK())
      return wrong(status.ErrorMessage());
    return parser.EndOfInput() ? Status() : here("Text follows the model.");
  } catch (const std::out_of_range &) {
    return here("A number is out of range.");
  } catch (const std::invalid_argument &) {
    return here("A number is expected.");
  }
}

} // namespace sluice
