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

/// " and needs copies of 12.50 KiB (5.10 us) that no other operator needs", if there are any.
static std::string crossing(const DeviceChoice &choice) {
  if (choice.crossingBytes == 0)
    return "";
  return concat(" and needs copies of ", formatBytes(choice.crossingBytes), " (", formatDuration(choice.crossingNs),
                ") that no other operator needs");
}

/// "6.00 MiB, 1.19 MiB of which are homes" where homes count against the limit of a memory.
static std::string limitText(int64_t arenaBytes, int64_t homeBytes) {
  return concat(formatBytes(saturatingAdd(arenaBytes, homeBytes)),
                homeBytes > 0 ? concat(", ", formatBytes(homeBytes), " of which are homes") : "");
}

static std::string tensorOrWorkspace(const Dependency &dependency) {
  return dependency.tensor.empty() ? "a workspace" : named(dependency.tensorNoun, dependency.tensor);
}

/// What an earlier command does that the one after it depends on; empty if nothing but the order is known.
static std::string roleOf(const Dependency &dependency) {
  switch (dependency.why) {
  case Dependency::Why::Data:
    return dependency.command.isCopy ? "" : concat(", which makes ", tensorOrWorkspace(dependency));
  case Dependency::Why::State:
    return concat(", which reads the old value of ", tensorOrWorkspace(dependency));
  case Dependency::Why::Bytes:
    return concat(", which uses the addresses of ", tensorOrWorkspace(dependency));
  case Dependency::Why::Order:
    return dependency.onSameStream ? ", the previous command of its stream" : ", for which the plan makes it wait";
  }
  return "";
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
  // A dependency that ended while the stream still ran another command did not delay this one.
  std::string waited, met;
  for (size_t i = 1; i < timing.after.size(); ++i) {
    const Dependency &other = timing.after[i];
    if (other.onSameStream && other.why == Dependency::Why::Order)
      continue;
    std::string &others = other.command.interval.endNs > command.interval.startNs - timing.stallNs ? waited : met;
    const std::string role = roleOf(other);
    others += concat(others.empty() ? "" : "; ", commandText(other.command), role,
                     role.empty() ? ", which ends " : " and ends ",
                     formatDuration(command.interval.startNs - other.command.interval.endNs), " before this start");
  }
  if (!waited.empty())
    sentences.add("after", subject, " also waits for ", waited);
  if (!met.empty())
    sentences.add("after", subject, " also depends on ", met, "; this does not delay it");
}

static void describeSlack(Sentences &sentences, const Timing &timing, std::string_view about,
                          const std::string &subject) {
  if (timing.isCritical)
    sentences.add(about, subject, " is on the critical path: the step gets longer if it ends later");
  else if (timing.slackNs > 0)
    sentences.add(about, subject, " could end up to ", formatDuration(timing.slackNs),
                  " later without making the step longer");
  else
    sentences.add(about, subject,
                  " is not on the critical path but has no slack: the step gets longer if it ends later");
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
  return concat(inQuotes(stay.memory), " at bytes ", stay.offset, " to ", stay.offset + stay.bytes);
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
                      : concat("; each step leaves its new value ", inQuotes(copy.newValue), " at its home"));
  case CopyFact::Why::Evicted:
    return copy.absence ? concat("it leaves ", inQuotes(command.from), " until a copy brings it back")
                        : concat("it leaves ", inQuotes(command.from), ", and no command of the step reads this copy");
  case CopyFact::Why::Returned:
    if (copy.absence && !copy.absence->times.empty() && copy.absence->times[0].startNs == 0)
      return concat("it is in ", inQuotes(command.to),
                    " when the step begins, but its addresses are overwritten before an operator reads it");
    return concat("it was in ", inQuotes(command.to), " earlier in the step and left it");
  case CopyFact::Why::Restored:
    return concat("the next step begins with it in ", inQuotes(command.to), ", which it left during this step");
  }
  return "";
}

/// "'a' (1.00 KiB)".
static std::string guestText(const AbsenceFact::Guest &guest) {
  return concat(guest.isWorkspace ? "the workspace of " : "", named(guest.noun, guest.name), " (",
                formatBytes(guest.bytes), ")");
}

/// "its addresses are used by 'a' (512 B), then by 'b' (1.00 KiB)"; of more than three guests the first, the largest
/// and their number.
static std::string guestsOf(const AbsenceFact &absence) {
  const std::vector<AbsenceFact::Guest> &guests = absence.guests;
  if (guests.empty())
    return "no other tensor uses its addresses";
  std::string text = concat("its addresses are used by ", guestText(guests[0]));
  if (guests.size() <= 3) {
    for (size_t i = 1; i < guests.size(); ++i)
      text += concat(", then by ", guestText(guests[i]));
    return text;
  }
  const auto largest =
      std::max_element(guests.begin(), guests.end(), [](const auto &a, const auto &b) { return a.bytes < b.bytes; });
  text += concat(", then by ", guests.size() - 1, " others, ");
  if (largest == guests.begin())
    return text + "none of which is larger";
  return concat(text, "the largest of which is ", guestText(*largest));
}

/// What the step would gain if a tensor that has room stayed, and at which addresses it has room.
static std::string gainFrom(const AbsenceFact &absence) {
  const std::string memory = inQuotes(absence.memory);
  const std::string room = concat("from byte ", *absence.freeOffset, " of ", memory, ", ",
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

/// Whether the tensor could have stayed, and at what gain; begins with a small letter.
static std::string roomFor(const AbsenceFact &absence) {
  const std::string memory = inQuotes(absence.memory);
  const int64_t with = saturatingAdd(absence.mostInUseBytes, absence.needBytes);
  if (absence.limitBytes != kNoLimit && with > absence.limitBytes)
    return concat("it could not stay: at ", formatDuration(absence.atNs), " others use ",
                  formatBytes(absence.mostInUseBytes), " of ", memory, ", and its ", formatBytes(absence.needBytes),
                  " would exceed the limit of ", limitText(absence.limitBytes, absence.homeBytes),
                  absence.homeBytes > 0 ? ", by " : " by ", formatBytes(with - absence.limitBytes));
  if (!absence.freeOffset)
    return concat("it could not stay unless others moved: ", memory, " has enough bytes for its ",
                  formatBytes(absence.needBytes), " beside the ", formatBytes(absence.mostInUseBytes),
                  " that others use at most, but no single range of this size is free throughout its absence and its "
                  "stays before and after it");
  return gainFrom(absence);
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

static void describeAbsence(Sentences &sentences, const AbsenceFact &absence, int64_t stepNs) {
  std::string when;
  for (const Interval &interval : absence.times)
    when += concat(when.empty() ? "" : ", and of the next step ", describeSpan(interval, stepNs));
  if (!when.empty())
    sentences.add("copied", "It is not in ", inQuotes(absence.memory), " ", when, "; meanwhile ", guestsOf(absence));
  sentences.add("copied", capital(roomFor(absence)));
  if (const std::string rivals = rivalsOf(absence); !rivals.empty())
    sentences.add("copied", capital(rivals));
}

/// Adds the sentences about the first operator that reads the copied tensor: whether it waits for this copy.
static void describeReader(Sentences &sentences, const CopyFact &copy) {
  sentences.add("copied", capital(commandText(copy.reader)), " reads it next");
  if (copy.readerWaitNs <= 0) {
    const int64_t earlyNs = copy.reader.interval.startNs - copy.timing.command.interval.endNs;
    sentences.add("copied", "This operator starts ", formatDuration(earlyNs), " after this copy ends, at the end of ",
                  commandText(copy.readerAfter));
    if (copy.readerMissingNs > 0)
      sentences.add("copied", inQuotes(copy.reader.device), " is idle before this operator; during the first ",
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
    sentences.add("copied", "This operator waits ", formatDuration(copy.readerMissingNs),
                  " for this copy and for nothing else");
  else
    sentences.add("copied", "This operator waits ", formatDuration(copy.readerMissingNs), " for this copy, the last ",
                  formatDuration(copy.readerWaitNs), " for nothing else; it also waits for ", others);
}

/// `isAbsenceKnown`: the copy out before it told why the tensor is away.
static void describeCopy(Sentences &sentences, const CopyFact &copy, bool isAbsenceKnown, int64_t stepNs) {
  const CommandFact &command = copy.timing.command;
  const int64_t tookNs = command.interval.endNs - command.interval.startNs;
  sentences.add("copied",
                command.ofCopies > 1 ? concat("Copy ", command.copyNumber, " of ", command.ofCopies, ": it") : "It",
                " is copied from ", inQuotes(command.from), " to ", inQuotes(command.to), " ",
                describeSpan(command.interval, stepNs), " (", formatBytes(copy.bytes), "): ", copiedBecause(copy));
  if (copy.absence && !isAbsenceKnown)
    describeAbsence(sentences, *copy.absence, stepNs);
  const std::string took = formatDuration(tookNs), alone = formatDuration(copy.aloneNs);
  if (tookNs > copy.aloneNs && took != alone)
    sentences.add("copied", "The copy takes ", took, " instead of ", alone, ", because other copies share the link");
  if (copy.reader.id.valid())
    describeReader(sentences, copy);
  describeSlack(sentences, copy.timing, "copied", "The copy");
  describeStart(sentences, copy.timing, "The copy");
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
  for (std::vector<Sentence> &copy : describeCopies(facts))
    std::move(copy.begin(), copy.end(), std::back_inserter(all));
  return all;
}

std::vector<std::vector<Sentence>> describeCopies(const TensorFacts &facts) {
  std::vector<std::vector<Sentence>> copies;
  const CopyFact *previous = nullptr;
  for (const CopyFact &copy : facts.copies) {
    Sentences sentences;
    describeCopy(sentences, copy,
                 previous && previous->why == CopyFact::Why::Evicted && copy.why == CopyFact::Why::Returned,
                 facts.stepNs);
    previous = &copy;
    copies.push_back(sentences.take());
  }
  return copies;
}

std::string whyCopied(const TensorFacts &facts) {
  std::vector<std::string> clauses;
  auto add = [&](std::string clause) {
    if (std::find(clauses.begin(), clauses.end(), clause) == clauses.end())
      clauses.push_back(std::move(clause));
  };
  for (const CopyFact &copy : facts.copies) {
    add(copiedBecause(copy));
    if (!copy.absence)
      continue;
    add("while it is away, " + guestsOf(*copy.absence));
    add(roomFor(*copy.absence));
    if (std::string rivals = rivalsOf(*copy.absence); !rivals.empty())
      add(std::move(rivals));
  }
  std::string text;
  for (const std::string &clause : clauses)
    text += concat(text.empty() ? "" : "; ", clause);
  return text;
}

//===----------------------------------------------------------------------===//
// Stalls
//===----------------------------------------------------------------------===//

/// What one link of a stall's chain waits for.
static std::string awaited(const Dependency &dependency) {
  const std::string command = commandText(dependency.command);
  const std::string until = formatDuration(dependency.command.interval.endNs);
  switch (dependency.why) {
  case Dependency::Why::Data:
    if (dependency.command.isCopy || dependency.tensor == dependency.command.name)
      return command;
    return concat(tensorOrWorkspace(dependency), ", which ", command, " makes");
  case Dependency::Why::State:
    return concat(command, ", which reads the old value of ", tensorOrWorkspace(dependency), " until ", until);
  case Dependency::Why::Bytes:
    return concat("the addresses of ", tensorOrWorkspace(dependency), ", which ", command, " uses until ", until);
  case Dependency::Why::Order:
    return dependency.onSameStream ? concat(command, ", the previous command of its stream") : command;
  }
  return "";
}

std::string describe(const StallFact &facts) {
  std::string text = concat(inQuotes(facts.launch.device), " runs nothing for ", formatDuration(facts.stallNs),
                            " before ", commandText(facts.launch));
  if (facts.longest.id.valid() && !facts.chain.empty() && facts.longest.id != facts.chain[0].command.id)
    text += concat(". The largest part of that time, ", formatDuration(facts.longestNs), ", is taken by ",
                   commandWithDevice(facts.longest));
  constexpr size_t kMost = 4;
  for (size_t i = 0; i < std::min(facts.chain.size(), kMost); ++i)
    text += concat(i == 0                              ? ". The operator waits for "
                   : facts.chain[i - 1].command.isCopy ? ". This copy waits for "
                                                       : ". This operator waits for ",
                   awaited(facts.chain[i]));
  if (facts.chain.size() > kMost)
    text += concat(". ", countOf(facts.chain.size() - kMost, "more command"), " of this chain ",
                   facts.chain.size() - kMost == 1 ? "precedes" : "precede", " that");
  // One thing was missing all the time; of several, each for its own time.
  for (size_t i = 0; facts.missing.size() > 1 && i < std::min(facts.missing.size(), kMost); ++i)
    text += concat(i == 0 ? concat(". When ", inQuotes(facts.launch.device), " becomes idle, ") : "; ",
                   commandText(facts.missing[i].command), i == 0 ? " is missing for " : " for ",
                   formatDuration(facts.missing[i].ns));
  if (facts.missing.size() > kMost)
    text += concat("; and ", facts.missing.size() - kMost, " more");
  return text + ".";
}

} // namespace sluice
