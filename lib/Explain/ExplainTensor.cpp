//===- ExplainTensor.cpp - Why a tensor lies where it does, and is copied -===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlanFacts.h"
#include "sluice/Plan/CopiedBytes.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice {

namespace {

class TensorExplainer {
public:
  TensorExplainer(const PlanFacts &facts, const MemoryProfile &profile, TensorId id)
      : facts(facts), profile(profile), tensor(facts.graph.tensor(id)), stays(facts.stays[id.index()]),
        copies(facts.copies[id.index()]) {
    std::stable_sort(stays.begin(), stays.end(), [&](ResidencyId a, ResidencyId b) {
      const bool homeA = isHome(a), homeB = isHome(b);
      return homeA != homeB ? homeA : times(a).startNs < times(b).startNs;
    });
    result.name = facts.nameOf(id);
  }

  TensorFacts explain() {
    result.type = tensor.type;
    result.stepNs = facts.timeline.makespanNs;
    result.kind = kindOf(tensor);
    result.bytes = tensor.bytes;
    if (tensor.producer.valid())
      result.producer = facts.nameOf(tensor.producer);
    for (OperatorId consumer : tensor.consumers)
      result.consumers.push_back(facts.nameOf(consumer));
    for (ResidencyId stay : stays)
      result.stays.push_back(stayFact(stay));
    for (CommandId copy : copies)
      result.copies.push_back(copyFact(copy));
    for (CopyFact &copy : result.copies)
      for (const CopyFact &out : result.copies)
        if (out.why == CopyFact::Why::Evicted && out.absence && copy.absence && copy.why != CopyFact::Why::Evicted &&
            out.absence->back == copy.absence->back)
          copy.swappedOut = out.timing.command;
    return std::move(result);
  }

private:
  const PlanFacts &facts;
  const MemoryProfile &profile;
  const Tensor &tensor;
  std::vector<ResidencyId> stays;       ///< Homes, then by start.
  const std::vector<CommandId> &copies; ///< By start.
  TensorFacts result;

  const Interval &times(ResidencyId id) const { return facts.times[id.index()]; }
  bool isHome(ResidencyId id) const { return facts.residency(id).segment == Segment::Home; }
  const Residency &source(CommandId copy) const { return facts.residency(facts.command(copy).reads[0]); }
  ResidencyId target(CommandId copy) const { return facts.command(copy).writes[0]; }

  /// A stay that lasts to the step's end because the next step begins with its bytes.
  bool isKept(ResidencyId id) const {
    if (isHome(id) || times(id).endNs != facts.timeline.makespanNs)
      return false;
    const Residency &stay = facts.residency(id);
    return std::any_of(facts.plan.residencies.begin(), facts.plan.residencies.end(), [&](const Residency &other) {
      return other.initial && other.segment == Segment::Arena && other.memory == stay.memory &&
             other.offset == stay.offset && (other.tensor == stay.tensor || other.tensor == tensor.updates);
    });
  }

  StayFact stayFact(ResidencyId id) const {
    const Residency &stay = facts.residency(id);
    StayFact fact;
    fact.memory = facts.machine.memory(stay.memory).name;
    fact.isHome = stay.segment == Segment::Home;
    fact.offset = stay.offset;
    fact.bytes = stay.bytes;
    fact.interval = times(id);
    fact.isInitial = stay.initial;
    fact.untilEnd = isKept(id);
    if (CommandId maker = facts.creators[id.index()]; maker.valid())
      fact.maker = facts.fact(maker);
    for (CommandId reader : facts.readers[id.index()])
      fact.launches += facts.isLaunch(reader);
    return fact;
  }

  /// The stay in the memory's arena that is the last to end until a time; invalid: none.
  ResidencyId stayBefore(MemoryId memory, int64_t ns, ResidencyId besides) const {
    ResidencyId found;
    for (ResidencyId id : stays)
      if (id != besides && !isHome(id) && facts.residency(id).memory == memory && times(id).endNs <= ns &&
          (!found.valid() || times(id).endNs >= times(found).endNs))
        found = id;
    return found;
  }
  /// Another stay in the memory's arena that began before `stay` does and ends later than that, the longest; invalid:
  /// none.
  ResidencyId stayBeside(ResidencyId stay) const {
    ResidencyId found;
    for (ResidencyId id : stays)
      if (id != stay && !isHome(id) && facts.residency(id).memory == facts.residency(stay).memory &&
          times(id).startNs <= times(stay).startNs && times(id).endNs > times(stay).startNs &&
          (!found.valid() || times(id).endNs > times(found).endNs))
        found = id;
    return found;
  }
  /// The stay that a copy out of this memory left, if what a copy back reads is that copy; invalid: it is not.
  ResidencyId stayCopiedOut(CommandId back) const {
    const CommandId out = facts.creators[facts.command(back).reads[0].index()];
    if (!out.valid() || facts.isLaunch(out) || source(out).memory != facts.residency(target(back)).memory ||
        source(out).segment == Segment::Home)
      return {};
    return facts.command(out).reads[0];
  }
  /// A copy to the host and back that does not free its first addresses before it has the second.
  bool isMove(CommandId back) const {
    const ResidencyId left = stayCopiedOut(back);
    return left.valid() && times(left).endNs >= times(target(back)).startNs;
  }
  /// The first that begins at a time or after it.
  ResidencyId stayAfter(MemoryId memory, int64_t ns) const {
    for (ResidencyId id : stays)
      if (!isHome(id) && facts.residency(id).memory == memory && times(id).startNs >= ns)
        return id;
    return {};
  }

  CopyFact::Why whyCopied(CommandId copy) const {
    const Residency &from = source(copy), &to = facts.residency(target(copy));
    if (to.segment == Segment::Home)
      return tensor.isOutput ? CopyFact::Why::Output : CopyFact::Why::NewState;
    const std::vector<CommandId> &readers = facts.readers[target(copy).index()];
    if (copyDirection(facts.machine, from.memory, to.memory) == CopyDirection::Out) {
      if (readers.empty() && !isKept(target(copy)))
        return CopyFact::Why::Unread;
      const bool isUsed = std::any_of(readers.begin(), readers.end(), [&](CommandId reader) {
        return facts.isLaunch(reader) || facts.residency(target(reader)).memory != from.memory;
      });
      if (isUsed || readers.empty())
        return CopyFact::Why::OtherDevice;
      return isMove(readers.front()) ? CopyFact::Why::Moved : CopyFact::Why::Evicted;
    }
    if (isMove(copy))
      return CopyFact::Why::Moved;
    if (stayBeside(target(copy)).valid())
      return CopyFact::Why::Second;
    if (stayBefore(to.memory, times(target(copy)).startNs, target(copy)).valid())
      return readers.empty() ? CopyFact::Why::Restored : CopyFact::Why::Returned;
    if (tensor.kind == TensorKind::Input)
      return CopyFact::Why::Input;
    const bool isConstant = !tensor.producer.valid();
    return isConstant ? CopyFact::Why::NotKept : CopyFact::Why::OtherDevice;
  }

  CopyFact copyFact(CommandId copy) const {
    CopyFact fact;
    fact.timing = facts.timing(copy);
    fact.why = whyCopied(copy);
    fact.bytes = tensor.bytes;
    fact.aloneNs = transferTimeNs(facts.machine.link(facts.command(copy).link), tensor.bytes);
    if (fact.why == CopyFact::Why::OtherDevice && tensor.producer.valid())
      fact.producerDevice = facts.machine.device(facts.plan.placement[tensor.producer.index()]).name;
    fact.absence = absence(copy, fact.why);
    if (fact.why == CopyFact::Why::Unread)
      fact.sourceEndNs = times(facts.command(copy).reads[0]).endNs;
    const Interval &ran = facts.interval(copy);
    if (ran.endNs - ran.startNs - fact.aloneNs >= fact.aloneNs / 100 + 1)
      fact.sharing = facts.sharing(copy);
    if (fact.why == CopyFact::Why::NotKept && tensor.updatedBy.valid())
      fact.newValue = facts.nameOf(tensor.updatedBy);
    if (const CommandId first = firstReader(facts, target(copy)); first.valid()) {
      fact.reader = facts.fact(first);
      fact.readerWaitNs = facts.waitNs(first, copy);
      for (MissingFact &missing : facts.missing(first))
        if (missing.command.id == copy)
          fact.readerMissingNs = missing.ns;
        else
          fact.readerMissing.push_back(std::move(missing));
      fact.readerAfter = facts.timing(first).after.front().command; // This copy, if nothing else.
    }
    return fact;
  }

  std::optional<AbsenceFact> absence(CommandId copy, CopyFact::Why why) const {
    const ResidencyId to = target(copy);
    if (why == CopyFact::Why::Evicted) {
      const ResidencyId left = facts.command(copy).reads[0];
      const ResidencyId back = stayAfter(facts.residency(left).memory, times(left).endNs);
      return back.valid() ? std::optional(between(left, back)) : std::nullopt;
    }
    if (why == CopyFact::Why::Moved) {
      const MemoryId from = source(copy).memory;
      const bool isOut = copyDirection(facts.machine, from, facts.residency(to).memory) == CopyDirection::Out;
      const CommandId back = isOut ? facts.readers[to.index()].front() : copy;
      return twice(stayCopiedOut(back), target(back));
    }
    if (why == CopyFact::Why::Second)
      return twice(stayBeside(to), to);
    if (why == CopyFact::Why::Returned || why == CopyFact::Why::Restored)
      return between(stayBefore(facts.residency(to).memory, times(to).startNs, to), to);
    // What the next step finds of a state that is updated is its new value.
    if (why != CopyFact::Why::NotKept || tensor.updatedBy.valid())
      return std::nullopt;
    // Away from the last stay of this step to the first of the next.
    ResidencyId last = to;
    for (ResidencyId id : stays)
      if (!isHome(id) && facts.residency(id).memory == facts.residency(to).memory &&
          times(id).endNs >= times(last).endNs)
        last = id;
    AbsenceFact fact = start(last, to);
    fact.isOverEnd = true;
    for (const Interval away : {Interval{times(last).endNs, facts.timeline.makespanNs}, Interval{0, fact.backNs}})
      if (away.startNs < away.endNs)
        fact.away.push_back(away);
    Guests known;
    addTime(fact, known, {times(last).endNs, facts.timeline.makespanNs}, last);
    addTime(fact, known, {0, times(to).startNs}, to);
    // With one address from its last use to its first.
    fact.freeOffset = freeOffset(to, {{times(last).startNs, facts.timeline.makespanNs}, {0, times(to).endNs}}, fact);
    return fact;
  }

  AbsenceFact start(ResidencyId left, ResidencyId back) const {
    const MemoryId memory = facts.residency(left).memory;
    AbsenceFact fact;
    fact.left = left;
    fact.back = back;
    fact.leftOffset = facts.residency(left).offset;
    fact.backOffset = facts.residency(back).offset;
    // A launch may make it again instead.
    if (const CommandId maker = facts.creators[back.index()]; maker.valid()) {
      fact.backNs = facts.interval(maker).endNs;
      fact.backSlackNs = facts.slackOf(maker);
      const std::vector<CommandId> &readers = facts.readers[left.index()];
      fact.isDropped = !facts.isLaunch(maker) && std::all_of(readers.begin(), readers.end(),
                                                             [&](CommandId reader) { return facts.isLaunch(reader); });
      if (fact.isDropped)
        fact.keptIn = facts.machine.memory(source(maker).memory).name;
      if (const CommandId reader = firstReader(facts, back); reader.valid()) {
        fact.reader = facts.fact(reader);
        for (const MissingFact &missing : facts.missing(reader))
          if (missing.command.id == maker)
            fact.readerMissingNs = missing.ns;
      }
    }
    fact.memory = facts.machine.memory(memory).name;
    fact.limitBytes = facts.arenaLimit(memory);
    fact.homeBytes = facts.homeBytes(memory);
    fact.needBytes = alignUp(tensor.bytes);
    return fact;
  }

  AbsenceFact between(ResidencyId left, ResidencyId back) const {
    AbsenceFact fact = start(left, back);
    fact.away = {{times(left).endNs, fact.backNs}};
    Guests known;
    addTime(fact, known, {times(left).endNs, times(back).startNs}, left);
    fact.freeOffset = freeOffset(left, {{times(left).startNs, times(back).endNs}}, fact);
    return fact;
  }

  /// Given two stays at one time: the stays that use the bytes of the first one before the second one ends.
  AbsenceFact twice(ResidencyId first, ResidencyId second) const {
    AbsenceFact fact = start(first, second);
    Guests known;
    addTime(fact, known, {times(first).endNs, times(second).endNs}, first);
    fact.freeOffset = freeOffset(first, {{times(first).startNs, times(second).endNs}}, fact);
    return fact;
  }

  /// Tensors, and the operators of workspaces, that are guests already.
  using Guests = std::set<std::pair<TensorId, OperatorId>>;

  /// Adds what happens during an interval to the memory and to the bytes of `place`.
  void addTime(AbsenceFact &fact, Guests &known, Interval interval, ResidencyId place) const {
    if (interval.endNs <= interval.startNs)
      return;
    fact.times.push_back(interval);
    fact.places.push_back(place);
    const std::vector<MemoryProfile::Sample> &samples = profile.perMemory[facts.residency(place).memory.index()];
    auto at = std::upper_bound(samples.begin(), samples.end(), interval.startNs,
                               [](int64_t ns, const MemoryProfile::Sample &sample) { return ns < sample.timeNs; });
    for (at -= at != samples.begin(); at != samples.end() && at->timeNs < interval.endNs; ++at)
      if (at->bytes > fact.mostInUseBytes) {
        fact.mostInUseBytes = at->bytes;
        fact.atNs = std::max(at->timeNs, interval.startNs);
      }
    std::vector<ResidencyId> found;
    for (ResidencyId id : facts.byOffset[facts.residency(place).memory.index()]) {
      const Residency &other = facts.residency(id);
      if (other.offset >= facts.residency(place).offset + facts.residency(place).bytes)
        break;
      if (overlap(other, facts.residency(place)) && meet(times(id), interval) &&
          other.tensor != facts.residency(place).tensor)
        found.push_back(id);
    }
    std::sort(found.begin(), found.end(), [&](ResidencyId a, ResidencyId b) {
      return times(a).startNs != times(b).startNs ? times(a).startNs < times(b).startNs : a < b;
    });
    for (ResidencyId id : found)
      addGuest(fact, known, id);
  }

  void addGuest(AbsenceFact &fact, Guests &known, ResidencyId id) const {
    const Residency &residency = facts.residency(id);
    AbsenceFact::Guest guest;
    guest.isWorkspace = !residency.tensor.valid();
    guest.bytes = residency.bytes;
    guest.fromNs = times(id).startNs;
    guest.time = fact.times.size() - 1;
    // A workspace is written by the launch that it is for.
    const CommandId maker = facts.creators[id.index()];
    const bool hasLaunch = maker.valid() && facts.isLaunch(maker);
    const OperatorId op = hasLaunch ? facts.command(maker).op : OperatorId();
    if (!known.emplace(residency.tensor, guest.isWorkspace ? op : OperatorId()).second)
      return;
    if (!guest.isWorkspace)
      guest.name = facts.nameOf(residency.tensor), guest.noun = facts.nounOf(residency.tensor);
    else if (op.valid())
      guest.name = facts.nameOf(op), guest.noun = facts.nounOf(op);
    fact.guests.push_back(std::move(guest));
  }

  /// The least offset of the memory at which the tensor's bytes were free of all others during all the intervals.
  std::optional<int64_t> freeOffset(ResidencyId place, const std::vector<Interval> &intervals,
                                    const AbsenceFact &fact) const {
    const Residency &own = facts.residency(place);
    int64_t offset = 0;
    for (ResidencyId id : facts.byOffset[own.memory.index()]) {
      const Residency &other = facts.residency(id);
      if (other.offset - offset >= fact.needBytes)
        break;
      if (other.tensor != own.tensor && std::any_of(intervals.begin(), intervals.end(), [&](const Interval &interval) {
            return meet(times(id), interval);
          }))
        offset = std::max(offset, other.offset + other.bytes);
    }
    return offset <= fact.limitBytes - fact.needBytes ? std::optional(offset) : std::nullopt;
  }
};

} // namespace

TensorFacts tensorFacts(const PlanFacts &facts, const MemoryProfile &profile, TensorId tensor) {
  return TensorExplainer(facts, profile, tensor).explain();
}

} // namespace sluice
