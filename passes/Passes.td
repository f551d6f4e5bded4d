//===- Passes.td - Passes over the dataflow dialect --------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES
#define SLUICE_PASSES

include "mlir/Pass/PassBase.td"

def CarryStatesPass : Pass<"dataflow-carry-states", "::mlir::func::FuncOp"> {
  let summary = "Make inputs states that hold what an output was in the step before";
  let description = [{
    Each line of `states` is `PAST=PRESENT`: the input PAST becomes a `state` of zeros, and
    the output PRESENT its next value. Stars in PAST stand for any text, and those in
    PRESENT for the same. Where the types are equal that is all. Where PRESENT has more
    positions along one dimension, the state has room for as many as there can be, a
    `length`, and an `insert` stores what a step adds; of a `concat` of PAST and more it
    stores only what is new. The dimension of PAST needs a range from 0 on.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"states", "states", "::sluice::OptionText", "\"\"", "pairs of names, a line each">,
  ];
}

def SimplifyPass : Pass<"dataflow-simplify", "::mlir::func::FuncOp"> {
  let summary = "Inference-time simplification: batch norms and scales fold into convolutions, identities go";
  let description = [{
    Batch normalisation becomes a multiply and an add per channel; a multiply by
    a constant per channel after a convolution or a matrix product moves into
    its weights. New weights are constant expressions, evaluated when
    parameters are packed. Batch normalisation by the batch's own statistics
    becomes reductions and a multiply-add. Then canonicalization and common
    subexpressions.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"differentiable", "differentiable", "bool", "false",
           "keep operators whole that have a gradient better than their parts'">,
  ];
}

def FuseAttentionPass : Pass<"dataflow-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Make two products with a softmax between them one kernel";
  let description = [{
    softmax(query * key^T * scale + mask) * value becomes one `attention`, whose scores
    are never written to memory, where nothing else reads them, elements are f32, the
    scale is one constant, and a row's scores fit the kernel's scratch eight times.
    For CPUs: a grid of `attention` computes each score as often as it is read.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def AssignLayoutPass : Pass<"dataflow-assign-layout", "::mlir::func::FuncOp"> {
  let summary = "Channels-last images and packed constant weights, as the CPU kernels want them";
  let description = [{
    Convolutions with constant weights read and write channels-last images; the
    transpositions this needs travel down through operators that commute with
    them (PermutableOpInterface) until they cancel. Constant right-hand sides of
    matrix products are packed in panels. Packing is a constant expression.
    Products of bytes are packed with their columns' sums, for the instructions
    that `dot` names.
    With `conv` = auto, f32 convolutions of 3x3, stride 1 and one group go by Winograd's
    algorithm where estimates by their shapes have it faster, with `winograd` all of them,
    where their error bound is at most `tolerance` over the number of such convolutions.
    Those to fewer output channels than a vector has lanes compute the taps of a kernel's
    row side by side (`shift_add`) where that is faster, unless `conv` = direct.
    These kernels are for CPUs alone.
    With `auto`, the algorithm of a `dataflow.tuning` comes before the estimates, within
    the same tolerance.
    Products of f16 and bf16 by constants, of f32 with `round`, are packed as numbers
    of bf16 for the instructions that `half` names, where these are faster.
    With `dynamic`, convolutions whose weights change (trained ones) are treated
    alike, their weights packed in each step, and transposed convolutions become
    convolutions: where a kernel reaches over its strides, one with a channel for
    each place of a result within a stride, else one of an input with zeros between
    its elements.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
    Option<"dynamic", "dynamic", "bool", "false", "also where weights are not constant">,
    Option<"dot", "dot", "::sluice::OptionText", "\"plain\"",
           "how products of bytes are packed: plain, pairs (pmaddwd), quads (vpdpbusd), tiles (AMX), or none">,
    Option<"conv", "conv", "::sluice::OptionText", "\"direct\"",
           "how convolutions are computed: direct, auto (by other algorithms where they are faster), or winograd">,
    Option<"tolerance", "tolerance", "double", "5e-4", "what the error bounds of Winograd's algorithm add up to at most">,
    Option<"half", "half", "::sluice::OptionText", "\"none\"",
           "how products in half precision are packed: pairs (vdpbf16ps), tiles (AMX), or none">,
    Option<"round", "round", "bool", "false", "round the operands of f32 products to bf16 too">,
    Option<"l2", "l2", "int64_t", "1048576", "bytes of a core's second-level cache">,
  ];
}

def ApplyTuningPass : Pass<"dataflow-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "Put what `sluice tune` measured on matrix products and convolutions";
  let description = [{
    Every `matmul` and `conv` of floats whose key the tuning file knows gets
    `dataflow.tuning`. The key is a hash of the operator, its attributes, its types and
    of which operands are constant, so that one file serves many models. Runs before
    dataflow-assign-layout, which chooses algorithms and panels by it. The file must be of
    this `device` and `origin`, where these are given.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"file", "file", "::sluice::OptionText", "\"\"", "from 'sluice tune'">,
    Option<"device", "device", "::sluice::OptionText", "\"\"", "the device that runs the operators">,
    Option<"origin", "origin", "::sluice::OptionText", "\"\"", "compiler and processor">,
  ];
}

def AskLibrariesPass : Pass<"dataflow-ask-libraries", "::mlir::ModuleOp"> {
  let summary = "Mark the operators that GPUs ask their maker's library for";
  let description = [{
    With the choice `on` these are all that a library has a form for. With `auto` they
    are those where the library was faster by the profile's times of `device`, and where
    not both were measured, those of 2^28 operations and more. Runs before
    dataflow-assign-layout, since a library takes operands that are not packed; the other
    options are those of that pass, by which the profiled kernels were made.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"choice", "choice", "::sluice::OptionText", "\"auto\"", "on or auto">,
    Option<"profile", "profile", "::sluice::OptionText", "\"\"", "measured times, from 'sluice profile'">,
    Option<"device", "device", "::sluice::OptionText", "\"\"", "the device of the profile that runs the operators">,
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
    Option<"dynamic", "dynamic", "bool", "false", "also where weights are not constant">,
    Option<"dot", "dot", "::sluice::OptionText", "\"plain\"",
           "how products of bytes are packed: plain, pairs (pmaddwd), quads (vpdpbusd), tiles (AMX), or none">,
  ];
}

def PartitionPass : Pass<"dataflow-partition", "::mlir::func::FuncOp"> {
  let summary = "From a tiling to the program that every rank runs on its own parts";
  let description = [{
    The tiling is attributes: `dataflow.mesh` of the function, `dataflow.tiling` of
    operators and arguments, `dataflow.rules` of operators; without a mesh nothing
    changes. Operators run on parts (TilingRulesOpInterface), and
    collectives bring tensors from one tiling to another, each once to each.
    Arguments and results stay whole: a rank cuts its parts out of the ones, and
    gathers the others. States are cut. `dataflow.ranks` says how many there are.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def PrunePass : Pass<"dataflow-prune", "::mlir::func::FuncOp"> {
  let summary = "Fully connected layers as independent blocks: changes what they compute";
  let description = [{
    Partition pruning: products with constant weights whose node's name matches
    `layers` keep the weights of `parts` blocks that share no node, chosen to lose as
    little magnitude as can be found. `dataflow.pruned` of the function says what each
    layer has lost. With no parts nothing changes.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"parts", "parts", "int64_t", "0", "blocks of a layer">,
    Option<"layers", "layers", "::sluice::OptionText", "\".*\"", "regular expression of nodes' whole names">,
    Option<"seed", "seed", "uint64_t", "0", "of the search for blocks">,
    Option<"threads", "threads", "int64_t", "1", "of that search, 0: one a core; never changes its result">,
  ];
}

def SplitPass : Pass<"dataflow-split", "::mlir::func::FuncOp"> {
  let summary = "Operators as several, each on a part";
  let description = [{
    An operator with `dataflow.split = #dataflow.split<"rows", 2>` becomes
    that many operators, by one of its rules (TilingRulesOpInterface), and a
    concatenation, or a sum, maximum or minimum. Operands are cut; what is there in
    the same parts already is taken as it is. Rules that need neighbours' elements,
    and those under which each part does all of the work, are refused.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def FusePass : Pass<"dataflow-fuse", "::mlir::func::FuncOp"> {
  let summary = "Groups operators that run as one kernel";
  let description = [{
    Element-wise chains become one loop; element-wise consumers of a contraction
    or reduction become its epilogue, element-wise producers of a reduction its
    prologue. A value is fused only where its one consumer is in the group, so
    nothing is computed twice. Results that are inputs, constants or one value
    twice get a copy, so that every output has an operator that writes it. A next value
    of a state gets one where its operator would overwrite the state before all have read it.
    Products and attention read the leading part of a state that grows where it lies.

    The programs of `dataflow.if` and `dataflow.loop` are fused by themselves. Their
    constants, and what follows from constants alone, move outside and are captured.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def GroupLoopsPass : Pass<"dataflow-group-loops", "::mlir::func::FuncOp"> {
  let summary = "Makes loops that do not depend on each other run at the same time";
  let description = [{
    Loops whose kernels are each too short to be cut gain nothing from threads. Two or more
    of about the same time, none of which follows from another, become one
    `dataflow.concurrent`: as the two directions of a recurrence.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def PlanProgramsPass : Pass<"dataflow-plan-programs", "::mlir::func::FuncOp"> {
  let summary = "Chooses where tensors of the programs of if and loop lie";
  let description = [{
    Each program runs within its operator's kernel. This pass gives its tensors, and its
    operators' workspaces, places in the operator's workspace: attribute `offsets`, with
    one entry for each buffer. Without this pass each buffer has bytes of its own.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def DifferentiatePass : Pass<"dataflow-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Adds the gradient of a result by arguments";
  let description = [{
    Appends to the function's results the gradient of the sum of result
    `result` by each float argument (or by those listed), in order. Applied
    again it differentiates what it added: higher orders.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"result", "result", "unsigned", "0", "the result differentiated">,
    ListOption<"arguments", "arguments", "unsigned", "arguments to differentiate by; none: all that hold floats">,
  ];
}

def TrainPass : Pass<"dataflow-train", "::mlir::func::FuncOp"> {
  let summary = "Turns a model into a training step: loss, gradients, updates";
  let description = [{
    The function gets the loss as its first result in place of the model's own,
    and as further results, with the attribute `dataflow.updates`, the new
    value of every trainable `dataflow.state` that the loss depends on and of
    the optimizer's own states. Losses `softmax-cross-entropy` and `mse` add an
    argument, `labels` or `target`; `output` takes a result that is one number.

    An update follows the last reader of the state it replaces, and the
    gradient it needs: backward and update are one.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"loss", "loss", "::sluice::OptionText", "\"softmax-cross-entropy\"", "softmax-cross-entropy, mse or output">,
    Option<"output", "output", "::sluice::OptionText", "\"\"", "result the loss is taken of; none: the only one">,
    Option<"axis", "axis", "int64_t", "-1",
           "class axis of softmax-cross-entropy; -1: 1 of images (rank 4 and 5), else the last">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "INT64_MIN",
           "label that softmax-cross-entropy leaves out; INT64_MIN: none">,
    Option<"optimizer", "optimizer", "::sluice::OptionText", "\"sgd\"", "sgd, momentum, adam or adamw">,
    Option<"learningRate", "lr", "double", "0.01", "step size">,
    Option<"momentum", "momentum", "double", "0.9", "momentum: share of the last update kept">,
    Option<"nesterov", "nesterov", "bool", "false", "momentum: look ahead">,
    Option<"beta1", "beta1", "double", "0.9", "adam: decay of the mean">,
    Option<"beta2", "beta2", "double", "0.999", "adam: decay of the square">,
    Option<"epsilon", "epsilon", "double", "1e-8", "adam: added to the deviation">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "added to gradients, times the weight (adamw: to updates)">,
    Option<"accumulate", "accumulate", "int64_t", "1", "steps whose mean gradient makes an update">,
  ];
}

#endif // SLUICE_PASSES
