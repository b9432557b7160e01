// Which of the warps that can issue does. A policy is one file with a class and its entry in issue_policy.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include "base/config.h"

namespace ws {

inline constexpr uint32_t kMaxWarpsPerSubcore = 64;

// Ages of a sub-core's warps: launch numbers, smaller is older.
using Ages = std::array<uint64_t, kMaxWarpsPerSubcore>;

class IssuePolicy {
 public:
  virtual ~IssuePolicy() = default;
  // Slot to issue, of the non-empty set `issuable`. Does not change the policy's state: the choice may be refused.
  virtual uint32_t pick(uint64_t issuable, const Ages& ages) = 0;
  virtual void issued(uint32_t slot) = 0;
  virtual void stalled(uint32_t) {}  // the warp waits for memory, a barrier or another long operation
  virtual void reset() = 0;
};

// core.issue_policy; throws std::invalid_argument that lists the known names.
std::unique_ptr<IssuePolicy> make_issue_policy(const Config& config);

std::unique_ptr<IssuePolicy> make_cggty();
std::unique_ptr<IssuePolicy> make_gto();
std::unique_ptr<IssuePolicy> make_lrr();
std::unique_ptr<IssuePolicy> make_two_level(uint32_t active);
std::unique_ptr<IssuePolicy> make_oldest();

// The slot of `set` (not empty) whose age comes first, by `before`.
template <class Before>
uint32_t first_by_age(uint64_t set, const Ages& ages, Before before) {
  uint32_t best = static_cast<uint32_t>(std::countr_zero(set));
  for (set &= set - 1; set; set &= set - 1) {
    const uint32_t slot = static_cast<uint32_t>(std::countr_zero(set));
    if (before(ages[slot], ages[best])) best = slot;
  }
  return best;
}

}  // namespace ws
