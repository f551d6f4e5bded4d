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

/// Whether the first two bytes are the bytes with which a gzip file begins (RFC 1952, section 2.3.1).
bool isGzip(std::string_view bytes);
/// Unpacks a gzip file of one or more members; `origin` names the file in errors. Fails if the
/// file is damaged or cut short, if it unpacks to more than `maxBytes` bytes, and always if
/// Sluice was built without zlib.
Expected<std::string> gunzip(std::string_view bytes, std::string_view origin, int64_t maxBytes = int64_t(1) << 30);

} // namespace sluice

#endif // SLUICE_SUPPORT_GZIP_H
