// From the 32 lane addresses of a warp access to lines and sectors, and to wavefronts of the banked data store that L1 and shared memory
// share.
#pragma once

#include <array>
#include <cstdint>

#include "mem/port.h"

namespace ws {

// What a warp access touches of one 128-byte line.
struct LinePart {
  uint64_t line;
  uint8_t sectors;
  uint8_t full_sectors;  // every byte covered (kept for stores and atomics)
  uint8_t lanes;         // lane accesses
  uint8_t conflict;      // largest number of lanes on one 4-byte word (kept for atomics)
  uint64_t bytes[2];     // mask of bytes covered
};

class Coalescer {
 public:
  // Lines in the order of their first lane. `detail`: also byte masks, lane counts and conflicts. Lane accesses may cross a line.
  void run(const WarpAccess& access, bool detail);
  uint32_t size() const { return size_; }
  const LinePart& operator[](uint32_t i) const { return parts_[i]; }
  uint32_t sectors() const;

 private:
  LinePart& part_of(uint64_t line);
  void count_conflicts(const WarpAccess& access);
  std::array<LinePart, 2 * kWarpSize> parts_;  // at most two lines a lane
  uint32_t size_ = 0;
};

// Wavefronts that 32 banks of 4 bytes need for an access. Lanes of 8 (16) bytes go in 2 (4) phases of 16 (8) lanes. Within a phase lanes
// that read one word share it; different words of one bank take turns. Shared loads go in half as many phases when their lanes agree in
// pairs (Nsight's wavefronts of 54 address patterns on an H200, tests/data/shared_wavefronts_h200.json). With `serialise_words` (atomics)
// lanes of one word take turns too. Source: shared.csv (lds_conflict, lds64, lds128, broadcast), atomics.csv (reds_add).
uint32_t wavefronts(const WarpAccess& access, bool serialise_words);

}  // namespace ws
