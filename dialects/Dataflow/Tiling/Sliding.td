//===- Sliding.td - Windows of operands ---------------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_SLIDING
#define SLUICE_DATAFLOW_SLIDING

include "mlir/IR/OpBase.td"

def SlidingOpInterface : OpInterface<"SlidingOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    An operator with one result slides along a dimension of its first operand if element j of
    the result along some dimension is a function of the elements [j * stride, j * stride +
    reach) of the operand, and of nothing else that depends on j. The function is the same
    for all j, so a padded dimension does not slide. Element-wise operators do not need the
    interface (slideOf).
  }];
  let methods = [
    InterfaceMethod<"How the operator slides along dimension `dim` of its first operand. Empty if it does not.",
      "::std::optional<::sluice::dataflow::Slide>", "getSlide", (ins "int64_t":$dim)>,
  ];
}

#endif // SLUICE_DATAFLOW_SLIDING
