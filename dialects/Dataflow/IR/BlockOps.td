//===- BlockOps.td - Weights quantized in blocks -----------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_BLOCKOPS
#define SLUICE_DATAFLOW_BLOCKOPS

// The zero points of blocks: emit::BlockZeros.
def Dataflow_BlockZeros : Dataflow_Enum<"BlockZeros", [Case<"none", 0>, Case<"bytes", 1>, Case<"floats", 2>]>;

def Dataflow_BlockPanelsAttr : AttrDef<Dataflow_Dialect, "BlockPanels"> {
  let mnemonic = "block_panels";
  let summary = "The order in memory of a block-quantized weight of 2, 4 or 8 bits, for the vectors of a CPU";
  let description = [{
    The weight is stored in panels of `panel` columns. The last panel is filled with zeros.
    A panel has one record for each `block` elements of the depth. A record has the scales of
    the columns, their zero points, and words of 32 bits. A word has consecutive elements of
    one column. A vector of words is therefore a vector of columns, and one mask takes an
    element of each column.
  }];
  let parameters = (ins "int64_t":$bits, "int64_t":$block, "int64_t":$columns, "int64_t":$depth, "int64_t":$panel,
                        "::mlir::Type":$scale, EnumParameter<Dataflow_BlockZeros>:$zeros);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Dataflow_BlockFloats : RankedTensorOf<[F32, F16, BF16]>;
def Dataflow_BlockBytes : RankedTensorOf<[UI8]>;
def Dataflow_BlockZeroPoints : RankedTensorOf<[UI8, F32, F16, BF16]>;
def Dataflow_PackedBlocks : RankedTensorOf<[I8]>;
def Dataflow_BlockRows : RankedTensorOf<[F32, F16, BF16, I8]>;

def RoundBlocksOp : Dataflow_InferredOp<"round_blocks", [Tiling, Kernel<>, CostOf<["getFlops"]>]> {
  let summary = "Rounds each block of a row to 255 equidistant numbers";
  let description = [{
    The last dimension is divided into blocks of `block` elements, the last of which may be
    shorter. The scale of a block is the largest absolute value in it divided by 127. An
    element x becomes round(x * (127 / the largest absolute value)) * the scale, where ties
    round to even. A block of zeros does not change. If an element of a block is not finite,
    no result of the block is finite.

    This is how ONNX Runtime rounds the input of a MatMulNBits with the accuracy level 4. A
    block_matmul whose lhs is rounded in its own blocks becomes a product of bytes.

    Example:

    ```mlir
    %y = dataflow.round_blocks %x block 32 : tensor<3x40xf32>
    ```
  }];
  let arguments = (ins Dataflow_BlockFloats:$input, I64Attr:$block);
  let results = (outs Dataflow_BlockFloats:$result);
  let assemblyFormat = "$input `block` $block attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def QuantizeBlocksOp : Dataflow_InferredOp<"quantize_blocks", [
    Kernel<["allowsEpilogue"]>, CostOf<["getFlops"]>]> {
  let summary = "Rounds each block of a row to bytes, for a product by a block-quantized weight";
  let description = [{
    The operator gives the scales and the rounded elements that round_blocks multiplies. Each
    row has its bytes in the order in which packed_block_matmul reads them for a weight of
    `bits` bits: each block has its scale (f32), the sum of its bytes with the opposite sign
    (i32), and its bytes.

    Example:

    ```mlir
    %q = dataflow.quantize_blocks %x bits 4 block 32 : (tensor<3x40xf32>) -> tensor<3x80xi8>
    ```
  }];
  let arguments = (ins Dataflow_BlockFloats:$input, I64Attr:$bits, I64Attr:$block);
  let results = (outs Dataflow_PackedBlocks:$result);
  let assemblyFormat = "$input `bits` $bits `block` $block attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def BlockMatmulOp : Dataflow_InferredOp<"block_matmul", [Tiling, Kernel<>, CostOf<["getFlops", "getCostClass"]>]> {
  let summary = "Product by a block-quantized weight of 2, 4 or 8 bits";
  let description = [{
    [..., M, K] x weight -> [..., M, N], in the element type of lhs, with sums in f32. The
    depth K is divided into blocks of `block` elements, the last of which may be shorter.
    `weight` is [N, blocks, block * bits / 8] bytes. It has `bits` bits for each element, and
    the first element is in the lowest bits. `scales` is [N, blocks]. `zero_points` is
    [N, blocks] floats, or [N, ceil(blocks * bits / 8)] bytes that are packed as the weight
    is. If there are no zero points, every zero point is 2^(bits - 1). The value of an element is
    (its stored number - its zero point) * its scale.

    Example:

    ```mlir
    %y = dataflow.block_matmul %x, %weight scales %scales less %zeros bits 4 block 32
        : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<3x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_BlockFloats:$lhs, Dataflow_BlockBytes:$weight, Dataflow_BlockFloats:$scales,
                       Optional<Dataflow_BlockZeroPoints>:$zero_points, I64Attr:$bits, I64Attr:$block);
  let results = (outs Dataflow_BlockFloats:$result);
  let assemblyFormat = [{
    $lhs `,` $weight `scales` $scales (`less` $zero_points^)? `bits` $bits `block` $block attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def PackedBlockMatmulOp : Dataflow_InferredOp<"packed_block_matmul", [
    Kernel<>, CostOf<["getFlops", "getCostClass"]>]> {
  let summary = "Product by a block-quantized weight that pack_blocks has packed";
  let description = [{
    The operator computes the same product as block_matmul with the weight, scales and zero
    points that were packed. `lhs` may also be a result of quantize_blocks for the same bits
    and blocks. The result is then the product of rows that round_blocks has rounded, as
    f32.

    Example:

    ```mlir
    %y = dataflow.packed_block_matmul %x, %packed
        panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes>
        : (tensor<3x40xf32>, tensor<336xi8>) -> tensor<3x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_BlockRows:$lhs, Dataflow_PackedBlocks:$rhs, Dataflow_BlockPanelsAttr:$panels);
  let results = (outs Dataflow_BlockFloats:$result);
  let assemblyFormat = "$lhs `,` $rhs `panels` $panels attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def PackBlocksOp : Dataflow_InferredOp<"pack_blocks", [EvaluateMethods, Cost]> {
  let summary = "Packs a block-quantized weight, its scales and its zero points into block_panels";
  let description = [{
    The operands are the weight, the scales and the zero points of block_matmul.

    Example:

    ```mlir
    %packed = dataflow.pack_blocks %weight scales %scales less %zeros
        panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes>
        : (tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<336xi8>
    ```
  }];
  let arguments = (ins Dataflow_BlockBytes:$weight, Dataflow_BlockFloats:$scales,
                       Optional<Dataflow_BlockZeroPoints>:$zero_points, Dataflow_BlockPanelsAttr:$panels);
  let results = (outs Dataflow_PackedBlocks:$result);
  let assemblyFormat = [{
    $weight `scales` $scales (`less` $zero_points^)? `panels` $panels attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_BLOCKOPS
