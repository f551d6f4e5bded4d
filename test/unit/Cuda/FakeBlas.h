//===- FakeBlas.h - What tests ask of the fake cuBLAS -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A libcublas.so.13 on the fake driver: its products are done on host memory when
// it is their stream's turn, column-major, with sums of f64. Each is a line of the
// driver's log, "gemm OPSxM,N,K count COUNT type T compute C mode M
// workspace BYTES", and " added" behind it where it is.
//
// The environment's FAKE_BLAS, "fail=FUNCTION:STATUS", does as fakeBlasFail.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKEBLAS_H
#define SLUICE_TEST_UNIT_CUDA_FAKEBLAS_H

extern "C" {
/// From now on `function` returns `status`, and does nothing; an empty name: none does.
void fakeBlasFail(const char *function, int status);
/// Handles that are not given back.
int fakeBlasHeld();
}

#endif // SLUICE_TEST_UNIT_CUDA_FAKEBLAS_H
