#include "memory.h"

#include <sys/mman.h>

#include <new>
#include <stdexcept>

namespace ws {

namespace {
// Allocations start on 256 bytes, as cudaMalloc's do at least, and are kept apart by as much, so that an access just past the end is never
// inside the neighbour.
constexpr uint64_t kGranule = 256;
constexpr uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
}  // namespace

Memory::Memory(uint64_t bytes) : bytes_(bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw std::runtime_error("the host refuses to reserve " + std::to_string(bytes) + " bytes of address space for device memory");
  base_ = static_cast<uint8_t*>(p);
  free_[kGlobalBase] = bytes;
}

Memory::~Memory() {
  if (base_) munmap(base_, bytes_);
}

uint64_t Memory::allocate(uint64_t bytes, uint64_t align, std::string name, bool read_only) {
  align = align < kGranule ? kGranule : align;
  if (bytes > bytes_) throw std::bad_alloc();  // also keeps the sums below from overflowing
  const uint64_t need = round_up(bytes, kGranule) + kGranule;
  for (auto it = free_.begin(); it != free_.end(); ++it) {  // first fit: the same order of calls gives the same addresses
    const auto [start, length] = *it;
    const uint64_t address = round_up(start, align);
    if (address + need > start + length) continue;
    free_.erase(it);
    if (address > start) free_[start] = address - start;
    if (address + need < start + length) free_[address + need] = start + length - address - need;
    live_[address] = {address, bytes, std::move(name), read_only};
    used_ += need;
    return address;
  }
  throw std::bad_alloc();
}

void Memory::release(uint64_t address) {
  auto it = live_.find(address);
  if (it == live_.end()) throw std::invalid_argument("address is no live allocation");
  const uint64_t need = round_up(it->second.bytes, kGranule) + kGranule;
  live_.erase(it);
  used_ -= need;
  last_ = {0, 0, {}, false};
  madvise(host(address), need, MADV_DONTNEED);  // gives pages back; a later allocation here reads zeroes
  auto [at, inserted] = free_.emplace(address, need);
  (void)inserted;
  auto next = std::next(at);
  if (next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at != free_.begin()) {
    auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }
}

const Allocation* Memory::find(uint64_t address) const {
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return nullptr;
  const Allocation& a = std::prev(it)->second;
  return address - a.address < a.bytes ? &a : nullptr;
}

const Allocation* Memory::nearest(uint64_t address) const {
  if (live_.empty()) return nullptr;
  auto above = live_.upper_bound(address);
  if (above == live_.begin()) return &above->second;
  const Allocation& below = std::prev(above)->second;
  if (above == live_.end()) return &below;
  const uint64_t end = below.address + below.bytes;
  const uint64_t past = address >= end ? address - end + 1 : 0;
  return past <= above->second.address - address ? &below : &above->second;
}

bool Memory::covers_slow(uint64_t lo, uint64_t hi, bool write) {
  const Allocation* a = find(lo);
  if (!a || hi <= lo || hi > a->address + a->bytes || (write && a->read_only)) return false;
  last_ = {a->address, a->bytes, {}, a->read_only};
  return true;
}

}  // namespace ws
