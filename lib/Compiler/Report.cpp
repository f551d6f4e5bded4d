//===- Report.cpp - A plan as one HTML page -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/Report.h"
#include "ReportAssets.h"
#include "ReportText.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

std::string escapeHtml(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&#39;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

/// JSON inside a script element: nothing in it can end the element.
static std::string scriptJson(const Json &json) {
  std::string escaped;
  for (char c : jsonText(json)) {
    if (c == '<')
      escaped += "\\u003c";
    else if (c == '>')
      escaped += "\\u003e";
    else if (c == '&')
      escaped += "\\u0026";
    else
      escaped += c;
  }
  return escaped;
}

static std::string percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%",
                100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1)));
  return text;
}

static std::string card(const std::string &value, const std::string &label) {
  return concat("<div class=\"card\"><b>", escapeHtml(value), "</b><span>", escapeHtml(label), "</span></div>\n");
}

/// What each step copies into and out of each accelerator's memory, and reads from and writes to each file. A copy
/// between accelerators counts for both.
static std::string copyCards(const PlanFile &file) {
  const Machine &machine = file.problem.machine;
  std::vector<int64_t> into(machine.memories.size()), outOf(into);
  for (const Command &command : file.plan.commands) {
    if (command.kind != CommandKind::Copy)
      continue;
    const Residency &from = file.plan.residencies[command.reads[0].index()];
    const Residency &to = file.plan.residencies[command.writes[0].index()];
    const int64_t bytes = file.problem.graph.tensor(from.tensor).bytes;
    into[to.memory.index()] = saturatingAdd(into[to.memory.index()], bytes);
    outOf[from.memory.index()] = saturatingAdd(outOf[from.memory.index()], bytes);
  }
  std::string text;
  for (size_t m = 0; m < machine.memories.size(); ++m) {
    const bool isFile = machine.isFile(MemoryId(m)), isUsed = file.plan.arenaBytes[m] > 0 || into[m] > 0;
    if (MemoryId(m) == Machine::hostMemory() || (!isFile && !isUsed))
      continue;
    const std::string name = concat(machine.memories[m].name, " in each step");
    if (isFile) {
      text += card(formatBytes(outOf[m]), concat("read from ", name));
      if (into[m] > 0)
        text += card(formatBytes(into[m]), concat("written to ", name));
    } else {
      text += card(formatBytes(into[m]), concat("copied into ", name));
      text += card(formatBytes(outOf[m]), concat("copied out of ", name));
    }
  }
  return text;
}

/// Of a memory: what the plan uses of it, beside the limit and beside what a step without copies needs.
static std::string memoryCard(const PlanFile &file, size_t memory) {
  const std::string &name = file.problem.machine.memories[memory].name;
  const int64_t planned = file.plan.arenaBytes[memory], limit = file.problem.capacities[memory];
  const int64_t peak = file.summary.peakBytes[memory];
  return card(formatBytes(planned),
              concat("used of ", name, "; ",
                     limit == std::numeric_limits<int64_t>::max() ? std::string("it has no limit")
                                                                  : concat("the limit is ", formatBytes(limit)),
                     peak > 0 ? concat("; ", percent(planned, peak), " of the ", formatBytes(peak),
                                       " that a step uses if nothing is copied out")
                              : std::string()));
}

/// `data` as the page has it.
static std::string cards(const PlanFile &file, const Json &data) {
  const Graph &graph = file.problem.graph;
  const PlanSummary &summary = file.summary;
  std::string text = "<div class=\"cards\">\n";
  text += card(formatDuration(summary.makespanNs), "time of one step, simulated");
  text += card(percent(summary.idealNs, summary.makespanNs),
               concat("of the speed without a memory limit (", formatDuration(summary.idealNs), ")"));
  text += card(formatDuration(summary.lowerBoundNs), "lower bound: no plan with this placement is faster");
  text += copyCards(file);
  for (size_t m = 0; m < file.plan.arenaBytes.size(); ++m)
    if (file.plan.arenaBytes[m] > 0)
      text += memoryCard(file, m);
  const Json &stalls = data["stalls"]["ns"], &copied = data["why"]["tensor"];
  int64_t stalledNs = 0, copiedBytes = 0;
  for (const Json &ns : stalls)
    stalledNs = saturatingAdd(stalledNs, ns.get<int64_t>());
  for (const Json &tensor : copied)
    copiedBytes = saturatingAdd(copiedBytes, graph.tensor(TensorId(tensor.get<uint32_t>())).bytes);
  text += card(concat(stalls.size()), concat(stalls.size() == 1 ? "stall" : "stalls", ": devices run nothing for ",
                                             formatDuration(stalledNs), " before an operator"));
  text += card(concat(copied.size()),
               concat(copied.size() == 1 ? "tensor of " : "tensors, together ", formatBytes(copiedBytes),
                      copied.size() == 1 ? ", is copied" : ", are copied", " in each step"));
  text += card(concat(graph.numOperators()), "operators");
  return text + "</div>\n";
}

static std::string baselineRows(const PlanSummary &summary) {
  std::string rows = concat("<tr><td><b>this plan</b></td><td class=\"number\">", formatDuration(summary.makespanNs),
                            "</td><td class=\"number\">100.0%</td><td></td></tr>\n");
  for (const Baseline &baseline : summary.baselines) {
    rows += concat("<tr><td>", escapeHtml(baseline.name), "</td><td class=\"number\">");
    if (baseline.makespanNs)
      rows += concat(formatDuration(*baseline.makespanNs), "</td><td class=\"number\">",
                     percent(*baseline.makespanNs, summary.makespanNs), "</td>");
    else
      rows += "infeasible</td><td></td>";
    rows += concat("<td>", escapeHtml(baseline.reason), "</td></tr>\n");
  }
  return rows;
}

/// The table by which the bounds of buckets were chosen; nothing where they were not.
static std::string bucketSection(const BucketTable &table) {
  if (table.choices.empty())
    return {};
  std::string rows;
  for (size_t k = 0; k < table.choices.size(); ++k) {
    const auto &[bounds, ns, bytes] = table.choices[k];
    std::string list;
    for (int64_t bound : bounds)
      list += concat(list.empty() ? "" : ", ", bound);
    rows += concat("<tr><td class=\"number\">", k + 1, "</td><td>", list, "</td><td class=\"number\">",
                   formatDuration(std::llround(ns)), "</td><td class=\"number\">", formatBytes(std::llround(bytes)),
                   "</td></tr>\n");
  }
  return concat(
      "<section>\n<h2>Buckets of ", escapeHtml(table.symbol),
      "</h2>\n<p>The choice of bounds with the least expected time of a step, simulated, and at this time the "
      "least expected memory, for each number of plans. The page shows the plan for the largest bound.</p>\n"
      "<div class=\"scroll\"><table>\n<thead><tr><th class=\"number\">plans, at most</th><th>bounds</th>"
      "<th class=\"number\">expected step</th><th class=\"number\">expected memory</th></tr></thead>\n<tbody>\n",
      rows, "</tbody>\n</table></div>\n</section>\n");
}

static std::string solverLine(const PlanFile &file) {
  return concat("machine ", file.problem.machine.name, "; ", file.plan.solver, ", seed ", file.plan.seed, ", ",
                file.summary.evaluations, " plans", file.plan.stoppedByClock ? ", stopped by the clock" : "");
}

/// What differs in another plan: the figures and the sentences.
static std::string diffSection(const PlanDiff &diff) {
  std::string rows, items;
  for (const PlanDiff::Figure &figure : diff.figures)
    if (figure.isShown())
      rows += concat("<tr><td>", escapeHtml(figure.name), "</td><td class=\"number\">", formatFigure(figure, 0),
                     "</td><td class=\"number\">", formatFigure(figure, 1), "</td><td class=\"number\">",
                     formatChange(figure), "</td></tr>\n");
  for (const Sentence &sentence : describe(diff))
    items += concat("<li>", escapeHtml(sentence.text), "</li>\n");
  return concat("<section>\n<h2>Beside another plan</h2>\n<p>A is this plan, B is ",
                escapeHtml(excerpt(diff.labels[1])),
                ".</p>\n<div class=\"scroll\"><table>\n<thead><tr><th></th><th class=\"number\">A</th>"
                "<th class=\"number\">B</th><th class=\"number\">change</th></tr></thead>\n<tbody>\n",
                rows, "</tbody>\n</table></div>\n<ul>\n", items, "</ul>\n</section>\n");
}

/// The page with its marks, "{{title}}", replaced by texts.
static std::string fillPage(const std::map<std::string_view, std::string> &texts) {
  std::string page;
  std::string_view rest = kReportPage;
  for (size_t mark = rest.find("{{"); mark != std::string_view::npos; mark = rest.find("{{")) {
    const size_t end = rest.find("}}", mark);
    page.append(rest.substr(0, mark)).append(texts.at(rest.substr(mark + 2, end - mark - 2)));
    rest.remove_prefix(end + 2);
  }
  return page.append(rest);
}

std::string reportHtml(const PlanFile &file, const ReportExtras &extras) {
  const std::string &name = file.problem.graph.name;
  const Json data = reportData(file, extras);
  return fillPage({{"title", escapeHtml(name.empty() ? "model" : name)},
                   {"style", std::string(kReportStyle)},
                   {"solver", escapeHtml(solverLine(file))},
                   {"cards", cards(file, data)},
                   {"baselines", baselineRows(file.summary)},
                   {"buckets", bucketSection(file.summary.buckets)},
                   {"against", extras.diff ? diffSection(*extras.diff) : ""},
                   {"data", scriptJson(data)},
                   {"script", std::string(kReportScript)}});
}

} // namespace sluice
