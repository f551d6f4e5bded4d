//===- ReportText.h - What drawings of a plan share -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_REPORTTEXT_H
#define SLUICE_LIB_COMPILER_REPORTTEXT_H

#include "sluice/Machine/Machine.h"
#include "sluice/Plan/Plan.h"

#include <string>
#include <string_view>

namespace sluice {

/// Escapes text for an element or an attribute of HTML or SVG.
std::string escapeHtml(std::string_view text);

/// The label of a stream's row, such as "accel0 in".
std::string streamLabel(const Machine &machine, const Stream &stream);

/// The bytes that the height of a drawn memory stands for, at least 1: its limit or its peak. A limit far above the
/// bytes in use would flatten them.
int64_t drawnBytes(int64_t capacityBytes, int64_t peakBytes);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_REPORTTEXT_H
