//===- OnnxTests.h - The standard's backend tests ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A test is a folder with `model.onnx` and `test_data_set_*`, or, as ONNX's
// light models are, a file `X.onnx` beside `X_output_*.pb` whose float inputs
// are 0, 1/n, ... (n - 1)/n.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_ONNXTESTS_H
#define SLUICE_TOOLS_SLUICEBENCH_ONNXTESTS_H

#include "sluice/Support/Error.h"

#include <string>
#include <vector>

namespace sluice::bench {

struct OnnxTest {
  std::string name;      ///< "test_abs"
  std::string group;     ///< The folder it lies in: "node", "simple"...
  std::string modelPath; ///< Of its model.
  /// Folders of inputs and outputs, in order; empty for a light model.
  std::vector<std::string> dataSets;
};

/// All tests below a folder (which may be one), by group and name. Fails where there is none.
Expected<std::vector<OnnxTest>> findOnnxTests(const std::string &directory);

/// What a test is about: the operator of its first node that is no constant; of `test_X_expanded`, that of `test_X`
/// where `tests` has it. "" where the model cannot be read.
std::vector<std::string> operatorsOf(const std::vector<OnnxTest> &tests);

/// Compiles the model for the host, runs each data set, and compares with its outputs as ONNX's own runner does:
/// types and shapes are the same, and |actual - reference| <= 1e-7 + 1e-3 |reference|, where 1e-7 grows with the
/// largest value of a tensor that has one above 1.
///
/// Inputs that decide shapes are constants of the compiled program, as all its shapes are static: where a model does
/// not compile otherwise, its small integer, boolean and one-dimensional inputs are fixed to the test's values.
///
/// Of random numbers, and of what dropout leaves in training mode, types and shapes are compared.
///
/// Prints nothing. `workDirectory` is a folder for the compiled model.
Status runOnnxTest(const OnnxTest &test, const std::string &workDirectory);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_ONNXTESTS_H
