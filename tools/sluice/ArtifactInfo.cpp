//===- ArtifactInfo.cpp - What an artifact is -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArtifactInfo.h"
#include "SharedOptions.h"
#include "sluice/Codegen/Artifact.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace sluice::driver {

namespace {

struct ReadManifest {
  ManifestInfo info;
  std::string compiler;
  int64_t abiMajor = 0, abiMinor = 0;
};

/// The elements of an array, none where the member is absent: older manifests have no inputs and outputs.
Expected<std::vector<JsonReader>> elementsOf(const JsonReader &json, std::string_view key) {
  if (!json.has(key))
    return std::vector<JsonReader>();
  SLUICE_ASSIGN_OR_RETURN(JsonReader list, json.member(key));
  return list.elements();
}

Expected<std::vector<PortInfo>> readPorts(const JsonReader &json, std::string_view key) {
  std::vector<PortInfo> ports;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, elementsOf(json, key));
  for (const JsonReader &entry : entries) {
    PortInfo port;
    SLUICE_ASSIGN_OR_RETURN(port.name, entry.string("name"));
    SLUICE_ASSIGN_OR_RETURN(port.elementType, entry.string("type"));
    SLUICE_ASSIGN_OR_RETURN(port.bytes, entry.integer("bytes"));
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> extents, elementsOf(entry, "shape"));
    for (const JsonReader &extent : extents) {
      const bool isNumber = extent.json().is_number();
      SLUICE_ASSIGN_OR_RETURN(int64_t number, isNumber ? extent.asInteger() : Expected<int64_t>(0));
      SLUICE_ASSIGN_OR_RETURN(std::string text, isNumber ? Expected<std::string>("") : extent.asString());
      port.shape.push_back(number);
      port.expressions.push_back(std::move(text));
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

Expected<std::vector<SymbolInfo>> readSymbols(const JsonReader &json, size_t numInputs) {
  std::vector<SymbolInfo> symbols;
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, elementsOf(json, "symbols"));
  for (const JsonReader &entry : entries) {
    SymbolInfo symbol;
    SLUICE_ASSIGN_OR_RETURN(symbol.name, entry.string("name"));
    SLUICE_ASSIGN_OR_RETURN(symbol.least, entry.integer("least"));
    SLUICE_ASSIGN_OR_RETURN(symbol.most, entry.integer("most"));
    SLUICE_ASSIGN_OR_RETURN(symbol.step, entry.integer("step"));
    SLUICE_ASSIGN_OR_RETURN(symbol.isFound, entry.boolean("found", false));
    SLUICE_ASSIGN_OR_RETURN(symbol.state, entry.string("state", ""));
    if (symbol.isFound || !symbol.state.empty()) {
      symbols.push_back(std::move(symbol));
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(int64_t input, entry.integer("input"));
    SLUICE_ASSIGN_OR_RETURN(int64_t dimension, entry.integer("dimension"));
    if (input < 0 || input >= static_cast<int64_t>(numInputs) || dimension < 0 || dimension > UINT32_MAX)
      return makeError(ErrorCode::InvalidInput, "symbol '", symbol.name, "' names no dimension of an input, ",
                       entry.where(), ", compile the model again");
    symbol.input = static_cast<uint32_t>(input);
    symbol.dimension = static_cast<uint32_t>(dimension);
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

Expected<ReadManifest> readManifest(const std::string &directory) {
  const std::string path = (std::filesystem::path(directory) / kManifestFile).string();
  Expected<Json> text = readJsonFile(path);
  if (!text)
    return makeError(text.error().code, text.error().message,
                     ", give a model or a directory that sluice compile wrote");
  const JsonReader json(*text, path);
  SLUICE_ASSIGN_OR_RETURN(int64_t schema, json.integer("schema"));
  if (schema != 1)
    return makeError(ErrorCode::InvalidInput, "'", path, "' has schema ", schema,
                     " and this version reads schema 1, compile the model again");
  ReadManifest manifest;
  SLUICE_ASSIGN_OR_RETURN(manifest.info.name, json.string("name"));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.cpuFeatures, json.string("cpu_features"));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.parameters.bytes, json.integer("parameter_bytes"));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.numRanks, json.integer("ranks", 1));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.requests, json.integer("requests", 1));
  if (manifest.info.requests < 1)
    return makeError(ErrorCode::InvalidInput, "'", path, "' has ", manifest.info.requests,
                     " as 'requests' and needs at least 1, compile the model again");
  SLUICE_ASSIGN_OR_RETURN(manifest.compiler, json.string("compiler"));
  SLUICE_ASSIGN_OR_RETURN(manifest.abiMajor, json.integer("abi_major"));
  SLUICE_ASSIGN_OR_RETURN(manifest.abiMinor, json.integer("abi_minor", 0));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.inputs, readPorts(json, "inputs"));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.outputs, readPorts(json, "outputs"));
  SLUICE_ASSIGN_OR_RETURN(manifest.info.symbols, readSymbols(json, manifest.info.inputs.size()));
  SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> buckets, elementsOf(json, "buckets"));
  for (const JsonReader &bucket : buckets) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<JsonReader> bounds, bucket.elements());
    if (bounds.size() != manifest.info.symbols.size())
      return makeError(ErrorCode::InvalidInput, "a bucket has ", bounds.size(), " bounds for ",
                       manifest.info.symbols.size(), " symbols, ", bucket.where(), ", compile the model again");
    std::vector<int64_t> &values = manifest.info.buckets.emplace_back();
    for (const JsonReader &bound : bounds) {
      SLUICE_ASSIGN_OR_RETURN(int64_t value, bound.asInteger());
      values.push_back(value);
    }
  }
  return manifest;
}

/// "ids: i64[2xsequence]", with what is more than a symbol in parentheses.
std::string describe(const PortInfo &port, const std::vector<SymbolInfo> &symbols) {
  std::string text = concat(port.name, ": ", port.elementType, "[");
  for (size_t d = 0; d < port.shape.size(); ++d) {
    const std::string expression = port.expression(d);
    const bool isSymbol = std::any_of(symbols.begin(), symbols.end(),
                                      [&](const SymbolInfo &symbol) { return symbol.name == expression; });
    text += d ? "x" : "";
    text += expression.empty() ? concat(port.shape[d]) : isSymbol ? expression : "(" + expression + ")";
  }
  return text + "]";
}

Json manifestToJson(const ReadManifest &manifest) {
  const ManifestInfo &info = manifest.info;
  return {{"name", info.name},
          {"compiler", manifest.compiler},
          {"abi", concat(manifest.abiMajor, ".", manifest.abiMinor)},
          {"cpuFeatures", info.cpuFeatures},
          {"inputs", portsToJson(info.inputs)},
          {"outputs", portsToJson(info.outputs)},
          {"symbols", symbolsToJson(info.symbols)},
          {"buckets", info.buckets},
          {"parameterBytes", info.parameters.bytes},
          {"requests", info.requests},
          {"ranks", info.numRanks}};
}

} // namespace

Expected<int64_t> requestsOf(const std::string &directory) {
  SLUICE_ASSIGN_OR_RETURN(const ReadManifest manifest, readManifest(directory));
  return manifest.info.requests;
}

Status printArtifact(const std::string &directory, bool asJson) {
  SLUICE_ASSIGN_OR_RETURN(ReadManifest manifest, readManifest(directory));
  if (asJson) {
    printJson(manifestToJson(manifest));
    return {};
  }
  const ManifestInfo &info = manifest.info;
  printLine("model", info.name);
  printLine("compiler", concat(manifest.compiler, ", ABI ", manifest.abiMajor, ".", manifest.abiMinor));
  printLine("processor", info.cpuFeatures);
  for (const PortInfo &input : info.inputs)
    printLine("input", describe(input, info.symbols));
  for (const PortInfo &output : info.outputs)
    printLine("output", describe(output, info.symbols));
  for (const SymbolInfo &symbol : info.symbols)
    printLine("symbolic", concat(symbol.name, ": ", symbol.least, " to ", symbol.most,
                                 symbol.step == 1 ? "" : concat(" in steps of ", symbol.step), ", ",
                                 symbol.isFound          ? std::string("found in each step")
                                 : !symbol.state.empty() ? concat("length of state '", symbol.state, "'")
                                                         : concat("dimension ", symbol.dimension, " of input '",
                                                                  info.inputs[symbol.input].name, "'")));
  for (const std::vector<int64_t> &bounds : info.buckets) {
    std::vector<std::pair<std::string, int64_t>> named;
    for (size_t s = 0; s < bounds.size(); ++s)
      named.emplace_back(info.symbols[s].name, bounds[s]);
    printLine("bucket", describeBounds(named));
  }
  printLine("parameters", formatBytes(info.parameters.bytes));
  if (info.requests > 1)
    printLine("requests", concat(info.requests, " in a step, whose outputs are those of ", info.requests - 1,
                                 info.requests == 2 ? " step before" : " steps before"));
  if (info.numRanks > 1)
    printLine("ranks", concat(info.numRanks));
  return {};
}

} // namespace sluice::driver
