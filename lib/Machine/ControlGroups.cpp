//===- ControlGroups.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/ControlGroups.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// A hierarchy of groups that limits memory: where it is mounted, which of its groups that directory shows, and the
/// file with a group's limit.
struct Mount {
  std::string directory, shownGroup;
  bool isVersion2 = false;
};

bool hasWord(std::string_view list, std::string_view word) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == word)
      return true;
    begin = end + 1;
  }
  return false;
}

/// "36 35 98:0 /group /sys/fs/cgroup rw,noatime master:1 - cgroup cgroup rw,memory"
std::vector<Mount> readMounts(const std::string &path) {
  std::vector<Mount> mounts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, word, type, source, options;
    Mount mount;
    words >> id >> parent >> device >> mount.shownGroup >> mount.directory;
    while (words >> word && word != "-")
      ;
    words >> type >> source >> options;
    mount.isVersion2 = type == "cgroup2";
    if (mount.isVersion2 || (type == "cgroup" && hasWord(options, "memory")))
      mounts.push_back(std::move(mount));
  }
  return mounts;
}

/// The process's group in the hierarchy of version 2, or in that of version 1 which limits memory; empty where it is in
/// none. "4:memory:/group", "0::/group".
std::string readGroup(const std::string &path, bool isVersion2) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (isVersion2 ? controllers.empty() : hasWord(controllers, "memory"))
      return line.substr(second + 1);
  }
  return {};
}

/// "max", or bytes; version 1 writes a number above any memory where there is no limit.
int64_t readLimit(const std::string &path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text))
    return kNoLimit;
  const Expected<int64_t> bytes = parseInteger(text);
  constexpr int64_t kMost = int64_t(1) << 60;
  return bytes && *bytes >= 0 && *bytes < kMost ? *bytes : kNoLimit;
}

} // namespace

int64_t controlGroupMemoryBytes(const std::string &root) {
  int64_t least = kNoLimit;
  for (const Mount &mount : readMounts(root + "/proc/self/mountinfo")) {
    std::string group = readGroup(root + "/proc/self/cgroup", mount.isVersion2);
    // A container's mount shows its own group as the directory itself.
    if (mount.shownGroup != "/" && group.starts_with(mount.shownGroup))
      group.erase(0, mount.shownGroup.size());
    if (group == "/")
      group.clear();
    const char *const name = mount.isVersion2 ? "/memory.max" : "/memory.limit_in_bytes";
    for (;;) {
      least = std::min(least, readLimit(root + mount.directory + group + name));
      if (group.empty())
        break;
      group.erase(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
    }
  }
  return least;
}

} // namespace sluice
