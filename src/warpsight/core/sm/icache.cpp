#include "sm/icache.h"

#include <algorithm>

namespace ws {
namespace {

constexpr uint32_t kLineBytes = 128;
constexpr uint64_t kNoLine = ~uint64_t{0};
constexpr uint8_t kAllSectors = 0xf;

uint32_t lines_of(const Config& config, const std::string& key) { return static_cast<uint32_t>(config.u(key) / kLineBytes); }
uint32_t number(const Config& config, const std::string& key) { return static_cast<uint32_t>(config.u(key)); }

}  // namespace

LineCache::LineCache(uint32_t lines, uint32_t ways)
    : sets_(std::max(1u, lines / ways)), ways_(ways), entries_(size_t{sets_} * ways_, {kNoLine, 0, 0}) {}

Cycle* LineCache::find(uint64_t line) {
  Entry* set = set_of(line);
  for (uint32_t i = 0; i < ways_; ++i) {
    if (set[i].line != line) continue;
    set[i].used = ++clock_;
    return &set[i].ready;
  }
  return nullptr;
}

void LineCache::insert(uint64_t line, Cycle ready) {
  Entry* set = set_of(line);
  Entry* out = std::min_element(set, set + ways_, [](const Entry& a, const Entry& b) { return a.used < b.used; });
  *out = {line, ready, ++clock_};
}

void LineCache::clear() { std::fill(entries_.begin(), entries_.end(), Entry{kNoLine, 0, 0}); }

void LineCache::drop_pending() {
  for (Entry& entry : entries_) {
    if (entry.ready == kNever) entry = {kNoLine, 0, 0};
    entry.ready = 0;
  }
}

InstructionCaches::InstructionCaches(const Config& config, CounterRegistry& counters, uint16_t sm, uint32_t subcores, MemorySystem& memory)
    : sm_(sm),
      memory_(memory),
      l1_latency_(number(config, "icache.l1_latency")),
      second_latency_(number(config, "icache.second_latency")),
      miss_latency_(number(config, "icache.miss_latency")),
      fill_latency_(number(config, "icache.fill_latency")),
      depth_(number(config, "icache.prefetch_lines")),
      l0_(subcores, LineCache(lines_of(config, "icache.l0_bytes"), number(config, "icache.l0_ways"))),
      streams_(subcores),
      l1_(lines_of(config, "icache.l1_bytes"), number(config, "icache.l1_ways")),
      second_(lines_of(config, "icache.second_bytes"), number(config, "icache.second_ways")) {
  const auto add = [&](const char* name, const uint64_t& value) { counters.add(name, "sm", sm, &value); };
  add("icache_l0_requests", l0_requests_);
  add("icache_l0_requests_lookup_hit", l0_hits_);
  add("sm__icc_requests", requests_);
  add("sm__icc_requests_lookup_hit", hits_);
  add("sm__icc_requests_lookup_miss", misses_);
  add("icache_second_requests", second_requests_);
  add("icache_second_requests_lookup_hit", second_hits_);
}

Cycle InstructionCaches::fetch(uint32_t subcore, uint64_t line, uint64_t last, Cycle now) {
  ++l0_requests_;
  Stream& stream = streams_[subcore];
  Cycle ready;
  if (const Cycle* present = l0_[subcore].find(line)) {
    ready = *present;
    l0_hits_ += ready <= now;
    if (line < stream.begin || line > stream.end) return std::max(ready, now);
  } else {
    ready = from_l1(line, now);
    l0_[subcore].insert(line, ready);
    if (line < stream.begin || line > stream.end) stream = {line + 1, line};
  }
  const uint64_t ahead = std::min(last, line + depth_);
  for (uint64_t l = stream.end + 1; l <= ahead; ++l) prefetch(subcore, l, last, now);
  stream.begin = line + 1;
  stream.end = std::max(stream.end, ahead);
  return std::max(ready, now);
}

void InstructionCaches::prefetch(uint32_t subcore, uint64_t line, uint64_t last, Cycle now) {
  if (line > last || l0_[subcore].find(line)) return;
  const Cycle ready = from_l1(line, now);
  l0_[subcore].insert(line, ready);
}

Cycle InstructionCaches::from_l1(uint64_t line, Cycle now) {
  ++requests_;
  if (const Cycle* present = l1_.find(line)) {
    const Cycle ready = *present;
    ++(ready <= now ? hits_ : misses_);
    return ready == kNever ? kNever : std::max(ready, now) + l1_latency_;
  }
  ++misses_;
  const Cycle ready = from_second(line, now);
  l1_.insert(line, ready);
  return ready == kNever ? kNever : ready + l1_latency_;
}

// Times here leave out the way from L1 to the sub-core, which from_l1() adds.
Cycle InstructionCaches::from_second(uint64_t line, Cycle now) {
  ++second_requests_;
  if (const Cycle* present = second_.find(line)) {
    second_hits_ += *present <= now;
    return *present == kNever ? kNever : std::max(*present, now) + second_latency_;
  }
  second_.insert(line, kNever);
  MemRequest request{};
  request.token = line;
  request.line = line * kLineBytes;
  request.sm = sm_;
  request.sectors = kAllSectors;
  request.op = MemoryOp::Load;
  request.source = MemSource::InstructionCache;
  ++outstanding_;
  memory_.send(now + miss_latency_, request);
  return kNever;
}

Cycle InstructionCaches::filled(uint64_t line, Cycle now) {
  --outstanding_;
  const Cycle here = now + fill_latency_;
  if (Cycle* present = second_.find(line)) *present = here;
  if (Cycle* present = l1_.find(line); present && *present == kNever) *present = here;
  for (LineCache& l0 : l0_) {
    if (Cycle* present = l0.find(line); present && *present == kNever) *present = here + l1_latency_;
  }
  return here + l1_latency_;
}

void InstructionCaches::preload(uint64_t first, uint64_t last, Cycle now) {
  if (last - first >= second_.lines()) return;
  for (uint64_t line = first; line <= last; ++line)
    if (!second_.find(line)) second_.insert(line, now);
}

void InstructionCaches::flush() {
  for (LineCache& l0 : l0_) l0.clear();
  l1_.clear();
  second_.clear();
  std::fill(streams_.begin(), streams_.end(), Stream{});
}

void InstructionCaches::reset() {
  outstanding_ = 0;
  for (LineCache& l0 : l0_) l0.drop_pending();
  l1_.drop_pending();
  second_.drop_pending();
  std::fill(streams_.begin(), streams_.end(), Stream{});
}

}  // namespace ws
