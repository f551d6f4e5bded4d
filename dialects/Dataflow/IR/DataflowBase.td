//===- DataflowBase.td - Dialect, enumerations, op base ----*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_BASE
#define SLUICE_DATAFLOW_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/TensorEncoding.td"
include "dialects/Dataflow/IR/ElementwiseKinds.td"

def Dataflow_Dialect : Dialect {
  let name = "dataflow";
  let summary = "Operators with the semantics of ONNX, and decisions as attributes";
  let description = [{
    The dialect has one operator with value semantics for each family of ONNX operators.
    Tensors are dense and row-major. `iN` elements are signed, `uiN` elements unsigned. `i1`
    is bool and takes one byte in memory. Elements of 4 and 2 bits take one byte, too. f16,
    bf16 and smaller floats are stored in their own format and computed in f32.

    Discardable attributes hold three kinds of data: properties of the arguments and results
    of a function, decisions of the planner, and facts that a later pass reads. An argument
    or result has:

    - `dataflow.name`: the name of the input or output of the model;
    - `dataflow.updates`: the result is the next value of the state of this name;
    - `dataflow.fixed`: the value of an argument that the program is specialised to;
    - `dataflow.range`: the argument consists of indices. The attribute has the least, the
      greatest and one more allowed value, as `array<i64: 0, 9, -1>` or as an `affine_map`
      of the symbols.

    An operator has:

    - `dataflow.device = #dataflow.device<...>`: the device that runs the operator, and the
      form of its kernel. In an exported program, a string names the devices;
    - `dataflow.order`: the position of the first launch of the operator in the schedule;
    - `dataflow.split = #dataflow.split<...>`: the operator runs as several operators;
    - `dataflow.tuning = #dataflow.tuning<...>`: the sizes of tiles and blocks of the kernel
      of a `matmul` or `conv` for a CPU, which `sluice tune` measured;
    - `dataflow.tiling`: how ranks hold the results. It is a list with one #dataflow.tiling
      for each result. An argument of the function has one #dataflow.tiling. A tensor
      without a tiling is replicated;
    - `dataflow.choices`: the number of experts that each token chooses among the elements
      of the mask. Only a `dataflow.if` that computes an expert has this attribute;
    - `dataflow.expert`: the operator is an expert whose weights are read into a slot
      (--dataflow-pool-experts);
    - `dataflow.rules`: the names of the rules by which ranks run the operator, one for each
      axis of the mesh;
    - `dataflow.position`: the place of the operator in the forward pass. The operators that
      compute the gradient of an operator have its position;
    - `dataflow.materialized`: the result is written to memory before its readers run, so
      that no kernel joins the operator with a reader;
    - `dataflow.computed_again`, `dataflow.memory`, `dataflow.swapped_in`,
      `dataflow.swapped_out` and `dataflow.time`: the decisions of the plan in words, in
      exported programs.

    A function has:

    - `dataflow.mesh`: the sizes of the axes of the mesh, the outermost first;
    - `dataflow.ranks`: the number of ranks of the program. Without `dataflow.rank`, all of
      them run the function, each on its own parts;
    - `dataflow.expert_slots`: the number of slots in memory for the weights of experts, and
      `dataflow.expert_hit_rate`: the share of uses for which the simulator assumes that the
      weights are in a slot;
    - `dataflow.rank`: in a pipeline, the number of the only rank that runs the function. The
      other ranks run other functions. Operators run in the order of the function;
    - `dataflow.pruned`: the layers that --dataflow-prune changed;
    - `dataflow.kernel`: the function has one operator, which --dataflow-emit-kernels
      replaces. In an exported program, each operator has this attribute instead: the name
      of its kernel.

    In a grid (a `gpu.func`), `dataflow.operator` names the operator that the grid computes.
    `dataflow.shared` is on the `llvm.mlir.addressof` of a buffer in shared memory. It is
    the offset of the buffer in the shared memory of a block. `dataflow.architecture` is on
    an `scf.if` whose condition is that the architecture of the GPU is this one (80: sm_80)
    or newer.

    A module that an artifact keeps has `dataflow.source` (the file of the model) and
    `dataflow.digest` (the hash of the program).
  }];
  let discardableAttrs = (ins
    "::mlir::StringAttr":$name,
    "::mlir::StringAttr":$updates,
    "::mlir::DenseElementsAttr":$fixed,
    "::mlir::Attribute":$range,
    "::sluice::dataflow::DeviceAttr":$device,
    "::mlir::IntegerAttr":$order,
    "::sluice::dataflow::SplitAttr":$split,
    "::sluice::dataflow::TuningAttr":$tuning,
    "::mlir::ArrayAttr":$tiling,
    "::mlir::ArrayAttr":$rules,
    "::mlir::StringAttr":$computed_again,
    "::mlir::StringAttr":$memory,
    "::mlir::StringAttr":$swapped_in,
    "::mlir::StringAttr":$swapped_out,
    "::mlir::StringAttr":$time,
    "::mlir::DenseI64ArrayAttr":$mesh,
    "::mlir::IntegerAttr":$ranks,
    "::mlir::IntegerAttr":$choices,
    "::mlir::UnitAttr":$expert,
    "::mlir::IntegerAttr":$expert_slots,
    "::mlir::FloatAttr":$expert_hit_rate,
    "::mlir::IntegerAttr":$rank,
    "::mlir::IntegerAttr":$position,
    "::mlir::UnitAttr":$materialized,
    "::mlir::ArrayAttr":$pruned,
    "::mlir::UnitAttr":$kernel,
    "::mlir::IntegerAttr":$shared,
    "::mlir::StringAttr":$operator,
    "::mlir::IntegerAttr":$architecture,
    "::mlir::StringAttr":$source,
    "::mlir::StringAttr":$digest);
  let cppNamespace = "::sluice::dataflow";
  let extraClassDeclaration = [{
    /// The record of folds while the importer builds programs that differ only in sizes; null at other times. In the
    /// first program, an operator on constants folds if its result is as small as a shape. In the others, the same
    /// operators fold, so that all programs have the same operators.
    FoldLog *getFoldLog() const { return foldLog; }
    void setFoldLog(FoldLog *log) { foldLog = log; }

  private:
    FoldLog *foldLog = nullptr;

  public:
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
}

class Dataflow_Enum<string name, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, "", cases> {
  let cppNamespace = "::sluice::dataflow";
  let genSpecializedAttr = 0;
}
class Dataflow_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<Dataflow_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

class Case<string name, int value> : I32EnumAttrCase<name, value>;

def Dataflow_UnaryKind : Dataflow_Enum<"UnaryKind", Dataflow_UnaryKinds>;
def Dataflow_UnaryKindAttr : Dataflow_EnumAttr<Dataflow_UnaryKind, "unary_kind">;

def Dataflow_BinaryKind : Dataflow_Enum<"BinaryKind", Dataflow_BinaryKinds>;
def Dataflow_BinaryKindAttr : Dataflow_EnumAttr<Dataflow_BinaryKind, "binary_kind">;

def Dataflow_ComparePredicate : Dataflow_Enum<"ComparePredicate", [
  Case<"eq", 0>, Case<"ne", 1>, Case<"lt", 2>, Case<"le", 3>, Case<"gt", 4>, Case<"ge", 5>]>;
def Dataflow_ComparePredicateAttr : Dataflow_EnumAttr<Dataflow_ComparePredicate, "predicate">;

def Dataflow_ReduceKind : Dataflow_Enum<"ReduceKind", [
  Case<"sum", 0>, Case<"mean", 1>, Case<"max", 2>, Case<"min", 3>, Case<"prod", 4>,
  Case<"l1", 5>, Case<"l2", 6>, Case<"log_sum", 7>, Case<"log_sum_exp", 8>,
  Case<"sum_square", 9>]>;
def Dataflow_ReduceKindAttr : Dataflow_EnumAttr<Dataflow_ReduceKind, "reduce_kind">;

def Dataflow_PoolKind : Dataflow_Enum<"PoolKind", [
  Case<"max", 0>, Case<"average", 1>, Case<"lp", 2>]>;
def Dataflow_PoolKindAttr : Dataflow_EnumAttr<Dataflow_PoolKind, "pool_kind">;

def Dataflow_PadMode : Dataflow_Enum<"PadMode", [
  Case<"constant", 0>, Case<"reflect", 1>, Case<"edge", 2>, Case<"wrap", 3>]>;
def Dataflow_PadModeAttr : Dataflow_EnumAttr<Dataflow_PadMode, "pad_mode">;

def Dataflow_ScatterKind : Dataflow_Enum<"ScatterKind", [
  Case<"none", 0>, Case<"add", 1>, Case<"mul", 2>, Case<"max", 3>, Case<"min", 4>]>;
def Dataflow_ScatterKindAttr : Dataflow_EnumAttr<Dataflow_ScatterKind, "scatter_kind">;

def Dataflow_ResizeMode : Dataflow_Enum<"ResizeMode", [
  Case<"nearest", 0>, Case<"linear", 1>, Case<"cubic", 2>]>;
def Dataflow_ResizeModeAttr : Dataflow_EnumAttr<Dataflow_ResizeMode, "resize_mode">;

def Dataflow_CoordinateMode : Dataflow_Enum<"CoordinateMode", [
  Case<"half_pixel", 0>, Case<"pytorch_half_pixel", 1>, Case<"align_corners", 2>,
  Case<"asymmetric", 3>, Case<"half_pixel_symmetric", 4>,
  Case<"tf_half_pixel_for_nn", 5>, Case<"tf_crop_and_resize", 6>]>;
def Dataflow_CoordinateModeAttr : Dataflow_EnumAttr<Dataflow_CoordinateMode, "coordinate_mode">;

def Dataflow_NearestMode : Dataflow_Enum<"NearestMode", [
  Case<"round_prefer_floor", 0>, Case<"round_prefer_ceil", 1>, Case<"floor", 2>, Case<"ceil", 3>]>;
def Dataflow_NearestModeAttr : Dataflow_EnumAttr<Dataflow_NearestMode, "nearest_mode">;

// Element order of images: channels_first (N, C, spatial...) is ONNX's own order, and
// channels_last (N, spatial..., C) is the order that kernels for CPUs need.
def Dataflow_Layout : Dataflow_Enum<"Layout", [
  Case<"channels_first", 0>, Case<"channels_last", 1>]>;
def Dataflow_LayoutAttr : Dataflow_EnumAttr<Dataflow_Layout, "layout">;

// Algorithms by which a CPU kernel computes a convolution instead of the direct sum over taps and channels: Winograd's
// algorithm on tiles of 2 x 2 or 4 x 4 outputs, and shift_add, which computes the taps of a kernel row side by side.
def Dataflow_ConvAlgorithm : Dataflow_Enum<"ConvAlgorithm", [
  Case<"winograd2", 0>, Case<"winograd4", 1>, Case<"shift_add", 2>]>;
def Dataflow_ConvAlgorithmAttr : Dataflow_EnumAttr<Dataflow_ConvAlgorithm, "conv_algorithm">;

// The form of the parallel regions of a kernel: chunks are functions over a range [begin, end) for threads of a CPU,
// grids are functions of one thread of a block.
def Dataflow_KernelForm : Dataflow_Enum<"KernelForm", [
  I32EnumAttrCase<"Chunks", 0, "chunks">, I32EnumAttrCase<"Grids", 1, "grids">]>;

// The type to which grids round the operands of f32 matrix products and convolutions if the GPU
// has tensor cores; sums are f32.
def Dataflow_MatmulPrecision : Dataflow_Enum<"MatmulPrecision", [
  I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"TF32", 1, "tf32">,
  I32EnumAttrCase<"BF16", 2, "bf16">, I32EnumAttrCase<"F16", 3, "f16">]>;

def Dataflow_DeviceAttr : AttrDef<Dataflow_Dialect, "Device"> {
  let mnemonic = "device";
  let summary = "The device that runs an operator, and the form of the operator's kernel";
  let description = "Example: `#dataflow.device<\"gpu0\", grids>`.";
  let parameters = (ins StringRefParameter<>:$name, EnumParameter<Dataflow_KernelForm>:$form);
  let assemblyFormat = "`<` $name `,` $form `>`";
}

def Dataflow_SplitAttr : AttrDef<Dataflow_Dialect, "Split"> {
  let mnemonic = "split";
  let summary = "An operator runs as several operators, each on one part, by one of its tiling rules";
  let description = "Example: `#dataflow.split<\"rows\", 2>` makes two operators by the rule `rows`.";
  let parameters = (ins StringRefParameter<>:$rule, "int64_t":$parts);
  let assemblyFormat = "`<` $rule `,` $parts `>`";
}

def Dataflow_SymbolsAttr : AttrDef<Dataflow_Dialect, "Symbols"> {
  let mnemonic = "symbols";
  let summary = "Integers that each step determines, from which the extents of a program are computed";
  let description = [{
    Example: `#dataflow.symbols<"batch" = 1 to 8, "height" = 32 to 320 by 32>`. Expressions
    name the symbols `s0` and `s1`. Both bounds are allowed values. Other allowed values
    have a distance from the lower bound that is a multiple of the step. The step is 1 if
    none is written.

    The last symbols may be `found` at run time: `<"length" = 1 to 64, "kept" = 0 to 64
    found>`. A `dataflow.take_first` determines the value of each such symbol from data. An
    operator whose types have such a symbol runs after the `take_first`, even if it does not
    use the result of the `take_first`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$least,
                        ArrayRefParameter<"int64_t">:$most, ArrayRefParameter<"int64_t">:$steps, "uint64_t":$found);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr size_t kMostSymbols = 16;
    size_t size() const { return getNames().size(); }
    /// Whether a step finds the symbol's value in its data.
    bool isFound(size_t symbol) const { return symbol + getFound() >= size(); }
  }];
}

def Dataflow_ExtentsAttr : AttrDef<Dataflow_Dialect, "Extents", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "extents";
  let summary = "The extents of a tensor, if some of them depend on symbols";
  let description = [{
    The attribute is the encoding of a tensor type. The shape of the type has the extents
    for the upper bounds of the symbols. No extent is greater for other values. Example:
    `tensor<8x512xf32, #dataflow.extents<()[s0, s1] -> (s0, s1), <"batch" = 1 to 8,
    "sequence" = 1 to 512>>>`.
  }];
  let parameters = (ins "::mlir::AffineMap":$map, "::sluice::dataflow::SymbolsAttr":$symbols);
  let assemblyFormat = "`<` $map `,` $symbols `>`";
  let genVerifyDecl = 1;
}

// The values of `algorithm` in a tuning: the algorithm of a convolution; `any` leaves the choice to
// --dataflow-assign-layout.
def Dataflow_TunedAlgorithm : Dataflow_Enum<"TunedAlgorithm", [
  Case<"any", 0>, Case<"direct", 1>, Case<"winograd2", 2>, Case<"winograd4", 3>]>;

def Dataflow_TunedAlgorithmParameter : EnumParameter<Dataflow_TunedAlgorithm> {
  let defaultValue = "::sluice::dataflow::TunedAlgorithm::any";
}

def Dataflow_TuningAttr : AttrDef<Dataflow_Dialect, "Tuning"> {
  let mnemonic = "tuning";
  let summary = "The sizes of tiles and blocks of a CPU kernel of a matrix product or a convolution";
  let description = [{
    Example: `#dataflow.tuning<kernel = "9f86d081884c7d65", rows = 7, vectors = 2>`.

    - `kernel` is the key of the operator in the tuning file.
    - `algorithm` is the algorithm of a convolution.
    - `rows` and `vectors` are the size of a register tile.
    - `row_block` is the number of rows of a work item.
    - `depth_block` is the number of terms of a sum that are added at a time.
    - `chunk_ns` is the least estimated time of a chunk of the parallel loop.

    The compiler chooses the value of a field that is absent or 0. A `matmul` has no
    `algorithm`. Grids ignore the attribute. Results with another tuning may differ in
    rounding, because the tile determines the order of sums. They never depend on the number
    of threads.
  }];
  let parameters = (ins
    StringRefParameter<>:$kernel,
    Dataflow_TunedAlgorithmParameter:$algorithm,
    DefaultValuedParameter<"int64_t", "0">:$rows, DefaultValuedParameter<"int64_t", "0">:$vectors,
    DefaultValuedParameter<"int64_t", "0">:$row_block, DefaultValuedParameter<"int64_t", "0">:$depth_block,
    DefaultValuedParameter<"int64_t", "0">:$chunk_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static TuningAttr get(::mlir::MLIRContext *context, ::llvm::StringRef kernel, const ::sluice::KernelTuning &tuning);
    ::sluice::KernelTuning getTuning() const;
  }];
}

def Dataflow_TilingAttr : AttrDef<Dataflow_Dialect, "Tiling"> {
  let mnemonic = "tiling";
  let summary = "How ranks hold a tensor, along each axis of their mesh";
  let description = [{
    For each axis, the attribute has `S` and a dimension if the ranks along the axis have
    parts of that dimension. It has `R` if each of these ranks has the whole tensor. The
    rows of a tensor with `#dataflow.tiling<S0, R>` are split over the first axis and
    replicated along the second. `S1 in 3` divides dimension 1 into 3 equal blocks, and each
    rank has its part of every block.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$dims, ArrayRefParameter<"int64_t">:$blocks);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The entry of an axis along which every rank holds all.
    static constexpr int64_t kReplicated = -1;
  }];
}

def Dataflow_GroupAttr : AttrDef<Dataflow_Dialect, "Group"> {
  let mnemonic = "group";
  let summary = "Ranks that differ only along some axes of the mesh, in the order of their coordinates";
  let description = [{
    An axis is a number of ranks and the distance from one rank to the next. The first axis
    varies slowest. For example, `[2:4, 4:1]` has eight ranks: the second axis has four
    consecutive ranks, and the first axis adds the four ranks behind them.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$counts, ArrayRefParameter<"int64_t">:$strides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The largest number of axes.
    static constexpr size_t kMostAxes = 8;
    /// How many ranks take part.
    int64_t size() const;
    /// The position of `rank` in its group.
    int64_t positionOf(int64_t rank) const;
  }];
}

def Dataflow_UnevenAttr : AttrDef<Dataflow_Dialect, "Uneven"> {
  let mnemonic = "uneven";
  let summary = "A dimension whose parts on the ranks of a group differ by at most one element";
  let description = [{
    Example: `#dataflow.uneven<10 in [2:3]>`. The dimension has 10 elements. The ranks after
    `in` (here two ranks at a distance of 3) divide the dimension first, and the ranks of
    the operator's group divide each of their parts. If there are n parts in all, part p
    begins with element floor(10 * p / n). The type of a part has the extent of the largest
    part. A rank with fewer elements has copies of its last element behind them, which are
    not sent.
  }];
  let parameters = (ins "int64_t":$extent, OptionalParameter<"::sluice::dataflow::GroupAttr">:$outside);
  let assemblyFormat = "`<` $extent (`in` $outside^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How many parts there are for each part of the group.
    int64_t partsOutside() const;
    /// The extent of the largest part that `parts` ranks have together, and all of them.
    int64_t largest(int64_t parts) const;
    int64_t whole() const { return largest(1); }
    /// The elements [first, second) of the whole dimension that a rank of `group` has; with no group, all ranks of its
    /// group together.
    std::pair<int64_t, int64_t> elementsOf(int64_t rank, ::sluice::dataflow::GroupAttr group) const;
  }];
}

def Dataflow_CutAttr : AttrDef<Dataflow_Dialect, "Cut"> {
  let mnemonic = "cut";
  let summary = "A dimension whose parts are on the ranks of a group";
  let description = [{
    `#dataflow.cut<1 in 3 over [2:1]>` divides dimension 1 into 3 equal blocks, and each of
    2 ranks has a half of every block. Of 12 columns, the first rank has the columns 0, 1,
    4, 5, 8 and 9.
  }];
  let parameters = (ins "int64_t":$dim, "::sluice::dataflow::GroupAttr":$group,
                        DefaultValuedParameter<"int64_t", "1">:$blocks);
  let assemblyFormat = "`<` $dim (`in` $blocks^)? `over` $group `>`";
  let genVerifyDecl = 1;
}
def Dataflow_CutArrayAttr : TypedArrayAttrBase<Dataflow_CutAttr, "cuts, one after the other">;

defvar Dataflow_Numbers = [
  F32, F64, F16, BF16, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64, I<2>, I<4>, UI<2>, UI<4>,
  F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F4E2M1FN];
def Dataflow_Tensor : RankedTensorOf<Dataflow_Numbers>;
// Text: see StringOps.td.
def Dataflow_StringType : TypeDef<Dataflow_Dialect, "String"> {
  let mnemonic = "string";
  let summary = "string";
  let description = [{
    An element refers to text elsewhere in host memory. It is a `sluice_string` of the C
    API: an address and a length, 16 bytes, aligned to 16. No operator computes with the
    element itself. Kernels move it as the integer type that `computeType` names.
  }];
}
def Dataflow_StringTensor : RankedTensorOf<[Dataflow_StringType]>;
// The operands and results of operators that only move elements.
def Dataflow_AnyTensor : RankedTensorOf<!listconcat(Dataflow_Numbers, [Dataflow_StringType])>;
def Dataflow_FloatTensor : RankedTensorOf<[F32, F64, F16, BF16]>;
def Dataflow_IndexTensor : RankedTensorOf<[I32, I64]>;
def Dataflow_IndexOrByteTensor : RankedTensorOf<[I32, I64, I8, UI8]>;
def Dataflow_BoolTensor : RankedTensorOf<[I1]>;

#endif // SLUICE_DATAFLOW_BASE
