//===- BlockForms.h - Cases of products by weights in blocks ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_BLOCKFORMS_H
#define SLUICE_TEST_UNIT_DATAFLOW_BLOCKFORMS_H

#include "KernelHarness.h"

#include "dialects/Dataflow/Emit/BlockProduct.h"
#include "sluice/Codegen/Target.h"

#include <catch2/catch.hpp>

namespace sluice::test::blocks {

/// A weight [depth][columns]. `zeros`: "" for none, "ui8" for packed ones, else a type of floats.
struct Weight {
  int64_t depth, columns, bits = 4, block = 32;
  std::string scale = "f32", zeros = "";
  bool isRounded = false; ///< It multiplies rounded rows: bytes where it is packed.

  int64_t blocks() const { return (depth + block - 1) / block; }
  std::string bytesType() const { return tensorOf({columns, blocks(), block / 8 * bits}, "ui8"); }
  std::string scalesType() const { return tensorOf({columns, blocks()}, scale); }
  std::string zerosType() const {
    return tensorOf({columns, zeros == "ui8" ? (blocks() * bits + 7) / 8 : blocks()}, zeros);
  }
  emit::BlockPanels panels(int64_t lanes) const {
    emit::VectorTarget target;
    target.lanesF32 = lanes;
    return {bits,
            block,
            columns,
            depth,
            emit::blockPanel(columns, target),
            scale == "f32" ? 4 : 2,
            zeros.empty()    ? emit::BlockZeros::None
            : zeros == "ui8" ? emit::BlockZeros::Bytes
                             : emit::BlockZeros::Floats};
  }
  /// Of `lanes` of f32 a vector.
  std::string panelsText(int64_t lanes) const {
    return "<bits = " + std::to_string(bits) + ", block = " + std::to_string(block) +
           ", columns = " + std::to_string(columns) + ", depth = " + std::to_string(depth) +
           ", panel = " + std::to_string(panels(lanes).panel) + ", scale = " + scale + ", zeros = " +
           (zeros.empty()    ? "none"
            : zeros == "ui8" ? "bytes"
                             : "floats") +
           ">";
  }
  std::string arguments() const {
    return "%w: " + bytesType() + ", %s: " + scalesType() + (zeros.empty() ? "" : ", %z: " + zerosType());
  }
  std::string operandTypes() const {
    return bytesType() + ", " + scalesType() + (zeros.empty() ? "" : ", " + zerosType());
  }
  std::string less() const { return zeros.empty() ? "" : " less %z"; }
  std::vector<Fill> fills() const {
    // Elements are about as large as those of the left-hand side, whatever their bits: the tolerance is for such sums.
    const double half = static_cast<double>(int64_t(1) << (bits - 1));
    std::vector<Fill> all{{0, 255}, {0.1 / half, 1 / half}};
    if (!zeros.empty())
      all.push_back(zeros == "ui8" ? Fill{0, 255} : Fill{0, static_cast<double>((int64_t(1) << bits) - 1)});
    return all;
  }
};

/// The lines that compute a product of `a` of type `lhs`, packed for `lanes` lanes or, where that is 0, not packed;
/// with a bias and relu in one group where `isFused`.
struct Text {
  std::string arguments, body;
};
inline Text productOf(const std::string &lhs, const std::string &result, const std::string &bias, const Weight &weight,
                      int64_t lanes, bool isFused) {
  Text text;
  std::string left = lhs;
  const std::string block = std::to_string(weight.block), bits = std::to_string(weight.bits);
  if (weight.isRounded && lanes) {
    const std::string bytes = std::to_string(weight.panels(lanes).roundedRows().rowBytes());
    left = lhs.substr(0, lhs.rfind(std::to_string(weight.depth) + "x")) + bytes + "xi8>";
    text.body =
        "%q = dataflow.quantize_blocks %a bits " + bits + " block " + block + " : (" + lhs + ") -> " + left + "\n";
  } else if (weight.isRounded) {
    text.body = "%q = dataflow.round_blocks %a block " + block + " : " + lhs + "\n";
  }
  const std::string rows = weight.isRounded ? "q" : "a";
  text.arguments = "%a: " + lhs + ", " + weight.arguments() + (isFused ? ", %b: " + bias : "");
  const std::string packed = tensorOf({weight.panels(std::max<int64_t>(lanes, 1)).bytes()}, "i8");
  if (lanes)
    text.body += "%p = dataflow.pack_blocks %w scales %s" + weight.less() + " panels " + weight.panelsText(lanes) +
                 " : (" + weight.operandTypes() + ") -> " + packed + "\n";
  auto product = [&](const std::string &prefix) {
    const std::string from = "%" + prefix + rows;
    if (lanes)
      return "dataflow.packed_block_matmul " + from + ", %" + prefix + "p panels " + weight.panelsText(lanes) + " : (" +
             left + ", " + packed + ") -> " + result;
    return "dataflow.block_matmul " + from + ", %" + prefix + "w scales %" + prefix + "s" +
           (weight.zeros.empty() ? "" : " less %" + prefix + "z") + " bits " + bits + " block " + block + " : (" + lhs +
           ", " + weight.operandTypes() + ") -> " + result;
  };
  if (!isFused) {
    text.body += product("");
    return text;
  }
  std::string given = lanes ? "%fp = %p : " + packed
                            : "%fw = %w : " + weight.bytesType() + ", %fs = %s : " + weight.scalesType() +
                                  (weight.zeros.empty() ? "" : ", %fz = %z : " + weight.zerosType());
  text.body += "dataflow.fused (%f" + rows + " = %" + rows + " : " + left + ", " + given + ", %fb = %b : " + bias +
               ") -> (" + result + ") {\n%c = " + product("f") + "\n%d = dataflow.binary add %c, %fb : " + result +
               ", " + bias + "\n%r = dataflow.unary relu %d : " + result + "\ndataflow.yield %r : " + result + "\n}";
  return text;
}

inline Case caseOf(const std::vector<int64_t> &rows, const std::string &element, const Weight &weight, int64_t lanes,
                   bool isFused = false) {
  std::vector<int64_t> lhs(rows), out(rows);
  lhs.push_back(weight.depth);
  out.push_back(weight.columns);
  const std::string sums = weight.isRounded && lanes ? "f32" : element;
  const Text text =
      productOf(tensorOf(lhs, element), tensorOf(out, sums), tensorOf({weight.columns}, sums), weight, lanes, isFused);
  Case made;
  made.arguments = text.arguments;
  made.body = text.body;
  made.fills = {{-1, 1}};
  for (const Fill &fill : weight.fills())
    made.fills.push_back(fill);
  made.fills.push_back({-1, 1});
  return made;
}

} // namespace sluice::test::blocks

#endif // SLUICE_TEST_UNIT_DATAFLOW_BLOCKFORMS_H
