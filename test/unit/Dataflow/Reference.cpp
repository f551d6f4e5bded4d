//===- Reference.cpp - Tensors, groups, contractions, scatters ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Reference.h"

#include "llvm/ADT/APFloat.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Tensor::Tensor(Type type)
    : type(cast<RankedTensorType>(type)), bytes(tensorBytes(type)), width(elementBytes(element())),
      count(elementCount(type)) {
  coding = isUnsignedElement(element()) ? Coding::Unsigned : Coding::Signed;
  if (auto known = dyn_cast<FloatType>(element())) {
    semantics = &known.getFloatSemantics();
    coding = known.isF32() ? Coding::F32 : known.isF64() ? Coding::F64 : Coding::OtherFloat;
  }
}

template <typename T>
static double readAs(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

double Tensor::get(int64_t linear) const {
  const char *from = &bytes[linear * width];
  if (coding == Coding::F32)
    return readAs<float>(from);
  if (coding == Coding::F64)
    return readAs<double>(from);
  uint64_t raw = 0;
  std::memcpy(&raw, from, width);
  const auto bits = static_cast<unsigned>(width * 8);
  if (coding == Coding::Unsigned)
    return static_cast<double>(raw);
  if (coding == Coding::Signed)
    return static_cast<double>(llvm::SignExtend64(raw, bits));
  llvm::APFloat value(*semantics, llvm::APInt(bits, raw));
  bool loses;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

void Tensor::set(int64_t linear, double value) {
  uint64_t raw = 0;
  if (coding == Coding::F32) {
    const auto narrowed = static_cast<float>(value);
    std::memcpy(&raw, &narrowed, sizeof narrowed);
  } else if (coding == Coding::F64) {
    std::memcpy(&raw, &value, sizeof value);
  } else if (coding == Coding::OtherFloat) {
    llvm::APFloat narrowed(value);
    bool loses;
    narrowed.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
    raw = narrowed.bitcastToAPInt().getZExtValue();
  } else {
    raw = value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  }
  std::memcpy(&bytes[linear * width], &raw, width);
}

int64_t Tensor::linearOf(llvm::ArrayRef<int64_t> index) const {
  const llvm::ArrayRef<int64_t> extents = shape();
  if (index.size() != extents.size())
    FAIL("the reference indexes by another rank");
  int64_t linear = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= extents[d])
      FAIL("the reference reads outside dimension " << d);
    linear = linear * extents[d] + index[d];
  }
  return linear;
}

double Tensor::broadcastAt(llvm::ArrayRef<int64_t> index) const {
  const llvm::ArrayRef<int64_t> extents = shape();
  Index own(index.take_back(extents.size()));
  for (size_t d = 0; d < own.size(); ++d)
    if (extents[d] == 1)
      own[d] = 0;
  return at(own);
}

void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> fn) {
  if (llvm::is_contained(shape, 0))
    return;
  Index index(shape.size(), 0);
  while (true) {
    fn(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

Value sourceOf(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto group = dyn_cast<FusedOp>(argument.getOwner()->getParentOp());
    if (!group)
      break;
    value = group->getOperand(argument.getArgNumber());
  }
  return value;
}

static void interpretMatmul(MatmulOp op, Environment &values) {
  const Tensor &lhs = values.at(op.getLhs());
  Value rhsValue = op.getRhs();
  bool transposeRhs = op.getTransposeRhs();
  if (op.getPackedN()) {
    auto pack = sourceOf(rhsValue).getDefiningOp<PackMatmulRhsOp>();
    REQUIRE(pack);
    rhsValue = pack.getRhs();
    transposeRhs = pack.getTransposed();
  }
  const Tensor &rhs = values.at(rhsValue);
  Tensor out(op.getType());
  int64_t depth = *(lhs.shape().end() - (op.getTransposeLhs() ? 2 : 1));
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    double sum = 0;
    auto read = [&](const Tensor &tensor, int64_t row, int64_t column, bool transposed) {
      Index index(at.drop_back(2).take_back(tensor.shape().size() - 2));
      for (size_t d = 0; d < index.size(); ++d)
        if (tensor.shape()[d] == 1)
          index[d] = 0;
      index.append({transposed ? column : row, transposed ? row : column});
      return tensor.at(index);
    };
    for (int64_t k = 0; k < depth; ++k)
      sum += read(lhs, at[at.size() - 2], k, op.getTransposeLhs()) * read(rhs, k, at.back(), transposeRhs);
    out.set(out.linearOf(at), sum);
  });
  values.insert({op.getResult(), std::move(out)});
}

static void interpretConv(ConvOp op, Environment &values) {
  const Tensor &input = values.at(op.getInput());
  Value weightValue = op.getWeight();
  if (op.getPackedChannels()) {
    Operation *pack = sourceOf(weightValue).getDefiningOp();
    REQUIRE(isa_and_nonnull<PackConvWeightOp, PackWinogradWeightOp>(pack));
    weightValue = pack->getOperand(0);
  }
  const Tensor &weight = values.at(weightValue);
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = input.shape().size() - 2, channelAt = last ? spatial + 1 : 1, spatialAt = last ? 1 : 2;
  // Of a filter, which is a tap less one dimension.
  const bool weightLast = op.getWeightLayout() == Layout::channels_last;
  const size_t tapChannel = weightLast ? spatial : 0, tapSpatial = weightLast ? 0 : 1;
  Tensor out(op.getType());
  int64_t outPerGroup = out.shape()[channelAt] / static_cast<int64_t>(op.getGroups());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    int64_t m = at[channelAt];
    double sum = 0;
    forEachIndex(weight.shape().drop_front(1), [&](llvm::ArrayRef<int64_t> tap) {
      Index from(at), filter{m};
      from[channelAt] = m / outPerGroup * weight.shape()[1 + tapChannel] + tap[tapChannel];
      for (size_t d = 0; d < spatial; ++d) {
        from[spatialAt + d] =
            at[spatialAt + d] * op.getStrides()[d] - op.getPads()[d] + tap[tapSpatial + d] * op.getDilations()[d];
        if (from[spatialAt + d] < 0 || from[spatialAt + d] >= input.shape()[spatialAt + d])
          return;
      }
      filter.append(tap.begin(), tap.end());
      sum += input.at(from) * weight.at(filter);
    });
    out.set(out.linearOf(at), sum);
  });
  values.insert({op.getResult(), std::move(out)});
}

/// Scatters, as the standard describes it: every input element times every tap
/// goes to one place.
static void interpretConvTranspose(ConvTransposeOp op, Environment &values) {
  const Tensor &input = values.at(op.getInput()), &weight = values.at(op.getWeight());
  Tensor out(op.getType());
  std::vector<double> sums(out.size());
  int64_t perGroup = input.shape()[1] / static_cast<int64_t>(op.getGroups());
  forEachIndex(input.shape(), [&](llvm::ArrayRef<int64_t> from) {
    forEachIndex(weight.shape().drop_front(1), [&](llvm::ArrayRef<int64_t> tap) {
      Index to{from[0], from[1] / perGroup * weight.shape()[1] + tap[0]}, filter{from[1]};
      for (size_t d = 0; d + 2 < from.size(); ++d) {
        to.push_back(from[2 + d] * op.getStrides()[d] + tap[1 + d] * op.getDilations()[d] - op.getPadsLow()[d]);
        if (to.back() < 0 || to.back() >= out.shape()[2 + d])
          return;
      }
      filter.append(tap.begin(), tap.end());
      sums[out.linearOf(to)] += input.at(from) * weight.at(filter);
    });
  });
  for (int64_t i = 0; i < out.size(); ++i)
    out.set(i, sums[i]);
  values.insert({op.getResult(), std::move(out)});
}

//===----------------------------------------------------------------------===//
// Gathers and scatters by index tuples
//===----------------------------------------------------------------------===//

/// The index a tuple names, out of range clamped.
static int64_t indexIn(double raw, int64_t extent) {
  auto i = static_cast<int64_t>(raw);
  return std::clamp<int64_t>(i < 0 ? i + extent : i, 0, extent - 1);
}

static void interpretGatherNd(GatherNdOp op, Environment &values) {
  const Tensor &data = values.at(op.getData()), &indices = values.at(op.getIndices());
  Tensor out(op.getType());
  int64_t batch = op.getBatchDims(), tuple = indices.shape().back(), rank = indices.shape().size();
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index from(at.take_front(batch)), name(at.take_front(rank - 1));
    name.push_back(0);
    for (int64_t k = 0; k < tuple; ++k) {
      name.back() = k;
      from.push_back(indexIn(indices.at(name), data.shape()[batch + k]));
    }
    from.append(at.begin() + rank - 1, at.end());
    out.set(out.linearOf(at), data.at(from));
  });
  values.insert({op.getResult(), std::move(out)});
}

static double combine(ScatterKind kind, double old, double update) {
  switch (kind) {
  case ScatterKind::none:
    return update;
  case ScatterKind::add:
    return old + update;
  case ScatterKind::mul:
    return old * update;
  case ScatterKind::max:
    return std::max(old, update);
  case ScatterKind::min:
    return std::min(old, update);
  }
  FAIL("unknown scatter kind");
  return 0;
}

static void interpretScatterElements(ScatterElementsOp op, Environment &values) {
  Tensor out = values.at(op.getData());
  const Tensor &indices = values.at(op.getIndices()), &updates = values.at(op.getUpdates());
  forEachIndex(indices.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index to(at);
    to[op.getAxis()] = indexIn(indices.at(at), out.shape()[op.getAxis()]);
    int64_t linear = out.linearOf(to);
    out.set(linear, combine(op.getKind(), out.get(linear), updates.at(at)));
  });
  values.insert({op.getResult(), std::move(out)});
}

static void interpretScatterNd(ScatterNdOp op, Environment &values) {
  Tensor out = values.at(op.getData());
  const Tensor &indices = values.at(op.getIndices()), &updates = values.at(op.getUpdates());
  int64_t tuple = indices.shape().back(), outer = indices.shape().size() - 1;
  forEachIndex(updates.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index to, name(at.take_front(outer));
    name.push_back(0);
    for (int64_t k = 0; k < tuple; ++k) {
      name.back() = k;
      to.push_back(indexIn(indices.at(name), out.shape()[k]));
    }
    to.append(at.begin() + outer, at.end());
    int64_t linear = out.linearOf(to);
    out.set(linear, combine(op.getKind(), out.get(linear), updates.at(at)));
  });
  values.insert({op.getResult(), std::move(out)});
}

static void interpretOneHot(OneHotOp op, Environment &values) {
  const Tensor &indices = values.at(op.getIndices()), &onOff = values.at(op.getValues());
  Tensor out(op.getType());
  forEachIndex(out.shape(), [&](llvm::ArrayRef<int64_t> at) {
    Index from(at);
    from.erase(from.begin() + op.getAxis());
    double i = std::trunc(indices.at(from));
    if (i < 0)
      i += static_cast<double>(op.getDepth());
    out.set(out.linearOf(at), onOff.get(i == static_cast<double>(at[op.getAxis()]) ? 1 : 0));
  });
  values.insert({op.getResult(), std::move(out)});
}

//===----------------------------------------------------------------------===//
// Any operator
//===----------------------------------------------------------------------===//

static std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

void interpret(Operation *op, Environment &values) {
  if (auto group = dyn_cast<FusedOp>(op)) {
    for (auto [argument, operand] : llvm::zip(group.getBody().getArguments(), group.getInputs()))
      values.insert({argument, values.at(operand)});
    for (Operation &member : group.getBody().front().without_terminator())
      interpret(&member, values);
    Operation *yield = group.getBody().front().getTerminator();
    for (auto [result, value] : llvm::zip(group.getResults(), yield->getOperands()))
      values.insert({result, values.at(value)});
    return;
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    Tensor data(constant.getType());
    REQUIRE(succeeded(copyConstant(constant.getValue(), data.bytes.data())));
    values.insert({constant.getResult(), std::move(data)});
    return;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getKind() == ReduceKind::log_sum_exp) {
    REQUIRE(interpretRows(op, values));
    return;
  }
  if (auto evaluator = dyn_cast<EvaluateOpInterface>(op)) {
    llvm::SmallVector<TensorView> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.at(operand).view());
    std::vector<Tensor> results;
    for (Type type : op->getResultTypes())
      results.emplace_back(type);
    llvm::SmallVector<MutableTensorView> views;
    for (Tensor &result : results)
      views.push_back({result.type, result.bytes.data()});
    INFO(textOf(op));
    REQUIRE(succeeded(evaluator.evaluate(operands, views)));
    for (auto [value, result] : llvm::zip(op->getResults(), results))
      values.insert({value, std::move(result)});
    return;
  }
  if (auto copy = dyn_cast<CopyOp>(op)) {
    Tensor same = values.at(copy.getInput());
    values.insert({copy.getResult(), std::move(same)});
    return;
  }
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return interpretMatmul(matmul, values);
  if (auto conv = dyn_cast<ConvOp>(op))
    return interpretConv(conv, values);
  if (auto conv = dyn_cast<ConvTransposeOp>(op))
    return interpretConvTranspose(conv, values);
  if (auto gather = dyn_cast<GatherNdOp>(op))
    return interpretGatherNd(gather, values);
  if (auto scatter = dyn_cast<ScatterElementsOp>(op))
    return interpretScatterElements(scatter, values);
  if (auto scatter = dyn_cast<ScatterNdOp>(op))
    return interpretScatterNd(scatter, values);
  if (auto oneHot = dyn_cast<OneHotOp>(op))
    return interpretOneHot(oneHot, values);
  if (!interpretWindows(op, values) && !interpretRows(op, values) && !interpretMl(op, values) &&
      !interpretVision(op, values) && !interpretTraining(op, values) && !interpretIntegers(op, values) &&
      !interpretHalves(op, values) && !interpretBlocks(op, values) && !interpretControl(op, values))
    FAIL("no reference for " << op->getName().getStringRef().str());
}

} // namespace sluice::test
