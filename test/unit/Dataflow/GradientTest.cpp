//===- GradientTest.cpp - Gradients against central differences -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ElementwiseTests.h"
#include "Reference.h"

#include "dialects/Dataflow/Models.h"
#include "passes/Passes.h"
#include "sluice/Support/Rng.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;
using namespace sluice::test;

namespace {

struct GradientCase {
  std::string arguments; ///< "%x: tensor<2x3xf64>, ..."; floats are differentiated by.
  std::string body;      ///< Defines %y.
  std::string result;    ///< The type of %y.
  std::vector<Fill> fills = {};
};

MLIRContext &sharedContext() {
  static MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDataflow(context);
  context.loadDialect<func::FuncDialect>();
  return context;
}

/// A function whose results are those of the terminator, run by the reference.
struct Program {
  OwningOpRef<ModuleOp> module;

  explicit Program(const std::string &text) {
    INFO(text);
    module = parseSourceString<ModuleOp>(text, &sharedContext());
    REQUIRE(module);
  }
  func::FuncOp main() { return *module->getOps<func::FuncOp>().begin(); }
  bool differentiate(unsigned result) {
    PassManager manager(&sharedContext());
    DifferentiatePassOptions options;
    options.result = result;
    manager.addNestedPass<func::FuncOp>(createDifferentiatePass(options));
    return succeeded(manager.run(*module));
  }
  std::vector<Tensor> run(const std::vector<Tensor> &inputs) {
    Environment values;
    Block &block = main().getBody().front();
    for (auto [argument, input] : llvm::zip(block.getArguments(), inputs))
      values.insert({argument, input});
    for (Operation &op : block.without_terminator())
      interpret(&op, values);
    std::vector<Tensor> results;
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(values.at(value));
    return results;
  }
};

bool isFloat(Type type) { return isa<FloatType>(cast<RankedTensorType>(type).getElementType()); }

/// d/dx of sum(weight * y) by the pass, and by central differences.
void checkGradient(const GradientCase &c, uint64_t seed) {
  std::string text = "func.func @main(" + c.arguments + ", %weight: " + c.result + ") -> " + c.result + " {\n" +
                     c.body + "\n%weighted = dataflow.binary mul %y, %weight : " + c.result + ", " + c.result +
                     "\nreturn %weighted : " + c.result + "\n}\n";
  INFO(text);
  Program program(text);
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (auto [n, type] : llvm::enumerate(program.main().getArgumentTypes())) {
    Fill fill = c.fills.empty() ? Fill() : c.fills[std::min(n, c.fills.size() - 1)];
    bool isWeight = n + 1 == program.main().getNumArguments();
    Tensor &tensor = inputs.emplace_back(type);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, isWeight        ? 2 * rng.uniform() - 1
                    : isFloat(type) ? fill.low + (fill.high - fill.low) * rng.uniform()
                    : tensor.element().isInteger(1)
                        ? static_cast<double>(rng.below(2))
                        : std::floor(fill.low + (fill.high + 1 - fill.low) * rng.uniform()));
  }
  auto total = [&](Program &what) {
    double sum = 0;
    Tensor y = what.run(inputs).front();
    for (int64_t i = 0; i < y.size(); ++i)
      sum += y.get(i);
    return sum;
  };
  Program plain(text);
  REQUIRE(program.differentiate(0));
  std::vector<Tensor> results = program.run(inputs);
  size_t next = 1;
  for (Tensor &input : inputs) {
    if (!isFloat(input.type))
      continue;
    const Tensor &gradient = results[next++];
    REQUIRE(gradient.type == input.type);
    for (int64_t probe = 0; probe < std::min<int64_t>(input.size(), 6); ++probe) {
      int64_t i = input.size() <= 6 ? probe : static_cast<int64_t>(rng.below(input.size()));
      double x = input.get(i), h = 1e-6 * std::max(1.0, std::abs(x));
      input.set(i, x + h);
      double above = total(plain);
      input.set(i, x - h);
      double below = total(plain);
      input.set(i, x);
      double slope = (above - below) / (2 * h), got = gradient.get(i);
      INFO("by argument " << &input - inputs.data() << ", element " << i);
      CHECK(std::abs(got - slope) <= 2e-6 * std::max(1.0, std::abs(slope)));
    }
  }
}

std::string f64(const std::vector<int64_t> &shape) { return tensorOf(shape, "f64"); }

std::string text(const std::vector<int64_t> &list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i)
    out += (i ? ", " : "") + std::to_string(list[i]);
  return out + "]";
}

std::vector<int64_t> randomShape(Rng &rng, size_t rank, int64_t most = 4) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i)
    shape.push_back(1 + static_cast<int64_t>(rng.below(most)));
  return shape;
}

/// Some of a shape's extents 1, some leading ones dropped.
std::vector<int64_t> broadcastable(Rng &rng, std::vector<int64_t> shape) {
  shape.erase(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(rng.below(shape.size() + 1)));
  for (int64_t &extent : shape)
    if (rng.chance(0.3))
      extent = 1;
  return shape;
}

constexpr uint64_t kSeeds = 4;

} // namespace

TEST_CASE("gradients of every kind of unary", "[gradient][kinds]") {
  for (const UnaryTest &test : kUnaryTests)
    for (double alpha : {0.3, -0.4}) {
      const UnaryRow &row = kUnaryRows[test.value];
      if (!admitsFloats(row.elements) || row.isTest || (test.isAlphaPositive && alpha < 0))
        continue;
      std::string type = f64({3, 5});
      checkGradient({"%x: " + type,
                     std::string("%y = dataflow.unary ") + row.name + " %x " + parametersOf(alpha, 0.5) + " : " + type,
                     type,
                     {test.slopeFill}},
                    7);
    }
}

TEST_CASE("gradients of every kind of binary, with broadcasting", "[gradient][kinds]") {
  for (const BinaryTest &test : kBinaryTests)
    for (uint64_t seed = 0; admitsFloats(kBinaryRows[test.value].elements) && seed < kSeeds; ++seed) {
      Rng rng(seed);
      std::vector<int64_t> shape = randomShape(rng, 1 + rng.below(3));
      std::vector<int64_t> other = broadcastable(rng, shape);
      bool swap = rng.chance(0.5);
      std::string a = f64(swap ? other : shape), c = f64(swap ? shape : other);
      checkGradient({"%a: " + a + ", %c: " + c,
                     std::string("%y = dataflow.binary ") + kBinaryRows[test.value].name + " %a, %c : " + a + ", " + c,
                     f64(shape),
                     {test.lhsSlopeFill, test.rhsSlopeFill}},
                    seed);
    }
  // Both branches of select, and a type changed on the way.
  checkGradient({"%p: tensor<4xi1>, %a: tensor<3x4xf64>, %c: tensor<f64>",
                 "%s = dataflow.select %p, %a, %c : tensor<4xi1>, tensor<3x4xf64>, tensor<f64>\n"
                 "%y = dataflow.copy %s : tensor<3x4xf64>",
                 f64({3, 4})},
                1);
  checkGradient({"%x: tensor<5xf64>",
                 "%n = dataflow.cast %x : tensor<5xf64> -> tensor<5xi64>\n"
                 "%f = dataflow.cast %n : tensor<5xi64> -> tensor<5xf64>\n"
                 "%y = dataflow.binary mul %x, %f : tensor<5xf64>, tensor<5xf64>",
                 f64({5}),
                 {{1.2, 1.8}}},
                1);
}

TEST_CASE("gradients of matrix products", "[gradient]") {
  for (int flags = 0; flags < 4; ++flags)
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Rng rng(seed * 4 + flags);
      bool ta = flags & 1, tc = flags & 2;
      std::vector<int64_t> batch = randomShape(rng, rng.below(3), 3);
      std::vector<int64_t> a = seed % 2 ? batch : broadcastable(rng, batch),
                           c = seed % 2 ? broadcastable(rng, batch) : batch;
      auto mkn = randomShape(rng, 3);
      a.insert(a.end(), {ta ? mkn[1] : mkn[0], ta ? mkn[0] : mkn[1]});
      c.insert(c.end(), {tc ? mkn[2] : mkn[1], tc ? mkn[1] : mkn[2]});
      batch.insert(batch.end(), {mkn[0], mkn[2]});
      checkGradient({"%a: " + f64(a) + ", %c: " + f64(c),
                     std::string("%y = dataflow.matmul %a ") + (ta ? "transposed" : "") + ", %c " +
                         (tc ? "transposed" : "") + " : " + f64(a) + ", " + f64(c),
                     f64(batch)},
                    seed);
    }
}

TEST_CASE("gradients of convolutions", "[gradient]") {
  for (uint64_t seed = 0; seed < 3 * kSeeds; ++seed) {
    Rng rng(seed);
    size_t spatial = 1 + rng.below(2);
    int64_t groups = 1 + static_cast<int64_t>(rng.below(2)), inputs = groups * (1 + static_cast<int64_t>(rng.below(2))),
            outputs = groups * (1 + static_cast<int64_t>(rng.below(2)));
    std::vector<int64_t> x{2, inputs}, w{outputs, inputs / groups}, y{2, outputs}, strides, low, high, dilations;
    std::vector<int64_t> tw{inputs, outputs / groups}, ty{2, outputs}, tlow;
    for (size_t d = 0; d < spatial; ++d) {
      strides.push_back(1 + static_cast<int64_t>(rng.below(3)));
      dilations.push_back(1 + static_cast<int64_t>(rng.below(2)));
      low.push_back(static_cast<int64_t>(rng.below(3)));
      high.push_back(static_cast<int64_t>(rng.below(3)));
      x.push_back(5 + static_cast<int64_t>(rng.below(4)));
      w.push_back(1 + static_cast<int64_t>(rng.below(3)));
      tw.push_back(w.back());
      int64_t reach = dilations[d] * (w.back() - 1) + 1;
      y.push_back((x.back() + low[d] + high[d] - reach) / strides[d] + 1);
      // Cut at the low end, cut or extended at the high one.
      tlow.push_back(static_cast<int64_t>(rng.below(2)));
      ty.push_back((x.back() - 1) * strides[d] + reach - tlow[d] + static_cast<int64_t>(rng.below(3)) - 1);
    }
    std::vector<int64_t> pads = low;
    pads.insert(pads.end(), high.begin(), high.end());
    std::string group = " {groups = " + std::to_string(groups) + " : i64}";
    checkGradient({"%x: " + f64(x) + ", %w: " + f64(w),
                   "%y = dataflow.conv %x, %w strides " + text(strides) + " pads " + text(pads) + " dilations " +
                       text(dilations) + group + " : " + f64(x) + ", " + f64(w) + " -> " + f64(y),
                   f64(y)},
                  seed);
    checkGradient({"%x: " + f64(x) + ", %w: " + f64(tw),
                   "%y = dataflow.conv_transpose %x, %w strides " + text(strides) + " pads_low " + text(tlow) +
                       " dilations " + text(dilations) + group + " : (" + f64(x) + ", " + f64(tw) + ") -> " + f64(ty),
                   f64(ty)},
                  seed);
    checkGradient({"%x: " + f64(x) + ", %g: " + f64(y),
                   "%y = dataflow.conv_weight_gradient %x, %g strides " + text(strides) + " pads_low " + text(low) +
                       " dilations " + text(dilations) + group + " : (" + f64(x) + ", " + f64(y) + ") -> " + f64(w),
                   f64(w)},
                  seed);
  }
}

TEST_CASE("gradients of pooling by its input", "[gradient]") {
  for (const char *kind : {"max", "average", "lp"})
    for (const char *attributes : {"", " {count_include_pad = true}", " {p = 3 : i64}"})
      for (const char *window : {"kernel [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 2]",
                                 "kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]"}) {
        bool first = std::string(window).find("[3, 2]") != std::string::npos;
        std::string x = f64({1, 2, 6, 6}), y = first ? f64({1, 2, 3, 5}) : f64({1, 2, 3, 3});
        checkGradient(
            {"%x: " + x,
             std::string("%y = dataflow.pool ") + kind + " %x " + window + attributes + " : " + x + " -> " + y, y},
            3);
      }
}

TEST_CASE("gradients of reductions", "[gradient]") {
  for (const char *kind : {"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"})
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Rng rng(seed);
      std::vector<int64_t> shape = randomShape(rng, 1 + rng.below(3)), axes, result;
      bool keep = rng.chance(0.5);
      for (size_t i = 0; i < shape.size(); ++i) {
        bool reduced = rng.chance(0.5);
        if (reduced)
          axes.push_back(static_cast<int64_t>(i));
        if (!reduced || keep)
          result.push_back(reduced ? 1 : shape[i]);
      }
      checkGradient({"%x: " + f64(shape),
                     std::string("%y = dataflow.reduce ") + kind + " %x axes " + text(axes) +
                         (keep ? " {keep_dims = true}" : "") + " : " + f64(shape) + " -> " + f64(result),
                     f64(result),
                     {{0.3, 2}}},
                    seed);
    }
  for (const char *attributes : {"", ", exclusive = true", ", reverse = true", ", exclusive = true, reverse = true"})
    checkGradient(
        {"%x: tensor<2x5xf64>",
         std::string("%y = dataflow.cumsum %x {axis = 1 : i64") + attributes + "} : tensor<2x5xf64> -> tensor<2x5xf64>",
         f64({2, 5})},
        1);
  checkGradient({"%x: tensor<3x6xf64>",
                 "%y, %i = dataflow.topk %x {k = 2 : i64, axis = 1 : i64} : tensor<3x6xf64> -> tensor<3x2xf64>, "
                 "tensor<3x2xi64>",
                 f64({3, 2})},
                1);
}

TEST_CASE("a product's gradient where factors are zero", "[gradient]") {
  Program program("func.func @main(%x: tensor<3x3xf64>) -> tensor<3xf64> {\n"
                  "%y = dataflow.reduce prod %x axes [1] : tensor<3x3xf64> -> tensor<3xf64>\n"
                  "return %y : tensor<3xf64>\n}\n");
  REQUIRE(program.differentiate(0));
  Tensor x(program.main().getArgumentTypes().front());
  const double values[] = {2, 3, 5, 0, 3, 5, 0, 0, 5}, expected[] = {15, 10, 6, 15, 0, 0, 0, 0, 0};
  for (int64_t i = 0; i < 9; ++i)
    x.set(i, values[i]);
  Tensor gradient = program.run({x})[1];
  for (int64_t i = 0; i < 9; ++i)
    CHECK(gradient.get(i) == expected[i]);
}

/// The gradients of the sum of `y`, whose type is the arguments'.
static std::vector<std::vector<double>> gradientsAt(const std::string &body, const std::vector<std::vector<double>> &at,
                                                    const std::string &element = "f64") {
  std::string type = tensorOf({static_cast<int64_t>(at.front().size())}, element), arguments;
  for (size_t i = 0; i < at.size(); ++i)
    arguments += (i ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": " + type;
  std::string text = "func.func @main(" + arguments + ") -> " + type + " {\n" + body + " : " + type +
                     (at.size() > 1 ? ", " + type : "") + "\nreturn %y : " + type + "\n}\n";
  Program program(text);
  REQUIRE(program.differentiate(0));
  std::vector<Tensor> inputs;
  for (const std::vector<double> &values : at) {
    inputs.emplace_back(program.main().getArgumentTypes()[inputs.size()]);
    for (size_t i = 0; i < values.size(); ++i)
      inputs.back().set(static_cast<int64_t>(i), values[i]);
  }
  std::vector<Tensor> results = program.run(inputs);
  std::vector<std::vector<double>> gradients;
  for (size_t n = 1; n < results.size(); ++n) {
    std::vector<double> &list = gradients.emplace_back();
    for (int64_t i = 0; i < results[n].size(); ++i)
      list.push_back(results[n].get(i));
  }
  return gradients;
}

TEST_CASE("a power's gradient where its base or its exponent is zero", "[gradient]") {
  const double infinity = std::numeric_limits<double>::infinity();
  // As torch.pow's backward: by the base zero where the exponent is; by the exponent zero where the base is and the
  // exponent is not negative.
  auto gradients =
      gradientsAt("%y = dataflow.binary pow %a, %b", {{0, 0, 0, 2, -0.0, 0, -2, 0}, {0, 1, 2, 0, 0, 0.5, 2, -1}});
  const std::vector<double> byBase = {0, 1, 0, 0, 0, infinity, -4, -infinity};
  const std::vector<double> byExponent = {0, 0, 0, std::log(2.0), 0, 0, NAN, -infinity};
  for (size_t i = 0; i < byBase.size(); ++i) {
    INFO("element " << i);
    CHECK(gradients[0][i] == byBase[i]);
    CHECK((std::isnan(byExponent[i]) ? std::isnan(gradients[1][i]) : gradients[1][i] == byExponent[i]));
  }
  // A constant exponent.
  CHECK(
      gradientsAt("%c = dataflow.constant dense<0.0> : tensor<2xf64>\n%n = dataflow.binary pow %a, %c : tensor<2xf64>, "
                  "tensor<2xf64>\n%y = dataflow.copy %n",
                  {{0, 3}})[0] == std::vector<double>{0, 0});
}

TEST_CASE("derivatives at kinks are those of one side, or between", "[gradient]") {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Kink {
    const char *kind;
    std::vector<double> at, expected;
  };
  const std::vector<Kink> kinks = {{"abs", {0, -0.0}, {0, 0}},
                                   {"sqrt", {0}, {infinity}},
                                   {"log", {0}, {infinity}},
                                   {"reciprocal", {0}, {-infinity}},
                                   {"relu", {0, -0.0}, {0, 0}},
                                   {"leaky_relu", {0}, {1}},
                                   {"elu", {0}, {1}},
                                   {"celu", {0}, {1}},
                                   {"hard_sigmoid", {-1, 1}, {0, 0}},
                                   {"asin", {1, -1}, {infinity, infinity}},
                                   {"acos", {1, -1}, {-infinity, -infinity}},
                                   {"acosh", {1}, {infinity}},
                                   {"atanh", {1, -1}, {infinity, infinity}},
                                   {"shrink", {0.5, -0.5}, {0, 0}},
                                   {"thresholded_relu", {0.5}, {0}},
                                   {"sign", {0}, {0}},
                                   {"round", {0.5}, {0}}};
  for (const Kink &kink : kinks) {
    INFO(kink.kind);
    CHECK(gradientsAt(std::string("%y = dataflow.unary ") + kink.kind + " %a {alpha = 0.5 : f64, beta = 0.5 : f64}",
                      {kink.at})[0] == kink.expected);
  }
  // Of equals the left one has it all.
  for (const char *kind : {"max", "min"}) {
    auto gradients = gradientsAt(std::string("%y = dataflow.binary ") + kind + " %a, %b", {{2, 0}, {2, -0.0}});
    CHECK(gradients[0] == std::vector<double>{1, 1});
    CHECK(gradients[1] == std::vector<double>{0, 0});
  }
}

TEST_CASE("derivatives in half precision do not overflow on the way", "[gradient]") {
  // 300^2 is infinite in f16, and f16's largest number's square in f32 is not.
  for (const char *kind : {"gelu_tanh", "gelu", "mish", "softsign", "acosh", "asinh", "atan"}) {
    INFO(kind);
    const double wanted = gradientsAt(std::string("%y = dataflow.unary ") + kind + " %a", {{300}})[0][0];
    const double got = gradientsAt(std::string("%y = dataflow.unary ") + kind + " %a", {{300}}, "f16")[0][0];
    // Half of f16's least number, below its normal ones.
    CHECK(std::abs(got - wanted) <= std::max(1e-3 * std::abs(wanted), 0x1p-25));
  }
}

TEST_CASE("derivatives of two operands in half precision do not overflow on the way", "[gradient]") {
  // g * y, a^-2 and a^3 are beyond f16's greatest number; the derivatives are not.
  const struct {
    const char *body;
    double a, b;
  } cases[] = {
      {"%s = dataflow.constant dense<300.0> : TYPE\n%d = dataflow.binary div %a, %b : TYPE, TYPE\n"
       "%y = dataflow.binary mul %d, %s",
       600, 2},
      {"%s = dataflow.constant dense<0.0078125> : TYPE\n%p = dataflow.binary pow %a, %b : TYPE, TYPE\n"
       "%y = dataflow.binary mul %p, %s",
       0x1p-10, -1},
      {"%c = dataflow.constant dense<4.0> : TYPE\n%s = dataflow.constant dense<0.0078125> : TYPE\n"
       "%p = dataflow.binary pow %a, %c : TYPE, TYPE\n%q = dataflow.binary mul %p, %s : TYPE, TYPE\n"
       "%y = dataflow.binary add %q, %b",
       50, 1},
  };
  for (const auto &c : cases) {
    INFO(c.body);
    auto gradientsIn = [&](const std::string &element) {
      std::string body = c.body;
      const std::string type = tensorOf({1}, element);
      for (size_t at = body.find("TYPE"); at != std::string::npos; at = body.find("TYPE"))
        body.replace(at, 4, type);
      return gradientsAt(body, {{c.a}, {c.b}}, element);
    };
    const auto wanted = gradientsIn("f64"), got = gradientsIn("f16");
    for (size_t i = 0; i < wanted.size(); ++i)
      CHECK(std::abs(got[i][0] - wanted[i][0]) <= 4e-3 * std::abs(wanted[i][0]));
  }
}

TEST_CASE("a norm's gradient at the zero vector is zero", "[gradient]") {
  for (const char *kind : {"l1", "l2", "sum_square"}) {
    Program program(std::string("func.func @main(%x: tensor<2x3xf64>) -> tensor<2xf64> {\n%y = dataflow.reduce ") +
                    kind + " %x axes [1] : tensor<2x3xf64> -> tensor<2xf64>\nreturn %y : tensor<2xf64>\n}\n");
    REQUIRE(program.differentiate(0));
    Tensor x(program.main().getArgumentTypes().front());
    for (int64_t i = 0; i < 6; ++i)
      x.set(i, 0);
    Tensor gradient = program.run({x})[1];
    for (int64_t i = 0; i < 6; ++i)
      CHECK(gradient.get(i) == 0);
  }
}

TEST_CASE("gradients of softmax and normalisations", "[gradient]") {
  for (const char *log : {"false", "true"})
    for (int axis : {0, 1, 2})
      checkGradient({"%x: tensor<3x4x2xf64>",
                     "%y = dataflow.softmax %x {axis = " + std::to_string(axis) + " : i64, log = " + log +
                         "} : tensor<3x4x2xf64> -> tensor<3x4x2xf64>",
                     f64({3, 4, 2}),
                     {{-2, 2}}},
                    5);
  std::string x = f64({2, 3, 4, 5}), c = f64({3});
  checkGradient({"%x: " + x + ", %s: " + f64({4, 5}) + ", %b: " + f64({5}),
                 "%y = dataflow.layer_norm %x, %s, %b {axis = 2 : i64, epsilon = 0.01 : f64} : " + x + ", " +
                     f64({4, 5}) + ", " + f64({5}) + " -> " + x,
                 x},
                1);
  checkGradient(
      {"%x: " + x + ", %s: " + f64({5}),
       "%y = dataflow.layer_norm %x, %s {axis = 3 : i64, epsilon = 0.01 : f64} : " + x + ", " + f64({5}) + " -> " + x,
       x},
      2);
  checkGradient(
      {"%x: " + x + ", %s: " + c + ", %b: " + c,
       "%y = dataflow.instance_norm %x, %s, %b {epsilon = 0.01 : f64} : " + x + ", " + c + ", " + c + " -> " + x, x},
      3);
  checkGradient({"%x: " + x + ", %s: " + c + ", %b: " + c + ", %m: " + c + ", %v: " + c,
                 "%y = dataflow.batch_norm %x, %s, %b, %m, %v {epsilon = 0.01 : f64} : " + x + ", " + c + ", " + c +
                     ", " + c + ", " + c + " -> " + x,
                 x,
                 {{0.5, 2}}},
                4);
  // Each result, and all three.
  const std::string train = "%r, %m, %v = dataflow.batch_norm_train %x, %s, %b {epsilon = 0.01 : f64} : " + x + ", " +
                            c + ", " + c + " -> " + x + ", " + c + ", " + c + "\n";
  const std::string arguments = "%x: " + x + ", %s: " + c + ", %b: " + c;
  checkGradient({arguments, train + "%y = dataflow.copy %r : " + x, x}, 5);
  checkGradient({arguments, train + "%y = dataflow.copy %m : " + c, c}, 6);
  checkGradient({arguments, train + "%y = dataflow.copy %v : " + c, c}, 7);
  checkGradient({arguments,
                 train + "%mv = dataflow.binary mul %m, %v : " + c + ", " + c + "\n%a = dataflow.reshape %mv : " + c +
                     " -> " + f64({3, 1, 1}) + "\n%y = dataflow.binary mul %r, %a : " + x + ", " + f64({3, 1, 1}),
                 x},
                8);
  for (int size : {2, 3, 4})
    checkGradient({"%x: " + f64({2, 6, 3}),
                   "%y = dataflow.lrn %x {size = " + std::to_string(size) +
                       " : i64, alpha = 0.7 : f64, beta = 0.75 : f64, bias = 1.5 : f64} : " + f64({2, 6, 3}) + " -> " +
                       f64({2, 6, 3}),
                   f64({2, 6, 3}),
                   {{-2, 2}}},
                  9);
}

TEST_CASE("gradients of what moves data", "[gradient]") {
  auto check = [](const std::string &arguments, const std::string &body, const std::string &result, Fill indices = {}) {
    checkGradient({arguments, "%y = dataflow." + body, result, {{-1, 1}, indices, {-1, 1}}}, 11);
  };
  check("%x: " + f64({2, 3, 4}), "transpose %x [2, 0, 1] : " + f64({2, 3, 4}), f64({4, 2, 3}));
  check("%x: " + f64({2, 6}), "reshape %x : " + f64({2, 6}) + " -> " + f64({3, 4}), f64({3, 4}));
  check("%x: " + f64({3, 1}), "expand %x : " + f64({3, 1}) + " -> " + f64({2, 3, 4}), f64({2, 3, 4}));
  check("%x: " + f64({2, 3}), "tile %x : " + f64({2, 3}) + " -> " + f64({4, 9}), f64({4, 9}));
  check("%x: " + f64({7, 9}), "slice %x from [1, 2] by [1, 3] : " + f64({7, 9}) + " -> " + f64({3, 2}), f64({3, 2}));
  check("%x: " + f64({7, 9}), "slice %x from [6, 7] by [-2, -1] : " + f64({7, 9}) + " -> " + f64({3, 5}), f64({3, 5}));
  check("%x: " + f64({2, 2}) + ", %z: " + f64({2, 3}),
        "concat %x, %z {axis = 1 : i64} : " + f64({2, 2}) + ", " + f64({2, 3}) + " -> " + f64({2, 5}), f64({2, 5}),
        {-1, 1});
  check("%x: " + f64({3, 4}) + ", %v: " + f64({}),
        "pad constant %x, %v low [1, -1] : (" + f64({3, 4}) + ", " + f64({}) + ") -> " + f64({6, 4}), f64({6, 4}),
        {-1, 1});
  std::string pick = tensorOf({2, 2}, "i64");
  check("%x: " + f64({5, 3}) + ", %i: " + pick,
        "gather %x, %i {axis = 0 : i64} : " + f64({5, 3}) + ", " + pick + " -> " + f64({2, 2, 3}), f64({2, 2, 3}),
        {-5, 4});
  check("%x: " + f64({2, 5, 3}) + ", %i: " + pick,
        "gather %x, %i {axis = 1 : i64} : " + f64({2, 5, 3}) + ", " + pick + " -> " + f64({2, 2, 2, 3}),
        f64({2, 2, 2, 3}), {-5, 4});
  check("%x: " + f64({2, 5}) + ", %i: " + pick,
        "gather_elements %x, %i {axis = 1 : i64} : " + f64({2, 5}) + ", " + pick + " -> " + f64({2, 2}), f64({2, 2}),
        {-5, 4});
  std::string tuples = tensorOf({2, 3, 1}, "i64");
  check("%x: " + f64({4, 2}) + ", %i: " + tuples,
        "gather_nd %x, %i : " + f64({4, 2}) + ", " + tuples + " -> " + f64({2, 3, 2}), f64({2, 3, 2}), {-4, 3});
  check("%x: " + f64({2, 4, 2}) + ", %i: " + tuples,
        "gather_nd %x, %i {batch_dims = 1 : i64} : " + f64({2, 4, 2}) + ", " + tuples + " -> " + f64({2, 3, 2}),
        f64({2, 3, 2}), {-4, 3});
  // Few places for many updates: some are overwritten.
  for (const char *kind : {"none", "add"}) {
    std::string places = tensorOf({2, 6}, "i64"), several = tensorOf({5, 1}, "i64");
    check("%x: " + f64({2, 3}) + ", %i: " + places + ", %u: " + f64({2, 6}),
          std::string("scatter_elements ") + kind + " %x, %i, %u {axis = 1 : i64} : " + f64({2, 3}) + ", " + places +
              ", " + f64({2, 6}) + " -> " + f64({2, 3}),
          f64({2, 3}), {-3, 2});
    check("%x: " + f64({3, 2}) + ", %i: " + several + ", %u: " + f64({5, 2}),
          std::string("scatter_nd ") + kind + " %x, %i, %u : " + f64({3, 2}) + ", " + several + ", " + f64({5, 2}) +
              " -> " + f64({3, 2}),
          f64({3, 2}), {-3, 2});
  }
}

TEST_CASE("tanh's first four derivatives", "[gradient]") {
  Program program("func.func @main(%x: tensor<9xf64>) -> tensor<9xf64> {\n%y = dataflow.unary tanh %x : tensor<9xf64>\n"
                  "return %y : tensor<9xf64>\n}\n");
  // Each application appends the derivative of the last result.
  for (unsigned order = 0; order < 4; ++order)
    REQUIRE(program.differentiate(order));
  Tensor x(program.main().getArgumentTypes().front());
  for (int64_t i = 0; i < 9; ++i)
    x.set(i, -2 + 0.5 * static_cast<double>(i));
  std::vector<Tensor> results = program.run({x});
  REQUIRE(results.size() == 5);
  for (int64_t i = 0; i < 9; ++i) {
    double t = std::tanh(x.get(i)), s = 1 - t * t;
    const double closed[] = {t, s, -2 * t * s, -2 * s * (1 - 3 * t * t), 8 * t * s * (2 - 3 * t * t)};
    for (size_t order = 0; order < 5; ++order)
      CHECK(results[order].get(i) == Approx(closed[order]).epsilon(1e-12).margin(1e-13));
  }
}

TEST_CASE("values read twice, paths that meet, and what has no influence", "[gradient]") {
  checkGradient({"%x: tensor<4xf64>, %unused: tensor<2xf64>",
                 "%a = dataflow.unary sin %x : tensor<4xf64>\n%p = dataflow.binary mul %a, %x : tensor<4xf64>, "
                 "tensor<4xf64>\n%q = dataflow.binary mul %p, %p : tensor<4xf64>, tensor<4xf64>\n"
                 "%y = dataflow.binary add %q, %a : tensor<4xf64>, tensor<4xf64>",
                 f64({4})},
                1);
}

TEST_CASE("transposed convolutions compute the same as convolutions", "[gradient]") {
  for (uint64_t seed = 0; seed < 48; ++seed) {
    Rng rng(seed);
    size_t spatial = 1 + rng.below(2);
    // Half of them in one group and without dilation, as most are that go by phases.
    const bool isCommon = seed % 2 == 0;
    int64_t groups = isCommon ? 1 : 1 + static_cast<int64_t>(rng.below(3)),
            inputs = groups * (1 + static_cast<int64_t>(rng.below(3))),
            outputs = groups * (1 + static_cast<int64_t>(rng.below(3)));
    std::vector<int64_t> x{2, inputs}, w{inputs, outputs / groups}, y{2, outputs}, strides, low, dilations;
    bool isPointwise = rng.chance(0.3);
    for (size_t d = 0; d < spatial; ++d) {
      strides.push_back(1 + static_cast<int64_t>(rng.below(3)));
      dilations.push_back(isCommon ? 1 : 1 + static_cast<int64_t>(rng.below(2)));
      low.push_back(static_cast<int64_t>(rng.below(3)));
      x.push_back(3 + static_cast<int64_t>(rng.below(5)));
      w.push_back(isPointwise ? 1 : 1 + static_cast<int64_t>(rng.below(4)));
      int64_t reach = dilations[d] * (w.back() - 1) + 1;
      y.push_back(
          std::max<int64_t>(1, (x.back() - 1) * strides[d] + reach - low[d] + static_cast<int64_t>(rng.below(4)) - 2));
    }
    std::string source =
        "func.func @main(%x: " + tensorOf(x, "f32") + ", %w: " + tensorOf(w, "f32") + ") -> " + tensorOf(y, "f32") +
        " {\n%y = dataflow.conv_transpose %x, %w strides " + text(strides) + " pads_low " + text(low) + " dilations " +
        text(dilations) + " {groups = " + std::to_string(groups) + " : i64} : (" + tensorOf(x, "f32") + ", " +
        tensorOf(w, "f32") + ") -> " + tensorOf(y, "f32") + "\nreturn %y : " + tensorOf(y, "f32") + "\n}\n";
    INFO(source);
    Program plain(source), laidOut(source);
    PassManager manager(&sharedContext());
    AssignLayoutPassOptions options;
    options.dynamic = true;
    manager.addNestedPass<func::FuncOp>(createAssignLayoutPass(options));
    REQUIRE(succeeded(manager.run(*laidOut.module)));
    auto remaining = laidOut.main().getOps<ConvTransposeOp>();
    CHECK(remaining.begin() == remaining.end());
    std::vector<Tensor> arguments;
    for (Type type : plain.main().getArgumentTypes()) {
      Tensor &tensor = arguments.emplace_back(type);
      for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.set(i, 2 * rng.uniform() - 1);
    }
    Tensor expected = plain.run(arguments).front(), got = laidOut.run(arguments).front();
    for (int64_t i = 0; i < expected.size(); ++i)
      CHECK(got.get(i) == Approx(expected.get(i)).margin(1e-5));
  }
}

TEST_CASE("every operator with a gradient is differentiated here", "[gradient]") {
  // The list is the dialect's own: an operator that gains a gradient must gain a case above.
  const std::set<std::string> covered = {"unary",
                                         "binary",
                                         "select",
                                         "cast",
                                         "copy",
                                         "matmul",
                                         "conv",
                                         "conv_transpose",
                                         "conv_weight_gradient",
                                         "pool",
                                         "reduce",
                                         "cumsum",
                                         "topk",
                                         "softmax",
                                         "layer_norm",
                                         "instance_norm",
                                         "batch_norm",
                                         "batch_norm_train",
                                         "lrn",
                                         "transpose",
                                         "reshape",
                                         "expand",
                                         "tile",
                                         "slice",
                                         "concat",
                                         "pad",
                                         "gather",
                                         "gather_elements",
                                         "gather_nd",
                                         "scatter_elements",
                                         "scatter_nd"};
  std::set<std::string> having;
  for (RegisteredOperationName name : sharedContext().getRegisteredOperations())
    if (name.getDialectNamespace() == "dataflow" && name.hasInterface<GradientOpInterface>())
      having.insert(name.stripDialect().str());
  CHECK(having == covered);
}

TEST_CASE("a path through an operator without gradient names it", "[gradient]") {
  std::string said;
  ScopedDiagnosticHandler handler(&sharedContext(), [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  Program reflect("func.func @main(%x: tensor<4xf64>) -> tensor<6xf64> {\n%c = dataflow.constant dense<0.0> : "
                  "tensor<f64>\n%y = dataflow.pad reflect %x, %c low [1] : (tensor<4xf64>, tensor<f64>) -> "
                  "tensor<6xf64>\nreturn %y : tensor<6xf64>\n}\n");
  CHECK_FALSE(reflect.differentiate(0));
  CHECK(said.find("'reflect' has no gradient") != std::string::npos);
  said.clear();
  Program none("func.func @main(%x: tensor<1x1x2x2xf64>) -> tensor<1x1x4x4xf64> {\n%y = dataflow.resize nearest %x "
               "scales [1.0, 1.0, 2.0, 2.0] asymmetric floor : tensor<1x1x2x2xf64> -> tensor<1x1x4x4xf64>\n"
               "return %y : tensor<1x1x4x4xf64>\n}\n");
  CHECK_FALSE(none.differentiate(0));
  CHECK(said.find("dataflow.resize' op has no gradient") != std::string::npos);
}
