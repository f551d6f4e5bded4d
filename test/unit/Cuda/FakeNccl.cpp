//===- FakeNccl.cpp - NCCL without GPUs -----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeNccl.h"
#include "FakeCuda.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kUnhandledCudaError = 1, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5, kBytes = 0;

struct Id {
  char internal[128];
};

/// The ranks that began with one id.
struct World {
  std::vector<bool> joined;
  /// [from, to]: what is sent and not received.
  std::map<std::pair<int, int>, std::deque<std::string>> mail;
};

struct Comm {
  std::shared_ptr<World> world;
  int rank;
  std::atomic<bool> isAborted{false};
};

struct Op {
  bool sends;
  void *data;
  size_t bytes;
  int peer;
};

/// What one group has put on a stream.
struct Batch {
  std::shared_ptr<Comm> comm;
  std::vector<Op> ops;
  bool isSent = false;
};

struct Failure {
  int rank, from, result;
};

struct Fake {
  std::mutex mutex;
  std::condition_variable changed;
  int ids = 0;
  std::map<std::string, std::shared_ptr<World>> worlds;
  std::map<void *, std::shared_ptr<Comm>> comms;
  std::map<std::string, Failure> failures;
  std::map<int, std::string> logs;
};
Fake &fake() {
  static Fake instance;
  return instance;
}

thread_local std::vector<Op> grouped;
thread_local std::shared_ptr<Comm> groupComm;
thread_local void *groupStream = nullptr;
thread_local bool isGrouping = false;

/// With the mutex held.
int fails(const char *function, int rank) {
  auto found = fake().failures.find(function);
  if (found == fake().failures.end() || (found->second.rank != -1 && found->second.rank != rank) ||
      found->second.from-- > 0)
    return 0;
  found->second.from = 0;
  return found->second.result;
}

/// False: not all has come yet.
bool runBatch(Batch &batch) {
  Comm &comm = *batch.comm;
  std::lock_guard<std::mutex> lock(fake().mutex);
  auto &mail = comm.world->mail;
  for (const Op &op : batch.ops)
    if (op.sends && !batch.isSent)
      mail[{comm.rank, op.peer}].emplace_back(fakeCudaHost(op.data, op.bytes), op.bytes);
  batch.isSent = true;
  for (const Op &op : batch.ops)
    if (!op.sends && mail[{op.peer, comm.rank}].empty() && !comm.isAborted)
      return false;
  for (const Op &op : batch.ops)
    if (auto &letters = mail[{op.peer, comm.rank}]; !op.sends && !letters.empty()) {
      std::memcpy(fakeCudaHost(op.data, op.bytes), letters.front().data(), std::min(op.bytes, letters.front().size()));
      letters.pop_front();
    }
  return true;
}

int addOp(const char *function, bool sends, const void *data, size_t count, int type, int peer, void *handle,
          void *stream) {
  // The driver's lock is taken before this one's.
  const bool isThere = fakeCudaHost(data, count) != nullptr;
  std::lock_guard<std::mutex> lock(fake().mutex);
  auto comm = fake().comms.find(handle);
  if (!isThere || comm == fake().comms.end() || type != kBytes || peer < 0 ||
      peer >= static_cast<int>(comm->second->world->joined.size()))
    return kInvalidArgument;
  if (int result = fails(function, comm->second->rank))
    return result;
  if (!isGrouping || (groupStream && groupStream != stream))
    return kInvalidUsage;
  groupComm = comm->second, groupStream = stream;
  grouped.push_back({sends, const_cast<void *>(data), count, peer});
  fake().logs[groupComm->rank] +=
      (sends ? "send " : "recv ") + std::to_string(count) + (sends ? " to " : " from ") + std::to_string(peer) + "\n";
  return 0;
}

} // namespace

extern "C" {

void fakeNcclReset() {
  std::lock_guard<std::mutex> lock(fake().mutex);
  fake().failures.clear(), fake().logs.clear(), fake().worlds.clear();
}
void fakeNcclFail(const char *function, int rank, int from, int result) {
  std::lock_guard<std::mutex> lock(fake().mutex);
  fake().failures[function] = {rank, from, result};
}
const char *fakeNcclLog(int rank) {
  std::lock_guard<std::mutex> lock(fake().mutex);
  return fake().logs[rank].c_str();
}

int ncclGetVersion(int *version) {
  *version = 22105;
  return 0;
}
const char *ncclGetErrorString(int error) { return error == 6 ? "remote process exited" : "as told"; }
int ncclGetUniqueId(Id *id) {
  std::lock_guard<std::mutex> lock(fake().mutex);
  if (int result = fails("ncclGetUniqueId", 0))
    return result;
  std::memset(id, 0, sizeof *id);
  std::strcpy(id->internal, ("world " + std::to_string(++fake().ids)).c_str());
  return 0;
}
int ncclCommInitRank(void **handle, int ranks, Id id, int rank) {
  std::unique_lock<std::mutex> lock(fake().mutex);
  if (int result = fails("ncclCommInitRank", rank))
    return result;
  if (id.internal[0] == '\0' || rank < 0 || rank >= ranks)
    return kInvalidArgument;
  std::shared_ptr<World> &kept = fake().worlds[id.internal];
  if (!kept)
    kept = std::make_shared<World>();
  std::shared_ptr<World> world = kept;
  world->joined.resize(static_cast<size_t>(ranks));
  if (world->joined[static_cast<size_t>(rank)])
    return kInvalidUsage;
  world->joined[static_cast<size_t>(rank)] = true;
  fake().changed.notify_all();
  auto areAllHere = [&] {
    for (bool here : world->joined)
      if (!here)
        return false;
    return true;
  };
  if (!fake().changed.wait_for(lock, std::chrono::seconds(10), areAllHere))
    return kSystemError;
  auto comm = std::make_shared<Comm>();
  comm->world = world, comm->rank = rank;
  *handle = comm.get();
  fake().comms[*handle] = comm;
  fake().logs[rank] += "init " + std::to_string(ranks) + "\n";
  return 0;
}
int ncclCommAbort(void *handle) {
  std::lock_guard<std::mutex> lock(fake().mutex);
  auto comm = fake().comms.find(handle);
  if (comm == fake().comms.end())
    return kInvalidArgument;
  comm->second->isAborted = true;
  fake().logs[comm->second->rank] += "abort\n";
  fake().comms.erase(comm);
  return 0;
}
int ncclCommGetAsyncError(void *handle, int *error) {
  std::lock_guard<std::mutex> lock(fake().mutex);
  auto comm = fake().comms.find(handle);
  if (comm == fake().comms.end())
    return kInvalidArgument;
  *error = fails("async", comm->second->rank);
  return fails("ncclCommGetAsyncError", comm->second->rank);
}
int ncclSend(const void *data, size_t count, int type, int peer, void *comm, void *stream) {
  return addOp("ncclSend", true, data, count, type, peer, comm, stream);
}
int ncclRecv(void *data, size_t count, int type, int peer, void *comm, void *stream) {
  return addOp("ncclRecv", false, data, count, type, peer, comm, stream);
}
int ncclGroupStart() {
  isGrouping = true;
  return 0;
}
int ncclGroupEnd() {
  if (!isGrouping)
    return kInvalidUsage;
  isGrouping = false;
  std::shared_ptr<Batch> batch(new Batch{std::move(groupComm), std::move(grouped)});
  void *stream = groupStream;
  grouped.clear(), groupComm = nullptr, groupStream = nullptr;
  if (batch->ops.empty())
    return 0;
  {
    std::lock_guard<std::mutex> lock(fake().mutex);
    if (int result = fails("ncclGroupEnd", batch->comm->rank))
      return result;
    fake().logs[batch->comm->rank] += "end\n";
  }
  return fakeCudaEnqueueUntil(stream, "exchange", [batch] { return runBatch(*batch); }) ? kUnhandledCudaError : 0;
}

} // extern "C"
