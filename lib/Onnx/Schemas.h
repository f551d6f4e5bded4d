//===- Schemas.h - ONNX's definitions of operators --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_SCHEMAS_H
#define SLUICE_LIB_ONNX_SCHEMAS_H

#include <cstdint>
#include <string>

namespace onnx {
class NodeProto;
} // namespace onnx

namespace sluice {

/// The newest version of a domain for which the ONNX library has definitions; 0 if it has none. The standard's domain
/// is "".
int64_t newestKnownVersion(const std::string &domain);

/// The name of an attribute that the definition of the node's operator lacks in this version of its domain. Empty if
/// there is none, or if the ONNX library does not have the version or the operator. Names that begin with "__" are
/// marks of runtimes.
std::string unknownAttribute(const ::onnx::NodeProto &node, int64_t version);

/// Whether the definition of the node's operator forbids text in an input. False if the ONNX library does not have the
/// version or the operator.
bool forbidsText(const ::onnx::NodeProto &node, int64_t version, size_t input);

} // namespace sluice

#endif // SLUICE_LIB_ONNX_SCHEMAS_H
