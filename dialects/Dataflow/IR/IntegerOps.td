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
  let summary = "The order in memory of the right-hand side of a product of bytes, for the instructions of a CPU";
  let description = [{
    The matrix is stored in panels of `columns` columns. The last panel is filled with
    zeros. The sums of its columns follow each panel, and with `zero_points` their zero
    points follow the sums. The depth K is `segments` times `length`. Each segment is filled
    to the number of products that `dot` adds at a time: one (`plain`), two (`pairs`), four
    (`quads`) or 64 (`tiles`).
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
  let summary = "Batched product of matrices of bytes minus their zero points, in 32 bits";
  let description = [{
    The result is the sum over k of (lhs - lhs_zero_point) * (rhs - rhs_zero_point), modulo
    2^32. Shapes are [..., M, K] x [..., K, N] -> [..., M, N], with broadcast batch
    dimensions. A zero point is 0 if it is absent. lhs_zero_point broadcasts to [..., M, 1].
    rhs_zero_point has one element, or N. `panels` selects the instructions of a CPU. A rhs
    with one dimension is then a result of pack_integer_rhs, which includes its zero points.

    Example:

    ```mlir
    %y = dataflow.integer_matmul %a, %b : (tensor<2x4x8xui8>, tensor<8x6xi8>) -> tensor<2x4x6xi32>
    ```
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
  let summary = "Convolution of bytes minus their zero points, in 32 bits";
  let description = [{
    The operator is the convolution of (input - input_zero_point) and (weight -
    weight_zero_point), modulo 2^32. Shapes and attributes are those of conv. Padding has
    the value of the zero point of the input. input_zero_point has one element.
    weight_zero_point has one element, or one for each filter.

    With `panels`, input_zero_point is a number of the type of the input, and the input is a
    channels_last image. The weight is a result of pack_integer_rhs of matrices [KH * KW *
    C/groups, M/groups], one for each group. A depthwise convolution has one matrix [KH *
    KW, M]. `kernel` and `filters` have the sizes that the packed weight does not show.

    Example:

    ```mlir
    %y = dataflow.integer_conv %x less %zero_point, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
        : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<i32>) -> tensor<1x6x9x9xi32>
    ```
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
  let summary = "[..., K, N] bytes -> integer_panels of each matrix, one after the other";
  let description = [{
    Example:

    ```mlir
    %packed = dataflow.pack_integer_rhs %w
        panels <dot = pairs, columns = 6, segments = 3, length = 12, panel = 8, zeroPoints = false>
        : (tensor<1x36x6xi8>) -> tensor<320xi8>
    ```
  }];
  let arguments = (ins Dataflow_ByteTensor:$rhs, Optional<Dataflow_ZeroPoint>:$zero_point,
                       Dataflow_IntegerPanelsAttr:$panels);
  let results = (outs RankedTensorOf<[I8]>:$result);
  let assemblyFormat = "$rhs (`less` $zero_point^)? `panels` $panels attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_INTEGEROPS
