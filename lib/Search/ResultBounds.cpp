//===- ResultBounds.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ResultBounds.h"

#include <algorithm>

namespace sluice {

void boundAllPlacements(const BoundProblem &problem, SearchResult &result) {
  BoundCertificate certificate;
  certificate.argument = BoundArgument::Placements;
  result.lowerBoundNs = result.onceBoundNs = provenNs(problem, certificate).value_or(0);
  result.certificate = result.onceCertificate = std::move(certificate);
}

void boundPlacement(const BoundProblem &problem, SearchResult &result) {
  const LowerBounds bounds =
      planLowerBounds(problem.graph, problem.machine, problem.costs, problem.capacities, problem.placement);
  const ProvenBound &always = bounds.always(), &once = bounds.once();
  if (always.ns >= result.lowerBoundNs) {
    result.lowerBoundNs = always.ns;
    result.certificate = always.certificate;
  }
  const bool isOnceBetter = once.ns >= result.lowerBoundNs;
  result.onceBoundNs = std::max(result.lowerBoundNs, once.ns);
  result.onceCertificate = isOnceBetter ? once.certificate : result.certificate;
}

Status checkCertificates(const BoundProblem &problem, const SearchResult &result) {
  auto check = [&](const std::optional<BoundCertificate> &certificate, int64_t boundNs, bool isBeatable) -> Status {
    if (!certificate)
      return {};
    SLUICE_ASSIGN_OR_RETURN(int64_t ns, provenNs(problem, *certificate));
    if (ns >= boundNs && (isBeatable || boundNs <= result.makespanNs))
      return {};
    return makeError(ErrorCode::Internal, "the certificate of the lower bound proves ", ns, " ns, the bound is ",
                     boundNs, " ns and the plan takes ", result.makespanNs, " ns, graph '", problem.graph.name,
                     "', this is a bug of Sluice, please report it");
  };
  SLUICE_RETURN_IF_ERROR(check(result.certificate, result.lowerBoundNs, false));
  return check(result.onceCertificate, result.onceBoundNs, !result.plan.computedAgain().empty());
}

} // namespace sluice
