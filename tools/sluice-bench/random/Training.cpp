//===- Training.cpp - Training steps of random models ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Training.h"
#include "../CompiledModel.h"
#include "sluice/Onnx/ModelFile.h"
#include "sluice/Runtime/Tables.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>

namespace sluice::bench {

static const Value *firstFloats(const Subject &subject) {
  for (const Value &output : subject.outputs)
    if (output.type == ElementType::Float32 && output.elements() > 0)
      return &output;
  return nullptr;
}

std::optional<CompilerOptions> trainingOptions(const CompilerOptions &plain, const Subject &subject) {
  const Value *output = firstFloats(subject);
  if (!output)
    return std::nullopt;
  CompilerOptions options = plain;
  options.training = TrainingOptions();
  options.training->loss = "mse";
  options.training->output = output->name;
  options.training->learningRate = 1;
  return options;
}

std::map<std::string, HostTensor> trainingInputs(const Subject &subject, const CompilerOptions &options) {
  std::map<std::string, HostTensor> inputs = subject.inputs;
  for (const Value &output : subject.outputs)
    if (output.name == options.training->output)
      if (Expected<HostTensor> target = makeTensor("target", output.type, output.shape))
        inputs["target"] = std::move(*target);
  return inputs;
}

bool hasPlainGradients(const Subject &subject) {
  static const std::set<std::string> kOthers = {"BatchNormalization",
                                                "Dropout",
                                                "RandomNormal",
                                                "RandomUniform",
                                                "RandomNormalLike",
                                                "RandomUniformLike",
                                                "Bernoulli",
                                                "QuantizeLinear",
                                                "DynamicQuantizeLinear",
                                                "Round",
                                                "Floor",
                                                "Ceil",
                                                "Sign",
                                                "Cast",
                                                "CastLike",
                                                "Mod"};
  const Expected<ModelFile> model = ModelFile::open(subject.path);
  return model && std::none_of(model->graph().node().begin(), model->graph().node().end(),
                               [&](const ::onnx::NodeProto &node) { return kOthers.contains(node.op_type()); });
}

namespace {

/// A training step whose weights can be set.
class Step {
public:
  static Expected<Step> open(const std::string &artifact, const std::map<std::string, HostTensor> &inputs) {
    Step step;
    SLUICE_ASSIGN_OR_RETURN(CompiledModel opened, CompiledModel::open(artifact, 1, inputs));
    step.model = std::make_unique<CompiledModel>(std::move(opened));
    const sluice_model &described = *sluice_describe(step.model->handle());
    for (uint32_t i = 0; i < described.num_states; ++i) {
      const sluice_tensor_desc state = tableEntry(described.states, i);
      if (state.element_type == static_cast<int32_t>(ElementType::Float32))
        step.states.emplace_back(i, static_cast<size_t>(state.bytes) / sizeof(float));
    }
    return step;
  }

  /// All weights, one after the other.
  Expected<std::vector<float>> weights() const {
    std::vector<float> all;
    for (const auto &[index, count] : states) {
      all.resize(all.size() + count);
      if (sluice_read_state(model->handle(), index, all.data() + all.size() - count,
                            static_cast<int64_t>(count * sizeof(float))) != 0)
        return makeError(ErrorCode::Io, sluice_last_error());
    }
    return all;
  }

  /// The loss of these weights; the step then changes them.
  Expected<double> loss(const std::vector<float> &weights) const {
    size_t offset = 0;
    for (const auto &[index, count] : states) {
      if (sluice_write_state(model->handle(), index, weights.data() + offset,
                             static_cast<int64_t>(count * sizeof(float))) != 0)
        return makeError(ErrorCode::Io, sluice_last_error());
      offset += count;
    }
    SLUICE_RETURN_IF_ERROR(model->run());
    return model->output(0).valueAt(0);
  }

private:
  std::unique_ptr<CompiledModel> model;
  std::vector<std::pair<uint32_t, size_t>> states; ///< Index and elements of each state of f32.
};

} // namespace

Expected<std::string> checkGradients(const std::string &artifact, const std::map<std::string, HostTensor> &inputs,
                                     double learningRate) {
  SLUICE_ASSIGN_OR_RETURN(const Step step, Step::open(artifact, inputs));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<float> before, step.weights());
  SLUICE_ASSIGN_OR_RETURN(const double at, step.loss(before));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<float> after, step.weights());
  std::vector<double> gradient(before.size());
  double squares = 0, largest = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    gradient[i] = (static_cast<double>(before[i]) - after[i]) / learningRate;
    squares += gradient[i] * gradient[i];
    largest = std::max(largest, std::abs(static_cast<double>(before[i])));
  }
  const double norm = std::sqrt(squares);
  if (!std::isfinite(at))
    return "";
  const double distance = 1e-2 * std::max(largest, 1e-2);
  // Rounding of the loss, and of the weights where the gradient has this norm, in single precision.
  const double noise = 16 * 6e-8 * (std::abs(at) + (std::isfinite(norm) ? norm : 0) * largest) / distance;
  // How the loss rises before and after these weights along a direction of length 1. The two differ at a kink, such as
  // that of a maximum of two equal numbers.
  struct Rise {
    double before = 0, after = 0;
    double mean() const { return (before + after) / 2; }
  };
  auto riseOver = [&](const std::vector<double> &direction, double length) -> Expected<Rise> {
    std::vector<float> up = before, down = before;
    for (size_t i = 0; i < before.size(); ++i) {
      up[i] += static_cast<float>(length * direction[i]);
      down[i] -= static_cast<float>(length * direction[i]);
    }
    SLUICE_ASSIGN_OR_RETURN(const double above, step.loss(up));
    SLUICE_ASSIGN_OR_RETURN(const double below, step.loss(down));
    return Rise{(at - below) / length, (above - at) / length};
  };
  // None where the loss jumps or bends too much.
  auto riseAlong = [&](const std::vector<double> &direction) -> Expected<std::optional<Rise>> {
    SLUICE_ASSIGN_OR_RETURN(const Rise wide, riseOver(direction, distance));
    SLUICE_ASSIGN_OR_RETURN(const Rise narrow, riseOver(direction, distance / 4));
    const double most = std::max(std::abs(wide.mean()), std::abs(narrow.mean()));
    const bool isSmooth = std::abs(wide.mean() - narrow.mean()) <= 0.02 * most + noise;
    return isSmooth && std::isfinite(narrow.mean()) ? std::optional(narrow) : std::nullopt;
  };
  // At a kink any slope between the two sides' is right.
  auto differs = [&](const Rise &rise, double slope) {
    const auto [least, most] = std::minmax(rise.before, rise.after);
    const double tolerance = 0.1 * std::max(std::abs(rise.mean()), std::abs(slope)) + 4 * noise;
    return !std::isfinite(slope) ||
           !(slope >= std::min(least, rise.mean() - tolerance) && slope <= std::max(most, rise.mean() + tolerance));
  };
  // Signs of a fixed sequence.
  std::minstd_rand random(7);
  std::vector<double> direction(before.size());
  double slope = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    direction[i] = (random() % 2 ? 1 : -1) / std::sqrt(static_cast<double>(before.size()));
    slope += direction[i] * gradient[i];
  }
  SLUICE_ASSIGN_OR_RETURN(std::optional<Rise> rise, riseAlong(direction));
  if (rise && differs(*rise, slope))
    return concat("the loss rises by ", rise->mean(), " along a random direction, and by ", slope,
                  " according to the gradient");
  if (!std::isfinite(norm) || norm == 0)
    return "";
  for (size_t i = 0; i < before.size(); ++i)
    direction[i] = gradient[i] / norm;
  SLUICE_ASSIGN_OR_RETURN(rise, riseAlong(direction));
  if (rise && differs(*rise, norm))
    return concat("the gradient's norm is ", norm, ", and the loss rises by ", rise->mean(), " along it");
  return "";
}

} // namespace sluice::bench
