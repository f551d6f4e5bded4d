//===- TemporariesTest.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Temporaries.h"

#include "sluice/Support/Json.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace sluice;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

/// Runs `body` in a process of its own, and returns how it ended.
int statusOf(const std::function<void()> &body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

/// A folder with a tree in it, below another temporary folder.
struct Tree {
  TemporaryDirectory folder = std::move(*TemporaryDirectory::create("sluice-test"));
  std::string inner = folder.file("tree");

  Tree() {
    fs::create_directories(inner + "/a/b/c");
    for (int i = 0; i < 300; ++i)
      std::ofstream(inner + "/a/b/file" + std::to_string(i)) << "x";
    fs::create_symlink("/etc", inner + "/link");
  }
};

} // namespace

TEST_CASE("a temporary folder goes with its object, and links are not followed", "[temporaries]") {
  Tree tree;
  fs::create_directories(tree.folder.file("other"));
  std::ofstream(tree.folder.file("other/kept")) << "x";
  fs::create_symlink(tree.folder.file("other"), tree.inner + "/away");
  { Temporary temporary(tree.inner); }
  CHECK(namesIn(tree.folder.path()) == std::vector<std::string>{"other"});
  CHECK(namesIn(tree.folder.file("other")) == std::vector<std::string>{"kept"});
}

TEST_CASE("what is kept stays", "[temporaries]") {
  Tree tree;
  statusOf([&] {
    Temporary temporary(tree.inner);
    Temporary moved = std::move(temporary);
    moved.keep();
    removeTemporaries();
  });
  CHECK(fs::exists(tree.inner + "/a/b/file0"));
}

TEST_CASE("a process that ends without destructors removes its own, and not its parent's", "[temporaries]") {
  Tree tree;
  Temporary parents(tree.folder.file("parents"));
  std::ofstream(parents.path()) << "x";
  statusOf([&] {
    Temporary temporary(tree.inner);
    auto file = PendingFile::create(tree.folder.file("pending"));
    (void)file->write("half");
    removeTemporaries();
    _exit(0);
  });
  CHECK(namesIn(tree.folder.path()) == std::vector<std::string>{"parents"});
}

TEST_CASE("a temporary folder goes when the process may open no more files", "[temporaries]") {
  Tree tree;
  const int status = statusOf([&] {
    setenv("TMPDIR", tree.folder.path().c_str(), 1);
    auto folder = TemporaryDirectory::create("full");
    (void)writeFileAtomically(folder->file("x"), "x");
    const rlimit none{3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    { TemporaryDirectory removed = std::move(*folder); }
    _exit(0);
  });
  CHECK(status == 0);
  CHECK(namesIn(tree.folder.path()) == std::vector<std::string>{"tree"});
}

TEST_CASE("a folder that becomes temporary goes when the process may open no more files", "[temporaries]") {
  Tree tree;
  const std::string made = tree.folder.file("made");
  const int status = statusOf([&] {
    fs::create_directories(made + "/empty");
    Temporary temporary(made);
    (void)writeFileAtomically(made + "/x", "x");
    const rlimit none{3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    removeTemporaries();
    _exit(0);
  });
  CHECK(status == 0);
  CHECK(!fs::exists(made));
}

TEST_CASE("an output folder that was made goes, unless it is kept", "[temporaries]") {
  Tree tree;
  const std::string path = tree.folder.file("new/output");
  {
    auto output = OutputDirectory::open(path + "/");
    REQUIRE(output);
    OutputDirectory moved = std::move(*output);
    std::ofstream(path + "/half") << "x";
  }
  CHECK(!fs::exists(path));
  { OutputDirectory::open(path)->keep(); }
  CHECK(fs::exists(path));
  std::ofstream(path + "/old") << "x";
  // What was there stays, also by another name.
  fs::create_symlink(path, tree.folder.file("link"));
  for (const std::string &name : {path, path + "/.", tree.folder.file("link")}) {
    REQUIRE(OutputDirectory::open(name));
  }
  CHECK(namesIn(path) == std::vector<std::string>{"old"});
  for (const std::string &name : {path + "/old", path + "/old/below"}) {
    auto none = OutputDirectory::open(name);
    REQUIRE(!none);
    CHECK_THAT(none.error().message, Contains("cannot create directory") && Contains("Not a directory, choose"));
  }
}

TEST_CASE("an output folder has one process at a time", "[temporaries]") {
  Tree tree;
  const std::string path = tree.folder.file("output");
  for (const bool isKept : {false, true}) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      {
        auto output = OutputDirectory::open(path);
        std::ofstream(path + "/half") << "x";
        (void)!write(ends[1], "x", 1);
        usleep(200'000);
        std::ofstream(path + "/whole") << "x";
        if (isKept)
          output->keep();
      }
      _exit(0);
    }
    char ready;
    REQUIRE(read(ends[0], &ready, 1) == 1);
    close(ends[0]), close(ends[1]);
    auto output = OutputDirectory::open(path);
    REQUIRE(output);
    CHECK(namesIn(path).size() == (isKept ? 2 : 0));
    waitpid(child, nullptr, 0);
  }
}

TEST_CASE("waiting for an output folder ends when it is stopped", "[temporaries]") {
  Tree tree;
  const std::string path = tree.folder.file("output");
  auto held = OutputDirectory::open(path);
  REQUIRE(held);
  std::atomic<bool> stop = false;
  std::thread stopper([&] {
    usleep(50'000);
    stop = true;
  });
  auto none = OutputDirectory::open(path, &stop);
  stopper.join();
  REQUIRE(!none);
  CHECK(none.error().code == ErrorCode::Interrupted);
  CHECK_THAT(none.error().message, Contains("stopped while another process writes to directory"));
}

TEST_CASE("more temporaries than the table lists go with their objects", "[temporaries]") {
  Tree tree;
  {
    std::vector<PendingFile> many;
    for (int i = 0; i < 300; ++i)
      many.push_back(std::move(*PendingFile::create(tree.folder.file("many"))));
    CHECK(namesIn(tree.folder.path()).size() == 301);
  }
  CHECK(namesIn(tree.folder.path()).size() == 1);
}

TEST_CASE("a pending file replaces an older one when it is whole", "[temporaries]") {
  Tree tree;
  const std::string path = tree.folder.file("file");
  std::ofstream(path) << "old";
  {
    auto file = PendingFile::create(path);
    REQUIRE(file);
    REQUIRE(file->write("half"));
    CHECK(*readFile(path) == "old");
  }
  CHECK(*readFile(path) == "old");
  auto file = PendingFile::create(path), other = PendingFile::create(path);
  REQUIRE((file && other));
  REQUIRE(file->write("new"));
  REQUIRE(other->write("newer"));
  REQUIRE(file->keep());
  CHECK(*readFile(path) == "new");
  REQUIRE(other->keep());
  CHECK(*readFile(path) == "newer");
  CHECK(namesIn(tree.folder.path()).size() == 2);
}

TEST_CASE("a pending file that the disk refuses is an error and leaves nothing", "[temporaries]") {
  Tree tree;
  const int status = statusOf([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &most);
    const Status written = writeFileAtomically(tree.folder.file("large"), std::string(5000, 'x'));
    const bool isRefused = !written && written.error().message.find("File too large, make room") != std::string::npos;
    _exit(isRefused ? 0 : 1);
  });
  CHECK(status == 0);
  CHECK(namesIn(tree.folder.path()).size() == 1);
  auto absent = PendingFile::create(tree.folder.file("no/such/folder"));
  REQUIRE(!absent);
  CHECK(absent.error().code == ErrorCode::NotFound);
}

// Sanitizers end a process that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("no file gets its name after memory was refused", "[temporaries]") {
  Tree tree;
  const int status = statusOf([&] {
    watchAllocations();
    auto file = PendingFile::create(tree.folder.file("file"));
    const bool before = hasAllocationFailed();
    try {
      volatile size_t huge = SIZE_MAX / 4;
      ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
    }
    const Status kept = file->keep();
    { PendingFile removed = std::move(*file); }
    _exit(!before && hasAllocationFailed() && !kept ? 0 : 1);
  });
  CHECK(status == 0);
  CHECK(namesIn(tree.folder.path()).size() == 1);
}
#endif
