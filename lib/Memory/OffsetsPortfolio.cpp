//===- OffsetsPortfolio.cpp - The default packer --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The packer first simplifies the problem (Sections.h). It replaces time by sections and bytes by units, moves the
// buffers that outlive all others to the bottom, and cuts the rest into pieces that no buffer crosses. Each piece is
// packed separately. None of these steps loses a packing of least peak.
//
// Greedy packings in several orders give a first solution. Large pieces have orders of their own (packFullestFirst).
// The packings of the baselines are packed again in the order of their offsets, which raises no buffer. The result is
// therefore not worse than theirs. The search then looks for packings within a target below the best peak. The first
// target is the lower bound. Later ones are steps of the gap to the bound, which grow after a success and shrink after
// a failure.
//
// For one target, turns of an exact search (CanonicalSearch.h) and of a local search (EjectionSearch.h) alternate. Each
// turn has a small limit and other random ranks, because a lucky rank succeeds soon or not at all (restarts). The
// limits grow from round to round. If the exact search proves that a target is infeasible, the lower bound rises.
//
//===----------------------------------------------------------------------===//

#include "CanonicalSearch.h"
#include "EjectionSearch.h"
#include "OffsetsShared.h"
#include "PlacedItems.h"
#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

using namespace sluice;
using namespace sluice::memory;

namespace {

enum class Criterion : uint8_t {
  Lifetime, ///< Most sections first.
  Fullness, ///< Those that live when most is live first.
  Size,
  Area,
  Start,
  SizeClass, ///< Largest power of two first, most sections first within it.
};
constexpr size_t kNumCriteria = 6;

/// Items are given ranks by a criterion; one turn of the search.
struct Turn {
  bool ejects;
  Branching branching;
  Criterion criterion;
  bool rankFirst;
};
/// Each solves instances on which the others are lost; rounds of all follow one
/// another with ranks ever different and limits ever greater.
constexpr Turn kTurns[] = {
    {false, Branching::FewestFirst, Criterion::Lifetime, false},
    {false, Branching::FewestFirst, Criterion::Fullness, false},
    {false, Branching::FewestFirst, Criterion::Size, true},
    {false, Branching::LowestFirst, Criterion::Lifetime, false},
    {false, Branching::FewestFirst, Criterion::Area, true},
    {false, Branching::LowestFirst, Criterion::Area, false},
    {true, {}, {}, false},
};
constexpr size_t kNumTurns = std::size(kTurns);
constexpr Criterion kStarts[] = {Criterion::Lifetime, Criterion::Size, Criterion::Area};
constexpr DisplacementCost kCosts[] = {{0.5, 1.02}, {1, 1.1}};
/// Of the logarithm of a criterion, from the second round on.
constexpr double kNoise = 0.3;
/// Of the limits, from round to round; most searches that succeed do so within a
/// few nodes an item.
constexpr double kGrowth = 1.15, kMostGrowths = 150;
/// An exact search either ends soon or hardly at all; the other needs time.
constexpr int64_t kEjectionFew = 8, kEjectionMany = 256;
/// Of the gap to the bound: below, steps are too short to try.
constexpr double kLeastStep = 1.0 / 40;

/// Items times the sections that they live in: beyond, exact search is no use.
constexpr int64_t kMostSpans = 4'000'000;
constexpr int64_t kMostExactItems = 4000;
/// For larger instances: how much earlier an item comes in the order of sizes (by powers of two), if its fullest
/// section is as full as any, and if it lives twice as long.
constexpr double kFullnessWeights[] = {80, 200, 20}, kLengthExponent = 0.25;
/// How much earlier an item that ends too high comes in the next packing, in the same measure. The packings end after
/// kMostRaises of them, or after kMostVainRaises in a row that are no better.
constexpr double kRaise = 0.5;
constexpr int kMostRaises = 24, kMostVainRaises = 8;
/// If the peak exceeds the goal by less than 1 / kCloseFraction of it, the other orders gain more.
constexpr int64_t kCloseFraction = 1000;
/// What these orders may take of the budget.
constexpr double kShareOfOrders = 0.6;
/// Beyond, what is hard is rather many small items than a tight fit.
constexpr int64_t kFewItems = 500;
/// What its local search on orders may place, there.
constexpr int64_t kItemsOfBestFit = 500'000;

using Clock = std::chrono::steady_clock;

/// A part of the problem, and the best packing of it so far.
struct Piece {
  Part part;
  std::vector<int64_t> offsets; ///< Units above the base, per item.
  /// The base included, as in all that follows; the greatest number before the first packing.
  int64_t peakBytes = std::numeric_limits<int64_t>::max();
  int64_t leastBytes = 0; ///< Proven.
  bool exact = true;      ///< Small enough to search.
  int64_t spans = 0;      ///< Items times their sections.
  std::vector<double> keys[kNumCriteria];
};

class Portfolio {
public:
  Portfolio(const OffsetProblem &problem, const OffsetParams &params)
      : problem(problem), params(params), begin(Clock::now()), root(params.seed) {
    const Sections sections = sectionsOf(problem);
    unitBytes = sections.unitBytes;
    units.assign(problem.buffers.size(), 0);
    for (Part &part : partsOf(sections, units))
      addPiece(std::move(part));
    bound = std::max(maxLive(problem).bytes, boundBytes(sections));
    for (const Piece &piece : pieces)
      bound = std::max(bound, piece.leastBytes);
  }

  OffsetSolution run() {
    const int64_t goal = problem.capacityBytes ? std::max(*problem.capacityBytes, bound) : bound;
    packGreedily(goal);
    if (problem.capacityBytes)
      reach(goal, params.budget);
    else
      descend();
    OffsetSolution solution;
    solution.offsets.assign(units.size(), 0);
    for (const Piece &piece : pieces)
      for (size_t i = 0; i < piece.offsets.size(); ++i)
        units[piece.part.sections.items[i].buffer] = piece.part.base + piece.offsets[i];
    for (size_t i = 0; i < units.size(); ++i)
      if (const Buffer &buffer = problem.buffers[i]; occupies(buffer)) {
        solution.offsets[i] = units[i] * unitBytes;
        solution.peakBytes = std::max(solution.peakBytes, solution.offsets[i] + buffer.bytes);
      }
    solution.boundBytes = bound;
    solution.evaluations = used;
    solution.stoppedByClock = stopped && solution.peakBytes > goal;
    return solution;
  }

private:
  //===--------------------------------------------------------------------===//
  // Pieces and their orders
  //===--------------------------------------------------------------------===//

  void addPiece(Part part) {
    const Sections &sections = part.sections;
    const size_t n = sections.items.size();
    Piece piece;
    piece.leastBytes = part.base * unitBytes + boundBytes(sections);
    int64_t spans = 0;
    for (std::vector<double> &key : piece.keys)
      key.resize(n);
    // The fullest section of each item, by maxima over powers of two.
    std::vector<std::vector<int64_t>> fullest{sections.live};
    for (size_t width = 1; 2 * width <= sections.count; width *= 2) {
      const std::vector<int64_t> &half = fullest.back();
      std::vector<int64_t> level(sections.count - 2 * width + 1);
      for (size_t s = 0; s < level.size(); ++s)
        level[s] = std::max(half[s], half[s + width]);
      fullest.push_back(std::move(level));
    }
    for (size_t i = 0; i < n; ++i) {
      const Item &item = sections.items[i];
      const uint32_t length = item.last - item.first;
      spans += length;
      const auto level = static_cast<size_t>(std::bit_width(length) - 1);
      const auto size = static_cast<double>(item.size);
      const int64_t most = std::max(fullest[level][item.first], fullest[level][item.last - (size_t(1) << level)]);
      auto set = [&](Criterion criterion, double value) { piece.keys[static_cast<size_t>(criterion)][i] = value; };
      set(Criterion::Lifetime, length);
      set(Criterion::Fullness, static_cast<double>(most));
      set(Criterion::Size, size);
      set(Criterion::Area, size * length);
      set(Criterion::Start, -static_cast<double>(item.first));
      // Lengths lie below 2^32, and the classes are few: the sum is exact.
      set(Criterion::SizeClass,
          static_cast<double>(std::bit_width(static_cast<uint64_t>(item.size))) * 0x1p32 + length);
    }
    piece.spans = spans;
    piece.exact = static_cast<int64_t>(n) <= kMostExactItems && spans <= kMostSpans;
    piece.part = std::move(part);
    pieces.push_back(std::move(piece));
  }

  /// Greatest first; ties by area, then by number.
  static std::vector<uint32_t> orderBy(const Piece &piece, const std::vector<double> &key) {
    const std::vector<double> &area = piece.keys[static_cast<size_t>(Criterion::Area)];
    std::vector<uint32_t> order(key.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
      if (key[i] != key[j])
        return key[i] > key[j];
      return area[i] != area[j] ? area[i] > area[j] : i < j;
    });
    return order;
  }

  static std::vector<uint32_t> noisyOrder(const Piece &piece, Criterion criterion, Rng &rng) {
    std::vector<double> key = piece.keys[static_cast<size_t>(criterion)];
    for (double &value : key)
      value *= std::exp(kNoise * rng.normal());
    return orderBy(piece, key);
  }

  //===--------------------------------------------------------------------===//
  // Greedy packings
  //===--------------------------------------------------------------------===//

  void packGreedily(int64_t goal) {
    for (Piece &piece : pieces) {
      // Instances that are searched exactly need no such start.
      if (!piece.exact) {
        pack(piece, goal, FitRule::FirstFit,
             [&] { return orderBy(piece, piece.keys[static_cast<size_t>(Criterion::SizeClass)]); });
        packFullestFirst(piece, goal);
      }
      for (FitRule rule : {FitRule::FirstFit, FitRule::BestFit})
        for (Criterion criterion :
             {Criterion::Lifetime, Criterion::Area, Criterion::Size, Criterion::Fullness, Criterion::Start})
          pack(piece, goal, rule, [&] { return orderBy(piece, piece.keys[static_cast<size_t>(criterion)]); });
    }
    if (peakBytes() <= goal)
      return;
    // Packed anew in the order of its offsets, no buffer of a packing ends higher:
    // so the result is never worse than the other solvers'.
    const OffsetProblem open{problem.buffers, {}, std::nullopt};
    repack(packOwl(open), goal);
    const auto n = static_cast<int64_t>(problem.buffers.size());
    if (n > kMostExactItems || peakBytes() <= goal || spent(params.budget))
      return;
    BestFitParams bestFit;
    bestFit.seed = params.seed;
    if (n > kFewItems)
      bestFit.evaluations = std::max(bestFit.evaluations, kItemsOfBestFit / n);
    repack(solveOffsetsBestFit(open, bestFit), goal);
  }

  /// First fit in orders of size in which items come earlier, the fuller their fullest section is: only full sections
  /// have no room for gaps. Then squeaky wheel optimization (Joslin and Clements, 1999) of the best of these orders:
  /// what ends above the goal comes earlier in the next packing.
  void packFullestFirst(Piece &piece, int64_t goal) {
    if (piece.peakBytes - piece.peakBytes / kCloseFraction <= goal)
      return;
    const Budget budget = share(kShareOfOrders);
    const std::vector<Item> &items = piece.part.sections.items;
    const std::vector<double> &fullness = piece.keys[static_cast<size_t>(Criterion::Fullness)];
    const double fullest = *std::max_element(fullness.begin(), fullness.end());
    const int64_t base = piece.part.base * unitBytes, target = std::max(goal, piece.leastBytes) - base;
    std::vector<int64_t> offsets(items.size());
    // Whole, and not only up to the best peak: the next order needs to know what ends above the target.
    auto packed = [&](const std::vector<double> &key) {
      used += 1 + static_cast<int64_t>(items.size() / 64);
      const int64_t peak = packItems(piece.part.sections, orderBy(piece, key), FitRule::FirstFit, placed, offsets,
                                     std::numeric_limits<int64_t>::max(), &budget);
      if (peak < piece.peakBytes - base) {
        piece.peakBytes = base + peak;
        piece.offsets = offsets;
        report();
      }
      return peak;
    };
    std::vector<double> key(items.size()), best;
    std::vector<int64_t> bestOffsets;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (double weight : kFullnessWeights) {
      if (piece.peakBytes <= goal || spent(budget))
        return;
      for (size_t i = 0; i < items.size(); ++i)
        key[i] = std::log2(static_cast<double>(items[i].size)) +
                 kLengthExponent * std::log2(static_cast<double>(items[i].last - items[i].first)) +
                 weight * fullness[i] / fullest;
      if (const int64_t peak = packed(key); peak < least) {
        least = peak;
        best = key;
        bestOffsets = offsets;
      }
    }
    offsets = std::move(bestOffsets);
    for (int rounds = 0, vain = 0; rounds < kMostRaises && vain < kMostVainRaises; ++rounds, ++vain) {
      if (piece.peakBytes <= goal || spent(budget) || best.empty())
        return;
      for (size_t i = 0; i < items.size(); ++i)
        if ((offsets[i] + items[i].size) * unitBytes - items[i].spareBytes > target)
          best[i] += kRaise;
      const int64_t peak = packed(best);
      if (peak == std::numeric_limits<int64_t>::max())
        return;
      if (peak < least) {
        least = peak;
        vain = 0;
      }
    }
  }

  void repack(const Expected<OffsetSolution> &other, int64_t goal) {
    for (Piece &piece : pieces)
      if (other)
        pack(piece, goal, FitRule::FirstFit, [&] {
          const std::vector<Item> &items = piece.part.sections.items;
          std::vector<uint32_t> order(items.size());
          std::iota(order.begin(), order.end(), 0u);
          std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
            return other->offsets[items[i].buffer] < other->offsets[items[j].buffer];
          });
          return order;
        });
  }

  template <typename MakeOrder>
  void pack(Piece &piece, int64_t goal, FitRule rule, MakeOrder makeOrder) {
    const bool first = piece.peakBytes == std::numeric_limits<int64_t>::max();
    if (!first && (piece.peakBytes <= goal || spent(params.budget)))
      return;
    const int64_t base = piece.part.base * unitBytes;
    std::vector<int64_t> offsets(piece.part.sections.items.size());
    const int64_t limit = first ? piece.peakBytes : piece.peakBytes - base - 1;
    used += 1 + static_cast<int64_t>(offsets.size() / 64);
    const int64_t peak =
        packItems(piece.part.sections, makeOrder(), rule, placed, offsets, limit, first ? nullptr : &params.budget);
    if (peak > limit)
      return;
    piece.peakBytes = base + peak;
    piece.offsets = std::move(offsets);
    report();
  }

  /// Tells the caller of a better packing, once every piece has one.
  void report() {
    const int64_t peak = peakBytes();
    if (!params.progress || peak >= reportedBytes || peak == std::numeric_limits<int64_t>::max())
      return;
    reportedBytes = peak;
    params.progress({peak, bound});
  }

  int64_t peakBytes() const {
    int64_t peak = bound; // What was taken to the bottom included.
    for (const Piece &piece : pieces)
      peak = std::max(peak, piece.peakBytes);
    return peak;
  }

  //===--------------------------------------------------------------------===//
  // Search
  //===--------------------------------------------------------------------===//

  bool spent(const Budget &budget) {
    const bool late = budget.mustStop();
    stopped |= late;
    return late || used >= budget.evaluations;
  }

  /// First a try at the bound, then steps of the gap to it: longer ones after
  /// success, shorter ones after a slice of the budget in vain.
  void descend() {
    reach(bound, share(0.2));
    double slice = 0.08, step = 0.5;
    for (int64_t peak = peakBytes(); peak > bound && !spent(params.budget); peak = peakBytes()) {
      const int64_t gap = peak - bound;
      const auto lower = std::min(gap, static_cast<int64_t>(static_cast<double>(gap) * step));
      switch (reach(peak - std::max(std::min(unitBytes, gap), lower), share(slice))) {
      case Outcome::Found:
        step = std::min(1.0, step * 2);
        break;
      case Outcome::Stopped:
        step /= 2;
        if (step < kLeastStep) {
          step = 0.5;
          slice *= 2;
        }
        break;
      case Outcome::Infeasible: // The bound is higher now.
        break;
      }
    }
  }

  /// A share of the whole budget, within what is left of it.
  Budget share(double fraction) const {
    Budget part = params.budget;
    const double evaluations = static_cast<double>(part.evaluations) * fraction;
    if (evaluations < static_cast<double>(part.evaluations - used))
      part.evaluations = std::min(part.evaluations, used + 1 + static_cast<int64_t>(evaluations));
    if (part.deadline) {
      const auto now = Clock::now();
      part.deadline = std::min(*part.deadline,
                               now + std::chrono::duration_cast<Clock::duration>((*part.deadline - begin) * fraction));
    }
    return part;
  }

  /// All pieces within the target, each by its own search. The budget's
  /// evaluations include those already used.
  Outcome reach(int64_t target, const Budget &budget) {
    Outcome outcome = Outcome::Found;
    for (Piece &piece : pieces) {
      if (piece.peakBytes <= target)
        continue;
      Outcome one = piece.leastBytes > target ? Outcome::Infeasible : searchPiece(piece, target, budget);
      if (one == Outcome::Infeasible) {
        bound = std::max(bound, piece.leastBytes);
        return one;
      }
      if (one == Outcome::Stopped)
        outcome = one;
    }
    return outcome;
  }

  /// Evaluations of an exact search. In the first round enough to get to the last
  /// item, though each node may look at much of what is free; then fewer, as a
  /// good ranking fails early or hardly at all.
  static double limitOf(const Piece &piece, uint64_t round) {
    const auto n = static_cast<double>(piece.offsets.size());
    if (round == 0)
      return n * std::clamp(static_cast<double>(piece.spans) / 256, 4.0, 24.0) + 64;
    return (4 * n + 64) * std::pow(kGrowth, std::min<double>(static_cast<double>(round), kMostGrowths));
  }

  Outcome searchPiece(Piece &piece, int64_t target, const Budget &budget) {
    const Sections &sections = piece.part.sections;
    const auto n = static_cast<int64_t>(sections.items.size());
    const int64_t capacity = target - piece.part.base * unitBytes;
    const bool many = n > kFewItems;
    for (uint64_t round = 0;; ++round)
      for (size_t t = 0; t < kNumTurns; ++t) {
        if (spent(budget))
          return Outcome::Stopped;
        const Turn &turn = kTurns[many ? kNumTurns - 1 - t : t]; // Ejection is the last.
        if (!turn.ejects && (!piece.exact || (many && round % 4 != 0)))
          continue;
        Rng rng = root.fork(++turns);
        ++used; // However soon it fails.
        Budget limit = budget;
        const double most = limitOf(piece, round);
        limit.evaluations = std::min(budget.evaluations - used + 1, static_cast<int64_t>(most));
        std::vector<int64_t> offsets;
        Outcome outcome = Outcome::Stopped;
        if (turn.ejects) {
          // From the best packing, and then from others.
          std::vector<int64_t> start = piece.offsets;
          if (round > 0)
            packItems(sections, noisyOrder(piece, kStarts[turns % std::size(kStarts)], rng), FitRule::FirstFit, placed,
                      start);
          EjectionSearch ejection(sections, capacity, kCosts[turns % std::size(kCosts)], rng, std::move(start));
          limit.evaluations =
              std::min(many ? kEjectionMany * n : kEjectionFew * limit.evaluations, budget.evaluations - used + 1);
          if (ejection.run(limit, used)) {
            outcome = Outcome::Found;
            offsets = ejection.packing();
          }
        } else {
          CanonicalParams canonical{turn.branching, {}, turn.rankFirst};
          const std::vector<uint32_t> order = round == 0
                                                  ? orderBy(piece, piece.keys[static_cast<size_t>(turn.criterion)])
                                                  : noisyOrder(piece, turn.criterion, rng);
          canonical.rank.resize(order.size());
          for (uint32_t k = 0; k < order.size(); ++k)
            canonical.rank[order[k]] = k;
          outcome = searchCanonical(sections, capacity, canonical, limit, used, offsets);
        }
        if (outcome == Outcome::Stopped)
          continue;
        if (outcome == Outcome::Infeasible) {
          piece.leastBytes = target + 1;
          if (sections.maxSpareBytes == 0)
            piece.leastBytes = (target / unitBytes + 1) * unitBytes;
          return outcome;
        }
        piece.offsets = std::move(offsets);
        piece.peakBytes = 0;
        for (size_t i = 0; i < piece.offsets.size(); ++i)
          piece.peakBytes =
              std::max(piece.peakBytes, (piece.part.base + piece.offsets[i] + sections.items[i].size) * unitBytes -
                                            sections.items[i].spareBytes);
        report();
        return outcome;
      }
  }

  const OffsetProblem &problem;
  const OffsetParams &params;
  const Clock::time_point begin;
  const Rng root;
  int64_t unitBytes = 1;
  std::vector<int64_t> units; ///< Offsets per buffer.
  std::vector<Piece> pieces;
  PlacedItems placed;
  int64_t bound = 0, used = 0;
  int64_t reportedBytes = std::numeric_limits<int64_t>::max(); ///< The least peak that the caller was told.
  uint64_t turns = 0;                                          ///< Taken by the search.
  bool stopped = false;
};

} // namespace

Expected<OffsetSolution> sluice::solveOffsets(const OffsetProblem &problem, const OffsetParams &params) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  SLUICE_RETURN_IF_ERROR(withinBound(problem, maxLive(problem)));
  OffsetSolution solution = Portfolio(problem, params).run();
  SLUICE_RETURN_IF_ERROR(validate({problem.buffers, problem.ids, std::nullopt}, solution));
  return withinCapacity(problem, std::move(solution));
}
