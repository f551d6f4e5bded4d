//===- Barrier.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Barrier.h"

#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include "Numbers.h"

namespace sluice {

Status Barrier::check() const {
  if (staleness < 0 || staleness > kMostStaleness)
    return makeError(ErrorCode::InvalidInput, "barrier '", barrierText(*this), "' cannot have a staleness of ",
                     staleness, " steps, give 0 to ", kMostStaleness);
  if (sample && (*sample < 0 || *sample > kMostWorkers))
    return makeError(ErrorCode::InvalidInput, "barrier '", barrierText(*this), "' cannot have a sample of ", *sample,
                     " workers, give 0 to ", kMostWorkers);
  return {};
}

Expected<Barrier> parseBarrier(std::string_view text) {
  struct Form {
    std::string_view name, numbers;
    bool hasStaleness, hasSample;
  };
  static constexpr Form kForms[] = {{"bsp", "no number", false, false},
                                    {"asp", "no number", false, false},
                                    {"ssp", "a staleness, as in 'ssp:4'", true, false},
                                    {"pbsp", "a sample, as in 'pbsp:10'", false, true},
                                    {"pssp", "a staleness and a sample, as in 'pssp:4,10'", true, true}};
  const NamedNumbers parts = splitNumbers(text);
  const auto *form =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const Form &f) { return f.name == parts.name; });
  if (form == std::end(kForms))
    return makeError(ErrorCode::InvalidInput, "unknown barrier '", excerpt(text),
                     "', give bsp, ssp:STALENESS, asp, pbsp:SAMPLE or pssp:STALENESS,SAMPLE");
  if (parts.numbers.size() != static_cast<size_t>(form->hasStaleness) + static_cast<size_t>(form->hasSample))
    return makeError(ErrorCode::InvalidInput, "barrier '", excerpt(text), "' has ", parts.numbers.size(), " number",
                     parts.numbers.size() == 1 ? "" : "s", ", write '", form->name, "' with ", form->numbers);
  Barrier barrier;
  if (form->hasStaleness) {
    SLUICE_ASSIGN_OR_RETURN(barrier.staleness, parseInteger(parts.numbers.front()));
  }
  if (form->hasSample) {
    SLUICE_ASSIGN_OR_RETURN(barrier.sample, parseInteger(parts.numbers.back()));
  }
  if (form->name == "asp")
    barrier.sample = 0;
  SLUICE_RETURN_IF_ERROR(barrier.check());
  return barrier;
}

std::string barrierText(const Barrier &barrier) {
  if (!barrier.sample)
    return barrier.staleness == 0 ? "bsp" : concat("ssp:", barrier.staleness);
  if (barrier.staleness > 0)
    return concat("pssp:", barrier.staleness, ",", *barrier.sample);
  return *barrier.sample == 0 ? "asp" : concat("pbsp:", *barrier.sample);
}

} // namespace sluice
