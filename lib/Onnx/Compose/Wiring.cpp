//===- Wiring.cpp - Which port feeds which --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Wiring.h"

#include "sluice/Support/Text.h"

#include <algorithm>

namespace sluice::compose {
namespace {

class Wirer {
public:
  Wirer(const Pipeline &pipeline, const std::vector<Service> &services) : pipeline(pipeline), services(services) {}
  Expected<Wiring> run();

private:
  Status connect(const PortName &to, const Source &source);
  Status takeOutputs();
  /// Depth first over what services read; fails on a cycle.
  Status visit(size_t service);

  const Pipeline &pipeline;
  const std::vector<Service> &services;
  Wiring wiring;
  std::vector<std::vector<bool>> connected, read; ///< Per service: of its inputs, and of its outputs.
  enum class Mark : uint8_t { New, Open, Done };
  std::vector<Mark> marks;
  std::vector<size_t> path;
};

Status Wirer::connect(const PortName &to, const Source &source) {
  SLUICE_ASSIGN_OR_RETURN(size_t index, findPort(services[to.service], to, /*isInput=*/true));
  if (connected[to.service][index])
    return makeError(ErrorCode::InvalidInput, "input '", services[to.service].id, ".", excerpt(to.port),
                     "' has two sources, at '", to.where, "', remove one of the two sources");
  connected[to.service][index] = true;
  wiring.sources[to.service][index] = source;
  if (source.isPipelineInput)
    wiring.inputs[source.index].readers.push_back({to.service, index});
  else
    read[source.service][source.index] = true;
  return {};
}

Status Wirer::takeOutputs() {
  if (pipeline.outputs) {
    for (const PipelineOutput &output : *pipeline.outputs) {
      const PortName &port = output.port;
      SLUICE_ASSIGN_OR_RETURN(size_t index, findPort(services[port.service], port, /*isInput=*/false));
      wiring.outputs.push_back({output.name, {port.service, index}});
    }
    return {};
  }
  for (size_t s = 0; s < services.size(); ++s)
    for (size_t i = 0; i < services[s].outputs.size(); ++i)
      if (!read[s][i])
        wiring.outputs.push_back({concat(services[s].id, ".", services[s].outputs[i].declared.name), {s, i}});
  if (wiring.outputs.empty())
    return makeError(ErrorCode::InvalidInput,
                     "the pipeline has no output because links read every output of its services, in '", pipeline.path,
                     "', list the pipeline's outputs under 'outputs'");
  return {};
}

Status Wirer::visit(size_t service) {
  if (marks[service] == Mark::Done)
    return {};
  if (marks[service] == Mark::Open) {
    // The path goes from readers to what they read; data flows the other way.
    std::string cycle = concat("'", services[service].id, "'");
    for (size_t i = path.size(); i-- > 0;) {
      cycle += concat(" -> '", services[path[i]].id, "'");
      if (path[i] == service)
        break;
    }
    return makeError(ErrorCode::InvalidInput, "the services ", cycle, " form a cycle, in '", pipeline.path,
                     "', remove a link between them");
  }
  marks[service] = Mark::Open;
  path.push_back(service);
  for (const Source &source : wiring.sources[service])
    if (!source.isPipelineInput)
      SLUICE_RETURN_IF_ERROR(visit(source.service));
  path.pop_back();
  marks[service] = Mark::Done;
  wiring.order.push_back(service);
  return {};
}

Expected<Wiring> Wirer::run() {
  for (const Service &service : services) {
    wiring.sources.emplace_back(service.inputs.size());
    connected.emplace_back(service.inputs.size());
    read.emplace_back(service.outputs.size());
  }
  for (const PipelineLink &link : pipeline.links) {
    SLUICE_ASSIGN_OR_RETURN(size_t from, findPort(services[link.from.service], link.from, /*isInput=*/false));
    SLUICE_RETURN_IF_ERROR(connect(link.to, {false, link.from.service, from}));
  }
  for (const PipelineInput &input : pipeline.inputs) {
    wiring.inputs.push_back({input.name, {}});
    for (const PortName &port : input.ports)
      SLUICE_RETURN_IF_ERROR(connect(port, {true, 0, wiring.inputs.size() - 1}));
  }
  for (size_t s = 0; s < services.size(); ++s)
    for (size_t i = 0; i < services[s].inputs.size(); ++i)
      if (!connected[s][i]) {
        wiring.sources[s][i] = {true, 0, wiring.inputs.size()};
        wiring.inputs.push_back({concat(services[s].id, ".", services[s].inputs[i].declared.name), {{s, i}}});
      }
  SLUICE_RETURN_IF_ERROR(takeOutputs());
  marks.resize(services.size(), Mark::New);
  for (size_t s = 0; s < services.size(); ++s)
    SLUICE_RETURN_IF_ERROR(visit(s));
  return std::move(wiring);
}

} // namespace

Expected<Wiring> wire(const Pipeline &pipeline, const std::vector<Service> &services) {
  return Wirer(pipeline, services).run();
}

} // namespace sluice::compose
