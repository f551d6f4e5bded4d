/*===- HostFunctions.h - libsluice_regex, libsluice_images --------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The functions that the runtime calls in the libraries that it loads to match
 * regular expressions and to decode images. A function that fails writes a
 * zero-terminated message to `error`, which has `capacity` bytes.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SLUICE_RUNTIME_HOSTFUNCTIONS_H
#define SLUICE_RUNTIME_HOSTFUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles an expression in RE2's syntax; null if it is wrong. */
void *sluice_regex_compile(const char *pattern, int64_t bytes, char *error, int64_t capacity);
/* Returns 1 if the expression matches the whole text, else 0; negative if there is not enough memory. */
int32_t sluice_regex_matches(const void *regex, const char *text, int64_t bytes);
void sluice_regex_release(void *regex);

/* An encoded image, and the form of the decoded one: height * width pixels of 3 bytes, or of 1 byte if grey. */
typedef struct sluice_encoded_image {
  const void *data;
  int64_t bytes;
  int64_t height, width;
  uint32_t format; /* 0: RGB, 1: BGR, 2: grey */
} sluice_encoded_image;

/* Decodes an image. Returns 0 if the bytes are a valid image of these extents. */
int32_t sluice_image_decode(const sluice_encoded_image *image, uint8_t *pixels, char *error, int64_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_RUNTIME_HOSTFUNCTIONS_H */
