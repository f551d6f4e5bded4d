//===- AttentionKernelTest.cpp - Attention in one kernel ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <catch2/catch.hpp>

using namespace sluice::test;

namespace {

struct Attention {
  std::vector<int64_t> query, key, value;
  std::vector<int64_t> mask = {}; ///< Empty: none.
  std::string attributes = "{scale = 0.25 : f32}";
  bool isTransposed = false;
};

std::vector<int64_t> resultOf(const Attention &a) {
  std::vector<int64_t> shape = a.query;
  shape.back() = a.value.back();
  return shape;
}

std::string attentionOf(const Attention &a, const std::string &result) {
  std::string types = tensorOf(a.query, "f32") + ", " + tensorOf(a.key, "f32") + ", " + tensorOf(a.value, "f32");
  if (!a.mask.empty())
    types += ", " + tensorOf(a.mask, "f32");
  return result + " = dataflow.attention %q, %k" + (a.isTransposed ? " transposed" : "") + ", %v" +
         (a.mask.empty() ? " " : " mask %m ") + a.attributes + " : (" + types + ") -> " + tensorOf(resultOf(a), "f32");
}

Case caseOf(const Attention &a) {
  Case made;
  made.arguments = "%q: " + tensorOf(a.query, "f32") + ", %k: " + tensorOf(a.key, "f32") +
                   ", %v: " + tensorOf(a.value, "f32") + (a.mask.empty() ? "" : ", %m: " + tensorOf(a.mask, "f32"));
  made.body = attentionOf(a, "%y");
  return made;
}

/// Rows and keys around tiles, vectors and blocks of rows; masks of every broadcast.
std::vector<Attention> attentions() {
  return {
      {{5, 8}, {7, 8}, {7, 3}},
      {{1, 36}, {40, 36}, {40, 36}, {}, "{divides, scale = 6.0 : f32}"},
      {{2, 65, 16}, {2, 33, 16}, {2, 33, 20}, {1, 33}},
      {{2, 3, 70, 12}, {2, 1, 12, 19}, {1, 3, 19, 17}, {2, 1, 1, 19}, "", true},
      {{3, 9, 4}, {3, 1, 4}, {3, 1, 5}, {9, 1}},
      {{2, 2, 129, 8}, {2, 2, 130, 8}, {2, 2, 130, 8}, {2, 1, 129, 130}},
      {{4, 1}, {6, 1}, {6, 1}, {6}, "{divides, scale = 3.0 : f32}"},
      // Few rows fit the scratch; the last block is smaller.
      {{17, 4}, {5000, 4}, {5000, 4}},
  };
}

} // namespace

TEST_CASE("attention is softmax between two products", "[dataflow][attention]") {
  std::vector<Case> cases;
  for (const Attention &a : attentions())
    cases.push_back(caseOf(a));
  for (int64_t lanes : {0, 8, 4, 1})
    checkKernels(cases, lanes);
}

TEST_CASE("attention of nothing, of rows beyond the scratch, and of scores masked out", "[dataflow][attention]") {
  Case masked = caseOf({{4, 8}, {20, 8}, {20, 6}, {4, 20}});
  masked.fills = {{}, {}, {}, {-1, 1, /*special=*/true}};
  checkKernels({caseOf({{0, 4}, {3, 4}, {3, 2}}), caseOf({{2, 4}, {3, 4}, {3, 0}}), caseOf({{2, 0}, {3, 0}, {3, 2}}),
                caseOf({{2, 2}, {70000, 2}, {70000, 1}}), masked});
}

TEST_CASE("attention runs in chunks and takes an epilogue", "[dataflow][attention]") {
  Attention large{{2, 4, 64, 16}, {2, 4, 96, 16}, {2, 4, 96, 16}};
  Case chunked = caseOf(large);
  chunked.isChunked = true;
  Case fused;
  const std::string type = tensorOf(resultOf({{2, 9, 8}, {2, 30, 8}, {2, 30, 24}}), "f32");
  Attention inner{{2, 9, 8}, {2, 30, 8}, {2, 30, 24}};
  fused.arguments = "%q0: tensor<2x9x8xf32>, %k0: tensor<2x30x8xf32>, %v0: tensor<2x30x24xf32>, %b: tensor<24xf32>";
  fused.body = "dataflow.fused (%q = %q0 : tensor<2x9x8xf32>, %k = %k0 : tensor<2x30x8xf32>, %v = %v0 : "
               "tensor<2x30x24xf32>, %c = %b : tensor<24xf32>) -> (" +
               type + ") {\n" + attentionOf(inner, "%a") + "\n%s = dataflow.binary add %a, %c : " + type +
               ", tensor<24xf32>\ndataflow.yield %s : " + type + "\n}";
  checkKernels({chunked, fused});
}
