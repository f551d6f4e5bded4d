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

/// 'name', shortened where it is long, without control characters.
std::string inQuotes(std::string_view name);
/// "'a', 'b', 'c' and 4 more".
std::string listOf(const std::vector<std::string> &names, size_t most = 3);
/// "1 operator", "3 operators".
std::string countOf(size_t count, std::string_view what);
/// "'conv1'"; "operator 'conv1'" where a noun is given; "the new value 's1' of a state".
std::string named(std::string_view noun, std::string_view name);
/// With a capital at its start where that is a letter: the start of a sentence.
std::string capital(std::string text);
/// "'conv1'", "the copy of 'w' from 'host' to 'gpu0'", or "copy 1 of 2 of 'w' from 'host' to 'gpu0'".
std::string commandText(const CommandFact &command);
/// The same without memories: "the copy of 'w'".
std::string commandName(const CommandFact &command);
/// The same as commandText(), and of an operator the device: "'conv1' on 'gpu1'".
std::string commandWithDevice(const CommandFact &command);
/// "7,711,104", of a value that is not negative.
std::string formatCount(int64_t value);
Json factToJson(const CommandFact &command);

} // namespace sluice::words

#endif // SLUICE_LIB_EXPLAIN_WORDS_H
