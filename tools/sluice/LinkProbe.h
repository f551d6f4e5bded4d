//===- LinkProbe.h - How fast this machine's links are ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_LINKPROBE_H
#define SLUICE_TOOLS_SLUICE_LINKPROBE_H

#include "sluice/Cost/Profile.h"

namespace sluice::driver {

/// Copies over the link through the runtime, as a compiled model does, `repeat`
/// times (at least 1) and once to warm up: five sizes in each direction alone,
/// then the largest both ways at once. The event latency is the time from the end of a copy to the start of the next
/// one on another stream. Fails if the link's memories are too small, or the link is too slow, for copies of 64 KiB.
/// Fails like the runtime.
Expected<LinkMeasurement> measureLink(const Machine &machine, LinkId link, int64_t repeat);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_LINKPROBE_H
