//===- ModelInternals.h - What ModelFile is made of -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_MODELINTERNALS_H
#define SLUICE_LIB_ONNX_MODELINTERNALS_H

#include "sluice/Onnx/ModelFile.h"
#include "sluice/Onnx/TensorData.h"

#include <functional>
#include <onnx/onnx_pb.h>
#include <optional>

namespace sluice {

/// As inlineTensorData; `raw`, where given, stands for the tensor's raw_data, and `owner` keeps it alive.
Expected<TensorData> checkedTensorData(const ::onnx::TensorProto &tensor, std::optional<std::span<const std::byte>> raw,
                                       std::shared_ptr<const void> owner);

/// Fails unless there are as many strings as the shape says.
Status checkStrings(const ::onnx::TensorProto &tensor);

/// Type and shape of a tensor whose data is missing: `bytes` is what the model says it has.
Expected<TensorData> checkedTensorShape(const ::onnx::TensorProto &tensor, int64_t bytes);

/// Parses ONNX's textual syntax, at most 16 MiB of ASCII nested at most 100 brackets deep; `path` is for messages.
Status parseTextModel(std::string_view text, const std::string &path, ::onnx::ModelProto &model);

/// A serialized model without the raw data of its graph's initializers, and where that data lies in the original.
struct StrippedModel {
  std::string model;
  /// By initializer; no span where the data stayed in `model`. Stripped ones keep an empty raw_data field.
  std::vector<std::optional<std::span<const std::byte>>> initializerData;
};
/// Nothing where there is nothing to gain, or the bytes are not plainly a model: parse the original then.
std::optional<StrippedModel> stripInitializers(std::span<const std::byte> model);

/// Checks names, order, and every tensor (with `checkTensor`) of the model's graph, subgraphs and functions.
Status checkStructure(const ::onnx::ModelProto &model,
                      const std::function<Status(const ::onnx::TensorProto &)> &checkTensor);

/// Indices of a checked graph's nodes, producers first, otherwise as they stand. ONNX asks for sorted nodes; not every
/// exporter obeys.
std::vector<int> nodeOrder(const ::onnx::GraphProto &graph);

/// "'conv1'", or for a node without a name "number 3, a 'Conv',".
std::string describeNode(const ::onnx::GraphProto &graph, int index);

/// A sparse constant of the model, zeros filled in.
Expected<TensorData> denseData(const ModelFile &model, const ::onnx::SparseTensorProto &sparse);

/// Whether a node of a function's body, or one in its subgraphs, refers to attributes of the function's call.
bool usesAttributes(const ::onnx::NodeProto &node);
/// Such a node with the attributes of a call in place of the references; what the call does not give is left out.
::onnx::NodeProto withAttributes(const ::onnx::NodeProto &member, const ::onnx::NodeProto &call);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_MODELINTERNALS_H
