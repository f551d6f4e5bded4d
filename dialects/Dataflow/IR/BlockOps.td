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
  let summary = "How a weight of 2, 4 or 8 bits, quantized in blocks, lies in memory for a CPU's vectors";
  let description = [{
    Panels of `panel` columns, the last one filled up with zeros. A panel has one record for each `block` elements of
    the depth: the columns' scales, their zero points, and words of 32 bits, each with consecutive elements of one
    column, so that a vector of words is a vector of columns and one mask takes an element of each.
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

def BlockMatmulOp : Dataflow_InferredOp<"block_matmul", [Tiling, Kernel<>, CostOf<["getFlops", "getCostClass"]>]> {
  let summary = "Product by a weight of 2, 4 or 8 bits with a scale for each block of its depth";
  let description = [{
    [..., M, K] x weight -> [..., M, N], in the element type of lhs, with sums in f32. `weight` is
    [N, blocks, block * bits / 8] bytes: for each column of the product its blocks along K, with `bits` bits an element,
    the first element in the lowest bits; blocks = ceil(K / block). An element is (bits - zero point) * scale; `scales` is [N, blocks]. `zero_points` is
    [N, blocks] floats, or [N, ceil(blocks * bits / 8)] bytes packed as the weight is; without it, zero points are
    2^(bits - 1).
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
  let summary = "The same product by a pack_blocks result";
  let arguments = (ins Dataflow_BlockFloats:$lhs, Dataflow_PackedBlocks:$rhs, Dataflow_BlockPanelsAttr:$panels);
  let results = (outs Dataflow_BlockFloats:$result);
  let assemblyFormat = "$lhs `,` $rhs `panels` $panels attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def PackBlocksOp : Dataflow_InferredOp<"pack_blocks", [EvaluateMethods, Cost]> {
  let summary = "The weight of a block_matmul, its scales and zero points -> block_panels";
  let arguments = (ins Dataflow_BlockBytes:$weight, Dataflow_BlockFloats:$scales,
                       Optional<Dataflow_BlockZeroPoints>:$zero_points, Dataflow_BlockPanelsAttr:$panels);
  let results = (outs Dataflow_PackedBlocks:$result);
  let assemblyFormat = [{
    $weight `scales` $scales (`less` $zero_points^)? `panels` $panels attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_BLOCKOPS
