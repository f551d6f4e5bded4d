/*===- HostFunctions.h - libsluice_regex, libsluice_images --------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What the runtime calls in the libraries that it loads for regular expressions
 * and encoded images. A function that fails writes why to `error`, of `capacity`
 * bytes, as zero-terminated text.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_HOSTFUNCTIONS_H
#define SLUICE_RUNTIME_HOSTFUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An expression in RE2's syntax; null where it is wrong. */
void *sluice_regex_compile(const char *pattern, int64_t bytes, char *error, int64_t capacity);
/* 1 where it matches the whole text, else 0; negative where there is not enough memory. */
int32_t sluice_regex_matches(const void *regex, const char *text, int64_t bytes);
void sluice_regex_release(void *regex);

/* An encoded image, and what it is to become: height * width pixels of 3 bytes, or of 1. */
typedef struct sluice_encoded_image {
  const void *data;
  int64_t bytes;
  int64_t height, width;
  uint32_t format; /* 0: RGB, 1: BGR, 2: grey */
} sluice_encoded_image;

/* Returns 0 where the bytes are a sound image of these extents. */
int32_t sluice_image_decode(const sluice_encoded_image *image, uint8_t *pixels, char *error, int64_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_RUNTIME_HOSTFUNCTIONS_H */
