//===- NamePattern.h - Names that a user asks for ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_NAMEPATTERN_H
#define SLUICE_DATAFLOW_IR_NAMEPATTERN_H

#include "sluice/Support/Error.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <string>

namespace sluice::dataflow {

/// A POSIX extended regular expression that must match a whole name. Does not use std::regex, which recurses once per
/// character, so that a long name from a file would end the process.
class NamePattern {
public:
  /// Fails if the text is no regular expression. `whose` says in errors what the names are, such as "layers' names".
  static Expected<NamePattern> create(const std::string &text, const std::string &whose) {
    NamePattern pattern;
    std::string why;
    // First checks the text alone, because its surplus brackets could close the ones added here.
    if (!llvm::Regex(text).isValid(why))
      return makeError(ErrorCode::InvalidInput, "'", text, "' is not a valid regular expression for ", whose,
                       ", because of the error \"", why, "\", correct the expression");
    pattern.regex = llvm::Regex("^(" + text + ")$");
    return pattern;
  }
  bool matches(llvm::StringRef name) const { return regex.match(name); }

private:
  llvm::Regex regex;
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_NAMEPATTERN_H
