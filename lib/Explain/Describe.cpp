//===- Describe.cpp - Facts as sentences ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "sluice/Explain/Explain.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace sluice {

using namespace words;

namespace {
/// Sentences in their order, each with what it is about.
class Sentences {
public:
  template <typename... Ts>
  void add(std::string_view about, const Ts &...parts) {
    list.push_back({std::string(about), concat(parts..., ".")});
  }
  std::vector<Sentence> take() { return std::move(list); }

private:
  std::vector<Sentence> list;
};

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
} // namespace

/// ", and copies of inputs and results for it alone take 5.10 us (12.50 KiB)", if there are any.
static std::string crossing(const DeviceChoice &choice) {
  if (choice.crossingBytes == 0)
    return "";
  return concat(", and copies of inputs and results for it alone take ", formatDuration(choice.crossingNs), " (",
                formatBytes(choice.crossingBytes), ")");
}

/// "6.00 MiB, 1.19 MiB of which are homes" where homes count against the limit of a memory.
static std::string limitText(int64_t arenaBytes, int64_t homeBytes) {
  return concat(formatBytes(saturatingAdd(arenaBytes, homeBytes)),
                homeBytes > 0 ? concat(", ", formatBytes(homeBytes), " of which are homes") : "");
}

static std::string tensorOrWorkspace(const Dependency &dependency) {
  return dependency.tensor.empty() ? "a workspace" : named(dependency.tensorNoun, dependency.tensor);
}

/// "uses the addresses of 'x'": why `waiter` comes after a command; empty if only the order is known.
static std::string actOf(Dependency::Why why, const std::string &tensor) {
  switch (why) {
  case Dependency::Why::Data:
    return concat("makes ", tensor);
  case Dependency::Why::State:
    return concat("reads the old value of ", tensor);
  case Dependency::Why::Bytes:
    return concat("uses the addresses of ", tensor);
  case Dependency::Why::Order:
    return "";
  }
  return "";
}

/// Why the plan makes a command wait for one of another stream whose data and addresses it does not need.
static std::string sakeText(const Dependency &dependency) {
  if (!dependency.sake)
    return "for which the plan makes it wait although it needs neither its data nor its addresses";
  const Dependency::Sake &sake = *dependency.sake;
  const std::string tensor = sake.tensor.empty() ? "a workspace" : named(sake.tensorNoun, sake.tensor);
  if (!sake.isWaiter)
    return concat("which comes on its stream after ", commandText(sake.command),
                  sake.why == Dependency::Why::Data && sake.command.isCopy
                      ? std::string()
                      : concat(", which ", actOf(sake.why, tensor)));
  const std::string later = commandText(sake.command);
  switch (sake.why) {
  case Dependency::Why::Data:
    return concat("for which the plan makes it wait because ", later, ", later on its stream, reads ", tensor);
  case Dependency::Why::State:
    return concat("for which the plan makes it wait because ", later, ", later on its stream, overwrites ", tensor);
  default:
    return concat("for which the plan makes it wait because ", later,
                  ", later on its stream, overwrites the addresses of ", tensor);
  }
}

/// What an earlier command does that the one after it depends on; empty if nothing but the order is known.
static std::string roleOf(const Dependency &dependency) {
  if (dependency.why == Dependency::Why::Order)
    return concat(", ", dependency.onSameStream ? "the previous command of its stream" : sakeText(dependency));
  if (dependency.why == Dependency::Why::Data && dependency.command.isCopy)
    return "";
  return concat(", which ", actOf(dependency.why, tensorOrWorkspace(dependency)));
}

/// When a command starts and after which others. `subject` begins the sentences.
static void describeStart(Sentences &sentences, const Timing &timing, const std::string &subject) {
  const CommandFact &command = timing.command;
  if (timing.after.empty()) {
    sentences.add("after", subject, " starts when the step starts and waits for nothing");
    return;
  }
  const Dependency &last = timing.after.front();
  const int64_t wakeUpNs = command.interval.startNs - last.command.interval.endNs;
  sentences.add("after", subject, " starts ",
                wakeUpNs > 0 ? concat(formatDuration(wakeUpNs), " (the event latency) after the end of ")
                             : std::string("at the end of "),
                commandText(last.command), roleOf(last), last.why == Dependency::Why::Bytes ? " until then" : "");
  // What ended before the last of them did not delay this command.
  std::string waited, met;
  for (size_t i = 1; i < timing.after.size(); ++i) {
    const Dependency &other = timing.after[i];
    if (other.onSameStream && other.why == Dependency::Why::Order)
      continue;
    const int64_t earlyNs = last.command.interval.endNs - other.command.interval.endNs;
    std::string &others = earlyNs == 0 ? waited : met;
    const std::string role = roleOf(other);
    others += concat(others.empty() ? "" : "; ", commandText(other.command), role);
    if (earlyNs > 0)
      others += concat(role.empty() ? ", which ended " : ", and ended ",
                       formatDuration(command.interval.startNs - other.command.interval.endNs), " before this start");
  }
  if (!waited.empty())
    sentences.add("after", subject, " also waits for ", waited, ", until the same time");
  if (!met.empty())
    sentences.add("after", subject, " also depends on ", met, "; this does not delay it");
}

/// "the next command of its stream, 'd'": what a later end would delay first.
static std::string delayedBy(const Timing &timing) {
  return timing.isSlackByNext ? concat("the next command of its stream, ", commandText(timing.slackBy), ",")
                              : concat(commandText(timing.slackBy), ", which waits for it,");
}

static void describeSlack(Sentences &sentences, const Timing &timing, std::string_view about,
                          const std::string &subject) {
  const bool isLast = !timing.slackBy.id.valid();
  if (timing.slackNs > 0)
    sentences.add(
        about, subject, " could end up to ", formatDuration(timing.slackNs), " later without making the step longer; ",
        isLast ? std::string("the end of the step sets this limit") : concat(delayedBy(timing), " sets this limit"));
  else
    sentences.add(about, subject,
                  timing.isCritical ? " is on the critical path" : " is not on the critical path but has no slack",
                  ": if it ends later, the step gets longer, because ",
                  isLast ? std::string("the step ends with it") : concat(delayedBy(timing), " starts later"));
}

static void describeHere(Sentences &sentences, const OperatorFacts &facts) {
  if (facts.isFixed)
    sentences.add("here", "The problem places it on ", inQuotes(facts.device));
  if (facts.others.empty())
    sentences.add("here", inQuotes(facts.device), " is the only device of the machine that computes");
  sentences.add("here", "It takes ", formatDuration(facts.chosen.timeNs), " on ", inQuotes(facts.device),
                crossing(facts.chosen));
  for (const DeviceChoice &other : facts.others)
    sentences.add("here", "On ", inQuotes(other.device), " it takes ", formatDuration(other.timeNs), crossing(other));
  if (!facts.colocated.empty())
    sentences.add("here", "It has to be on one device with ", listOf(facts.colocated));
}

static void describeLaunch(Sentences &sentences, const OperatorFacts &facts, size_t run) {
  const LaunchFact &launch = facts.launches[run];
  const Interval &interval = launch.timing.command.interval;
  const std::string subject = run == 0 ? "It" : concat("Run ", run + 1);
  if (run > 0)
    sentences.add("again", "It runs again, for ", formatDuration(interval.endNs - interval.startNs),
                  launch.againBytes == 0
                      ? ""
                      : concat("; copying its results from the host's memory instead (", formatBytes(launch.againBytes),
                               ") would take ", formatDuration(launch.copyInsteadNs), " on an idle link"));
  sentences.add("then", subject, " runs ", describeSpan(interval, facts.stepNs), ", as launch ", launch.position,
                " of ", launch.ofPositions, " on its stream");
  describeSlack(sentences, launch.timing, "then", subject);
  describeStart(sentences, launch.timing, subject);
  if (launch.timing.stallNs > 0)
    sentences.add("after", inQuotes(facts.device), " runs nothing for ", formatDuration(launch.timing.stallNs),
                  " before it",
                  launch.stallFor.id.valid() && launch.stallFor.id != launch.timing.after.front().command.id
                      ? concat("; the largest part of that time, ", formatDuration(launch.stallForNs), ", is taken by ",
                               commandWithDevice(launch.stallFor))
                      : std::string());
  if (!launch.meanwhile.empty())
    sentences.add("after", "All operands are in ", inQuotes(facts.memory), " ",
                  formatDuration(interval.startNs - launch.dataReadyNs), " before it starts",
                  launch.dataMaker.id.valid() ? concat(", at the end of ", commandText(launch.dataMaker)) : "",
                  "; from then until it starts, ", inQuotes(facts.device), " runs ", listOf(launch.meanwhile));
  sentences.add(
      "memory", "When it starts, ", formatBytes(launch.inUseBytes), " of ", inQuotes(facts.memory), " are in use",
      facts.limitBytes == kNoLimit ? "" : concat("; the limit is ", limitText(facts.limitBytes, facts.homeBytes)));
  for (const auto &[output, input] : launch.inPlace)
    sentences.add("memory", "It writes ", inQuotes(output), " in place, over ", inQuotes(input));
  if (facts.workspaceBytes > 0)
    sentences.add("memory", "These bytes include its workspace of ", formatBytes(facts.workspaceBytes));
}

std::string titleOf(const OperatorFacts &facts) {
  return concat("operator ", inQuotes(facts.name), facts.kind.empty() ? "" : ", ", facts.kind);
}

std::vector<Sentence> describe(const OperatorFacts &facts) {
  Sentences sentences;
  describeHere(sentences, facts);
  for (size_t run = 0; run < facts.launches.size(); ++run)
    describeLaunch(sentences, facts, run);
  return sentences.take();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static std::string place(const StayFact &stay) {
  return concat(inQuotes(stay.memory), " at bytes ", formatCount(stay.offset), " to ",
                formatCount(stay.offset + stay.bytes));
}

static void describeStay(Sentences &sentences, const StayFact &stay, int64_t stepNs) {
  const std::string read = stay.launches == 0 ? ""
                                              : concat("; ", countOf(stay.launches, "launch"),
                                                       stay.launches == 1 ? " reads" : " read", " it there");
  if (stay.isHome) {
    sentences.add("here", "Its home is in ", inQuotes(stay.memory),
                  stay.isInitial ? ", where it is when the step begins" : ", where the step leaves it");
    return;
  }
  if (stay.isInitial && stay.untilEnd) {
    sentences.add("here", "It is in ", place(stay), " during the whole step and between steps", read);
    return;
  }
  if (stay.isInitial && stay.launches == 0) {
    sentences.add("here", "It is in ", place(stay),
                  " when the step begins; these addresses are overwritten before an operator reads it");
    return;
  }
  const std::string begins = stay.isInitial          ? std::string(", there since the step before")
                             : stay.maker.isCopy     ? concat(", copied from ", inQuotes(stay.maker.from))
                             : stay.maker.id.valid() ? concat(", made by ", inQuotes(stay.maker.name))
                                                     : std::string();
  sentences.add("here", "It is in ", place(stay), " ", describeSpan(stay.interval, stepNs), begins,
                stay.untilEnd ? ", and stays there for the next step" : "", read);
}

/// "'a' (1.00 KiB)".
static std::string guestText(const AbsenceFact::Guest &guest) {
  return concat(guest.isWorkspace ? "the workspace of " : "", named(guest.noun, guest.name), " (",
                formatBytes(guest.bytes), ")");
}

/// "'a' (512 B), then by 'b' (1.00 KiB)"; of more than three guests the first, the largest and their number.
static std::string guestList(const std::vector<const AbsenceFact::Guest *> &guests) {
  std::string text = guestText(*guests[0]);
  if (guests.size() <= 3) {
    for (size_t i = 1; i < guests.size(); ++i)
      text += concat(", then by ", guestText(*guests[i]));
    return text;
  }
  const auto largest =
      std::max_element(guests.begin(), guests.end(), [](const auto *a, const auto *b) { return a->bytes < b->bytes; });
  text += concat(", then by ", guests.size() - 1, " others, ");
  if (largest == guests.begin())
    return text + "none of which is larger";
  return concat(text, "the largest of which is ", guestText(**largest));
}

/// Names the tensors that use the addresses which the tensor left, and those to which it returns if these differ.
static std::string guestsOf(const AbsenceFact &absence) {
  std::vector<const AbsenceFact::Guest *> left, back;
  const bool isOnePlace = absence.leftOffset == absence.backOffset;
  for (const AbsenceFact::Guest &guest : absence.guests)
    (absence.places[guest.time] == absence.left || isOnePlace ? left : back).push_back(&guest);
  if (left.empty() && back.empty())
    return isOnePlace ? "no other tensor uses its addresses" : "no other tensor uses the addresses that it left";
  std::string text;
  if (!left.empty())
    text =
        concat(isOnePlace ? "its addresses are used by " : "the addresses that it left are used by ", guestList(left));
  if (!back.empty())
    text += concat(text.empty() ? "" : "; ", "the addresses to which it returns are used by ", guestList(back));
  return text;
}

/// What the step would gain if a tensor that has room stayed, and at which addresses it has room.
static std::string gainFrom(const AbsenceFact &absence) {
  const std::string memory = inQuotes(absence.memory);
  const std::string room = concat("from byte ", formatCount(*absence.freeOffset), " of ", memory, ", ",
                                  formatBytes(absence.needBytes), " are free for it if no other tensor stays as well");
  const std::string late = concat("its copy to ", memory, " could end ", formatDuration(absence.backSlackNs),
                                  " later without making the step longer");
  const std::optional<StayingFact> &staying = absence.staying;
  if (!staying)
    return absence.backSlackNs > 0 ? concat("it could stay, but ", late, "; ", room) : concat("it could stay: ", room);
  if (staying->gainNs > 0)
    return concat("if it stayed in ", memory, " and all other decisions were kept, the step would be ",
                  formatDuration(staying->gainNs), " shorter; the planner did not find this plan; ", room);
  std::string text = concat("it could stay in ", memory, ", but the step would be no shorter");
  if (absence.backSlackNs > 0)
    text += concat(", because ", late);
  else if (staying->reader.id.valid() && staying->readerAfter.id.valid())
    text += concat(", because ", commandText(staying->reader), " would then start at ",
                   formatDuration(staying->reader.interval.startNs), ", after ", commandText(staying->readerAfter));
  return concat(text, "; ", room);
}

/// ". It does not fit ..." or "; it could stay, ...": why a tensor leaves a memory.
static std::string whyAway(const AbsenceFact &absence) {
  const std::string memory = inQuotes(absence.memory);
  if (absence.freeOffset)
    return concat("; ", gainFrom(absence));
  const int64_t with = saturatingAdd(absence.mostInUseBytes, absence.needBytes);
  if (absence.limitBytes != kNoLimit && with > absence.limitBytes)
    return concat(". It does not fit with the others as planned: at ", formatDuration(absence.atNs), " the others use ",
                  formatBytes(absence.mostInUseBytes), " of ", memory, ", and with its ",
                  formatBytes(absence.needBytes), " the limit of ", limitText(absence.limitBytes, absence.homeBytes),
                  absence.homeBytes > 0 ? ", would" : " would", " be exceeded by ",
                  formatBytes(with - absence.limitBytes));
  return concat(". With the others as planned, no single range of ", formatBytes(absence.needBytes), " of ", memory,
                " is free throughout its absence and its stays before and after it; in all there are enough "
                "bytes beside the ",
                formatBytes(absence.mostInUseBytes), " that the others use at most");
}

/// Names the tensors that need the first addresses of a tensor which is copied to others while it is still there.
static std::string whyElsewhere(const AbsenceFact &absence) {
  if (absence.freeOffset)
    return concat("; ", gainFrom(absence));
  if (absence.guests.empty())
    return "";
  std::vector<const AbsenceFact::Guest *> guests;
  for (const AbsenceFact::Guest &guest : absence.guests)
    guests.push_back(&guest);
  return concat(", because its first addresses are used by ", guestList(guests), ", from ",
                formatDuration(std::max(guests[0]->fromNs, absence.times[0].startNs)), " on");
}

/// "; back for 'd' at 596 ns; 'd' waits 148 ns for it".
static std::string backText(const AbsenceFact &absence) {
  if (!absence.reader.id.valid())
    return concat("; back at ", formatDuration(absence.backNs), " for the next step");
  const std::string reader = commandText(absence.reader);
  return concat("; back for ", reader, " at ", formatDuration(absence.backNs), "; ",
                absence.readerMissingNs > 0
                    ? concat(reader, " waits ", formatDuration(absence.readerMissingNs), " for it")
                    : std::string("no operator waits for it"));
}

static std::string droppedText(const AbsenceFact &absence) {
  return absence.isDropped ? concat(". It leaves ", inQuotes(absence.memory), " without a copy, because ",
                                    inQuotes(absence.keptIn), " has the same bytes")
                           : std::string();
}

static std::string copiedBecause(const CopyFact &copy) {
  const CommandFact &command = copy.timing.command;
  switch (copy.why) {
  case CopyFact::Why::Input:
    return "the caller gives it in the host's memory";
  case CopyFact::Why::Output:
    return "the caller reads it in the host's memory";
  case CopyFact::Why::NewState:
    return "the next step finds it there, at its state's home";
  case CopyFact::Why::OtherDevice:
    if (copy.producerDevice.empty())
      return concat("it is used in ", inQuotes(command.to), " as well");
    if (copy.reader.id.valid())
      return concat(inQuotes(copy.producerDevice), " makes it, and ", inQuotes(copy.reader.device), " reads it");
    return concat(inQuotes(copy.producerDevice), " makes it, and another device reads it");
  case CopyFact::Why::NotKept:
    return concat(copy.reader.id.valid() ? concat(commandText(copy.reader), " reads it, and ") : std::string(),
                  "it is not kept in ", inQuotes(command.to), " between steps",
                  copy.newValue.empty()
                      ? ""
                      : concat("; each step leaves its new value ", inQuotes(copy.newValue), " at its home"),
                  copy.absence ? concat(whyAway(*copy.absence), droppedText(*copy.absence)) : std::string());
  case CopyFact::Why::Evicted:
    return concat("it is swapped out of ", inQuotes(command.from),
                  copy.absence ? concat(whyAway(*copy.absence), backText(*copy.absence)) : std::string());
  case CopyFact::Why::Unread:
    return concat("nothing reads this copy, which could be left out (", formatBytes(copy.bytes), "); the tensor ",
                  copy.sourceEndNs > command.interval.endNs
                      ? concat("stays in ", inQuotes(command.from), " until ", formatDuration(copy.sourceEndNs))
                      : concat("leaves ", inQuotes(command.from), " at ", formatDuration(copy.sourceEndNs)));
  case CopyFact::Why::Moved:
    return concat("it is moved through the host to other addresses of ", inQuotes(copy.absence->memory), ", ",
                  formatCount(copy.absence->leftOffset), " -> ", formatCount(copy.absence->backOffset),
                  whyElsewhere(*copy.absence));
  case CopyFact::Why::Second:
    return concat("a second copy, made while the first is still in place, at byte ",
                  formatCount(copy.absence->leftOffset), " of ", inQuotes(copy.absence->memory),
                  whyElsewhere(*copy.absence));
  case CopyFact::Why::Returned:
  case CopyFact::Why::Restored: {
    const AbsenceFact &absence = *copy.absence;
    const std::string memory = inQuotes(command.to), left = formatDuration(absence.away[0].startNs);
    const std::string why = copy.why == CopyFact::Why::Restored ? concat("the next step begins with it in ", memory)
                            : copy.reader.id.valid()            ? concat(commandText(copy.reader), " reads it")
                                                                : std::string("it is copied on from there");
    if (copy.swappedOut.id.valid())
      return concat(why, ", and copy ", copy.swappedOut.copyNumber, " of ", copy.swappedOut.ofCopies,
                    " swapped it out; it left ", memory, " at ", left);
    if (absence.away[0].startNs == 0)
      return concat(why, "; it is in ", memory,
                    " when the step begins, but its addresses are overwritten before an operator reads it",
                    whyAway(absence), droppedText(absence));
    return concat(why, ", and it left ", memory, " at ", left, whyAway(absence), droppedText(absence));
  }
  }
  return "";
}

/// How many of the tensors that could stay alone could stay together; empty if that is not known.
static std::string rivalsOf(const AbsenceFact &absence) {
  if (!absence.rivals)
    return "";
  const RivalsFact &rivals = *absence.rivals;
  const std::string gain = !rivals.gainNs ? std::string()
                           : *rivals.gainNs > 0
                               ? concat("; the step would then be ", formatDuration(*rivals.gainNs), " shorter")
                               : std::string("; the step would then be no shorter");
  const std::string all =
      concat(rivals.count, " tensors (", formatBytes(rivals.bytes), " in total) could each stay in ",
             inQuotes(absence.memory), " between steps if the others did not");
  if (rivals.together == rivals.count)
    return concat(all, "; there is room for all of them together", gain);
  return concat(all, "; when they are placed one after the other, there is room for ", rivals.together, " of them (",
                formatBytes(rivals.togetherBytes), "), ",
                rivals.isAmong ? "including this one" : "not including this one", gain);
}

/// "it is not in 'm1' from 348 ns to 596 ns; meanwhile its addresses are used by ..."; empty if it is never away.
static std::string awayText(const AbsenceFact &absence, int64_t stepNs) {
  if (absence.away.empty())
    return "";
  // An absence over the end of the step has two intervals.
  const std::string when = absence.away.size() == 1
                               ? describeSpan(absence.away[0], stepNs)
                               : concat("from ", formatDuration(absence.away.front().startNs), " of one step to ",
                                        formatDuration(absence.away.back().endNs), " of the next step");
  const int64_t reservedNs = absence.times.empty() ? absence.backNs : absence.times.back().endNs;
  const bool isReserved = reservedNs < absence.backNs && reservedNs > 0;
  return concat("it is not in ", inQuotes(absence.memory), " ", when,
                isReserved ? concat(" (its addresses are reserved again from ", formatDuration(reservedNs), ")") : "",
                "; meanwhile ", guestsOf(absence));
}

static void describeAbsence(Sentences &sentences, const AbsenceFact &absence, int64_t stepNs) {
  if (const std::string away = awayText(absence, stepNs); !away.empty())
    sentences.add("copied", capital(away));
  if (const std::string rivals = rivalsOf(absence); !rivals.empty())
    sentences.add("copied", capital(rivals));
}

/// Adds the sentences about the first operator that reads the copied tensor: whether it waits for this copy.
static void describeReader(Sentences &sentences, const CopyFact &copy) {
  const std::string reader = commandText(copy.reader);
  if (copy.readerWaitNs <= 0) {
    const int64_t earlyNs = copy.reader.interval.startNs - copy.timing.command.interval.endNs;
    sentences.add("copied", capital(reader), " reads it first and starts ", formatDuration(earlyNs),
                  " after this copy ends, at the end of ", commandText(copy.readerAfter));
    if (copy.readerMissingNs > 0)
      sentences.add("copied", inQuotes(copy.reader.device), " is idle before ", reader, "; during the first ",
                    formatDuration(copy.readerMissingNs), " of that time this copy is not complete");
    return;
  }
  std::string others;
  constexpr size_t kMost = 2;
  for (size_t i = 0; i < std::min(copy.readerMissing.size(), kMost); ++i)
    others += concat(i == 0 ? "" : "; ", commandText(copy.readerMissing[i].command), ", during the first ",
                     formatDuration(std::min(copy.readerMissing[i].ns, copy.readerMissingNs)));
  if (copy.readerMissing.size() > kMost)
    others += concat("; and ", copy.readerMissing.size() - kMost, " more");
  if (others.empty())
    sentences.add("copied", capital(reader), " reads it first and waits ", formatDuration(copy.readerMissingNs),
                  " for this copy and for nothing else");
  else
    sentences.add("copied", capital(reader), " reads it first and waits ", formatDuration(copy.readerMissingNs),
                  " for this copy, the last ", formatDuration(copy.readerWaitNs),
                  " for nothing else; it also waits for ", others);
}

/// "Copy 1 of 2" or "The copy".
static std::string subjectOf(const CopyFact &copy) {
  const CommandFact &command = copy.timing.command;
  return command.ofCopies > 1 ? concat("Copy ", command.copyNumber, " of ", command.ofCopies) : std::string("The copy");
}

static void describeCopy(Sentences &sentences, const CopyFact &copy, int64_t stepNs) {
  const CommandFact &command = copy.timing.command;
  const int64_t tookNs = command.interval.endNs - command.interval.startNs;
  const std::string subject = subjectOf(copy);
  sentences.add("copied", capital(copiedBecause(copy)));
  if (copy.absence && !copy.swappedOut.id.valid())
    describeAbsence(sentences, *copy.absence, stepNs);
  if (!copy.sharing.empty()) {
    constexpr size_t kMost = 2;
    std::string with;
    for (size_t i = 0; i < std::min(copy.sharing.size(), kMost); ++i)
      with +=
          concat(i == 0 ? "" : ", ", commandText(copy.sharing[i].command), " for ", formatDuration(copy.sharing[i].ns));
    if (copy.sharing.size() > kMost)
      with += concat(" and ", copy.sharing.size() - kMost, " more");
    sentences.add("copied", subject, " takes ", formatDuration(tookNs), " instead of ", formatDuration(copy.aloneNs),
                  ", because it shares the link with ", with);
  }
  if (copy.reader.id.valid())
    describeReader(sentences, copy);
  describeSlack(sentences, copy.timing, "copied", subject);
  describeStart(sentences, copy.timing, subject);
}

std::string titleOf(const TensorFacts &facts) {
  return concat("tensor ", inQuotes(facts.name), ", ", facts.kind, " of ", formatBytes(facts.bytes),
                facts.type.empty() ? "" : ", ", facts.type);
}

std::vector<Sentence> describe(const TensorFacts &facts) {
  Sentences sentences;
  if (!facts.producer.empty())
    sentences.add("here", inQuotes(facts.producer), " makes it");
  if (facts.consumers.empty())
    sentences.add("here", "No operator reads it");
  else
    sentences.add("here", listOf(facts.consumers), facts.consumers.size() == 1 ? " reads it" : " read it");
  for (const StayFact &stay : facts.stays)
    describeStay(sentences, stay, facts.stepNs);
  if (facts.copies.empty())
    sentences.add("copied", "It is not copied in this plan");
  std::vector<Sentence> all = sentences.take();
  const std::vector<std::vector<Sentence>> copies = describeCopies(facts);
  for (size_t i = 0; i < copies.size(); ++i) {
    const CommandFact &command = facts.copies[i].timing.command;
    Sentences where;
    where.add("copied",
              command.ofCopies > 1 ? concat("Copy ", command.copyNumber, " of ", command.ofCopies, ": it") : "It",
              " is copied from ", inQuotes(command.from), " to ", inQuotes(command.to), " ",
              describeSpan(command.interval, facts.stepNs), " (", formatBytes(facts.copies[i].bytes), ")");
    for (const std::vector<Sentence> &part : {where.take(), copies[i]})
      all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<std::vector<Sentence>> describeCopies(const TensorFacts &facts) {
  std::vector<std::vector<Sentence>> copies;
  for (const CopyFact &copy : facts.copies) {
    Sentences sentences;
    describeCopy(sentences, copy, facts.stepNs);
    copies.push_back(sentences.take());
  }
  return copies;
}

std::string whyCopied(const TensorFacts &facts, size_t copy) {
  const CopyFact &fact = facts.copies[copy];
  std::string text = copiedBecause(fact);
  if (!fact.absence || fact.swappedOut.id.valid())
    return text;
  for (const std::string &clause : {awayText(*fact.absence, facts.stepNs), rivalsOf(*fact.absence)})
    if (!clause.empty())
      text += concat("; ", clause);
  return text;
}

//===----------------------------------------------------------------------===//
// Stalls
//===----------------------------------------------------------------------===//

/// What one link of a stall's chain waits for, and until when.
static std::string awaited(const Dependency &dependency) {
  const std::string command = commandText(dependency.command);
  const std::string until = concat("until ", formatDuration(dependency.command.interval.endNs));
  switch (dependency.why) {
  case Dependency::Why::Data:
    if (dependency.command.isCopy || dependency.tensor == dependency.command.name)
      return concat(command, " (", until, ")");
    return concat(tensorOrWorkspace(dependency), ", which ", command, " makes (", until, ")");
  case Dependency::Why::State:
    return concat(command, ", which reads the old value of ", tensorOrWorkspace(dependency), " ", until);
  case Dependency::Why::Bytes:
    return concat("the addresses of ", tensorOrWorkspace(dependency), ", which ", command, " uses ", until);
  case Dependency::Why::Order:
    return concat(command, " (", until, "), ",
                  dependency.onSameStream ? "the previous command of its stream" : sakeText(dependency));
  }
  return "";
}

/// Whether the addresses that a link waits for were free elsewhere.
static std::string roomText(const RoomFact &room) {
  const std::string text =
      concat(". From ", formatDuration(room.interval.startNs), " on, when it waits for nothing else, ");
  const std::string memory = inQuotes(room.memory);
  if (room.largestBytes >= room.needBytes)
    return concat(text, formatBytes(room.largestBytes), " of ", memory,
                  " are free in one range elsewhere, enough for its ", formatBytes(room.needBytes));
  return concat(text, room.largestBytes == 0 ? std::string("no bytes") : formatBytes(room.largestBytes), " of ", memory,
                " are free in one range elsewhere, ", formatBytes(room.needBytes - room.largestBytes), " too little",
                room.freeBytes >= room.needBytes
                    ? concat("; the ranges together have enough: ", formatBytes(room.freeBytes))
                    : std::string());
}

std::string describe(const StallFact &facts) {
  std::string text = concat(inQuotes(facts.launch.device), " runs nothing for ", formatDuration(facts.stallNs),
                            " before ", commandText(facts.launch));
  if (facts.longest.id.valid() && !facts.chain.empty() && facts.longest.id != facts.chain[0].command.id)
    text += concat(". The largest part of that time, ", formatDuration(facts.longestNs), ", is taken by ",
                   commandWithDevice(facts.longest));
  const CommandFact *waiter = &facts.launch;
  for (size_t i = 0; i < facts.chain.size(); ++i) {
    text +=
        concat(". ", i == 0 ? "The operator" : capital(commandName(*waiter)), " waits for ", awaited(facts.chain[i]));
    if (facts.room && facts.roomLink == i)
      text += roomText(*facts.room);
    waiter = &facts.chain[i].command;
  }
  if (facts.moreLinks > 0)
    text +=
        concat(". ", countOf(facts.moreLinks, "more command"), " of this chain ",
               facts.moreLinks == 1 ? "precedes" : "precede", " that, the first of them ", commandText(facts.chainEnd));
  if (facts.chainEnd.id.valid() && facts.chainEnd.interval.startNs == 0)
    text += concat(". ", capital(commandName(facts.chainEnd)), " starts when the step starts");
  // One thing was missing all the time; of several, each for its own time.
  constexpr size_t kMost = 4;
  for (size_t i = 0; facts.missing.size() > 1 && i < std::min(facts.missing.size(), kMost); ++i)
    text += concat(
        i == 0 ? concat(". After ", inQuotes(facts.launch.device), " becomes idle, the operator still waits for ")
               : "; for ",
        commandText(facts.missing[i].command), ", ", formatDuration(facts.missing[i].ns));
  if (facts.missing.size() > kMost)
    text += concat("; and for ", facts.missing.size() - kMost, " more");
  return text + ".";
}

std::string describe(const DeviceTime &facts) {
  auto part = [&](int64_t ns) { return formatDuration(ns); };
  return concat("Of the ", part(facts.stepNs), " of a step, ", inQuotes(facts.device), " computes for ",
                part(facts.computeNs), ", waits before operators for ", part(facts.stallNs),
                facts.stallNs > 0 ? concat(" (", part(facts.copyStallNs), " of that for copies)") : std::string(),
                " and runs nothing after its last operator for ", part(facts.restNs), ".");
}

std::string describeLink(const Machine &machine, const Link &link) {
  const std::string a = inQuotes(machine.memory(link.a).name), b = inQuotes(machine.memory(link.b).name);
  auto rate = [](double bytesPerSec) { return concat(formatBytes(static_cast<int64_t>(bytesPerSec)), "/s"); };
  return concat("The link of ", a, " and ", b, " copies ", rate(link.rateFrom(link.a)), " to ", b, ", ",
                rate(link.rateFrom(link.b)), " to ", a, " and at most ", rate(link.duplexBytesPerSec),
                " both ways together; each copy takes ", formatDuration(link.latencyNs), " more (the latency)",
                link.eventLatencyNs > 0 ? concat(", and a command of another stream starts ",
                                                 formatDuration(link.eventLatencyNs), " after it (the event latency)")
                                        : std::string(),
                ".");
}

} // namespace sluice
