//===- SavedStates.cpp - The states of a run in a folder ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SavedStates.h"

#include "Commands.h"
#include "lib/Runtime/Sha256.h"
#include "sluice/Support/Count.h"
#include "sluice/Support/Text.h"
#include "sluice/TensorIO/Npy.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char *kStatesFile = "states.json";
/// Of a .npy file, beside its data.
constexpr int64_t kMostHeaderBytes = int64_t(1) << 16;
/// Steps and batches are added up.
constexpr int64_t kMostProgress = int64_t(1) << 60;

/// Beside a folder: its successor while it is written, and its predecessor where a file system exchanges no names.
/// Users give no folder these names.
std::string besideOf(const std::string &folder, const char *suffix) {
  const fs::path path(folder);
  return (path.parent_path() / concat(".", path.filename().string(), suffix)).string();
}
std::string pendingOf(const std::string &folder) { return besideOf(folder, ".sluice-new"); }
std::string replacedOf(const std::string &folder) { return besideOf(folder, ".sluice-old"); }

/// The path without links and trailing separators: a link to a folder is not itself replaced.
std::string resolved(const std::string &folder) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(folder, error);
  std::string text = error ? folder : path.string();
  while (text.size() > 1 && text.ends_with('/'))
    text.pop_back();
  return text;
}

tl::unexpected<Error> refused(const char *what, const std::string &path, int code) {
  return makeError(ErrorCode::Io, "cannot ", what, " '", path, "', ", std::strerror(code),
                   code == ENOSPC || code == EDQUOT || code == EIO
                       ? ", make room on its disk or choose another --output-dir"
                       : ", check the path and its permissions");
}

/// What a file or folder holds is on the disk after this.
Status sync(const std::string &path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // Some file systems have nothing to wait for, and say EINVAL.
  const bool isDone = descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL);
  const int code = errno;
  if (descriptor >= 0)
    close(descriptor);
  return isDone ? Status() : Status(refused("write", path, code));
}

Status writeDurably(const std::string &path, const std::string &text) {
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(path, text));
  return sync(path);
}

Status writeFiles(const std::string &folder, const ModelIdentity &model, RunProgress progress,
                  const std::vector<HostTensor> &states) {
  Json json = {{"schema", 1},
               {"model", model.name},
               {"digest", model.digest},
               {"steps", progress.steps},
               {"batches", progress.batches},
               {"states", Json::array()}};
  const std::vector<std::string> names = tensorFileNames(states);
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].type == ElementType::String)
      return makeError(ErrorCode::Unsupported, "state '", states[i].name,
                       "' holds strings, which .npy files cannot store, option '--output-dir', '", folder,
                       "', leave the option out");
    const std::string text = formatNpy(states[i]);
    SLUICE_RETURN_IF_ERROR(writeDurably((fs::path(folder) / names[i]).string(), text));
    json["states"].push_back(
        {{"name", states[i].name}, {"file", names[i]}, {"digest", runtime::sha256Hex(text.data(), text.size())}});
  }
  return writeDurably((fs::path(folder) / kStatesFile).string(), jsonText(json, 1) + "\n");
}

/// Holds a folder by flock, so that nobody who waits for its name takes it for one that a killed process left.
class HeldFolder {
public:
  explicit HeldFolder(const std::string &path) : descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor >= 0)
      flock(descriptor, LOCK_EX | LOCK_NB);
  }
  HeldFolder(const HeldFolder &) = delete;
  HeldFolder &operator=(const HeldFolder &) = delete;
  ~HeldFolder() {
    if (descriptor >= 0)
      close(descriptor);
  }

private:
  const int descriptor;
};

/// Gives `pending` the name `folder`. Returns the name that the older folder has now, empty if there was none.
Expected<std::string> exchange(const std::string &pending, const std::string &folder) {
  if (renameat2(AT_FDCWD, pending.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0)
    return pending;
  std::string older;
  if (errno == EINVAL || errno == ENOSYS) {
    // For a moment the folder has the other name only, where loadStates() finds it.
    std::error_code ignored;
    if (fs::exists(folder, ignored)) {
      older = replacedOf(folder);
      fs::remove_all(older, ignored);
      if (std::rename(folder.c_str(), older.c_str()) != 0)
        return refused("replace", folder, errno);
    }
  } else if (errno != ENOENT) {
    return refused("replace", folder, errno);
  }
  if (std::rename(pending.c_str(), folder.c_str()) == 0)
    return older;
  const int code = errno;
  if (!older.empty())
    (void)std::rename(older.c_str(), folder.c_str());
  return refused("replace", folder, code);
}

/// The folder, or its predecessor where the process was killed between two renames.
std::string presentFolder(const std::string &given) {
  std::string folder = resolved(given), replaced = replacedOf(folder);
  std::error_code ignored;
  return !fs::exists(folder, ignored) && fs::exists(replaced, ignored) ? replaced : folder;
}

struct ListedState {
  std::string name, file, digest;
};

/// What states.json says.
struct StatesList {
  std::string folder;
  ModelIdentity model;
  RunProgress progress;
  std::vector<ListedState> states;
};

Expected<StatesList> readList(const std::string &given) {
  StatesList list;
  list.folder = presentFolder(given);
  const std::string path = (fs::path(list.folder) / kStatesFile).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return makeError(ErrorCode::NotFound, "folder '", given, "' holds no ", kStatesFile, ", option '--from-states', ",
                     "give a folder 'states' that --output-dir wrote");
  SLUICE_ASSIGN_OR_RETURN(const Json json, readJsonFile(path));
  const JsonReader reader(json, concat("'", path, "'"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t schema, reader.integer("schema"));
  if (schema != 1)
    return makeError(ErrorCode::Unsupported, "the states have schema ", schema, ", in '", path,
                     "', and this version reads only schema 1, write the states again with this release");
  SLUICE_RETURN_IF_ERROR(reader.onlyKeys({"schema", "model", "digest", "steps", "batches", "states"}));
  SLUICE_ASSIGN_OR_RETURN(list.model.name, reader.string("model"));
  SLUICE_ASSIGN_OR_RETURN(list.model.digest, reader.string("digest"));
  SLUICE_ASSIGN_OR_RETURN(list.progress.steps, reader.integer("steps"));
  SLUICE_ASSIGN_OR_RETURN(list.progress.batches, reader.integer("batches"));
  for (int64_t number : {list.progress.steps, list.progress.batches})
    if (number < 0 || number > kMostProgress)
      return makeError(ErrorCode::InvalidInput, "a run cannot have done ", number, " steps or batches, in '", path,
                       "', give an undamaged copy");
  SLUICE_ASSIGN_OR_RETURN(const JsonReader states, reader.member("states"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<JsonReader> elements, states.elements());
  std::set<std::string> names;
  for (const JsonReader &element : elements) {
    ListedState &state = list.states.emplace_back();
    SLUICE_RETURN_IF_ERROR(element.onlyKeys({"name", "file", "digest"}));
    SLUICE_ASSIGN_OR_RETURN(state.name, element.string("name"));
    SLUICE_ASSIGN_OR_RETURN(state.file, element.string("file"));
    SLUICE_ASSIGN_OR_RETURN(state.digest, element.string("digest"));
    if (state.file.empty() || state.file.find('/') != std::string::npos || state.file.front() == '.')
      return makeError(ErrorCode::InvalidInput, "'", excerpt(state.file),
                       "' is not a plain file name inside the folder of states, in '", path,
                       "', give an undamaged copy");
    if (!names.insert(state.name).second)
      return makeError(ErrorCode::InvalidInput, "state '", excerpt(state.name), "' appears twice, in '", path,
                       "', give an undamaged copy");
  }
  return list;
}

Expected<HostTensor> readState(const StatesList &list, const ListedState &listed, const StateType &wanted) {
  const std::string path = (fs::path(list.folder) / listed.file).string();
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not a regular file, option '--from-states', ",
                     "give an undamaged copy");
  // Of complex numbers, which have the largest elements.
  Count most = 16;
  for (int64_t extent : wanted.shape)
    most *= extent;
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path, (most + kMostHeaderBytes).value()));
  if (runtime::sha256Hex(text.data(), text.size()) != listed.digest)
    return makeError(ErrorCode::InvalidInput, "'", path,
                     "' is truncated or changed, because its SHA-256 differs from the one in ", kStatesFile,
                     ", option '--from-states', give an undamaged copy");
  SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, parseNpy(text, path));
  if (tensor.type != wanted.type || tensor.shape != wanted.shape)
    return makeError(ErrorCode::InvalidInput, "state '", wanted.name, "' is ", elementTypeName(tensor.type), " ",
                     formatShape(tensor.shape), " in '", path, "' and ", elementTypeName(wanted.type), " ",
                     formatShape(wanted.shape), " in the model, option '--from-states', give states of this model");
  tensor.name = wanted.name;
  return tensor;
}

/// A file's name of a tensor's: no separators, each once.
std::string fileName(const std::string &name, std::set<std::string> &used) {
  std::string base;
  for (char c : name.substr(0, 200))
    base += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ? c : '_';
  if (base.empty() || base.front() == '.')
    base = "output" + base;
  std::string unique = base;
  for (int i = 2; !used.insert(unique).second; ++i)
    unique = concat(base, "_", i);
  return unique + ".npy";
}

} // namespace

std::vector<std::string> tensorFileNames(const std::vector<HostTensor> &tensors) {
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const HostTensor &tensor : tensors)
    names.push_back(fileName(tensor.name, used));
  return names;
}

Status checkReplaceable(const std::string &given) {
  const std::string folder = resolved(given), parent = fs::path(folder).parent_path().string();
  std::error_code error;
  if (access(parent.c_str(), W_OK) != 0)
    return refused("write to", parent, errno);
  for (const std::string &beside : {pendingOf(folder), replacedOf(folder)})
    if (fs::is_symlink(beside, error) || (fs::exists(beside, error) && !fs::is_directory(beside, error)))
      return makeError(ErrorCode::InvalidInput, "'", beside,
                       "' is a symbolic link or a file, and the states need a folder of this name, option "
                       "'--output-dir', remove the link or file");
  if (!fs::exists(folder, error)) {
    if (fs::is_symlink(folder, error))
      return makeError(ErrorCode::InvalidInput, "'", given,
                       "' is a symbolic link whose target does not exist, and the states need a folder of this name, "
                       "option '--output-dir', remove the link");
    return {};
  }
  if (!fs::is_directory(folder, error))
    return makeError(ErrorCode::InvalidInput, "'", given,
                     "' is a file, and the states need a folder of this name, option '--output-dir', remove the file");
  std::set<std::string> known;
  if (const Expected<StatesList> list = readList(folder)) {
    known.insert(kStatesFile);
    for (const ListedState &state : list->states)
      known.insert(state.file);
  }
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!it->is_regular_file(error) || known.count(name) == 0)
      return makeError(
          ErrorCode::InvalidInput, "the saved states would replace folder '", given, "', and '", excerpt(name),
          "' in it is not part of saved states, option '--output-dir', move this file or choose another directory");
  }
  return error ? Status(refused("read", folder, error.value())) : Status();
}

std::string identityOfStates(const std::string &folder) {
  struct stat found;
  if (stat((fs::path(presentFolder(folder)) / kStatesFile).c_str(), &found) != 0)
    return {};
  return concat(found.st_dev, ":", found.st_ino, ":", found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec);
}

Status saveStates(const std::string &given, const ModelIdentity &model, RunProgress progress,
                  const std::vector<HostTensor> &states) {
  SLUICE_RETURN_IF_ERROR(checkReplaceable(given));
  const std::string folder = resolved(given), pending = pendingOf(folder);
  std::error_code ignored;
  SLUICE_ASSIGN_OR_RETURN(OutputDirectory directory, OutputDirectory::open(pending, &interrupted));
  // What a killed process left.
  for (fs::directory_iterator it(pending, ignored), end; it != end; it.increment(ignored))
    fs::remove_all(it->path(), ignored);
  auto discarded = [&](Status &&failed) {
    fs::remove_all(pending, ignored);
    return std::move(failed);
  };
  if (Status written = writeFiles(pending, model, progress, states); !written)
    return discarded(std::move(written));
  if (Status written = sync(pending); !written)
    return discarded(std::move(written));
  const HeldFolder held(folder);
  // From here on a signal must not empty it.
  directory.keep();
  Expected<std::string> older = exchange(pending, folder);
  if (!older)
    return discarded(propagate(older));
  // Until this is done, the older states are kept. Another process may already write below the name `pending`, unless
  // it is the name of the older folder, which is held.
  SLUICE_RETURN_IF_ERROR(sync(fs::path(folder).parent_path().string()));
  if (!older->empty())
    fs::remove_all(*older, ignored);
  return {};
}

Expected<SavedStates> loadStates(const std::string &folder, const ModelIdentity &model,
                                 const std::vector<StateType> &wanted, bool isCompatible) {
  SLUICE_ASSIGN_OR_RETURN(const StatesList list, readList(folder));
  constexpr size_t kShown = 12;
  if (list.model.digest != model.digest && !isCompatible)
    return makeError(
        ErrorCode::InvalidInput, "the states in '", folder, "' are of compiled model '", excerpt(list.model.name),
        "' with digest ", excerpt(list.model.digest.substr(0, kShown)), ", and the model to run is '", model.name,
        "' with digest ", model.digest.substr(0, kShown),
        ", option '--from-states', give states of the model to run, or --compatible-states if only options "
        "of compilation differ");
  SavedStates saved;
  saved.progress = list.progress;
  for (const StateType &type : wanted) {
    const auto found = std::find_if(list.states.begin(), list.states.end(),
                                    [&](const ListedState &state) { return state.name == type.name; });
    if (found == list.states.end())
      return makeError(ErrorCode::InvalidInput, "state '", type.name, "' of the model is missing, in '", folder, "/",
                       kStatesFile, "', give states of this model");
    SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, readState(list, *found, type));
    saved.states.push_back(std::move(tensor));
  }
  for (const ListedState &state : list.states)
    if (std::none_of(wanted.begin(), wanted.end(), [&](const StateType &type) { return type.name == state.name; }))
      return makeError(ErrorCode::InvalidInput, "state '", excerpt(state.name), "' is not a state of the model, in '",
                       folder, "/", kStatesFile, "', give states of this model");
  return saved;
}

Status checkStepsLeft(const std::string &folder, RunProgress progress, int64_t steps) {
  if (progress.steps < steps)
    return {};
  return makeError(ErrorCode::InvalidInput, "the states in '", folder, "' are after step ", progress.steps,
                   ", so a run of ", steps, " steps has nothing left to do, option '--steps', give more than ",
                   progress.steps);
}

Expected<RunProgress> savedProgress(const std::string &folder) {
  SLUICE_ASSIGN_OR_RETURN(const StatesList list, readList(folder));
  return list.progress;
}

} // namespace sluice::driver
