#include "mem/coalescer.h"

#include <algorithm>
#include <bit>

#include "mem/sector_cache.h"

namespace ws {
namespace {

constexpr uint32_t kBanks = 32, kWordBytes = 4;

template <class F>
void each_lane(uint32_t mask, F&& f) {
  for (; mask; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

uint8_t sectors_between(uint64_t first_byte, uint64_t last_byte) {  // offsets in the line
  const uint32_t first = static_cast<uint32_t>(first_byte / kSectorBytes), last = static_cast<uint32_t>(last_byte / kSectorBytes);
  return static_cast<uint8_t>((2u << last) - (1u << first));
}

uint64_t bits(uint32_t from, uint32_t n) { return n >= 64 ? ~uint64_t{0} : ((uint64_t{1} << n) - 1) << from; }

void cover(LinePart& part, uint32_t offset, uint32_t n) {
  const uint32_t low = offset < 64 ? std::min(n, 64 - offset) : 0;
  if (low) part.bytes[0] |= bits(offset, low);
  if (n > low) part.bytes[1] |= bits(offset + low - 64, n - low);
}

uint8_t full_sectors(const LinePart& part) {
  uint8_t full = 0;
  for (uint32_t sector = 0; sector < 4; ++sector)
    if (static_cast<uint32_t>(part.bytes[sector / 2] >> (sector % 2 * 32)) == ~uint32_t{0}) full |= static_cast<uint8_t>(1u << sector);
  return full;
}

// Largest number of turns that a bank takes for the lanes of one phase; units of `unit` bytes, kBanks * kWordBytes / unit banks of them.
uint32_t turns(const uint64_t* addr, uint32_t lanes, uint32_t unit, bool serialise_words) {
  const uint64_t row = addr[std::countr_zero(lanes)] / kLineBytes;
  bool one_row = true;
  each_lane(lanes, [&](uint32_t lane) { one_row &= addr[lane] / kLineBytes == row; });
  if (one_row && !serialise_words) return 1;
  const uint32_t banks = kBanks * kWordBytes / unit;
  uint64_t words[kWarpSize];
  uint8_t last_of_bank[kBanks], previous[kWarpSize], used[kBanks];
  std::fill_n(used, banks, uint8_t{0});
  uint32_t most = 0;
  each_lane(lanes, [&](uint32_t lane) {
    words[lane] = addr[lane] / unit;
    const uint32_t bank = static_cast<uint32_t>(words[lane] % banks);
    if (!serialise_words) {
      uint32_t seen = used[bank];
      for (uint8_t other = last_of_bank[bank]; seen; other = previous[other], --seen)
        if (words[other] == words[lane]) return;
    }
    previous[lane] = last_of_bank[bank];
    last_of_bank[bank] = static_cast<uint8_t>(lane);
    most = std::max<uint32_t>(most, ++used[bank]);
  });
  return most;
}

}  // namespace

LinePart& Coalescer::part_of(uint64_t line) {
  for (uint32_t i = size_; i-- > 0;)
    if (parts_[i].line == line) return parts_[i];
  parts_[size_] = {line, 0, 0, 0, 0, {0, 0}};
  return parts_[size_++];
}

void Coalescer::run(const WarpAccess& access, bool detail) {
  size_ = 0;
  each_lane(access.mask, [&](uint32_t lane) {
    uint64_t at = access.addr[lane];
    for (uint64_t rest = access.bytes; rest;) {
      const uint64_t offset = at % kLineBytes, n = std::min(rest, kLineBytes - offset);
      LinePart& part = part_of(at - offset);
      part.sectors |= sectors_between(offset, offset + n - 1);
      if (detail) {
        cover(part, static_cast<uint32_t>(offset), static_cast<uint32_t>(n));
        ++part.lanes;
      }
      at += n, rest -= n;
    }
  });
  if (!detail) return;
  for (uint32_t i = 0; i < size_; ++i) parts_[i].full_sectors = full_sectors(parts_[i]);
  if (access.op == MemoryOp::Atomic || access.op == MemoryOp::Reduction) count_conflicts(access);
}

void Coalescer::count_conflicts(const WarpAccess& access) {
  std::array<uint64_t, kWarpSize> words;
  uint32_t n = 0;
  each_lane(access.mask, [&](uint32_t lane) { words[n++] = access.addr[lane] / kWordBytes; });
  std::sort(words.begin(), words.begin() + n);
  for (uint32_t i = 0, run = 0; i < n; ++i) {
    run = i && words[i] == words[i - 1] ? run + 1 : 1;
    LinePart& part = part_of(words[i] * kWordBytes / kLineBytes * kLineBytes);
    part.conflict = static_cast<uint8_t>(std::max<uint32_t>(part.conflict, run));
  }
}

uint32_t Coalescer::sectors() const {
  uint32_t n = 0;
  for (uint32_t i = 0; i < size_; ++i) n += count(parts_[i].sectors);
  return n;
}

// Wide shared loads whose lanes agree in pairs, each with its neighbour or each with its neighbour but one, go in half the phases.
static bool agree_in_pairs(const WarpAccess& access) {
  bool next = true, next_but_one = true;
  each_lane(access.mask, [&](uint32_t lane) {
    const auto same = [&](uint32_t other) { return !(access.mask >> other & 1) || access.addr[other] == access.addr[lane]; };
    next &= same(lane ^ 1);
    next_but_one &= same(lane ^ 2);
  });
  return next || next_but_one;
}

uint32_t wavefronts(const WarpAccess& access, bool serialise_words) {
  const uint32_t unit = access.bytes <= 4 ? 4 : access.bytes <= 8 ? 8 : 16;
  uint32_t lanes_per_phase = kBanks * kWordBytes / unit;
  if (unit > kWordBytes && access.op == MemoryOp::Load && access.space == Space::Shared && agree_in_pairs(access)) lanes_per_phase *= 2;
  uint32_t n = 0;
  for (uint32_t first = 0; first < kWarpSize; first += lanes_per_phase) {
    const uint32_t lanes = access.mask & static_cast<uint32_t>(bits(first, lanes_per_phase));
    if (lanes) n += turns(access.addr, lanes, unit, serialise_words);
  }
  return std::max(n, 1u);
}

}  // namespace ws
