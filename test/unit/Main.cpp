//===- Main.cpp - The unit tests' main program ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Skip.h"

#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <cstdio>

namespace {

bool isSkipped = false; ///< The running case.
size_t skipped = 0;     ///< Cases of the run.
bool allSkipped = false;
bool hasRun = false;

struct SkipListener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo &) override { isSkipped = false; }
  void testCaseEnded(const Catch::TestCaseStats &) override { skipped += isSkipped; }
  void testRunEnded(const Catch::TestRunStats &stats) override {
    hasRun = true;
    allSkipped = skipped > 0 && skipped == stats.totals.testCases.total();
  }
};

CATCH_REGISTER_LISTENER(SkipListener)

} // namespace

void sluice::test::skip(const std::string &why) {
  isSkipped = true;
  std::printf("skipped: %s\n", why.c_str());
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  const int status = Catch::Session().run(argc, argv);
  // Lists of cases are their number; failures are the number of failed assertions, which may be any.
  if (!hasRun)
    return status;
  if (status != 0)
    return 1;
  return allSkipped ? sluice::test::kSkipStatus : 0;
}
