// Loose round robin: the next warp, by slot, that can issue.
#include "sm/issue_policy.h"

namespace ws {
namespace {

class Lrr final : public IssuePolicy {
 public:
  uint32_t pick(uint64_t issuable, const Ages&) override {
    const uint64_t after = next_ < kMaxWarpsPerSubcore ? issuable >> next_ << next_ : 0;
    return static_cast<uint32_t>(std::countr_zero(after ? after : issuable));
  }
  void issued(uint32_t slot) override { next_ = slot + 1; }
  void reset() override { next_ = 0; }

 private:
  uint32_t next_ = 0;
};

}  // namespace

std::unique_ptr<IssuePolicy> make_lrr() { return std::make_unique<Lrr>(); }

}  // namespace ws
