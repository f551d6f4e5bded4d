//===- KernelHarness.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "KernelLibrary.h"
#include "Reference.h"

#include "dialects/Dataflow/Models.h"
#include "lib/Runtime/GridFibers.h"
#include "passes/Passes.h"
#include "sluice/Codegen/GridLowering.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Support/Rng.h"
#include "test/unit/Cuda/LibraryReference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

static double randomIn(const Fill &fill, Rng &rng) { return fill.low + (fill.high - fill.low) * rng.uniform(); }

Tensor makeInput(Type type, const Fill &fill, Rng &rng) {
  Tensor tensor(type);
  bool isFloat = isa<FloatType>(tensor.element());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (isFloat)
      tensor.set(i, randomIn(fill, rng));
    else if (tensor.element().isInteger(1))
      tensor.set(i, static_cast<double>(rng.below(2)));
    else
      tensor.set(i, std::floor(randomIn({fill.low, fill.high + 1}, rng)));
  }
  if (!fill.special)
    return tensor;
  int64_t width = elementBytes(tensor.element());
  for (int64_t i = 0; i < tensor.size(); i += 2) {
    double infinity = std::numeric_limits<double>::infinity();
    const double floats[] = {NAN, infinity, -infinity, 0.0, -0.0, 1e30, -1e30, 2.5, -0.5, 300.7, -129.0, 70000.0, 3e9};
    if (isFloat) {
      tensor.set(i, floats[rng.below(std::size(floats))]);
      continue;
    }
    // Any bit pattern is an integer: the extremes are all ones or nearly so.
    const uint64_t bits[] = {0, 1, ~uint64_t(0), uint64_t(1) << (8 * width - 1), (uint64_t(1) << (8 * width - 1)) - 1};
    uint64_t chosen = bits[rng.below(std::size(bits))];
    if (!tensor.element().isInteger(1))
      std::memcpy(&tensor.bytes[i * width], &chosen, width);
  }
  return tensor;
}

double defaultTolerance(Type element) {
  if (element.isF64())
    return 1e-12;
  if (element.isF16())
    return 2e-3;
  if (element.isBF16())
    return 1.6e-2;
  return 1e-5;
}

std::string difference(const Tensor &actual, const Tensor &expected, double tolerance) {
  bool isFloat = isa<FloatType>(actual.element());
  int64_t width = elementBytes(actual.element());
  for (int64_t i = 0; i < actual.size(); ++i) {
    double a = actual.get(i), e = expected.get(i);
    bool same = std::memcmp(&actual.bytes[i * width], &expected.bytes[i * width], width) == 0;
    if (!same && isFloat)
      same = (std::isnan(a) && std::isnan(e)) || a == e || std::abs(a - e) <= tolerance * std::max(1.0, std::abs(e));
    if (!same)
      return "element " + std::to_string(i) + " of " + std::to_string(actual.size()) + " is " + std::to_string(a) +
             ", expected " + std::to_string(e);
  }
  return "";
}

namespace {

/// A library that does what services.h says, or is not there.
struct HostLibrary {
  bool isThere = true, inPlace = false;
  int64_t elements = 0; ///< Of the result.
  int numCalls = 0, numAdded = 0;
};

std::vector<Tensor> run(sluice_kernel_fn kernel, Operation *op, const Environment &values, bool atEnd, int &chunks,
                        HostLibrary *library = nullptr) {
  std::vector<std::unique_ptr<Guarded>> buffers;
  std::vector<void *> args;
  auto add = [&](size_t bytes) {
    buffers.push_back(std::make_unique<Guarded>(bytes, atEnd));
    args.push_back(buffers.back()->data);
    return buffers.back()->data;
  };
  for (Value operand : op->getOperands()) {
    const Tensor &tensor = values.at(operand);
    char *data = add(tensor.bytes.size());
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), data);
  }
  for (Type type : op->getResultTypes())
    add(tensorBytes(type));
  add(cast<CostOpInterface>(op).getWorkspaceBytes());
  sluice_kernel_env env{};
  env.size = sizeof env;
  const volatile unsigned char goesOn = 0;
  env.stop = &goesOn;
  env.pool = &chunks;
  env.parallel_for = atEnd ? runForward : runBackward;
  runtime::ThreadPool pool(2);
  env.grids = &pool;
  env.launch_grid = [](void *grids, const sluice_grid *grid, void **args) {
    return runtime::runGrid(*static_cast<runtime::ThreadPool *>(grids), *grid, args);
  };
  if (library) {
    library->elements = elementCount(op->getResult(0).getType());
    env.libraries = library;
    env.library = [](void *self, uint32_t function, void *const *args, const void *settings, int64_t) -> int32_t {
      auto &library = *static_cast<HostLibrary *>(self);
      ++library.numCalls;
      library.numAdded += (function & SLUICE_LIBRARY_ACCUMULATE) != 0;
      if (!library.isThere)
        return SLUICE_LIBRARY_ABSENT;
      computeAsLibrary(function, args, settings, library.elements);
      return 0;
    };
    if (std::optional<LibraryAddition> addition = libraryAddition(op); addition && library->inPlace)
      args[op->getNumOperands()] = args[addition->operand];
  }
  REQUIRE(kernel(&env, args.data()) == 0);
  for (const auto &buffer : buffers)
    CHECK(buffer->isIntact());
  std::vector<Tensor> results;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    Tensor &result = results.emplace_back(type);
    const auto *data = static_cast<const char *>(args[op->getNumOperands() + i]);
    std::copy_n(data, result.bytes.size(), result.bytes.begin());
  }
  return results;
}

} // namespace

std::string tensorOf(const std::vector<int64_t> &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

namespace {
/// Which kernels are made of the cases, and how they run.
struct Made {
  KernelForm form;
  unsigned architecture = 90;
  MatmulPrecision precision = MatmulPrecision::F32;
  HostLibrary *library = nullptr; ///< Beside the kernels, where they run.
};
constexpr unsigned kOldArchitecture = 70;

/// f32 as tensor cores take it.
Tensor rounded(const Tensor &tensor, MatmulPrecision precision) {
  if (!tensor.element().isF32() || precision == MatmulPrecision::F32)
    return tensor;
  const llvm::fltSemantics &semantics = precision == MatmulPrecision::TF32   ? llvm::APFloat::FloatTF32()
                                        : precision == MatmulPrecision::BF16 ? llvm::APFloat::BFloat()
                                                                             : llvm::APFloat::IEEEhalf();
  Tensor result = tensor;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    llvm::APFloat value(static_cast<float>(tensor.get(i)));
    bool lost;
    value.convert(semantics,
                  precision == MatmulPrecision::TF32 ? llvm::APFloat::rmNearestTiesToAway
                                                     : llvm::APFloat::rmNearestTiesToEven,
                  &lost);
    result.set(i, value.convertToDouble());
  }
  return result;
}

DialectRegistry registered() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerDataflow(registry);
  return registry;
}

/// The programs of all cases with their inputs and references, which all forms of their kernels share.
class Programs {
public:
  Programs(const std::vector<Case> &cases, int64_t lanes) : target(hostTarget(lanes)), cases(cases) {
    context.loadAllAvailableDialects();
    for (const Case &c : cases)
      add(c);
  }

  /// Returns the results of each case; none where older architectures have no code of their own.
  std::vector<std::vector<Tensor>> check(const Made &made);

private:
  struct Program {
    OwningOpRef<ModuleOp> module;
    Operation *op; ///< Becomes the kernel.
    /// The values of the program, by how its first two arguments are rounded.
    std::map<MatmulPrecision, Environment> values = {};
  };

  void add(const Case &c);
  const Environment &valuesOf(size_t i, MatmulPrecision precision);
  void checkCase(size_t i, const Made &made, const Library &library, std::vector<Tensor> &results);

  MLIRContext context{registered(), MLIRContext::Threading::DISABLED};
  const VectorTarget target;
  const std::vector<Case> &cases;
  std::vector<Program> programs;
};

void Programs::add(const Case &c) {
  std::string text = "func.func @main(" + c.arguments + ") {\n" + c.body + "\nreturn\n}\n";
  INFO(text);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  REQUIRE(module);
  auto main = *module->getOps<func::FuncOp>().begin();
  Operation *op = main.getBody().front().getTerminator()->getPrevNode();
  if (c.isPlanned) {
    PassManager passes(&context, func::FuncOp::getOperationName());
    passes.addPass(createPlanProgramsPass());
    REQUIRE(succeeded(passes.run(main)));
  }
  if (c.isPacked)
    op = packWeights(op, target, c.algorithm);
  programs.push_back({std::move(module), op});
}

const Environment &Programs::valuesOf(size_t i, MatmulPrecision precision) {
  auto [found, isNew] = programs[i].values.try_emplace(precision);
  Environment &values = found->second;
  if (!isNew)
    return values;
  const Case &c = cases[i];
  Rng rng(i + 1);
  Block *block = programs[i].op->getBlock();
  for (auto [n, argument] : llvm::enumerate(block->getArguments())) {
    Fill fill = c.fills.empty() ? Fill() : c.fills[std::min(n, c.fills.size() - 1)];
    Tensor input = makeInput(argument.getType(), fill, rng);
    values.insert({argument, n < 2 ? rounded(input, precision) : std::move(input)});
  }
  for (Operation &each : block->without_terminator())
    interpret(&each, values);
  return values;
}

void Programs::checkCase(size_t i, const Made &made, const Library &library, std::vector<Tensor> &results) {
  const Case &c = cases[i];
  Operation *op = programs[i].op;
  INFO(c.arguments << "\n" << c.body);
  const sluice_kernel_fn kernel = library.kernel(static_cast<int32_t>(i));
  const Environment &given = valuesOf(i, MatmulPrecision::F32);
  int chunks = 0;
  results = run(kernel, op, given, /*atEnd=*/true, chunks, made.library);
  if (c.isChunked && made.form == KernelForm::Chunks)
    CHECK(chunks > 1);
  std::vector<Tensor> backward = run(kernel, op, given, /*atEnd=*/false, chunks, made.library);
  const bool isRounded = made.architecture != kOldArchitecture;
  const Environment &expected = valuesOf(i, isRounded ? made.precision : MatmulPrecision::F32);
  for (auto [n, result] : llvm::enumerate(op->getResults())) {
    double tolerance = c.tolerance ? c.tolerance : defaultTolerance(results[n].element());
    CHECK(difference(results[n], expected.at(result), tolerance) == "");
    CHECK(results[n].bytes == backward[n].bytes);
  }
}

std::vector<std::vector<Tensor>> Programs::check(const Made &made) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(&context));
  for (size_t i = 0; i < programs.size(); ++i) {
    INFO(cases[i].arguments << "\n" << cases[i].body);
    REQUIRE(succeeded(KernelEmitter::emit(programs[i].op, "kernel" + std::to_string(i), *kernels, target, {},
                                          {made.form, made.precision})));
  }
  bool hasArchitectures = false;
  kernels->walk(
      [&](Operation *op) { hasArchitectures |= op->hasAttr(DataflowDialect::ArchitectureAttrHelper::getNameStr()); });
  if (made.architecture == kOldArchitecture && !hasArchitectures)
    return {};
  Library library(*kernels, cases.size(), made.architecture);
  std::vector<std::vector<Tensor>> all(cases.size());
  for (size_t i = 0; i < cases.size(); ++i)
    checkCase(i, made, library, all[i]);
  return all;
}

/// Programs have no grids.
bool haveGrids(const std::vector<Case> &cases) {
  return llvm::none_of(cases, [](const Case &c) {
    return StringRef(c.body).contains("dataflow.loop") || StringRef(c.body).contains("dataflow.if") ||
           StringRef(c.body).contains("dataflow.concurrent");
  });
}

} // namespace

void checkKernels(const std::vector<Case> &cases, int64_t lanes) {
  Programs programs(cases, lanes);
  std::vector<std::vector<Tensor>> chunks = programs.check({KernelForm::Chunks});
  // The same kernels as a GPU runs them; lanes are a CPU's.
  if (lanes != 0 || !haveGrids(cases))
    return;
  std::vector<std::vector<Tensor>> grids = programs.check({KernelForm::Grids});
  std::vector<std::vector<Tensor>> older = programs.check({KernelForm::Grids, kOldArchitecture});
  for (size_t i = 0; i < older.size(); ++i)
    for (size_t n = 0; n < older[i].size(); ++n)
      CHECK(older[i][n].bytes == grids[i][n].bytes);
  for (size_t i = 0; i < cases.size(); ++i)
    for (size_t n = 0; cases[i].isAlikeInGrids && n < chunks[i].size(); ++n) {
      INFO(cases[i].arguments << "\n" << cases[i].body);
      CHECK(chunks[i][n].bytes == grids[i][n].bytes);
    }
}

void checkTensorCores(const std::vector<Case> &cases, const std::string &precision) {
  MatmulPrecision which = precision == "tf32"   ? MatmulPrecision::TF32
                          : precision == "bf16" ? MatmulPrecision::BF16
                                                : MatmulPrecision::F16;
  Programs programs(cases, /*lanes=*/0);
  std::vector<std::vector<Tensor>> newer = programs.check({KernelForm::Grids, 90, which});
  std::vector<std::vector<Tensor>> older = programs.check({KernelForm::Grids, kOldArchitecture, which});
  // Products of rounded operands are others.
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].arguments.find("xf32") != std::string::npos)
      CHECK(newer.at(i)[0].bytes != older.at(i)[0].bytes);
}

void checkLibraries(const std::vector<Case> &cases, bool isAsked) {
  Programs programs(cases, /*lanes=*/0);
  for (bool isThere : {true, false})
    for (bool inPlace : {false, true}) {
      HostLibrary library{isThere, inPlace};
      programs.check({KernelForm::Grids, 90, MatmulPrecision::F32, &library});
      // Each kernel runs twice.
      CHECK(library.numCalls == (isAsked ? 2 * static_cast<int>(cases.size()) : 0));
      const bool addsAny = llvm::any_of(cases, [](const Case &c) { return StringRef(c.body).contains("%added"); });
      CHECK((library.numAdded > 0) == (inPlace && addsAny));
    }
}

} // namespace sluice::test
