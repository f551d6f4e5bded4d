//===- Reducer.cpp - Shrinks a model while a test holds -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Reducer.h"
#include "sluice/Onnx/ModelFile.h"
#include "sluice/Support/Json.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <unordered_set>

namespace sluice::reduce {
namespace {

/// A path as one word of a shell command.
std::string shellWord(const std::string &path) {
  auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("/._-+=,@%", c); };
  if (std::all_of(path.begin(), path.end(), plain))
    return path;
  std::string quoted = "'";
  for (char c : path)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string commandFor(const std::string &pattern, const std::string &path) {
  const std::string word = shellWord(path);
  std::string command = pattern;
  for (size_t at = command.find("{}"); at != std::string::npos; at = command.find("{}", at + word.size()))
    command.replace(at, 2, word);
  return command;
}

class Reducer {
public:
  Reducer(const Subject &subject, const TemporaryDirectory &scratch, const ReduceParams &params, const Accept &accept)
      : subject(subject), params(params), accept(accept), path(scratch.file("candidate.onnx")),
        command(commandFor(params.command, path)), best(subject.everything()), bestModel(subject.model()) {}

  Status testWhole(const std::string &name);
  Status reduce();
  Reduction reduction;

private:
  Expected<ChildResult> test(const std::string &bytes);
  /// Accepts the candidate where it is interesting. False also when there is nothing to try any more.
  bool attempt(Candidate candidate);
  bool stopped() const { return failure || interrupted || reduction.progress.tests >= params.maxTests; }

  /// Keeps ever fewer of a list: without halves of it, quarters, ... and single items, last ones first. `with` makes
  /// the candidate that keeps the given rest.
  template <typename Item>
  bool shrink(std::vector<Item> items, const std::function<Candidate(std::vector<Item>)> &with);
  bool shrinkNotes();
  bool shrinkOutputs();
  bool shrinkNodes();
  bool bypassNodes();
  bool mergeInputs();
  bool shrinkConstants();
  bool shrinkOptions();

  const Subject &subject;
  const ReduceParams &params;
  const Accept &accept;
  const std::string path, command;
  Candidate best;
  ::onnx::ModelProto bestModel;
  std::unordered_set<size_t> seen; ///< Hashes of the models built so far.
  std::optional<Error> failure;    ///< Of the system, not of a candidate.
};

Expected<ChildResult> Reducer::test(const std::string &bytes) {
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path, bytes));
  ++reduction.progress.tests;
  return runShell(command, params.timeoutNs);
}

Status Reducer::testWhole(const std::string &name) {
  const std::string bytes = bestModel.SerializeAsString();
  SLUICE_ASSIGN_OR_RETURN(ChildResult result, test(bytes));
  if (result.end == ChildResult::End::Interrupted)
    return makeError(ErrorCode::Interrupted, "interrupted before the test of '", name,
                     "' ended, run the command again");
  if (!result.success())
    return makeError(ErrorCode::InvalidInput, "the test command does not succeed on the unchanged model (",
                     result.describe(params.timeoutNs), "), model '", name,
                     "', give a command that exits with 0 on this model",
                     result.end == ChildResult::End::TimedOut ? ", or a longer --timeout" : "");
  ++reduction.progress.interesting;
  reduction.progress.nodes = bestModel.graph().node_size();
  reduction.progress.bytes = static_cast<int64_t>(bytes.size());
  return accept(bytes, reduction.progress);
}

bool Reducer::attempt(Candidate candidate) {
  if (stopped())
    return false;
  std::optional<::onnx::ModelProto> model = subject.build(candidate);
  if (!model)
    return false;
  const std::string bytes = model->SerializeAsString();
  const size_t hash = std::hash<std::string>()(bytes);
  if (!seen.insert(hash).second || !ModelFile::fromBytes(bytes, path))
    return false;
  Expected<ChildResult> result = test(bytes);
  if (!result) {
    failure = result.error();
    return false;
  }
  if (!result->success())
    return false;
  ++reduction.progress.interesting;
  reduction.progress.nodes = model->graph().node_size();
  reduction.progress.bytes = static_cast<int64_t>(bytes.size());
  if (Status status = accept(bytes, reduction.progress); !status) {
    failure = status.error();
    return false;
  }
  best = std::move(candidate);
  bestModel = std::move(*model);
  best.outputs.clear();
  for (const ::onnx::ValueInfoProto &output : bestModel.graph().output())
    best.outputs.push_back(output.name());
  return true;
}

template <typename Item>
bool Reducer::shrink(std::vector<Item> items, const std::function<Candidate(std::vector<Item>)> &with) {
  bool changed = false;
  for (size_t chunk = items.size(); chunk > 0 && !stopped(); chunk = std::min(chunk / 2, items.size()))
    for (size_t end = items.size(); end > 0 && !stopped();) {
      const size_t begin = end > chunk ? end - chunk : 0;
      std::vector<Item> rest(items.begin(), items.begin() + begin);
      rest.insert(rest.end(), items.begin() + end, items.end());
      if (attempt(with(rest))) {
        items = std::move(rest);
        changed = true;
      }
      end = begin;
    }
  return changed;
}

bool Reducer::shrinkNotes() {
  bool changed = false;
  if (best.notes) {
    Candidate candidate = best;
    candidate.notes = false;
    changed = attempt(std::move(candidate));
  }
  changed |= shrink<std::string>(best.spares, [this](std::vector<std::string> rest) {
    Candidate candidate = best;
    candidate.spares = std::move(rest);
    return candidate;
  });
  return changed;
}

bool Reducer::shrinkOutputs() {
  return shrink<std::string>(best.outputs, [this](std::vector<std::string> rest) {
    Candidate candidate = best;
    candidate.outputs = std::move(rest);
    candidate.nodes = subject.needed(candidate);
    return candidate;
  });
}

bool Reducer::shrinkNodes() {
  return shrink<int>(best.nodes, [this](std::vector<int> rest) {
    Candidate candidate = best;
    candidate.nodes = std::move(rest);
    return candidate;
  });
}

/// A node between two others goes, its readers read what it read.
bool Reducer::bypassNodes() {
  bool changed = false;
  const std::vector<int> nodes = best.nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend() && !stopped(); ++node) {
    const ::onnx::NodeProto &proto = subject.graph().node(*node);
    if (proto.output_size() != 1 || std::count(best.outputs.begin(), best.outputs.end(), proto.output(0)))
      continue;
    for (const std::string &input : proto.input()) {
      const Subject::Match match = subject.compareTypes(input, proto.output(0));
      if (input.empty() || match == Subject::Match::No)
        continue;
      Candidate candidate = best;
      std::erase(candidate.nodes, *node);
      candidate.aliases[proto.output(0)] = input;
      candidate.guessed |= match == Subject::Match::Unknown;
      if (attempt(std::move(candidate))) {
        changed = true;
        break;
      }
    }
  }
  return changed;
}

bool Reducer::mergeInputs() {
  bool changed = false;
  std::vector<std::string> inputs;
  for (const ::onnx::ValueInfoProto &input : bestModel.graph().input())
    inputs.push_back(input.name());
  for (size_t i = inputs.size(); i-- > 1 && !stopped();) {
    if (std::count(best.outputs.begin(), best.outputs.end(), inputs[i]))
      continue;
    auto same = std::find_if(inputs.begin(), inputs.begin() + i, [&](const std::string &other) {
      return subject.compareTypes(inputs[i], other) == Subject::Match::Yes;
    });
    if (same == inputs.begin() + i)
      continue;
    Candidate candidate = best;
    candidate.aliases[inputs[i]] = *same;
    std::erase(candidate.spares, inputs[i]);
    changed |= attempt(std::move(candidate));
  }
  return changed;
}

bool Reducer::shrinkConstants() {
  std::vector<std::string> used;
  for (const ::onnx::TensorProto &initializer : bestModel.graph().initializer())
    used.push_back(initializer.name());
  return shrink<std::string>(std::move(used), [this](std::vector<std::string> rest) {
    Candidate candidate = best;
    candidate.constants = std::move(rest);
    return candidate;
  });
}

bool Reducer::shrinkOptions() {
  std::vector<Option> used;
  std::copy_if(best.options.begin(), best.options.end(), std::back_inserter(used), [this](const Option &option) {
    return std::binary_search(best.nodes.begin(), best.nodes.end(), option.node);
  });
  return shrink<Option>(std::move(used), [this](std::vector<Option> rest) {
    Candidate candidate = best;
    candidate.options = std::move(rest);
    return candidate;
  });
}

Status Reducer::reduce() {
  bool changed = true;
  while (changed && !stopped()) {
    changed = false;
    for (auto step : {&Reducer::shrinkNotes, &Reducer::shrinkOutputs, &Reducer::shrinkNodes, &Reducer::shrinkOutputs,
                      &Reducer::bypassNodes, &Reducer::shrinkConstants, &Reducer::shrinkOptions, &Reducer::mergeInputs})
      changed |= (this->*step)();
  }
  reduction.outOfTests = reduction.progress.tests >= params.maxTests;
  if (failure)
    return tl::unexpected<Error>(*failure);
  return {};
}

} // namespace

Expected<Reduction> reduceModel(const Subject &subject, const std::string &name, const TemporaryDirectory &scratch,
                                const ReduceParams &params, const Accept &accept) {
  Reducer reducer(subject, scratch, params, accept);
  SLUICE_RETURN_IF_ERROR(reducer.testWhole(name));
  SLUICE_RETURN_IF_ERROR(reducer.reduce());
  return reducer.reduction;
}

} // namespace sluice::reduce
