//===- Rival.cpp - Another runtime, in a process of its own ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Rival.h"
#include "RivalScript.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace sluice::bench {

/// Starts the interpreter with its standard input and output in the pipes' ends 0 and 1.
static int spawn(const std::string &python, const std::string &name, int input, int output, int &process) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  std::string script(kRivalScript), program = python, option = "-c", package = name;
  std::array<char *, 5> arguments = {program.data(), option.data(), script.data(), package.data(), nullptr};
  const int error = posix_spawnp(&process, python.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Expected<std::unique_ptr<Rival>> Rival::start(const std::string &name, const std::string &python) {
  // A child that is gone is an error of the next request.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<Rival> rival(new Rival(name, python));
  SLUICE_RETURN_IF_ERROR(rival->launch());
  return rival;
}

Status Rival::launch() {
  std::array<int, 2> toChild, fromChild;
  if (pipe2(toChild.data(), O_CLOEXEC) != 0 || pipe2(fromChild.data(), O_CLOEXEC) != 0)
    return makeError(ErrorCode::Io, "cannot make a pipe for package '", package, "', ", std::strerror(errno),
                     ", raise 'ulimit -n'");
  const int error = spawn(python, package, toChild[0], fromChild[1], process);
  close(toChild[0]);
  close(fromChild[1]);
  requests = fdopen(toChild[1], "w");
  answers = fdopen(fromChild[0], "r");
  if (error != 0) {
    process = -1;
    return makeError(ErrorCode::NotFound, "cannot start '", python, "', ", std::strerror(error),
                     ", give a Python interpreter with --python");
  }
  SLUICE_ASSIGN_OR_RETURN(Json greeting, readAnswer());
  if (!greeting.contains("version"))
    return makeError(ErrorCode::NotFound, "'", python, "' has no package '", package,
                     "', install it, or give another interpreter with --python");
  packageVersion = greeting["version"].get<std::string>();
  return {};
}

void Rival::end() {
  if (requests)
    std::fclose(std::exchange(requests, nullptr));
  if (answers)
    std::fclose(std::exchange(answers, nullptr));
  int status = 0;
  if (process > 0)
    waitpid(std::exchange(process, -1), &status, 0);
}

Expected<Json> Rival::readAnswer() {
  char *line = nullptr;
  size_t room = 0;
  const ssize_t length = getline(&line, &room, answers);
  Json answer = length > 0 ? Json::parse(line, line + length, nullptr, /*allow_exceptions=*/false) : Json();
  std::free(line);
  if (!answer.is_object()) {
    end();
    return makeError(ErrorCode::Unsupported, "package '", package,
                     "' ended without an answer, see the messages of the package above");
  }
  if (answer.contains("error"))
    return makeError(ErrorCode::Unsupported, answer["error"].get<std::string>());
  return answer;
}

Expected<Json> Rival::ask(const Json &request) {
  if (process < 0)
    return makeError(ErrorCode::Unsupported, "package '", package,
                     "' has ended, see the messages of the package above");
  std::fprintf(requests, "%s\n", jsonText(request).c_str());
  std::fflush(requests);
  return readAnswer();
}

Status Rival::open(const std::string &model, const std::map<std::string, std::string> &inputs, int threads) {
  if (process < 0)
    SLUICE_RETURN_IF_ERROR(launch());
  SLUICE_RETURN_IF_ERROR(ask(Json{{"open", model}, {"inputs", inputs}, {"threads", threads}}));
  return {};
}

Expected<double> Rival::runSeconds(int steps) {
  SLUICE_ASSIGN_OR_RETURN(Json answer, ask(Json{{"run", steps}}));
  return answer["seconds"].get<double>();
}

Expected<std::vector<std::string>> Rival::outputs(const std::string &stem) {
  SLUICE_ASSIGN_OR_RETURN(Json answer, ask(Json{{"outputs", stem}}));
  return answer["files"].get<std::vector<std::string>>();
}

} // namespace sluice::bench
