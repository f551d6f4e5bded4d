//===- ModelPorts.h - Inputs and outputs, printed ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_MODELPORTS_H
#define SLUICE_TOOLS_SLUICE_MODELPORTS_H

#include "sluice/Onnx/ModelFile.h"

namespace sluice::driver {

/// The type in words, such as "float[batchx3]".
std::string describePort(const DeclaredTensor &tensor);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_MODELPORTS_H
