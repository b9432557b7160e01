// Functions of whole warps that the lane language does not express lane by lane: tensor cores, textures, asynchronous copies, the device
// runtime. A semantic function calls one with Builder.runtime (lanes/builder.py); both builders call the same code.
#pragma once

#include <cstdint>
#include <span>

#include "context.h"

namespace ws {

// `constants` are parts of the instruction's form. in[i] and out[i] hold a value each: 32 lanes of 1, 2, 4, 8 or 16 bytes, lane after lane,
// at least 16-byte aligned (predicates: one byte a lane, 0 or 1). All lanes of every `out` must be written, those outside `mask` with
// anything. Memory is reached through the functions of memory.h. A failure sets scratch->fault (FaultKind) and fault_lane, with the lane's
// address in scratch->addr; the instruction's Kind must then be Memory.
using RuntimeFunction = void (*)(WarpContext* context, uint32_t mask, const int64_t* constants, const void* const* in, void* const* out);

struct RuntimeEntry {
  const char* name;  // "ws_..." as linked into compiled code
  RuntimeFunction function;
};

// Every runtime function, unit after unit. A unit exports its own table; runtime.cpp lists the tables.
std::span<const std::span<const RuntimeEntry>> runtime_tables();

}  // namespace ws
