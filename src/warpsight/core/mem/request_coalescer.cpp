#include "mem/request_coalescer.h"

#include <algorithm>
#include <stdexcept>

#include "mem/sector_cache.h"

namespace ws {

RequestCoalescer::RequestCoalescer(const Config& config, CounterRegistry& counters, const Topology& topology) {
  const std::string& scope = config.text("noc.coalescer");
  if (scope == "none") return;
  const uint64_t partitions = config.u("l2.partitions");
  const uint64_t gpcs = *std::max_element(topology.gpc_of_sm.begin(), topology.gpc_of_sm.end()) + uint64_t{1};
  for (size_t sm = 0; sm < topology.gpc_of_sm.size(); ++sm) {
    const uint32_t group = scope == "tpc"         ? topology.tpc_of_sm[sm]
                           : scope == "gpc"       ? topology.gpc_of_sm[sm]
                           : scope == "partition" ? static_cast<uint32_t>(topology.gpc_of_sm[sm] * partitions / gpcs)
                                                  : 0;
    if (group >= 128) throw std::invalid_argument("noc.coalescer: at most 128 groups of SMs");
    groups_.push_back(static_cast<uint8_t>(group));
  }
  out_.reserve(1 << 14);
  merged_.resize(*std::max_element(groups_.begin(), groups_.end()) + 1u);
  for (uint32_t group = 0; group < merged_.size(); ++group) counters.add("noc__coalesced_sectors", "noc", group, &merged_[group]);
}

bool RequestCoalescer::join(const MemRequest& request, Tick leaves) {
  if (!mergeable(request)) return false;
  const auto [it, first] = out_.try_emplace(key(request), Out{request.token, request.sm, request.sectors, kNone});
  if (first) return false;
  Out& out = it->second;
  if (request.sectors & ~out.sectors) return false;  // asks L2 itself; nobody waits for it
  out.waiters = waiters_.take({request, leaves, out.waiters});
  merged_[groups_[request.sm]] += count(request.sectors);
  return true;
}

void RequestCoalescer::clear() {
  out_.clear();
  waiters_.clear();
}

}  // namespace ws
