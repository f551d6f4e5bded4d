//===- Gradient.cpp - Models of gradients ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Gradient.h"
#include "dialects/Dataflow/Gradient/Models.h"

using namespace mlir;

void sluice::dataflow::registerGradientModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DataflowDialect *) {
    attachContractionGradients(context);
    attachElementwiseGradients(context);
    attachMovementGradients(context);
    attachNormalizationGradients(context);
    attachReductionGradients(context);
    attachWindowGradients(context);
  });
}
