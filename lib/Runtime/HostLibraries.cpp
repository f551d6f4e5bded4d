//===- HostLibraries.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HostLibraries.h"

#include "SharedLibrary.h"

#include <filesystem>

namespace sluice::runtime {

namespace {

/// The folder of the file that this code is in: the runtime's own, or a tool that it is linked to.
std::string ownFolder() {
  Dl_info where{};
  static const char here = 0;
  std::string path = dladdr(&here, &where) && where.dli_fname ? where.dli_fname : "";
  // A program that was found by its name alone.
  std::error_code ignored;
  if (path.find('/') == path.npos)
    path = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return path.substr(0, path.rfind('/') + 1);
}

/// A library beside the runtime, or in the folder `lib` beside a tool's, or wherever the system finds it. The reason of
/// a failure is that of a file that is there, as when a library that it needs is not.
SharedLibrary openLibrary(const std::string &name) {
  const std::string folder = ownFolder(), beside = folder + name, ofTool = folder + "../lib/" + name;
  std::error_code ignored;
  const std::string &first = std::filesystem::exists(beside, ignored)   ? beside
                             : std::filesystem::exists(ofTool, ignored) ? ofTool
                                                                        : name;
  return SharedLibrary({first.c_str(), name.c_str()});
}

tl::unexpected<std::string> absent(const std::string &name, const char *package, const char *what,
                                   const SharedLibrary &library) {
  return failure("cannot load ", name, " for ", what, ", ", library.problem(), ", install the package ", package,
                 " or put the library beside the runtime");
}

Result<RegexLibrary> loadRegex() {
  const std::string name = "libsluice_regex.so.0";
  SharedLibrary library = openLibrary(name);
  RegexLibrary functions;
  library.find(functions.compile, "sluice_regex_compile");
  library.find(functions.matches, "sluice_regex_matches");
  library.find(functions.release, "sluice_regex_release");
  if (!library.problem().empty())
    return absent(name, "libsluice-regex", "regular expressions", library);
  return functions;
}

Result<ImageLibrary> loadImages() {
  const std::string name = "libsluice_images.so.0";
  SharedLibrary library = openLibrary(name);
  ImageLibrary functions;
  library.find(functions.decode, "sluice_image_decode");
  if (!library.problem().empty())
    return absent(name, "libsluice-images", "encoded images", library);
  return functions;
}

} // namespace

Result<const RegexLibrary *> regexLibrary() { return loadedOnce<RegexLibrary, loadRegex>(); }
Result<const ImageLibrary *> imageLibrary() { return loadedOnce<ImageLibrary, loadImages>(); }

} // namespace sluice::runtime
