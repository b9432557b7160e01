// A warp on an SM, as the timing core sees it.
#pragma once

#include <cstdint>

#include "exec/machine.h"
#include "mem/port.h"
#include "sm/stall.h"

namespace ws {

inline constexpr uint32_t kNoToken = ~0u;

enum class SlotState : uint8_t {
  Free,
  Timed,      // its next instruction may issue at `ready_at`
  Ready,      // it may issue, as far as the warp is concerned
  Pending,    // an operand or its instruction is on its way, arrival unknown
  Suspended,  // all its lanes wait at a barrier or for each other
  Fence,      // its stores are on their way
  Drain,      // has exited, accesses are on their way
  Left,       // has exited, others of its CTA have not
};

struct alignas(64) WarpSlot {
  Warp* warp = nullptr;
  const Split* split = nullptr;  // the warp's first, valid while it waits to issue
  const uint8_t* regs = nullptr;
  uint32_t frame = 0;  // of the split
  SlotState state = SlotState::Free;
  uint8_t pipe = 0;               // of the next issue slot
  Stall waits_for = Stall::Wait;  // Pending, Suspended, Fence: the reason
  uint32_t cta = 0;               // the SM's CTA slot
  uint32_t record = 0;            // the instruction to issue
  uint32_t issue_slot = 0;        // its next issue slot, and how many it has left
  uint32_t slots_left = 0;
  uint32_t executes = 0;            // the issue slot with which the instruction executes
  uint32_t chain_token = kNoToken;  // Pending in the middle of an instruction: the access whose result the next issue slot needs
  uint32_t outstanding = 0;         // memory accesses that are not complete
  Cycle completed = 0;              // when the last of them that is was
  Cycle ready_at = 0;
  Cycle accounted = 0;              // cycles before this one have their stall reason
  Cycle base = 0;                   // the next instruction issues no earlier,
  Stall base_reason = Stall::Wait;  // and this is why
  // Instruction lines: the one being issued from and the one behind it, with their arrival.
  uint64_t line = ~uint64_t{0}, next_line = ~uint64_t{0};
  Cycle line_ready = 0, next_ready = 0;
};

}  // namespace ws
