//===- PortTypes.h - Types on both ends of links ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_COMPOSE_PORTTYPES_H
#define SLUICE_LIB_ONNX_COMPOSE_PORTTYPES_H

#include "Wiring.h"

#include <map>
#include <set>

namespace sluice::compose {

/// The symbolic dimensions of a pipeline. A symbol is one dimension throughout a service; links make dimensions of
/// several services one (union-find).
class PortTypes {
public:
  /// `pipeline` is the path of the pipeline, for errors; it must outlive the object.
  PortTypes(const std::vector<Service> &services, const std::string &pipeline);

  /// Records that two ports hold the same value. Fails and names both if their types or denotations differ, or if one
  /// dimension would have two extents.
  Status join(PortIndex a, bool aIsInput, PortIndex b, bool bIsInput);
  /// To be called after the last join(). Gives every dimension a name: its symbol, if no other dimension has the same.
  void nameDims();

  /// The port's type with the extents and names that the pipeline gives.
  ::onnx::TypeProto typeOf(PortIndex port, bool isInput) const;
  /// Gives them to a type within a service, such as that of a value between its nodes.
  void rename(size_t service, ::onnx::TypeProto &type) const;

private:
  struct Dim {
    size_t parent;
    size_t service;
    std::string symbol;
    bool isDeclared = false; ///< False for names like "input.0", which the model does not declare.
    std::optional<int64_t> extent;
    std::string extentFrom; ///< The port that gave the extent.
    size_t members = 1;
    std::string name; ///< Empty if no name is needed.
  };
  struct End {
    const Port *port;
    size_t service;
    std::string text; ///< The port in messages: "'service.port'".
  };
  End endOf(PortIndex port, bool isInput) const;
  size_t root(size_t dim) const;
  Status joinDims(const End &a, const End &b, size_t axis);
  std::string describe(const End &end, size_t axis) const;
  Status joinDenotations(const End &a, const End &b) const;

  const std::vector<Service> &services;
  const std::string &pipeline;
  std::vector<Dim> dims;
  std::map<std::pair<size_t, std::string>, size_t> index;
};

} // namespace sluice::compose

#endif // SLUICE_LIB_ONNX_COMPOSE_PORTTYPES_H
