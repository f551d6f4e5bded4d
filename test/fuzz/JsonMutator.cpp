//===- JsonMutator.cpp - Changes values of JSON, not bytes ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The mutator of targets that read JSON. Links of a plan and its graph are numbers and
// names: a change of one that keeps the syntax reaches the checks behind the parser.
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Json = nlohmann::ordered_json;

namespace {

class Mutator {
public:
  Mutator(Json &root, uint64_t seed) : random(seed) { collect(root); }

  void change() {
    Json &value = *values[random.below(values.size())];
    const bool isChanged = value.is_structured() ? changeList(value) : changeLeaf(value);
    if (!isChanged)
      value = *values[random.below(values.size())]; // Json copies before it assigns.
  }

private:
  void collect(Json &value) {
    values.push_back(&value);
    if (value.is_structured())
      for (Json &each : value)
        collect(each);
  }

  bool changeList(Json &list) {
    if (list.empty())
      return false;
    const auto at = std::next(list.begin(), static_cast<std::ptrdiff_t>(random.below(list.size())));
    if (random.chance(0.4)) {
      list.erase(at);
      return true;
    }
    if (!list.is_array())
      return false;
    if (random.chance(0.5)) {
      const Json copy = *at;
      list.insert(at, copy);
    } else {
      std::swap(*at, list[random.below(list.size())]);
    }
    return true;
  }

  bool changeLeaf(Json &value) {
    static constexpr std::array<int64_t, 16> kOdd = {0,
                                                     1,
                                                     -1,
                                                     2,
                                                     3,
                                                     64,
                                                     4096,
                                                     int64_t(1) << 31,
                                                     (int64_t(1) << 31) - 1,
                                                     int64_t(1) << 32,
                                                     int64_t(1) << 53,
                                                     (int64_t(1) << 62),
                                                     std::numeric_limits<int64_t>::max(),
                                                     std::numeric_limits<int64_t>::min(),
                                                     -2,
                                                     1'000'000'007};
    if (value.is_number_integer()) {
      const auto old = value.get<int64_t>();
      const int64_t near =
          old > -1'000'000 && old < 1'000'000 ? old + static_cast<int64_t>(random.below(5)) - 2 : old / 2;
      value = random.chance(0.5) ? near : kOdd[random.below(kOdd.size())];
      return true;
    }
    if (value.is_number_float()) {
      static constexpr std::array<double, 7> kReals = {0, -0.0, -1, 1e308, 1e-320, 0.5, 2};
      value = kReals[random.below(kReals.size())];
      return true;
    }
    if (value.is_boolean()) {
      value = !value.get<bool>();
      return true;
    }
    if (value.is_string() && random.chance(0.3)) {
      std::string text = value.get<std::string>();
      if (random.chance(0.5) && !text.empty())
        text.erase(random.below(text.size()));
      else
        text += "'\n<&.x"[random.below(6)];
      value = text;
      return true;
    }
    return false;
  }

  sluice::Rng random;
  std::vector<Json *> values;
};

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  constexpr size_t kMostBytes = size_t(1) << 16;
  sluice::Rng random(seed);
  Json root = size < kMostBytes && random.chance(0.9) ? Json::parse(data, data + size, nullptr, false)
                                                      : Json(Json::value_t::discarded);
  if (root.is_discarded() || !root.is_structured())
    return LLVMFuzzerMutate(data, size, most);
  for (uint64_t i = 0, n = 1 + random.below(3); i < n; ++i)
    Mutator(root, random.next()).change();
  const std::string text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > most)
    return size;
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
