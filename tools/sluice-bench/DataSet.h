//===- DataSet.h - A model's test data --------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_DATASET_H
#define SLUICE_TOOLS_SLUICEBENCH_DATASET_H

#include "sluice/Onnx/ModelFile.h"
#include "sluice/TensorIO/HostTensor.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {

/// A folder's files of these names, by number: output_2 before output_10.
std::vector<std::string> filesLike(const std::string &folder, std::string_view prefix, std::string_view suffix);

struct DataSet {
  std::map<std::string, HostTensor> inputs;
  std::map<std::string, std::vector<std::vector<int64_t>>> sequences; ///< Shapes of elements.
  std::vector<HostTensor> outputs;                                    ///< Sequences' elements one by one.
};

/// A `test_data_set_*` folder. Fails where it has no output, or an input that the model lacks.
Expected<DataSet> readDataSet(const std::string &folder, const ModelFile &model);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_DATASET_H
