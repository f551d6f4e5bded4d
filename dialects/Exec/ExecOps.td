//===- ExecOps.td - The planned program form ---------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_EXECOPS
#define SLUICE_DIALECTS_EXEC_EXECOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::sluice::exec";
  let summary = "A planned model: arenas, slots, copies, launches and events";
  let description = [{
    The dialect represents a planned model. An `exec.program` declares a machine
    (memories, devices, links and streams) and the interface of the model. It has
    two bodies without branches. `exec.init` loads the data that stays on devices
    between steps. `exec.step` is one step.

    A *slot* is one stay of one tensor in one memory: a range of a memory's
    arena (`exec.slot`), or a home in host memory or a file (`exec.home`). A *command*
    (`exec.launch`, `exec.swap_in`, `exec.swap_out`, `exec.copy`, `exec.read`,
    `exec.write`) reads and writes slots on one stream and yields an event. Commands of one stream run
    in the order in which they are written. Commands of different streams are ordered only
    by `wait`.

    The verifier proves these rules. It uses vector clocks over the streams:

    - C1: a program has at least one memory. Its last step has no bounds and is valid for
      all values of the symbols; other steps have bounds. Each step has at most one init.
      The first memory is the host's. Homes are in it, unless they name a file. A body
      contains slots and commands, which use only values of the same body.
    - C2: a program is a symbol table. Every memory, device, link and stream that an
      operation names is declared exactly once, and the kernel of a launch is a function of
      the program's module. All symbols differ. If a device and its memory have the same
      name in the machine, `called` has this name, which the runtime reports.
    - C3: declarations are consistent. An arena is within the capacity of its memory. The
      first memory is not a file, and no device is in a file. Rates, numbers of threads and
      speeds are positive. The rate of a link in both directions together is between one
      and two times its rate in one direction. Tensors have static shapes.
    - C4: an arena slot starts at a multiple of 64 and ends within its arena.
    - C5: the home of a parameter is within the parameter file. The home of a state, and a
      declared state, are within the state store. The home of an input or output is exactly
      this declared input or output. Only homes of parameters may be in files.
    - C6: at most one command writes a slot. No command writes resident slots, inputs and
      parameters.
    - C7: a command reads only slots that are resident, or that were written by a command
      that happens before it. Their bytes have not been overwritten since.
    - C8: a launch is on a compute or communication stream, and its slots are in the memory
      of that stream's device.
    - C9: a copy moves one tensor over a link that joins the memories of its two slots, and
      at most as many bytes as either slot has. `swap_in` copies from the host's memory and
      `swap_out` to it. A copy is on the in stream of the device to which it copies, on the
      out stream of the device from which it copies, or on a compute stream of either
      device. `read` copies from a file, on a stream for reading files. `write` copies to a
      file, on a stream for writing files. Their other ends are not files.
    - C10: if a command overwrites bytes of other slots, all commands that read or write
      these slots happen before it.
    - C11: the ranges that one command writes are disjoint. A written range may overlap a
      range that the same command reads only if both have the same address (in place).
    - C12: a command waits for commands of other streams only.
    - C13: a step writes every output.
    - C14: init loads every resident arena slot of the step. When the step ends, the
      same place has the same tensor, or the tensor that replaces it.
    - C15: init contains copies only.
    - C16: extents of inputs and outputs that depend on symbols have the same
      `#dataflow.symbols`. Each symbol that is not found at run time is the extent of a
      dimension of an input, or the length of a state. Extents of inputs do not depend
      on symbols that are found at run time. Extents of states are numbers.
    - C17: a step with bounds has one bound for each symbol, which is a value of its
      range. Steps differ in their bounds. A step with bounds has one arena for each
      memory, no larger than the arena that the memory declares. An init with bounds
      belongs to the step that has the same bounds.
    - C18: a program has experts if and only if it has slots for them. It then also has a
      memory of kind file. Different experts are different operators, and experts are in the
      order of their groups and elements.
      The range of an expert starts at a multiple of 4096 and is within the parameter file.
      The slots fit into the host's memory beside its arena. A launch of an expert is on a
      CPU and has the mask among the slots that it reads, with a byte for each element of
      the group.

    If extents depend on symbols, sizes in bytes hold for the upper bounds of the symbols,
    or for the bounds of the step. A tensor starts at the start of its slot, and is dense
    for the actual extents. The first step whose bounds no symbol exceeds runs.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  // On a module: `machine`, `target`, and `objects`, the number of object files that were written. On a function:
  // `plan`, its schedule, and `buckets`, the schedules of its buckets (a list of #exec.bucket; a step uses the first one
  // whose bounds hold). On an input: `fixed`, the value for which the program was compiled, or `range`: the least and
  // the greatest allowed index, and one further allowed index.
  let discardableAttrs = (ins
    "::sluice::exec::MachineAttr":$machine,
    "::sluice::exec::TargetAttr":$target,
    "::mlir::IntegerAttr":$objects,
    "::sluice::exec::PlanAttr":$plan,
    "::mlir::ArrayAttr":$buckets,
    "::mlir::DenseI8ArrayAttr":$fixed,
    "::mlir::Attribute":$range);
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

//===----------------------------------------------------------------------===//
// Types and enumerations
//===----------------------------------------------------------------------===//

class Exec_Type<string name, string typeMnemonic>
    : TypeDef<Exec_Dialect, name>,
      BuildableType<"$_builder.getType<" # name # "Type>()"> {
  let mnemonic = typeMnemonic;
}
def Exec_SlotType : Exec_Type<"Slot", "slot"> {
  let summary = "a range of a memory that holds one tensor";
}
def Exec_EventType : Exec_Type<"Event", "event"> {
  let summary = "the completion of one command";
}

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sluice::exec";
}

// Numbers are those of the Runtime's abi.h.
def Exec_HomeKind : Exec_Enum<"HomeKind", "what backs a home", [
  I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"Input", 2, "input">,
  I32EnumAttrCase<"Output", 3, "output">, I32EnumAttrCase<"State", 4, "state">]>;

def Exec_DeviceKind : Exec_Enum<"DeviceKind", "what runs launches", [
  I32EnumAttrCase<"Cpu", 0, "cpu">, I32EnumAttrCase<"Emulated", 1, "emulated">, I32EnumAttrCase<"Cuda", 2, "cuda">]>;

def Exec_StreamKind : Exec_Enum<"StreamKind", "what a stream carries", [
  I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"In", 1, "in">, I32EnumAttrCase<"Out", 2, "out">,
  I32EnumAttrCase<"Communicate", 3, "communicate">, I32EnumAttrCase<"FileIn", 4, "file_in">,
  I32EnumAttrCase<"FileOut", 5, "file_out">]>;

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

def Exec_SlotOpInterface : OpInterface<"SlotOpInterface"> {
  let cppNamespace = "::sluice::exec";
  let description = "The operation names a range of a memory.";
  let methods = [
    InterfaceMethod<"The slot.", "::mlir::Value", "getSlotValue", (ins), "return $_op.getSlot();">,
    InterfaceMethod<"The tensor in the slot, or null if the slot is workspace.", "::mlir::StringAttr", "getHeldTensor",
                    (ins), "return $_op.getTensorAttr();">,
    InterfaceMethod<"The tensor that this one replaces when the step ends, or null.", "::mlir::StringAttr",
                    "getReplaced", (ins), "return $_op.getReplacesAttr();">,
    InterfaceMethod<"The length of the range in bytes.", "int64_t", "getSlotBytes", (ins),
                    "return static_cast<int64_t>($_op.getBytes());">,
    InterfaceMethod<"Whether the slot has its data before the first command.", "bool", "isInitiallyHeld">,
  ];
}

def Exec_CommandOpInterface : OpInterface<"CommandOpInterface"> {
  let cppNamespace = "::sluice::exec";
  let description = "The operation runs on a stream.";
  let methods = [
    InterfaceMethod<"The stream's symbol.", "::mlir::FlatSymbolRefAttr", "getStreamRef", (ins),
                    "return $_op.getStreamAttr();">,
    InterfaceMethod<"The slots that the command reads.", "::mlir::OperandRange", "getReadSlots">,
    InterfaceMethod<"The slots that the command writes.", "::mlir::OperandRange", "getWrittenSlots">,
    InterfaceMethod<"The events that the command waits for.", "::mlir::OperandRange", "getWaitEvents", (ins),
                    "return $_op.getWaits();">,
    InterfaceMethod<"The event of the end of the command.", "::mlir::Value", "getEventValue", (ins),
                    "return $_op.getEvent();">,
  ];
}

//===----------------------------------------------------------------------===//
// The program and its machine
//===----------------------------------------------------------------------===//

class Exec_Op<string opMnemonic, list<Trait> traits = []> : Op<Exec_Dialect, opMnemonic, traits>;
def InProgram : ParentOneOf<["::sluice::exec::ProgramOp"]>;
def InBody : ParentOneOf<["::sluice::exec::InitOp", "::sluice::exec::StepOp"]>;

def Exec_ProgramOp : Exec_Op<"program", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol, SymbolTable]> {
  let summary = "a planned model";
  let description = [{
    `parameter_bytes` is the size of the parameter file, and `state_bytes` the size of
    the state store. Before the first step, the start of the store is a copy of the
    parameter file from `state_initial` to its end. The other bytes are zero. If several
    ranks run the program, each on its own parts, `sends` has the number of bytes that
    each rank sends to others in a step; -1 stands for ranks that run other programs. `symbols`
    is the `#dataflow.symbols` of its kernels, if the types of inputs and outputs do not have
    them. `slots` is the number of experts (`exec.expert`) that the host's memory holds at a
    time, from step to step and beside its arena. Each slot has room for the largest expert.

    Example:

    ```mlir
    exec.program @mlp parameters 256 state 64 {
      exec.memory @host
      exec.memory @accel0 arena 640 capacity 4096
      exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
      exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 10000 throttle
      exec.stream @accel0.compute compute of @accel0.device
      exec.stream @accel0.in in of @accel0.device
      exec.input "x" : tensor<16xf32>
      exec.output "y" : tensor<16xf32>
      ...
      exec.init { ... }
      exec.step { ... }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$parameter_bytes, I64Attr:$state_bytes,
                       OptionalAttr<I64Attr>:$state_initial, OptionalAttr<DenseI64ArrayAttr>:$sends,
                       OptionalAttr<AnyAttr>:$symbols, OptionalAttr<I64Attr>:$expert_slots);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `parameters` $parameter_bytes `state` $state_bytes (`initially` $state_initial^)? (`sends` $sends^)?
    (`symbols` $symbols^)? (`slots` $expert_slots^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$parameterBytes, "int64_t":$stateBytes)>];
  let extraClassDeclaration = [{
    /// The step without bounds. A verified program has one.
    StepOp getStep();
    /// The init that must run before the step, or null if nothing stays on devices between steps.
    InitOp getInit(StepOp step);
    /// Bytes of a slot for experts, in whole blocks of 4096; 0 without experts.
    int64_t getExpertSlotBytes();
    /// The number of ranks that run the program together.
    int64_t getNumRanks() { return getSends() ? static_cast<int64_t>(getSends()->size()) : 1; }
  }];
}

// Declarations are symbols of the program. A declaration that names others verifies that they are declared and of the
// right kind.
class Exec_Declaration<string opMnemonic, list<Trait> traits = []>
    : Exec_Op<opMnemonic, !listconcat([InProgram, Symbol], traits)>;
defvar NamesSymbols = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

// A declaration whose name the runtime reports.
class Exec_NamedDeclaration<string opMnemonic, list<Trait> traits = []> : Exec_Declaration<opMnemonic, traits> {
  let extraClassDeclaration = [{
    /// The name that the runtime reports: `called`, or else the symbol.
    ::llvm::StringRef getRuntimeName() { return getCalled().value_or(getSymName()); }
  }];
}

def Exec_MemoryOp : Exec_NamedDeclaration<"memory"> {
  let summary = "a memory, and the arena that the plan takes of it";
  let description = [{
    The order of declarations numbers the memories. The first one is the host's. A `file`
    holds parameters and tensors that are written to it; no kernel accesses it.

    Example:

    ```mlir
    exec.memory @accel0 arena 640 capacity 4096
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$called, UnitAttr:$file,
                       DefaultValuedAttr<I64Attr, "0">:$arena, OptionalAttr<I64Attr>:$capacity);
  let assemblyFormat = [{
    $sym_name (`called` $called^)? (`file` $file^)? (`arena` $arena^)? (`capacity` $capacity^)? attr-dict
  }];
}

def Exec_DeviceOp : Exec_NamedDeclaration<"device", [NamesSymbols]> {
  let summary = "a device that runs launches";
  let description = [{
    `threads` is the number of threads that compute. `speed` is a factor of the speed of an
    emulated device. With 0.5, its kernels take twice as long.

    Example:

    ```mlir
    exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$called, Exec_DeviceKind:$kind,
                       FlatSymbolRefAttr:$memory, I64Attr:$threads, F64Attr:$speed);
  let assemblyFormat = "$sym_name (`called` $called^)? $kind `in` $memory `threads` $threads `speed` $speed attr-dict";
}

def Exec_LinkOp : Exec_Declaration<"link", [NamesSymbols]> {
  let summary = "a link between two memories";
  let description = [{
    Rates are in bytes per second. `rate` is for one direction alone, `duplex` for both
    together. `latency` is in nanoseconds. With `throttle`, emulated copies take as
    long as these numbers imply.

    Example:

    ```mlir
    exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 10000 throttle
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$first, FlatSymbolRefAttr:$second, F64Attr:$rate,
                       F64Attr:$duplex, I64Attr:$latency, UnitAttr:$throttle);
  let assemblyFormat = [{
    $sym_name `joins` $first `,` $second `rate` $rate `duplex` $duplex `latency` $latency (`throttle` $throttle^)? attr-dict
  }];
}

def Exec_StreamOp : Exec_Declaration<"stream", [NamesSymbols]> {
  let summary = "a queue of commands of one device";
  let description = [{
    Example:

    ```mlir
    exec.stream @accel0.compute compute of @accel0.device
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_StreamKind:$kind, FlatSymbolRefAttr:$device);
  let assemblyFormat = "$sym_name $kind `of` $device attr-dict";
}

class Exec_PortOp<string opMnemonic> : Exec_Op<opMnemonic, [InProgram]> {
  let description = [{
    The order of declarations gives the number. Elements are dense and row-major. An `i1`
    takes one byte.

    Example:

    ```mlir
    exec.}] # opMnemonic # [{ "}] # !if(!eq(opMnemonic, "input"), "x", "y") # [{" : tensor<16xf32>
    ```
  }];
  let arguments = (ins StrAttr:$tensor, TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$tensor `:` $type attr-dict";
}
def Exec_InputOp : Exec_PortOp<"input"> { let summary = "a tensor that the caller passes in each step"; }
def Exec_OutputOp : Exec_PortOp<"output"> { let summary = "a tensor that the caller receives in each step"; }

def Exec_StateOp : Exec_Op<"state", [InProgram]> {
  let summary = "a tensor that lives across steps, at an offset in the state store";
  let description = [{
    The order of declarations gives the number. The caller may read and write the
    state between steps. `cuts` is present if each rank has a part of the state. It
    lists the dimension, the count and the stride of each cut of the whole. `blocks` has
    a number for each cut: the dimension consists of that many equal blocks, and a rank has
    its part of every block. Without `blocks`, each cut has one block. `length` is present
    if the state grows. It is the `#dataflow.extents` of a `dataflow.state`.

    Example:

    ```mlir
    exec.state "w" at 0 : tensor<16xf32>
    ```
  }];
  let arguments = (ins StrAttr:$tensor, I64Attr:$position, TypeAttrOf<AnyRankedTensor>:$type,
                       OptionalAttr<DenseI64ArrayAttr>:$cuts, OptionalAttr<DenseI64ArrayAttr>:$cut_blocks,
                       OptionalAttr<AnyAttr>:$length);
  let assemblyFormat = [{
    $tensor `at` $position `:` $type (`cuts` $cuts^)? (`blocks` $cut_blocks^)? (`length` $length^)? attr-dict
  }];
}

def Exec_ExpertOp : Exec_Op<"expert", [InProgram]> {
  let summary = "an operator that reads its weights only if the data of a step chooses it";
  let description = [{
    `op` is the name of the operator in launches. Operators of one `group` have the same
    mask: the slot with the number `mask` among those that the launch reads, with one byte
    for each element. The operator is chosen if the byte `element` is not 0. Its weights are
    `bytes` of the parameter file from `at` on. Before the kernel of a chosen expert runs,
    the runtime reads them into one of the program's slots for experts. The kernel then gets
    addresses in this slot for the parameters in this range.

    Example:

    ```mlir
    exec.expert "moe.3" group 0 element 3 mask 2 at 8192 bytes 4096
    ```
  }];
  let arguments = (ins StrAttr:$op, I64Attr:$group, I64Attr:$element, I64Attr:$mask, I64Attr:$position, I64Attr:$bytes);
  let assemblyFormat = [{
    $op `group` $group `element` $element `mask` $mask `at` $position `bytes` $bytes attr-dict
  }];
}

class Exec_BodyOp<string opMnemonic> : Exec_Op<opMnemonic, [InProgram, NoTerminator, SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
}
def Exec_InitOp : Exec_BodyOp<"init"> {
  let summary = "loads the data that stays on devices between steps";
  let description = [{
    An init with `bounds` belongs to the step with the same bounds.

    Example:

    ```mlir
    exec.init {
      %w = exec.home parameter 0 bytes 256 tensor "w"
      %w_0 = exec.slot @accel0 at 0 bytes 256 tensor "w"
      %e = exec.swap_in %w to %w_0 bytes 256 via @bus on @accel0.in
    }
    ```
  }];
  let arguments = (ins OptionalAttr<DenseI64ArrayAttr>:$bounds);
  let assemblyFormat = "(`for` $bounds^)? attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins CArg<"::mlir::DenseI64ArrayAttr", "{}">:$bounds)>];
}
def Exec_StepOp : Exec_BodyOp<"step"> {
  let summary = "one step of the model";
  let description = [{
    A step with `bounds` is for values of the program's symbols up to these bounds. `arenas`
    are the bytes that the step takes of each memory.

    Example:

    ```mlir
    exec.step for [4] arenas [0, 128] {
      %w = exec.slot @accel at 0 bytes 64 tensor "w" resident
      %x = exec.home input 0 bytes 16 tensor "x"
      ...
    }
    exec.step {
      ...
    }
    ```
  }];
  let arguments = (ins OptionalAttr<DenseI64ArrayAttr>:$bounds, OptionalAttr<DenseI64ArrayAttr>:$arenas);
  let assemblyFormat = "(`for` $bounds^ `arenas` $arenas)? attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins CArg<"::mlir::DenseI64ArrayAttr", "{}">:$bounds,
                                 CArg<"::mlir::DenseI64ArrayAttr", "{}">:$arenas)>];
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

class Exec_SlotLikeOp<string opMnemonic, list<Trait> traits = []>
    : Exec_Op<opMnemonic, !listconcat(traits, [InBody, Pure,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
        DeclareOpInterfaceMethods<Exec_SlotOpInterface, ["isInitiallyHeld"]>])> {
  let results = (outs Exec_SlotType:$slot);
}

def Exec_SlotOp : Exec_SlotLikeOp<"slot", [NamesSymbols]> {
  let summary = "a range of a memory's arena";
  let description = [{
    The slot has the bytes `[at, at + bytes)` of the arena. A slot without a tensor is
    workspace. `resident` means that the tensor is in the slot before the first command
    of the step, and again after the last. `replaces` means that the tensor is the new
    value of the named state.

    Example:

    ```mlir
    %w = exec.slot @accel0 at 0 bytes 256 tensor "w" resident
    ...
    %scratch = exec.slot @accel0 at 384 bytes 128
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$memory, I64Attr:$at, I64Attr:$bytes, OptionalAttr<StrAttr>:$tensor,
                       UnitAttr:$resident, OptionalAttr<StrAttr>:$replaces);
  let assemblyFormat = [{
    $memory `at` $at `bytes` $bytes (`tensor` $tensor^)? (`resident` $resident^)? (`replaces` $replaces^)? attr-dict
  }];
}

def Exec_HomeOp : Exec_SlotLikeOp<"home", [NamesSymbols]> {
  let summary = "a tensor's home in host memory or a file";
  let description = [{
    `position` is an offset into the parameter file or the state store, or the number of an
    input or output. Homes of parameters and inputs have their data when the step starts,
    and so has the home of a state if it is `resident`. If `memory` is given, it is a file:
    the parameter is read from the parameter file by copies, and is not mapped.

    Example:

    ```mlir
    %x = exec.home input 0 bytes 64 tensor "x"
    %h = exec.home state 0 bytes 64 tensor "h" resident
    %h_new = exec.home state 0 bytes 64 tensor "h_new" replaces "h"
    %y = exec.home output 0 bytes 64 tensor "y"
    ```
  }];
  let arguments = (ins Exec_HomeKind:$kind, I64Attr:$position, OptionalAttr<FlatSymbolRefAttr>:$memory, I64Attr:$bytes,
                       StrAttr:$tensor, UnitAttr:$resident, OptionalAttr<StrAttr>:$replaces);
  let assemblyFormat = [{
    $kind $position (`in` $memory^)? `bytes` $bytes `tensor` $tensor (`resident` $resident^)? (`replaces` $replaces^)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

class Exec_CommandOp<string opMnemonic, list<Trait> traits = []>
    : Exec_Op<opMnemonic, !listconcat(traits, [InBody, NamesSymbols,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
        DeclareOpInterfaceMethods<Exec_CommandOpInterface, ["getReadSlots", "getWrittenSlots"]>])> {
  let results = (outs Exec_EventType:$event);
}

def Exec_LaunchOp : Exec_CommandOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs an operator's kernel";
  let description = [{
    The kernel is a function of the module of the program. After lowering, its type is
    `i32 (env, args)`. Its arguments are the addresses of `reads`, followed by the addresses
    of `writes`. The last written slot may be workspace.

    Example:

    ```mlir
    %e2 = exec.launch @update "update" reads(%x_0, %h_0) writes(%h_1, %scratch) on @accel0.compute wait(%e1)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$op, Variadic<Exec_SlotType>:$reads,
                       Variadic<Exec_SlotType>:$writes, FlatSymbolRefAttr:$stream, Variadic<Exec_EventType>:$waits);
  let assemblyFormat = [{
    $kernel $op `reads` `(` $reads `)` `writes` `(` $writes `)` `on` $stream (`wait` `(` $waits^ `)`)? attr-dict
  }];
}

class Exec_CopyLikeOp<string opMnemonic> : Exec_CommandOp<opMnemonic> {
  let arguments = (ins Exec_SlotType:$source, Exec_SlotType:$destination, I64Attr:$bytes, FlatSymbolRefAttr:$link,
                       FlatSymbolRefAttr:$stream, Variadic<Exec_EventType>:$waits);
  let assemblyFormat = [{
    $source `to` $destination `bytes` $bytes `via` $link `on` $stream (`wait` `(` $waits^ `)`)? attr-dict
  }];
}
def Exec_SwapInOp : Exec_CopyLikeOp<"swap_in"> {
  let summary = "copies from host memory to the memory of a device";
  let description = [{
    Example:

    ```mlir
    %e0 = exec.swap_in %x to %x_0 bytes 64 via @bus on @accel0.in
    ```
  }];
}
def Exec_SwapOutOp : Exec_CopyLikeOp<"swap_out"> {
  let summary = "copies from the memory of a device to host memory";
  let description = [{
    Example:

    ```mlir
    %e5 = exec.swap_out %y_0 to %y bytes 64 via @bus on @accel0.out wait(%e3)
    ```
  }];
}
def Exec_CopyOp : Exec_CopyLikeOp<"copy"> {
  let summary = "copies between the memories of two devices";
  let description = [{
    Example:

    ```mlir
    %e1 = exec.copy %a to %b bytes 64 via @peer on @accel1.in wait(%e0)
    ```
  }];
}
def Exec_ReadOp : Exec_CopyLikeOp<"read"> {
  let summary = "copies from a file to a memory";
  let description = [{
    Example:

    ```mlir
    %e = exec.read %v to %v_0 bytes 256 via @bus on @in
    ```
  }];
}
def Exec_WriteOp : Exec_CopyLikeOp<"write"> {
  let summary = "copies from a memory to a file";
  let description = [{
    Example:

    ```mlir
    %e1 = exec.write %t to %t_saved bytes 256 via @bus on @out wait(%e0)
    ```
  }];
}

#endif // SLUICE_DIALECTS_EXEC_EXECOPS
