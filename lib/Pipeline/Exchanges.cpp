//===- Exchanges.cpp - What the groups of a pipeline send -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Exchanges.h"

#include <algorithm>
#include <set>

namespace sluice {

namespace {
/// The place of each task in its group's program.
class TaskPlaces {
public:
  explicit TaskPlaces(const PipelineSchedule &schedule) : schedule(schedule) {
    places.resize(size_t(2) * schedule.stages * schedule.microbatches);
    for (const std::vector<PipelineTask> &tasks : schedule.tasks)
      for (size_t i = 0; i < tasks.size(); ++i)
        places[indexOf(tasks[i])] = static_cast<uint32_t>(i);
  }
  uint32_t of(const PipelineTask &task) const { return places[indexOf(task)]; }

private:
  size_t indexOf(const PipelineTask &task) const {
    return (size_t(task.isBackward) * schedule.stages + task.stage) * schedule.microbatches + task.microbatch;
  }
  const PipelineSchedule &schedule;
  std::vector<uint32_t> places;
};

PipelineTask at(PipelineTask task, uint32_t microbatch) {
  task.microbatch = microbatch;
  return task;
}
} // namespace

/// Data flows forward through the stages, and then back.
static bool mayFollow(const PipelineTask &producer, const PipelineTask &consumer) {
  if (producer.isBackward)
    return consumer.isBackward && consumer.stage <= producer.stage;
  return consumer.isBackward || consumer.stage >= producer.stage;
}

static Status checkTransfers(const PipelineSchedule &schedule, const std::vector<PipelineTransfer> &transfers) {
  for (size_t i = 0; i < transfers.size(); ++i) {
    const PipelineTransfer &transfer = transfers[i];
    auto bad = [&](const char *what) {
      return makeError(ErrorCode::InvalidInput, "transfer ", i, " ", what,
                       ", correct this transfer in the list of transfers");
    };
    if (transfer.from >= schedule.groups || transfer.to >= schedule.groups || transfer.from == transfer.to)
      return bad("must be between two different groups of ranks");
    if (transfer.time != TransferTime::Microbatch)
      continue;
    if (transfer.producer.stage >= schedule.stages || transfer.consumer.stage >= schedule.stages ||
        schedule.groupOf(transfer.producer.stage) != transfer.from ||
        schedule.groupOf(transfer.consumer.stage) != transfer.to)
      return bad("names a stage that its group of ranks does not have");
    if (!mayFollow(transfer.producer, transfer.consumer))
      return bad("is read before its data is made");
  }
  return {};
}

Expected<std::vector<PipelineExchange>> orderExchanges(const PipelineSchedule &schedule,
                                                       const std::vector<PipelineTransfer> &transfers) {
  SLUICE_RETURN_IF_ERROR(checkTransfers(schedule, transfers));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<PipelineTask> order, taskOrder(schedule));
  const TaskPlaces places(schedule);
  std::vector<PipelineExchange> exchanges;
  auto addAll = [&](TransferTime time) {
    for (uint32_t i = 0; i < transfers.size(); ++i)
      if (const PipelineTransfer &transfer = transfers[i]; transfer.time == time) {
        auto slot = [&](uint32_t group) {
          return time == TransferTime::Begin ? 0 : static_cast<uint32_t>(schedule.tasks[group].size());
        };
        exchanges.push_back({i, 0, slot(transfer.from), slot(transfer.to)});
      }
  };
  addAll(TransferTime::Begin);
  for (const PipelineTask &task : order)
    for (uint32_t i = 0; i < transfers.size(); ++i)
      if (const PipelineTransfer &transfer = transfers[i];
          transfer.time == TransferTime::Microbatch && at(transfer.producer, task.microbatch) == task)
        exchanges.push_back(
            {i, task.microbatch, places.of(task) + 1, places.of(at(transfer.consumer, task.microbatch))});
  addAll(TransferTime::End);
  // A group issues its exchanges in this order, so the slot of an exchange must not exceed the slots of the exchanges
  // after it.
  std::vector<uint32_t> least;
  for (const std::vector<PipelineTask> &tasks : schedule.tasks)
    least.push_back(static_cast<uint32_t>(tasks.size()));
  for (size_t i = exchanges.size(); i-- > 0;) {
    PipelineExchange &exchange = exchanges[i];
    const PipelineTransfer &transfer = transfers[exchange.transfer];
    for (auto [slot, group] : {std::pair(&exchange.sendSlot, transfer.from), {&exchange.takeSlot, transfer.to}})
      *slot = least[group] = std::min(*slot, least[group]);
  }
  SLUICE_RETURN_IF_ERROR(validateExchanges(schedule, transfers, exchanges));
  return exchanges;
}

Status validateExchanges(const PipelineSchedule &schedule, const std::vector<PipelineTransfer> &transfers,
                         const std::vector<PipelineExchange> &exchanges) {
  SLUICE_RETURN_IF_ERROR(validateSchedule(schedule));
  SLUICE_RETURN_IF_ERROR(checkTransfers(schedule, transfers));
  auto bad = [](size_t i, const auto &...what) {
    return makeError(ErrorCode::Internal, "exchange ", i, " of a pipeline ", what...,
                     ", this is a bug of Sluice, please report it");
  };
  // Per group: its exchanges in order, each with its slot.
  std::vector<std::vector<std::pair<uint32_t, size_t>>> programs(schedule.groups);
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t i = 0; i < exchanges.size(); ++i) {
    const PipelineExchange &exchange = exchanges[i];
    if (exchange.transfer >= transfers.size())
      return bad(i, "refers to a transfer that does not exist");
    const PipelineTransfer &transfer = transfers[exchange.transfer];
    const bool isOnce = transfer.time != TransferTime::Microbatch;
    if (exchange.microbatch >= (isOnce ? 1 : schedule.microbatches) ||
        !seen.emplace(exchange.transfer, exchange.microbatch).second)
      return bad(i, "is a duplicate or has a microbatch out of range");
    programs[transfer.from].emplace_back(exchange.sendSlot, i);
    programs[transfer.to].emplace_back(exchange.takeSlot, i);
    const std::vector<PipelineTask> &senders = schedule.tasks[transfer.from], &takers = schedule.tasks[transfer.to];
    if (exchange.sendSlot > senders.size() || exchange.takeSlot > takers.size())
      return bad(i, "is after the end of a program");
    auto placeOf = [&](const std::vector<PipelineTask> &tasks, const PipelineTask &task) {
      return std::find(tasks.begin(), tasks.end(), at(task, exchange.microbatch)) - tasks.begin();
    };
    if (transfer.time == TransferTime::Microbatch &&
        (placeOf(senders, transfer.producer) >= exchange.sendSlot ||
         placeOf(takers, transfer.consumer) < static_cast<ptrdiff_t>(exchange.takeSlot)))
      return bad(i, "comes before its data is made, or after the task that reads the data");
    if (transfer.time == TransferTime::Begin && (exchange.sendSlot != 0 || exchange.takeSlot != 0))
      return bad(i, "is not before all tasks");
    if (transfer.time == TransferTime::End &&
        (exchange.sendSlot != senders.size() || exchange.takeSlot != takers.size()))
      return bad(i, "is not after all tasks");
  }
  size_t wanted = 0;
  for (const PipelineTransfer &transfer : transfers)
    wanted += transfer.time == TransferTime::Microbatch ? schedule.microbatches : 1;
  if (seen.size() != wanted)
    return makeError(ErrorCode::Internal, "a pipeline has ", seen.size(), " exchanges instead of ", wanted,
                     ", this is a bug of Sluice, please report it");
  // Each group issues its exchanges by slot, and exchanges of one slot in their order. An exchange ends when it is the
  // next one of both groups.
  std::vector<size_t> next(schedule.groups);
  for (auto &program : programs)
    std::stable_sort(program.begin(), program.end(), [](auto a, auto b) { return a.first < b.first; });
  for (size_t done = 0; done < exchanges.size();) {
    const size_t before = done;
    for (size_t group = 0; group < programs.size(); ++group) {
      if (next[group] == programs[group].size())
        continue;
      const size_t mine = programs[group][next[group]].second;
      const PipelineTransfer &transfer = transfers[exchanges[mine].transfer];
      const size_t other = transfer.from == group ? transfer.to : transfer.from;
      if (next[other] == programs[other].size() || programs[other][next[other]].second != mine)
        continue;
      ++next[group], ++next[other], ++done;
    }
    if (done == before)
      return bad(done, "is part of a cycle of exchanges that wait for each other");
  }
  return {};
}

} // namespace sluice
