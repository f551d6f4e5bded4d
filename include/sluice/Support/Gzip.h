//===- Gzip.h - Compressed files --------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_GZIP_H
#define SLUICE_SUPPORT_GZIP_H

#include "sluice/Support/Error.h"

#include <string>
#include <string_view>

namespace sluice {

/// Whether bytes begin as a gzip file does (RFC 1952, section 2.3.1).
bool isGzip(std::string_view bytes);
/// Unpacks a gzip file of one or more members; `origin` names it in errors. Fails
/// where it is damaged or cut short, and on more than `maxBytes` unpacked.
Expected<std::string> gunzip(std::string_view bytes, std::string_view origin, int64_t maxBytes = int64_t(1) << 30);

} // namespace sluice

#endif // SLUICE_SUPPORT_GZIP_H
