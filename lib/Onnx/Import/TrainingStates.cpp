//===- TrainingStates.cpp - States of a model that is trained -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TrainingStates.h"

#include "sluice/Support/Rng.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Expected<Training> Training::create(const TrainingImport &options) {
  Training training;
  training.options = options;
  if (options.trainable.empty())
    return training;
  SLUICE_ASSIGN_OR_RETURN(NamePattern pattern, NamePattern::create(options.trainable, "trainable initializers' names"));
  training.pattern = std::move(pattern);
  return training;
}

bool Training::isTrainable(StringRef name, Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  if (!isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(tensor.getElementType()))
    return false;
  return options.trainable.empty() ? elementCount(tensor) > 1 : pattern.matches(name);
}

Value Training::step(TensorBuilder &build) {
  if (stepState)
    return stepState;
  OpBuilder &builder = build.mlir();
  auto type = RankedTensorType::get({}, builder.getI64Type());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(builder.getInsertionBlock());
    stepState = StateOp::create(builder, build.loc(), type, builder.getStringAttr("training.step"),
                                SplatElementsAttr::get(type, builder.getZeroAttr(type.getElementType())), UnitAttr());
  }
  update(stepState, build.add(stepState, build.splat(type.getElementType(), 1)));
  return stepState;
}

int64_t Training::nextSeed() { return static_cast<int64_t>(Rng(options.seed).fork(numSeeds++).next()); }

static auto *entryOf(MutableArrayRef<std::pair<StringAttr, Value>> updates, StateOp state) {
  return llvm::find_if(updates, [&](const auto &update) { return update.first == state.getNameAttr(); });
}

Value Training::current(StateOp state) {
  auto *entry = entryOf(next, state);
  return entry == next.end() ? Value(state) : entry->second;
}

void Training::update(StateOp state, Value value) {
  state.setTrainable(false);
  if (auto *entry = entryOf(next, state); entry != next.end())
    entry->second = value;
  else
    next.emplace_back(state.getNameAttr(), value);
}

ArrayRef<std::pair<StringAttr, Value>> Training::updates() {
  if (!stepState)
    return next;
  // An initializer may have its name.
  auto *entry = entryOf(next, stepState);
  std::string name = stepState.getName().str();
  auto isTaken = [&] {
    return llvm::any_of(stepState->getBlock()->getOps<StateOp>(),
                        [&](StateOp state) { return state != stepState && state.getName() == name; });
  };
  while (isTaken())
    name += "_";
  stepState.setName(name);
  entry->first = stepState.getNameAttr();
  return next;
}

} // namespace sluice::onnximport
