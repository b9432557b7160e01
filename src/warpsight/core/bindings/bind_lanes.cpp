// Runtime functions of the lane language, for the linker of compiled handlers.
#include "bind.h"
#include "exec/directed.h"
#include "exec/memory.h"
#include "machine_handle.h"

namespace nb = nanobind;

namespace ws {

void add_lane_symbols(nb::dict& symbols) {
  symbols["ws_row"] = reinterpret_cast<uintptr_t>(&ws_row);
  symbols["ws_directed_f32"] = reinterpret_cast<uintptr_t>(&ws_directed_f32);
  symbols["ws_directed_f64"] = reinterpret_cast<uintptr_t>(&ws_directed_f64);
}

void bind_lanes(nb::module_&) {}

}  // namespace ws
