//===- ShareWindows.cpp - Windows that overlap are computed once ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Models for streams (audio, sensors) compute a batch of windows of one signal, and the
// windows overlap. If a convolution without padding slides along the signal, the rows that
// two windows share have the same results in both: conv(stack of slices of x) is a stack of
// slices of conv(x). This pass moves the stack behind all operators that slide, so that
// they compute each row of the signal once.
//
// Invariant: a value with Windows is the concatenation, along dimension `batch`, of
// [start, start + length) of dimension `axis` of `source`, over all `starts`.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "dialects/Dataflow/Tiling/Sliding.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_SHAREWINDOWSPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

struct Windows {
  Value source; ///< Null until it is built.
  int64_t batch = 0, axis = 0;
  SmallVector<int64_t> starts; ///< At least one of them is 0.
  int64_t length = 0;

  /// Extent of the source: it ends where the last window ends.
  int64_t extent() const { return *llvm::max_element(starts) + length; }
  bool haveSamePlaces(const Windows &other) const {
    return batch == other.batch && axis == other.axis && starts == other.starts && length == other.length;
  }
  /// The type of the source, if `whole` is the type of the stack.
  RankedTensorType sourceType(RankedTensorType whole) const {
    SmallVector<int64_t> shape(whole.getShape());
    shape[batch] /= static_cast<int64_t>(starts.size());
    shape[axis] = extent();
    return RankedTensorType::get(shape, whole.getElementType());
  }
};

/// A concatenation of slices of one tensor that overlap.
struct Stack {
  Windows windows;
  Value of;                               ///< The tensor from which all slices are taken.
  SmallVector<int64_t> begin, shape;      ///< The part of `of` that the windows cover.
  SmallVector<RankedTensorType> reshapes; ///< From this part to the source.
};

std::optional<Stack> matchStack(ConcatOp concat) {
  if (concat.getInputs().size() < 2)
    return std::nullopt;
  // From each operand back through reshapes to its slice.
  SmallVector<SliceOp> slices;
  SmallVector<ReshapeOp> chain; // Of the first operand, from the concatenation to the slice.
  for (Value input : concat.getInputs()) {
    SmallVector<Type> types;
    Value value = input;
    for (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape; reshape = value.getDefiningOp<ReshapeOp>()) {
      types.push_back(reshape.getType());
      if (slices.empty())
        chain.push_back(reshape);
      value = reshape.getInput();
    }
    auto slice = value.getDefiningOp<SliceOp>();
    const bool isLikeFirst =
        slices.empty() ||
        (slice && slice.getInput() == slices[0].getInput() && slice.getType() == slices[0].getType() &&
         llvm::equal(types, llvm::map_range(chain, [](ReshapeOp op) -> Type { return op.getType(); })));
    if (!slice || !isLikeFirst || symbolsOf(slice) ||
        llvm::any_of(slice.getSteps(), [](int64_t step) { return step != 1; }))
      return std::nullopt;
    slices.push_back(slice);
  }
  // The dimension in which the slices differ.
  Stack stack;
  stack.of = slices[0].getInput();
  stack.begin = SmallVector<int64_t>(slices[0].getStarts());
  stack.shape = SmallVector<int64_t>(slices[0].getType().getShape());
  std::optional<int64_t> axis;
  for (SliceOp slice : slices)
    for (auto [dim, start] : llvm::enumerate(slice.getStarts())) {
      if (start == slices[0].getStarts()[dim])
        continue;
      if (axis && *axis != static_cast<int64_t>(dim))
        return std::nullopt;
      axis = static_cast<int64_t>(dim);
    }
  if (!axis)
    return std::nullopt;
  Windows &windows = stack.windows;
  for (SliceOp slice : slices) {
    windows.starts.push_back(slice.getStarts()[*axis]);
    stack.begin[*axis] = std::min(stack.begin[*axis], windows.starts.back());
  }
  for (int64_t &start : windows.starts)
    start -= stack.begin[*axis];
  windows.length = stack.shape[*axis];
  windows.axis = *axis;
  windows.batch = static_cast<int64_t>(concat.getAxis());
  stack.shape[*axis] = windows.extent();
  // Where the dimension is after the reshapes.
  for (ReshapeOp reshape : llvm::reverse(chain)) {
    const std::optional<Slide> slide = slideOf(reshape, 0, windows.axis);
    if (!slide)
      return std::nullopt;
    windows.axis = slide->resultDim;
    SmallVector<int64_t> shape(reshape.getType().getShape());
    shape[windows.axis] = windows.extent();
    stack.reshapes.push_back(RankedTensorType::get(shape, reshape.getType().getElementType()));
  }
  if (windows.axis == windows.batch)
    return std::nullopt;
  return stack;
}

class Sharing {
public:
  explicit Sharing(ConcatOp concat, Stack stack) : concat(concat), stack(std::move(stack)) {
    shared[concat.getResult()] = this->stack.windows;
  }

  /// Finds the operators that can compute on the source. Nothing is changed.
  void grow() {
    for (Operation *op = concat->getNextNode(); op; op = op->getNextNode())
      if (std::optional<Windows> windows = windowsOf(op)) {
        shared[op->getResult(0)] = *windows;
        operators.push_back(op);
      }
  }

  /// Keeps as many of the first operators as save the most, in operations and bytes, after the cost of the slices
  /// behind them. False if nothing is saved. An operator may cost more on the source: a convolution that is as long as
  /// a window has one row for each window, and one for each row between them on the source.
  bool keepMostSaving() {
    DenseMap<Operation *, size_t> numbers;
    for (auto [i, op] : llvm::enumerate(operators))
      numbers[op] = i + 1;
    // What keeping i operators saves, less what keeping i - 1 saves.
    SmallVector<Count> more(operators.size() + 1, 0);
    more[0] = bytesOf(concat.getResult());
    for (auto [i, op] : llvm::enumerate(operators))
      more[i + 1] = savedBy(op);
    for (auto &[value, windows] : shared) {
      const Count slices = Count(bytesOf(value)) * 2;
      const size_t made = numbers.lookup(value.getDefiningOp());
      size_t read = made; // The last reader.
      for (Operation *user : value.getUsers())
        read = std::max(read, numbers.contains(user) ? numbers.lookup(user) : more.size());
      more[made] -= slices;
      if (read < more.size())
        more[read] += slices;
    }
    Count saved = 0, most = 0;
    size_t kept = 0;
    for (auto [i, step] : llvm::enumerate(more))
      if (saved += step; saved > most) {
        most = saved;
        kept = i;
      }
    while (operators.size() > kept) {
      shared.pop_back();
      operators.pop_back();
    }
    return kept > 0;
  }

  /// Builds the operators on the source, and the stacks of results that others read.
  LogicalResult apply() {
    OpBuilder b(concat);
    TensorBuilder slices(b, concat.getLoc());
    Value source = slices.create<SliceOp>(
        {stack.of}, {slices.list("starts", stack.begin), slices.list("steps", Dims(stack.begin.size(), 1))},
        RankedTensorType::get(stack.shape, typeOf(stack.of).getElementType()));
    for (RankedTensorType type : stack.reshapes)
      source = slices.reshape(source, type.getShape());
    shared[concat.getResult()].source = source;
    for (Operation *op : operators) {
      Value result = buildOnSource(b, op);
      if (!result)
        return op->emitOpError(
            "cannot run on the whole tensor instead of on its windows, this is a bug of Sluice, please report it");
      shared[op->getResult(0)].source = result;
    }
    for (auto &[value, windows] : shared)
      if (leaves(value))
        restack(b, value, windows);
    for (Operation *op : llvm::reverse(operators))
      op->erase();
    concat.erase();
    return success();
  }

private:
  /// The operations and bytes that an operator saves on the source.
  Count savedBy(Operation *op) {
    auto cost = cast<CostOpInterface>(op);
    const Value result = op->getResult(0);
    const Count elements = elementCount(result.getType());
    const Count less = elements - elementCount(shared[result].sourceType(typeOf(result)));
    return (Count(cost.getFlops()) + cost.getBytesMoved()) / elements * less;
  }

  static int64_t bytesOf(Value value) { return dataflow::detail::totalBytes(value.getType()); }

  /// Whether an operator reads the value that does not compute on the source.
  bool leaves(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return !llvm::is_contained(operators, user); });
  }

  /// The windows of an operator's result; empty if the operator needs the stack itself.
  std::optional<Windows> windowsOf(Operation *op) {
    if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op) || symbolsOf(op) ||
        !isa<CostOpInterface>(op) || elementCount(op->getResult(0).getType()) == 0)
      return std::nullopt;
    std::optional<Windows> result;
    for (OpOperand &operand : op->getOpOperands()) {
      auto *found = shared.find(operand.get());
      if (found == shared.end())
        continue;
      std::optional<Windows> windows = through(operand, found->second);
      if (!windows || (result && !result->haveSamePlaces(*windows)))
        return std::nullopt;
      result = windows;
    }
    if (!result || !isa<ElementwiseOpInterface>(op))
      return result;
    // Other operands are broadcast along both dimensions.
    const int64_t rank = typeOf(op->getResult(0)).getRank();
    for (Value operand : op->getOperands())
      for (int64_t dim : {result->batch, result->axis}) {
        const int64_t at = dim - rank + typeOf(operand).getRank();
        if (!shared.contains(operand) && at >= 0 && shapeOf(operand)[at] != 1)
          return std::nullopt;
      }
    return result;
  }

  static std::optional<Windows> through(OpOperand &operand, Windows windows) {
    Operation *op = operand.getOwner();
    const std::optional<Slide> batch = slideOf(op, operand.getOperandNumber(), windows.batch),
                               axis = slideOf(op, operand.getOperandNumber(), windows.axis);
    if (!batch || !axis || batch->resultDim == axis->resultDim || batch->stride != 1 || batch->reach != 1)
      return std::nullopt;
    // All windows must begin where a step of the operator begins.
    for (int64_t &start : windows.starts) {
      if (start % axis->stride != 0)
        return std::nullopt;
      start /= axis->stride;
    }
    windows.batch = batch->resultDim;
    windows.axis = axis->resultDim;
    windows.length = shapeOf(op->getResult(0))[windows.axis];
    windows.source = {};
    return windows;
  }

  /// Null if the operator does not fit the shapes.
  Value buildOnSource(OpBuilder &b, Operation *op) {
    b.setInsertionPoint(op);
    TensorBuilder build(b, op->getLoc());
    SmallVector<Value> operands(op->getOperands());
    for (Value &operand : operands)
      if (auto *found = shared.find(operand); found != shared.end())
        operand = found->second.source;
    const RankedTensorType type = shared[op->getResult(0)].sourceType(typeOf(op->getResult(0)));
    SmallVector<Value> results = build.createLike(op, operands, {}, type);
    return results.size() == 1 && results[0].getType() == type ? results[0] : Value();
  }

  /// Gives those who read the stack itself one that is made of the source.
  void restack(OpBuilder &b, Value value, const Windows &windows) {
    b.setInsertionPointAfter(value.getDefiningOp());
    TensorBuilder build(b, value.getLoc());
    SmallVector<Value> parts;
    for (int64_t start : windows.starts)
      parts.push_back(build.sliceAxis(windows.source, windows.axis, start, windows.length));
    Value whole = build.concat(parts, windows.batch);
    value.replaceUsesWithIf(whole, [&](OpOperand &use) { return !llvm::is_contained(operators, use.getOwner()); });
  }

  ConcatOp concat;
  Stack stack;
  llvm::MapVector<Value, Windows> shared;
  SmallVector<Operation *> operators; ///< In their order in the block.
};

struct ShareWindows : sluice::impl::ShareWindowsPassBase<ShareWindows> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    bool changed = false;
    for (auto concat : llvm::to_vector(block.getOps<ConcatOp>())) {
      std::optional<Stack> stack = matchStack(concat);
      // Windows that do not overlap share nothing.
      if (!stack || stack->windows.extent() >= Count(stack->windows.length) * stack->windows.starts.size())
        continue;
      Sharing sharing(concat, std::move(*stack));
      sharing.grow();
      if (!sharing.keepMostSaving())
        continue;
      if (failed(sharing.apply()))
        return signalPassFailure();
      changed = true;
    }
    if (!changed)
      return;
    // The slices of windows and their reshapes have no readers any more.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
