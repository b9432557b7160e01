// The GPU: SMs, memory system, CTA scheduler, and the loop that runs a launch.
//
// SMs meet only in the memory system, and a request needs some cycles to leave an SM. For that long, the window, an SM can run on its own:
// what reaches it meanwhile was sent before. So the loop runs the memory system up to the end of a window, then each SM that has something
// to do; SMs and memory see every message in its own cycle, and an SM's state stays in the host's cache. An SM without events costs
// nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/stats.h"
#include "exec/machine.h"
#include "mem/port.h"
#include "sm/cta_scheduler.h"
#include "sm/op_table.h"
#include "sm/sampler.h"
#include "sm/sm.h"

namespace ws {

struct LaunchOptions {
  uint64_t samples = 0;                              // cycles between samples of all counters; 0: none
  bool lines = false;                                // counts by instruction
  uint64_t budget_cycles = 0;                        // 0: no limit
  uint64_t budget_instructions = 0;                  // of the machine (records); 0: no limit
  std::function<bool(const Progress&, Cycle)> poll;  // called every 50 ms or so; false stops the launch
};

enum class LaunchEnd : uint8_t { Finished, CycleBudget, InstructionBudget, Polled };

struct LaunchResult {
  LaunchEnd end = LaunchEnd::Finished;
  Cycle cycles = 0;  // as sm__cycles_elapsed.max: with launch and drain overhead
  double time_us = 0;
  uint32_t ctas_per_sm = 0;
  const char* occupancy_limit = "";
  std::map<std::string, double> counters;  // sums as NAME.sum, and what derives from them
  std::unique_ptr<LineCounts> lines;
};

class Gpu final : public ReplySink {
 public:
  explicit Gpu(const Config& config);  // throws std::invalid_argument naming the key
  ~Gpu() override;

  // Runs a grid to its end. Throws KernelFault (a fault of the kernel, or Deadlock), std::invalid_argument (a timing entry that the GPU
  // file does not know; a CTA that fits no SM), and what poll throws. Whenever a launch does not finish, the GPU is reset and can be used
  // again.
  LaunchResult launch(Machine& machine, const LaunchOptions& options);
  void flush_caches();

  const CounterRegistry& counters() const { return registry_; }
  const Sampler& sampler() const { return sampler_; }  // of the last launch

  void reply(const MemReply& reply, Cycle now) override { sms_[reply.sm]->deliver(reply, now); }

 private:
  LaunchEnd run(Machine& machine, const LaunchOptions& options, Cycle start);
  void refill(std::vector<CtaDone>& done);
  Cycle next_event() const;
  void sample(Cycle now);
  void sync();
  void derive(LaunchResult& result) const;
  uint64_t code_line(const Program& program);
  [[noreturn]] void deadlock(const Machine& machine) const;

  Config config_;
  double sm_mhz_;
  uint32_t start_overhead_, end_overhead_;
  CounterRegistry registry_;
  OpTable table_;
  CtaScheduler scheduler_;
  std::unique_ptr<MemorySystem> memory_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<Sm*> due_;  // of the present window
  Sampler sampler_;
  Cycle window_ = 1;
  Cycle now_ = 1;  // goes on from launch to launch
  uint64_t ctas_running_ = 0;
  Cycle last_end_ = 0;                    // of a CTA
  std::map<std::string, uint64_t> code_;  // program -> its first instruction line
  uint64_t next_code_line_;
};

}  // namespace ws
