//===- RunCommand.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/TensorIO/Compare.h"
#include "sluice/TensorIO/Npy.h"
#include "tools/sluice/RunSession.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::runner {

using driver::RunSession;

namespace {

struct Options {
  std::string folder, trace;
  int64_t steps = 2, repeat = 0;
};

struct KeptRun {
  bool quantized = false;
  std::vector<HostTensor> inputs;
  std::map<size_t, HostTensor> references;
};

Expected<HostTensor> readLike(const std::string &path, const HostTensor &port) {
  Expected<HostTensor> tensor = readNpy(path);
  if (tensor && (tensor->type != port.type || tensor->shape != port.shape))
    return makeError(ErrorCode::InvalidInput, "'", path, "' is ", elementTypeName(tensor->type), " ",
                     formatShape(tensor->shape), " and the model's '", port.name, "' is ", elementTypeName(port.type),
                     " ", formatShape(port.shape), ", write both anew");
  return tensor;
}

Expected<KeptRun> readKeptRun(const std::string &folder, const sluice_model &model) {
  const std::string path = folder + "/run.json";
  Expected<Json> json = readJsonFile(path);
  if (!json)
    return propagate(json);
  const JsonReader reader(*json, path);
  auto wrong = [&](const char *what) {
    return makeError(ErrorCode::InvalidInput, what, ", '", path, "', write the folder anew");
  };
  auto isFile = [](const Json &entry) {
    return entry.is_object() && entry.contains("file") && entry["file"].is_string() &&
           entry["file"].get<std::string>().find('/') == std::string::npos;
  };
  if (!json->is_object() || json->value("schema", Json()) != 1 || !(*json)["quantized"].is_boolean() ||
      !(*json)["inputs"].is_array() || !(*json)["outputs"].is_array())
    return wrong("this is no run of schema 1");
  KeptRun run;
  run.quantized = (*json)["quantized"];
  const Json &inputs = (*json)["inputs"];
  if (inputs.size() != model.num_inputs)
    return wrong("it has other inputs than the model");
  Expected<std::vector<HostTensor>> ports = driver::makeInputs(model);
  if (!ports)
    return propagate(ports);
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    HostTensor &port = (*ports)[i];
    if (isFile(inputs[i])) {
      Expected<HostTensor> tensor = readLike(folder + "/" + inputs[i]["file"].get<std::string>(), port);
      if (!tensor)
        return propagate(tensor);
      port = std::move(*tensor);
    } else if (inputs[i].is_object() && inputs[i].value("seed", Json()).is_number_unsigned()) {
      fillRandom(port, inputs[i]["seed"], i);
    } else {
      return wrong("an input has neither file nor seed");
    }
  }
  run.inputs = std::move(*ports);
  for (const Json &output : (*json)["outputs"]) {
    if (!isFile(output) || !output.value("index", Json()).is_number_unsigned() || output["index"] >= model.num_outputs)
      return wrong("an output has no file, or is not the model's");
    Expected<HostTensor> tensor = readNpy(folder + "/" + output["file"].get<std::string>());
    if (!tensor)
      return propagate(tensor);
    run.references.emplace(output["index"], std::move(*tensor));
  }
  return run;
}

int64_t medianOf(std::vector<int64_t> &values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Compares; what differs goes into `json`.
Expected<bool> check(const KeptRun &run, std::vector<HostTensor> outputs, Json &json) {
  if (Status status = cutToExtents(outputs); !status)
    return propagate(status);
  bool passes = true;
  json = Json::array();
  for (const auto &[index, reference] : run.references) {
    Expected<TensorComparison> comparison =
        compareTensors(outputs[index], reference, defaultTolerance(reference.type, run.quantized));
    if (!comparison)
      return propagate(comparison);
    passes &= comparison->matches;
    json.push_back({{"name", outputs[index].name},
                    {"matches", comparison->matches},
                    {"ratio", comparison->ratio},
                    {"cosine", comparison->cosine}});
  }
  return passes;
}

Status run(const Options &options) {
  // Times of commands are asked of the device only where they are wanted.
  Expected<RunSession> session = RunSession::open(options.folder + "/model", /*threads=*/0, /*trace=*/false);
  if (!session)
    return propagate(session);
  const sluice_model &model = session->model();
  Expected<KeptRun> kept = readKeptRun(options.folder, model);
  if (!kept)
    return propagate(kept);
  Expected<std::vector<HostTensor>> outputs = driver::makeOutputs(model);
  if (!outputs)
    return propagate(outputs);
  Json json;
  bool passes = true;
  for (int64_t step = 0; step < options.steps && passes; ++step) {
    if (Status status = session->step(kept->inputs, *outputs); !status)
      return status;
    Expected<bool> checked = check(*kept, *outputs, json["outputs"]);
    if (!checked)
      return propagate(checked);
    passes = *checked;
  }
  json["compared"] = kept->references.size();
  json["passes"] = passes;
  std::vector<int64_t> stepNs;
  for (int64_t i = 0; i < options.repeat; ++i) {
    if (Status status = session->step(kept->inputs, *outputs); !status)
      return status;
    stepNs.push_back(session->stats().step_ns);
  }
  const sluice_stats stats = session->stats();
  json["medianNs"] = medianOf(stepNs);
  json["bytesIn"] = stats.bytes_in;
  json["bytesOut"] = stats.bytes_out;
  for (uint32_t m = 0; m < model.num_memories; ++m)
    json["arenas"][model.memories[m].name] = model.memories[m].arena_bytes;
  if (!options.trace.empty() || options.repeat > 0) {
    // Apart, since keeping times takes some.
    session = RunSession::open(options.folder + "/model", 0, /*trace=*/true);
    if (!session)
      return propagate(session);
    const sluice_model &traced = session->model();
    std::map<std::string, std::vector<int64_t>> operatorNs;
    for (int64_t i = 0; i <= std::max<int64_t>(options.repeat, 1); ++i) {
      if (Status status = session->step(kept->inputs, *outputs); !status)
        return status;
      if (i > 0) // The first loads code.
        for (const sluice_command_time &time : session->commandTimes())
          if (time.op != UINT32_MAX)
            operatorNs[traced.op_names[time.op]].push_back(time.end_ns - time.start_ns);
    }
    for (auto &[name, times] : operatorNs)
      json["operatorNs"][name] = medianOf(times);
    if (!options.trace.empty())
      if (Status status = writeFileAtomically(
              options.trace, session->traceJson().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
          !status)
        return status;
  }
  std::cout << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
  if (!passes)
    return makeError(ErrorCode::InvalidInput, "outputs differ from the reference, '", options.folder, "'");
  return {};
}

} // namespace

void addRunCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("run", "Run a kept run and compare it with its references");
  command->add_option("FOLDER", options->folder, "what `sluice run --keep` wrote")->required();
  command->add_option("--steps", options->steps, "to compare")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--repeat", options->repeat, "then time so many steps, and as many for each operator's time")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--trace", options->trace, "write the last step's timeline")->type_name("FILE");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

} // namespace sluice::runner
