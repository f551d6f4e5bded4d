//===- SharedLibrary.h - What is found at run time --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_SHAREDLIBRARY_H
#define SLUICE_RUNTIME_SHAREDLIBRARY_H

#include "Result.h"

#include <dlfcn.h>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace sluice::runtime {

/// A shared library, opened by the first of its names that is found. It stays open, because libraries like CUDA's do
/// not close cleanly.
class SharedLibrary {
public:
  explicit SharedLibrary(std::initializer_list<const char *> names) {
    for (const char *each : names) {
      if (handle)
        break;
      name = each;
      handle = dlopen(each, RTLD_NOW | RTLD_LOCAL);
      if (!handle && absent.empty())
        absent = dlerror();
    }
  }
  /// Sets `function` to the function of that name; null if the library has none.
  template <typename Function>
  void find(Function &function, const char *symbol) {
    function = handle ? reinterpret_cast<std::remove_reference_t<Function>>(dlsym(handle, symbol)) : nullptr;
    if (handle && !function && missing.empty())
      missing = symbol;
    if (function)
      anySymbol = symbol;
  }

  bool isOpen() const { return handle; }
  const std::string &fileName() const { return name; }
  /// Whether another library can be opened from this one's directory, or by its name alone. It stays open too.
  bool hasBeside(const char *other) const {
    Dl_info where{};
    void *symbol = handle ? dlsym(handle, anySymbol.c_str()) : nullptr;
    if (symbol && dladdr(symbol, &where) && where.dli_fname) {
      const std::string path = where.dli_fname;
      if (size_t slash = path.rfind('/'); slash != std::string::npos)
        if (dlopen((path.substr(0, slash + 1) + other).c_str(), RTLD_NOW | RTLD_LOCAL))
          return true;
    }
    return dlopen(other, RTLD_NOW | RTLD_LOCAL);
  }
  /// Why the library is not open: the message for its first name.
  const std::string &error() const { return absent; }
  /// The first function that was not found; empty if all were found.
  const std::string &missingFunction() const { return missing; }
  std::string problem() const {
    return !handle ? absent : missing.empty() ? "" : "'" + name + "' has no function '" + missing + "'";
  }

private:
  void *handle = nullptr;
  std::string name, absent, missing, anySymbol;
};

/// The functions of a library, which the first call loads, or why it could not be loaded.
template <typename Library, Result<Library> (*load)()>
Result<const Library *> loadedOnce() {
  static const Result<Library> library = load();
  if (!library)
    return tl::unexpected(library.error());
  return &*library;
}

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_SHAREDLIBRARY_H
