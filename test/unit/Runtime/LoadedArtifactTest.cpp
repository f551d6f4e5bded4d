//===- LoadedArtifactTest.cpp - Opening artifact directories --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LoadedArtifact.h"
#include "CpuFeatures.h"
#include "Sha256.h"
#include "TestModel.h"

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <sys/wait.h>

using namespace sluice::runtime;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

/// A directory as sluice compile writes it, around the model Scale.c.
class TestArtifact {
public:
  TestArtifact() {
    std::string pattern = (fs::temp_directory_path() / "sluice-artifact-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path = pattern;
    for (int i = 0; i < 16; ++i)
      weights.push_back(static_cast<float>(i));
    useCode(SLUICE_TEST_MODEL);
  }
  ~TestArtifact() { fs::remove_all(path); }

  void write() const {
    std::ofstream(path / "manifest.json") << manifest;
    std::ofstream(path / "parameters.bin", std::ios::binary)
        .write(reinterpret_cast<const char *>(weights.data()), static_cast<std::streamsize>(weights.size() * 4));
  }
  /// Takes a file as the code, whose hash the manifest has.
  void useCode(const std::string &file) {
    code = contentsOf(file);
    std::ofstream(path / "model.so", std::ios::binary) << code;
    const size_t at = manifest.find("\"model_hash\": \"") + 15;
    manifest.replace(at, 64, sha256Hex(code.data(), code.size()));
    write();
  }
  /// Replaces in the manifest, and says what opening then answers.
  std::string errorWith(const std::string &from, const std::string &to) {
    std::string original = manifest;
    size_t at = manifest.find(from);
    REQUIRE(at != std::string::npos);
    manifest.replace(at, from.size(), to);
    write();
    std::string message = error();
    manifest = original;
    write();
    return message;
  }
  std::string error() const { return SessionPtr(sluice_open(path.c_str(), nullptr)) ? "" : sluice_last_error(); }

  static std::string contentsOf(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path path;
  std::string code;
  std::vector<float> weights;
  std::string manifest = R"({"schema": 1, "name": "scale", "abi_major": 1, "cpu_features": "",
    "model_hash": "0000000000000000000000000000000000000000000000000000000000000000",
    "model": "model.so", "parameters": "parameters.bin", "parameter_bytes": 64,
    "parameter_hash": "58dda328598e2f7fe472621bfc54935aaa354d1a6ebcaf9562cd743fd575eb19", "compiler": "by hand"})";
};

} // namespace

TEST_CASE("an artifact is opened and run", "[runtime]") {
  TestArtifact artifact;
  sluice_options options{sizeof options, 1, 0, 1, nullptr, nullptr};
  SessionPtr session(sluice_open(artifact.path.c_str(), &options));
  INFO(sluice_last_error());
  REQUIRE(session);
  CHECK(std::string(sluice_describe(session.get())->name) == "scale");
  std::vector<float> x(16, 3.0f), y(16);
  REQUIRE(runOnce(session.get(), x, y) == 0);
  for (int i = 0; i < 16; ++i)
    CHECK(y[i] == 3.0f * i);
}

TEST_CASE("a C application runs an artifact with the shared library", "[runtime]") {
  TestArtifact artifact;
  auto status = [&] {
    return std::system(("'" SLUICE_TEST_EXAMPLE "' '" + artifact.path.string() + "' > /dev/null 2>&1").c_str());
  };
  CHECK(status() == 0);
  fs::remove(artifact.path / "parameters.bin");
  int failed = status();
  CHECK(WIFEXITED(failed));
  CHECK(WEXITSTATUS(failed) == 1);
}

TEST_CASE("an artifact that is not what it says is refused", "[runtime]") {
  TestArtifact artifact;
  auto has = [](const std::string &message, const char *part) {
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
  };
  CHECK(artifact.error() == "");
  has(artifact.errorWith("\"abi_major\": 1", "\"abi_major\": 2"),
      "has ABI version 2, and this runtime has ABI version 1");
  has(artifact.errorWith("\"schema\": 1", "\"schema\": 7"), "schema 7");
  has(artifact.errorWith("\"cpu_features\": \"\"", "\"cpu_features\": \"+sse2,+warp9\""), "CPU feature 'warp9'");
  has(artifact.errorWith("\"parameter_bytes\": 64", "\"parameter_bytes\": 60"),
      "has 64 bytes and the manifest lists 60");
  has(artifact.errorWith("\"parameter_bytes\": 64", "\"parameter_bytes\": \"64\""), "no integer 'parameter_bytes'");
  has(artifact.errorWith("\"parameter_bytes\": 64", "\"parameter_bytes\": 18446744073709551615"), "no integer");
  has(artifact.errorWith("\"model\": \"model.so\"", "\"model\": \"../model.so\""),
      "which must be in the directory of the manifest");
  has(artifact.errorWith("\"model\": \"model.so\"", "\"model\": \"other.so\""), "cannot read");
  has(artifact.errorWith("\"model\": \"model.so\"", "\"model\": \".\""),
      "which must be in the directory of the manifest");
  has(artifact.errorWith("\"model\": \"model.so\"", "\"model\": \"parameters.bin\""),
      "was changed, its hash is not the one in the manifest, compile the model again");
  has(artifact.errorWith("\"model_hash\": \"", "\"model_hash\": \"0"), "which is not a SHA-256");
  has(artifact.errorWith("\"model_hash\"", "\"hash\""), "no string 'model_hash'");
  has(artifact.errorWith("\"model\": \"model.so\",", ""), "no string 'model'");
  has(artifact.errorWith("parameters.bin", "/etc/passwd"), "which must be in the directory of the manifest");
  has(artifact.errorWith("parameters.bin", "nothing.bin"), "cannot read");
  has(artifact.errorWith("\"parameter_bytes\": 64", "\"parameter_bytes\": 0"),
      "not the model that the manifest describes");
  has(artifact.errorWith("{\"schema\"", "[\"schema\""), "not a JSON object");
  artifact.weights[3] = 4;
  artifact.write();
  has(artifact.error(), "was changed, its hash is not the one in the manifest, compile the model again");
  artifact.manifest = std::string(100000, '[');
  artifact.write();
  has(artifact.error(), "not a JSON object");
  fs::remove(artifact.path / "manifest.json");
  has(artifact.error(), "cannot read");
  CHECK_FALSE(SessionPtr(sluice_open(nullptr, nullptr)));
  CHECK_FALSE(SessionPtr(sluice_open("/nonexistent", nullptr)));
}

TEST_CASE("code runs only if it is what the manifest says", "[runtime]") {
  TestArtifact artifact;
  const std::string good = artifact.code;
  auto errorOf = [&](const std::string &code) {
    std::ofstream(artifact.path / "model.so", std::ios::binary) << code;
    return artifact.error();
  };
  // Each byte counts, and so does the size.
  for (const size_t at : {size_t(0), good.size() / 2, good.size() - 1}) {
    std::string changed = good;
    changed[at] ^= 1;
    CHECK_THAT(
        errorOf(changed),
        Catch::Contains("model.so' was changed, its hash is not the one in the manifest, compile the model again"));
  }
  for (const std::string &changed : {good.substr(0, good.size() - 1), good + '\0', std::string()})
    CHECK_THAT(
        errorOf(changed),
        Catch::Contains("model.so' was changed, its hash is not the one in the manifest, compile the model again"));
  CHECK(errorOf(good) == "");
  // A library runs code as soon as it is loaded.
  unsetenv("SLUICE_HOSTILE_CODE_RAN");
  CHECK_THAT(errorOf(TestArtifact::contentsOf(SLUICE_HOSTILE_MODEL)),
             Catch::Contains("was changed, its hash is not the one in the manifest, compile the model again"));
  CHECK(!getenv("SLUICE_HOSTILE_CODE_RAN"));
  artifact.useCode(SLUICE_HOSTILE_MODEL);
  CHECK_THAT(artifact.error(), Catch::Contains("exports no sluice_model_get"));
  CHECK(getenv("SLUICE_HOSTILE_CODE_RAN"));
  unsetenv("SLUICE_HOSTILE_CODE_RAN");
  // A file with its hash that is no library.
  artifact.useCode((artifact.path / "parameters.bin").string());
  CHECK_THAT(artifact.error(), Catch::Contains("cannot load"));
  fs::remove(artifact.path / "model.so");
  fs::create_directory(artifact.path / "model.so");
  CHECK_THAT(artifact.error(), Catch::Contains("cannot read"));
}

TEST_CASE("a large parameter file is hashed when asked", "[runtime]") {
  TestArtifact artifact;
  int64_t bytes = kAlwaysHashedBytes + 1;
  artifact.manifest.replace(artifact.manifest.find(": 64,"), 5, ": " + std::to_string(bytes) + ",");
  artifact.write();
  fs::resize_file(artifact.path / "parameters.bin", static_cast<uintmax_t>(bytes)); // Sparse.
  sluice_options options{sizeof options, 1, 0, 1, nullptr, nullptr};
  CHECK_FALSE(SessionPtr(sluice_open(artifact.path.c_str(), &options)));
  CHECK(std::string(sluice_last_error())
            .find("was changed, its hash is not the one in the manifest, compile the model again") !=
        std::string::npos);
  options.verify = 0;
  CHECK_FALSE(SessionPtr(sluice_open(artifact.path.c_str(), &options)));
  CHECK(std::string(sluice_last_error()).find("not the model that the manifest describes") != std::string::npos);
}

TEST_CASE("CPU features are checked by name", "[runtime]") {
  CHECK(checkCpuFeatures("").has_value());
  CHECK(checkCpuFeatures("generic").has_value());
  CHECK_FALSE(checkCpuFeatures("znver99").has_value());
  CHECK_FALSE(checkCpuFeatures("+warp9").has_value());
#if defined(__x86_64__)
  CHECK(checkCpuFeatures("x86-64").has_value());
  CHECK_FALSE(checkCpuFeatures("aarch64,+dotprod").has_value());
  // A feature that the system does not report, and one that this runtime does not know.
  setenv("SLUICE_CPU_FEATURES", "+tbm,+xop,+warp9", 1);
  CHECK(checkCpuFeatures("+tbm").has_value());
  CHECK(checkCpuFeatures("+xop").has_value());
  CHECK_FALSE(checkCpuFeatures("+warp9").has_value());
  unsetenv("SLUICE_CPU_FEATURES");
  CHECK(checkCpuFeatures("+xop").has_value() == bool(__builtin_cpu_supports("xop")));
  CHECK(checkCpuFeatures("+sse2,-warp9,+cmov").has_value());
  __builtin_cpu_init();
  CHECK(checkCpuFeatures("+avx2").has_value() == bool(__builtin_cpu_supports("avx2")));
  CHECK(checkCpuFeatures("+fma").has_value() == bool(__builtin_cpu_supports("fma")));
  CHECK(checkCpuFeatures("+bmi2").has_value() == bool(__builtin_cpu_supports("bmi2")));
  CHECK(checkCpuFeatures("+avx512f").has_value() == bool(__builtin_cpu_supports("avx512f")));
  CHECK(checkCpuFeatures("+avx512vnni").has_value() == bool(__builtin_cpu_supports("avx512vnni")));
  CHECK(checkCpuFeatures("+avx512bf16").has_value() == bool(__builtin_cpu_supports("avx512bf16")));
  CHECK(checkCpuFeatures("+sse4a").has_value() == bool(__builtin_cpu_supports("sse4a")));
  CHECK(checkCpuFeatures("+gfni").has_value() == bool(__builtin_cpu_supports("gfni")));
#endif
}

TEST_CASE("what a manifest says of ranks is checked", "[runtime]") {
  const std::string piece(64, 'a');
  const std::string hash = sha256Hex((piece + piece + piece).data(), 192);
  auto parse = [&](const std::string &bytes, const std::string &ranks) {
    return parseManifest(R"({"schema": 1, "name": "m", "abi_major": 1, "cpu_features": "", "compiler": "by hand",
      "model": "model.so", "model_hash": ")" +
                             piece + R"(", "parameters": "parameters.bin", "parameter_bytes": )" + bytes +
                             R"(, "parameter_hash": ")" + hash + "\", " + ranks + "}",
                         "manifest.json");
  };
  const std::string hashes = R"("piece_hashes": [")" + piece + R"(", ")" + piece + R"(", ")" + piece + R"("])";
  const std::string sections = R"("sections": [{"bytes": 4096, "pieces": [0, 0]}, {"bytes": 8192, "pieces": [0, 1]}])";
  auto good = parse("20480", R"("ranks": 2, )" + sections + ", " + hashes);
  INFO((good ? "" : good.error()));
  REQUIRE(good);
  CHECK(good->numRanks == 2);
  CHECK(good->rankBytes() == 12288);
  CHECK(good->sections[1].numPieces == 2);
  auto has = [&](const std::string &bytes, const std::string &ranks, const char *part) {
    auto parsed = parse(bytes, ranks);
    INFO(ranks);
    REQUIRE_FALSE(parsed);
    CHECK_THAT(parsed.error(), Catch::Contains(part));
  };
  has("20480", R"("ranks": 1, )" + sections + ", " + hashes, "no number of ranks");
  has("20480", R"("ranks": 18446744073709551615, )" + sections + ", " + hashes, "no number of ranks");
  has("20480", R"("ranks": 2)", "no sections of parameters");
  has("20480", R"("ranks": 3, )" + sections + ", " + hashes, "without a size or without the pieces of its ranks");
  has("20481", R"("ranks": 2, )" + sections + ", " + hashes, "that do not match the size of the file");
  has("20480", R"("ranks": 2, "sections": [{"bytes": 20480, "pieces": [0, 2]}], )" + hashes, "not numbered");
  has("20480", R"("ranks": 2, "sections": [{"bytes": 20480, "pieces": [0, 1]}], )" + hashes,
      "that do not match the size of the file");
  has("20480", R"("ranks": 2, "sections": [{"bytes": -4096, "pieces": [0, 1]}], )" + hashes, "without a size");
  has("20480", R"("ranks": 2, "sections": 5, )" + hashes, "no sections of parameters");
  has("20480", R"("ranks": 2, )" + sections + R"(, "piece_hashes": ["x", "y", "z"])", "without its SHA-256");
  std::string other = hashes;
  other.replace(other.find('a', 20), 1, "b");
  has("20480", R"("ranks": 2, )" + sections + ", " + other,
      "a parameter hash that does not match the hashes of the pieces");
}
