//===- Collective.cpp - Operations of several ranks together --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each is parts packed, one exchange (an all_reduce has two), parts unpacked or
// combined. A tensor split along its outermost dimension is its parts already,
// and is neither packed nor unpacked.
//
//===----------------------------------------------------------------------===//
#include "Collective.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>

namespace sluice::runtime {

namespace {

constexpr int32_t kFloat = 1, kInt32 = 6, kInt64 = 7, kDouble = 11;

int64_t elementBytes(int64_t type) { return type == kInt64 || type == kDouble ? 8 : 4; }

/// [outer][group][inner], `stride` bytes from one outer index to the next.
struct Parts {
  int64_t outer, inner;
  int64_t stride(size_t group) const { return static_cast<int64_t>(group) * inner; }
  int64_t bytes() const { return outer * inner; } ///< Of one part.
};

template <typename T>
void combine(T *into, const T *other, int64_t count, int64_t reduction) {
  if (reduction == SLUICE_REDUCTION_SUM)
    for (int64_t i = 0; i < count; ++i)
      into[i] += other[i];
  else
    // A NaN stays, as in max and min of the model's own.
    for (int64_t i = 0; i < count; ++i) {
      const bool takes = reduction == SLUICE_REDUCTION_MAX ? other[i] > into[i] : other[i] < into[i];
      into[i] = takes || other[i] != other[i] ? other[i] : into[i];
    }
}

void combineParts(char *result, const char *parts, size_t numParts, int64_t bytes, const sluice_collective &what) {
  if (bytes == 0)
    return;
  std::memcpy(result, parts, static_cast<size_t>(bytes));
  for (size_t i = 1; i < numParts; ++i) {
    const char *part = parts + static_cast<int64_t>(i) * bytes;
    auto as = [&](auto zero) {
      using T = decltype(zero);
      combine(reinterpret_cast<T *>(result), reinterpret_cast<const T *>(part), bytes / static_cast<int64_t>(sizeof(T)),
              what.reduction);
    };
    switch (what.element_type) {
    case kFloat:
      as(0.0f);
      break;
    case kDouble:
      as(0.0);
      break;
    case kInt32: // Unsigned: a sum wraps.
      what.reduction == SLUICE_REDUCTION_SUM ? as(uint32_t(0)) : as(int32_t(0));
      break;
    default:
      what.reduction == SLUICE_REDUCTION_SUM ? as(uint64_t(0)) : as(int64_t(0));
      break;
    }
  }
}

class HostSpace final : public CollectiveSpace {
public:
  explicit HostSpace(const sluice_communicator &communicator) : communicator(communicator) {}
  void copyRows(char *target, int64_t targetStride, const char *source, int64_t sourceStride, int64_t rows,
                int64_t bytes) override {
    for (int64_t i = 0; i < rows && bytes > 0; ++i)
      std::memcpy(target + i * targetStride, source + i * sourceStride, static_cast<size_t>(bytes));
  }
  void fill(char *target, int64_t bytes, const sluice_collective &what) override {
    if (what.fill_bytes == 0)
      std::fill_n(target, bytes, '\0');
    else
      for (int64_t at = 0; at < bytes; at += what.fill_bytes)
        std::memcpy(target + at, &what.fill, static_cast<size_t>(what.fill_bytes));
  }
  void combine(char *result, const char *parts, size_t numParts, int64_t bytes,
               const sluice_collective &what) override {
    combineParts(result, parts, numParts, bytes, what);
  }
  Status exchange(const Group &group, const void *const *send, const int64_t *sendBytes, void *const *receive,
                  const int64_t *receiveBytes) override {
    if (communicator.exchange(communicator.self, group.members.data(), static_cast<uint32_t>(group.members.size()),
                              send, sendBytes, receive, receiveBytes) != 0)
      return failure(communicator.error(communicator.self));
    return {};
  }

private:
  const sluice_communicator &communicator;
};

/// One exchange in the making.
class Exchange {
public:
  Exchange(CollectiveSpace &space, const Group &group)
      : space(space), group(group), send(group.members.size()), receive(send.size()), sendBytes(send.size()),
        receiveBytes(send.size()) {}

  void put(size_t member, const void *data, int64_t bytes) { send[member] = data, sendBytes[member] = bytes; }
  void take(size_t member, void *data, int64_t bytes) { receive[member] = data, receiveBytes[member] = bytes; }

  Status run(int64_t &sent) {
    if (Status status = space.exchange(group, send.data(), sendBytes.data(), receive.data(), receiveBytes.data());
        !status)
      return status;
    for (size_t i = 0; i < send.size(); ++i)
      if (i != group.position)
        sent += sendBytes[i];
    return {};
  }

private:
  CollectiveSpace &space;
  const Group &group;
  std::vector<const void *> send;
  std::vector<void *> receive;
  std::vector<int64_t> sendBytes, receiveBytes;
};

class Run {
public:
  Run(CollectiveSpace &memory, const sluice_collective &what, const Group &group, const char *operand, char *result,
      char *workspace, int64_t &sent)
      : memory(memory), what(what), group(group), operand(operand), result(result), workspace(workspace),
        sent(sent), split{what.split_outer, what.split_inner}, join{what.join_outer, what.join_inner},
        size(group.members.size()) {}

  Status allReduce() {
    const std::vector<int64_t> from = chunks(what, size);
    Exchange scatter(memory, group);
    const int64_t mine = from[group.position + 1] - from[group.position];
    for (size_t i = 0; i < size; ++i) {
      scatter.put(i, operand + from[i], from[i + 1] - from[i]);
      scatter.take(i, workspace + static_cast<int64_t>(i) * mine, mine);
    }
    if (Status status = scatter.run(sent); !status)
      return status;
    // The result may be the operand: nothing of it was written until here.
    char *chunk = workspace + static_cast<int64_t>(size) * mine;
    memory.combine(chunk, workspace, size, mine, what);
    Exchange gather(memory, group);
    for (size_t i = 0; i < size; ++i) {
      gather.put(i, chunk, mine);
      gather.take(i, result + from[i], from[i + 1] - from[i]);
    }
    return gather.run(sent);
  }

  Status allGather() {
    Exchange exchange(memory, group);
    for (size_t i = 0; i < size; ++i)
      exchange.put(i, operand, join.bytes());
    return takeJoined(exchange, workspace);
  }

  Status allToAll() {
    Exchange exchange(memory, group);
    char *received = putSplit(exchange, workspace);
    return takeJoined(exchange, received);
  }

  Status reduceScatter() {
    Exchange exchange(memory, group);
    char *received = putSplit(exchange, workspace);
    for (size_t i = 0; i < size; ++i)
      exchange.take(i, received + static_cast<int64_t>(i) * split.bytes(), split.bytes());
    if (Status status = exchange.run(sent); !status)
      return status;
    memory.combine(result, received, size, split.bytes(), what);
    return {};
  }

  Status shard() {
    copyPart(result, split.inner, operand + group.position * split.inner, split.stride(size), split);
    return {};
  }

  Status halo() {
    const int64_t row = what.split_inner, outer = what.split_outer, lowBytes = what.low * row,
                  highBytes = what.high * row, own = what.extent * row, whole = lowBytes + own + highBytes;
    const bool isFirst = group.position == 0, isLast = group.position + 1 == size;
    // The end of the rank before is what this one has before it, and so on.
    char *toNext = workspace, *toPrevious = toNext + outer * lowBytes, *fromPrevious = toPrevious + outer * highBytes,
         *fromNext = fromPrevious + outer * lowBytes;
    copyPart(toNext, lowBytes, operand + own - lowBytes, own, {outer, lowBytes});
    copyPart(toPrevious, highBytes, operand, own, {outer, highBytes});
    Exchange exchange(memory, group);
    if (!isLast) {
      exchange.put(group.position + 1, toNext, outer * lowBytes);
      exchange.take(group.position + 1, fromNext, outer * highBytes);
    }
    if (!isFirst) {
      exchange.put(group.position - 1, toPrevious, outer * highBytes);
      exchange.take(group.position - 1, fromPrevious, outer * lowBytes);
    }
    if (Status status = exchange.run(sent); !status)
      return status;
    if (isFirst)
      memory.fill(fromPrevious, outer * lowBytes, what);
    if (isLast)
      memory.fill(fromNext, outer * highBytes, what);
    copyPart(result, whole, fromPrevious, lowBytes, {outer, lowBytes});
    copyPart(result + lowBytes, whole, operand, own, {outer, own});
    copyPart(result + lowBytes + own, whole, fromNext, highBytes, {outer, highBytes});
    return {};
  }

  /// Where each member's chunk of an all_reduce begins, and the end: whole
  /// elements, as even as can be.
  static std::vector<int64_t> chunks(const sluice_collective &what, size_t members) {
    const int64_t element = elementBytes(what.element_type), count = what.bytes / element;
    std::vector<int64_t> from;
    for (size_t i = 0; i <= members; ++i)
      from.push_back(count * static_cast<int64_t>(i) / static_cast<int64_t>(members) * element);
    return from;
  }

private:
  CollectiveSpace &memory;
  const sluice_collective &what;
  const Group &group;
  const char *operand;
  char *result, *workspace;
  int64_t &sent;
  Parts split, join;
  size_t size;

  void copyPart(char *target, int64_t targetStride, const char *source, int64_t sourceStride, const Parts &parts) {
    memory.copyRows(target, targetStride, source, sourceStride, parts.outer, parts.inner);
  }

  /// Returns what is left of the workspace.
  char *putSplit(Exchange &exchange, char *space) {
    const bool packs = split.outer > 1;
    for (size_t i = 0; i < size; ++i) {
      const char *part = operand + static_cast<int64_t>(i) * split.inner;
      if (packs) {
        copyPart(space, split.inner, part, split.stride(size), split);
        part = space;
        space += split.bytes();
      }
      exchange.put(i, part, split.bytes());
    }
    return space;
  }

  Status takeJoined(Exchange &exchange, char *space) {
    const bool unpacks = join.outer > 1;
    auto target = [&](size_t i) { return result + static_cast<int64_t>(i) * join.inner; };
    for (size_t i = 0; i < size; ++i)
      exchange.take(i, unpacks ? space + static_cast<int64_t>(i) * join.bytes() : target(i), join.bytes());
    Status status = exchange.run(sent);
    if (status && unpacks)
      for (size_t i = 0; i < size; ++i)
        copyPart(target(i), join.stride(size), space + static_cast<int64_t>(i) * join.bytes(), join.inner, join);
    return status;
  }
};

} // namespace

Result<Group> groupOf(const sluice_collective &what, uint32_t rank, uint32_t numRanks) {
  if (what.num_axes < 1 || what.num_axes > SLUICE_COLLECTIVE_AXES)
    return failure("a collective runs along ", what.num_axes, " axes, compile the model again");
  Group group;
  int64_t base = rank, members = 1;
  for (int64_t a = 0; a < what.num_axes; ++a) {
    const auto &axis = what.axes[a];
    if (axis.count < 1 || axis.stride < 1 || axis.count > numRanks || axis.stride > numRanks)
      return failure("a collective's axis has ", axis.count, " ranks at a stride of ", axis.stride, ", of ", numRanks,
                     " ranks, compile the model again");
    base -= rank / axis.stride % axis.count * axis.stride;
    members *= axis.count;
    if (members > numRanks)
      return failure("a collective has more than ", numRanks, " ranks, compile the model again");
  }
  group.members.assign(static_cast<size_t>(members), 0);
  for (int64_t i = 0; i < members; ++i) {
    int64_t left = i, member = base;
    for (int64_t a = what.num_axes; a-- > 0;) {
      member += left % what.axes[a].count * what.axes[a].stride;
      left /= what.axes[a].count;
    }
    if (member < 0 || member >= numRanks)
      return failure("a collective of rank ", rank, " has rank ", member, ", of ", numRanks,
                     " ranks, compile the model again");
    if (member == rank)
      group.position = static_cast<uint32_t>(i);
    group.members[static_cast<size_t>(i)] = static_cast<uint32_t>(member);
  }
  return group;
}

int64_t bytesSent(uint32_t kind, const sluice_collective &what, const Group &group) {
  const auto others = static_cast<int64_t>(group.members.size()) - 1, position = int64_t(group.position);
  switch (kind) {
  case SLUICE_COLLECTIVE_ALL_REDUCE: {
    const std::vector<int64_t> from = Run::chunks(what, group.members.size());
    const int64_t mine = from[group.position + 1] - from[group.position];
    return what.bytes - mine + others * mine;
  }
  case SLUICE_COLLECTIVE_ALL_GATHER:
    return others * what.join_outer * what.join_inner;
  case SLUICE_COLLECTIVE_REDUCE_SCATTER:
  case SLUICE_COLLECTIVE_ALL_TO_ALL:
    return others * what.split_outer * what.split_inner;
  case SLUICE_COLLECTIVE_HALO:
    return ((position < others ? what.low : 0) + (position > 0 ? what.high : 0)) * what.split_outer * what.split_inner;
  default:
    return 0;
  }
}

int64_t collectiveWorkspace(uint32_t kind, const sluice_collective &what, size_t members) {
  const auto size = static_cast<int64_t>(members);
  const int64_t split = size * what.split_outer * what.split_inner, join = size * what.join_outer * what.join_inner;
  switch (kind) {
  case SLUICE_COLLECTIVE_ALL_REDUCE: {
    const int64_t element = elementBytes(what.element_type);
    return (size + 1) * ((what.bytes / element + size - 1) / size) * element;
  }
  case SLUICE_COLLECTIVE_ALL_GATHER:
    return what.join_outer > 1 ? join : 0;
  case SLUICE_COLLECTIVE_REDUCE_SCATTER:
    return what.split_outer > 1 ? 2 * split : split;
  case SLUICE_COLLECTIVE_ALL_TO_ALL:
    return (what.split_outer > 1 ? split : 0) + (what.join_outer > 1 ? join : 0);
  case SLUICE_COLLECTIVE_HALO:
    return 2 * what.split_outer * (what.low + what.high) * what.split_inner;
  default:
    return 0;
  }
}

/// The parts are the operand's, and a combination's elements of a known type.
static Status check(uint32_t kind, const sluice_collective &what, int64_t members) {
  const int64_t type = what.element_type;
  const bool splits = kind == SLUICE_COLLECTIVE_REDUCE_SCATTER || kind == SLUICE_COLLECTIVE_ALL_TO_ALL ||
                      kind == SLUICE_COLLECTIVE_SHARD;
  const bool joins = kind == SLUICE_COLLECTIVE_ALL_GATHER || kind == SLUICE_COLLECTIVE_ALL_TO_ALL;
  const bool combines = kind == SLUICE_COLLECTIVE_ALL_REDUCE || kind == SLUICE_COLLECTIVE_REDUCE_SCATTER;
  bool fits = kind <= SLUICE_COLLECTIVE_HALO && what.bytes >= 0;
  fits &= !splits || members * what.split_outer * what.split_inner == what.bytes;
  fits &=
      !joins || (kind == SLUICE_COLLECTIVE_ALL_GATHER ? 1 : members) * what.join_outer * what.join_inner == what.bytes;
  fits &= !combines ||
          ((type == kFloat || type == kDouble || type == kInt32 || type == kInt64) &&
           what.bytes % elementBytes(type) == 0 && what.reduction >= 0 && what.reduction <= SLUICE_REDUCTION_MIN);
  fits &= kind != SLUICE_COLLECTIVE_HALO ||
          (what.low >= 0 && what.high >= 0 && what.low <= what.extent && what.high <= what.extent &&
           what.split_outer * what.extent * what.split_inner == what.bytes && what.fill_bytes >= 0 &&
           what.fill_bytes <= 8 && (what.fill_bytes == 0 || what.split_inner % what.fill_bytes == 0));
  if (!fits)
    return failure("a collective's sizes contradict each other, compile the model again");
  return {};
}

Status runCollective(const sluice_communicator &communicator, uint32_t kind, const sluice_collective &what,
                     const void *operand, void *result, void *workspace, int64_t &sent) {
  HostSpace space(communicator);
  return runCollective(space, communicator.rank, communicator.num_ranks, {kind, what, operand, result, workspace},
                       sent);
}

Status runCollective(CollectiveSpace &space, uint32_t rank, uint32_t numRanks, const CollectiveCall &call,
                     int64_t &sent) {
  Result<Group> group = groupOf(call.settings, rank, numRanks);
  if (!group)
    return tl::unexpected(group.error());
  if (Status status = check(call.kind, call.settings, static_cast<int64_t>(group->members.size())); !status)
    return status;
  Run run(space, call.settings, *group, static_cast<const char *>(call.operand), static_cast<char *>(call.result),
          static_cast<char *>(call.workspace), sent);
  Status status;
  switch (call.kind) {
  case SLUICE_COLLECTIVE_ALL_REDUCE:
    status = run.allReduce();
    break;
  case SLUICE_COLLECTIVE_ALL_GATHER:
    status = run.allGather();
    break;
  case SLUICE_COLLECTIVE_REDUCE_SCATTER:
    status = run.reduceScatter();
    break;
  case SLUICE_COLLECTIVE_ALL_TO_ALL:
    status = run.allToAll();
    break;
  case SLUICE_COLLECTIVE_SHARD:
    status = run.shard();
    break;
  default:
    status = run.halo();
    break;
  }
  return status ? space.finish() : status;
}

/// Gives every rank the same bytes, and has theirs, by rank.
static Result<std::string> tellAll(const sluice_communicator &communicator, const std::string &text) {
  const uint32_t count = communicator.num_ranks;
  std::vector<uint32_t> members(count);
  std::iota(members.begin(), members.end(), 0U);
  std::string all(text.size() * count, '\0');
  const std::vector<const void *> send(count, text.data());
  const std::vector<int64_t> sizes(count, static_cast<int64_t>(text.size()));
  std::vector<void *> receive;
  for (uint32_t i = 0; i < count; ++i)
    receive.push_back(all.data() + text.size() * i);
  if (communicator.exchange(communicator.self, members.data(), count, send.data(), sizes.data(), receive.data(),
                            sizes.data()) != 0)
    return failure(communicator.error(communicator.self));
  return all;
}

Status Ranks::meet(const std::string &digest) {
  if (!communicator || met)
    return {};
  Result<std::string> all = tellAll(*communicator, digest);
  if (!all)
    return tl::unexpected(all.error());
  for (uint32_t i = 0; i < communicator->num_ranks; ++i)
    if (all->compare(digest.size() * i, digest.size(), digest) != 0)
      return failure("rank ", i, " runs another program than rank ", communicator->rank,
                     ", give all ranks the same compiled model");
  met = true;
  return {};
}

Status Ranks::await() {
  if (!communicator)
    return {};
  Result<std::string> all = tellAll(*communicator, ".");
  return all ? Status() : tl::unexpected(all.error());
}

int32_t Ranks::run(uint32_t kind, void *const *args, const void *settings, int64_t bytes) {
  std::optional<HostSpace> space;
  if (communicator)
    space.emplace(*communicator);
  Status status = runIn(space ? &*space : nullptr, kind, args, settings, bytes);
  if (status)
    return 0;
  std::lock_guard<std::mutex> lock(mutex);
  texts[std::this_thread::get_id()] = status.error();
  return 1;
}

Status Ranks::runIn(CollectiveSpace *space, uint32_t kind, void *const *args, const void *settings, int64_t bytes) {
  Status status;
  int64_t now = 0;
  std::unique_lock<std::mutex> exchanging(turn, std::defer_lock);
  if (kind != SLUICE_COLLECTIVE_SHARD)
    exchanging.lock();
  if (!communicator)
    status = failure("the model's ranks run together, open it with a communicator");
  else if (bytes != sizeof(sluice_collective))
    status = failure("a collective has ", bytes, " bytes of settings, compile the model again");
  else
    status = runCollective(*space, communicator->rank, communicator->num_ranks,
                           {kind, *static_cast<const sluice_collective *>(settings), args[0], args[1], args[2]}, now);
  std::lock_guard<std::mutex> lock(mutex);
  sent += now;
  return status;
}

std::string Ranks::error() const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = texts.find(std::this_thread::get_id());
  return found == texts.end() ? "" : found->second;
}

/// What a communicator says, or zero where it is of an older version.
template <typename T>
static T memberOf(const sluice_communicator *communicator, T sluice_communicator::*member) {
  const sluice_communicator none{};
  const auto end =
      static_cast<size_t>(reinterpret_cast<const char *>(&(none.*member)) - reinterpret_cast<const char *>(&none)) +
      sizeof(T);
  return communicator && communicator->size >= end ? communicator->*member : T();
}

bool Ranks::needsCallingThread() const { return memberOf(communicator, &sluice_communicator::calling_thread) != 0; }
uint32_t Ranks::hostRank() const { return memberOf(communicator, &sluice_communicator::host_rank); }
bool Ranks::isBroken() const {
  const auto asks = memberOf(communicator, &sluice_communicator::is_broken);
  return asks && asks(communicator->self) != 0;
}

void Ranks::beginStep() {
  std::lock_guard<std::mutex> lock(mutex);
  sent = 0, texts.clear();
}

int64_t Ranks::bytesSent() const {
  std::lock_guard<std::mutex> lock(mutex);
  return sent;
}

} // namespace sluice::runtime
