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

/// Does what inlineTensorData does. If `raw` is given, it takes the place of the tensor's raw_data, and `owner` keeps
/// it alive.
Expected<TensorData> checkedTensorData(const ::onnx::TensorProto &tensor, std::optional<std::span<const std::byte>> raw,
                                       std::shared_ptr<const void> owner);

/// Fails unless the number of strings is that of the shape's elements.
Status checkStrings(const ::onnx::TensorProto &tensor);

/// The type and shape of a tensor whose data is missing; `bytes` is the size that the model states.
Expected<TensorData> checkedTensorShape(const ::onnx::TensorProto &tensor, int64_t bytes);

/// Parses ONNX's textual syntax, at most 16 MiB of ASCII nested at most 100 brackets deep; `path` is for messages.
Status parseTextModel(std::string_view text, const std::string &path, ::onnx::ModelProto &model);

/// A serialized model without the raw data of its graph's initializers, and where that data lies in the original.
struct StrippedModel {
  std::string model;
  /// The data of each initializer; no span if it stayed in `model`. Stripped ones keep an empty raw_data field.
  std::vector<std::optional<std::span<const std::byte>>> initializerData;
};
/// Returns nothing if this saves nothing, or if the bytes are not clearly a model; the caller must then parse the
/// original.
std::optional<StrippedModel> stripInitializers(std::span<const std::byte> model);

/// Checks names, order, and every tensor (with `checkTensor`) of the model's graph, subgraphs and functions.
Status checkStructure(const ::onnx::ModelProto &model,
                      const std::function<Status(const ::onnx::TensorProto &)> &checkTensor);

/// The indices of a checked graph's nodes, producers first, otherwise in their order in the file. ONNX requires sorted
/// nodes, but not all exporters sort them.
std::vector<int> nodeOrder(const ::onnx::GraphProto &graph);

/// A node in messages: "'conv1'", or "number 3, a 'Conv'," if it has no name.
std::string describeNode(const ::onnx::GraphProto &graph, int index);

/// A sparse constant of the model as a dense one.
Expected<TensorData> denseData(const ModelFile &model, const ::onnx::SparseTensorProto &sparse);

/// Whether a node of a function's body, or one in its subgraphs, refers to attributes of the function's call.
bool usesAttributes(const ::onnx::NodeProto &node);
/// Such a node with the attributes of a call in the place of the references. Attributes that the call lacks are left
/// out.
::onnx::NodeProto withAttributes(const ::onnx::NodeProto &member, const ::onnx::NodeProto &call);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_MODELINTERNALS_H
