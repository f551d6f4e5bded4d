//===- Model.h - A compiled model's tables, checked -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_MODEL_H
#define SLUICE_RUNTIME_MODEL_H

#include "Result.h"
#include "sluice/Runtime/abi.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace sluice::runtime {

/// The value of sluice_symbol_desc.input for a symbol that a step finds.
constexpr uint32_t kFound = SLUICE_SYMBOL_FOUND;
/// The same for a symbol that is the length of a state.
constexpr uint32_t kKept = SLUICE_SYMBOL_STATE;
/// Element types, by their numbers in ONNX's TensorProto.
constexpr int32_t kInt32Type = 6, kInt64Type = 7, kStringType = 8;

/// The bytes of a sluice_model of minor version 10. Later versions append fields.
inline constexpr size_t kLeastModelBytes = offsetof(sluice_model, num_symbols);

/// Copies of the model's tables that the runtime needs. The entries of the model's own arrays have the size that the
/// compiler's minor version gave them, so those arrays must not be indexed directly. All indices here are in range.
struct Model {
  std::unique_ptr<const sluice_model> source; ///< A copy, in which fields that an older model lacks are 0.
  std::vector<sluice_tensor_desc> inputs, outputs, states;
  std::vector<sluice_memory_desc> memories;
  std::vector<sluice_device_desc> devices;
  std::vector<sluice_link_desc> links;
  std::vector<sluice_stream_desc> streams;
  std::vector<sluice_symbol_desc> symbols;
  std::vector<sluice_bucket_desc> buckets;
  std::vector<sluice_expert_desc> experts;

  bool isFile(uint32_t memory) const { return memories[memory].kind == SLUICE_MEMORY_FILE; }
  bool hasFiles() const {
    return std::any_of(memories.begin(), memories.end(),
                       [](const sluice_memory_desc &memory) { return memory.kind == SLUICE_MEMORY_FILE; });
  }
  /// Bytes of a slot that holds any of the experts: a multiple of 4096; 0 without experts.
  int64_t expertSlotBytes() const {
    constexpr int64_t kBlock = 4096;
    int64_t most = 0;
    for (const sluice_expert_desc &expert : experts)
      most = std::max(most, (expert.bytes + kBlock - 1) / kBlock * kBlock);
    return most;
  }
  const char *opName(uint32_t op) const { return source->op_names[op]; }
  const char *tensorName(uint32_t tensor) const { return source->tensor_names[tensor]; }
};

/// Fails on another major version of the ABI, and on tables that contradict each other.
Result<Model> readModel(const sluice_model *source);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_MODEL_H
