//===- ExecAttrs.td - Machine, target and plan as attributes -*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_EXECATTRS
#define SLUICE_DIALECTS_EXEC_EXECATTRS

include "dialects/Exec/ExecOps.td"

class Exec_Attr<string name, string attrMnemonic> : AttrDef<Exec_Dialect, name> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
}

//===----------------------------------------------------------------------===//
// The machine: `exec.machine` of a module
//===----------------------------------------------------------------------===//

def Exec_MemoryAttr : Exec_Attr<"Memory", "memory"> {
  let summary = "A memory or a file, and the bytes that an arena may take of it";
  let parameters = (ins StringRefParameter<>:$name, DefaultValuedParameter<"int64_t", "INT64_MAX">:$capacity,
                        DefaultValuedParameter<"bool", "false">:$file);
}

def Exec_DeviceAttr : Exec_Attr<"Device", "device"> {
  let summary = "A device, and the memory in which its operators read and write";
  let parameters = (ins StringRefParameter<>:$name, EnumParameter<Exec_DeviceKind>:$kind, StringRefParameter<>:$memory,
                        "int64_t":$threads, "::mlir::FloatAttr":$speed);
}

def Exec_LinkAttr : Exec_Attr<"Link", "link"> {
  let summary = "A link between two memories";
  let description = [{
    Rates are in bytes per second. `rate` is for one direction alone, `duplex` for both
    together. `latency` is in nanoseconds.
  }];
  let parameters = (ins StringRefParameter<>:$first, StringRefParameter<>:$second, "::mlir::FloatAttr":$rate,
                        "::mlir::FloatAttr":$duplex, "int64_t":$latency,
                        DefaultValuedParameter<"bool", "false">:$throttle);
}

def Exec_MachineAttr : Exec_Attr<"Machine", "machine"> {
  let summary = "The memories, devices and links that a program for this machine declares";
  let description = [{
    The first memory is the host's. The attribute has no rates that only a planner needs.

    ```mlir
    #exec.machine<memories = [#exec.memory<name = "host">],
                  devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 8, speed = 1.0 : f64>],
                  links = []>
    ```
  }];
  let parameters = (ins "::mlir::ArrayAttr":$memories, "::mlir::ArrayAttr":$devices, "::mlir::ArrayAttr":$links);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// The target: `exec.target` of a module
//===----------------------------------------------------------------------===//

def Exec_TargetAttr : Exec_Attr<"Target", "target"> {
  let summary = "The CPU for which code is generated, and GPUs in addition";
  let description = [{
    `cpu`, `features` and `tune` are names of LLVM. `required` has the CPU features that
    the manifest requires of the host. `architectures` are those of GPUs in ascending order
    (80: sm_80). With `emulated`, emulated accelerators run the grids for GPUs. `l2_bytes`
    is the size of the second-level cache of a core, from which kernels choose their blocks.
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$triple, StringRefParameter<>:$cpu,
                        StringRefParameter<>:$features, StringRefParameter<>:$tune, StringRefParameter<>:$required,
                        "int64_t":$vector_bits, "int64_t":$registers, "::mlir::DenseI64ArrayAttr":$architectures,
                        DefaultValuedParameter<"bool", "false">:$emulated,
                        DefaultValuedParameter<"int64_t", "1048576">:$l2_bytes);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// The plan: `exec.plan` of a function
//===----------------------------------------------------------------------===//

def Exec_StreamAttr : Exec_Attr<"Stream", "stream"> {
  let summary = "A queue of commands of one device";
  let parameters = (ins StringRefParameter<>:$device, EnumParameter<Exec_StreamKind>:$kind);
}

def Exec_SlotAttr : Exec_Attr<"Slot", "slot"> {
  let summary = "One stay of one tensor in one memory";
  let description = [{
    A slot without a tensor is workspace. A slot without an offset is the home of the
    tensor. Other slots are `[offset, offset + bytes)` of the arena of the memory.
    `resident` means that the data is in the slot before the first command of the step.
  }];
  let parameters = (ins StringRefParameter<"", [{""}]>:$tensor, StringRefParameter<>:$memory,
                        DefaultValuedParameter<"int64_t", "-1">:$offset, "int64_t":$bytes,
                        DefaultValuedParameter<"bool", "false">:$resident);
  let extraClassDeclaration = "bool isHome() const { return getOffset() < 0; }";
}

def Exec_LaunchAttr : Exec_Attr<"Launch", "launch"> {
  let summary = "A command that runs an operator";
  let description = [{
    Slots are numbers in the list of the plan. `reads` has the order of the operator's
    inputs. `writes` has the order of its results, followed by its workspace. `waits` are
    numbers of earlier commands.
  }];
  let parameters = (ins StringRefParameter<>:$op, "int64_t":$stream, "::mlir::DenseI64ArrayAttr":$reads,
                        "::mlir::DenseI64ArrayAttr":$writes, "::mlir::DenseI64ArrayAttr":$waits);
}

def Exec_CopyAttr : Exec_Attr<"Copy", "copy"> {
  let summary = "A command that copies a tensor from one slot to another over a link";
  let parameters = (ins "int64_t":$from, "int64_t":$to, "int64_t":$link, "int64_t":$stream,
                        "::mlir::DenseI64ArrayAttr":$waits);
}

def Exec_PlanAttr : Exec_Attr<"Plan", "plan"> {
  let summary = "The schedule of a function: arenas, streams, slots, and commands in issue order";
  let description = [{
    `arenas` has the number of bytes in each memory of the machine. Commands of one stream
    run in the order of the list. Only `waits` orders commands of different streams.
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$arenas, "::mlir::ArrayAttr":$streams, "::mlir::ArrayAttr":$slots,
                        "::mlir::ArrayAttr":$commands);
  let genVerifyDecl = 1;
}

def Exec_BucketAttr : Exec_Attr<"Bucket", "bucket"> {
  let summary = "The schedule of a function for steps in which no symbol exceeds its bound";
  let description = [{
    `bounds` has a number for each symbol of the function's extents, which is at most the
    upper bound of the symbol. Bytes and offsets of the plan hold for the extents at these
    bounds.
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$bounds, "::sluice::exec::PlanAttr":$plan);
}

#endif // SLUICE_DIALECTS_EXEC_EXECATTRS
