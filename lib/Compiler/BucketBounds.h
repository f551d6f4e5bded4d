//===- BucketBounds.h - Which sizes have a plan of their own ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_BUCKETBOUNDS_H
#define SLUICE_LIB_COMPILER_BUCKETBOUNDS_H

#include "sluice/Compiler/Phases.h"

namespace sluice {

/// The bounds of all buckets but that of the upper bounds, in lexicographic order: all combinations of what `--dim` and
/// `--buckets` say of each dimension. Where bounds are to be chosen, `planned` gets the table that they are chosen by;
/// its problem and result are those of the upper bounds. Fails on options that the program cannot follow.
Expected<std::vector<std::vector<int64_t>>> bucketBounds(Planned &planned, const CompilerOptions &options);

/// The program at some bounds. Fails as graphAt does.
Expected<std::shared_ptr<const Bucket>> bucketAt(const Fused &fused, const std::vector<int64_t> &bounds);

/// The search of a bucket's plan, within the limits of `planned`.
SearchProblem problemOf(const Planned &planned, const Bucket &bucket);

/// The search that the options ask for.
SearchParams searchParams(const CompilerOptions &options);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_BUCKETBOUNDS_H
