//===- OnnxTestsCommand.cpp - sluice-bench onnx-tests ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OnnxTests.h"
#include "TestPool.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Temporaries.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fnmatch.h>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <unistd.h>

namespace sluice::bench {
namespace {

struct OnnxTestsOptions {
  std::string directory, format = "text", filter;
  std::vector<std::string> expectedFailures;
  int processes = 0;
  int timeoutSec = 120;
};

/// Tests that are known to fail, and why. A name may hold '*', which stands for anything.
struct ExpectedFailure {
  std::string name, reason;

  bool matches(const std::string &test) const { return fnmatch(name.c_str(), test.c_str(), 0) == 0; }
};

/// From lines `name: reason`; '#' begins a comment.
Expected<std::vector<ExpectedFailure>> readExpectedFailures(const std::vector<std::string> &paths) {
  std::vector<ExpectedFailure> failures;
  for (const std::string &path : paths) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(path));
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (line.empty() || line[0] == '#')
        continue;
      const size_t colon = line.find(": ");
      if (colon == std::string::npos || colon == 0 || colon + 2 >= line.size())
        return makeError(ErrorCode::InvalidInput, "line ", number, " of '", path,
                         "' does not have the form 'name: reason': '", line,
                         "', write the name of a test and why it fails");
      failures.push_back({line.substr(0, colon), line.substr(colon + 2)});
    }
  }
  return failures;
}

class Report {
public:
  Report(std::vector<OnnxTest> tests, const std::vector<ExpectedFailure> &failures)
      : tests(std::move(tests)), operators(operatorsOf(this->tests)), results(this->tests.size()),
        outcomes(this->tests.size(), Json::object()) {
    for (const OnnxTest &test : this->tests) {
      auto listed = std::find_if(failures.begin(), failures.end(),
                                 [&](const ExpectedFailure &failure) { return failure.matches(test.name); });
      expected.push_back(listed == failures.end() ? std::nullopt : std::optional(listed->reason));
    }
  }

  void add(size_t index, const PoolResult &result) {
    results[index] = result;
    if (result.passed)
      outcomes[index] = Json::parse(result.said, nullptr, /*allow_exceptions=*/false);
  }
  bool isExpected(size_t index) const { return expected[index].has_value(); }
  /// Failures that are not listed, and passes that are.
  size_t surprises() const {
    size_t count = 0;
    for (size_t i = 0; i < tests.size(); ++i)
      count += results[i].passed == isExpected(i);
    return count;
  }
  Json json() const;
  void print(std::ostream &out) const;

private:
  size_t passed() const {
    return static_cast<size_t>(
        std::count_if(results.begin(), results.end(), [](const PoolResult &result) { return result.passed; }));
  }
  std::string statusOf(size_t index) const { return results[index].passed ? "passed" : "failed"; }
  struct Count {
    size_t total = 0, passed = 0;
    size_t fixed = 0;      ///< Of those that passed: with inputs compiled in.
    size_t onlyShapes = 0; ///< Of those that passed: compared by types and shapes.

    Json json() const {
      return {{"total", total}, {"passed", passed}, {"withFixedInputs", fixed}, {"byShapesAlone", onlyShapes}};
    }
  };
  std::map<std::string, Count> countBy(const std::function<std::string(size_t)> &key) const {
    std::map<std::string, Count> counts;
    for (size_t i = 0; i < tests.size(); ++i) {
      Count &count = counts[key(i)];
      ++count.total;
      count.passed += results[i].passed;
      count.fixed += !outcomes[i].value("fixedInputs", Json::array()).empty();
      count.onlyShapes += outcomes[i].value("onlyShapes", false);
    }
    return counts;
  }

  std::vector<OnnxTest> tests;
  std::vector<std::string> operators;
  std::vector<std::optional<std::string>> expected; ///< Why it fails, of those listed.
  std::vector<PoolResult> results;
  std::vector<Json> outcomes; ///< `fixedInputs` and `onlyShapes` of those that passed, else empty objects.
};

Json Report::json() const {
  Json list = Json::array();
  for (size_t i = 0; i < tests.size(); ++i) {
    Json entry{{"name", tests[i].name},
               {"group", tests[i].group},
               {"operator", operators[i]},
               {"status", statusOf(i)},
               {"seconds", static_cast<double>(results[i].elapsedNs) * 1e-9}};
    if (!results[i].passed)
      entry["reason"] = results[i].reason;
    if (isExpected(i))
      entry["expectedFailure"] = *expected[i];
    entry.update(outcomes[i]);
    list.push_back(std::move(entry));
  }
  auto summary = [](const std::map<std::string, Count> &counts) {
    Json json = Json::object();
    for (const auto &[name, count] : counts)
      json[name] = count.json();
    return json;
  };
  return {{"benchmark", "onnx-tests"},
          {"total", tests.size()},
          {"passed", passed()},
          {"failed", tests.size() - passed()},
          {"surprises", surprises()},
          {"groups", summary(countBy([&](size_t i) { return tests[i].group; }))},
          {"operators", summary(countBy([&](size_t i) { return operators[i]; }))},
          {"tests", std::move(list)}};
}

void Report::print(std::ostream &out) const {
  auto table = [&](const char *title, const std::map<std::string, Count> &counts) {
    size_t width = std::string_view(title).size();
    for (const auto &[name, count] : counts)
      width = std::max(width, name.size());
    auto padded = [&](std::string text) { return text + std::string(width + 2 - text.size(), ' '); };
    out << padded(title) << "passed of total, with inputs compiled in, compared by shapes alone\n";
    for (const auto &[name, count] : counts)
      out << padded(name) << count.passed << " of " << count.total << ", " << count.fixed << ", " << count.onlyShapes
          << '\n';
    out << '\n';
  };
  table("operator", countBy([&](size_t i) { return operators[i]; }));
  for (size_t i = 0; i < tests.size(); ++i) {
    const std::string name = tests[i].group + "/" + tests[i].name;
    if (results[i].passed && isExpected(i))
      out << "unexpected pass: " << name << '\n';
    else if (!results[i].passed && !isExpected(i))
      out << "failed: " << name << ": " << results[i].reason << '\n';
  }
  table("group", countBy([&](size_t i) { return tests[i].group; }));
  out << tests.size() << " tests, " << passed() << " passed, " << tests.size() - passed() << " failed, " << surprises()
      << " of them unexpected\n";
}

Status runTests(const OnnxTestsOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<ExpectedFailure> expected, readExpectedFailures(options.expectedFailures));
  SLUICE_ASSIGN_OR_RETURN(std::vector<OnnxTest> tests, findOnnxTests(options.directory));
  if (!options.filter.empty()) {
    std::regex filter;
    try {
      filter = std::regex(options.filter);
    } catch (const std::regex_error &) {
      return makeError(ErrorCode::InvalidInput, "'", options.filter,
                       "' is not a regular expression, option '--filter', correct its syntax");
    }
    std::erase_if(tests, [&](const OnnxTest &test) { return !std::regex_search(test.name, filter); });
    if (tests.empty())
      return makeError(ErrorCode::NotFound, "no test has a name that matches '", options.filter,
                       "', option '--filter', leave this option out to see all names");
  }
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory work, TemporaryDirectory::create("sluice-onnx"));
  const auto workOf = [&](size_t index) { return work.file(std::to_string(index)); };

  PoolParams params;
  params.processes = usableThreads(options.processes);
  params.timeoutNs = int64_t(options.timeoutSec) * 1'000'000'000;
  Report report(tests, expected);
  size_t ended = 0;
  const bool showsProgress = isatty(STDERR_FILENO) != 0;
  Status ran = runIsolated(
      tests.size(), params,
      [&](size_t index) -> Expected<std::string> {
        const std::filesystem::path directory = workOf(index);
        std::filesystem::create_directories(directory);
        // The linker's own files go there too: what a killed child leaves is removed with it.
        setenv("TMPDIR", directory.c_str(), 1);
        SLUICE_ASSIGN_OR_RETURN(OnnxTestOutcome outcome, runOnnxTest(tests[index], (directory / "model").string()));
        return jsonText(Json{{"fixedInputs", outcome.fixedInputs}, {"onlyShapes", outcome.onlyShapes}});
      },
      [&](size_t index, const PoolResult &result) {
        report.add(index, result);
        std::error_code ignored;
        std::filesystem::remove_all(workOf(index), ignored);
        ++ended;
        if (showsProgress)
          std::cerr << '\r' << ended << " of " << tests.size() << (ended == tests.size() ? "\n" : "") << std::flush;
      });
  if (!ran)
    return ran;
  if (options.format == "json")
    std::cout << jsonText(report.json(), 1) << '\n';
  else
    report.print(std::cout);
  std::cout << std::flush;
  if (size_t count = report.surprises())
    return makeError(ErrorCode::InvalidInput, count, count == 1 ? " test does" : " tests do", " not end as expected, ",
                     options.expectedFailures.empty() ? "see --expected-failures"
                                                      : concat("see '", options.expectedFailures.front(), "'"));
  return {};
}

} // namespace

void addOnnxTestsCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<OnnxTestsOptions>();
  CLI::App *command = driver::addCommand(app, "onnx-tests", "Compile, run and compare ONNX's backend tests");
  driver::addOption(*command, "DIR", options->directory, "folders of model.onnx and test_data_set_*, at any depth")
      ->required();
  driver::addOption(*command, "--filter", options->filter, "only tests whose name matches this regular expression")
      ->type_name("REGEX");
  driver::addOption(
      *command, "--expected-failures", options->expectedFailures,
      "file of lines 'name: reason', where '*' matches any text; a listed test that passes is an error, too")
      ->type_name("FILE")
      ->allow_extra_args(false);
  driver::addOption(*command, "--threads", options->processes, "number of parallel tests, 0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  driver::addOption(*command, "--timeout", options->timeoutSec, "limit of a test in seconds")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  driver::addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runTests(*options); }; });
}

} // namespace sluice::bench
