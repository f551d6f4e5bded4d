//===- Rates.h - Which rates a machine may have -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One definition for the readers of machine and profile files and for the verifier
// of compiled programs, so that no machine passes the one and fails the other.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_RATES_H
#define SLUICE_SUPPORT_RATES_H

namespace sluice {

/// Operations or bytes per second. Below the least, times overflow; above the greatest, all
/// times are zero. False for NaN.
inline constexpr double kLeastRate = 1, kGreatestRate = 1e21;
constexpr bool isRate(double perSec) { return perSec >= kLeastRate && perSec <= kGreatestRate; }

/// Both directions of a link together: from one to two times the rate of one direction.
constexpr bool isDuplexRate(double oneWay, double bothWays) { return bothWays >= oneWay && bothWays <= 2 * oneWay; }

} // namespace sluice

#endif // SLUICE_SUPPORT_RATES_H
