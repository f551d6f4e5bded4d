//===- Passes.td - Passes over the dataflow dialect --------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES
#define SLUICE_PASSES

include "mlir/Pass/PassBase.td"

def CarryStatesPass : Pass<"dataflow-carry-states", "::mlir::func::FuncOp"> {
  let summary = "Turn inputs into states that have the value of an output in the previous step";
  let description = [{
    Each line of `states` is `PAST=PRESENT`. The input PAST becomes a `state` that is zero
    at first, and the output PRESENT becomes its next value. A star in PAST stands for any
    text, and a star in PRESENT for the same text. If PRESENT has more positions than PAST
    along one dimension, the state has room for the largest number of positions and a
    `length`, and an `insert` stores the result of a step. If PRESENT is a `concat` of PAST
    and new positions, the `insert` stores only the new ones. The dimension of PAST needs a
    range from 0 on.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"states", "states", "::sluice::OptionText", "\"\"", "pairs of names, one on each line">,
  ];
}

def SimplifyPass : Pass<"dataflow-simplify", "::mlir::func::FuncOp"> {
  let summary = "Simplify for inference: fold batch normalizations and scales into convolutions, remove identities";
  let description = [{
    Batch normalization becomes a multiplication and an addition for each channel. A
    multiplication by a constant for each channel after a convolution or a matrix product
    is folded into its weights. New weights are constant expressions, which are evaluated
    when parameters are packed. Batch normalization by the statistics of the batch becomes
    reductions and a multiply-add. Canonicalization and elimination of common
    subexpressions follow.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"differentiable", "differentiable", "bool", "false",
           "keep operators whose own gradient is better than the gradient of their parts">,
  ];
}

def ShareWindowsPass : Pass<"dataflow-share-windows", "::mlir::func::FuncOp"> {
  let summary = "Compute the rows that overlapping windows share once";
  let description = [{
    A `concat` of overlapping slices of one tensor is a batch of windows, for example of an
    audio signal. Operators that slide along the signal (SlidingOpInterface: convolutions
    and poolings without padding along it, element-wise operators, transposes) compute on the
    signal instead, and the slices are taken from their results. The starts of all windows must be
    multiples of the strides. The batch of windows is built where an operator does not
    slide, or where another operator needs a result of each window. The pass only changes
    programs in which this saves more work than the slices cost.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def FuseAttentionPass : Pass<"dataflow-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Fuse two products with a softmax between them into one kernel";
  let description = [{
    softmax(query * key^T * scale + mask) * value becomes one `attention`, whose scores
    are never written to memory. The conditions are that nothing else reads the scores,
    elements are f32, the scale is one constant, and the kernel's scratch memory holds the
    scores of eight rows. The pass is for CPUs, because a grid of `attention` computes each
    score as often as it is read.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def AssignLayoutPass : Pass<"dataflow-assign-layout", "::mlir::func::FuncOp"> {
  let summary = "Store images with channels last and pack constant weights, as CPU kernels need them";
  let description = [{
    Convolutions with constant weights read and write channels-last images. The necessary
    transpositions move down through operators that commute with them
    (PermutableOpInterface) until they cancel. Constant right-hand sides of matrix products
    are packed in panels. Packing is a constant expression. Products of bytes are packed
    with the sums of their columns, for the instructions that `dot` names.

    With `conv` = auto, f32 convolutions of 3x3 with stride 1 and one group use Winograd's
    algorithm if estimates say that it is faster. With `winograd` all of them use it. In
    both cases the error bound must be at most `tolerance` divided by the number of such
    convolutions. With `auto`, the algorithm of a `dataflow.tuning` takes precedence over
    estimates, within the same tolerance. Convolutions to fewer output channels than a
    vector has lanes compute the taps of a kernel row side by side (`shift_add`) if that is
    faster, unless `conv` = direct. These kernels are only for CPUs.

    If the elements of a block-quantized weight have at most `rounded-bits` bits, and
    round_blocks rounds the rows of the other operand in the same blocks, the product
    multiplies bytes.

    If `half` names instructions, the constant operands of products of f16 and bf16 are packed
    as bf16 numbers for these instructions, where this is faster. With `round` this includes
    products of f32.

    With `dynamic`, convolutions whose weights change in training are handled in the same
    way, and their weights are packed in each step. Transposed convolutions become
    convolutions. If a kernel has at least as many taps as the stride, the convolution has a
    channel for each position within a stride; otherwise its input has zeros between the
    elements.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
    Option<"dynamic", "dynamic", "bool", "false", "also handle weights that are not constant">,
    Option<"dot", "dot", "::sluice::OptionText", "\"plain\"",
           "how products of bytes are packed: plain, pairs (pmaddwd), quads (vpdpbusd), tiles (AMX), or none">,
    Option<"conv", "conv", "::sluice::OptionText", "\"direct\"",
           "how convolutions are computed: direct, auto (by other algorithms where they are faster), or winograd">,
    Option<"tolerance", "tolerance", "double", "5e-4", "upper limit of the sum of the error bounds of Winograd's algorithm">,
    Option<"half", "half", "::sluice::OptionText", "\"none\"",
           "how products in half precision are packed: pairs (vdpbf16ps), tiles (AMX), or none">,
    Option<"round", "round", "bool", "false", "round the operands of f32 products to bf16 too">,
    Option<"l2", "l2", "int64_t", "1048576", "bytes of a core's second-level cache">,
    Option<"roundedBits", "rounded-bits", "int64_t", "0",
           "largest number of bits of block-quantized weights that are multiplied as bytes by rounded rows: 0, 4 or 8">,
  ];
}

def ApplyTuningPass : Pass<"dataflow-apply-tuning", "::mlir::ModuleOp"> {
  let summary = "Apply measured tunings of `sluice tune` to matrix products and convolutions";
  let description = [{
    Every floating-point `matmul` and `conv` whose key is in the tuning file gets
    `dataflow.tuning`. The key is a hash of the operator, its attributes, its types and the
    set of constant operands, so one file serves many models. The pass runs before
    dataflow-assign-layout, which uses the tuning to choose algorithms and panels. If
    `device` and `origin` are given, they must be those of the file.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"file", "file", "::sluice::OptionText", "\"\"", "from 'sluice tune'">,
    Option<"device", "device", "::sluice::OptionText", "\"\"", "the device that runs the operators">,
    Option<"origin", "origin", "::sluice::OptionText", "\"\"", "compiler and processor">,
  ];
}

def AskLibrariesPass : Pass<"dataflow-ask-libraries", "::mlir::ModuleOp"> {
  let summary = "Mark the operators that the GPU vendor's libraries compute";
  let description = [{
    With the choice `on`, these are all operators that a library supports. With `auto`,
    these are the operators for which the library is faster according to the profile's times
    of `device`. Of the operators that were not measured in both ways, `auto` marks those
    with at least 2^28 operations. The pass runs before dataflow-assign-layout, because
    libraries need operands that are not packed. The other options are options of that pass;
    they must be those with which the profiled kernels were compiled.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"choice", "choice", "::sluice::OptionText", "\"auto\"", "on or auto">,
    Option<"profile", "profile", "::sluice::OptionText", "\"\"", "measured times, from 'sluice profile'">,
    Option<"device", "device", "::sluice::OptionText", "\"\"", "the device of the profile that runs the operators">,
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
    Option<"dynamic", "dynamic", "bool", "false", "also handle weights that are not constant">,
    Option<"dot", "dot", "::sluice::OptionText", "\"plain\"",
           "how products of bytes are packed: plain, pairs (pmaddwd), quads (vpdpbusd), tiles (AMX), or none">,
  ];
}

def PartitionPass : Pass<"dataflow-partition", "::mlir::func::FuncOp"> {
  let summary = "Rewrite a program by its tiling into the program that every rank runs on its own parts";
  let description = [{
    The tiling consists of attributes: `dataflow.mesh` of the function, `dataflow.tiling` of
    operators and arguments, and `dataflow.rules` of operators. Without a mesh nothing
    changes. Operators run on parts (TilingRulesOpInterface). Collectives convert tensors
    from one tiling to another, at most once to each. Arguments and results stay whole: a
    rank cuts its parts out of arguments and gathers results. States are cut.
    `dataflow.ranks` has the number of ranks.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def MarkPositionsPass : Pass<"dataflow-mark-positions", "::mlir::func::FuncOp"> {
  let summary = "Number the operators of a forward pass, for --dataflow-pipeline";
  let description = [{
    `dataflow.position` is the number of each operator in the program. When --dataflow-train
    adds gradients, the operators that compute the gradient of an operator get its position.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def PipelinePass : Pass<"dataflow-pipeline", "::mlir::func::FuncOp"> {
  let summary = "Rewrite a training step into the program of one rank of a pipeline";
  let description = [{
    The function is a training step that --dataflow-train made with accumulate=0 from a
    function whose operators --dataflow-mark-positions numbered. The pass cuts the forward
    pass into `stages` pieces, such that the slowest one is as fast as possible. Operators of
    the backward pass are in the stage of the operator whose gradient they compute, and
    updates are in the first stage that reads the weight.

    The result is the step of rank `rank` of `ranks` ranks, for `microbatches` batches of the
    model. Each argument holds the microbatches, joined along its first dimension.
    The program runs the forward and backward passes of its stages in the order of the
    `schedule`, sends activations and gradients to other ranks (`send`, `receive`), adds up
    the gradients, and updates its weights by their mean. Every rank returns the mean loss.
    `dataflow.ranks` and `dataflow.rank` have the numbers of ranks and of this rank.

    With `group-ranks` above 1, consecutive ranks form groups, and a group runs the same
    stages. All ranks of a group have the same program, except that rank i of a group
    exchanges data with rank i of the other groups. A tiling over the ranks of the group
    divides the program further (--dataflow-partition).
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"rank", "rank", "unsigned", "0", "the rank whose program is made">,
    Option<"ranks", "ranks", "unsigned", "2", "number of ranks">,
    Option<"groupRanks", "group-ranks", "unsigned", "1", "number of ranks that run each stage together">,
    Option<"stages", "stages", "unsigned", "0", "number of stages, a multiple of the groups; 0: one for each group">,
    Option<"microbatches", "microbatches", "unsigned", "4", "number of batches of the model in a step">,
    Option<"schedule", "schedule", "::sluice::OptionText", "\"1f1b\"", "gpipe, 1f1b or interleaved">,
    Option<"flopsPerSec", "flops-per-sec", "double", "1e11", "floating-point operations per second of a rank">,
    Option<"bytesPerSec", "bytes-per-sec", "double", "1e10", "bytes per second that a rank reads and writes">,
    Option<"linkBytesPerSec", "link-bytes-per-sec", "double", "1e10", "bytes per second between two ranks">,
    Option<"linkLatencyNs", "link-latency", "int64_t", "0", "nanoseconds of latency between two ranks">,
  ];
}

def OverlapRequestsPass : Pass<"dataflow-overlap-requests", "::mlir::func::FuncOp"> {
  let summary = "Let a step compute several requests at once, each in another stage of the program";
  let description = [{
    The pass cuts the program into as many stages as `requests` says, such that the slowest
    one is as fast as possible. In a step, the first stage computes for the inputs of this
    step, the second stage for the inputs of the step before, and so on. A value that a later
    stage reads is a state of zeros at first. The outputs of a step are those of the inputs
    of `requests` - 1 steps before. Stages of one step do not depend on each other.

    The operators from the first one that reads a state of the program to the one that
    computes its next value are in one stage. The state keeps its initial value until the
    first request reaches this stage. With fewer than 2 requests nothing changes.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"requests", "requests", "unsigned", "1", "number of requests, and of stages">,
    Option<"flopsPerSec", "flops-per-sec", "double", "1e11", "floating-point operations per second of a device">,
    Option<"bytesPerSec", "bytes-per-sec", "double", "1e10", "bytes per second that a device reads and writes">,
    Option<"linkBytesPerSec", "link-bytes-per-sec", "double", "1e10", "bytes per second between two devices">,
    Option<"linkLatencyNs", "link-latency", "int64_t", "0", "nanoseconds of latency between two devices">,
  ];
}

def PrunePass : Pass<"dataflow-prune", "::mlir::func::FuncOp"> {
  let summary = "Divide fully connected layers into independent blocks, which changes their results";
  let description = [{
    Partition pruning applies to products with constant weights whose node has a name that
    matches `layers`. The inputs and outputs of such a layer are divided into `parts` blocks,
    and only weights within a block are kept. The blocks are chosen such that the lost weights
    have the least magnitude. The attribute `dataflow.pruned` of the function
    has the loss of each layer. With 0 parts nothing changes.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"parts", "parts", "int64_t", "0", "number of blocks of each layer">,
    Option<"layers", "layers", "::sluice::OptionText", "\".*\"", "regular expression of nodes' whole names">,
    Option<"seed", "seed", "uint64_t", "0", "seed of the search for blocks">,
    Option<"threads", "threads", "int64_t", "1", "threads of the search, 0: one for each core; never changes its result">,
  ];
}

def SplitPass : Pass<"dataflow-split", "::mlir::func::FuncOp"> {
  let summary = "Split operators into several, each on a part";
  let description = [{
    An operator with `dataflow.split = #dataflow.split<"rows", 2>` becomes two operators by
    its rule `rows` (TilingRulesOpInterface), followed by a concatenation, a sum, a maximum
    or a minimum. Operands are cut, unless they already exist in the same parts. Rules that
    need elements of neighbours, and rules with which each part does all of the work, are
    refused.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def FusePass : Pass<"dataflow-fuse", "::mlir::func::FuncOp"> {
  let summary = "Group operators that run as one kernel";
  let description = [{
    Element-wise chains become one loop. Element-wise consumers of a contraction or
    reduction become its epilogue, and element-wise producers of a reduction become its
    prologue. A value is fused only if it has a single consumer and this consumer is in the
    group, so nothing is computed twice. A result that is an input, a constant, or returned
    twice gets a copy, so that every output has an operator that writes it. The next value
    of a state gets a copy if its operator would overwrite the state before all other
    operators have read it. Products and attention read the leading part of a growing state
    in place.

    The programs of `dataflow.if` and `dataflow.loop` are fused separately. Their constants,
    and values that follow only from constants, are moved outside and captured.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def GroupLoopsPass : Pass<"dataflow-group-loops", "::mlir::func::FuncOp"> {
  let summary = "Run independent loops at the same time";
  let description = [{
    A loop whose kernels are too short to be divided gains nothing from threads. Two or more
    such loops with about the same time that do not depend on each other become one
    `dataflow.concurrent`. The two directions of a recurrence are an example.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def PlanProgramsPass : Pass<"dataflow-plan-programs", "::mlir::func::FuncOp"> {
  let summary = "Plan the memory of the programs of if and loop";
  let description = [{
    A program runs within its operator's kernel. This pass assigns offsets in the operator's
    workspace to the tensors of the program and to the workspaces of its operators. The
    attribute `offsets` has one entry for each buffer. Without this pass buffers share no
    bytes.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def PoolExpertsPass : Pass<"dataflow-pool-experts", "::mlir::func::FuncOp"> {
  let summary = "Reserve slots in memory for the weights of experts that the data of a step chooses";
  let description = [{
    A group of experts are operators that read their weights only if an element of one mask
    is true, such as the `dataflow.if` of each expert of a layer. The pass marks each expert
    (`dataflow.expert`), lets it capture the whole mask, and gives the function the number of
    slots (`dataflow.expert_slots`). The weights of all groups then stay in the parameter
    file, and the runtime reads the weights of a chosen expert into a slot. Without a group
    nothing changes.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"slots", "slots", "int64_t", "2", "number of slots, each with memory for one expert">,
    Option<"hitRate", "hit-rate", "double", "0.0",
           "share of uses of experts whose weights are in a slot, as the simulator assumes; the compiler gives it">,
  ];
}

def DifferentiatePass : Pass<"dataflow-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Add the gradient of a result with respect to arguments";
  let description = [{
    Appends gradients to the function's results: the derivative of the sum of the elements
    of result `result` by each floating-point argument, or by the listed arguments, in
    order. Applied again, the pass gives derivatives of higher order.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"result", "result", "unsigned", "0", "the result to differentiate">,
    ListOption<"arguments", "arguments", "unsigned", "arguments by which to differentiate; none: all floating-point arguments">,
  ];
}

def TrainPass : Pass<"dataflow-train", "::mlir::func::FuncOp"> {
  let summary = "Turn a model into a training step with loss, gradients and updates";
  let description = [{
    The loss replaces the model's results. Further results, with the attribute
    `dataflow.updates`, are the new values of every trainable `dataflow.state` on which the
    loss depends, and of the optimizer's states. The losses `softmax-cross-entropy` and `mse`
    add an argument `labels` or `target`. The loss `output` uses a result that is a single
    number.

    An update follows the gradient that it needs and the last reader of the state that it
    replaces, so updates are interleaved with the backward pass.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"loss", "loss", "::sluice::OptionText", "\"softmax-cross-entropy\"", "softmax-cross-entropy, mse or output">,
    Option<"output", "output", "::sluice::OptionText", "\"\"", "the result whose loss is computed; none: the only one">,
    Option<"axis", "axis", "int64_t", "-1",
           "class axis of softmax-cross-entropy; -1: 1 for images (rank 4 and 5), otherwise the last">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "INT64_MIN",
           "label that softmax-cross-entropy ignores; INT64_MIN: none">,
    Option<"optimizer", "optimizer", "::sluice::OptionText", "\"sgd\"", "sgd, momentum, adam or adamw">,
    Option<"learningRate", "lr", "double", "0.01", "step size">,
    Option<"momentum", "momentum", "double", "0.9", "momentum: fraction of the last update that is kept">,
    Option<"nesterov", "nesterov", "bool", "false", "momentum: use Nesterov's method">,
    Option<"beta1", "beta1", "double", "0.9", "adam: decay of the mean">,
    Option<"beta2", "beta2", "double", "0.999", "adam: decay of the square">,
    Option<"epsilon", "epsilon", "double", "1e-8", "adam: added to the deviation">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "this times the weight is added to gradients (adamw: to updates)">,
    Option<"accumulate", "accumulate", "int64_t", "1", 
           "number of steps whose mean gradient makes one update; 0: a step computes gradients that are exchanged between "
           "ranks, and begins with the update by their mean">,
  ];
}

#endif // SLUICE_PASSES
