// One function per file of bindings; module.cpp calls them.
#pragma once

#include <nanobind/nanobind.h>

namespace ws {
void bind_exec(nanobind::module_& m);
void bind_lanes(nanobind::module_& m);
void bind_mem(nanobind::module_& m);
void bind_timing(nanobind::module_& m);
}  // namespace ws
