//===- QuantizedModels.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "QuantizedModels.h"
#include "sluice/Search/PlanFile.h"

#include <filesystem>
#include <onnx/onnx_pb.h>
#include <set>

namespace sluice::driver {

/// Operators that compute in 8 bits what the reference may compute otherwise.
static bool isQuantizing(const std::string &type) {
  static const std::set<std::string> kTypes = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
                                               "MatMulInteger", "ConvInteger"};
  return kTypes.count(type) > 0 || type.starts_with("QLinear");
}

bool isQuantized(const ::onnx::GraphProto &graph) {
  for (const ::onnx::NodeProto &node : graph.node()) {
    if (isQuantizing(node.op_type()))
      return true;
    for (const ::onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g() && isQuantized(attribute.g()))
        return true;
  }
  return false;
}

/// Of a compiled model: 8-bit weights remain after every phase.
bool isQuantized(const std::string &directory) {
  Expected<PlanFile> plan = readPlanFile((std::filesystem::path(directory) / kPlanFileName).string());
  if (!plan)
    return false;
  for (const Tensor &tensor : plan->problem.graph.tensors())
    if (tensor.kind == TensorKind::Parameter && tensor.type.substr(0, tensor.type.find('[')).ends_with("i8"))
      return true;
  return false;
}

} // namespace sluice::driver
