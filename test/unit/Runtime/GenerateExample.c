/*===- GenerateExample.c - Text from a compiled model -------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   GenerateExample DIR COUNT TOKEN...
 *
 * Prints COUNT tokens that the compiled model in DIR puts behind the others. The
 * loop is sluice_generator_open, _feed and _next. A second line says how many uses
 * of experts hit, if the model reads those that a step chooses.
 *
 *===----------------------------------------------------------------------===*/
#include "sluice/Runtime/sluice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Takes a session over, which may be NULL. */
static int generate(sluice_session *session, const int64_t *prompt, size_t length, long count) {
  sluice_generator *text = session ? sluice_generator_open(session, NULL, NULL) : NULL;
  int failed = !text || sluice_generator_feed(text, prompt, length);
  for (long i = 0; !failed && i < count; ++i) {
    int64_t token = 0;
    failed = sluice_generator_next(text, &token);
    if (!failed)
      printf("%s%" PRId64, i > 0 ? "," : "", token);
  }
  printf("\n");
  if (failed)
    fprintf(stderr, "error: %s\n", sluice_last_error());
  sluice_expert_stats experts = {.size = sizeof experts};
  if (session)
    sluice_get_expert_stats(session, &experts);
  if (experts.slots > 0)
    printf("experts: %" PRIu32 " of %" PRIu32 " in memory, %" PRId64 " of %" PRId64 " uses hit, best %" PRId64
           ", %" PRId64 " bytes read\n",
           experts.slots, experts.experts, experts.hits, experts.uses, experts.best_hits, experts.bytes_read);
  sluice_generator_close(text);
  sluice_close(session);
  return failed;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s DIR COUNT TOKEN...\n", argv[0]);
    return 2;
  }
  const size_t length = (size_t)(argc - 3);
  int64_t *prompt = malloc(length * sizeof *prompt);
  for (size_t i = 0; prompt && i < length; ++i)
    prompt[i] = strtoll(argv[i + 3], NULL, 10);
  int failed = !prompt || generate(sluice_open(argv[1], NULL), prompt, length, strtol(argv[2], NULL, 10));
  free(prompt);
  return failed ? 1 : 0;
}
