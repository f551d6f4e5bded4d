//===- Collective.cpp - Operations of several ranks together --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A collective packs its parts, exchanges them (an all_reduce does so twice), and unpacks or combines the received
// parts. If a tensor is split along its outermost dimension, its parts are already contiguous, and are neither packed
// nor unpacked.
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

/// The first row of part `part` of `parts`.
int64_t partBegin(int64_t extent, int64_t parts, int64_t part) {
  return extent / parts * part + extent % parts * part / parts;
}
int64_t largestPart(int64_t extent, int64_t parts) { return (extent + parts - 1) / parts; }

/// How many parts there are for each part of a group: those of the axes outside of it.
int64_t partsOutside(const sluice_uneven &uneven) {
  int64_t parts = 1;
  for (int64_t a = 0; a < uneven.num_axes; ++a)
    parts *= uneven.axes[a].count;
  return parts;
}
int64_t positionOutside(const sluice_uneven &uneven, int64_t rank) {
  int64_t position = 0;
  for (int64_t a = 0; a < uneven.num_axes; ++a)
    position = position * uneven.axes[a].count + rank / uneven.axes[a].stride % uneven.axes[a].count;
  return position;
}

/// Rows of a dimension and how a group divides them: [outer][rows][row bytes]. Equal parts are one row each.
struct Parts {
  /// `inner` are bytes of the largest part for one outer index.
  Parts(int64_t outer, int64_t inner, const sluice_uneven &uneven, const Group &group)
      : outer(outer), row(inner), whole(static_cast<int64_t>(group.members.size())) {
    const auto size = static_cast<int64_t>(group.members.size());
    if (uneven.extent == 0) {
      for (int64_t i = 0; i <= size; ++i)
        begin.push_back(i);
      return;
    }
    const int64_t outside = partsOutside(uneven),
                  position = positionOutside(uneven, group.members[group.position]) * size;
    room = largestPart(uneven.extent, outside * size);
    row = inner / room;
    whole = largestPart(uneven.extent, outside);
    for (int64_t i = 0; i <= size; ++i)
      begin.push_back(partBegin(uneven.extent, outside * size, position + i) -
                      partBegin(uneven.extent, outside * size, position));
  }

  int64_t rows(size_t i) const { return begin[i + 1] - begin[i]; }
  int64_t inner(size_t i) const { return rows(i) * row; }    ///< Bytes of part i for one outer index.
  int64_t bytes(size_t i) const { return outer * inner(i); } ///< Of part i.
  int64_t offset(size_t i) const { return begin[i] * row; }  ///< Of part i within the whole.
  int64_t partStride() const { return room * row; }          ///< From one outer index of a part to the next.
  int64_t wholeStride() const { return whole * row; }        ///< The same of the whole.

  int64_t outer, row;
  int64_t room = 1, whole;    ///< Rows for which a part, and the whole, have memory.
  std::vector<int64_t> begin; ///< Per member, and the end: rows of the whole.
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
      : memory(memory), what(what), group(group), operand(operand), result(result), workspace(workspace), sent(sent),
        split(what.split_outer, what.split_inner, what.split, group),
        join(what.join_outer, what.join_inner, what.join, group), size(group.members.size()) {}

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
    const char *mine = operand;
    char *space = workspace;
    const int64_t own = join.inner(group.position);
    if (join.outer > 1 && own < join.partStride()) {
      memory.copyRows(space, own, operand, join.partStride(), join.outer, own);
      mine = space;
      space += join.outer * join.partStride();
    }
    for (size_t i = 0; i < size; ++i)
      exchange.put(i, mine, join.bytes(group.position));
    return takeJoined(exchange, space);
  }

  Status allToAll() {
    if (what.split.extent > 0)
      return unevenAllToAll();
    Exchange exchange(memory, group);
    char *received = putSplit(exchange, workspace);
    return takeJoined(exchange, received);
  }

  Status reduceScatter() {
    Exchange exchange(memory, group);
    char *received = putSplit(exchange, workspace);
    const int64_t bytes = split.bytes(group.position), own = split.inner(group.position);
    for (size_t i = 0; i < size; ++i)
      exchange.take(i, received + static_cast<int64_t>(i) * bytes, bytes);
    if (Status status = exchange.run(sent); !status)
      return status;
    const bool unpacks = split.outer > 1 && own < split.partStride();
    char *combined = unpacks ? received + static_cast<int64_t>(size) * bytes : result;
    memory.combine(combined, received, size, bytes, what);
    if (unpacks)
      memory.copyRows(result, split.partStride(), combined, own, split.outer, own);
    repeatLastRow(result, split.outer, split.rows(group.position), split.room, split.row);
    return {};
  }

  Status shard() {
    const int64_t own = split.inner(group.position);
    memory.copyRows(result, split.partStride(), operand + split.offset(group.position), split.wholeStride(),
                    split.outer, own);
    repeatLastRow(result, split.outer, split.rows(group.position), split.room, split.row);
    return {};
  }

  Status send() {
    Exchange exchange(memory, group);
    exchange.put(1 - group.position, operand, what.bytes);
    return exchange.run(sent);
  }

  Status receive() {
    Exchange exchange(memory, group);
    exchange.take(1 - group.position, result, what.bytes);
    return exchange.run(sent);
  }

  Status halo() {
    const auto position = static_cast<int64_t>(group.position), parts = static_cast<int64_t>(size);
    const int64_t rows = what.split.extent == 0 ? what.extent
                                                : partBegin(what.split.extent, parts, position + 1) -
                                                      partBegin(what.split.extent, parts, position);
    const int64_t row = what.split_inner, outer = what.split_outer, lowBytes = what.low * row,
                  highBytes = what.high * row, own = rows * row, room = what.extent * row,
                  whole = lowBytes + room + highBytes;
    const bool isFirst = group.position == 0, isLast = group.position + 1 == size;
    // The end of the rank before is what this one has before it, and so on.
    char *toNext = workspace, *toPrevious = toNext + outer * lowBytes, *fromPrevious = toPrevious + outer * highBytes,
         *fromNext = fromPrevious + outer * lowBytes;
    memory.copyRows(toNext, lowBytes, operand + own - lowBytes, room, outer, lowBytes);
    memory.copyRows(toPrevious, highBytes, operand, room, outer, highBytes);
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
    memory.copyRows(result, whole, fromPrevious, lowBytes, outer, lowBytes);
    memory.copyRows(result + lowBytes, whole, operand, room, outer, own);
    memory.copyRows(result + lowBytes + own, whole, fromNext, highBytes, outer, highBytes);
    repeatLastRow(result, outer, what.low + rows + what.high, what.low + what.extent + what.high, row);
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

  /// Fills the memory behind the rows of [outer][room][row] with copies of the last one.
  void repeatLastRow(char *target, int64_t outer, int64_t rows, int64_t room, int64_t row) {
    for (int64_t i = rows; i < room; ++i)
      memory.copyRows(target + i * row, room * row, target + (rows - 1) * row, room * row, outer, row);
  }

  /// A tensor as [before][x][between][y][after bytes], where x and y are the dimensions of an uneven all_to_all.
  struct Grid {
    int64_t x, y;
  };
  /// Copies `count.x` by `count.y` cells from one place to another.
  void copyCells(char *target, Grid targetSize, Grid targetAt, const char *source, Grid sourceSize, Grid sourceAt,
                 Grid count) {
    const int64_t targetRow = targetSize.y * what.after, sourceRow = sourceSize.y * what.after;
    for (int64_t i = 0; i < what.before; ++i)
      memory.copyRows(target + (i * targetSize.x + targetAt.x) * what.between * targetRow + targetAt.y * what.after,
                      targetRow,
                      source + (i * sourceSize.x + sourceAt.x) * what.between * sourceRow + sourceAt.y * what.after,
                      sourceRow, count.x * what.between, count.y * what.after);
  }

  Status unevenAllToAll() {
    // Rows of both dimensions, whatever bytes they have.
    const Parts cut(1, largestPart(what.split.extent, partsOutside(what.split) * static_cast<int64_t>(size)),
                    what.split, group),
        joined(1, largestPart(what.join.extent, partsOutside(what.join) * static_cast<int64_t>(size)), what.join,
               group);
    auto grid = [&](int64_t ofJoin, int64_t ofSplit) {
      return what.join_first ? Grid{ofJoin, ofSplit} : Grid{ofSplit, ofJoin};
    };
    const Grid operandSize = grid(joined.room, cut.whole), resultSize = grid(joined.whole, cut.room);
    const int64_t cell = what.before * what.between * what.after;
    const size_t own = group.position;
    Exchange exchange(memory, group);
    char *space = workspace;
    for (size_t i = 0; i < size; ++i) {
      const Grid count = grid(joined.rows(own), cut.rows(i));
      copyCells(space, count, {0, 0}, operand, operandSize, grid(0, cut.begin[i]), count);
      exchange.put(i, space, cell * count.x * count.y);
      space += cell * count.x * count.y;
    }
    std::vector<const char *> received;
    for (size_t i = 0; i < size; ++i) {
      const int64_t bytes = cell * joined.rows(i) * cut.rows(own);
      exchange.take(i, space, bytes);
      received.push_back(space);
      space += bytes;
    }
    if (Status status = exchange.run(sent); !status)
      return status;
    for (size_t i = 0; i < size; ++i) {
      const Grid count = grid(joined.rows(i), cut.rows(own));
      copyCells(result, resultSize, grid(joined.begin[i], 0), received[i], count, {0, 0}, count);
    }
    // The last row of the one dimension, and then, with its copy, that of the other.
    for (int64_t i = joined.begin[size]; i < joined.whole; ++i)
      copyCells(result, resultSize, grid(i, 0), result, resultSize, grid(i - 1, 0), grid(1, cut.rows(own)));
    for (int64_t i = cut.rows(own); i < cut.room; ++i)
      copyCells(result, resultSize, grid(0, i), result, resultSize, grid(0, i - 1), grid(joined.whole, 1));
    return {};
  }

  /// Returns what is left of the workspace.
  char *putSplit(Exchange &exchange, char *space) {
    const bool packs = split.outer > 1;
    for (size_t i = 0; i < size; ++i) {
      const char *part = operand + split.offset(i);
      if (packs) {
        memory.copyRows(space, split.inner(i), part, split.wholeStride(), split.outer, split.inner(i));
        part = space;
        space += split.bytes(i);
      }
      exchange.put(i, part, split.bytes(i));
    }
    return space;
  }

  Status takeJoined(Exchange &exchange, char *space) {
    const bool unpacks = join.outer > 1;
    auto target = [&](size_t i) { return result + join.offset(i); };
    auto received = [&](size_t i) { return space + join.outer * join.offset(i); };
    for (size_t i = 0; i < size; ++i)
      exchange.take(i, unpacks ? received(i) : target(i), join.bytes(i));
    if (Status status = exchange.run(sent); !status)
      return status;
    for (size_t i = 0; unpacks && i < size; ++i)
      memory.copyRows(target(i), join.wholeStride(), received(i), join.inner(i), join.outer, join.inner(i));
    repeatLastRow(result, join.outer, join.begin[size], join.whole, join.row);
    return {};
  }
};

} // namespace

static bool isMessage(uint32_t kind) { return kind == SLUICE_COLLECTIVE_SEND || kind == SLUICE_COLLECTIVE_RECEIVE; }

Result<Group> groupOf(uint32_t kind, const sluice_collective &what, uint32_t rank, uint32_t numRanks) {
  if (isMessage(kind)) {
    if (what.peer < 0 || what.peer >= numRanks || what.peer == rank)
      return failure("rank ", rank, " exchanges data with rank ", what.peer, ", which must be another one of the ",
                     numRanks, " ranks, compile the model again");
    const auto peer = static_cast<uint32_t>(what.peer);
    return Group{{std::min(rank, peer), std::max(rank, peer)}, rank < peer ? 0U : 1U};
  }
  if (what.num_axes < 1 || what.num_axes > SLUICE_COLLECTIVE_AXES)
    return failure("a collective runs along ", what.num_axes, " axes, compile the model again");
  Group group;
  int64_t base = rank, members = 1;
  for (int64_t a = 0; a < what.num_axes; ++a) {
    const auto &axis = what.axes[a];
    if (axis.count < 1 || axis.stride < 1 || axis.count > numRanks || axis.stride > numRanks)
      return failure("an axis of a collective has ", axis.count, " ranks at a stride of ", axis.stride,
                     ", and both numbers must be from 1 to the number of ranks, ", numRanks,
                     ", compile the model again");
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
      return failure("a collective of rank ", rank, " has rank ", member,
                     " as a member, which does not exist, because there are ", numRanks,
                     " ranks, compile the model again");
    if (member == rank)
      group.position = static_cast<uint32_t>(i);
    group.members[static_cast<size_t>(i)] = static_cast<uint32_t>(member);
  }
  return group;
}

int64_t bytesSent(uint32_t kind, const sluice_collective &what, const Group &group) {
  if (isMessage(kind))
    return kind == SLUICE_COLLECTIVE_SEND ? what.bytes : 0;
  const auto others = static_cast<int64_t>(group.members.size()) - 1, position = int64_t(group.position);
  const Parts split(what.split_outer, what.split_inner, what.split, group),
      join(what.join_outer, what.join_inner, what.join, group);
  const size_t own = group.position;
  switch (kind) {
  case SLUICE_COLLECTIVE_ALL_REDUCE: {
    const std::vector<int64_t> from = Run::chunks(what, group.members.size());
    const int64_t mine = from[group.position + 1] - from[group.position];
    return what.bytes - mine + others * mine;
  }
  case SLUICE_COLLECTIVE_ALL_GATHER:
    return others * join.bytes(own);
  case SLUICE_COLLECTIVE_ALL_TO_ALL:
    if (what.split.extent > 0) {
      const int64_t joined = largestPart(what.join.extent, partsOutside(what.join) * (others + 1)),
                    cut = largestPart(what.split.extent, partsOutside(what.split) * (others + 1));
      const Parts rows(1, joined, what.join, group), columns(1, cut, what.split, group);
      return what.before * what.between * what.after * rows.rows(own) * (columns.begin.back() - columns.rows(own));
    }
    [[fallthrough]];
  case SLUICE_COLLECTIVE_REDUCE_SCATTER:
    return split.outer * split.row * (split.begin.back() - split.rows(own));
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
    if (what.join_outer <= 1)
      return 0;
    return what.join.extent > 0 ? join + what.join_outer * what.join_inner : join;
  case SLUICE_COLLECTIVE_REDUCE_SCATTER:
    if (what.split_outer <= 1)
      return split;
    return what.split.extent > 0 ? 2 * split + what.split_outer * what.split_inner : 2 * split;
  case SLUICE_COLLECTIVE_ALL_TO_ALL:
    // The rows to send are no more than the operand's, and the received ones than the result's.
    if (what.split.extent > 0)
      return what.bytes + what.before * what.between * what.after *
                              largestPart(what.join.extent, partsOutside(what.join)) *
                              largestPart(what.split.extent, partsOutside(what.split) * size);
    return (what.split_outer > 1 ? split : 0) + (what.join_outer > 1 ? join : 0);
  case SLUICE_COLLECTIVE_HALO:
    return 2 * what.split_outer * (what.low + what.high) * what.split_inner;
  default:
    return 0;
  }
}

/// Whether a group of ranks divides the dimension as described: every rank has a row.
static bool isPossible(const sluice_uneven &uneven, int64_t members, int64_t numRanks) {
  if (uneven.extent == 0)
    return true;
  if (uneven.extent < 0 || uneven.num_axes < 0 || uneven.num_axes > SLUICE_COLLECTIVE_AXES)
    return false;
  int64_t parts = members;
  for (int64_t a = 0; a < uneven.num_axes; ++a) {
    const sluice_rank_axis &axis = uneven.axes[a];
    if (axis.count < 1 || axis.stride < 1 || axis.count > numRanks || axis.stride > numRanks ||
        (parts *= axis.count) > numRanks)
      return false;
  }
  return uneven.extent >= parts;
}

/// The parts are the operand's, and a combination's elements of a known type.
static Status check(uint32_t kind, const sluice_collective &what, int64_t members, int64_t numRanks) {
  const int64_t type = what.element_type;
  const auto contradiction = failure("a collective's sizes contradict each other, compile the model again");
  if (!isPossible(what.split, members, numRanks) || !isPossible(what.join, members, numRanks))
    return contradiction;
  // Of a dimension, in the memory of a rank: rows before it is cut or after it is joined, and of the largest part.
  auto roomOf = [&](const sluice_uneven &uneven) {
    return std::pair(uneven.extent == 0 ? members : largestPart(uneven.extent, partsOutside(uneven)),
                     uneven.extent == 0 ? 1 : largestPart(uneven.extent, partsOutside(uneven) * members));
  };
  const auto [splitWhole, splitPart] = roomOf(what.split);
  const auto [joinWhole, joinPart] = roomOf(what.join);
  const bool isUnevenAllToAll = kind == SLUICE_COLLECTIVE_ALL_TO_ALL && what.split.extent > 0;
  const bool splits = kind == SLUICE_COLLECTIVE_REDUCE_SCATTER || kind == SLUICE_COLLECTIVE_ALL_TO_ALL ||
                      kind == SLUICE_COLLECTIVE_SHARD;
  const bool joins = kind == SLUICE_COLLECTIVE_ALL_GATHER || kind == SLUICE_COLLECTIVE_ALL_TO_ALL;
  const bool combines = kind == SLUICE_COLLECTIVE_ALL_REDUCE || kind == SLUICE_COLLECTIVE_REDUCE_SCATTER;
  bool fits = kind <= SLUICE_COLLECTIVE_RECEIVE && what.bytes >= 0;
  if (isUnevenAllToAll)
    fits &= what.join.extent > 0 && what.before >= 0 && what.between >= 0 && what.after >= 0 &&
            what.before * joinPart * what.between * splitWhole * what.after == what.bytes;
  else
    fits &= kind != SLUICE_COLLECTIVE_ALL_TO_ALL || what.join.extent == 0;
  fits &= !splits || isUnevenAllToAll ||
          (what.split_inner % splitPart == 0 &&
           splitWhole * what.split_outer * (what.split_inner / splitPart) == what.bytes);
  fits &= !joins || isUnevenAllToAll ||
          (what.join_inner % joinPart == 0 &&
           (kind == SLUICE_COLLECTIVE_ALL_GATHER ? 1 : members) * what.join_outer * what.join_inner == what.bytes);
  fits &= !combines ||
          ((type == kFloat || type == kDouble || type == kInt32 || type == kInt64) &&
           what.bytes % elementBytes(type) == 0 && what.reduction >= 0 && what.reduction <= SLUICE_REDUCTION_MIN);
  fits &= kind != SLUICE_COLLECTIVE_HALO ||
          (what.low >= 0 && what.high >= 0 && what.low <= what.extent && what.high <= what.extent &&
           what.split_outer * what.extent * what.split_inner == what.bytes && what.fill_bytes >= 0 &&
           what.fill_bytes <= 8 && (what.fill_bytes == 0 || what.split_inner % what.fill_bytes == 0) &&
           (what.split.extent == 0 ||
            (what.split.num_axes == 0 && what.extent == splitPart && what.low <= what.split.extent / members &&
             what.high <= what.split.extent / members)));
  return fits ? Status() : contradiction;
}

Status runCollective(const sluice_communicator &communicator, uint32_t kind, const sluice_collective &what,
                     const void *operand, void *result, void *workspace, int64_t &sent) {
  HostSpace space(communicator);
  return runCollective(space, communicator.rank, communicator.num_ranks, {kind, what, operand, result, workspace},
                       sent);
}

Status runCollective(CollectiveSpace &space, uint32_t rank, uint32_t numRanks, const CollectiveCall &call,
                     int64_t &sent) {
  Result<Group> group = groupOf(call.kind, call.settings, rank, numRanks);
  if (!group)
    return tl::unexpected(group.error());
  if (Status status = check(call.kind, call.settings, static_cast<int64_t>(group->members.size()), numRanks); !status)
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
  case SLUICE_COLLECTIVE_SEND:
    status = run.send();
    break;
  case SLUICE_COLLECTIVE_RECEIVE:
    status = run.receive();
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
      return failure("rank ", i, " and rank ", communicator->rank,
                     " run different programs, give all ranks the same compiled model");
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

/// Of a model from before minor version 15, whose parts are equal, and from before minor version 17, without messages.
static constexpr int64_t kSettingsOfEqualParts = offsetof(sluice_collective, split);
static constexpr int64_t kSettingsWithoutPeer = offsetof(sluice_collective, peer);

Status Ranks::runIn(CollectiveSpace *space, uint32_t kind, void *const *args, const void *settings, int64_t bytes) {
  Status status;
  int64_t now = 0;
  std::unique_lock<std::mutex> exchanging(turn, std::defer_lock);
  if (kind != SLUICE_COLLECTIVE_SHARD)
    exchanging.lock();
  if (!communicator)
    status = failure(
        "the model has several ranks and was opened without a communicator, open the model with a communicator");
  else if (bytes != sizeof(sluice_collective) && bytes != kSettingsOfEqualParts && bytes != kSettingsWithoutPeer)
    status = failure("a collective has ", bytes, " bytes of settings, compile the model again");
  else {
    sluice_collective what{};
    std::memcpy(&what, settings, static_cast<size_t>(bytes));
    const bool hasOperand = kind != SLUICE_COLLECTIVE_RECEIVE;
    void *const *results = args + (hasOperand ? 1 : 0);
    status = runCollective(*space, communicator->rank, communicator->num_ranks,
                           {kind, what, hasOperand ? args[0] : nullptr, results[0], results[1]}, now);
  }
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
