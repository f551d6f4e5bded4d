//===- FakeCuda.h - What tests ask of the fake driver -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 that records what it is asked, in order, and does it on host
// memory: work of a stream is done when somebody waits for it, no sooner, and
// device addresses are none of the host's. Code is text, "NAME ADDRESS" lines:
// functions of one thread (sluice_thread_fn).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKECUDA_H
#define SLUICE_TEST_UNIT_CUDA_FAKECUDA_H

extern "C" {
/// As new: one GPU of architecture `architecture`, `bytes` of memory.
void fakeCudaReset(int architecture, long bytes);
/// From call number `from` (0: the next) of `function` on, it returns `result`;
/// with `sticky` every call after does too, as on a GPU that is lost.
void fakeCudaFail(const char *function, int from, int result, int sticky);
/// Lines of "HtoD BYTES stream S", "launch NAME BLOCKSxTHREADS stream S", ...: each when it is done.
const char *fakeCudaLog();
/// Allocations, streams, events, modules and contexts that are not given back.
int fakeCudaHeld();
}

#endif // SLUICE_TEST_UNIT_CUDA_FAKECUDA_H
