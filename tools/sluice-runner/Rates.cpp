//===- Rates.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a card reaches: copies, and NVIDIA's libraries' products and convolutions
// where those are installed. Their functions are declared as their documentation
// ("cuBLAS", "cuDNN") has them and found at run time.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "lib/Runtime/CudaBlas.h"
#include "lib/Runtime/SharedLibrary.h"
#include "sluice/Support/Json.h"
#include "tools/sluice/Card.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::runner {

using driver::Card, runtime::CuPointer, runtime::CuResult, runtime::CudaBlas, runtime::SharedLibrary;

namespace {

struct Options {
  int64_t megabytes = 1024, matmul = 4096;
  std::vector<int> conv = {32, 128, 56, 128, 3};
  int repeat = 10;
};

Status measureCopies(Card &card, const Options &options, Json &json) {
  const size_t bytes = std::min<size_t>(static_cast<size_t>(options.megabytes) << 20, card.memoryBytes / 4);
  Expected<double> within = card.copyBytesPerSec(bytes, options.repeat);
  if (!within)
    return propagate(within);
  json["copyBytesPerSec"] = *within;
  Expected<CuPointer> a = card.allocate(bytes);
  if (!a)
    return propagate(a);
  const size_t part = std::min<size_t>(bytes, size_t(256) << 20);
  void *host = nullptr;
  if (CuResult result = card.cu.hostAlloc(&host, part, 0))
    return makeError(ErrorCode::InvalidInput, "cannot pin ", part, " bytes of memory: ", card.cu.explain(result));
  Expected<double> in = card.seconds(options.repeat, [&] { return card.cu.copyIn(*a, host, part, nullptr); });
  Expected<double> out = card.seconds(options.repeat, [&] { return card.cu.copyOut(host, *a, part, nullptr); });
  card.cu.hostFree(host);
  if (!in || !out)
    return propagate(in ? out : in);
  json["inBytesPerSec"] = static_cast<double>(part) / *in;
  json["outBytesPerSec"] = static_cast<double>(part) / *out;
  return {};
}

/// Square products: f32 exact and by tf32, f16 and bf16 with f32 sums.
Status measureMatmul(Card &card, const Options &options, Json &json) {
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
    Expected<double> took = card.seconds(options.repeat, [&] {
      return blas.multiply(handle, CudaBlas::kAsIs, CudaBlas::kAsIs, n, n, n, &one, reinterpret_cast<void *>(*a),
                           kind.type, n, 0, reinterpret_cast<void *>(*b), kind.type, n, 0, &zero,
                           reinterpret_cast<void *>(*c), kind.type, n, 0, 1, kind.compute, -1);
    });
    if (!took)
      return propagate(took);
    json["matmul"][kind.name] = 2.0 * n * n * n / *took;
  }
  return {};
}

/// One convolution, padded to keep its extents, by the fastest algorithm of f32 arithmetic.
Status measureConv(Card &card, const Options &options, Json &json) {
  using Handle = struct DnnTag *;
  struct Performance { // cudnnConvolutionFwdAlgoPerf_t
    int algorithm, status;
    float milliseconds;
    size_t workspace;
    int determinism, math, reserved[3];
  };
  int (*create)(Handle *), (*createTensor)(void **), (*createFilter)(void **), (*createConv)(void **);
  int (*setTensor)(void *, int, int, int, int, int, int), (*setFilter)(void *, int, int, int, int, int, int);
  int (*setConv)(void *, int, int, int, int, int, int, int, int), (*setMath)(void *, int);
  int (*find)(Handle, void *, void *, void *, void *, int, int *, Performance *);
  SharedLibrary library({"libcudnn.so.9", "libcudnn.so.8"});
  library.find(create, "cudnnCreate");
  library.find(createTensor, "cudnnCreateTensorDescriptor");
  library.find(createFilter, "cudnnCreateFilterDescriptor");
  library.find(createConv, "cudnnCreateConvolutionDescriptor");
  library.find(setTensor, "cudnnSetTensor4dDescriptor");
  library.find(setFilter, "cudnnSetFilter4dDescriptor");
  library.find(setConv, "cudnnSetConvolution2dDescriptor");
  library.find(setMath, "cudnnSetConvolutionMathType");
  library.find(find, "cudnnFindConvolutionForwardAlgorithm");
  Handle handle = nullptr;
  if (!library.problem().empty() || create(&handle) != 0) {
    json["conv"] = "no cuDNN";
    return {};
  }
  const int n = options.conv[0], channels = options.conv[1], side = options.conv[2], filters = options.conv[3],
            window = options.conv[4];
  constexpr int kPlanes = 0, kFloat = 0, kCrossCorrelation = 1, kFma = 3, kMost = 8;
  void *x = nullptr, *y = nullptr, *w = nullptr, *conv = nullptr;
  Performance found[kMost] = {};
  int count = 0;
  int failed = createTensor(&x) | createTensor(&y) | createFilter(&w) | createConv(&conv);
  if (!failed)
    failed = setTensor(x, kPlanes, kFloat, n, channels, side, side) |
             setTensor(y, kPlanes, kFloat, n, filters, side, side) |
             setFilter(w, kFloat, kPlanes, filters, channels, window, window) |
             setConv(conv, window / 2, window / 2, 1, 1, 1, 1, kCrossCorrelation, kFloat) | setMath(conv, kFma);
  if (!failed)
    failed = find(handle, x, w, conv, y, kMost, &count, found);
  if (failed || count < 1 || found[0].status != 0) {
    json["conv"] = "cuDNN found no algorithm";
    return {};
  }
  json["conv"]["f32"] = 2.0 * n * filters * side * side * channels * window * window / (found[0].milliseconds * 1e-3);
  return {};
}

Status measureRates(const Options &options) {
  Expected<std::unique_ptr<Card>> card = Card::open(0);
  if (!card)
    return propagate(card);
  Json json = {{"name", (*card)->name}, {"architecture", (*card)->architecture}, {"memoryBytes", (*card)->memoryBytes}};
  for (auto measure : {measureCopies, measureMatmul, measureConv})
    if (Status status = measure(**card, options, json); !status)
      return status;
  std::cout << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
  return {};
}

} // namespace

void addRatesCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("rates", "Measure the first GPU: copies, cuBLAS' products, cuDNN's convolution");
  command->add_option("--megabytes", options->megabytes, "to copy, a quarter of the memory at most")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--matmul", options->matmul, "rows, columns and depth")
      ->check(CLI::Range(16, 65536))
      ->capture_default_str();
  command->add_option("--conv", options->conv, "images, channels, side, filters, window")
      ->expected(5)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "times, of which the least counts")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return measureRates(*options); }; });
}

} // namespace sluice::runner
