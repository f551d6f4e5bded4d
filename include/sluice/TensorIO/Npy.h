//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_NPY_H
#define SLUICE_TENSORIO_NPY_H

#include "sluice/TensorIO/HostTensor.h"

#include <string_view>

namespace sluice {

/// Reads the NPY format, versions 1 to 3 (numpy.lib.format), with little-endian f2, f4, f8, i1 to i8, u1 to u8 and b1
/// in C order. A file in Fortran order with more than one dimension is refused. NPY has no bfloat16: it is read and
/// written as two-byte voids (V2), as numpy with ml_dtypes does. Other types that NPY lacks can only be written:
/// integers of 4 and 2 bits as i1 or u1, floats of 8 and 4 bits as V1. Booleans other than 0 are read as 1. Fails on
/// malformed files, and if the data has another size than the shape requires. `origin` names the text in errors.
Expected<HostTensor> parseNpy(std::string_view text, std::string_view origin);
/// The tensor gets the file's name without `.npy`.
Expected<HostTensor> readNpy(const std::string &path);

/// Writes version 1, or version 2 if the header is too long. Tensors of strings are not allowed.
std::string formatNpy(const HostTensor &tensor);
/// Writes a temporary file beside `path` and renames it. Fails on tensors of strings.
Status writeNpy(const std::string &path, const HostTensor &tensor);

} // namespace sluice

#endif // SLUICE_TENSORIO_NPY_H
