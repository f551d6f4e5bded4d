//===- CollectiveOps.td - Exchanges between ranks ----------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A partitioned program is one that every rank runs on its own parts (SPMD). The tensors of the
// program are those of one rank, and ranks exchange data only in these operators. Their kernels
// call the runtime. Emit/Ops/Collective.cpp has their costs, which depend on the runtime.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_COLLECTIVEOPS
#define SLUICE_DATAFLOW_COLLECTIVEOPS

// Numbered as services.h's sluice_collective_kind and sluice_reduction.
def Dataflow_CollectiveKind : Dataflow_Enum<"CollectiveKind", [
  Case<"all_reduce", 0>, Case<"all_gather", 1>, Case<"reduce_scatter", 2>, Case<"all_to_all", 3>, Case<"shard", 4>,
  Case<"halo", 5>, Case<"send", 6>, Case<"receive", 7>]>;
def Dataflow_CombineKind : Dataflow_Enum<"CombineKind", [Case<"sum", 0>, Case<"max", 1>, Case<"min", 2>]>;
def Dataflow_CombineKindAttr : Dataflow_EnumAttr<Dataflow_CombineKind, "combine_kind">;

// The element types that the runtime combines. Smaller types are cast before and after the collective.
def Dataflow_CombinedTensor : RankedTensorOf<[F32, F64, I32, I64]>;

def CollectiveMethods : DeclareOpInterfaceMethods<CollectiveOpInterface>;

class Dataflow_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Dataflow_InferredOp<mnemonic, !listconcat([
        CollectiveMethods, Kernel<["allowsEpilogue"]>, Promise<"CostOpInterface">], traits)> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::sluice::dataflow::CollectiveKind $cppClass::getCollectiveKind() {
      return ::sluice::dataflow::CollectiveKind::}] # mnemonic # [{;
    }
    bool $cppClass::allowsEpilogue() { return false; }
  }];
}

def AllReduceOp : Dataflow_CollectiveOp<"all_reduce"> {
  let summary = "The sum (or maximum, or minimum) of the tensors of a group, element by element, on each rank of the group";
  let description = [{
    Example:

    ```mlir
    %sum = dataflow.all_reduce sum %x over [2:4, 2:1] : tensor<8x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_CombineKindAttr:$reduction, Dataflow_CombinedTensor:$input, Dataflow_GroupAttr:$group);
  let results = (outs Dataflow_CombinedTensor:$result);
  let assemblyFormat = "$reduction $input `over` $group attr-dict `:` type($input)";
}

def ReduceScatterOp : Dataflow_CollectiveOp<"reduce_scatter"> {
  let summary = "The sum (or maximum, or minimum) of the tensors of a group, of which rank i keeps part i along a dimension";
  let description = [{
    Example:

    ```mlir
    %part = dataflow.reduce_scatter max %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<2x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_CombineKindAttr:$reduction, Dataflow_CombinedTensor:$input, I64Attr:$dim,
                       Dataflow_GroupAttr:$group, OptionalAttr<Dataflow_UnevenAttr>:$uneven);
  let results = (outs Dataflow_CombinedTensor:$result);
  let assemblyFormat = "$reduction $input `dim` $dim `over` $group attr-dict `:` type($input) `->` type($result)";
}

def AllGatherOp : Dataflow_CollectiveOp<"all_gather"> {
  let summary = "The tensors of a group, concatenated along a dimension, on each rank of the group";
  let description = [{
    Example:

    ```mlir
    %whole = dataflow.all_gather %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<32x6xf32>
    %ten = dataflow.all_gather %y dim 0 over [3:1] {uneven = #dataflow.uneven<10>}
        : tensor<4x6xf32> -> tensor<10x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$dim, Dataflow_GroupAttr:$group,
                       OptionalAttr<Dataflow_UnevenAttr>:$uneven);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim `over` $group attr-dict `:` type($input) `->` type($result)";
}

def AllToAllOp : Dataflow_CollectiveOp<"all_to_all"> {
  let summary = "Part i along `split` goes to rank i, and the parts from the ranks are concatenated along `join`";
  let description = [{
    Example:

    ```mlir
    %y = dataflow.all_to_all %x split 0 join 1 over [2:1] : tensor<8x6xf32> -> tensor<4x12xf32>
    ```
  }];
  // Either both attributes `uneven_split` and `uneven_join` are present, or none.
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$split, I64Attr:$join, Dataflow_GroupAttr:$group,
                       OptionalAttr<Dataflow_UnevenAttr>:$uneven_split, OptionalAttr<Dataflow_UnevenAttr>:$uneven_join);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat =
    "$input `split` $split `join` $join `over` $group attr-dict `:` type($input) `->` type($result)";
}

def ShardOp : Dataflow_CollectiveOp<"shard", [EvaluateMethods]> {
  let summary = "The part of this rank, along a dimension, of a tensor that all ranks of the group have";
  let description = [{
    The operator sends nothing. If the tensor is a constant, the operator is evaluated for
    each rank when the parameters are written.

    Example:

    ```mlir
    %part = dataflow.shard %x dim 1 over [2:1] : tensor<8x6xf16> -> tensor<8x3xf16>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$dim, Dataflow_GroupAttr:$group,
                       OptionalAttr<Dataflow_UnevenAttr>:$uneven);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim `over` $group attr-dict `:` type($input) `->` type($result)";
}

def HaloOp : Dataflow_CollectiveOp<"halo"> {
  let summary = "A part, with the nearest elements of its neighbours on both sides";
  let description = [{
    The operator adds `low` elements along the dimension from the end of the previous rank,
    and `high` elements from the start of the next rank. If there is no such rank, the
    elements are zero. With `lowest`, they are the least value of the type, which is
    -infinity if the type has it. If the part has fewer elements than the largest part, the
    copies of its last element follow behind all of these elements.

    Example:

    ```mlir
    %wider = dataflow.halo %x dim 1 low 1 high 2 lowest over [2:1] : tensor<8x6xf16> -> tensor<8x9xf16>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$dim, I64Attr:$low, I64Attr:$high, UnitAttr:$lowest,
                       Dataflow_GroupAttr:$group, OptionalAttr<Dataflow_UnevenAttr>:$uneven);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `low` $low `high` $high (`lowest` $lowest^)? `over` $group attr-dict `:` type($input) `->` type($result)
  }];
}

// The two ranks run different programs. Two equal operators are two messages, so a memory effect keeps
// common-subexpression elimination from merging them.
class Dataflow_MessageOp<string mnemonic, list<Trait> traits = []>
    : Op<Dataflow_Dialect, mnemonic, !listconcat([
        StaticExtents, DeclareOpInterfaceMethods<CollectiveOpInterface, ["getRankGroup"]>, Kernel<["allowsEpilogue"]>,
        Promise<"CostOpInterface">, Promise<"TilingRulesOpInterface">, MemoryEffects<[MemWrite]>], traits)> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::sluice::dataflow::CollectiveKind $cppClass::getCollectiveKind() {
      return ::sluice::dataflow::CollectiveKind::}] # mnemonic # [{;
    }
    ::sluice::dataflow::GroupAttr $cppClass::getRankGroup() { return {}; }
    bool $cppClass::allowsEpilogue() { return false; }
  }];
}

def SendOp : Dataflow_MessageOp<"send", [Dataflow_InferTypes]> {
  let summary = "Sends a tensor to another rank, which runs a `receive`";
  let description = [{
    The operator ends when rank `peer` has the data. Both ranks must issue their exchanges in
    the same order. The result is a byte without a meaning, because every operator must have a
    result.

    Example:

    ```mlir
    %sent = dataflow.send %x to 1 : tensor<8x6xf32>
    ```
  }];
  let arguments = (ins Dataflow_Tensor:$input, I64Attr:$peer);
  let results = (outs RankedTensorOf<[I8]>:$result);
  let assemblyFormat = "$input `to` $peer attr-dict `:` type($input)";
}

def ReceiveOp : Dataflow_MessageOp<"receive"> {
  let summary = "Receives a tensor from another rank, which runs a `send`";
  let description = [{
    The operator ends when the data of rank `peer` has arrived. The result has the type of
    the tensor that the `send` sends.

    Example:

    ```mlir
    %x = dataflow.receive from 0 : tensor<8x6xf32>
    ```
  }];
  let arguments = (ins I64Attr:$peer);
  let results = (outs Dataflow_Tensor:$result);
  let assemblyFormat = "`from` $peer attr-dict `:` type($result)";
}

#endif // SLUICE_DATAFLOW_COLLECTIVEOPS
