//===- LibraryCall.h - What a library is asked for --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H
#define SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H

#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Runtime/services.h"

namespace sluice::dataflow {

/// A call by which a library computes the operator's result from its two operands, in the place of the operator's
/// loops.
struct LibraryCall {
  sluice_library_function function = SLUICE_LIBRARY_MATMUL;
  /// The fields of the function's structure in services.h, each an int64_t.
  Extents settings;
};

/// The fields of a structure of services.h. A step may give their values.
template <typename Structure>
class LibrarySettings {
public:
  Extent &operator[](int64_t Structure::*field) {
    static constexpr Structure kNone{};
    const auto bytes = reinterpret_cast<const char *>(&(kNone.*field)) - reinterpret_cast<const char *>(&kNone);
    return fields[static_cast<size_t>(bytes) / sizeof(int64_t)];
  }
  const Extents &all() const { return fields; }

private:
  Extents fields = Extents(sizeof(Structure) / sizeof(int64_t), 0);
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H
