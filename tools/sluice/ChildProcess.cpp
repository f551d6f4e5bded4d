//===- ChildProcess.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::driver {

/// Writes all of it, or what the reader wants of it.
static void writeAll(int fd, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return;
    done += static_cast<size_t>(put);
  }
}

static std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

Expected<Json> runInChild(const std::function<Expected<Json>()> &body) {
  auto refused = [] {
    return makeError(ErrorCode::Io, "cannot start a second process that compiles, ", std::strerror(errno),
                     ", end other programs, or compile first with 'sluice compile' and run the result");
  };
  int ends[2];
  if (pipe(ends) != 0)
    return refused();
  // What is buffered would be written twice.
  std::cout << std::flush;
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return refused();
  }
  if (child == 0) {
    close(ends[0]);
    Json answer;
    if (Expected<Json> done = body())
      answer["result"] = std::move(*done);
    else
      answer["error"] = {{"code", static_cast<int>(done.error().code)}, {"message", done.error().message}};
    writeAll(ends[1], jsonText(answer));
    std::cout << std::flush;
    _exit(0);
  }
  close(ends[1]);
  const std::string text = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFSIGNALED(status))
    return makeError(
        ErrorCode::Interrupted, "the process that compiles was ended by signal ", WTERMSIG(status), " (",
        strsignal(WTERMSIG(status)),
        "), free memory, or compile first with 'sluice compile', on a larger computer if needed, and run the result");
  Json answer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (answer.is_object() && answer.contains("result"))
    return std::move(answer["result"]);
  if (!answer.is_object() || !answer.contains("error"))
    return makeError(ErrorCode::Internal,
                     "the process that compiles gave no answer, this is a bug of Sluice, please report it");
  return makeError(static_cast<ErrorCode>(answer["error"]["code"].get<int>()),
                   answer["error"]["message"].get<std::string>());
}

static int64_t statusBytes(const std::string &field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field))
      return 1024 * std::strtoll(line.c_str() + field.size(), nullptr, 10);
  return 0;
}

int64_t residentBytes() { return statusBytes("VmRSS:"); }
int64_t peakResidentBytes() { return statusBytes("VmHWM:"); }

} // namespace sluice::driver
