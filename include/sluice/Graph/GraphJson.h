//===- GraphJson.h - Graphs as JSON -----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_GRAPH_GRAPHJSON_H
#define SLUICE_GRAPH_GRAPHJSON_H

#include "sluice/Graph/Graph.h"
#include "sluice/Support/Json.h"

namespace sluice {

/// The schema version that is written. Older versions can be read too.
inline constexpr int kGraphSchema = 1;

Json graphToJson(const Graph &graph);
/// An error names the JSON path of the first mistake. The result passes check().
Expected<Graph> graphFromJson(const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_GRAPH_GRAPHJSON_H
