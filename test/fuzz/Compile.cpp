//===- Compile.cpp - A file through every phase to code -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/fuzz/Compile.h"
#include "test/fuzz/Contexts.h"
#include "test/fuzz/Sizes.h"

#include "sluice/Codegen/ObjectEmission.h"
#include "sluice/Compiler/Phases.h"

#include "llvm/ADT/Hashing.h"

#include <cstdio>
#include <cstdlib>

using namespace mlir;

namespace sluice::fuzz {

CompilerOptions optionsOf(uint64_t number) {
  CompilerOptions options;
  options.searchTimeNs = 0;
  options.searchEvaluations = 1;
  options.threads = 1;
  options.leastGain = 0;
  // A fixed processor: a finding must repeat on another machine.
  options.target = "x86-64-v3";
  switch (number % 8) {
  case 0:
  case 1:
    break;
  case 2:
    options.machine = "emulated";
    options.memory = {"accel0=0%"};
    break;
  case 3:
    options.machine = "emulated";
    options.target = "x86-64-v3,cuda:emulated";
    break;
  case 4:
    options.machine = "emulated:2";
    options.splitOperators = true;
    break;
  case 5:
    options.training = TrainingOptions();
    options.training->loss = "output";
    break;
  case 6:
    options.training = TrainingOptions();
    options.training->loss = "mse";
    options.training->optimizer = "adam";
    break;
  default:
    options.machine = "emulated:2";
    options.devices = 2;
  }
  return options;
}

void abortOnBug(const Error &error) {
  if (error.code != ErrorCode::Internal)
    return;
  std::fprintf(stderr, "ERROR: a bug of Sluice: %s\n", error.message.c_str());
  std::abort();
}

/// Counters that libFuzzer reads like those of code (its section of this name): which operators, of which element
/// types, a phase has seen, and which errors. Code generation is driven by data, so that code coverage says little of
/// it.
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t seen[size_t(1) << 15];

static void markSeen(Phase phase, llvm::hash_code what) {
  seen[llvm::hash_combine(static_cast<unsigned>(phase), what) % std::size(seen)] = 1;
}

static void markSeen(Phase phase, ModuleOp module) {
  module.walk([&](Operation *op) {
    const llvm::hash_code name = llvm::hash_value(op->getName().getStringRef());
    markSeen(phase, name);
    for (const Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        markSeen(phase, llvm::hash_combine(name, tensor.getElementType().getTypeID(), tensor.getRank()));
    for (const NamedAttribute attribute : op->getAttrs())
      markSeen(phase, llvm::hash_combine(name, attribute.getName().getValue()));
  });
}

static Status compile(const std::string &path, const CompilerOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Imported imported, importProgram(path, options, nextContext(makeContext)));
  if (!isSmall(*imported.module))
    return {};
  markSeen(Phase::Import, *imported.module);
  const TargetSpec target = imported.origin->target;
  SLUICE_ASSIGN_OR_RETURN(Simplified simplified, simplify(std::move(imported), options));
  SLUICE_ASSIGN_OR_RETURN(Simplified differentiated, differentiate(std::move(simplified), options));
  markSeen(Phase::Differentiate, *differentiated.module);
  SLUICE_ASSIGN_OR_RETURN(Partitioned partitioned, partition(std::move(differentiated), options));
  SLUICE_ASSIGN_OR_RETURN(Fused fused, fuse(std::move(partitioned), options));
  markSeen(Phase::Fuse, *fused.module);
  auto shared = std::make_shared<const Fused>(std::move(fused));
  SLUICE_ASSIGN_OR_RETURN(Planned planned, plan(std::move(shared), options));
  SLUICE_ASSIGN_OR_RETURN(Program program, place(std::make_shared<const Planned>(std::move(planned)), options));
  SLUICE_RETURN_IF_ERROR(schedule(program));
  SLUICE_RETURN_IF_ERROR(buildProgram(program, options));
  markSeen(Phase::Exec, *program.module);
  SLUICE_RETURN_IF_ERROR(lowerProgram(program, options));
  Pipeline passes;
  passes.onModule("exec-to-llvm", {{"compiler", "fuzz"}, {"cpu-features", target.required}, {"parameter-hash", "0"}});
  SLUICE_RETURN_IF_ERROR(program.run(passes));
  EmissionParams params;
  params.optLevel = 0;
  params.parts = 1;
  params.threads = 1;
  Expected<std::vector<std::string>> objects = emitObjects(*program.module, target, params);
  markSeen(Phase::Codegen, llvm::hash_value(objects.has_value()));
  return objects ? Status() : propagate(objects);
}

Status compileToObjects(const std::string &path, const CompilerOptions &options) {
  Status compiled = compile(path, options);
  // The first words say what is wrong; later ones quote the input.
  constexpr size_t kWords = 24;
  if (!compiled)
    markSeen(Phase::Link, llvm::hash_value(StringRef(compiled.error().message).take_front(kWords)));
  return compiled;
}

} // namespace sluice::fuzz
