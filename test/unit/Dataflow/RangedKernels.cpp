//===- RangedKernels.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RangedKernels.h"
#include "KernelLibrary.h"
#include "Reference.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/Models.h"
#include "lib/Runtime/GridFibers.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Support/Rng.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>
#include <set>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::test {

namespace {

/// The text of a case, of the program with symbols or of that at a point.
class Writer {
public:
  Writer(const RangedCase &made, MLIRContext *context)
      : made(made), symbolsText("<" + made.symbols + ">"),
        symbols(cast<SymbolsAttr>(parseAttribute("#dataflow.symbols" + symbolsText, context))) {
    for (size_t i = 0; i < symbols.size(); ++i)
      names += (i ? ", s" : "s") + std::to_string(i);
  }

  std::string program(const Point *point) const {
    return "func.func @main(" + expanded(made.arguments, point) + ") {\n" + expanded(made.body, point) +
           "\nreturn\n}\n";
  }

  SymbolsAttr getSymbols() const { return symbols; }

private:
  int64_t valueOf(const std::string &expression, const Point &point) const {
    auto map = cast<AffineMapAttr>(parse("affine_map<()[" + names + "] -> (" + expression + ")>"));
    return *valueAt(map.getValue().getResult(0), point);
  }
  Attribute parse(const std::string &text) const {
    Attribute attribute = parseAttribute(text, symbols.getContext());
    REQUIRE(attribute);
    return attribute;
  }

  std::string expanded(const std::string &text, const Point *point) const {
    static const std::string kTensor = "tensor<", kExtents = "extents(";
    std::string result;
    for (size_t i = 0; i < text.size();) {
      if (text.compare(i, kTensor.size(), kTensor) == 0) {
        const size_t end = text.find('>', i);
        result += tensor(text.substr(i + kTensor.size(), end - i - kTensor.size()), point);
        i = end + 1;
      } else if (text.compare(i, kExtents.size(), kExtents) == 0) {
        const size_t end = text.find(')', i);
        result += extents(text.substr(i + kExtents.size(), end - i - kExtents.size()), point);
        i = end + 1;
      } else {
        result += text[i++];
      }
    }
    return result;
  }

  /// "{s0}x8xf32" as a type.
  std::string tensor(const std::string &text, const Point *point) const {
    const Point most(symbols.getMost().begin(), symbols.getMost().end());
    std::string shape, expressions;
    bool isRanged = false;
    size_t i = 0;
    while (i < text.size() && (text[i] == '{' || (std::isdigit(text[i]) && text.find('x', i) != std::string::npos))) {
      const size_t end = text[i] == '{' ? text.find('}', i) : text.find('x', i);
      const std::string expression = text[i] == '{' ? text.substr(i + 1, end - i - 1) : text.substr(i, end - i);
      isRanged |= text[i] == '{';
      shape += std::to_string(valueOf(expression, point ? *point : most)) + "x";
      expressions += (expressions.empty() ? "" : ", ") + expression;
      i = text[i] == '{' ? end + 2 : end + 1;
    }
    std::string type = "tensor<" + shape + text.substr(i);
    if (isRanged && !point)
      type += ", #dataflow.extents<()[" + names + "] -> (" + expressions + "), " + symbolsText + ">";
    return type + ">";
  }

  std::string extents(const std::string &text, const Point *point) const {
    if (!point)
      return "dataflow.extents affine_map<()[" + names + "] -> (" + text + ")> of " + symbolsText;
    auto map = cast<AffineMapAttr>(parse("affine_map<()[" + names + "] -> (" + text + ")>"));
    std::string values;
    for (AffineExpr expression : map.getValue().getResults())
      values += (values.empty() ? "" : ", ") + std::to_string(*valueAt(expression, *point));
    return "dataflow.constant dense<[" + values + "]>";
  }

  const RangedCase &made;
  std::string symbolsText;
  SymbolsAttr symbols;
  std::string names;
};

std::vector<Point> pointsOf(SymbolsAttr symbols, Rng &rng) {
  std::vector<std::vector<int64_t>> values;
  for (auto [low, high] : llvm::zip(symbols.getLeast(), symbols.getMost())) {
    std::vector<int64_t> &of = values.emplace_back(std::vector<int64_t>{high, low, high - 1});
    for (int64_t value : {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 15, 16, 17, 23, 28, 31, 32, 33, 47, 48, 64, 65, 127, 129})
      if (value > low && value < high - 1)
        of.push_back(value);
    for (int i = 0; i < 2; ++i)
      of.push_back(low + static_cast<int64_t>(rng.below(high - low + 1)));
  }
  std::set<Point> chosen;
  std::vector<Point> points;
  auto add = [&](Point point) {
    if (chosen.insert(point).second)
      points.push_back(std::move(point));
  };
  if (values.size() == 1) {
    for (int64_t value : values[0])
      add({value});
    return points;
  }
  constexpr int kRandom = 24;
  for (int i = 0; i < kRandom; ++i) {
    Point point;
    for (const std::vector<int64_t> &of : values)
      point.push_back(i < 2 ? of[i] : of[rng.below(of.size())]);
    add(point);
  }
  return points;
}

/// How chunks run.
enum class Order { Forward, Backward, Threads };

/// The kernel of a case; those of grids run their own way in every order.
struct Ready {
  KernelForm form;
  sluice_kernel_fn kernel;
};

std::vector<Tensor> runAt(const Ready &ready, Operation *op, const Environment &values, ArrayRef<Type> results,
                          const Point &point, Order order) {
  // Threads move 16 bytes at a time, and slots begin at multiples of more.
  const size_t alignment = ready.form == KernelForm::Grids ? 16 : 1;
  std::vector<std::unique_ptr<Guarded>> buffers;
  std::vector<void *> args;
  auto add = [&](size_t bytes) {
    buffers.push_back(std::make_unique<Guarded>(bytes, order != Order::Backward, alignment));
    args.push_back(buffers.back()->data);
    return buffers.back()->data;
  };
  for (Value operand : op->getOperands()) {
    const Tensor &tensor = values.at(operand);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), add(tensor.bytes.size()));
  }
  for (Type type : results)
    add(tensorBytes(type));
  add(cast<CostOpInterface>(op).getWorkspaceBytes());
  sluice_kernel_env env{};
  env.size = sizeof env;
  env.symbols = point.data();
  int chunks = 0;
  runtime::ThreadPool pool(order == Order::Threads ? 2 : 1);
  env.grids = &pool;
  env.launch_grid = [](void *self, const sluice_grid *grid, void **args) {
    return runtime::runGrid(*static_cast<runtime::ThreadPool *>(self), *grid, args);
  };
  env.launch_blocks = [](void *self, const sluice_grid *grid, int64_t blocks, void **args) {
    return runtime::runGrid(*static_cast<runtime::ThreadPool *>(self), runtime::withBlocks(*grid, blocks), args);
  };
  if (order == Order::Threads) {
    env.pool = &pool;
    env.parallel_for = [](void *self, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args) {
      static_cast<runtime::ThreadPool *>(self)->parallelFor(extent, grain, fn, args);
    };
  } else {
    env.pool = &chunks;
    env.parallel_for = order == Order::Forward ? runForward : runBackward;
  }
  REQUIRE(ready.kernel(&env, args.data()) == 0);
  for (const auto &buffer : buffers)
    CHECK(buffer->isIntact());
  std::vector<Tensor> made;
  for (auto [i, type] : llvm::enumerate(results)) {
    Tensor &result = made.emplace_back(type);
    std::copy_n(static_cast<const char *>(args[op->getNumOperands() + i]), result.bytes.size(), result.bytes.begin());
  }
  return made;
}

/// The program of a case, whose last operator becomes the kernel.
struct Program {
  Program(const std::string &text, MLIRContext *context) {
    INFO(text);
    module = parseSourceString<ModuleOp>(text, context);
    REQUIRE(module);
    op = (*module->getOps<func::FuncOp>().begin()).getBody().front().getTerminator()->getPrevNode();
  }
  OwningOpRef<ModuleOp> module;
  Operation *op;
};

void interpretAll(Operation *op, Environment &values, bool withOp) {
  for (Operation &each : *op->getBlock())
    if (!each.hasTrait<OpTrait::IsTerminator>() && (withOp || &each != op))
      interpret(&each, values);
}

void checkAt(const RangedCase &made, const Writer &writer, const Point &point, ArrayRef<Ready> forms,
             Operation *ranged) {
  const std::string text = writer.program(&point);
  INFO(text);
  Program still(text, ranged->getContext());
  Rng rng(7);
  Environment values, given;
  for (auto [n, argument] : llvm::enumerate(still.op->getBlock()->getArguments())) {
    Fill fill = made.fills.empty() ? Fill() : made.fills[std::min(n, made.fills.size() - 1)];
    Tensor input = makeInput(argument.getType(), fill, rng);
    values.insert({argument, input});
    given.insert({ranged->getBlock()->getArgument(static_cast<unsigned>(n)), std::move(input)});
  }
  interpretAll(still.op, values, /*withOp=*/true);
  interpretAll(ranged, given, /*withOp=*/false);
  const SmallVector<Type> types(still.op->getResultTypes());
  for (const Ready &ready : forms) {
    INFO(stringifyKernelForm(ready.form).str());
    std::vector<Tensor> forward = runAt(ready, ranged, given, types, point, Order::Forward);
    for (Order order : {Order::Backward, Order::Threads}) {
      if (ready.form == KernelForm::Grids && order == Order::Threads)
        continue;
      std::vector<Tensor> other = runAt(ready, ranged, given, types, point, order);
      for (size_t n = 0; n < other.size(); ++n)
        CHECK(other[n].bytes == forward[n].bytes);
    }
    for (auto [n, result] : llvm::enumerate(still.op->getResults())) {
      const double tolerance = made.tolerance ? made.tolerance : defaultTolerance(forward[n].element());
      CHECK(difference(forward[n], values.at(result), tolerance) == "");
    }
  }
}

/// All cases' kernels of one form, as machine code.
class Forms {
public:
  Forms(MLIRContext *context, KernelForm form, const VectorTarget &target, ArrayRef<Operation *> operators)
      : form(form) {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(context)),
                          again = ModuleOp::create(UnknownLoc::get(context));
    int32_t count = 0;
    for (Operation *op : operators) {
      if (!op)
        continue;
      const std::string symbol = "kernel" + std::to_string(count);
      numbers[op] = count++;
      for (ModuleOp module : {*kernels, *again})
        REQUIRE(succeeded(KernelEmitter::emit(op, symbol, module, target, {}, {form})));
    }
    CHECK(textOf(*kernels) == textOf(*again));
    if (count > 0)
      library.emplace(*kernels, static_cast<size_t>(count), /*architecture=*/90);
  }

  void addTo(SmallVectorImpl<Ready> &ready, Operation *op) const {
    if (auto found = numbers.find(op); found != numbers.end())
      ready.push_back({form, library->kernel(found->second)});
  }

private:
  static std::string textOf(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  }

  KernelForm form;
  llvm::DenseMap<Operation *, int32_t> numbers;
  std::optional<Library> library;
};

DialectRegistry registered() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registerDataflow(registry);
  return registry;
}

} // namespace

void checkRanged(const std::vector<RangedCase> &cases, int64_t lanes) {
  MLIRContext context(registered(), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const VectorTarget target = hostTarget(lanes);
  std::vector<Program> programs;
  SmallVector<Operation *> operators, grids;
  for (const RangedCase &made : cases) {
    const std::string text = Writer(made, &context).program(nullptr);
    INFO(text);
    Program &program = programs.emplace_back(text, &context);
    if (made.isPacked)
      program.op = packWeights(program.op, target, made.algorithm);
    operators.push_back(program.op);
    const bool hasGrids = lanes == 0 && made.algorithm.empty();
    grids.push_back(hasGrids ? program.op : nullptr);
  }
  const Forms chunks(&context, KernelForm::Chunks, target, operators),
      threads(&context, KernelForm::Grids, target, grids);
  for (auto [i, made] : llvm::enumerate(cases)) {
    const Writer writer(made, &context);
    INFO(writer.program(nullptr));
    Rng rng(i + 1);
    SmallVector<Ready> ready;
    chunks.addTo(ready, operators[i]);
    threads.addTo(ready, operators[i]);
    // Fibers take long: at bounds, and at some of the other points.
    for (auto [n, point] : llvm::enumerate(pointsOf(writer.getSymbols(), rng)))
      checkAt(made, writer, point, ArrayRef(ready).take_front(n < 3 || n % 4 == 0 ? ready.size() : 1), operators[i]);
  }
}

std::string refusalOf(const RangedCase &made, bool inGrids) {
  MLIRContext context(registered(), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Program program(Writer(made, &context).program(nullptr), &context);
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(&context));
  std::string said;
  ScopedDiagnosticHandler capture(&context, [&](Diagnostic &diagnostic) { said += diagnostic.str(); });
  const KernelStyle style{inGrids ? KernelForm::Grids : KernelForm::Chunks};
  const bool isEmitted = succeeded(KernelEmitter::emit(program.op, "kernel", *kernels, {}, {}, style));
  CHECK(isEmitted == said.empty());
  return said;
}

} // namespace sluice::test
