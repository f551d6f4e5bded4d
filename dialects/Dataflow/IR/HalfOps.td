//===- HalfOps.td - Products in half precision -------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_HALFOPS
#define SLUICE_DATAFLOW_HALFOPS

// The instructions that multiply bf16 numbers and add the products to sums in f32: `pairs` is vdpbf16ps, with two
// numbers in each lane, and `tiles` are AMX's tile registers.
def Dataflow_HalfDot : Dataflow_Enum<"HalfDot", [Case<"pairs", 0>, Case<"tiles", 1>]>;

def Dataflow_HalfPanelsAttr : AttrDef<Dataflow_Dialect, "HalfPanels"> {
  let mnemonic = "half_panels";
  let summary = "The order in memory of the right-hand side of a product in half precision, for the instructions of a CPU";
  let description = [{
    The matrix is stored in panels of `columns` columns. The last panel is filled with
    zeros. An element is the sum of `parts` numbers of bf16. With one part, the element is
    rounded to bf16. Two parts represent an f16 exactly. A panel has the first parts of all
    its elements, followed by the second parts. The depth K is `segments` times `length`.
    Each segment is filled with zeros to the number of products that `dot` adds at a time:
    two (`pairs`) or 32 (`tiles`).
  }];
  let parameters = (ins EnumParameter<Dataflow_HalfDot>:$dot, "int64_t":$parts, "int64_t":$columns,
                        "int64_t":$segments, "int64_t":$length, "int64_t":$panel);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Dataflow_HalfOperand : RankedTensorOf<[F32, F16, BF16]>;
def Dataflow_PackedHalves : RankedTensorOf<[I8]>;

def HalfMatmulOp : Dataflow_InferredOp<"half_matmul", [Kernel<>, CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Product of matrices in bf16, as a CPU multiplies it, with sums in f32";
  let description = [{
    [..., M, K] x pack_half_rhs([K, N]) -> [..., M, N], in the element type of lhs. Elements
    of lhs are split into the number of bf16 parts that `panels` has. f16 and bf16 are split
    exactly. f32 is rounded to bf16.

    Example:

    ```mlir
    %y = dataflow.half_matmul %x, %packed
        panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8>
        : (tensor<4x40xf32>, tensor<640xi8>) -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_HalfOperand:$lhs, Dataflow_PackedHalves:$rhs, Dataflow_HalfPanelsAttr:$panels);
  let results = (outs Dataflow_HalfOperand:$result);
  let assemblyFormat = "$lhs `,` $rhs `panels` $panels attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def HalfConvOp : Dataflow_InferredOp<"half_conv", [Kernel<>, CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Convolution in bf16, as a CPU multiplies it, with sums in f32";
  let description = [{
    The operator is a convolution with one group of a channels_last image [N, H, W, C], in
    the element type of the image. Shapes and attributes are those of conv. The weight is a
    result of pack_half_rhs for the matrix [KH * KW * C, M], with one segment for each tap.
    `kernel` has the shape of the kernel, which the packed weight does not show. Elements
    are split as in half_matmul.

    Example:

    ```mlir
    %y = dataflow.half_conv %x, %packed kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
        panels <dot = tiles, parts = 2, columns = 16, segments = 9, length = 32, panel = 16>
        : (tensor<1x9x20x32xf16>, tensor<18432xi8>) -> tensor<1x9x20x16xf16>
    ```
  }];
  let arguments = (ins Dataflow_HalfOperand:$input, Dataflow_PackedHalves:$weight, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                       Dataflow_HalfPanelsAttr:$panels);
  let results = (outs Dataflow_HalfOperand:$result);
  let assemblyFormat = [{
    $input `,` $weight `kernel` $kernel `strides` $strides `pads` $pads `dilations` $dilations `panels` $panels
    attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def PackHalfRhsOp : Dataflow_InferredOp<"pack_half_rhs", [EvaluateMethods, Cost]> {
  let summary = "[K, N] floats -> half_panels";
  let description = [{
    Example:

    ```mlir
    %packed = dataflow.pack_half_rhs %w
        panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8>
        : (tensor<40x6xf32>) -> tensor<640xi8>
    ```
  }];
  let arguments = (ins Dataflow_HalfOperand:$rhs, Dataflow_HalfPanelsAttr:$panels);
  let results = (outs Dataflow_PackedHalves:$result);
  let assemblyFormat = "$rhs `panels` $panels attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_HALFOPS
