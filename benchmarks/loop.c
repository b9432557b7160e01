// The yardstick of the benchmarks: what one host thread does at best with the simplest warp instruction, a 32-lane float multiply-add
// between rows of an array that stays in L1. Prints rows a second. Usage: loop SECONDS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kLanes = 32, kRows = 32, kBatch = 1 << 20 };  // three arrays of 4 KiB

static float value[kRows][kLanes], factor[kRows][kLanes], addend[kRows][kLanes];

// CPU time, as the cases are timed: what else the host does is not counted.
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// value -> value / 2 + 1/4 stays near 1/2: neither overflow nor denormals, which would change the speed. Rows are picked by a running
// number, as an instruction's operands pick them, so that nothing can be kept in registers.
static uint32_t run(uint32_t at) {
  for (uint32_t i = 0; i < kBatch; ++i, ++at) {
    const float* a = value[at & (kRows - 1)];
    const float* b = factor[(at + 11) & (kRows - 1)];
    const float* c = addend[(at + 22) & (kRows - 1)];
    float* d = value[(at + 5) & (kRows - 1)];
#pragma GCC ivdep  // rows are the same or disjoint
    for (int lane = 0; lane < kLanes; ++lane) d[lane] = a[lane] * b[lane] + c[lane];
  }
  return at;
}

int main(int argc, char** argv) {
  const double limit = argc > 1 ? atof(argv[1]) : 0.5;
  for (int row = 0; row < kRows; ++row) {
    for (int lane = 0; lane < kLanes; ++lane) value[row][lane] = factor[row][lane] = 0.5f, addend[row][lane] = 0.25f;
  }
  uint32_t at = run(1);
  uint64_t rows = 0;
  const double start = now();
  double seconds;
  do {
    at = run(at);
    rows += kBatch;
    seconds = now() - start;
  } while (seconds < limit);
  float sum = 0;
  for (int row = 0; row < kRows; ++row) sum += value[row][at & (kLanes - 1)];
  if (!(sum > 0)) return 1;  // uses the result
  printf("%.0f\n", rows / seconds);
  return 0;
}
