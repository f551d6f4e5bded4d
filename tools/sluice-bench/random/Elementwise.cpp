//===- Elementwise.cpp - Random element-wise nodes ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// A function of one real variable that is monotone or bounded, with a bound on its slope.
struct Function {
  const char *op;
  int64_t opset;                ///< The first one that has it.
  double least, most;           ///< Operands must lie in here.
  double (*low)(const Value &); ///< Of results.
  double (*high)(const Value &);
  double (*slope)(const Value &); ///< Largest on the operand's interval.
};

double one(const Value &) { return 1; }
double zero(const Value &) { return 0; }
double minusOne(const Value &) { return -1; }
double lowOf(const Value &x) { return x.low; }
double highOf(const Value &x) { return x.high; }
double positivePart(const Value &x) { return std::max(x.high, 0.0); }

const std::vector<Function> &functions() {
  static const std::vector<Function> kFunctions = {
      {"Neg", 13, -1e6, 1e6, [](const Value &x) { return -x.high; }, [](const Value &x) { return -x.low; }, one},
      {"Abs", 13, -1e6, 1e6, [](const Value &x) { return x.low > 0    ? x.low
                                                         : x.high < 0 ? -x.high
                                                                      : 0.0; },
       [](const Value &x) { return x.largest(); }, one},
      {"Relu", 13, -1e6, 1e6, [](const Value &x) { return std::max(x.low, 0.0); }, positivePart, one},
      {"Identity", 13, -1e6, 1e6, lowOf, highOf, one},
      {"Exp", 13, -20, 4, zero, [](const Value &x) { return std::exp(x.high); },
       [](const Value &x) { return std::exp(x.high); }},
      {"Log", 13, 1e-2, 1e6, [](const Value &x) { return std::log(x.low); },
       [](const Value &x) { return std::log(x.high); }, [](const Value &x) { return 1 / x.low; }},
      {"Sqrt", 13, 1e-3, 1e6, zero, [](const Value &x) { return std::sqrt(x.high); },
       [](const Value &x) { return 0.5 / std::sqrt(x.low); }},
      {"Reciprocal", 13, 1e-2, 1e6, [](const Value &x) { return 1 / x.high; }, [](const Value &x) { return 1 / x.low; },
       [](const Value &x) { return 1 / (x.low * x.low); }},
      {"Sigmoid", 13, -100, 100, zero, one, one},
      {"Tanh", 13, -100, 100, minusOne, one, one},
      {"Erf", 13, -100, 100, minusOne, one, [](const Value &) { return 1.13; }},
      {"Sin", 13, -20, 20, minusOne, one, one},
      {"Cos", 13, -20, 20, minusOne, one, one},
      {"Atan", 13, -100, 100, [](const Value &) { return -1.6; }, [](const Value &) { return 1.6; }, one},
      {"Asinh", 13, -100, 100, [](const Value &x) { return std::asinh(x.low); },
       [](const Value &x) { return std::asinh(x.high); }, one},
      {"Sinh", 13, -4, 4, [](const Value &x) { return std::sinh(x.low); },
       [](const Value &x) { return std::sinh(x.high); }, [](const Value &x) { return std::cosh(x.largest()); }},
      {"Cosh", 13, -4, 4, one, [](const Value &x) { return std::cosh(x.largest()); },
       [](const Value &x) { return std::cosh(x.largest()); }},
      {"Softplus", 13, -50, 50, zero, [](const Value &x) { return positivePart(x) + 0.7; }, one},
      {"Softsign", 13, -100, 100, minusOne, one, one},
      {"HardSwish", 14, -100, 100, [](const Value &) { return -0.4; }, positivePart, [](const Value &) { return 1.6; }},
      {"Mish", 18, -20, 20, [](const Value &) { return -0.4; }, positivePart, [](const Value &) { return 1.2; }},
      {"Elu", 13, -50, 50, minusOne, positivePart, one},
      {"Selu", 13, -50, 50, [](const Value &) { return -1.8; }, [](const Value &x) { return 1.06 * positivePart(x); },
       [](const Value &) { return 1.8; }},
      {"HardSigmoid", 13, -100, 100, zero, one, one},
      {"Gelu", 20, -50, 50, [](const Value &) { return -0.2; }, positivePart, [](const Value &) { return 1.2; }},
  };
  return kFunctions;
}

void makeFunction(ModelWriter &w) {
  const Function &function = w.oneOf(functions());
  if (function.opset > w.opset())
    return;
  const Value x = w.take(
      [&](const Value &value) {
        return value.type == ElementType::Float32 && value.low >= function.least && value.high <= function.most &&
               value.error <= 1e-3 * std::max(value.largest(), 1e-3);
      },
      ElementType::Float32, w.between(0, 4));
  if (x.low < function.least || x.high > function.most)
    return;
  Result result = ModelWriter::moved(x, x.shape);
  result.low = function.low(x);
  result.high = function.high(x);
  static const std::set<std::string> kExact = {"Neg", "Abs", "Relu", "Identity"};
  const double largest = std::max(std::abs(result.low), std::abs(result.high));
  if (!kExact.count(function.op))
    result.error = x.error * function.slope(x) + 2 * roundingOf(x.type, std::max(largest, 1.0));
  result.low -= result.error;
  result.high += result.error;
  w.add(function.op, {x}, result);
}

void makeLeaky(ModelWriter &w) {
  const Value x = w.takeFloat(0, 4);
  const double alpha = static_cast<double>(w.between(1, 8)) / 8;
  Result result = ModelWriter::moved(x, x.shape);
  result.low = std::min(x.low, x.low * alpha);
  result.high = std::max(x.high, x.high * alpha);
  result.error += roundingOf(x.type, x.largest());
  if (w.random().chance(0.5)) {
    ::onnx::NodeProto &node = w.node("LeakyRelu", {x});
    ModelWriter::set(node, "alpha", alpha);
    w.finish(node, result);
    return;
  }
  // A slope a channel, or one for all.
  Shape slopes(x.shape.size(), 1);
  if (x.rank() >= 2 && w.random().chance(0.5))
    slopes[1] = x.shape[1];
  const Value slope = w.constant(x.type, slopes, alpha, alpha);
  w.add("PRelu", {x, slope}, result);
}

void makeClip(ModelWriter &w) {
  const Value x = w.takeFloat(0, 4);
  const double low = x.low + 0.25 * (x.high - x.low), high = x.high - 0.25 * (x.high - x.low);
  Result result = ModelWriter::moved(x, x.shape);
  std::vector<Value> operands = {x};
  const bool bounded = w.random().chance(0.8);
  if (bounded || w.random().chance(0.5)) {
    operands.push_back(w.scalar(static_cast<float>(low), x.type));
    result.low = low;
  } else {
    operands.push_back(Value{});
  }
  if (bounded) {
    operands.push_back(w.scalar(static_cast<float>(high), x.type));
    result.high = high;
  }
  w.add("Clip", operands, result);
}

/// Rounding jumps, so all implementations must agree on the operand.
void makeRounding(ModelWriter &w) {
  static const std::vector<const char *> kRoundings = {"Floor", "Ceil", "Round", "Sign"};
  const Value x = w.takeExactFloat(0, 4);
  const std::string op = w.oneOf(kRoundings);
  Result result = ModelWriter::moved(x, x.shape);
  result.low = op == "Sign" ? -1 : std::floor(x.low);
  result.high = op == "Sign" ? 1 : std::ceil(x.high);
  w.add(op, {x}, result);
}

void makeCast(ModelWriter &w) {
  static const std::vector<ElementType> kTypes = {ElementType::Float32, ElementType::Float64, ElementType::Float16,
                                                  ElementType::Int32,   ElementType::Int64,   ElementType::Int8,
                                                  ElementType::UInt8,   ElementType::Bool,    ElementType::BFloat16};
  const Value x = w.take([](const Value &value) { return value.largest() <= 120 && value.type != ElementType::String; },
                         ElementType::Float32, w.between(0, 4));
  const ElementType type = w.oneOf(kTypes);
  const bool narrows = !isFloatingPoint(type);
  if ((narrows && x.isFloat() && !x.isExact()) || (type == ElementType::UInt8 && x.low < 0) || x.largest() > 120)
    return;
  Result result = ModelWriter::moved(x, x.shape);
  result.type = type;
  if (type == ElementType::Bool) {
    result.low = 0;
    result.high = 1;
  }
  if (narrows && type != ElementType::Bool) {
    result.low = std::trunc(result.low);
    result.high = std::trunc(result.high);
  }
  // A rounded tensor is as exact as its operand where that is exact: all round alike.
  if (x.error > 0)
    result.error += roundingOf(type, x.largest());
  ::onnx::NodeProto &node = w.node("Cast", {x});
  ModelWriter::set(node, "to", static_cast<int64_t>(type));
  w.finish(node, result);
}

void makeNot(ModelWriter &w) {
  const Value x =
      w.take([](const Value &value) { return value.type == ElementType::Bool; }, ElementType::Bool, w.between(0, 4));
  w.add("Not", {x}, {ElementType::Bool, x.shape, 0, 1, 0});
}

void makeClassify(ModelWriter &w) {
  const Value x = w.takeExactFloat(0, 4);
  w.add(w.random().chance(0.5) ? "IsNaN" : "IsInf", {x}, {ElementType::Bool, x.shape, 0, 1, 0});
}

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

/// Another operand that broadcasts with `x`: of its shape, or with ones and fewer dimensions in places.
Shape partnerShape(ModelWriter &w, const Shape &shape) {
  Shape partner = shape;
  if (w.random().chance(0.4))
    return partner;
  for (int64_t &extent : partner)
    if (w.random().chance(0.4))
      extent = 1;
  if (w.random().chance(0.4))
    partner.erase(partner.begin(), partner.begin() + w.between(0, static_cast<int64_t>(partner.size())));
  return partner;
}

bool broadcasts(const Shape &a, const Shape &b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i)
    if (a[a.size() - i] != b[b.size() - i] && a[a.size() - i] != 1 && b[b.size() - i] != 1)
      return false;
  return true;
}

Shape broadcast(const Shape &a, const Shape &b) {
  Shape result = a.size() >= b.size() ? a : b;
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i)
    result[result.size() - i] = a[a.size() - i] == 1 ? b[b.size() - i] : a[a.size() - i];
  return result;
}

Value takePartner(ModelWriter &w, const Value &x, double most = 100) {
  constexpr int64_t kMostElements = 3000;
  const Value *found = w.random().chance(0.6) ? w.find([&](const Value &value) {
    return value.type == x.type && broadcasts(x.shape, value.shape) && value.largest() <= most &&
           elementsOf(broadcast(x.shape, value.shape)) <= kMostElements;
  })
                                              : nullptr;
  if (found)
    return *found;
  const bool isFloat = x.isFloat();
  return w.source(x.type, partnerShape(w, x.shape), isFloat ? -1.5 : 0,
                  isFloat                       ? 1.5
                  : x.type == ElementType::Bool ? 1
                                                : 9);
}

Result combine(const Value &a, const Value &b, std::initializer_list<double> corners, double error) {
  const auto [low, high] = std::minmax(corners);
  Result result{a.type, broadcast(a.shape, b.shape), low, high, 0};
  if (a.isFloat()) {
    // One operation rounds alike everywhere; it may be contracted with the one before it, which then does not round.
    result.error = error + roundingOf(a.type, std::max(std::abs(low), std::abs(high)));
    result.low -= result.error;
    result.high += result.error;
  }
  return result;
}

Value takeArithmetic(ModelWriter &w) {
  return w.take(
      [](const Value &value) {
        const bool isWide = value.type == ElementType::Int64 || value.type == ElementType::Int32;
        return (value.isFloat() || isWide) && value.largest() <= 100 &&
               value.error <= 1e-2 * std::max(1e-3, value.largest());
      },
      w.random().chance(0.8) ? ElementType::Float32 : ElementType::Int64, w.between(0, 4));
}

void makeArithmetic(ModelWriter &w) {
  static const std::vector<const char *> kOperators = {"Add", "Sub", "Mul", "Min", "Max", "Sum", "Mean"};
  const Value a = takeArithmetic(w);
  const Value b = takePartner(w, a);
  std::string op = w.oneOf(kOperators);
  if (!a.isFloat() && (op == "Sum" || op == "Mean"))
    op = "Add";
  Result result;
  if (op == "Mul")
    result = combine(a, b, {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high},
                     a.error * b.largest() + b.error * a.largest());
  else if (op == "Sub")
    result = combine(a, b, {a.low - b.high, a.high - b.low}, a.error + b.error);
  else if (op == "Min" || op == "Max")
    result = combine(a, b, {std::min(a.low, b.low), std::max(a.high, b.high)}, std::max(a.error, b.error));
  else if (op == "Mean")
    result = combine(a, b, {(a.low + b.low) / 2, (a.high + b.high) / 2}, a.error + b.error);
  else
    result = combine(a, b, {a.low + b.low, a.high + b.high}, a.error + b.error);
  if ((op == "Min" || op == "Max") && a.isExact() && b.isExact())
    result.error = 0;
  const bool swaps = op != "Sub" && w.random().chance(0.3);
  w.add(op, swaps ? std::vector<Value>{b, a} : std::vector<Value>{a, b}, result);
}

void makeDivision(ModelWriter &w) {
  const Value a = w.takeFloat(0, 4);
  const Value *found = w.find([&](const Value &value) {
    return value.type == a.type && value.low > 0.1 && value.high <= 1e3 && broadcasts(a.shape, value.shape) &&
           elementsOf(broadcast(a.shape, value.shape)) <= 3000;
  });
  const Value b = found ? *found : w.source(a.type, partnerShape(w, a.shape), 0.5, 2);
  w.add("Div", {a, b},
        combine(a, b, {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high},
                a.error / b.low + b.error * a.largest() / (b.low * b.low)));
}

void makePower(ModelWriter &w) {
  const Value a = w.takeFloat(0, 4, 10);
  if (w.random().chance(0.5)) {
    // A square, or a cube: of any sign.
    const double exponent = static_cast<double>(w.between(2, 3));
    const double most = std::pow(a.largest(), exponent);
    w.add("Pow", {a, w.scalar(exponent, a.type)},
          combine(a, a, {-most, most}, a.error * exponent * std::pow(std::max(a.largest(), 1.0), exponent - 1)));
    return;
  }
  if (a.low < 0.1)
    return;
  const Value b = w.source(a.type, partnerShape(w, a.shape), 0.5, 2);
  const double most = std::pow(std::max(a.high, 1.0), 2);
  w.add(
      "Pow", {a, b},
      combine(a, b, {0, most}, 2 * a.error * std::max(a.high, 1.0) / std::min(a.low, 1.0) + roundingOf(a.type, most)));
}

void makeIntegerDivision(ModelWriter &w) {
  const Value a = w.take(
      [](const Value &value) {
        return (value.type == ElementType::Int64 || value.type == ElementType::Int32) && value.largest() < 1e6;
      },
      ElementType::Int64, w.between(0, 4));
  const Value b = w.source(a.type, partnerShape(w, a.shape), 1, 7);
  const bool isMod = w.random().chance(0.5);
  Result result{a.type, broadcast(a.shape, b.shape), isMod ? 0 : -a.largest(), isMod ? 6 : a.largest(), 0};
  w.add(isMod ? "Mod" : "Div", {a, b}, result);
}

void makeComparison(ModelWriter &w) {
  static const std::vector<const char *> kOperators = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
  const Value a = w.take(
      [](const Value &value) {
        return value.isExact() && (value.type == ElementType::Float32 || value.type == ElementType::Int64 ||
                                   value.type == ElementType::Int32);
      },
      w.random().chance(0.5) ? ElementType::Float32 : ElementType::Int64, w.between(0, 4));
  const Value b = takePartner(w, a);
  if (!a.isExact() || !b.isExact())
    return;
  w.add(w.oneOf(kOperators), {a, b}, {ElementType::Bool, broadcast(a.shape, b.shape), 0, 1, 0});
}

void makeLogic(ModelWriter &w) {
  static const std::vector<const char *> kOperators = {"And", "Or", "Xor"};
  const Value a =
      w.take([](const Value &value) { return value.type == ElementType::Bool; }, ElementType::Bool, w.between(0, 4));
  const Value b = takePartner(w, a);
  w.add(w.oneOf(kOperators), {a, b}, {ElementType::Bool, broadcast(a.shape, b.shape), 0, 1, 0});
}

void makeWhere(ModelWriter &w) {
  const Value a = takeArithmetic(w);
  const Value b = takePartner(w, a);
  const Shape shape = broadcast(a.shape, b.shape);
  const Value *found = w.find([&](const Value &value) {
    return value.type == ElementType::Bool && broadcasts(shape, value.shape) &&
           elementsOf(broadcast(shape, value.shape)) <= 3000;
  });
  const Value condition = found ? *found : w.source(ElementType::Bool, partnerShape(w, shape), 0, 1);
  w.add("Where", {condition, a, b},
        {a.type, broadcast(shape, condition.shape), std::min(a.low, b.low), std::max(a.high, b.high),
         std::max(a.error, b.error)});
}

void makeBits(ModelWriter &w) {
  if (w.opset() < 18)
    return;
  static const std::vector<const char *> kOperators = {"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
  const Value a =
      w.take([](const Value &value) { return value.type == ElementType::Int64 && value.low >= 0 && value.high < 1e6; },
             ElementType::Int64, w.between(0, 4));
  const Value b = w.source(a.type, partnerShape(w, a.shape), 0, 15);
  double most = 16;
  while (most <= a.high)
    most *= 2;
  w.add(w.oneOf(kOperators), {a, b}, {a.type, broadcast(a.shape, b.shape), 0, most, 0});
}

} // namespace

std::vector<OperatorMaker> unaryMakers() {
  return {{"function", 12, makeFunction}, {"leaky", 2, makeLeaky}, {"clip", 2, makeClip},
          {"rounding", 2, makeRounding},  {"cast", 4, makeCast},   {"not", 1, makeNot},
          {"classify", 1, makeClassify}};
}

std::vector<OperatorMaker> binaryMakers() {
  return {{"arithmetic", 12, makeArithmetic},
          {"division", 3, makeDivision},
          {"power", 2, makePower},
          {"integer division", 2, makeIntegerDivision},
          {"comparison", 3, makeComparison},
          {"logic", 2, makeLogic},
          {"where", 4, makeWhere},
          {"bits", 1, makeBits}};
}

} // namespace sluice::bench
