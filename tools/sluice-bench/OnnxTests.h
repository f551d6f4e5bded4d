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

/// How a test that passed was run.
struct OnnxTestOutcome {
  std::vector<std::string> fixedInputs; ///< Compiled in as constants.
  bool onlyShapes = false;              ///< Types and shapes were compared, not values.
};

/// Compiles the model for the host, runs each data set, and compares with its outputs as ONNX's own runner does:
/// types and shapes are the same, and |actual - reference| <= 1e-7 + 1e-3 |reference|, where 1e-7 grows with the
/// largest value of a tensor that has one above 1.
///
/// Where a model does not compile otherwise, small integer, boolean and one-dimensional inputs that decide shapes are
/// fixed to the test's values, as few as will do.
///
/// Of random numbers, and of what dropout leaves in training mode, types and shapes are compared.
///
/// Prints nothing. `workDirectory` is a folder for the compiled model.
Expected<OnnxTestOutcome> runOnnxTest(const OnnxTest &test, const std::string &workDirectory);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_ONNXTESTS_H
