//===- DataflowOps.td - The operators ----------------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_OPS
#define SLUICE_DATAFLOW_OPS

include "dialects/Dataflow/IR/DataflowBase.td"
include "dialects/Dataflow/IR/DataflowInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// An extent that varies has its upper bound in the type. This trait is first: the verifiers of others rely on it.
def StaticExtents : NativeOpTrait<"StaticExtents"> {
  let cppNamespace = "::sluice::dataflow";
}

class Dataflow_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dataflow_Dialect, mnemonic, !listconcat([StaticExtents, Pure], traits)>;

def Cost : DeclareOpInterfaceMethods<CostOpInterface>;
class CostOf<list<string> methods> : DeclareOpInterfaceMethods<CostOpInterface, methods>;

// The operator has an external model of the interface, in a library of its own:
// the dialect declares the promise, Models.h registers what keeps it.
class Promise<string interface> : ParamNativeOpTrait<"Promises", interface> {
  let cppNamespace = "::sluice::dataflow";
}
defvar EvaluateMethods = Promise<"EvaluateOpInterface">;
def ElementwiseMethods : TraitList<[ElementwiseOpInterface, Promise<"EmitScalarOpInterface">]>;
def ElementalMethods : TraitList<[ElementalOpInterface, Promise<"EmitElementOpInterface">]>;
def AsCheapAsLoad : NativeOpTrait<"AsCheapAsLoad"> {
  let cppNamespace = "::sluice::dataflow";
}
class Kernel<list<string> methods = []>
    : TraitList<[DeclareOpInterfaceMethods<KernelOpInterface, methods>, Promise<"EmitKernelOpInterface">]>;
def Library : TraitList<[DeclareOpInterfaceMethods<LibraryOpInterface>, Promise<"LibraryCallOpInterface">]>;
class Tunable<list<string> methods = []>
    : TraitList<[DeclareOpInterfaceMethods<TunableOpInterface, methods>, Promise<"TuningSpaceOpInterface">]>;
defvar GradientMethods = Promise<"GradientOpInterface">;
defvar Tiling = Promise<"TilingRulesOpInterface">;
class Permutable<list<string> methods = []> : DeclareOpInterfaceMethods<PermutableOpInterface, methods>;

def InferredBeforeVerified : NativeOpTrait<"InferredBeforeVerified"> {
  let cppNamespace = "::sluice::dataflow";
}

// The operator infers its results' types from an adaptor with static types; types with symbols follow from those at
// sample points (Extents.h).
def Dataflow_InferTypes : TraitList<[
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    InferredBeforeVerified,
    NativeOpTrait<"InferTypeOpAdaptor", [], [{
      static ::llvm::LogicalResult inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
                                                    Adaptor adaptor,
                                                    ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes);
      static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
    }], [{
      ::llvm::LogicalResult $cppClass::inferReturnTypes(
          ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, ::mlir::ValueRange operands,
          ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
          ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes) {
        auto infer = [&](::mlir::ValueRange values, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
          return inferReturnTypes(context, location, Adaptor(values, attributes, properties, regions), types);
        };
        return ::sluice::dataflow::detail::inferRanged(location, operands, inferredReturnTypes, infer);
      }
      bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
        return ::sluice::dataflow::haveSameExtents(inferred, actual);
      }
    }]>]>;

// While an operator is parsed, type inference does not see the attributes of attr-dict and the
// default values of attributes. If inference needs one of them, the assembly format has the type of
// the result.
class Dataflow_InferredOp<string mnemonic, list<Trait> traits = []>
    : Dataflow_Op<mnemonic, !listconcat([Dataflow_InferTypes], traits)>;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def ConstantOp : Dataflow_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "Constant data, which is either small and inline or a lazily mapped resource";
  let description = [{
    Example:

    ```mlir
    %half = dataflow.constant dense<0.5> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def RangeOp : Dataflow_Op<"range", [EvaluateMethods, ElementalMethods, AsCheapAsLoad, Cost]> {
  let summary = "start + i * delta, for each element i of the result";
  let description = [{
    Example:

    ```mlir
    %r = dataflow.range %start, %delta : (tensor<i64>, tensor<i64>) -> tensor<9xi64>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$start, Dataflow_Tensor:$delta);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$start `,` $delta attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def ExtentsOp : Dataflow_Op<"extents", [ElementalMethods, AsCheapAsLoad, CostOf<["getFlops"]>]> {
  let summary = "Numbers that are computed from the symbols of the program, in row-major order";
  let description = [{
    Example:

    ```mlir
    %n = dataflow.extents affine_map<()[s0] -> (s0 - 1, 4)> of <"sequence" = 1 to 512>
        : tensor<2xi64>
    ```
  }];
  let arguments = (ins AffineMapAttr:$map, Dataflow_SymbolsAttr:$symbols);
  let results = (outs Dataflow_IndexTensor:$result);
  let assemblyFormat = "$map `of` $symbols attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def StateOp : Dataflow_InferredOp<"state"> {
  let summary = "A tensor that lives across steps, with its value at the start of the step";
  let description = [{
    `value` is the content before the first step. The result of the function with
    `dataflow.updates = "name"` is the content in the next step. Without such a result the
    state never changes. If the state is `trainable`, an optimizer may update it. If the
    state is cut, each rank has its own part, and `value` is the whole tensor. A state that
    grows has a `length`: the number of valid positions when a step begins, and the number
    when it ends. The first is a symbol that the runtime keeps.

    Example:

    ```mlir
    %past = dataflow.state "past" length #dataflow.extents<()[s0] -> (s0, s0 + 1), <"past" = 0 to 15>> dense<0.0> : tensor<2x16x4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, ElementsAttr:$value, UnitAttr:$trainable,
                       OptionalAttr<Dataflow_CutArrayAttr>:$cuts, OptionalAttr<Dataflow_ExtentsAttr>:$length);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$name (`trainable` $trainable^)? (`cut` $cuts^)? (`length` $length^)? attr-dict $value";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringAttr":$name,
                                 "::mlir::ElementsAttr":$value, "::mlir::UnitAttr":$trainable)>];
  let extraClassDeclaration = [{
    /// Copies the content of one rank's part before the first step, in the type of the result. Fails if the data of a
    /// resource is missing.
    ::llvm::LogicalResult copyInitial(int64_t rank, char *destination);
  }];
}

def DropoutMaskOp : Dataflow_Op<"dropout_mask", [ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "True with probability `keep`, for each element, seed and step";
  let description = [{
    Element i is a hash of (seed, step, i). It is the same on every device, for every order
    of execution and every number of threads. It differs from step to step.

    Example:

    ```mlir
    %mask = dataflow.dropout_mask %step {keep = 0.75, seed = 3} : (tensor<i64>) -> tensor<4x5xi1>
    ```
  }];
  let arguments = (ins Dataflow_IndexTensor:$step, F64Attr:$keep, I64Attr:$seed);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$step attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

def UnaryOp : Dataflow_InferredOp<"unary", [
    GradientMethods, ElementwiseMethods, EvaluateMethods, CostOf<["getFlops", "getCostClass"]>, Permutable<>]> {
  let summary = "An element-wise function of one tensor";
  let description = [{
    `alpha` and `beta` are parameters of leaky_relu (alpha), elu (alpha), celu (alpha),
    thresholded_relu (alpha), selu (alpha, beta = gamma), hard_sigmoid (alpha, beta), shrink
    (alpha = lambd, beta = bias) and swish (alpha). is_inf detects +inf if alpha != 0, and
    -inf if beta != 0.

    Example:

    ```mlir
    %y = dataflow.unary leaky_relu %x {alpha = 0.1 : f64} : tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Dataflow_UnaryKindAttr:$kind, Dataflow_Tensor:$input,
                       DefaultValuedAttr<F64Attr, "0.0">:$alpha,
                       DefaultValuedAttr<F64Attr, "0.0">:$beta);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "UnaryKind":$kind,
                                 CArg<"double", "0.0">:$alpha, CArg<"double", "0.0">:$beta)>];
  let hasVerifier = 1;
}

def BinaryOp : Dataflow_InferredOp<"binary", [
    GradientMethods, ElementwiseMethods, EvaluateMethods, CostOf<["getFlops", "getCostClass"]>, Permutable<>]> {
  let summary = "An element-wise function of two tensors, with numpy broadcasting";
  let description = [{
    div on integers truncates. mod has the sign of the divisor, and fmod has the sign of the
    dividend. max and min return NaN if either operand is NaN. prelu is lhs < 0 ? lhs * rhs
    : lhs.

    Example:

    ```mlir
    %y = dataflow.binary mul %x, %c : tensor<2xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Dataflow_BinaryKindAttr:$kind, Dataflow_Tensor:$lhs, Dataflow_Tensor:$rhs);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "BinaryKind":$kind)>];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def CompareOp : Dataflow_InferredOp<"compare", [
    ElementwiseMethods, EvaluateMethods, CostOf<["getCostClass"]>, Permutable<>]> {
  let summary = "Element-wise comparison with a result of i1";
  let description = [{
    Example:

    ```mlir
    %less = dataflow.compare lt %x, %c : tensor<2xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Dataflow_ComparePredicateAttr:$predicate, Dataflow_Tensor:$lhs, Dataflow_Tensor:$rhs);
  let results = (outs Dataflow_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "ComparePredicate":$predicate)>];
  let hasVerifier = 1;
}

def SelectOp : Dataflow_InferredOp<"select", [
    GradientMethods, ElementwiseMethods, EvaluateMethods, CostOf<["getCostClass"]>, Permutable<>]> {
  let summary = "condition ? on_true : on_false, with numpy broadcasting";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.select %mask, %x, %row : tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>
    ```
  }];
  let arguments = (ins Dataflow_BoolTensor:$condition, Dataflow_AnyTensor:$on_true, Dataflow_AnyTensor:$on_false);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def CastOp : Dataflow_Op<"cast", [
    GradientMethods, ElementwiseMethods, EvaluateMethods, CostOf<["getCostClass"]>, Permutable<>]> {
  let summary = "Conversion of the element type, which truncates, or rounds to nearest even between floats";
  let description = [{
    A conversion from float to integer truncates. With `saturate` it clamps to the range of
    the integer type, and NaN becomes 0. In a conversion to a float of 8 or 4 bits, values
    out of range become infinity, or NaN if the type has no infinity. With `saturate` they
    become the largest finite value. A conversion to f8E8M0FNU rounds up. In a conversion to
    i1, any value that is not zero is true.

    Example:

    ```mlir
    %y = dataflow.cast %x saturate : tensor<2x3xbf16> -> tensor<2x3xi8>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, UnitAttr:$saturate);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$input (`saturate` $saturate^)? attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType,
                                 CArg<"bool", "false">:$saturate)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BitcastOp : Dataflow_Op<"bitcast", [ElementwiseMethods, EvaluateMethods, CostOf<["getFlops"]>]> {
  let summary = "The bits of the elements, as another type of the same size";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.bitcast %x : tensor<3xf32> -> tensor<3xi32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def RandomOp : Dataflow_Op<"random", [ElementalMethods, Cost]> {
  let summary = "Uniform in [0, 1), a function of only the seed and the position of the element";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.random {seed = 7 : i64} : tensor<4x5xf32>
    ```
  }];
  let arguments = (ins I64Attr:$seed);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def MatmulOp : Dataflow_InferredOp<"matmul", [
    Tiling, GradientMethods, Kernel<["readsSlice"]>, Library, Tunable<>, CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Batched matrix product with numpy broadcasting of the batch dimensions";
  let description = [{
    [..., M, K] x [..., K, N] -> [..., M, N]. In a transposed operand, the last two
    dimensions are exchanged. f16 and bf16 accumulate in f32. With `packed_n`, which is N,
    rhs is a result of pack_matmul_rhs. With `library`, a GPU first asks a library of its
    vendor, which may use this number of bytes of scratch memory.

    Example:

    ```mlir
    %y = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$lhs, Dataflow_Tensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       OptionalAttr<I64Attr>:$packed_n, OptionalAttr<I64Attr>:$library);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `,` $rhs (`transposed` $transpose_rhs^)?
    (`packed` $packed_n^)? attr-dict `:` type($lhs) `,` type($rhs)
  }];
  let hasVerifier = 1;
}

def ConvOp : Dataflow_InferredOp<"conv", [
    Tiling, GradientMethods, Kernel<>, Library, Tunable<["allowsTunedAlgorithm"]>, CostOf<["getFlops", "getWorkspaceBytes", "getCostClass"]>]> {
  let summary = "Convolution over 1 to 3 spatial dimensions";
  let description = [{
    The input is [N, C, spatial...], or channels_last. The weight is [M, C/groups,
    kernel...], or with `weight_layout` [M, kernel..., C/groups]. pads = [low..., high...].
    `library` has the same meaning as in matmul.

    With `packed_channels`, the weight is a result of pack_conv_weight and the input is
    channels_last. The attributes `packed_channels` (M) and `kernel` then replace the shape
    of the weight.

    Only kernels for CPUs have an `algorithm`. For `winograd2` and `winograd4`, the weight
    is a result of pack_winograd_weight with the same algorithm. `error_bound` estimates the
    greatest rounding error of a result, in units of the root mean square of the results.
    For `shift_add`, each tap of a kernel's row is a channel of its own, and the weight is a
    result of pack_conv_weight for [KW * M, C, KH, 1].

    Example:

    ```mlir
    %y = dataflow.conv %x, %w strides [2] pads [1, 1] dilations [1]
        : tensor<2x4x16xf32>, tensor<16x4x3xf32> -> tensor<2x16x8xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, Dataflow_Tensor:$weight,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                       DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<Dataflow_LayoutAttr, "Layout::channels_first">:$layout,
                       OptionalAttr<I64Attr>:$packed_channels,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel,
                       OptionalAttr<I64Attr>:$library,
                       OptionalAttr<Dataflow_ConvAlgorithmAttr>:$algorithm,
                       OptionalAttr<F64Attr>:$error_bound,
                       DefaultValuedAttr<Dataflow_LayoutAttr, "Layout::channels_first">:$weight_layout);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `strides` $strides `pads` $pads `dilations` $dilations
    attr-dict `:` type(operands) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Spatial extents of the kernel, packed or not.
    ::llvm::SmallVector<int64_t> getKernelShape();
    /// Whether an operand is packed or has its elements in another order than ONNX's.
    bool isLaidOut();
    /// Of a weight that is not packed: the dimension of its C/groups channels.
    int64_t getWeightChannelDim();
    /// Output channels M.
    int64_t getOutputChannels();
    /// Whether `algorithm` is one of Winograd's.
    bool isWinograd();
  }];
}

def ConvTransposeOp : Dataflow_Op<"conv_transpose", [
    Tiling, GradientMethods, Kernel<>, Library, CostOf<["getFlops", "getWorkspaceBytes", "getCostClass"]>]> {
  let summary = "Transposed convolution with the weight [C, M/groups, kernel...]";
  let description = [{
    pads = [low...] is cut off before the start of the result. The result type determines
    the end. `library` has the same meaning as in matmul.

    Example:

    ```mlir
    %y = dataflow.conv_transpose %x, %w strides [2, 2] pads_low [0, 1] dilations [1, 1] {groups = 2 : i64}
        : (tensor<1x6x5x9xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x11x18xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, Dataflow_Tensor:$weight,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads_low,
                       DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<I64Attr>:$library);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `strides` $strides `pads_low` $pads_low `dilations` $dilations
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def ConvWeightGradientOp : Dataflow_Op<"conv_weight_gradient", [
    Tiling, GradientMethods, Kernel<["allowsEpilogue"]>, Library,
    CostOf<["getFlops", "getWorkspaceBytes", "getCostClass"]>]> {
  let summary = "The gradient of a convolution by its weight, also for transposed convolutions";
  let description = [{
    The input is [N, C, spatial...]. The gradient [N, M, spatial...] is the gradient by the
    result of the convolution. The result is [M, C/groups, kernel...]. Attributes have the
    same meaning as in conv.

    Example:

    ```mlir
    %dw = dataflow.conv_weight_gradient %x, %dy strides [2, 1] pads_low [1, 2] dilations [1, 2] {groups = 2 : i64}
        : (tensor<4x4x9x8xf32>, tensor<4x6x5x8xf32>) -> tensor<6x2x3x3xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$gradient,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads_low,
                       DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<I64Attr>:$library);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $gradient `strides` $strides `pads_low` $pads_low `dilations` $dilations
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def PackConvWeightOp : Dataflow_InferredOp<"pack_conv_weight", [ElementalMethods, EvaluateMethods, Cost]> {
  let summary = "[M, C/groups, KH, KW] -> the order of the kernel of conv";
  let description = [{
    The order is [groups][M/groups/block][KH][KW][C/groups][block]. For a depthwise
    convolution it is [KH][KW][M rounded up to block].

    Example:

    ```mlir
    %packed = dataflow.pack_conv_weight %w {block = 8 : i64, groups = 2 : i64}
        : tensor<6x2x3x3xf32> -> tensor<2x1x3x3x2x8xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$weight, I64Attr:$groups, I64Attr:$block, UnitAttr:$depthwise);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$weight attr-dict `:` type($weight) `->` type($result)";
  let hasVerifier = 1;
}

def PackWinogradWeightOp : Dataflow_InferredOp<"pack_winograd_weight", [EvaluateMethods, Cost]> {
  let summary = "[M, C, 3, 3] -> transformed filters in the order of the kernel of conv";
  let description = [{
    The result has G g G^T for each filter g of each channel. It is computed in f64 and
    rounded once. Its order is [C/depth][M/panel][points][depth][panel], filled with zeros.
    F(2x2, 3x3) has 16 points, F(4x4, 3x3) has 36.

    Example:

    ```mlir
    %packed = dataflow.pack_winograd_weight winograd4 %w {depth = 32 : i64, panel = 8 : i64}
        : tensor<6x40x3x3xf32> -> tensor<2x1x36x32x8xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$weight, Dataflow_ConvAlgorithmAttr:$algorithm, I64Attr:$depth,
                       I64Attr:$panel);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$algorithm $weight attr-dict `:` type($weight) `->` type($result)";
  let hasVerifier = 1;
}

def PackMatmulRhsOp : Dataflow_InferredOp<"pack_matmul_rhs", [ElementalMethods, EvaluateMethods, Cost]> {
  let summary = "[..., K, N] -> [..., N/block, K, block], filled with zeros";
  let description = [{
    Example:

    ```mlir
    %packed = dataflow.pack_matmul_rhs %b transposed {block = 4 : i64}
        : tensor<3x6x8xf32> -> tensor<3x2x8x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$rhs, UnitAttr:$transposed, I64Attr:$block);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$rhs (`transposed` $transposed^)? attr-dict `:` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

def PoolOp : Dataflow_Op<"pool", [
    Tiling, GradientMethods, Kernel<["allowsPrologue"]>, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "Max, average or Lp pooling over windows";
  let description = [{
    pads_low determines the position of the first window. Windows that extend beyond the
    high end are clipped, and the result type determines their number (also for ceil_mode).
    Average pooling divides by the number of elements of the window within the input. With
    `count_include_pad` it divides by the number within the padded input, for which
    pads_high is needed.

    Example:

    ```mlir
    %y = dataflow.pool max %x kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]
        : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
    ```
  }];
  let arguments = (ins Dataflow_PoolKindAttr:$kind, Dataflow_Tensor:$input,
                       DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
                       DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<BoolAttr, "false">:$count_include_pad,
                       DefaultValuedAttr<I64Attr, "2">:$p,
                       DefaultValuedAttr<Dataflow_LayoutAttr, "Layout::channels_first">:$layout);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = [{
    $kind $input `kernel` $kernel `strides` $strides `pads` $pads_low `to` $pads_high
    `dilations` $dilations attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def PoolGradientOp : Dataflow_Op<"pool_gradient", [Tiling, ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "The gradient of a pooling by its input";
  let description = [{
    `gradient` is the gradient by the result of the pooling. The result has the shape of the
    input of the pooling. Attributes have the same meaning as in pool. `saved` has what the
    derivative depends on: nothing for average, the input for max, and the input and the
    result for lp. For max, the first of equal elements of a window receives the whole
    gradient.

    Example:

    ```mlir
    %dx = dataflow.pool_gradient max %dy saved %x kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1]
        : (tensor<1x2x4x5xf32>, tensor<1x2x9x10xf32>) -> tensor<1x2x9x10xf32>
    ```
  }];
  let arguments = (ins Dataflow_PoolKindAttr:$kind, Dataflow_FloatTensor:$gradient,
                       Variadic<Dataflow_FloatTensor>:$saved,
                       DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
                       DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<BoolAttr, "false">:$count_include_pad,
                       DefaultValuedAttr<I64Attr, "2">:$p);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $gradient (`saved` $saved^)? `kernel` $kernel `strides` $strides `pads` $pads_low `to` $pads_high
    `dilations` $dilations attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def ResizeOp : Dataflow_Op<"resize", [Tiling, ElementalMethods, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "Resampling: nearest, (multi-)linear or cubic";
  let description = [{
    scales[i] is the quotient of the extents of output and input for dimension i, as the
    model specifies it. It is 1 for a dimension that is not resampled. roi is [starts...,
    ends...] for tf_crop_and_resize.

    Example:

    ```mlir
    %y = dataflow.resize linear %x scales [1.0, 1.0, 2.0, 0.5] half_pixel floor
        : tensor<1x2x9x10xf32> -> tensor<1x2x18x5xf32>
    ```
  }];
  let arguments = (ins Dataflow_ResizeModeAttr:$mode, Dataflow_Tensor:$input,
                       DenseF64ArrayAttr:$scales, Dataflow_CoordinateModeAttr:$coordinates,
                       Dataflow_NearestModeAttr:$nearest,
                       DefaultValuedAttr<F64Attr, "-0.75">:$cubic_coeff,
                       DefaultValuedAttr<BoolAttr, "false">:$exclude_outside,
                       DefaultValuedAttr<BoolAttr, "false">:$antialias,
                       DefaultValuedAttr<F64Attr, "0.0">:$extrapolation,
                       OptionalAttr<DenseF64ArrayAttr>:$roi);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = [{
    $mode $input `scales` $scales $coordinates $nearest attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and rows
//===----------------------------------------------------------------------===//

def ReduceOp : Dataflow_InferredOp<"reduce", [
    Tiling, GradientMethods, Kernel<["allowsPrologue"]>, EvaluateMethods, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "Reduction over axes";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.reduce mean %x axes [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Dataflow_ReduceKindAttr:$kind, Dataflow_Tensor:$input,
                       DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def ArgReduceOp : Dataflow_InferredOp<"arg_reduce", [Tiling, Kernel<["allowsPrologue"]>, Cost]> {
  let summary = "The index of the largest (or smallest) element along an axis";
  let description = [{
    Example:

    ```mlir
    %i = dataflow.arg_reduce %x {axis = 1 : i64} : tensor<2x3x4xf32> -> tensor<2x1x4xi64>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$largest,
                       DefaultValuedAttr<BoolAttr, "true">:$keep_dims,
                       DefaultValuedAttr<BoolAttr, "false">:$select_last);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def CumsumOp : Dataflow_InferredOp<"cumsum", [Tiling, GradientMethods, Kernel<>, Cost]> {
  let summary = "Running sum (or product) along an axis";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.cumsum %x {axis = 2 : i64, exclusive = true} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$exclusive,
                       DefaultValuedAttr<BoolAttr, "false">:$reverse,
                       DefaultValuedAttr<BoolAttr, "false">:$product);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TopkOp : Dataflow_InferredOp<"topk", [Tiling, GradientMethods, Kernel<>, CostOf<["getFlops"]>]> {
  let summary = "The k largest (or smallest) elements along an axis, sorted, with their indices";
  let description = [{
    Of equal elements, the one with the lower index comes first. NaN is greater than every
    number.

    Example:

    ```mlir
    %values, %indices = dataflow.topk %x {axis = 2 : i64, k = 2 : i64}
        : tensor<2x3x4xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi64>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$k, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "true">:$largest);
  let results = (outs Dataflow_Tensor:$values, Dataflow_IndexTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type(results)";
  let hasVerifier = 1;
}

def SoftmaxOp : Dataflow_InferredOp<"softmax", [
    Tiling, GradientMethods, Kernel<>, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "Softmax (or its logarithm) along one axis";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.softmax %x {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$log);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def AttentionOp : Dataflow_InferredOp<"attention", [Kernel<["readsSlice"]>, CostOf<["getFlops", "getCostClass"]>]> {
  let summary = "softmax(query * key^T * scale + mask) * value, with scores that stay in the cache of a core";
  let description = [{
    query [..., M, D], key [..., N, D] (`transposed`: [..., D, N]) and value [..., N, E]
    give [..., M, E]. Each batch dimension of key and value is equal to the query's, or 1.
    With `divides`, the product is divided by `scale`. The mask broadcasts to [..., M, N].

    Example:

    ```mlir
    %y = dataflow.attention %q, %k, %v
        : (tensor<2x3x5x8xf32>, tensor<2x1x7x8xf32>, tensor<1x3x7x4xf32>) -> tensor<2x3x5x4xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$query, RankedTensorOf<[F32]>:$key, RankedTensorOf<[F32]>:$value,
                       Optional<RankedTensorOf<[F32]>>:$mask, UnitAttr:$transposed,
                       DefaultValuedAttr<F32Attr, "1.0f">:$scale, UnitAttr:$divides);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $query `,` $key (`transposed` $transposed^)? `,` $value (`mask` $mask^)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// M, N, D and E above.
    int64_t getRows();
    int64_t getKeys();
    int64_t getDepth();
    int64_t getColumns();
  }];
}

def LayerNormOp : Dataflow_InferredOp<"layer_norm", [
    Tiling, GradientMethods, Kernel<>, CostOf<["getFlops"]>]> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias over dimensions [axis, rank)";
  let description = [{
    scale and bias broadcast to the input.

    Example:

    ```mlir
    %y = dataflow.layer_norm %x, %scale, %bias {axis = 2 : i64, epsilon = 1.0e-05 : f64}
        : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$scale,
                       Optional<Dataflow_FloatTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale (`,` $bias^)? attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def InstanceNormOp : Dataflow_InferredOp<"instance_norm", [
    Tiling, GradientMethods, Kernel<["allowsEpilogue"]>, CostOf<["getFlops"]>]> {
  let summary = "Normalises each channel of each image over its spatial dimensions, with scale and bias [C]";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.instance_norm %x, %scale, %bias {epsilon = 1.0e-05 : f64}
        : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$scale, Dataflow_FloatTensor:$bias,
                       F64Attr:$epsilon);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` $bias attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def BatchNormOp : Dataflow_InferredOp<"batch_norm", [Tiling, GradientMethods, CostOf<["getFlops"]>]> {
  let summary = "Batch normalisation of inference, with scale, bias, mean and variance [C], where C is dimension 1";
  let description = [{
    --dataflow-simplify replaces it by a multiplication and an addition, which fold into a
    preceding convolution.

    Example:

    ```mlir
    %y = dataflow.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-05 : f64}
        : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
        -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$scale, Dataflow_FloatTensor:$bias,
                       Dataflow_FloatTensor:$mean, Dataflow_FloatTensor:$variance, F64Attr:$epsilon);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def BatchNormTrainOp : Dataflow_InferredOp<"batch_norm_train", [Tiling, GradientMethods, CostOf<["getFlops"]>]> {
  let summary = "Batch normalisation with the statistics of the batch, which it returns";
  let description = [{
    mean and variance are [C], where C is dimension 1. The variance is the mean of the
    squared deviations: it divides by the number of elements, without Bessel's correction.
    --dataflow-simplify replaces the operator by reductions and a multiply-add.

    Example:

    ```mlir
    %y:3 = dataflow.batch_norm_train %x, %scale, %bias {epsilon = 1.0e-5}
        : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<4x3x5xf32>, tensor<3xf32>,
        tensor<3xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, Dataflow_FloatTensor:$scale, Dataflow_FloatTensor:$bias,
                       F64Attr:$epsilon);
  let results = (outs Dataflow_FloatTensor:$result, Dataflow_FloatTensor:$mean, Dataflow_FloatTensor:$variance);
  let assemblyFormat = "$input `,` $scale `,` $bias attr-dict `:` type(operands) `->` type(results)";
  let hasVerifier = 1;
}

def LrnOp : Dataflow_InferredOp<"lrn", [Tiling, GradientMethods, ElementalMethods, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "Local response normalisation across channels";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.lrn %x {alpha = 0.0001 : f64, beta = 0.75 : f64, bias = 1.0 : f64, size = 5 : i64}
        : tensor<1x2x9x10xf32> -> tensor<1x2x9x10xf32>
    ```
  }];
  let arguments = (ins Dataflow_FloatTensor:$input, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$bias,
                       DefaultValuedAttr<I64Attr, "1">:$channel_axis);
  let results = (outs Dataflow_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

def TransposeOp : Dataflow_InferredOp<"transpose", [Tiling, GradientMethods, ElementalMethods, EvaluateMethods, CostOf<["getFlops"]>]> {
  let summary = "A permutation of dimensions: dimension i of the result is dimension permutation[i] of the input";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.transpose %x [2, 0, 1] : tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def ReshapeOp : Dataflow_Op<"reshape", [Tiling, GradientMethods, ElementalMethods, EvaluateMethods, CostOf<["getFlops", "getBytesMoved"]>]> {
  let summary = "The same data with another shape, without moving data";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.reshape %x : tensor<6x4xf32> -> tensor<24xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ExpandOp : Dataflow_Op<"expand", [Tiling, GradientMethods, ElementalMethods, EvaluateMethods, CostOf<["getFlops"]>]> {
  let summary = "Numpy broadcast to the result's shape";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.expand %x : tensor<8x3xf32> -> tensor<5x8x3xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TileOp : Dataflow_Op<"tile", [Tiling, GradientMethods, ElementalMethods, EvaluateMethods, CostOf<["getFlops"]>]> {
  let summary = "Repeats the input, where each extent of the result is a multiple of the input's extent";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.tile %x : tensor<8x3xf32> -> tensor<16x3xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def SliceOp : Dataflow_Op<"slice", [Tiling, GradientMethods, ElementalMethods, AsCheapAsLoad, EvaluateMethods, CostOf<["getFlops", "getBytesMoved"]>, Permutable<>]> {
  let summary = "Element i of the result is element starts + i * steps of the input, where steps may be negative";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.slice %x from [15, 0] by [-2, 1] : tensor<16x3xf32> -> tensor<8x2xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input `from` $starts `by` $steps attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ConcatOp : Dataflow_InferredOp<"concat", [
    Tiling, GradientMethods, Kernel<["allowsEpilogue"]>, EvaluateMethods, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "Joins tensors along an axis";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.concat %a, %b {axis = 0 : i64} : tensor<1xi64>, tensor<2xi64> -> tensor<3xi64>
    ```
  }];
  let arguments = (ins Variadic<Dataflow_AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def PadOp : Dataflow_Op<"pad", [Tiling, GradientMethods, ElementalMethods, EvaluateMethods, CostOf<["getFlops"]>, Permutable<["permute", "isPermutedOperand"]>]> {
  let summary = "Adds elements at the low end of each dimension, or removes them if negative; the result type determines the high end";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.pad reflect %x, %value low [2, -1]
        : (tensor<8x5xf32>, tensor<f32>) -> tensor<13x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_PadModeAttr:$mode, Dataflow_Tensor:$input, Dataflow_Tensor:$value,
                       DenseI64ArrayAttr:$low);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$mode $input `,` $value `low` $low attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def GatherOp : Dataflow_InferredOp<"gather", [Tiling, GradientMethods, ElementalMethods, AsCheapAsLoad, EvaluateMethods, CostOf<["getFlops"]>, Permutable<["permute", "isPermutedOperand"]>]> {
  let summary = "Slices of data along an axis, chosen by indices, of which negative ones count from the end";
  let description = [{
    At run time, an index out of range is clamped to the nearest valid index, so no read
    leaves the tensor. With indices of 8 bits, the operator looks up a function of a byte in
    a table of 256 elements.

    Example:

    ```mlir
    %y = dataflow.gather %data, %indices {axis = 1 : i64}
        : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<5x3x7xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$data, Dataflow_IndexOrByteTensor:$indices, I64Attr:$axis);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def GatherElementsOp : Dataflow_InferredOp<"gather_elements", [Tiling, GradientMethods, ElementalMethods, EvaluateMethods, CostOf<["getFlops"]>]> {
  let summary = "Element-wise gather along an axis, with a result of the shape of indices";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.gather_elements %data, %indices {axis = 0 : i64}
        : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<3x7xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$data, Dataflow_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def GatherNdOp : Dataflow_InferredOp<"gather_nd", [Tiling, GradientMethods, ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "Slices of data, addressed by index tuples along the last dimension of indices";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.gather_nd %data, %tuples : tensor<5x7xf32>, tensor<4x2xi64> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$data, Dataflow_IndexTensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def ScatterElementsOp : Dataflow_InferredOp<"scatter_elements", [Tiling, GradientMethods, Kernel<["allowsEpilogue"]>, CostOf<["getFlops"]>]> {
  let summary = "data, in which updates replace elements along an axis or are combined with them";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.scatter_elements add %data, %indices, %updates {axis = 0 : i64}
        : tensor<5x7xf32>, tensor<3x7xi64>, tensor<3x7xf32> -> tensor<5x7xf32>
    ```
  }];
  let arguments = (ins Dataflow_ScatterKindAttr:$kind, Dataflow_Tensor:$data, Dataflow_IndexTensor:$indices,
                       Dataflow_Tensor:$updates, I64Attr:$axis);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$kind $data `,` $indices `,` $updates attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def ScatterNdOp : Dataflow_InferredOp<"scatter_nd", [Tiling, GradientMethods, Kernel<["allowsEpilogue"]>, CostOf<["getFlops"]>]> {
  let summary = "data, in which updates replace slices that index tuples address, or are combined with them";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.scatter_nd none %data, %tuples, %updates
        : tensor<5x7xf32>, tensor<4x2xi64>, tensor<4xf32> -> tensor<5x7xf32>
    ```
  }];
  let arguments = (ins Dataflow_ScatterKindAttr:$kind, Dataflow_Tensor:$data, Dataflow_IndexTensor:$indices,
                       Dataflow_Tensor:$updates);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$kind $data `,` $indices `,` $updates attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def OneHotOp : Dataflow_InferredOp<"one_hot", [Tiling, ElementalMethods, CostOf<["getFlops"]>]> {
  let summary = "values[1] where the position along the new axis is the index, values[0] elsewhere";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.one_hot %indices, %values {axis = 2 : i64, depth = 9 : i64}
        : tensor<3x7xi64>, tensor<2xf32> -> tensor<3x7x9xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$indices, Dataflow_Tensor:$values, I64Attr:$depth, I64Attr:$axis);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$indices `,` $values attr-dict `:` type(operands) `->` type($result)";
  let hasVerifier = 1;
}

def CopyOp : Dataflow_InferredOp<"copy", [GradientMethods, ElementwiseMethods, CostOf<["getFlops"]>, Permutable<>]> {
  let summary = "The same data in another buffer, if an output of the model is an input or a constant";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.copy %x : tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def NonzeroOp : Dataflow_InferredOp<"nonzero", [Kernel<["allowsPrologue"]>, EvaluateMethods, Cost]> {
  let summary = "The positions of elements that are not zero: one column of indices for each, in row-major order";
  let description = [{
    The first `count` columns are valid. The others are 0.

    Example:

    ```mlir
    %r:2 = dataflow.nonzero %x : tensor<2x3xi1> -> tensor<2x6xi64>, tensor<i64>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input);
  let results = (outs Dataflow_IndexTensor:$indices, Dataflow_IndexTensor:$count);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type(results)";
}

// The operator has a memory effect, because it gives the symbol its value even if nothing reads its result.
def TakeFirstOp : Op<Dataflow_Dialect, "take_first", [
    StaticExtents, Kernel<["allowsEpilogue"]>, Cost, MemoryEffects<[MemWrite]>]> {
  let summary = "The first positions along a dimension, whose number the data determines";
  let description = [{
    `count` is the number of positions. It becomes the value of symbol number `symbol`,
    which is the extent of the dimension in the result. The step fails if `count` is
    negative or greater than the upper bound.

    Example:

    ```mlir
    %y = dataflow.take_first %x, %count {dim = 0 : i64, symbol = 0 : i64}
        : tensor<64x4xf32>, tensor<i64> -> tensor<64x4xf32, #dataflow.extents<()[s0] -> (s0, 4), <"kept" = 0 to 64 found>>>
    ```
  }];
  let arguments = (ins Dataflow_AnyTensor:$input, Dataflow_IndexTensor:$count, I64Attr:$dim, I64Attr:$symbol);
  let results = (outs Dataflow_AnyTensor:$result);
  let assemblyFormat = "$input `,` $count attr-dict `:` type($input) `,` type($count) `->` type($result)";
  let hasVerifier = 1;
}

def InsertOp : Dataflow_Op<"insert", [
    Kernel<["allowsEpilogue", "updatesOperand"]>, CostOf<["getFlops", "getBytesMoved"]>]> {
  let summary = "A tensor in which some positions along a dimension are replaced";
  let description = [{
    Along dimension `dim`, the positions of `part` replace positions of `into`, from
    position `start` on. All other positions are taken from `into`. If the part would exceed
    the dimension, `start` is reduced until it fits. If the result has the memory of `into`,
    the operator stores `part` only.

    Example:

    ```mlir
    %next = dataflow.insert %cache, %rows at %start {dim = 1 : i64}
        : tensor<2x16x4xf32>, tensor<2x1x4xf32>, tensor<i64> -> tensor<2x16x4xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$into, Dataflow_Tensor:$part, Dataflow_IndexTensor:$start, I64Attr:$dim);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$into `,` $part `at` $start attr-dict `:` type($into) `,` type($part) `,` type($start) `->` type($result)";
  let hasVerifier = 1;
}

include "dialects/Dataflow/IR/StringOps.td"
include "dialects/Dataflow/IR/MlOps.td"
include "dialects/Dataflow/IR/IntegerOps.td"
include "dialects/Dataflow/IR/HalfOps.td"
include "dialects/Dataflow/IR/BlockOps.td"
include "dialects/Dataflow/IR/VisionOps.td"
include "dialects/Dataflow/IR/CollectiveOps.td"

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

def FusedOp : Dataflow_Op<"fused", [
    IsolatedFromAbove, SingleBlock, CostOf<["getFlops", "getBytesMoved", "getWorkspaceBytes", "getCostClass"]>]> {
  let summary = "Operators that run as one kernel";
  let description = [{
    At most one member has loops of its own (KernelOpInterface). The other members are
    element-wise or elemental, and are computed inside these loops. If no member has loops
    of its own, all are computed inside one loop nest over the result. Intermediate values
    are never stored in memory.

    Example:

    ```mlir
    %y = dataflow.fused (%a = %x : tensor<4x8xf32>, %b = %w : tensor<8x6xf32>, %c = %bias : tensor<6xf32>) -> (tensor<4x6xf32>) {
      %1 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf32>
      %2 = dataflow.binary add %1, %c : tensor<4x6xf32>, tensor<6xf32>
      %3 = dataflow.unary relu %2 : tensor<4x6xf32>
      dataflow.yield %3 : tensor<4x6xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Dataflow_AnyTensor>:$inputs);
  let results = (outs Variadic<Dataflow_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The member with loops of its own, or null.
    ::mlir::Operation *getAnchor();
  }];
}

def YieldOp : Dataflow_Op<"yield", [Terminator, ParentOneOf<["ConcurrentOp", "FusedOp", "IfOp", "LoopOp"]>, ReturnLike]> {
  let summary = "The results of a group, or of a program of an operator";
  let description = [{
    Example:

    ```mlir
    dataflow.yield %y : tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Variadic<Dataflow_AnyTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

include "dialects/Dataflow/IR/ControlOps.td"

#endif // SLUICE_DATAFLOW_OPS
