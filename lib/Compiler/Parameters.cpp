//===- Parameters.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "passes/Bridge/GraphBridge.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Machine/HostInfo.h"
#include "sluice/Onnx/MappedPages.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>
#include <optional>
#include <span>
#include <sys/resource.h>

using namespace mlir;

namespace sluice {

using namespace dataflow;

namespace {
/// A value's data while an expression is evaluated.
struct Held {
  TensorView view;
  std::vector<char> storage;
  unsigned usesLeft = 0;

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span<const char>(view.data, static_cast<size_t>(tensorBytes(view.type))));
  }
};
} // namespace

/// Constants up to this size are read from the disk ahead of their use. A larger one would displace what is in use.
static constexpr int64_t kMostPrefetchedBytes = 128 << 20;

/// The data of a constant, or of a state before the first step.
static Expected<Held> load(Operation *op, int64_t rank) {
  auto state = dyn_cast<StateOp>(op);
  const bool isCut = state && state.getCuts();
  ElementsAttr value = state ? state.getValue() : cast<ConstantOp>(op).getValue();
  Held held;
  bool isSplat;
  if (!isCut && getConstantBytes(value, held.view, isSplat) && !isSplat) {
    if (tensorBytes(held.view.type) <= kMostPrefetchedBytes)
      prefetchPages(held.bytes());
    return held;
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  held.storage.resize(tensorBytes(type));
  held.view = {type, held.storage.data()};
  if (failed(isCut ? state.copyInitial(rank, held.storage.data()) : copyConstant(value, held.storage.data())))
    return makeError(ErrorCode::InvalidInput, "the data of weight '", nodeName(op->getLoc()),
                     "' is missing, supply the model's external data");
  return held;
}

/// Whether evaluating the constant has to write its elements out: those of a resource stay where they are.
static bool isWrittenOut(Operation *op) {
  auto state = dyn_cast<StateOp>(op);
  ElementsAttr value = state ? state.getValue() : cast<ConstantOp>(op).getValue();
  TensorView view;
  bool isSplat = false;
  return (state && state.getCuts()) || !getConstantBytes(value, view, isSplat) || isSplat;
}

namespace {
/// A few bytes of a model may ask for constants of any size and for any number of operators on them. Expressions are
/// measured before the first one is evaluated: the memory that the process has bounds each one, and the data that the
/// model brings bounds the work of all together.
class EvaluationBudget {
public:
  explicit EvaluationBudget(ArrayRef<Value> values) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      memoryBytes = std::min(memoryBytes, Count(limit.rlim_cur).value());
    llvm::SmallPtrSet<Operation *, 32> counted;
    Count own;
    for (Operation *op : expressionOf(values))
      if (isa<ConstantOp, StateOp>(op) && counted.insert(op).second && !isWrittenOut(op))
        own += tensorBytes(op->getResult(0).getType());
    most += own * kWorkPerByte;
  }

  /// Adds the expression of one value, which is evaluated `times` times.
  Status add(Value value, int64_t times) {
    std::vector<Operation *> members = expressionOf(value);
    llvm::DenseMap<Value, unsigned> uses;
    for (Operation *op : members)
      for (Value operand : op->getOperands())
        ++uses[operand];
    Count live;
    for (Operation *op : members) {
      const bool isConstant = isa<ConstantOp, StateOp>(op);
      if (!isConstant || isWrittenOut(op))
        live += dataflow::detail::totalBytes(op->getResultTypes());
      if (live > memoryBytes)
        return makeError(ErrorCode::Unsupported, "constant ", describe(op), " needs ", formatBytes(live),
                         " of memory together with its operands, and this process may use ", formatBytes(memoryBytes),
                         ", make the constant smaller or compute it from an input of the model");
      // A slice reads no more than its part.
      Count read = dataflow::detail::totalBytes(op->getOperandTypes());
      if (auto cost = dyn_cast<dataflow::CostOpInterface>(op))
        read = std::min(read, Count(cost.getBytesMoved()));
      work += (read + dataflow::detail::totalBytes(op->getResultTypes()) + kWorkPerOperator) * times;
      if (work > most)
        return makeError(ErrorCode::Unsupported, "computing the constants reads and writes more than ",
                         formatBytes(most), ", the limit for a model of this size, at constant ", describe(op),
                         ", compute this constant from an input of the model");
      for (Value operand : op->getOperands())
        if (--uses[operand] == 0 && operand != value &&
            (!isa<ConstantOp, StateOp>(operand.getDefiningOp()) || isWrittenOut(operand.getDefiningOp())))
          live -= tensorBytes(operand.getType());
    }
    return {};
  }

private:
  static std::string describe(Operation *op) {
    return concat("'", excerpt(nodeName(op->getLoc())), "' (", op->getName().getStringRef().str(), ")");
  }

  /// Some minutes of the interpreter, and for each byte of the model's own data some hundred passes.
  static constexpr int64_t kLeastWork = int64_t(256) << 30, kWorkPerByte = 256;
  static constexpr int64_t kWorkPerOperator = 1024;
  int64_t memoryBytes = hostMemoryBytes();
  Count most = kLeastWork, work;
};
} // namespace

/// What one rank has.
static Expected<Held> evaluate(Value value, int64_t rank) {
  llvm::DenseMap<Value, Held> values;
  std::vector<Operation *> members = expressionOf(value);
  llvm::DenseMap<Value, unsigned> uses;
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      ++uses[operand];
  for (Operation *op : members) {
    if (isa<ConstantOp, StateOp>(op)) {
      Expected<Held> held = load(op, rank);
      if (!held)
        return held;
      held->usesLeft = uses[op->getResult(0)];
      values[op->getResult(0)] = std::move(*held);
      continue;
    }
    SmallVector<TensorView> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values[operand].view);
    SmallVector<MutableTensorView> results;
    SmallVector<Held> made(op->getNumResults());
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      auto type = cast<RankedTensorType>(result.getType());
      made[i].storage.resize(tensorBytes(type));
      made[i].view = {type, made[i].storage.data()};
      made[i].usesLeft = uses[result];
      results.push_back({type, made[i].storage.data()});
    }
    if (failed(modelOf<EvaluateOpInterface>(op).evaluateOnRank(rank, operands, results)))
      return makeError(ErrorCode::InvalidInput, "constant '", nodeName(op->getLoc()), "' (",
                       op->getName().getStringRef().str(),
                       ") cannot be computed: the operator does not accept the values of its operands, such as a zero "
                       "point or an index that is out of range, correct these values");
    for (auto [result, held] : llvm::zip(op->getResults(), made))
      values[result] = std::move(held);
    for (Value operand : op->getOperands())
      if (Held &read = values[operand]; --read.usesLeft == 0 && operand != value) {
        releasePages(read.bytes());
        values.erase(operand);
      }
  }
  return std::move(values[value]);
}

/// The memory of an expression's results and intermediates.
static int64_t evaluatedBytes(Value value) {
  Count bytes;
  for (Operation *op : expressionOf(value))
    if (!isa<ConstantOp, StateOp>(op) || isWrittenOut(op))
      bytes += dataflow::detail::totalBytes(op->getResultTypes());
  return bytes.value();
}

/// In pieces, so that no more than two pieces of a constant that is written as it is are in memory.
static Status append(const Held &held, int64_t wanted, ParameterFileWriter &writer) {
  constexpr size_t kPiece = 8 << 20;
  // Experts begin at blocks.
  SLUICE_ASSIGN_OR_RETURN(int64_t offset,
                          writer.beginTensor(wanted % kFileBlockBytes == 0 ? kFileBlockBytes : kArenaAlignment));
  if (offset != wanted)
    return makeError(ErrorCode::Internal, "the program reads a parameter at an offset where the file does not have it, "
                                          "this is a bug of Sluice, please report it");
  for (auto rest = held.bytes(); !rest.empty();) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    rest = rest.subspan(piece.size());
    prefetchPages(rest.first(std::min(kPiece, rest.size())));
    SLUICE_RETURN_IF_ERROR(writer.write(piece));
    releasePages(piece);
  }
  return {};
}

Status checkEvaluationBudget(const ParameterLayout &layout) {
  EvaluationBudget budget(layout.values);
  // writeParameters evaluates a value once for each piece of its section.
  for (auto [i, value] : llvm::enumerate(layout.values)) {
    const int64_t pieces = layout.sections.empty() ? 1 : layout.sections[layout.sectionOf[i]].numPieces();
    SLUICE_RETURN_IF_ERROR(budget.add(value, pieces));
  }
  return {};
}

namespace {
/// A value to write for a rank, or the beginning of a piece.
struct Entry {
  Value value = {};
  int64_t rank = 0;
  int64_t offset = 0; ///< In the file, or in the piece.
};
} // namespace

/// The order of the file.
static std::vector<Entry> entriesOf(const ParameterLayout &layout) {
  std::vector<Entry> entries;
  if (layout.sections.empty())
    for (auto [value, offset] : llvm::zip(layout.values, layout.offsets))
      entries.push_back({value, 0, offset});
  size_t begin = 0;
  for (size_t s = 0; s < layout.sections.size(); ++s) {
    const ParameterSection &section = layout.sections[s];
    const size_t end = std::upper_bound(layout.sectionOf.begin(), layout.sectionOf.end(), s) - layout.sectionOf.begin();
    for (uint32_t piece = 0; piece < section.numPieces(); ++piece) {
      const int64_t rank = std::find(section.pieces.begin(), section.pieces.end(), piece) - section.pieces.begin();
      entries.emplace_back();
      for (size_t i = begin; i < end; ++i)
        entries.push_back({layout.values[i], rank, layout.offsets[i] - layout.offsets[begin]});
    }
    begin = end;
  }
  return entries;
}

Status writeParameters(const ParameterLayout &layout, ParameterFileWriter &writer, int threads) {
  // Two expressions in memory must not be much more than one of the largest.
  constexpr int64_t kMostAhead = 256 << 20;
  const std::vector<Entry> entries = entriesOf(layout);
  int64_t base = 0;
  std::optional<Expected<Held>> ahead;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry &entry = entries[i];
    if (!entry.value) {
      SLUICE_ASSIGN_OR_RETURN(base, writer.beginPiece());
      continue;
    }
    Expected<Held> held = ahead ? std::move(*ahead) : evaluate(entry.value, entry.rank);
    ahead.reset();
    if (!held)
      return propagate(held);
    const Entry *next = i + 1 < entries.size() ? &entries[i + 1] : nullptr;
    const bool looksAhead = next && next->value && evaluatedBytes(next->value) <= kMostAhead;
    Status written;
    // Only the second task reads the IR, so that its caches need no lock.
    parallelFor(usableThreads(threads), looksAhead ? 2 : 1, [&](size_t task) {
      if (task == 0)
        written = append(*held, base + entry.offset, writer);
      else
        ahead = evaluate(next->value, next->rank);
    });
    SLUICE_RETURN_IF_ERROR(written);
  }
  return {};
}

} // namespace sluice
