//===- TestModel.h - From text to a running model ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CODEGEN_TESTMODEL_H
#define SLUICE_TEST_UNIT_CODEGEN_TESTMODEL_H

#include "sluice/Codegen/ObjectEmission.h"
#include "sluice/Runtime/sluice.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

/// A directory of its own, gone when the test is done.
class TemporaryDirectory {
public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  std::string path;
};

/// A context with every dialect that code generation knows, and exec.
std::unique_ptr<mlir::MLIRContext> makeContext();
/// Fails the test where the text does not parse and verify.
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context, const std::string &text);

/// Lowers a module of kernels and an exec.program, and writes the artifact.
void compileTo(const std::string &directory, mlir::ModuleOp module, const std::vector<float> &parameters,
               const EmissionParams &params = {});

/// A kernel that stores `expression`, a line defining %r from %a and %b, for
/// each of `count` elements of its arguments 0 and 1, to argument 2.
std::string elementwiseKernel(const std::string &name, const std::string &type, int64_t count,
                              const std::string &expression);

struct Session {
  explicit Session(const std::string &directory, uint32_t threads = 2);
  ~Session() { sluice_close(session); }
  Session(const Session &) = delete;
  /// One input and one output; fails the test where the step does.
  std::vector<float> run(const std::vector<float> &input, size_t outputElements);
  sluice_session *session;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CODEGEN_TESTMODEL_H
