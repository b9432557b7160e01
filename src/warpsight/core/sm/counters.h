// What sub-cores count, and the counts by instruction of a launch with lines=True.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sm/stall.h"

namespace ws {

struct SubCoreCounters {
  std::array<uint64_t, kStalls> stalls{};  // warp cycles by reason
  uint64_t issued = 0, thread_executed = 0, thread_executed_on = 0;
  uint64_t eligible = 0;  // warp cycles in which a warp could issue
  uint64_t warps_launched = 0, branches = 0, diverged = 0;
  std::vector<uint64_t> units;        // instructions by execution unit
  std::vector<uint64_t> unit_cycles;  // cycles that the unit was busy
};

// One entry an instruction of the program.
struct LineCounts {
  explicit LineCounts(size_t records)
      : issues(records),
        threads(records),
        threads_on(records),
        diverged(records),
        sectors(records),
        wavefronts(records),
        conflicts(records) {
    for (auto& column : stalls) column.resize(records);
  }
  std::vector<uint64_t> issues, threads, threads_on, diverged, sectors, wavefronts, conflicts;
  std::array<std::vector<uint64_t>, kStalls> stalls;
};

}  // namespace ws
