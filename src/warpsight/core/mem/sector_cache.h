// Tags of a set-associative cache whose lines are 128 bytes in four 32-byte sectors. Holds no data: values live in the functional machine.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mem/pool.h"
#include "mem/replacement.h"

namespace ws {

inline constexpr uint64_t kLineBytes = 128, kSectorBytes = 32;
inline constexpr uint64_t kNoLine = ~uint64_t{0};

inline uint32_t count(uint8_t sectors) { return static_cast<uint32_t>(std::popcount(sectors)); }

// The 64-byte halves of a line, what DRAM moves at a time, that these sectors are in.
inline uint8_t halves_of(uint8_t sectors) {
  return static_cast<uint8_t>((sectors & 0b0011 ? 0b0011 : 0) | (sectors & 0b1100 ? 0b1100 : 0));
}

// Masks of sectors, but for the list of waiting requests, which is the owner's.
struct LineState {
  uint64_t line = kNoLine;
  uint8_t valid = 0;
  uint8_t dirty = 0;
  uint8_t partial = 0;  // holds some written bytes only; a read has to fetch the others
  uint8_t pending = 0;  // asked for, not there yet
  uint32_t waiters = kNone;
  uint32_t stamp = 0;  // the replacement policy's
};

class SectorCache {
 public:
  // `streams`: numbers that are equal modulo this belong to one stream of lines. std::invalid_argument when not even one set fits.
  SectorCache(uint64_t bytes, uint32_t ways, const std::string& policy, uint32_t streams = 1);
  void resize(uint64_t bytes);  // drops all contents

  // `number` stands for a line: it decides the set, and its low 32 bits are the tag. Numbers of the lines that one cache holds should be
  // dense: a slice that sees every 48th line passes its own count. Lines 2**32 numbers apart would be mixed up; address windows of a GPU
  // are not.
  static uint64_t number_of(uint64_t line) { return line / kLineBytes; }
  uint32_t find(uint64_t number) const {  // slot of the line or kNone
    const uint32_t base = set_of(number) * ways_;
    for (uint32_t way = 0; way < ways_; ++way)
      if (tags_[base + way] == tag_of(number)) return base + way;
    return kNone;
  }
  void prefetch(uint64_t number) const {  // into the host's caches
    const uint32_t base = set_of(number) * ways_;
    __builtin_prefetch(&tags_[base]);
    for (uint32_t way = 0; way < ways_; way += 2) __builtin_prefetch(&states_[base + way]);
  }
  void prefetch_slot(uint32_t slot) const { __builtin_prefetch(&states_[slot]); }
  void touch(uint32_t slot) { states_[slot].stamp = policy_->touched(states_[slot].stamp); }

  // A slot for the line of that number, which is not in the cache: a free one, else the victim, whose tag and state are still there to be
  // written back. kNone when every way of the set waits for data.
  uint32_t choose(uint64_t number);
  void insert(uint32_t slot, uint64_t number, uint64_t line);  // state: nothing valid
  void drop(uint32_t slot) { tags_[slot] = kNoTag, states_[slot] = {}; }
  void clear();

  LineState& state(uint32_t slot) { return states_[slot]; }
  uint32_t sets() const { return sets_; }
  uint32_t slots() const { return sets_ * ways_; }

 private:
  // Any number of sets. The lines of each stream of numbers are consecutive; a stream's upper part and its index rotate it, so that neither
  // strides crowd nor does one stream alone leave sets empty.
  uint32_t set_of(uint64_t number) const {
    const uint64_t in_stream = number / streams_, upper = in_stream / sets_;
    return static_cast<uint32_t>((in_stream % sets_ + (upper * 0x9E3779B97F4A7C15ull >> 40) + number % streams_ * (sets_ / streams_)) %
                                 sets_);
  }

  static constexpr uint32_t kNoTag = ~uint32_t{0};
  static uint32_t tag_of(uint64_t number) { return static_cast<uint32_t>(number); }

  uint32_t ways_, streams_, sets_ = 0;
  std::unique_ptr<Replacement> policy_;
  std::vector<uint32_t> tags_;
  std::vector<LineState> states_;
};

}  // namespace ws
