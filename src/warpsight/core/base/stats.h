// Named counters. A component owns plain uint64_t members, increments them without a branch, and registers each once with its name (Nsight
// Compute's where it means the same), the kind of unit it belongs to and the unit's index. Sums, per-unit tables and time series (a
// snapshot of all counters every N cycles) are taken from outside, so no statistics code sits in the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ws {

struct CounterEntry {
  std::string name;
  std::string unit;  // "gpu", "sm", "subcore", "l2_slice", "dram_channel", "dram_bank", "noc"
  uint32_t index;
  const uint64_t* value;
};

class CounterRegistry {
 public:
  void add(std::string name, std::string unit, uint32_t index, const uint64_t* value) {
    entries_.push_back({std::move(name), std::move(unit), index, value});
  }
  const std::vector<CounterEntry>& entries() const { return entries_; }

 private:
  std::vector<CounterEntry> entries_;
};

}  // namespace ws
