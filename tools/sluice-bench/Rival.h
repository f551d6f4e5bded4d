//===- Rival.h - Another runtime, in a process of its own -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_RIVAL_H
#define SLUICE_TOOLS_SLUICEBENCH_RIVAL_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Json.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::bench {

/// A Python package that runs ONNX models: rival.py in a child process, which ends with this object.
class Rival {
public:
  /// `name` is "onnxruntime" or "openvino", `python` an interpreter. Fails with NotFound where the interpreter has no
  /// such package.
  static Expected<std::unique_ptr<Rival>> start(const std::string &name, const std::string &python);
  ~Rival() { end(); }
  Rival(const Rival &) = delete;

  /// Reads a model for so many threads; `inputs` are .npy files by name. Starts the package anew where another model
  /// ended its process.
  Status open(const std::string &model, const std::map<std::string, std::string> &inputs, int threads);
  /// Of so many steps together.
  Expected<double> runSeconds(int steps);
  /// Runs one step and writes output number i to `stem`i.npy. The files, in the model's order.
  Expected<std::vector<std::string>> outputs(const std::string &stem);
  const std::string &name() const { return package; }
  const std::string &version() const { return packageVersion; }

private:
  Rival(std::string name, std::string python) : package(std::move(name)), python(std::move(python)) {}
  Status launch();
  void end();
  Expected<Json> ask(const Json &request);
  Expected<Json> readAnswer();

  std::string package, python, packageVersion;
  int process = -1;
  std::FILE *requests = nullptr, *answers = nullptr;
};

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_RIVAL_H
