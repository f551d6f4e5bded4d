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
    The input is [N, C, spatial...], positions are [N, out..., k] for k spatial dimensions,
    and the result is [N, C, out...]. positions[..., j] is the position along the spatial
    dimension k - 1 - j (x comes first, as in images). Its unit is elements, and 0 is the
    centre of the first element. Outside of the input, `zeros` reads 0, and `border` reads
    the nearest element. `reflection` mirrors positions at the centres of the outer
    elements, or with `at_edges` at their outer edges.

    Example:

    ```mlir
    %y = dataflow.grid_sample linear zeros %x, %positions {at_edges}
        : tensor<2x3x8x9xf32>, tensor<2x4x5x2xf32>
    ```
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
    The input is [N, C, H, W]. rois [R, 4] has x1, y1, x2 and y2 of each region. Multiplied
    by spatial_scale, they are positions in the input. images [R] has the number of the
    image of each region. The result is [R, C, height, width]. Each element is the mean (or
    maximum) of sampling_ratio x sampling_ratio bilinear samples of its bin. If
    sampling_ratio is 0, there are as many samples as the bin has elements. An image number
    out of range is clamped, so no read leaves the tensor.

    Example:

    ```mlir
    %y = dataflow.roi_align %x, %rois, %images
        {height = 2 : i64, width = 3 : i64, sampling_ratio = 0 : i64, spatial_scale = 0.5 : f64, maximum}
        : tensor<2x3x8x9xf32>, tensor<6x4xf32>, tensor<6xi64> -> tensor<6x3x2x3xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$rois, Dataflow_IndexTensor:$images,
                       I64Attr:$height, I64Attr:$width, I64Attr:$sampling_ratio, F64Attr:$spatial_scale,
                       UnitAttr:$half_pixel, UnitAttr:$maximum);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input `,` $rois `,` $images attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The largest number of samples of a bin along a dimension, because attributes and tensors may have any value.
    static constexpr int64_t kMostSamples = 4096;
  }];
}

def PoolIndexOp : Dataflow_Op<"pool_index", [ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "The position of the maximum of each window in the whole tensor";
  let description = [{
    The windows are the same as in `pool max`. Of equal elements, the first one is used.
    Positions count in row-major order. With `column_major` they count in column-major order
    within the spatial dimensions.

    Example:

    ```mlir
    %i = dataflow.pool_index %x kernel [2, 2] strides [2, 2] pads [0, 0] dilations [1, 1] {column_major}
        : tensor<2x3x8x9xf32> -> tensor<2x3x4x4xi64>
    ```
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
  let summary = "The boxes of highest score whose overlap with each better box of their class is at most a threshold";
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

    Example:

    ```mlir
    %r:2 = dataflow.non_max_suppression %boxes, %scores, %limit, %overlap {most = 4 : i64}
        : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32> -> tensor<24x3xi64>,
        tensor<i64>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$boxes, Dataflow_FloatTensor:$scores, 0DTensorOf<[I64]>:$limit,
                       0DTensorOf<[F32]>:$overlap, Optional<0DTensorOf<[F32]>>:$least_score, I64Attr:$most,
                       UnitAttr:$centered);
  let results = (outs Dataflow_IndexTensor:$selected, Dataflow_IndexTensor:$count);
  let assemblyFormat = "operands attr-dict `:` type(operands) `->` type(results)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_VISIONOPS
