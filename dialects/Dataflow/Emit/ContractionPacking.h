//===- ContractionPacking.h - Weights in the emitters' layouts --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Packs constant weights of any element type when a model is linked. Also has the plain loops with which tests compare
// kernels. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONPACKING_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONPACKING_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include <algorithm>

namespace sluice::emit {

/// A matrix of `rows` x `columns`, stored with `stride` elements between its rows (its columns when transposed) ->
/// [ceil(columns/panel)][rows][panel], zero padded.
template <typename T>
void packPanels(int64_t rows, int64_t columns, int64_t stride, bool transposed, int64_t panel, const T *matrix,
                T *packed) {
  for (int64_t start = 0; start < columns; start += panel)
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t lane = 0; lane < panel; ++lane) {
        int64_t n = start + lane;
        *packed++ = n < columns ? (transposed ? matrix[n * stride + k] : matrix[k * stride + n]) : T{};
      }
}

/// [channels][taps] -> [taps][channels up to the block], zero padded.
template <typename T>
void packDepthwiseWeights(int64_t channels, int64_t taps, int64_t block, const T *weights, T *packed) {
  int64_t padded = (channels + block - 1) / block * block;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t c = 0; c < padded; ++c)
      *packed++ = c < channels ? weights[c * taps + tap] : T{};
}

/// [groups x outputs][inputs][taps] -> [groups][ceil(outputs/block)][taps][inputs][block], zero padded; outputs and
/// inputs are those of one group.
template <typename T>
void packConvBlocks(int64_t groups, int64_t outputs, int64_t inputs, int64_t taps, int64_t block, const T *weights,
                    T *packed) {
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t start = 0; start < outputs; start += block)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t ic = 0; ic < inputs; ++ic)
          for (int64_t lane = 0; lane < block; ++lane) {
            int64_t oc = start + lane;
            *packed++ = oc < outputs ? weights[((group * outputs + oc) * inputs + ic) * taps + tap] : T{};
          }
}

/// Packs B, which spec.ldb and spec.transposeB describe, into the emitter's panels. `packed` has
/// packedMatmulBSize(spec, target) elements. Ignores `spec.packedB`.
template <typename T>
void packMatmulB(const MatmulSpec &spec, const VectorTarget &target, const T *matrix, T *packed) {
  packPanels(spec.k, spec.n, spec.ldb, spec.transposeB, matmulPanel(spec, target), matrix, packed);
}

/// Packs ONNX weights [outC][inC/groups][kh][kw] in the emitter's order. `packed` has packedConvWeightsSize(spec,
/// target) elements.
template <typename T>
void packConvWeights(const ConvSpec &spec, const VectorTarget &target, const T *weights, T *packed) {
  int64_t block = convOutputBlock(spec, target), taps = spec.kernelH * spec.kernelW;
  if (isDepthwise(spec))
    packDepthwiseWeights(spec.outC, taps, block, weights, packed);
  else
    packConvBlocks(spec.groups, spec.groupOutC(), spec.groupInC(), taps, block, weights, packed);
}

/// Computes the product that a MatmulSpec describes, with sums in double. `c` is [m][n].
template <typename T>
void referenceMatmul(const MatmulSpec &spec, const T *a, const T *b, T *c) {
  for (int64_t m = 0; m < spec.m; ++m)
    for (int64_t n = 0; n < spec.n; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < spec.k; ++k)
        sum += static_cast<double>(spec.transposeA ? a[k * spec.lda + m] : a[m * spec.lda + k]) *
               static_cast<double>(spec.transposeB ? b[n * spec.ldb + k] : b[k * spec.ldb + n]);
      c[m * spec.n + n] = static_cast<T>(sum);
    }
}

/// Computes the convolution that a ConvSpec describes, with sums in double. Input and output are NHWC, weights
/// [outC][inC/groups][kh][kw].
template <typename T>
void referenceConv2d(const ConvSpec &spec, const T *input, const T *weights, T *output) {
  for (int64_t n = 0; n < spec.batch; ++n)
    for (int64_t oh = 0; oh < spec.outH; ++oh)
      for (int64_t ow = 0; ow < spec.outW; ++ow)
        for (int64_t oc = 0; oc < spec.outC; ++oc) {
          int64_t group = oc / spec.groupOutC();
          double sum = 0;
          for (int64_t kh = 0; kh < spec.kernelH; ++kh)
            for (int64_t kw = 0; kw < spec.kernelW; ++kw) {
              int64_t ih = oh * spec.strideH - spec.padTop + kh * spec.dilationH;
              int64_t iw = ow * spec.strideW - spec.padLeft + kw * spec.dilationW;
              if (ih < 0 || ih >= spec.inH || iw < 0 || iw >= spec.inW)
                continue;
              const T *pixel = input + ((n * spec.inH + ih) * spec.inW + iw) * spec.inC + group * spec.groupInC();
              for (int64_t ic = 0; ic < spec.groupInC(); ++ic)
                sum +=
                    static_cast<double>(pixel[ic]) *
                    static_cast<double>(weights[((oc * spec.groupInC() + ic) * spec.kernelH + kh) * spec.kernelW + kw]);
            }
          output[((n * spec.outH + oh) * spec.outW + ow) * spec.outC + oc] = static_cast<T>(sum);
        }
}

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONPACKING_H
