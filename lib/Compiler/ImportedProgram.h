//===- ImportedProgram.h - The program as the model had it ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Phases change a program beyond recognition. A copy stays as it was imported,
// learns what was decided about each of its operators, and is what `sluice
// export` shows: at once, or from a file in the artifact's directory. That file
// has no weights; it says which model it was and what that model's data hashes
// to, so that they can be taken from there.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_IMPORTEDPROGRAM_H
#define SLUICE_LIB_COMPILER_IMPORTEDPROGRAM_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Plan/Plan.h"
#include "sluice/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The program's name in a compiled model's directory.
inline constexpr const char *kProgramFileName = "program.mlirbc";

class ImportedProgram {
public:
  ImportedProgram() = default;
  /// Copies a program, and marks the operators of `module` by their locations.
  explicit ImportedProgram(mlir::ModuleOp module);

  mlir::ModuleOp module() { return *copy; }

  /// Makes a plan's decisions attributes of the operators that became part of its: `dataflow.device`, `.kernel` (the
  /// planned operator), `.order`, `.time`, `.memory` (per result), `.swapped_in`, `.swapped_out`; times are simulated.
  /// Inputs and weights get `.memory`, and the module what holds for the whole step. `planned`:
  /// per operator of `graph`, what became of the marked module.
  void decide(llvm::ArrayRef<mlir::Operation *> planned, const Graph &graph, const Machine &machine,
              const CostTable &costs, const Plan &plan);

  /// Writes the artifact's file. `modelPath` is kept relative to the directory; `digest` is digestOf(module()).
  Status write(const std::string &directory, const std::string &modelPath, const std::string &digest);

private:
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  std::vector<mlir::Operation *> operators; ///< By mark.
};

/// Marks an operator, by its location, with a number that collectMarks finds behind what
/// becomes of it.
void markOperator(mlir::Operation *op, mlir::Location location, size_t mark);
/// The marks behind a location.
void collectMarks(mlir::Location location, std::set<size_t> &marks);

/// A program that write() wrote.
struct ProgramFile {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Weights left out.
  std::string model;                        ///< Path of the model it was imported from.
  std::string digest;                       ///< Of the program and its weights.
};
Expected<ProgramFile> readProgramFile(mlir::MLIRContext &context, const std::string &directory);

/// A program without decisions, and its constants' data.
struct DigestSource {
  std::string program; ///< As bytecode.
  std::vector<std::span<const std::byte>> weights;
};
/// Fails if the data of a weight is missing. The weights are views of the module's data.
Expected<DigestSource> digestSource(mlir::ModuleOp module);
/// Its hash. Weights are read once, their pages are released, and no IR is used, so that another thread can work on it
/// meanwhile.
std::string digestOf(const DigestSource &source);

/// Both in one.
Expected<std::string> digestProgram(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_IMPORTEDPROGRAM_H
