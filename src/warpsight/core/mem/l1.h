// The SM's L1 data cache: sectored, filled when data comes (not when it is asked for), misses merged per line. Global stores are written
// through, local stores written back. Shares its storage with shared memory: see resize().
#pragma once

#include <cstdint>
#include <string>

#include "base/config.h"
#include "mem/coalescer.h"
#include "mem/mshr.h"
#include "mem/sector_cache.h"

namespace ws {

// What happens to a global store that misses.
enum class StoreMiss : uint8_t {
  NoAllocate,
  Allocate,  // the written bytes stay in L1: a later store finds the sector there, a load only if the store covered all of it
};

class L1Cache {
 public:
  explicit L1Cache(const Config& config);

  struct Lookup {
    uint8_t hit;      // sectors there
    uint8_t request;  // sectors to ask L2 for; the others of the miss are on their way already
    bool blocked;     // no miss register: nothing was changed, try again after a fill
  };
  // A load by `access` (index of the caller); a miss leaves a waiter behind. With `keep` the data goes into L1 (else the load bypasses it).
  Lookup load(uint64_t line, uint8_t sectors, bool keep, uint32_t access);

  // Sectors that hit. `written_back` (local memory): the data stays dirty in L1, and sectors pushed out by it are returned in `evicted`.
  struct Eviction {
    uint64_t line = kNoLine;
    uint8_t dirty = 0;
    uint8_t partial = 0;
  };
  uint8_t store(const LinePart& part, bool written_back, Eviction& evicted);

  // Data has come: done(access) for every load that has all its sectors.
  template <class Done>
  void fill(uint64_t line, uint8_t sectors, Eviction& evicted, Done&& done) {
    MshrTable::Entry* entry = mshrs_.find(line);
    if (!entry) return;  // dropped by reset()
    if (entry->keep) insert(line, sectors, evicted);
    mshrs_.arrive(*entry, sectors, done);
  }

  void invalidate(uint64_t line);  // an atomic is about to change the line in L2
  void clear() { tags_.clear(); }
  void reset() { mshrs_.clear(); }
  void resize(uint64_t bytes) { tags_.resize(bytes); }  // to what shared memory leaves
  uint32_t misses_in_flight() const { return mshrs_.used(); }

 private:
  void insert(uint64_t line, uint8_t sectors, Eviction& evicted);
  uint32_t make_room(uint64_t line, Eviction& evicted);

  SectorCache tags_;
  MshrTable mshrs_;
  StoreMiss store_miss_;
};

}  // namespace ws
