// How many CTAs of a launch an SM holds at a time (CUDA Programming Guide, hardware multithreading).
#pragma once

#include <cstdint>

#include "base/config.h"
#include "exec/machine.h"

namespace ws {

struct Occupancy {
  uint32_t ctas;          // 0: none fits
  uint32_t shared_bytes;  // of a CTA, as allocated
  const char* limit;      // what bounds it, "warps", "CTAs", "registers" or "shared memory"
};

Occupancy occupancy_of(const Config& config, const Program& program, const LaunchShape& shape);

}  // namespace ws
