// Lines that a cache waits for, and who waits for them: a small hash table of fixed size, keyed by line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mem/pool.h"
#include "mem/sector_cache.h"

namespace ws {

class MshrTable {
 public:
  struct Entry {
    uint64_t line = kNoLine;
    uint8_t pending = 0;       // sectors asked for
    bool keep = false;         // whether the data goes into the cache when it comes
    uint32_t waiters = kNone;  // list of Waiter, latest first
  };
  struct Waiter {
    uint32_t access;
    uint8_t sectors;  // still missing
    uint32_t next;
  };

  explicit MshrTable(uint32_t entries) : entries_(entries) {
    uint32_t size = 4;
    while (size < 2 * entries) size *= 2;
    table_.resize(size);
  }

  bool full() const { return used_ == entries_; }
  uint32_t used() const { return used_; }

  Entry* find(uint64_t line) {
    for (uint32_t i = home(line);; i = (i + 1) & mask()) {
      if (table_[i].line == line) return &table_[i];
      if (table_[i].line == kNoLine) return nullptr;
    }
  }

  Entry& allocate(uint64_t line) {  // not full, not there
    uint32_t i = home(line);
    while (table_[i].line != kNoLine) i = (i + 1) & mask();
    table_[i] = {line, 0, false, kNone};
    ++used_;
    return table_[i];
  }

  void wait(Entry& entry, uint32_t access, uint8_t sectors) { entry.waiters = waiters_.take({access, sectors, entry.waiters}); }

  // Sectors have come: calls done(access) for every waiter that has all it waits for; the entry goes when nothing is pending.
  template <class Done>
  void arrive(Entry& entry, uint8_t sectors, Done&& done) {
    entry.pending &= static_cast<uint8_t>(~sectors);
    uint32_t* link = &entry.waiters;
    while (*link != kNone) {
      Waiter& waiter = waiters_[*link];
      waiter.sectors &= static_cast<uint8_t>(~sectors);
      if (waiter.sectors) {
        link = &waiter.next;
      } else {
        const uint32_t index = *link;
        *link = waiter.next;
        waiters_.release(index);
        done(waiter.access);
      }
    }
    if (!entry.pending) remove(entry);
  }

  void clear() {
    table_.assign(table_.size(), {});
    waiters_.clear();
    used_ = 0;
  }

 private:
  uint32_t mask() const { return static_cast<uint32_t>(table_.size() - 1); }
  uint32_t home(uint64_t line) const { return static_cast<uint32_t>((line / kLineBytes) * 0x9E3779B97F4A7C15ull >> 40) & mask(); }

  void remove(Entry& entry) {  // closes the gap: entries behind it move up unless that would put them before their home
    uint32_t hole = static_cast<uint32_t>(&entry - table_.data());
    for (uint32_t i = (hole + 1) & mask(); table_[i].line != kNoLine; i = (i + 1) & mask()) {
      if (((i - home(table_[i].line)) & mask()) < ((i - hole) & mask())) continue;
      table_[hole] = table_[i];
      hole = i;
    }
    table_[hole] = {};
    --used_;
  }

  uint32_t entries_, used_ = 0;
  std::vector<Entry> table_;
  Pool<Waiter> waiters_;
};

}  // namespace ws
