//===- ReferenceRows.cpp - Normalisations and searches along an axis ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

/// Calls fn with the linear positions of every row along `axis`.
static void forEachRow(const Tensor &tensor, int64_t axis, llvm::function_ref<void(const std::vector<int64_t> &)> fn) {
  Index kept(tensor.shape());
  kept[axis] = 1;
  forEachIndex(kept, [&](llvm::ArrayRef<int64_t> at) {
    std::vector<int64_t> row;
    Index index(at);
    for (index[axis] = 0; index[axis] < tensor.shape()[axis]; ++index[axis])
      row.push_back(tensor.linearOf(index));
    fn(row);
  });
}

static double logSumExp(const std::vector<double> &row) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double x : row)
    top = std::max(top, x);
  if (std::isinf(top))
    return top;
  for (double x : row)
    sum += std::exp(x - top);
  return std::log(sum) + top;
}

static Tensor reduceLogSumExp(ReduceOp op, const Tensor &input) {
  Tensor out(op.getType());
  std::vector<std::vector<double>> rows(out.size());
  forEachIndex(input.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index to;
    for (size_t d = 0; d < at.size(); ++d)
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(d)))
        to.push_back(at[d]);
      else if (op.getKeepDims())
        to.push_back(0);
    rows[out.linearOf(to)].push_back(input.at(at));
  });
  for (int64_t i = 0; i < out.size(); ++i)
    out.set(i, logSumExp(rows[i]));
  return out;
}

static Tensor softmax(SoftmaxOp op, const Tensor &input) {
  Tensor out(op.getType());
  forEachRow(input, op.getAxis(), [&](const std::vector<int64_t> &row) {
    std::vector<double> x;
    for (int64_t i : row)
      x.push_back(input.get(i));
    double total = logSumExp(x);
    for (size_t i = 0; i < row.size(); ++i)
      out.set(row[i], op.getLog() ? x[i] - total : std::exp(x[i] - total));
  });
  return out;
}

static Tensor cumsum(CumsumOp op, const Tensor &input) {
  Tensor out(op.getType());
  forEachRow(input, op.getAxis(), [&](std::vector<int64_t> row) {
    if (op.getReverse())
      std::reverse(row.begin(), row.end());
    double sum = 0;
    for (int64_t i : row) {
      double next = sum + input.get(i);
      out.set(i, op.getExclusive() ? sum : next);
      sum = next;
    }
  });
  return out;
}

static Tensor argReduce(ArgReduceOp op, const Tensor &input) {
  Tensor out(op.getType());
  int64_t to = 0;
  forEachRow(input, op.getAxis(), [&](const std::vector<int64_t> &row) {
    int64_t best = 0;
    for (size_t i = 1; i < row.size(); ++i) {
      double x = input.get(row[i]), top = input.get(row[best]);
      if (op.getLargest() ? x > top : x < top)
        best = static_cast<int64_t>(i);
      else if (x == top && op.getSelectLast())
        best = static_cast<int64_t>(i);
    }
    out.set(to++, static_cast<double>(best));
  });
  return out;
}

static void topk(TopkOp op, Environment &values) {
  const Tensor &input = values.at(op.getInput());
  Tensor best(op.getValues().getType()), indices(op.getIndices().getType());
  std::vector<std::vector<int64_t>> targets;
  if (op.getK() > 0)
    forEachRow(best, op.getAxis(), [&](const std::vector<int64_t> &row) { targets.push_back(row); });
  size_t next = 0;
  forEachRow(input, op.getAxis(), [&](const std::vector<int64_t> &row) {
    std::vector<int64_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      double x = input.get(row[a]), y = input.get(row[b]);
      // NaN is above every number.
      auto isAbove = [](double p, double q) { return std::isnan(p) ? !std::isnan(q) : p > q; };
      return op.getLargest() ? isAbove(x, y) : isAbove(y, x);
    });
    for (size_t i = 0; i < op.getK(); ++i) {
      best.set(targets[next][i], input.get(row[order[i]]));
      indices.set(targets[next][i], static_cast<double>(order[i]));
    }
    ++next;
  });
  values.insert({op.getValues(), std::move(best)});
  values.insert({op.getIndices(), std::move(indices)});
}

/// (x - mean) / sqrt(variance + epsilon) over the elements at `row`.
static void normalise(const Tensor &input, const std::vector<int64_t> &row, double epsilon,
                      llvm::function_ref<void(int64_t, double)> put) {
  auto count = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  for (int64_t i : row)
    mean += input.get(i) / count;
  for (int64_t i : row)
    variance += (input.get(i) - mean) * (input.get(i) - mean) / count;
  for (int64_t i : row)
    put(i, (input.get(i) - mean) / std::sqrt(variance + epsilon));
}

/// Blocks of `length` consecutive elements.
static void forEachBlock(int64_t total, int64_t length, llvm::function_ref<void(const std::vector<int64_t> &)> fn) {
  for (int64_t start = 0; start < total; start += length) {
    std::vector<int64_t> block(length);
    std::iota(block.begin(), block.end(), start);
    fn(block);
  }
}

static int64_t product(llvm::ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
}

static Tensor layerNorm(LayerNormOp op, Environment &values) {
  const Tensor &input = values.at(op.getInput());
  Tensor out(op.getType());
  std::vector<Index> indices;
  forEachIndex(input.shape(), [&](llvm::ArrayRef<int64_t> at) { indices.emplace_back(at); });
  forEachBlock(input.size(), product(input.shape().drop_front(op.getAxis())), [&](const std::vector<int64_t> &row) {
    normalise(input, row, op.getEpsilon().convertToDouble(), [&](int64_t i, double value) {
      value *= values.at(op.getScale()).broadcastAt(indices[i]);
      if (op.getBias())
        value += values.at(op.getBias()).broadcastAt(indices[i]);
      out.set(i, value);
    });
  });
  return out;
}

static Tensor instanceNorm(InstanceNormOp op, Environment &values) {
  const Tensor &input = values.at(op.getInput());
  Tensor out(op.getType());
  int64_t length = product(input.shape().drop_front(2)), channels = input.shape()[1];
  forEachBlock(input.size(), length, [&](const std::vector<int64_t> &row) {
    int64_t channel = row.front() / length % channels;
    normalise(input, row, op.getEpsilon().convertToDouble(), [&](int64_t i, double value) {
      out.set(i, value * values.at(op.getScale()).get(channel) + values.at(op.getBias()).get(channel));
    });
  });
  return out;
}

static Tensor attention(AttentionOp op, Environment &values) {
  const Tensor &query = values.at(op.getQuery()), &key = values.at(op.getKey()), &value = values.at(op.getValue());
  Tensor out(op.getType());
  const double scale = op.getScale().convertToDouble();
  Index rows(out.shape().drop_back());
  forEachIndex(rows, [&](llvm::ArrayRef<int64_t> row) {
    auto read = [&](const Tensor &tensor, int64_t i, int64_t j) {
      Index index(row.drop_back());
      index.append({i, j});
      return tensor.broadcastAt(index);
    };
    std::vector<double> scores;
    for (int64_t k = 0; k < op.getKeys(); ++k) {
      double sum = 0;
      for (int64_t d = 0; d < op.getDepth(); ++d)
        sum += read(query, row.back(), d) * (op.getTransposed() ? read(key, d, k) : read(key, k, d));
      Index score(row);
      score.push_back(k);
      scores.push_back((op.getDivides() ? sum / scale : sum * scale) +
                       (op.getMask() ? values.at(op.getMask()).broadcastAt(score) : 0));
    }
    const double total = logSumExp(scores);
    for (double &score : scores)
      score = std::exp(score - total);
    for (int64_t column = 0; column < op.getColumns(); ++column) {
      double sum = 0;
      for (int64_t k = 0; k < op.getKeys(); ++k)
        sum += scores[k] * read(value, k, column);
      Index to(row);
      to.push_back(column);
      out.set(out.linearOf(to), sum);
    }
  });
  return out;
}

bool interpretRows(Operation *op, Environment &values) {
  auto define = [&](Value value, Tensor tensor) {
    values.insert({value, std::move(tensor)});
    return true;
  };
  if (auto known = dyn_cast<ReduceOp>(op))
    return define(known.getResult(), reduceLogSumExp(known, values.at(known.getInput())));
  if (auto known = dyn_cast<SoftmaxOp>(op))
    return define(known.getResult(), softmax(known, values.at(known.getInput())));
  if (auto known = dyn_cast<AttentionOp>(op))
    return define(known.getResult(), attention(known, values));
  if (auto known = dyn_cast<CumsumOp>(op))
    return define(known.getResult(), cumsum(known, values.at(known.getInput())));
  if (auto known = dyn_cast<ArgReduceOp>(op))
    return define(known.getResult(), argReduce(known, values.at(known.getInput())));
  if (auto known = dyn_cast<LayerNormOp>(op))
    return define(known.getResult(), layerNorm(known, values));
  if (auto known = dyn_cast<InstanceNormOp>(op))
    return define(known.getResult(), instanceNorm(known, values));
  if (auto known = dyn_cast<TopkOp>(op)) {
    topk(known, values);
    return true;
  }
  return false;
}

} // namespace sluice::test
