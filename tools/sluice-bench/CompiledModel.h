//===- CompiledModel.h - An artifact that is run ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_COMPILEDMODEL_H
#define SLUICE_TOOLS_SLUICEBENCH_COMPILEDMODEL_H

#include "sluice/Runtime/sluice.h"
#include "sluice/TensorIO/HostTensor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::bench {

/// An artifact, opened, with its inputs and room for its outputs.
class CompiledModel {
public:
  /// `threads` of each device, 0: one a core. `inputs`, by name, must outlive the result. Fails where the artifact
  /// does not open, and where an input is missing or of another type or size.
  static Expected<CompiledModel> open(const std::string &directory, int threads,
                                      const std::map<std::string, HostTensor> &inputs);

  /// One step.
  Status run();
  /// Output number `index` of the last step.
  const HostTensor &output(size_t index) const { return outputs[index]; }
  /// For the C API.
  sluice_session *handle() const { return session.get(); }
  /// Of the last step, cut to the extents that it has said. No step may follow.
  Expected<std::vector<HostTensor>> takeOutputs();

private:
  struct Close {
    void operator()(sluice_session *session) const { sluice_close(session); }
  };
  std::unique_ptr<sluice_session, Close> session;
  std::vector<const void *> from;
  std::vector<HostTensor> outputs;
  std::vector<void *> to;
};

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_COMPILEDMODEL_H
