//===- TrainingOptions.cpp - How a model is trained ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Compiler/TrainingOptions.h"

#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace sluice {

namespace {

using Setter = std::function<Status(std::string_view)>;
using Setters = std::map<std::string_view, Setter>;

Status badValue(std::string_view option, std::string_view value, std::string_view range) {
  return makeError(ErrorCode::InvalidInput, "'", value, "' is out of range, option '", option, "', give ", range);
}

/// A finite number in [low, high).
Setter number(std::string_view option, double &target, double low, double high, std::string_view range) {
  return [=, &target](std::string_view text) -> Status {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target);
    if (error != std::errc() || end != text.data() + text.size() || !(target >= low && target < high))
      return badValue(option, text, range);
    return {};
  };
}

Setter integer(std::string_view option, int64_t &target, int64_t low, int64_t high, std::string_view range) {
  return [=, &target](std::string_view text) -> Status {
    Expected<int64_t> value = parseInteger(text);
    if (!value || *value < low || *value > high)
      return badValue(option, text, range);
    target = *value;
    return {};
  };
}

using Pair = std::pair<std::string_view, std::string_view>;

/// "a,b=1,c=2" in order.
std::vector<Pair> splitPairs(std::string_view text) {
  std::vector<Pair> pairs;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t equals = part.find('=');
    pairs.emplace_back(part.substr(0, equals), equals == std::string_view::npos ? "" : part.substr(equals + 1));
  }
  return pairs;
}

Status apply(const std::string &option, const Setters &setters, std::string_view key, std::string_view value) {
  auto setter = setters.find(key);
  if (setter != setters.end())
    return setter->second(value);
  std::vector<std::string> names;
  for (const auto &entry : setters)
    names.emplace_back(entry.first);
  return makeError(ErrorCode::InvalidInput, "key '", key, "' is unknown, option '", option, "', use ",
                   alternatives(names));
}

Status applyAll(const std::string &option, const Setters &setters, std::span<const Pair> pairs) {
  std::set<std::string_view> given;
  for (const auto &[key, value] : pairs) {
    if (!given.insert(key).second)
      return makeError(ErrorCode::InvalidInput, "key '", key, "' is given twice, option '", option,
                       "', give this key once");
    SLUICE_RETURN_IF_ERROR(apply(option, setters, key, value));
  }
  return {};
}

Status setLoss(TrainingOptions &options, std::string_view text) {
  constexpr std::string_view kOutput = "output:";
  if (text.starts_with(kOutput) && text.size() > kOutput.size()) {
    options.loss = "output";
    options.output = text.substr(kOutput.size());
    return {};
  }
  if (text != "softmax-cross-entropy" && text != "mse")
    return makeError(ErrorCode::InvalidInput, "'", text,
                     "' is not a loss, option '--train', use softmax-cross-entropy, ", "mse or output:NAME");
  options.loss = text;
  return {};
}

/// What the optimizer's rule reads. Another's options would be read and do nothing.
Setters settersOf(TrainingOptions &options) {
  constexpr double kAny = HUGE_VAL;
  Setters setters = {
      {"lr", number("--optimizer lr", options.learningRate, 0, kAny, "a number from 0")},
      {"weight-decay", number("--optimizer weight-decay", options.weightDecay, 0, kAny, "a number from 0")},
  };
  if (options.optimizer == "momentum") {
    setters["momentum"] = number("--optimizer momentum", options.momentum, 0, 1, "a number in [0, 1)");
    setters["nesterov"] = [&](std::string_view text) -> Status {
      if (text != "true" && text != "false")
        return badValue("--optimizer nesterov", text, "true or false");
      options.nesterov = text == "true";
      return {};
    };
  }
  if (options.optimizer.starts_with("adam")) {
    setters["beta1"] = number("--optimizer beta1", options.beta1, 0, 1, "a number in [0, 1)");
    setters["beta2"] = number("--optimizer beta2", options.beta2, 0, 1, "a number in [0, 1)");
    setters["epsilon"] = number("--optimizer epsilon", options.epsilon, 0, kAny, "a number from 0");
  }
  return setters;
}

Status parseOptimizer(TrainingOptions &options, std::string_view text) {
  static constexpr std::string_view kOptimizers[] = {"sgd", "momentum", "adam", "adamw"};
  auto pairs = splitPairs(text);
  if (pairs.empty())
    return {};
  auto [name, none] = pairs.front();
  if (!none.empty() || std::find(std::begin(kOptimizers), std::end(kOptimizers), name) == std::end(kOptimizers))
    return makeError(ErrorCode::InvalidInput, "'", name, "' is not an optimizer, option '--optimizer', use ",
                     alternatives({std::begin(kOptimizers), std::end(kOptimizers)}));
  options.optimizer = name;
  const Setters setters = settersOf(options);
  return applyAll("--optimizer " + options.optimizer, setters, std::span(pairs).subspan(1));
}

} // namespace

/// For each number of stages there is then one group of ranks.
static Status checkBest(const PipelineOptions &options, int64_t ranks, int64_t devices) {
  if (devices < 2)
    return makeError(ErrorCode::InvalidInput, "stages cannot be divided over a single device, option '--pipeline ",
                     "stages=best', give the number of devices by --devices");
  if (ranks > 0 || options.schedule == PipelineKind::Interleaved)
    return makeError(ErrorCode::InvalidInput,
                     ranks > 0 ? "stages=best chooses the groups of ranks itself, option '--pipeline ranks"
                               : "stages=best does not work with schedule=interleaved, in which a group of ranks has "
                                 "several stages, option '--pipeline schedule",
                     "', leave '", ranks > 0 ? "ranks" : "schedule", "' out or give stages=N");
  return {};
}

Expected<PipelineOptions> parsePipeline(std::string_view text, int64_t devices) {
  constexpr int64_t kMost = 1024;
  int64_t stages = 0, ranks = 0, microbatches = 0;
  bool isBest = false;
  PipelineOptions options;
  const Setters setters = {
      {"stages",
       [&](std::string_view number) -> Status {
         isBest = number == "best";
         return isBest ? Status()
                       : integer("--pipeline stages", stages, 1, kMost, "a number from 1 to 1024, or best")(number);
       }},
      {"ranks", integer("--pipeline ranks", ranks, 2, kMost, "a number from 2 to 1024")},
      {"microbatches", integer("--pipeline microbatches", microbatches, 1, kMost, "a number from 1 to 1024")},
      {"schedule", [&](std::string_view name) -> Status {
         const Expected<PipelineKind> kind = parsePipelineKind(name);
         if (!kind)
           return makeError(kind.error().code, "option '--pipeline': ", kind.error().message);
         options.schedule = *kind;
         return {};
       }}};
  SLUICE_RETURN_IF_ERROR(applyAll("--pipeline", setters, splitPairs(text)));
  for (auto [name, number] : {std::pair("stages", stages), {"microbatches", microbatches}})
    if (number == 0 && !(isBest && name == std::string_view("stages")))
      return makeError(ErrorCode::InvalidInput, "the number of ", name, " is missing, option '--pipeline', give ", name,
                       "=N");
  if (devices > kMost)
    return makeError(ErrorCode::InvalidInput, "a pipeline cannot have ", devices,
                     " ranks, option '--devices', give at most ", kMost);
  options.microbatches = static_cast<uint32_t>(microbatches);
  if (isBest) {
    options.stages = 0, options.groups = 1, options.groupRanks = static_cast<uint32_t>(devices);
    SLUICE_RETURN_IF_ERROR(checkBest(options, ranks, devices));
    return options;
  }
  options.stages = static_cast<uint32_t>(stages);
  options.groups = static_cast<uint32_t>(ranks == 0 ? stages : ranks);
  if (Expected<PipelineSchedule> made =
          makeSchedule(options.schedule, options.groups, options.stages, options.microbatches);
      !made)
    return makeError(made.error().code, "option '--pipeline': ", made.error().message);
  if (options.groups == 1 && devices == 1)
    return makeError(ErrorCode::InvalidInput,
                     "one stage on one device is no pipeline, option '--pipeline', give 2 or more ",
                     "stages, or divide the stage over several devices by --devices");
  if (devices > 1 && devices % options.groups != 0)
    return makeError(ErrorCode::InvalidInput, devices, " devices cannot be divided among ", options.groups,
                     " groups of ranks, option '--devices', give a multiple of ", options.groups);
  options.groupRanks = static_cast<uint32_t>(std::max<int64_t>(devices / options.groups, 1));
  return options;
}

Expected<TrainingOptions> parseTraining(std::string_view train, std::string_view optimizer) {
  TrainingOptions options;
  std::string of;
  const Setters setters = {
      {"loss", [&](std::string_view text) { return setLoss(options, text); }},
      {"of",
       [&](std::string_view text) -> Status {
         of = text;
         return {};
       }},
      {"axis", integer("--train axis", options.classAxis, 0, INT64_MAX, "an axis from 0")},
      {"ignore-index",
       [&](std::string_view text) -> Status {
         options.ignoreIndex.emplace();
         return integer("--train ignore-index", *options.ignoreIndex, INT64_MIN + 1, INT64_MAX, "an integer")(text);
       }},
      {"accumulate",
       [&](std::string_view text) -> Status {
         if (text == "ranks") {
           options.accumulate = kAccumulateRanks;
           return {};
         }
         constexpr const char *kRange = "a number of steps from 1 to 2^31 - 1, or 'ranks'";
         if (!parseInteger(text))
           return makeError(ErrorCode::InvalidInput, "'", text,
                            "' is neither a number of steps nor 'ranks', option '--train accumulate', give ", kRange);
         return integer("--train accumulate", options.accumulate, 1, INT32_MAX, kRange)(text);
       }},
  };
  SLUICE_RETURN_IF_ERROR(applyAll("--train", setters, splitPairs(train)));
  if (options.loss != "softmax-cross-entropy" && options.classAxis >= 0)
    return makeError(ErrorCode::InvalidInput, "loss '", options.loss,
                     "' has no axis of classes, option '--train axis', leave this option out");
  if (options.loss != "softmax-cross-entropy" && options.ignoreIndex)
    return makeError(ErrorCode::InvalidInput, "loss '", options.loss,
                     "' has no labels to ignore, option '--train ignore-index', leave this option out");
  if (options.loss == "output" && !of.empty())
    return makeError(ErrorCode::InvalidInput, "both '", of, "' and '", options.output,
                     "' are named as the output of the loss, option '--train of', leave this option out");
  if (!of.empty())
    options.output = of;
  SLUICE_RETURN_IF_ERROR(parseOptimizer(options, optimizer));
  return options;
}

} // namespace sluice
