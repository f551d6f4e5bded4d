/*===- Example.c - The smallest application -----------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Runs one step of the artifact directory it is given, on zeros.
 *
 *===----------------------------------------------------------------------===*/
#include "sluice/Runtime/sluice.h"

#include <stdio.h>
#include <stdlib.h>

static void **buffers(const sluice_tensor_desc *tensors, uint32_t count) {
  void **all = calloc(count + 1, sizeof *all);
  for (uint32_t i = 0; all && i < count; ++i)
    all[i] = calloc(1, (size_t)tensors[i].bytes + 1);
  return all;
}

int main(int argc, char **argv) {
  sluice_session *session = sluice_open(argc > 1 ? argv[1] : ".", NULL);
  if (!session) {
    fprintf(stderr, "error: %s\n", sluice_last_error());
    return 1;
  }
  const sluice_model *model = sluice_describe(session);
  void **inputs = buffers(model->inputs, model->num_inputs);
  void **outputs = buffers(model->outputs, model->num_outputs);
  int failed = sluice_run(session, (const void *const *)inputs, outputs);
  if (failed)
    fprintf(stderr, "error: %s\n", sluice_last_error());
  else
    printf("ran '%s'\n", model->name);
  for (uint32_t i = 0; i < model->num_inputs; ++i)
    free(inputs[i]);
  for (uint32_t i = 0; i < model->num_outputs; ++i)
    free(outputs[i]);
  free(inputs);
  free(outputs);
  sluice_close(session);
  return failed;
}
