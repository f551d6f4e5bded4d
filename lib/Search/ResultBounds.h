//===- ResultBounds.h - The lower bounds of a search's result -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_RESULTBOUNDS_H
#define SLUICE_LIB_SEARCH_RESULTBOUNDS_H

#include "sluice/Search/Search.h"

namespace sluice {

/// Sets the bounds of all placements that the problem allows, and their certificates. Ignores the problem's placement.
void boundAllPlacements(const BoundProblem &problem, SearchResult &result);

/// Raises the bounds to those of the problem's placement. They then hold for this placement alone.
void boundPlacement(const BoundProblem &problem, SearchResult &result);

/// Checks that the bounds are what their certificates prove, and that the result's plan is not faster.
Status checkCertificates(const BoundProblem &problem, const SearchResult &result);

} // namespace sluice

#endif // SLUICE_LIB_SEARCH_RESULTBOUNDS_H
