#include "mem/lsu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace ws {
namespace {

constexpr Cycle kRetry = 4;  // how long a sub-core waits before asking again while accesses wait for replies

bool is_atomic(MemoryOp op) { return op == MemoryOp::Atomic || op == MemoryOp::Reduction; }

// Which loads may find their data in L1. The others have to see what other SMs wrote (PTX ISA, cache operators and memory consistency
// model).
bool may_hit_l1(const WarpAccess& access) {
  switch (access.cache_op) {
    case CacheOp::Cg:
    case CacheOp::Cv:
    case CacheOp::Volatile:
      return access.space == Space::Local;
    case CacheOp::Relaxed:
    case CacheOp::Acquire:
      return access.scope == 0;  // the CTA's own L1 is coherent for it
    default:
      return true;
  }
}

const char* op_name(MemoryOp op) {
  static constexpr const char* names[] = {nullptr, "ld", "st", "atom", "red", nullptr};
  return names[static_cast<int>(op)];
}

}  // namespace

Lsu::Lsu(const Config& config, CounterRegistry& counters, uint16_t sm, MemorySystem& memory, LsuClient& client)
    : queue_depth_(static_cast<uint32_t>(config.u("lsu.queue_depth"))),
      subcore_interval_(static_cast<uint32_t>(config.u("lsu.subcore_interval"))),
      tags_per_cycle_(static_cast<uint32_t>(config.u("l1.tags_per_cycle"))),
      store_credits_(static_cast<uint32_t>(config.u("lsu.store_credits"))),
      atomic_sector_cycles_(config.real("lsu.atomic_sector_cycles")),
      atomic_pass_cycles_(config.real("lsu.atomic_pass_cycles")),
      shared_latency_(static_cast<uint32_t>(config.u("shared.latency"))),
      shared_atomic_latency_(static_cast<uint32_t>(config.u("shared.atomic_latency"))),
      l1_latency_(static_cast<uint32_t>(config.u("l1.latency"))),
      l1_miss_latency_(static_cast<uint32_t>(config.u("l1.miss_latency"))),
      l1_fill_latency_(static_cast<uint32_t>(config.u("l1.fill_latency"))),
      const_miss_latency_(static_cast<uint32_t>(config.u("const.miss_latency"))),
      storage_bytes_(config.u("l1.bytes")),
      sm_(sm),
      memory_(memory),
      client_(client),
      l1_(config),
      constants_(config) {
  for (double bytes : config.list("shared.carveouts")) carveouts_.push_back(static_cast<uint64_t>(bytes));
  if (carveouts_.empty()) throw std::invalid_argument("shared.carveouts: at least one size is needed");
  if (!queue_depth_ || !tags_per_cycle_ || !store_credits_ || !subcore_interval_)
    throw std::invalid_argument("lsu.queue_depth, lsu.subcore_interval, lsu.store_credits and l1.tags_per_cycle must be positive");
  for (SubCore& subcore : subcores_) subcore.leaves.assign(queue_depth_, 0);
  set_shared_bytes(0);

  const auto add = [&](const std::string& name, const uint64_t& value) { counters.add(name, "sm", sm, &value); };
  for (MemoryOp op : {MemoryOp::Load, MemoryOp::Store, MemoryOp::Atomic, MemoryOp::Reduction}) {
    const int i = static_cast<int>(op);
    const std::string name = op_name(op);
    add("l1tex__t_requests_pipe_lsu_mem_global_op_" + name, global_.requests[i]);
    add("l1tex__t_sectors_pipe_lsu_mem_global_op_" + name, global_.sectors[i]);
    add("l1tex__t_sectors_pipe_lsu_mem_global_op_" + name + "_lookup_hit", global_.hits[i]);
    if (is_atomic(op)) continue;
    add("l1tex__t_requests_pipe_lsu_mem_local_op_" + name, local_.requests[i]);
    add("l1tex__t_sectors_pipe_lsu_mem_local_op_" + name, local_.sectors[i]);
    add("l1tex__t_sectors_pipe_lsu_mem_local_op_" + name + "_lookup_hit", local_.hits[i]);
    add("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + name, shared_wavefronts_by_op_[i]);
    add("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + name, shared_conflicts_by_op_[i]);
  }
  add("l1tex__data_pipe_lsu_wavefronts", wavefronts_);
  add("l1tex__data_pipe_lsu_wavefronts_mem_shared", shared_wavefronts_);
  add("l1tex__data_bank_conflicts_pipe_lsu_mem_shared", shared_conflicts_);
  add("l1tex__m_xbar2l1tex_read_sectors", read_sectors_);
  add("l1tex__m_xbar2l1tex_read_bytes", read_bytes_);
  add("l1tex__m_l1tex2xbar_write_sectors", write_sectors_);
  add("l1tex__m_l1tex2xbar_write_bytes", write_bytes_);
  add("idc__requests", const_requests_);
  add("idc__requests_lookup_hit", const_hits_);
  add("lsu__blocked_accesses", blocked_accesses_);
}

Cycle Lsu::can_issue(Cycle now, uint8_t subcore, Space space) {
  const SubCore& own = subcores_[subcore];
  const Cycle room = std::max(now, own.leaves[own.oldest]);
  const bool waits = space != Space::Shared && blocked_.size() - blocked_head_ >= queue_depth_;
  return waits ? std::max(room, now + kRetry) : room;
}

// Takes `slots` wavefront slots for the sub-core; returns the cycle of the first.
Cycle Lsu::dispatch(Cycle now, uint8_t subcore, uint32_t slots) {
  SubCore& own = subcores_[subcore];
  const Cycle start = std::max({now, own.free, pipe_free_});
  pipe_free_ = start + slots;
  own.free = start + Cycle{slots} * subcore_interval_;
  own.leaves[own.oldest] = own.free;
  own.oldest = own.oldest + 1 == queue_depth_ ? 0 : own.oldest + 1;
  return start;
}

void Lsu::issue(Cycle now, const WarpAccess& access) {
  switch (access.space) {
    case Space::Shared:
      return issue_shared(now, access);
    case Space::Const:
    case Space::Param:
      return issue_constant(now, access);
    case Space::Global:
    case Space::Local:
      return issue_lines(now, access);
    case Space::Generic:
      break;
  }
  throw std::logic_error("LoadStoreUnit::issue: generic addresses must be resolved first");
}

void Lsu::issue_shared(Cycle now, const WarpAccess& access) {
  const bool atomic = is_atomic(access.op);
  const uint32_t waves = wavefronts(access, atomic);
  const uint32_t ideal = std::max(1u, (static_cast<uint32_t>(std::popcount(access.mask)) * access.bytes + 127) / 128);
  const uint32_t conflicts = waves > ideal ? waves - ideal : 0;
  const int op = static_cast<int>(access.op);
  wavefronts_ += waves, shared_wavefronts_ += waves, shared_wavefronts_by_op_[op] += waves;
  shared_conflicts_ += conflicts, shared_conflicts_by_op_[op] += conflicts;
  ++shared_requests_[op];
  const Cycle start = dispatch(now, access.subcore, waves);
  const Cycle last = start + Cycle{waves - 1} * subcore_interval_;
  if (line_counts_) client_.line_counts(access.record, 0, waves, conflicts);
  const bool result = access.op == MemoryOp::Load || access.op == MemoryOp::Atomic;
  client_.complete(access.token, last + (result ? (atomic ? shared_atomic_latency_ : shared_latency_) : 1));
}

void Lsu::issue_constant(Cycle now, const WarpAccess& access) {
  uint64_t words[kWarpSize];
  uint32_t n = 0;
  for (uint32_t mask = access.mask; mask; mask &= mask - 1) {
    const uint64_t address = access.addr[std::countr_zero(mask)];
    if (std::find(words, words + n, address) == words + n) words[n++] = address;
  }
  const Cycle start = dispatch(now, access.subcore, std::max(n, 1u));  // one address a wavefront: all lanes of it share the word
  ++const_requests_;
  const uint32_t index = accesses_.take({access.token, access.group, 0, start, access.space, access.op, false, true});
  uint32_t first_level = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const auto found = constants_.load(words[i], index, start + i);
    first_level += found.level == ConstantCache::Level::First;
    accesses_[index].earliest = std::max(accesses_[index].earliest, found.ready);
    if (found.level == ConstantCache::Level::Memory) {
      if (found.blocked) {
        blocked_.push_back({index, {words[i], 0, 0, 0, 0, {0, 0}}});
        ++blocked_accesses_;
      }
      ++accesses_[index].waits;
      if (found.request) {
        LinePart part{words[i] / kLineBytes * kLineBytes, found.request, 0, 0, 0, {0, 0}};
        send(start + i + const_miss_latency_, part, found.request, MemoryOp::Load, token(Reply::Constant, part.line));
      }
    }
  }
  const_hits_ += first_level == n;
  accesses_[index].unserved = false;
  finish_if_done(index, start);
}

// Wavefronts of a global or local access: turns of the data banks, or lookups of line tags.
uint32_t Lsu::turns_for(const WarpAccess& access) const {
  return std::max((coalescer_.size() + tags_per_cycle_ - 1) / tags_per_cycle_, wavefronts(access, false));
}

// Slots of the pipe: wavefronts, and for what leaves the SM the width of the way out.
uint32_t Lsu::slots_for(const WarpAccess& access, uint32_t turns) const {
  if (is_atomic(access.op)) {
    uint32_t conflict = 1;
    for (uint32_t i = 0; i < coalescer_.size(); ++i) conflict = std::max<uint32_t>(conflict, coalescer_[i].conflict);
    const double pass = std::max(atomic_pass_cycles_, coalescer_.sectors() * atomic_sector_cycles_);
    return std::max(1u, static_cast<uint32_t>(std::lround(conflict * pass)));
  }
  const bool leaves = access.op == MemoryOp::Store && access.space == Space::Global;
  return leaves ? std::max(turns, coalescer_.sectors()) : turns;
}

void Lsu::issue_lines(Cycle now, const WarpAccess& access) {
  const bool load = access.op == MemoryOp::Load;
  coalescer_.run(access, !load);
  const uint32_t sectors = coalescer_.sectors();
  const uint32_t turns = turns_for(access), slots = slots_for(access, turns);
  const int op = static_cast<int>(access.op);
  ByOp& counters = access.space == Space::Local ? local_ : global_;
  ++counters.requests[op];
  counters.sectors[op] += sectors;
  wavefronts_ += turns;
  if (line_counts_) client_.line_counts(access.record, sectors, turns, turns - 1);

  const Cycle start = dispatch(now, access.subcore, slots);
  const Cycle earliest = start + Cycle{slots - 1} * (load ? subcore_interval_ : 1) + (load ? l1_latency_ : 1);
  const uint32_t index =
      accesses_.take({access.token, access.group, 0, earliest, access.space, access.op, load && may_hit_l1(access), true});
  const bool behind = blocked_head_ != blocked_.size();
  for (uint32_t i = 0; i < coalescer_.size(); ++i) {
    const bool queue = behind || blocked_head_ != blocked_.size();
    if (queue || !serve(index, coalescer_[i], start + i / tags_per_cycle_)) {
      blocked_.push_back({index, coalescer_[i]});
      ++accesses_[index].waits;
      ++blocked_accesses_;
    }
  }
  accesses_[index].unserved = false;
  finish_if_done(index, now);
}

// Does what one line of an access needs. False: there is no room for it, and nothing was done.
bool Lsu::serve(uint32_t index, const LinePart& part, Cycle at) {
  const Access& access = accesses_[index];
  if (access.space == Space::Const || access.space == Space::Param) return serve_constant(index, part.line, at);
  switch (access.op) {
    case MemoryOp::Load:
      return serve_load(index, part, at);
    case MemoryOp::Store:
      return serve_store(index, part, at);
    case MemoryOp::Atomic:
    case MemoryOp::Reduction:
      return serve_atomic(index, part, at);
    case MemoryOp::Prefetch:
      send(at + l1_miss_latency_, part, part.sectors, MemoryOp::Prefetch, token(Reply::None, 0));
      return true;
    case MemoryOp::None:
      break;
  }
  throw std::logic_error("LoadStoreUnit: an access that is no memory operation");
}

bool Lsu::serve_load(uint32_t index, const LinePart& part, Cycle at) {
  const L1Cache::Lookup found = l1_.load(part.line, part.sectors, accesses_[index].keep, index);
  if (found.blocked) return false;
  (accesses_[index].space == Space::Local ? local_ : global_).hits[static_cast<int>(MemoryOp::Load)] += count(found.hit);
  if (found.hit != part.sectors) ++accesses_[index].waits;
  if (found.request) send(at + l1_miss_latency_, part, found.request, MemoryOp::Load, token(Reply::Load, part.line));
  return true;
}

bool Lsu::serve_store(uint32_t index, const LinePart& part, Cycle at) {
  const Access& access = accesses_[index];
  const bool local = access.space == Space::Local;
  if (!local && stores_in_flight_ >= store_credits_) return false;
  L1Cache::Eviction evicted;
  (local ? local_ : global_).hits[static_cast<int>(MemoryOp::Store)] += count(l1_.store(part, local, evicted));
  write_back(at, evicted);
  if (local) return true;
  store_started(access.group);
  send(at + l1_miss_latency_, part, part.sectors, MemoryOp::Store, token(Reply::Store, access.group));
  return true;
}

bool Lsu::serve_atomic(uint32_t index, const LinePart& part, Cycle at) {
  Access& access = accesses_[index];
  if (stores_in_flight_ >= store_credits_) return false;
  l1_.invalidate(part.line);
  store_started(access.group);
  if (access.op == MemoryOp::Atomic) {
    ++access.waits;
    send(at + l1_miss_latency_, part, part.sectors, access.op, token(Reply::Atomic, index));
  } else {
    send(at + l1_miss_latency_, part, part.sectors, access.op, token(Reply::Store, access.group));
  }
  return true;
}

bool Lsu::serve_constant(uint32_t index, uint64_t address, Cycle at) {  // again, after it was blocked
  const auto found = constants_.load(address, index, at);
  if (found.level != ConstantCache::Level::Memory) return true;
  if (found.blocked) return false;
  ++accesses_[index].waits;
  LinePart part{address / kLineBytes * kLineBytes, found.request, 0, 0, 0, {0, 0}};
  if (found.request) send(at + const_miss_latency_, part, found.request, MemoryOp::Load, token(Reply::Constant, part.line));
  return true;
}

void Lsu::send(Cycle at, const LinePart& part, uint8_t sectors, MemoryOp op, uint64_t token) {
  MemRequest request{};
  request.token = token;
  request.line = part.line;
  request.sm = sm_;
  request.sectors = sectors;
  request.op = op;
  request.source = (token & 7) == static_cast<uint64_t>(Reply::Constant) ? MemSource::ConstantCache : MemSource::L1;
  request.atomic_lanes = part.lanes;
  request.atomic_conflict = part.conflict;
  request.full_sectors = part.full_sectors;
  const uint32_t out = op == MemoryOp::Load || op == MemoryOp::Prefetch ? 0 : count(sectors);
  request.payload = static_cast<uint8_t>(out * kSectorBytes);
  write_sectors_ += out;
  write_bytes_ += out * kSectorBytes;
  memory_.send(at, request);
}

void Lsu::write_back(Cycle at, const L1Cache::Eviction& evicted) {
  if (!evicted.dirty) return;
  LinePart part{evicted.line, evicted.dirty, static_cast<uint8_t>(evicted.dirty & ~evicted.partial), 0, 0, {0, 0}};
  send(at + l1_miss_latency_, part, evicted.dirty, MemoryOp::Store, token(Reply::None, 0));
}

void Lsu::reply(const MemReply& reply, Cycle now) {
  const uint64_t value = reply.token >> 3;
  const Cycle ready = now + l1_fill_latency_;
  switch (static_cast<Reply>(reply.token & 7)) {
    case Reply::Load: {
      read_sectors_ += count(reply.sectors), read_bytes_ += count(reply.sectors) * kSectorBytes;
      L1Cache::Eviction evicted;
      l1_.fill(value, reply.sectors, evicted, [&](uint32_t access) { arrived(access, ready); });
      write_back(now, evicted);
      break;
    }
    case Reply::Constant:
      constants_.fill(value, reply.sectors, now, [&](uint32_t access) { arrived(access, ready); });
      break;
    case Reply::Atomic: {
      read_sectors_ += count(reply.sectors), read_bytes_ += count(reply.sectors) * kSectorBytes;
      const uint32_t access = static_cast<uint32_t>(value);
      const uint16_t group = accesses_[access].group;
      arrived(access, ready);
      store_ended(group, now);
      break;
    }
    case Reply::Store:
      store_ended(static_cast<uint16_t>(value), now);
      break;
    case Reply::None:
      break;
  }
  retry(now);
}

void Lsu::arrived(uint32_t index, Cycle when) {
  --accesses_[index].waits;
  finish_if_done(index, when);
}

void Lsu::finish_if_done(uint32_t index, Cycle when) {
  const Access& access = accesses_[index];
  if (access.waits || access.unserved) return;
  const uint32_t token = access.token;
  const Cycle done = std::max(when, access.earliest);
  accesses_.release(index);
  client_.complete(token, done);
}

void Lsu::store_started(uint16_t group) {
  if (group >= stores_of_group_.size()) stores_of_group_.resize(group + 1u, 0);
  ++stores_of_group_[group];
  ++stores_in_flight_;
}

void Lsu::store_ended(uint16_t group, Cycle now) {
  --stores_in_flight_;
  if (--stores_of_group_[group] == 0) client_.stores_drained(group, now);
}

// Serves blocked parts in order until one finds no room.
void Lsu::retry(Cycle now) {
  while (blocked_head_ < blocked_.size()) {
    const Blocked next = blocked_[blocked_head_];
    if (!serve(next.access, next.part, now)) break;
    ++blocked_head_;
    arrived(next.access, now);
  }
  if (blocked_head_ * 2 < blocked_.size()) return;  // moving the rest to the front costs no more than what was served since
  blocked_.erase(blocked_.begin(), blocked_.begin() + static_cast<std::ptrdiff_t>(blocked_head_));
  blocked_head_ = 0;
}

void Lsu::set_shared_bytes(uint32_t bytes) {
  for (uint64_t carveout : carveouts_) {
    if (carveout < bytes) continue;
    l1_.resize(storage_bytes_ - carveout);
    return;
  }
  throw std::invalid_argument("shared memory of " + std::to_string(bytes) + " bytes an SM is more than the largest of shared.carveouts");
}

void Lsu::preload_constants(uint64_t first, uint64_t bytes) {
  for (uint64_t line = first / kLineBytes * kLineBytes; line < first + bytes; line += kLineBytes) constants_.preload(line);
}

void Lsu::flush() {
  l1_.clear();
  constants_.clear();
}

void Lsu::reset() {
  l1_.reset();
  constants_.reset();
  accesses_.clear();
  blocked_.clear();
  blocked_head_ = 0;
  stores_in_flight_ = 0;
  std::fill(stores_of_group_.begin(), stores_of_group_.end(), 0);
  for (SubCore& subcore : subcores_) {
    subcore.free = 0;
    std::fill(subcore.leaves.begin(), subcore.leaves.end(), 0);
  }
  pipe_free_ = 0;
}

std::unique_ptr<LoadStoreUnit> make_load_store_unit(const Config& config, CounterRegistry& counters, uint16_t sm, MemorySystem& memory,
                                                    LsuClient& client) {
  return std::make_unique<Lsu>(config, counters, sm, memory, client);
}

}  // namespace ws
