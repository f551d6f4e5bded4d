//===- Csv.cpp ------------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Csv.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice::bench {

void printCsv(const Json &rows) {
  std::vector<std::string> columns;
  std::vector<Json> flat;
  for (const Json &row : rows) {
    Json &out = flat.emplace_back(Json::object());
    for (const auto &[key, value] : row.items())
      if (value.is_object())
        for (const auto &[name, inner] : value.items())
          out[key + "_" + name] = inner;
      else if (!value.is_array())
        out[key] = value;
    for (const auto &[key, value] : out.items())
      if (std::find(columns.begin(), columns.end(), key) == columns.end())
        columns.push_back(key);
  }
  for (size_t i = 0; i < columns.size(); ++i)
    std::cout << (i > 0 ? "," : "") << columns[i];
  std::cout << '\n';
  for (const Json &row : flat) {
    for (size_t i = 0; i < columns.size(); ++i) {
      std::string text;
      if (row.contains(columns[i]) && row[columns[i]].is_string()) {
        text = row[columns[i]].get<std::string>();
        for (size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2)
          text.insert(at, 1, '"');
        text = '"' + text + '"';
      } else if (row.contains(columns[i]) && !row[columns[i]].is_null()) {
        text = jsonText(row[columns[i]]);
      }
      std::cout << (i > 0 ? "," : "") << text;
    }
    std::cout << '\n';
  }
}

Json orNull(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

double ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

std::string cell(const Json &row, const std::string &key, const char *format) {
  if (!row.contains(key) || row[key].is_null())
    return "-";
  char text[64];
  std::snprintf(text, sizeof text, format, row[key].get<double>());
  return text;
}

} // namespace sluice::bench
