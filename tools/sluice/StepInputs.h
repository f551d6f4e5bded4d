//===- StepInputs.h - The tensors of a step ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_STEPINPUTS_H
#define SLUICE_TOOLS_SLUICE_STEPINPUTS_H

#include "RunSession.h"
#include "sluice/Runtime/sluice.h"
#include "sluice/TensorIO/HostTensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::driver {

/// An input: data, or the seed of random values.
struct GivenInput {
  std::optional<HostTensor> tensor;
  uint64_t seed = 0;
  std::string origin = "random:0"; ///< For messages.
};

/// Makes the tensors of a step, of these shapes. Each random input has its own stream of numbers. Fails and names an
/// input whose data has another type or shape.
Expected<std::vector<HostTensor>> makeInputs(const sluice_model &model, const InputShapes &shapes,
                                             std::vector<GivenInput> given);

/// The shapes of a step's inputs. A symbol of the model has the size in `sizes`, else the extent of the data for its
/// input, else its upper bound. Fails if a size is for no symbol, is out of range, or differs from the data. For
/// `steps` see StepInputs::create(). RunSession::setShapes checks the data of other inputs.
Expected<InputShapes> chooseShapes(const sluice_model &model, const std::vector<GivenInput> &given, int64_t steps,
                                   const std::map<std::string, int64_t> &sizes);

/// The tensors of every step. Data with k times the first extent of the model's input is k batches: step i gets batch
/// number i modulo k.
class StepInputs {
public:
  /// As makeInputs, of the shapes that chooseShapes says, which it gives to the session; `steps` may be 1 only where
  /// there is one batch. Fails where tensors differ in their number of batches.
  static Expected<StepInputs> create(RunSession &session, std::vector<GivenInput> given, int64_t steps,
                                     const std::map<std::string, int64_t> &sizes = {});
  const std::vector<HostTensor> &at(int64_t step);
  int64_t numBatches() const { return batches; }

private:
  std::vector<std::optional<HostTensor>> whole; ///< Per input: its data, if it has several batches.
  std::vector<HostTensor> current;
  int64_t batches = 1;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_STEPINPUTS_H
