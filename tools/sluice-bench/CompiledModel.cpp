//===- CompiledModel.cpp - An artifact that is run ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompiledModel.h"
#include "sluice/Runtime/Tables.h"

namespace sluice::bench {

Expected<CompiledModel> CompiledModel::open(const std::string &directory, int threads,
                                            const std::map<std::string, HostTensor> &inputs) {
  sluice_options options = {};
  options.size = sizeof options;
  options.threads = static_cast<uint32_t>(threads);
  CompiledModel opened;
  opened.session.reset(sluice_open(directory.c_str(), &options));
  if (!opened.session)
    return makeError(ErrorCode::Io, sluice_last_error());
  const sluice_model &model = *sluice_describe(opened.session.get());
  for (uint32_t i = 0; i < model.num_inputs; ++i) {
    const sluice_tensor_desc port = tableEntry(model.inputs, i);
    auto given = inputs.find(port.name);
    if (given == inputs.end())
      return makeError(ErrorCode::InvalidInput, "the test has no data for input '", port.name,
                       "', add the data to the model's test_data_set_0");
    if (static_cast<int32_t>(given->second.type) != port.element_type ||
        static_cast<int64_t>(given->second.bytes.size()) != port.bytes)
      return makeError(ErrorCode::InvalidInput, "the test's data for input '", port.name, "' has ",
                       given->second.bytes.size(),
                       " bytes or a type that the model does not declare, the model declares ", port.bytes,
                       " bytes, correct the file in test_data_set_0");
    opened.from.push_back(given->second.bytes.data());
  }
  for (uint32_t i = 0; i < model.num_outputs; ++i) {
    const sluice_tensor_desc port = tableEntry(model.outputs, i);
    SLUICE_ASSIGN_OR_RETURN(ElementType type, elementTypeFromOnnx(port.element_type));
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor,
                            makeTensor(port.name, type, std::vector(port.shape, port.shape + port.rank)));
    opened.outputs.push_back(std::move(tensor));
  }
  for (HostTensor &output : opened.outputs)
    opened.to.push_back(output.bytes.data());
  return opened;
}

Status CompiledModel::run() {
  if (sluice_run(session.get(), from.data(), to.data()) != 0)
    return makeError(ErrorCode::Io, sluice_last_error());
  return {};
}

Expected<std::vector<HostTensor>> CompiledModel::takeOutputs() {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    // What the last step found may be less than there is room for.
    int64_t bytes = 0;
    sluice_get_shape(session.get(), SLUICE_PORT_OUTPUT, i, outputs[i].shape.data(), &bytes);
    outputs[i].bytes.resize(static_cast<size_t>(bytes));
    ownText(outputs[i]);
  }
  SLUICE_RETURN_IF_ERROR(cutToExtents(outputs));
  return std::move(outputs);
}

} // namespace sluice::bench
