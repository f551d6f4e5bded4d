//===- CutModel.h - A step divided by cuts ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The Lagrangian relaxation behind the bound of cuts. The step is cut at the first starts of operators v1, v2, ...,
// each of which is an ancestor of the next. The order of the cuts is therefore certain, although the order of the other
// operators is open. In the relaxation, the *life* of each tensor is chosen independently of all other tensors: the
// tensor is in the memories at a cut or not, it enters and leaves them in some segments between cuts, or it is made
// again. Prices stand for the resources that lives share. The price of a nanosecond of a segment is divided among the
// work of devices and the bytes that are copied in each direction, and a byte that is in the memories at a cut has a
// price.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_CUTMODEL_H
#define SLUICE_LIB_SEARCH_CUTMODEL_H

#include "sluice/Search/BoundCertificate.h"

#include <vector>

namespace sluice::search {

/// The rates of the links between a set of memories and all other memories, in bytes per nanosecond.
struct BorderRates {
  double in = 0, out = 0, both = 0;
  /// True if all copies follow each other on one stream in each direction, over one link. Then a copy takes the link's
  /// latency too, in nanoseconds.
  bool isSerial = false;
  double latency = 0;
};

BorderRates borderRates(const Machine &machine, const std::vector<MemoryId> &memories);

struct LifeEvent {
  int first, last; ///< Segments.
  enum Kind : uint8_t { Make, Read, Update } kind;
};

/// The states of a tensor between events.
enum LifeState : uint8_t { Unborn, Absent, Clean, Dirty, Lost };
inline constexpr int kLifeStates = 5;

/// The life of one tensor, or of a state together with its new value, in the memories.
struct Life {
  double bytes = 0;     ///< Bytes that a copy moves.
  double heldBytes = 0; ///< Bytes that the memories hold at least.
  LifeState start = Absent;
  enum End : uint8_t { Anywhere, Inside, Outside, Both } end = Anywhere;
  int first = 0, last = 0; ///< Segments that matter.
  int cleanBy = -1;        ///< The segment by whose end there is a copy outside; -1: none.
  int againLoad = -1;      ///< The load that runs again to make the tensor again; -1: the tensor cannot be made again.
  double againNs = 0;
  std::vector<LifeEvent> events;
  std::vector<int> forced; ///< Cuts at which the tensor must be in the memories, ascending.
};

/// Operators of one load whose first launches are in the same segments.
struct WorkGroup {
  int first, last, load;
  double ns;
};

/// A device's operators that compute, or that communicate.
struct CutLoad {
  DeviceId device;
  bool communicates;
};

struct CutModel {
  std::vector<MemoryId> memories;
  std::vector<OperatorId> cuts;
  BorderRates rates;
  std::vector<CutLoad> loads;
  std::vector<WorkGroup> work;
  std::vector<Life> lives;
  /// Per tensor: the alternatives, of which the cheapest counts. Each alternative is a list of lives that occur
  /// together.
  std::vector<std::vector<std::vector<uint32_t>>> choices;
  std::vector<double> room; ///< Per cut: bytes for lives.

  int numSegments() const { return static_cast<int>(cuts.size()) + 1; }
};

/// Makes the model of a chain of cuts. `repeats`: operators may be launched again.
CutModel makeCutModel(const BoundProblem &problem, std::vector<MemoryId> memories, std::vector<OperatorId> cuts,
                      bool repeats);

/// Sequences of operators, each an ancestor of the next, of at most `most` operators: candidates for cuts. For each
/// operator of `through`, one of the sequences contains it.
std::vector<std::vector<OperatorId>> cutChains(const BoundProblem &problem, size_t most,
                                               const std::vector<OperatorId> &through);

/// Prices for a model, and the bound that they prove before rounding.
struct PricedCuts {
  BoundCertificate certificate;
  double ns = 0;
};

struct PriceLimits {
  size_t steps = 0; ///< Limit of the steps through segments of lives, over all iterations.
  size_t iterations = 0;
};

/// The best prices found.
PricedCuts priceCuts(const CutModel &model, bool repeats, PriceLimits limits);

} // namespace sluice::search

#endif // SLUICE_LIB_SEARCH_CUTMODEL_H
