//===- ImportPhase.cpp - From a file to the dataflow dialect --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FileTierOptions.h"
#include "ImportedProgram.h"
#include "ModuleFile.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/Models.h"
#include "dialects/Exec/Exec.h"
#include "lib/Runtime/HostLibraries.h"
#include "passes/Gradients.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Onnx/Compose.h"
#include "sluice/Onnx/Import.h"

using namespace mlir;

namespace sluice {

/// The file's stem; its folder's name where the stem is only "model".
static std::string nameOf(std::string_view path) {
  auto takeLast = [&] {
    size_t slash = path.find_last_of('/');
    std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
    path = slash == std::string_view::npos ? "" : path.substr(0, slash);
    return last;
  };
  std::string_view file = takeLast();
  std::string_view stem = file.substr(0, file.find_last_of('.'));
  if (stem != "model")
    return std::string(stem);
  std::string_view folder = takeLast();
  return std::string(folder.empty() || folder == "." || folder == ".." ? stem : folder);
}

/// Every GPU target has a device, and every GPU a target: those of the presets where
/// none is named.
static Status checkTarget(TargetSpec &target, const Machine &machine, const CompilerOptions &options) {
  auto has = [&](DeviceKind kind) {
    return llvm::any_of(machine.devices, [&](const Device &device) { return device.kind == kind; });
  };
  if (!target.architectures.empty() && !has(DeviceKind::Cuda))
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name, "' has no device for target 'cuda:sm_",
                     target.architectures.front(), "', option '--machine', give a machine with a GPU");
  if (target.emulatesGrids && !has(DeviceKind::Emulated) && !has(DeviceKind::Cuda))
    return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                     "' has no device for target 'cuda:emulated', option '--machine', give --machine emulated");
  if (target.architectures.empty() && has(DeviceKind::Cuda))
    target.architectures = {70, 80, 90};
  if (options.matmulPrecision == dataflow::MatmulPrecision::F32)
    return {};
  auto fail = [&](const std::string &what, const auto &...advice) {
    return makeError(ErrorCode::InvalidInput, what, ", option '--matmul-precision ",
                     matmulPrecisionName(options.matmulPrecision), "', ", advice...);
  };
  constexpr unsigned kTensorCores = 80;
  if (target.architectures.empty() && !target.emulatesGrids &&
      options.matmulPrecision == dataflow::MatmulPrecision::BF16) {
    if (target.halfProducts == "none")
      return fail(concat("target '", target.name, "' has no instructions that multiply bf16"),
                  "give cpu:native on a CPU with AVX512-BF16 or leave the option out");
    return {};
  }
  if (target.architectures.empty() && !target.emulatesGrids)
    return fail(concat("machine '", machine.name, "' has no GPU that could compute with this precision"),
                "give a machine with a GPU or leave the option out");
  if (!target.architectures.empty() && target.architectures.back() < kTensorCores)
    return fail("no target has tensor cores for this precision", "give --target cuda:sm_", kTensorCores, " or newer");
  return {};
}

static ImportOptions importOptions(const CompilerOptions &options, const Origin &origin) {
  ImportOptions importing;
  const bool hasGrids = llvm::any_of(origin.described.computeDevices(), [&](DeviceId id) {
    return runsGrids(origin.described.device(id).kind, origin.target);
  });
  // Devices that run grids run no loops and find no extents, and a loop is not cut among ranks. With ranges, how often
  // a loop runs may differ from step to step: both are then left to a CPU that computes beside those devices.
  importing.unrollsLoops = options.unrollsLoops || options.devices > 1 || (hasGrids && options.dims.ranges.empty());
  importing.hasGrids = hasGrids;
  importing.findsExtents = !importing.unrollsLoops && !options.training;
  importing.bounds = options.bounds;
  importing.dims = options.dims;
  importing.fixedInputs = options.fixedInputs;
  importing.maxIterations = options.maxIterations;
  importing.buildGradient = [](OpBuilder &builder, Value root, Value seed,
                               ArrayRef<Value> wrt) -> FailureOr<SmallVector<Value>> {
    SmallVector<Value> gradients(wrt.size());
    if (failed(buildGradients(builder, root, seed, wrt, [&](size_t i, Value gradient) { gradients[i] = gradient; })))
      return failure();
    return gradients;
  };
  if (const std::optional<TrainingOptions> &training = options.training)
    importing.training = TrainingImport{training->trainable, training->seed};
  return importing;
}

/// Refuses regular expressions that RE2 refuses. Where libsluice_regex is not installed, the first step does.
static Status checkExpressions(ModuleOp module) {
  std::string wrong;
  module.walk([&](dataflow::StringMatchOp op) {
    const runtime::Result<const runtime::RegexLibrary *> library = runtime::regexLibrary();
    if (!library)
      return WalkResult::interrupt();
    char error[256] = "";
    const StringRef pattern = op.getPattern();
    void *regex = (*library)->compile(pattern.data(), static_cast<int64_t>(pattern.size()), error, sizeof error);
    if (!regex) {
      constexpr size_t kMost = 80;
      wrong = ("regular expression '" + pattern.take_front(kMost) + (pattern.size() > kMost ? "...' " : "' ")).str();
      if (auto name = dyn_cast<NameLoc>(op.getLoc()))
        wrong += ("of node '" + name.getName().getValue() + "' ").str();
      wrong += "is invalid (RE2 reports \"" + std::string(error) + "\"), correct the model";
      return WalkResult::interrupt();
    }
    (*library)->release(regex);
    return WalkResult::advance();
  });
  return wrong.empty() ? Status() : makeError(ErrorCode::InvalidInput, wrong);
}

static Status checkRequests(const CompilerOptions &options) {
  if (options.requests > 1 && options.package.linksRuntime())
    return makeError(ErrorCode::Unsupported, "a program reads the inputs of one request, and steps compute for ",
                     options.requests,
                     " requests, option '--pipeline-requests', leave this option out or give another form by --emit");
  return {};
}

/// Refuses states where steps have others.
static Status checkStates(const CompilerOptions &options) {
  if (options.states.empty())
    return {};
  if (options.training)
    return makeError(ErrorCode::Unsupported,
                     "a training step cannot keep inputs as states, option '--state', leave out this option or ",
                     "'--train'");
  if (options.devices > 1)
    return makeError(ErrorCode::Unsupported, "a model split over ", options.devices,
                     " devices cannot keep inputs as states, option '--state', leave out this option or '--devices'");
  return {};
}

/// Refuses ranges of dimensions where something needs one size.
static Status checkRanges(const CompilerOptions &options, const Origin &origin) {
  if (options.dims.ranges.empty())
    return {};
  constexpr const char *advice = "give sizes instead of ranges by --dim";
  if (options.devices > 1)
    return makeError(ErrorCode::Unsupported, "a model split over ", options.devices,
                     " devices cannot have ranges of sizes, ", advice);
  if (options.splitOperators)
    return makeError(ErrorCode::Unsupported, "split operators cannot have ranges of sizes, ", advice,
                     ", or leave out option '--split-operators'");
  return {};
}

std::shared_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  dataflow::registerDataflow(registry);
  registry.insert<exec::ExecDialect, func::FuncDialect>();
  auto context = std::make_shared<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

Expected<Imported> importProgram(const std::string &modelPath, const CompilerOptions &options,
                                 std::shared_ptr<MLIRContext> context) {
  auto origin = std::make_shared<Origin>();
  SLUICE_ASSIGN_OR_RETURN(Machine machine, loadMachine(options.machine));
  SLUICE_RETURN_IF_ERROR(attachDiskFor(machine, modelPath, options));
  origin->described = std::move(machine);
  SLUICE_ASSIGN_OR_RETURN(TargetSpec target, resolveTarget(options.target));
  origin->target = std::move(target);
  SLUICE_RETURN_IF_ERROR(checkTarget(origin->target, origin->described, options));
  SLUICE_RETURN_IF_ERROR(checkRanges(options, *origin));
  SLUICE_RETURN_IF_ERROR(checkRequests(options));
  SLUICE_RETURN_IF_ERROR(checkStates(options));
  if (!isModuleFile(modelPath)) {
    SLUICE_ASSIGN_OR_RETURN(ModelFile model, openModel(modelPath));
    origin->model = std::move(model);
  } else if (!options.dims.values.empty() || !options.dims.ranges.empty() || !options.fixedInputs.empty()) {
    return makeError(ErrorCode::InvalidInput, "the IR in '", modelPath,
                     "' already fixes shapes and inputs, options '--dim' and '--fix', leave both options out");
  }
  origin->modelPath = modelPath;
  origin->name = nameOf(modelPath);

  origin->context = context ? std::move(context) : makeContext();
  if (options.threads == 1)
    origin->context->disableMultithreading();
  SLUICE_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module,
                          origin->model ? importModel(*origin->context, *origin->model, importOptions(options, *origin))
                                        : readModuleFile(*origin->context, modelPath));
  SLUICE_RETURN_IF_ERROR(checkExpressions(*module));
  origin->imported = std::make_shared<ImportedProgram>(*module);
  return Imported{{std::move(origin), std::move(module), {}}};
}

} // namespace sluice
