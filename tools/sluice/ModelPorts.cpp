//===- ModelPorts.cpp - Inputs and outputs, printed -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ModelPorts.h"

namespace sluice::driver {

std::string describePort(const DeclaredTensor &tensor) {
  if (tensor.kind != "tensor")
    return tensor.kind;
  std::string text = onnxtype::name(tensor.elementType);
  if (!tensor.dims)
    return text + " of any rank";
  text += "[";
  for (size_t i = 0; i < tensor.dims->size(); ++i) {
    const DeclaredDim &dim = (*tensor.dims)[i];
    text += (i ? "x" : "") + (dim.value >= 0 ? std::to_string(dim.value) : dim.symbol);
  }
  return text + "]";
}

} // namespace sluice::driver
