//===- Folder.h - Files for targets that read files -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_FOLDER_H
#define SLUICE_TEST_FUZZ_FOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice::fuzz {

/// A folder that the process removes when it ends.
inline const std::string &folder() {
  struct Owner {
    std::string path;
    Owner() {
      std::string name = (std::filesystem::temp_directory_path() / "sluice-fuzz-XXXXXX").string();
      if (!mkdtemp(name.data()))
        std::abort();
      path = name;
    }
    ~Owner() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Owner owner;
  return owner.path;
}

/// The path of a file of this name with these bytes, in the folder. Each call replaces the file of an earlier one.
inline std::string fileWith(std::string_view name, std::string_view bytes) {
  std::string path = folder() + "/" + std::string(name);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_FOLDER_H
