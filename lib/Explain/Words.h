//===- Words.h - Facts as parts of sentences --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_EXPLAIN_WORDS_H
#define SLUICE_LIB_EXPLAIN_WORDS_H

#include "sluice/Explain/Explain.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::words {

/// The name in single quotes, shortened if it is long, without control characters.
std::string inQuotes(std::string_view name);
/// "'a', 'b', 'c' and 4 more".
std::string listOf(const std::vector<std::string> &names, size_t most = 3);
/// "1 operator", "3 operators".
std::string countOf(size_t count, std::string_view what);
/// "'conv1'"; "operator 'conv1'" where a noun is given; "the new value 's1' of a state".
std::string named(std::string_view noun, std::string_view name);
/// The text as the start of a sentence: its first letter becomes a capital.
std::string capital(std::string text);
/// "'conv1'", "the copy of 'w' from 'host' to 'gpu0'", or "copy 1 of 2 of 'w' from 'host' to 'gpu0'".
std::string commandText(const CommandFact &command);
/// Like commandText(), without memories: "the copy of 'w'".
std::string commandName(const CommandFact &command);
/// Like commandText(), with the device of an operator: "'conv1' on 'gpu1'".
std::string commandWithDevice(const CommandFact &command);
/// The text of a value that is not negative, such as "7,711,104".
std::string formatCount(int64_t value);
Json factToJson(const CommandFact &command);

} // namespace sluice::words

#endif // SLUICE_LIB_EXPLAIN_WORDS_H
