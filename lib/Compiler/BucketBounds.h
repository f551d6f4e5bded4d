//===- BucketBounds.h - Which sizes have a plan of their own ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_BUCKETBOUNDS_H
#define SLUICE_LIB_COMPILER_BUCKETBOUNDS_H

#include "sluice/Compiler/Phases.h"

namespace sluice {

/// The bounds of all buckets except the one of the upper bounds, in lexicographic order: all combinations of the sizes
/// that `--dim` and `--buckets` give for each dimension. If the options leave sizes to the compiler, the table that
/// decides them is put into `planned`, whose problem and result must be those of the upper bounds. Fails on options
/// that do not fit the program.
Expected<std::vector<std::vector<int64_t>>> bucketBounds(Planned &planned, const CompilerOptions &options);

/// The program at the values `bounds` of its symbols. Fails like graphAt().
Expected<std::shared_ptr<const Bucket>> bucketAt(const Fused &fused, const std::vector<int64_t> &bounds);

/// The search problem of a bucket's plan, with the limits of `planned`.
SearchProblem problemOf(const Planned &planned, const Bucket &bucket);

/// The parameters of the search that the options ask for.
SearchParams searchParams(const CompilerOptions &options);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_BUCKETBOUNDS_H
