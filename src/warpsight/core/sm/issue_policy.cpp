#include "sm/issue_policy.h"

#include "mem/registry.h"

namespace ws {

std::unique_ptr<IssuePolicy> make_issue_policy(const Config& config) {
  static const Registry<IssuePolicy, const Config&> registry(
      "issue policy", {{"cggty", [](const Config&) { return make_cggty(); }},
                       {"gto", [](const Config&) { return make_gto(); }},
                       {"lrr", [](const Config&) { return make_lrr(); }},
                       {"two_level", [](const Config& c) { return make_two_level(static_cast<uint32_t>(c.u("issue.two_level_active"))); }},
                       {"oldest", [](const Config&) { return make_oldest(); }}});
  return registry.make(config.text("core.issue_policy"), config);
}

}  // namespace ws
