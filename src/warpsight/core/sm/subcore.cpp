#include "sm/subcore.h"

#include <string>

#include "sm/sm.h"

namespace ws {

SubCore::SubCore(const Config& config, CounterRegistry& registry, const OpTable& table, Sm& sm, uint32_t number, uint32_t slots)
    : sm_(sm),
      table_(table),
      number_(number),
      policy_(make_issue_policy(config)),
      registers_(make_register_file(config)),
      unit_free_(table.units().size()) {
  if (slots > kMaxWarpsPerSubcore) throw std::invalid_argument("device.max_threads_per_sm: more than 64 warps a sub-core");
  counters.units.assign(table.units().size(), 0);
  counters.unit_cycles.assign(table.units().size(), 0);
  const uint32_t index = sm.number() * sm.subcores() + number;
  const auto add = [&](const std::string& name, const uint64_t& value) { registry.add(name, "subcore", index, &value); };
  for (size_t i = 0; i < kStalls; ++i) add(std::string("stall_") + kStallNames[i], counters.stalls[i]);
  add("smsp__inst_executed", counters.issued);
  add("smsp__inst_issued", counters.issued);
  add("smsp__thread_inst_executed", counters.thread_executed);
  add("smsp__thread_inst_executed_pred_on", counters.thread_executed_on);
  add("smsp__warps_eligible", counters.eligible);
  add("smsp__warps_launched", counters.warps_launched);
  add("smsp__inst_executed_op_branch", counters.branches);
  add("diverged_branches", counters.diverged);
  for (size_t i = 0; i < table.units().size(); ++i) {
    add("smsp__inst_executed_pipe_" + table.units()[i], counters.units[i]);
    add("smsp__pipe_" + table.units()[i] + "_cycles_active", counters.unit_cycles[i]);
  }
}

void SubCore::put(uint32_t slot, Cycle at) {
  const uint32_t i = at % kRing;
  ring_[i] |= uint64_t{1} << slot;
  ring_used_[i / 64] |= uint64_t{1} << i % 64;
}

void SubCore::schedule(uint32_t slot, Cycle at) {
  put(slot, std::min(at, stepped_ + kRing - 1));
  wake_ = std::min(wake_, at);
}

// Everything in the ring is due within kRing cycles after stepped_, so that a place stands for one cycle.
uint64_t SubCore::take_due(Cycle now) {
  uint64_t due = 0;
  for (Cycle at = next_due(stepped_); at <= now; at = next_due(stepped_)) {
    const uint32_t i = at % kRing;
    due |= ring_[i];
    ring_[i] = 0;
    ring_used_[i / 64] &= ~(uint64_t{1} << i % 64);
  }
  for (uint64_t rest = due; rest; rest &= rest - 1) {
    const uint32_t slot = static_cast<uint32_t>(std::countr_zero(rest));
    const Cycle ready_at = sm_.slot(number_, slot).ready_at;
    if (ready_at <= now) continue;
    due &= ~(uint64_t{1} << slot);
    put(slot, std::min(ready_at, now + kRing - 1));
  }
  return due;
}

uint64_t SubCore::due(Cycle end) const {
  uint64_t slots = ready_;
  for (Cycle at = next_due(stepped_); at < end; at = next_due(at)) {
    slots |= ring_[at % kRing];
    if (at >= stepped_ + kRing) break;
  }
  return slots;
}

// First used place after `now`.
Cycle SubCore::next_due(Cycle now) const {
  const uint32_t from = (now + 1) % kRing;
  for (uint32_t step = 0; step <= kRing / 64; ++step) {
    const uint32_t word = (from / 64 + step) % (kRing / 64);
    uint64_t bits = ring_used_[word];
    if (step == 0) bits &= ~uint64_t{0} << from % 64;
    if (step == kRing / 64) bits &= (uint64_t{1} << from % 64) - 1;
    if (!bits) continue;
    const uint32_t place = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    return now + 1 + (place + kRing - from) % kRing;
  }
  return kNever;
}

void SubCore::make_ready(uint64_t slots) {
  ready_ |= slots;
  for (; slots; slots &= slots - 1) {
    const uint32_t slot = static_cast<uint32_t>(std::countr_zero(slots));
    WarpSlot& w = sm_.slot(number_, slot);
    w.state = SlotState::Ready;
    wants_[w.pipe] |= uint64_t{1} << slot;
    wanted_ |= 1u << w.pipe;
  }
}

void SubCore::no_longer_ready(uint32_t slot) {
  const uint64_t bit = uint64_t{1} << slot;
  const uint32_t pipe = sm_.slot(number_, slot).pipe;
  ready_ &= ~bit;
  wants_[pipe] &= ~bit;
  if (!wants_[pipe]) wanted_ &= ~(1u << pipe);
}

void SubCore::account(Cycle now) {
  if (now <= accounted_) return;
  const uint64_t dt = now - accounted_;
  accounted_ = now;
  const auto charge = [&](Stall reason, uint64_t slots) {
    counters.stalls[static_cast<size_t>(reason)] += dt * static_cast<uint64_t>(std::popcount(slots));
    if (!sm_.lines()) return;
    auto& column = sm_.lines()->stalls[static_cast<size_t>(reason)];
    for (; slots; slots &= slots - 1) column[sm_.slot(number_, static_cast<uint32_t>(std::countr_zero(slots))).record] += dt;
  };
  if (not_selected_) {
    charge(Stall::NotSelected, not_selected_);
    counters.eligible += dt * static_cast<uint64_t>(std::popcount(not_selected_));
  }
  for (uint32_t rest = throttles_; rest; rest &= rest - 1) {
    const uint32_t reason = static_cast<uint32_t>(std::countr_zero(rest));
    charge(static_cast<Stall>(reason), throttled_[reason]);
  }
}

Cycle SubCore::pipe_free(const Pipe& pipe) const {
  Cycle free = kNever;
  for (uint8_t unit : pipe.units) free = std::min(free, pipe.shared ? sm_.shared_unit_free(unit) : unit_free_[unit]);
  return free;
}

// Ready warps whose pipe is busy; sets wake_ to when the first of these pipes is free, and throttled_.
uint64_t SubCore::find_blocked(Cycle now) {
  for (uint32_t rest = throttles_; rest; rest &= rest - 1) throttled_[static_cast<uint32_t>(std::countr_zero(rest))] = 0;
  throttles_ = 0;
  uint64_t blocked = 0;
  const auto block = [&](Stall reason, uint64_t slots, Cycle until) {
    blocked |= slots;
    throttled_[static_cast<size_t>(reason)] |= slots;
    throttles_ |= 1u << static_cast<uint32_t>(reason);
    wake_ = std::min(wake_, until);
  };
  if (port_free_ > now) {
    if (ready_) block(Stall::DispatchStall, ready_, port_free_);
    return blocked;
  }
  for (uint32_t rest = wanted_; rest; rest &= rest - 1) {
    const uint32_t p = static_cast<uint32_t>(std::countr_zero(rest));
    const Pipe& pipe = table_.pipes()[p];
    const Cycle free = std::max(pipe_free(pipe), refused_until_[p]);
    if (free > now) block(pipe.busy, wants_[p], free);
  }
  return blocked;
}

Cycle SubCore::step(Cycle now) {
  account(now);
  make_ready(take_due(now));
  stepped_ = now;
  wake_ = kNever;
  uint64_t issuable = ready_ & ~find_blocked(now);
  uint64_t issued = 0;
  while (issuable) {
    const uint32_t slot = policy_->pick(issuable, ages_);
    const uint32_t pipe = sm_.slot(number_, slot).pipe;
    if (try_issue(slot, now)) {
      issued = uint64_t{1} << slot;
      policy_->issued(slot);
      break;
    }
    if (refused_until_[pipe] > now) {  // by the load/store unit
      issuable &= ~wants_[pipe];
      throttled_[static_cast<size_t>(table_.pipes()[pipe].busy)] |= wants_[pipe];
      throttles_ |= 1u << static_cast<uint32_t>(table_.pipes()[pipe].busy);
      wake_ = std::min(wake_, refused_until_[pipe]);
    } else {
      issuable &= ~(uint64_t{1} << slot);  // it turned out to have nothing to issue
    }
  }
  not_selected_ = issuable & ready_ & ~issued;
  if (issued && ready_) wake_ = now + 1;
  return wake_ = std::min(wake_, next_due(now));
}

bool SubCore::try_issue(uint32_t slot, Cycle now) {
  WarpSlot& w = sm_.slot(number_, slot);
  const Pipe& pipe = table_.pipes()[w.pipe];
  const uint32_t record = w.record;
  const OpClass& op = table_.ops()[sm_.plans().slot(w.issue_slot).op];
  const bool executes = w.issue_slot == w.executes;
  const Record& r = sm_.record(record);
  if (pipe.memory && executes && r.kind == Kind::Memory) {
    const Cycle at = sm_.can_access(number_, record, now);
    if (at > now) {
      refused_until_[w.pipe] = at;
      return false;
    }
  }
  uint32_t active = 0, on = 0;
  no_longer_ready(slot);
  if (executes) {
    const Sm::Executed done = sm_.execute(number_, slot, op, now);
    if (!done.issued) return false;
    active = done.active, on = done.on;
  } else {
    active = on = static_cast<uint32_t>(std::popcount(w.warp->mask()));
    sm_.issue_only(number_, slot, op, now);
  }
  occupy(pipe, op, now);
  if (executes) {
    const uint32_t extra = registers_->read(slot, sm_.uses(r), r.n_reads);
    if (extra) port_free_ = now + 1 + extra;
  }
  ++counters.issued;
  ++counters.stalls[static_cast<size_t>(Stall::Selected)];
  ++counters.eligible;
  counters.thread_executed += active;
  counters.thread_executed_on += on;
  if (LineCounts* lines = sm_.lines()) {
    ++lines->issues[record];
    ++lines->stalls[static_cast<size_t>(Stall::Selected)][record];
    lines->threads[record] += active;
    lines->threads_on[record] += on;
  }
  return true;
}

void SubCore::occupy(const Pipe& pipe, const OpClass& op, Cycle now) {
  for (uint8_t unit : pipe.units) {
    Cycle& free = pipe.shared ? sm_.shared_unit_free(unit) : unit_free_[unit];
    if (free > now) continue;
    free = now + op.interval;
    ++counters.units[unit];
    counters.unit_cycles[unit] += op.interval;
    return;
  }
}

void SubCore::reset() {
  ready_ = 0, wanted_ = 0, not_selected_ = 0, throttles_ = 0;
  wants_.fill(0), throttled_.fill(0), refused_until_.fill(0), ring_.fill(0), ring_used_.fill(0);
  std::fill(unit_free_.begin(), unit_free_.end(), 0);
  port_free_ = stepped_ = accounted_ = 0;
  wake_ = kNever;
  policy_->reset();
  registers_->reset();
}

}  // namespace ws
