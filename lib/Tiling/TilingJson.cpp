//===- TilingJson.cpp - The contest's instances ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Tiling.h"

#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {

/// An array of amounts. Costs above the forbidden one are the forbidden one,
/// whatever they are written as; a reader an element would be a string an element.
Expected<std::vector<int64_t>> amounts(const Json &json, const std::string &where) {
  if (!json.is_array())
    return makeError(ErrorCode::InvalidInput, "expected an array but found ", json.type_name(), ", at '", where,
                     "', correct the value");
  std::vector<int64_t> values;
  values.reserve(json.size());
  for (const Json &element : json) {
    if (element.is_number_unsigned()) {
      values.push_back(static_cast<int64_t>(std::min<uint64_t>(element.get<uint64_t>(), kForbiddenTilingCost)));
      continue;
    }
    if (element.is_number_float() && element.get<double>() >= static_cast<double>(kForbiddenTilingCost)) {
      values.push_back(kForbiddenTilingCost);
      continue;
    }
    const JsonReader reader(element, concat(where, "[", values.size(), "]"));
    SLUICE_ASSIGN_OR_RETURN(int64_t value, reader.asInteger());
    if (value < 0)
      return makeError(ErrorCode::InvalidInput, "amount ", value, " is negative, at '", reader.where(),
                       "', correct the value");
    values.push_back(value);
  }
  return values;
}

/// A list of lists of amounts.
Expected<std::vector<std::vector<int64_t>>> table(const JsonReader &parent, std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(JsonReader member, parent.member(key));
  if (!member.json().is_array())
    return makeError(ErrorCode::InvalidInput, "expected an array but found ", member.json().type_name(), ", at '",
                     member.where(), "', correct the value");
  std::vector<std::vector<int64_t>> rows;
  rows.reserve(member.json().size());
  for (const Json &row : member.json()) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<int64_t> values, amounts(row, concat(member.where(), "[", rows.size(), "]")));
    rows.push_back(std::move(values));
  }
  return rows;
}

/// Fails unless each row is two numbers.
Status arePairs(const std::vector<std::vector<int64_t>> &rows, std::string_view what, const std::string &where) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].size() != 2)
      return makeError(ErrorCode::InvalidInput, what, " ", i, " has ", rows[i].size(), " numbers, ", where,
                       ", give two");
  return {};
}

} // namespace

Expected<TilingProblem> tilingFromJson(const JsonReader &reader) {
  SLUICE_ASSIGN_OR_RETURN(JsonReader root, reader.member("problem"));
  Expected<std::string> name = root.string("name", reader.where());
  Expected<JsonReader> nodes = root.member("nodes"), edges = root.member("edges");
  if (!name)
    return propagate(name);
  for (Expected<JsonReader> *value : {&nodes, &edges})
    if (!*value)
      return propagate(*value);
  Expected<std::vector<std::vector<int64_t>>> intervals = table(*nodes, "intervals"), costs = table(*nodes, "costs"),
                                              usages = table(*nodes, "usages"), ends = table(*edges, "nodes"),
                                              matrices = table(*edges, "costs");
  for (auto *value : {&intervals, &costs, &usages, &ends, &matrices})
    if (!*value)
      return propagate(*value);
  if (intervals->size() != costs->size() || usages->size() != costs->size())
    return makeError(ErrorCode::InvalidInput, intervals->size(), " intervals, ", costs->size(), " lists of costs and ",
                     usages->size(), " lists of usages are given, ", nodes->where(),
                     ", give one of each for every node");
  if (ends->size() != matrices->size())
    return makeError(ErrorCode::InvalidInput, ends->size(), " pairs of nodes and ", matrices->size(),
                     " lists of costs are given, ", edges->where(), ", give one of each for every edge");
  for (const auto &[rows, what, where] :
       {std::tuple{&*intervals, "interval", &nodes->where()}, std::tuple{&*ends, "edge", &edges->where()}})
    SLUICE_RETURN_IF_ERROR(arePairs(*rows, what, *where));

  TilingProblem problem;
  problem.name = *name;
  if (root.has("usage_limit")) {
    SLUICE_ASSIGN_OR_RETURN(int64_t limit, root.integer("usage_limit"));
    problem.usageLimit = limit;
  }
  for (size_t i = 0; i < costs->size(); ++i)
    problem.nodes.push_back(
        {concat("node", i), (*intervals)[i][0], (*intervals)[i][1], std::move((*costs)[i]), std::move((*usages)[i])});
  // Layers repeat: one matrix for all edges with the same costs.
  std::map<std::tuple<uint32_t, uint32_t, std::vector<int64_t>>, uint32_t> matrixOf;
  for (size_t e = 0; e < ends->size(); ++e) {
    const int64_t from = (*ends)[e][0], to = (*ends)[e][1], count = static_cast<int64_t>(problem.nodes.size());
    if (from >= count || to >= count)
      return makeError(ErrorCode::InvalidInput, "edge ", e, " names node ", std::max(from, to),
                       ", and the nodes are numbered from 0 to ", count - 1, ", ", edges->where(),
                       ", correct the edge");
    const size_t rows = problem.nodes[static_cast<size_t>(from)].costs.size();
    const size_t columns = problem.nodes[static_cast<size_t>(to)].costs.size();
    if ((*matrices)[e].size() != rows * columns)
      return makeError(ErrorCode::InvalidInput, "edge ", e, " has a list of ", (*matrices)[e].size(), " costs, and ",
                       rows, " x ", columns, " pairs of strategies, ", edges->where(), ", give one cost for each pair");
    auto [found, isNew] = matrixOf.emplace(
        std::tuple(static_cast<uint32_t>(rows), static_cast<uint32_t>(columns), std::move((*matrices)[e])),
        static_cast<uint32_t>(matrixOf.size()));
    problem.edges.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to), found->second});
  }
  problem.matrices.resize(matrixOf.size());
  while (!matrixOf.empty()) {
    auto entry = matrixOf.extract(matrixOf.begin());
    auto &[rows, columns, values] = entry.key();
    problem.matrices[entry.mapped()] = {rows, columns, std::move(values)};
  }
  SLUICE_RETURN_IF_ERROR(problem.check());
  return problem;
}

Json tilingToJson(const TilingProblem &problem) {
  Json intervals = Json::array(), costs = Json::array(), usages = Json::array(), ends = Json::array(),
       matrices = Json::array();
  for (const TilingNode &node : problem.nodes) {
    intervals.push_back({node.lower, node.upper});
    costs.push_back(node.costs);
    usages.push_back(node.usages);
  }
  for (const TilingEdge &edge : problem.edges) {
    ends.push_back({edge.from, edge.to});
    matrices.push_back(problem.matrices[edge.matrix].costs);
  }
  Json root{{"name", problem.name},
            {"nodes", {{"intervals", intervals}, {"costs", costs}, {"usages", usages}}},
            {"edges", {{"nodes", ends}, {"costs", matrices}}}};
  if (problem.usageLimit)
    root["usage_limit"] = *problem.usageLimit;
  return {{"problem", std::move(root)}};
}

} // namespace sluice
