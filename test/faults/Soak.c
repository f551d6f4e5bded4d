/*===- Soak.c - Many steps, sessions and openings -----------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Runs a compiled model through the C API for a long time:
 *   Soak DIR STEPS SESSIONS OPENINGS
 *  - STEPS steps of one session,
 *  - SESSIONS sessions that are open at once and take turns,
 *  - OPENINGS times: open, one step, close.
 * Every step must give the results of the first one, bit for bit. The resident
 * memory and the number of open files at the end of each part must be those
 * after its first tenth, except for kSlackBytes. States are reset before each
 * step.
 *
 *===----------------------------------------------------------------------===*/
#include "sluice/Runtime/sluice.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_FREED_MEMORY
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define KEEPS_FREED_MEMORY
#endif

#ifdef KEEPS_FREED_MEMORY
/* AddressSanitizer keeps up to 256 MiB of freed memory, and finds leaks when the program ends. */
static const long kSlackBytes = 300L * 1024 * 1024;
#else
/* The allocator's own rounding: much less than one session or a byte per step. */
static const long kSlackBytes = 512 * 1024;
#endif

static long residentBytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
    resident = -1;
  if (file)
    fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

static long openFiles(void) {
  long count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder))
    ++count;
  if (folder)
    closedir(folder);
  return count;
}

/* Inputs, outputs and the outputs of the first step. */
typedef struct {
  const sluice_model *model;
  void **inputs, **outputs, **wanted;
} Buffers;

static void **allocate(const sluice_tensor_desc *tensors, uint32_t count) {
  void **all = calloc(count + 1, sizeof *all);
  for (uint32_t i = 0; all && i < count; ++i)
    if (!(all[i] = calloc(1, (size_t)tensors[i].bytes + 1)))
      return NULL;
  return all;
}

static void release(void **all, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    free(all[i]);
  free(all);
}

static int failed(const char *what, const char *why) {
  fprintf(stderr, "error: %s, %s\n", what, why);
  return 1;
}

/* One step that must give what the first one gave. */
static int step(sluice_session *session, const Buffers *buffers) {
  const sluice_model *model = buffers->model;
  for (uint32_t i = 0; i < model->num_outputs; ++i)
    memset(buffers->outputs[i], 0xa5, (size_t)model->outputs[i].bytes);
  if ((model->num_states > 0 && sluice_reset(session)) ||
      sluice_run(session, (const void *const *)buffers->inputs, buffers->outputs))
    return failed("a step failed", sluice_last_error());
  for (uint32_t i = 0; i < model->num_outputs; ++i)
    if (memcmp(buffers->outputs[i], buffers->wanted[i], (size_t)model->outputs[i].bytes) != 0)
      return failed("a step gives other results than the first one", model->outputs[i].name);
  return 0;
}

/* What must not grow. */
typedef struct {
  long bytes, files;
} Usage;

static Usage usage(void) {
  Usage now = {residentBytes(), openFiles()};
  return now;
}

static int report(const char *part, long count, Usage tenth, Usage end) {
  printf("%-9s %8ld  resident %ld KiB after a tenth, %ld KiB at the end; open files %ld, %ld\n", part, count,
         tenth.bytes / 1024, end.bytes / 1024, tenth.files, end.files);
  fflush(stdout);
  if (end.bytes > tenth.bytes + kSlackBytes)
    return failed("the resident memory grows", part);
  return end.files > tenth.files ? failed("files stay open", part) : 0;
}

static int soakSteps(sluice_session *session, const Buffers *buffers, long steps) {
  Usage tenth = {0, 0};
  for (long i = 1; i <= steps; ++i) {
    if (step(session, buffers))
      return 1;
    if (i == (steps + 9) / 10)
      tenth = usage();
  }
  return report("steps", steps, tenth, usage());
}

static int soakSessions(const char *directory, const sluice_options *options, const Buffers *buffers, long count) {
  sluice_session **sessions = calloc((size_t)count, sizeof *sessions);
  int bad = !sessions;
  for (long i = 0; !bad && i < count; ++i)
    if (!(sessions[i] = sluice_open(directory, options)))
      bad = failed("a session cannot be opened", sluice_last_error());
  Usage tenth = {0, 0};
  for (long turn = 1; !bad && turn <= 100; ++turn) {
    for (long i = 0; !bad && i < count; ++i)
      bad = step(sessions[i], buffers);
    if (turn == 10)
      tenth = usage();
  }
  if (!bad)
    bad = report("sessions", count, tenth, usage());
  for (long i = 0; sessions && i < count; ++i)
    if (sessions[i])
      sluice_close(sessions[i]);
  free(sessions);
  return bad;
}

static int soakOpenings(const char *directory, const sluice_options *options, const Buffers *buffers, long count) {
  Usage tenth = {0, 0};
  for (long i = 1; i <= count; ++i) {
    sluice_session *session = sluice_open(directory, options);
    if (!session)
      return failed("a session cannot be opened", sluice_last_error());
    const int bad = step(session, buffers);
    sluice_close(session);
    if (bad)
      return 1;
    if (i == (count + 9) / 10)
      tenth = usage();
  }
  return report("openings", count, tenth, usage());
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: Soak DIR STEPS SESSIONS OPENINGS\n");
    return 2;
  }
  const long steps = strtol(argv[2], NULL, 10), sessions = strtol(argv[3], NULL, 10),
             openings = strtol(argv[4], NULL, 10);
  sluice_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.threads = 1;
  sluice_session *session = sluice_open(argv[1], &options);
  if (!session)
    return failed("the model cannot be opened", sluice_last_error());
  Buffers buffers;
  buffers.model = sluice_describe(session);
  buffers.inputs = allocate(buffers.model->inputs, buffers.model->num_inputs);
  buffers.outputs = allocate(buffers.model->outputs, buffers.model->num_outputs);
  buffers.wanted = allocate(buffers.model->outputs, buffers.model->num_outputs);
  if (!buffers.inputs || !buffers.outputs || !buffers.wanted)
    return failed("out of memory", "in the test itself");
  if (sluice_run(session, (const void *const *)buffers.inputs, buffers.wanted))
    return failed("a step failed", sluice_last_error());
  int bad = soakSteps(session, &buffers, steps) || soakSessions(argv[1], &options, &buffers, sessions) ||
            soakOpenings(argv[1], &options, &buffers, openings);
  release(buffers.inputs, buffers.model->num_inputs);
  release(buffers.outputs, buffers.model->num_outputs);
  release(buffers.wanted, buffers.model->num_outputs);
  sluice_close(session);
  return bad;
}
