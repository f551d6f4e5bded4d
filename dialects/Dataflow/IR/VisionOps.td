//===- VisionOps.td - Operators of detection and warping ---*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_VISIONOPS
#define SLUICE_DATAFLOW_VISIONOPS

def Dataflow_SamplePadding : Dataflow_Enum<"SamplePadding", [
  Case<"zeros", 0>, Case<"border", 1>, Case<"reflection", 2>]>;
def Dataflow_SamplePaddingAttr : Dataflow_EnumAttr<Dataflow_SamplePadding, "sample_padding">;

def GridSampleOp : Dataflow_InferredOp<"grid_sample", [Tiling, ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "The input at given positions between its elements";
  let description = [{
    input [N, C, spatial...], positions [N, out..., k] for k spatial dimensions,
    result [N, C, out...]. positions[..., j] is along spatial dimension k - 1 - j
    (x first, as images have it), in elements: 0 is the first one's centre.
    Outside, `zeros` reads 0, `border` the nearest element, `reflection` mirrors
    at the outer elements' centres, or with `at_edges` at their outer edges.
  }];
  let arguments = (ins Dataflow_ResizeModeAttr:$mode, Dataflow_SamplePaddingAttr:$padding,
                       Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$positions, UnitAttr:$at_edges);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$mode $padding $input `,` $positions attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def RoiAlignOp : Dataflow_InferredOp<"roi_align", [Tiling, ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "Regions of images, pooled to one size (Mask R-CNN)";
  let description = [{
    input [N, C, H, W], rois [R, 4] = x1, y1, x2, y2 times 1 / spatial_scale,
    images [R], result [R, C, height, width]. Each of its elements is the mean
    (or maximum) of sampling_ratio x sampling_ratio bilinear samples of its bin,
    as many as the bin has elements where sampling_ratio is 0. An image number
    out of range is clamped: no read leaves the tensor.
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$rois, Dataflow_IndexTensor:$images,
                       I64Attr:$height, I64Attr:$width, I64Attr:$sampling_ratio, F64Attr:$spatial_scale,
                       UnitAttr:$half_pixel, UnitAttr:$maximum);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input `,` $rois `,` $images attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What an attribute or a tensor says is not to be trusted: a bin has no more samples along a dimension.
    static constexpr int64_t kMostSamples = 4096;
  }];
}

def PoolIndexOp : Dataflow_Op<"pool_index", [ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "Where the maximum of each window lies: its position in the whole tensor";
  let description = [{
    As `pool max`; of equal elements the first. Positions count row-major, with
    `column_major` column-major within the spatial dimensions.
  }];
  let arguments = (ins Dataflow_Tensor:$input, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$dilations, UnitAttr:$column_major);
  let results = (outs Dataflow_IndexTensor:$result);
  let assemblyFormat = [{
    $input `kernel` $kernel `strides` $strides `pads` $pads_low `dilations` $dilations
    attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NonMaxSuppressionOp : Dataflow_InferredOp<"non_max_suppression", [Kernel<>, CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Boxes of highest score that overlap no better one of their class by more than a threshold";
  let description = [{
    `boxes` [N, B, 4] gives each box as two corners, or with `centered` as its
    centre and size; `scores` [N, C, B] gives the score of each box for each
    class. The operator selects at most `limit` boxes for each image and class:
    those whose score is above `least_score` (if that operand is there) and
    whose intersection over union with every better selected box is at most
    `overlap`. `selected` [N * C * most, 3] lists (image, class, box), sorted by
    image, by class and by descending score. The first `count` rows are valid,
    and the other rows are 0. The step fails if `limit` is above both `most` and
    the number of boxes.
  }];
  let arguments = (ins Dataflow_FloatTensor:$boxes, Dataflow_FloatTensor:$scores, 0DTensorOf<[I64]>:$limit,
                       0DTensorOf<[F32]>:$overlap, Optional<0DTensorOf<[F32]>>:$least_score, I64Attr:$most,
                       UnitAttr:$centered);
  let results = (outs Dataflow_IndexTensor:$selected, Dataflow_IndexTensor:$count);
  let assemblyFormat = "operands attr-dict `:` type(operands) `->` type(results)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_VISIONOPS
