//===- LibraryCall.h - What a library is asked for --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H
#define SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H

#include "sluice/Runtime/services.h"

#include <variant>

namespace sluice::dataflow {

/// What a library may compute in the place of an operator's loops, from its two
/// operands, into its one result.
struct LibraryCall {
  sluice_library_function function;
  std::variant<sluice_product, sluice_convolution> settings; ///< What services.h says of the function.
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_LIBRARY_LIBRARYCALL_H
