//===- MachineTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/Machine.h"
#include "sluice/Machine/ControlGroups.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Machine/MachineJson.h"
#include "sluice/Machine/RankMachine.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace sluice;
using Catch::Contains;

TEST_CASE("every preset is a valid machine and survives JSON", "[machine]") {
  for (const char *name :
       {"host", "emulated", "emulated:3", "v100-16gb", "a100-80gb", "h200", "h200x8", "p2.8xlarge", "p2.16xlarge"}) {
    CAPTURE(name);
    Expected<Machine> machine = machinePreset(name);
    REQUIRE(machine);
    REQUIRE(machine->check());
    CHECK(machine->name == name);
    CHECK(machine->memories[0].name == "host");
    Json json = machineToJson(*machine);
    Expected<Machine> again = machineFromJson(JsonReader(json, "m"));
    REQUIRE(again);
    CHECK(machineToJson(*again) == json);
  }
}

TEST_CASE("a kind without an entry has that of the kind before its last dot", "[machine]") {
  const std::map<std::string, double> efficiency = {{"conv", 0.5}, {"conv.depthwise", 0.125}, {"a.b", 0.25}, {"", 9}};
  CHECK(efficiencyOf(efficiency, "conv") == 0.5);
  CHECK(efficiencyOf(efficiency, "conv.pointwise") == 0.5);
  CHECK(efficiencyOf(efficiency, "conv.depthwise") == 0.125);
  CHECK(efficiencyOf(efficiency, "conv.depthwise.wide") == 0.125);
  CHECK(efficiencyOf(efficiency, "a.b.c") == 0.25);
  CHECK(efficiencyOf(efficiency, "a") == 1);
  CHECK(efficiencyOf(efficiency, "convolution") == 1);
  CHECK(efficiencyOf(efficiency, "conv-winograd2") == 1);
  CHECK(efficiencyOf({}, "conv.pointwise") == 1);
}

TEST_CASE("presets have the papers' numbers", "[machine]") {
  Machine v100 = *machinePreset("v100-16gb");
  REQUIRE(v100.computeDevices().size() == 1);
  const Device &gpu = v100.device(v100.computeDevices()[0]);
  auto rateOf = [&](const char *kind) { return gpu.flopsPerSec * efficiencyOf(gpu.efficiency, kind); };
  for (const char *kind : {"matmul", "conv", "conv.pointwise", "conv_transpose", "conv_weight_gradient.pointwise"})
    CHECK(rateOf(kind) == Approx(13.7e12));
  for (const char *kind : {"conv.3x3", "conv_transpose.3x3", "conv_weight_gradient.3x3"}) {
    CHECK(rateOf(kind) == Approx(2.25 * 13.7e12)); // Winograd's F(2x2, 3x3) multiplies 16 times instead of 36.
    CHECK(rateOf(kind) < 2.25 * gpu.flopsPerSec);
  }
  // A window of 7x7 over 32 images of 32 channels with 224 x 224 pixels: 5.04 GFLOP in 5.457 ms.
  CHECK(rateOf("conv.depthwise") == Approx(2.0 * 32 * 32 * 224 * 224 * 49 / 5.457e-3).epsilon(0.01));
  CHECK(rateOf("elementwise") == 15.7e12);
  CHECK(gpu.launchOverheadNs == 25000);
  CHECK(v100.memory(gpu.memory).capacityBytes == 14'000'000'000);
  const Link &link = v100.link(v100.findLink(Machine::hostMemory(), gpu.memory));
  CHECK(link.bytesPerSec == 12e9);
  CHECK(link.duplexBytesPerSec == 20e9);

  Machine p2 = *machinePreset("p2.8xlarge");
  CHECK(p2.computeDevices().size() == 8);
  CHECK(p2.memories[1].capacityBytes == 12'000'000'000);
  // SoyBean, section 6.1: "a maximum peer-to-peer bi-directional bandwidth of 20GB/s".
  for (const Link &each : p2.links) {
    CHECK(each.bytesPerSec == 10e9);
    CHECK(each.duplexBytesPerSec == 20e9);
  }
  CHECK(p2.findLink(MemoryId(1), MemoryId(8)).valid());
  CHECK(machinePreset("p2.16xlarge")->computeDevices().size() == 16);
}

TEST_CASE("the emulated accelerator sits beside a host that only feeds it", "[machine]") {
  Machine machine = *machinePreset("emulated");
  CHECK_FALSE(machine.devices[0].computes);
  CHECK(machine.devices[1].kind == DeviceKind::Emulated);
  CHECK(machine.memories[1].name == "accel0");
  CHECK(machine.memories[1].capacityBytes == int64_t(4) << 30);
  CHECK_FALSE(machine.links[0].throttle);
  CHECK(machinePreset("emulated:4")->computeDevices().size() == 4);
}

TEST_CASE("unknown presets and counts are refused", "[machine]") {
  Expected<Machine> unknown = machinePreset("tpu");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::NotFound);
  for (const std::string &name : machinePresetNames())
    CHECK_THAT(unknown.error().message, Contains(name));
  for (const char *name : {"emulated:0", "emulated:65", "emulated:", "h200x", "h200x99999999999999999999",
                           "emulated:-1", "emulated:2 ", ""}) {
    CAPTURE(name);
    CHECK_FALSE(machinePreset(name));
  }
}

TEST_CASE("lookups", "[machine]") {
  Machine machine = *machinePreset("h200x2");
  CHECK(machine.findMemory("gpu1") == MemoryId(2));
  CHECK_THAT(machine.findMemory("gpu2").error().message, Contains("'gpu2'") && Contains("'host', 'gpu0' or 'gpu1'"));
  CHECK(machine.findLink(MemoryId(2), MemoryId(1)) == machine.findLink(MemoryId(1), MemoryId(2)));
  CHECK_FALSE(machine.findLink(MemoryId(1), MemoryId(1)).valid());
}

TEST_CASE("check names what is wrong", "[machine]") {
  Machine machine = *machinePreset("h200x2");
  const char *message = nullptr;
  SECTION("memory") {
    machine.memories.clear();
    message = "no memory";
  }
  SECTION("name twice") {
    machine.memories[1].name = "host";
    message = "used twice";
  }
  SECTION("device name twice") {
    machine.devices[1].name = "cpu";
    message = "device name 'cpu'";
  }
  SECTION("capacity") {
    machine.memories[1].capacityBytes = -1;
    message = "negative capacity";
  }
  SECTION("device's memory") {
    machine.devices[1].memory = MemoryId(9);
    message = "the device's memory does not exist";
  }
  SECTION("no memory at all") {
    machine.devices[1].memory = MemoryId();
    message = "the device's memory does not exist";
  }
  SECTION("unlinked") {
    machine.links.clear();
    message = "with the memory of the host";
  }
  SECTION("rate of zero") {
    machine.devices[1].flopsPerSec = 0;
    message = "must be from 1 to 1e21";
  }
  SECTION("rate not a number") {
    machine.devices[1].memoryBytesPerSec = std::numeric_limits<double>::quiet_NaN();
    message = "must be from 1 to 1e21";
  }
  SECTION("efficiency") {
    machine.devices[1].efficiency["conv"] = 0;
    message = "efficiency of 'conv'";
  }
  SECTION("overhead") {
    machine.devices[1].launchOverheadNs = -1;
    message = "launch overhead";
  }
  SECTION("threads") {
    machine.devices[1].threads = 0;
    message = "threads";
  }
  SECTION("speed") {
    machine.devices[1].speed = 1.5;
    message = "speed";
  }
  SECTION("link to nowhere") {
    machine.links[2].b = MemoryId(9);
    message = "link names a memory that does not exist";
  }
  SECTION("link to itself") {
    machine.links[2].a = machine.links[2].b;
    message = "with itself";
  }
  SECTION("link rate") {
    machine.links[0].bytesPerSec = std::numeric_limits<double>::infinity();
    message = "must be from 1 to 1e21";
  }
  SECTION("duplex below one direction") {
    machine.links[0].duplexBytesPerSec = machine.links[0].bytesPerSec / 2;
    message = "duplex rate";
  }
  SECTION("duplex above both directions") {
    machine.links[0].duplexBytesPerSec = machine.links[0].bytesPerSec * 3;
    message = "duplex rate";
  }
  SECTION("latency") {
    machine.links[0].latencyNs = -5;
    message = "latency";
  }
  SECTION("event latency") {
    machine.links[0].eventLatencyNs = -1;
    message = "event latency";
  }
  SECTION("two links between two memories") {
    std::swap(machine.links[0].a, machine.links[0].b);
    machine.links.push_back(machine.links[0]);
    std::swap(machine.links[0].a, machine.links[0].b);
    message = "two links join";
  }
  SECTION("nothing computes") {
    for (Device &device : machine.devices)
      device.computes = false;
    message = "no device computes";
  }
  Status status = machine.check();
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains(message));
}

static const char *const kText = R"({
  "schema": 1, "name": "box",
  "memories": [{"name": "host"}, {"name": "gpu0", "capacity": "16GiB"}],
  "devices": [
    {"name": "cpu", "memory": "host", "computes": false},
    {"name": "gpu0", "kind": "cuda", "memory": "gpu0", "flopsPerSec": 1e13, "memoryBytesPerSec": "900GB/s",
     "launchOverhead": "10us", "efficiency": {"conv": 0.5}}],
  "links": [{"between": ["host", "gpu0"], "bytesPerSec": "12GB/s", "duplexBytesPerSec": 2e10, "latency": 5000,
             "eventLatency": "3us"}]})";

TEST_CASE("machine files take numbers and units", "[machine]") {
  Json json = *parseJson(kText, "");
  Expected<Machine> machine = machineFromJson(JsonReader(json, "box.json:"));
  REQUIRE(machine);
  CHECK(machine->memories[0].capacityBytes == std::numeric_limits<int64_t>::max());
  CHECK(machine->memories[1].capacityBytes == int64_t(16) << 30);
  CHECK(machine->devices[1].launchOverheadNs == 10000);
  CHECK(machine->devices[1].memoryBytesPerSec == 9e11);
  CHECK(machine->devices[1].efficiency.at("conv") == 0.5);
  CHECK(machine->links[0].bytesPerSec == 1.2e10);
  CHECK(machine->links[0].latencyNs == 5000);
  CHECK(machine->links[0].eventLatencyNs == 3000);
}

TEST_CASE("what is wrong in a machine's JSON is named by path", "[machine]") {
  struct Case {
    const char *pointer;
    Json value;
    const char *message;
  };
  const std::vector<Case> cases = {
      {"/schema", 99, "machine schema 99 is not known"},
      {"/color", "red", "'color' is unknown"},
      {"/memories", Json::object(), "box.json:memories"},
      {"/memories/1/capacity", "16 apples", "'16 apples' is not a size"},
      {"/memories/1/capacity", -1, "negative capacity"},
      {"/memories/1/name", 7, "box.json:memories[1].name"},
      {"/devices/1/kind", "tpu", "device kind 'tpu' is unknown"},
      {"/devices/1/memory", "gpu9", "memory 'gpu9' is not in machine"},
      {"/devices/1/launchOverhead", "10", "box.json:devices[1].launchOverhead"},
      {"/devices/1/memoryBytesPerSec", "900GB", "is not a rate"},
      {"/devices/1/memoryBytesPerSec", "fast/s", "'fast/s' is not a rate"},
      {"/devices/1/efficiency", 1, "expected an object"},
      {"/devices/1/efficiency/conv", "x", "efficiency.conv"},
      {"/devices/1/threads", 0, "threads 0 is out of range"},
      {"/devices/1/threads", 4294967297, "out of range"},
      {"/devices/1/flopsPerSec", -1, "the device's rates must be from 1 to 1e21"},
      {"/devices/1/flopsPerSec", 1e308, "the device's rates must be from 1 to 1e21"},
      {"/devices/1/memoryBytesPerSec", 5e-324, "the device's rates must be from 1 to 1e21"},
      {"/devices/1/efficiency/conv", 5e-324, "efficiency of 'conv' must be from 1e-6 to 1e6"},
      {"/devices/1/efficiency/conv", 1e308, "efficiency of 'conv' must be from 1e-6 to 1e6"},
      {"/devices/1/speed", 5e-324, "speed must be from 1e-6 to 1"},
      {"/links/0/bytesPerSec", 1e22, "the rate must be from 1 to 1e21"},
      {"/links/0/duplexBytesPerSec", 2.001 * 1.2e10, "must be from 1.2e+10 to 2.4e+10"},
      {"/links/0/duplexBytesPerSec", 0.9995 * 1.2e10, "one to two times the rate of one direction"},
      {"/links/0/duplexBytesPerSec", 2.4000000000000004e10, "duplex rate"},
      {"/links/0/latency", "2h", "latency must be from 0 to 1h"},
      {"/links/0/eventLatency", "1h", "latency and twice the event latency must together be at most 1h"},
      {"/links/0/between", Json::array({"host"}), "must name two memories"},
      {"/links/0/between/1", "nowhere", "memory 'nowhere' is not"},
      {"/links/0/duplexBytesPerSec", 1e9, "duplex rate"},
      {"/links", Json::array(), "with the memory of the host"},
  };
  for (const Case &c : cases) {
    CAPTURE(c.pointer, c.value.dump());
    Json json = *parseJson(kText, "");
    json[Json::json_pointer(c.pointer)] = c.value;
    Expected<Machine> machine = machineFromJson(JsonReader(json, "box.json:"));
    REQUIRE_FALSE(machine);
    CHECK_THAT(machine.error().message, Contains(c.message));
  }
}

TEST_CASE("a link's duplex rate includes both of its limits", "[machine]") {
  for (double duplex : {1.2e10, 2.4e10}) {
    Json json = *parseJson(kText, "");
    json[Json::json_pointer("/links/0/duplexBytesPerSec")] = duplex;
    CHECK(machineFromJson(JsonReader(json, "box.json:")));
  }
}

/// An accelerator with a file behind its link to the host.
static Machine machineWithFile() {
  Machine machine = *machinePreset("emulated");
  machine.memories.push_back({"ssd", int64_t(1) << 40, MemoryKind::File});
  Link link;
  link.a = MemoryId(1u);
  link.b = MemoryId(2u);
  link.bytesPerSec = 2e9;
  link.reverseBytesPerSec = 3e9;
  link.duplexBytesPerSec = 4e9;
  link.trunk = LinkId(0u);
  machine.links.push_back(link);
  return machine;
}

TEST_CASE("files, trunks and rates each way pass through JSON", "[machine]") {
  const Machine machine = machineWithFile();
  REQUIRE(machine.check());
  CHECK(machine.checkRunnable());
  Json json = machineToJson(machine);
  Expected<Machine> read = machineFromJson(JsonReader(json, ""));
  REQUIRE(read);
  CHECK(machineToJson(*read) == json);
  CHECK(read->isFile(MemoryId(2u)));
  CHECK(read->hasFiles());
  CHECK(read->links[1].trunk == LinkId(0u));
  CHECK(read->links[1].rateFrom(MemoryId(1u)) == 2e9);
  CHECK(read->links[1].rateFrom(MemoryId(2u)) == 3e9);
  json["links"][1].erase("duplexBytesPerSec");
  CHECK(machineFromJson(JsonReader(json, ""))->links[1].duplexBytesPerSec == 5e9);
}

TEST_CASE("machines whose GPU alone reaches a file cannot be compiled for", "[machine]") {
  CHECK(machinePreset("emulated")->checkCompilable());
  Machine machine = machineWithFile();
  CHECK(machine.checkCompilable());
  machine.devices[1].kind = DeviceKind::Cuda;
  Status status = machine.checkCompilable();
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message,
             Contains("programs cannot copy between a GPU's memory and a file, link 'accel0' - 'ssd' of machine"));
  machine.links[1].a = Machine::hostMemory();
  CHECK(machine.checkCompilable());
}

TEST_CASE("the file below a memory that computes", "[machine]") {
  CHECK_FALSE(fileBelowHost(*machinePreset("emulated")).valid());
  CHECK_FALSE(fileBelowHost(machineWithFile()).valid());
  Machine plain = *machineFromJson(JsonReader(*parseJson(R"({"schema": 1, "name": "plain",
    "memories": [{"name": "host"}], "devices": [{"name": "cpu", "memory": "host"}]})",
                                                         ""),
                                              ""));
  CHECK_FALSE(fileBelowHost(plain).valid());
  attachDisk(plain, {2e9, 1e9, 50'000});
  REQUIRE(plain.check());
  CHECK(plain.checkRunnable());
  CHECK(plain.checkCompilable());
  CHECK(fileBelowHost(plain) == MemoryId(1u));
  CHECK(plain.link(LinkId(0u)).rateFrom(MemoryId(1u)) == 2e9);
  CHECK(plain.link(LinkId(0u)).rateFrom(Machine::hostMemory()) == 1e9);
}

TEST_CASE("a disk is measured with direct I/O in bounded time", "[machine]") {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "sluice-measured-disk";
  std::filesystem::create_directories(directory);
  Expected<DiskRates> rates = measureDisk(directory.string());
  REQUIRE(rates);
  CHECK(rates->readBytesPerSec > 1e5);
  CHECK(rates->writeBytesPerSec > 1e5);
  CHECK(rates->readLatencyNs > 0);
  CHECK(std::filesystem::is_empty(directory));
  const std::string file = (directory / "file").string();
  std::ofstream(file) << std::string(3 << 20, 'x');
  rates = measureReads(file);
  REQUIRE(rates);
  CHECK(rates->readBytesPerSec > 1e5);
  std::filesystem::resize_file(file, 1000);
  CHECK_THAT(measureReads(file).error().message, Contains("at least 1 MiB") && Contains(file));
  CHECK_THAT(measureDisk((directory / "none").string()).error().message,
             Contains("cannot measure the disk") && Contains("none"));
  std::filesystem::remove_all(directory);
}

TEST_CASE("limits of control groups of both versions are read", "[machine]") {
  const std::filesystem::path root = std::filesystem::temp_directory_path() / "sluice-control-groups";
  std::filesystem::remove_all(root);
  auto write = [&](const std::string &path, const std::string &text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  CHECK(controlGroupMemoryBytes(root.string()) == kNoLimit);
  SECTION("version 2: the least of a group and those above it") {
    write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
    write("proc/self/cgroup", "0::/a/b\n");
    CHECK(controlGroupMemoryBytes(root.string()) == kNoLimit);
    write("sys/fs/cgroup/a/b/memory.max", "max\n");
    CHECK(controlGroupMemoryBytes(root.string()) == kNoLimit);
    write("sys/fs/cgroup/a/memory.max", "5000000\n");
    CHECK(controlGroupMemoryBytes(root.string()) == 5'000'000);
    write("sys/fs/cgroup/a/b/memory.max", "4000000\n");
    CHECK(controlGroupMemoryBytes(root.string()) == 4'000'000);
  }
  SECTION("version 1: the hierarchy that limits memory") {
    write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                                 "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                 "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    write("proc/self/cgroup", "4:memory:/job\n1:cpu:/other\n0::/\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/cpu/other/memory.limit_in_bytes", "1\n");
    CHECK(controlGroupMemoryBytes(root.string()) == kNoLimit);
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "314572800\n");
    CHECK(controlGroupMemoryBytes(root.string()) == 314'572'800);
  }
  SECTION("a container, whose mount shows its own group") {
    write("proc/self/mountinfo", "40 39 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    write("proc/self/cgroup", "7:memory:/docker/abc\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
    CHECK(controlGroupMemoryBytes(root.string()) == 1'048'576);
  }
  std::filesystem::remove_all(root);
}

TEST_CASE("a rank's machine keeps files and trunks", "[machine]") {
  const Machine own = machineOfRank(machineWithFile(), 2);
  REQUIRE(own.check());
  REQUIRE(own.links.size() == 2);
  CHECK(own.links[1].trunk == LinkId(0u));
  CHECK(own.links[1].reverseBytesPerSec == 1.5e9);
  CHECK(own.memories[2].capacityBytes == int64_t(1) << 39);
}

TEST_CASE("bad files and trunks are named", "[machine]") {
  Machine machine = machineWithFile();
  const char *message = nullptr;
  SECTION("the host's memory") {
    machine.memories[0].kind = MemoryKind::File;
    message = "memory 'host' is a file, in which nothing computes, device 'cpu'";
  }
  SECTION("computing in a file") {
    machine.memories[1].kind = MemoryKind::File;
    message = "memory 'accel0' is a file, in which nothing computes";
  }
  SECTION("order") {
    machine.memories.push_back({"more"});
    message = "the memory is listed after a file, and files must be last, memory 'more'";
  }
  SECTION("no way to it") {
    machine.links.pop_back();
    message = "no link joins the file with the host's memory or with the memory of device 'accel0', memory 'ssd'";
  }
  SECTION("two files") {
    machine.memories.push_back({"tape", 1, MemoryKind::File});
    machine.links.push_back({MemoryId(2u), MemoryId(3u), 1e9, 1e9});
    message = "joins two files";
  }
  SECTION("its own trunk") {
    machine.links[1].trunk = LinkId(1u);
    message = "the link names itself as its trunk (the link whose rates it shares)";
  }
  SECTION("no such trunk") {
    machine.links[1].trunk = LinkId(7u);
    message = "the link's trunk does not exist";
  }
  SECTION("a trunk elsewhere") {
    machine.memories.insert(machine.memories.begin() + 1, 2, Memory{"a"});
    machine.memories[2].name = "b";
    machine.devices[1].memory = MemoryId(3u);
    machine.links = {{MemoryId(1u), MemoryId(2u), 1e9, 1e9},
                     {MemoryId(0u), MemoryId(3u), 1e9, 1e9},
                     {MemoryId(3u), MemoryId(4u), 1e9, 1e9}};
    machine.links[2].trunk = LinkId(0u);
    message = "the link and its trunk have no memory in common, link 'accel0' - 'ssd'";
  }
  SECTION("a trunk of a trunk") {
    machine.memories.push_back({"tape", 1, MemoryKind::File});
    machine.links.push_back({MemoryId(1u), MemoryId(3u), 1e9, 1e9});
    machine.links[2].trunk = LinkId(1u);
    message = "the link's trunk 'accel0' - 'ssd' has a trunk itself";
  }
  SECTION("reverse rate") {
    machine.links[1].reverseBytesPerSec = -1;
    message = "the rate must be from 1 to 1e21";
  }
  SECTION("duplex rate") {
    machine.links[1].duplexBytesPerSec = 6e9;
    message = "from the faster direction's rate to the sum of both rates";
  }
  Status status = machine.check();
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains(message));
}

TEST_CASE("what is wrong of a file or a trunk in JSON is named", "[machine]") {
  Json json = machineToJson(machineWithFile());
  const char *message = nullptr;
  SECTION("kind") {
    json["memories"][2]["kind"] = "tape";
    message = "memory kind 'tape' is unknown";
  }
  SECTION("trunk of one") {
    json["links"][1]["trunk"] = {"host"};
    message = "'trunk' must name the two memories of a link";
  }
  SECTION("trunk of no link") {
    json["links"][1]["trunk"] = {"host", "ssd"};
    message = "no link joins 'host' and 'ssd'";
  }
  SECTION("rate of zero") {
    json["links"][1]["reverseBytesPerSec"] = 0;
    message = "the rate is 0";
  }
  Expected<Machine> read = machineFromJson(JsonReader(json, "box.json:"));
  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().message, Contains(message));
}

TEST_CASE("machine files describe machines that can run", "[machine]") {
  Machine machine = *machinePreset("emulated");
  REQUIRE(machine.checkRunnable());
  const char *message = nullptr;
  SECTION("a CPU elsewhere") {
    machine.devices[1].kind = DeviceKind::Cpu;
    message = "a device of kind cpu must compute in the host's memory, device 'accel0' of machine 'emulated', give the "
              "device "
              "the kind emulated or cuda";
  }
  SECTION("an accelerator in the host's memory") {
    machine.devices[0].kind = DeviceKind::Emulated;
    message = "a device that computes in the host's memory must have the kind cpu, device 'cpu'";
  }
  SECTION("a memory without a device") {
    machine.memories.push_back({"disk", 1 << 20});
    message = "no device computes in memory 'disk', machine 'emulated', remove the memory or add a device for it";
  }
  REQUIRE(machine.check());
  Status status = machine.checkRunnable();
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains(message));
  auto path = std::filesystem::temp_directory_path() / concat("sluice-machine-test-", ::getpid(), "-unrunnable.json");
  REQUIRE(writeFileAtomically(path, machineToJson(machine).dump()));
  Expected<Machine> loaded = loadMachine(path);
  std::filesystem::remove(path);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message == status.error().message);
}

TEST_CASE("loading by name or path", "[machine]") {
  CHECK(loadMachine("h200")->name == "h200");
  Expected<Machine> absent = loadMachine("nowhere.json");
  REQUIRE_FALSE(absent);
  CHECK_THAT(absent.error().message, Contains("'nowhere.json'") && Contains("v100-16gb"));

  auto path = std::filesystem::temp_directory_path() / concat("sluice-machine-test-", ::getpid(), ".json");
  REQUIRE(writeFileAtomically(path, kText));
  Expected<Machine> machine = loadMachine(path);
  REQUIRE(machine);
  CHECK(machine->name == "box");
  REQUIRE(writeFileAtomically(path, "{\"schema\": 1, \"memories\": 4}"));
  Expected<Machine> broken = loadMachine(path);
  REQUIRE_FALSE(broken);
  CHECK_THAT(broken.error().message, Contains(path.string() + ":memories"));
  std::filesystem::remove(path);
}

TEST_CASE("detection measures plausible rates quickly", "[machine]") {
  auto start = std::chrono::steady_clock::now();
  Machine machine = detectHost();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  REQUIRE(machine.check());
  CHECK(took.count() < 5.0); // Far above the 0.1 s it takes: a busy computer must not fail it.
  CHECK(machine.devices[0].threads >= 1);
  CHECK(machine.devices[0].flopsPerSec > 1e8);
  CHECK(machine.devices[0].memoryBytesPerSec > 1e8);
  CHECK(machine.memories[0].capacityBytes > 0);
}
