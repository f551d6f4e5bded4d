//===- CudaRanks.cpp - Collectives in a GPU's memory ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaRanks.h"
#include "../Wait.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

namespace sluice::runtime {

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

/// `body` for each i below the 64-bit register %count, one a thread and round.
std::string loop(const std::string &name, int numParameters, const std::string &registers, const std::string &begin,
                 const std::string &body) {
  std::string text = ".visible .entry " + name + "(";
  for (int i = 0; i < numParameters; ++i)
    text += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
  text += ")\n{\n  .reg .pred %p, %q;\n  .reg .b32 %a, %b, %c;\n  .reg .b64 %i, %step, %count, %from, %to, %k, %l;\n";
  text += "  .reg .b64 %x<" + std::to_string(numParameters) + ">;\n  " + registers + "\n";
  for (int i = 0; i < numParameters; ++i)
    text += "  ld.param.u64 %x" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  text += begin;
  return text +
         "  mov.u32 %a, %ctaid.x;\n  mov.u32 %b, %ntid.x;\n  mov.u32 %c, %tid.x;\n"
         "  mul.wide.u32 %i, %a, %b;\n  cvt.u64.u32 %step, %c;\n  add.u64 %i, %i, %step;\n"
         "  mov.u32 %c, %nctaid.x;\n  mul.wide.u32 %step, %b, %c;\n"
         "next:\n  setp.ge.u64 %p, %i, %count;\n  @%p bra done;\n" +
         body + "  add.u64 %i, %i, %step;\n  bra next;\ndone:\n  ret;\n}\n";
}

std::string toGlobal(int parameter) {
  const std::string x = "%x" + std::to_string(parameter);
  return "  cvta.to.global.u64 " + x + ", " + x + ";\n";
}

std::string combineCode(const std::string &type, const std::string &kind) {
  const bool isFloat = type[0] == 'f';
  const std::string size = type.substr(1) == "64" ? "8" : "4";
  std::string step = kind + "." + type + " %v, %v, %o;\n";
  if (kind == "sum")
    step = (isFloat ? "add.rn." : "add.") + type + " %v, %v, %o;\n";
  else if (isFloat) // A NaN stays, as on the host.
    step = std::string("setp.") + (kind == "max" ? "gt." : "lt.") + type + " %p, %o, %v;\n  setp.nan." + type +
           " %q, %o, %o;\n  or.pred %p, %p, %q;\n  selp." + type + " %v, %o, %v, %p;\n";
  return loop("sluice_combine_" + type + "_" + kind, 4, ".reg ." + type + " %v, %o;",
              toGlobal(0) + toGlobal(1) + "  mov.u64 %count, %x2;\n",
              "  mad.lo.u64 %from, %i, " + size + ", %x1;\n  ld.global." + type + " %v, [%from];\n  mov.u64 %k, 1;\n" +
                  "member:\n  setp.ge.u64 %p, %k, %x3;\n  @%p bra write;\n  mad.lo.u64 %from, %count, " + size +
                  ", %from;\n  ld.global." + type + " %o, [%from];\n  " + step +
                  "  add.u64 %k, %k, 1;\n  bra member;\nwrite:\n  mad.lo.u64 %to, %i, " + size +
                  ", %x0;\n  st.global." + type + " [%to], %v;\n");
}

std::string wordType(int bytes) { return "u" + std::to_string(8 * bytes); }
std::string wordRegister(int bytes) {
  return ".reg ." + std::string(bytes == 8 ? "u64" : bytes == 4 ? "u32" : "u16") + " %v;";
}

std::string rowsCode(int bytes) {
  const std::string size = std::to_string(bytes);
  return loop(
      "sluice_rows_" + size, 6, wordRegister(bytes), toGlobal(0) + toGlobal(2) + "  mul.lo.u64 %count, %x4, %x5;\n",
      "  div.u64 %k, %i, %x5;\n  mul.lo.u64 %l, %k, %x5;\n  sub.u64 %l, %i, %l;\n"
      "  mad.lo.u64 %from, %k, %x3, %x2;\n  mad.lo.u64 %from, %l, " +
          size + ", %from;\n  mad.lo.u64 %to, %k, %x1, %x0;\n  mad.lo.u64 %to, %l, " + size + ", %to;\n  ld.global." +
          wordType(bytes) + " %v, [%from];\n  st.global." + wordType(bytes) + " [%to], %v;\n");
}

std::string fillCode(int bytes) {
  const std::string size = std::to_string(bytes);
  return loop("sluice_fill_" + size, 3, wordRegister(bytes),
              toGlobal(0) + "  mov.u64 %count, %x1;\n  " +
                  (bytes == 8   ? "mov"
                   : bytes == 4 ? "cvt.u32"
                                : "cvt.u16") +
                  ".u64 %v, %x2;\n",
              "  mad.lo.u64 %to, %i, " + size + ", %x0;\n  st.global." + wordType(bytes) + " [%to], %v;\n");
}

/// Parameters of a launch: addresses and numbers alike.
template <typename... Values>
std::array<uint64_t, sizeof...(Values)> parametersOf(Values... values) {
  auto word = [](auto value) {
    if constexpr (std::is_pointer_v<decltype(value)>)
      return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(value));
    else
      return static_cast<uint64_t>(value);
  };
  return {word(values)...};
}

} // namespace

std::string collectivePtx() {
  std::string text = ".version 6.0\n.target sm_70\n.address_size 64\n";
  for (const char *type : {"f32", "f64", "s32", "s64"})
    for (const char *kind : {"sum", "max", "min"})
      text += combineCode(type, kind);
  for (int bytes : {1, 4, 8})
    text += rowsCode(bytes);
  for (int bytes : {1, 2, 4, 8})
    text += fillCode(bytes);
  return text;
}

//===----------------------------------------------------------------------===//
// One collective
//===----------------------------------------------------------------------===//

class CudaRanks::Space final : public CollectiveSpace {
public:
  Space(CudaRanks &owner, CuStream stream, bool exchanges)
      : owner(owner), cu(owner.cu), stream(stream), exchanges(exchanges) {}

  void copyRows(char *target, int64_t targetStride, const char *source, int64_t sourceStride, int64_t rows,
                int64_t bytes) override {
    if (rows == 0 || bytes == 0 || !status)
      return;
    if (rows == 1)
      return check(cu.copyWithin(address(target), address(source), static_cast<size_t>(bytes), stream));
    const uint64_t all = address(target) | address(source) | static_cast<uint64_t>(targetStride | sourceStride | bytes);
    const int64_t word = all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
    launch("sluice_rows_" + std::to_string(word), rows * bytes / word,
           parametersOf(target, targetStride, source, sourceStride, rows, bytes / word));
  }

  void fill(char *target, int64_t bytes, const sluice_collective &what) override {
    const int64_t word = what.fill_bytes == 0 ? 1 : what.fill_bytes;
    if (bytes > 0 && status)
      launch("sluice_fill_" + std::to_string(word), bytes / word,
             parametersOf(target, bytes / word, what.fill_bytes == 0 ? 0 : what.fill));
  }

  void combine(char *result, const char *parts, size_t numParts, int64_t bytes,
               const sluice_collective &what) override {
    static constexpr const char *kKinds[] = {"_sum", "_max", "_min"};
    // TensorProto's numbers.
    const std::string type = what.element_type == 1    ? "f32"
                             : what.element_type == 11 ? "f64"
                             : what.element_type == 6  ? "s32"
                                                       : "s64";
    const int64_t count = bytes / (type.substr(1) == "64" ? 8 : 4);
    if (count > 0 && status)
      launch("sluice_combine_" + type + kKinds[what.reduction], count, parametersOf(result, parts, count, numParts));
  }

  Status exchange(const Group &group, const void *const *send, const int64_t *sendBytes, void *const *receive,
                  const int64_t *receiveBytes) override {
    if (!status)
      return finish();
    const size_t own = group.position;
    if (sendBytes[own] != receiveBytes[own])
      return failure("rank ", group.members[own], " sends itself ", sendBytes[own], " bytes and waits for ",
                     receiveBytes[own], ", compile the model again");
    return owner.comm ? exchangeByNccl(group, send, sendBytes, receive, receiveBytes)
                      : exchangeByHost(group, send, sendBytes, receive, receiveBytes);
  }

  /// Waits for the GPU, and for as long as the others may still come.
  Status finish() override {
    constexpr int64_t kSpinNs = 50'000;
    constexpr auto kNap = std::chrono::microseconds(20);
    if (!exchanges || !owner.comm) {
      check(cu.streamSynchronize(stream));
      return status;
    }
    const int64_t begin = nowNs();
    while (status) {
      const CuResult result = cu.streamQuery(stream);
      if (result == 0)
        break;
      if (result != kCuNotReady) {
        check(result);
        break;
      }
      if (nowNs() - begin < kSpinNs)
        continue;
      NcclResult error = 0;
      if (const NcclResult asked = owner.nccl->commGetAsyncError(owner.comm, &error); asked != 0)
        status = failure("NCCL failed: ", owner.nccl->explain(asked));
      else if (error != 0 && error != kNcclInProgress)
        status = failure("NCCL failed: ", owner.nccl->explain(error));
      else if (owner.ranks.isBroken())
        status = failure("another rank has stopped, see the error of that rank");
      std::this_thread::sleep_for(kNap);
    }
    if (!status) {
      // What waits for others on the GPU ends with this alone; nothing is exchanged any more.
      owner.nccl->commAbort(owner.comm);
      cu.streamSynchronize(stream);
      owner.comm = nullptr;
    }
    return status;
  }

private:
  static uint64_t address(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

  void check(CuResult result) {
    if (result != 0 && status)
      status = failure(cu.explain(result), ", while ranks exchanged data, run all ranks again");
  }

  template <size_t N>
  void launch(const std::string &name, int64_t count, std::array<uint64_t, N> parameters) {
    Result<CuFunction> function = owner.function(name);
    if (!function) {
      status = tl::unexpected(function.error());
      return;
    }
    constexpr int64_t kThreads = 256, kMostBlocks = 4096;
    std::array<void *, N> pointers;
    for (size_t i = 0; i < N; ++i)
      pointers[i] = &parameters[i];
    check(cu.launch(*function, static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks)), 1, 1,
                    kThreads, 1, 1, 0, stream, pointers.data(), nullptr));
  }

  Status exchangeByNccl(const Group &group, const void *const *send, const int64_t *sendBytes, void *const *receive,
                        const int64_t *receiveBytes) {
    const NcclLibrary &nccl = *owner.nccl;
    auto asked = [&](NcclResult result) {
      if (result != 0 && status)
        status = failure("NCCL failed: ", nccl.explain(result));
    };
    asked(nccl.groupStart());
    for (size_t i = 0; i < group.members.size() && status; ++i) {
      const int peer = static_cast<int>(group.members[i]);
      if (i == group.position) {
        if (sendBytes[i] > 0)
          check(cu.copyWithin(address(receive[i]), address(send[i]), static_cast<size_t>(sendBytes[i]), stream));
        continue;
      }
      if (sendBytes[i] > 0)
        asked(nccl.send(send[i], static_cast<size_t>(sendBytes[i]), kNcclBytes, peer, owner.comm, stream));
      if (receiveBytes[i] > 0 && status)
        asked(nccl.recv(receive[i], static_cast<size_t>(receiveBytes[i]), kNcclBytes, peer, owner.comm, stream));
    }
    asked(nccl.groupEnd()); // Ends it in any case.
    owner.hasSent = true;
    return status ? Status() : finish();
  }

  /// Operands to the host, there to the others, results back.
  Status exchangeByHost(const Group &group, const void *const *send, const int64_t *sendBytes, void *const *receive,
                        const int64_t *receiveBytes) {
    const sluice_communicator &transport = *owner.ranks.transport();
    const size_t count = group.members.size();
    auto copy = [&](void *target, const void *source, int64_t bytes) {
      if (status && bytes > 0 && owner.copies.copy(target, source, bytes) != 0)
        status = failure(owner.copies.failureText());
    };
    // What all are sent alike has one copy.
    auto isAgain = [&](size_t i) { return i > 0 && send[i] == send[i - 1] && sendBytes[i] == sendBytes[i - 1]; };
    std::vector<size_t> sent(count), received(count);
    size_t sentBytes = 0, receivedBytes = 0;
    for (size_t i = 0; i < count; ++i) {
      sent[i] = isAgain(i) ? sent[i - 1] : sentBytes;
      sentBytes += isAgain(i) ? 0 : static_cast<size_t>(sendBytes[i]);
      received[i] = receivedBytes;
      receivedBytes += static_cast<size_t>(receiveBytes[i]);
    }
    char *out = owner.hostMemory(0, sentBytes), *in = owner.hostMemory(1, receivedBytes);
    std::vector<const void *> from;
    std::vector<void *> to;
    for (size_t i = 0; i < count; ++i) {
      if (!isAgain(i))
        copy(out + sent[i], send[i], sendBytes[i]);
      from.push_back(out + sent[i]), to.push_back(in + received[i]);
    }
    if (status && transport.exchange(transport.self, group.members.data(), static_cast<uint32_t>(count), from.data(),
                                     sendBytes, to.data(), receiveBytes) != 0)
      status = failure(transport.error(transport.self));
    for (size_t i = 0; i < count; ++i)
      copy(receive[i], to[i], receiveBytes[i]);
    return status;
  }

  CudaRanks &owner;
  const CudaDriver &cu;
  CuStream stream;
  const bool exchanges; ///< Else another thread may have what `owner` exchanges by.
  Status status;
};

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

CudaRanks::CudaRanks(const CudaDriver &driver, CuDevice device, Ranks &ranks, Device &copies)
    : cu(driver), device(device), ranks(ranks), copies(copies) {}

CudaRanks::~CudaRanks() {
  // Not destroyed, which would wait for the other ranks to do the same.
  if (comm)
    nccl->commAbort(comm);
  if (module)
    cu.moduleUnload(module);
}

char *CudaRanks::hostMemory(size_t which, size_t bytes) {
  if (bytes > hostBytes[which]) {
    hostParts[which].reset(); // Not both at once.
    hostBytes[which] = 0;
    hostParts[which] = std::make_unique_for_overwrite<char[]>(bytes);
    hostBytes[which] = bytes;
  }
  return hostParts[which].get();
}

Status CudaRanks::endStep() { return std::exchange(hasSent, false) ? ranks.await() : Status(); }

Result<CuFunction> CudaRanks::function(const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  CuFunction &found = functions[name];
  if (!found)
    if (CuResult result = cu.moduleGetFunction(&found, module, name.c_str()))
      return failure(cu.explain(result), ", while looking for '", name, "'");
  return found;
}

Status CudaRanks::connect() {
  struct Card {
    char hasNccl;
    CuUuid gpu;
    NcclUniqueId id; ///< Rank 0's.
  };
  const sluice_communicator &transport = *ranks.transport();
  const uint32_t count = transport.num_ranks;
  Card own{};
  std::string problem;
  if (Result<const NcclLibrary *> library = ncclLibrary())
    nccl = *library;
  else
    problem = library.error();
  if (CuResult result = cu.deviceGetUuid(&own.gpu, device))
    return failure(cu.explain(result), ", while reading the identifier of the GPU");
  if (nccl && transport.rank == 0)
    if (NcclResult result = nccl->getUniqueId(&own.id)) {
      problem = "NCCL failed: " + nccl->explain(result);
      nccl = nullptr;
    }
  own.hasNccl = nccl != nullptr;

  std::vector<uint32_t> members(count);
  std::iota(members.begin(), members.end(), 0U);
  std::vector<Card> cards(count);
  const std::vector<const void *> send(count, &own);
  std::vector<void *> receive;
  for (Card &card : cards)
    receive.push_back(&card);
  const std::vector<int64_t> sizes(count, sizeof own);
  if (transport.exchange(transport.self, members.data(), count, send.data(), sizes.data(), receive.data(),
                         sizes.data()) != 0)
    return failure(transport.error(transport.self));
  // All come to the same.
  for (uint32_t i = 0; i < count && problem.empty(); ++i)
    if (!cards[i].hasNccl)
      problem = "rank " + std::to_string(i) + " has no NCCL";
  for (uint32_t i = 0; i < count && problem.empty(); ++i)
    for (uint32_t j = 0; j < i && problem.empty(); ++j)
      if (std::memcmp(&cards[i].gpu, &cards[j].gpu, sizeof(CuUuid)) == 0)
        problem = "ranks " + std::to_string(j) + " and " + std::to_string(i) + " share a GPU";
  if (problem.empty()) {
    if (NcclResult result =
            nccl->commInitRank(&comm, static_cast<int>(count), cards[0].id, static_cast<int>(transport.rank)))
      return failure("NCCL does not start: ", nccl->explain(result), ", run with NCCL_DEBUG=WARN to see the reason");
    int version = 0;
    nccl->getVersion(&version);
    text = "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  } else {
    nccl = nullptr;
    text = "the host's memory, for " + problem;
  }
  isConnected = true;
  return {};
}

static bool exchanges(uint32_t kind) { return kind != SLUICE_COLLECTIVE_SHARD; }

Status CudaRanks::prepare(uint32_t kind) {
  if (exchanges(kind) && !isConnected && ranks.transport())
    if (Status status = connect(); !status)
      return status;
  std::lock_guard<std::mutex> lock(mutex);
  if (!module)
    if (CuResult result = cu.moduleLoad(&module, collectivePtx().c_str(), 0, nullptr, nullptr))
      return failure(cu.explain(result), ", while loading the kernels that combine the parts of ranks");
  return {};
}

Status CudaRanks::run(uint32_t kind, void *const *args, const void *settings, int64_t bytes, CuStream stream) {
  Space space(*this, stream, exchanges(kind));
  return ranks.runIn(&space, kind, args, settings, bytes);
}

} // namespace sluice::runtime
