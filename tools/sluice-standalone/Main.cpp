//===- Main.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The program of `sluice compile --emit executable`: one model, which is linked
// into it with its parameters, and .npy files.
//
//===----------------------------------------------------------------------===//

#include "sluice/Runtime/Tables.h"
#include "sluice/Runtime/sluice.h"
#include "sluice/TensorIO/Compare.h"
#include "sluice/TensorIO/Npy.h"
#include "tools/common/Driver.h"
#include "tools/common/Guard.h"

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

/// Opens the model; the object of its parameters defines it.
extern "C" sluice_session *sluice_open_embedded(const sluice_options *options);

namespace sluice::driver {
namespace {

struct StandaloneOptions {
  std::vector<std::string> inputs;
  std::string outputDirectory, expect;
  std::optional<double> tolerance;
  int64_t steps = 1;
  int threads = 0;
};

using Session = std::unique_ptr<sluice_session, void (*)(sluice_session *)>;

tl::unexpected<Error> lastError() { return makeError(ErrorCode::InvalidInput, sluice_last_error()); }

Expected<Session> open(int threads) {
  sluice_options options{};
  options.size = sizeof options;
  options.threads = static_cast<uint32_t>(threads);
  Session session(sluice_open_embedded(&options), sluice_close);
  if (!session)
    return lastError();
  return session;
}

std::string nameList(const sluice_tensor_desc *ports, uint32_t count) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i)
    names.push_back(tableEntry(ports, i).name);
  return joined(names);
}

/// The file of each input: what --input says, else input_0.npy and so on of the references' directory.
Expected<std::vector<std::string>> chooseFiles(const StandaloneOptions &options, const sluice_model &model) {
  std::vector<std::string> files(model.num_inputs);
  uint32_t next = 0;
  for (const std::string &given : options.inputs) {
    uint32_t index = 0;
    std::string file;
    for (; index < model.num_inputs && file.empty(); ++index)
      if (const std::string prefix = std::string(tableEntry(model.inputs, index).name) + "="; given.starts_with(prefix))
        file = given.substr(prefix.size()), next = index;
    if (file.empty())
      file = given;
    if (next >= model.num_inputs)
      return makeError(ErrorCode::InvalidInput, "more inputs are given than the model has (",
                       nameList(model.inputs, model.num_inputs), "), option '--input ", given,
                       "', leave this option out");
    files[next++] = std::move(file);
  }
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    if (files[i].empty() && !options.expect.empty())
      files[i] = concat(options.expect, "/input_", i, ".npy");
    if (files[i].empty())
      return makeError(ErrorCode::InvalidInput, "input '", tableEntry(model.inputs, i).name,
                       "' has no data, give --input ", tableEntry(model.inputs, i).name, "=FILE.npy or --expect DIR");
  }
  return files;
}

Expected<std::vector<HostTensor>> readInputs(const StandaloneOptions &options, const sluice_model &model) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> files, chooseFiles(options, model));
  std::vector<HostTensor> inputs;
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    const sluice_tensor_desc desc = tableEntry(model.inputs, i);
    SLUICE_ASSIGN_OR_RETURN(ElementType type, elementTypeFromOnnx(desc.element_type));
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readNpy(files[i]));
    if (tensor.type != type || tensor.shape.size() != desc.rank)
      return makeError(ErrorCode::InvalidInput, "input '", desc.name, "' needs ", elementTypeName(type), " with ",
                       desc.rank, " dimensions and '", files[i], "' has ", elementTypeName(tensor.type), " ",
                       formatShape(tensor.shape), ", convert the data");
    tensor.name = desc.name;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Gives the session the shapes of the inputs; it refuses those that the model does not take.
Status setShapes(sluice_session *session, const std::vector<HostTensor> &inputs) {
  std::vector<const int64_t *> shapes;
  for (const HostTensor &input : inputs)
    shapes.push_back(input.shape.data());
  if (sluice_set_shapes(session, shapes.data()))
    return lastError();
  return {};
}

Expected<std::vector<HostTensor>> makeOutputs(sluice_session *session, const sluice_model &model) {
  std::vector<HostTensor> outputs;
  for (uint32_t i = 0; i < model.num_outputs; ++i) {
    const sluice_tensor_desc desc = tableEntry(model.outputs, i);
    SLUICE_ASSIGN_OR_RETURN(ElementType type, elementTypeFromOnnx(desc.element_type));
    std::vector<int64_t> shape(desc.rank);
    if (sluice_get_shape(session, SLUICE_PORT_OUTPUT, i, shape.data(), nullptr))
      return lastError();
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, makeTensor(desc.name, type, std::move(shape)));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

Status step(sluice_session *session, const std::vector<HostTensor> &inputs, std::vector<HostTensor> &outputs) {
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const HostTensor &input : inputs)
    from.push_back(input.bytes.data());
  for (HostTensor &output : outputs)
    to.push_back(output.bytes.data());
  if (sluice_run(session, from.data(), to.data()))
    return lastError();
  return cutToExtents(outputs);
}

/// Compares with output_0.npy and so on; at least one has to be there.
Status compare(const StandaloneOptions &options, const std::vector<HostTensor> &outputs) {
  bool isFound = false, passes = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = concat(options.expect, "/output_", i, ".npy");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
      continue;
    isFound = true;
    SLUICE_ASSIGN_OR_RETURN(HostTensor reference, readNpy(path));
    Tolerance tolerance = defaultTolerance(reference.type);
    if (options.tolerance)
      tolerance = {*options.tolerance, -1};
    SLUICE_ASSIGN_OR_RETURN(TensorComparison comparison, compareTensors(outputs[i], reference, tolerance));
    passes &= comparison.matches;
    printLine(comparison.matches ? "matches" : "differs", concat(outputs[i].name, ": ", describe(comparison)));
  }
  if (!isFound)
    return makeError(ErrorCode::NotFound, "directory '", options.expect,
                     "' has no reference outputs (output_0.npy), option '--expect', give a directory that 'sluice run "
                     "--keep' wrote");
  if (!passes)
    return makeError(ErrorCode::InvalidInput, "outputs differ from the reference, in '", options.expect,
                     "', raise --tolerance if the differences above are acceptable");
  std::cout << "PASS\n";
  return {};
}

Status write(const std::string &directory, const std::vector<HostTensor> &outputs) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return makeError(ErrorCode::Io, "cannot create directory '", directory, "': ", error.message(),
                     ", choose another with --output-dir");
  for (size_t i = 0; i < outputs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(writeNpy(concat(directory, "/output_", i, ".npy"), outputs[i]));
  return {};
}

Status run(const StandaloneOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Session session, open(options.threads));
  const sluice_model &model = *sluice_describe(session.get());
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, readInputs(options, model));
  SLUICE_RETURN_IF_ERROR(setShapes(session.get(), inputs));
  std::vector<HostTensor> outputs;
  for (int64_t i = 0; i < options.steps; ++i) {
    SLUICE_ASSIGN_OR_RETURN(outputs, makeOutputs(session.get(), model));
    SLUICE_RETURN_IF_ERROR(step(session.get(), inputs, outputs));
  }
  sluice_stats stats{};
  stats.size = sizeof stats;
  sluice_get_stats(session.get(), &stats);
  printLine("step", concat(static_cast<double>(stats.step_ns) / 1e6, " ms"));
  if (!options.outputDirectory.empty())
    SLUICE_RETURN_IF_ERROR(write(options.outputDirectory, outputs));
  return options.expect.empty() ? Status() : compare(options, outputs);
}

} // namespace
} // namespace sluice::driver

static int runMain(int argc, char **argv) {
  using namespace sluice::driver;
  CLI::App app("Runs the model that this program holds on .npy files.");
  StandaloneOptions options;
  addOption(app, "--input", options.inputs, "data of an input: [NAME=]FILE.npy; without NAME, in the model's order")
      ->type_name("TENSOR")
      ->allow_extra_args(false);
  addOption(app, "--output-dir", options.outputDirectory,
            "write the outputs of the last step into this directory as output_0.npy and so on")
      ->type_name("DIR");
  addOption(app, "--expect", options.expect,
            "read input_0.npy and so on of this directory, and compare the outputs with its output_0.npy and so on")
      ->type_name("DIR");
  addOption(app, "--tolerance", options.tolerance,
            "tolerance of floating-point outputs: greatest difference divided by greatest value")
      ->check(CLI::NonNegativeNumber);
  addOption(app, "--steps", options.steps, "number of steps to run; states are kept between steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addOption(app, "--threads", options.threads, "number of threads, 0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  return runTool(
      app, [&] { return run(options); }, argc, argv);
}

int main(int argc, char **argv) {
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
