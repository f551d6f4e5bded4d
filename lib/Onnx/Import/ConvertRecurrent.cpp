//===- ConvertRecurrent.cpp - LSTM, GRU and RNN ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One product covers all inputs at once. The steps of the cell, one for each element of
// the sequence, are unrolled if they are few, and a loop otherwise. ONNX Runtime's
// DynamicQuantizeLSTM has weights of bytes: each product rounds its rows to bytes.
//
//===----------------------------------------------------------------------===//
#include "Linear.h"
#include "Loops.h"
#include "NodeContext.h"
#include "Quantize.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// The most steps that are unrolled.
constexpr int64_t kMostSteps = 2048;

enum class Cell { Lstm, Gru, Rnn };

/// A cell's function: of the dialect's, or scaled ones.
struct Activation {
  UnaryKind kind = UnaryKind::tanh;
  double alpha = 0, beta = 0;
  /// Affine and ScaledTanh: outside * kind(inside * x) + offset, the identity where `kind` does not count.
  bool isScaled = false, isLinear = false;
};

/// [gates * hidden, depth]; of bytes [depth, gates * hidden].
struct Weight {
  Value matrix;
  Value scale, zeroPoint; ///< Of bytes: one, or one a column; the zero point may be null.
};

/// What one direction computes with. Gates lie one behind the other along a dimension of the weights.
struct Direction {
  Weight weight, recurrence;         ///< Of depth `inputs` and `hidden`.
  Value inputBias, recurrenceBias;   ///< [gates * hidden], or null.
  Value peepholes;                   ///< LSTM: [3 * hidden], or null.
  Value hidden, cell;                ///< State, [batch, hidden].
  SmallVector<Activation> functions; ///< The cell's f, g, h.
};

class Unroller {
public:
  Unroller(NodeContext &node, Cell cell, bool hasBytes = false) : node(node), cell(cell), hasBytes(hasBytes) {}
  LogicalResult run();

private:
  LogicalResult readSizes();
  LogicalResult checkBytes();
  Weight weightOf(size_t input, size_t scale, int64_t index, int64_t depth);
  Value product(Value rows, const Weight &weight);
  LogicalResult readDirection(int64_t index, Direction &direction);
  FailureOr<SmallVector<Activation>> functions(int64_t index, int64_t count);
  Value apply(const Activation &function, Value x, bool clips = true);
  /// Runs all steps; hidden states in order of time, [steps, 1, batch, hidden].
  Value runAll(Direction &direction, bool backward);
  Value unroll(Direction &direction, Value projected, bool backward);
  Value loop(Direction &direction, Value projected, bool backward);
  /// One step, for the element at position `at` (a scalar), given the product of its inputs. Returns the hidden state
  /// that the operator returns for that element.
  Value stepAt(Direction &direction, Value projected, Value at);
  void step(Direction &direction, Value projected);
  void lstm(Direction &direction, Value projected);
  void gru(Direction &direction, Value projected);

  Value part(Value x, int64_t index, int64_t dimension) { return node.sliceAxis(x, dimension, index * hidden, hidden); }
  /// Slice `index` of the first dimension, as `dims`; null where there is no such input.
  Value slab(size_t input, int64_t index, ArrayRef<int64_t> dims) {
    return node.has(input) ? node.reshape(node.sliceAxis(node.input(input), 0, index, 1), dims) : Value();
  }
  Value sum(Value a, Value b) { return b ? node.add(a, b) : a; }

  NodeContext &node;
  Cell cell;
  bool hasBytes; ///< The weights are bytes.
  Value x;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, gates = 1, directions = 1;
  bool batchFirst = false;
  std::optional<double> clip;
  Value lengths; ///< [batch, 1], where sequences differ in length.
};

LogicalResult Unroller::readSizes() {
  if (failed(node.require(3)))
    return failure();
  x = node.input(0);
  batchFirst = node.integerOr("layout", 0) != 0;
  if (rankOf(x) != 3 || rankOf(node.input(1)) != 3 || rankOf(node.input(2)) != 3)
    return node.invalid("its input and its weights must have 3 dimensions");
  if (batchFirst)
    x = node.transpose(x, {1, 0, 2});
  if (!x)
    return node.result({});
  steps = shapeOf(x)[0], batch = shapeOf(x)[1], inputs = shapeOf(x)[2];
  gates = cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1;
  directions = shapeOf(node.input(1))[0];
  hidden = shapeOf(node.input(2))[hasBytes ? 1 : 2];
  const std::string direction = node.stringOr("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return node.invalid("its direction is '" + direction + "', ONNX defines 'forward', 'reverse' and 'bidirectional'");
  if (const int64_t size = node.integerOr("hidden_size", hidden); size != hidden)
    return node.invalid("its hidden_size is " + Twine(size) + " and its recurrence weights have " + Twine(hidden) +
                        " hidden values");
  if (directions != (direction == "bidirectional" ? 2 : 1) || hidden < 1 || hidden > (int64_t(1) << 40))
    return node.invalid("the shapes of its weights do not match its input, hidden size and direction");
  auto isWeight = [&](Value weight, int64_t depth) {
    const int64_t rows = gates * hidden;
    return shapeOf(weight) == ArrayRef<int64_t>({directions, hasBytes ? depth : rows, hasBytes ? rows : depth});
  };
  if (!isWeight(node.input(1), inputs) || !isWeight(node.input(2), hidden))
    return node.invalid("the shapes of its weights do not match its input, hidden size and direction");
  auto fits = [&](size_t input, ArrayRef<int64_t> dims) {
    return !node.has(input) || shapeOf(node.input(input)) == dims;
  };
  Dims state = batchFirst ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  if (!fits(3, {directions, 2 * gates * hidden}) || !fits(5, state) || !fits(6, state) ||
      !fits(7, {directions, 3 * hidden}))
    return node.invalid("the shapes of its bias, initial states and peepholes must match its weights");
  if (hasBytes && failed(checkBytes()))
    return failure();
  if (steps < 1 || (node.unrollsLoops && steps > kMostSteps))
    return node.unsupported(
        "its sequence has " + Twine(steps) + " elements" +
        (steps < 1 ? Twine() : ", 1 to " + Twine(kMostSteps) + " are supported in training and on GPUs"));
  if (node.find("clip"))
    clip = node.numberOr("clip", 0);
  if (!node.has(4))
    return success();
  if (shapeOf(node.input(4)) != ArrayRef<int64_t>(batch))
    return node.invalid("its sequence_lens must have one length for each of the " + Twine(batch) +
                        " elements of the batch");
  std::optional<SmallVector<int64_t>> known = getIntegers(node.input(4));
  if (!known || llvm::any_of(*known, [&](int64_t length) { return length != steps; }))
    lengths = node.reshape(node.input(4), {batch, 1});
  return success();
}

/// Scales and zero points behind the operands that LSTM has.
LogicalResult Unroller::checkBytes() {
  const Type type = elementTypeOf(x);
  for (size_t weight : {1, 2}) {
    const size_t scale = 6 + 2 * weight;
    if (!isBytes(node.input(weight)) || !type.isF32())
      return node.invalid("its input must be of type float and its weights of type int8 or uint8");
    auto fits = [&](Value value, Type element) {
      return value && elementTypeOf(value) == element &&
             (shapeOf(value) == ArrayRef<int64_t>(directions) ||
              shapeOf(value) == ArrayRef<int64_t>({directions, gates * hidden}));
    };
    if (!fits(node.input(scale), type) ||
        (node.has(scale + 1) && !fits(node.input(scale + 1), elementTypeOf(node.input(weight)))))
      return node.invalid("the shapes and types of its scales and zero points must match its weights");
  }
  return success();
}

/// `scale`: the position of the weight's scales, behind which its zero points are.
Weight Unroller::weightOf(size_t input, size_t scale, int64_t index, int64_t depth) {
  const int64_t rows = gates * hidden;
  if (!hasBytes)
    return {slab(input, index, {rows, depth}), {}, {}};
  auto parameter = [&](size_t at) -> Value {
    const bool isOne = !node.has(at) || rankOf(node.input(at)) == 1;
    return slab(at, index, isOne ? Dims() : Dims{rows});
  };
  return {slab(input, index, {depth, rows}), parameter(scale), parameter(scale + 1)};
}

Value Unroller::product(Value rows, const Weight &weight) {
  if (!hasBytes)
    return node.matmul(rows, weight.matrix, false, true);
  const DynamicBytes lhs = quantizeDynamically(node, rows);
  if (!lhs.bytes || !lhs.scale)
    return {};
  return scaledProduct(node, {lhs.bytes, lhs.zeroPoint}, {weight.matrix, weight.zeroPoint}, lhs.scale, weight.scale);
}

Value Unroller::apply(const Activation &function, Value x, bool clips) {
  if (!x)
    return x;
  Type type = elementTypeOf(x);
  if (clip && clips) {
    const Value most = node.splat(type, *clip);
    x = node.binary(BinaryKind::min, node.binary(BinaryKind::max, x, node.splat(type, -*clip)), most);
  }
  if (function.isLinear) { // alpha * x + beta
    const Value beta = node.splat(type, function.beta);
    return node.add(node.mul(x, node.splat(type, function.alpha)), beta);
  }
  if (function.isScaled) { // alpha * tanh(beta * x)
    const Value alpha = node.splat(type, function.alpha);
    return node.mul(node.unary(function.kind, node.mul(x, node.splat(type, function.beta))), alpha);
  }
  return node.unary(function.kind, x, function.alpha, function.beta);
}

FailureOr<SmallVector<Activation>> Unroller::functions(int64_t index, int64_t count) {
  struct Known {
    StringRef name;
    UnaryKind kind;
    std::optional<double> alpha, beta; ///< Defaults of those that it has.
  };
  static const Known kKnown[] = {{"Sigmoid", UnaryKind::sigmoid, {}, {}},
                                 {"Tanh", UnaryKind::tanh, {}, {}},
                                 {"Relu", UnaryKind::relu, {}, {}},
                                 {"Affine", UnaryKind::neg, 1, 0},
                                 {"LeakyRelu", UnaryKind::leaky_relu, 0.01, {}},
                                 {"ThresholdedRelu", UnaryKind::thresholded_relu, 1, {}},
                                 {"ScaledTanh", UnaryKind::tanh, 1, 1},
                                 {"HardSigmoid", UnaryKind::hard_sigmoid, 0.2, 0.5},
                                 {"Elu", UnaryKind::elu, 1, {}},
                                 {"Softsign", UnaryKind::softsign, {}, {}},
                                 {"Softplus", UnaryKind::softplus, {}, {}}};
  const ::onnx::AttributeProto *given = node.find("activations", ::onnx::AttributeProto::STRINGS);
  SmallVector<double> alphas = node.numbersAt("activation_alpha").value_or(SmallVector<double>());
  SmallVector<double> betas = node.numbersAt("activation_beta").value_or(SmallVector<double>());
  // Parameters are listed for those functions alone that have them.
  size_t nextAlpha = 0, nextBeta = 0;
  SmallVector<Activation> result;
  for (int64_t at = 0; at < (index + 1) * count; ++at) {
    std::string name = at % count == 0 && cell != Cell::Rnn ? "Sigmoid" : "Tanh";
    if (given && at < given->strings_size())
      name = given->strings(static_cast<int>(at));
    const Known *known = llvm::find_if(kKnown, [&](const Known &one) { return one.name.equals_insensitive(name); });
    if (known == std::end(kKnown))
      return node.invalid("its activation is '" + name + "', which ONNX does not define");
    Activation one{known->kind, known->alpha.value_or(0), known->beta.value_or(0), known->name == "ScaledTanh",
                   known->name == "Affine"};
    if (known->alpha && nextAlpha < alphas.size())
      one.alpha = alphas[nextAlpha++];
    if (known->beta && nextBeta < betas.size())
      one.beta = betas[nextBeta++];
    if (at >= index * count)
      result.push_back(one);
  }
  return result;
}

LogicalResult Unroller::readDirection(int64_t index, Direction &direction) {
  FailureOr<SmallVector<Activation>> chosen = functions(index, cell == Cell::Lstm ? 3 : cell == Cell::Gru ? 2 : 1);
  if (failed(chosen))
    return failure();
  direction.functions = *chosen;
  int64_t rows = gates * hidden;
  direction.weight = weightOf(1, 8, index, inputs);
  direction.recurrence = weightOf(2, 10, index, hidden);
  if (Value bias = slab(3, index, {2 * rows})) {
    direction.inputBias = node.sliceAxis(bias, 0, 0, rows);
    direction.recurrenceBias = node.sliceAxis(bias, 0, rows, rows);
  }
  Value zero = node.splat(elementTypeOf(x), 0, {batch, hidden});
  auto initial = [&](size_t input) -> Value {
    if (!node.has(input))
      return zero;
    return node.reshape(node.sliceAxis(node.input(input), batchFirst ? 1 : 0, index, 1), {batch, hidden});
  };
  direction.hidden = initial(5);
  if (cell == Cell::Lstm) {
    direction.cell = initial(6);
    direction.peepholes = slab(7, index, {3 * hidden});
  }
  return success();
}

/// Gates i, o, f, c; peepholes i, o, f.
void Unroller::lstm(Direction &direction, Value projected) {
  Value all = node.add(projected, product(direction.hidden, direction.recurrence));
  auto gate = [&](int64_t index, const Activation &function, Value seen) {
    Value value = part(all, index, 1);
    if (direction.peepholes && index < 3)
      value = node.add(value, node.mul(part(direction.peepholes, index, 0), seen));
    return apply(function, value);
  };
  Value input = gate(0, direction.functions[0], direction.cell);
  Value forget = node.integerOr("input_forget", 0) != 0 ? node.sub(node.splat(elementTypeOf(x), 1), input)
                                                        : gate(2, direction.functions[0], direction.cell);
  Value candidate = gate(3, direction.functions[1], {});
  const Value added = node.mul(input, candidate);
  direction.cell = node.add(node.mul(forget, direction.cell), added);
  Value output = gate(1, direction.functions[0], direction.cell);
  // The standard limits what all activations read, ONNX Runtime only what those of gates read.
  direction.hidden = node.mul(output, apply(direction.functions[2], direction.cell, /*clips=*/!hasBytes));
}

/// Gates z, r, h.
void Unroller::gru(Direction &direction, Value projected) {
  Value before = direction.hidden, bias = direction.recurrenceBias;
  auto recurrent = [&](int64_t index, Value state) {
    const Value added = product(state, {part(direction.recurrence.matrix, index, 0), {}, {}});
    return sum(added, bias ? part(bias, index, 0) : Value());
  };
  const Activation &f = direction.functions[0], &g = direction.functions[1];
  const Value updateBefore = recurrent(0, before);
  Value update = apply(f, node.add(part(projected, 0, 1), updateBefore));
  const Value resetBefore = recurrent(1, before);
  Value reset = apply(f, node.add(part(projected, 1, 1), resetBefore));
  bool linearBeforeReset = node.integerOr("linear_before_reset", 0) != 0;
  Value remembered = linearBeforeReset ? node.mul(reset, recurrent(2, before)) : recurrent(2, node.mul(reset, before));
  Value candidate = apply(g, node.add(part(projected, 2, 1), remembered));
  Value one = node.splat(elementTypeOf(x), 1);
  const Value kept = node.mul(update, before);
  direction.hidden = node.add(node.mul(node.sub(one, update), candidate), kept);
}

void Unroller::step(Direction &direction, Value projected) {
  if (cell == Cell::Lstm)
    return lstm(direction, projected);
  if (cell == Cell::Gru)
    return gru(direction, projected);
  const Value added = product(direction.hidden, direction.recurrence);
  direction.hidden = apply(direction.functions[0], node.add(projected, added));
}

Value Unroller::runAll(Direction &direction, bool backward) {
  Value projected = product(node.reshape(x, {steps * batch, inputs}), direction.weight);
  projected = sum(projected, direction.inputBias);
  // A GRU may scale its recurrent bias with the reset gate.
  if (cell != Cell::Gru)
    projected = sum(projected, direction.recurrenceBias);
  if (!projected)
    return {};
  return !node.decide(node.unrollsLoops || steps <= kMostUnrolledSteps) ? loop(direction, projected, backward)
                                                                        : unroll(direction, projected, backward);
}

Value Unroller::stepAt(Direction &direction, Value projected, Value at) {
  Value hiddenBefore = direction.hidden, cellBefore = direction.cell;
  step(direction, projected);
  Value state = direction.hidden;
  if (!lengths)
    return state;
  // Past its end a sequence keeps its state, and returns zeros.
  Value isIn = node.compare(ComparePredicate::gt, lengths, node.cast(at, elementTypeOf(lengths)));
  state = node.select(isIn, state, node.splat(elementTypeOf(x), 0));
  direction.hidden = node.select(isIn, direction.hidden, hiddenBefore);
  if (cell == Cell::Lstm)
    direction.cell = node.select(isIn, direction.cell, cellBefore);
  return state;
}

Value Unroller::unroll(Direction &direction, Value projected, bool backward) {
  SmallVector<Value> states(steps);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t at = backward ? steps - 1 - i : i;
    Value position = node.splat(node.mlir().getI64Type(), static_cast<double>(at));
    Value state = stepAt(direction, node.sliceAxis(projected, 0, at * batch, batch), position);
    states[at] = node.reshape(state, {1, 1, batch, hidden});
    if (!states[at])
      return {};
  }
  return node.concat(states, 0);
}

Value Unroller::loop(Direction &direction, Value projected, bool backward) {
  const bool hasCell = cell == Cell::Lstm;
  projected = node.reshape(projected, {steps, batch, gates * hidden});
  SmallVector<Value> carried{direction.hidden};
  if (hasCell)
    carried.push_back(direction.cell);
  if (llvm::is_contained(carried, Value()))
    return {};
  SmallVector<Value> results =
      countedLoop(node, steps, carried, [&](Value iteration, ValueRange before) -> SmallVector<Value> {
        direction.hidden = before[0];
        if (hasCell)
          direction.cell = before[1];
        Value at = positionAt(node, iteration, steps, backward);
        Value state = stepAt(direction, sliceAt(node, projected, at, 0), at);
        if (hasCell)
          return {direction.hidden, direction.cell, state};
        return {direction.hidden, state};
      });
  if (results.empty())
    return {};
  direction.hidden = results[0];
  if (hasCell)
    direction.cell = results[1];
  Value states = backward ? turned(node, results.back()) : results.back();
  return node.reshape(states, {steps, 1, batch, hidden});
}

LogicalResult Unroller::run() {
  if (failed(readSizes()))
    return failure();
  bool backward = node.stringOr("direction", "forward") == "reverse";
  SmallVector<Value> sequences, lastHidden, lastCell;
  for (int64_t index = 0; index < directions; ++index) {
    Direction direction;
    if (failed(readDirection(index, direction)))
      return failure();
    Value states = runAll(direction, backward || index == 1);
    if (!states)
      return node.result({});
    sequences.push_back(states);
    lastHidden.push_back(node.reshape(direction.hidden, {1, batch, hidden}));
    lastCell.push_back(node.reshape(direction.cell, {1, batch, hidden}));
  }
  Value all = node.concat(sequences, 1), last = node.concat(lastHidden, 0);
  if (batchFirst) {
    all = node.transpose(all, {2, 0, 1, 3});
    last = node.transpose(last, {1, 0, 2});
  }
  SmallVector<Value> results{all, last};
  if (cell == Cell::Lstm) {
    Value state = node.concat(lastCell, 0);
    results.push_back(batchFirst ? node.transpose(state, {1, 0, 2}) : state);
  }
  return node.results(results);
}

LogicalResult lstm(NodeContext &node) { return Unroller(node, Cell::Lstm).run(); }
LogicalResult gru(NodeContext &node) { return Unroller(node, Cell::Gru).run(); }
LogicalResult rnn(NodeContext &node) { return Unroller(node, Cell::Rnn).run(); }

/// Its operands are those of LSTM, then scale and zero point of both weights.
LogicalResult dynamicQuantizeLstm(NodeContext &node) {
  if (failed(node.require(3)) || failed(node.knows({"direction", "hidden_size", "input_forget", "activations",
                                                    "activation_alpha", "activation_beta", "clip"},
                                                   3)))
    return failure();
  return Unroller(node, Cell::Lstm, /*hasBytes=*/true).run();
}

constexpr OperatorEntry kOperators[] = {
    {"com.microsoft", "DynamicQuantizeLSTM", 1, dynamicQuantizeLstm},
    {"", "LSTM", 7, lstm},
    {"", "GRU", 7, gru},
    {"", "RNN", 7, rnn},
};

} // namespace

ArrayRef<OperatorEntry> recurrentOperators() { return kOperators; }

} // namespace sluice::onnximport
