//===- IntegerOps.td - Products of bytes -------------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_INTEGEROPS
#define SLUICE_DATAFLOW_INTEGEROPS

// How bytes are multiplied: emit::IntegerDot.
def Dataflow_IntegerDot : Dataflow_Enum<"IntegerDot", [
  Case<"plain", 0>, Case<"pairs", 1>, Case<"quads", 2>, Case<"tiles", 3>]>;

def Dataflow_IntegerPanelsAttr : AttrDef<Dataflow_Dialect, "IntegerPanels"> {
  let mnemonic = "integer_panels";
  let summary = "How the right-hand side of a product of bytes lies in memory, for a CPU's instructions";
  let description = [{
    Panels of so many columns, the last one filled up with zeros; each of them is followed by its columns' sums, and
    with `zero_points` by their zero points. k is `segments` times `length`; each segment is filled up to what `dot`
    adds at a time: one product (`plain`), two (`pairs`), four (`quads`) or 64 (`tiles`).
  }];
  let parameters = (ins EnumParameter<Dataflow_IntegerDot>:$dot, "int64_t":$columns, "int64_t":$segments,
                        "int64_t":$length, "int64_t":$panel, "bool":$zeroPoints);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Dataflow_ByteTensor : RankedTensorOf<[I8, UI8]>;
def Dataflow_ZeroPoint : RankedTensorOf<[I32]>;

def IntegerMatmulOp : Dataflow_InferredOp<"integer_matmul", [
    AttrSizedOperandSegments, Tiling, Kernel<["allowsPrologue"]>,
    CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Batched product of matrices of bytes, less their zero points, into 32 bits";
  let description = [{
    sum over k of (lhs - lhs_zero_point) * (rhs - rhs_zero_point), modulo 2^32.
    [..., M, K] x [..., K, N] -> [..., M, N], batch dimensions broadcast. A zero
    point that is left out is 0; lhs_zero_point broadcasts to [..., M, 1],
    rhs_zero_point has one element, or N. `panels` chooses a CPU's instructions;
    rhs of one dimension is then a pack_integer_rhs result, its zero points with it.
  }];
  let arguments = (ins Dataflow_ByteTensor:$lhs, Dataflow_ByteTensor:$rhs,
                       Optional<Dataflow_ZeroPoint>:$lhs_zero_point, Optional<Dataflow_ZeroPoint>:$rhs_zero_point,
                       OptionalAttr<Dataflow_IntegerPanelsAttr>:$panels);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $lhs (`less` $lhs_zero_point^)? `,` $rhs (`less` $rhs_zero_point^)? (`panels` $panels^)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isPacked();
  }];
}

def IntegerConvOp : Dataflow_InferredOp<"integer_conv", [
    AttrSizedOperandSegments, Tiling, Kernel<["allowsPrologue"]>,
    CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Convolution of bytes, less their zero points, into 32 bits";
  let description = [{
    The convolution of (input - input_zero_point) and (weight - weight_zero_point),
    modulo 2^32; shapes and attributes as in conv. Padding is the input's zero
    point. input_zero_point has one element, weight_zero_point one, or one a
    filter. With `panels`, input_zero_point is a number of the input's type, weight is a pack_integer_rhs result of matrices
    [KH * KW * C/groups, M/groups], one a group (depthwise: one of [KH * KW, M]),
    and the input a channels_last image; `kernel` and `filters` give what the
    weight's shape no longer does.
  }];
  let arguments = (ins Dataflow_ByteTensor:$input, Dataflow_ByteTensor:$weight,
                       Optional<Dataflow_ZeroPoint>:$input_zero_point, Optional<Dataflow_ZeroPoint>:$weight_zero_point,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<Dataflow_LayoutAttr, "Layout::channels_first">:$layout,
                       OptionalAttr<Dataflow_IntegerPanelsAttr>:$panels,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel, OptionalAttr<I64Attr>:$filters);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $input (`less` $input_zero_point^)? `,` $weight (`less` $weight_zero_point^)?
    `strides` $strides `pads` $pads `dilations` $dilations (`panels` $panels^)?
    attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    llvm::SmallVector<int64_t> getKernelShape();
    int64_t getOutputChannels();
    /// The dimension of the channels, in the image and in the result.
    int64_t getChannelDim();
    /// One input and one output channel a group.
    bool isDepthwise();
  }];
}

def PackIntegerRhsOp : Dataflow_InferredOp<"pack_integer_rhs", [EvaluateMethods, Cost]> {
  let summary = "[..., K, N] bytes -> integer_panels of each matrix, one behind the other";
  let arguments = (ins Dataflow_ByteTensor:$rhs, Optional<Dataflow_ZeroPoint>:$zero_point,
                       Dataflow_IntegerPanelsAttr:$panels);
  let results = (outs RankedTensorOf<[I8]>:$result);
  let assemblyFormat = "$rhs (`less` $zero_point^)? `panels` $panels attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_INTEGEROPS
