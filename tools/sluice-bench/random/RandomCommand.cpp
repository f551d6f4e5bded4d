//===- RandomCommand.cpp - sluice-bench random ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Commands.h"
#include "../Rival.h"
#include "../TestPool.h"
#include "Differential.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Units.h"
#include "sluice/TensorIO/Npy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

struct RandomOptions {
  uint64_t seed = 1;
  int64_t count = 100;
  int nodes = 12;
  std::string format = "text", keep, python = "python3", against;
  Ways ways = {{"threads", "swapped", "folded"}};
  int processes = 0;
  int timeoutSec = 60;
};

std::vector<std::string> variantNames() {
  std::vector<std::string> names;
  for (const Variant &variant : variants())
    names.push_back(variant.name);
  return names;
}

Status writeBytes(const fs::path &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    return makeError(ErrorCode::Io, "cannot write '", path.string(), "', give a writable directory");
  return {};
}

/// A tensor as ONNX's backend tests keep it.
std::string asProto(const HostTensor &tensor) {
  ::onnx::TensorProto proto;
  proto.set_name(tensor.name);
  proto.set_data_type(static_cast<int32_t>(tensor.type));
  for (int64_t extent : tensor.shape)
    proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  return proto.SerializeAsString();
}

/// model.onnx and its data, as `sluice run model.onnx --expect test_data_set_0` reads them.
Status writeFolder(const fs::path &folder, const RandomModel &made, const std::vector<HostTensor> &reference) {
  const fs::path data = folder / "test_data_set_0";
  std::error_code error;
  fs::create_directories(data, error);
  SLUICE_RETURN_IF_ERROR(writeBytes(folder / "model.onnx", made.model.SerializeAsString()));
  int number = 0;
  for (const ::onnx::ValueInfoProto &input : made.model.graph().input())
    SLUICE_RETURN_IF_ERROR(writeBytes(data / concat("input_", number++, ".pb"), asProto(made.inputs.at(input.name()))));
  number = 0;
  for (const HostTensor &output : reference)
    SLUICE_RETURN_IF_ERROR(writeBytes(data / concat("output_", number++, ".pb"), asProto(output)));
  return {};
}

/// The outputs of the other runtime; its error where it refuses the model.
Expected<std::vector<HostTensor>> referenceOf(Rival &rival, const RandomModel &made, const fs::path &folder) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const std::string path = (folder / "model.onnx").string();
  SLUICE_RETURN_IF_ERROR(writeBytes(path, made.model.SerializeAsString()));
  std::map<std::string, std::string> inputs;
  for (const auto &[name, tensor] : made.inputs) {
    inputs[name] = (folder / (name + ".npy")).string();
    SLUICE_RETURN_IF_ERROR(writeNpy(inputs[name], tensor));
  }
  SLUICE_RETURN_IF_ERROR(rival.open(path, inputs, 1));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> files, rival.outputs((folder / "output").string()));
  std::vector<HostTensor> outputs;
  for (const std::string &file : files) {
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readNpy(file));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

/// Counts and lists what was found.
class Summary {
public:
  Summary(const RandomOptions &options, std::ostream &out) : options(options), out(out) {}

  /// Whether the model has to be kept.
  bool add(uint64_t seed, const PoolResult &result) {
    ++models;
    Json entry{{"seed", seed}};
    if (!result.passed) {
      entry["differences"] = Json::array({result.reason});
    } else {
      entry.update(Json::parse(result.said, nullptr, /*allow_exceptions=*/false));
    }
    for (const Json &name : entry.value("ran", Json::array()))
      ++ran[name.get<std::string>()];
    for (const Json &limit : entry.value("unsupported", Json::array()))
      ++limits[limit.get<std::string>().substr(0, limit.get<std::string>().find(':'))];
    entry.erase("ran");
    entry.erase("unsupported");
    const std::string refusal = entry.value("refused", "");
    const Json differences = entry.value("differences", Json::array());
    refused += !refusal.empty();
    differing += !differences.empty();
    if (refusal.empty() && differences.empty())
      return false;
    if (options.format == "json")
      found.push_back(entry);
    else if (!refusal.empty())
      out << "seed " << seed << ": refused: " << refusal << std::endl;
    else
      for (const Json &difference : differences)
        out << "seed " << seed << ": " << difference.get<std::string>() << std::endl;
    return true;
  }

  void addUncompared(const std::string &reason) {
    ++uncompared;
    ++uncomparedReasons[reason.substr(0, 80)];
  }

  Status finish() {
    if (options.format == "json") {
      out << jsonText(Json{{"benchmark", "random"},
                           {"models", models},
                           {"ran", ran},
                           {"differing", differing},
                           {"refused", refused},
                           {"uncompared", uncompared},
                           {"uncomparedReasons", uncomparedReasons},
                           {"unsupported", limits},
                           {"findings", found}},
                      1)
          << '\n';
    } else {
      for (const auto &[variant, times] : ran) {
        out << "variant " << variant << ": " << times << (times == 1 ? " model" : " models");
        if (const auto limit = limits.find(variant); limit != limits.end())
          out << ", " << limit->second << " of them not supported";
        out << '\n';
      }
      for (const auto &[reason, times] : uncomparedReasons)
        out << options.against << " refuses " << times << ": " << reason << '\n';
      out << models << " models, " << differing << " differ or crash, " << refused << " are refused";
      if (!options.against.empty())
        out << ", " << uncompared << " were not compared with " << options.against;
      out << '\n';
    }
    if (differing + refused == 0)
      return {};
    return makeError(ErrorCode::InvalidInput, differing + refused, " of ", models,
                     " random models give wrong results, crash or are refused, repeat one by '--seed S --count 1 "
                     "--keep DIR' with its seed S");
  }

private:
  const RandomOptions &options;
  std::ostream &out;
  int64_t models = 0, differing = 0, refused = 0, uncompared = 0;
  std::map<std::string, int64_t> ran, uncomparedReasons, limits; ///< By variant, by reason, by variant.
  Json found = Json::array();
};

class Campaign {
public:
  Campaign(const RandomOptions &options, fs::path work)
      : options(options), work(std::move(work)), summary(options, std::cout) {}

  Status run();

private:
  Status runChunk(uint64_t first, size_t count);

  const RandomOptions &options;
  fs::path work;
  Summary summary;
  std::unique_ptr<Rival> rival;
  int64_t ended = 0;
};

Status Campaign::runChunk(uint64_t first, size_t count) {
  std::vector<RandomModel> models;
  std::vector<std::vector<HostTensor>> references(count);
  for (size_t i = 0; i < count; ++i) {
    models.push_back(makeRandomModel(first + i, options.nodes));
    if (!rival)
      continue;
    if (!models.back().suitsOthers) {
      summary.addUncompared("a window has too many taps");
      continue;
    }
    Expected<std::vector<HostTensor>> reference = referenceOf(*rival, models.back(), work / "reference");
    if (reference)
      references[i] = std::move(*reference);
    else
      summary.addUncompared(reference.error().message);
  }
  PoolParams params;
  params.processes = usableThreads(options.processes);
  params.timeoutNs = int64_t(options.timeoutSec) * 1'000'000'000;
  Status kept;
  auto folderOf = [&](size_t index) { return work / std::to_string(first + index); };
  Status ran = runIsolated(
      count, params,
      [&](size_t index) -> Expected<std::string> {
        const fs::path folder = folderOf(index);
        SLUICE_RETURN_IF_ERROR(writeFolder(folder, models[index], {}));
        setenv("TMPDIR", folder.c_str(), 1);
        const Subject subject{(folder / "model.onnx").string(), models[index].inputs, models[index].outputs,
                              references[index]};
        const Findings findings = check(subject, options.ways, first + index, folder.string());
        Json said{{"ran", findings.ran}, {"differences", findings.differences}, {"unsupported", findings.unsupported}};
        if (!findings.refused.empty())
          said["refused"] = findings.refused;
        return jsonText(said);
      },
      [&](size_t index, const PoolResult &result) {
        if (summary.add(first + index, result) && !options.keep.empty())
          if (Status written =
                  writeFolder(fs::path(options.keep) / std::to_string(first + index), models[index], references[index]);
              !written)
            kept = written;
        std::error_code ignored;
        fs::remove_all(folderOf(index), ignored);
        ++ended;
        if (isatty(STDERR_FILENO) != 0)
          std::cerr << '\r' << ended << " of " << options.count << (ended == options.count ? "\n" : "") << std::flush;
      });
  SLUICE_RETURN_IF_ERROR(ran);
  return kept;
}

Status Campaign::run() {
  if (!options.against.empty()) {
    SLUICE_ASSIGN_OR_RETURN(rival, Rival::start(options.against, options.python));
  }
  constexpr int64_t kChunk = 64;
  for (int64_t done = 0; done < options.count; done += kChunk)
    SLUICE_RETURN_IF_ERROR(runChunk(options.seed + static_cast<uint64_t>(done),
                                    static_cast<size_t>(std::min(kChunk, options.count - done))));
  return summary.finish();
}

Status runRandom(const RandomOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::create("sluice-random"));
  return Campaign(options, folder.path()).run();
}

} // namespace

void addRandomCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RandomOptions>();
  CLI::App *command =
      driver::addCommand(app, "random", "Compile random models in several ways, and compare the results");
  driver::addOption(*command, "--seed", options->seed, "seed of the first model; each next model has the next seed")
      ->capture_default_str();
  driver::addOption(*command, "--count", options->count, "models")
      ->check(CLI::Range(int64_t(1), int64_t(100'000'000)))
      ->capture_default_str();
  driver::addOption(*command, "--nodes", options->nodes, "number of nodes of a model")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  std::string known;
  for (const Variant &variant : variants())
    known += concat(known.empty() ? "" : "; ", variant.name, ": ", variant.summary);
  driver::addOption(*command, "--variants", options->ways.variants,
                    concat("ways to compile and run beside the plain one. ", known))
      ->delimiter(',')
      ->check(CLI::IsMember(variantNames()))
      ->type_name("NAMES")
      ->allow_extra_args(false)
      ->capture_default_str();
  driver::addOption(*command, "--sample", options->ways.sample,
                    "number of variants that each model draws from --variants, 0: each model runs by all of them")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  driver::addOption(*command, "--optimize", options->ways.levels,
                    "optimization levels of the code, 0 to 3; each model draws one of the list")
      ->delimiter(',')
      ->check(CLI::Range(0, 3))
      ->type_name("LEVELS")
      ->allow_extra_args(false)
      ->capture_default_str();
  driver::addOption(*command, "--against", options->against, "compare with the results of this package, too")
      ->check(CLI::IsMember({"onnxruntime", "openvino"}))
      ->type_name("PACKAGE");
  driver::addOption(*command, "--python", options->python, "the interpreter with this package")->capture_default_str();
  driver::addOption(*command, "--keep", options->keep,
                    "write each model with a finding to this directory, in a folder named after its seed")
      ->type_name("DIR");
  driver::addOption(*command, "--threads", options->processes, "number of parallel models, 0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  driver::addOption(*command, "--timeout", options->timeoutSec, "limit of a model with all variants in seconds")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  driver::addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runRandom(*options); }; });
}

} // namespace sluice::bench
