//===- ContractionPacking.h - Weights in the emitters' layouts --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Packs constant weights when a model is linked, for any element type, and
// the plain loops the tests compare kernels with. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONPACKING_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONPACKING_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include <algorithm>

namespace sluice::emit {

/// B as spec.ldb and spec.transposeB describe it -> [ceil(n/panel)][k][panel], zero padded.
/// `packed` has packedMatmulBSize(spec, target) elements; `spec.packedB` is not looked at.
template <typename T>
void packMatmulB(const MatmulSpec &spec, const VectorTarget &target, const T *matrix, T *packed) {
  int64_t panel = matmulPanel(spec, target);
  for (int64_t start = 0; start < spec.n; start += panel)
    for (int64_t k = 0; k < spec.k; ++k)
      for (int64_t lane = 0; lane < panel; ++lane) {
        int64_t n = start + lane;
        *packed++ = n < spec.n ? (spec.transposeB ? matrix[n * spec.ldb + k] : matrix[k * spec.ldb + n]) : T{};
      }
}

/// ONNX weights [outC][inC/groups][kh][kw] -> [group][outC/groups/block][kh][kw][inC/groups][block], zero padded;
/// depthwise -> [kh][kw][outC up to the block]. `packed` has packedConvWeightsSize(spec, target) elements.
template <typename T>
void packConvWeights(const ConvSpec &spec, const VectorTarget &target, const T *weights, T *packed) {
  int64_t block = convOutputBlock(spec, target);
  int64_t taps = spec.kernelH * spec.kernelW;
  if (isDepthwise(spec)) {
    int64_t padded = (spec.outC + block - 1) / block * block;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < padded; ++c)
        *packed++ = c < spec.outC ? weights[c * taps + tap] : T{};
    return;
  }
  for (int64_t group = 0; group < spec.groups; ++group)
    for (int64_t start = 0; start < spec.groupOutC(); start += block)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t ic = 0; ic < spec.groupInC(); ++ic)
          for (int64_t lane = 0; lane < block; ++lane) {
            int64_t oc = start + lane;
            int64_t filter = group * spec.groupOutC() + oc;
            *packed++ = oc < spec.groupOutC() ? weights[(filter * spec.groupInC() + ic) * taps + tap] : T{};
          }
}

/// The meaning of MatmulSpec, summed in double. `c` is [m][n].
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

/// The meaning of ConvSpec, summed in double. Input and output NHWC, weights [outC][inC/groups][kh][kw].
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
                sum += static_cast<double>(pixel[ic]) *
                       static_cast<double>(
                           weights[((oc * spec.groupInC() + ic) * spec.kernelH + kh) * spec.kernelW + kw]);
            }
          output[((n * spec.outH + oh) * spec.outW + ow) * spec.outC + oc] = static_cast<T>(sum);
        }
}

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONPACKING_H
