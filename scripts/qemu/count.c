/*===- count.c - A plugin of QEMU that counts instructions -------*- C -*-===*
 * Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Prints the number of guest instructions that one thread executes, for scripts/run_targets --count.
 * Debian 12 has no header of this interface (version 1, QEMU 4.2 to 9.0), so its declarations are here.
 *
 *   cc -shared -fPIC count.c -o count.so && qemu-aarch64 -plugin ./count.so PROGRAM
 *
 *===----------------------------------------------------------------------===*/
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *block));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *counter,
                                              uint64_t amount);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t id, void *data), void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t instructions;

static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &instructions,
                                           qemu_plugin_tb_n_insns(block));
}

static void print(qemu_plugin_id_t id, void *data) {
  (void)id, (void)data;
  fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
                                                               char **argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, print, NULL);
  return 0;
}
