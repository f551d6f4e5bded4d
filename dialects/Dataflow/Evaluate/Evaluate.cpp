//===- Evaluate.cpp - Operators on host data ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Evaluate/Evaluate.h"
#include "dialects/Dataflow/Evaluate/Models.h"

using namespace mlir;

void sluice::dataflow::registerEvaluateModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DataflowDialect *) {
    attachBitsValues(context);
    attachConstantValues(context);
    attachElementwiseValues(context);
    attachGatherValues(context);
    attachMovementValues(context);
    attachPackingValues(context);
    attachReductionValues(context);
    attachSelectionValues(context);
    attachShardValues(context);
  });
}
