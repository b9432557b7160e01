// When the registers and predicates of an SM's warps are ready. An entry says when a dependent instruction may issue, which pipe produces
// the value (results cross between pipes later than within one), and what a warp that waits for it is said to wait for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exec/machine.h"
#include "mem/port.h"
#include "sm/stall.h"

namespace ws {

class Scoreboard {
 public:
  using Entry = uint64_t;  // cycle << 16 | pipe << 8 | reason; the greatest cycle means pending: a memory access is on its way
  static constexpr uint64_t kPendingCycle = (uint64_t{1} << 48) - 1;

  static Entry entry(Cycle cycle, uint8_t pipe, Stall reason) { return cycle << 16 | uint64_t{pipe} << 8 | static_cast<uint64_t>(reason); }
  static Cycle cycle(Entry e) { return e >> 16; }
  static bool pending(Entry e) { return cycle(e) == kPendingCycle; }
  static uint8_t pipe(Entry e) { return static_cast<uint8_t>(e >> 8); }
  static Stall reason(Entry e) { return static_cast<Stall>(e & 0xff); }

  // Room for the registers of `slots` warps of a program. Frames lie behind each other in whole rows, predicates of all frames in a part of
  // their own: a frame's predicates start at the number of its first row, so those of caller and callee may share entries, which only costs
  // a wait.
  void configure(uint32_t slots, const Program& program) {
    uint32_t predicates = 0;
    for (uint16_t use : program.uses)
      if (use & kPredicateUse) predicates = std::max<uint32_t>(predicates, (use & ~kPredicateUse) + 1u);
    rows_ = program.stack_bytes / kRowBytes + 2;
    stride_ = 2 * rows_ + predicates;
    cells_.assign(size_t{slots} * stride_, Cell{});
  }

  struct Cell {
    Entry ready;
    Cycle reads_done;  // a write must wait for it: memory instructions read late
  };
  // A warp's cells; index() of a use within them.
  Cell* of(uint32_t slot) { return cells_.data() + size_t{slot} * stride_; }
  uint32_t index(uint16_t use, uint32_t frame) const {
    const uint32_t row = frame / kRowBytes;
    return use & kPredicateUse ? rows_ + row + (use & ~uint32_t{kPredicateUse}) : row + use;
  }

  void clear(uint32_t slot) { std::fill_n(of(slot), stride_, Cell{}); }

 private:
  static constexpr uint32_t kRowBytes = 128;
  uint32_t rows_ = 0, stride_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace ws
