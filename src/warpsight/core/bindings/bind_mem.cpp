#include "bind.h"

namespace ws {
void bind_mem(nanobind::module_&) {}
}  // namespace ws
