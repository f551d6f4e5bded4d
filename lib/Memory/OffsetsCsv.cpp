//===- OffsetsCsv.cpp - MiniMalloc's instance files -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Memory/OffsetsCsv.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <unordered_set>

using namespace sluice;

static std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

static std::vector<std::string_view> splitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0;;) {
    size_t comma = line.find(',', begin);
    fields.push_back(trim(line.substr(begin, comma - begin)));
    if (comma == std::string_view::npos)
      return fields;
    begin = comma + 1;
  }
}

namespace {
enum Column : size_t { Id, Lower, Upper, Size, Alignment, Offset, NumColumns };
constexpr std::array<std::string_view, NumColumns> kColumnNames = {"id",   "lower",     "upper",
                                                                   "size", "alignment", "offset"};
} // namespace

Expected<OffsetProblem> sluice::offsetsFromCsv(std::string_view text, std::string_view origin,
                                               std::vector<int64_t> *offsets) {
  OffsetProblem problem;
  std::array<size_t, NumColumns> fieldOf;
  fieldOf.fill(std::string_view::npos);
  size_t numFields = 0, lineNumber = 0;
  std::unordered_set<std::string_view> seen;
  while (!text.empty()) {
    size_t newline = text.find('\n');
    std::string_view line = trim(text.substr(0, newline));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    ++lineNumber;
    if (line.empty())
      continue;
    std::vector<std::string_view> fields = splitFields(line);
    if (numFields == 0) {
      for (size_t f = 0; f < fields.size(); ++f) {
        auto name = std::find(kColumnNames.begin(), kColumnNames.end(), fields[f]);
        if (name == kColumnNames.end() || (!offsets && *name == kColumnNames[Offset]))
          return makeError(ErrorCode::InvalidInput, "unknown column '", fields[f].substr(0, 40), "', ", origin, ":",
                           lineNumber, ", use only the columns id, lower, upper, size and alignment");
        size_t &field = fieldOf[static_cast<size_t>(name - kColumnNames.begin())];
        if (field != std::string_view::npos)
          return makeError(ErrorCode::InvalidInput, "column '", *name, "' appears twice, ", origin, ":", lineNumber,
                           ", keep one");
        field = f;
      }
      for (size_t column : {Id, Lower, Upper, Size})
        if (fieldOf[column] == std::string_view::npos)
          return makeError(ErrorCode::InvalidInput, "column '", kColumnNames[column], "' is missing, ", origin, ":",
                           lineNumber, ", write a header with id, lower, upper and size");
      numFields = fields.size();
      continue;
    }
    if (fields.size() != numFields)
      return makeError(ErrorCode::InvalidInput, "the line has ", fields.size(), " fields and the header has ",
                       numFields, ", ", origin, ":", lineNumber, ", give one field for each column");
    Buffer buffer;
    int64_t offset = 0;
    for (auto [column, value] :
         {std::pair{Lower, &buffer.lower}, std::pair{Upper, &buffer.upper}, std::pair{Size, &buffer.bytes},
          std::pair{Alignment, &buffer.alignment}, std::pair{Offset, &offset}}) {
      if (fieldOf[column] == std::string_view::npos)
        continue;
      Expected<int64_t> parsed = parseInteger(fields[fieldOf[column]]);
      if (!parsed)
        return makeError(ErrorCode::InvalidInput, "'", fields[fieldOf[column]].substr(0, 40), "' is not an integer, ",
                         origin, ":", lineNumber, ", column '", kColumnNames[column], "', write digits only");
      *value = *parsed;
    }
    std::string_view id = fields[fieldOf[Id]];
    if (id.empty())
      return makeError(ErrorCode::InvalidInput, "the id is empty, ", origin, ":", lineNumber,
                       ", give each buffer an id");
    if (!seen.insert(id).second)
      return makeError(ErrorCode::InvalidInput, "id '", id.substr(0, 40), "' appears twice, ", origin, ":", lineNumber,
                       ", rename one of these buffers");
    problem.buffers.push_back(buffer);
    problem.ids.emplace_back(id);
    if (fieldOf[Offset] != std::string_view::npos)
      offsets->push_back(offset);
  }
  if (numFields == 0)
    return makeError(ErrorCode::InvalidInput, "the header is missing, ", origin,
                     ", begin the file with 'id,lower,upper,size'");
  if (Status status = check(problem); !status)
    return makeError(status.error().code, origin, ": ", status.error().message);
  return problem;
}

Expected<std::string> sluice::offsetsToCsv(const OffsetProblem &problem, const OffsetSolution *solution) {
  bool aligned = std::any_of(problem.buffers.begin(), problem.buffers.end(),
                             [](const Buffer &buffer) { return buffer.alignment != 1; });
  std::string text = "id,lower,upper,size";
  text += aligned ? ",alignment" : "";
  text += solution ? ",offset\n" : "\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    std::string id = problem.ids.empty() ? std::to_string(i) : problem.ids[i];
    if (id.find_first_of(",\"\r\n") != std::string::npos)
      return makeError(ErrorCode::InvalidInput, "id of buffer ", i,
                       " holds a comma, quote or line end, rename the buffer");
    text += concat(id, ',', buffer.lower, ',', buffer.upper, ',', buffer.bytes);
    if (aligned)
      text += concat(',', buffer.alignment);
    if (solution)
      text += concat(',', solution->offsets[i]);
    text += '\n';
  }
  return text;
}
