//===- PortTypes.cpp - Types on both ends of links ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PortTypes.h"

#include "sluice/Support/Text.h"

namespace sluice::compose {

/// "float", "sequence of int64"; empty where the model does not say.
static std::string elementText(const ::onnx::TypeProto &type) {
  auto element = [](int32_t number) { return number == onnxtype::Undefined ? "" : onnxtype::name(number); };
  switch (type.value_case()) {
  case ::onnx::TypeProto::kTensorType:
    return element(type.tensor_type().elem_type());
  case ::onnx::TypeProto::kSparseTensorType:
    return "sparse " + element(type.sparse_tensor_type().elem_type());
  case ::onnx::TypeProto::kSequenceType:
    return "sequence of " + elementText(type.sequence_type().elem_type());
  case ::onnx::TypeProto::kOptionalType:
    return "optional " + elementText(type.optional_type().elem_type());
  case ::onnx::TypeProto::kMapType:
    return concat("map of ", onnxtype::name(type.map_type().key_type()), " to ",
                  elementText(type.map_type().value_type()));
  default:
    return "";
  }
}

PortTypes::PortTypes(const std::vector<Service> &services, const std::string &pipeline)
    : services(services), pipeline(pipeline) {
  for (size_t s = 0; s < services.size(); ++s)
    for (const std::vector<Port> *ports : {&services[s].inputs, &services[s].outputs})
      for (const Port &port : *ports)
        for (size_t axis = 0; port.declared.dims && axis < port.declared.dims->size(); ++axis) {
          const DeclaredDim &dim = (*port.declared.dims)[axis];
          if (dim.value >= 0 || !index.try_emplace({s, dim.symbol}, dims.size()).second)
            continue;
          const bool isDeclared = dim.symbol != concat(port.declared.name, ".", axis);
          dims.push_back({dims.size(), s, dim.symbol, isDeclared, std::nullopt, {}});
        }
}

PortTypes::End PortTypes::endOf(PortIndex port, bool isInput) const {
  const Service &service = services[port.service];
  const Port &found = (isInput ? service.inputs : service.outputs)[port.index];
  return {&found, port.service, concat("'", service.id, ".", excerpt(found.declared.name), "'")};
}

size_t PortTypes::root(size_t dim) const {
  while (dims[dim].parent != dim)
    dim = dims[dim].parent;
  return dim;
}

/// "3", or "3 (the size of 'N' at 'service.port')".
std::string PortTypes::describe(const End &end, size_t axis) const {
  const DeclaredDim &dim = (*end.port->declared.dims)[axis];
  if (dim.value >= 0)
    return concat(dim.value);
  const Dim &known = dims[root(index.at({end.service, dim.symbol}))];
  return concat(known.extent.value_or(-1), " (the size of '", excerpt(dim.symbol), "' at ", known.extentFrom, ")");
}

Status PortTypes::joinDims(const End &a, const End &b, size_t axis) {
  auto differ = [&] {
    return makeError(ErrorCode::InvalidInput, a.text, " and ", b.text, " are linked, but dimension ", axis, " of ",
                     a.text, " has size ", describe(a, axis), " and dimension ", axis, " of ", b.text, " has size ",
                     describe(b, axis), ", in '", pipeline,
                     "', link ports of the same shape, or put nodes between them");
  };
  const DeclaredDim &left = (*a.port->declared.dims)[axis], &right = (*b.port->declared.dims)[axis];
  if (left.value >= 0 && right.value >= 0)
    return left.value == right.value ? Status() : differ();
  if (left.value >= 0 || right.value >= 0) {
    const End &symbolic = left.value >= 0 ? b : a, &fixed = left.value >= 0 ? a : b;
    const int64_t extent = std::max(left.value, right.value);
    Dim &dim = dims[root(index.at({symbolic.service, (*symbolic.port->declared.dims)[axis].symbol}))];
    if (dim.extent && *dim.extent != extent)
      return differ();
    if (!dim.extent)
      dim.extentFrom = fixed.text;
    dim.extent = extent;
    return {};
  }
  size_t into = root(index.at({a.service, left.symbol})), from = root(index.at({b.service, right.symbol}));
  if (into == from)
    return {};
  if (dims[into].extent && dims[from].extent && dims[into].extent != dims[from].extent)
    return differ();
  if (dims[into].members < dims[from].members)
    std::swap(into, from);
  dims[from].parent = into;
  dims[into].members += dims[from].members;
  if (!dims[into].extent) {
    dims[into].extent = dims[from].extent;
    dims[into].extentFrom = dims[from].extentFrom;
  }
  return {};
}

Status PortTypes::joinDenotations(const End &a, const End &b) const {
  auto check = [&](const std::string &left, const std::string &right, const std::string &what) {
    if (left.empty() || right.empty() || left == right)
      return Status();
    return Status(makeError(ErrorCode::InvalidInput, "the denotation", what, " of ", a.text, " is '", excerpt(left),
                            "' and that of ", b.text, " is '", excerpt(right), "', in '", pipeline,
                            "', link ports of the same meaning"));
  };
  const ::onnx::TypeProto &left = a.port->type, &right = b.port->type;
  SLUICE_RETURN_IF_ERROR(check(left.denotation(), right.denotation(), ""));
  if (!left.tensor_type().has_shape() || !right.tensor_type().has_shape())
    return {};
  for (int axis = 0; axis < left.tensor_type().shape().dim_size(); ++axis)
    SLUICE_RETURN_IF_ERROR(check(left.tensor_type().shape().dim(axis).denotation(),
                                 right.tensor_type().shape().dim(axis).denotation(), concat(" of dimension ", axis)));
  return {};
}

Status PortTypes::join(PortIndex a, bool aIsInput, PortIndex b, bool bIsInput) {
  const End left = endOf(a, aIsInput), right = endOf(b, bIsInput);
  const std::string of = elementText(left.port->type), to = elementText(right.port->type);
  if (!of.empty() && !to.empty() && of != to)
    return makeError(ErrorCode::InvalidInput, left.text, " has type ", of, " and ", right.text, " has type ", to,
                     ", in '", pipeline, "', link ports of the same type, or put a Cast between them");
  const auto &leftDims = left.port->declared.dims, &rightDims = right.port->declared.dims;
  if (leftDims && rightDims) {
    if (leftDims->size() != rightDims->size())
      return makeError(ErrorCode::InvalidInput, left.text, " has rank ", leftDims->size(), " and ", right.text,
                       " has rank ", rightDims->size(), ", in '", pipeline,
                       "', link ports of the same rank, or put a Reshape between them");
    for (size_t axis = 0; axis < leftDims->size(); ++axis)
      SLUICE_RETURN_IF_ERROR(joinDims(left, right, axis));
  }
  return joinDenotations(left, right);
}

void PortTypes::nameDims() {
  // A dimension goes by the first symbol that a model declares for it.
  std::map<size_t, size_t> named;
  std::map<std::string, size_t> uses;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t whole = root(i);
    auto [at, isFirst] = named.try_emplace(whole, i);
    if (!isFirst && dims[i].isDeclared && !dims[at->second].isDeclared)
      at->second = i;
  }
  for (const auto &[whole, by] : named)
    if (!dims[whole].extent && dims[by].isDeclared)
      ++uses[dims[by].symbol];
  std::set<std::string> taken;
  for (const auto &[symbol, count] : uses)
    if (count == 1)
      taken.insert(symbol);
  for (const auto &[whole, by] : named) {
    const Dim &dim = dims[by];
    if (dims[whole].extent || (!dim.isDeclared && dims[whole].members == 1))
      continue;
    if (dim.isDeclared && uses[dim.symbol] == 1) {
      dims[whole].name = dim.symbol;
      continue;
    }
    std::string name = concat(services[dim.service].id, ".", dim.symbol);
    while (!taken.insert(name).second)
      name += "_";
    dims[whole].name = std::move(name);
  }
}

void PortTypes::rename(size_t service, ::onnx::TypeProto &type) const {
  switch (type.value_case()) {
  case ::onnx::TypeProto::kSequenceType:
    return rename(service, *type.mutable_sequence_type()->mutable_elem_type());
  case ::onnx::TypeProto::kOptionalType:
    return rename(service, *type.mutable_optional_type()->mutable_elem_type());
  case ::onnx::TypeProto::kTensorType:
    break;
  default:
    return;
  }
  if (!type.tensor_type().has_shape())
    return;
  for (auto &dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    if (!dim.has_dim_param())
      continue;
    auto known = index.find({service, dim.dim_param()});
    dim.clear_dim_param();
    if (known == index.end())
      continue;
    const Dim &whole = dims[root(known->second)];
    if (whole.extent)
      dim.set_dim_value(*whole.extent);
    else if (!whole.name.empty())
      dim.set_dim_param(whole.name);
  }
}

::onnx::TypeProto PortTypes::typeOf(PortIndex port, bool isInput) const {
  const End end = endOf(port, isInput);
  ::onnx::TypeProto type = end.port->type;
  if (!end.port->declared.dims || !type.has_tensor_type())
    return type;
  for (size_t axis = 0; axis < end.port->declared.dims->size(); ++axis) {
    const DeclaredDim &dim = (*end.port->declared.dims)[axis];
    if (dim.value < 0)
      type.mutable_tensor_type()->mutable_shape()->mutable_dim(static_cast<int>(axis))->set_dim_param(dim.symbol);
  }
  rename(port.service, type);
  return type;
}

} // namespace sluice::compose
