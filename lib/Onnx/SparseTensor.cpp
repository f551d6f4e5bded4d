//===- SparseTensor.cpp - Sparse constants as dense ones ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ModelInternals.h"
#include "sluice/Support/Text.h"

#include <cstring>

namespace sluice {

Expected<TensorData> denseData(const ModelFile &model, const ::onnx::SparseTensorProto &sparse) {
  auto what = [&] { return concat("sparse tensor '", excerpt(sparse.values().name()), "'"); };
  // A few values may stand for a shape that fills any memory.
  constexpr int64_t kMostBytes = int64_t(1) << 30;
  Expected<TensorData> values = model.tensor(sparse.values()), positions = model.tensor(sparse.indices());
  if (!values)
    return propagate(values);
  if (!positions)
    return propagate(positions);
  TensorData result;
  result.elementType = values->elementType;
  result.dims.assign(sparse.dims().begin(), sparse.dims().end());
  Expected<int64_t> count = checkedElementCount(result.dims, what());
  if (!count)
    return propagate(count);
  const int64_t width = onnxtype::bits(result.elementType) / 8;
  if (width == 0 || *count > kMostBytes / width)
    return makeError(ErrorCode::Unsupported, what(), " takes more than ", kMostBytes,
                     " bytes when dense, or has elements of less than a byte, store the tensor as a dense one");
  Expected<std::vector<int64_t>> indices = integersOf(*positions);
  if (!indices)
    return propagate(indices);
  // One number a value, counting all elements; or one a dimension.
  const int64_t stored = values->elementCount();
  const bool isLinear = positions->dims.size() == 1;
  const size_t perValue = isLinear ? 1 : result.dims.size();
  if (values->dims.size() != 1 || positions->dims.empty() || positions->dims[0] != stored ||
      indices->size() != static_cast<size_t>(stored) * perValue)
    return makeError(ErrorCode::InvalidInput, what(), " has indices whose shape does not match its values");
  auto dense = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(*count * width));
  for (int64_t i = 0; i < stored; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < perValue; ++d) {
      const int64_t index = (*indices)[static_cast<size_t>(i) * perValue + d],
                    extent = isLinear ? *count : result.dims[d];
      if (index < 0 || index >= extent)
        return makeError(ErrorCode::InvalidInput, what(), " has the index ", index, ", which must be from 0 to ",
                         extent - 1);
      at = at * extent + index;
    }
    std::memcpy(dense->data() + at * width, values->bytes.data() + i * width, static_cast<size_t>(width));
  }
  result.bytes = *dense;
  result.owner = std::move(dense);
  return result;
}

} // namespace sluice
