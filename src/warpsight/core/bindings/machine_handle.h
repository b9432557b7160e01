// The Python object that owns a Machine, and keeps alive what the Machine refers to.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "exec/machine.h"

namespace ws {

struct MachineHandle {
  nanobind::object program, memory, interpreter;
  std::unique_ptr<Machine> machine;
};

void add_lane_symbols(nanobind::dict& symbols);  // bind_lanes.cpp: runtime functions of the lane language

}  // namespace ws
