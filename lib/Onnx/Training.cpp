//===- Training.cpp - Reading a model that is to be trained ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Training.h"

#include "sluice/Support/Rng.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Expected<Training> Training::create(const TrainingImport &options) {
  Training training;
  training.options = options;
  try {
    training.pattern = std::regex(options.trainable, std::regex::ECMAScript);
  } catch (const std::regex_error &) {
    return makeError(ErrorCode::InvalidInput, "'", options.trainable,
                     "' is no regular expression of trainable initializers' names, correct it");
  }
  return training;
}

bool Training::isTrainable(StringRef name, Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  if (!isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(tensor.getElementType()))
    return false;
  return options.trainable.empty() ? elementCount(tensor) > 1 : std::regex_match(name.str(), pattern);
}

Value Training::step(TensorBuilder &build) {
  if (stepValue)
    return stepValue;
  OpBuilder &builder = build.mlir();
  auto type = RankedTensorType::get({}, builder.getI64Type());
  StateOp state;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(builder.getInsertionBlock());
    state = StateOp::create(builder, build.loc(), type, builder.getStringAttr("training.step"),
                            SplatElementsAttr::get(type, builder.getZeroAttr(type.getElementType())), UnitAttr());
  }
  stepValue = state;
  update(state, build.add(state, build.splat(type.getElementType(), 1)));
  return stepValue;
}

int64_t Training::nextSeed() { return static_cast<int64_t>(Rng(options.seed).fork(numSeeds++).next()); }

void Training::update(StateOp state, Value value) {
  state.setTrainable(false);
  next.emplace_back(state.getNameAttr(), value);
}

} // namespace sluice::onnximport
