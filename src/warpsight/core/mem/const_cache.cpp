#include "mem/const_cache.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace ws {

ConstantCache::ConstantCache(const Config& config)
    : first_(config.u("const.first_lines")),
      first_line_bytes_(config.u("const.first_line_bytes")),
      latency_(config.u("const.latency")),
      second_latency_(config.u("const.second_latency")),
      second_(config.u("const.second_bytes"), static_cast<uint32_t>(config.u("const.second_ways")), "lru"),
      mshrs_(static_cast<uint32_t>(config.u("const.mshrs"))) {
  if (first_line_bytes_ < kSectorBytes || first_line_bytes_ > kLineBytes || !std::has_single_bit(first_line_bytes_))
    throw std::invalid_argument("const.first_line_bytes must be 32, 64 or 128");
}

void ConstantCache::clear() {
  std::fill(first_.begin(), first_.end(), FirstLine{});
  second_.clear();
}

void ConstantCache::preload(uint64_t line) {
  constexpr uint8_t kAllSectors = (1u << kLineBytes / kSectorBytes) - 1;
  const uint64_t number = SectorCache::number_of(line);
  uint32_t slot = second_.find(number);
  if (slot == kNone) second_.insert(slot = second_.choose(number), number, line);
  second_.state(slot).valid = kAllSectors;
}

void ConstantCache::keep_close(uint64_t small_line, Cycle ready) {
  FirstLine* oldest = &first_[0];
  for (FirstLine& entry : first_)
    if (entry.used < oldest->used) oldest = &entry;
  *oldest = {small_line, ++clock_, ready};
}

void ConstantCache::reset() {
  mshrs_.clear();
  for (FirstLine& entry : first_) entry.ready = 0;
}

ConstantCache::Lookup ConstantCache::load(uint64_t address, uint32_t access, Cycle at) {
  const uint64_t small_line = address / first_line_bytes_ * first_line_bytes_, line = address / kLineBytes * kLineBytes;
  for (FirstLine& entry : first_) {
    if (entry.line == small_line) {
      entry.used = ++clock_;
      if (entry.ready <= at) return {Level::First, at + latency_, 0, false};
      return {Level::Second, std::max(entry.ready, at + latency_), 0, false};
    }
  }
  const uint32_t first_sector = static_cast<uint32_t>((small_line - line) / kSectorBytes);
  const uint8_t sectors = static_cast<uint8_t>(((1u << first_line_bytes_ / kSectorBytes) - 1) << first_sector);
  const uint32_t slot = second_.find(SectorCache::number_of(line));
  if (slot != kNone && (second_.state(slot).valid & sectors) == sectors) {
    second_.touch(slot);
    keep_close(small_line, at + second_latency_);
    return {Level::Second, at + second_latency_, 0, false};
  }
  MshrTable::Entry* entry = mshrs_.find(line);
  if (!entry) {
    if (mshrs_.full()) return {Level::Memory, 0, 0, true};
    entry = &mshrs_.allocate(line);
  }
  const uint8_t request = sectors & static_cast<uint8_t>(~entry->pending);
  entry->pending |= sectors;
  mshrs_.wait(*entry, access, sectors);
  return {Level::Memory, 0, request, false};
}

}  // namespace ws
