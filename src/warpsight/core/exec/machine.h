// The functional machine: warps with diverging lanes, CTAs with barriers, memory spaces. Functional mode drives it with run(); the timing
// core creates CTAs itself and calls step() for a warp when it issues. Both therefore compute the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "memory.h"
#include "record.h"

namespace ws {

// Kernel code: tables made by Python. Immutable after construction; shared by all launches of a kernel.
struct Program {
  std::string name;
  std::vector<Record> records;
  std::vector<int64_t> operands;
  std::vector<uint16_t> uses;
  std::vector<uint32_t> branch_table;
  std::vector<std::string> timing;  // timing entries used, by name; Record::timing indexes it
  uint32_t frame_bytes = 0;         // of the entry's frame: register rows, then predicates; a multiple of 64
  uint32_t stack_bytes = 0;         // register block of a warp: deepest chain of frames; a multiple of 64
  uint32_t registers = 0;           // 32-bit registers a thread needs (estimate of what ptxas would allocate)
  uint32_t barriers = 0;            // named barriers used
  uint32_t local_bytes = 0;         // local memory a thread needs
  uint32_t static_shared = 0;       // bytes, without the system's reservation
};

struct LaunchShape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared = 0;
  uint64_t ctas() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
  uint32_t threads() const { return block[0] * block[1] * block[2]; }
  uint32_t warps() const { return (threads() + kWarpSize - 1) / kWarpSize; }
};

// Where a call returns to. Hash-consed per warp, so that equal call stacks are the same pointer.
struct CallFrame {
  uint32_t return_pc;
  uint32_t frame;  // of the caller
  uint32_t depth;
  const CallFrame* parent;
};

enum class SplitState : uint8_t { Ready = 0, AtBarrier = 1, AtSync = 2 };

// Lanes of a warp that share a program counter, frame and call stack.
struct Split {
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint32_t frame = 0;  // byte offset of the frame in the register block
  const CallFrame* call = nullptr;
  SplitState state = SplitState::Ready;
  uint8_t barrier = 0;
  uint32_t wait_mask = 0;   // AtSync: lanes that must arrive
  uint32_t result_row = 0;  // AtBarrier with reduction: frame offset of the destination
  BarrierOp op = BarrierOp::Sync;
  uint64_t last_run = 0;  // instruction count of the warp when the split last ran, for fairness
};

// The instruction that a split executes next or, at a barrier, waits in (its pc is already behind it).
inline uint32_t waits_at(const Split& split) { return split.state == SplitState::AtBarrier ? split.pc - 1 : split.pc; }

enum class WarpState : uint8_t { Ready = 0, Blocked = 1, Finished = 2 };

struct Warp {
  WarpContext context;
  uint8_t* regs = nullptr;
  std::vector<Split> splits;  // splits[0] runs next when state is Ready
  std::vector<std::unique_ptr<CallFrame>> frames;
  uint32_t live = 0;  // lanes that have not exited
  WarpState state = WarpState::Ready;
  uint32_t slice = 0;      // weight of backward branches since the last rotation, for fairness between splits
  uint32_t quantum = 0;    // instructions for which the present split keeps running although another is first in order
  bool polled = false;     // an atomic or a polling load ran since the last backward branch
  uint32_t index = 0;      // in the CTA
  uint64_t executed = 0;   // instructions
  void* client = nullptr;  // the timing core's own warp slot
  uint32_t pc() const { return splits[0].pc; }
  uint32_t mask() const { return splits[0].mask; }
};

struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // threads, 0: all that live in the CTA
  uint32_t popc = 0;      // reduction state
  bool all = true, any = false;
};

struct Cta {
  uint64_t id = 0;
  uint32_t ctaid[3] = {0, 0, 0};
  Machine* machine = nullptr;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  std::vector<uint8_t> shared;
  std::vector<uint8_t> local;
  std::unique_ptr<uint8_t[]> storage;
  uint8_t* regs = nullptr;  // of warp w at regs + w * stack_bytes, 64-byte aligned
  uint32_t live_warps = 0;
  uint32_t live_threads = 0;
  uint32_t sm = 0;
  uint64_t shared_base = 0;  // where the SM's shared memory holds this CTA, for the timing of banks
};

// What one step did. `record` is the instruction executed, `mask` the lanes whose guard held.
struct Step {
  const Record* record = nullptr;
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint32_t active = 0;    // lanes of the split, before the guard
  bool executed = true;   // false: the split only found that it must wait (WarpSync, SyncAlu) and nothing was issued
  bool diverged = false;  // a branch split the warp
  bool released = false;  // a barrier opened: warps of the CTA may have become Ready
  uint32_t sleep_ns = 0;  // of a Sleep
};

// Thrown by step() and run(); bindings turn it into Python errors with names, lines and allocations.
struct KernelFault {
  uint32_t kind;  // FaultKind in memory.h
  uint32_t pc;
  uint64_t cta;
  uint32_t ctaid[3];
  uint32_t tid[3];
  uint32_t lane;
  uint64_t address;
  uint32_t bytes;
  Space space;
  bool store;
};

struct Progress {
  uint64_t executed = 0;  // warp-level records executed
  uint64_t thread_executed = 0;
  uint64_t ctas_done = 0;
  std::vector<uint64_t> per_record;  // executions per record, when asked for
};

class Machine {
 public:
  Machine(const Program& program, Memory& memory, const LaunchShape& shape, std::vector<uint8_t> params, uint32_t reserved_shared);
  ~Machine();

  // Timing core: a CTA with its warps at the entry; destroyed (memory goes back to a pool) once all warps have finished.
  Cta* create_cta(uint64_t id, uint32_t sm, uint32_t nsm);
  void destroy_cta(Cta* cta);

  // Executes the next instruction of the warp's first split. The warp must be Ready. May change the state of other warps of the CTA
  // (barriers). Set warp.context.clock before. Throws KernelFault.
  Step step(Warp& warp);

  // The record that step() would execute next.
  const Record& next(const Warp& warp) const { return program_.records[warp.splits[0].pc]; }

  // Addresses of the last memory step, with generic space resolved, ready for WarpAccess: local ones interleaved by lane as hardware does.
  void timing_addresses(const Warp& warp, uint64_t out[kWarpSize]) const;

  // Functional mode: CTAs in order, `resident` at most at a time; a CTA that makes no end gives way to others after a slice. Calls `poll`
  // now and then (Ctrl-C, progress); it returns false to stop. budget: records to execute before stopping, 0: none. Returns false when
  // stopped by budget or poll.
  bool run(uint64_t resident, uint64_t budget, bool (*poll)(void* user, const Progress&), void* user);

  // One line per kind of place at which warps are, for timeouts and deadlocks: pc, state, how many warps, one example.
  struct Place {
    uint32_t pc;
    SplitState state;
    uint8_t barrier;
    uint64_t warps;
    uint64_t cta;
    uint32_t warp;
    uint32_t mask;
    uint32_t wait_mask;
    uint32_t arrived, expected;
  };
  std::vector<Place> places() const;

  const Program& program() const { return program_; }
  const LaunchShape& shape() const { return shape_; }
  Memory& memory() { return memory_; }
  Scratch& scratch() { return scratch_; }
  Progress& progress() { return progress_; }
  // Interpreter to call instead of compiled handlers: (user, record index, regs with frame applied, mask, context).
  using Interpreter = void (*)(void* user, uint32_t record, uint8_t* regs, uint32_t mask, WarpContext* context);
  void interpret_with(Interpreter interpreter, void* user) { interpreter_ = interpreter, interpreter_user_ = user; }

  uint64_t param_bytes() const { return params_.size(); }
  uint32_t reserved_shared() const { return reserved_shared_; }
  void count_records() { progress_.per_record.assign(program_.records.size(), 0); }

 private:
  uint32_t guarded(const Warp& warp, const Split& split, const Record& record) const;
  void execute(Warp& warp, const Split& split, const Record& record, uint32_t mask);
  void branch(Warp& warp, const Record& record, uint32_t taken, Step& step);
  void branch_indexed(Warp& warp, const Record& record, uint32_t mask, Step& step);
  void call(Warp& warp, const Record& record, uint32_t mask);
  void leave(Warp& warp, uint32_t mask, Step& step);
  void give_back(Warp& warp, const Record& record, uint32_t mask, Step& step);
  void arrive(Warp& warp, const Record& record, uint32_t mask, Step& step);
  bool open_if_complete(Cta& cta, uint32_t id);
  bool must_wait(Warp& warp, const Record& record);
  void choose(Warp& warp);
  enum class CtaEnd : uint8_t { Done, Slice, Stuck };
  CtaEnd run_cta(Cta& cta, uint64_t records);
  uint64_t run_warp(Warp& warp, uint64_t records);
  [[noreturn]] void fail(const Warp& warp, const Split& split, FaultKind kind, uint32_t lane, uint64_t address = 0, uint32_t bytes = 0,
                         Space space = Space::Global, bool store = false) const;

  const Program& program_;
  Memory& memory_;
  LaunchShape shape_;
  std::vector<uint8_t> params_;
  uint32_t reserved_shared_;
  Scratch scratch_;
  Progress progress_;
  Interpreter interpreter_ = nullptr;
  void* interpreter_user_ = nullptr;
  std::vector<std::unique_ptr<Cta>> pool_;  // finished CTAs, to be used again
  std::vector<std::unique_ptr<Cta>> live_;
};

}  // namespace ws
