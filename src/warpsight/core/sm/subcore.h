// A sub-core (SM partition): the warps that can issue, the pipes, the choice of one warp a cycle.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/config.h"
#include "base/stats.h"
#include "sm/counters.h"
#include "sm/issue_policy.h"
#include "sm/op_table.h"
#include "sm/register_file.h"
#include "sm/warp_slot.h"

namespace ws {

class Sm;

class SubCore {
 public:
  // Warps of the sub-core are `slots` of the SM, in turn over its sub-cores. `first` is this sub-core's number.
  SubCore(const Config& config, CounterRegistry& counters, const OpTable& table, Sm& sm, uint32_t number, uint32_t slots);

  // The warp in `slot` may issue from `at` on, a cycle that earliest() allows.
  void schedule(uint32_t slot, Cycle at);
  Cycle earliest(Cycle at) const { return std::max(at, stepped_ + 1); }
  void launched(uint32_t slot, uint64_t age) { ages_[slot] = age; }
  void stalled(uint32_t slot) { policy_->stalled(slot); }

  // Issues at most one instruction at `now`; returns the next cycle in which there may be something to do, kNever if none is known.
  Cycle step(Cycle now);
  Cycle wake() const { return wake_; }
  uint64_t due(Cycle end) const;  // slots that may issue before `end`
  void account(Cycle now);        // gives the cycles before `now` of all warps that can issue their reason
  void reset();

  SubCoreCounters counters;

 private:
  // Cycle in which each waiting warp may issue: a ring of sets. A warp due beyond the ring is looked at again on the way.
  static constexpr uint32_t kRing = 256;
  void put(uint32_t slot, Cycle at);
  uint64_t take_due(Cycle now);
  Cycle next_due(Cycle now) const;

  bool try_issue(uint32_t slot, Cycle now);
  void occupy(const Pipe& pipe, const OpClass& op, Cycle now);
  uint64_t find_blocked(Cycle now);
  Cycle pipe_free(const Pipe& pipe) const;
  void make_ready(uint64_t slots);
  void no_longer_ready(uint32_t slot);

  Sm& sm_;
  const OpTable& table_;
  uint32_t number_;
  std::unique_ptr<IssuePolicy> policy_;
  std::unique_ptr<RegisterFile> registers_;
  Ages ages_{};

  uint64_t ready_ = 0;
  std::array<uint64_t, 32> wants_{};       // by pipe: ready warps whose next issue slot needs it
  uint32_t wanted_ = 0;                    // pipes with any
  std::vector<Cycle> unit_free_;           // from which cycle each execution unit takes the next instruction
  std::array<Cycle, 32> refused_until_{};  // by pipe: the load/store unit takes nothing before
  Cycle port_free_ = 0;                    // the issue port is busy collecting operands until then

  std::array<uint64_t, kRing> ring_{};
  std::array<uint64_t, kRing / 64> ring_used_{};
  Cycle stepped_ = 0, wake_ = kNever;

  // Since accounted_: which ready warps wait for what.
  Cycle accounted_ = 0;
  uint64_t not_selected_ = 0;
  std::array<uint64_t, kStalls> throttled_{};
  uint32_t throttles_ = 0;  // reasons with any
};

}  // namespace ws
