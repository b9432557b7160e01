// What a warp does between two issues: executes, waits for operands, instructions, barriers, fences, exits.
#include <bit>
#include <stdexcept>

#include "sm/sm.h"

namespace ws {
namespace {

constexpr uint32_t kLineBytes = 128;
constexpr uint32_t kMaxFree = 1 << 16;  // instructions in a row that take no issue slot

}  // namespace

// Gives the warp's cycles before `until` that have no reason yet this one.
void Sm::charge(uint32_t id, Stall reason, Cycle until) {
  WarpSlot& w = slots_[id];
  if (until <= w.accounted) return;
  const uint64_t cycles = until - w.accounted;
  w.accounted = until;
  subcore_of(id).counters.stalls[static_cast<size_t>(reason)] += cycles;
  if (context_.lines) context_.lines->stalls[static_cast<size_t>(reason)][w.record] += cycles;
}

void Sm::suspend(uint32_t id, SlotState state, Stall reason) {
  slots_[id].state = state;
  slots_[id].waits_for = reason;
  subcore_of(id).stalled(id / n_subcores_);
}

void Sm::wake(uint32_t id, Cycle now) {
  charge(id, slots_[id].waits_for, now);
  slots_[id].chain_token = kNoToken;
  prepare(id, now);
}

// Everything before `accounted` has a reason: that is when the warp may issue.
void Sm::schedule(uint32_t id) {
  WarpSlot& w = slots_[id];
  SubCore& subcore = subcore_of(id);
  charge(id, Stall::Wait, subcore.earliest(w.accounted));
  w.state = SlotState::Timed;
  w.ready_at = w.accounted;
  subcore.schedule(id / n_subcores_, w.ready_at);
}

// Finds the warp's next instruction that takes an issue slot, and when it may issue.
void Sm::prepare(uint32_t id, Cycle now) {
  WarpSlot& w = slots_[id];
  for (uint32_t i = 0; i < kMaxFree; ++i) {
    if (w.warp->state == WarpState::Finished) return leave(id, now);
    if (w.warp->state == WarpState::Blocked) {
      const auto& splits = w.warp->splits;
      const bool barrier = std::any_of(splits.begin(), splits.end(), [](const Split& s) { return s.state == SplitState::AtBarrier; });
      return suspend(id, SlotState::Suspended, barrier ? Stall::Barrier : Stall::Misc);
    }
    w.record = w.warp->pc();
    const Record& r = record(w.record);
    if (plans().of(w.record).count) return time_next(id, r, now);
    if (!run_for_free(id, r, now)) return;
  }
  throw std::invalid_argument("PTX line " + std::to_string(record(w.record).line) + ": a loop of instructions without an issue slot");
}

// An instruction that hardware does not have: its result is there when its sources are. False: a source is on its way, the warp waits.
bool Sm::run_for_free(uint32_t id, const Record& r, Cycle now) {
  WarpSlot& w = slots_[id];
  const uint32_t frame = w.warp->splits[0].frame;
  Scoreboard::Entry latest = 0;
  const Scoreboard::Cell* cells = scoreboard_.of(id);
  const uint16_t* use = uses(r);
  for (uint32_t i = 0; i < uint32_t{r.n_reads} + r.n_writes; ++i) latest = std::max(latest, cells[scoreboard_.index(use[i], frame)].ready);
  if (Scoreboard::pending(latest)) {
    charge(id, w.base_reason, w.base);
    suspend(id, SlotState::Pending, Scoreboard::reason(latest));
    return false;
  }
  w.warp->context.clock = now;
  w.warp->context.globaltimer = static_cast<uint64_t>(static_cast<double>(now) * ns_per_cycle_);
  const Step step = context_.machine->step(*w.warp);
  if (!step.executed) return true;
  writes_ready(id, r, frame, latest);
  if (step.released) release_barrier(ctas_[w.cta], now + barrier_latency_, now);
  return true;
}

void Sm::time_next(uint32_t id, const Record& r, Cycle now) {
  WarpSlot& w = slots_[id];
  const Plan& plan = plans().of(w.record);
  w.issue_slot = plan.first;
  w.slots_left = plan.count;
  w.executes = plan.executes;
  w.split = w.warp->splits.data();
  w.frame = w.split->frame;
  const OpClass& op = table_.ops()[plans().slot(plan.first).op];
  w.pipe = op.pipe;
  charge(id, w.base_reason, w.base);
  const Cycle fetched = fetch(w, id, r.address, std::max(now, w.base));
  if (fetched == kNever) return suspend(id, SlotState::Pending, Stall::NoInstruction);
  charge(id, Stall::NoInstruction, fetched);
  if (constants_ready_ == kNever) constants_ready_ = w.accounted + constant_latency_;
  charge(id, Stall::ImcMiss, constants_ready_);
  const Need need = operands(id, r, op);
  if (need.pending) return suspend(id, SlotState::Pending, need.reason);
  charge(id, need.reason, need.cycle);
  schedule(id);
}

// When all sources are ready, and writing the results changes nothing that earlier instructions still need.
Sm::Need Sm::operands(uint32_t id, const Record& r, const OpClass& op) {
  const uint32_t frame = slots_[id].frame;
  const Scoreboard::Cell* cells = scoreboard_.of(id);
  const uint16_t* use = uses(r);
  const size_t pipes = table_.pipes().size();
  Need need;
  const auto wait = [&need](Cycle cycle, Stall reason) {
    if (cycle > need.cycle) need.cycle = cycle, need.reason = reason;
  };
  for (uint32_t i = 0; i < r.n_reads; ++i) {
    const Scoreboard::Entry e = cells[scoreboard_.index(use[i], frame)].ready;
    if (Scoreboard::pending(e)) return {0, Scoreboard::reason(e), true};
    const bool guard = r.guard != kNoGuard && (use[i] & kPredicateUse);
    wait(Scoreboard::cycle(e) + (guard ? guard_ : cross_[Scoreboard::pipe(e) * pipes + op.pipe]), Scoreboard::reason(e));
  }
  for (uint32_t i = 0; i < r.n_writes; ++i) {
    const Scoreboard::Cell& cell = cells[scoreboard_.index(use[r.n_reads + i], frame)];
    const Scoreboard::Entry e = cell.ready;
    if (Scoreboard::pending(e)) return {0, Scoreboard::reason(e), true};
    if (cell.reads_done == kNever) return {0, Stall::LgThrottle, true};
    const Cycle written = Scoreboard::cycle(e);
    wait(written > op.latency ? written - op.latency + 1 : 0, Scoreboard::reason(e));
    wait(cell.reads_done, Stall::Wait);
  }
  return need;
}

// When the sub-core has the instruction at `address`. The instruction buffer asks for the line behind as soon as it reads that far ahead.
Cycle Sm::fetch(WarpSlot& w, uint32_t id, uint32_t address, Cycle now) {
  const uint64_t line = context_.code_line + address / kLineBytes;
  if (line != w.line) {
    w.line_ready = line == w.next_line ? w.next_ready : icache_.fetch(id % n_subcores_, line, context_.last_line, now);
    w.line = line;
  }
  const uint64_t ahead = std::min(context_.last_line, context_.code_line + (address + buffer_bytes_) / kLineBytes);
  if (ahead != w.line && ahead != w.next_line) {
    w.next_line = ahead;
    w.next_ready = icache_.fetch(id % n_subcores_, ahead, context_.last_line, now);
  }
  return w.line_ready;
}

void Sm::issue_only(uint32_t subcore, uint32_t local, const OpClass& op, Cycle now) {
  const uint32_t id = local * n_subcores_ + subcore;
  WarpSlot& w = slots_[id];
  w.accounted = now + 1;
  if (w.slots_left > 1) return next_issue_slot(id, op, now + op.latency);
  w.base = now + 1;
  w.base_reason = Stall::Wait;
  prepare(id, now);
}

// `op`: what has just issued, and when its result is there. The slot behind it waits for that if it is chained.
void Sm::next_issue_slot(uint32_t id, const OpClass& op, Cycle result) {
  WarpSlot& w = slots_[id];
  ++w.issue_slot;
  --w.slots_left;
  const IssueSlot& next = plans().slot(w.issue_slot);
  w.pipe = table_.ops()[next.op].pipe;
  const Stall reason = table_.pipes()[op.pipe].result;
  if (next.chained && w.chain_token != kNoToken) return suspend(id, SlotState::Pending, reason);
  w.chain_token = kNoToken;
  if (next.chained) charge(id, reason, result);
  schedule(id);
}

Sm::Executed Sm::execute(uint32_t subcore, uint32_t local, const OpClass& op, Cycle now) {
  const uint32_t id = local * n_subcores_ + subcore;
  WarpSlot& w = slots_[id];
  Warp& warp = *w.warp;
  warp.context.clock = now;
  warp.context.globaltimer = static_cast<uint64_t>(static_cast<double>(now) * ns_per_cycle_);
  const uint32_t frame = warp.splits[0].frame;
  const bool same = warp.pc() == w.record;  // else a barrier has let other lanes of the warp go first
  const Step step = same ? context_.machine->step(warp) : Step{};
  if (!same || !step.executed) {
    w.accounted = w.base = now;
    w.base_reason = Stall::Wait;
    prepare(id, now);
    return {false, 0, 0};
  }
  const Record& r = record(w.record);
  w.accounted = w.base = now + 1;
  w.base_reason = Stall::Wait;
  const Pipe& pipe = table_.pipes()[op.pipe];
  Cycle result = now + op.latency;
  if (pipe.memory && r.kind == Kind::Memory && step.mask) {
    const uint32_t token = access(id, r, frame, step, op, now);
    if (w.slots_left > 1) w.chain_token = token;
    result = w.completed;
  } else {
    writes_ready(id, r, frame, Scoreboard::entry(result, op.pipe, pipe.result));
  }
  control(id, r, step, op, now);
  if (w.slots_left > 1)
    next_issue_slot(id, op, result);
  else if (w.state != SlotState::Fence)
    prepare(id, now);
  return {true, static_cast<uint32_t>(std::popcount(step.active)), static_cast<uint32_t>(std::popcount(step.mask))};
}

void Sm::writes_ready(uint32_t id, const Record& r, uint32_t frame, Scoreboard::Entry entry) {
  Scoreboard::Cell* cells = scoreboard_.of(id);
  const uint16_t* write = uses(r) + r.n_reads;
  for (uint32_t i = 0; i < r.n_writes; ++i) cells[scoreboard_.index(write[i], frame)].ready = entry;
}

// Hands the access to the load/store unit. Its token, or kNoToken if its result is known to come at a known time already.
uint32_t Sm::access(uint32_t id, const Record& r, uint32_t frame, const Step& step, const OpClass& op, Cycle now) {
  WarpSlot& w = slots_[id];
  const Scratch& scratch = context_.machine->scratch();
  uint64_t addresses[kWarpSize];
  context_.machine->timing_addresses(*w.warp, addresses);
  if (scratch.space == Space::Param) {  // a part of constant memory, wherever it shows in the generic address space
    for (uint64_t& address : addresses) address %= kParamWindow;
  }
  WarpAccess access{};
  if (free_accesses_.empty()) {
    free_accesses_.push_back(static_cast<uint32_t>(accesses_.size()));
    accesses_.push_back({});
  }
  access.token = free_accesses_.back();
  free_accesses_.pop_back();
  accesses_[access.token] = {id, w.record, frame};
  access.group = static_cast<uint16_t>(id);
  access.subcore = static_cast<uint8_t>(id % n_subcores_);
  access.space = scratch.space == Space::Param ? Space::Const : scratch.space;
  access.op = r.memory_op;
  access.cache_op = r.cache_op;
  access.bytes = r.bytes;
  access.scope = r.scope;
  access.mask = scratch.access_mask & step.mask;
  access.record = w.record;
  access.addr = addresses;
  const uint32_t outstanding = w.outstanding++;
  ++accesses_in_flight_;

  const bool far = access.space == Space::Global || access.space == Space::Local;
  const Stall declared = table_.pipes()[op.pipe].result;
  const Stall reason = far ? Stall::LongScoreboard : declared == Stall::LongScoreboard ? Stall::ShortScoreboard : declared;
  writes_ready(id, r, frame, Scoreboard::entry(Scoreboard::kPendingCycle, op.pipe, reason));
  const bool store = r.memory_op == MemoryOp::Store || r.memory_op == MemoryOp::Reduction;
  Scoreboard::Cell* cells = scoreboard_.of(id);
  const uint16_t* use = uses(r);
  for (uint32_t i = 0; i < r.n_reads; ++i) cells[scoreboard_.index(use[i], frame)].reads_done = store ? kNever : now + late_reads_;

  lsu_->issue(now, access);
  if (!stores_[id] && !lsu_->drained(id)) stores_[id] = true, ++storing_;
  return w.outstanding > outstanding ? access.token : kNoToken;
}

// Where the warp goes from here, and when.
void Sm::control(uint32_t id, const Record& r, const Step& step, const OpClass& op, Cycle now) {
  WarpSlot& w = slots_[id];
  Cycle opens = now + barrier_latency_;
  switch (r.kind) {
    case Kind::Branch:
    case Kind::BranchIndexed:
    case Kind::Call:
    case Kind::CallIndirect:
    case Kind::Return: {
      w.base = now + op.latency;
      w.base_reason = Stall::BranchResolving;
      SubCoreCounters& counters = subcore_of(id).counters;
      ++counters.branches;
      if (!step.diverged) break;
      ++counters.diverged;
      if (context_.lines) ++context_.lines->diverged[w.record];
      break;
    }
    case Kind::Barrier:
      barrier_free_ = std::max(barrier_free_, now) + barrier_interval_;
      opens = barrier_free_ + barrier_latency_;
      if (static_cast<BarrierOp>(r.sub) == BarrierOp::Arrive) break;
      w.base = opens;
      w.base_reason = Stall::Barrier;
      break;
    case Kind::Sleep:
      w.base = now + std::max<Cycle>(sleep_, static_cast<Cycle>(step.sleep_ns / ns_per_cycle_));
      w.base_reason = Stall::Sleeping;
      break;
    case Kind::Fence:
      w.base = now + fence_latency_[r.sub & 3];
      w.base_reason = Stall::Membar;
      if (!fence_open(id)) suspend(id, SlotState::Fence, Stall::Membar);
      break;
    default:
      break;
  }
  if (step.released) release_barrier(ctas_[w.cta], opens, now);
}

void Sm::release_barrier(const CtaSlot& cta, Cycle when, Cycle now) {
  for (uint32_t id : cta.warps) {
    WarpSlot& w = slots_[id];
    if (w.state != SlotState::Suspended || w.warp->state == WarpState::Blocked) continue;
    w.base = when;
    w.base_reason = Stall::Barrier;
    wake(id, now);
  }
}

void Sm::leave(uint32_t id, Cycle now) {
  WarpSlot& w = slots_[id];
  if (w.outstanding) return suspend(id, SlotState::Drain, Stall::Drain);
  retire(id, std::max(w.accounted, now));
}

}  // namespace ws
