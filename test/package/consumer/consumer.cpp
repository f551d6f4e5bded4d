//===- consumer.cpp - A program beside an installed Sluice ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Machine/Machine.h"
#include "sluice/Runtime/sluice.h"

#include <cstdio>

int main() {
  auto machine = sluice::machinePreset("emulated");
  if (!machine) {
    std::fprintf(stderr, "error: %s\n", machine.error().message.c_str());
    return 1;
  }
  if (!machine->findMemory("accel0")) {
    std::fprintf(stderr, "error: the preset 'emulated' has no memory 'accel0'\n");
    return 1;
  }
  // No artifact is there: the runtime must say so, not crash.
  sluice_session *session = sluice_open("no-such-artifact", nullptr);
  if (session) {
    std::fprintf(stderr, "error: a session without an artifact\n");
    return 1;
  }
  std::printf("%s\n", sluice_last_error());
  return sluice_last_error()[0] == '\0';
}
