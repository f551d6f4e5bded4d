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

/// How the lock file with the hashes of a pipeline's models is used (docs/formats/pipeline.md).
enum class PinMode {
  Check,  ///< If a lock file exists, the models must have its hashes.
  Create, ///< Like Check; without a lock file, one is written.
  Renew,  ///< The lock file is replaced.
};

struct ComposedService {
  std::string id;
  /// The model's file, relative to the pipeline's directory; empty for a graph in the pipeline itself.
  std::string model;
  std::string sha256; ///< Hash of the file; empty without a file, and for PinMode::Check without a lock file.
  int64_t opset = 0;  ///< The version of ONNX's own domain that the service imports; 0 if it imports none.
};

struct Composition {
  ModelFile model;
  std::vector<ComposedService> services; ///< As the pipeline lists them.
};

/// The lock file of a pipeline: its path with ".lock" in place of ".json".
std::string lockPath(const std::string &pipeline);

/// Reads a pipeline and joins its *services* (the models and graphs that it lists, each with an id) into one model. A
/// value, initializer, node or function NAME of service S is named "S.NAME" in the model; inputs and outputs have the
/// names that the pipeline gives them. The model has the newest opset of its services. A service with an older opset is
/// converted to the newest opset if it uses an operator whose definition differs between the two. Data stays in the
/// services' files, which the model keeps mapped.
///
/// Fails on five mistakes: a link whose ends differ in element type, rank, extents or denotation (ONNX's name for the
/// meaning of a dimension); a cycle of services; a file outside the pipeline's directory; a file whose hash differs
/// from the lock file; and a service that cannot be converted to the newest opset. The error names the ends, services,
/// files, hashes or opsets. The lock file is written last, after everything else has succeeded.
Expected<Composition> composePipeline(const std::string &path, PinMode pins);

/// Opens a model by ModelFile::open. If the path ends in ".json", composes the pipeline with PinMode::Check instead.
Expected<ModelFile> openModel(const std::string &path);

/// Writes a model with all its data, including external data, into the model's file or into a file beside it. Fails if
/// data is missing or a file cannot be written.
Status writeModel(const ModelFile &model, const std::string &path, const ExportOptions &options = {});

} // namespace sluice

#endif // SLUICE_ONNX_COMPOSE_H
