//===- IntegerBytes.cpp - What kernels of bytes share ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/IntegerBytes.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

bool sluice::dataflow::canRunPanels(const KernelEmitter &kernel, const emit::IntegerPanels &panels) {
  const emit::VectorTarget &target = kernel.target();
  return target.lanesF32 > 1 && emit::supportsDot(panels.dot, target.lanesF32) &&
         panels.dot <= (panels.parts ? target.halfProducts : target.byteProducts) &&
         panels.panel == emit::integerPanel(panels.n, target);
}

/// `scalar` for vectors of as many lanes as `like` has.
static Type withLanesOf(Type scalar, Value like) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? Type(vector.clone(scalar)) : scalar;
}

Value sluice::dataflow::emitWideByte(KernelEmitter &kernel, Value byte, Type type) {
  OpBuilder &b = kernel.builder();
  Type wide = withLanesOf(b.getI32Type(), byte);
  return type.isUnsignedInteger() ? arith::ExtUIOp::create(b, kernel.loc(), wide, byte).getResult()
                                  : arith::ExtSIOp::create(b, kernel.loc(), wide, byte).getResult();
}

Value sluice::dataflow::emitFlippedByte(KernelEmitter &kernel, Value byte) {
  OpBuilder &b = kernel.builder();
  return arith::XOrIOp::create(b, kernel.loc(), byte, emitIntConstant(b, kernel.loc(), byte.getType(), -128));
}

void sluice::dataflow::emitUnalignedStore(KernelEmitter &kernel, Value value, Value pointer) {
  LLVM::StoreOp::create(kernel.builder(), kernel.loc(), value, pointer, /*alignment=*/1);
}

Value sluice::dataflow::emitPackedElement(KernelEmitter &kernel, Value packed, const emit::IntegerPanels &panels,
                                          Value matrix, Value k, Value n) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const int64_t depth = emit::depthOf(panels.dot);
  SmallVector<Value> column = kernel.delinearize(n, {panels.n, panels.panel});
  SmallVector<Value> row = kernel.delinearize(k, {panels.segments, panels.length});
  SmallVector<Value> within = kernel.delinearize(row[1], {panels.steps(), depth});
  Value panel = kernel.add(kernel.mul(matrix, panels.bytes()), kernel.mul(column[0], panels.panelBytes()));
  Value step = kernel.add(kernel.mul(row[0], panels.steps()), within[0]);
  Value at = kernel.add(kernel.mul(kernel.add(kernel.mul(step, panels.panel), column[1]), depth), within[1]);
  Value byte = kernel.element(packed, {kernel.add(panel, at)});
  Value value = arith::ExtSIOp::create(b, loc, b.getI32Type(), byte);
  if (!panels.hasZeroPoints)
    return value;
  Value zeroAt =
      kernel.add(kernel.add(panel, kernel.index(panels.weightBytes() + 4 * panels.panel)), kernel.mul(column[1], 4));
  Value pointer = kernel.address(kernel.pointer(packed), b.getI8Type(), zeroAt);
  return arith::SubIOp::create(b, loc, value,
                               LLVM::LoadOp::create(b, loc, b.getI32Type(), pointer, /*alignment=*/1).getResult());
}

void sluice::dataflow::emitStageBytes(KernelEmitter &kernel, const ByteRun &run, const Extent &count,
                                      const Extent &padded, emit::IntegerDot dot, Value to) {
  const Value tensor = run.tensor;
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type element = typeOf(tensor).getElementType();
  const bool isWide = emit::lhsBytes(dot) == 2;
  Type type = isWide ? b.getI16Type() : b.getI8Type();
  auto put = [&](Value at, Value value) {
    if (isWide)
      value = arith::ExtUIOp::create(b, loc, withLanesOf(type, value), value);
    emitUnalignedStore(kernel, value, kernel.address(to, type, at));
  };
  auto copy = [&](Value at, int64_t lanes) {
    SmallVector<Value> indices(run.from);
    indices[run.along] = kernel.add(run.from[run.along], at);
    Value value = kernel.elements(tensor, indices, lanes);
    put(at, element.isUnsignedInteger() ? value : emitFlippedByte(kernel, value));
  };
  // Bytes that lie in memory go a register at a time, others in the lanes that compute them.
  const int64_t wide = kernel.target().lanesF32;
  int64_t lanes = !kernel.isVectorizable(tensor) ? 1 : kernel.isArgument(tensor) ? 4 * wide : wide;
  Extent done = 0;
  for (; !(done == count); lanes = lanes > wide ? wide : 1) {
    const Extent whole = lanes == 1 ? count : count / lanes * lanes;
    kernel.loop(done, whole, lanes, [&](Value at) { copy(at, lanes); });
    done = whole;
  }
  kernel.loop(count, padded, 1, [&](Value at) { put(at, emitIntConstant(b, loc, b.getI8Type(), 0)); });
}

void IntegerSizes::describe(emit::IntegerSpec &spec) const {
  spec.rows = rows.most();
  spec.runs = runs.most();
  spec.runsTogether = runsTogether.most();
  spec.outerStride = outerStride.most();
  spec.runStride = runStride.most();
  spec.strideH = strideH.most();
  spec.hasAnyRows = !rows.isConstant();
}

Extent IntegerSizes::items(const emit::IntegerSpec &spec, const emit::VectorTarget &target) const {
  const emit::IntegerBlocking blocking = emit::chooseBlocking(spec, target);
  return runs.ceilDiv(blocking.runBlock) * rows.ceilDiv(blocking.rowBlock) * columns.ceilDiv(spec.panels.panel);
}

emit::IntegerExtents IntegerSizes::emitValues(KernelEmitter &kernel) const {
  auto value = [&](const Extent &extent) -> Value {
    if (extent.isConstant())
      return {};
    OpBuilder &b = kernel.builder();
    return arith::IndexCastOp::create(b, kernel.loc(), b.getI64Type(), kernel.index(extent));
  };
  emit::IntegerExtents values;
  values.rows = value(rows);
  values.runs = value(runs);
  values.runsTogether = value(runsTogether);
  values.outerStride = value(outerStride);
  values.runStride = value(runStride);
  values.strideH = value(strideH);
  values.columns = value(columns);
  values.length = value(length);
  return values;
}

LogicalResult sluice::dataflow::checkCropped(Operation *conv, ArrayRef<Extent> image, ArrayRef<int64_t> pads) {
  for (size_t d = 0; d < image.size(); ++d)
    if (!image[d].isConstant() && (pads[d] < 0 || pads[d + image.size()] < 0))
      return conv->emitOpError(
          "has negative pads along a dimension with a range, which its kernel does not support, give this "
          "dimension one size");
  return success();
}

void sluice::dataflow::storePixel(KernelEmitter &kernel, Value value, ValueRange indices, ArrayRef<Extent> out,
                                  bool isFlat, Value channel, int64_t lanes) {
  if (!productOf(out).isConstant() && kernel.canStoreRows()) {
    Value pixel = isFlat ? indices[1] : kernel.add(kernel.mul(indices[0], out[2]), indices[1]);
    return kernel.storeRow(value, pixel, channel, lanes);
  }
  SmallVector<Value> at =
      isFlat ? kernel.delinearize(indices[1], out.drop_back()) : kernel.delinearize(indices[0], {out[0], out[1]});
  if (!isFlat)
    at.push_back(indices[1]);
  at.push_back(channel);
  kernel.storeLanes(value, at, lanes);
}
