// Indexed constant loads: a few lines close to the sub-cores, a larger cache behind them, then L2. Source of the shape: const.csv.
#pragma once

#include <cstdint>
#include <vector>

#include "base/config.h"
#include "mem/mshr.h"
#include "mem/port.h"

namespace ws {

class ConstantCache {
 public:
  explicit ConstantCache(const Config& config);

  enum class Level : uint8_t { First, Second, Memory };
  struct Lookup {
    Level level;
    Cycle ready;      // First, Second: when the word is there
    uint8_t request;  // Memory: sectors to ask L2 for
    bool blocked;     // Memory: no miss register, try again after a fill
  };
  // `address`: of a word, looked up at `at`. Memory leaves a waiter behind for `access`. A line on its way from the second level to the
  // first counts as Second: ncu_cold.csv shows no hits for the loads of a line that follow its first one closely (saxpy_n16384: 33 of
  // 2048).
  Lookup load(uint64_t address, uint32_t access, Cycle at);

  template <class Done>
  void fill(uint64_t line, uint8_t sectors, Cycle now, Done&& done) {
    MshrTable::Entry* entry = mshrs_.find(line);
    if (!entry) return;  // dropped by reset()
    const uint64_t number = SectorCache::number_of(line);
    uint32_t slot = second_.find(number);
    if (slot == kNone)
      second_.insert(slot = second_.choose(number), number, line);  // never kNone: lines are inserted when their data is there
    second_.state(slot).valid |= sectors;
    for (uint64_t at = 0; at < kLineBytes; at += first_line_bytes_)
      if (sectors >> at / kSectorBytes & 1) keep_close(line + at, now);
    mshrs_.arrive(*entry, sectors, done);
  }

  void preload(uint64_t line);  // a 128-byte line is in the second level from now on
  void clear();
  void reset();

 private:
  struct FirstLine {
    uint64_t line = kNoLine;
    uint64_t used = 0;
    Cycle ready = 0;
  };
  void keep_close(uint64_t small_line, Cycle ready);

  std::vector<FirstLine> first_;  // fully associative, least recently used goes
  uint64_t first_line_bytes_;
  Cycle latency_, second_latency_;
  uint64_t clock_ = 0;
  SectorCache second_;
  MshrTable mshrs_;
};

}  // namespace ws
