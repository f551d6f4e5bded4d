//===- FakeNccl.h - What tests ask of the fake NCCL -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A libnccl.so.2 for ranks that are threads of one process, on the fake driver's
// GPUs: it records what it is asked, and moves bytes when their streams come to it.
// A receive waits on its stream for the sender's, as on a GPU, and may wait for ever.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKENCCL_H
#define SLUICE_TEST_UNIT_CUDA_FAKENCCL_H

extern "C" {
void fakeNcclReset();
/// On a rank (-1: any), call number `from` (0: the next) of `function` and those after
/// return `result`; of "async" it is the communicator's error.
void fakeNcclFail(const char *function, int rank, int from, int result);
/// Lines of "init RANKS", "start", "send BYTES to PEER", "recv BYTES from PEER", "end", "abort".
const char *fakeNcclLog(int rank);
}

#endif // SLUICE_TEST_UNIT_CUDA_FAKENCCL_H
