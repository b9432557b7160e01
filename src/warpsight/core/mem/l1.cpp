#include "mem/l1.h"

#include <stdexcept>

namespace ws {
namespace {

StoreMiss store_miss_named(const std::string& name) {
  if (name == "no_allocate") return StoreMiss::NoAllocate;
  if (name == "allocate") return StoreMiss::Allocate;
  throw std::invalid_argument("l1.store_miss: no policy '" + name + "'; known: allocate, no_allocate");
}

}  // namespace

L1Cache::L1Cache(const Config& config)
    : tags_(config.u("l1.bytes"), static_cast<uint32_t>(config.u("l1.ways")), config.text("l1.replacement")),
      mshrs_(static_cast<uint32_t>(config.u("l1.mshrs"))),
      store_miss_(store_miss_named(config.text("l1.store_miss"))) {}

L1Cache::Lookup L1Cache::load(uint64_t line, uint8_t sectors, bool keep, uint32_t access) {
  uint8_t hit = 0;
  if (keep) {
    const uint32_t slot = tags_.find(SectorCache::number_of(line));
    if (slot != kNone) {
      hit = sectors & tags_.state(slot).valid;
      if (hit == sectors) {
        tags_.touch(slot);
        return {hit, 0, false};
      }
    }
  }
  const uint8_t missing = sectors & static_cast<uint8_t>(~hit);
  MshrTable::Entry* entry = mshrs_.find(line);
  if (!entry) {
    if (mshrs_.full()) return {hit, 0, true};
    entry = &mshrs_.allocate(line);
  }
  const uint8_t request = missing & static_cast<uint8_t>(~entry->pending);
  entry->pending |= missing;
  entry->keep |= keep;
  mshrs_.wait(*entry, access, missing);
  return {hit, request, false};
}

uint8_t L1Cache::store(const LinePart& part, bool written_back, Eviction& evicted) {
  uint32_t slot = tags_.find(SectorCache::number_of(part.line));
  const bool allocate = written_back || store_miss_ == StoreMiss::Allocate;
  if (slot == kNone) {
    if (!allocate) return 0;
    slot = make_room(part.line, evicted);
    if (slot == kNone) return 0;
  } else {
    tags_.touch(slot);
  }
  LineState& state = tags_.state(slot);
  const uint8_t hit = part.sectors & (state.valid | state.partial);
  if (written_back) state.dirty |= part.sectors;
  if (allocate) {
    state.valid |= part.full_sectors;
    state.partial = (state.partial | part.sectors) & static_cast<uint8_t>(~state.valid);
  }
  return hit;
}

void L1Cache::insert(uint64_t line, uint8_t sectors, Eviction& evicted) {
  uint32_t slot = tags_.find(SectorCache::number_of(line));
  if (slot == kNone) slot = make_room(line, evicted);
  if (slot == kNone) return;
  LineState& state = tags_.state(slot);
  state.valid |= sectors;
  state.partial &= static_cast<uint8_t>(~sectors);
}

uint32_t L1Cache::make_room(uint64_t line, Eviction& evicted) {
  const uint64_t number = SectorCache::number_of(line);
  const uint32_t slot = tags_.choose(number);
  if (slot == kNone) return kNone;
  const LineState& old = tags_.state(slot);
  if (old.dirty) evicted = {old.line, old.dirty, static_cast<uint8_t>(old.dirty & old.partial)};
  tags_.insert(slot, number, line);
  return slot;
}

void L1Cache::invalidate(uint64_t line) {
  const uint32_t slot = tags_.find(SectorCache::number_of(line));
  if (slot != kNone) tags_.drop(slot);
}

}  // namespace ws
