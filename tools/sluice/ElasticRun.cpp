//===- ElasticRun.cpp - Ranks that begin again when one dies --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ElasticRun.h"

#include "SavedStates.h"
#include "sluice/Support/Json.h"
#include "tools/common/Driver.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sluice::driver {
namespace {

using Words = std::vector<std::string>;

/// Ranks that die this often without a new state in between would die for ever.
constexpr int kMostInVain = 3;

/// The arguments of this process, without the program and the options that are the launcher's.
Expected<Words> ownArguments() {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile("/proc/self/cmdline"));
  std::istringstream stream(text);
  Words all, kept;
  for (std::string word; std::getline(stream, word, '\0');)
    all.push_back(word);
  for (size_t i = 1; i < all.size(); ++i) {
    bool isOwn = all[i] == "--elastic" || all[i].starts_with("--elastic=");
    for (const char *option : {"--launcher", "--from-states"}) {
      isOwn |= all[i].starts_with(concat(option, "="));
      if (all[i] == option) {
        isOwn = true;
        ++i;
        break;
      }
    }
    if (!isOwn)
      kept.push_back(all[i]);
  }
  return kept;
}

Words wordsOf(const std::string &text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

tl::unexpected<Error> cannotStart(const std::string &program, int code) {
  return makeError(ErrorCode::Io, "cannot start '", program, "', ", std::strerror(code),
                   ", option '--elastic', install OpenMPI (openmpi-bin) or give --launcher");
}

/// What became of a launcher.
struct LauncherEnd {
  int status = 0; ///< Of its exit; 128 and the signal where one ended it.
};

/// What the ranks print, in memory until it is known how they end: a rank that is lost while it prints leaves a part of
/// a line, behind which the ranks that begin again would print theirs.
class PrintedByRanks {
public:
  PrintedByRanks() : file(memfd_create("output of ranks", MFD_CLOEXEC)) {}
  ~PrintedByRanks() {
    if (file >= 0)
      close(file);
  }
  PrintedByRanks(const PrintedByRanks &) = delete;
  PrintedByRanks &operator=(const PrintedByRanks &) = delete;

  int descriptor() const { return file; }
  void print() const {
    char part[size_t(1) << 16];
    off_t at = 0;
    for (ssize_t bytes; (bytes = pread(file, part, sizeof part, at)) > 0; at += bytes)
      std::cout.write(part, bytes);
  }

private:
  int file;
};

/// The launcher ends with this process, and with it the ranks. It has a process group of its own, so that signals reach
/// what a script starts, and no input: the ranks read none.
[[noreturn]] void becomeLauncher(const Words &words, pid_t parent, int output, int report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0)
    dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  // The parent may have died before the call above.
  if (getppid() == parent)
    execvp(pointers.front(), pointers.data());
  const int code = errno;
  (void)!write(report, &code, sizeof code);
  _exit(1);
}

/// Whether the processes that this one has started have all ended, although it has not asked how. False if it has none,
/// or if the system does not say.
bool hasOnlyEnded(pid_t launcher) {
  bool hasAny = false;
  std::error_code error;
  for (const auto &thread : std::filesystem::directory_iterator(concat("/proc/", launcher, "/task"), error)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child; hasAny = true) {
      std::ifstream file(concat("/proc/", child, "/stat"));
      const std::string stat{std::istreambuf_iterator<char>(file), {}};
      // "PID (name) state ...", where the name may have any characters.
      const size_t name = stat.rfind(") ");
      if (name != std::string::npos && stat.compare(name + 2, 1, "Z") != 0)
        return false;
    }
  }
  return hasAny;
}

Expected<LauncherEnd> runLauncher(const Words &words) {
  const PrintedByRanks printed;
  int ends[2];
  if (printed.descriptor() < 0 || pipe2(ends, O_CLOEXEC) != 0)
    return cannotStart(words.front(), errno);
  std::cout << std::flush;
  // If it is ignored, nobody can wait for a child.
  signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid(), child = fork();
  if (child == 0)
    becomeLauncher(words, parent, printed.descriptor(), ends[1]);
  const int forkCode = errno;
  close(ends[1]);
  int code = 0;
  const bool isRefused = child > 0 && read(ends[0], &code, sizeof code) == sizeof code;
  close(ends[0]);
  if (child < 0)
    return cannotStart(words.front(), forkCode);
  int status = 0;
  pid_t ended = 0;
  constexpr timespec kPause{0, 20'000'000};
  constexpr int kPatience = 250; // Pauses until a launcher that does not end by SIGINT gets SIGTERM.
  // Open MPI's mpirun may wait for itself for ever after its ranks have ended.
  constexpr int kSecond = 50, kMostIdle = 10;
  int pauses = 0, idle = 0;
  for (int told = 0; (ended = waitpid(child, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR);) {
    if (interrupted && told++ % kPatience == 0)
      kill(-child, told == 1 ? SIGINT : SIGTERM);
    if (++pauses % kSecond == 0) {
      idle = hasOnlyEnded(child) ? idle + 1 : 0;
      if (idle == kMostIdle)
        kill(-child, SIGKILL);
    }
    nanosleep(&kPause, nullptr);
  }
  if (ended < 0)
    return makeError(ErrorCode::Io, "cannot wait for '", words.front(), "', ", std::strerror(errno),
                     ", option '--elastic', run the command again");
  if (isRefused)
    return cannotStart(words.front(), code);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    printed.print();
  return LauncherEnd{WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
}

std::string describe(const LauncherEnd &end) {
  const bool isSignal = end.status > 128 && strsignal(end.status - 128) && end.status - 128 < NSIG;
  return isSignal ? concat("by signal ", end.status - 128, " (", strsignal(end.status - 128), ")")
                  : concat("with status ", end.status);
}

} // namespace

Status runElastic(const ElasticRun &run) {
  const Words launcher = wordsOf(run.launcher);
  if (launcher.empty())
    return makeError(ErrorCode::InvalidInput, "option '--launcher' names no program, give a command such as 'mpirun'");
  SLUICE_ASSIGN_OR_RETURN(const Words arguments, ownArguments());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error)
    return cannotStart("/proc/self/exe", error.value());
  const std::string before = identityOfStates(run.states);
  std::string from = run.fromStates;
  int64_t done = -1;
  for (int inVain = 0;;) {
    Words words = launcher;
    words.insert(words.end(), {"-n", std::to_string(run.numRanks), program});
    words.insert(words.end(), arguments.begin(), arguments.end());
    // Before what may follow a '--'.
    if (!from.empty())
      words.insert(std::find(words.begin() + static_cast<ptrdiff_t>(launcher.size()), words.end(), "run") + 1,
                   {"--from-states", from});
    SLUICE_ASSIGN_OR_RETURN(const LauncherEnd end, runLauncher(words));
    if (end.status == 0)
      return {};
    if (interrupted)
      return makeError(ErrorCode::Interrupted, "the run with '--elastic' was stopped, continue it with --from-states");
    if (end.status <= 2)
      return makeError(ErrorCode::InvalidInput, "a rank of '--elastic' ended with an error, ",
                       "correct the cause that the message above names, and continue with --from-states");
    // States that were there before are those of another run.
    int64_t now = -1;
    if (identityOfStates(run.states) != before) {
      SLUICE_ASSIGN_OR_RETURN(const RunProgress progress, savedProgress(run.states));
      now = progress.steps;
      from = run.states;
    }
    inVain = now > done ? 0 : inVain + 1;
    done = std::max(done, now);
    if (inVain == kMostInVain)
      return makeError(ErrorCode::Io, "ranks ended unexpectedly ", kMostInVain,
                       " times in a row without saving new states, the last run ended ", describe(end),
                       ", option '--elastic', free memory, or keep states more often with --keep-every");
    if (done >= run.steps) {
      std::cerr << "note: a rank was lost " << describe(end) << " after the last step, the states of this step are in '"
                << run.states << "'\n";
      return {};
    }
    std::cerr << "note: a rank was lost " << describe(end) << ", all ranks begin again "
              << (done < 0 ? std::string(from.empty() ? "with the first step" : "with the given states")
                           : concat("after step ", done))
              << '\n'
              << std::flush;
  }
}

} // namespace sluice::driver
