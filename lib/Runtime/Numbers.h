//===- Numbers.h - Numbers as text ------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The text forms of ONNX's casts, the same in every locale.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_NUMBERS_H
#define SLUICE_RUNTIME_NUMBERS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::runtime {

/// Reads a number in plain or scientific decimal notation, with white space around it, or `inf`, `infinity` or `nan` in
/// any case. Integers lose the fraction. Returns false if the text is no number, or if an integer type cannot hold it.
bool readNumber(std::string_view text, float &number);
bool readNumber(std::string_view text, double &number);
bool readNumber(std::string_view text, int64_t &number);
bool readNumber(std::string_view text, uint64_t &number);

/// The fewest digits that read back as the same number, in scientific notation from 1e8 on and below 1e-4; or "NaN",
/// "INF" or "-INF".
std::string textOf(float number);
std::string textOf(double number);
std::string textOf(int64_t number);
std::string textOf(uint64_t number);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_NUMBERS_H
