//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_NPY_H
#define SLUICE_TENSORIO_NPY_H

#include "sluice/TensorIO/HostTensor.h"

#include <string_view>

namespace sluice {

/// Reads the NPY format, versions 1 to 3 (numpy.lib.format): little-endian f2,
/// f4, f8, i1..i8, u1..u8 and b1, in C order (a Fortran-ordered file is refused
/// unless it has one dimension or none). NPY has no bfloat16: two-byte voids
/// (V2), which numpy with ml_dtypes saves it as, are read and written for it.
/// Smaller types are written as the bytes they are stored in: integers as i1 or
/// u1, floats as V1.
/// Fails on anything malformed, and unless the data has exactly the shape's
/// size; booleans other than 0 read as 1. `origin` names the text in errors.
Expected<HostTensor> parseNpy(std::string_view text, std::string_view origin);
/// The tensor's name is the path's last part without `.npy`.
Expected<HostTensor> readNpy(const std::string &path);

/// Not of strings. Version 1, or 2 where the header is too long for it.
std::string formatNpy(const HostTensor &tensor);
/// Writes beside, then renames. Fails on strings.
Status writeNpy(const std::string &path, const HostTensor &tensor);

} // namespace sluice

#endif // SLUICE_TENSORIO_NPY_H
