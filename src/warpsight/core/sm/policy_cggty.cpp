// Compiler-guided greedy-then-youngest (Huerta et al., modern NVIDIA cores): stays with the warp that issued last, else the youngest. What
// the compiler's control bits say (stall counts, yield) is in a warp's readiness; without them this is greedy-then-youngest.
#include <functional>

#include "sm/issue_policy.h"

namespace ws {
namespace {

class Cggty final : public IssuePolicy {
 public:
  uint32_t pick(uint64_t issuable, const Ages& ages) override {
    return last_ != kNone && (issuable >> last_ & 1) ? last_ : first_by_age(issuable, ages, std::greater<>());
  }
  void issued(uint32_t slot) override { last_ = slot; }
  void reset() override { last_ = kNone; }

 private:
  static constexpr uint32_t kNone = ~0u;
  uint32_t last_ = kNone;
};

}  // namespace

std::unique_ptr<IssuePolicy> make_cggty() { return std::make_unique<Cggty>(); }

}  // namespace ws
