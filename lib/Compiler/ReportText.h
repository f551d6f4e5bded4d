//===- ReportText.h - Text in markup ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_REPORTTEXT_H
#define SLUICE_LIB_COMPILER_REPORTTEXT_H

#include <string>
#include <string_view>

namespace sluice {

/// Text as it reads in an element or an attribute, of HTML and of SVG.
std::string escapeHtml(std::string_view text);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_REPORTTEXT_H
