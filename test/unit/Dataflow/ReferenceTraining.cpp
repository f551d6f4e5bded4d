//===- ReferenceTraining.cpp - What only training graphs hold -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// Scatters: every product of an input and a gradient goes to the tap it passed.
static Tensor convWeightGradient(ConvWeightGradientOp op, const Tensor &input, const Tensor &gradient) {
  Tensor out(op.getType());
  std::vector<double> sums(out.size());
  int64_t filters = gradient.shape()[1] / static_cast<int64_t>(op.getGroups());
  forEachIndex(gradient.shape(), [&](llvm::ArrayRef<int64_t> at) {
    forEachIndex(out.shape().drop_front(1), [&](llvm::ArrayRef<int64_t> tap) {
      Index from{at[0], at[1] / filters * out.shape()[1] + tap[0]}, to{at[1]};
      for (size_t d = 0; d + 2 < at.size(); ++d) {
        from.push_back(at[2 + d] * op.getStrides()[d] + tap[1 + d] * op.getDilations()[d] - op.getPadsLow()[d]);
        if (from.back() < 0 || from.back() >= input.shape()[2 + d])
          return;
      }
      to.append(tap.begin(), tap.end());
      sums[out.linearOf(to)] += input.at(from) * gradient.at(at);
    });
  });
  for (int64_t i = 0; i < out.size(); ++i)
    out.set(i, sums[i]);
  return out;
}

/// Scatters: each window hands its gradient to the elements it was made of.
static Tensor poolGradient(PoolGradientOp op, const Tensor &gradient, Environment &values) {
  Tensor out(op.getType());
  std::vector<double> sums(out.size());
  auto saved = [&](size_t i) -> const Tensor & { return values.at(op.getSaved()[i]); };
  forEachIndex(gradient.shape(), [&](llvm::ArrayRef<int64_t> at) {
    std::vector<int64_t> members;
    int64_t padded = 0;
    forEachIndex(op.getKernel(), [&](llvm::ArrayRef<int64_t> tap) {
      Index from{at[0], at[1]};
      bool isInside = true, isPadded = true;
      for (size_t d = 0; d < tap.size(); ++d) {
        from.push_back(at[2 + d] * op.getStrides()[d] - op.getPadsLow()[d] + tap[d] * op.getDilations()[d]);
        isInside &= from.back() >= 0 && from.back() < out.shape()[2 + d];
        isPadded &= from.back() < out.shape()[2 + d] + op.getPadsHigh()[d];
      }
      padded += isPadded;
      if (isInside)
        members.push_back(out.linearOf(from));
    });
    double g = gradient.at(at);
    if (members.empty())
      return;
    if (op.getKind() == PoolKind::average) {
      auto count = static_cast<double>(op.getCountIncludePad() ? padded : static_cast<int64_t>(members.size()));
      for (int64_t member : members)
        sums[member] += g / count;
    } else if (op.getKind() == PoolKind::max) {
      int64_t best = members.front();
      for (int64_t member : members)
        if (saved(0).get(member) > saved(0).get(best))
          best = member;
      sums[best] += g;
    } else if (double y = saved(1).at(at); y != 0) {
      for (int64_t member : members) {
        double x = saved(0).get(member);
        sums[member] += g * (x > 0 ? 1 : x < 0 ? -1 : 0) * std::pow(std::abs(x) / y, double(op.getP()) - 1);
      }
    }
  });
  for (int64_t i = 0; i < out.size(); ++i)
    out.set(i, sums[i]);
  return out;
}

static uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

static Tensor dropoutMask(DropoutMaskOp op, const Tensor &step) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  Tensor out(op.getType());
  uint64_t begin = mixed(uint64_t(op.getSeed()) ^ static_cast<uint64_t>(int64_t(step.get(0))) * kGolden);
  for (int64_t i = 0; i < out.size(); ++i) {
    uint64_t bits = mixed(begin + static_cast<uint64_t>(i) * kGolden);
    out.set(i, static_cast<double>(bits >> 11) < op.getKeep().convertToDouble() * 0x1p53);
  }
  return out;
}

static Tensor batchNorm(const Tensor &x, const Tensor &scale, const Tensor &bias, const Tensor &mean,
                        const Tensor &variance, double epsilon) {
  Tensor out(x.type);
  forEachIndex(x.shape(), [&](llvm::ArrayRef<int64_t> at) {
    int64_t c = at[1];
    double normal = (x.at(at) - mean.get(c)) / std::sqrt(variance.get(c) + epsilon);
    out.set(out.linearOf(at), normal * scale.get(c) + bias.get(c));
  });
  return out;
}

bool interpretTraining(Operation *op, Environment &values) {
  if (auto known = dyn_cast<StateOp>(op)) {
    Tensor data(known.getType());
    REQUIRE(succeeded(copyConstant(known.getValue(), data.bytes.data())));
    values.insert({known.getResult(), std::move(data)});
    return true;
  }
  if (auto known = dyn_cast<ConvWeightGradientOp>(op)) {
    Tensor out = convWeightGradient(known, values.at(known.getInput()), values.at(known.getGradient()));
    values.insert({known.getResult(), std::move(out)});
    return true;
  }
  if (auto known = dyn_cast<PoolGradientOp>(op)) {
    Tensor out = poolGradient(known, values.at(known.getGradient()), values);
    values.insert({known.getResult(), std::move(out)});
    return true;
  }
  if (auto known = dyn_cast<DropoutMaskOp>(op)) {
    Tensor out = dropoutMask(known, values.at(known.getStep()));
    values.insert({known.getResult(), std::move(out)});
    return true;
  }
  if (auto known = dyn_cast<BatchNormOp>(op)) {
    Tensor out =
        batchNorm(values.at(known.getInput()), values.at(known.getScale()), values.at(known.getBias()),
                  values.at(known.getMean()), values.at(known.getVariance()), known.getEpsilon().convertToDouble());
    values.insert({known.getResult(), std::move(out)});
    return true;
  }
  if (auto known = dyn_cast<BatchNormTrainOp>(op)) {
    const Tensor &x = values.at(known.getInput());
    Tensor mean(known.getMean().getType()), variance(known.getVariance().getType());
    for (int64_t c = 0; c < mean.size(); ++c) {
      double sum = 0, square = 0, count = static_cast<double>(x.size()) / static_cast<double>(mean.size());
      auto forEach = [&](llvm::function_ref<void(double)> fn) {
        forEachIndex(x.shape(), [&](llvm::ArrayRef<int64_t> at) {
          if (at[1] == c)
            fn(x.at(at));
        });
      };
      forEach([&](double v) { sum += v; });
      forEach([&](double v) { square += (v - sum / count) * (v - sum / count); });
      mean.set(c, sum / count);
      variance.set(c, square / count);
    }
    Tensor out = batchNorm(x, values.at(known.getScale()), values.at(known.getBias()), mean, variance,
                           known.getEpsilon().convertToDouble());
    values.insert({known.getResult(), std::move(out)});
    values.insert({known.getMean(), std::move(mean)});
    values.insert({known.getVariance(), std::move(variance)});
    return true;
  }
  return false;
}

} // namespace sluice::test
