/*===- time_step.c - Times a model without a runtime -------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * For scripts/time_forms, which defines INIT, RUN and MESSAGE, the functions of the model, and INPUT_BYTES and
 * OUTPUT_BYTES, the lists of sizes. Prints the median milliseconds of a step.
 *
 *   time_step FOLDER STEPS     with input_0.npy and so on in the folder
 *
 *===----------------------------------------------------------------------===*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void INIT(void);
int32_t RUN(const void *const *inputs, void *const *outputs);
const char *MESSAGE(int32_t status);

static const size_t input_bytes[] = {INPUT_BYTES}, output_bytes[] = {OUTPUT_BYTES};
enum {
  NUM_INPUTS = sizeof input_bytes / sizeof *input_bytes,
  NUM_OUTPUTS = sizeof output_bytes / sizeof *output_bytes
};

static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) {
    fprintf(stderr, "error: no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return memory;
}

/* The elements of an .npy file of version 1. */
static void *read_input(const char *folder, int number) {
  char path[4096];
  unsigned char start[10];
  snprintf(path, sizeof path, "%s/input_%d.npy", folder, number);
  FILE *file = fopen(path, "rb");
  void *data = allocate(input_bytes[number]);
  if (!file || fread(start, 1, sizeof start, file) != sizeof start ||
      fseek(file, 10 + start[8] + 256 * start[9], SEEK_SET) ||
      fread(data, 1, input_bytes[number], file) != input_bytes[number]) {
    fprintf(stderr, "error: cannot read %zu bytes of '%s', give a folder of sluice run --keep\n", input_bytes[number],
            path);
    exit(1);
  }
  fclose(file);
  return data;
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  const int steps = argc == 3 ? atoi(argv[2]) : 0;
  if (steps < 1) {
    fprintf(stderr, "usage: time_step FOLDER STEPS\n");
    return 2;
  }
  const void *inputs[NUM_INPUTS];
  void *outputs[NUM_OUTPUTS];
  for (int i = 0; i < NUM_INPUTS; ++i)
    inputs[i] = read_input(argv[1], i);
  for (int i = 0; i < NUM_OUTPUTS; ++i)
    outputs[i] = allocate(output_bytes[i]);
  double *times = allocate((size_t)steps * sizeof *times);
  INIT();
  for (int step = 0; step < steps; ++step) {
    const double begin = now_ms();
    const int32_t status = RUN(inputs, outputs);
    times[step] = now_ms() - begin;
    if (status) {
      fprintf(stderr, "error: %s\n", MESSAGE(status));
      return 1;
    }
  }
  qsort(times, (size_t)steps, sizeof *times, compare);
  printf("%.6f\n", times[steps / 2]);
  return 0;
}
