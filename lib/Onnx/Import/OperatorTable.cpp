//===- OperatorTable.cpp - Which converter for which version --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"
#include "sluice/Onnx/Operators.h"

#include <map>

namespace sluice {
namespace onnximport {

namespace {
struct Versions {
  std::map<int64_t, const OperatorEntry *> bySince;
};
using Table = std::map<std::pair<llvm::StringRef, llvm::StringRef>, Versions>;

const Table &table() {
  static const Table built = [] {
    Table result;
    for (llvm::ArrayRef<OperatorEntry> family : {attentionOperators(),
                                                 classifierOperators(),
                                                 constantOperators(),
                                                 contribAttentionOperators(),
                                                 contribExpertOperators(),
                                                 contribNormOperators(),
                                                 contribQuantizeOperators(),
                                                 elementwiseOperators(),
                                                 encoderOperators(),
                                                 indexingOperators(),
                                                 linearOperators(),
                                                 lossOperators(),
                                                 mlOperators(),
                                                 movementOperators(),
                                                 normOperators(),
                                                 olderTreeOperators(),
                                                 quantizeOperators(),
                                                 recurrentOperators(),
                                                 reduceOperators(),
                                                 resizeOperators(),
                                                 selectionOperators(),
                                                 sequenceOperators(),
                                                 signalOperators(),
                                                 stringOperators(),
                                                 treeOperators(),
                                                 visionOperators(),
                                                 windowOperators()})
      for (const OperatorEntry &entry : family)
        result[{entry.domain, entry.name}].bySince.emplace(entry.since, &entry);
    return result;
  }();
  return built;
}

/// For people; the converters refuse what is named here.
struct Limit {
  const char *name, *limits;
  const char *domain = nullptr; ///< Null: ONNX's own two.
};
constexpr Limit kLimits[] = {
    {"AffineGrid", "size known when compiling, or a bound of each"},
    {"BatchNormalization", "running statistics only in training"},
    {"BlackmanWindow", "size known when compiling, or a bound of it"},
    {"Cast", "to float8e8m0 rounding up only"},
    {"CastLike", "as Cast"},
    {"CastMap", "the map is a tensor of its values"},
    {"CenterCropPad", "shape known when compiling, or a bound of each"},
    {"Col2Im", "shapes known when compiling, or a bound of each"},
    {"Compress", "its result's extent is found in the step"},
    {"ConstantOfShape", "extents known when compiling, or a bound of each"},
    {"DFT", "length known when compiling, or a bound of it; a product with a matrix"},
    {"DeformConv", "two spatial dimensions"},
    {"Det", "matrices of up to 4 rows"},
    {"DictVectorizer", "the map is a tensor of its values"},
    {"Expand", "extents known when compiling, or a bound of each"},
    {"HammingWindow", "size known when compiling, or a bound of it"},
    {"HannWindow", "size known when compiling, or a bound of it"},
    {"If",
     "of unknown condition: its branches' results agree in element type, and in rank but for leading dimensions of "
     "extent 1 where their readers broadcast; an optional may have a value in one "
     "branch alone"},
    {"ImageDecoder", "the shape of its result declared"},
    {"Loop", "of unknown number of iterations: what it carries keeps its shape, or the number has a small bound"},
    {"MaxUnpool", "output_shape known when compiling, or a bound of each"},
    {"MelWeightMatrix", "sizes known when compiling, or a bound of each"},
    {"NonMaxSuppression", "its result's extent is found in the step"},
    {"NonZero", "its result's extent is found in the step"},
    {"OneHot", "depth known when compiling, or a bound of it"},
    {"Pad", "pads known when compiling, or a bound"},
    {"Range", "operands known when compiling, or bounds of each"},
    {"Reshape", "extents known when compiling, or a bound where their room would be large"},
    {"Resize", "scales or sizes known when compiling, or a bound of each"},
    {"STFT", "frames of many samples: step known when compiling, or a lower bound of it"},
    {"SVMClassifier", "of support vectors up to 256 classes"},
    {"Scan", "of many steps: what it carries keeps its shape"},
    {"SequenceAt", "where only a step says the position, tensors of one rank, at most 128"},
    {"SequenceErase", "as SequenceAt"},
    {"SequenceInsert", "as SequenceAt"},
    {"SplitToSequence", "parts of one size, which a step gives: at most 128"},
    {"StringNormalizer", "its result's extent is found in the step"},
    {"StringSplit", "with maxsplit, or with the shape of its parts declared; they have an extent"},
    {"Tile", "repeats known when compiling, or a bound"},
    {"Unique", "its results' extents are found in the step; slices of up to 64 elements"},
    {"Upsample", "scales known when compiling, or a bound of each"},
    {"ZipMap", "its result is the tensor of scores"},
    {"Attention", "neither rotary positions nor shared buffers of the past", "com.microsoft"},
    {"DecoderMaskedMultiHeadAttention", "neither shared buffers of the past nor beams", "com.microsoft"},
    {"GatherBlockQuantized", "integers, gathered along another axis than that of the blocks", "com.microsoft"},
    {"GroupQueryAttention", "total_sequence_length known when compiling; caches of floats, without a sliding window",
     "com.microsoft"},
    {"MatMulNBits", "2, 4 or 8 bits, not packed for other hardware; with g_idx, unpacked when the model is linked",
     "com.microsoft"},
    {"MatMulIntegerToFloat", "one scale for all of the first operand", "com.microsoft"},
    {"MoE", "all experts compute all tokens", "com.microsoft"},
    {"MultiHeadAttention", "neither shared buffers of the past nor beams", "com.microsoft"},
    {"QAttention", "neither rotary positions nor shared buffers of the past", "com.microsoft"},
    {"QMoE", "integers of 2, 4 or 8 bits, unpacked when the model is linked; all experts compute all tokens",
     "com.microsoft"},
    {"RotaryEmbedding", "neither packed batches nor a scale", "com.microsoft"},
};
} // namespace

const OperatorEntry *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t version, bool &known) {
  if (domain == "ai.onnx")
    domain = "";
  auto found = table().find({domain, name});
  known = found != table().end();
  if (!known)
    return nullptr;
  auto after = found->second.bySince.upper_bound(version);
  return after == found->second.bySince.begin() ? nullptr : std::prev(after)->second;
}

} // namespace onnximport

std::vector<SupportedOperator> supportedOperators() {
  std::vector<SupportedOperator> result;
  for (const auto &[name, versions] : onnximport::table()) {
    SupportedOperator entry{name.first.str(), name.second.str(), {}, ""};
    for (const auto &[since, converter] : versions.bySince)
      entry.since.push_back(since);
    result.push_back(std::move(entry));
  }
  for (const char *control : {"If", "Loop", "Scan"})
    result.push_back({"", control, {control == std::string_view("Scan") ? 8 : 1}, ""});
  result.push_back({"ai.onnx.preview.training", "Gradient", {1}, ""});
  for (SupportedOperator &entry : result)
    for (const onnximport::Limit &limit : onnximport::kLimits)
      if ((limit.domain ? entry.domain == limit.domain : entry.domain.empty() || entry.domain == "ai.onnx.ml") &&
          entry.name == limit.name)
        entry.limits = limit.limits;
  std::sort(result.begin(), result.end(), [](const SupportedOperator &a, const SupportedOperator &b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return result;
}

} // namespace sluice
