//===- ModelMutator.h - Changes ONNX models, not bytes ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Structure-aware mutation, as in Serebryany's "Structure-aware fuzzing with libFuzzer"
// (2019). Most changes keep a graph that imports: they change an extent, an element type,
// an attribute, an operator, the data of a small tensor, or add a node by the schema of
// its operator. The rest change any field of any message by reflection.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_MODELMUTATOR_H
#define SLUICE_TEST_FUZZ_MODELMUTATOR_H

#include <cstdint>

namespace onnx {
class ModelProto;
} // namespace onnx

namespace sluice::fuzz {

/// Changes the model in one to four places. The same seed makes the same changes.
void mutateModel(::onnx::ModelProto &model, uint64_t seed);

/// Adds the nodes and initializers of `other` to the graph of `model`.
void crossModels(::onnx::ModelProto &model, const ::onnx::ModelProto &other, uint64_t seed);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_MODELMUTATOR_H
