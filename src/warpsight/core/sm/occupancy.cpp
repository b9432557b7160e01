#include "sm/occupancy.h"

#include <array>
#include <utility>

namespace ws {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Occupancy occupancy_of(const Config& config, const Program& program, const LaunchShape& shape) {
  const uint64_t warps = shape.warps();
  const uint64_t max_ctas = config.u("device.max_ctas_per_sm");
  const uint64_t shared = round_up(uint64_t{program.static_shared} + shape.dynamic_shared + config.u("sm.reserved_shared"),
                                   config.u("device.shared_allocation_unit"));
  const uint64_t registers = warps * round_up(uint64_t{program.registers} * kWarpSize, config.u("device.register_allocation_unit"));
  const auto fit = [max_ctas](uint64_t total, uint64_t each) { return each ? total / each : max_ctas; };
  const std::array<std::pair<uint64_t, const char*>, 4> bounds = {{
      {fit(config.u("device.max_threads_per_sm") / kWarpSize, warps), "warps"},
      {max_ctas, "CTAs"},
      {fit(config.u("device.registers_per_sm"), registers), "registers"},
      {fit(config.u("device.shared_per_sm"), shared), "shared memory"},
  }};
  auto least = bounds[0];
  for (const auto& bound : bounds)
    if (bound.first < least.first) least = bound;
  return {static_cast<uint32_t>(least.first), static_cast<uint32_t>(shared), least.second};
}

}  // namespace ws
