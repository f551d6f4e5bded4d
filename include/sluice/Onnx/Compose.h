//===- Compose.h - Several models as one ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_COMPOSE_H
#define SLUICE_ONNX_COMPOSE_H

#include "sluice/Onnx/ExportOptions.h"
#include "sluice/Onnx/ModelFile.h"

#include <string>
#include <vector>

namespace sluice {

/// What is done with the hashes of a pipeline's models in the lock file beside it (docs/formats/pipeline.md).
enum class PinMode {
  Check,  ///< Where there is a lock file, the models must be those that it names.
  Create, ///< The same; where there is none, it is written.
  Renew,  ///< It is written anew.
};

struct ComposedService {
  std::string id;
  std::string model;  ///< Its file, relative to the pipeline's directory; empty: nodes written in the pipeline.
  std::string sha256; ///< Of the file; empty where it has none.
  int64_t opset = 0;  ///< Of ONNX's own operators, as its file imports it; 0: none.
};

struct Composition {
  ModelFile model;
  std::vector<ComposedService> services; ///< As the pipeline lists them.
};

/// The lock file of a pipeline: its path with ".lock" in place of ".json".
std::string lockPath(const std::string &pipeline);

/// Reads a pipeline and joins its services into one model. A value, an initializer and a node NAME of service S become
/// "S.NAME", and so does a function; inputs and outputs have the names that the pipeline gives them. The model has the
/// newest opset of its services: those with an older one are converted where an operator's meaning differs. Data stays
/// in the services' files, which the model keeps mapped.
///
/// Fails naming both ends of a link whose element types, ranks, extents or denotations differ; naming the services on a
/// cycle; on files outside the pipeline's directory; with both hashes where a file is not the pinned one; and with both
/// opsets where a service cannot be converted. The lock file is written last, when everything else has succeeded.
Expected<Composition> composePipeline(const std::string &path, PinMode pins);

/// ModelFile::open, and composePipeline (with PinMode::Check) where the path ends in ".json".
Expected<ModelFile> openModel(const std::string &path);

/// Writes a model with all its data, also that of other files: into the model's file, or into one beside it. Fails
/// where data is missing or a file cannot be written.
Status writeModel(const ModelFile &model, const std::string &path, const ExportOptions &options = {});

} // namespace sluice

#endif // SLUICE_ONNX_COMPOSE_H
