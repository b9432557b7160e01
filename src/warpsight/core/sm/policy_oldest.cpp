// Always the oldest warp that can issue.
#include <functional>

#include "sm/issue_policy.h"

namespace ws {
namespace {

class Oldest final : public IssuePolicy {
 public:
  uint32_t pick(uint64_t issuable, const Ages& ages) override { return first_by_age(issuable, ages, std::less<>()); }
  void issued(uint32_t) override {}
  void reset() override {}
};

}  // namespace

std::unique_ptr<IssuePolicy> make_oldest() { return std::make_unique<Oldest>(); }

}  // namespace ws
