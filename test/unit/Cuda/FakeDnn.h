//===- FakeDnn.h - What tests ask of the fake cuDNN -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A libcudnn.so.9 on the fake driver: its convolutions are done on host memory when
// it is their stream's turn, with sums of f64. Each is a line of the driver's log,
// "conv N,C,H,W filters M,KH,KW groups G format F type T math M algorithm A
// workspace BYTES", or "conv-data", "conv-filters" of a gradient; " added" behind it where it is. As the real one, it
// takes channels-last operands by the precomputed algorithm alone.
//
// The environment's FAKE_DNN, "fail=FUNCTION:STATUS", does as fakeDnnFail.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKEDNN_H
#define SLUICE_TEST_UNIT_CUDA_FAKEDNN_H

#include <cstddef>

extern "C" {
/// From now on `function` returns `status`, and does nothing; an empty name: none does.
void fakeDnnFail(const char *function, int status);
/// How much workspace its precomputed algorithm asks for from now on; the other needs none.
void fakeDnnNeed(size_t bytes);
/// Handles and descriptors that are not given back.
int fakeDnnHeld();
}

#endif // SLUICE_TEST_UNIT_CUDA_FAKEDNN_H
