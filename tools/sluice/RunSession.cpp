//===- RunSession.cpp - An opened model and its steps ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RunSession.h"
#include "Commands.h"
#include "ModelIdentity.h"
#include "sluice/Codegen/Artifact.h"
#include "sluice/Runtime/Tables.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stdlib.h>
#include <thread>

namespace sluice::driver {

/// Zeroed, of the types described and of the shapes that `shapeOf(i, desc)` gives.
template <typename ShapeOf>
static Expected<std::vector<HostTensor>> makeTensors(const sluice_tensor_desc *descs, uint32_t count,
                                                     const ShapeOf &shapeOf) {
  std::vector<HostTensor> tensors;
  for (uint32_t i = 0; i < count; ++i) {
    const sluice_tensor_desc desc = tableEntry(descs, i);
    SLUICE_ASSIGN_OR_RETURN(ElementType type, elementTypeFromOnnx(desc.element_type));
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, makeTensor(desc.name, type, shapeOf(i, desc)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

static std::vector<int64_t> boundsOf(uint32_t, const sluice_tensor_desc &desc) {
  return {desc.shape, desc.shape + desc.rank};
}

static sluice_stats statsOf(const sluice_session *session) {
  sluice_stats stats = {};
  stats.size = sizeof stats;
  sluice_get_stats(session, &stats);
  return stats;
}

// The runtime checks all of the manifest.
uint32_t ranksOf(const std::string &directory) {
  if (isPipelineDirectory(directory)) {
    const Expected<StagesFile> stages = readStagesFile(directory);
    return stages ? stages->numRanks() : 1;
  }
  Expected<Json> manifest = readJsonFile((std::filesystem::path(directory) / kManifestFile).string());
  if (!manifest || !manifest->is_object() || !manifest->contains("ranks"))
    return 1;
  const Json &ranks = (*manifest)["ranks"];
  return ranks.is_number_unsigned() && ranks.get<uint64_t>() <= UINT32_MAX ? ranks.get<uint32_t>() : 1;
}

/// Runs `body(i)` for all i at once, each on a thread; the first failure of one
/// that failed by itself.
template <typename Body>
static Status asRanks(const RankGroup &ranks, const Body &body) {
  if (ranks.size() == 1)
    return body(0);
  std::vector<Status> results(ranks.size());
  std::atomic<size_t> first{ranks.size()};
  // The others wait for a rank that fails unless it leaves.
  auto end = [&](size_t i, Status status) {
    results[i] = std::move(status);
    size_t none = ranks.size();
    if (results[i])
      return;
    first.compare_exchange_strong(none, i);
    ranks.leave(i, results[i].error().message);
  };
  auto refused = [](const std::exception &error) {
    return makeError(ErrorCode::Io, "the system gives a rank no more memory or threads: ", error.what(),
                     ", end other programs or raise 'ulimit -u'");
  };
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    try {
      threads.emplace_back([&, i] {
        try {
          end(i, body(i));
        } catch (const std::exception &error) {
          end(i, refused(error));
        }
      });
    } catch (const std::exception &error) {
      end(i, refused(error));
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  return first == ranks.size() ? Status() : results[first];
}

Expected<RunSession> RunSession::open(const std::string &directory, int threads, bool trace, const std::string &spill) {
  SLUICE_ASSIGN_OR_RETURN(RankGroup ranks, RankGroup::create(ranksOf(directory)));
  return open(std::move(ranks), directory, threads, trace, spill);
}

Expected<RunSession> RunSession::openAlone(const std::string &directory, int threads, const std::string &spill) {
  return open(RankGroup::alone(), directory, threads, /*trace=*/false, spill);
}

static std::vector<int64_t> wholeShape(const sluice_tensor_desc &state) {
  std::vector<int64_t> shape(state.shape, state.shape + state.rank);
  for (uint32_t i = 0; i < state.num_cuts; ++i)
    shape[state.cuts[i].dimension] *= state.cuts[i].count;
  return shape;
}

/// Checks that the file of a pipeline lists exactly the states of a rank's model, and that groups of its size have all
/// parts of them. What it did not list would be lost.
static Status checkStates(const sluice_model &model, const StagesFile &stages, const std::string &directory,
                          uint32_t rank) {
  const std::vector<StateType> &listed = stages.states[rank];
  bool areEqual = listed.size() == model.num_states;
  for (uint32_t i = 0; areEqual && i < model.num_states; ++i) {
    const sluice_tensor_desc state = tableEntry(model.states, i);
    areEqual = std::any_of(listed.begin(), listed.end(), [&](const StateType &type) {
      const Expected<ElementType> element = elementTypeFromOnnx(state.element_type);
      return type.name == state.name && element && *element == type.type && type.shape == wholeShape(state);
    });
  }
  for (uint32_t i = 0; areEqual && i < model.num_states; ++i) {
    const sluice_tensor_desc state = tableEntry(model.states, i);
    for (uint32_t c = 0; c < state.num_cuts; ++c)
      if (const sluice_cut &cut = state.cuts[c]; cut.stride > stages.groupRanks || cut.count > stages.groupRanks ||
                                                 stages.groupRanks % (cut.stride * cut.count) != 0)
        return makeError(ErrorCode::InvalidInput, "state '", state.name,
                         "' cannot be divided between the ranks of one group (ranks in a group: ", stages.groupRanks,
                         "), '", stagesFileOf(directory), "', compile the model again");
  }
  if (areEqual)
    return {};
  return makeError(ErrorCode::InvalidInput, "'", stagesFileOf(directory), "' and '", folderOfRank(directory, rank),
                   "' do not have the same states, compile the model again");
}

Expected<RunSession> RunSession::open(RankGroup ranks, const std::string &directory, int threads, bool trace,
                                      const std::string &spill) {
  // Ranks here share the cores.
  if (threads == 0 && ranks.size() > 1)
    threads = static_cast<int>(std::max<size_t>(std::thread::hardware_concurrency() / ranks.size(), 1));
  std::vector<Session> sessions;
  std::optional<StagesFile> stages;
  if (isPipelineDirectory(directory)) {
    SLUICE_ASSIGN_OR_RETURN(stages, readStagesFile(directory));
    SLUICE_RETURN_IF_ERROR(identityOf(directory).map([](const ModelIdentity &) {}));
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    const uint32_t rank = ranks.member(i) ? ranks.member(i)->rank : 0;
    if (stages && (!ranks.member(i) || rank >= stages->numRanks()))
      return makeError(ErrorCode::InvalidInput, "pipeline '", directory, "' needs ", stages->numRanks(),
                       " ranks, and the number of running ranks is ", ranks.member(i) ? ranks.member(i)->num_ranks : 1,
                       ", start ", stages->numRanks(), " ranks");
    sluice_options options = {};
    options.size = sizeof options;
    options.threads = static_cast<uint32_t>(threads);
    options.trace = trace;
    options.communicator = ranks.member(i);
    options.spill_directory = spill.empty() ? nullptr : spill.c_str();
    static_assert(sizeof interrupted == 1 && std::atomic<bool>::is_always_lock_free);
    options.stop = reinterpret_cast<const volatile unsigned char *>(&interrupted);
    sessions.emplace_back(sluice_open((stages ? folderOfRank(directory, rank) : directory).c_str(), &options));
    if (!sessions.back())
      return makeError(ErrorCode::InvalidInput, sluice_last_error());
    if (stages)
      SLUICE_RETURN_IF_ERROR(checkStates(*sluice_describe(sessions.back().get()), *stages, directory, rank));
  }
  RunSession session(std::move(ranks), std::move(sessions));
  session.stages = std::move(stages);
  session.unread.resize(session.sessions.size());
  for (size_t rank = 1; rank < session.sessions.size(); ++rank)
    for (uint32_t i = 0; i < session.model().num_outputs; ++i) {
      const auto bytes = static_cast<size_t>(tableEntry(session.model().outputs, i).bytes);
      session.unread[rank].emplace_back(new (std::nothrow) std::byte[std::max<size_t>(bytes, 1)]);
      if (!session.unread[rank].back())
        return makeError(ErrorCode::Io, "cannot allocate ", bytes, " bytes for the outputs of rank ", rank,
                         ", use fewer devices or a smaller model");
    }
  return session;
}

Status RunSession::setShapes(const InputShapes &shapes) {
  std::vector<const int64_t *> extents;
  for (const std::vector<int64_t> &shape : shapes)
    extents.push_back(shape.data());
  for (const Session &session : sessions)
    if (sluice_set_shapes(session.get(), extents.data()) != 0)
      return makeError(ErrorCode::InvalidInput, sluice_last_error());
  return {};
}

Status RunSession::fillStates() {
  for (const Session &session : sessions) {
    const sluice_model &described = *sluice_describe(session.get());
    for (uint32_t s = 0; s < described.num_symbols; ++s)
      if (const sluice_symbol_desc symbol = tableEntry(described.symbols, s); symbol.input == SLUICE_SYMBOL_STATE)
        if (sluice_set_length(session.get(), s, symbol.most) != 0)
          return makeError(ErrorCode::InvalidInput, sluice_last_error());
  }
  return {};
}

/// The current shape of an input or output that exists.
static std::vector<int64_t> currentShape(const sluice_session *session, uint32_t port, uint32_t index, uint32_t rank) {
  std::vector<int64_t> shape(rank);
  sluice_get_shape(session, port, index, shape.data(), nullptr);
  return shape;
}

InputShapes RunSession::inputShapes() const {
  InputShapes shapes;
  for (uint32_t i = 0; i < model().num_inputs; ++i)
    shapes.push_back(currentShape(sessions.front().get(), SLUICE_PORT_INPUT, i, tableEntry(model().inputs, i).rank));
  return shapes;
}

/// Whether shapes of outputs may follow from a step's data, or from how long states are.
static bool findsExtents(const sluice_model &model) {
  for (uint32_t s = 0; s < model.num_symbols; ++s)
    if (const uint32_t input = tableEntry(model.symbols, s).input;
        input == SLUICE_SYMBOL_FOUND || input == SLUICE_SYMBOL_STATE)
      return true;
  return false;
}

Expected<std::vector<HostTensor>> RunSession::makeOutputs() const {
  return makeTensors(model().outputs, model().num_outputs, [&](uint32_t i, const sluice_tensor_desc &desc) {
    // A step may find more than the one before it.
    if (findsExtents(model()))
      return std::vector<int64_t>(desc.shape, desc.shape + desc.rank);
    return currentShape(sessions.front().get(), SLUICE_PORT_OUTPUT, i, desc.rank);
  });
}

Status RunSession::step(size_t rank, const std::vector<const void *> &inputs,
                        const std::vector<void *> &outputs) const {
  sluice_session *session = sessions[rank].get();
  if (sluice_run(session, inputs.data(), outputs.data()) != 0)
    return makeError(ErrorCode::InvalidInput, sluice_last_error());
  const sluice_stats done = statsOf(session);
  // Plans are for the upper bounds of symbols.
  const bool mayCopyLess = model().num_symbols > 0;
  auto isPlanned = [&](int64_t bytes, int64_t planned) { return bytes == planned || (mayCopyLess && bytes < planned); };
  if (!isPlanned(done.bytes_in, done.planned_bytes_in) || !isPlanned(done.bytes_out, done.planned_bytes_out))
    return makeError(ErrorCode::Internal, "a step copied ", done.bytes_in, " bytes in and ", done.bytes_out,
                     " out, the plan says ", done.planned_bytes_in, " and ", done.planned_bytes_out,
                     ", this is a bug of Sluice, please report it");
  if (!isPlanned(done.bytes_read, done.planned_bytes_read) ||
      !isPlanned(done.bytes_written, done.planned_bytes_written))
    return makeError(ErrorCode::Internal, "a step read ", done.bytes_read, " bytes of files and wrote ",
                     done.bytes_written, ", the plan says ", done.planned_bytes_read, " and ",
                     done.planned_bytes_written, ", this is a bug of Sluice, please report it");
  const sluice_communicator *member = ranks.member(rank);
  if (const int64_t planned = member ? modelOf(rank).planned_bytes_sent[member->rank] : 0; done.bytes_sent != planned)
    return makeError(ErrorCode::Internal, "a step sent ", done.bytes_sent, " bytes, the plan says ", planned,
                     ", this is a bug of Sluice, please report it");
  return {};
}

Status RunSession::step(const std::vector<HostTensor> &inputs, std::vector<HostTensor> &outputs) {
  std::vector<void *> to;
  const bool finds = findsExtents(model());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    if (finds)
      outputs[i].bytes.resize(static_cast<size_t>(tableEntry(model().outputs, i).bytes));
    to.push_back(outputs[i].bytes.data());
  }
  SLUICE_RETURN_IF_ERROR(step(inputs, to));
  for (uint32_t i = 0; finds && i < outputs.size(); ++i) {
    HostTensor &output = outputs[i];
    output.shape = currentShape(sessions.front().get(), SLUICE_PORT_OUTPUT, i, tableEntry(model().outputs, i).rank);
    int64_t bytes = 0;
    sluice_get_shape(sessions.front().get(), SLUICE_PORT_OUTPUT, i, nullptr, &bytes);
    output.bytes.resize(static_cast<size_t>(bytes));
  }
  // The session's text ends with its next step.
  for (HostTensor &output : outputs)
    ownText(output);
  return {};
}

Status RunSession::step(const std::vector<HostTensor> &inputs, const std::vector<void *> &outputs) {
  if (interrupted)
    return makeError(ErrorCode::Interrupted, "the run was interrupted before a step began, run the command again");
  std::vector<const void *> from;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int64_t> shape =
        currentShape(sessions.front().get(), SLUICE_PORT_INPUT, i, inputs[i].shape.size());
    if (shape != inputs[i].shape)
      return makeError(ErrorCode::InvalidInput, "input '", inputs[i].name, "' needs ", formatShape(shape),
                       " in this step, because the states of the model have grown, and the data has ",
                       formatShape(inputs[i].shape), ", run one step, or use 'sluice generate'");
    from.push_back(inputs[i].bytes.data());
  }
  // All ranks give the same outputs: the first's are taken.
  return asRanks(ranks, [&](size_t rank) {
    if (rank == 0)
      return step(0, from, outputs);
    std::vector<void *> to;
    for (const std::unique_ptr<std::byte[]> &output : unread[rank])
      to.push_back(output.get());
    return step(rank, from, to);
  });
}

/// The index in the whole of each index of a rank's part along a dimension.
static std::vector<int64_t> indicesInWhole(const sluice_tensor_desc &state, uint32_t dim, int64_t rank) {
  int64_t extent = state.shape[dim];
  std::vector<int64_t> indices(static_cast<size_t>(extent));
  std::iota(indices.begin(), indices.end(), int64_t(0));
  // The last cut is the finest.
  for (uint32_t i = state.num_cuts; i-- > 0;) {
    const sluice_cut &cut = state.cuts[i];
    if (cut.dimension != dim)
      continue;
    const int64_t own = extent / (state.cut_blocks ? state.cut_blocks[i] : 1), part = rank / cut.stride % cut.count;
    for (int64_t &index : indices)
      index = own == 0 ? 0 : index / own * own * cut.count + part * own + index % own;
    extent *= cut.count;
  }
  return indices;
}

/// Calls `visit(element of a rank's part, element of the whole)`.
template <typename Visit>
static void forEachElement(const sluice_tensor_desc &state, int64_t rank, const std::vector<int64_t> &whole,
                           const Visit &visit) {
  int64_t elements = 1;
  std::vector<std::vector<int64_t>> indices;
  for (uint32_t d = 0; d < state.rank; ++d) {
    elements *= state.shape[d];
    indices.push_back(indicesInWhole(state, d, rank));
  }
  for (int64_t i = 0; i < elements; ++i) {
    int64_t left = i, at = 0, stride = 1;
    for (uint32_t d = state.rank; d-- > 0; stride *= whole[d]) {
      at += indices[d][static_cast<size_t>(left % state.shape[d])] * stride;
      left /= state.shape[d];
    }
    visit(i, at);
  }
}

static std::optional<uint32_t> findState(const sluice_model &model, const std::string &name) {
  for (uint32_t i = 0; i < model.num_states; ++i)
    if (name == tableEntry(model.states, i).name)
      return i;
  return std::nullopt;
}

/// The part of a rank's state that comes to it from `whole`, where ranks hold parts.
static std::vector<std::byte> partOf(const sluice_tensor_desc &state, int64_t rank, const HostTensor &whole) {
  if (state.num_cuts == 0)
    return whole.bytes;
  std::vector<std::byte> part(static_cast<size_t>(state.bytes));
  const int64_t width = elementBytes(whole.type);
  forEachElement(state, rank, whole.shape, [&](int64_t to, int64_t from) {
    std::copy_n(whole.bytes.data() + from * width, width, part.data() + to * width);
  });
  return part;
}

/// Sends `bytes` of one rank to another; both call it.
static Status sendTo(const sluice_communicator &communicator, uint32_t from, uint32_t to, std::byte *data,
                     int64_t bytes) {
  const bool sends = communicator.rank == from;
  const uint32_t other = sends ? to : from;
  const void *source = data;
  void *target = data;
  const int64_t sendBytes = sends ? bytes : 0, takeBytes = sends ? 0 : bytes;
  if (communicator.exchange(communicator.self, &other, 1, &source, &sendBytes, &target, &takeBytes) != 0)
    return makeError(ErrorCode::Io, communicator.error(communicator.self));
  return {};
}

std::optional<size_t> RunSession::indexOf(uint32_t rank) const {
  for (size_t i = 0; i < sessions.size(); ++i)
    if ((ranks.member(i) ? ranks.member(i)->rank : 0) == rank)
      return i;
  return std::nullopt;
}

/// Every rank's part comes to the first of `count` ranks, and there to its place.
Expected<HostTensor> RunSession::joinState(const std::string &name, uint32_t first, uint32_t count,
                                           HostTensor whole) const {
  for (uint32_t rank = first; rank < first + count; ++rank) {
    const std::optional<size_t> taker = indexOf(first), holder = indexOf(rank);
    if (!taker && !holder)
      continue;
    const size_t own = holder.value_or(taker.value_or(0));
    const std::optional<uint32_t> index = findState(modelOf(own), name);
    if (!index || wholeShape(tableEntry(modelOf(own).states, *index)) != whole.shape)
      return makeError(ErrorCode::InvalidInput, "rank ", rank, " has no state '", name,
                       "' of the shape in stages.json, compile the model again");
    const sluice_tensor_desc state = tableEntry(modelOf(own).states, *index);
    if (state.num_cuts == 0 && rank > first)
      break;
    std::vector<std::byte> part(static_cast<size_t>(state.bytes));
    if (holder && sluice_read_state(sessions[*holder].get(), *index, part.data(), state.bytes) != 0)
      return makeError(ErrorCode::Io, sluice_last_error());
    if (!taker || !holder)
      SLUICE_RETURN_IF_ERROR(sendTo(*ranks.member(own), rank, first, part.data(), state.bytes));
    if (!taker)
      continue;
    const int64_t width = elementBytes(whole.type);
    forEachElement(state, rank, whole.shape, [&](int64_t from, int64_t to) {
      std::copy_n(part.data() + from * width, width, whole.bytes.data() + to * width);
    });
  }
  return whole;
}

Status RunSession::readState(uint32_t index, void *data, int64_t bytes) const {
  if (sluice_read_state(sessions.front().get(), index, data, bytes) != 0)
    return makeError(ErrorCode::Io, sluice_last_error());
  return {};
}

Status RunSession::writeState(uint32_t index, const void *data, int64_t bytes) {
  if (sluice_write_state(sessions.front().get(), index, data, bytes) != 0)
    return makeError(ErrorCode::Io, sluice_last_error());
  return {};
}

/// The state comes from the group of ranks that has it to the first rank.
Expected<HostTensor> RunSession::readStageState(const StateType &state, uint32_t rank) const {
  SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, makeTensor(state.name, state.type, state.shape));
  SLUICE_ASSIGN_OR_RETURN(tensor, joinState(state.name, rank, stages->groupRanks, std::move(tensor)));
  const bool isHere = indexOf(rank).has_value(), isTaken = indexOf(0).has_value();
  if (isHere != isTaken)
    SLUICE_RETURN_IF_ERROR(
        sendTo(*ranks.member(0), rank, 0, tensor.bytes.data(), static_cast<int64_t>(tensor.bytes.size())));
  return tensor;
}

Expected<std::vector<HostTensor>> RunSession::readStates() const {
  if (stages) {
    std::vector<HostTensor> all;
    for (const auto &[state, rank] : stages->allStates()) {
      SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readStageState(state, rank));
      all.push_back(std::move(tensor));
    }
    return all;
  }
  Expected<std::vector<HostTensor>> states = makeTensors(model().states, model().num_states, boundsOf);
  if (!states)
    return states;
  for (uint32_t i = 0; i < model().num_states; ++i) {
    HostTensor &tensor = (*states)[i];
    const sluice_tensor_desc state = tableEntry(model().states, i);
    if (state.num_cuts == 0) {
      SLUICE_RETURN_IF_ERROR(readState(i, tensor.bytes.data(), static_cast<int64_t>(tensor.bytes.size())));
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(HostTensor whole, makeTensor(tensor.name, tensor.type, wholeShape(state)));
    SLUICE_ASSIGN_OR_RETURN(tensor, joinState(state.name, 0, model().num_ranks, std::move(whole)));
  }
  return states;
}

Expected<std::vector<StateType>> RunSession::stateTypes() const {
  std::vector<StateType> types;
  if (stages) {
    for (auto &[state, rank] : stages->allStates())
      types.push_back(std::move(state));
    return types;
  }
  for (uint32_t i = 0; i < model().num_states; ++i) {
    const sluice_tensor_desc state = tableEntry(model().states, i);
    SLUICE_ASSIGN_OR_RETURN(const ElementType type, elementTypeFromOnnx(state.element_type));
    types.push_back({state.name, type, wholeShape(state)});
  }
  return types;
}

Status RunSession::checkLengthsOfStates(const char *option) const {
  for (uint32_t s = 0; s < model().num_symbols; ++s)
    if (const sluice_symbol_desc symbol = tableEntry(model().symbols, s); symbol.input == SLUICE_SYMBOL_STATE)
      return makeError(ErrorCode::Unsupported, "state '", tableEntry(model().states, symbol.dimension).name,
                       "' grows with each step, and option '", option,
                       "' supports states of constant length only, leave the option out");
  return {};
}

Status RunSession::writeStates(const std::vector<HostTensor> &states) {
  if (stages) {
    for (size_t i = 0; i < sessions.size(); ++i)
      for (const HostTensor &state : states)
        if (const std::optional<uint32_t> index = findState(modelOf(i), state.name)) {
          const std::vector<std::byte> part =
              partOf(tableEntry(modelOf(i).states, *index), ranks.member(i)->rank, state);
          if (sluice_write_state(sessions[i].get(), *index, part.data(), static_cast<int64_t>(part.size())) != 0)
            return makeError(ErrorCode::Io, sluice_last_error());
        }
    return {};
  }
  SLUICE_RETURN_IF_ERROR(checkLengthsOfStates("--from-states"));
  for (size_t i = 0; i < sessions.size(); ++i)
    for (uint32_t number = 0; number < model().num_states; ++number) {
      const sluice_tensor_desc state = tableEntry(model().states, number);
      const std::vector<std::byte> part = partOf(state, ranks.member(i) ? ranks.member(i)->rank : 0, states[number]);
      if (sluice_write_state(sessions[i].get(), number, part.data(), state.bytes) != 0)
        return makeError(ErrorCode::Io, sluice_last_error());
    }
  return {};
}

Status RunSession::takeStates(const RunSession &from) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> states, from.readStates());
  for (uint32_t i = 0; i < model().num_states; ++i) {
    const char *name = tableEntry(model().states, i).name;
    const auto found =
        std::find_if(states.begin(), states.end(), [&](const HostTensor &state) { return state.name == name; });
    if (found == states.end())
      return makeError(ErrorCode::Internal, "state '", name,
                       "' is not in the previous plan, this is a bug of Sluice, please report it");
    SLUICE_RETURN_IF_ERROR(writeState(i, found->bytes.data(), static_cast<int64_t>(found->bytes.size())));
  }
  return {};
}

Status RunSession::slowDevice(uint32_t index, double factor) const {
  if (sluice_slow_device(sessions.front().get(), index, factor) != 0)
    return makeError(ErrorCode::InvalidInput, sluice_last_error());
  return {};
}

sluice_stats RunSession::stats() const { return statsOf(sessions.front().get()); }

sluice_expert_stats RunSession::expertStats() const {
  sluice_expert_stats stats{};
  stats.size = sizeof stats;
  sluice_get_expert_stats(sessions.front().get(), &stats);
  return stats;
}

std::vector<RunSession::RankTraffic> RunSession::traffic() const {
  std::vector<RankTraffic> list;
  for (size_t i = 0; i < sessions.size(); ++i)
    if (const sluice_communicator *member = ranks.member(i)) {
      const sluice_stats stats = statsOf(sessions[i].get());
      const sluice_model &own = modelOf(i);
      RankTraffic &entry = list.emplace_back(
          RankTraffic{member->rank, stats.bytes_sent, own.planned_bytes_sent[member->rank], stats.parameter_bytes, {}});
      for (uint32_t m = 0; stages && m < own.num_memories; ++m)
        entry.arenas.push_back(
            {tableEntry(own.memories, m).name, stats.arena_peak_bytes[m], stats.planned_arena_bytes[m]});
    }
  return list;
}

std::vector<std::string> RunSession::notes() const {
  std::vector<std::string> lines;
  for (const Session &session : sessions) {
    std::istringstream text(sluice_notes(session.get()));
    for (std::string line; std::getline(text, line);)
      if (std::find(lines.begin(), lines.end(), line) == lines.end())
        lines.push_back(line);
  }
  return lines;
}

int64_t tookNs(const CommandTime &time) {
  return time.hasDeviceClock() ? time.device.end_ns - time.device.start_ns : time.end_ns - time.start_ns;
}

std::vector<CommandTime> commandTimesOf(const sluice_session *session) {
  size_t count = 0;
  const sluice_command_time *times = sluice_trace(session, &count);
  const sluice_device_time *deviceTimes = sluice_device_times(session, &count);
  std::vector<CommandTime> both;
  for (size_t i = 0; i < count; ++i)
    both.push_back({times[i], deviceTimes[i]});
  return both;
}

namespace {
/// A process a rank and device; a track a stream by the host's clock, and one more by the device's own where it has
/// one.
class TraceWriter {
public:
  void add(const sluice_session *session, uint32_t rank) {
    const sluice_model &model = *sluice_describe(session);
    const uint32_t first = rank * model.num_devices;
    const std::string owner = model.num_ranks > 1 ? concat("rank ", rank, ", ") : "";
    for (uint32_t i = 0; i < model.num_devices; ++i)
      addName("process_name", first + i, 0, owner + tableEntry(model.devices, i).name);
    auto nameTrack = [&](uint32_t stream, uint32_t track, const char *clock) {
      static constexpr const char *kStreamNames[] = {"compute", "swap in", "swap out", "communicate"};
      const auto &of = tableEntry(model.streams, stream);
      addName("thread_name", first + of.device, track, concat(kStreamNames[of.kind], clock));
    };
    std::vector<bool> hasOwnClock(model.num_streams);
    for (uint32_t i = 0; i < model.num_streams; ++i)
      nameTrack(i, i, "");
    for (const CommandTime &time : commandTimesOf(session)) {
      addCommand(model, rank, time, time.stream, time.start_ns, time.end_ns);
      if (!time.hasDeviceClock())
        continue;
      const uint32_t track = model.num_streams + time.stream;
      if (!hasOwnClock[time.stream])
        nameTrack(time.stream, track, ", its own clock");
      hasOwnClock[time.stream] = true;
      addCommand(model, rank, time, track, time.device.start_ns, time.device.end_ns);
    }
  }

  Json take() { return std::move(events); }

private:
  Json events = Json::array();

  void addName(const char *what, uint32_t process, uint32_t thread, const std::string &name) {
    events.push_back({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  }

  void addCommand(const sluice_model &model, uint32_t rank, const CommandTime &time, uint32_t track, int64_t startNs,
                  int64_t endNs) {
    const bool isLaunch = time.op != UINT32_MAX;
    Json event;
    event["ph"] = "X";
    event["name"] = isLaunch ? model.op_names[time.op] : model.tensor_names[time.tensor];
    event["cat"] = isLaunch ? "operator" : "copy";
    event["pid"] = rank * model.num_devices + tableEntry(model.streams, time.stream).device;
    event["tid"] = track;
    event["ts"] = static_cast<double>(startNs) / 1e3;
    event["dur"] = static_cast<double>(endNs - startNs) / 1e3;
    event["args"]["command"] = time.command;
    if (model.num_ranks > 1)
      event["args"]["rank"] = rank;
    events.push_back(std::move(event));
  }
};
} // namespace

Json RunSession::traceJson() const {
  TraceWriter writer;
  for (size_t i = 0; i < sessions.size(); ++i)
    writer.add(sessions[i].get(), ranks.member(i) ? ranks.member(i)->rank : 0);
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", writer.take()}};
}

Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model) {
  return makeTensors(model.inputs, model.num_inputs, boundsOf);
}

} // namespace sluice::driver
