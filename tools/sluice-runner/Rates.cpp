//===- Rates.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a card reaches: copies, and NVIDIA's libraries' products and convolutions
// where those are installed.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "lib/Runtime/Cuda/CudaBlas.h"
#include "lib/Runtime/Cuda/CudaDnn.h"
#include "lib/Runtime/SharedLibrary.h"
#include "sluice/Support/Json.h"
#include "tools/sluice/Card.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

namespace sluice::runner {

using driver::Card, runtime::CuPointer, runtime::CuResult, runtime::CudaBlas, runtime::CudaDnn, runtime::SharedLibrary;

namespace {

struct RatesOptions {
  int64_t megabytes = 1024, matmul = 4096;
  std::vector<int> conv = {32, 128, 56, 128, 3};
  int repeat = 10;
};

Status measureCopies(Card &card, const RatesOptions &options, Json &json) {
  const size_t bytes = std::min<size_t>(static_cast<size_t>(options.megabytes) << 20, card.memoryBytes / 4);
  SLUICE_ASSIGN_OR_RETURN(double within, card.copyBytesPerSec(bytes, options.repeat));
  json["copyBytesPerSec"] = within;
  SLUICE_ASSIGN_OR_RETURN(CuPointer a, card.allocate(bytes));
  const size_t part = std::min<size_t>(bytes, size_t(256) << 20);
  void *host = nullptr;
  if (CuResult result = card.cu.hostAlloc(&host, part, 0))
    return makeError(ErrorCode::InvalidInput, "cannot pin ", part, " bytes of memory: ", card.cu.explain(result),
                     ", free memory or end other programs");
  Expected<double> in = card.seconds(options.repeat, [&] { return card.cu.copyIn(a, host, part, nullptr); });
  Expected<double> out = card.seconds(options.repeat, [&] { return card.cu.copyOut(host, a, part, nullptr); });
  card.cu.hostFree(host);
  if (!in || !out)
    return propagate(in ? out : in);
  json["inBytesPerSec"] = static_cast<double>(part) / *in;
  json["outBytesPerSec"] = static_cast<double>(part) / *out;
  return {};
}

/// Square products: f32 exact and by tf32, f16 and bf16 with f32 sums.
Status measureMatmul(Card &card, const RatesOptions &options, Json &json) {
  runtime::Result<const CudaBlas *> found = runtime::cudaBlas();
  CudaBlas::Handle handle = nullptr;
  if (!found || (*found)->create(&handle) != 0) {
    json["matmul"] = "no cuBLAS";
    return {};
  }
  const CudaBlas &blas = **found;
  constexpr struct {
    const char *name;
    int type, compute;
  } kKinds[] = {{"f32", CudaBlas::kF32, CudaBlas::kExact},
                {"tf32", CudaBlas::kF32, CudaBlas::kFastTF32},
                {"f16", CudaBlas::kF16, CudaBlas::kExact},
                {"bf16", CudaBlas::kBF16, CudaBlas::kExact}};
  const auto n = static_cast<int>(options.matmul);
  const size_t bytes = sizeof(float) * static_cast<size_t>(n) * static_cast<size_t>(n);
  Expected<CuPointer> a = card.allocate(bytes), b = card.allocate(bytes), c = card.allocate(bytes);
  for (Expected<CuPointer> *each : {&a, &b, &c})
    if (!*each)
      return propagate(*each);
  const float one = 1, zero = 0;
  for (const auto &kind : kKinds) {
    SLUICE_ASSIGN_OR_RETURN(double took, card.seconds(options.repeat, [&] {
      return blas.multiply(handle, CudaBlas::kAsIs, CudaBlas::kAsIs, n, n, n, &one, reinterpret_cast<void *>(*a),
                           kind.type, n, 0, reinterpret_cast<void *>(*b), kind.type, n, 0, &zero,
                           reinterpret_cast<void *>(*c), kind.type, n, 0, 1, kind.compute, -1);
    }));
    json["matmul"][kind.name] = 2.0 * n * n * n / took;
  }
  return {};
}

/// One convolution, padded to keep its extents, in f32 arithmetic: by the fastest
/// algorithm that the runtime would take, and by the fastest of all.
Status measureConv(Card &, const RatesOptions &options, Json &json) {
  struct Performance { // cudnnConvolutionFwdAlgoPerf_t
    int algorithm, status;
    float milliseconds;
    size_t workspace;
    int determinism, math, reserved[3];
  };
  int (*find)(CudaDnn::Handle, CudaDnn::Tensor, CudaDnn::Filter, CudaDnn::Convolution, CudaDnn::Tensor, int, int *,
              Performance *);
  runtime::Result<const CudaDnn *> dnn = runtime::cudaDnn();
  SharedLibrary library({"libcudnn.so.9", "libcudnn.so.8"});
  library.find(find, "cudnnFindConvolutionForwardAlgorithm");
  CudaDnn::Handle handle = nullptr;
  if (!dnn || !find || (*dnn)->create(&handle) != 0) {
    json["conv"] = "no cuDNN";
    return {};
  }
  const int64_t side = options.conv[2], window = options.conv[4];
  sluice_convolution what{};
  what.element_type = 1; // ONNX's number of float.
  what.batch = options.conv[0], what.channels = options.conv[1], what.filters = options.conv[3];
  what.in_height = what.in_width = what.out_height = what.out_width = side;
  what.kernel_height = what.kernel_width = window;
  what.pad_height = what.pad_width = window / 2;
  what.stride_height = what.stride_width = what.dilation_height = what.dilation_width = what.groups = 1;
  const runtime::CudaConvolution conv(what);
  constexpr int kMost = 8;
  constexpr size_t kWorkspaceBytes = size_t(4) << 20; // As the compiler plans.
  Performance found[kMost] = {};
  int count = 0;
  if (conv.status || find(handle, conv.input, conv.filters, conv.convolution, conv.result, kMost, &count, found) != 0)
    count = 0;
  const double operations = 2.0 * static_cast<double>(what.batch * what.filters * side * side * what.channels) *
                            static_cast<double>(window * window);
  double exact = 0, any = 0;
  for (const Performance &each : std::span(found, static_cast<size_t>(count)))
    if (each.status == 0 && each.milliseconds > 0) {
      const double rate = operations / (each.milliseconds * 1e-3);
      any = std::max(any, rate);
      if (each.algorithm <= CudaDnn::kPrecomputedGemm && each.workspace <= kWorkspaceBytes)
        exact = std::max(exact, rate);
    }
  if (exact > 0)
    json["conv"] = {{"f32", exact}, {"f32Transformed", any}};
  else
    json["conv"] = "cuDNN found no algorithm";
  return {};
}

Status measureRates(const RatesOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Card> card, Card::open(0));
  Json json = {{"name", card->name}, {"architecture", card->architecture}, {"memoryBytes", card->memoryBytes}};
  for (auto measure : {measureCopies, measureMatmul, measureConv})
    SLUICE_RETURN_IF_ERROR(measure(*card, options, json));
  std::cout << jsonText(json, 1) << '\n';
  return {};
}

} // namespace

void addRatesCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RatesOptions>();
  CLI::App *command =
      driver::addCommand(app, "rates", "Measure the first GPU: copies, cuBLAS' products, cuDNN's convolution");
  driver::addOption(*command, "--megabytes", options->megabytes,
                    "number of megabytes to copy, at most a quarter of the memory")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  driver::addOption(*command, "--matmul", options->matmul, "rows, columns and depth of the product")
      ->check(CLI::Range(16, 65536))
      ->capture_default_str();
  driver::addOption(*command, "--conv", options->conv, "images, channels, side, filters and window of the convolution")
      ->expected(5)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  driver::addOption(*command, "--repeat", options->repeat, "number of measurements, of which the least is used")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return measureRates(*options); }; });
}

} // namespace sluice::runner
