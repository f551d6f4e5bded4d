//===- Tokenizer.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tokenizer.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Program.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::driver {

/// A package that is missing ends by status 3, a file that it cannot read by 4, with the reason on standard output.
static constexpr const char *kScript = R"(
import json, sys
try:
    import tokenizers
except ImportError:
    sys.exit(3)
try:
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
except Exception as error:
    print(str(error).splitlines()[0] if str(error) else type(error).__name__)
    sys.exit(4)
request = json.load(sys.stdin)
if "text" in request:
    print(json.dumps(list(tokenizer.encode(request["text"]).ids)))
else:
    print(json.dumps(tokenizer.decode(request["tokens"])))
)";

Expected<Tokenizer> Tokenizer::open(const std::string &path) {
  if (std::error_code error; !std::filesystem::is_regular_file(path, error))
    return makeError(ErrorCode::NotFound, "there is no file '", path,
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
    return makeError(ErrorCode::InvalidInput, "'", path,
                     "' is no tokenizer: ", excerpt(llvm::StringRef(*said).rtrim().str()),
                     ", give the tokenizer.json of the model");
  return makeError(ErrorCode::Io, "'", python, "' failed with tokenizer '", path, "'",
                   problem.empty() ? "" : concat(": ", excerpt(problem)),
                   ", run 'python3 -c \"import tokenizers\"', or give and take tokens");
}

Expected<std::vector<int64_t>> Tokenizer::encode(const std::string &text) const {
  SLUICE_ASSIGN_OR_RETURN(const std::string said, ask(jsonText(Json{{"text", text}})));
  const Json tokens = Json::parse(said, nullptr, /*allow_exceptions=*/false);
  std::vector<int64_t> numbers;
  for (const Json &token : tokens) {
    if (!token.is_number_integer())
      return makeError(ErrorCode::InvalidInput, "tokenizer '", path,
                       "' gave something else than tokens, give the tokenizer.json of the model");
    numbers.push_back(token.get<int64_t>());
  }
  if (numbers.empty())
    return makeError(ErrorCode::InvalidInput, "the text has no tokens, option '--prompt', give more text");
  return numbers;
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
