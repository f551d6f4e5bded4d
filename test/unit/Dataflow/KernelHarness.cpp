//===- KernelHarness.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"
#include "Reference.h"

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/Models.h"
#include "lib/Runtime/GridFibers.h"
#include "passes/Passes.h"
#include "sluice/Codegen/GridLowering.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Codegen/ObjectEmission.h"
#include "sluice/Runtime/abi.h"
#include "sluice/Support/Rng.h"
#include "test/unit/Cuda/LibraryReference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

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

/// Bytes between two unreadable pages, at the end or at the begin of the
/// readable ones.
class Guarded {
public:
  Guarded(size_t count, bool atEnd) : page(sysconf(_SC_PAGESIZE)), bytes((count + page - 1) / page * page) {
    map = static_cast<char *>(
        mmap(nullptr, bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map != MAP_FAILED);
    mprotect(map, page, PROT_NONE);
    mprotect(map + page + bytes, page, PROT_NONE);
    data = atEnd ? map + page + bytes - count : map + page;
    // No value a result has by chance.
    std::memset(data, 0xa5, count);
  }
  ~Guarded() { munmap(map, bytes + 2 * page); }
  Guarded(const Guarded &) = delete;
  char *data;

private:
  size_t page, bytes;
  char *map;
};

/// `count`, the pool, counts chunks. Each runs in pieces, so that a loop too short for several chunks is cut as well.
int64_t pieceOf(void *count, int64_t extent, int64_t grain) {
  *static_cast<int *>(count) += static_cast<int>((extent + grain - 1) / grain);
  return std::max<int64_t>(1, grain / 3);
}

void runForward(void *count, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args) {
  const int64_t piece = pieceOf(count, extent, grain);
  for (int64_t begin = 0; begin < extent; begin += piece)
    fn(args, begin, std::min(begin + piece, extent));
}

void runBackward(void *count, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args) {
  const int64_t piece = pieceOf(count, extent, grain);
  for (int64_t begin = (extent - 1) / piece * piece; begin >= 0; begin -= piece)
    fn(args, begin, std::min(begin + piece, extent));
}

/// Puts packing before `op`, or before the group whose contraction is to read
/// the packed weight. Returns what is to run.
Operation *packWeights(Operation *op, const VectorTarget &target, const std::string &algorithmName) {
  auto group = dyn_cast<FusedOp>(op);
  Operation *contraction = group ? group.getAnchor() : op;
  auto argument = dyn_cast<BlockArgument>(contraction->getOperand(1));
  Value weight = group ? group->getOperand(argument.getArgNumber()) : contraction->getOperand(1);
  OpBuilder outside(op), inside(contraction);
  Location loc = op->getLoc();
  auto handIn = [&](Value packed) -> Value {
    if (!group)
      return packed;
    group->setOperand(argument.getArgNumber(), packed);
    argument.setType(packed.getType());
    return argument;
  };
  Operation *packed;
  if (auto conv = dyn_cast<ConvOp>(contraction)) {
    emit::ConvSpec spec = describeConv(conv);
    Attribute channels = inside.getI64IntegerAttr(conv.getOutputChannels());
    auto kernel = inside.getDenseI64ArrayAttr(conv.getKernelShape());
    ConvAlgorithmAttr algorithm;
    Value blocks;
    if (std::optional<ConvAlgorithm> named = symbolizeConvAlgorithm(algorithmName)) {
      algorithm = ConvAlgorithmAttr::get(op->getContext(), *named);
      emit::WinogradSpec tiles = emit::describeWinograd(spec, *named == ConvAlgorithm::winograd2 ? 2 : 4, target);
      blocks = PackWinogradWeightOp::create(outside, loc, weight, *named, tiles.depth, tiles.panel);
    } else {
      blocks = PackConvWeightOp::create(outside, loc, weight, conv.getGroups(), emit::convOutputBlock(spec, target),
                                        emit::isDepthwise(spec));
    }
    packed = ConvOp::create(inside, loc, conv.getInput(), handIn(blocks), conv.getStrides(), conv.getPads(),
                            conv.getDilations(), conv.getGroups(), conv.getLayout(), cast<IntegerAttr>(channels),
                            kernel, IntegerAttr(), algorithm, FloatAttr());
  } else {
    auto matmul = cast<MatmulOp>(contraction);
    emit::MatmulSpec spec = describeMatmul(matmul);
    Value panels =
        PackMatmulRhsOp::create(outside, loc, weight, matmul.getTransposeRhs(), emit::matmulPanel(spec, target));
    packed = MatmulOp::create(inside, loc, matmul.getLhs(), handIn(panels), matmul.getTransposeLhsAttr(), UnitAttr(),
                              inside.getI64IntegerAttr(spec.n), IntegerAttr());
  }
  REQUIRE(packed->getResultTypes() == contraction->getResultTypes());
  contraction->replaceAllUsesWith(packed);
  contraction->erase();
  return group ? op : packed;
}

/// A compiled module: kernel i, and how to find it.
class Library {
public:
  Library(ModuleOp module, size_t numKernels, unsigned architecture) {
    auto need = [](const auto &result) {
      if (!result)
        FAIL(result.error().message);
    };
    need(lowerGrids(module, {{}, /*hostCode=*/true, architecture}));
    need(lowerKernelsToLLVM(module));
    exportKernels(module, numKernels); // Kernels are LLVM's functions now.
    auto target = resolveTarget("native");
    need(target);
    EmissionParams params;
    params.optLevel = 1;
    auto objects = emitObjects(module, *target, params);
    need(objects);
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice-dataflow-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    std::string path = pattern + "/kernels.so";
    auto linked = linkSharedLibrary(*objects, path);
    handle = linked ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    std::filesystem::remove_all(pattern);
    need(linked);
    if (!handle)
      FAIL(dlerror());
  }
  ~Library() { dlclose(handle); }
  Library(const Library &) = delete;

  sluice_kernel_fn kernel(int32_t i) const {
    auto get = reinterpret_cast<void *(*)(int32_t)>(dlsym(handle, "sluice_model_get"));
    REQUIRE(get);
    return reinterpret_cast<sluice_kernel_fn>(get(i));
  }

private:
  /// The one symbol a library shows hands out the kernels.
  static void exportKernels(ModuleOp module, size_t numKernels) {
    MLIRContext *context = module.getContext();
    Location loc = UnknownLoc::get(context);
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    auto ptr = LLVM::LLVMPointerType::get(context);
    auto get = LLVM::LLVMFuncOp::create(b, loc, "sluice_model_get", LLVM::LLVMFunctionType::get(ptr, {b.getI32Type()}));
    b.setInsertionPointToStart(get.addEntryBlock(b));
    Value result = LLVM::ZeroOp::create(b, loc, ptr);
    for (size_t i = 0; i < numKernels; ++i) {
      Value wanted = LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(i)));
      Value isThis = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, get.getArgument(0), wanted);
      Value address = LLVM::AddressOfOp::create(b, loc, ptr, "kernel" + std::to_string(i));
      result = LLVM::SelectOp::create(b, loc, isThis, address, result);
    }
    LLVM::ReturnOp::create(b, loc, result);
  }

  void *handle = nullptr;
};

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
/// What kernels are made of a case, and which of them runs.
struct Made {
  int64_t lanes;
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
} // namespace

/// Returns the results of each case; none where older architectures have no code of their own.
static std::vector<std::vector<Tensor>> checkForm(const std::vector<Case> &cases, const Made &made) {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerDataflow(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();

  auto host = resolveTarget("native");
  REQUIRE(host);
  VectorTarget target;
  target.lanesF32 = made.lanes ? made.lanes : host->vectorLanes(32);
  target.registers = host->numVectorRegisters;
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(&context));
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<Operation *> operators;
  for (const Case &c : cases) {
    std::string text = "func.func @main(" + c.arguments + ") {\n" + c.body + "\nreturn\n}\n";
    INFO(text);
    modules.push_back(parseSourceString<ModuleOp>(text, &context));
    REQUIRE(modules.back());
    auto main = *modules.back()->getOps<func::FuncOp>().begin();
    operators.push_back(main.getBody().front().getTerminator()->getPrevNode());
    if (c.isPlanned) {
      PassManager passes(&context, func::FuncOp::getOperationName());
      passes.addPass(createPlanProgramsPass());
      REQUIRE(succeeded(passes.run(main)));
    }
    if (c.isPacked)
      operators.back() = packWeights(operators.back(), target, c.algorithm);
    std::string symbol = "kernel" + std::to_string(operators.size() - 1);
    REQUIRE(
        succeeded(KernelEmitter::emit(operators.back(), symbol, *kernels, target, {}, {made.form, made.precision})));
  }
  bool hasArchitectures = false;
  kernels->walk(
      [&](Operation *op) { hasArchitectures |= op->hasAttr(DataflowDialect::ArchitectureAttrHelper::getNameStr()); });
  if (made.architecture == kOldArchitecture && !hasArchitectures)
    return {};
  Library library(*kernels, cases.size(), made.architecture);

  std::vector<std::vector<Tensor>> all;
  for (auto [i, c] : llvm::enumerate(cases)) {
    Operation *op = operators[i];
    INFO(c.arguments << "\n" << c.body);
    Rng rng(i + 1);
    Environment values, given;
    for (auto [n, argument] : llvm::enumerate(op->getBlock()->getArguments())) {
      Fill fill = c.fills.empty() ? Fill() : c.fills[std::min(n, c.fills.size() - 1)];
      Tensor input = makeInput(argument.getType(), fill, rng);
      bool isRounded = n < 2 && made.architecture != kOldArchitecture;
      values.insert({argument, isRounded ? rounded(input, made.precision) : input});
      given.insert({argument, std::move(input)});
    }
    for (Operation &each : *op->getBlock())
      if (&each != op->getBlock()->getTerminator())
        for (Environment *environment : {&values, &given})
          interpret(&each, *environment);
    int chunks = 0;
    std::vector<Tensor> forward =
        run(library.kernel(static_cast<int32_t>(i)), op, given, /*atEnd=*/true, chunks, made.library);
    if (c.isChunked && made.form == KernelForm::Chunks)
      CHECK(chunks > 1);
    std::vector<Tensor> backward =
        run(library.kernel(static_cast<int32_t>(i)), op, given, /*atEnd=*/false, chunks, made.library);
    for (auto [n, result] : llvm::enumerate(op->getResults())) {
      double tolerance = c.tolerance ? c.tolerance : defaultTolerance(forward[n].element());
      CHECK(difference(forward[n], values.at(result), tolerance) == "");
      CHECK(forward[n].bytes == backward[n].bytes);
    }
    all.push_back(std::move(forward));
  }
  return all;
}

/// Programs have no grids.
static bool haveGrids(const std::vector<Case> &cases) {
  return llvm::none_of(cases, [](const Case &c) {
    return StringRef(c.body).contains("dataflow.loop") || StringRef(c.body).contains("dataflow.if") ||
           StringRef(c.body).contains("dataflow.concurrent");
  });
}

void checkKernels(const std::vector<Case> &cases, int64_t lanes) {
  std::vector<std::vector<Tensor>> chunks = checkForm(cases, {lanes, KernelForm::Chunks});
  // The same kernels as a GPU runs them; lanes are a CPU's.
  if (lanes != 0 || !haveGrids(cases))
    return;
  std::vector<std::vector<Tensor>> grids = checkForm(cases, {lanes, KernelForm::Grids});
  std::vector<std::vector<Tensor>> older = checkForm(cases, {lanes, KernelForm::Grids, kOldArchitecture});
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
  std::vector<std::vector<Tensor>> newer = checkForm(cases, {0, KernelForm::Grids, 90, which});
  std::vector<std::vector<Tensor>> older = checkForm(cases, {0, KernelForm::Grids, kOldArchitecture, which});
  // Products of rounded operands are others.
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].arguments.find("xf32") != std::string::npos)
      CHECK(newer.at(i)[0].bytes != older.at(i)[0].bytes);
}

void checkLibraries(const std::vector<Case> &cases, bool isAsked) {
  for (bool isThere : {true, false})
    for (bool inPlace : {false, true}) {
      HostLibrary library{isThere, inPlace};
      checkForm(cases, {0, KernelForm::Grids, 90, MatmulPrecision::F32, &library});
      // Each kernel runs twice.
      CHECK(library.numCalls == (isAsked ? 2 * static_cast<int>(cases.size()) : 0));
      const bool addsAny = llvm::any_of(cases, [](const Case &c) { return StringRef(c.body).contains("%added"); });
      CHECK((library.numAdded > 0) == (inPlace && addsAny));
    }
}

} // namespace sluice::test
