//===- OperatorSamples.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OperatorSamples.h"

#include <algorithm>

namespace sluice::driver {

OperatorSamples::OperatorSamples(const Graph &graph, const Machine &machine, const Plan &plan)
    : graph(graph), machine(machine), plan(plan), ns(graph.numOperators()) {
  for (size_t i = 0; i < graph.numOperators(); ++i)
    byName.emplace(graph.op(OperatorId(i)).name, OperatorId(i));
}

void OperatorSamples::addStep(const RunSession &session) {
  const sluice_model &model = session.model();
  for (const CommandTime &time : session.commandTimes())
    if (time.op != UINT32_MAX)
      if (auto found = byName.find(model.op_names[time.op]); found != byName.end())
        ns[found->second.index()].push_back(std::max<int64_t>(tookNs(time), 1));
}

int64_t OperatorSamples::medianNs(OperatorId op) const {
  std::vector<int64_t> sorted = ns[op.index()];
  if (sorted.empty())
    return 0;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  return sorted[sorted.size() / 2];
}

void OperatorSamples::addTo(SampleMap &samples) const {
  for (size_t i = 0; i < ns.size(); ++i) {
    const Operator &op = graph.op(OperatorId(i));
    if (op.signature.empty() || ns[i].empty())
      continue;
    Samples &of = samples[{op.signature, deviceKey(machine.device(plan.placement[i]))}];
    if (of.ns.empty())
      of.shape = shapeOf(graph, OperatorId(i));
    of.ns.insert(of.ns.end(), ns[i].begin(), ns[i].end());
  }
}

void summarize(SampleMap samples, Profile &profile) {
  for (auto &[key, of] : samples) {
    std::sort(of.ns.begin(), of.ns.end());
    const size_t count = of.ns.size();
    profile.operators[key] = {of.ns[count / 2], of.ns[count * 3 / 4] - of.ns[count / 4], static_cast<int64_t>(count),
                              std::move(of.shape)};
  }
}

} // namespace sluice::driver
