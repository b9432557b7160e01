// The SM from outside: launches, the loop over cycles, replies, counters. What a warp does between two issues is in warp_flow.cpp.
#include "sm/sm.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <stdexcept>

#include "mem/registry.h"
#include "sm/fixed_memory.h"

namespace ws {
namespace {

constexpr uint32_t kHostLine = 64;   // bytes of a cache line of the host
constexpr uint32_t kRowBytes = 128;  // of a register row

uint32_t number_of(const Config& config, const std::string& key) { return static_cast<uint32_t>(config.u(key)); }

std::unique_ptr<LoadStoreUnit> make_lsu(const Config& config, CounterRegistry& counters, uint16_t sm, MemorySystem& memory,
                                        LsuClient& client) {
  if (config.text("core.memory") == "fixed") return make_fixed_load_store_unit(config, client);
  return make_load_store_unit(config, counters, sm, memory, client);
}

}  // namespace

Sm::Sm(const Config& config, CounterRegistry& counters, const OpTable& table, uint16_t number, MemorySystem& memory)
    : number_(number),
      n_subcores_(number_of(config, "sm.subcores")),
      table_(table),
      ns_per_cycle_(1e3 / config.real("device.sm_mhz")),
      sms_(number_of(config, "device.sms")),
      guard_(number_of(config, "issue.guard_cycles")),
      late_reads_(number_of(config, "issue.memory_read_cycles")),
      buffer_bytes_(number_of(config, "issue.buffer_bytes")),
      barrier_interval_(number_of(config, "barrier.interval")),
      barrier_latency_(number_of(config, "barrier.latency")),
      sleep_(number_of(config, "issue.sleep_cycles")),
      first_fetch_(number_of(config, "launch.first_fetch_cycles")),
      constant_latency_(number_of(config, "launch.constant_cycles")),
      fence_latency_{number_of(config, "fence.cta"), number_of(config, "fence.cluster"), number_of(config, "fence.gpu"),
                     number_of(config, "fence.sys")},
      fence_after_stores_(number_of(config, "fence.after_stores")),
      lsu_(make_lsu(config, counters, number, memory, *this)),
      icache_(config, counters, number, n_subcores_, memory),
      shared_unit_free_(table.units().size(), 0),
      due_(n_subcores_, 0) {
  const uint32_t warps = number_of(config, "device.max_threads_per_sm") / number_of(config, "device.warp_size");
  if (n_subcores_ == 0 || warps % n_subcores_)
    throw std::invalid_argument("sm.subcores must divide the warps of an SM (device.max_threads_per_sm / 32)");
  slots_.resize(warps);
  stores_.assign(warps, false);
  ctas_.resize(number_of(config, "device.max_ctas_per_sm"));
  const auto& pipes = table.pipes();
  const uint8_t cross = static_cast<uint8_t>(config.u("issue.cross_pipe_cycles"));
  cross_.assign(pipes.size() * pipes.size(), 0);
  for (size_t from = 0; from < pipes.size(); ++from) {
    for (size_t to = 0; to < pipes.size(); ++to) {
      const auto& a = pipes[from].units;
      const auto& b = pipes[to].units;
      const bool apart = std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) == a.end();
      if (apart && pipes[from].result == Stall::Wait && pipes[to].result == Stall::Wait) cross_[from * pipes.size() + to] = cross;
    }
  }
  for (uint32_t i = 0; i < n_subcores_; ++i)
    subcores_.push_back(std::make_unique<SubCore>(config, counters, table, *this, i, warps / n_subcores_));
  counters.add("sm__cycles_active", "sm", number, &cycles_active_);
  counters.add("sm__warps_active", "sm", number, &warps_active_);
  counters.add("sm__ctas_launched", "sm", number, &ctas_launched_);
}

Sm::~Sm() = default;

void Sm::begin(const LaunchContext& context, Cycle now) {
  context_ = context;
  code_ready_ = constants_ready_ = kNever;
  scoreboard_.configure(static_cast<uint32_t>(slots_.size()), *context.program);
  lsu_->set_shared_bytes(context.ctas_per_sm * context.shared_bytes);
  lsu_->set_line_counts(context.lines != nullptr);
  lsu_->invalidate_l1();
  lsu_->preload_constants(0, context.machine->param_bytes());
  if (context.code_resident) icache_.preload(context.code_line, context.last_line, now);
}

void Sm::assign(uint64_t cta, Cycle when) {
  const auto after = std::upper_bound(arrivals_.begin(), arrivals_.end(), when, [](Cycle at, const Arrival& a) { return at < a.when; });
  arrivals_.insert(after, {cta, when});
  next_ = std::min(next_, when);
}

void Sm::run(Cycle end, std::vector<CtaDone>& done) {
  done_ = &done;
  while (next_ < end) {
    now_ = next_;
    while (inbox_head_ < inbox_.size() && inbox_[inbox_head_].when <= now_) deliver_now(inbox_[inbox_head_++].reply);
    if (inbox_head_ == inbox_.size()) inbox_.clear(), inbox_head_ = 0;
    for (; !arrivals_.empty() && arrivals_.front().when <= now_; arrivals_.pop_front()) launch(arrivals_.front().cta);
    if (lsu_->next_event() <= now_) lsu_->run(now_);
    for (auto& subcore : subcores_) {
      if (subcore->wake() <= now_) subcore->step(now_);
    }
    Cycle next = lsu_->next_event();
    for (auto& subcore : subcores_) next = std::min(next, subcore->wake());  // after all steps: one may have woken another's warps
    if (!inbox_.empty()) next = std::min(next, inbox_[inbox_head_].when);
    if (!arrivals_.empty()) next = std::min(next, arrivals_.front().when);
    next_ = std::max(next, now_ + 1);
  }
}

// The data of a launch is far larger than the host's caches, and a window touches a little of each SM's. What the next one will touch is
// known: the warps that may issue in it, their registers and scoreboard cells. Asked for while the SM before runs, it is there in time.
void Sm::prefetch_slots(Cycle end) {
  for (uint32_t i = 0; i < n_subcores_; ++i) {
    due_[i] = subcores_[i]->due(end);
    for (uint64_t due = due_[i]; due; due &= due - 1) {
      const char* w = reinterpret_cast<const char*>(&slots_[static_cast<uint32_t>(std::countr_zero(due)) * n_subcores_ + i]);
      __builtin_prefetch(w, 1);
      __builtin_prefetch(w + kHostLine, 1);
    }
  }
}

void Sm::prefetch_warps() {
  for (uint32_t i = 0; i < n_subcores_; ++i) {
    for (uint64_t due = due_[i]; due; due &= due - 1) {
      const uint32_t id = static_cast<uint32_t>(std::countr_zero(due)) * n_subcores_ + i;
      const WarpSlot& w = slots_[id];
      __builtin_prefetch(w.split);
      const char* warp = reinterpret_cast<const char*>(w.warp);
      __builtin_prefetch(warp + offsetof(Warp, context.clock), 1);
      __builtin_prefetch(warp + offsetof(Warp, regs), 1);
      __builtin_prefetch(warp + offsetof(Warp, executed), 1);
      const Record& r = record(w.record);
      const uint16_t* use = uses(r);
      const Scoreboard::Cell* cells = scoreboard_.of(id);
      for (uint32_t k = 0; k < uint32_t{r.n_reads} + r.n_writes; ++k) {
        __builtin_prefetch(cells + scoreboard_.index(use[k], w.frame), 1);
        if (use[k] & kPredicateUse) continue;
        const uint8_t* row = w.regs + w.frame + use[k] * kRowBytes;
        __builtin_prefetch(row);
        __builtin_prefetch(row + kHostLine);
      }
    }
  }
}

void Sm::deliver_now(const MemReply& reply) {
  if (reply.source == MemSource::InstructionCache)
    line_arrived(reply.token);
  else
    lsu_->reply(reply, now_);
}

void Sm::line_arrived(uint64_t line) {
  const Cycle ready = icache_.filled(line, now_);
  for (uint32_t id = 0; id < slots_.size(); ++id) {
    WarpSlot& w = slots_[id];
    if (w.state == SlotState::Free || w.state == SlotState::Left) continue;
    if (w.next_line == line && w.next_ready == kNever) w.next_ready = ready;
    if (w.line != line || w.line_ready != kNever) continue;
    w.line_ready = ready;
    if (w.state == SlotState::Pending && w.waits_for == Stall::NoInstruction) wake(id, now_);
  }
}

void Sm::launch(uint64_t number) {
  const auto free = std::find_if(ctas_.begin(), ctas_.end(), [](const CtaSlot& slot) { return slot.cta == nullptr; });
  CtaSlot& cta = *free;
  const uint32_t index = static_cast<uint32_t>(free - ctas_.begin());
  cta.cta = context_.machine->create_cta(number, number_, sms_);
  cta.cta->shared_base = uint64_t{index} * context_.shared_bytes;
  cta.live = context_.warps;
  cta.ends = 0;
  cta.warps.clear();
  ++ctas_launched_;
  if (resident_++ == 0) active_sum_ -= now_;
  if (code_ready_ == kNever) code_ready_ = now_ + first_fetch_;
  uint32_t id = 0;
  for (Warp& warp : cta.cta->warps) {
    while (slots_[id].state != SlotState::Free) ++id;
    cta.warps.push_back(id);
    warp.context.warpid = id;
    warp.context.nwarpid = static_cast<uint32_t>(slots_.size());
    WarpSlot& w = slots_[id];
    w = WarpSlot{};
    w.warp = &warp;
    w.regs = warp.regs;
    w.cta = index;
    w.state = SlotState::Pending;
    w.accounted = now_;
    w.base = std::max(now_, code_ready_);
    w.base_reason = Stall::NoInstruction;
    scoreboard_.clear(id);
    SubCore& subcore = subcore_of(id);
    subcore.launched(id / n_subcores_, age_++);
    ++subcore.counters.warps_launched;
    ++live_warps_;
    warps_sum_ -= now_;
  }
  for (uint32_t warp : cta.warps) prepare(warp, now_);
}

void Sm::retire(uint32_t id, Cycle when) {
  WarpSlot& w = slots_[id];
  w.state = SlotState::Left;
  w.warp = nullptr;
  --live_warps_;
  warps_sum_ += when;
  CtaSlot& cta = ctas_[w.cta];
  cta.ends = std::max(cta.ends, when);
  if (--cta.live) return;
  for (uint32_t warp : cta.warps) slots_[warp].state = SlotState::Free;
  context_.machine->destroy_cta(cta.cta);
  cta.cta = nullptr;
  if (--resident_ == 0) active_sum_ += cta.ends;
  done_->push_back({cta.ends, number_});
}

void Sm::sync(Cycle now) {
  for (auto& subcore : subcores_) subcore->account(now);
  for (uint32_t id = 0; id < slots_.size(); ++id) {
    const SlotState state = slots_[id].state;
    const bool waits =
        state == SlotState::Pending || state == SlotState::Suspended || state == SlotState::Fence || state == SlotState::Drain;
    if (waits) charge(id, slots_[id].waits_for, now);
  }
  warps_active_ = warps_sum_ + live_warps_ * now;
  cycles_active_ = active_sum_ + (resident_ ? now : 0);
}

void Sm::flush() {
  lsu_->flush();
  icache_.flush();
}

void Sm::reset() {
  lsu_->reset();
  icache_.reset();
  for (auto& subcore : subcores_) subcore->reset();
  for (WarpSlot& w : slots_) w = WarpSlot{};
  for (CtaSlot& cta : ctas_) cta = CtaSlot{};
  stores_.assign(stores_.size(), false);
  accesses_.clear(), free_accesses_.clear(), arrivals_.clear(), inbox_.clear();
  std::fill(shared_unit_free_.begin(), shared_unit_free_.end(), 0);
  inbox_head_ = 0;
  resident_ = accesses_in_flight_ = storing_ = 0;
  live_warps_ = warps_sum_ = active_sum_ = 0;
  barrier_free_ = last_drained_ = now_ = 0;
  next_ = kNever;
}

void Sm::complete(uint32_t token, Cycle when) {
  const Access access = accesses_[token];
  free_accesses_.push_back(token);
  --accesses_in_flight_;
  WarpSlot& w = slots_[access.slot];
  --w.outstanding;
  w.completed = when;
  const Record& r = record(access.record);
  const uint16_t* use = uses(r);
  Scoreboard::Cell* cells = scoreboard_.of(access.slot);
  if (r.memory_op == MemoryOp::Store || r.memory_op == MemoryOp::Reduction) {
    for (uint32_t i = 0; i < r.n_reads; ++i) cells[scoreboard_.index(use[i], access.frame)].reads_done = when;
  } else {
    for (uint32_t i = 0; i < r.n_writes; ++i) {
      Scoreboard::Entry& e = cells[scoreboard_.index(use[r.n_reads + i], access.frame)].ready;
      e = Scoreboard::entry(when, Scoreboard::pipe(e), Scoreboard::reason(e));
    }
  }
  switch (w.state) {
    case SlotState::Pending:
      if (w.chain_token != kNoToken) {  // in the middle of an instruction
        if (w.chain_token != token) break;
        w.chain_token = kNoToken;
        charge(access.slot, w.waits_for, when);
        schedule(access.slot);
      } else if (w.waits_for != Stall::NoInstruction) {
        wake(access.slot, now_);
      }
      break;
    case SlotState::Fence:
      if (fence_open(access.slot)) wake(access.slot, now_);
      break;
    case SlotState::Drain:
      if (w.outstanding) break;
      charge(access.slot, Stall::Drain, when);
      retire(access.slot, std::max(w.accounted, when));
      break;
    default:
      break;
  }
}

void Sm::stores_drained(uint32_t group, Cycle when) {
  if (stores_[group]) stores_[group] = false, --storing_;
  last_drained_ = std::max(last_drained_, when);
  WarpSlot& w = slots_[group];
  if (w.state != SlotState::Fence || !fence_open(group)) return;
  w.base = std::max(w.base, when + fence_after_stores_);
  wake(group, now_);
}

void Sm::line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) {
  context_.lines->sectors[record] += sectors;
  context_.lines->wavefronts[record] += wavefronts;
  context_.lines->conflicts[record] += conflicts;
}

}  // namespace ws
