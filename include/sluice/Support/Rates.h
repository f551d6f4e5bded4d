//===- Rates.h - Which rates a machine may have -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The readers of machine and profile files and the verifier of compiled programs all use these limits. The verifier
// therefore accepts every rate that a reader accepts.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_RATES_H
#define SLUICE_SUPPORT_RATES_H

namespace sluice {

/// Limits of rates, in operations or bytes per second. Below the least rate, times overflow;
/// above the greatest rate, all times are zero. isRate is false for NaN.
inline constexpr double kLeastRate = 1, kGreatestRate = 1e21;
constexpr bool isRate(double perSec) { return perSec >= kLeastRate && perSec <= kGreatestRate; }

/// Whether a rate of both directions of a link together is one to two times the rate of one direction.
constexpr bool isDuplexRate(double oneWay, double bothWays) { return bothWays >= oneWay && bothWays <= 2 * oneWay; }

} // namespace sluice

#endif // SLUICE_SUPPORT_RATES_H
