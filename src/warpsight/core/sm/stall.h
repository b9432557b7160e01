// Why a warp does not issue. Names are Nsight Compute's (smsp__average_warps_issue_stalled_NAME...); a resident warp's every cycle has one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace ws {

enum class Stall : uint8_t {
  Selected,          // issued
  NotSelected,       // could have issued, another warp did
  Wait,              // result of a fixed-latency instruction
  ShortScoreboard,   // result of shared memory, special functions and other variable-latency units of the SM
  LongScoreboard,    // result of global, local or texture memory
  Barrier,           // other warps at a CTA barrier
  Membar,            // its stores, after a fence
  NoInstruction,     // instruction fetch
  BranchResolving,   // target of a branch
  MathPipeThrottle,  // the pipe is busy
  MioThrottle,       // the memory input/output queue is full (shared memory, special functions)
  LgThrottle,        // the queue of global and local accesses is full
  TexThrottle,       // the texture queue is full
  DispatchStall,     // register-file ports
  Drain,             // after exit: accesses on their way
  Sleeping,          // nanosleep
  ImcMiss,           // constant cache
  Misc,              // lanes of its own that wait for each other
  Gmma,              // asynchronous matrix unit
  Count
};

inline constexpr size_t kStalls = static_cast<size_t>(Stall::Count);
inline constexpr std::array<const char*, kStalls> kStallNames = {"selected",
                                                                 "not_selected",
                                                                 "wait",
                                                                 "short_scoreboard",
                                                                 "long_scoreboard",
                                                                 "barrier",
                                                                 "membar",
                                                                 "no_instruction",
                                                                 "branch_resolving",
                                                                 "math_pipe_throttle",
                                                                 "mio_throttle",
                                                                 "lg_throttle",
                                                                 "tex_throttle",
                                                                 "dispatch_stall",
                                                                 "drain",
                                                                 "sleeping",
                                                                 "imc_miss",
                                                                 "misc",
                                                                 "gmma"};

// Throws std::invalid_argument naming the key whose value is no reason.
Stall stall_named(const std::string& name, const std::string& key);

}  // namespace ws
