#include "mem/sector_cache.h"

#include <stdexcept>

namespace ws {

SectorCache::SectorCache(uint64_t bytes, uint32_t ways, const std::string& policy, uint32_t streams)
    : ways_(ways), streams_(streams), policy_(make_replacement(policy)) {
  if (ways == 0 || ways > 64) throw std::invalid_argument("a cache needs 1 to 64 ways, not " + std::to_string(ways));
  resize(bytes);
}

void SectorCache::resize(uint64_t bytes) {
  const uint64_t sets = bytes / kLineBytes / ways_;
  if (sets == 0)
    throw std::invalid_argument("a cache of " + std::to_string(bytes) + " bytes and " + std::to_string(ways_) + " ways holds no set");
  sets_ = static_cast<uint32_t>(sets);
  clear();
}

void SectorCache::clear() {
  tags_.assign(slots(), kNoTag);
  states_.assign(slots(), {});
}

uint32_t SectorCache::choose(uint64_t number) {
  const uint32_t base = set_of(number) * ways_;
  uint64_t allowed = 0;
  uint32_t stamps[64];
  for (uint32_t way = 0; way < ways_; ++way) {
    if (tags_[base + way] == kNoTag) return base + way;
    const LineState& state = states_[base + way];
    stamps[way] = state.stamp;
    if (!state.pending) allowed |= uint64_t{1} << way;
  }
  return allowed ? base + policy_->victim(stamps, allowed) : kNone;
}

void SectorCache::insert(uint32_t slot, uint64_t number, uint64_t line) {
  tags_[slot] = tag_of(number);
  states_[slot] = {};
  states_[slot].line = line;
  states_[slot].stamp = policy_->inserted();
}

}  // namespace ws
