//===- OnnxTests.cpp - The standard's backend tests -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OnnxTests.h"
#include "CompiledModel.h"
#include "DataSet.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Onnx/ModelFile.h"
#include "sluice/TensorIO/Compare.h"
#include "sluice/TensorIO/HostTensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <onnx/onnx_pb.h>
#include <set>

namespace sluice::bench {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

static bool isLight(const fs::path &path) {
  return path.extension() == ".onnx" &&
         !filesLike(path.parent_path(), path.stem().string() + "_output_", ".pb").empty();
}

Expected<std::vector<OnnxTest>> findOnnxTests(const std::string &directory) {
  std::error_code error;
  const fs::path root = fs::canonical(directory, error);
  if (error || !fs::is_directory(root, error))
    return makeError(ErrorCode::NotFound, "cannot open directory '", directory,
                     "', give a directory with ONNX backend tests");
  std::vector<OnnxTest> tests;
  auto consider = [&](const fs::path &path) {
    const fs::path folder = path.parent_path();
    if (path.filename() == "model.onnx")
      tests.push_back({folder.filename().string(), folder.parent_path().filename().string(), path.string(),
                       filesLike(folder, "test_data_set_", "")});
    else if (isLight(path))
      tests.push_back({path.stem().string(), folder.filename().string(), path.string(), {}});
  };
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error))
    consider(at->path());
  if (error)
    return makeError(ErrorCode::Io, "cannot read directory '", directory, "', ", error.message(),
                     ", check its permissions");
  if (tests.empty())
    return makeError(ErrorCode::NotFound, "no tests below directory '", directory,
                     "', give a directory with folders of model.onnx and test_data_set_0");
  std::sort(tests.begin(), tests.end(),
            [](const OnnxTest &a, const OnnxTest &b) { return std::tie(a.group, a.name) < std::tie(b.group, b.name); });
  return tests;
}

static std::string operatorOf(const OnnxTest &test) {
  Expected<ModelFile> model = ModelFile::open(test.modelPath);
  if (!model)
    return "";
  for (const ::onnx::NodeProto &node : model->graph().node())
    if (node.op_type() != "Constant")
      return node.domain().empty() ? node.op_type() : node.domain() + ":" + node.op_type();
  return "Constant";
}

std::vector<std::string> operatorsOf(const std::vector<OnnxTest> &tests) {
  std::map<std::string, std::string> known;
  std::vector<std::string> result;
  for (const OnnxTest &test : tests)
    known[test.name] = result.emplace_back(operatorOf(test));
  for (size_t i = 0; i < tests.size(); ++i)
    if (size_t at = tests[i].name.find("_expanded"); at != std::string::npos)
      if (auto plain = known.find(tests[i].name.substr(0, at)); plain != known.end())
        result[i] = plain->second;
  return result;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// Inputs by the light models' recipe.
Expected<DataSet> makeLightSet(const OnnxTest &test, const ModelFile &model) {
  DataSet set;
  for (const DeclaredTensor &input : model.inputs()) {
    std::vector<int64_t> shape;
    for (const DeclaredDim &dim : input.dims.value_or(std::vector<DeclaredDim>()))
      shape.push_back(std::max<int64_t>(dim.value, 1));
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, makeTensor(input.name, ElementType::Float32, shape));
    auto count = static_cast<float>(tensor.numElements());
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      tensor.data<float>()[i] = static_cast<float>(i) / count;
    set.inputs[input.name] = std::move(tensor);
  }
  const fs::path path(test.modelPath);
  for (const std::string &file : filesLike(path.parent_path(), path.stem().string() + "_output_", ".pb")) {
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readTensorFile(file));
    set.outputs.push_back(std::move(tensor));
  }
  return set;
}

/// An element of an input that is a sequence.
bool isElement(const DataSet &set, const std::string &name) {
  return set.sequences.count(name.substr(0, name.rfind('['))) > 0;
}

/// Of what decides shapes: bounds that other values meet too.
ValueBounds boundsOf(const HostTensor &tensor) {
  double low = 0, high = 8;
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    low = std::min(low, tensor.valueAt(i));
    high = std::max(high, 2 * tensor.valueAt(i));
  }
  return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

/// The compiled model, specialised to some of the inputs' values only where it does not compile without; `fixed` are
/// their names.
Expected<std::unique_ptr<Compilation>> compileFor(const OnnxTest &test, const DataSet &set,
                                                  std::vector<std::string> &fixed) {
  CompilerOptions options;
  options.searchTimeNs = 0;
  options.searchEvaluations = 1;
  options.threads = 1;
  options.dims.sequences = set.sequences;
  for (const auto &[name, tensor] : set.inputs)
    if (!isElement(set, name))
      options.dims.inputShapes[name] = tensor.shape;
  Expected<std::unique_ptr<Compilation>> general = Compilation::create(test.modelPath, options);
  if (general || general.error().code != ErrorCode::Unsupported)
    return general;
  for (const auto &[name, tensor] : set.inputs)
    if (mayDecideShapes(tensor) && !isElement(set, name))
      options.fixedInputs[name] = tensor;
  if (options.fixedInputs.empty())
    return general;
  std::map<std::string, HostTensor> fixedInputs;
  for (const auto &[name, tensor] : options.fixedInputs)
    if (tensor.type == ElementType::Int64 || tensor.type == ElementType::Int32)
      options.bounds[name] = boundsOf(tensor);
  std::swap(options.fixedInputs, fixedInputs);
  if (Expected<std::unique_ptr<Compilation>> bounded = Compilation::create(test.modelPath, options))
    return bounded;
  std::swap(options.fixedInputs, fixedInputs);
  options.bounds.clear();
  Expected<std::unique_ptr<Compilation>> specialised = Compilation::create(test.modelPath, options);
  const std::map<std::string, HostTensor> all = options.fixedInputs;
  for (const auto &[name, tensor] : all) {
    if (!specialised || options.fixedInputs.size() == 1)
      break;
    CompilerOptions fewer = options;
    fewer.fixedInputs.erase(name);
    if (Expected<std::unique_ptr<Compilation>> freer = Compilation::create(test.modelPath, fewer)) {
      specialised = std::move(freer);
      options = std::move(fewer);
    }
  }
  for (const auto &[name, tensor] : options.fixedInputs)
    fixed.push_back(name);
  return specialised;
}

/// Whether values are random: each implementation has its own.
bool isRandom(const ::onnx::GraphProto &graph, const DataSet &set) {
  static const std::set<std::string> kRandom = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  auto numberOf = [&](const ::onnx::NodeProto &node, int input, double otherwise) {
    auto given = input < node.input_size() ? set.inputs.find(node.input(input)) : set.inputs.end();
    return given != set.inputs.end() && given->second.numElements() == 1 ? given->second.valueAt(0) : otherwise;
  };
  return std::any_of(graph.node().begin(), graph.node().end(), [&](const ::onnx::NodeProto &node) {
    constexpr int kRatio = 1, kTraining = 2;
    bool drops = node.op_type() == "Dropout" && numberOf(node, kTraining, 0) != 0 && numberOf(node, kRatio, 0.5) != 0;
    return drops || kRandom.count(node.op_type()) > 0;
  });
}

/// As numpy.testing.assert_allclose: NaN equals NaN, and infinities are equal where their signs are.
Status compare(const HostTensor &actual, const HostTensor &reference, bool onlyShapes) {
  constexpr double kRelative = 1e-3, kAbsolute = 1e-7;
  if (actual.type != reference.type || actual.shape != reference.shape)
    return makeError(ErrorCode::InvalidInput, "output '", actual.name, "' is ", elementTypeName(actual.type), " ",
                     formatShape(actual.shape), ", expected ", elementTypeName(reference.type), " ",
                     formatShape(reference.shape));
  if (onlyShapes)
    return {};
  if (reference.type == ElementType::String) {
    SLUICE_ASSIGN_OR_RETURN(TensorComparison strings, compareTensors(actual, reference, {}));
    return strings.matches ? Status()
                           : makeError(ErrorCode::InvalidInput, "output '", actual.name, "': ", describe(strings));
  }
  // The rounding of what was summed up shows where terms cancel.
  double absolute = kAbsolute;
  for (int64_t i = 0; i < reference.numElements(); ++i)
    if (double r = std::fabs(reference.valueAt(i)); std::isfinite(r))
      absolute = std::max(absolute, kAbsolute * r);
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < reference.numElements(); ++i) {
    double a = actual.valueAt(i), r = reference.valueAt(i);
    bool same = a == r || (std::isnan(a) && std::isnan(r)) ||
                (std::isfinite(a) && std::isfinite(r) && std::fabs(a - r) <= absolute + kRelative * std::fabs(r));
    if (!same && wrong++ == 0)
      first = i;
  }
  if (wrong == 0)
    return {};
  return makeError(ErrorCode::InvalidInput, "output '", actual.name, "' differs in ", wrong, " of ",
                   reference.numElements(), " elements, of which the first is element ", first, ": ",
                   actual.valueAt(first), " instead of ", reference.valueAt(first));
}

Expected<OnnxTestOutcome> runDataSet(const OnnxTest &test, const ModelFile &file, const DataSet &set,
                                     const std::string &directory) {
  OnnxTestOutcome outcome;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, compileFor(test, set, outcome.fixedInputs));
  SLUICE_RETURN_IF_ERROR(compilation->link(directory));
  compilation.reset();
  SLUICE_ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::open(directory, /*threads=*/1, set.inputs));
  SLUICE_RETURN_IF_ERROR(model.run());
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, model.takeOutputs());
  if (outputs.size() < set.outputs.size())
    return makeError(ErrorCode::InvalidInput, "the model has ", outputs.size(), " outputs, and the test data has ",
                     set.outputs.size());
  outcome.onlyShapes = isRandom(file.graph(), set);
  for (size_t i = 0; i < set.outputs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(compare(outputs[i], set.outputs[i], outcome.onlyShapes));
  return outcome;
}

} // namespace

Expected<OnnxTestOutcome> runOnnxTest(const OnnxTest &test, const std::string &workDirectory) {
  SLUICE_ASSIGN_OR_RETURN(ModelFile model, ModelFile::open(test.modelPath));
  if (test.dataSets.empty()) {
    SLUICE_ASSIGN_OR_RETURN(DataSet set, makeLightSet(test, model));
    if (set.outputs.empty())
      return makeError(ErrorCode::NotFound, "no test_data_set_* with outputs to compare with, beside '", test.modelPath,
                       "', add one with output_0.pb");
    return runDataSet(test, model, set, workDirectory);
  }
  OnnxTestOutcome outcome;
  for (const std::string &folder : test.dataSets) {
    SLUICE_ASSIGN_OR_RETURN(DataSet set, readDataSet(folder, model));
    SLUICE_ASSIGN_OR_RETURN(outcome, runDataSet(test, model, set, workDirectory));
  }
  return outcome;
}

} // namespace sluice::bench
