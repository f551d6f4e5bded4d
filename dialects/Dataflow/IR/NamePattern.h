//===- NamePattern.h - Names that a user asks for ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_NAMEPATTERN_H
#define SLUICE_DATAFLOW_IR_NAMEPATTERN_H

#include "sluice/Support/Error.h"

#include "llvm/Support/Regex.h"

#include <string>

namespace sluice::dataflow {

/// A POSIX extended regular expression that a whole name matches. Names come from
/// files: std::regex recurses once a character, and a long one ends the process.
class NamePattern {
public:
  /// Fails where the text is none; `whose` says of what names, "layers' names".
  static Expected<NamePattern> create(const std::string &text, const std::string &whose) {
    NamePattern pattern;
    std::string why;
    // Alone first: what has too many brackets must not close ours.
    if (!llvm::Regex(text).isValid(why))
      return makeError(ErrorCode::InvalidInput, "'", text, "' is not a regular expression of ", whose, ", ", why,
                       ", correct the expression");
    pattern.regex = llvm::Regex("^(" + text + ")$");
    return pattern;
  }
  bool matches(llvm::StringRef name) const { return regex.match(name); }

private:
  llvm::Regex regex;
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_NAMEPATTERN_H
