//===- DataflowInterfaces.td - What operators tell passes --*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Passes do not distinguish operators by name: they use these interfaces. Shape inference is
// MLIR's InferTypeOpInterface.
//
// The definition of an operator implements the interfaces about the operator itself (its class,
// its cost, its properties). Interfaces about its use (kernels, gradients, tilings, calls of
// libraries, values on the host) are implemented by external models. Each kind of external model
// has a library of its own, in a folder beside this one.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_INTERFACES
#define SLUICE_DATAFLOW_INTERFACES

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The interface has the cost of one execution, for the cost models and the planner.";
  let methods = [
    InterfaceMethod<"Number of floating-point (or integer) operations.", "int64_t", "getFlops", (ins), "",
      [{ return ::sluice::dataflow::detail::totalElements($_op->getResultTypes()); }]>,
    InterfaceMethod<"Bytes read and written; the default is every operand and result once.",
      "int64_t", "getBytesMoved", (ins), "",
      [{ return ::sluice::dataflow::detail::totalBytes($_op->getOperandTypes()) +
                ::sluice::dataflow::detail::totalBytes($_op->getResultTypes()); }]>,
    InterfaceMethod<"Bytes of scratch memory that the kernel needs.", "int64_t", "getWorkspaceBytes", (ins), "",
      [{ return 0; }]>,
    InterfaceMethod<"Name of the operator's class in Device::efficiency (conv, matmul, elementwise...).",
      "::llvm::StringRef", "getCostClass", (ins), "",
      [{ return $_op->getName().stripDialect(); }]>,
  ];
}

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The interface computes the operator on host data. The importer uses it to fold small
    constants. The linker uses it to evaluate constant expressions when it writes the
    parameters.
  }];
  let methods = [
    InterfaceMethod<[{
        Computes the results. `operands` and `results` are dense and have the operator's static
        types; the memory of the results is allocated. Fails without a message if the data is
        invalid (an index out of range). The operator then stays in the program.}],
      "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::sluice::dataflow::TensorView>":$operands,
           "::llvm::ArrayRef<::sluice::dataflow::MutableTensorView>":$results)>,
    InterfaceMethod<"Like `evaluate`, on one rank of several. The results of most operators do not depend on the rank.",
      "::llvm::LogicalResult", "evaluateOnRank",
      (ins "int64_t":$rank, "::llvm::ArrayRef<::sluice::dataflow::TensorView>":$operands,
           "::llvm::ArrayRef<::sluice::dataflow::MutableTensorView>":$results)>,
  ];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The operator has one result. Element i of the result is a function of element i of each
    operand, with numpy broadcasting. The operator fuses into producers, consumers and
    epilogues.
  }];
}

def EmitScalarOpInterface : OpInterface<"EmitScalarOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The interface emits the kernel of an element-wise operator.";
  let methods = [
    InterfaceMethod<[{
        Emits the operator on values of the compute type: f32 for f16 and bf16, signless
        integers, i1 for bool. The values are all scalars, or all vectors of one length.
        Returns a value of the result's compute type.}],
      "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>,
  ];
}

def ElementalOpInterface : OpInterface<"ElementalOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    Each element of a result can be computed separately from elements of the operands, as in
    movement, gathers and small windows. Such operators fuse into the loops of their
    consumer.
  }];
}

def EmitElementOpInterface : OpInterface<"EmitElementOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The interface emits the kernel of an elemental operator.";
  let methods = [
    InterfaceMethod<[{
        Emits the computation of the element at `indices` of the result. It reads operands only
        through `kernel.element`. Returns a scalar of the compute type.}],
      "::mlir::Value", "emitElement",
      (ins "::sluice::dataflow::KernelEmitter &":$kernel, "::mlir::ValueRange":$indices)>,
    InterfaceMethod<[{
        Whether the kernel computes with the extents of the step, where types have symbols (Extents.h). If it does not,
        it has the extents at the symbols' upper bounds, and types with symbols are refused.}],
      "bool", "takesExtents", (ins), "", [{ return false; }]>,
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The operator has loops of its own, as contractions, reductions, row-wise normalisations
    and scatters have. Element-wise consumers fuse behind it as an epilogue.
  }];
  let methods = [
    InterfaceMethod<"Whether element-wise consumers of result 0 may be fused as an epilogue, which runs in `kernel.store`.",
      "bool", "allowsEpilogue", (ins), "", [{ return $_op->getNumResults() == 1; }]>,
    InterfaceMethod<"Whether the kernel reads operand `index` only through `kernel.element`, so that an element-wise producer may be fused.",
      "bool", "allowsPrologue", (ins "unsigned":$index), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether operand `index` may be a slice that starts at the first element and is taken in the same kernel. The
        kernel then reads the sliced tensor in place (slicedTensor in Dataflow.h).}],
      "bool", "readsSlice", (ins "unsigned":$index), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether operand `index` and result 0 may share their memory: the kernel never reads an element of the operand
        after it has stored the element of the result at the same place.}],
      "bool", "updatesOperand", (ins "unsigned":$index), "", [{ return false; }]>,
  ];
}

def EmitKernelOpInterface : OpInterface<"EmitKernelOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The interface emits the kernel of an operator with loops of its own.";
  let methods = [
    InterfaceMethod<[{
        Emits the whole kernel. It reads operands through `kernel`, and passes every element of
        every result to `kernel.store` exactly once.}],
      "void", "emitKernel", (ins "::sluice::dataflow::KernelEmitter &":$kernel)>,
    InterfaceMethod<[{
        Fails, after an error on the operator, if there is no kernel of this style
        for this target, for example because a weight is packed for longer vectors.}],
      "::llvm::LogicalResult", "checkKernel",
      (ins "const ::sluice::emit::VectorTarget &":$target, "const ::sluice::dataflow::KernelStyle &":$style), "",
      [{ return ::llvm::success(); }]>,
    InterfaceMethod<[{
        Whether the kernel computes with the extents of the step, where types have symbols (Extents.h). If it does not,
        it has the extents at the symbols' upper bounds, and types with symbols are refused.}],
      "bool", "takesExtents", (ins), "", [{ return false; }]>,
  ];
}

def ProgramsOpInterface : OpInterface<"ProgramsOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The operator has regions that are programs. The operators of a program run one after the
    other, or all at once, within the kernel and in its workspace (ProgramMemory.h). The
    operator has operands `captured` and an attribute `offsets`.
  }];
  let methods = [
    InterfaceMethod<"Makes a value an operand that all programs see, as their last argument.",
      "void", "capture", (ins "::mlir::Value":$value), "", [{
        $_op.getCapturedMutable().append(value);
        for (::mlir::Region &region : $_op->getRegions())
          region.addArgument(value.getType(), value.getLoc());
      }]>,
    InterfaceMethod<[{
        For each value that `program` yields, its memory: the number of the argument whose memory
        the value takes, kFreshMemory, or kNoMemory if the operator itself reads the value.}],
      "::llvm::SmallVector<int64_t>", "getYieldPlaces", (ins "::mlir::Block &":$program), "",
      [{ return ::llvm::SmallVector<int64_t>($_op->getNumResults(), ProgramsOpInterface::kFreshMemory); }]>,
    InterfaceMethod<"Bytes that the operator itself keeps in the workspace while `program` runs.",
      "int64_t", "getOwnBytes", (ins "::mlir::Block &":$program), "", [{ return 0; }]>,
    InterfaceMethod<[{
        The operand, one i1, that must be true for the operator to read operand number `operand`;
        null if the operator may read that operand in any case.}],
      "::mlir::Value", "getGuard", (ins "unsigned":$operand), "", [{ return {}; }]>,
    InterfaceMethod<"Whether the operators of a program run at the same time.", "bool", "areConcurrent", (ins), "",
      [{ return false; }]>,
    InterfaceMethod<"The offsets of the buffers of all programs, one program after the other; empty if they are not assigned yet.",
      "::llvm::ArrayRef<int64_t>", "getBufferOffsets", (ins), "",
      [{ return $_op.getOffsets().value_or(::llvm::ArrayRef<int64_t>()); }]>,
    InterfaceMethod<"Sets these offsets.", "void", "setBufferOffsets", (ins "::llvm::ArrayRef<int64_t>":$offsets), "",
      [{ $_op.setOffsets(offsets); }]>,
  ];
  let extraClassDeclaration = [{
    static constexpr int64_t kFreshMemory = -1, kNoMemory = -2;
  }];
}

def LibraryOpInterface : OpInterface<"LibraryOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The operator has a `library` attribute. If it is present, GPUs first ask a library of
    their vendor, and otherwise run the operator's own loops.
  }];
  let verify = [{ return ::sluice::dataflow::detail::verifyLibrary($_op); }];
  let methods = [
    InterfaceMethod<"Bytes of scratch memory for a library; empty if no library is used.",
      "::std::optional<uint64_t>", "getLibrary", (ins)>,
    InterfaceMethod<"Sets these bytes.", "void", "setLibrary", (ins "::std::optional<uint64_t>":$bytes)>,
  ];
}

def LibraryCallOpInterface : OpInterface<"LibraryCallOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The interface describes the computation of an operator to libraries.";
  let methods = [
    InterfaceMethod<"Describes the computation in `call`; fails if libraries do not support these operands.",
      "::llvm::LogicalResult", "describeLibraryCall",
      (ins "::sluice::dataflow::MatmulPrecision":$precision, "::sluice::dataflow::LibraryCall &":$call)>,
  ];
}

def TunableOpInterface : OpInterface<"TunableOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The operator has a kernel for CPUs whose tiles and blocks `dataflow.tuning` determines.";
  let methods = [
    InterfaceMethod<"Whether the operands and types have such a kernel. Call it before layouts are assigned.",
      "bool", "isTunable", (ins)>,
    InterfaceMethod<"Whether a tuning may name the algorithm.",
      "bool", "allowsTunedAlgorithm", (ins), "", [{ return false; }]>,
  ];
}

def TuningSpaceOpInterface : OpInterface<"TuningSpaceOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = "The interface has the parameters of the kernel that can be tuned.";
  let methods = [
    InterfaceMethod<[{
        Sets the extents of the kernel's loops, the fields of a tuning that the kernel has, and
        the compiler's own choice for the target. The operator must be isTunable.}],
      "void", "describeTuningSpace",
      (ins "const ::sluice::emit::VectorTarget &":$target, "::sluice::TunableKernel &":$kernel)>,
  ];
}

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    All ranks of a group run the operator together. Its kernel is one call of the runtime.
    Every rank issues its collectives in the same order, so all operators that exchange data
    run on one stream. A message between two ranks is a collective of these two, which run
    different programs.
  }];
  let methods = [
    InterfaceMethod<"The kind of collective, as in services.h.", "::sluice::dataflow::CollectiveKind", "getCollectiveKind", (ins)>,
    InterfaceMethod<"The group of ranks that exchange data; null for a message between two ranks.", "::sluice::dataflow::GroupAttr", "getRankGroup", (ins), "",
      [{ return $_op.getGroup(); }]>,
  ];
}

def PermutableOpInterface : OpInterface<"PermutableOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The operator commutes with a transposition of its operands. Layout changes move through
    a graph across such operators.
  }];
  let methods = [
    InterfaceMethod<"Whether operand `index` takes part in the transposition; other operands stay as they are.",
      "bool", "isPermutedOperand", (ins "unsigned":$index), "", [{ return true; }]>,
    InterfaceMethod<[{
        Builds this operator on transposed operands: dimension i of an operand is dimension
        `permutation[i]` of the original operand. Dimension i of each result is then dimension
        `permutation[i]` of the original result. Fails if the operator does not commute with
        this transposition.}],
      "::llvm::FailureOr<::mlir::Operation *>", "permute",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<int64_t>":$permutation,
           "::mlir::ValueRange":$operands)>,
  ];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The interface builds the vector-Jacobian product of an operator, for reverse-mode
    differentiation. Gradients consist of dataflow operators. They are planned, fused and
    differentiated again like any others.
  }];
  let methods = [
    InterfaceMethod<[{
        `results[i]` is the gradient of the loss by result i, in the type of the result; null if
        no gradient flows through this result. If `wanted[i]` is true, sets `operands[i]` to the
        gradient by operand i, in the type of the operand, or leaves it null if the gradient is
        zero everywhere. Only floating-point operands are wanted. There is no gradient if `build`
        gives a null value, or if the method fails after an error on this operator.}],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::sluice::dataflow::TensorBuilder &":$build, "::llvm::ArrayRef<::mlir::Value>":$results,
           "::llvm::ArrayRef<bool>":$wanted, "::llvm::MutableArrayRef<::mlir::Value>":$operands)>,
  ];
}

def TilingRulesOpInterface : OpInterface<"TilingRulesOpInterface"> {
  let cppNamespace = "::sluice::dataflow";
  let description = [{
    The interface has the rules by which the operator runs on parts of its tensors.
    Element-wise operators do not need it. Other operators without it run on whole tensors
    only (Tiling.h).
  }];
  let methods = [
    InterfaceMethod<"The rules of the operator, without the rule that replicates everything.",
      "::std::vector<::sluice::TilingRule>", "getTilingRules", (ins)>,
    InterfaceMethod<[{
        The rule that splits dimension `dim` of one tensor in `blocks` blocks. `slot` is the index
        of an operand, or the number of operands plus the index of a result. Only rules that split
        another tensor in another number of blocks are returned; rules with the same number for all
        tensors follow from getTilingRules. Empty if there is no such rule.}],
      "::std::optional<::sluice::TilingRule>", "getStridedRule",
      (ins "unsigned":$slot, "int64_t":$dim, "uint32_t":$blocks), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Builds the operators that compute the results of one part, from the parts of the operands
        with their halos. The default builds the operator itself for the shapes of the parts.
        Empty if this fails; `build.message()` then has the reason.}],
      "::llvm::SmallVector<::mlir::Value>", "buildPart",
      (ins "::sluice::dataflow::TensorBuilder &":$build, "::llvm::ArrayRef<::sluice::dataflow::PartRule>":$rules,
           "::mlir::ValueRange":$operands), "",
      [{ return ::sluice::dataflow::detail::buildSamePart($_op, build, rules, operands); }]>,
  ];
}

#endif // SLUICE_DATAFLOW_INTERFACES
