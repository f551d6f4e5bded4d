//===- ProgramMemory.h - Memory of programs within kernels ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The programs of if, loop and concurrent run within a kernel, whose workspace holds their tensors. This header
// describes the buffers in that workspace, and during which operators each is in use. The pass that chooses offsets,
// the verifier and the emitter share it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_IR_PROGRAMMEMORY_H
#define SLUICE_DIALECTS_DATAFLOW_IR_PROGRAMMEMORY_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// Buffers begin at multiples of this number of bytes.
inline constexpr int64_t kProgramAlignment = 64;

struct ProgramBuffer {
  /// The buffer is in use while operators lower .. upper - 1 run. Yielded values move after the last operator.
  int64_t lower = 0, upper = 0;
  int64_t bytes = 0;
};

/// How a program's yielded value reaches its place.
enum class YieldMove : uint8_t {
  None,    ///< The value is in its place already, or has no place.
  Written, ///< Its operator writes it to the place.
  Copied,  ///< Copied when all operators have run.
  Saved,   ///< Copied in two steps: all values in the places of others are read before any place is written.
};

struct ProgramMemory {
  /// The operators that run, in order. All other members of the program are views.
  llvm::SmallVector<mlir::Operation *> operators;
  llvm::SmallVector<ProgramBuffer> buffers;
  /// The index in `buffers` of each result, of each operator's workspace, of each saved value by its yield, and of the
  /// buffer of the operator that has the program.
  llvm::DenseMap<mlir::Value, unsigned> ofValue;
  llvm::DenseMap<mlir::Operation *, unsigned> ofWorkspace;
  llvm::DenseMap<unsigned, unsigned> ofSaved;
  std::optional<unsigned> own;
  llvm::SmallVector<YieldMove> moves; ///< Per yielded value.
  /// For a result that an operator writes to the place of a yielded value: the number of that value.
  llvm::DenseMap<mlir::Value, unsigned> writtenTo;
};

/// Describes the memory of one program of an operator.
ProgramMemory describeProgram(ProgramsOpInterface op, mlir::Block &program);

/// The offsets of an operator's buffers, program after program. If no pass has chosen them, no two buffers overlap.
llvm::SmallVector<int64_t> programOffsets(ProgramsOpInterface op);
/// The bytes of the workspace that these buffers take.
int64_t programBytes(ProgramsOpInterface op);

/// Fails, with an error, unless there is one chosen offset for each buffer, and no two buffers overlap that are in use
/// at the same time.
llvm::LogicalResult verifyProgramOffsets(ProgramsOpInterface op);

} // namespace sluice::dataflow

#endif // SLUICE_DIALECTS_DATAFLOW_IR_PROGRAMMEMORY_H
