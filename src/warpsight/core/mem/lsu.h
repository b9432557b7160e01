// The load/store unit of an SM. An access enters the memory-input queue of its sub-core and is dispatched in wavefronts: one a cycle for
// the SM, one every `lsu.subcore_interval` cycles for a sub-core (shared.csv: a lone warp pays 2 cycles per extra wavefront, eight warps
// 1). Times that depend on nothing outside the SM are computed at issue; only what L2 has to answer waits for reply().
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mem/coalescer.h"
#include "mem/const_cache.h"
#include "mem/l1.h"
#include "mem/port.h"

namespace ws {

class Lsu final : public LoadStoreUnit {
 public:
  Lsu(const Config& config, CounterRegistry& counters, uint16_t sm, MemorySystem& memory, LsuClient& client);

  Cycle can_issue(Cycle now, uint8_t subcore, Space space) override;
  void issue(Cycle now, const WarpAccess& access) override;
  void run(Cycle now) override { retry(now); }
  Cycle next_event() const override { return kNever; }  // everything that waits, waits for a reply
  bool drained(uint32_t group) const override { return group >= stores_of_group_.size() || stores_of_group_[group] == 0; }
  void reply(const MemReply& reply, Cycle now) override;
  void set_shared_bytes(uint32_t bytes) override;
  void set_line_counts(bool on) override { line_counts_ = on; }
  void preload_constants(uint64_t first, uint64_t bytes) override;
  void invalidate_l1() override { l1_.clear(); }
  void flush() override;
  void reset() override;

 private:
  enum class Reply : uint8_t { Load, Store, Atomic, None, Constant };  // what a request's token says it is; see token()

  struct Access {  // an instruction that waits for replies
    uint32_t token;
    uint16_t group;
    uint16_t waits;  // lines (or constant words) still missing
    Cycle earliest;  // not complete before this, however fast the replies
    Space space;
    MemoryOp op;
    bool keep;      // load goes into L1
    bool unserved;  // parts of it are in the blocked queue
  };
  struct Blocked {  // a part of an access that found no room
    uint32_t access;
    LinePart part;
  };
  struct ByOp {  // counters of one memory space, indexed by MemoryOp
    uint64_t requests[6] = {}, sectors[6] = {}, hits[6] = {};
  };

  Cycle dispatch(Cycle now, uint8_t subcore, uint32_t slots);
  void issue_shared(Cycle now, const WarpAccess& access);
  void issue_constant(Cycle now, const WarpAccess& access);
  void issue_lines(Cycle now, const WarpAccess& access);
  uint32_t turns_for(const WarpAccess& access) const;
  uint32_t slots_for(const WarpAccess& access, uint32_t turns) const;
  bool serve(uint32_t index, const LinePart& part, Cycle at);
  bool serve_load(uint32_t index, const LinePart& part, Cycle at);
  bool serve_store(uint32_t index, const LinePart& part, Cycle at);
  bool serve_atomic(uint32_t index, const LinePart& part, Cycle at);
  bool serve_constant(uint32_t index, uint64_t address, Cycle at);
  void send(Cycle at, const LinePart& part, uint8_t sectors, MemoryOp op, uint64_t token);
  void write_back(Cycle at, const L1Cache::Eviction& evicted);
  void arrived(uint32_t index, Cycle when);
  void finish_if_done(uint32_t index, Cycle when);
  void store_started(uint16_t group);
  void store_ended(uint16_t group, Cycle now);
  void retry(Cycle now);
  static uint64_t token(Reply kind, uint64_t value) { return value << 3 | static_cast<uint64_t>(kind); }

  // Times in SM cycles; the keys of [lsu], [shared], [l1] and [const] say where they come from.
  uint32_t queue_depth_, subcore_interval_, tags_per_cycle_, store_credits_;
  double atomic_sector_cycles_, atomic_pass_cycles_;
  uint32_t shared_latency_, shared_atomic_latency_;
  uint32_t l1_latency_, l1_miss_latency_, l1_fill_latency_;
  uint32_t const_miss_latency_;
  uint64_t storage_bytes_;
  std::vector<uint64_t> carveouts_;

  uint16_t sm_;
  MemorySystem& memory_;
  LsuClient& client_;
  L1Cache l1_;
  ConstantCache constants_;
  Coalescer coalescer_;
  bool line_counts_ = false;

  struct SubCore {
    Cycle free = 0;             // when its next access may be dispatched
    std::vector<Cycle> leaves;  // ring: when the last queue_depth accesses leave the queue
    uint32_t oldest = 0;
  };
  std::array<SubCore, 4> subcores_;
  Cycle pipe_free_ = 0;
  Pool<Access> accesses_;
  std::vector<Blocked> blocked_;  // a queue: [blocked_head_, end)
  size_t blocked_head_ = 0;
  uint32_t stores_in_flight_ = 0;
  std::vector<uint32_t> stores_of_group_;

  ByOp global_, local_;
  uint64_t wavefronts_ = 0, shared_wavefronts_ = 0, shared_wavefronts_by_op_[6] = {}, shared_conflicts_ = 0,
           shared_conflicts_by_op_[6] = {};
  uint64_t shared_requests_[6] = {};
  uint64_t read_sectors_ = 0, read_bytes_ = 0, write_sectors_ = 0, write_bytes_ = 0;
  uint64_t const_requests_ = 0, const_hits_ = 0, blocked_accesses_ = 0;
};

}  // namespace ws
