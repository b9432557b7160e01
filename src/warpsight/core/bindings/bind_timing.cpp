#include "bind.h"

namespace ws {
void bind_timing(nanobind::module_&) {}
}  // namespace ws
