//===- Passes.td - From a planned function to a program ----*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_DATAFLOWTOEXEC_PASSES
#define SLUICE_PASSES_DATAFLOWTOEXEC_PASSES

include "mlir/Pass/PassBase.td"

def AttachMachinePass : Pass<"exec-attach-machine", "::mlir::ModuleOp"> {
  let summary = "Put a machine on the module, as the attribute exec.machine";
  let description = [{
    The machine is a preset or a machine file, as in `sluice --machine`. With several
    ranks, the attribute is one rank's part of this machine.
  }];
  let dependentDialects = ["::sluice::exec::ExecDialect"];
  let options = [
    Option<"machine", "machine", "::sluice::OptionText", "\"host\"", "a preset's name, or the path of a machine file">,
    Option<"ranks", "ranks", "int64_t", "1", "number of ranks that share the machine">,
  ];
}

def ApplyPlanPass : Pass<"dataflow-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Put a plan file's decisions on the IR, as attributes";
  let description = [{
    The plan is a file that `sluice plan -o` or `sluice compile` wrote for the same program.
    Its operators and tensors are found by their names. Each phase applies a part of the
    decisions:

    - `tiling`: the function gets `dataflow.mesh`, its tensors `dataflow.tiling` and its
      operators `dataflow.rules`. The file is the partition that `sluice plan --devices -o`
      or `sluice compile --devices` wrote, and not a plan;
    - `partition`: operators that are split into several get `dataflow.split`;
    - `place`: operators get `dataflow.device`, which has their device and the form of
      their kernels. The form follows from the module's `exec.machine` and `exec.target`;
    - `schedule`: operators get `dataflow.order`, the position of their first launch,
      and the function gets `exec.plan`: arenas, streams, slots and commands. If `bucket`
      has bounds (a value for each symbol), the plan is for the bucket with these bounds. It
      is then appended to the list `exec.buckets` of the function, and the operators keep
      their order.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect", "::sluice::exec::ExecDialect"];
  let options = [
    Option<"planFile", "plan", "::sluice::OptionText", "\"\"", "the plan file, or the partition">,
    Option<"phase", "phase", "::sluice::OptionText", "\"schedule\"", "the decisions to apply: tiling, partition, place or schedule">,
    Option<"bucket", "bucket", "::sluice::OptionText", "\"\"", "with phase=schedule, the bounds that the plan is for: a value for each symbol, as in 16x512">,
  ];
}

def DataflowToExecPass : Pass<"dataflow-to-exec", "::mlir::ModuleOp"> {
  let summary = "Turn a planned function into an exec.program and outlined operators";
  let description = [{
    The function's attribute `exec.plan` and the module's `exec.machine` become an
    `exec.program` with arenas, slots, launches, copies and events. Each entry of
    `exec.buckets` becomes a further step. Parameters get their offsets in the parameter
    file. Each distinct operator is outlined once, as a function with the attribute
    `dataflow.kernel`. The arguments of this function are the tensors that a launch reads,
    and its results are the tensors that a launch writes.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect", "::sluice::exec::ExecDialect"];
  let options = [
    Option<"name", "name", "::sluice::OptionText", "\"model\"", "the program's name">,
  ];
}

#endif // SLUICE_PASSES_DATAFLOWTOEXEC_PASSES
