// Values of all counters at the start of a launch, every N cycles, and at its end.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stats.h"
#include "mem/port.h"

namespace ws {

class Sampler {
 public:
  explicit Sampler(const CounterRegistry& counters) : counters_(counters) {}
  void begin(uint64_t interval, Cycle now);
  Cycle next() const { return next_; }  // when the next sample is due; kNever without an interval
  void take(Cycle now);
  void end(Cycle now);

  const std::vector<Cycle>& cycles() const {
    return cycles_;
  }  // ends of the samples, from the launch's start: the first window's end at or after N, 2N...
  const std::vector<uint64_t>& values() const { return values_; }  // [sample, counter]: increase since the sample before
  const std::vector<uint64_t>& totals() const { return totals_; }  // increase over the launch

 private:
  void read(std::vector<uint64_t>& out) const;

  const CounterRegistry& counters_;
  uint64_t interval_ = 0;
  Cycle start_ = 0, next_ = kNever;
  std::vector<uint64_t> first_, last_, values_, totals_;
  std::vector<Cycle> cycles_;
};

}  // namespace ws
