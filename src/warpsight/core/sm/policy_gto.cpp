// Greedy-then-oldest (Rogers et al., MICRO 2012).
#include <functional>

#include "sm/issue_policy.h"

namespace ws {
namespace {

class Gto final : public IssuePolicy {
 public:
  uint32_t pick(uint64_t issuable, const Ages& ages) override {
    return last_ != kNone && (issuable >> last_ & 1) ? last_ : first_by_age(issuable, ages, std::less<>());
  }
  void issued(uint32_t slot) override { last_ = slot; }
  void reset() override { last_ = kNone; }

 private:
  static constexpr uint32_t kNone = ~0u;
  uint32_t last_ = kNone;
};

}  // namespace

std::unique_ptr<IssuePolicy> make_gto() { return std::make_unique<Gto>(); }

}  // namespace ws
