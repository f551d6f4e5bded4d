//===- Card.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Card.h"

#include <algorithm>

namespace sluice::driver {

using namespace runtime;

int Card::count() {
  Result<const CudaDriver *> driver = cudaDriver();
  int found = 0;
  return driver && (*driver)->deviceGetCount(&found) == 0 ? found : 0;
}

Expected<std::unique_ptr<Card>> Card::open(int ordinal) {
  Result<const CudaDriver *> driver = cudaDriver();
  if (!driver)
    return makeError(ErrorCode::NotFound, driver.error());
  auto card = std::unique_ptr<Card>(new Card(**driver));
  const CudaDriver &cu = card->cu;
  int major = 0, minor = 0;
  CuContext context = nullptr;
  CuResult result = cu.deviceGet(&card->device, ordinal);
  if (!result)
    result = cu.deviceGetName(card->name, sizeof card->name - 1, card->device);
  if (!result)
    result = cu.deviceTotalMem(&card->memoryBytes, card->device);
  for (auto [value, attribute] :
       {std::pair(&major, kCuComputeMajor), std::pair(&minor, kCuComputeMinor),
        std::pair(&card->multiprocessors, kCuMultiprocessors), std::pair(&card->clockKilohertz, kCuClockKilohertz)})
    if (!result)
      result = cu.deviceGetAttribute(value, attribute, card->device);
  if (!result)
    result = cu.primaryRetain(&context, card->device);
  card->isRetained = context != nullptr;
  if (!result)
    result = cu.setCurrent(context);
  for (CuEvent *event : {&card->begin, &card->end})
    if (!result)
      result = cu.eventCreate(event, 0);
  if (result)
    return makeError(ErrorCode::InvalidInput, "GPU number ", ordinal, " cannot be used: ", cu.explain(result),
                     ", check that nvidia-smi lists this GPU");
  card->architecture = major * 10 + minor;
  return card;
}

Card::~Card() {
  for (CuPointer pointer : memory)
    cu.memFree(pointer);
  for (CuEvent event : {begin, end})
    if (event)
      cu.eventDestroy(event);
  if (isRetained)
    cu.primaryRelease(device);
}

Expected<CuPointer> Card::allocate(size_t bytes) {
  CuPointer pointer = 0;
  CuResult result = cu.memAlloc(&pointer, bytes);
  if (!result) {
    memory.push_back(pointer);
    // No NaN, and no zeros, which cards save power on.
    result = cu.memsetAsync(pointer, 0x3c, bytes, nullptr);
  }
  if (result)
    return makeError(ErrorCode::InvalidInput, "cannot allocate ", bytes, " bytes of the GPU's memory, ",
                     cu.explain(result), ", end other programs that use the GPU");
  return pointer;
}

Expected<double> Card::seconds(int repeat, const std::function<int()> &enqueue) {
  double least = 0;
  for (int i = 0; i <= repeat; ++i) {
    float milliseconds = 0;
    CuResult result = cu.eventRecord(begin, nullptr);
    if (!result)
      result = enqueue();
    if (!result)
      result = cu.eventRecord(end, nullptr);
    if (!result)
      result = cu.eventSynchronize(end);
    if (!result)
      result = cu.eventElapsed(&milliseconds, begin, end);
    if (result)
      return makeError(ErrorCode::InvalidInput, "measuring the GPU failed: ", cu.explain(result),
                       ", run the command again");
    if (i > 0)
      least = i == 1 ? milliseconds * 1e-3 : std::min(least, milliseconds * 1e-3);
  }
  return std::max(least, 1e-9);
}

Expected<double> Card::copyBytesPerSec(size_t bytes, int repeat) {
  Expected<CuPointer> from = allocate(bytes), to = allocate(bytes);
  if (!from || !to)
    return propagate(from ? to : from);
  SLUICE_ASSIGN_OR_RETURN(double took, seconds(repeat, [&] { return cu.copyWithin(*to, *from, bytes, nullptr); }));
  return 2 * static_cast<double>(bytes) / took;
}

double Card::flopsPerSec() const {
  // "CUDA C++ Programming Guide", throughput of native arithmetic instructions: lanes of a multiprocessor.
  const int lanes = architecture == 86 || architecture == 89 || architecture >= 90 ? 128 : 64;
  return 2.0 * lanes * multiprocessors * clockKilohertz * 1e3;
}

} // namespace sluice::driver
