// What a handler sees besides registers. The LLVM builder reads fields by the offsets that bindings export (context_fields()).
#pragma once

#include <cstdint>

#include "record.h"

namespace ws {

class Machine;
struct Cta;

// Scratch of one machine: lane addresses of the last memory operation and what compiled handlers need to reach memory.
struct alignas(64) Scratch {
  uint64_t addr[kWarpSize];  // byte addresses as the program computed them (space-relative or generic)
  uint8_t* host[kWarpSize];  // of translate()
  uint32_t fault = 0;        // FaultKind of the running instruction, 0: none
  uint32_t fault_lane = 0;
  Space space = Space::Global;     // resolved space of the last access (generic resolved; mixed generic accesses: that of the first lane)
  uint32_t access_mask = 0;        // lanes that accessed memory in the last memory operation
  uint8_t* global_host = nullptr;  // host address = global_host + device address
};

struct alignas(64) WarpContext {
  uint32_t tid_x[kWarpSize], tid_y[kWarpSize], tid_z[kWarpSize];  // per lane
  Scratch* scratch;
  Machine* machine;
  Cta* cta;
  const uint8_t* params;
  uint8_t* shared_host;  // host address = shared_host + shared address, for shared_lo <= address < shared_lo + shared_span
  uint64_t shared_lo, shared_span;
  uint8_t* local;        // local memory of the warp: lane l's bytes start at local + l * local_bytes
  uint64_t local_bytes;  // per lane
  uint64_t clock;        // %clock64
  uint64_t globaltimer;  // ns
  uint64_t gridid;
  uint32_t ntid_x, ntid_y, ntid_z;
  uint32_t ctaid_x, ctaid_y, ctaid_z;
  uint32_t nctaid_x, nctaid_y, nctaid_z;
  uint32_t warpid, nwarpid, smid, nsmid;
  uint32_t dynamic_smem, total_smem, aggr_smem;
  uint32_t warp_in_cta;
};

}  // namespace ws
