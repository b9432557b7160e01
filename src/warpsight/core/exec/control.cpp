// Divergence: how the lanes of a warp split, which split runs, where they meet again; branches, calls, exits.
#include <algorithm>
#include <cstring>

#include "machine.h"

namespace ws {

namespace {

// A split that loops while others wait gives way after this weight of backward branches: an iteration that polls memory (atomic, volatile
// or acquire load, nanosleep) weighs kPollWeight, since it may wait for the very lanes that wait for it; any other weighs 1, since most
// loops end by themselves and should end converged.
constexpr uint32_t kSliceWeight = 1u << 16;
constexpr uint32_t kPollWeight = 1u << 8;
constexpr uint32_t kQuantum = 1024;  // instructions for which the other split then runs

uint32_t depth_of(const Split& s) { return s.call ? s.call->depth : 0; }

bool same_place(const Split& a, const Split& b) { return a.pc == b.pc && a.frame == b.frame && a.call == b.call; }

bool runs_before(const Split& a, const Split& b) {
  const uint32_t da = depth_of(a), db = depth_of(b);
  return da != db ? da > db : a.pc < b.pc;
}

void count_backward(Warp& warp) {
  if (warp.splits.size() > 1) warp.slice += warp.polled ? kPollWeight : 1;
  warp.polled = false;
}

}  // namespace

// Called after a step that left several splits (or blocked the only one): merges splits that met, then puts the one to run next first.
void Machine::choose(Warp& warp) {
  auto& splits = warp.splits;
  for (size_t i = 0; i < splits.size(); i++) {
    if (splits[i].state == SplitState::AtBarrier) continue;
    for (size_t j = i + 1; j < splits.size();) {
      if (splits[j].state != SplitState::AtBarrier && same_place(splits[i], splits[j])) {
        splits[i].mask |= splits[j].mask;
        splits[i].state = SplitState::Ready;  // a wait is judged anew with the lanes that came
        splits.erase(splits.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        j++;
      }
    }
  }
  auto first_ready = [&]() -> Split* {
    Split* best = nullptr;
    for (Split& s : splits) {
      if (s.state == SplitState::Ready && (!best || runs_before(s, *best))) best = &s;
    }
    return best;
  };
  Split* best = first_ready();
  if (!best) {  // waits that exits or other arrivals have satisfied
    for (Split& s : splits) {
      if (s.state == SplitState::AtSync && !(s.wait_mask & warp.live & ~s.mask)) s.state = SplitState::Ready;
    }
    // bar.warp.sync at different places with one mask: the lanes of the mask have all arrived
    if (!first_ready()) {
      for (Split& s : splits) {
        if (s.state != SplitState::AtSync || program_.records[s.pc].kind != Kind::WarpSync) continue;
        uint32_t here = 0;
        for (const Split& o : splits) {
          if (o.state == SplitState::AtSync && o.wait_mask == s.wait_mask && program_.records[o.pc].kind == Kind::WarpSync) here |= o.mask;
        }
        if (s.wait_mask & warp.live & ~here) continue;
        const uint32_t mask = s.wait_mask;
        for (Split& o : splits) {
          if (o.state == SplitState::AtSync && o.wait_mask == mask && program_.records[o.pc].kind == Kind::WarpSync) {
            o.state = SplitState::Ready;
            o.pc++;
          }
        }
        break;
      }
    }
    best = first_ready();
    if (!best) {
      const bool barrier = std::any_of(splits.begin(), splits.end(), [](const Split& s) { return s.state == SplitState::AtBarrier; });
      if (!barrier && !splits.empty())
        fail(warp, splits[0], FaultKind::SyncMask, static_cast<uint32_t>(__builtin_ctz(splits[0].mask)), splits[0].wait_mask);
      if (!splits.empty()) warp.state = WarpState::Blocked;
      return;
    }
  }
  if (warp.quantum > 0 && splits[0].state == SplitState::Ready) {
    warp.quantum--;
    return;
  }
  if (warp.slice >= kSliceWeight) {
    warp.slice = 0;
    for (Split& s : splits) {
      if (s.state == SplitState::Ready && s.last_run < best->last_run) best = &s;
    }
    warp.quantum = kQuantum;
  }
  if (best != &splits[0]) std::swap(*best, splits[0]);
}

bool Machine::must_wait(Warp& warp, const Record& record) {
  Split& split = warp.splits[0];
  uint32_t members = ~0u;
  if (!(record.flags & kWholeWarp)) {
    const int64_t operand = program_.operands[record.operands + record.sub];
    members = static_cast<uint32_t>(operand);
    if (!(record.aux & 1)) {
      const auto* row = reinterpret_cast<const uint32_t*>(warp.regs + split.frame + operand);
      members = row[__builtin_ctz(split.mask)];
    }
  }
  if (!(members & warp.live & ~split.mask)) return false;
  split.state = SplitState::AtSync;
  split.wait_mask = members;
  return true;
}

void Machine::branch(Warp& warp, const Record& record, uint32_t taken, Step& step) {
  Split& split = warp.splits[0];
  if (taken && record.target <= split.pc) count_backward(warp);
  if (taken == split.mask) {
    split.pc = record.target;
  } else if (!taken) {
    split.pc++;
  } else {
    Split other = split;
    split.mask &= ~taken;
    split.pc++;
    other.mask = taken;
    other.pc = record.target;
    warp.splits.push_back(other);
    step.diverged = true;
  }
}

void Machine::branch_indexed(Warp& warp, const Record& record, uint32_t mask, Step& step) {
  Split base = warp.splits[0];
  const auto* row = reinterpret_cast<const uint32_t*>(warp.regs + base.frame + program_.operands[record.operands]);
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t lane = __builtin_ctz(m);
    if (row[lane] >= record.aux) fail(warp, base, FaultKind::BadBranchIndex, lane, row[lane], record.aux);
  }
  warp.splits.erase(warp.splits.begin());
  size_t made = 0;
  auto add = [&](uint32_t lanes, uint32_t pc) {
    Split s = base;
    s.mask = lanes;
    s.pc = pc;
    if (pc <= base.pc) count_backward(warp);
    warp.splits.insert(warp.splits.begin(), s);
    made++;
  };
  if (base.mask & ~mask) add(base.mask & ~mask, base.pc + 1);
  for (uint32_t m = mask; m;) {
    const uint32_t index = row[__builtin_ctz(m)];
    uint32_t lanes = 0;
    for (uint32_t k = m; k; k &= k - 1) {
      if (row[__builtin_ctz(k)] == index) lanes |= k & -k;
    }
    add(lanes, program_.branch_table[record.target + index]);
    m &= ~lanes;
  }
  step.diverged = made > 1;
}

void Machine::call(Warp& warp, const Record& record, uint32_t mask) {
  Split& split = warp.splits[0];
  if (!mask) {
    split.pc++;
    return;
  }
  if (split.frame + record.aux >= program_.stack_bytes)
    fail(warp, split, FaultKind::StackOverflow, static_cast<uint32_t>(__builtin_ctz(mask)));
  const uint32_t back = split.pc + 1, depth = depth_of(split) + 1;
  const CallFrame* frame = nullptr;
  for (const auto& f : warp.frames) {
    if (f->return_pc == back && f->frame == split.frame && f->parent == split.call) frame = f.get();
  }
  if (!frame) frame = warp.frames.emplace_back(std::make_unique<CallFrame>(CallFrame{back, split.frame, depth, split.call})).get();
  Split inside = split;
  inside.mask = mask;
  inside.pc = record.target;
  inside.frame += record.aux;
  inside.call = frame;
  split.mask &= ~mask;
  split.pc++;
  if (split.mask) {
    warp.splits.push_back(inside);
  } else {
    split = inside;
  }
}

void Machine::give_back(Warp& warp, const Record& record, uint32_t mask, Step& step) {
  (void)record;
  Split& split = warp.splits[0];
  if (!split.call) return leave(warp, mask, step);
  if (!mask) {
    split.pc++;
    return;
  }
  Split out = split;
  out.mask = mask;
  out.pc = split.call->return_pc;
  out.frame = split.call->frame;
  out.call = split.call->parent;
  split.mask &= ~mask;
  split.pc++;
  if (split.mask) {
    warp.splits.push_back(out);
  } else {
    split = out;
  }
}

void Machine::leave(Warp& warp, uint32_t mask, Step& step) {
  Split& split = warp.splits[0];
  Cta& cta = *warp.context.cta;
  split.mask &= ~mask;
  split.pc++;
  warp.live &= ~mask;
  cta.live_threads -= static_cast<uint32_t>(__builtin_popcount(mask));
  if (!split.mask) {
    warp.splits.erase(warp.splits.begin());
    if (warp.live) {
      choose(warp);
    } else {
      warp.state = WarpState::Finished;
      cta.live_warps--;
    }
  }
  if (!mask) return;
  for (uint32_t id = 0; id < cta.barriers.size(); id++) {
    if (cta.barriers[id].arrived && open_if_complete(cta, id)) step.released = true;
  }
}

}  // namespace ws
