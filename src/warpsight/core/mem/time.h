// Time inside the memory side. Clocks of different frequency meet here, so times are ticks of 1/1024 SM cycle (0.5 ps at 2 GHz): the
// rounding of a clock's period is below 0.05 %.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "mem/port.h"

namespace ws {

using Tick = uint64_t;
inline constexpr int kTickShift = 10;
inline constexpr double kTicksPerCycle = 1 << kTickShift;

inline Tick ticks(Cycle cycle) { return cycle << kTickShift; }
inline Cycle cycle_after(Tick tick) { return (tick + (1 << kTickShift) - 1) >> kTickShift; }  // first cycle that is not before
inline Tick ticks_of_cycles(double cycles) { return static_cast<Tick>(std::llround(cycles * kTicksPerCycle)); }

// A clock domain: how long its periods are, seen from the SM clock.
class Clock {
 public:
  Clock(double sm_mhz, double mhz) : sm_mhz_(sm_mhz), period_(ticks_of_cycles(sm_mhz / mhz)) {
    if (!(mhz > 0) || !(sm_mhz > 0) || period_ == 0) throw std::invalid_argument("a clock's frequency must be positive");
  }
  Tick period() const { return period_; }
  Tick periods(double count) const { return static_cast<Tick>(std::llround(count * static_cast<double>(period_))); }
  Tick ns(double nanoseconds) const { return ticks_of_cycles(nanoseconds * sm_mhz_ / 1e3); }
  Tick edge(Tick tick) const { return (tick + period_ - 1) / period_ * period_; }

 private:
  double sm_mhz_;
  Tick period_;
};

// Something that serves one thing at a time, in the order of asking. `busy` adds up service time, in ticks.
struct Server {
  Tick free = 0;
  uint64_t busy = 0;
  Tick take(Tick at, Tick service) {
    const Tick start = std::max(at, free);
    free = start + service;
    busy += service;
    return start;
  }
};

// How long a port of some width is busy. A byte's time need not be a whole number of ticks.
class Width {
 public:
  // `key` names the GPU file's entry: bytes per period of a clock, more than 0.
  Width(const Config& config, const std::string& key, Tick period) : byte_(static_cast<double>(period) / config.real(key)) {
    if (!(config.real(key) > 0)) throw std::invalid_argument(key + " must be positive");
  }
  Tick time(uint32_t bytes) const { return static_cast<Tick>(std::llround(byte_ * bytes)); }

 private:
  double byte_;
};

}  // namespace ws
