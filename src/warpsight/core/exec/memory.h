// Device memory: one reserved, lazily backed range of the modelled GPU's size, live allocations in it, and the address windows of the other
// spaces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "context.h"

namespace ws {

// Generic address map. Global memory starts at kGlobalBase; the other spaces show in windows far from it. Anything else is no address.
inline constexpr uint64_t kGlobalBase = 0x7000'0000'0000;
inline constexpr uint64_t kSharedWindow = 0x6000'0100'0000;  // 16 MiB
inline constexpr uint64_t kSharedWindowBytes = 1u << 24;
inline constexpr uint64_t kLocalWindow = 0x6100'0000'0000;  // 4 GiB
inline constexpr uint64_t kLocalWindowBytes = uint64_t{1} << 32;
inline constexpr uint64_t kParamWindow = 0x6200'0000'0000;  // 64 KiB
inline constexpr uint64_t kParamWindowBytes = 1u << 16;

enum class FaultKind : uint32_t {
  None = 0,
  OutOfBounds = 1,
  Misaligned = 2,
  BadSpace = 3,
  WriteConst = 4,
  Trap = 5,
  Breakpoint = 6,
  StackOverflow = 7,
  BadBranchIndex = 8,
  BarrierId = 9,
  BarrierCount = 10,
  SyncMask = 11,
  Deadlock = 12
};

struct Allocation {
  uint64_t address;
  uint64_t bytes;    // as asked for; accesses are checked against this
  std::string name;  // of a module variable; empty otherwise
  bool read_only;    // .const
};

// What the timing of memory reads: constant memory lives in the same range as global memory (a module's .const variables are allocations).
class Memory {
 public:
  explicit Memory(uint64_t bytes);  // reserves; throws std::runtime_error when the host refuses
  ~Memory();
  Memory(const Memory&) = delete;

  uint64_t allocate(uint64_t bytes, uint64_t align, std::string name, bool read_only);  // throws std::bad_alloc when the device is full
  void release(uint64_t address);  // throws std::invalid_argument for an address that is no live allocation
  uint8_t* host(uint64_t address) { return base_ + (address - kGlobalBase); }
  const Allocation* find(uint64_t address) const;     // the live allocation that holds the address, or null
  const Allocation* nearest(uint64_t address) const;  // closest live allocation, or null
  uint64_t bytes() const { return bytes_; }
  uint64_t used() const { return used_; }
  const std::map<uint64_t, Allocation>& allocations() const { return live_; }

  // True when [lo, hi) lies in one live allocation. Remembers the last hit.
  bool covers(uint64_t lo, uint64_t hi, bool write) {
    if (lo >= last_.address && hi <= last_.address + last_.bytes && !(write && last_.read_only) && hi > lo) return true;
    return covers_slow(lo, hi, write);
  }

 private:
  bool covers_slow(uint64_t lo, uint64_t hi, bool write);
  uint8_t* base_ = nullptr;
  uint64_t bytes_ = 0, used_ = 0;
  std::map<uint64_t, Allocation> live_;
  std::map<uint64_t, uint64_t> free_;  // address -> bytes
  Allocation last_{0, 0, {}, false};
};

// Called from compiled handlers (access.cpp); addresses are in context->scratch->addr. `desc` = space | element bytes << 8 | elements
// << 16. Data of element e, lane l at data + (e * 32 + l) * element bytes. On a bad access sets scratch->fault and touches nothing.
extern "C" {
void ws_load(WarpContext* context, uint32_t mask, uint32_t desc, void* data);
void ws_store(WarpContext* context, uint32_t mask, uint32_t desc, const void* data);
// Host memory of [first, first + bytes), in which the lanes of `mask` access what `desc` says, when a warp may touch all of it; null: ask
// ws_load or ws_store, which know what is wrong, if anything is. `first` and the lanes' distances are multiples of the access. Never for
// local memory.
uint8_t* ws_row(WarpContext* context, uint32_t mask, uint32_t desc, uint64_t first, uint64_t bytes, uint32_t write);
void ws_translate(WarpContext* context, uint32_t mask, uint32_t desc, uint32_t write);  // host pointers into scratch->host, for atomics
}

}  // namespace ws
