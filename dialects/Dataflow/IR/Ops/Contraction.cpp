//===- Contraction.cpp - matmul, conv, packing ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/ContractionPacking.h"
#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "llvm/Support/MathExtras.h"

#include <array>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

namespace {
/// M, N, K and the batch shape of a matmul.
struct MatmulShape {
  SmallVector<int64_t> batch;
  int64_t m, n, k;
};
} // namespace

static FailureOr<MatmulShape> matmulShape(std::optional<Location> loc, RankedTensorType lhs, RankedTensorType rhs,
                                          bool transposeLhs, bool transposeRhs, std::optional<int64_t> packedN) {
  if (lhs.getRank() < 2 || rhs.getRank() < (packedN ? 3 : 2))
    return emitOptionalError(loc, "matmul operands have ranks ", lhs.getRank(), " and ", rhs.getRank(),
                             ", at least 2 is needed");
  if (lhs.getElementType() != rhs.getElementType())
    return emitOptionalError(loc, "matmul operands have different element types");
  ArrayRef<int64_t> a = lhs.getShape(), c = rhs.getShape();
  MatmulShape shape;
  shape.m = a[a.size() - (transposeLhs ? 1 : 2)];
  shape.k = a[a.size() - (transposeLhs ? 2 : 1)];
  int64_t rhsK;
  ArrayRef<int64_t> rhsBatch;
  if (packedN) {
    shape.n = *packedN;
    rhsK = c[c.size() - 2];
    rhsBatch = c.drop_back(3);
    int64_t block = c.back();
    if (block <= 0 || c[c.size() - 3] != (shape.n + block - 1) / block)
      return emitOptionalError(loc, "packed operand has not the panels of ", shape.n, " columns");
  } else {
    shape.n = c[c.size() - (transposeRhs ? 2 : 1)];
    rhsK = c[c.size() - (transposeRhs ? 1 : 2)];
    rhsBatch = c.drop_back(2);
  }
  if (rhsK != shape.k)
    return emitOptionalError(loc, "matmul contracts ", shape.k, " with ", rhsK);
  auto batch = broadcastShapes({a.drop_back(2), rhsBatch});
  if (failed(batch))
    return emitOptionalError(loc, "matmul batch dimensions do not broadcast together");
  shape.batch = *batch;
  return shape;
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto lhs = typeOf(adaptor.getLhs()), rhs = typeOf(adaptor.getRhs());
  auto shape = matmulShape(loc, lhs, rhs, adaptor.getTransposeLhs(), adaptor.getTransposeRhs(), adaptor.getPackedN());
  if (failed(shape))
    return failure();
  SmallVector<int64_t> extents = shape->batch;
  extents.append({shape->m, shape->n});
  results.push_back(RankedTensorType::get(extents, lhs.getElementType()));
  return success();
}

LogicalResult MatmulOp::verify() {
  if (getLibrary() && getPackedN())
    return emitOpError("a library takes operands that are not packed");
  if (getPackedN() && getTransposeRhs())
    return emitOpError("a packed operand is not transposed");
  if (getType().getElementType().isInteger(1))
    return emitOpError("is not defined on bool");
  return success();
}

int64_t MatmulOp::getFlops() {
  int64_t k = shapeOf(getLhs())[typeOf(getLhs()).getRank() - (getTransposeLhs() ? 2 : 1)];
  return product({2, k, elementCount(getType())});
}

/// Index of one batch entry of an operand whose batch dimensions broadcast.
static Value batchOffset(KernelEmitter &kernel, ValueRange batchIndices, ArrayRef<int64_t> batch, int64_t matrix) {
  Value offset = kernel.index(0);
  int64_t stride = matrix;
  for (size_t i = batch.size(); i-- > 0;) {
    size_t at = batchIndices.size() - batch.size() + i;
    if (batch[i] != 1)
      offset = kernel.add(offset, kernel.mul(batchIndices[at], stride));
    stride *= batch[i];
  }
  return offset;
}

/// One sum a result element: integers, which the register-tiled emitter has no
/// form for.
static void emitPlainMatmul(MatmulOp op, KernelEmitter &kernel, const MatmulShape &shape) {
  Type element = op.getType().getElementType();
  SmallVector<int64_t> result = shape.batch;
  result.append({shape.m, shape.n});
  int64_t extent = product(result);
  kernel.parallel(extent, grainFor(op.getFlops(), extent), [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value linear) {
      SmallVector<Value> at = kernel.delinearize(linear, result);
      ValueRange batch = ValueRange(at).drop_back(2);
      Value zero = emitConstant(kernel.builder(), kernel.loc(), computeType(element), 0);
      Value sum = kernel.reduce(kernel.index(0), kernel.index(shape.k), 1, zero, [&](Value k, ValueRange acc) {
        auto read = [&](Value tensor, Value row, Value column) {
          ArrayRef<int64_t> own = shapeOf(tensor);
          SmallVector<Value> indices;
          for (size_t i = 0; i + 2 < own.size(); ++i)
            indices.push_back(own[i] == 1 ? kernel.index(0) : batch[batch.size() + 2 - own.size() + i]);
          indices.append({row, column});
          return kernel.element(tensor, indices);
        };
        Value m = at[at.size() - 2], n = at.back();
        Value x = op.getTransposeLhs() ? read(op.getLhs(), k, m) : read(op.getLhs(), m, k);
        Value y = op.getTransposeRhs() ? read(op.getRhs(), n, k) : read(op.getRhs(), k, n);
        OpBuilder &b = kernel.builder();
        Value term = emitBinary(b, kernel.loc(), BinaryKind::mul, x, y, false);
        return SmallVector<Value>{emitBinary(b, kernel.loc(), BinaryKind::add, acc[0], term, false)};
      })[0];
      kernel.store(sum, at);
    });
  });
}

static MatmulShape shapeOfMatmul(MatmulOp op) {
  return *matmulShape(std::nullopt, typeOf(op.getLhs()), typeOf(op.getRhs()), op.getTransposeLhs(),
                      op.getTransposeRhs(), op.getPackedN());
}

bool sluice::dataflow::isFlatMatmul(MatmulOp op) {
  MatmulShape shape = shapeOfMatmul(op);
  int64_t batches = product(shape.batch);
  return batches > 1 && !op.getTransposeLhs() && product(shapeOf(op.getLhs()).drop_back(2)) == batches &&
         product(shapeOf(op.getRhs()).drop_back(op.getPackedN() ? 3 : 2)) == 1;
}

emit::MatmulSpec sluice::dataflow::describeMatmul(MatmulOp op) {
  MatmulShape shape = shapeOfMatmul(op);
  emit::MatmulSpec spec;
  spec.m = isFlatMatmul(op) ? (shape.m * product(shape.batch)).value() : shape.m;
  spec.n = shape.n;
  spec.k = shape.k;
  spec.lda = shapeOf(op.getLhs()).back();
  spec.ldb = shapeOf(op.getRhs()).back();
  spec.transposeA = op.getTransposeLhs();
  spec.transposeB = op.getTransposeRhs();
  spec.packedB = op.getPackedN().has_value();
  spec.elementBits = op.getType().getElementType().isF64() ? 64 : 32;
  return spec;
}

/// As tiles of a grid, any type and layout.
static void emitGridMatmul(MatmulOp op, KernelEmitter &kernel, const MatmulShape &shape) {
  bool isFlat = isFlatMatmul(op), isPacked = op.getPackedN().has_value();
  SmallVector<int64_t> rows(shape.batch);
  rows.push_back(shape.m);
  GridProduct tiles;
  tiles.batches = isFlat ? int64_t(1) : product(shape.batch).value();
  tiles.m = isFlat ? product(rows).value() : shape.m;
  tiles.n = shape.n;
  tiles.k = shape.k;
  tiles.type = computeType(op.getType().getElementType());
  Type element = op.getType().getElementType();
  tiles.lhs.tensor = op.getLhs();
  tiles.rhs.tensor = op.getRhs();
  tiles.lhs.alongK = !op.getTransposeLhs();
  tiles.rhs.alongK = op.getTransposeRhs();
  tiles.lhs.run = longestRun(element, shapeOf(op.getLhs()).back());
  tiles.rhs.run = longestRun(element, shapeOf(op.getRhs()).back());
  // Indices of a matrix of an operand, whose batch dimensions broadcast.
  auto indices = [&](Value operand, Value batch, int64_t matrixRank) {
    ArrayRef<int64_t> own = shapeOf(operand).drop_back(matrixRank);
    SmallVector<Value> all = kernel.delinearize(batch, shape.batch), at;
    for (size_t i = 0; i < own.size(); ++i)
      at.push_back(own[i] == 1 ? kernel.index(0) : all[all.size() - own.size() + i]);
    return at;
  };
  auto locateLhs = [&](Value batch, Value m, Value k) {
    SmallVector<Value> at;
    if (isFlat) {
      at = kernel.delinearize(m, rows);
      at.push_back(k);
    } else {
      at = indices(op.getLhs(), batch, 2);
      at.append(op.getTransposeLhs() ? std::initializer_list<Value>{k, m} : std::initializer_list<Value>{m, k});
    }
    return ProductOperand::Place{at, Value()};
  };
  auto locateRhs = [&](Value batch, Value n, Value k) {
    SmallVector<Value> at = indices(op.getRhs(), isFlat ? kernel.index(0) : batch, isPacked ? 3 : 2);
    if (isPacked) {
      SmallVector<Value> panel = kernel.delinearize(n, {tiles.n, shapeOf(op.getRhs()).back()});
      at.append({panel[0], k, panel[1]});
    } else {
      at.append(op.getTransposeRhs() ? std::initializer_list<Value>{n, k} : std::initializer_list<Value>{k, n});
    }
    return ProductOperand::Place{at, Value()};
  };
  auto sink = [&](Value batch, Value m, Value n, Value sum) {
    SmallVector<Value> at;
    if (isFlat) {
      at = kernel.delinearize(m, rows);
    } else {
      at = kernel.delinearize(batch, shape.batch);
      at.push_back(m);
    }
    at.push_back(n);
    kernel.store(sum, at);
  };
  tiles.lhs.locate = locateLhs;
  tiles.rhs.locate = locateRhs;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

void MatmulOp::emitKernel(KernelEmitter &kernel) {
  auto lhs = typeOf(getLhs()), rhs = typeOf(getRhs());
  MatmulShape shape = shapeOfMatmul(*this);
  Type element = getType().getElementType();
  if (elementCount(getType()) == 0)
    return;
  if (kernel.inGrids() && shape.k > 0) {
    emitGridMatmul(*this, kernel, shape);
    return;
  }
  if (!isa<FloatType>(element) || shape.k == 0) {
    emitPlainMatmul(*this, kernel, shape);
    return;
  }
  emit::MatmulSpec spec = describeMatmul(*this);
  spec.sinkStyle = kernel.sinkStyle();
  bool isFlat = isFlatMatmul(*this);
  int64_t batches = isFlat ? int64_t(1) : product(shape.batch).value();
  ArrayRef<int64_t> lhsBatch = lhs.getShape().drop_back(2);
  ArrayRef<int64_t> rhsBatch = rhs.getShape().drop_back(spec.packedB ? 3 : 2);
  int64_t lhsMatrix = product(lhs.getShape().take_back(2));
  int64_t rhsMatrix = product(rhs.getShape().take_back(spec.packedB ? 3 : 2));
  int64_t perBatch = emit::parallelExtent(spec, kernel.target());
  kernel.parallel(batches * perBatch, grainFor(getFlops(), batches * perBatch), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    auto emitOne = [&](ValueRange batchIndices, Value lo, Value hi) {
      Value a = kernel.address(kernel.pointer(getLhs()), element,
                               batchOffset(kernel, batchIndices, isFlat ? ArrayRef<int64_t>() : lhsBatch, lhsMatrix));
      Value c = kernel.address(kernel.pointer(getRhs()), element,
                               batchOffset(kernel, batchIndices, isFlat ? ArrayRef<int64_t>() : rhsBatch, rhsMatrix));
      emit::emitMatmul(b, loc, spec, kernel.target(), {{a, element}, {c, element}}, {lo, hi},
                       [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                         OpBuilder::InsertionGuard guard(b);
                         b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
                         SmallVector<Value> at(batchIndices);
                         if (isFlat) {
                           SmallVector<int64_t> rows = shape.batch;
                           rows.push_back(shape.m);
                           at = kernel.delinearize(indices[0], rows);
                           at.push_back(indices[1]);
                         } else {
                           at.append(indices.begin(), indices.end());
                         }
                         kernel.storeLanes(value, at, lanes);
                         inner.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
                       });
    };
    if (batches == 1) {
      SmallVector<Value> zeros(isFlat ? 0 : shape.batch.size(), kernel.index(0));
      emitOne(zeros, begin, end);
      return;
    }
    Value per = kernel.index(perBatch);
    Value first = arith::DivUIOp::create(b, loc, begin, per);
    Value last = arith::CeilDivUIOp::create(b, loc, end, per);
    kernel.loop(first, last, 1, [&](Value batch) {
      Value base = kernel.mul(batch, perBatch);
      Value lo = arith::MaxSIOp::create(b, loc, arith::SubIOp::create(b, loc, begin, base), kernel.index(0));
      Value hi = arith::MinSIOp::create(b, loc, arith::SubIOp::create(b, loc, end, base), per);
      emitOne(kernel.delinearize(batch, shape.batch), lo, hi);
    });
  });
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ConvOp::getKernelShape() {
  if (auto kernel = getKernel())
    return SmallVector<int64_t>(*kernel);
  ArrayRef<int64_t> weight = shapeOf(getWeight()).drop_front();
  return SmallVector<int64_t>(getWeightLayout() == Layout::channels_last ? weight.drop_back() : weight.drop_front());
}

bool ConvOp::isLaidOut() {
  return getPackedChannels() || getLayout() != Layout::channels_first || getWeightLayout() != Layout::channels_first;
}

int64_t ConvOp::getWeightChannelDim() {
  return getWeightLayout() == Layout::channels_last ? typeOf(getWeight()).getRank() - 1 : 1;
}

int64_t ConvOp::getOutputChannels() { return getPackedChannels() ? *getPackedChannels() : shapeOf(getWeight())[0]; }

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  auto input = typeOf(adaptor.getInput()), weight = typeOf(adaptor.getWeight());
  int64_t spatial = input.getRank() - 2;
  bool isPacked = adaptor.getPackedChannels().has_value();
  if (spatial < 1 || spatial > 3 || (!isPacked && weight.getRank() != input.getRank()))
    return emitOptionalError(loc, "conv of input rank ", input.getRank(), " and weight rank ", weight.getRank());
  if (input.getElementType() != weight.getElementType())
    return emitOptionalError(loc, "conv input and weight have different element types");
  if (isPacked && (!adaptor.getKernel() || static_cast<int64_t>(adaptor.getKernel()->size()) != spatial))
    return emitOptionalError(loc, "a packed weight needs the 'kernel' attribute");
  const bool weightLast = adaptor.getWeightLayout() == Layout::channels_last;
  ArrayRef<int64_t> kernel = isPacked ? *adaptor.getKernel() : weight.getShape().slice(weightLast ? 1 : 2, spatial);
  ArrayRef<int64_t> strides = adaptor.getStrides(), pads = adaptor.getPads(), dilations = adaptor.getDilations();
  if (static_cast<int64_t>(strides.size()) != spatial || static_cast<int64_t>(dilations.size()) != spatial ||
      static_cast<int64_t>(pads.size()) != 2 * spatial)
    return emitOptionalError(loc, "strides, pads or dilations do not match ", spatial, " spatial dimensions");
  for (ArrayRef<int64_t> list : {kernel, strides, pads, dilations})
    if (!llvm::all_of(list, [](int64_t value) { return llvm::isInt<32>(value); }))
      return emitOptionalError(loc, "conv kernel, strides, pads or dilations do not fit 32 bits");
  bool last = adaptor.getLayout() == Layout::channels_last;
  int64_t channels = input.getDimSize(last ? spatial + 1 : 1), groups = adaptor.getGroups();
  int64_t outChannels = isPacked ? *adaptor.getPackedChannels() : weight.getDimSize(0);
  if (groups < 1 || channels % groups || outChannels % groups ||
      (!isPacked && weight.getDimSize(weightLast ? spatial + 1 : 1) != channels / groups))
    return emitOptionalError(loc, "conv of ", channels, " to ", outChannels, " channels in ", groups,
                             " groups does not match its weight");
  SmallVector<int64_t> shape{input.getDimSize(0)};
  if (!last)
    shape.push_back(outChannels);
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t extent = input.getDimSize(i + (last ? 1 : 2));
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1)
      return emitOptionalError(loc, "conv strides, dilations and kernel extents are at least 1");
    // Below 2^62, so that with an extent of the same size nothing overflows.
    int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    if (extent > (int64_t(1) << 60))
      return emitOptionalError(loc, "conv input of ", extent, " elements in spatial dimension ", i);
    int64_t room = extent + pads[i] + pads[spatial + i] - reach;
    if (room < 0)
      return emitOptionalError(loc, "conv kernel reaches over ", reach, " elements of spatial dimension ", i,
                               ", the padded input has ", room + reach);
    shape.push_back(room / strides[i] + 1);
  }
  if (last)
    shape.push_back(outChannels);
  results.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult ConvOp::verify() {
  if (getPackedChannels() && (getLayout() != Layout::channels_last || typeOf(getInput()).getRank() != 4))
    return emitOpError("a packed weight needs a channels_last image");
  if (getPackedChannels() && getWeightLayout() != Layout::channels_first)
    return emitOpError("a packed weight has an order of its own, not 'weight_layout'");
  if (getLibrary() && getPackedChannels())
    return emitOpError("a library takes operands that are not packed");
  if (getType().getElementType().isInteger(1))
    return emitOpError("is not defined on bool");
  return success();
}

int64_t ConvOp::getFlops() {
  int64_t channels = shapeOf(getInput())[getLayout() == Layout::channels_last ? typeOf(getInput()).getRank() - 1 : 1];
  return product({2, elementCount(getType()), channels / static_cast<int64_t>(getGroups()), product(getKernelShape())});
}

emit::ConvSpec sluice::dataflow::describeConv(ConvOp op) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t height = last ? 1 : 2, channel = last ? 3 : 1;
  SmallVector<int64_t> kernel = op.getKernelShape();
  emit::ConvSpec spec;
  spec.batch = in[0];
  spec.inH = in[height];
  spec.inW = in[height + 1];
  spec.inC = in[channel];
  spec.outH = out[height];
  spec.outW = out[height + 1];
  spec.outC = out[channel];
  spec.kernelH = kernel[0];
  spec.kernelW = kernel[1];
  spec.strideH = op.getStrides()[0];
  spec.strideW = op.getStrides()[1];
  spec.padTop = op.getPads()[0];
  spec.padLeft = op.getPads()[1];
  spec.dilationH = op.getDilations()[0];
  spec.dilationW = op.getDilations()[1];
  spec.groups = op.getGroups();
  return spec;
}

/// Any rank, layout and element type: one sum a result element.
static void emitPlainConv(ConvOp op, KernelEmitter &kernel) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, channelAt = last ? spatial + 1 : 1, spatialAt = last ? 1 : 2;
  int64_t groups = op.getGroups(), perGroup = in[channelAt] / groups, outPerGroup = out[channelAt] / groups;
  SmallVector<int64_t> window = op.getKernelShape();
  Type element = op.getType().getElementType(), compute = computeType(element);
  int64_t extent = product(out);
  if (extent == 0)
    return;
  kernel.parallel(extent, grainFor(op.getFlops(), extent), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loop(begin, end, 1, [&](Value linear) {
      SmallVector<Value> at = kernel.delinearize(linear, out);
      Value m = at[channelAt];
      Value group =
          groups == 1 ? kernel.index(0) : arith::DivUIOp::create(b, loc, m, kernel.index(outPerGroup)).getResult();
      Value firstChannel = kernel.mul(group, perGroup);
      SmallVector<Value> tap;
      // Kernel dimensions outside, channels inside; a row of the kernel outside
      // the image is skipped.
      std::function<Value(size_t, Value, SmallVector<Value>)> level = [&](size_t d, Value acc,
                                                                          SmallVector<Value> position) -> Value {
        if (d == spatial) {
          return kernel.reduce(kernel.index(0), kernel.index(perGroup), 1, acc, [&](Value c, ValueRange sums) {
            SmallVector<Value> from{at[0]}, weight(tap);
            weight.insert(weight.begin(), m);
            weight.insert(weight.begin() + op.getWeightChannelDim(), c);
            Value channel = kernel.add(firstChannel, c);
            if (!last)
              from.push_back(channel);
            llvm::append_range(from, position);
            if (last)
              from.push_back(channel);
            Value term = emitBinary(b, loc, BinaryKind::mul, kernel.element(op.getInput(), from),
                                    kernel.element(op.getWeight(), weight), false);
            return SmallVector<Value>{emitBinary(b, loc, BinaryKind::add, sums[0], term, false)};
          })[0];
        }
        return kernel.reduce(kernel.index(0), kernel.index(window[d]), 1, acc, [&](Value k, ValueRange sums) {
          Value i = kernel.add(kernel.mul(at[spatialAt + d], op.getStrides()[d]),
                               kernel.add(kernel.mul(k, op.getDilations()[d]), kernel.index(-op.getPads()[d])));
          Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(in[spatialAt + d]));
          SmallVector<Value> next = position;
          next.push_back(i);
          tap.push_back(k);
          Value sum = kernel.choose(
              inside, [&] { return level(d + 1, sums[0], next); }, [&] { return sums[0]; });
          tap.pop_back();
          return SmallVector<Value>{sum};
        })[0];
      };
      kernel.store(level(0, emitConstant(b, loc, compute, 0), {}), at);
    });
  });
}

namespace {
/// A convolution's elements by their coordinates, packed weights or not.
struct ConvElements {
  ConvOp op;
  KernelEmitter &kernel;
  ArrayRef<int64_t> in = shapeOf(op.getInput());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, spatialAt = last ? 1 : 2;
  int64_t groups = op.getGroups();
  int64_t inputs = in[last ? spatial + 1 : 1] / groups, outputs = op.getOutputChannels() / groups;

  SmallVector<Value> at(Value image, Value channel, ValueRange position) {
    SmallVector<Value> at{image};
    if (!last)
      at.push_back(channel);
    llvm::append_range(at, position);
    if (last)
      at.push_back(channel);
    return at;
  }

  /// Where a tap of a window reads; zero in the padding.
  ProductOperand::Place inputAt(Value image, Value group, Value channel, ValueRange window, ValueRange tap) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> position;
    Value inside;
    for (size_t d = 0; d < spatial; ++d) {
      int64_t extent = in[spatialAt + d], tapped = op.getKernelShape()[d];
      Value i = kernel.add(kernel.mul(window[d], op.getStrides()[d]),
                           kernel.add(kernel.mul(tap[d], op.getDilations()[d]), kernel.index(-op.getPads()[d])));
      bool isPadded =
          op.getPads()[d] != 0 || op.getPads()[spatial + d] != 0 ||
          (shapeOf(op.getResult())[spatialAt + d] - 1) * op.getStrides()[d] + (tapped - 1) * op.getDilations()[d] >=
              extent;
      if (isPadded) {
        // Unsigned: below zero is far above.
        Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(extent));
        i = arith::SelectOp::create(b, loc, in, i, kernel.index(0));
        inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
      }
      position.push_back(i);
    }
    return {at(image, kernel.add(kernel.mul(group, inputs), channel), position), inside};
  }
  Value input(Value image, Value group, Value channel, ValueRange window, ValueRange tap) {
    ProductOperand::Place place = inputAt(image, group, channel, window, tap);
    Value value = kernel.element(op.getInput(), place.at);
    if (!place.inside)
      return value;
    OpBuilder &b = kernel.builder();
    Value zero = emitConstant(b, kernel.loc(), value.getType(), 0);
    return arith::SelectOp::create(b, kernel.loc(), place.inside, value, zero);
  }

  SmallVector<Value> weightAt(Value group, Value output, Value channel, ValueRange tap) {
    Value filter = kernel.add(kernel.mul(group, outputs), output);
    if (!op.getPackedChannels()) {
      SmallVector<Value> at(tap);
      at.insert(at.begin(), filter);
      at.insert(at.begin() + op.getWeightChannelDim(), channel);
      return at;
    }
    ArrayRef<int64_t> shape = shapeOf(op.getWeight());
    if (shape.size() == 3)
      return {tap[0], tap[1], filter};
    SmallVector<Value> panel = kernel.delinearize(output, {outputs, shape.back()});
    return {group, panel[0], tap[0], tap[1], channel, panel[1]};
  }
  Value weight(Value group, Value output, Value channel, ValueRange tap) {
    return kernel.element(op.getWeight(), weightAt(group, output, channel, tap));
  }
};
} // namespace

/// A product of all pixels' windows and the filters, for each group.
static void emitGridConv(ConvOp op, KernelEmitter &kernel) {
  ConvElements elements{op, kernel};
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  SmallVector<int64_t> taps = op.getKernelShape();
  SmallVector<int64_t> pixels{out[0]};
  llvm::append_range(pixels, out.drop_front(elements.spatialAt).take_front(elements.spatial));
  // In the weights' order, so that their elements lie together: (taps, channel) where packed, or as they are.
  bool isPacked = op.getPackedChannels().has_value(), endsInChannels = isPacked || op.getWeightChannelDim() != 1;
  SmallVector<int64_t> sum(taps);
  sum.insert(endsInChannels ? sum.end() : sum.begin(), elements.inputs);
  GridProduct tiles;
  tiles.batches = elements.groups;
  tiles.m = product(pixels);
  tiles.n = elements.outputs;
  tiles.k = product(sum);
  tiles.type = computeType(op.getType().getElementType());
  Type element = op.getType().getElementType();
  tiles.lhs.tensor = op.getInput();
  tiles.rhs.tensor = op.getWeight();
  tiles.lhs.alongK = elements.last;
  tiles.rhs.alongK = !isPacked;
  // Channels of a pixel lie together; so do filters of a panel, or a whole filter.
  if (elements.last && endsInChannels)
    tiles.lhs.run = longestRun(element, elements.inputs);
  bool hasPanels = isPacked && shapeOf(op.getWeight()).size() > 3;
  tiles.rhs.run = longestRun(element, hasPanels  ? shapeOf(op.getWeight()).back()
                                      : isPacked ? elements.outputs
                                                 : tiles.k);
  struct Term {
    Value channel;
    SmallVector<Value> tap;
  };
  auto split = [&](Value k) {
    SmallVector<Value> digits = kernel.delinearize(k, sum);
    Value channel = endsInChannels ? digits.back() : digits.front();
    digits.erase(endsInChannels ? digits.end() - 1 : digits.begin());
    return Term{channel, digits};
  };
  auto locateInput = [&](Value group, Value m, Value k) {
    SmallVector<Value> pixel = kernel.delinearize(m, pixels);
    Term term = split(k);
    return elements.inputAt(pixel[0], group, term.channel, ValueRange(pixel).drop_front(), term.tap);
  };
  auto locateWeight = [&](Value group, Value n, Value k) {
    Term term = split(k);
    return ProductOperand::Place{elements.weightAt(group, n, term.channel, term.tap), Value()};
  };
  auto sink = [&](Value group, Value m, Value n, Value value) {
    SmallVector<Value> pixel = kernel.delinearize(m, pixels);
    kernel.store(value, elements.at(pixel[0], kernel.add(kernel.mul(group, elements.outputs), n),
                                    ValueRange(pixel).drop_front()));
  };
  tiles.lhs.locate = locateInput;
  tiles.rhs.locate = locateWeight;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

/// A thread an element.
static void emitGridDepthwise(ConvOp op, KernelEmitter &kernel) {
  ConvElements elements{op, kernel};
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  SmallVector<int64_t> sum = op.getKernelShape();
  sum.push_back(elements.inputs);
  kernel.parallel(product(out), 1, [&](Value item, Value) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> at = kernel.delinearize(item, out);
    SmallVector<Value> channel =
        kernel.delinearize(at[elements.last ? elements.spatial + 1 : 1], {elements.groups, elements.outputs});
    Value zero = emitConstant(b, loc, computeType(op.getType().getElementType()), 0);
    Value total = kernel.reduce(kernel.index(0), kernel.index(product(sum)), 1, zero, [&](Value k, ValueRange sums) {
      SmallVector<Value> term = kernel.delinearize(k, sum);
      ValueRange tap = ValueRange(term).drop_back();
      Value x = elements.input(at[0], channel[0], term.back(),
                               ValueRange(at).drop_front(elements.spatialAt).take_front(elements.spatial), tap);
      Value w = elements.weight(channel[0], channel[1], term.back(), tap);
      return SmallVector<Value>{
          emitBinary(b, loc, BinaryKind::add, sums[0], emitBinary(b, loc, BinaryKind::mul, x, w, false), false)};
    })[0];
    kernel.store(total, at);
  });
}

void ConvOp::emitKernel(KernelEmitter &kernel) {
  if (kernel.inGrids() && elementCount(getType()) != 0) {
    hasFewFilters(static_cast<int64_t>(getGroups()), getOutputChannels()) ? emitGridDepthwise(*this, kernel)
                                                                          : emitGridConv(*this, kernel);
    return;
  }
  if (!getPackedChannels()) {
    emitPlainConv(*this, kernel);
    return;
  }
  emit::ConvSpec spec = describeConv(*this);
  spec.sinkStyle = kernel.sinkStyle();
  Type element = getType().getElementType();
  int64_t extent = emit::parallelExtent(spec, kernel.target());
  kernel.parallel(extent, grainFor(getFlops(), extent), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    emit::emitConv2d(b, kernel.loc(), spec, kernel.target(),
                     {{kernel.pointer(getInput()), element}, {kernel.pointer(getWeight()), element}}, {begin, end},
                     [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                       OpBuilder::InsertionGuard guard(b);
                       b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
                       kernel.storeLanes(value, indices, lanes);
                       inner.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
                     });
  });
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

LogicalResult PackConvWeightOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto weight = typeOf(adaptor.getWeight());
  int64_t groups = adaptor.getGroups(), block = adaptor.getBlock();
  if (weight.getRank() != 4 || groups < 1 || block < 1 || weight.getDimSize(0) % groups)
    return emitOptionalError(loc, "packs [M, C/groups, KH, KW] weights in positive blocks");
  int64_t outputs = weight.getDimSize(0), perGroup = outputs / groups;
  SmallVector<int64_t> shape;
  if (adaptor.getDepthwise())
    shape = {weight.getDimSize(2), weight.getDimSize(3), (outputs + block - 1) / block * block};
  else
    shape = {groups, (perGroup + block - 1) / block, weight.getDimSize(2), weight.getDimSize(3), weight.getDimSize(1),
             block};
  results.push_back(RankedTensorType::get(shape, weight.getElementType()));
  return success();
}

LogicalResult PackConvWeightOp::verify() { return success(); }

/// Calls fn with a type of the element's width: packing moves bytes. It needs no
/// alignment, which data in a model's file has not.
template <typename Fn>
static void withWidth(int64_t bytes, Fn fn) {
  switch (bytes) {
  case 1:
    return fn(std::array<char, 1>());
  case 2:
    return fn(std::array<char, 2>());
  case 4:
    return fn(std::array<char, 4>());
  default:
    return fn(std::array<char, 8>());
  }
}

LogicalResult PackConvWeightOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t groups = getGroups(), block = getBlock(), taps = shape[2] * shape[3], perGroup = shape[0] / groups;
  withWidth(elementBytes(operands[0].type.getElementType()), [&](auto sample) {
    using T = decltype(sample);
    auto *in = reinterpret_cast<const T *>(operands[0].data);
    auto *out = reinterpret_cast<T *>(results[0].data);
    if (getDepthwise())
      emit::packDepthwiseWeights(shape[0], taps, block, in, out);
    else
      emit::packConvBlocks(groups, perGroup, shape[1], taps, block, in, out);
  });
  return success();
}

/// What `read` gives, where blocks reach behind the last of `extent` positions zero.
static Value orZero(KernelEmitter &kernel, Value position, int64_t extent, int64_t block, Type type,
                    function_ref<Value()> read) {
  if (extent % block == 0)
    return read();
  OpBuilder &b = kernel.builder();
  Type compute = computeType(getElementTypeOrSelf(type));
  Value inside = arith::CmpIOp::create(b, kernel.loc(), arith::CmpIPredicate::ult, position, kernel.index(extent));
  return kernel.choose(inside, read, [&] { return emitConstant(b, kernel.loc(), compute, 0); });
}

/// At run time, where the weight is trained.
Value PackConvWeightOp::emitElement(KernelEmitter &kernel, ValueRange at) {
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  const auto groups = static_cast<int64_t>(getGroups()), block = static_cast<int64_t>(getBlock());
  // [KH][KW][M up to the block] or [groups][M/groups/block][KH][KW][C/groups][block].
  Value position = getDepthwise() ? at[2] : kernel.add(kernel.mul(at[1], block), at[5]);
  const int64_t perGroup = getDepthwise() ? weight[0] : weight[0] / groups;
  auto read = [&] {
    if (getDepthwise())
      return kernel.element(getWeight(), {position, kernel.index(0), at[0], at[1]});
    Value filter = kernel.add(kernel.mul(at[0], perGroup), position);
    return kernel.element(getWeight(), {filter, at[4], at[2], at[3]});
  };
  return orZero(kernel, position, perGroup, block, getType(), read);
}

LogicalResult PackMatmulRhsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &results) {
  auto rhs = typeOf(adaptor.getRhs());
  int64_t block = adaptor.getBlock();
  if (rhs.getRank() < 2 || block < 1)
    return emitOptionalError(loc, "packs matrices in positive blocks");
  ArrayRef<int64_t> extents = rhs.getShape();
  int64_t rows = extents[extents.size() - 2], columns = extents.back();
  if (adaptor.getTransposed())
    std::swap(rows, columns);
  SmallVector<int64_t> shape(extents.drop_back(2));
  shape.append({(columns + block - 1) / block, rows, block});
  results.push_back(RankedTensorType::get(shape, rhs.getElementType()));
  return success();
}

LogicalResult PackMatmulRhsOp::verify() { return success(); }

LogicalResult PackMatmulRhsOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = operands[0].type.getShape();
  int64_t rows = shape[shape.size() - 2], columns = shape.back(), stride = columns;
  if (getTransposed())
    std::swap(rows, columns);
  int64_t matrices = product(shape.drop_back(2)), block = getBlock();
  int64_t packed = (columns + block - 1) / block * rows * block;
  withWidth(elementBytes(operands[0].type.getElementType()), [&](auto sample) {
    using T = decltype(sample);
    for (int64_t i = 0; i < matrices; ++i)
      emit::packPanels(rows, columns, stride, static_cast<bool>(getTransposed()), block,
                       reinterpret_cast<const T *>(operands[0].data) + i * rows * columns,
                       reinterpret_cast<T *>(results[0].data) + i * packed);
  });
  return success();
}

/// [..., N/block, K, block].
Value PackMatmulRhsOp::emitElement(KernelEmitter &kernel, ValueRange at) {
  const size_t batch = at.size() - 3;
  const auto block = static_cast<int64_t>(getBlock());
  ArrayRef<int64_t> rhs = shapeOf(getRhs());
  const int64_t columns = getTransposed() ? rhs[batch] : rhs[batch + 1];
  Value column = kernel.add(kernel.mul(at[batch], block), at[batch + 2]);
  return orZero(kernel, column, columns, block, getType(), [&] {
    SmallVector<Value> from(at.take_front(batch));
    from.push_back(getTransposed() ? column : at[batch + 1]);
    from.push_back(getTransposed() ? at[batch + 1] : column);
    return kernel.element(getRhs(), from);
  });
}
