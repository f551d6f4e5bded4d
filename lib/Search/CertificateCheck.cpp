//===- CertificateCheck.cpp - What a certificate proves -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file checks certificates of lower bounds. The argument of cuts is the most complex one. In each segment between
// two cuts, there are prices for an operator's work, for a byte that enters the memories, and for a byte that leaves
// them. The prices are such that everything that can happen in a nanosecond is worth at most a nanosecond. A byte that
// is in the memories at a cut has a price too. The makespan is then at least the following sum: the price of all work,
// plus for each tensor the price of its cheapest life (staying costs memory, leaving and coming back costs copies, and
// running the producer again costs work), minus the price of the memory that exists. Every quantity is an integer:
// shares of time are in millionths, and prices are in attoseconds.
//
//===----------------------------------------------------------------------===//

#include "sluice/Search/BoundCertificate.h"

#include "sluice/Search/Orders.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace sluice {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kNever = Wide(1) << 126;
constexpr int64_t kAttosecondsPerNs = 1'000'000'000;
/// Of a nanosecond's share of a millionth.
constexpr int64_t kAttosecondsPerShare = kAttosecondsPerNs / kWholeShare;
/// The simulator may end a copy a part in 10^6 early.
constexpr double kRounding = 1 + 1e-6;
/// Links that are faster than this may move small tensors in no time.
constexpr double kFastest = 1e15;

Wide plus(Wide a, Wide b) { return a >= kNever || b >= kNever ? kNever : a + b; }

template <typename... Args>
tl::unexpected<Error> noProof(const Args &...what) {
  return makeError(ErrorCode::InvalidInput, what..., ", certificate of the lower bound, make the plan anew");
}

bool isGiven(const Tensor &tensor) {
  return !tensor.producer.valid() && (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State);
}

class CutProof {
public:
  CutProof(const BoundProblem &problem, const BoundCertificate &certificate)
      : graph(problem.graph), machine(problem.machine), problem(problem), certificate(certificate),
        isInside(machine.memories.size(), 0) {}

  Expected<int64_t> prove() {
    Status status = checkShape().and_then([&] { return checkPrices(); }).and_then([&] { return divide(); });
    if (!status)
      return propagate(status);
    Wide total = 0;
    for (uint32_t i = 0; i < graph.numOperators(); ++i)
      total += workOf(OperatorId(i), [&](Wide a, Wide b) { return std::min(a, b); });
    int64_t always = 0; // Homes in the memories that take their bytes all the time.
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      const Wide least = priceOf(TensorId(i), always);
      if (least >= kNever)
        return noProof("tensor '", graph.tensor(TensorId(i)).name, "' has no memory that it could be in");
      total += least;
    }
    for (size_t j = 0; j < certificate.operators.size(); ++j)
      total -= Wide(certificate.memoryPrices[j]) * (capacity - always - takenAt(certificate.operators[j]));
    const Wide ns = total > 0 ? total / kAttosecondsPerNs : 0;
    return static_cast<int64_t>(std::min<Wide>(ns, std::numeric_limits<int64_t>::max()));
  }

private:
  enum State : uint8_t { Unborn, Absent, Clean, Dirty, Lost, kStates };
  enum class Need : uint8_t { Make, Read, Update };
  enum class End : uint8_t { Any, Inside, Outside, Both };
  /// How a state that is updated is kept from step to step: not in the memories, there alone, or there and outside.
  enum class Kept : uint8_t { No, Alone, Beside };

  /// Something that happens to the tensor in one of the segments from `first` to `last`.
  struct Event {
    int first, last;
    Need need;
  };

  /// What a tensor, or a state with its new value, goes through.
  struct Life {
    int64_t bytes = 0;     ///< That a copy moves.
    int64_t heldBytes = 0; ///< That the tensor takes in the memories at least.
    State start = Absent;
    int firstSegment = 0;
    std::vector<Event> events = {};
    End end = End::Any;
    int cleanBy = -1;      ///< By this segment's end there is a copy outside.
    OperatorId maker = {}; ///< May run again; else invalid.
    TensorId now = {};     ///< Must be inside at cuts where operators read it.
    TensorId old = {};     ///< The same up to the cut `oldUntil`: a state, where `now` is its new value.
    int oldUntil = 0;
  };

  Status checkShape() {
    const size_t cuts = certificate.operators.size();
    if (cuts > kMaxCuts || certificate.memoryPrices.size() != cuts || certificate.segments.size() != cuts + 1)
      return noProof(cuts, " cuts, ", certificate.memoryPrices.size(), " prices of memory and ",
                     certificate.segments.size(), " segments do not fit each other, or there are more cuts than ",
                     kMaxCuts);
    for (MemoryId m : certificate.memories) {
      if (machine.isFile(m) || isInside[m.index()])
        return noProof("memory '", machine.memory(m).name, "' is a file or is named twice");
      isInside[m.index()] = 1;
      capacity = saturatingAdd(capacity, std::min(problem.capacities[m.index()], machine.memory(m).capacityBytes));
    }
    if (certificate.memories.empty() || (isInside[0] && !machine.hasFiles()))
      return noProof("bytes of homes count only on machines with files");
    Wide bytes = 0;
    for (const Tensor &tensor : graph.tensors())
      bytes += tensor.bytes;
    for (const Operator &op : graph.operators())
      bytes += op.workspaceBytes;
    if (bytes >= Wide(1) << 62)
      return noProof("all tensors together exceed 2^62 bytes");
    return {};
  }

  /// What may copy across the border: the number of streams in each direction, and the best of their links.
  struct Lanes {
    int64_t streams = 0;
    double rate = 0;
    int64_t latencyNs = std::numeric_limits<int64_t>::max();
  };

  Lanes findLanes() const {
    Lanes lanes;
    bool isOfFile = false;
    std::vector<uint8_t> isEnd(machine.memories.size(), 0);
    for (const Link &link : machine.links) {
      if (isInside[link.a.index()] == isInside[link.b.index()])
        continue;
      lanes.rate = std::max({lanes.rate, link.rateFrom(link.a), link.rateFrom(link.b)});
      lanes.latencyNs = std::min(lanes.latencyNs, link.latencyNs);
      if (machine.isFile(link.a) || machine.isFile(link.b))
        isOfFile = true;
      else
        isEnd[link.a.index()] = isEnd[link.b.index()] = 1;
    }
    isEnd[Machine::hostMemory().index()] = 0;
    // A device swaps into its memory on one stream and out of it on another. Every device may have two for files.
    for (const Device &device : machine.devices)
      lanes.streams += isEnd[device.memory.index()] + isOfFile;
    return lanes;
  }

  /// No nanosecond of a segment may be worth more than a nanosecond.
  Status checkPrices() {
    lanes = findLanes();
    double into = 0, from = 0, both = 0;
    auto crosses = [&](const Link &link) { return isInside[link.a.index()] != isInside[link.b.index()]; };
    for (const Link &link : machine.links)
      if (crosses(link) && !(link.trunk.valid() && crosses(machine.link(link.trunk)))) {
        const bool isInsideA = isInside[link.a.index()];
        into += link.rateFrom(isInsideA ? link.b : link.a);
        from += link.rateFrom(isInsideA ? link.a : link.b);
        both += link.duplexBytesPerSec;
      }
    const bool isKnown = std::max({into, from, both}) * kRounding < kFastest;
    auto whole = [&](double rate) { return isKnown ? static_cast<int64_t>(std::ceil(rate * kRounding)) : 0; };
    laneRate = whole(lanes.rate);
    const int64_t in = whole(into), out = whole(from), duplex = std::min(whole(both), in + out);
    for (const SegmentPrices &segment : certificate.segments) {
      int64_t shares = 0;
      for (const SegmentPrices::Work &work : segment.work) {
        if (work.share < 0 || work.share > kWholeShare)
          return noProof("a share of ", work.share, " is not from 0 to ", kWholeShare);
        shares = saturatingAdd(shares, work.share);
      }
      for (const int64_t share : {segment.copiesIn, segment.copiesOut}) {
        if (share < 0 || share > kWholeShare)
          return noProof("a share of ", share, " is not from 0 to ", kWholeShare);
        if (share > 0 && laneRate <= 0)
          return noProof("the links of the memories are too fast for shares of copies");
        shares = saturatingAdd(shares, share * lanes.streams);
      }
      for (size_t i = 0; i < segment.work.size(); ++i)
        for (size_t k = 0; k < i; ++k)
          if (segment.work[i].device == segment.work[k].device &&
              segment.work[i].communicates == segment.work[k].communicates)
            return noProof("the work of a device has two shares in one segment");
      if (std::min(segment.in, segment.out) < 0 || std::max(segment.in, segment.out) > kMaxPrice)
        return noProof("a price of a copied byte is not from 0 to ", kMaxPrice);
      if (!isKnown && segment.in + segment.out > 0)
        return noProof("the links of the memories are too fast for prices of bytes");
      auto worth = [&](int64_t entering, int64_t leaving) {
        return Wide(segment.in) * entering + Wide(segment.out) * leaving;
      };
      // In a second, at most so much is worth a second.
      const Wide most = std::max(worth(in, std::min(out, duplex - std::min(in, duplex))),
                                 worth(std::min(in, duplex - std::min(out, duplex)), out));
      if (most > Wide(kWholeShare - shares) * kAttosecondsPerShare * kAttosecondsPerNs)
        return noProof("the prices of a segment exceed its time");
    }
    for (int64_t price : certificate.memoryPrices)
      if (price < 0 || price > kMaxPrice)
        return noProof("a price of memory is not from 0 to ", kMaxPrice);
    return {};
  }

  /// Finds for each operator the segments that its first launch may be in.
  Status divide() {
    const int cuts = static_cast<int>(certificate.operators.size());
    first.assign(graph.numOperators(), 0);
    last.assign(graph.numOperators(), cuts);
    cutOf.assign(graph.numOperators(), 0);
    for (int j = 1; j <= cuts; ++j) {
      const OperatorId v = certificate.operators[j - 1];
      // An operator that this cut reaches, and no earlier one, precedes it.
      if (cutOf[v.index()] || last[v.index()] < cuts)
        return noProof("operator '", graph.op(v).name, "' is used for two cuts or precedes an earlier cut");
      cutOf[v.index()] = j;
    }
    const Schedule order = modelOrder(graph);
    for (const OperatorId op : order) {
      int &from = first[op.index()];
      from = cutOf[op.index()];
      for (TensorId input : graph.op(op).inputs)
        if (OperatorId before = graph.tensor(input).producer; before.valid())
          from = std::max(from, first[before.index()]);
    }
    for (size_t i = order.size(); i-- > 0;) {
      int &to = last[order[i].index()];
      for (TensorId output : graph.op(order[i]).outputs)
        for (OperatorId reader : graph.tensor(output).consumers)
          to = std::min(to, cutOf[reader.index()] ? cutOf[reader.index()] - 1 : last[reader.index()]);
    }
    for (int j = 1; j <= cuts; ++j) {
      const OperatorId v = certificate.operators[j - 1];
      if (j < cuts && last[v.index()] != j)
        return noProof("operator '", graph.op(v).name, "' does not precede the next cut");
      if (first[v.index()] != j)
        return noProof("operator '", graph.op(v).name, "' precedes an earlier cut");
    }
    return {};
  }

  bool runsInside(OperatorId op) const {
    return isInside[machine.device(problem.placement[op.index()]).memory.index()];
  }

  int64_t shareOf(OperatorId op, int segment) const {
    for (const SegmentPrices::Work &work : certificate.segments[segment].work)
      if (work.device == problem.placement[op.index()] && work.communicates == graph.op(op).communicates)
        return work.share;
    return 0;
  }

  /// The price of an operator's work, in the cheapest segment it may be in.
  template <typename Less>
  Wide workOf(OperatorId op, const Less &less) const {
    const int64_t ns = problem.costs.timeNs(op, problem.placement[op.index()]);
    Wide least = kNever;
    for (int s = first[op.index()]; s <= last[op.index()]; ++s)
      least = less(least, Wide(ns) * shareOf(op, s) * kAttosecondsPerShare);
    return least;
  }

  /// Bytes of the memories that an operator's results and workspace take when it starts.
  int64_t takenAt(OperatorId id) const {
    if (!runsInside(id))
      return 0;
    const Operator &op = graph.op(id);
    int64_t bytes = op.workspaceBytes;
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const Tensor &output = graph.tensor(op.outputs[k]);
      if (!(output.isOutput && isInside[0]))
        bytes += output.bytes;
      int64_t shared = 0;
      for (auto [from, to] : op.inPlace)
        if (to == k)
          shared = std::max(shared, std::min(output.bytes, graph.tensor(op.inputs[from]).bytes));
      bytes -= shared;
    }
    return bytes;
  }

  /// Reads in the memories that follow each other for certain, the earliest ends first.
  void addReads(const Tensor &tensor, int before, std::vector<Event> &events) const {
    std::vector<Event> reads;
    for (OperatorId reader : tensor.consumers)
      if (runsInside(reader) && last[reader.index()] < before)
        reads.push_back({first[reader.index()], last[reader.index()], Need::Read});
    std::sort(reads.begin(), reads.end(),
              [](const Event &a, const Event &b) { return a.last != b.last ? a.last < b.last : a.first > b.first; });
    int latest = -1;
    for (const Event &read : reads)
      if (read.first > latest) {
        events.push_back(read);
        latest = read.last;
      }
  }

  bool isReadInside(const Tensor &tensor) const {
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                       [&](OperatorId reader) { return runsInside(reader); });
  }

  /// The segment by whose end the tensor has left the memories where operators outside read it; -1: none.
  int leavesBy(const Tensor &tensor) const {
    int by = tensor.isOutput && !isInside[0] ? static_cast<int>(certificate.operators.size()) : -1;
    for (OperatorId reader : tensor.consumers)
      if (!runsInside(reader))
        by = by < 0 ? last[reader.index()] : std::min(by, last[reader.index()]);
    return by;
  }

  /// The life of what an operator makes; a new value that its state's place keeps, in the way of `end`.
  Life lifeOfMade(TensorId t, End end) const {
    const Tensor &tensor = graph.tensor(t);
    const OperatorId maker = tensor.producer;
    Life life;
    life.bytes = life.heldBytes = tensor.bytes;
    life.firstSegment = first[maker.index()];
    life.end = end;
    life.now = t;
    if (runsInside(maker)) {
      life.start = Unborn;
      life.events.push_back({first[maker.index()], last[maker.index()], Need::Make});
      life.cleanBy = leavesBy(tensor);
      if (certificate.repeats && graph.isRepeatable(maker))
        life.maker = maker;
    } else if (end != End::Any) {
      life.end = end == End::Outside ? End::Any : End::Inside;
    }
    addReads(tensor, std::numeric_limits<int>::max(), life.events);
    return life;
  }

  /// The life of a parameter, input or state that is in the memories when the step starts, or is not.
  Life lifeOfGiven(TensorId t, State start, int before = std::numeric_limits<int>::max()) const {
    Life life;
    life.bytes = graph.tensor(t).bytes;
    // A home in the host's memory may take fewer bytes than the tensor has.
    life.heldBytes = isInside[0] ? graph.tensor(t).homeBytes() : life.bytes;
    life.start = start;
    life.now = t;
    addReads(graph.tensor(t), before, life.events);
    return life;
  }

  /// The cheapest way for a state and the value that replaces it. Every place that has the one when the step starts has
  /// the other when it ends.
  Wide priceOfState(TensorId t, TensorId next, Kept kept) const {
    const End end = kept == Kept::No ? End::Outside : kept == Kept::Alone ? End::Inside : End::Both;
    const State start = kept == Kept::No ? Absent : kept == Kept::Alone ? Dirty : Clean;
    const OperatorId updater = graph.tensor(next).producer;
    const std::vector<TensorId> &read = graph.op(updater).inputs;
    if (!runsInside(updater) || std::find(read.begin(), read.end(), t) == read.end())
      return plus(priceOf(lifeOfGiven(t, start)), priceOf(lifeOfMade(next, end)));
    // One life: the operator reads the one and makes the other.
    Life life = lifeOfGiven(t, start, first[updater.index()]);
    life.old = t;
    life.oldUntil = first[updater.index()];
    life.now = next;
    life.end = end;
    life.events.push_back({first[updater.index()], last[updater.index()], Need::Update});
    life.cleanBy = leavesBy(graph.tensor(next));
    addReads(graph.tensor(next), std::numeric_limits<int>::max(), life.events);
    return priceOf(life);
  }

  Wide priceOf(TensorId t, int64_t &always) const {
    const Tensor &tensor = graph.tensor(t);
    if (tensor.updates.valid()) // Counted with its state.
      return 0;
    const bool hasHomeInside =
        isInside[0] &&
        (tensor.producer.valid() ? tensor.isOutput : tensor.kind == TensorKind::Input && !tensor.consumers.empty());
    if (hasHomeInside || (isInside[0] && tensor.updatedBy.valid() && graph.tensor(tensor.updatedBy).isOutput)) {
      always = saturatingAdd(always, tensor.bytes);
      return 0;
    }
    if (tensor.producer.valid())
      return runsInside(tensor.producer) || isReadInside(tensor) ? priceOf(lifeOfMade(t, End::Any)) : 0;
    if (tensor.updatedBy.valid())
      return std::min({priceOfState(t, tensor.updatedBy, Kept::No), priceOfState(t, tensor.updatedBy, Kept::Alone),
                       priceOfState(t, tensor.updatedBy, Kept::Beside)});
    if (!isReadInside(tensor))
      return 0;
    const Wide comes = priceOf(lifeOfGiven(t, Absent));
    if (!isGiven(tensor))
      return comes;
    Life stays = lifeOfGiven(t, Clean);
    stays.end = End::Inside;
    return std::min(comes, priceOf(stays));
  }

  bool mustBeInsideAt(const Life &life, int cut) const {
    const OperatorId v = certificate.operators[cut - 1];
    if (!runsInside(v))
      return false;
    const std::vector<TensorId> &inputs = graph.op(v).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](TensorId t) { return t == life.now || (t == life.old && cut <= life.oldUntil); });
  }

  /// The least price of a life: a shortest path through its states.
  Wide priceOf(const Life &life) const {
    const int end = static_cast<int>(certificate.operators.size());
    int until = std::max(life.cleanBy, life.end == End::Any ? 0 : end);
    for (const Event &event : life.events)
      until = std::max(until, event.last);
    std::vector<std::array<Wide, kStates>> least(life.events.size() + 1);
    for (auto &states : least)
      states.fill(kNever);
    least[0][life.start] = 0;
    size_t from = 0; // Fewer events have not happened.
    for (int s = life.firstSegment; s <= until; ++s) {
      if (s > life.firstSegment)
        passCut(life, s, least);
      for (size_t done = from; done < least.size(); ++done) {
        passSegment(life, s, least[done]);
        if (done == life.events.size())
          break;
        const Event &event = life.events[done];
        if (s < event.first)
          break;
        happen(event.need, least[done], least[done + 1]);
        if (s == event.last) {
          least[done].fill(kNever);
          from = done + 1;
        }
      }
      if (s == life.cleanBy)
        for (auto &states : least)
          states[Unborn] = states[Dirty] = states[Lost] = kNever;
    }
    const std::array<Wide, kStates> &states = least.back();
    switch (life.end) {
    case End::Any:
      return *std::min_element(states.begin(), states.end());
    case End::Inside:
      return std::min(states[Clean], states[Dirty]);
    case End::Outside:
      return std::min(states[Clean], states[Absent]);
    case End::Both:
      return states[Clean];
    }
    return kNever;
  }

  void passCut(const Life &life, int cut, std::vector<std::array<Wide, kStates>> &least) const {
    const Wide price = Wide(certificate.memoryPrices[cut - 1]) * life.heldBytes;
    const bool isForced = mustBeInsideAt(life, cut);
    for (auto &states : least) {
      states[Clean] = plus(states[Clean], price);
      states[Dirty] = plus(states[Dirty], price);
      if (isForced)
        states[Unborn] = states[Absent] = states[Lost] = kNever;
    }
  }

  void passSegment(const Life &life, int s, std::array<Wide, kStates> &states) const {
    const SegmentPrices &prices = certificate.segments[s];
    if (life.maker.valid()) {
      const int64_t ns = problem.costs.timeNs(life.maker, problem.placement[life.maker.index()]);
      const Wide again = Wide(ns) * shareOf(life.maker, s) * kAttosecondsPerShare /
                         static_cast<int64_t>(graph.op(life.maker).outputs.size());
      states[Dirty] = std::min(states[Dirty], plus(states[Lost], again));
      states[Lost] = std::min(states[Lost], states[Dirty]);
    }
    states[Clean] = std::min({states[Clean], plus(states[Dirty], priceOfCopy(life.bytes, prices.out, prices.copiesOut)),
                              plus(states[Absent], priceOfCopy(life.bytes, prices.in, prices.copiesIn))});
    states[Absent] = std::min(states[Absent], states[Clean]);
  }

  /// Of its bytes, and of the time for which it occupies a stream.
  Wide priceOfCopy(int64_t bytes, int64_t perByte, int64_t share) const {
    const Wide price = Wide(perByte) * bytes;
    if (share == 0)
      return price;
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    constexpr Wide kMost = Wide(1) << 100; // A lower price proves less, but cannot overflow.
    const Wide moving = std::min(kMost, Wide(bytes) * kAttosecondsPerNs * kNsPerSecond / laneRate);
    return price + (Wide(lanes.latencyNs) * kAttosecondsPerNs + moving) / kWholeShare * share;
  }

  static void happen(Need need, const std::array<Wide, kStates> &before, std::array<Wide, kStates> &after) {
    switch (need) {
    case Need::Make:
      after[Dirty] = std::min(after[Dirty], before[Unborn]);
      break;
    case Need::Read:
      after[Clean] = std::min(after[Clean], before[Clean]);
      after[Dirty] = std::min(after[Dirty], before[Dirty]);
      break;
    case Need::Update:
      after[Dirty] = std::min({after[Dirty], before[Clean], before[Dirty]});
      break;
    }
  }

  const Graph &graph;
  const Machine &machine;
  const BoundProblem &problem;
  const BoundCertificate &certificate;
  std::vector<uint8_t> isInside; ///< Per memory.
  int64_t capacity = 0;
  Lanes lanes;
  int64_t laneRate = 0;         ///< Bytes per second of the fastest link; 0: too fast.
  std::vector<int> first, last; ///< Per operator: the segments of its first launch.
  std::vector<int> cutOf;       ///< Per operator: the cut at its start, from 1; 0: none.
};

/// Chains of operators, and a device's work between what comes before and after.
class PathProof {
public:
  explicit PathProof(const BoundProblem &problem) : graph(problem.graph), machine(problem.machine), problem(problem) {}

  Expected<int64_t> proveChain(const std::vector<OperatorId> &chain) const {
    // A graph without operators has a chain without operators.
    if (chain.empty() && graph.operators().empty())
      return 0;
    if (chain.empty())
      return noProof("a chain has no operators");
    int64_t ns = entryNs(chain.front());
    for (size_t i = 0; i < chain.size(); ++i) {
      ns = saturatingAdd(ns, timeNs(chain[i]));
      const int64_t step = i + 1 < chain.size() ? stepNs(chain[i], chain[i + 1]) : exitNs(chain[i]);
      if (step < 0)
        return noProof("operator '", graph.op(chain[i + 1]).name, "' reads no result of '", graph.op(chain[i]).name,
                       "'");
      ns = saturatingAdd(ns, step);
    }
    return ns;
  }

  Expected<int64_t> proveWork(DeviceId device, bool communicates) const {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> before(graph.numOperators(), 0), after(graph.numOperators(), 0);
    const Schedule order = modelOrder(graph);
    for (const OperatorId op : order)
      extend(op, before);
    for (size_t i = order.size(); i-- > 0;)
      extendBack(order[i], after);
    int64_t work = 0, head = kMost, tail = kMost;
    for (const OperatorId op : order)
      if (problem.placement[op.index()] == device && graph.op(op).communicates == communicates) {
        work = saturatingAdd(work, timeNs(op));
        head = std::min(head, before[op.index()]);
        tail = std::min(tail, after[op.index()]);
      }
    if (head == kMost)
      return noProof("device '", machine.device(device).name, "' has no work of this kind");
    return saturatingAdd(saturatingAdd(head, work), tail);
  }

private:
  int64_t timeNs(OperatorId op) const { return problem.costs.timeNs(op, problem.placement[op.index()]); }
  MemoryId memoryOf(OperatorId op) const { return machine.device(problem.placement[op.index()]).memory; }

  /// The fastest link at a memory's end moves so many bytes.
  int64_t fastestNs(MemoryId end, int64_t bytes) const {
    int64_t ns = std::numeric_limits<int64_t>::max();
    for (const Link &link : machine.links)
      if (link.a == end || link.b == end)
        ns = std::min(ns, transferTimeNs(link, bytes));
    return ns;
  }

  /// Bytes leave one memory and enter another: in one copy where a link joins the two, else in two at least.
  int64_t copyNs(MemoryId from, MemoryId to, int64_t bytes) const {
    if (from == to)
      return 0;
    const int64_t leaves = fastestNs(from, bytes), enters = fastestNs(to, bytes);
    return machine.findLink(from, to).valid() ? std::max(leaves, enters) : saturatingAdd(leaves, enters);
  }

  int64_t entryNs(OperatorId op) const {
    int64_t ns = 0;
    for (TensorId input : graph.op(op).inputs)
      if (const Tensor &tensor = graph.tensor(input); tensor.kind == TensorKind::Input)
        ns = std::max(ns, copyNs(Machine::hostMemory(), memoryOf(op), tensor.bytes));
    return ns;
  }

  int64_t exitNs(OperatorId op) const {
    int64_t ns = 0;
    for (TensorId output : graph.op(op).outputs)
      if (const Tensor &tensor = graph.tensor(output); tensor.isOutput)
        ns = std::max(ns, copyNs(memoryOf(op), Machine::hostMemory(), tensor.bytes));
    return ns;
  }

  /// From one operator's end to the start of one that reads its results; negative where it reads none.
  int64_t stepNs(OperatorId from, OperatorId to) const {
    int64_t ns = -1;
    for (TensorId input : graph.op(to).inputs)
      if (const Tensor &tensor = graph.tensor(input); tensor.producer == from)
        ns = std::max(ns, copyNs(memoryOf(from), memoryOf(to), tensor.bytes));
    return ns;
  }

  void extend(OperatorId op, std::vector<int64_t> &before) const {
    int64_t ns = entryNs(op);
    for (TensorId input : graph.op(op).inputs)
      if (OperatorId earlier = graph.tensor(input).producer; earlier.valid())
        ns = std::max(ns, saturatingAdd(before[earlier.index()], saturatingAdd(timeNs(earlier), stepNs(earlier, op))));
    before[op.index()] = ns;
  }

  void extendBack(OperatorId op, std::vector<int64_t> &after) const {
    int64_t ns = exitNs(op);
    for (TensorId output : graph.op(op).outputs)
      for (OperatorId later : graph.tensor(output).consumers)
        ns = std::max(ns, saturatingAdd(stepNs(op, later), saturatingAdd(timeNs(later), after[later.index()])));
    after[op.index()] = ns;
  }

  const Graph &graph;
  const Machine &machine;
  const BoundProblem &problem;
};

/// Chains and work with each operator on the device that is best for it, among those that the problem allows.
class PlacementsProof {
public:
  explicit PlacementsProof(const BoundProblem &problem)
      : graph(problem.graph), machine(problem.machine), problem(problem), devices(machine.computeDevices()),
        ends(graph.numOperators() * machine.devices.size(), kUnreachable) {}

  Expected<int64_t> prove() {
    if (devices.empty())
      return noProof("no device computes");
    int64_t path = 0, work = 0;
    for (const OperatorId op : modelOrder(graph)) {
      int64_t shortest = kUnreachable, soonest = kUnreachable;
      for (DeviceId device : devices) {
        if (!isAllowed(op, device))
          continue;
        int64_t start = 0;
        for (TensorId input : graph.op(op).inputs)
          start = std::max(start, arrivalNs(input, machine.device(device).memory));
        const int64_t timeNs = problem.costs.timeNs(op, device);
        endOf(op, device) = saturatingAdd(start, timeNs);
        shortest = std::min(shortest, timeNs);
        soonest = std::min(soonest, endOf(op, device));
      }
      if (!graph.op(op).communicates)
        work = saturatingAdd(work, shortest);
      path = std::max(path, soonest);
      for (TensorId output : graph.op(op).outputs)
        if (graph.tensor(output).isOutput)
          path = std::max(path, arrivalNs(output, Machine::hostMemory()));
    }
    const int64_t count = static_cast<int64_t>(devices.size());
    return std::max(path, work / count + (work % count != 0));
  }

private:
  static constexpr int64_t kUnreachable = std::numeric_limits<int64_t>::max();

  bool isAllowed(OperatorId op, DeviceId device) const {
    return problem.pinned.empty() || !problem.pinned[op.index()].valid() || problem.pinned[op.index()] == device;
  }

  int64_t &endOf(OperatorId op, DeviceId device) { return ends[op.index() * machine.devices.size() + device.index()]; }

  /// The earliest time at which the tensor can be in the memory.
  int64_t arrivalNs(TensorId t, MemoryId memory) {
    const Tensor &tensor = graph.tensor(t);
    if (!tensor.producer.valid() && tensor.kind != TensorKind::Input)
      return 0;
    const std::vector<int64_t> &moves = movesOf(tensor.bytes);
    auto moveNs = [&](MemoryId from) { return moves[from.index() * machine.memories.size() + memory.index()]; };
    if (!tensor.producer.valid())
      return moveNs(Machine::hostMemory());
    int64_t soonest = kUnreachable;
    for (DeviceId maker : devices)
      soonest = std::min(soonest, saturatingAdd(endOf(tensor.producer, maker), moveNs(machine.device(maker).memory)));
    return soonest;
  }

  /// The least times of copies of so many bytes from each memory to each other one, over any number of links.
  const std::vector<int64_t> &movesOf(int64_t bytes) {
    auto [entry, isNew] = moves.try_emplace(bytes);
    std::vector<int64_t> &least = entry->second;
    if (!isNew)
      return least;
    const size_t count = machine.memories.size();
    least.assign(count * count, kUnreachable);
    for (size_t m = 0; m < count; ++m)
      least[m * count + m] = 0;
    for (const Link &link : machine.links)
      for (auto [a, b] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
        int64_t &ns = least[a.index() * count + b.index()];
        ns = std::min(ns, transferTimeNs(link, bytes));
      }
    for (size_t via = 0; via < count; ++via)
      for (size_t a = 0; a < count; ++a)
        for (size_t b = 0; b < count; ++b)
          least[a * count + b] =
              std::min(least[a * count + b], saturatingAdd(least[a * count + via], least[via * count + b]));
    return least;
  }

  const Graph &graph;
  const Machine &machine;
  const BoundProblem &problem;
  const std::vector<DeviceId> devices;
  std::vector<int64_t> ends; ///< Earliest ends, [operator * devices + device].
  std::map<int64_t, std::vector<int64_t>> moves;
};

} // namespace

Expected<int64_t> provenNs(const BoundProblem &problem, const BoundCertificate &certificate) {
  switch (certificate.argument) {
  case BoundArgument::Chain:
    return PathProof(problem).proveChain(certificate.operators);
  case BoundArgument::Work:
    return PathProof(problem).proveWork(certificate.device, certificate.communicates);
  case BoundArgument::Cuts:
    return CutProof(problem, certificate).prove();
  case BoundArgument::Placements:
    return PlacementsProof(problem).prove();
  }
  return 0;
}

} // namespace sluice
