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

/// The limits are texts for the page of operators. The converters reject what exceeds them.
struct Limit {
  const char *name, *limits;
  const char *domain = nullptr; ///< Null: ONNX's own two.
};
constexpr Limit kLimits[] = {
    {"AffineGrid", "the size must be known at compile time or bounded in each dimension"},
    {"BatchNormalization", "running statistics are outputs only in training mode"},
    {"BlackmanWindow", "the size must be known at compile time or bounded"},
    {"Cast", "casts to float8e8m0 only round up"},
    {"CastLike", "see Cast"},
    {"CastMap", "the map is a tensor of its values"},
    {"CenterCropPad", "the shape must be known at compile time or bounded in each dimension"},
    {"Col2Im", "the shapes must be known at compile time or bounded in each dimension"},
    {"Compress", "the extent of the result is found at run time"},
    {"ConstantOfShape", "the extents must be known at compile time or bounded"},
    {"DFT", "the length must be known at compile time or bounded; the operator becomes a product with a matrix"},
    {"DeformConv", "only two spatial dimensions"},
    {"Det", "matrices have at most 4 rows"},
    {"DictVectorizer", "the map is a tensor of its values"},
    {"Expand", "the extents must be known at compile time or bounded"},
    {"HammingWindow", "the size must be known at compile time or bounded"},
    {"HannWindow", "the size must be known at compile time or bounded"},
    {"If",
     "if the condition is unknown: the results of both branches have the same element type and rank, where leading "
     "dimensions of extent 1 do not count if the readers broadcast; an optional may have a value in only one branch"},
    {"ImageDecoder", "the model must declare the shape of the result"},
    {"Loop",
     "if the number of iterations is unknown: loop-carried values keep their shapes, or the number has a small bound"},
    {"MaxUnpool", "output_shape must be known at compile time or bounded in each dimension"},
    {"MelWeightMatrix", "the sizes must be known at compile time or bounded"},
    {"NonMaxSuppression", "the extent of the result is found at run time"},
    {"NonZero", "the extent of the result is found at run time"},
    {"OneHot", "the depth must be known at compile time or bounded"},
    {"Pad", "the pads must be known at compile time or bounded"},
    {"Range", "the operands must be known at compile time or bounded"},
    {"Reshape", "the extents must be known at compile time, or bounded if the result could become large"},
    {"Resize", "the scales or sizes must be known at compile time or bounded"},
    {"STFT", "if frames have many samples: the step must be known at compile time or have a lower bound"},
    {"SVMClassifier", "at most 256 classes, if it has support vectors"},
    {"Scan", "if it has many steps: loop-carried values keep their shapes"},
    {"SequenceAt", "if the position is found at run time: tensors of one rank, at most 128"},
    {"SequenceErase", "see SequenceAt"},
    {"SequenceInsert", "see SequenceAt"},
    {"SplitToSequence", "if the size of equal parts is found at run time: at most 128 parts"},
    {"StringNormalizer", "the extent of the result is found at run time"},
    {"StringSplit", "needs maxsplit, or a declared shape of the result"},
    {"Tile", "the repeats must be known at compile time or bounded"},
    {"Unique", "the extents of the results are found at run time; slices have at most 64 elements"},
    {"Upsample", "the scales must be known at compile time or bounded"},
    {"ZipMap", "the result is the tensor of scores"},
    {"Attention", "no rotary positions, no shared buffers of past keys and values", "com.microsoft"},
    {"DecoderMaskedMultiHeadAttention", "no shared buffers of past keys and values, no beams", "com.microsoft"},
    {"GatherBlockQuantized", "integers only; the gathered axis is not the axis of the blocks", "com.microsoft"},
    {"GroupQueryAttention",
     "total_sequence_length must be known at compile time; caches are of floats; no sliding window", "com.microsoft"},
    {"MatMulNBits", "2, 4 or 8 bits, not packed for other hardware; with g_idx, unpacked when the model is linked",
     "com.microsoft"},
    {"MatMulIntegerToFloat", "one scale for the whole first operand", "com.microsoft"},
    {"MoE", "large experts that no token chose are not computed", "com.microsoft"},
    {"MultiHeadAttention", "no shared buffers of past keys and values, no beams", "com.microsoft"},
    {"QAttention", "no rotary positions, no shared buffers of past keys and values", "com.microsoft"},
    {"QMoE", "integers of 2, 4 or 8 bits, packed for large experts; large experts that no token chose are not computed",
     "com.microsoft"},
    {"RotaryEmbedding", "no packed batches, no scale", "com.microsoft"},
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
