//===- LiveNodes.h - Nodes that results follow from -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LIVENODES_H
#define SLUICE_LIB_ONNX_IMPORT_LIVENODES_H

#include "llvm/ADT/DenseSet.h"

#include <onnx/onnx_pb.h>
#include <string>
#include <vector>

namespace sluice {

/// The nodes of one graph or function that `outputs` follow from. A node also reads what its bodies and the strings
/// among its attributes name. The cost is linear in the size of the nodes.
llvm::DenseSet<const ::onnx::NodeProto *> liveNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes,
                                                    std::vector<std::string> outputs);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_IMPORT_LIVENODES_H
