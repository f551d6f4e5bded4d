//===- CommandFuzzer.cpp - Any arguments of sluice's commands -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each line is an argument. A command line is refused with 2, fails with 1 or succeeds with
// 0, in a folder with models, a program, machines, pipelines, a plan and a compiled model. Arguments with a slash or a
// long number, and commands that measure, run or wait, are only parsed.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/Folder.h"

#include "tools/sluice/Commands.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
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
  fuzz::fileWith("d.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[a, b] x) => (float[a, b] y) { y = Relu(x) }
)");
  fuzz::fileWith("s.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[] x) => (float[] y) { y = Relu(x) }
)");
  fuzz::fileWith("q.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
g (seq(float[]) x) => (float[] y) { y = ConcatFromSequence <axis = 0> (x) }
)");
  fuzz::fileWith("r.onnxtxt",
                 R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1], metadata_props: ["author" : "nobody"]>
g (float[n, 2] x, bool c) => (float[n, 2] y)
<float[2] w = {1, 2}>
{
  a = own.scaled <by = 2.0> (x, w)
  y = If (c) <
    then_branch = t () => (float[n, 2] p) <float[2] k = {3, 4}> { p = Add(a, k) },
    else_branch = e () => (float[n, 2] q) { q = Relu(a) }>
}
<domain: "own", opset_import: ["" : 17]>
scaled <by> (x, w) => (y) { k = Constant <value_float = @by> () u = Mul(x, w) y = Mul(u, k) }
)");
  fuzz::fileWith("m.mlir", R"(func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = dataflow.unary relu %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
)");
  fuzz::fileWith("pair.json", R"({"schema": 1, "services": [{"id": "a", "model": "m.onnxtxt"}]})");
  fuzz::fileWith("two.json", R"({"schema": 1, "services": [{"id": "a", "model": "d.onnxtxt"},
 {"id": "b", "graph": ["(float[k, 2] x) => (float[k, 2] y) { y = Exp(x) }"]}], "links": [{"from": "a.y", "to": "b.x"}]})");
  fuzz::fileWith("box.json",
                 R"({"schema": 1, "name": "box", "memories": [{"name": "host", "capacity": 1048576}],
 "devices": [{"name": "cpu", "kind": "cpu", "memory": "host", "flopsPerSec": 1e9, "memoryBytesPerSec": 1e9}], "links": []})");
  fuzz::fileWith("tiers.json", R"({"schema": 1, "name": "tiers",
 "memories": [{"name": "host", "capacity": "2KiB"}, {"name": "accel0", "capacity": "4KiB"}, {"name": "ssd", "kind": "file"}],
 "devices": [{"name": "cpu", "memory": "host", "computes": false},
             {"name": "accel0", "kind": "emulated", "memory": "accel0", "flopsPerSec": 1e9}],
 "links": [{"between": ["host", "accel0"], "bytesPerSec": 1e9}, {"between": ["host", "ssd"], "bytesPerSec": 1e8}]})");
}

/// The files that a command finds, by their paths.
static std::map<std::string, std::string> files;

static void saveFiles() {
  for (const auto &entry : std::filesystem::recursive_directory_iterator(fuzz::folder()))
    if (entry.is_regular_file()) {
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().string()].assign(std::istreambuf_iterator<char>(file), {});
    }
}

static void restoreFiles() {
  for (const auto &entry : std::filesystem::directory_iterator(fuzz::folder()))
    std::filesystem::remove_all(entry.path());
  for (const auto &[path, bytes] : files) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
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

/// Runs a command line and returns its exit code.
static int runCommand(std::vector<std::string> arguments, bool acts) {
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
  return driver::runTool(app, act, static_cast<int>(pointers.size()), pointers.data());
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  writeFiles();
  if (chdir(fuzz::folder().c_str()) != 0)
    return 1;
  // A plan and a compiled model.
  for (const char *command : {"plan", "compile"})
    if (runCommand({"sluice", command, "t.onnxtxt", "--dim", "n=2", "--search-evals", "2", "-o",
                    command == std::string_view("plan") ? "p.json" : "out"},
                   true) != 0)
      std::abort();
  saveFiles();
  return 0;
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
  const int code = runCommand(std::move(arguments), acts);
  if (code < 0 || code > 2)
    std::abort();
  if (acts)
    restoreFiles();
  return 0;
}
