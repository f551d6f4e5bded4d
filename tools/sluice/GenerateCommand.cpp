//===- GenerateCommand.cpp - sluice generate ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ArtifactInfo.h"
#include "Commands.h"
#include "RunInputs.h"
#include "SharedOptions.h"
#include "Tokenizer.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Runtime/sluice.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct GenerateOptions {
  std::string model, tokens, prompt, tokenizer, sample = "greedy", format = "text", spill;
  std::vector<std::string> inputs;
  int64_t most = 64, end = -1;
  int threads = 0;
  bool isText = false, hasTokenizer = false; ///< The prompt is text; --tokenizer is given.
};

Expected<std::vector<int64_t>> parseTokens(std::string_view text) {
  std::vector<int64_t> tokens;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    Expected<int64_t> token = parseInteger(part);
    if (!token || *token < 0)
      return makeError(ErrorCode::InvalidInput, "'", excerpt(part),
                       "' is not a token, option '--tokens', give integers ", "from 0, such as 1,2,3");
    tokens.push_back(*token);
    if (comma == std::string_view::npos)
      return tokens;
    text.remove_prefix(comma + 1);
  }
}

/// "greedy", or "top-k=40,top-p=0.9,temperature=0.8,seed=1" with any of these.
Expected<sluice_sampling> parseSampling(std::string_view text) {
  sluice_sampling sampling{sizeof(sluice_sampling), 1, 1, 1, 0};
  if (text == "greedy")
    return sampling;
  sampling.top_k = 0;
  auto number = [](std::string_view value, double low, double high) -> std::optional<double> {
    double parsed = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    const bool isNumber = error == std::errc() && end == value.data() + value.size() && parsed >= low && parsed <= high;
    return isNumber ? std::optional(parsed) : std::nullopt;
  };
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
    auto bad = [&](const char *range) {
      return makeError(ErrorCode::InvalidInput, "'", excerpt(value), "' is out of range, option '--sample ", key,
                       "', give ", range);
    };
    if (key == "top-k" || key == "seed") {
      Expected<int64_t> parsed = parseInteger(value);
      if (!parsed || *parsed < 0 || (key == "top-k" && *parsed > UINT32_MAX))
        return bad("an integer from 0");
      key == "seed" ? void(sampling.seed = static_cast<uint64_t>(*parsed))
                    : void(sampling.top_k = static_cast<uint32_t>(*parsed));
    } else if (key == "top-p") {
      const std::optional<double> parsed = number(value, 0x1p-53, 1);
      if (!parsed)
        return bad("a probability above 0 and up to 1");
      sampling.top_p = *parsed;
    } else if (key == "temperature") {
      const std::optional<double> parsed = number(value, 0, 1e6);
      if (!parsed)
        return bad("a number from 0 to 1000000");
      sampling.temperature = *parsed;
    } else {
      return makeError(ErrorCode::InvalidInput, "'", excerpt(part), "' is unknown, option '--sample', use greedy, or ",
                       "top-k=, top-p=, temperature= and seed=");
    }
  }
  return sampling;
}

struct CloseSession {
  void operator()(sluice_session *session) const { sluice_close(session); }
  void operator()(sluice_generator *generator) const { sluice_generator_close(generator); }
};

auto lastFailure() { return makeError(ErrorCode::InvalidInput, sluice_last_error()); }

/// What a phase of the text took.
struct Phase {
  int64_t tokens = 0;
  double seconds = 0;
  double rate() const { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
};

struct Outcome {
  std::vector<int64_t> tokens;
  Phase prompt, generation;
  int64_t movedBytes = 0, plannedBytes = 0;    ///< In the last step.
  int64_t readBytes = 0, plannedReadBytes = 0; ///< Of files, by the plan's own copies in the last step.
  sluice_expert_stats experts{};
  int64_t expertBytes = 0; ///< Of experts, read while tokens were generated.
};

class Text {
public:
  explicit Text(const GenerateOptions &options) : options(options) {}

  Expected<Outcome> run(const std::vector<int64_t> &prompt) {
    SLUICE_ASSIGN_OR_RETURN(sluice_sampling sampling, parseSampling(options.sample));
    SLUICE_RETURN_IF_ERROR(open());
    SLUICE_ASSIGN_OR_RETURN(std::vector<const void *> inputs, readInputs());
    const std::unique_ptr<sluice_generator, CloseSession> text(
        sluice_generator_open(session.get(), inputs.data(), &sampling));
    if (!text)
      return lastFailure();
    Outcome outcome;
    const auto start = std::chrono::steady_clock::now();
    if (sluice_generator_feed(text.get(), prompt.data(), prompt.size()) != 0)
      return lastFailure();
    outcome.prompt = {static_cast<int64_t>(prompt.size()), secondsSince(start)};
    const int64_t readBefore = expertStats().bytes_read;
    const auto generating = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < options.most; ++i) {
      int64_t token = 0;
      if (interrupted)
        return makeError(ErrorCode::Interrupted, "the run was interrupted after ", i,
                         " tokens, run the command again for all tokens");
      if (sluice_generator_next(text.get(), &token) != 0)
        return lastFailure();
      outcome.tokens.push_back(token);
      if (token == options.end)
        break;
    }
    // The first token follows from the prompt's last step.
    outcome.generation = {static_cast<int64_t>(outcome.tokens.size()) - 1, secondsSince(generating)};
    sluice_stats stats{};
    stats.size = sizeof stats;
    sluice_get_stats(session.get(), &stats);
    outcome.movedBytes = stats.bytes_in + stats.bytes_out;
    outcome.plannedBytes = stats.planned_bytes_in + stats.planned_bytes_out;
    outcome.readBytes = stats.bytes_read, outcome.plannedReadBytes = stats.planned_bytes_read;
    outcome.experts = expertStats();
    outcome.expertBytes = outcome.experts.bytes_read - readBefore;
    return outcome;
  }

private:
  sluice_expert_stats expertStats() const {
    sluice_expert_stats stats{};
    stats.size = sizeof stats;
    sluice_get_expert_stats(session.get(), &stats);
    return stats;
  }

  static double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  Status open() {
    SLUICE_ASSIGN_OR_RETURN(const int64_t requests, requestsOf(options.model));
    if (requests > 1)
      return makeError(ErrorCode::Unsupported, "'", options.model, "' computes ", requests,
                       " requests in a step, and a "
                       "token is an input of the next step, compile the model without --pipeline-requests");
    sluice_options opening{};
    opening.size = sizeof opening;
    opening.threads = static_cast<uint32_t>(options.threads);
    opening.spill_directory = options.spill.empty() ? nullptr : options.spill.c_str();
    opening.stop = reinterpret_cast<const volatile unsigned char *>(&interrupted);
    session.reset(sluice_open(options.model.c_str(), &opening));
    return session ? Status() : Status(lastFailure());
  }

  /// The addresses of the data of --input, and the shapes that it has.
  Expected<std::vector<const void *>> readInputs() {
    const sluice_model &model = *sluice_describe(session.get());
    std::vector<std::string> names;
    for (uint32_t i = 0; i < model.num_inputs; ++i)
      names.emplace_back(tableEntry(model.inputs, i).name);
    SLUICE_ASSIGN_OR_RETURN(std::vector<GivenInput> read, readGivenInputs(names, options.inputs, {}));
    given = std::move(read);
    std::vector<const void *> addresses(model.num_inputs);
    if (options.inputs.empty())
      return addresses;
    SLUICE_ASSIGN_OR_RETURN(InputShapes shapes, chooseShapes(model, given, 1, {}));
    std::vector<const int64_t *> extents;
    for (uint32_t i = 0; i < model.num_inputs; ++i) {
      extents.push_back(shapes[i].data());
      if (!given[i].tensor)
        continue;
      const sluice_tensor_desc input = tableEntry(model.inputs, i);
      SLUICE_ASSIGN_OR_RETURN(ElementType type, elementTypeFromOnnx(input.element_type));
      if (given[i].tensor->type != type)
        return makeError(ErrorCode::InvalidInput, "input '", input.name, "' needs elements of type ",
                         elementTypeName(type), " and '", given[i].origin, "' has ",
                         elementTypeName(given[i].tensor->type), ", convert the data");
      addresses[i] = given[i].tensor->bytes.data();
    }
    if (sluice_set_shapes(session.get(), extents.data()) != 0)
      return lastFailure();
    return addresses;
  }

  const GenerateOptions &options;
  std::vector<GivenInput> given;
  std::unique_ptr<sluice_session, CloseSession> session;
};

std::string describe(const Phase &phase) {
  return concat(phase.tokens, " tokens in ", formatDuration(static_cast<int64_t>(phase.seconds * 1e9)), ", ",
                std::round(phase.rate() * 10) / 10, " tokens/s");
}

Json phaseToJson(const Phase &phase) {
  return {{"tokens", phase.tokens}, {"seconds", phase.seconds}, {"tokensPerSecond", phase.rate()}};
}

Status runGenerate(const GenerateOptions &options) {
  std::optional<Tokenizer> tokenizer;
  if (options.hasTokenizer) {
    SLUICE_ASSIGN_OR_RETURN(tokenizer, Tokenizer::open(options.tokenizer));
    // A tokenizer that does not work is reported before the text is computed.
    if (Expected<std::string> nothing = options.isText ? std::string() : tokenizer->decode({}); !nothing)
      return propagate(nothing);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> prompt,
                          !options.isText ? parseTokens(options.tokens) : tokenizer->encode(options.prompt));
  SLUICE_ASSIGN_OR_RETURN(const Outcome outcome, Text(options).run(prompt));
  Expected<std::string> words = tokenizer ? tokenizer->decode(outcome.tokens) : std::string();
  if (options.format == "json") {
    Json json = {{"tokens", outcome.tokens},
                 {"prompt", phaseToJson(outcome.prompt)},
                 {"generation", phaseToJson(outcome.generation)},
                 {"movedBytes", outcome.movedBytes},
                 {"plannedBytes", outcome.plannedBytes},
                 {"readBytes", outcome.readBytes},
                 {"plannedReadBytes", outcome.plannedReadBytes}};
    if (tokenizer && words)
      json["text"] = *words;
    if (outcome.experts.slots > 0) {
      json["experts"] = expertsToJson(outcome.experts);
      json["experts"]["generationBytesRead"] = outcome.expertBytes;
    }
    printJson(json);
    return words ? Status() : propagate(words);
  }
  std::string text;
  for (int64_t token : outcome.tokens)
    text += concat(text.empty() ? "" : ",", token);
  printLine("tokens", text);
  printLine("prompt", describe(outcome.prompt));
  if (outcome.generation.tokens > 0)
    printLine("generation", describe(outcome.generation));
  printLine("moved", concat(outcome.movedBytes, " bytes a token, planned ", outcome.plannedBytes));
  if (outcome.plannedReadBytes > 0)
    printLine("read", concat(outcome.readBytes, " bytes a token, planned ", outcome.plannedReadBytes));
  printExperts(outcome.experts);
  // The text comes last, because its lines may look like the others.
  if (tokenizer && words)
    printLine("text", *words);
  return words ? Status() : propagate(words);
}

} // namespace

void addGenerateCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App *command = driver::addCommand(
      app, "generate", "Go on from tokens with a compiled model that keeps what came before in its states");
  addOption(*command, "MODEL", options->model, "a compiled model's directory")->required();
  CLI::Option *tokens =
      addOption(*command, "--tokens", options->tokens, "the prompt's tokens: 1,2,3")->type_name("LIST");
  CLI::Option *prompt =
      addOption(*command, "--prompt", options->prompt, "the prompt's text, instead of --tokens")->excludes(tokens);
  CLI::Option *tokenizer =
      addOption(*command, "--tokenizer", options->tokenizer,
                "the model's tokenizer.json, to read --prompt and to print text; needs Python's tokenizers")
          ->type_name("FILE");
  prompt->needs(tokenizer);
  addOption(*command, "--max-new", options->most, "greatest number of tokens to add")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  addOption(*command, "--end", options->end, "stop after this token")->type_name("TOKEN");
  addOption(*command, "--sample", options->sample,
            "choice of a token: greedy, or any of top-k=N,top-p=P,temperature=T,seed=N")
      ->capture_default_str();
  addOption(*command, "--input", options->inputs, "data of an input other than tokens, mask and positions")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  addOption(*command, "--spill", options->spill,
            "keep what is swapped out, and states, in unnamed files there instead of in memory")
      ->type_name("DIR");
  addOption(*command, "--threads", options->threads, "number of threads, 0: one for each core")->capture_default_str();
  addFormatOption(*command, options->format);
  command->callback([options, tokens, prompt, tokenizer, &action] {
    options->isText = prompt->count() > 0;
    options->hasTokenizer = tokenizer->count() > 0;
    if (!options->isText && tokens->count() == 0)
      throw CLI::RequiredError("--tokens, or --prompt with --tokenizer,");
    action = [options] { return runGenerate(*options); };
  });
}

} // namespace sluice::driver
