//===- LocalFunctions.cpp - Operators of ours, by ONNX's ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LocalFunctions.h"

#include "llvm/ADT/StringSwitch.h"

#include <initializer_list>
#include <string>

namespace sluice::onnxexport {

namespace {

using Names = std::initializer_list<const char *>;

class FunctionWriter {
public:
  FunctionWriter(::onnx::FunctionProto &function, Names inputs, Names outputs, Names attributes) : function(function) {
    for (const char *name : inputs)
      function.add_input(name);
    for (const char *name : outputs)
      function.add_output(name);
    for (const char *name : attributes)
      function.add_attribute(name);
  }

  ::onnx::NodeProto &node(const char *type, Names inputs, const char *output) {
    ::onnx::NodeProto &added = *function.add_node();
    added.set_op_type(type);
    for (const char *name : inputs)
      added.add_input(name);
    added.add_output(output);
    return added;
  }
  /// An attribute that is one of the function's.
  void refer(::onnx::NodeProto &node, const char *name, ::onnx::AttributeProto::AttributeType type,
             const char *attribute) {
    ::onnx::AttributeProto &added = *node.add_attribute();
    added.set_name(name);
    added.set_type(type);
    added.set_ref_attr_name(attribute);
  }
  void set(::onnx::NodeProto &node, const char *name, int64_t value) {
    ::onnx::AttributeProto &added = *node.add_attribute();
    added.set_name(name);
    added.set_type(::onnx::AttributeProto::INT);
    added.set_i(value);
  }
  void integers(std::initializer_list<int64_t> values, const char *output) {
    ::onnx::AttributeProto &added = *node("Constant", {}, output).add_attribute();
    added.set_name("value_ints");
    added.set_type(::onnx::AttributeProto::INTS);
    for (int64_t value : values)
      added.add_ints(value);
  }
  /// A vector of the function's attribute, a list of integers.
  void list(const char *attribute, const char *output) {
    refer(node("Constant", {}, output), "value_ints", ::onnx::AttributeProto::INTS, attribute);
  }
  /// Elements [from, to) of a vector, or of a tensor's first dimension.
  void part(const char *from, int64_t begin, int64_t end, const char *output) {
    const std::string name = output;
    integers({begin}, (name + ".from").c_str());
    integers({end}, (name + ".to").c_str());
    const std::string start = name + ".from", limit = name + ".to";
    node("Slice", {from, start.c_str(), limit.c_str()}, output);
  }

private:
  ::onnx::FunctionProto &function;
};

/// The first `count` positions along a dimension.
void writeTakeFirst(::onnx::FunctionProto &function) {
  FunctionWriter f(function, {"x", "count"}, {"y"}, {"axes"});
  f.integers({0}, "zero");
  f.integers({1}, "one");
  f.node("Reshape", {"count", "one"}, "end");
  f.list("axes", "along");
  f.node("Slice", {"x", "zero", "end", "along"}, "y");
}

/// NonZero with room for as many columns as `x` has elements: zeros behind those that count.
void writeNonZero(::onnx::FunctionProto &function) {
  FunctionWriter f(function, {"x"}, {"indices", "count"}, {});
  f.node("NonZero", {"x"}, "found");
  f.node("Shape", {"found"}, "shape");
  f.part("shape", 1, 2, "columns");
  f.node("Squeeze", {"columns"}, "count");
  f.node("Size", {"x"}, "room");
  f.node("Sub", {"room", "columns"}, "left");
  f.integers({0, 0, 0}, "none");
  f.node("Concat", {"none", "left"}, "pads");
  f.set(*function.mutable_node(function.node_size() - 1), "axis", 0);
  f.node("Pad", {"found", "pads"}, "indices");
}

/// NonMaxSuppression with room for `most` boxes of each image and class.
void writeNonMaxSuppression(::onnx::FunctionProto &function) {
  FunctionWriter f(function, {"boxes", "scores", "limit", "overlap", "least"}, {"selected", "count"},
                   {"most", "centered"});
  ::onnx::NodeProto &search = f.node("NonMaxSuppression", {"boxes", "scores", "limit", "overlap", "least"}, "found");
  f.refer(search, "center_point_box", ::onnx::AttributeProto::INT, "centered");
  f.node("Shape", {"found"}, "shape");
  f.part("shape", 0, 1, "rows");
  f.node("Squeeze", {"rows"}, "count");
  f.node("Shape", {"scores"}, "extents");
  f.part("extents", 0, 1, "images");
  f.part("extents", 1, 2, "classes");
  f.node("Mul", {"images", "classes"}, "pairs");
  f.list("most", "each");
  f.node("Mul", {"pairs", "each"}, "room");
  f.node("Sub", {"room", "rows"}, "left");
  f.integers({0, 0}, "before");
  f.integers({0}, "after");
  f.node("Concat", {"before", "left", "after"}, "pads");
  f.set(*function.mutable_node(function.node_size() - 1), "axis", 0);
  f.node("Pad", {"found", "pads"}, "selected");
}

/// The input, which our runtime checks.
void writeCheck(::onnx::FunctionProto &function) {
  FunctionWriter f(function, {"x"}, {"y"}, {"message"});
  f.node("Identity", {"x"}, "y");
}

} // namespace

void addLocalFunction(::onnx::ModelProto &model, llvm::StringRef name, int64_t opset) {
  for (const ::onnx::FunctionProto &known : model.functions())
    if (known.name() == name)
      return;
  if (model.functions_size() == 0) {
    ::onnx::OperatorSetIdProto &import = *model.add_opset_import();
    import.set_domain(kOwnDomain.str());
    import.set_version(kOwnVersion);
  }
  ::onnx::FunctionProto &function = *model.add_functions();
  function.set_name(name.str());
  function.set_domain(kOwnDomain.str());
  function.add_opset_import()->set_version(opset);
  const auto write = llvm::StringSwitch<void (*)(::onnx::FunctionProto &)>(name)
                         .Case("TakeFirst", writeTakeFirst)
                         .Case("NonZero", writeNonZero)
                         .Case("NonMaxSuppression", writeNonMaxSuppression)
                         .Case("Check", writeCheck)
                         .Default(nullptr);
  assert(write && "a function that this file has");
  write(function);
}

} // namespace sluice::onnxexport
