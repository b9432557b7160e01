// Instruction caches of an SM: L0 of each sub-core with a stream prefetcher, L1 and L1.5 of the SM; what they lack comes from L2. Lines are
// 128 bytes and named by their number (address / 128).
#pragma once

#include <cstdint>
#include <vector>

#include "base/config.h"
#include "base/stats.h"
#include "mem/port.h"

namespace ws {

// Tags of one level, least recently used out first. A line that is on its way is present, with the cycle of its arrival (kNever: not known
// yet).
class LineCache {
 public:
  LineCache(uint32_t lines, uint32_t ways);
  Cycle* find(uint64_t line);  // its arrival, or null; counts as a use
  void insert(uint64_t line, Cycle ready);
  uint32_t lines() const { return sets_ * ways_; }
  void clear();
  void drop_pending();  // forgets lines whose arrival is not known

 private:
  struct Entry {
    uint64_t line;
    Cycle ready;
    uint64_t used;
  };
  Entry* set_of(uint64_t line) { return entries_.data() + line % sets_ * ways_; }
  uint32_t sets_, ways_;
  uint64_t clock_ = 0;
  std::vector<Entry> entries_;
};

class InstructionCaches {
 public:
  // Reads [icache]. Counters: sm__icc_requests, sm__icc_requests_lookup_hit, sm__icc_requests_lookup_miss and the same of L0 and L1.5.
  InstructionCaches(const Config& config, CounterRegistry& counters, uint16_t sm, uint32_t subcores, MemorySystem& memory);

  // Cycle from which the sub-core has the line; kNever: filled() will say. `last` is the last line of the program, beyond which nothing is
  // prefetched.
  Cycle fetch(uint32_t subcore, uint64_t line, uint64_t last, Cycle now);
  // A reply of MemSource::InstructionCache: the cycle from which sub-cores that wait have the line.
  Cycle filled(uint64_t line, Cycle now);
  void preload(uint64_t first, uint64_t last, Cycle now);  // lines of a program, unless it is larger than the second level
  uint32_t outstanding() const { return outstanding_; }    // lines asked of L2
  void flush();
  void reset();

 private:
  Cycle from_l1(uint64_t line, Cycle now);
  Cycle from_second(uint64_t line, Cycle now);
  void prefetch(uint32_t subcore, uint64_t line, uint64_t last, Cycle now);

  struct Stream {
    uint64_t begin = 1, end = 0;  // lines asked for ahead of use: [begin, end]
  };

  uint16_t sm_;
  MemorySystem& memory_;
  uint32_t l1_latency_, second_latency_, miss_latency_, fill_latency_, depth_;
  std::vector<LineCache> l0_;
  std::vector<Stream> streams_;
  LineCache l1_, second_;
  uint32_t outstanding_ = 0;
  uint64_t l0_requests_ = 0, l0_hits_ = 0, requests_ = 0, hits_ = 0, misses_ = 0, second_requests_ = 0, second_hits_ = 0;
};

}  // namespace ws
