#include "bind.h"
#include "machine_handle.h"

namespace ws {
void add_lane_symbols(nanobind::dict&) {}
void bind_lanes(nanobind::module_&) {}
}  // namespace ws
