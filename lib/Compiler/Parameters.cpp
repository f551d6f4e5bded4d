//===- Parameters.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "passes/Bridge/GraphBridge.h"
#include "sluice/Machine/HostInfo.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>
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
};
} // namespace

/// The data of a constant, or of a state before the first step.
static Expected<Held> load(Operation *op, int64_t rank) {
  auto state = dyn_cast<StateOp>(op);
  const bool isCut = state && state.getCuts();
  ElementsAttr value = state ? state.getValue() : cast<ConstantOp>(op).getValue();
  Held held;
  bool isSplat;
  if (!isCut && getConstantBytes(value, held.view, isSplat) && !isSplat)
    return held;
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
        return makeError(ErrorCode::Unsupported, "constant ", describe(op), " takes ", formatBytes(live),
                         " of memory together with its operands, this process may use ", formatBytes(memoryBytes),
                         ", make it smaller or compute it from an input of the model");
      work += (dataflow::detail::totalBytes(op->getOperandTypes()) +
               dataflow::detail::totalBytes(op->getResultTypes()) + kWorkPerOperator) *
              times;
      if (work > most)
        return makeError(ErrorCode::Unsupported, "constant ", describe(op),
                         " is one too many: computing the constants ", "reads and writes more than ", formatBytes(most),
                         ", the most for a model with as little data, compute it from an input of the model");
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
                       op->getName().getStringRef().str(), ") cannot be computed, check its operands' values");
    for (auto [result, held] : llvm::zip(op->getResults(), made))
      values[result] = std::move(held);
    for (Value operand : op->getOperands())
      if (--values[operand].usesLeft == 0 && operand != value)
        values.erase(operand);
  }
  return std::move(values[value]);
}

static Status writeValue(Value value, int64_t rank, int64_t wanted, ParameterFileWriter &writer) {
  SLUICE_ASSIGN_OR_RETURN(Held held, evaluate(value, rank));
  auto size = static_cast<size_t>(tensorBytes(value.getType()));
  SLUICE_ASSIGN_OR_RETURN(int64_t offset, writer.append(std::as_bytes(std::span<const char>(held.view.data, size))));
  if (offset != wanted)
    return makeError(ErrorCode::Internal, "a parameter lies elsewhere in the file than the program reads it");
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

Status writeParameters(const ParameterLayout &layout, ParameterFileWriter &writer) {
  if (layout.sections.empty()) {
    for (auto [value, offset] : llvm::zip(layout.values, layout.offsets))
      SLUICE_RETURN_IF_ERROR(writeValue(value, 0, offset, writer));
    return {};
  }
  size_t begin = 0;
  for (size_t s = 0; s < layout.sections.size(); ++s) {
    const ParameterSection &section = layout.sections[s];
    const size_t end = std::upper_bound(layout.sectionOf.begin(), layout.sectionOf.end(), s) - layout.sectionOf.begin();
    for (uint32_t piece = 0; piece < section.numPieces(); ++piece) {
      const int64_t rank = std::find(section.pieces.begin(), section.pieces.end(), piece) - section.pieces.begin();
      SLUICE_ASSIGN_OR_RETURN(int64_t base, writer.beginPiece());
      for (size_t i = begin; i < end; ++i)
        if (Status written =
                writeValue(layout.values[i], rank, base + layout.offsets[i] - layout.offsets[begin], writer);
            !written)
          return written;
    }
    begin = end;
  }
  return {};
}

} // namespace sluice
