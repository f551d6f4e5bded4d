//===- ModelWriter.h - Writes a random model node by node -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every tensor carries an interval that holds its elements and a bound on how far two
// correct implementations may differ in an element. Generators of operators use both:
// they keep operands in an operator's domain, keep values away from overflow, and apply
// operators that jump (rounding, comparisons, sorting) only to tensors on which all
// implementations agree exactly. So every difference between two runs of a model is a
// finding, unlike in models that are random without such bounds.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_RANDOM_MODELWRITER_H
#define SLUICE_TOOLS_SLUICEBENCH_RANDOM_MODELWRITER_H

#include "sluice/Support/Rng.h"
#include "sluice/TensorIO/HostTensor.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <onnx/onnx_pb.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

using Shape = std::vector<int64_t>;

int64_t elementsOf(const Shape &shape);

/// A tensor of the model.
struct Value {
  std::string name;
  ElementType type = ElementType::Float32;
  Shape shape;
  double low = -1, high = 1; ///< All elements lie in [low, high].
  double error = 0;          ///< Two implementations differ by at most this much; 0: they agree bit by bit.

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const { return elementsOf(shape); }
  double largest() const;
  bool isExact() const { return error == 0; }
  bool isFloat() const { return isFloatingPoint(type); }
};

/// What differs between two correct roundings of one result of this magnitude.
double roundingOf(ElementType type, double largest);

/// What a generator knows of a node's result.
struct Result {
  ElementType type = ElementType::Float32;
  Shape shape;
  double low = -1, high = 1, error = 0;
};

class ModelWriter {
public:
  ModelWriter(uint64_t seed, int64_t opset);

  Rng &random() { return rng; }
  int64_t opset() const { return version; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low + 1)));
  }
  template <typename T>
  const T &oneOf(const std::vector<T> &choices) {
    return choices[rng.below(choices.size())];
  }
  /// A shape of `rank` extents with at most `most` elements.
  Shape randomShape(int64_t rank, int64_t most = 600);

  /// A tensor that exists and satisfies the predicate, more likely a recent one. Null where there is none.
  const Value *find(const std::function<bool(const Value &)> &suits);
  /// As find; where there is none, and now and then else, a new input of this type and rank.
  Value take(const std::function<bool(const Value &)> &suits, ElementType otherwise, int64_t rank);
  /// A float tensor within a magnitude of `most` of a rank in [least, largest].
  Value takeFloat(int64_t leastRank, int64_t mostRank, double most = 100);
  /// As takeFloat, one on which implementations agree exactly.
  Value takeExactFloat(int64_t leastRank, int64_t mostRank);

  /// A new input or a new initializer, with random data in [low, high].
  Value source(ElementType type, Shape shape, double low, double high);
  /// An initializer with random data in [low, high].
  Value constant(ElementType type, Shape shape, double low, double high);
  Value numbers(const std::vector<int64_t> &elements, ElementType type = ElementType::Int64);
  /// As numbers, a scalar.
  Value number(int64_t element, ElementType type = ElementType::Int64);
  Value scalar(double element, ElementType type);

  /// Starts a node; its results are given by `finish`, or by `add` for a single one.
  ::onnx::NodeProto &node(std::string_view op, const std::vector<Value> &operands);
  Value finish(::onnx::NodeProto &node, Result result);
  Value add(std::string_view op, const std::vector<Value> &operands, Result result);
  /// A result with the operand's type, interval and error, moved to another shape.
  static Result moved(const Value &operand, Shape shape) {
    return {operand.type, std::move(shape), operand.low, operand.high, operand.error};
  }

  static void set(::onnx::NodeProto &node, std::string_view name, int64_t value);
  static void set(::onnx::NodeProto &node, std::string_view name, int value) { set(node, name, int64_t(value)); }
  static void set(::onnx::NodeProto &node, std::string_view name, double value);
  static void set(::onnx::NodeProto &node, std::string_view name, const std::vector<int64_t> &values);
  static void set(::onnx::NodeProto &node, std::string_view name, std::string_view text);

  /// Declares a tensor as an input or output of a graph.
  static void declare(::onnx::ValueInfoProto &port, const Value &value);

  /// Runs `body` while nodes go to another graph, which sees the tensors so far; those of the inner graph are forgotten
  /// afterwards.
  void within(::onnx::GraphProto &inner, const std::function<void()> &body);
  /// A name that no tensor has.
  std::string fresh(std::string_view stem);
  /// Makes a tensor known that another party defines, such as an input of a body.
  Value introduce(Result result, std::string_view stem);

  /// No later node reads this tensor, and it is no output: its shape is not known before the model runs.
  void forget(const Value &value);

  /// Other runtimes would take too long for the model.
  void keepFromOthers() { isForOthers = false; }
  bool suitsOthers() const { return isForOthers; }

  /// The whole model: every tensor that nothing reads is an output, and some others.
  ::onnx::ModelProto complete();
  const std::map<std::string, HostTensor> &inputs() const { return inputData; }
  const std::vector<Value> &outputs() const { return outputValues; }

private:
  HostTensor randomTensor(const Value &value);
  void read(const std::string &name) { readNames.insert(name); }

  Rng rng;
  int64_t version;
  ::onnx::ModelProto model;
  ::onnx::GraphProto *graph;
  std::vector<Value> values;
  std::set<std::string> readNames;
  std::map<std::string, HostTensor> inputData;
  std::vector<Value> outputValues;
  int64_t nextName = 0;
  bool isForOthers = true;
};

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_RANDOM_MODELWRITER_H
