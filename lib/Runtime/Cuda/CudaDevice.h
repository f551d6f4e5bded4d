//===- CudaDevice.h - An NVIDIA GPU -----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDADEVICE_H
#define SLUICE_RUNTIME_CUDADEVICE_H

#include "../Device.h"

namespace sluice::runtime {

/// The model's GPU number `ordinal`: the driver's of that number behind `first`, which
/// other ranks of this host take, from the first again where those end. Each of the runtime's streams, which is
/// a thread, has one of the driver's; a command is complete when its thread has
/// seen it complete. Host memory goes through two pinned buffers a stream. In a
/// traced step, the GPU's events say when a command ran on it.
/// Fails where there is no driver, or no such GPU.
Result<std::unique_ptr<Device>> createCudaDevice(const sluice_device_desc &desc, int ordinal, int first, Ranks &ranks);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDADEVICE_H
