/*===- Scale.c - A compiled model, by hand ------------------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What sluice compile writes for y = x * w, w 16 floats: one exported symbol,
 * no imports. The hash is of the floats 0, 1, ... 15, little-endian.
 *
 *===----------------------------------------------------------------------===*/
#include "sluice/Runtime/abi.h"

static int32_t scale(const sluice_kernel_env *env, void **args) {
  const float *x = args[0], *w = args[1];
  float *y = args[2];
  (void)env;
  for (int i = 0; i < 16; ++i)
    y[i] = x[i] * w[i];
  return 0;
}

static int32_t step(const sluice_api *api, sluice_context *context) {
  static const sluice_slot slots[] = {{0, SLUICE_SEGMENT_INPUT, 0, 0, 0, 64},
                                      {0, SLUICE_SEGMENT_PARAMETER, 0, 0, 0, 64},
                                      {0, SLUICE_SEGMENT_OUTPUT, 0, 0, 0, 64}};
  return api->launch(context, 0, 0, scale, 0, slots, 3, 0, 0);
}

static const int64_t shape[] = {16};
static const sluice_tensor_desc inputs[] = {
    {.size = sizeof(sluice_tensor_desc), .name = "x", .element_type = 1, .rank = 1, .shape = shape, .bytes = 64}};
static const sluice_tensor_desc outputs[] = {
    {.size = sizeof(sluice_tensor_desc), .name = "y", .element_type = 1, .rank = 1, .shape = shape, .bytes = 64}};
static const sluice_memory_desc memories[] = {{sizeof(sluice_memory_desc), "host", 0, INT64_MAX}};
static const sluice_device_desc devices[] = {{sizeof(sluice_device_desc), "cpu", SLUICE_DEVICE_CPU, 0, 1, 1.0}};
static const sluice_stream_desc streams[] = {{sizeof(sluice_stream_desc), 0, SLUICE_STREAM_COMPUTE}};
static const char *const op_names[] = {"scale"};

static const sluice_model model = {
    .size = sizeof(sluice_model),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .name = "scale",
    .compiler = "by hand",
    .cpu_features = "",
    .parameter_hash = "58dda328598e2f7fe472621bfc54935aaa354d1a6ebcaf9562cd743fd575eb19",
    .parameter_bytes = 64,
    .num_inputs = 1,
    .num_outputs = 1,
    .num_memories = 1,
    .num_devices = 1,
    .num_streams = 1,
    .num_commands = 1,
    .num_ops = 1,
    .inputs = inputs,
    .outputs = outputs,
    .memories = memories,
    .devices = devices,
    .streams = streams,
    .op_names = op_names,
    .step = step,
    .state_initial = -1,
};

const sluice_model *sluice_model_get(void) { return &model; }
