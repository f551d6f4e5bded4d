//===- ImportedProgram.h - The program as the model had it ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Phases change a program beyond recognition. Therefore a copy is kept in its imported form and gets the decisions
// about each of its operators. `sluice export` shows the copy, from memory or from a file in the artifact's directory.
// That file has no weights. It names the model and the hash of the model's data, so that the weights can be read from
// the model.
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
  /// Copies a program, and marks each operator of `module` with a number in its location.
  explicit ImportedProgram(mlir::ModuleOp module);

  mlir::ModuleOp module() { return *copy; }

  /// Writes a plan's decisions to the copy, as attributes of the operators that became part of a planned operator:
  /// `dataflow.device`, `.kernel` (the planned operator), `.order`, `.time`, `.memory` (per result), `.swapped_in`,
  /// `.swapped_out`; times are simulated. Inputs and weights get `.memory`, and the module gets the facts of the whole
  /// step. `planned`: per operator of `graph`, its operation in what became of the marked module.
  void decide(llvm::ArrayRef<mlir::Operation *> planned, const Graph &graph, const Machine &machine,
              const CostTable &costs, const Plan &plan);

  /// Writes the artifact's file. `modelPath` is kept relative to the directory; `digest` is digestOf(module()).
  Status write(const std::string &directory, const std::string &modelPath, const std::string &digest);

private:
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  std::vector<mlir::Operation *> operators; ///< By mark.
};

/// Marks an operator with a number in its location. collectMarks finds the number in the locations of all operators
/// that replace this one.
void markOperator(mlir::Operation *op, mlir::Location location, size_t mark);
/// Collects the marks in a location.
void collectMarks(mlir::Location location, std::set<size_t> &marks);

/// A program that write() wrote.
struct ProgramFile {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Without the data of weights.
  std::string model;                        ///< The path of the model that the program was imported from.
  std::string digest;                       ///< The hash of the program and its weights.
};
Expected<ProgramFile> readProgramFile(mlir::MLIRContext &context, const std::string &directory);

/// A program without decisions, and its constants' data.
struct DigestSource {
  std::string program; ///< As bytecode.
  std::vector<std::span<const std::byte>> weights;
};
/// Fails if the data of a weight is missing. The weights point into the module's data.
Expected<DigestSource> digestSource(mlir::ModuleOp module);
/// The hash of a source. Reads the weights once and releases their pages. Uses no IR, so another thread may change the
/// module meanwhile.
std::string digestOf(const DigestSource &source);

/// Does both.
Expected<std::string> digestProgram(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_IMPORTEDPROGRAM_H
