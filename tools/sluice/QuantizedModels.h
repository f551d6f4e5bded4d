//===- QuantizedModels.h - Models of 8 bits ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_QUANTIZEDMODELS_H
#define SLUICE_TOOLS_SLUICE_QUANTIZEDMODELS_H

#include <string>

namespace onnx {
class GraphProto;
} // namespace onnx

namespace sluice::driver {

/// Whether operators compute in 8 bits, where a reference may use another precision. Nesting was bounded when the model
/// was opened.
bool isQuantized(const ::onnx::GraphProto &graph);
/// Whether a compiled model has weights of 8 bits.
bool isQuantized(const std::string &directory);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_QUANTIZEDMODELS_H
