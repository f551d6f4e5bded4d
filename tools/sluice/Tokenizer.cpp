//===- Tokenizer.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tokenizer.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Text.h"
#include "tools/common/Driver.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::driver {

/// A package that is missing ends by status 3, a failure of the package by 4, with the reason on standard output.
/// Modules in the current directory do not count, and text is UTF-8 in any locale.
static constexpr const char *kScript = R"(
import sys
sys.path[:] = [place for place in sys.path if place]
import json
try:
    import tokenizers
    load = tokenizers.Tokenizer.from_file
except (ImportError, AttributeError):
    sys.exit(3)
try:
    tokenizer = load(sys.argv[1])
    request = json.loads(sys.stdin.buffer.read().decode())
    if "text" in request:
        print(json.dumps(list(tokenizer.encode(request["text"]).ids)))
    else:
        print(json.dumps(tokenizer.decode(request["tokens"])))
except Exception as error:
    reason = str(error).splitlines()
    print((reason[0] if reason else type(error).__name__).encode("ascii", "backslashreplace").decode())
    sys.exit(4)
)";

Expected<Tokenizer> Tokenizer::open(const std::string &path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status))
    return makeError(ErrorCode::NotFound,
                     std::filesystem::is_directory(status) ? "this is a directory: '" : "there is no file '", path,
                     "', option '--tokenizer', give the tokenizer.json of the model");
  llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName("python3");
  if (!python)
    return makeError(ErrorCode::NotFound,
                     "no python3 found in PATH, option '--tokenizer', install Python and its package ",
                     "'tokenizers', or give and take tokens");
  return Tokenizer(path, *python);
}

Expected<std::string> Tokenizer::ask(const std::string &request) const {
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::create("sluice-tokenizer"));
  const std::string question = folder.file("question"), answer = folder.file("answer");
  SLUICE_RETURN_IF_ERROR(writeFileAtomically(question, request));
  const llvm::StringRef arguments[] = {python, "-c", kScript, path};
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(question), llvm::StringRef(answer),
                                                      llvm::StringRef()};
  std::string problem;
  const int status = llvm::sys::ExecuteAndWait(python, arguments, std::nullopt, redirects, /*SecondsToWait=*/0,
                                               /*MemoryLimit=*/0, &problem);
  constexpr int64_t kMostBytes = int64_t(1) << 28;
  Expected<std::string> said = readFile(answer, kMostBytes);
  if (status == 0 && said)
    return said;
  if (status == 3)
    return makeError(ErrorCode::NotFound, "'", python,
                     "' has no package 'tokenizers', option '--tokenizer', install it ",
                     "(pip install tokenizers), or give and take tokens");
  if (status == 4 && said)
    return makeError(ErrorCode::InvalidInput, "tokenizer '", path,
                     "' failed: ", excerpt(llvm::StringRef(*said).rtrim().str()),
                     ", give the tokenizer.json of the model");
  if (interrupted)
    return makeError(ErrorCode::Interrupted, "the tokenizer was interrupted, run the command again");
  return makeError(ErrorCode::Io, "'", python, "' failed with tokenizer '", path, "'",
                   problem.empty() ? "" : concat(": ", excerpt(problem)),
                   ", run 'python3 -c \"import tokenizers\"', or give and take tokens");
}

Expected<std::vector<int64_t>> Tokenizer::encode(const std::string &text) const {
  if (!llvm::json::isUTF8(text))
    return makeError(ErrorCode::InvalidInput, "the text is not UTF-8, option '--prompt', convert it");
  SLUICE_ASSIGN_OR_RETURN(const std::string said, ask(jsonText(Json{{"text", text}})));
  const Json tokens = Json::parse(said, nullptr, /*allow_exceptions=*/false);
  auto isToken = [](const Json &token) {
    return token.is_number_unsigned() && token.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max());
  };
  if (!tokens.is_array() || !std::all_of(tokens.begin(), tokens.end(), isToken))
    return makeError(ErrorCode::InvalidInput, "tokenizer '", path,
                     "' gave something else than tokens, give the tokenizer.json of the model");
  if (tokens.empty())
    return makeError(ErrorCode::InvalidInput, "the text has no tokens, option '--prompt', give more text");
  return tokens.get<std::vector<int64_t>>();
}

Expected<std::string> Tokenizer::decode(std::span<const int64_t> tokens) const {
  SLUICE_ASSIGN_OR_RETURN(const std::string said,
                          ask(jsonText(Json{{"tokens", std::vector<int64_t>(tokens.begin(), tokens.end())}})));
  const Json text = Json::parse(said, nullptr, /*allow_exceptions=*/false);
  if (!text.is_string())
    return makeError(ErrorCode::InvalidInput, "tokenizer '", path,
                     "' gave something else than text, give the tokenizer.json of the model");
  return text.get<std::string>();
}

} // namespace sluice::driver
