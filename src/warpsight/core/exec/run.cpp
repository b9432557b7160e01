// Functional mode: all CTAs in order, without timing.
#include <deque>

#include "machine.h"

namespace ws {
namespace {
constexpr uint64_t kWarpTurn = 1u << 14;  // records a warp runs before the next warp of the CTA, so that warps which poll each other go on
constexpr uint64_t kCtaTurn = 1u << 17;  // records a CTA runs before another is started beside it, so that CTAs which poll each other go on
}  // namespace

// The common instructions of a converged warp run in this loop without any bookkeeping but counts; everything else goes through step().
uint64_t Machine::run_warp(Warp& warp, uint64_t records) {
  const uint64_t start = progress_.executed;
  const Record* const code = program_.records.data();
  const int64_t* const operands = program_.operands.data();
  const bool plain = !interpreter_ && progress_.per_record.empty();
  while (warp.state == WarpState::Ready && progress_.executed - start < records) {
    if (plain && warp.splits.size() == 1) {
      Split& split = warp.splits[0];
      uint32_t pc = split.pc;
      const uint32_t active = split.mask;
      uint8_t* const regs = warp.regs + split.frame;
      uint64_t n = 0, threads = 0;
      const uint64_t limit = records - (progress_.executed - start);
      const uint64_t clock = progress_.executed;
      for (; n < limit; n++) {
        const Record& r = code[pc];
        uint32_t mask = active;
        if (r.guard != kNoGuard) {
          const uint32_t p = *reinterpret_cast<const uint32_t*>(regs + r.guard);
          mask &= r.flags & kGuardNegate ? ~p : p;
        }
        warp.context.clock = warp.context.globaltimer = clock + n;
        if (r.kind == Kind::Alu) {
          if (mask) r.handler(regs, operands + r.operands, mask, &warp.context);
          pc++;
        } else if (r.kind == Kind::Memory) {
          if (mask) {
            r.handler(regs, operands + r.operands, mask, &warp.context);
            if (scratch_.fault) {
              split.pc = pc;
              const auto kind = static_cast<FaultKind>(scratch_.fault);
              scratch_.fault = 0;
              fail(warp, split, kind, scratch_.fault_lane, scratch_.addr[scratch_.fault_lane], r.bytes, r.space,
                   r.memory_op != MemoryOp::Load);
            }
          }
          pc++;
        } else if (r.kind == Kind::Branch && (mask == active || mask == 0)) {
          pc = mask ? r.target : pc + 1;
        } else {
          break;
        }
        threads += static_cast<uint64_t>(__builtin_popcount(mask));
      }
      split.pc = pc;
      warp.executed += n;
      progress_.executed += n;
      progress_.thread_executed += threads;
      if (n == limit) break;
    }
    warp.context.clock = warp.context.globaltimer = progress_.executed;
    step(warp);
  }
  return progress_.executed - start;
}

Machine::CtaEnd Machine::run_cta(Cta& cta, uint64_t records) {
  const uint64_t start = progress_.executed;
  while (cta.live_warps) {
    bool any = false;
    for (Warp& warp : cta.warps) {
      if (warp.state != WarpState::Ready) continue;
      any = true;
      run_warp(warp, kWarpTurn);
    }
    if (!any) return CtaEnd::Stuck;
    if (progress_.executed - start >= records && cta.live_warps) return CtaEnd::Slice;
  }
  return CtaEnd::Done;
}

bool Machine::run(uint64_t resident, uint64_t budget, bool (*poll)(void* user, const Progress&), void* user) {
  std::deque<Cta*> active;
  uint64_t next = 0, polled = 0;
  const uint64_t total = shape_.ctas();
  while (next < total || !active.empty()) {
    Cta* cta;
    // A new CTA starts when none is left over or, if those left over all wait for something, as long as the GPU has room.
    if (next < total && active.size() < resident) {
      cta = create_cta(next++, 0, 1);
    } else {
      cta = active.front();
      active.pop_front();
    }
    switch (run_cta(*cta, kCtaTurn)) {
      case CtaEnd::Done:
        destroy_cta(cta);
        break;
      case CtaEnd::Slice:
        active.push_back(cta);
        break;
      case CtaEnd::Stuck: {
        for (const Warp& warp : cta->warps) {
          if (warp.state != WarpState::Blocked) continue;
          fail(warp, warp.splits[0], FaultKind::Deadlock, static_cast<uint32_t>(__builtin_ctz(warp.splits[0].mask)));
        }
      }
    }
    if (budget && progress_.executed >= budget && (next < total || !active.empty())) return false;
    if (poll && progress_.executed - polled >= 1u << 20) {
      polled = progress_.executed;
      if (!poll(user, progress_)) return false;
    }
  }
  return true;
}

}  // namespace ws
