//===- ContractionHarness.cpp - Checks kernels against plain loops --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ContractionHarness.h"
#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/ContractionPacking.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "sluice/Support/Rng.h"
#include "tools/sluice-bench/KernelJit.h"
#include "llvm/ADT/APFloat.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace mlir;
using namespace sluice::emit;

namespace sluice::test {

namespace {

/// An array whose end, up to `alignment` bytes, and whose begin meet unreadable pages: two copies of the same data.
template <typename T>
class Guarded {
public:
  explicit Guarded(size_t count) : count(count), page(sysconf(_SC_PAGESIZE)) {
    bytes = (count * sizeof(T) + page - 1) / page * page;
    map = static_cast<char *>(
        mmap(nullptr, bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map != MAP_FAILED);
    mprotect(map, page, PROT_NONE);
    mprotect(map + page + bytes, page, PROT_NONE);
  }
  ~Guarded() { munmap(map, bytes + 2 * page); }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  /// The array, ending at the unreadable page.
  T *data() { return reinterpret_cast<T *>(map + page + bytes) - count; }
  /// The same values, beginning after the unreadable page.
  T *dataAtBegin() {
    T *begin = reinterpret_cast<T *>(map + page);
    std::copy_n(data(), count, begin);
    return begin;
  }
  T &operator[](size_t i) { return data()[i]; }

private:
  size_t count, page, bytes = 0;
  char *map = nullptr;
};

template <typename Array>
void fill(Array &values, size_t count, Rng &rng) {
  for (size_t i = 0; i < count; ++i)
    values[i] =
        static_cast<std::remove_reference_t<decltype(values[i])>>(static_cast<double>(rng.below(2001)) / 1000 - 1);
}

/// Stores at the row-major position of `shape`, adding to what is there: a second store would show.
void storeAdding(OpBuilder &b, Location loc, Value output, llvm::ArrayRef<int64_t> shape, Value value,
                 ValueRange indices) {
  Value position = arith::ConstantIndexOp::create(b, loc, 0);
  for (auto [extent, index] : llvm::zip_equal(shape, indices)) {
    Value scaled = arith::MulIOp::create(b, loc, position, arith::ConstantIndexOp::create(b, loc, extent));
    position = arith::AddIOp::create(b, loc, scaled, index);
  }
  position = arith::IndexCastOp::create(b, loc, b.getI64Type(), position);
  Value pointer = LLVM::GEPOp::create(b, loc, output.getType(), getElementTypeOrSelf(value), output,
                                      llvm::ArrayRef<LLVM::GEPArg>{position});
  Value old = LLVM::LoadOp::create(b, loc, value.getType(), pointer, 4);
  LLVM::StoreOp::create(b, loc, arith::AddFOp::create(b, loc, value, old), pointer, 4);
}

template <typename T>
void compare(Guarded<T> &actual, const std::vector<T> &expected, double tolerance) {
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    if (!(difference <= worst)) {
      worst = difference;
      where = i;
    }
  }
  CAPTURE(where, actual[where], expected[where]);
  REQUIRE(worst <= tolerance);
}

void runInTwo(const bench::Kernel &kernel, const void *a, const void *b, void *c, int64_t extent) {
  int64_t middle = extent / 3;
  kernel(a, b, c, middle, extent);
  kernel(a, b, c, 0, middle);
}

/// 0.3 throughout, so that every sum's additions round the same way for long.
void fillAlike(Guarded<float> &values, size_t count) { std::fill_n(values.data(), count, 0.3f); }

/// Within (sumLength + terms / sumLength) roundings of `terms` squares of 0.3f.
void compareLong(Guarded<float> &actual, size_t outputs, int64_t terms, int64_t sumLength) {
  double exact = static_cast<double>(0.3f) * 0.3f * static_cast<double>(terms);
  double roundings = static_cast<double>(sumLength + (terms + sumLength - 1) / sumLength);
  compare(actual, std::vector<float>(outputs, static_cast<float>(exact)), roundings * 0x1p-24 * exact);
}

} // namespace

std::string describe(const ConvSpec &s) {
  std::ostringstream out;
  out << s.batch << "x" << s.inH << "x" << s.inW << "x" << s.inC << " -> " << s.outH << "x" << s.outW << "x" << s.outC
      << " kernel " << s.kernelH << "x" << s.kernelW << " stride " << s.strideH << "x" << s.strideW << " pad "
      << s.padTop << "," << s.padLeft << " dilation " << s.dilationH << "x" << s.dilationW << " groups " << s.groups;
  return out.str();
}

namespace {
using EmitConv = llvm::function_ref<void(OpBuilder &, Location, const Operands &, WorkItems, SinkFn)>;

/// `pack` writes the `packedSize` elements of the kernel's weights.
void checkImages(const ConvSpec &spec, size_t packedSize,
                 llvm::function_ref<void(const std::vector<float> &, float *)> pack, EmitConv emit, int64_t extent) {
  Rng rng(7);
  size_t inputs = spec.batch * spec.inH * spec.inW * spec.inC;
  size_t filters = spec.outC * spec.groupInC() * spec.kernelH * spec.kernelW;
  size_t outputs = spec.batch * spec.outH * spec.outW * spec.outC;
  Guarded<float> input(inputs), packed(packedSize), output(outputs);
  std::vector<float> weights(filters), expected(outputs);
  fill(input, inputs, rng);
  fill(weights, filters, rng);
  pack(weights, packed.data());
  referenceConv2d(spec, input.data(), weights.data(), expected.data());

  auto kernel = bench::Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
    emit(b, loc, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
         [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
           storeAdding(b, loc, p[2], {spec.batch, spec.outH, spec.outW, spec.outC}, value, indices);
         });
  });
  REQUIRE(kernel);
  double tolerance = 2e-6 * static_cast<double>(filters / spec.outC) + 1e-6;
  runInTwo(*kernel, input.data(), packed.data(), output.data(), extent);
  compare(output, expected, tolerance);
  std::fill_n(output.data(), outputs, 0.0f);
  runInTwo(*kernel, input.dataAtBegin(), packed.data(), output.data(), extent);
  compare(output, expected, tolerance);
}
} // namespace

void checkConv(const ConvSpec &spec, const VectorTarget &target) {
  const ConvSpec emitted = turnColumn(spec);
  checkImages(
      spec, packedConvWeightsSize(emitted, target),
      [&](const std::vector<float> &weights, float *packed) {
        packConvWeights(emitted, target, weights.data(), packed);
      },
      [&](OpBuilder &b, Location loc, const Operands &operands, WorkItems items, SinkFn sink) {
        emitConv2d(b, loc, emitted, target, {operands.lhs, operands.rhs}, items, sink);
      },
      parallelExtent(emitted, target));
}

void checkShiftAdd(const ConvSpec &spec, const VectorTarget &target) {
  const ShiftAddSpec shifted{spec};
  const ConvSpec taps = shifted.taps();
  checkImages(
      spec, packedConvWeightsSize(taps, target),
      [&](const std::vector<float> &weights, float *packed) {
        std::vector<float> widthFirst;
        for (int64_t kw = 0; kw < spec.kernelW; ++kw)
          for (size_t row = 0; row < weights.size(); row += spec.kernelW)
            widthFirst.push_back(weights[row + kw]);
        packConvWeights(taps, target, widthFirst.data(), packed);
      },
      [&](OpBuilder &b, Location loc, const Operands &operands, WorkItems items, SinkFn sink) {
        emitShiftAdd(b, loc, shifted, target, {operands.lhs, operands.rhs}, items, sink);
      },
      parallelExtent(shifted, target));
}

double checkWinograd(const WinogradSpec &spec, const VectorTarget &target) {
  Rng rng(7);
  const ConvSpec &image = spec.image;
  size_t inputs = image.batch * image.inH * image.inW * image.inC, filters = image.outC * image.inC * 9;
  size_t outputs = image.batch * image.outH * image.outW * image.outC;
  Guarded<float> input(inputs), weights(filters), packed(packedWinogradWeightsSize(spec)), output(outputs);
  fill(input, inputs, rng);
  fill(weights, filters, rng);
  packWinogradWeights(spec, weights.data(), packed.data());
  std::vector<float> expected(outputs);
  referenceConv2d(image, input.data(), weights.data(), expected.data());
  auto kernel = bench::Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
    emitWinograd(b, loc, spec, target, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
                 [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                   storeAdding(b, loc, p[2], {image.batch, image.outH, image.outW, image.outC}, value, indices);
                 });
  });
  REQUIRE(kernel);
  // Inputs and weights have a variance of 1/3, and an output has nine terms a channel.
  const double magnitude = std::sqrt(static_cast<double>(9 * image.inC)) / 3;
  runInTwo(*kernel, input.data(), packed.data(), output.data(), parallelExtent(spec, target));
  compare(output, expected, winogradErrorBound(spec) * magnitude);
  const std::vector<float> first(output.data(), output.data() + outputs);
  std::fill_n(output.data(), outputs, 0.0F);
  runInTwo(*kernel, input.dataAtBegin(), packed.data(), output.data(), parallelExtent(spec, target));
  REQUIRE(std::equal(first.begin(), first.end(), output.data()));
  double squares = 0;
  for (size_t i = 0; i < outputs; ++i)
    squares += std::pow(static_cast<double>(first[i]) - static_cast<double>(expected[i]), 2);
  return std::sqrt(squares / static_cast<double>(outputs)) / magnitude;
}

template <typename T>
void checkMatmul(const MatmulSpec &spec, const VectorTarget &target) {
  Rng rng(11);
  // The last row of a matrix ends with its last element, whatever the distance between rows.
  size_t rowsA = spec.transposeA ? spec.k : spec.m, columnsA = spec.transposeA ? spec.m : spec.k;
  size_t rowsB = spec.transposeB ? spec.n : spec.k, columnsB = spec.transposeB ? spec.k : spec.n;
  size_t sizeA = (rowsA - 1) * spec.lda + columnsA, sizeB = (rowsB - 1) * spec.ldb + columnsB;
  size_t outputs = spec.m * spec.n;
  Guarded<T> a(sizeA), matrix(sizeB), packed(packedMatmulBSize(spec, target)), output(outputs);
  fill(a, sizeA, rng);
  fill(matrix, sizeB, rng);
  packMatmulB(spec, target, matrix.data(), packed.data());
  std::vector<T> expected(outputs);
  referenceMatmul(spec, a.data(), matrix.data(), expected.data());

  auto kernel = bench::Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
    Type type = sizeof(T) == 8 ? Type(b.getF64Type()) : Type(b.getF32Type());
    emitMatmul(b, loc, spec, target, {{p[0], type}, {p[1], type}}, {begin, end},
               [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                 storeAdding(b, loc, p[2], {spec.m, spec.n}, value, indices);
               });
  });
  REQUIRE(kernel);
  runInTwo(*kernel, a.data(), spec.packedB ? packed.data() : matrix.data(), output.data(),
           parallelExtent(spec, target));
  compare(output, expected, (sizeof(T) == 8 ? 1e-14 : 2e-6) * static_cast<double>(spec.k) + 1e-12);
}
template void checkMatmul<float>(const MatmulSpec &, const VectorTarget &);
template void checkMatmul<double>(const MatmulSpec &, const VectorTarget &);

void checkLongMatmul(const MatmulSpec &spec, const VectorTarget &target, int64_t sumLength) {
  size_t outputs = spec.m * spec.n, packedSize = packedMatmulBSize(spec, target);
  Guarded<float> a(spec.m * spec.k), matrix(spec.k * spec.n), packed(packedSize), output(outputs);
  fillAlike(a, spec.m * spec.k);
  fillAlike(matrix, spec.k * spec.n);
  packMatmulB(spec, target, matrix.data(), packed.data());
  auto kernel = bench::Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
    emitMatmul(b, loc, spec, target, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
               [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                 storeAdding(b, loc, p[2], {spec.m, spec.n}, value, indices);
               });
  });
  REQUIRE(kernel);
  runInTwo(*kernel, a.data(), spec.packedB ? packed.data() : matrix.data(), output.data(),
           parallelExtent(spec, target));
  compareLong(output, outputs, spec.k, sumLength);
}

void checkLongConv(const ConvSpec &spec, const VectorTarget &target, int64_t sumLength) {
  size_t inputs = spec.batch * spec.inH * spec.inW * spec.inC;
  size_t filters = spec.outC * spec.groupInC() * spec.kernelH * spec.kernelW;
  size_t outputs = spec.batch * spec.outH * spec.outW * spec.outC;
  Guarded<float> input(inputs), weights(filters), packed(packedConvWeightsSize(spec, target)), output(outputs);
  fillAlike(input, inputs);
  fillAlike(weights, filters);
  packConvWeights(spec, target, weights.data(), packed.data());
  auto kernel = bench::Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
    emitConv2d(b, loc, spec, target, {{p[0], b.getF32Type()}, {p[1], b.getF32Type()}}, {begin, end},
               [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                 storeAdding(b, loc, p[2], {spec.batch, spec.outH, spec.outW, spec.outC}, value, indices);
               });
  });
  REQUIRE(kernel);
  runInTwo(*kernel, input.data(), packed.data(), output.data(), parallelExtent(spec, target));
  compareLong(output, outputs, static_cast<int64_t>(filters) / spec.outC, sumLength);
}

void checkMatmulF16Weights(const MatmulSpec &spec, const VectorTarget &target) {
  Rng rng(13);
  Guarded<float> a(spec.m * spec.k), matrix(spec.k * spec.n), output(spec.m * spec.n);
  size_t packedSize = packedMatmulBSize(spec, target);
  Guarded<uint16_t> packed(packedSize);
  fill(a, spec.m * spec.k, rng);
  for (int64_t i = 0; i < spec.k * spec.n; ++i)
    matrix[i] = static_cast<float>(rng.below(65)) / 32 - 1; // exact in f16
  std::vector<float> wide(packedSize), expected(spec.m * spec.n);
  packMatmulB(spec, target, matrix.data(), wide.data());
  for (size_t i = 0; i < packedSize; ++i) {
    llvm::APFloat half(wide[i]);
    bool inexact;
    half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    packed[i] = static_cast<uint16_t>(half.bitcastToAPInt().getZExtValue());
  }
  referenceMatmul(spec, a.data(), matrix.data(), expected.data());
  for (float &value : expected)
    value *= 2;
  auto kernel = bench::Kernel::compile([&](OpBuilder &b, Location loc, ValueRange p, Value begin, Value end) {
    Source lhs{p[0], b.getF32Type(), [](OpBuilder &b, Location loc, Value pointer, int64_t lanes) -> Value {
                 Value value = LLVM::LoadOp::create(b, loc, b.getF32Type(), pointer, 4);
                 REQUIRE(lanes == 1);
                 return arith::AddFOp::create(b, loc, value, value);
               }};
    emitMatmul(b, loc, spec, target, {lhs, {p[1], b.getF16Type()}}, {begin, end},
               [&](OpBuilder &b, Location loc, Value value, ValueRange indices, int64_t) {
                 storeAdding(b, loc, p[2], {spec.m, spec.n}, value, indices);
               });
  });
  REQUIRE(kernel);
  runInTwo(*kernel, a.data(), packed.data(), output.data(), parallelExtent(spec, target));
  compare(output, expected, 1e-4);
}

} // namespace sluice::test
