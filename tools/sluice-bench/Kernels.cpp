//===- Kernels.cpp - Emitted contractions beside oneDNN -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "KernelJit.h"
#include "Timing.h"
#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/ContractionPacking.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sluice/Codegen/Target.h"
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#ifdef SLUICE_HAVE_ONEDNN
#include <dlfcn.h>
#include <dnnl.hpp>
#endif

using namespace mlir;
using namespace sluice::emit;

namespace sluice::bench {

namespace {

struct Free {
  void operator()(float *pointer) const { std::free(pointer); }
};
using Buffer = std::unique_ptr<float, Free>;

/// 64-byte aligned, with small values that differ.
Buffer makeBuffer(int64_t count) {
  auto *data = static_cast<float *>(std::aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64));
  for (int64_t i = 0; i < count; ++i)
    data[i] = static_cast<float>(i * 37 % 101) / 101.0f - 0.5f;
  return Buffer(data);
}

/// One run of a kernel on its own buffers.
using Run = std::function<void()>;

struct OurRun {
  Run run;
  double compileMs = 0;
};

/// Sums times a scale, rounded to unsigned bytes.
Value requantized(OpBuilder &b, Location loc, Value sums, int64_t lanes) {
  auto typeOf = [&](Type element) { return lanes == 1 ? element : Type(VectorType::get(lanes, element)); };
  auto constant = [&](float value) -> Value {
    TypedAttr attribute = b.getF32FloatAttr(value);
    if (auto type = dyn_cast<VectorType>(typeOf(b.getF32Type())))
      attribute = DenseElementsAttr::get(type, Attribute(attribute));
    return arith::ConstantOp::create(b, loc, attribute);
  };
  Value scaled = arith::SIToFPOp::create(b, loc, typeOf(b.getF32Type()), sums);
  scaled = arith::MulFOp::create(b, loc, scaled, constant(1e-3F));
  scaled = LLVM::CallIntrinsicOp::create(
               b, loc, scaled.getType(),
               b.getStringAttr(lanes == 1 ? "llvm.roundeven.f32" : "llvm.roundeven.v" + std::to_string(lanes) + "f32"),
               ValueRange{scaled})
               ->getResult(0);
  scaled = arith::MaxNumFOp::create(b, loc, scaled, constant(-128), arith::FastMathFlags::nnan);
  scaled = arith::MinNumFOp::create(b, loc, scaled, constant(127), arith::FastMathFlags::nnan);
  Value whole = arith::FPToSIOp::create(b, loc, typeOf(b.getI32Type()), scaled);
  return arith::TruncIOp::create(b, loc, typeOf(b.getI8Type()), whole);
}

/// Stores at the row-major position of `shape`.
void storeAt(OpBuilder &b, Location loc, Value output, llvm::ArrayRef<int64_t> shape, Value value, ValueRange indices) {
  Value position = indices[0];
  for (size_t i = 1; i < shape.size(); ++i) {
    Value scaled = arith::MulIOp::create(b, loc, position, arith::ConstantIndexOp::create(b, loc, shape[i]));
    position = arith::AddIOp::create(b, loc, scaled, indices[i]);
  }
  position = arith::IndexCastOp::create(b, loc, b.getI64Type(), position);
  Value pointer = LLVM::GEPOp::create(b, loc, output.getType(), getElementTypeOrSelf(value), output,
                                      llvm::ArrayRef<LLVM::GEPArg>{position});
  LLVM::StoreOp::create(b, loc, value, pointer, getElementTypeOrSelf(value).getIntOrFloatBitWidth() / 8);
}

OurRun prepare(std::shared_ptr<Kernel> kernel, Buffer a, Buffer b, Buffer c, int64_t extent,
               const std::string &objectPath) {
  if (!kernel)
    return {};
  if (!objectPath.empty())
    kernel->dumpObject(objectPath);
  double milliseconds = kernel->compileMs();
  std::shared_ptr<float> sharedA = std::move(a), sharedB = std::move(b), sharedC = std::move(c);
  return {[=] { (*kernel)(sharedA.get(), sharedB.get(), sharedC.get(), 0, extent); }, milliseconds};
}

OurRun ours(const MatmulSpec &spec, const VectorTarget &target, const std::string &objectPath) {
  std::shared_ptr<Kernel> kernel =
      Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
        emitMatmul(b, loc, spec, target, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
                   [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                     storeAt(b, loc, p[2], {spec.m, spec.n}, value, indices);
                   });
      });
  Buffer packed = makeBuffer(std::max(packedMatmulBSize(spec, target), spec.k * spec.n));
  return prepare(std::move(kernel), makeBuffer(spec.m * spec.k), std::move(packed), makeBuffer(spec.m * spec.n),
                 parallelExtent(spec, target), objectPath);
}

OurRun ours(const ConvSpec &spec, const VectorTarget &target, const std::string &objectPath) {
  std::shared_ptr<Kernel> kernel =
      Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
        emitConv2d(b, loc, spec, target, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
                   [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                     storeAt(b, loc, p[2], {spec.batch, spec.outH, spec.outW, spec.outC}, value, indices);
                   });
      });
  return prepare(std::move(kernel), makeBuffer(spec.batch * spec.inH * spec.inW * spec.inC),
                 makeBuffer(packedConvWeightsSize(spec, target)),
                 makeBuffer(spec.batch * spec.outH * spec.outW * spec.outC), parallelExtent(spec, target), objectPath);
}

OurRun ours(const WinogradCase &test, const VectorTarget &target, const std::string &objectPath) {
  const WinogradSpec spec = describeWinograd(test.image, test.outputs, target);
  const ConvSpec &image = spec.image;
  std::shared_ptr<Kernel> kernel =
      Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
        emitWinograd(b, loc, spec, target, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
                     [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                       storeAt(b, loc, p[2], {image.batch, image.outH, image.outW, image.outC}, value, indices);
                     });
      });
  return prepare(std::move(kernel), makeBuffer(image.batch * image.inH * image.inW * image.inC),
                 makeBuffer(packedWinogradWeightsSize(spec)),
                 makeBuffer(image.batch * image.outH * image.outW * image.outC), parallelExtent(spec, target),
                 objectPath);
}

OurRun ours(const IntegerCase &test, const VectorTarget &target, const std::string &objectPath) {
  const IntegerSpec spec = test.describe(target);
  std::shared_ptr<Kernel> kernel =
      Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
        IntegerOperands operands;
        operands.lhs = p[0];
        operands.rhs = p[1];
        operands.lhsZero = [](OpBuilder &b, Location loc, Value, Value) -> Value {
          return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(113));
        };
        emitIntegerProduct(b, loc, spec, target, operands, {begin, end},
                           [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t lanes) {
                             if (test.isRequantized)
                               value = requantized(b, loc, value, lanes);
                             storeAt(b, loc, p[2], {test.m, test.n}, value, indices.drop_front());
                           });
      });
  // Numbers of 32 bits stand for bytes: values do not matter.
  auto bytes = [](int64_t count) { return makeBuffer(count / 4 + 32); };
  return prepare(std::move(kernel), bytes(test.m * test.k * lhsBytes(test.dot)), bytes(spec.panels.bytes()),
                 bytes(4 * test.m * test.n), parallelExtent(spec, target), objectPath);
}

OurRun ours(const HalfCase &test, const VectorTarget &target, const std::string &objectPath) {
  const bool isWidened = test.form == HalfCase::Form::Widened;
  MatmulSpec widened;
  widened.m = test.m, widened.n = test.n, widened.k = widened.lda = test.k;
  widened.packedB = true;
  const IntegerSpec spec = isWidened ? IntegerSpec() : test.describe(target);
  std::shared_ptr<Kernel> kernel =
      Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
        Type element = test.isF16 ? Type(b.getF16Type()) : Type(b.getBF16Type());
        auto sink = [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
          Type type = element;
          if (auto vector = dyn_cast<VectorType>(value.getType()))
            type = vector.clone(element);
          storeAt(b, loc, p[2], {test.m, test.n}, arith::TruncFOp::create(b, loc, type, value),
                  isWidened ? indices : indices.drop_front());
        };
        if (isWidened)
          return emitMatmul(b, loc, widened, target, {{p[0], element}, {p[1], element}}, {begin, end}, sink);
        IntegerOperands operands;
        operands.lhs = p[0];
        operands.rhs = p[1];
        operands.lhsPartBytes = test.m * spec.rowStride;
        emitIntegerProduct(b, loc, spec, target, operands, {begin, end}, sink);
      });
  // One of f16, and a small number of bf16.
  auto bytes = [](int64_t count) {
    Buffer buffer = makeBuffer(count / 4 + 32);
    std::fill_n(reinterpret_cast<uint16_t *>(buffer.get()), count / 2, uint16_t(0x3c00));
    return buffer;
  };
  const int64_t rhs = isWidened ? 2 * packedMatmulBSize(widened, target) : spec.panels.bytes();
  return prepare(std::move(kernel), bytes(4 * test.m * halfPitch(test.k)), bytes(rhs), bytes(2 * test.m * test.n),
                 isWidened ? parallelExtent(widened, target) : parallelExtent(spec, target), objectPath);
}

constexpr int64_t registerSteps = 4096, registerSums = 24;

OurRun ours(const RegisterCase &test, const VectorTarget &target, const std::string &objectPath) {
  const int64_t lanes = target.lanesF32;
  std::shared_ptr<Kernel> kernel =
      Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
        Type element = test.ofBytes ? Type(b.getI32Type()) : Type(b.getF32Type());
        auto type = VectorType::get(lanes, element);
        auto operands = test.ofBytes ? VectorType::get(4 * lanes, b.getI8Type()) : type;
        Value left = LLVM::LoadOp::create(b, loc, operands, p[0]), right = LLVM::LoadOp::create(b, loc, operands, p[1]);
        SmallVector<Value> sums(registerSums, arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
        Value one = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
        auto loop = scf::ForOp::create(
            b, loc, begin, end, one, sums, [&](OpBuilder &b, Location loc, Value, ValueRange carried) {
              SmallVector<Value> next;
              for (Value sum : carried)
                next.push_back(test.ofBytes ? emitIntegerDot(b, loc, target.bytes, IntegerDot::Quads, sum, left, right)
                                            : LLVM::FMAOp::create(b, loc, left, right, sum).getResult());
              scf::YieldOp::create(b, loc, next);
            });
        for (auto [i, sum] : llvm::enumerate(loop.getResults()))
          LLVM::StoreOp::create(
              b, loc, sum,
              LLVM::GEPOp::create(b, loc, p[2].getType(), type, p[2], {LLVM::GEPArg(static_cast<int32_t>(i))}));
      });
  return prepare(std::move(kernel), makeBuffer(lanes), makeBuffer(lanes), makeBuffer(registerSums * lanes),
                 registerSteps, objectPath);
}

#ifdef SLUICE_HAVE_ONEDNN
/// Of the OpenMP library that oneDNN is linked with, whichever that is.
void useOneThread() {
  if (void *function = dlsym(RTLD_DEFAULT, "omp_set_num_threads"))
    reinterpret_cast<void (*)(int)>(function)(1);
}

/// oneDNN picks the layouts of all operands; bringing them there is not timed.
struct DnnContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Run prepareOneDnn(dnnl::primitive primitive, const dnnl::memory::desc &source, const dnnl::memory::desc &weights,
                  const dnnl::memory::desc &destination, const DnnContext &context) {
  auto memory = [&](const dnnl::memory::desc &description) {
    dnnl::memory result(description, context.engine);
    auto *data = static_cast<float *>(result.get_data_handle());
    std::fill_n(data, description.get_size() / sizeof(float), 0.25f);
    return result;
  };
  std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, memory(source)}, {DNNL_ARG_WEIGHTS, memory(weights)}, {DNNL_ARG_DST, memory(destination)}};
  return [primitive, arguments, stream = context.stream]() mutable {
    primitive.execute(stream, arguments);
    stream.wait();
  };
}

dnnl::memory::desc any(const dnnl::memory::dims &dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

Run oneDnn(const MatmulSpec &spec, const DnnContext &context) {
  using Tag = dnnl::memory::format_tag;
  auto plain = [](dnnl::memory::dims dims) { return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, Tag::ab); };
  dnnl::matmul::primitive_desc description(
      {plain({spec.m, spec.k}),
       spec.packedB
           ? any({spec.k, spec.n})
           : dnnl::memory::desc({spec.k, spec.n}, dnnl::memory::data_type::f32, spec.transposeB ? Tag::ba : Tag::ab),
       plain({spec.m, spec.n})},
      context.engine);
  return prepareOneDnn(dnnl::matmul(description), description.src_desc(), description.weights_desc(),
                       description.dst_desc(), context);
}

Run oneDnn(const ConvSpec &spec, const DnnContext &context) {
  dnnl::memory::dims weights = {spec.outC, spec.groupInC(), spec.kernelH, spec.kernelW};
  if (spec.groups > 1)
    weights = {spec.groups, spec.groupOutC(), spec.groupInC(), spec.kernelH, spec.kernelW};
  auto after = [](int64_t out, int64_t stride, int64_t kernel, int64_t dilation, int64_t in, int64_t before) {
    return (out - 1) * stride + (kernel - 1) * dilation + 1 - in - before;
  };
  dnnl::convolution_forward::primitive_desc description(
      {dnnl::prop_kind::forward_inference,
       dnnl::algorithm::convolution_direct,
       any({spec.batch, spec.inC, spec.inH, spec.inW}),
       any(weights),
       any({spec.batch, spec.outC, spec.outH, spec.outW}),
       {spec.strideH, spec.strideW},
       {spec.dilationH - 1, spec.dilationW - 1},
       {spec.padTop, spec.padLeft},
       {after(spec.outH, spec.strideH, spec.kernelH, spec.dilationH, spec.inH, spec.padTop),
        after(spec.outW, spec.strideW, spec.kernelW, spec.dilationW, spec.inW, spec.padLeft)}},
      context.engine);
  return prepareOneDnn(dnnl::convolution_forward(description), description.src_desc(), description.weights_desc(),
                       description.dst_desc(), context);
}

Run oneDnn(const WinogradCase &test, const DnnContext &context) { return oneDnn(test.image, context); }

/// Without zero points, as one product for all its operands' signs.
Run oneDnn(const IntegerCase &test, const DnnContext &context) {
  using Type = dnnl::memory::data_type;
  using Tag = dnnl::memory::format_tag;
  dnnl::matmul::primitive_desc description(
      {dnnl::memory::desc({test.m, test.k}, Type::u8, Tag::ab),
       dnnl::memory::desc({test.k, test.n}, Type::s8, Tag::any),
       dnnl::memory::desc({test.m, test.n}, test.isRequantized ? Type::s8 : Type::s32, Tag::ab)},
      context.engine);
  return prepareOneDnn(dnnl::matmul(description), description.src_desc(), description.weights_desc(),
                       description.dst_desc(), context);
}

Run oneDnn(const HalfCase &test, const DnnContext &context) {
  using Tag = dnnl::memory::format_tag;
  const auto type = test.isF16 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  dnnl::matmul::primitive_desc description({dnnl::memory::desc({test.m, test.k}, type, Tag::ab),
                                            dnnl::memory::desc({test.k, test.n}, type, Tag::any),
                                            dnnl::memory::desc({test.m, test.n}, type, Tag::ab)},
                                           context.engine);
  return prepareOneDnn(dnnl::matmul(description), description.src_desc(), description.weights_desc(),
                       description.dst_desc(), context);
}

Run oneDnn(const RegisterCase &, const DnnContext &) { return nullptr; }
#endif

double flopsOf(const HalfCase &test, const VectorTarget &) {
  return 2.0 * static_cast<double>(test.m) * static_cast<double>(test.n) * static_cast<double>(test.k);
}
double flopsOf(const IntegerCase &test, const VectorTarget &) {
  return 2.0 * static_cast<double>(test.m) * static_cast<double>(test.n) * static_cast<double>(test.k);
}
double flopsOf(const RegisterCase &test, const VectorTarget &target) {
  const int64_t perStep = registerSums * target.lanesF32 * (test.ofBytes ? depthOf(IntegerDot::Quads) : 1);
  return 2.0 * static_cast<double>(registerSteps * perStep);
}
double flopsOf(const MatmulSpec &spec, const VectorTarget &) {
  return 2.0 * static_cast<double>(spec.m) * static_cast<double>(spec.n) * static_cast<double>(spec.k);
}
/// Taps in the padding are not counted.
double flopsOf(const ConvSpec &spec, const VectorTarget &) {
  auto taps = [](int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, int64_t in) {
    int64_t count = 0;
    for (int64_t o = 0; o < out; ++o)
      for (int64_t k = 0; k < kernel; ++k) {
        int64_t i = o * stride - pad + k * dilation;
        count += i >= 0 && i < in;
      }
    return static_cast<double>(count);
  };
  return 2.0 * static_cast<double>(spec.batch * spec.outC * spec.groupInC()) *
         taps(spec.outH, spec.kernelH, spec.strideH, spec.dilationH, spec.padTop, spec.inH) *
         taps(spec.outW, spec.kernelW, spec.strideW, spec.dilationW, spec.padLeft, spec.inW);
}

double flopsOf(const WinogradCase &test, const VectorTarget &target) { return flopsOf(test.image, target); }

double secondsOf(const Run &run, int calls) {
  double start = threadSeconds();
  for (int i = 0; i < calls; ++i)
    run();
  return (threadSeconds() - start) / calls;
}

ConvSpec convolution(int64_t size, int64_t inC, int64_t outC, int64_t kernel, int64_t stride, int64_t groups = 1) {
  ConvSpec spec;
  spec.inH = spec.inW = size;
  spec.inC = inC;
  spec.outC = outC;
  spec.outH = spec.outW = (size + stride - 1) / stride;
  spec.kernelH = spec.kernelW = kernel;
  spec.strideH = spec.strideW = stride;
  spec.padTop = spec.padLeft = kernel / 2;
  spec.groups = groups;
  return spec;
}

MatmulSpec product(int64_t m, int64_t n, int64_t k) {
  MatmulSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.lda = k;
  spec.ldb = n;
  spec.packedB = true;
  return spec;
}

MatmulSpec activations(int64_t m, int64_t n, int64_t k, bool transposeB) {
  MatmulSpec spec = product(m, n, k);
  spec.packedB = false;
  spec.transposeB = transposeB;
  spec.ldb = transposeB ? k : n;
  return spec;
}

/// By both sizes of tiles.
void addWinogradCases(std::vector<KernelCase> &cases, int64_t size, int64_t inC, int64_t outC) {
  for (int64_t outputs : {2, 4})
    cases.push_back({"winograd" + std::to_string(outputs) + " 3x3 " + std::to_string(inC) + "-" + std::to_string(outC) +
                         " @" + std::to_string(size),
                     WinogradCase{convolution(size, inC, outC, 3, 1), outputs}});
}

/// Products of bytes of one shape, by each instruction.
void addIntegerCases(std::vector<KernelCase> &cases, int64_t m, int64_t n, int64_t k) {
  const std::string shape = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  for (auto [name, dot] : {std::pair("tiles", IntegerDot::Tiles), std::pair("quads", IntegerDot::Quads),
                           std::pair("pairs", IntegerDot::Pairs)}) {
    const std::string prefix = std::string("int8 ") + name + " ";
    cases.push_back({prefix + shape, IntegerCase{m, n, k, dot}});
    cases.push_back({prefix + shape + " to s8", IntegerCase{m, n, k, dot, false, true}});
    if (dot != IntegerDot::Tiles)
      cases.push_back({prefix + shape + " u8 u8", IntegerCase{m, n, k, dot, true}});
  }
}

/// Products of f16 and bf16 of one shape, by each form.
void addHalfCases(std::vector<KernelCase> &cases, int64_t m, int64_t n, int64_t k) {
  const std::string shape = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  using Form = HalfCase::Form;
  cases.push_back({"bf16 tiles " + shape, HalfCase{m, n, k, Form::Tiles, false}});
  cases.push_back({"bf16 pairs " + shape, HalfCase{m, n, k, Form::Pairs, false}});
  cases.push_back({"bf16 widened " + shape, HalfCase{m, n, k, Form::Widened, false}});
  cases.push_back({"f16 tiles " + shape, HalfCase{m, n, k, Form::Tiles, true}});
  cases.push_back({"f16 widened " + shape, HalfCase{m, n, k, Form::Widened, true}});
}

} // namespace

IntegerSpec HalfCase::describe(const VectorTarget &target) const {
  IntegerSpec spec;
  spec.panels = {form == Form::Tiles ? IntegerDot::Tiles : IntegerDot::Quads,
                 n,
                 1,
                 2 * k,
                 integerPanel(n, target),
                 false,
                 isF16 ? 2 : 1};
  spec.rows = m;
  spec.rowStride = 2 * halfPitch(k);
  return spec;
}

IntegerSpec IntegerCase::describe(const VectorTarget &target) const {
  IntegerSpec spec;
  spec.panels = {dot, n, 1, k, integerPanel(n, target), hasZeroPoints};
  spec.rows = m;
  spec.rowStride = k;
  return spec;
}

bool canRun(const KernelCase &test, const VectorTarget &target) {
  if (const auto *half = std::get_if<HalfCase>(&test.spec)) {
    auto host = resolveTarget("native");
    if (half->form == HalfCase::Form::Widened)
      return true;
    const IntegerDot dot = half->describe(target).panels.dot;
    return host && supportsDot(dot, target.lanesF32) && chooseDot(dot, half->m, 2 * half->k, false) == dot &&
           (half->form == HalfCase::Form::Tiles ? host->halfProducts == "tiles" : host->halfProducts != "none");
  }
  const auto *product = std::get_if<IntegerCase>(&test.spec);
  auto host = resolveTarget("native");
  if (const auto *registers = std::get_if<RegisterCase>(&test.spec))
    return !registers->ofBytes ||
           (host && supportsDot(IntegerDot::Quads, target.lanesF32) && host->byteProducts != "pairs");
  if (!product)
    return true;
  if (!host || !supportsDot(product->dot, target.lanesF32) ||
      chooseDot(product->dot, product->m, product->k, false) != product->dot)
    return false;
  return product->dot == IntegerDot::Pairs || (product->dot == IntegerDot::Quads && host->byteProducts != "pairs") ||
         (product->dot == IntegerDot::Tiles && host->byteProducts == "tiles");
}

bool haveOneDnn() {
#ifdef SLUICE_HAVE_ONEDNN
  return true;
#else
  return false;
#endif
}

std::vector<KernelCase> standardCases() {
  std::vector<KernelCase> cases = {
      {"f32 registers alone", RegisterCase{false}},
      {"int8 quads registers alone", RegisterCase{true}},
      {"matmul 512", product(512, 512, 512)},
      {"matmul 1024", product(1024, 1024, 1024)},
      {"matmul 128x768x3072", product(128, 768, 3072)},
      {"matmul 128x4096x16384", product(128, 4096, 16384)},
      {"matmul plain B 512", activations(512, 512, 512, false)},
      {"attention QK 384x384x64", activations(384, 384, 64, true)},
      {"attention PV 384x64x384", activations(384, 64, 384, false)},
      {"classifier 1x1000x2048", product(1, 1000, 2048)},
      {"conv 7x7/2 3-64 @224", convolution(224, 3, 64, 7, 2)},
      {"conv 1x1 64-64 @56", convolution(56, 64, 64, 1, 1)},
      {"conv 3x3 64-64 @56", convolution(56, 64, 64, 3, 1)},
      {"conv 1x1 64-256 @56", convolution(56, 64, 256, 1, 1)},
      {"conv 1x1 256-64 @56", convolution(56, 256, 64, 1, 1)},
      {"conv 1x1 256-128 @56", convolution(56, 256, 128, 1, 1)},
      {"conv 3x3/2 128-128 @56", convolution(56, 128, 128, 3, 2)},
      {"conv 1x1/2 256-512 @56", convolution(56, 256, 512, 1, 2)},
      {"conv 1x1 128-512 @28", convolution(28, 128, 512, 1, 1)},
      {"conv 1x1 512-128 @28", convolution(28, 512, 128, 1, 1)},
      {"conv 3x3 128-128 @28", convolution(28, 128, 128, 3, 1)},
      {"conv 1x1 512-256 @28", convolution(28, 512, 256, 1, 1)},
      {"conv 3x3/2 256-256 @28", convolution(28, 256, 256, 3, 2)},
      {"conv 1x1/2 512-1024 @28", convolution(28, 512, 1024, 1, 2)},
      {"conv 1x1 256-1024 @14", convolution(14, 256, 1024, 1, 1)},
      {"conv 1x1 1024-256 @14", convolution(14, 1024, 256, 1, 1)},
      {"conv 3x3 256-256 @14", convolution(14, 256, 256, 3, 1)},
      {"conv 1x1 1024-512 @14", convolution(14, 1024, 512, 1, 1)},
      {"conv 3x3/2 512-512 @14", convolution(14, 512, 512, 3, 2)},
      {"conv 1x1/2 1024-2048 @14", convolution(14, 1024, 2048, 1, 2)},
      {"conv 1x1 512-2048 @7", convolution(7, 512, 2048, 1, 1)},
      {"conv 1x1 2048-512 @7", convolution(7, 2048, 512, 1, 1)},
      {"conv 3x3 512-512 @7", convolution(7, 512, 512, 3, 1)},
      {"conv 3x3 128 in 32 groups @56", convolution(56, 128, 128, 3, 1, 32)},
      {"depthwise 96 @112", convolution(112, 96, 96, 3, 1, 96)},
      {"depthwise/2 96 @112", convolution(112, 96, 96, 3, 2, 96)},
      {"depthwise 576 @14", convolution(14, 576, 576, 3, 1, 576)},
      {"conv 1x1 96-24 @56", convolution(56, 96, 24, 1, 1)},
  };
  for (auto [size, inC, outC] : {std::tuple{224, 64, 64}, {112, 128, 128}})
    cases.push_back({"conv 3x3 " + std::to_string(inC) + "-" + std::to_string(outC) + " @" + std::to_string(size),
                     convolution(size, inC, outC, 3, 1)});
  for (auto [size, inC, outC] :
       {std::tuple{224, 64, 64}, {112, 128, 128}, {56, 64, 64}, {28, 128, 128}, {14, 256, 256}, {7, 512, 512}})
    addWinogradCases(cases, size, inC, outC);
  addIntegerCases(cases, 1024, 1024, 1024);
  addIntegerCases(cases, 64, 288, 1152);
  addIntegerCases(cases, 1, 4096, 4096);
  addIntegerCases(cases, 128, 1024, 4096);
  addHalfCases(cases, 1024, 1024, 1024);
  addHalfCases(cases, 3136, 64, 64);
  addHalfCases(cases, 1, 4096, 4096);
  addHalfCases(cases, 128, 768, 3072);
  return cases;
}

KernelTiming timeKernel(const KernelCase &test, const VectorTarget &target, int repeats,
                        const std::string &objectPath) {
  KernelTiming timing;
  OurRun our = std::visit([&](const auto &spec) { return ours(spec, target, objectPath); }, test.spec);
  if (!our.run)
    return timing;
  timing.flops = std::visit([&](const auto &spec) { return flopsOf(spec, target); }, test.spec);
  timing.compileMs = our.compileMs;
  Run other;
#ifdef SLUICE_HAVE_ONEDNN
  useOneThread();
  DnnContext context;
  other = std::visit([&](const auto &spec) { return oneDnn(spec, context); }, test.spec);
#endif
  // Short kernels run several times a measurement: about a millisecond.
  int calls = std::clamp(static_cast<int>(1e-3 / std::max(secondsOf(our.run, 1), 1e-7)), 1, 1000);
  std::vector<double> ourTimes, otherTimes, ratios;
  if (other)
    secondsOf(other, 1);
  for (int i = 0; i < repeats; ++i) {
    ourTimes.push_back(secondsOf(our.run, calls));
    if (other) {
      otherTimes.push_back(secondsOf(other, calls));
      ratios.push_back(ourTimes.back() / otherTimes.back());
    }
  }
  timing.ourSeconds = median(ourTimes);
  if (other) {
    timing.oneDnnSeconds = median(otherTimes);
    timing.ratio = median(ratios);
  }
  return timing;
}

} // namespace sluice::bench
