//===- LibraryCall.h - What a library is asked for --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H
#define SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H

#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Runtime/services.h"

namespace sluice::dataflow {

/// What a library may compute in the place of an operator's loops, from its two
/// operands, into its one result.
struct LibraryCall {
  sluice_library_function function = SLUICE_LIBRARY_MATMUL;
  /// The fields of what services.h says of the function, each an int64_t.
  Extents settings;
};

/// The fields of a structure of services.h, whose values a step may give.
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
