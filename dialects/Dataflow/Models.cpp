//===- Models.cpp - All that is done with the dialect ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Models.h"
#include "dialects/Dataflow/Emit/Emit.h"
#include "dialects/Dataflow/Evaluate/Evaluate.h"
#include "dialects/Dataflow/Gradient/Gradient.h"
#include "dialects/Dataflow/Library/Library.h"
#include "dialects/Dataflow/Tiling/Sliding.h"
#include "dialects/Dataflow/Tiling/Tiling.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace sluice::dataflow {

void registerDataflow(DialectRegistry &registry) {
  registry.insert<DataflowDialect>();
  registerEvaluateModels(registry);
  registerGradientModels(registry);
  registerKernelModels(registry);
  registerLibraryModels(registry);
  registerSlidingModels(registry);
  registerTilingModels(registry);
}

void loadDataflow(MLIRContext &context) {
  DialectRegistry registry;
  registerDataflow(registry);
  context.appendDialectRegistry(registry);
  context.getOrLoadDialect<DataflowDialect>();
}

} // namespace sluice::dataflow
