/* A program without a C library that runs the model MODEL, of `--runtime none`, and compares its outputs with
 * those of arrays.h (write_arrays.py). It is built with -ffreestanding -nostdlib. It prints what it finds and exits
 * with 0 if all is right. */
#include "arrays.h"
#include "model.h"

#include <stddef.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define INIT JOIN(sluice_init_, MODEL)
#define RUN JOIN(sluice_run_, MODEL)
#define MESSAGE JOIN(sluice_message_, MODEL)

/* All that the model's object needs from outside. */
void *memcpy(void *to, const void *from, size_t bytes) {
  for (volatile size_t i = 0; i < bytes; ++i)
    ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int value, size_t bytes) {
  for (volatile size_t i = 0; i < bytes; ++i)
    ((char *)to)[i] = (char)value;
  return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
  if ((char *)to <= (const char *)from)
    return memcpy(to, from, bytes);
  for (volatile size_t i = bytes; i > 0; --i)
    ((char *)to)[i - 1] = ((const char *)from)[i - 1];
  return to;
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n and $-16, %rsp\n call bare_main\n");
enum { SYS_WRITE = 1, SYS_EXIT = 231 };
static long call_system(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n mov x29, #0\n mov x30, #0\n mov x0, sp\n and sp, x0, #-16\n b bare_main\n");
enum { SYS_WRITE = 64, SYS_EXIT = 94 };
static long call_system(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
#elif defined(__riscv)
__asm__(".globl _start\n_start:\n .option push\n .option norelax\n la gp, __global_pointer$\n .option pop\n"
        " andi sp, sp, -16\n call bare_main\n");
enum { SYS_WRITE = 64, SYS_EXIT = 94 };
static long call_system(long number, long a, long b, long c) {
  register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
}
#endif

static int failures;

static void print(const char *text) {
  long bytes = 0;
  while (text[bytes])
    ++bytes;
  call_system(SYS_WRITE, 1, (long)text, bytes);
}

static void expect(int condition, const char *what) {
  if (!condition) {
    print("wrong: ");
    print(what);
    print("\n");
    ++failures;
  }
}

/* Greatest difference by greatest value. */
static int matches(const float *values, const float *references, size_t count) {
  float difference = 0, most = 0;
  for (size_t i = 0; i < count; ++i) {
    float apart = values[i] - references[i], size = references[i] < 0 ? -references[i] : references[i];
    if (apart < 0)
      apart = -apart;
    if (!(apart <= 1e30f))
      return 0;
    difference = apart > difference ? apart : difference;
    most = size > most ? size : most;
  }
  return difference <= 5e-4f * most;
}

void bare_main(void) {
  const void *inputs[NUM_INPUTS];
  void *outputs[NUM_OUTPUTS];
  for (int i = 0; i < NUM_INPUTS; ++i)
    inputs[i] = input_data(i);
  for (int i = 0; i < NUM_OUTPUTS; ++i)
    outputs[i] = output_data(i);

  int32_t status = RUN(inputs, outputs);
  expect(status == 1, "a run before init");
  print(MESSAGE(status));
  print("\n");
  INIT();
  const void *first = inputs[0];
  inputs[0] = NULL;
  status = RUN(inputs, outputs);
  expect(status > 1, "a run without an input");
  print(MESSAGE(status));
  print("\n");
  inputs[0] = first;
  print(MESSAGE(-1));
  print("\n");

  /* The second round begins with the initial states again. */
  for (int round = 0; round < 2; ++round) {
    INIT();
    for (int step = 0; step < STEPS; ++step) {
      status = RUN(inputs, outputs);
      expect(status == 0, MESSAGE(status));
    }
    for (int i = 0; i < NUM_OUTPUTS; ++i) {
      expect(matches((const float *)outputs[i], (const float *)reference_data(i), (size_t)output_bytes[i] / 4),
             "an output");
      memset(outputs[i], 0, (size_t)output_bytes[i]);
    }
  }
  print(failures ? "FAIL\n" : "PASS\n");
  call_system(SYS_EXIT, failures ? 1 : 0, 0, 0);
}
