//===- PlanCommand.cpp - sluice plan --------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PlanStories.h"
#include "SharedOptions.h"
#include "sluice/Compiler/Partitioning.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Plan/CopiedBytes.h"
#include "sluice/Search/PlanFile.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct PlanOptions {
  std::string model, output, format = "text";
  std::string slowdown; ///< Empty: none is given.
  std::string partitionCost = "time", deviceMemory;
  std::vector<std::string> diff, explain;
  CompileOptions compile;
  const CLI::App *command = nullptr;

  /// The name of an option that was given and is not among `besides`; empty: none.
  std::string firstBesides(const std::vector<std::string> &besides) const {
    for (const CLI::Option *option : command->get_options())
      if (option->count() > 0 && std::find(besides.begin(), besides.end(), option->get_name()) == besides.end())
        return option->get_name();
    return {};
  }
};

std::string ratio(int64_t part, int64_t whole) {
  if (whole <= 0)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.3fx", static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

/// Baselines that differ in the part of their names after a slash alone.
struct Family {
  std::string name;
  const Baseline *best = nullptr;
  int64_t size = 0;
};

std::vector<Family> families(const std::vector<Baseline> &baselines) {
  std::vector<Family> list;
  for (const Baseline &baseline : baselines) {
    const std::string name = baseline.name.substr(0, baseline.name.find('/'));
    auto family = std::find_if(list.begin(), list.end(), [&](const Family &other) { return other.name == name; });
    if (family == list.end())
      family = list.insert(list.end(), {name, &baseline, 0});
    ++family->size;
    if (baseline.makespanNs && (!family->best->makespanNs || *baseline.makespanNs < *family->best->makespanNs))
      family->best = &baseline;
  }
  return list;
}

/// The accelerators' bytes of a budget, all together.
int64_t budgetBytes(const Machine &machine, const TriedBudget &budget) {
  int64_t bytes = 0;
  for (size_t m = 1; m < machine.memories.size(); ++m)
    bytes = saturatingAdd(bytes, budget.capacityBytes[m]);
  return bytes;
}

/// From the least to the greatest.
std::vector<TriedBudget> sorted(const Machine &machine, std::vector<TriedBudget> budgets) {
  std::stable_sort(budgets.begin(), budgets.end(), [&](const TriedBudget &a, const TriedBudget &b) {
    return budgetBytes(machine, a) < budgetBytes(machine, b);
  });
  return budgets;
}

void printBudgets(const PlanFile &file, const std::vector<TriedBudget> &budgets) {
  std::cout << '\n';
  Table table({"budget", "makespan", "to the ideal", "lower bound"});
  for (const TriedBudget &budget : sorted(file.problem.machine, budgets)) {
    const int64_t bytes = budgetBytes(file.problem.machine, budget);
    table.add({formatCapacity(bytes), budget.makespanNs ? formatDuration(*budget.makespanNs) : "no plan",
               budget.makespanNs ? ratio(*budget.makespanNs, file.summary.idealNs) : "-",
               budget.makespanNs ? ratio(budget.lowerBoundNs, file.summary.idealNs) : "-"});
  }
  table.print();
}

Json budgetsToJson(const PlanFile &file, const std::vector<TriedBudget> &budgets) {
  Json list = Json::array();
  for (const TriedBudget &budget : sorted(file.problem.machine, budgets)) {
    Json entry;
    for (size_t m = 1; m < budget.capacityBytes.size(); ++m)
      entry["capacityBytes"][file.problem.machine.memories[m].name] = budget.capacityBytes[m];
    if (budget.makespanNs) {
      entry["makespanNs"] = *budget.makespanNs;
      entry["lowerBoundNs"] = budget.lowerBoundNs;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// The sizes that a plan serves, for the largest of which it is made.
std::string describeRanges(const std::map<std::string, DimRange> &ranges) {
  std::string text;
  for (const auto &[name, range] : ranges)
    text += concat(text.empty() ? "" : ", ", name, " ", range.least, " to ", range.most,
                   range.step == 1 ? "" : concat(" by ", range.step));
  return text;
}

void printChoices(const BucketTable &table) {
  if (table.choices.empty())
    return;
  std::cout << '\n';
  Table rows({"plans", "bounds of " + table.symbol, "expected step", "expected memory"});
  for (size_t k = 0; k < table.choices.size(); ++k) {
    const auto &[bounds, ns, bytes] = table.choices[k];
    std::string list;
    for (int64_t bound : bounds)
      list += concat(list.empty() ? "" : ", ", bound);
    rows.add({concat(k + 1), list, formatDuration(std::llround(ns)), formatBytes(std::llround(bytes))});
  }
  rows.print();
}

void printBuckets(const std::vector<BucketPlan> &buckets) {
  if (buckets.empty())
    return;
  const Machine &machine = buckets.front().file.problem.machine;
  const bool isFileBelow = fileBelowHost(machine).valid();
  std::vector<std::string> header{"bucket", "makespan", "to its ideal", isFileBelow ? "read" : "swapped in"};
  for (const Memory &memory : machine.memories)
    header.push_back(memory.name);
  Table table(header);
  for (const auto &[bounds, file] : buckets) {
    const CopiedBytes copied = copiedBytes(file.problem.graph, machine, file.plan);
    std::vector<std::string> row{describeBounds(bounds), formatDuration(file.summary.makespanNs),
                                 ratio(file.summary.idealNs, file.summary.makespanNs),
                                 formatBytes(isFileBelow ? copied.read : copied.in)};
    for (int64_t bytes : file.plan.arenaBytes)
      row.push_back(formatBytes(bytes));
    table.add(row);
  }
  std::cout << '\n';
  table.print();
}

Json bucketsToJson(const std::vector<BucketPlan> &buckets) {
  Json list = Json::array();
  for (const auto &[bounds, file] : buckets) {
    Json &entry = list.emplace_back(summaryToJson(file));
    for (const auto &[name, bound] : bounds)
      entry["bounds"][name] = bound;
  }
  return list;
}

void printPlan(const PlanFile &file, const std::map<std::string, DimRange> &ranges) {
  const auto &[problem, plan, summary] = file;
  const Machine &machine = problem.machine;
  printLine("model", concat(problem.graph.name, ", ", problem.graph.numOperators(), " operators"));
  printLine("machine", machine.name);
  if (!ranges.empty())
    printLine("sizes", concat(describeRanges(ranges), "; memory and times are those of the largest"));
  printLine("solver", concat(plan.solver, ", ", summary.evaluations, " plans",
                             plan.stoppedByClock ? ", stopped by the clock" : ""));
  printLine("makespan", formatDuration(summary.makespanNs));
  printLine("ideal", concat(formatDuration(summary.idealNs), ", ", ratio(summary.idealNs, summary.makespanNs)));
  printLine("lower bound",
            concat(formatDuration(summary.lowerBoundNs), ", ", ratio(summary.lowerBoundNs, summary.makespanNs),
                   summary.certificate ? ", by " : "",
                   summary.certificate ? describeBound(problem.graph, machine, *summary.certificate) : ""));
  const CopiedBytes copied = copiedBytes(problem.graph, machine, plan);
  if (!fileBelowHost(machine).valid()) {
    printLine("swapped in", concat(formatBytes(copied.in), " a step"));
    printLine("swapped out", concat(formatBytes(copied.out), " a step"));
  }
  if (machine.hasFiles()) {
    printLine("read", concat(formatBytes(copied.read), " a step, from files"));
    printLine("written", concat(formatBytes(copied.written), " a step, to files"));
  }
  if (const std::string experts = describeExperts(problem.graph); !experts.empty())
    printLine("experts", experts);
  if (const std::vector<OperatorId> again = plan.computedAgain(); !again.empty()) {
    int64_t ns = 0;
    for (OperatorId op : again)
      ns += problem.costs.timeNs(op, plan.placement[op.index()]);
    printLine("run again",
              concat(again.size(), again.size() == 1 ? " operator, " : " operators, ", formatDuration(ns), " a step"));
  }

  for (const NamedSplit &split : summary.splits)
    printLine("split", concat(split.op, ", ", split.rule, ", ", split.parts, " parts"));

  std::cout << '\n';
  Table memories({"memory", "minimum", "peak", "limit", "planned"});
  for (size_t m = 0; m < machine.memories.size(); ++m)
    memories.add({machine.memories[m].name, formatBytes(summary.minimumBytes[m]), formatBytes(summary.peakBytes[m]),
                  formatCapacity(problem.capacities[m]), formatBytes(plan.arenaBytes[m])});
  memories.print();

  if (summary.baselines.empty())
    return;
  std::cout << '\n';
  Table baselines({"baseline", "makespan", "to this plan's", ""});
  for (const Family &family : families(summary.baselines)) {
    std::string note = family.size > 1 ? concat("best of ", family.size) : "";
    if (!family.best->reason.empty())
      note += (note.empty() ? "" : ", ") + family.best->reason;
    if (family.best->makespanNs)
      baselines.add({family.best->name, formatDuration(*family.best->makespanNs),
                     ratio(*family.best->makespanNs, summary.makespanNs), note});
    else
      baselines.add({family.best->name, "infeasible", "-", family.best->reason});
  }
  baselines.print();
}

/// Of several axes, what each does: "split 0 x split 1".
std::string tilingText(const std::vector<AxisTiling> &tilings) {
  std::string text;
  for (AxisTiling tiling : tilings)
    text += (text.empty() ? "" : " x ") + tilingName(tiling);
  return text;
}

void printPartition(const PlannedPartition &planned) {
  const auto &[program, machine, solution, singleNs] = planned;
  const PartitionReport &report = solution.report;
  std::string mesh;
  for (const MeshAxis &axis : machine.mesh.axes)
    mesh += concat(mesh.empty() ? "" : " x ", axis.size);
  printLine("model", concat(program.name, ", ", program.operators.size(), " operators"));
  printLine("devices", concat(machine.mesh.numDevices(), ", as ", mesh));
  printLine("solver", solution.solver);
  printLine("makespan", concat(formatDuration(report.makespanNs), ", ", ratio(singleNs, report.makespanNs),
                               " as fast as one device"));
  printLine("computing", formatDuration(report.computeNs));
  printLine("communicating", formatDuration(report.communicationNs));
  printLine("memory", concat(formatBytes(report.peakBytes), " a device"));
  printLine("sent", concat(formatBytes(report.bytes), " by all devices"));

  std::cout << '\n';
  Table solvers({"solver", "makespan", "speed-up", "sent", "ghost", "paper", "memory"});
  auto add = [&, singleNs = singleNs](const std::string &name, const PartitionReport &r) {
    solvers.add({name, formatDuration(r.makespanNs), ratio(singleNs, r.makespanNs), formatBytes(r.bytes),
                 formatBytes(r.ghostBytes), formatBytes(r.paperBytes), formatBytes(r.peakBytes)});
  };
  std::string gathering;
  auto note = [&](const std::string &name, const std::vector<std::string> &operators) {
    for (const std::string &op : operators)
      gathering += concat(&op == operators.data() ? concat(name, " gathers for ") : ", ", "'", op, "'");
    gathering += operators.empty() ? "" : ", which no rule runs on these parts\n";
  };
  add(solution.solver, report);
  note(solution.solver, solution.gathering);
  for (const PartitionBaseline &baseline : solution.baselines) {
    add(baseline.solver, baseline.report);
    note(baseline.solver, baseline.gathering);
  }
  solvers.print();
  std::cout << gathering;

  std::cout << '\n';
  Table collectives({"collective", "sent"});
  for (size_t kind = 0; kind < report.bytesByCollective.size(); ++kind)
    if (report.bytesByCollective[kind] > 0)
      collectives.add({std::string(collectiveName(static_cast<CollectiveKind>(kind))),
                       formatBytes(report.bytesByCollective[kind])});
  collectives.print();

  std::cout << '\n';
  Table tensors({"tensor", "shape", "held"});
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    std::string shape;
    for (int64_t extent : program.tensors[t].shape)
      shape += concat(shape.empty() ? "" : "x", extent);
    tensors.add({program.tensors[t].name, shape.empty() ? "scalar" : shape, tilingText(solution.tiling.tensors[t])});
  }
  tensors.print();
}

Status runPartition(const PlanOptions &options, CompilerOptions resolved) {
  for (auto [step, name] : {std::pair(SolverStep::Place, "place"), std::pair(SolverStep::Search, "search")})
    if (resolved.solvers.contains(step))
      return makeError(ErrorCode::InvalidInput, "a model that is split over devices is planned without step '", name,
                       "', option '--solver', leave the option out or give tile=NAME");
  const int64_t devices = resolved.devices;
  PartitionParams params = partitionParams(resolved);
  const std::map<std::string, PartitionCost> costs{{"time", PartitionCost::Time},
                                                   {"bytes", PartitionCost::Volume},
                                                   {"ghost", PartitionCost::Ghost},
                                                   {"paper", PartitionCost::Paper}};
  params.cost = costs.at(options.partitionCost);
  if (!options.deviceMemory.empty()) {
    SLUICE_ASSIGN_OR_RETURN(int64_t bytes, parseBytes(options.deviceMemory));
    params.memoryBytes = bytes;
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation,
                          Compilation::create(options.model, std::move(resolved)));
  SLUICE_ASSIGN_OR_RETURN(PlannedPartition planned, planPartition(*compilation, devices, params));
  if (!options.output.empty()) {
    Json json = partitionToJson(planned.program, planned.machine, planned.solution);
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.output, jsonText(json, 1) + "\n"));
  }
  if (options.format == "json") {
    Json json = partitionSummaryToJson(planned.machine, planned.solution);
    json["singleNs"] = planned.singleNs;
    printJson(json);
    return {};
  }
  printPartition(planned);
  return {};
}

/// Of a plan that is there already nothing is decided anew.
Status explainPlan(const PlanOptions &options) {
  if (options.explain.empty())
    return makeError(ErrorCode::InvalidInput, "'", options.model,
                     "' is a plan and not a model, give --explain NAME, or show the plan with 'sluice report'");
  if (const std::string name = options.firstBesides({"MODEL", "--explain", "--format"}); !name.empty())
    return makeError(ErrorCode::InvalidInput, "'", options.model, "' is already a plan, option '", name,
                     "' is for models, leave the option out or give the model");
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readPlanAt(options.model));
  return printExplanations(file, options.explain, options.format == "json");
}

Status runPlan(const PlanOptions &options) {
  if (!options.diff.empty())
    return printDiff(options.diff[0], options.diff[1], options.format == "json");
  if (isPlanPath(options.model))
    return explainPlan(options);
  SLUICE_ASSIGN_OR_RETURN(CompilerOptions resolved, options.compile.resolve());
  if (resolved.devices > 1)
    return runPartition(options, std::move(resolved));
  if (!options.slowdown.empty())
    resolved.slowdown = *parseNumber(options.slowdown);
  const std::map<std::string, DimRange> ranges = resolved.dims.ranges;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation,
                          Compilation::create(options.model, std::move(resolved)));
  SLUICE_RETURN_IF_ERROR(compilation->run(Phase::Schedule));
  clearProgress();
  const PlanFile file = compilation->planFile();
  if (!options.output.empty())
    SLUICE_RETURN_IF_ERROR(compilation->writePlanFiles(options.output));
  if (!options.explain.empty())
    return printExplanations(file, options.explain, options.format == "json");
  const std::vector<BucketPlan> buckets = compilation->bucketPlans();
  const std::vector<TriedBudget> &budgets = compilation->triedBudgets();
  if (options.format == "json") {
    Json json = summaryToJson(file);
    if (const std::vector<PrunedLayer> pruned = compilation->prunedLayers(); !pruned.empty())
      json["pruned"] = prunedToJson(pruned);
    if (!options.slowdown.empty())
      json["budgets"] = budgetsToJson(file, budgets);
    for (const auto &[name, range] : ranges)
      json["ranges"][name] = {{"least", range.least}, {"most", range.most}, {"step", range.step}};
    if (!buckets.empty())
      json["bucketPlans"] = bucketsToJson(buckets);
    printJson(json);
    return {};
  }
  printPlan(file, ranges);
  if (showsDrawings())
    std::cout << '\n' << reportText(file, terminalColumns());
  printChoices(file.summary.buckets);
  printBuckets(buckets);
  printPruned(compilation->prunedLayers());
  if (!options.slowdown.empty())
    printBudgets(file, budgets);
  return {};
}

} // namespace

void addPlanCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App *command = driver::addCommand(app, "plan", "Decide placement, order, addresses and swaps; generate no code");
  options->command = command;
  CLI::Option *model =
      addOption(*command, "MODEL", options->model,
                "an ONNX file or a pipeline of models (.json); with --explain also a plan or a compiled model");
  addOption(*command, "-o,--output", options->output, "write the plan to a file, for --plan and 'report'");
  addOption(*command, "--diff", options->diff,
            "compare two plans, A and B: plan files or directories of compiled models")
      ->type_name("PLAN")
      ->expected(2)
      ->excludes(model);
  addOption(*command, "--explain", options->explain,
            "explain the place, the time and the copies of an operator or a tensor")
      ->type_name("NAME")
      ->allow_extra_args(false);
  addFormatOption(*command, options->format);
  options->compile.addTo(*command);
  CLI::Option *inference =
      command
          ->add_flag(
              "--inference{1.1}", options->slowdown,
              "plan for the least memory with which a step takes at most this many times as long as with unlimited "
              "memory")
          ->excludes(command->get_option("--train"))
          ->excludes(command->get_option("--plan"))
          ->group("Planning");
  inference->check([](const std::string &text) {
    Expected<double> slowdown = parseNumber(text);
    return slowdown && *slowdown >= 1 ? std::string() : concat("'", text, "' is not a slowdown, write 1.1");
  });
  CLI::Option *split = options->compile.addSplitTo(*command)->excludes(inference);
  constexpr const char *kPartitioning = "Partitioning";
  CLI::Option *devices = options->compile.addDevicesTo(*command)->excludes(inference)->excludes(split);
  // What a plan of one program is made from is not asked for here, nor followed.
  for (const char *name :
       {"--plan", "--device", "--memory", "--profile", "--dump-problem", "--least-gain", "--explain"})
    devices->excludes(command->get_option(name));
  addOption(*command, "--partition-cost", options->partitionCost,
            "what to minimize: time, bytes sent, or SoyBean's ghost areas or counts")
      ->check(oneOf({"time", "bytes", "ghost", "paper"}))
      ->capture_default_str()
      ->needs(devices)
      ->group(kPartitioning);
  addOption(*command, "--device-memory", options->deviceMemory, "memory of one device, instead of the machine's")
      ->type_name("SIZE")
      ->needs(devices)
      ->group(kPartitioning);
  command->callback([options, &action] {
    if (options->diff.empty() && options->model.empty())
      throw CLI::RequiredError("MODEL");
    if (const std::string name = options->firstBesides({"--diff", "--format"}); !options->diff.empty() && !name.empty())
      throw CLI::ExcludesError("--diff", name);
    action = [options] { return runPlan(*options); };
  });
}

} // namespace sluice::driver
