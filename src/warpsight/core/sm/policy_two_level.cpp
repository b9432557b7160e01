// Two-level scheduling (Narasiman et al., MICRO 2011): round robin in a small active set; a warp leaves it when it stalls for long, and any
// warp that can issue fills the place. `issue.two_level_active` is the size of the set.
#include "sm/issue_policy.h"

namespace ws {
namespace {

class TwoLevel final : public IssuePolicy {
 public:
  explicit TwoLevel(uint32_t size) : size_(size) {}

  uint32_t pick(uint64_t issuable, const Ages&) override {
    const uint64_t inner = issuable & active_;
    const bool room = static_cast<uint32_t>(std::popcount(active_)) < size_;
    return next_of(inner && !room ? inner : issuable);
  }
  void issued(uint32_t slot) override {
    next_ = slot + 1;
    if (active_ >> slot & 1) return;
    if (static_cast<uint32_t>(std::popcount(active_)) >= size_) active_ &= active_ - 1;  // all of the set wait for a pipe: one makes room
    active_ |= uint64_t{1} << slot;
  }
  void stalled(uint32_t slot) override { active_ &= ~(uint64_t{1} << slot); }
  void reset() override { active_ = 0, next_ = 0; }

 private:
  uint32_t next_of(uint64_t set) const {
    const uint64_t after = next_ < kMaxWarpsPerSubcore ? set >> next_ << next_ : 0;
    return static_cast<uint32_t>(std::countr_zero(after ? after : set));
  }

  uint32_t size_, next_ = 0;
  uint64_t active_ = 0;
};

}  // namespace

std::unique_ptr<IssuePolicy> make_two_level(uint32_t active) { return std::make_unique<TwoLevel>(active); }

}  // namespace ws
