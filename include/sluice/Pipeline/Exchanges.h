//===- Exchanges.h - Data that groups of ranks exchange ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The program of a group of ranks runs the group's tasks in order. Between two tasks it issues exchanges: it sends what
// a task made, or receives what a later task reads. A *slot* is a place in the program at which exchanges are issued:
// slot k is before task k, and the last slot is after all tasks. An exchange blocks both groups until both have issued
// it, so the groups must issue their exchanges in orders that agree.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PIPELINE_EXCHANGES_H
#define SLUICE_PIPELINE_EXCHANGES_H

#include "sluice/Pipeline/Schedule.h"

namespace sluice {

/// When data is sent.
enum class TransferTime : uint8_t {
  Begin,      ///< Once, before all tasks: a weight that another group keeps.
  Microbatch, ///< For each microbatch: activations and their gradients.
  End,        ///< Once, after all tasks: sums over the microbatches.
};

/// Data that one group sends to another.
struct PipelineTransfer {
  TransferTime time = TransferTime::Microbatch;
  uint32_t from = 0, to = 0; ///< The two groups; they differ.
  /// With TransferTime::Microbatch: the task that makes the data and the first task that reads it. The member
  /// `microbatch` of these tasks is ignored.
  PipelineTask producer, consumer;
};

/// One exchange of a step.
struct PipelineExchange {
  uint32_t transfer = 0;               ///< Index of the transfer.
  uint32_t microbatch = 0;             ///< 0 if the transfer happens once.
  uint32_t sendSlot = 0, takeSlot = 0; ///< Slots in the sender's and in the receiver's program.

  bool operator==(const PipelineExchange &) const = default;
};

/// Orders all exchanges of a step. Each group's program issues its exchanges in this order. Exchanges of microbatches
/// are in the order of the tasks that make the data (taskOrder), so that no groups wait for each other in a cycle. A
/// receiver issues an exchange as late as possible: right before the task that reads the data. Exchanges
/// stay in order: if an earlier task needs exchange Y, and exchange X precedes Y, then X is issued before that task
/// too. Fails if a transfer names a task
/// that its group does not have, or a task that reads before the data is made.
Expected<std::vector<PipelineExchange>> orderExchanges(const PipelineSchedule &schedule,
                                                       const std::vector<PipelineTransfer> &transfers);

/// Checks that every transfer happens once, or once for each microbatch, as its TransferTime says. Checks that data is
/// made before it is sent, and received before it is read. Simulates the programs to check that no group waits forever.
Status validateExchanges(const PipelineSchedule &schedule, const std::vector<PipelineTransfer> &transfers,
                         const std::vector<PipelineExchange> &exchanges);

} // namespace sluice

#endif // SLUICE_PIPELINE_EXCHANGES_H
