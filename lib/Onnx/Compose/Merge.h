//===- Merge.h - Services as one graph --------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_MERGE_H
#define SLUICE_LIB_ONNX_COMPOSE_MERGE_H

#include "PortTypes.h"

namespace sluice::compose {

/// The model that consists of all services, with joined and named `types`. If the data of an initializer is in a
/// service's file, `outside` has it, by the initializer's index.
::onnx::ModelProto mergeServices(const Pipeline &pipeline, const std::vector<Service> &services, const Wiring &wiring,
                                 const PortTypes &types, const std::map<std::string, int64_t> &opsets,
                                 std::map<int, OutsideData> &outside);

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_MERGE_H
