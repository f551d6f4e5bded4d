//===- FakeCuda.h - What tests ask of the fake driver -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 that records what it is asked, in order, and does it on host
// memory: work of a stream is done when somebody waits for it, no sooner, and
// device addresses are none of the host's. Code is PTX of a compiled model that
// also has its grids' host form (SLUICE_GRID_TABLE of abi.h), which is what runs,
// as fibers; or text, "NAME ADDRESS" lines: functions of one thread and two
// pointers (sluice_thread_fn). Of the runtime's own functions (collectivePtx of
// CudaRanks.h) it has host forms itself.
//
// Programs that know nothing of it, as `sluice run`, say by the environment's
// FAKE_CUDA what it is to be, in words apart: architecture=80 memory=BYTES gpus=N tick=NS
// fail=FUNCTION:FROM:RESULT lost=FUNCTION:FROM:RESULT (as fakeCudaFail below).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_FAKECUDA_H
#define SLUICE_TEST_UNIT_CUDA_FAKECUDA_H

#include <cstddef>
#include <functional>
#include <string>

extern "C" {
/// As new: `gpus` alike, or one, of architecture `architecture`, `bytes` of memory.
void fakeCudaReset(int architecture, long bytes);
void fakeCudaResetTo(int architecture, long bytes, int gpus);
/// As a result: the call throws std::bad_alloc, as where the process has no more memory.
inline constexpr int kFakeCudaThrows = -1;
/// From call number `from` (0: the next) of `function` on, it returns `result`;
/// with `sticky` every call after does too, as on a GPU that is lost.
void fakeCudaFail(const char *function, int from, int result, int sticky);
/// Call number `from` alone does.
void fakeCudaFailOnce(const char *function, int from, int result);
/// As the environment does: of what no word says, a GPU of sm_80 and 8 GiB that does not fail.
void fakeCudaSet(const char *words);
/// Events tell a clock from now on that each command moves by so much, and whatever takes a host long: loading code,
/// pinning memory, starting a library; 0: the real one.
void fakeCudaTick(long ns);
/// Lines of "HtoD BYTES stream S", "launch NAME BLOCKSxTHREADS stream S", ...: each when it is done.
const char *fakeCudaLog();
/// Allocations, pinned memory, streams, events, modules, graphs and contexts that are not given back.
int fakeCudaHeld();
}

/// Whether a stream is there still; the default one is.
bool fakeCudaHasStream(void *stream);
/// As much time passes as a command takes.
void fakeCudaTakeTime();
/// For libraries on top of it: has `work` done when it is the stream's turn, or captured.
int fakeCudaEnqueue(void *stream, const std::string &what, std::function<void()> work);
/// The same with work that may have to wait: it is called again until it returns true. Not to be captured.
int fakeCudaEnqueueUntil(void *stream, const std::string &what, std::function<bool()> work);
/// Where device memory really is; null where that many bytes are not all within one allocation.
char *fakeCudaHost(const void *pointer, size_t bytes);

#endif // SLUICE_TEST_UNIT_CUDA_FAKECUDA_H
