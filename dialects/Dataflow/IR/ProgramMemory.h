//===- ProgramMemory.h - Memory of programs within kernels ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The programs of if and loop run within a kernel, whose workspace holds their
// tensors. What needs memory there, and while which operators run, is described
// once: for the pass that chooses offsets, for the verifier and for the emitter.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_IR_PROGRAMMEMORY_H
#define SLUICE_DIALECTS_DATAFLOW_IR_PROGRAMMEMORY_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// Buffers begin at multiples of this.
inline constexpr int64_t kProgramAlignment = 64;

struct ProgramBuffer {
  int64_t lower = 0,
          upper = 0; ///< Live while operators lower .. upper - 1 run; what is yielded is moved behind the last.
  int64_t bytes = 0;
};

/// How a program's yielded value reaches its place.
enum class YieldMove : uint8_t {
  None,    ///< It is there, or has no place.
  Written, ///< Its operator writes there.
  Copied,  ///< Copied when all operators have run.
  Saved,   ///< Copied in two steps: all values in the places of others are read before any place is written.
};

struct ProgramMemory {
  /// Those that run, in order: the others are views.
  llvm::SmallVector<mlir::Operation *> operators;
  llvm::SmallVector<ProgramBuffer> buffers;
  /// Numbers in `buffers`: of results, of operators' workspaces, of saved values by yield; and of the operator's own.
  llvm::DenseMap<mlir::Value, unsigned> ofValue;
  llvm::DenseMap<mlir::Operation *, unsigned> ofWorkspace;
  llvm::DenseMap<unsigned, unsigned> ofSaved;
  std::optional<unsigned> own;
  llvm::SmallVector<YieldMove> moves; ///< By yield.
  /// The yield whose place a result is written to.
  llvm::DenseMap<mlir::Value, unsigned> writtenTo;
};

/// Of one program of an operator.
ProgramMemory describeProgram(ProgramsOpInterface op, mlir::Block &program);

/// The offsets of an operator's buffers, one program's after the other's: those chosen, or one behind the other.
llvm::SmallVector<int64_t> programOffsets(ProgramsOpInterface op);
/// The bytes that they end at.
int64_t programBytes(ProgramsOpInterface op);

/// Fails, with an error, unless chosen offsets are as many as buffers and no two buffers that are live at one time
/// overlap.
llvm::LogicalResult verifyProgramOffsets(ProgramsOpInterface op);

} // namespace sluice::dataflow

#endif // SLUICE_DIALECTS_DATAFLOW_IR_PROGRAMMEMORY_H
