//===- CommandFuzzer.cpp - Any arguments of sluice's commands -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each line is an argument. A command line is refused with 2, fails with 1 or succeeds with
// 0, in a folder with two models, a machine and a pipeline. Arguments with a slash or a
// long number, and commands that measure, run or wait, are only parsed.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/Folder.h"

#include "tools/sluice/Commands.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <vector>

using namespace sluice;

static void writeFiles() {
  fuzz::fileWith("m.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 4] x, float[4, 3] w) => (float[n, 3] y) { a = MatMul(x, w) y = Relu(a) }
)");
  fuzz::fileWith("t.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 2] x) => (float[n, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { a = MatMul(x, w) y = Sigmoid(a) }
)");
  fuzz::fileWith("pair.json", R"({"schema": 1, "services": [{"id": "a", "model": "m.onnxtxt"}]})");
  fuzz::fileWith("box.json",
                 R"({"schema": 1, "name": "box", "memories": [{"name": "host", "capacity": 1048576}],
 "devices": [{"name": "cpu", "kind": "cpu", "memory": "host", "flopsPerSec": 1e9, "memoryBytesPerSec": 1e9}], "links": []})");
}

static bool mayAct(const std::vector<std::string> &arguments) {
  static constexpr std::array<std::string_view, 7> kCommands = {"compile", "plan",   "info",   "report",
                                                                "compose", "export", "machine"};
  if (arguments.size() < 2 || std::find(kCommands.begin(), kCommands.end(), arguments[1]) == kCommands.end())
    return false;
  return std::none_of(arguments.begin(), arguments.end(), [](const std::string &argument) {
    constexpr size_t kLongNumber = 4;
    size_t digits = 0, most = 0;
    for (const char c : argument)
      most = std::max(most, digits = c >= '0' && c <= '9' ? digits + 1 : 0);
    return argument.find('/') != std::string::npos || most >= kLongNumber || argument.starts_with("--det");
  });
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  writeFiles();
  return chdir(fuzz::folder().c_str());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::string> arguments = {"sluice"};
  constexpr size_t kMostArguments = 24;
  for (std::string_view rest(reinterpret_cast<const char *>(data), size);
       !rest.empty() && arguments.size() < kMostArguments;) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    arguments.emplace_back(line.substr(0, line.find('\0')));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  // The clock must not decide how long a search takes.
  if (arguments.size() > 1 && (arguments[1] == "compile" || arguments[1] == "plan") &&
      std::find(arguments.begin(), arguments.end(), "--search-evals") == arguments.end())
    arguments.insert(arguments.begin() + 2, {"--search-evals", "2"});
  const bool acts = mayAct(arguments);
  CLI::App app("", "sluice");
  app.require_subcommand(1);
  driver::Action action;
  // The options of all commands take longer to make than one command to parse.
  if (arguments.size() < 2 || !driver::addCommand(app, action, arguments[1]))
    driver::addCommands(app, action);
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  auto act = [&] {
    Status status = acts && action ? action() : Status();
    if (!status && status.error().code == ErrorCode::Internal)
      std::abort();
    return status;
  };
  const int code = driver::runTool(app, act, static_cast<int>(pointers.size()), pointers.data());
  if (code < 0 || code > 2)
    std::abort();
  if (acts)
    writeFiles();
  return 0;
}
