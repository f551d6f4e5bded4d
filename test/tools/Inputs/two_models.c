/* Two models that are linked into one program, whose kernels have the same names. Inputs are zeros; the bytes of all
 * outputs go to standard output. */
#include "first/model.h"
#include "second/model.h"

#include <stdio.h>
#include <stdlib.h>

static int run(sluice_session *session) {
  if (!session)
    return 1;
  const sluice_model *model = sluice_describe(session);
  const void *inputs[8];
  void *outputs[8];
  for (uint32_t i = 0; i < model->num_inputs; ++i)
    inputs[i] = calloc(1, (size_t)model->inputs[i].bytes);
  for (uint32_t i = 0; i < model->num_outputs; ++i)
    outputs[i] = calloc(1, (size_t)model->outputs[i].bytes);
  if (sluice_run(session, inputs, outputs))
    return 1;
  for (uint32_t i = 0; i < model->num_outputs; ++i)
    fwrite(outputs[i], 1, (size_t)model->outputs[i].bytes, stdout);
  sluice_close(session);
  return 0;
}

int main(void) {
  if (run(sluice_open_jumperhard(NULL)) || run(sluice_open_mnist_external(NULL))) {
    fprintf(stderr, "%s\n", sluice_last_error());
    return 1;
  }
  return 0;
}
