// The two seams of the memory side.
//  1. LoadStoreUnit: one per SM, between the sub-cores and everything that serves memory instructions (coalescer, shared memory, L1, constant).
//  2. MemorySystem: one per GPU, behind the L1s (crossbar, L2, DRAM).
// All times are SM-clock cycles. Components keep their own clock domains inside and convert at these seams.
#pragma once

#include <cstdint>

#include "../exec/record.h"

namespace ws {

using Cycle = uint64_t;
inline constexpr Cycle kNever = ~Cycle{0};

// A warp's memory instruction on its way from a sub-core. The address array is only valid during the call.
struct WarpAccess {
  uint32_t token;     // the SM's own index of the outstanding instruction; comes back with complete()
  uint8_t subcore;
  Space space;        // resolved: never Generic
  MemoryOp op;
  CacheOp cache_op;
  uint8_t bytes;      // per lane
  uint8_t scope;
  uint32_t mask;      // lanes that access memory
  uint32_t record;    // index of the instruction, for per-instruction counts
  const uint64_t* addr;  // [32]; shared: offset in the CTA's window + its base in the SM's shared memory; local: already mapped (docs)
};

// What the LSU tells the SM.
struct LsuClient {
  virtual ~LsuClient() = default;
  virtual void complete(uint32_t token, Cycle when) = 0;         // all data written back (loads, atomics with result), or accepted (stores)
  virtual void line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) = 0;  // only with lines=True
};

struct LoadStoreUnit {
  virtual ~LoadStoreUnit() = default;
  virtual Cycle can_issue(Cycle now, uint8_t subcore, Space space) = 0;  // earliest cycle at which the sub-core may hand over an access (now: at once); kNever never happens
  virtual void issue(Cycle now, const WarpAccess& access) = 0;
  virtual void run(Cycle now) = 0;      // do all work due at or before `now`
  virtual Cycle next_event() const = 0;  // kNever when idle
  virtual bool drained(uint32_t token_group) const = 0;  // no store of the group (warp slot) is on its way: for fences
};

enum class MemSource : uint8_t { L1 = 0, InstructionCache = 1, ConstantCache = 2 };

// One request of at most a 128-byte line between an SM and L2.
struct MemRequest {
  uint64_t token;        // comes back with the reply
  uint64_t line;         // byte address of the 128-byte line
  uint16_t sm;
  uint8_t sectors;       // mask of 32-byte sectors, 1..15
  MemoryOp op;           // Load, Store, Atomic, Reduction, Prefetch
  MemSource source;
  CacheOp cache_op;
  uint8_t atomic_lanes;     // lane operations of an atomic in this line
  uint8_t atomic_conflict;  // largest number of them on one 4-byte word
  uint8_t bytes;            // payload bytes of a store or atomic
  uint32_t byte_mask_full;  // bit per sector: the store covers the whole sector
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
};

}  // namespace ws
