/*===- Hostile.c - Code that runs when it is loaded ---------------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include <stdlib.h>

__attribute__((constructor)) static void run(void) { setenv("SLUICE_HOSTILE_CODE_RAN", "1", 1); }
