//===- CudaDevice.h - An NVIDIA GPU -----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CUDADEVICE_H
#define SLUICE_RUNTIME_CUDADEVICE_H

#include "../Device.h"

namespace sluice::runtime {

/// Makes the device of the model's GPU number `ordinal`. It is the driver's GPU number `first` + `ordinal`, modulo the
/// number of GPUs; other ranks of this host use the first `first` GPUs. Each of the runtime's streams is a thread and
/// has a stream of the driver; a command is complete when its thread has seen the completion. Copies from and to host
/// memory go through two pinned buffers per stream. In a traced step, events of the GPU give the times at which a
/// command ran. Fails if there is no driver or no such GPU.
Result<std::unique_ptr<Device>> createCudaDevice(const sluice_device_desc &desc, int ordinal, int first, Ranks &ranks);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_CUDADEVICE_H
