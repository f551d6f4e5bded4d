//===- ArtifactFuzzer.cpp - Any bytes as an artifact's files --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// The bytes up to the first 0 are the manifest, those up to the next one model.so, and the
// rest is the file of parameters. No input has code of the hash that its manifest gives, so
// opening always fails; it must say why.
#include "test/fuzz/Folder.h"

#include "sluice/Runtime/sluice.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  auto next = [&] {
    const std::string_view part = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  sluice::fuzz::fileWith("manifest.json", next());
  sluice::fuzz::fileWith("model.so", next());
  sluice::fuzz::fileWith("parameters.bin", rest);
  sluice_options options = {};
  options.size = sizeof options;
  options.threads = 1;
  options.verify = 1;
  if (sluice_session *session = sluice_open(sluice::fuzz::folder().c_str(), &options)) {
    sluice_close(session);
    std::abort();
  }
  if (std::string_view(sluice_last_error()).empty())
    std::abort();
  return 0;
}
