//===- OptionText.h - Text as an option of a pass ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A textual pipeline cannot express every text: quotes, braces and spaces end or nest options, and spaces at the ends
// of a value are lost. Options of Sluice's passes therefore read text percent-encoded, as in URLs:
// `plan=my%20plan.json` names the file 'my plan.json'. A '%' that two hexadecimal digits do not follow stands for
// itself.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_OPTIONTEXT_H
#define SLUICE_PASSES_OPTIONTEXT_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace sluice {

/// Encodes text of any bytes for a textual pipeline; decodeOption returns the text.
inline std::string encodeOption(llvm::StringRef text) {
  std::string encoded;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || llvm::StringRef("{}[]()<>'\"%").contains(c))
      encoded += {'%', llvm::hexdigit(byte >> 4, /*LowerCase=*/true), llvm::hexdigit(byte & 15, /*LowerCase=*/true)};
    else
      encoded += c;
  }
  return encoded;
}

inline std::string decodeOption(llvm::StringRef text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && llvm::isHexDigit(text[i + 1]) && llvm::isHexDigit(text[i + 2])) {
      decoded += static_cast<char>(llvm::hexDigitValue(text[i + 1]) * 16 + llvm::hexDigitValue(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

/// The type of a pass's options that hold text.
struct OptionText : std::string {
  OptionText() = default;
  OptionText(std::string text) : std::string(std::move(text)) {}
  OptionText(const char *text) : std::string(text) {}
  OptionText(llvm::StringRef text) : std::string(text) {}
};

/// Prints the encoded text, for printed pipelines.
inline llvm::raw_ostream &operator<<(llvm::raw_ostream &out, const OptionText &text) {
  return out << encodeOption(text);
}

} // namespace sluice

namespace llvm::cl {

template <>
struct OptionValue<sluice::OptionText> final : OptionValueCopy<sluice::OptionText> {
  using WrapperType = sluice::OptionText;
  OptionValue() = default;
  OptionValue(const sluice::OptionText &value) { setValue(value); }
  template <typename T>
  OptionValue &operator=(const T &value) {
    setValue(sluice::OptionText(value));
    return *this;
  }
};

template <>
class parser<sluice::OptionText> : public basic_parser<sluice::OptionText> {
public:
  parser(Option &option) : basic_parser(option) {}

  bool parse(Option &, StringRef, StringRef text, sluice::OptionText &value) {
    value = sluice::decodeOption(text);
    return false;
  }
  void printOptionDiff(const Option &option, const sluice::OptionText &, const OptVal &, size_t width) const {
    printOptionNoValue(option, width);
  }
  StringRef getValueName() const override { return "string"; }
};

} // namespace llvm::cl

#endif // SLUICE_PASSES_OPTIONTEXT_H
