// The Python module warpsight._core.
#include "bind.h"

NB_MODULE(_core, m) {
  m.doc() = "warpsight's compiled part: functional machine and cycle-level core";
  ws::bind_exec(m);
  ws::bind_lanes(m);
  ws::bind_mem(m);
  ws::bind_timing(m);
}
