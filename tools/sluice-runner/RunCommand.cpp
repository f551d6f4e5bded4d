//===- RunCommand.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "lib/Runtime/Sha256.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/TensorIO/Compare.h"
#include "sluice/TensorIO/Npy.h"
#include "tools/sluice/StepInputs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::runner {

using driver::GivenInput, driver::RunSession;

namespace {

struct RunOptions {
  std::string folder, trace, outputDirectory;
  int64_t steps = 2, repeat = 0;
};

/// Bytes of the parameter file that a result is.
struct Weight {
  int64_t offset = 0, bytes = 0;
};

/// What a step has: values of symbols by name, else the upper bounds, and what its outputs are compared with.
struct Size {
  std::map<std::string, int64_t> symbols;
  std::map<size_t, HostTensor> references;
};

struct KeptRun {
  bool quantized = false;
  std::vector<Weight> weights;
  std::vector<GivenInput> inputs;
  std::vector<Size> sizes; ///< One where run.json names none.
};

Expected<HostTensor> readLike(const std::string &path, const HostTensor &port) {
  Expected<HostTensor> tensor = readNpy(path);
  if (tensor && (tensor->type != port.type || tensor->shape != port.shape))
    return makeError(ErrorCode::InvalidInput, "'", path, "' is ", elementTypeName(tensor->type), " ",
                     formatShape(tensor->shape), " and '", port.name, "' of the model is ", elementTypeName(port.type),
                     " ", formatShape(port.shape), ", write the model and the run again with 'sluice run --keep'");
  return tensor;
}

bool isFile(const Json &entry) {
  return entry.is_object() && entry.contains("file") && entry["file"].is_string() &&
         entry["file"].get<std::string>().find('/') == std::string::npos;
}

tl::unexpected<Error> wrongRun(const std::string &folder, const char *what) {
  return makeError(ErrorCode::InvalidInput, what, ", '", folder,
                   "/run.json', write the folder again with 'sluice run --keep'");
}

/// The references of an array of outputs.
Expected<std::map<size_t, HostTensor>> readReferences(const std::string &folder, const sluice_model &model,
                                                      const Json &outputs) {
  std::map<size_t, HostTensor> references;
  for (const Json &output : outputs) {
    if (!isFile(output) || !output.value("index", Json()).is_number_unsigned() || output["index"] >= model.num_outputs)
      return wrongRun(folder, "an output has no file, or the model has no such output");
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readNpy(folder + "/" + output["file"].get<std::string>()));
    references.emplace(output["index"], std::move(tensor));
  }
  return references;
}

Expected<std::vector<Size>> readSizes(const std::string &folder, const sluice_model &model, const Json &json) {
  std::vector<Size> sizes;
  for (const Json &entry : json) {
    Size size;
    if (!entry.is_object() || !entry.value("symbols", Json()).is_object() || !entry.value("outputs", Json()).is_array())
      return wrongRun(folder, "an entry of 'sizes' has no symbols or no outputs");
    for (const auto &[name, value] : entry["symbols"].items()) {
      if (!value.is_number_integer())
        return wrongRun(folder, "a symbol's value is not an integer");
      size.symbols[name] = value;
    }
    SLUICE_ASSIGN_OR_RETURN(size.references, readReferences(folder, model, entry["outputs"]));
    sizes.push_back(std::move(size));
  }
  return sizes;
}

Expected<KeptRun> readKeptRun(const std::string &folder, const sluice_model &model) {
  const std::string path = folder + "/run.json";
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  auto wrong = [&](const char *what) { return wrongRun(folder, what); };
  if (!json.is_object() || json.value("schema", Json()) != 1 || !json["quantized"].is_boolean() ||
      !json["inputs"].is_array() || !json["outputs"].is_array())
    return wrong("the file does not describe a run of schema 1");
  KeptRun run;
  run.quantized = json["quantized"];
  const Json &inputs = json["inputs"];
  if (inputs.size() != model.num_inputs)
    return wrong("the number of inputs differs from the model's");
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> ports, driver::makeInputs(model));
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    GivenInput &given = run.inputs.emplace_back();
    if (isFile(inputs[i])) {
      given.origin = folder + "/" + inputs[i]["file"].get<std::string>();
      // Of a model with symbols, the session knows which shapes fit.
      SLUICE_ASSIGN_OR_RETURN(given.tensor,
                              model.num_symbols > 0 ? readNpy(given.origin) : readLike(given.origin, ports[i]));
    } else if (inputs[i].is_object() && inputs[i].value("seed", Json()).is_number_unsigned()) {
      given.seed = inputs[i]["seed"];
    } else {
      return wrong("an input has neither a file nor a seed");
    }
  }
  SLUICE_ASSIGN_OR_RETURN(run.sizes, readSizes(folder, model, json.value("sizes", Json::array())));
  if (run.sizes.empty()) {
    SLUICE_ASSIGN_OR_RETURN(auto references, readReferences(folder, model, json["outputs"]));
    run.sizes.push_back({{}, std::move(references)});
  }
  for (const Json &weight : json.value("weights", Json::array())) {
    auto isSize = [&](const char *key) {
      const Json value = weight.value(key, Json());
      return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t(INT64_MAX);
    };
    if (!weight.is_object() || !isSize("offset") || !isSize("bytes"))
      return wrong("a weight lacks its 'offset' or its 'bytes'");
    run.weights.push_back({weight["offset"], weight["bytes"]});
  }
  return run;
}

int64_t medianOf(std::vector<int64_t> &values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// Compares; what differs goes into `json`.
Expected<bool> check(const KeptRun &run, const Size &size, std::vector<HostTensor> outputs, Json &json) {
  SLUICE_RETURN_IF_ERROR(cutToExtents(outputs));
  bool passes = true;
  json = Json::array();
  for (const auto &[index, reference] : size.references) {
    SLUICE_ASSIGN_OR_RETURN(TensorComparison comparison,
                            compareTensors(outputs[index], reference, defaultTolerance(reference.type, run.quantized)));
    passes &= comparison.matches;
    json.push_back({{"name", outputs[index].name},
                    {"matches", comparison.matches},
                    {"ratio", comparison.ratio},
                    {"cosine", comparison.cosine}});
  }
  return passes;
}

/// The tensors of a size's steps, whose shapes the session gets.
Expected<std::vector<HostTensor>> inputsOf(RunSession &session, const KeptRun &kept, const Size &size) {
  const sluice_model &model = session.model();
  SLUICE_ASSIGN_OR_RETURN(driver::InputShapes shapes, driver::chooseShapes(model, kept.inputs, 1, size.symbols));
  SLUICE_RETURN_IF_ERROR(session.setShapes(shapes));
  return driver::makeInputs(model, shapes, kept.inputs);
}

/// output_0.npy and so on.
Status writeOutputs(const std::string &directory, std::vector<HostTensor> outputs) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return makeError(ErrorCode::Io, "cannot create directory '", directory, "': ", error.message(),
                     ", choose another with --output-dir");
  SLUICE_RETURN_IF_ERROR(cutToExtents(outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type == ElementType::String)
      return makeError(ErrorCode::Unsupported, "output '", outputs[i].name,
                       "' holds text, which .npy files cannot store, option '--output-dir', leave this option out");
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(concat(directory, "/output_", i, ".npy"), formatNpy(outputs[i])));
  }
  return {};
}

/// The steps of a size; what was seen of them.
Expected<Json> runAt(const RunOptions &options, RunSession &session, const KeptRun &kept, const Size &size) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, inputsOf(session, kept, size));
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, session.makeOutputs());
  Json json;
  bool passes = true;
  for (int64_t step = 0; step < options.steps && passes; ++step) {
    SLUICE_RETURN_IF_ERROR(session.step(inputs, outputs));
    SLUICE_ASSIGN_OR_RETURN(bool checked, check(kept, size, outputs, json["outputs"]));
    passes = checked;
  }
  if (!options.outputDirectory.empty())
    SLUICE_RETURN_IF_ERROR(writeOutputs(options.outputDirectory, outputs));
  json["compared"] = size.references.size();
  json["passes"] = passes;
  if (!size.symbols.empty())
    json["symbols"] = size.symbols;
  std::vector<int64_t> stepNs;
  for (int64_t i = 0; i < options.repeat; ++i) {
    SLUICE_RETURN_IF_ERROR(session.step(inputs, outputs));
    stepNs.push_back(session.stats().step_ns);
  }
  json["medianNs"] = medianOf(stepNs);
  return json;
}

/// Medians of operators' times, and the last step's timeline where it is asked for, in a session of its own.
Status trace(const RunOptions &options, const KeptRun &kept, Json &json) {
  SLUICE_ASSIGN_OR_RETURN(RunSession session, RunSession::open(options.folder + "/model", 0, /*trace=*/true));
  const sluice_model &model = session.model();
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, inputsOf(session, kept, kept.sizes.front()));
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, session.makeOutputs());
  std::map<std::string, std::vector<int64_t>> operatorNs;
  for (int64_t i = 0; i <= std::max<int64_t>(options.repeat, 1); ++i) {
    SLUICE_RETURN_IF_ERROR(session.step(inputs, outputs));
    if (i > 0) // The first loads code.
      for (const driver::CommandTime &time : session.commandTimes())
        if (time.op != UINT32_MAX)
          operatorNs[model.op_names[time.op]].push_back(driver::tookNs(time));
  }
  for (auto &[name, times] : operatorNs)
    json["operatorNs"][name] = medianOf(times);
  if (options.trace.empty())
    return {};
  return writeFileAtomically(options.trace, jsonText(session.traceJson()) + "\n");
}

Status run(const RunOptions &options) {
  // Times of commands are asked of the device only where they are wanted.
  std::optional<RunSession> session;
  if (Expected<RunSession> untraced = RunSession::open(options.folder + "/model", /*threads=*/0, /*trace=*/false))
    session.emplace(std::move(*untraced));
  else
    return propagate(untraced);
  const sluice_model &model = session->model();
  SLUICE_ASSIGN_OR_RETURN(KeptRun kept, readKeptRun(options.folder, model));
  Json json;
  bool passes = true;
  for (const Size &size : kept.sizes) {
    SLUICE_ASSIGN_OR_RETURN(Json found, runAt(options, *session, kept, size));
    passes &= found["passes"].get<bool>();
    if (size.symbols.empty())
      json = std::move(found);
    else
      json["sizes"].push_back(std::move(found));
  }
  json["passes"] = passes;
  const sluice_stats stats = session->stats();
  json["bytesIn"] = stats.bytes_in;
  json["bytesOut"] = stats.bytes_out;
  for (uint32_t m = 0; m < model.num_memories; ++m)
    json["arenas"][model.memories[m].name] = model.memories[m].arena_bytes;
  json["notes"] = session->notes();
  // `model` ends with its session.
  if (!options.trace.empty() || options.repeat > 0) {
    // Apart, since keeping times takes some.
    // The device may not hold both.
    session.reset();
    SLUICE_RETURN_IF_ERROR(trace(options, kept, json));
  }
  std::cout << jsonText(json, 1) << '\n';
  if (!passes)
    return makeError(ErrorCode::InvalidInput, "outputs differ from the reference, in '", options.folder,
                     "', see the differences above");
  return {};
}

/// A file's bytes, written where they are changed.
class MappedFile {
public:
  static Expected<MappedFile> open(const std::string &path) {
    MappedFile file;
    struct stat about {};
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor >= 0 && fstat(descriptor, &about) == 0) {
      file.bytes = about.st_size;
      file.data = mmap(nullptr, static_cast<size_t>(file.bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    const int problem = errno;
    if (descriptor >= 0)
      ::close(descriptor);
    if (file.data == MAP_FAILED)
      return makeError(ErrorCode::Io, "cannot change '", path, "', ", std::strerror(problem),
                       ", check its permissions");
    return file;
  }
  MappedFile(MappedFile &&other) noexcept : data(std::exchange(other.data, MAP_FAILED)), bytes(other.bytes) {}
  MappedFile &operator=(MappedFile &&) = delete;
  ~MappedFile() {
    if (data != MAP_FAILED)
      munmap(data, static_cast<size_t>(bytes));
  }
  char *at(int64_t offset) const { return static_cast<char *>(data) + offset; }
  int64_t size() const { return bytes; }

private:
  MappedFile() = default;
  void *data = MAP_FAILED;
  int64_t bytes = 0;
};

/// SHA-256 of the whole parameters.
Expected<std::string> parameterHash(const std::string &directory) {
  SLUICE_ASSIGN_OR_RETURN(Json manifest, readJsonFile(directory + "/manifest.json"));
  if (!manifest.is_object() || !manifest.value("parameter_hash", Json()).is_string())
    return makeError(ErrorCode::InvalidInput, "'", directory,
                     "/manifest.json' has no hash of the parameters, write the folder again with 'sluice run --keep'");
  return manifest["parameter_hash"].get<std::string>();
}

/// The weights that a copy of a kept run was written without.
Status generate(const std::string &folder) {
  const std::string weights = folder + "/weights";
  SLUICE_ASSIGN_OR_RETURN(RunSession session, RunSession::open(weights + "/model", /*threads=*/0, /*trace=*/false));
  const sluice_model &model = session.model();
  SLUICE_ASSIGN_OR_RETURN(KeptRun kept, readKeptRun(weights, model));
  const std::string path = folder + "/model/parameters.bin";
  auto wrong = [&](const auto &...what) {
    return makeError(ErrorCode::InvalidInput, what..., ", according to '", weights,
                     "/run.json', write the folder again with 'sluice run --keep'");
  };
  SLUICE_ASSIGN_OR_RETURN(std::string hash, parameterHash(folder + "/model"));
  // Beside the file, which stays as it is until all is there.
  Temporary scratch(path + ".new");
  std::error_code problem;
  std::filesystem::copy_file(path, scratch.path(), std::filesystem::copy_options::overwrite_existing, problem);
  if (problem)
    return makeError(ErrorCode::Io, "cannot copy '", path, "' to '", scratch.path(), "', ", problem.message(),
                     problem == std::errc::no_space_on_device ? ", make room on its disk"
                                                              : ", make both readable and writable");
  {
    SLUICE_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(scratch.path()));
    if (kept.weights.size() != model.num_outputs)
      return wrong("the run lists ", kept.weights.size(), " weights and the model computes ", model.num_outputs);
    std::vector<void *> outputs;
    std::map<int64_t, int64_t> ends;
    for (uint32_t i = 0; i < model.num_outputs; ++i) {
      const auto [offset, bytes] = kept.weights[i];
      if (bytes != tableEntry(model.outputs, i).bytes || bytes > file.size() || offset > file.size() - bytes)
        return wrong("a weight lies beyond the end of '", path, "'");
      const auto next = ends.upper_bound(offset);
      if ((next != ends.end() && next->first < offset + bytes) ||
          (next != ends.begin() && std::prev(next)->second > offset))
        return wrong("two weights overlap");
      ends[offset] = offset + bytes;
      outputs.push_back(file.at(offset));
    }
    SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, inputsOf(session, kept, kept.sizes.front()));
    SLUICE_RETURN_IF_ERROR(session.step(inputs, outputs));
    if (runtime::sha256Hex(file.at(0), static_cast<size_t>(file.size())) != hash)
      return wrong("the computed weights differ from those that '", path, "' had");
  }
  std::filesystem::rename(scratch.path(), path, problem);
  if (problem)
    return makeError(ErrorCode::Io, "cannot replace '", path, "', ", problem.message(), ", check its permissions");
  scratch.keep();
  return {};
}

} // namespace

void addGenerateCommand(CLI::App &app, Action &action) {
  auto folder = std::make_shared<std::string>();
  CLI::App *command = driver::addCommand(app, "generate", "Compute the weights that a kept run was copied without");
  driver::addOption(*command, "FOLDER", *folder, "a folder that `sluice run --keep` wrote")->required();
  command->callback([folder, &action] { action = [folder] { return generate(*folder); }; });
}

void addRunCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = driver::addCommand(app, "run", "Run a kept run and compare it with its references");
  driver::addOption(*command, "FOLDER", options->folder, "a folder that `sluice run --keep` wrote")->required();
  driver::addOption(*command, "--steps", options->steps, "number of steps to compare")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  driver::addOption(*command, "--repeat", options->repeat,
                    "then time this number of steps, and the same number for the times of operators")
      ->check(CLI::NonNegativeNumber);
  driver::addOption(*command, "--output-dir", options->outputDirectory,
                    "write the last step's outputs into this directory as output_0.npy and so on")
      ->type_name("DIR");
  driver::addOption(*command, "--trace", options->trace, "write the last step's timeline")->type_name("FILE");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

} // namespace sluice::runner
