//===- HostLibraries.h - What few models need -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Regular expressions and encoded images are the work of other projects'
// libraries. Libraries of ours between them and the runtime are loaded at the first
// call, so that a model which makes none needs neither.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_HOSTLIBRARIES_H
#define SLUICE_RUNTIME_HOSTLIBRARIES_H

#include "HostFunctions.h"
#include "Result.h"

namespace sluice::runtime {

struct RegexLibrary {
  decltype(&sluice_regex_compile) compile = nullptr;
  decltype(&sluice_regex_matches) matches = nullptr;
  decltype(&sluice_regex_release) release = nullptr;
};

struct ImageLibrary {
  decltype(&sluice_image_decode) decode = nullptr;
};

/// libsluice_regex, or why it is not there.
Result<const RegexLibrary *> regexLibrary();
/// libsluice_images.
Result<const ImageLibrary *> imageLibrary();

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_HOSTLIBRARIES_H
