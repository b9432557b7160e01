// CTA barriers: bar/barrier .sync, .arrive and .red on the 16 named barriers.
#include <cstring>

#include "machine.h"

namespace ws {

void Machine::arrive(Warp& warp, const Record& record, uint32_t mask, Step& step) {
  Split& split = warp.splits[0];
  Cta& cta = *warp.context.cta;
  if (!mask) {
    split.pc++;
    return;
  }
  const int64_t* operands = program_.operands.data() + record.operands;
  const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(mask));
  auto value = [&](int k, uint32_t immediate) -> int64_t {
    if (record.aux & immediate) return operands[k];
    return reinterpret_cast<const uint32_t*>(warp.regs + split.frame + operands[k])[lane];
  };
  const int64_t id = value(0, kBarrierIdImm);
  const int64_t count = value(1, kBarrierCountImm);  // -1: all threads of the CTA
  if (id < 0 || id >= static_cast<int64_t>(cta.barriers.size())) fail(warp, split, FaultKind::BarrierId, lane, static_cast<uint64_t>(id));
  if (count != -1 && (count <= 0 || count % kWarpSize || count > 1024 * 2))
    fail(warp, split, FaultKind::BarrierCount, lane, static_cast<uint64_t>(count));
  const auto op = static_cast<BarrierOp>(record.sub);
  Barrier& barrier = cta.barriers[static_cast<size_t>(id)];
  if (barrier.arrived == 0) {
    barrier = Barrier{};
    barrier.expected = count == -1 ? 0 : static_cast<uint32_t>(count);
  }
  if (mask != split.mask) {  // lanes whose guard fails go on without the others
    Split rest = split;
    rest.mask = split.mask & ~mask;
    rest.pc++;
    warp.splits.push_back(rest);
  }
  Split& self = warp.splits[0];
  self.mask = mask;
  barrier.arrived += static_cast<uint32_t>(__builtin_popcount(mask));
  if (barrier.expected) {
    // Counts are in whole warps: once all live lanes of a warp are in, the lanes that are missing or gone count too.
    uint32_t here = mask;
    for (size_t i = 1; i < warp.splits.size(); i++) {
      const Split& s = warp.splits[i];
      if (s.state == SplitState::AtBarrier && s.barrier == id) here |= s.mask;
    }
    if (here == warp.live) barrier.arrived += static_cast<uint32_t>(kWarpSize - __builtin_popcount(warp.live));
  }
  if (op >= BarrierOp::RedPopc) {
    uint32_t p;
    std::memcpy(&p, warp.regs + self.frame + operands[3], 4);
    if (record.aux & kBarrierPredNegate) p = ~p;
    barrier.popc += static_cast<uint32_t>(__builtin_popcount(p & mask));
    barrier.all = barrier.all && (p & mask) == mask;
    barrier.any = barrier.any || (p & mask) != 0;
    self.result_row = static_cast<uint32_t>(operands[2]);
  }
  self.pc++;
  if (op != BarrierOp::Arrive) {
    self.state = SplitState::AtBarrier;
    self.barrier = static_cast<uint8_t>(id);
    self.op = op;
  }
  step.released = open_if_complete(cta, static_cast<uint32_t>(id));
  if (self.state == SplitState::AtBarrier && warp.splits.size() == 1) warp.state = WarpState::Blocked;
}

bool Machine::open_if_complete(Cta& cta, uint32_t id) {
  Barrier& barrier = cta.barriers[id];
  if (barrier.arrived < (barrier.expected ? barrier.expected : cta.live_threads)) return false;
  bool released = false;
  for (Warp& warp : cta.warps) {
    if (warp.state == WarpState::Finished) continue;
    bool here = false;
    for (Split& s : warp.splits) {
      if (s.state != SplitState::AtBarrier || s.barrier != id) continue;
      s.state = SplitState::Ready;
      here = true;
      uint8_t* row = warp.regs + s.frame + s.result_row;
      if (s.op == BarrierOp::RedPopc) {
        auto* lanes = reinterpret_cast<uint32_t*>(row);
        for (uint32_t m = s.mask; m; m &= m - 1) lanes[__builtin_ctz(m)] = barrier.popc;
      } else if (s.op != BarrierOp::Sync) {
        uint32_t p;
        std::memcpy(&p, row, 4);
        p = (s.op == BarrierOp::RedAnd ? barrier.all : barrier.any) ? p | s.mask : p & ~s.mask;
        std::memcpy(row, &p, 4);
      }
    }
    if (!here) continue;
    released = true;
    if (warp.state == WarpState::Blocked) {
      warp.state = WarpState::Ready;
      if (warp.splits.size() > 1) choose(warp);
    }
  }
  barrier = Barrier{};
  return released;
}

std::vector<Machine::Place> Machine::places() const {
  std::vector<Place> out;
  for (const auto& cta : live_) {
    for (const Warp& warp : cta->warps) {
      if (warp.state == WarpState::Finished) continue;
      for (const Split& s : warp.splits) {
        const uint32_t pc = waits_at(s);
        Place* known = nullptr;
        for (Place& p : out) {
          if (p.pc == pc && p.state == s.state && p.barrier == s.barrier) known = &p;
        }
        if (known) {
          known->warps++;
          continue;
        }
        const Barrier& b = cta->barriers[s.barrier];
        out.push_back(
            {pc, s.state, s.barrier, 1, cta->id, warp.index, s.mask, s.wait_mask, b.arrived, b.expected ? b.expected : cta->live_threads});
      }
    }
  }
  return out;
}

}  // namespace ws
