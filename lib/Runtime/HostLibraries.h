//===- HostLibraries.h - What few models need -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Other projects' libraries match regular expressions and decode images. Sluice's own libraries wrap them. The runtime
// loads a wrapper at the first call, so that a model without such calls needs neither library.
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

/// The functions of libsluice_regex, or why it could not be loaded.
Result<const RegexLibrary *> regexLibrary();
/// /// The functions of libsluice_images, or why it could not be loaded.
Result<const ImageLibrary *> imageLibrary();

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_HOSTLIBRARIES_H
