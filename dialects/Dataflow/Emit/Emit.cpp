//===- Emit.cpp - Kernels of the operators --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Emit.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"

using namespace mlir;

void sluice::dataflow::registerKernelModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DataflowDialect *) {
    attachAttentionKernels(context);
    attachBitsKernels(context);
    attachBlocksKernels(context);
    attachCollectiveKernels(context);
    attachConstantKernels(context);
    attachControlKernels(context);
    attachConvKernels(context);
    attachElementwiseKernels(context);
    attachGatherKernels(context);
    attachHalvesKernels(context);
    attachIntegerConvKernels(context);
    attachIntegerMatmulKernels(context);
    attachMatmulKernels(context);
    attachMlKernels(context);
    attachMovementKernels(context);
    attachNormalizationKernels(context);
    attachPackingKernels(context);
    attachReductionKernels(context);
    attachScanKernels(context);
    attachSelectionKernels(context);
    attachStringsKernels(context);
    attachTrainingKernels(context);
    attachVisionKernels(context);
    attachWindowKernels(context);
  });
}
