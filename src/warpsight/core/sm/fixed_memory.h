// A memory side that answers everything after a fixed time and is never full: for tests of the SM alone, and to see what memory costs a
// kernel.
#pragma once

#include <memory>

#include "mem/port.h"

namespace ws {

// Read [fixed]. Selected by core.memory = "fixed".
std::unique_ptr<LoadStoreUnit> make_fixed_load_store_unit(const Config& config, LsuClient& client);
std::unique_ptr<MemorySystem> make_fixed_memory_system(const Config& config);

}  // namespace ws
