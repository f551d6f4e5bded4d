//===- Tokenizer.h - Text as tokens, and tokens as text ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_TOKENIZER_H
#define SLUICE_TOOLS_SLUICE_TOKENIZER_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::driver {

/// Converts by the Python package `tokenizers`, which defines the format of `tokenizer.json`. No C++ library in Debian
/// reads this format. Each call starts a process of the `python3` in PATH.
class Tokenizer {
public:
  /// Fails if there is no such file, or no `python3`.
  static Expected<Tokenizer> open(const std::string &path);

  /// The tokens of a text, with those that the tokenizer adds to a prompt. These functions fail if the package is not
  /// installed or cannot read the file.
  Expected<std::vector<int64_t>> encode(const std::string &text) const;
  /// The text of tokens in UTF-8, without special tokens.
  Expected<std::string> decode(std::span<const int64_t> tokens) const;

private:
  Tokenizer(std::string path, std::string python) : path(std::move(path)), python(std::move(python)) {}
  /// The answer of the package to `request`, JSON both.
  Expected<std::string> ask(const std::string &request) const;

  std::string path, python;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_TOKENIZER_H
