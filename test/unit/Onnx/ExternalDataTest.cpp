//===- ExternalDataTest.cpp - Data outside the model's file ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Models.h"

#include "sluice/Onnx/MappedPages.h"

#include <algorithm>
#include <sys/stat.h>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

void setEntry(::onnx::TensorProto &tensor, const std::string &key, const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

/// A model whose initializer `w` of four floats lies in another file.
struct ExternalModel {
  explicit ExternalModel(const std::string &location) : proto(reluModel()) {
    tensor = addInitializer(proto, "w", 4);
    tensor->clear_raw_data();
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
    setEntry(*tensor, "location", location);
    fs::create_directories(directory.path / "model");
  }
  Expected<ModelFile> open() {
    writeFile(directory / "model/m.onnx", proto.SerializeAsString());
    return ModelFile::open(directory / "model/m.onnx");
  }
  TemporaryDirectory directory;
  ::onnx::ModelProto proto;
  ::onnx::TensorProto *tensor;
};

} // namespace

TEST_CASE("External data is read where it lies", "[onnx]") {
  ExternalModel model("weights/w.bin");
  fs::create_directories(model.directory.path / "model/weights");
  writeFile(model.directory / "model/weights/w.bin", "12345678" + std::string(16, 'w') + "tail");
  setEntry(*model.tensor, "offset", "8");
  setEntry(*model.tensor, "length", "16");
  Expected<ModelFile> opened = model.open();
  REQUIRE(opened);
  Expected<TensorData> data = opened->tensor(opened->graph().initializer(0));
  REQUIRE(data);
  REQUIRE(data->bytes.size() == 16);
  CHECK(data->bytes.front() == std::byte('w'));
  CHECK(data->bytes.back() == std::byte('w'));
}

TEST_CASE("External data may not leave the model's directory", "[onnx]") {
  SECTION("by ..") {
    ExternalModel model("../outside.bin");
    writeFile(model.directory / "outside.bin", std::string(16, 'x'));
    CHECK_THAT(messageOf(model.open()), Contains("leads out of the model's directory"));
  }
  SECTION("by .. to a system file") {
    ExternalModel model("../../../../../../etc/passwd");
    CHECK_THAT(messageOf(model.open()), Contains("leads out"));
  }
  SECTION("by .. that comes back") {
    ExternalModel model("sub/../w.bin");
    writeFile(model.directory / "model/w.bin", std::string(16, 'x'));
    CHECK_THAT(messageOf(model.open()), Contains("leads out"));
  }
  SECTION("by an absolute path") {
    ExternalModel model("/etc/passwd");
    CHECK_THAT(messageOf(model.open()), Contains("absolute path"));
  }
  SECTION("by a symbolic link") {
    ExternalModel model("w.bin");
    writeFile(model.directory / "outside.bin", std::string(16, 'x'));
    fs::create_symlink("../outside.bin", model.directory.path / "model/w.bin");
    CHECK_THAT(messageOf(model.open()), Contains("symbolic link 'w.bin'"));
  }
  SECTION("by a symbolic link to a directory") {
    ExternalModel model("sub/w.bin");
    fs::create_directories(model.directory.path / "elsewhere");
    writeFile(model.directory / "elsewhere/w.bin", std::string(16, 'x'));
    fs::create_directory_symlink("../elsewhere", model.directory.path / "model/sub");
    CHECK_FALSE(model.open());
  }
  SECTION("by a hard link") {
    ExternalModel model("w.bin");
    writeFile(model.directory / "outside.bin", std::string(16, 'x'));
    fs::create_hard_link(model.directory.path / "outside.bin", model.directory.path / "model/w.bin");
    CHECK_THAT(messageOf(model.open()), Contains("hard links"));
  }
}

TEST_CASE("External data must be a regular file with a name", "[onnx]") {
  SECTION("a directory") {
    ExternalModel model("sub");
    fs::create_directories(model.directory.path / "model/sub");
    CHECK_FALSE(model.open());
  }
  SECTION("a FIFO does not hang") {
    ExternalModel model("fifo");
    REQUIRE(::mkfifo((model.directory / "model/fifo").c_str(), 0600) == 0);
    CHECK_THAT(messageOf(model.open()), Contains("not a regular file"));
  }
  SECTION("no name") {
    ExternalModel model("");
    CHECK_THAT(messageOf(model.open()), Contains("no file name"));
  }
  SECTION("a zero byte") {
    ExternalModel model(std::string("w.bin\0/../x", 11));
    CHECK_THAT(messageOf(model.open()), Contains("not a file name"));
  }
}

TEST_CASE("A model whose external data is missing keeps its shapes", "[onnx]") {
  ExternalModel model("w.bin");
  SECTION("opens, and says what is missing to who needs it") {
    setEntry(*model.tensor, "offset", "64");
    Expected<ModelFile> opened = model.open();
    REQUIRE(opened);
    REQUIRE(opened->missingData().size() == 1);
    CHECK(opened->missingData().front().file == "w.bin");
    Expected<TensorData> data = opened->tensor(opened->graph().initializer(0));
    REQUIRE(data);
    CHECK(data->dims == std::vector<int64_t>{4});
    CHECK(data->bytes.empty());
    Status required = opened->requireData();
    REQUIRE_FALSE(required);
    CHECK(required.error().code == ErrorCode::NotFound);
    CHECK_THAT(required.error().message, Contains("'w.bin' of tensor 'w' does not exist"));
  }
  SECTION("still says how many bytes the shape has") {
    setEntry(*model.tensor, "length", "12");
    CHECK_THAT(messageOf(model.open()), Contains("holds 12 bytes"));
  }
  SECTION("in a directory that is not there either") {
    model.tensor->mutable_external_data(0)->set_value("absent/w.bin");
    CHECK(model.open());
  }
  SECTION("is complete once the file is there") {
    writeFile(model.directory / "model/w.bin", std::string(16, 'w'));
    Expected<ModelFile> opened = model.open();
    REQUIRE(opened);
    CHECK(opened->missingData().empty());
    CHECK(opened->requireData());
  }
}

TEST_CASE("External offsets and lengths are checked against the file", "[onnx]") {
  ExternalModel model("w.bin");
  writeFile(model.directory / "model/w.bin", std::string(20, 'x'));
  SECTION("beyond the end") {
    setEntry(*model.tensor, "offset", "8");
    CHECK_THAT(messageOf(model.open()), Contains("has only 20"));
  }
  SECTION("offset that overflows when added to") {
    setEntry(*model.tensor, "offset", "9223372036854775807");
    setEntry(*model.tensor, "length", "16");
    CHECK_THAT(messageOf(model.open()), Contains("has only 20"));
  }
  SECTION("not a number") {
    setEntry(*model.tensor, "offset", "0x10");
    CHECK_THAT(messageOf(model.open()), Contains("not a number of bytes"));
  }
  SECTION("negative") {
    setEntry(*model.tensor, "length", "-16");
    CHECK_THAT(messageOf(model.open()), Contains("not a number of bytes"));
  }
  SECTION("length that is not the shape's") {
    setEntry(*model.tensor, "length", "12");
    CHECK_THAT(messageOf(model.open()), Contains("holds 12 bytes"));
  }
  SECTION("no length: the shape's") { CHECK(model.open()); }
}

TEST_CASE("A model in memory has no directory to read from", "[onnx]") {
  ExternalModel model("w.bin");
  CHECK_THAT(messageOf(openProto(model.proto)), Contains("only a model opened from a file"));
}

TEST_CASE("Only pages of mapped files are released", "[onnx]") {
  ExternalModel model("w.bin");
  writeFile(model.directory / "model/w.bin", std::string(16, 'w'));
  Expected<ModelFile> opened = model.open();
  REQUIRE(opened);
  Expected<TensorData> data = opened->tensor(opened->graph().initializer(0));
  REQUIRE(data);
  prefetchPages(data->bytes);
  releasePages(data->bytes);
  CHECK(data->bytes.back() == std::byte('w'));

  // Pages of the process's own memory would be lost.
  constexpr size_t kPages = 64 << 10;
  std::vector<std::byte> own(kPages, std::byte('o'));
  releasePages(own);
  CHECK(std::count(own.begin(), own.end(), std::byte('o')) == kPages);
  // So would those behind the end of a mapping.
  releasePages({data->bytes.data(), kPages});
  releasePages({});
  CHECK(data->bytes.back() == std::byte('w'));
}
