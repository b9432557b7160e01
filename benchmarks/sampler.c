// Samples where the process spends its CPU time: SIGPROF every millisecond of it, the interrupted address into a buffer. Loaded with
// ctypes. A sampler of our own because perf needs a package and a permission that machines often lack.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <ucontext.h>

enum { kCapacity = 1 << 20 };
static uint64_t samples[kCapacity];
static volatile uint32_t count;

static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  if (count == kCapacity) return;
  const ucontext_t* at = context;
#if defined(__x86_64__)
  samples[count] = (uint64_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  samples[count] = at->uc_mcontext.pc;
#else
#error "add the program counter of this architecture"
#endif
  count = count + 1;
}

int sampler_start(void) {
  count = 0;
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  const struct itimerval every_millisecond = {{0, 1000}, {0, 1000}};
  return sigaction(SIGPROF, &action, 0) || setitimer(ITIMER_PROF, &every_millisecond, 0);
}

uint32_t sampler_stop(void) {
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &never, 0);
  return count;
}

const uint64_t* sampler_samples(void) { return samples; }
