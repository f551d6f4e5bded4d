//===- TilingRulesTest.cpp - Operators on parts against the whole ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "Reference.h"

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Models.h"
#include "dialects/Dataflow/Tiling/Tiling.h"
#include "sluice/Support/Rng.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;
using namespace sluice::test;

namespace {

/// A case, and the rules its last operator is to have, "; " between them.
struct RuleCase {
  Case program;
  std::string rules;
};

struct Use {
  TilingRule rule;
  int64_t parts;
};

/// One part of a tensor along a dimension, with its halo. The largest part fills the tensor. Behind another one is the
/// neutral element of a reduction, else its last element again.
Tensor takePart(const Tensor &whole, uint32_t dim, int64_t number, int64_t parts, Halo halo,
                std::optional<PartialKind> reduction) {
  Index shape(whole.shape());
  const int64_t extent = shape[dim], begin = extent * number / parts, end = extent * (number + 1) / parts;
  shape[dim] = (extent + parts - 1) / parts + halo.low + halo.high;
  const double neutral = !reduction || *reduction == PartialKind::Sum ? 0
                         : *reduction == PartialKind::Max             ? -std::numeric_limits<double>::infinity()
                                                                      : std::numeric_limits<double>::infinity();
  Tensor part(RankedTensorType::get(shape, whole.element()));
  double beyond = halo.fill == Halo::Fill::Zero        ? 0
                  : isa<FloatType>(whole.element())    ? -std::numeric_limits<double>::infinity()
                  : isUnsignedElement(whole.element()) ? 0
                                                       : -std::ldexp(1.0, 8 * elementBytes(whole.element()) - 1);
  forEachIndex(shape, [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    from[dim] += begin - halo.low;
    if (reduction && halo.empty() && from[dim] >= end) {
      part.set(part.linearOf(at), neutral);
      return;
    }
    from[dim] = std::min(from[dim], end + halo.high - 1);
    part.set(part.linearOf(at), from[dim] < 0 || from[dim] >= extent ? beyond : whole.at(from));
  });
  return part;
}

/// A strided part: its share of each block, one behind the other.
Tensor takeStrides(const Tensor &whole, AxisTiling split, int64_t number, int64_t parts) {
  Index shape(whole.shape());
  const int64_t width = shape[split.dim] / split.blocks, share = width / parts;
  shape[split.dim] /= parts;
  Tensor part(RankedTensorType::get(shape, whole.element()));
  forEachIndex(shape, [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    from[split.dim] = at[split.dim] / share * width + number * share + at[split.dim] % share;
    part.set(part.linearOf(at), whole.at(from));
  });
  return part;
}

Tensor joinStrides(const std::vector<Tensor> &parts, AxisTiling split) {
  Index shape(parts[0].shape());
  const int64_t share = shape[split.dim] / split.blocks, width = share * static_cast<int64_t>(parts.size());
  shape[split.dim] *= static_cast<int64_t>(parts.size());
  Tensor joined(RankedTensorType::get(shape, parts[0].element()));
  forEachIndex(shape, [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    const int64_t within = at[split.dim] % width;
    from[split.dim] = at[split.dim] / width * share + within % share;
    joined.set(joined.linearOf(at), parts[within / share].at(from));
  });
  return joined;
}

/// `extent`: of the whole, where parts differ.
Tensor join(const std::vector<Tensor> &parts, AxisTiling tiling, std::optional<int64_t> extent) {
  Tensor result = parts[0];
  if (tiling.isReplicated()) {
    for (const Tensor &part : parts)
      CHECK(difference(part, parts[0], 0) == "");
    return result;
  }
  if (tiling.isPartial()) {
    for (size_t p = 1; p < parts.size(); ++p)
      for (int64_t i = 0; i < result.size(); ++i) {
        double a = result.get(i), b = parts[p].get(i);
        result.set(i, tiling.reduction == PartialKind::Sum   ? a + b
                      : tiling.reduction == PartialKind::Max ? std::max(a, b)
                                                             : std::min(a, b));
      }
    return result;
  }
  if (tiling.blocks > 1)
    return joinStrides(parts, tiling);
  Index shape(parts[0].shape());
  const auto count = static_cast<int64_t>(parts.size()), all = extent.value_or(shape[tiling.dim] * count);
  shape[tiling.dim] = all;
  Tensor joined(RankedTensorType::get(shape, parts[0].element()));
  forEachIndex(shape, [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    int64_t part = 0;
    while (all * (part + 1) / count <= at[tiling.dim])
      ++part;
    from[tiling.dim] -= all * part / count;
    joined.set(joined.linearOf(at), parts[part].at(from));
  });
  return joined;
}

/// The operator's results by rules: the devices along each, one inside the other.
class Partition {
public:
  Partition(Operation *op, const std::vector<Use> &uses) : op(op), uses(uses) {}

  std::vector<Tensor> run(const std::vector<Tensor> &operands) { return runFrom(0, operands); }

private:
  std::vector<Tensor> runFrom(size_t level, const std::vector<Tensor> &operands) {
    if (level == uses.size())
      return runPart(operands);
    const Use &use = uses[level];
    std::vector<std::vector<Tensor>> parts(op->getNumResults());
    const bool isEven = use.rule.dividesEvenly(use.parts);
    std::optional<PartialKind> reduction;
    for (const AxisTiling &result : use.rule.results)
      if (result.isPartial() && !isEven)
        reduction = result.reduction;
    for (int64_t p = 0; p < use.parts; ++p) {
      std::vector<Tensor> own;
      for (size_t i = 0; i < operands.size(); ++i)
        own.push_back(use.rule.operands[i].blocks > 1 ? takeStrides(operands[i], use.rule.operands[i], p, use.parts)
                      : use.rule.operands[i].isSplit()
                          ? takePart(operands[i], use.rule.operands[i].dim, p, use.parts, use.rule.halo(i), reduction)
                          : operands[i]);
      numbers.push_back(p);
      std::vector<Tensor> results = runFrom(level + 1, own);
      numbers.pop_back();
      REQUIRE(results.size() == parts.size());
      for (size_t i = 0; i < results.size(); ++i)
        parts[i].push_back(results[i]);
    }
    std::vector<Tensor> joined;
    for (size_t i = 0; i < parts.size(); ++i)
      joined.push_back(join(parts[i], use.rule.results[i], isEven ? std::nullopt : std::optional(use.rule.divisor)));
    return joined;
  }

  std::vector<Tensor> runPart(const std::vector<Tensor> &operands) {
    Block block;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block);
    TensorBuilder build(builder, op->getLoc());
    Environment values;
    std::vector<PartRule> rules;
    auto scalar = RankedTensorType::get({}, builder.getI64Type());
    for (size_t i = 0; i < uses.size(); ++i) {
      Value number = block.addArgument(scalar, op->getLoc());
      Tensor tensor(scalar);
      tensor.set(0, static_cast<double>(numbers[i]));
      values.insert({number, tensor});
      rules.push_back({&uses[i].rule, uses[i].parts, number});
    }
    SmallVector<Value> arguments;
    for (size_t i = 0; i < operands.size(); ++i) {
      REQUIRE(operandPartType(op, i, rules) == operands[i].type);
      arguments.push_back(block.addArgument(operands[i].type, op->getLoc()));
      values.insert({arguments.back(), operands[i]});
    }
    SmallVector<Value> results = buildPart(op, build, rules, arguments);
    INFO(build.message());
    REQUIRE(results.size() == op->getNumResults());
    for (Operation &each : block)
      interpret(&each, values);
    std::vector<Tensor> tensors;
    for (auto [i, result] : llvm::enumerate(results)) {
      REQUIRE(result.getType() == resultPartType(op, i, rules));
      tensors.push_back(values.at(result));
    }
    return tensors;
  }

  Operation *op;
  const std::vector<Use> &uses;
  std::vector<int64_t> numbers; ///< Of the part, per use.
};

MLIRContext &sharedContext() {
  static MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDataflow(context);
  context.loadDialect<func::FuncDialect>();
  return context;
}

std::set<std::string> &checkedOperators() {
  static std::set<std::string> names;
  return names;
}

/// How many strided rules were compared with the whole, by operator.
std::map<std::string, int> &checkedStrides() {
  static std::map<std::string, int> counts;
  return counts;
}

/// All strided rules of up to 3 blocks of some tensor.
std::vector<TilingRule> stridedRules(Operation *op, llvm::ArrayRef<TilingRule> rules) {
  std::vector<TilingRule> list;
  SmallVector<Value> slots(op->getOperands());
  llvm::append_range(slots, op->getResults());
  for (unsigned slot = 0; slot < slots.size(); ++slot)
    for (int64_t dim = 0; dim < typeOf(slots[slot]).getRank(); ++dim)
      for (uint32_t blocks : {1, 2, 3})
        if (std::optional<TilingRule> rule = stridedRule(op, rules, slot, dim, blocks))
          list.push_back(std::move(*rule));
  return list;
}

OwningOpRef<ModuleOp> parse(const Case &program) {
  std::string text = "func.func @main(" + program.arguments + ") {\n" + program.body + "\nreturn\n}\n";
  INFO(text);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &sharedContext());
  REQUIRE(module);
  return module;
}

Operation *lastOperator(ModuleOp module) {
  return (*module.getOps<func::FuncOp>().begin()).getBody().front().getTerminator()->getPrevNode();
}

void checkRules(const RuleCase &c) {
  OwningOpRef<ModuleOp> module = parse(c.program);
  Operation *op = lastOperator(*module);
  INFO(c.program.arguments << "\n" << c.program.body);
  Block &block = *op->getBlock();
  checkedOperators().insert(op->getName().getStringRef().str());
  Environment values;
  Rng rng(7);
  for (auto [n, argument] : llvm::enumerate(block.getArguments())) {
    Fill fill = c.program.fills.empty() ? Fill() : c.program.fills[std::min(n, c.program.fills.size() - 1)];
    values.insert({argument, makeInput(argument.getType(), fill, rng)});
  }
  for (Operation &each : block.without_terminator())
    interpret(&each, values);
  std::vector<Tensor> operands;
  for (Value operand : op->getOperands())
    operands.push_back(values.at(operand));

  std::vector<TilingRule> rules = tilingRules(op);
  std::string names;
  for (size_t r = 1; r < rules.size(); ++r)
    names += (r > 1 ? "; " : "") + rules[r].name;
  CHECK(names == c.rules);

  auto check = [&](const std::vector<Use> &uses) {
    for (const Use &use : uses)
      UNSCOPED_INFO(use.rule.name << " on " << use.parts);
    std::vector<Tensor> results = Partition(op, uses).run(operands);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      double tolerance = c.program.tolerance ? c.program.tolerance : defaultTolerance(results[i].element());
      CHECK(difference(results[i], values.at(result), tolerance) == "");
    }
  };
  std::vector<Use> smallest, uneven;
  for (const TilingRule &rule : rules) {
    std::vector<int64_t> allowed;
    for (int64_t parts = 2; parts <= 6; ++parts)
      if (rule.allows(parts))
        allowed.push_back(parts);
    for (int64_t parts : allowed)
      check({{rule, parts}});
    const auto remains = llvm::find_if(allowed, [&](int64_t parts) { return !rule.dividesEvenly(parts); });
    if (remains != allowed.end())
      uneven.push_back({rule, *remains});
    if (!allowed.empty())
      smallest.push_back({rule, allowed[0]});
  }
  std::set<std::string> checked;
  for (const TilingRule &rule : stridedRules(op, rules))
    if (checked.insert(rule.name).second) {
      ++checkedStrides()[op->getName().stripDialect().str()];
      for (int64_t parts : {2, 3})
        if (rule.allows(parts))
          check({{rule, parts}});
    }
  for (const std::vector<Use> &inner : {smallest, uneven})
    for (const Use &a : smallest)
      for (const Use &b : inner)
        if (a.rule.name != b.rule.name)
          check({a, b});
}

/// "%x: tensor<..>, ..." and one operator on all arguments.
RuleCase one(const std::vector<std::string> &types, const std::string &before, const std::string &after,
             const std::string &result, const std::string &rules, const std::vector<Fill> &fills = {}) {
  std::string arguments, list, all;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string comma = i ? ", " : "";
    arguments += comma + "%a" + std::to_string(i) + ": " + types[i];
    list += comma + "%a" + std::to_string(i);
    all += comma + types[i];
  }
  bool isParenthesized = !after.empty() && after.back() == '(';
  std::string attributes = isParenthesized ? after.substr(0, after.size() - 1) : after;
  std::string body = "%y:RESULTS = dataflow." + before + " " + list + " " + attributes + " : " +
                     (isParenthesized ? "(" + all + ")" : all) + (result.empty() ? "" : " -> " + result);
  size_t results = std::count(result.begin(), result.end(), '>');
  body.replace(body.find(":RESULTS"), 8, ":" + std::to_string(std::max<size_t>(1, results)));
  return {{arguments, body, fills}, rules};
}

std::string f32(const std::vector<int64_t> &shape) { return tensorOf(shape, "f32"); }
std::string i64(const std::vector<int64_t> &shape) { return tensorOf(shape, "i64"); }

void checkElementwise() {
  const std::string both = "dim 0; dim 1";
  checkRules(one({f32({4, 6})}, "unary tanh", "", "", both));
  checkRules(one({f32({4, 6}), f32({6})}, "binary add", "", "", both));
  checkRules(one({f32({4, 6}), f32({4, 1})}, "binary sub", "", "", both));
  checkRules(one({f32({2, 1, 6}), f32({4, 1})}, "binary mul", "", "", "dim 0; dim 1; dim 2"));
  checkRules(one({f32({4, 5}), f32({})}, "binary max", "", "", both));
  checkRules(one({f32({4, 6}), f32({6})}, "compare lt", "", "", both));
  checkRules(one({tensorOf({4, 1}, "i1"), f32({6}), f32({4, 6})}, "select", "", "", both));
  checkRules(one({f32({4, 6})}, "cast", "", tensorOf({4, 6}, "i32"), both, {{-9, 9}}));
  checkRules(one({f32({4, 6})}, "bitcast", "", tensorOf({4, 6}, "i32"), both));
  checkRules(one({f32({4, 6})}, "copy", "", "", both));
  // What cannot be split: nothing, and extents without a divisor.
  checkRules(one({f32({})}, "unary neg", "", "", ""));
  checkRules(one({f32({0, 1})}, "unary neg", "", "", ""));
}

void checkMatmuls() {
  const std::string plain = "rows; columns; contraction";
  checkRules(one({f32({4, 6}), f32({6, 8})}, "matmul", "", "", plain));
  for (const char *body : {"dataflow.matmul %a transposed, %b : tensor<6x4xf32>, tensor<6x8xf32>",
                           "dataflow.matmul %a transposed, %b transposed : tensor<6x4xf32>, tensor<8x6xf32>"})
    checkRules({{std::string("%a: tensor<6x4xf32>, %b: tensor<") + (strstr(body, "8x6") ? "8x6" : "6x8") + "xf32>",
                 std::string("%y = ") + body},
                plain});
  checkRules(one({f32({2, 3, 4, 6}), f32({3, 6, 2})}, "matmul", "", "", "batch 0; batch 1; " + plain));
  checkRules(one({f32({2, 1, 4, 6}), f32({3, 6, 2})}, "matmul", "", "", "batch 0; batch 1; " + plain));
  checkRules(one({tensorOf({4, 6}, "i32"), tensorOf({6, 8}, "i32")}, "matmul", "", "", plain, {{-5, 5}}));
}

void checkProductsOfBytes() {
  auto product = [](const std::string &arguments, const std::string &operands, const std::string &types,
                    const std::string &rules) {
    std::vector<Fill> bytes(4, Fill{-20, 20});
    checkRules({{arguments, "%y = dataflow.integer_matmul " + operands + " : " + types, bytes}, rules});
  };
  product("%a: tensor<4x6xi8>, %b: tensor<6x8xi8>", "%a, %b", "(tensor<4x6xi8>, tensor<6x8xi8>) -> tensor<4x8xi32>",
          "rows; columns; contraction");
  product("%a: tensor<2x4x6xi8>, %b: tensor<6x8xi8>, %z: tensor<4x1xi32>, %w: tensor<8xi32>", "%a less %z, %b less %w",
          "(tensor<2x4x6xi8>, tensor<6x8xi8>, tensor<4x1xi32>, tensor<8xi32>) -> tensor<2x4x8xi32>",
          "batch 0; rows; columns; contraction");
  product("%a: tensor<2x4x6xi8>, %b: tensor<2x6x8xi8>, %w: tensor<i32>", "%a, %b less %w",
          "(tensor<2x4x6xi8>, tensor<2x6x8xi8>, tensor<i32>) -> tensor<2x4x8xi32>",
          "batch 0; rows; columns; contraction");
  auto conv = [](const std::string &groups, int64_t inputs, const std::string &rules) {
    const std::string weight = tensorOf({6, inputs, 3, 3}, "i8");
    checkRules({{"%x: tensor<2x4x6x8xi8>, %w: " + weight + ", %z: tensor<i32>, %v: tensor<6xi32>",
                 "%y = dataflow.integer_conv %x less %z, %w less %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] "
                 "{groups = " +
                     groups + " : i64} : (tensor<2x4x6x8xi8>, " + weight +
                     ", tensor<i32>, tensor<6xi32>) -> tensor<2x6x6x8xi32>",
                 std::vector<Fill>(4, Fill{-20, 20})},
                rules});
  };
  conv("1", 4, "batch; output channels; input channels");
  conv("2", 2, "batch");
}

void checkProductsByBlocks() {
  auto product = [](const std::string &lhs, const std::string &weight, const std::string &scales,
                    const std::string &zeros, const std::string &attributes, const std::string &result,
                    const std::string &rules) {
    const std::string more = zeros.empty() ? "" : ", " + zeros;
    checkRules({{"%a: " + lhs + ", %w: " + weight + ", %s: " + scales + (zeros.empty() ? "" : ", %z: " + zeros),
                 "%y = dataflow.block_matmul %a, %w scales %s" + std::string(zeros.empty() ? "" : " less %z") + " " +
                     attributes + " : (" + lhs + ", " + weight + ", " + scales + more + ") -> " + result,
                 {{-1, 1}, {0, 255}, {0.1, 1}, {0, 255}}},
                rules});
  };
  const std::string bytes = tensorOf({6, 4, 8}, "ui8"), scales = f32({6, 4});
  product(f32({4, 64}), bytes, scales, "", "bits 4 block 16", f32({4, 6}), "rows; columns; contraction");
  product(f32({2, 4, 64}), bytes, scales, tensorOf({6, 2}, "ui8"), "bits 4 block 16", f32({2, 4, 6}),
          "batch 0; rows; columns; contraction");
  product(f32({4, 64}), bytes, scales, f32({6, 4}), "bits 4 block 16", f32({4, 6}), "rows; columns; contraction");
  auto round = [](std::vector<int64_t> shape, const std::string &rules) {
    checkRules({{"%x: " + f32(shape), "%y = dataflow.round_blocks %x block 16 : " + f32(shape), {{-1, 1}}}, rules});
  };
  round({4, 64}, "dimension 0; blocks");
  round({2, 3, 40}, "dimension 0; dimension 1");
  // Parts of the depth would end within a block, or within a byte of zero points.
  product(f32({4, 62}), bytes, scales, "", "bits 4 block 16", f32({4, 6}), "rows; columns");
  product(f32({4, 48}), tensorOf({6, 3, 8}, "ui8"), f32({6, 3}), tensorOf({6, 2}, "ui8"), "bits 4 block 16",
          f32({4, 6}), "rows; columns");
}

void checkConvolutions() {
  const std::string plain = "batch; output channels; input channels";
  const std::string spatial = "; spatial 0; spatial 1";
  auto conv = [](std::vector<int64_t> in, std::vector<int64_t> weight, std::vector<int64_t> out, std::string attributes,
                 std::string rules) {
    return one({f32(in), f32(weight)}, "conv", attributes, f32(out), rules);
  };
  checkRules(conv({2, 4, 6, 8}, {6, 4, 3, 3}, {2, 6, 6, 8}, "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]",
                  plain + spatial));
  checkRules(conv({2, 4, 8, 12}, {6, 4, 3, 3}, {2, 6, 4, 6}, "strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1]",
                  plain + spatial));
  checkRules(conv({2, 4, 8, 12}, {6, 4, 3, 3}, {2, 6, 8, 12}, "strides [1, 1] pads [2, 2, 2, 2] dilations [2, 2]",
                  plain + spatial));
  // 1 by 1 with a stride: a part's last elements are read by nobody.
  checkRules(conv({2, 4, 8, 8}, {6, 4, 1, 1}, {2, 6, 4, 4}, "strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1]",
                  plain + spatial));
  // Uneven padding; even kernels.
  checkRules(conv({2, 4, 8, 8}, {6, 4, 2, 4}, {2, 6, 8, 8}, "strides [1, 1] pads [0, 2, 1, 1] dilations [1, 1]",
                  plain + spatial));
  // Windows that do not step as parts do.
  checkRules(
      conv({2, 4, 8, 9}, {6, 4, 3, 3}, {2, 6, 6, 4}, "strides [1, 2] pads [0, 0, 0, 0] dilations [1, 1]", plain));
  checkRules(conv({2, 4, 6, 8}, {6, 2, 3, 3}, {2, 6, 6, 8},
                  "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64}", "batch; groups" + spatial));
  checkRules(conv({2, 4, 6, 8}, {4, 1, 3, 3}, {2, 4, 6, 8},
                  "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 4 : i64}", "batch; groups" + spatial));
  checkRules(conv({2, 6, 8, 4}, {6, 4, 3, 3}, {2, 6, 8, 6},
                  "strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {layout = #dataflow<layout channels_last>}",
                  plain + spatial));
  checkRules(conv({2, 4, 8}, {6, 4, 3}, {2, 6, 8}, "strides [1] pads [1, 1] dilations [1]", plain + "; spatial 0"));
}

void checkConvolutionGradients() {
  const std::string plain = "batch; output channels; input channels";
  const std::string spatial = "; spatial 0; spatial 1";
  auto back = [](std::vector<int64_t> in, std::vector<int64_t> weight, std::vector<int64_t> out, std::string attributes,
                 std::string rules) {
    return one({f32(in), f32(weight)}, "conv_transpose", attributes + "(", f32(out), rules);
  };
  checkRules(back({2, 6, 6, 8}, {6, 4, 3, 3}, {2, 4, 6, 8}, "strides [1, 1] pads_low [1, 1] dilations [1, 1]",
                  plain + spatial));
  checkRules(back({2, 6, 4, 6}, {6, 4, 3, 4}, {2, 4, 8, 12}, "strides [2, 2] pads_low [1, 1] dilations [1, 1]",
                  plain + spatial));
  checkRules(back({2, 6, 6, 8}, {6, 4, 3, 3}, {2, 4, 6, 8}, "strides [1, 1] pads_low [2, 0] dilations [2, 1]",
                  plain + spatial));
  checkRules(back({2, 6, 6, 8}, {6, 2, 3, 3}, {2, 4, 6, 8},
                  "strides [1, 1] pads_low [1, 1] dilations [1, 1] {groups = 2 : i64}", "batch; groups" + spatial));
  checkRules(back({2, 6, 4, 4}, {6, 4, 3, 3}, {2, 4, 6, 6}, "strides [1, 1] pads_low [0, 0] dilations [1, 1]", plain));

  auto weight = [](std::vector<int64_t> in, std::vector<int64_t> gradient, std::vector<int64_t> out,
                   std::string attributes, std::string rules) {
    return one({f32(in), f32(gradient)}, "conv_weight_gradient", attributes + "(", f32(out), rules);
  };
  checkRules(weight({2, 4, 6, 8}, {2, 6, 6, 8}, {6, 4, 3, 3}, "strides [1, 1] pads_low [1, 1] dilations [1, 1]",
                    plain + spatial));
  checkRules(weight({2, 4, 8, 12}, {2, 6, 4, 6}, {6, 4, 3, 3}, "strides [2, 2] pads_low [1, 1] dilations [1, 1]",
                    plain + spatial));
  checkRules(weight({2, 4, 6, 8}, {2, 6, 6, 8}, {6, 2, 3, 3},
                    "strides [1, 1] pads_low [1, 1] dilations [1, 1] {groups = 2 : i64}", "batch; groups" + spatial));
}

void checkPooling() {
  const std::string plain = "batch; channels", spatial = "; spatial 0; spatial 1";
  const std::string in = f32({2, 4, 8, 12}), half = f32({2, 4, 4, 6});
  const std::string overlapping = "kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1]";
  const std::string apart = "kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]";
  for (const char *kind : {"pool max", "pool lp"}) {
    checkRules(one({in}, kind, overlapping, half, plain + spatial));
    checkRules(one({in}, kind, apart, half, plain + spatial));
  }
  // All values below the zeros that a wrong border would bring.
  checkRules(one({in}, "pool max", overlapping, half, plain + spatial, {{-9, -1}}));
  checkRules(one({tensorOf({2, 4, 8, 12}, "i8")}, "pool max", overlapping, tensorOf({2, 4, 4, 6}, "i8"),
                 plain + spatial, {{-9, -1}}));
  checkRules(one({in}, "pool average", apart, half, plain + spatial));
  checkRules(one({in}, "pool average", overlapping + " {count_include_pad = true}", half, plain + spatial));
  checkRules(one({in}, "pool average", overlapping, half, plain));
  checkRules(one({f32({2, 8, 12, 4})}, "pool max", overlapping + " {layout = #dataflow<layout channels_last>}",
                 f32({2, 4, 6, 4}), plain + spatial));

  auto gradient = [&](const std::string &kind, const std::string &saved, const std::string &window,
                      const std::string &rules) {
    return RuleCase{{"%g: " + half + ", %x: " + in + ", %y: " + half,
                     "%r = dataflow.pool_gradient " + kind + " %g" + (saved.empty() ? "" : " saved " + saved) + " " +
                         window + " : (" + half + (saved.empty() ? "" : ", " + in) +
                         (saved == "%x, %y" ? ", " + half : "") + ") -> " + in,
                     {{-1, 1}, {0.5, 2}}},
                    rules};
  };
  for (auto [kind, saved] : {std::pair{"average", ""}, {"max", "%x"}, {"lp", "%x, %y"}}) {
    checkRules(gradient(kind, saved, apart, plain + spatial));
    checkRules(gradient(kind, saved, overlapping, plain));
  }
}

void checkVision() {
  checkRules(one({f32({2, 4, 3, 6})}, "resize linear", "scales [1.0, 1.0, 2.0, 1.0] half_pixel round_prefer_floor",
                 f32({2, 4, 6, 6}), "dim 0; dim 1; dim 3"));
  checkRules(one({f32({2, 4, 5, 6}), f32({2, 4, 6, 2})}, "grid_sample linear zeros", "", "",
                 "batch; channels; position 0; position 1", {{-1, 1}, {-2, 7}}));
  checkRules(one({f32({2, 4, 8, 8}), f32({6, 4}), i64({6})}, "roi_align",
                 "{height = 2 : i64, width = 2 : i64, sampling_ratio = 2 : i64, spatial_scale = 1.0 : f64}",
                 f32({6, 4, 2, 2}), "regions; channels", {{-1, 1}, {0, 7}, {0, 1}}));
}

void checkTrees() {
  auto i32 = [](std::vector<int64_t> shape) { return tensorOf(shape, "i32"); };
  const std::vector<std::string> operands{f32({4, 3}), i32({2, 3}), f32({2}), i32({2}), i32({4}), i32({3}), f32({3})};
  std::string types, names[] = {"%x", "%n", "%t", "%r", "%l", "%g", "%w"}, arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    types += (i ? ", " : "") + operands[i];
    arguments += (i ? ", " : "") + names[i] + ": " + operands[i];
  }
  const std::string head = "dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64} : (";
  const std::vector<Fill> fills{{-1, 1}, {0, 4}, {-1, 1}, {0, 4}, {0, 3}, {0, 1}, {-1, 1}};
  checkRules({Case{arguments, head + types + ") -> " + f32({4, 2}), fills}, "rows"});
  checkRules(one({f32({4, 6})}, "couple_probabilities", "", f32({4, 4}), "rows", {{0.1, 0.9}}));
}

void checkReductions() {
  for (const char *kind : {"sum", "mean", "max", "min", "l1", "sum_square"}) {
    checkRules(one({f32({4, 6, 2})}, std::string("reduce ") + kind, "axes [1]", f32({4, 2}), "dim 0; dim 1; dim 2"));
    checkRules(one({f32({4, 6, 2})}, std::string("reduce ") + kind, "axes [0, 1] {keep_dims = true}", f32({1, 1, 2}),
                   "dim 0; dim 1; dim 2"));
  }
  for (const char *kind : {"prod", "l2", "log_sum", "log_sum_exp"})
    checkRules(
        one({f32({4, 6, 2})}, std::string("reduce ") + kind, "axes [1]", f32({4, 2}), "dim 0; dim 2", {{0.5, 2}}));
  // Means of whole numbers are rounded, and so are those of parts.
  checkRules(one({tensorOf({4, 6}, "ui64")}, "reduce max", "axes [1]", tensorOf({4}, "ui64"), "dim 0", {{0, 9}}));
  checkRules(one({i64({4, 6})}, "reduce mean", "axes [1]", i64({4}), "dim 0", {{-9, 9}}));
  checkRules(one({f32({4, 6, 2})}, "arg_reduce", "{axis = 1 : i64}", i64({4, 1, 2}), "dim 0; dim 2"));
  checkRules(one({f32({4, 6, 2})}, "arg_reduce", "{axis = 1 : i64, keep_dims = false}", i64({4, 2}), "dim 0; dim 2"));
  checkRules(one({f32({4, 6, 2})}, "cumsum", "{axis = 1 : i64}", f32({4, 6, 2}), "dim 0; dim 2"));
  checkRules(one({f32({4, 6, 2})}, "topk", "{k = 3 : i64, axis = 1 : i64}", f32({4, 3, 2}) + ", " + i64({4, 3, 2}),
                 "dim 0; dim 2"));
  checkRules(one({f32({4, 6, 2})}, "softmax", "{axis = 1 : i64}", f32({4, 6, 2}), "dim 0; dim 2"));
  checkRules(one({f32({4, 6})}, "softmax", "{axis = 1 : i64, log = true}", f32({4, 6}), "dim 0"));
  checkRules(one({f32({4, 2, 6}), f32({6}), f32({2, 6})}, "layer_norm", "{axis = 2 : i64, epsilon = 1.0e-5 : f64}",
                 f32({4, 2, 6}), "dim 0; dim 1"));
  checkRules(one({f32({4, 2, 6}), f32({2, 6})}, "layer_norm", "{axis = 1 : i64, epsilon = 1.0e-5 : f64}",
                 f32({4, 2, 6}), "dim 0"));
  checkRules(one({f32({2, 4, 6}), f32({4}), f32({4})}, "instance_norm", "{epsilon = 1.0e-5 : f64}", f32({2, 4, 6}),
                 "batch; channels"));
  checkRules(one({f32({2, 4, 6}), f32({4}), f32({4}), f32({4}), f32({4})}, "batch_norm", "{epsilon = 1.0e-5 : f64}",
                 f32({2, 4, 6}), "channels; dim 0; dim 2", {{0.5, 2}}));
  checkRules(one({f32({2, 4, 6}), f32({4}), f32({4})}, "batch_norm_train", "{epsilon = 1.0e-5 : f64}",
                 f32({2, 4, 6}) + ", " + f32({4}) + ", " + f32({4}), "channels"));
  checkRules(one({f32({2, 4, 6, 2})}, "lrn", "{size = 3 : i64, alpha = 0.1 : f64, beta = 0.75 : f64, bias = 1.0 : f64}",
                 f32({2, 4, 6, 2}), "dim 0; dim 2; dim 3"));
}

/// Parts of a dimension that fused weights have in blocks.
void checkFusedParts() {
  auto names = [](const std::string &arguments, const std::string &body) {
    OwningOpRef<ModuleOp> module = parse({arguments, body});
    Operation *op = lastOperator(*module);
    std::set<std::string> list;
    for (const TilingRule &rule : stridedRules(op, tilingRules(op)))
      list.insert(rule.name);
    return llvm::join(list, "; ");
  };
  auto check = [&](const std::string &arguments, const std::string &body, const std::string &rules,
                   const std::string &strided) {
    checkRules({{arguments, body}, rules});
    CHECK(names(arguments, body) == strided);
  };
  check("%a: tensor<2x12xf32>", "%y = dataflow.slice %a from [0, 4] by [1, 1] : tensor<2x12xf32> -> tensor<2x4xf32>",
        "dim 0", "dim 1 in 3 blocks; dim 1 in 6 blocks");
  check("%a: tensor<2x12xf32>", "%y = dataflow.slice %a from [0, 3] by [1, 1] : tensor<2x12xf32> -> tensor<2x4xf32>",
        "dim 0", "");
  check("%a: tensor<2x12xf32>", "%y = dataflow.slice %a from [0, 4] by [1, 2] : tensor<2x12xf32> -> tensor<2x4xf32>",
        "dim 0", "");
  check("%a: tensor<8x2xf32>, %b: tensor<4x2xf32>",
        "%y = dataflow.concat %a, %b {axis = 0 : i64} : tensor<8x2xf32>, tensor<4x2xf32> -> tensor<12x2xf32>", "dim 1",
        "dim 0 in 3 blocks; dim 0 in 6 blocks");
  check("%a: tensor<4x2xf32>, %v: tensor<f32>",
        "%y = dataflow.pad constant %a, %v low [4, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<12x2xf32>", "dim 1",
        "dim 0 in 3 blocks; dim 0 in 6 blocks");
  check("%a: tensor<4x2xf32>, %v: tensor<f32>",
        "%y = dataflow.pad edge %a, %v low [4, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<12x2xf32>", "dim 1", "");
  // The dimension of 4 heads behind 3 fused parts, and the 2 elements of each head, which are 12 blocks.
  check("%a: tensor<5x24xf32>", "%y = dataflow.reshape %a : tensor<5x24xf32> -> tensor<5x3x4x2xf32>", "dim 0; dim 1",
        "dim 1 in 12 blocks; dim 1 in 3 blocks; dim 1 in 6 blocks");
  check("%a: tensor<5x4x6x2xf32>", "%y = dataflow.reshape %a : tensor<5x4x6x2xf32> -> tensor<5x4x12xf32>",
        "dim 0; dim 1; dim 2", "dim 1 in 2 blocks; dim 2 in 2 blocks; dim 2 in 3 blocks; dim 3");
}

void checkMovement() {
  checkRules(one({f32({2, 4, 6})}, "transpose", "[2, 0, 1]", "", "dim 2; dim 0; dim 1"));
  checkRules(one({f32({2, 4, 6})}, "reshape", "", f32({8, 6}), "dim 0; dim 2"));
  // Attention heads, into and out of the channels.
  checkRules(one({f32({2, 3, 8})}, "reshape", "", f32({2, 3, 4, 2}), "dim 0; dim 1; dim 2"));
  checkRules(one({f32({2, 3, 4, 2})}, "reshape", "", f32({6, 8}), "dim 0; dim 2"));
  checkRules(one({f32({1, 6, 4})}, "reshape", "", f32({6, 1, 4}), "dim 1; dim 2"));
  checkRules(one({f32({4, 6})}, "reshape", "", f32({6, 4}), "dim 0"));
  checkRules(one({f32({4, 3})}, "reshape", "", f32({3, 4}), ""));
  checkRules(one({f32({0, 3})}, "reshape", "", f32({3, 0}), ""));
  checkRules(one({f32({4, 1})}, "expand", "", f32({2, 4, 6}), "dim 0; dim 1; dim 2"));
  checkRules(one({f32({2, 3})}, "tile", "", f32({2, 12}), "dim 0; dim 1"));
  checkRules(one({f32({4, 6})}, "slice", "from [0, 1] by [1, 2]", f32({4, 2}), "dim 0"));
  checkRules(one({f32({4, 6})}, "slice", "from [3, 0] by [-1, 1]", f32({4, 6}), "dim 1"));
  checkRules(one({f32({4, 2, 6}), f32({4, 3, 6})}, "concat", "{axis = 1 : i64}", f32({4, 5, 6}), "dim 0; dim 2"));
  checkRules(one({f32({4, 6}), f32({})}, "pad constant", "low [0, 1](", f32({4, 9}), "dim 0"));
  checkRules(one({f32({4, 6}), f32({1})}, "pad edge", "low [-1, 0](", f32({4, 6}), "dim 1"));
}

void checkGathers() {
  // Indices of both signs; where the reference takes them, some out of range.
  const std::vector<Fill> six = {{-1, 1}, {-6, 5}}, four = {{-1, 1}, {-4, 3}}, strays = {{-1, 1}, {-9, 9}, {-1, 1}};
  checkRules(one({f32({6, 4}), i64({2, 3})}, "gather", "{axis = 0 : i64}", f32({2, 3, 4}),
                 "data 1; indices 0; indices 1; gathered", six));
  checkRules(one({f32({2, 6, 4}), tensorOf({4}, "i32")}, "gather", "{axis = 1 : i64}", f32({2, 4, 4}),
                 "data 0; data 2; indices 0; gathered", six));
  checkRules(one({tensorOf({6, 4}, "i1"), i64({2})}, "gather", "{axis = 0 : i64}", tensorOf({2, 4}, "i1"),
                 "data 1; indices 0", six));
  checkRules(one({f32({6, 4}), i64({2, 4})}, "gather_elements", "{axis = 0 : i64}", f32({2, 4}), "dim 0; dim 1", six));
  checkRules(one({f32({6, 4}), i64({6, 2})}, "gather_elements", "{axis = 1 : i64}", f32({6, 2}), "dim 0; dim 1", four));
  checkRules(one({f32({6, 4}), i64({2, 2})}, "gather_elements", "{axis = 0 : i64}", f32({2, 2}), "dim 0", six));
  checkRules(one({f32({3, 4, 6}), i64({2, 4, 2})}, "gather_nd", "{batch_dims = 0 : i64}", f32({2, 4, 6}),
                 "indices 0; indices 1; data 2", strays));
  checkRules(one({f32({2, 4, 6}), i64({2, 3, 1})}, "gather_nd", "{batch_dims = 1 : i64}", f32({2, 3, 6}),
                 "indices 0; indices 1; data 2", strays));

  auto zeros = [](const std::string &op, const std::string &updates, const std::string &indices,
                  const std::string &attributes, const std::string &rules) {
    return RuleCase{{"%i: " + indices + ", %u: " + updates,
                     "%z = dataflow.constant dense<0.0> : tensor<f32>\n"
                     "%d = dataflow.expand %z : tensor<f32> -> tensor<6x4xf32>\n"
                     "%y = dataflow." +
                         op + " add %d, %i, %u " + attributes + " : tensor<6x4xf32>, " + indices + ", " + updates +
                         " -> tensor<6x4xf32>",
                     {{-6, 5}, {-1, 1}}},
                    rules};
  };
  checkRules(zeros("scatter_elements", f32({2, 4}), i64({2, 4}), "{axis = 0 : i64}", "dim 0; dim 1"));
  checkRules(zeros("scatter_nd", f32({2, 6, 4}), i64({2, 6, 1}), "", "data 1; updates 0; updates 1"));
  // Updates of elements that were something before do not add up.
  for (const char *kind : {"add", "none", "max"}) {
    checkRules(one({f32({6, 4}), i64({2, 4}), f32({2, 4})}, std::string("scatter_elements ") + kind, "{axis = 0 : i64}",
                   f32({6, 4}), "dim 1", strays));
    checkRules(one({f32({6, 4}), i64({2, 1}), f32({2, 4})}, std::string("scatter_nd ") + kind, "", f32({6, 4}),
                   "data 1", strays));
  }
  checkRules(one({i64({4, 6}), f32({2})}, "one_hot", "{depth = 5 : i64, axis = 1 : i64}", f32({4, 5, 6}),
                 "dim 0; dim 1", {{-7, 7}, {-1, 1}}));
}

} // namespace

TEST_CASE("what is laid out for a device has no parts", "[dataflow][tiling]") {
  for (const Case &c : {Case{"%a: tensor<4x6xf32>, %b: tensor<2x6x4xf32>",
                             "%y = dataflow.matmul %a, %b packed 8 : tensor<4x6xf32>, tensor<2x6x4xf32>"},
                        Case{"%x: tensor<2x6x6x4xf32>, %w: tensor<1x1x1x1x4x8xf32>",
                             "%y = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {layout = "
                             "#dataflow<layout channels_last>, packed_channels = 8 : i64, kernel = array<i64: 1, 1>} : "
                             "tensor<2x6x6x4xf32>, tensor<1x1x1x1x4x8xf32> -> tensor<2x6x6x8xf32>"}}) {
    OwningOpRef<ModuleOp> module = parse(c);
    CHECK(tilingRules(lastOperator(*module)).size() == 1);
  }
}

TEST_CASE("operators on parts equal the whole, all that have rules", "[dataflow][tiling]") {
  checkElementwise();
  checkMatmuls();
  checkProductsOfBytes();
  checkProductsByBlocks();
  checkConvolutions();
  checkConvolutionGradients();
  checkPooling();
  checkVision();
  checkTrees();
  checkReductions();
  checkMovement();
  checkFusedParts();
  checkGathers();
  for (const char *name :
       {"unary", "binary", "matmul", "reshape", "transpose", "slice", "concat", "pad", "conv", "reduce"}) {
    INFO(name);
    CHECK(checkedStrides()[name] > 0);
  }
  for (RegisteredOperationName name : sharedContext().getRegisteredOperations()) {
    bool hasRules = name.hasInterface<TilingRulesOpInterface>() || name.hasInterface<ElementwiseOpInterface>();
    // The other end of a message is in another program: e2e/pipeline-gpt.test runs messages of parts.
    const bool isMessage =
        name.getStringRef() == SendOp::getOperationName() || name.getStringRef() == ReceiveOp::getOperationName();
    if (!hasRules || isMessage)
      continue;
    INFO(name.getStringRef().str());
    CHECK(checkedOperators().count(name.getStringRef().str()));
  }
}
