// Merges loads of neighbouring SMs on their way to L2: while a load of a line is out, loads of the same sectors by other SMs of the group
// wait for its answer instead of asking L2 again. The counters of the H200 show it: of the sectors that L1s receive
// (l1tex__m_xbar2l1tex_read_sectors) L2 looks up only two thirds on sgemm_tiled_512 and one third on sgemm_naive_256, where SMs read the
// same tiles, and all of them where SMs share nothing.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "base/stats.h"
#include "mem/pool.h"
#include "mem/port.h"
#include "mem/time.h"

namespace ws {

class RequestCoalescer {
 public:
  // Key noc.coalescer: "none", or the SMs that share one: "tpc", "gpc", "partition" (of L2), "gpu".
  RequestCoalescer(const Config& config, CounterRegistry& counters, const Topology& topology);

  // True when the request waits for one that is out; otherwise it goes to L2, and later ones may wait for it.
  bool join(const MemRequest& request, Tick leaves);

  // The answer of a request that went to L2: calls body(waiting request, when it left its SM) for those that share it.
  template <class Body>
  void answered(const MemRequest& request, Body&& body) {
    if (!mergeable(request)) return;
    const auto it = out_.find(key(request));
    if (it == out_.end() || it->second.token != request.token || it->second.sm != request.sm) return;
    uint32_t waiter = it->second.waiters;
    out_.erase(it);
    while (waiter != kNone) {
      const Waiter w = waiters_[waiter];
      waiters_.release(waiter);
      body(w.request, w.leaves);
      waiter = w.next;
    }
  }
  void clear();

 private:
  struct Out {
    uint64_t token;
    uint16_t sm;
    uint8_t sectors;
    uint32_t waiters;
  };
  struct Waiter {
    MemRequest request;
    Tick leaves;
    uint32_t next;
  };
  bool mergeable(const MemRequest& r) const { return !groups_.empty() && r.op == MemoryOp::Load && r.cache_op < CacheOp::Volatile; }
  uint64_t key(const MemRequest& r) const { return r.line | groups_[r.sm]; }  // lines leave the low 7 bits free

  std::vector<uint8_t> groups_;  // of each SM; empty: nothing is merged
  std::unordered_map<uint64_t, Out> out_;
  Pool<Waiter> waiters_;
  std::vector<uint64_t> merged_;  // sectors, by group
};

}  // namespace ws
