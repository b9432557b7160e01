// The two seams of the memory side.
//  1. LoadStoreUnit: one per SM, between the sub-cores and everything that serves memory instructions (coalescer, shared memory, L1,
//  constant).
//  2. MemorySystem: one per GPU, behind the L1s (crossbar, L2, DRAM).
// All times are SM-clock cycles. Components keep their own clock domains inside and convert at these seams.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/config.h"
#include "base/stats.h"
#include "exec/record.h"

namespace ws {

using Cycle = uint64_t;
inline constexpr Cycle kNever = ~Cycle{0};

// A warp's memory instruction on its way from a sub-core. The address array is only valid during the call.
struct WarpAccess {
  uint32_t token;  // the SM's own index of the outstanding instruction; comes back with complete()
  uint16_t group;  // warp slot: stores of a group are counted for fences (LoadStoreUnit::drained)
  uint8_t subcore;
  Space space;  // resolved: never Generic
  MemoryOp op;
  CacheOp cache_op;
  uint8_t bytes;  // per lane
  uint8_t scope;
  uint32_t mask;         // lanes that access memory
  uint32_t record;       // index of the instruction, for per-instruction counts
  const uint64_t* addr;  // [32]; shared: offset in the CTA's window + its base in the SM's shared memory; local: already mapped (docs)
};

// What the LSU tells the SM. complete() may be called from within issue(), run() or reply(), and `when` may lie in the future (never in the
// past): the time of an L1 hit or a shared-memory access is known when it is issued.
struct LsuClient {
  virtual ~LsuClient() = default;
  virtual void complete(uint32_t token, Cycle when) = 0;        // all data written back (loads, atomics with result), or accepted (stores)
  virtual void stores_drained(uint32_t group, Cycle when) = 0;  // the last store of a group has reached its point of coherence
  virtual void line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) = 0;  // only with lines=True
};

// Latencies count from issue() in the instruction's issue cycle to the cycle in which a dependent instruction may issue.
struct MemReply;
struct LoadStoreUnit {
  virtual ~LoadStoreUnit() = default;
  virtual Cycle can_issue(
      Cycle now, uint8_t subcore,
      Space space) = 0;  // earliest cycle at which the sub-core may hand over an access (now: at once); kNever never happens
  virtual void issue(Cycle now, const WarpAccess& access) = 0;
  virtual void run(Cycle now) = 0;                 // do all work due at or before `now`
  virtual Cycle next_event() const = 0;            // kNever when idle
  virtual bool drained(uint32_t group) const = 0;  // no store, reduction or atomic of the group (warp slot) is on its way: for fences
  virtual void reply(const MemReply& reply, Cycle now) = 0;  // replies for MemSource::L1 and MemSource::ConstantCache
  virtual void set_shared_bytes(
      uint32_t bytes) = 0;                    // shared memory that the kernel's resident CTAs use; L1 gets the rest (launch time only)
  virtual void set_line_counts(bool on) = 0;  // whether LsuClient::line_counts is called
  virtual void preload_constants(uint64_t first, uint64_t bytes) = 0;  // start of a kernel: its parameters are in the second constant level
  virtual void invalidate_l1() = 0;                                    // start of a kernel: L1 is not coherent
  virtual void flush() = 0;                                            // cold caches: everything invalid
  virtual void reset() = 0;  // after an aborted launch: drop whatever is on its way, keep cache contents
};

enum class MemSource : uint8_t { L1 = 0, InstructionCache = 1, ConstantCache = 2 };

// One request of at most a 128-byte line between an SM and L2.
struct MemRequest {
  uint64_t token;  // comes back with the reply
  uint64_t line;   // byte address of the 128-byte line
  uint16_t sm;
  uint8_t sectors;  // mask of 32-byte sectors, 1..15
  MemoryOp op;      // Load, Store, Atomic, Reduction, Prefetch
  MemSource source;
  CacheOp cache_op;
  uint8_t atomic_lanes;     // lane operations of an atomic in this line
  uint8_t atomic_conflict;  // largest number of them on one 4-byte word
  uint8_t payload;          // bytes of a store or atomic that cross the network
  uint8_t full_sectors;     // mask of sectors that a store covers whole; the others are partial writes
};

struct MemReply {
  uint64_t token;
  uint16_t sm;
  uint8_t sectors;
  MemSource source;
};

struct ReplySink {
  virtual ~ReplySink() = default;
  virtual void reply(const MemReply& reply, Cycle now) = 0;
};

struct MemorySystem {
  virtual ~MemorySystem() = default;
  virtual Cycle can_send(Cycle now, uint16_t sm) = 0;  // earliest cycle at which the SM's injection port takes a request
  virtual void send(Cycle now, const MemRequest& request) = 0;
  virtual void run(Cycle now, ReplySink& sink) = 0;  // deliver, in time order, every reply due at or before `now`
  virtual Cycle next_event() const = 0;
  virtual void
  flush() = 0;  // cold caches: everything invalid, dirty lines dropped without traffic (as a profiler's flush before the kernel)
  virtual void reset() = 0;  // after an aborted launch: drop whatever is on its way, keep cache contents
};

// What the memory side needs to know of the rest of the GPU.
struct Topology {
  double sm_mhz = 0;                // clock of all Cycle values
  std::vector<uint16_t> gpc_of_sm;  // one entry an SM
  std::vector<uint16_t> tpc_of_sm;
};

// Both read their sections of the GPU file ([lsu] [shared] [l1] [const]; [noc] [l2] [dram]) and register their counters, which live as long
// as the object. `memory` and `client` must outlive the unit. Errors: std::invalid_argument naming the key.
std::unique_ptr<LoadStoreUnit> make_load_store_unit(const Config& config, CounterRegistry& counters, uint16_t sm, MemorySystem& memory,
                                                    LsuClient& client);
std::unique_ptr<MemorySystem> make_memory_system(const Config& config, CounterRegistry& counters, const Topology& topology);

}  // namespace ws
