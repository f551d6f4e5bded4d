//===- CutPrices.cpp - Prices for a step divided by cuts ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The dual of the relaxation is concave in the prices, and every choice of prices gives a lower bound. The bound is
// maximized by deflected subgradients with Polyak's steps. The target of the steps is lowered when steps fail
// (Camerini, Fratta and Maffioli, 1975). A subgradient has one entry for each segment and each cut: the amount that the
// cheapest lives of all tensors use there, minus the amount that exists.
//
//===----------------------------------------------------------------------===//

#include "CutModel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace sluice::search {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Shares of each segment: of each load, then of bytes in, of bytes out, and of bytes both ways. `memory` has the price
/// of a byte at each cut, in units of the time that a byte takes to enter or leave.
struct Point {
  std::vector<double> shares, memory;
};

class Ascent {
public:
  explicit Ascent(const CutModel &model)
      : model(model), segments(model.numSegments()), loads(static_cast<int>(model.loads.size())), stride(loads + 3),
        unit(1 / std::max({model.rates.in, model.rates.out, 1e-12})), in(segments), out(segments), memory(segments, 0) {
  }

  double value(const Point &point, Point *gradient) {
    setPrices(point);
    if (gradient) {
      gradient->shares.assign(segments * stride, 0);
      gradient->memory.assign(segments, 0);
    }
    double total = 0;
    for (const WorkGroup &group : model.work) {
      int best = group.first;
      for (int s = group.first + 1; s <= group.last; ++s)
        if (point.shares[s * stride + group.load] < point.shares[best * stride + group.load])
          best = s;
      total += group.ns * point.shares[best * stride + group.load];
      if (gradient)
        gradient->shares[best * stride + group.load] += group.ns;
    }
    for (const std::vector<std::vector<uint32_t>> &ways : model.choices) {
      double least = kNever;
      const std::vector<uint32_t> *best = nullptr;
      if (ways.size() == 1 && ways[0].size() == 1) {
        total += live(model.lives[ways[0][0]], point, gradient);
        continue;
      }
      for (const std::vector<uint32_t> &way : ways) {
        double sum = 0;
        for (uint32_t life : way)
          sum += live(model.lives[life], point, nullptr);
        if (sum < least) {
          least = sum;
          best = &way;
        }
      }
      total += least;
      if (gradient && best)
        for (uint32_t life : *best)
          live(model.lives[life], point, gradient);
    }
    for (int j = 1; j < segments; ++j) {
      total -= point.memory[j] * unit * model.room[j - 1];
      if (gradient)
        gradient->memory[j] = (gradient->memory[j] - model.room[j - 1]) * unit;
    }
    return total;
  }

  Point start() const {
    Point point;
    point.shares.assign(segments * stride, 0);
    point.memory.assign(segments, 0);
    return point;
  }

  Point climb(Point from, int iterations) {
    Point best = from, gradient, direction = start();
    double bestValue = value(from, &gradient), reach = 0.3;
    int failures = 0;
    for (int i = 0; i < iterations && reach > 1e-4; ++i) {
      deflect(direction, gradient, i == 0);
      const double squares = norm(direction);
      if (!(squares > 0))
        break;
      const double target = bestValue + reach * std::max(std::abs(bestValue), 1.0);
      const double current = lastValue;
      move(from, direction, (target - current) / squares);
      const double reached = value(from, &gradient);
      lastValue = reached;
      if (reached > bestValue) {
        failures = reached > bestValue * (1 + 1e-4) ? 0 : failures;
        bestValue = reached;
        best = from;
      }
      if (++failures > kPatience) {
        failures = 0;
        reach /= 2;
        from = best;
        lastValue = value(from, &gradient);
        std::fill(direction.shares.begin(), direction.shares.end(), 0);
        std::fill(direction.memory.begin(), direction.memory.end(), 0);
      }
    }
    return best;
  }

  /// Of a point whose value is to be the first one that `climb` starts from.
  void begin(const Point &point) { lastValue = value(point, nullptr); }

  const CutModel &model;
  const int segments, loads, stride;

  double unitNs() const { return unit; }
  size_t stepsOfValue() const {
    size_t steps = model.work.size();
    for (const Life &life : model.lives)
      steps += static_cast<size_t>(life.last - life.first + 1) * 3 + life.events.size() * 2;
    return steps;
  }

private:
  static constexpr int kPatience = 12;
  enum Action : uint8_t { Stay, Enter, Leave, Again, Drop, Happen };
  struct Step {
    uint8_t state = 0;
    Action action = Stay;
  };
  using Row = std::array<double, kLifeStates>;

  void setPrices(const Point &point) {
    for (int s = 0; s < segments; ++s) {
      const double *shares = &point.shares[s * stride + loads];
      const double both = model.rates.both > 0 ? shares[2] / model.rates.both : 0;
      in[s] = both + (model.rates.in > 0 ? shares[0] / model.rates.in : 0);
      out[s] = both + (model.rates.out > 0 ? shares[1] / model.rates.out : 0);
    }
    for (int j = 1; j < segments; ++j)
      memory[j] = point.memory[j] * unit;
  }

  /// The least price of a life, and where `gradient` is given, what the cheapest uses.
  double live(const Life &life, const Point &point, Point *gradient) {
    const size_t phases = life.events.size() + 1;
    rows.resize(phases);
    for (Row &row : rows)
      row.fill(kNever);
    rows[0][life.start] = 0;
    if (gradient)
      steps.assign(static_cast<size_t>(life.last - life.first + 1) * phases * kLifeStates, Step());
    size_t low = 0, forced = 0;
    for (int s = life.first; s <= life.last; ++s) {
      if (s > life.first)
        passCut(life, s, low, forced);
      for (size_t done = low; done < phases; ++done) {
        Step *step = gradient ? &steps[((s - life.first) * phases + done) * kLifeStates] : nullptr;
        passSegment(life, s, point, rows[done], step);
        if (done + 1 == phases || s < life.events[done].first)
          break;
        happen(life.events[done].kind, rows[done], rows[done + 1], step ? step + kLifeStates : nullptr);
        if (s == life.events[done].last) {
          rows[done].fill(kNever);
          low = done + 1;
        }
      }
      if (s == life.cleanBy)
        for (Row &row : rows)
          row[Unborn] = row[Dirty] = row[Lost] = kNever;
    }
    const auto [state, least] = finish(life, rows.back());
    if (gradient && least < kNever)
      trace(life, phases, state, *gradient);
    return least;
  }

  static std::pair<uint8_t, double> finish(const Life &life, const Row &row) {
    uint8_t best = Clean;
    for (uint8_t state = 0; state < kLifeStates; ++state) {
      const bool isAllowed = life.end == Life::Anywhere || state == Clean ||
                             (life.end == Life::Inside && state == Dirty) ||
                             (life.end == Life::Outside && state == Absent);
      if (isAllowed && row[state] < row[best])
        best = state;
    }
    return {best, row[best]};
  }

  void passCut(const Life &life, int cut, size_t low, size_t &forced) {
    const double price = memory[cut] * life.heldBytes;
    while (forced < life.forced.size() && life.forced[forced] < cut)
      ++forced;
    const bool isForced = forced < life.forced.size() && life.forced[forced] == cut;
    for (size_t done = low; done < rows.size(); ++done) {
      rows[done][Clean] += price;
      rows[done][Dirty] += price;
      if (isForced)
        rows[done][Unborn] = rows[done][Absent] = rows[done][Lost] = kNever;
    }
  }

  void passSegment(const Life &life, int s, const Point &point, Row &row, Step *steps) const {
    auto offer = [&](LifeState from, LifeState to, double price, Action action) {
      if (row[from] + price < row[to]) {
        row[to] = row[from] + price;
        if (steps)
          steps[to] = {from, action};
      }
    };
    if (life.againLoad >= 0) {
      offer(Lost, Dirty, life.againNs * point.shares[s * stride + life.againLoad], Again);
      offer(Dirty, Lost, 0, Drop);
    }
    const double *shares = &point.shares[s * stride + loads];
    offer(Dirty, Clean, out[s] * life.bytes + shares[1] * model.rates.latency, Leave);
    offer(Absent, Clean, in[s] * life.bytes + shares[0] * model.rates.latency, Enter);
    offer(Clean, Absent, 0, Drop);
  }

  static void happen(LifeEvent::Kind kind, const Row &before, Row &after, Step *steps) {
    auto offer = [&](LifeState from, LifeState to) {
      if (before[from] < after[to]) {
        after[to] = before[from];
        if (steps)
          steps[to] = {from, Happen};
      }
    };
    if (kind == LifeEvent::Make)
      return offer(Unborn, Dirty);
    offer(Clean, kind == LifeEvent::Read ? Clean : Dirty);
    offer(Dirty, Dirty);
  }

  void trace(const Life &life, size_t phases, uint8_t state, Point &gradient) const {
    size_t done = phases - 1;
    for (int s = life.last; s >= life.first;) {
      const Step &step = steps[((s - life.first) * phases + done) * kLifeStates + state];
      double *shares = &gradient.shares[s * stride];
      switch (step.action) {
      case Stay:
        if (s > life.first && (state == Clean || state == Dirty))
          gradient.memory[s] += life.heldBytes;
        --s;
        continue;
      case Enter:
        addCopy(shares, life.bytes, model.rates.in, 0);
        break;
      case Leave:
        addCopy(shares, life.bytes, model.rates.out, 1);
        break;
      case Again:
        shares[life.againLoad] += life.againNs;
        break;
      case Drop:
        break;
      case Happen:
        --done;
        break;
      }
      state = step.state;
    }
  }

  void addCopy(double *shares, double bytes, double rate, int way) const {
    shares[loads + way] += bytes / rate + model.rates.latency;
    shares[loads + 2] += bytes / model.rates.both;
  }

  void deflect(Point &direction, const Point &gradient, bool isFirst) const {
    const double kept = isFirst ? 0 : 0.6;
    for (size_t i = 0; i < gradient.shares.size(); ++i)
      direction.shares[i] = kept * direction.shares[i] + (1 - kept) * gradient.shares[i];
    // Of a segment's shares only differences count.
    for (int s = 0; s < segments; ++s) {
      double *shares = &direction.shares[s * stride];
      const double mean = std::accumulate(shares, shares + stride, 0.0) / stride;
      for (int k = 0; k < stride; ++k)
        shares[k] -= mean;
    }
    for (int j = 1; j < segments; ++j)
      direction.memory[j] = kept * direction.memory[j] + (1 - kept) * gradient.memory[j];
  }

  static double norm(const Point &direction) {
    double squares = 0;
    for (double x : direction.shares)
      squares += x * x;
    for (double x : direction.memory)
      squares += x * x;
    return squares;
  }

  void move(Point &point, const Point &direction, double length) {
    for (size_t i = 0; i < point.shares.size(); ++i)
      point.shares[i] += length * direction.shares[i];
    for (int s = 0; s < segments; ++s)
      project(&point.shares[s * stride]);
    for (int j = 1; j < segments; ++j)
      point.memory[j] = std::max(0.0, point.memory[j] + length * direction.memory[j]);
  }

  /// The nearest shares that are not negative and sum to 1.
  void project(double *shares) {
    sorted.assign(shares, shares + stride);
    if (model.rates.in <= 0 || model.rates.out <= 0 || model.rates.both <= 0)
      sorted[loads] = sorted[loads + 1] = sorted[loads + 2] = shares[loads] = shares[loads + 1] = shares[loads + 2] =
          -1e9;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double sum = 0, excess = 0;
    for (int k = 0; k < stride; ++k) {
      sum += sorted[k];
      if (const double level = (sum - 1) / (k + 1); sorted[k] > level)
        excess = level;
    }
    for (int k = 0; k < stride; ++k)
      shares[k] = std::max(0.0, shares[k] - excess);
  }

  const double unit;
  std::vector<double> in, out, memory, sorted;
  std::vector<Row> rows;
  std::vector<Step> steps;
  double lastValue = 0;
};

/// Points that the simple bounds correspond to: all work, all copies, and work or copies on either side of one cut.
std::vector<Point> simplePoints(const Ascent &ascent) {
  std::vector<double> busy(ascent.loads, 0);
  for (const WorkGroup &group : ascent.model.work)
    busy[group.load] += group.ns;
  const int load = static_cast<int>(std::max_element(busy.begin(), busy.end()) - busy.begin());
  const int in = ascent.loads, out = in + 1, both = in + 2;
  std::vector<Point> points;
  auto add = [&](int before, int after, int cut, double memory) {
    Point point = ascent.start();
    for (int s = 0; s < ascent.segments; ++s)
      point.shares[s * ascent.stride + (s < cut ? before : after)] = 1;
    if (cut > 0)
      point.memory[cut] = memory;
    points.push_back(std::move(point));
  };
  add(load, load, 0, 0);
  for (int way : {in, out, both})
    add(way, way, 0, 0);
  const int every = std::max(1, ascent.segments / 5);
  for (int cut = 1; cut < ascent.segments; cut += every) {
    add(in, in, cut, 1);
    add(both, both, cut, 1);
    add(out, in, cut, 2);
    add(load, in, cut, 1);
    add(out, load, cut, 1);
  }
  return points;
}

} // namespace

/// Whole prices, rounded down so that no segment is worth more than its time.
static BoundCertificate certify(const Ascent &ascent, const Point &point, bool repeats) {
  const CutModel &model = ascent.model;
  BoundCertificate certificate;
  certificate.argument = BoundArgument::Cuts;
  certificate.repeats = repeats;
  certificate.operators = model.cuts;
  certificate.memories = model.memories;
  // The prices of what no plan can do grow without end.
  auto whole = [](double value, int64_t most) {
    return static_cast<int64_t>(std::clamp(std::floor(value), 0.0, static_cast<double>(most)));
  };
  auto price = [&](double nsPerByte) { return whole(nsPerByte * 1e9, kMaxPrice); };
  // The checker takes links for a little faster.
  constexpr double kSlack = 1 - 1.1e-6;
  for (int s = 0; s < ascent.segments; ++s) {
    SegmentPrices prices;
    const double *shares = &point.shares[s * ascent.stride];
    for (int load = 0; load < ascent.loads; ++load)
      if (const auto share = whole(shares[load] * kWholeShare + 1e-6, kMaxPrice); share > 0)
        prices.work.push_back({model.loads[load].device, model.loads[load].communicates, share});
    const BorderRates &rates = model.rates;
    double in = shares[ascent.loads], out = shares[ascent.loads + 1];
    if (rates.isSerial) { // The time of the streams counts, which includes latencies.
      prices.copiesIn = whole(std::exchange(in, 0) * kWholeShare + 1e-6, kMaxPrice);
      prices.copiesOut = whole(std::exchange(out, 0) * kWholeShare + 1e-6, kMaxPrice);
    }
    const double both = rates.both > 0 ? shares[ascent.loads + 2] / rates.both : 0;
    prices.in = price(kSlack * (both + (rates.in > 0 ? in / rates.in : 0)));
    prices.out = price(kSlack * (both + (rates.out > 0 ? out / rates.out : 0)));
    certificate.segments.push_back(std::move(prices));
    if (s > 0)
      certificate.memoryPrices.push_back(price(kSlack * point.memory[s] * ascent.unitNs()));
  }
  return certificate;
}

PricedCuts priceCuts(const CutModel &model, bool repeats, PriceLimits limits) {
  Ascent ascent(model);
  const std::vector<Point> points = simplePoints(ascent);
  std::vector<std::pair<double, size_t>> values;
  for (size_t i = 0; i < points.size(); ++i)
    values.emplace_back(-ascent.value(points[i], nullptr), i);
  std::sort(values.begin(), values.end());
  Point best = points[values[0].second];
  double bestValue = -values[0].first;
  const size_t affordable = limits.steps / std::max<size_t>(ascent.stepsOfValue(), 1);
  const int iterations = static_cast<int>(std::min(affordable, limits.iterations));
  for (size_t i = 0; i < std::min<size_t>(values.size(), 2); ++i) {
    const Point &from = points[values[i].second];
    ascent.begin(from);
    Point point = ascent.climb(from, iterations / 2);
    if (const double reached = ascent.value(point, nullptr); reached > bestValue) {
      bestValue = reached;
      best = std::move(point);
    }
  }
  return {certify(ascent, best, repeats), bestValue};
}

} // namespace sluice::search
