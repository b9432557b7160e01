// The queue of everything that will happen in the memory system: one bucket an SM cycle for the near future, a heap for the far one. Events
// of one cycle run in the order in which they were posted (those from the heap after those posted directly), so a run is repeatable.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "mem/port.h"

namespace ws {

struct Event {
  uint32_t kind;
  uint32_t index;
};

class EventWheel {
 public:
  void post(Cycle when, uint32_t kind, uint32_t index) {
    when = std::max(when, now_);
    if (when < now_ + kSlots) {
      put(when, {kind, index});
    } else {
      far_.push_back({when, sequence_++, {kind, index}});
      std::push_heap(far_.begin(), far_.end());
    }
    next_ = std::min(next_, when);
  }

  Cycle next() const { return next_; }

  // Runs every event due at or before `until`; handle(event, cycle) may post more. soon(event, near) is told of events to come in the same
  // cycle, first with near = false, then with near = true: a chance to fetch into the host's caches what they will touch.
  template <class Handle, class Soon>
  void run(Cycle until, Handle&& handle, Soon&& soon) {
    constexpr size_t kFar = 12, kNear = 5;  // events ahead
    while (next_ <= until) {
      const Cycle cycle = now_ = next_;
      while (!far_.empty() && far_.front().when <= cycle) {
        put(far_.front().when, far_.front().event);
        std::pop_heap(far_.begin(), far_.end());
        far_.pop_back();
      }
      auto& slot = slots_[cycle % kSlots];
      for (size_t i = 0; i < slot.size(); ++i) {  // the slot may grow while it runs
        if (i + kFar < slot.size()) soon(slot[i + kFar], false);
        if (i + kNear < slot.size()) soon(slot[i + kNear], true);
        const Event event = slot[i];
        handle(event, cycle);
      }
      slot.clear();
      used_[cycle % kSlots / 64] &= ~(uint64_t{1} << cycle % 64);
      next_ = find_next();
    }
  }

  void clear() {
    for (auto& slot : slots_) slot.clear();
    used_.fill(0);
    far_.clear();
    now_ = 0;
    next_ = kNever;
  }

 private:
  static constexpr uint32_t kSlots = 4096;
  struct Far {
    Cycle when;
    uint64_t sequence;
    Event event;
    bool operator<(const Far& other) const { return when != other.when ? when > other.when : sequence > other.sequence; }
  };

  void put(Cycle when, Event event) {
    slots_[when % kSlots].push_back(event);
    used_[when % kSlots / 64] |= uint64_t{1} << when % 64;
  }

  Cycle find_next() const {
    const Cycle heap = far_.empty() ? kNever : far_.front().when;
    const uint32_t from = (now_ + 1) % kSlots;
    for (uint32_t step = 0; step <= kSlots / 64; ++step) {
      const uint32_t word = (from / 64 + step) % (kSlots / 64);
      uint64_t bits = used_[word];
      if (step == 0) bits &= ~uint64_t{0} << from % 64;
      if (step == kSlots / 64) bits &= ~(~uint64_t{0} << from % 64);
      if (bits) {
        const uint32_t slot = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
        return std::min(heap, now_ + 1 + (slot + kSlots - from) % kSlots);
      }
    }
    return heap;
  }

  std::array<std::vector<Event>, kSlots> slots_;
  std::array<uint64_t, kSlots / 64> used_{};
  std::vector<Far> far_;
  Cycle now_ = 0, next_ = kNever;
  uint64_t sequence_ = 0;
};

}  // namespace ws
