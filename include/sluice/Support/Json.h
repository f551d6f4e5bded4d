//===- Json.h - JSON with diagnostics ---------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Checked reading of JSON with nlohmann::json. These functions throw no exceptions, limit
// nesting, and name the path in every error ("devices[2].memory").
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_JSON_H
#define SLUICE_SUPPORT_JSON_H

#include "sluice/Support/Error.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using Json = nlohmann::ordered_json;

/// Parses text; `origin` names the file in errors. Fails on malformed text, on
/// nesting deeper than 100, and on duplicate keys.
Expected<Json> parseJson(std::string_view text, std::string_view origin);
/// Reads and parses a file of at most `maxBytes`; a .gz file is not unpacked.
Expected<Json> readJsonFile(const std::string &path, int64_t maxBytes = int64_t(1) << 30);
/// Writes a temporary file beside `path` and renames it, so `path` is never half-written. If `path` is a terminal, a
/// pipe or a device, writes to it directly.
Status writeFileAtomically(const std::string &path, std::string_view contents);
Expected<std::string> readFile(const std::string &path, int64_t maxBytes = int64_t(1) << 30);

/// The text of a value: in one line, or, with an `indent` of 0 or more, with each member in a line of its own. Names
/// of models need not be valid UTF-8, but JSON must be, so each invalid byte becomes the character U+FFFD.
std::string jsonText(const Json &json, int indent = -1);

/// A value with its path in the document, for typed reads whose errors name the path.
class JsonReader {
public:
  JsonReader(const Json &value, std::string path) : value(&value), path(std::move(path)) {}
  const Json &json() const { return *value; }
  const std::string &where() const { return path; }

  bool has(std::string_view key) const;
  /// A required member. Fails unless this value is an object with this key.
  Expected<JsonReader> member(std::string_view key) const;
  /// The elements of this value. Fails unless it is an array.
  Expected<std::vector<JsonReader>> elements() const;

  Expected<std::string> asString() const;
  Expected<int64_t> asInteger() const;
  /// Any finite number.
  Expected<double> asNumber() const;
  Expected<bool> asBool() const;

  Expected<std::string> string(std::string_view key) const;
  Expected<int64_t> integer(std::string_view key) const;
  Expected<double> number(std::string_view key) const;
  /// The value of a member, or `fallback` if the key is absent.
  Expected<std::string> string(std::string_view key, std::string_view fallback) const;
  Expected<int64_t> integer(std::string_view key, int64_t fallback) const;
  Expected<double> number(std::string_view key, double fallback) const;
  Expected<bool> boolean(std::string_view key, bool fallback) const;

  /// Fails if the object has a key outside `known`; the error names the key.
  Status onlyKeys(std::initializer_list<std::string_view> known) const;

private:
  const Json *value;
  std::string path;
};

} // namespace sluice

#endif // SLUICE_SUPPORT_JSON_H
