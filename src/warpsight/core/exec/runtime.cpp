// The list of all tables of runtime functions.
#include "runtime.h"

#include <array>
#include <cstring>

namespace ws {
namespace {

// For tests of the mechanism: out[0] = in[0] + constants[0], 32-bit lanes.
void add_constant(WarpContext*, uint32_t, const int64_t* constants, const void* const* in, void* const* out) {
  uint32_t lanes[kWarpSize];
  std::memcpy(lanes, in[0], sizeof(lanes));
  for (uint32_t& x : lanes) x += static_cast<uint32_t>(constants[0]);
  std::memcpy(out[0], lanes, sizeof(lanes));
}

constexpr RuntimeEntry kTest[] = {{"ws_test_add_constant", &add_constant}};

}  // namespace

std::span<const std::span<const RuntimeEntry>> runtime_tables() {
  static const std::array tables{
      std::span<const RuntimeEntry>(kTest),
  };
  return tables;
}

}  // namespace ws
