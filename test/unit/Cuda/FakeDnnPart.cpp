//===- FakeDnnPart.cpp - What the fake cuDNN has beside it ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

/// The real one's parts hold what the first file only hands on; this has nothing.
extern "C" int cudnnCnnVersionCheck() { return 0; }
