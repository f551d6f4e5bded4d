//===- DescriptorTest.cpp - Models of older compilers ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Runtime/Tables.h"
#include "tools/sluice/RunSession.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {

/// sluice_tensor_desc as compilers of ABI 1.7 wrote it, before `range`.
struct OldTensor {
  size_t size = sizeof(OldTensor);
  const char *name;
  int32_t elementType;
  uint32_t rank;
  const int64_t *shape;
  int64_t bytes;
  const void *fixed = nullptr;
  const sluice_cut *cuts = nullptr;
  uint32_t numCuts = 0;
};
static_assert(sizeof(OldTensor) == offsetof(sluice_tensor_desc, range));

constexpr int64_t kShape[] = {2, 3};
constexpr int32_t kFloat = 1, kInt64 = 7;

/// Bytes that are not zero lie behind the last entry: what reads past it finds them.
struct OldTable {
  OldTensor tensors[2] = {{.name = "first", .elementType = kFloat, .rank = 2, .shape = kShape, .bytes = 24},
                          {.name = "second", .elementType = kInt64, .rank = 1, .shape = kShape, .bytes = 16}};
  int64_t behind[4] = {-1, -1, -1, -1};

  const sluice_tensor_desc *entries() const { return reinterpret_cast<const sluice_tensor_desc *>(tensors); }
};

void checkPorts(const Expected<std::vector<HostTensor>> &ports) {
  REQUIRE(ports);
  REQUIRE(ports->size() == 2);
  CHECK((*ports)[0].name == "first");
  CHECK((*ports)[0].shape == std::vector<int64_t>{2, 3});
  CHECK((*ports)[1].name == "second");
  CHECK((*ports)[1].type == ElementType::Int64);
  CHECK((*ports)[1].shape == std::vector<int64_t>{2});
}

} // namespace

TEST_CASE("the tensors of a model of ABI 1.7 are found", "[session]") {
  const OldTable table;
  sluice_model model = {};
  model.num_inputs = 2;
  model.inputs = table.entries();
  checkPorts(driver::makeInputs(model));
  CHECK(tableEntry(model.inputs, 1).bytes == 16);
  CHECK(tableEntry(model.inputs, 1).range == nullptr);
}
