// Lifecycle of CTAs and the execution of one instruction. Control flow is in control.cpp, barriers in barrier.cpp, the functional loop in
// run.cpp.
#include "machine.h"

#include <cstring>

namespace ws {

Machine::Machine(const Program& program, Memory& memory, const LaunchShape& shape, std::vector<uint8_t> params, uint32_t reserved_shared)
    : program_(program), memory_(memory), shape_(shape), params_(std::move(params)), reserved_shared_(reserved_shared) {
  params_.resize((params_.size() + 15) / 16 * 16);
  scratch_.global_host = memory.host(kGlobalBase) - kGlobalBase;
}

Machine::~Machine() = default;

Cta* Machine::create_cta(uint64_t id, uint32_t sm, uint32_t nsm) {
  std::unique_ptr<Cta> owner;
  const uint32_t n_warps = shape_.warps();
  if (pool_.empty()) {
    owner = std::make_unique<Cta>();
    owner->warps.resize(n_warps);
    owner->storage = std::make_unique<uint8_t[]>(uint64_t{program_.stack_bytes} * n_warps + 64);
    owner->regs = owner->storage.get() + (64 - reinterpret_cast<uintptr_t>(owner->storage.get()) % 64) % 64;
  } else {
    owner = std::move(pool_.back());
    pool_.pop_back();
  }
  Cta& cta = *owner;
  cta.machine = this;
  cta.id = id;
  cta.ctaid[0] = static_cast<uint32_t>(id % shape_.grid[0]);
  cta.ctaid[1] = static_cast<uint32_t>(id / shape_.grid[0] % shape_.grid[1]);
  cta.ctaid[2] = static_cast<uint32_t>(id / shape_.grid[0] / shape_.grid[1]);
  cta.sm = sm;
  cta.live_warps = n_warps;
  cta.live_threads = shape_.threads();
  cta.barriers.fill(Barrier{});
  cta.shared.assign(reserved_shared_ + program_.static_shared + shape_.dynamic_shared, 0);
  cta.local.assign(uint64_t{program_.local_bytes} * kWarpSize * n_warps, 0);
  // Registers of a fresh warp are zero, so that a program that reads one before writing it is at least repeatable.
  std::memset(cta.regs, 0, uint64_t{program_.stack_bytes} * n_warps);
  for (uint32_t w = 0; w < n_warps; w++) {
    Warp& warp = cta.warps[w];
    const uint32_t first = w * kWarpSize, left = shape_.threads() - first;
    warp.live = left >= kWarpSize ? ~0u : (1u << left) - 1;
    warp.regs = cta.regs + uint64_t{program_.stack_bytes} * w;
    warp.splits.assign(1, Split{});
    warp.splits[0].mask = warp.live;
    warp.frames.clear();
    warp.state = WarpState::Ready;
    warp.slice = warp.quantum = 0;
    warp.polled = false;
    warp.index = w;
    warp.executed = 0;
    warp.client = nullptr;
    WarpContext& c = warp.context;
    for (uint32_t l = 0; l < kWarpSize; l++) {
      const uint32_t t = first + l;
      c.tid_x[l] = t % shape_.block[0];
      c.tid_y[l] = t / shape_.block[0] % shape_.block[1];
      c.tid_z[l] = t / shape_.block[0] / shape_.block[1];
    }
    c.scratch = &scratch_;
    c.machine = this;
    c.cta = &cta;
    c.params = params_.data();
    c.shared_host = cta.shared.data();
    c.shared_lo = reserved_shared_;
    c.shared_span = cta.shared.size() - reserved_shared_;
    c.local_bytes = program_.local_bytes;
    c.local = cta.local.data() + uint64_t{program_.local_bytes} * kWarpSize * w;
    c.clock = c.globaltimer = 0;
    c.gridid = 1;
    c.ntid_x = shape_.block[0], c.ntid_y = shape_.block[1], c.ntid_z = shape_.block[2];
    c.ctaid_x = cta.ctaid[0], c.ctaid_y = cta.ctaid[1], c.ctaid_z = cta.ctaid[2];
    c.nctaid_x = shape_.grid[0], c.nctaid_y = shape_.grid[1], c.nctaid_z = shape_.grid[2];
    c.warpid = w;
    c.nwarpid = n_warps;
    c.smid = sm;
    c.nsmid = nsm;
    c.dynamic_smem = shape_.dynamic_shared;
    c.total_smem = program_.static_shared + shape_.dynamic_shared;
    c.aggr_smem = reserved_shared_ + c.total_smem;
    c.warp_in_cta = w;
  }
  live_.push_back(std::move(owner));
  return live_.back().get();
}

void Machine::destroy_cta(Cta* cta) {
  for (auto& owner : live_) {
    if (owner.get() != cta) continue;
    pool_.push_back(std::move(owner));
    owner = std::move(live_.back());
    live_.pop_back();
    progress_.ctas_done++;
    return;
  }
}

uint32_t Machine::guarded(const Warp& warp, const Split& split, const Record& record) const {
  if (record.guard == kNoGuard) return split.mask;
  uint32_t p;
  std::memcpy(&p, warp.regs + split.frame + record.guard, 4);
  return (record.flags & kGuardNegate ? ~p : p) & split.mask;
}

void Machine::execute(Warp& warp, const Split& split, const Record& record, uint32_t mask) {
  if (mask == 0 || (!record.handler && !interpreter_)) return;
  uint8_t* regs = warp.regs + split.frame;
  if (interpreter_) {
    interpreter_(interpreter_user_, static_cast<uint32_t>(&record - program_.records.data()), regs, mask, &warp.context);
  } else {
    record.handler(regs, program_.operands.data() + record.operands, mask, &warp.context);
  }
  if (record.kind == Kind::Memory && scratch_.fault) {
    const auto kind = static_cast<FaultKind>(scratch_.fault);
    scratch_.fault = 0;
    const bool store = record.memory_op != MemoryOp::Load;
    fail(warp, split, kind, scratch_.fault_lane, scratch_.addr[scratch_.fault_lane], record.bytes, record.space, store);
  }
}

void Machine::fail(const Warp& warp, const Split& split, FaultKind kind, uint32_t lane, uint64_t address, uint32_t bytes, Space space,
                   bool store) const {
  const WarpContext& c = warp.context;
  throw KernelFault{static_cast<uint32_t>(kind),
                    waits_at(split),
                    c.cta->id,
                    {c.ctaid_x, c.ctaid_y, c.ctaid_z},
                    {c.tid_x[lane], c.tid_y[lane], c.tid_z[lane]},
                    lane,
                    address,
                    bytes,
                    space,
                    store};
}

Step Machine::step(Warp& warp) {
  Split& split = warp.splits[0];
  const Record& record = program_.records[split.pc];
  Step step;
  step.record = &record;
  step.pc = split.pc;
  step.active = split.mask;
  if ((record.kind == Kind::SyncAlu || record.kind == Kind::WarpSync || (record.flags & kWholeWarp)) && must_wait(warp, record)) {
    step.executed = false;
    choose(warp);
    return step;
  }
  const uint32_t mask = guarded(warp, split, record);
  step.mask = mask;
  warp.executed++;
  split.last_run = warp.executed;
  progress_.executed++;
  progress_.thread_executed += static_cast<uint64_t>(__builtin_popcount(mask));
  if (!progress_.per_record.empty()) progress_.per_record[step.pc]++;
  switch (record.kind) {
    case Kind::Memory:
      if (record.memory_op == MemoryOp::Atomic || record.cache_op >= CacheOp::Volatile) warp.polled = true;
      [[fallthrough]];
    case Kind::Alu:
    case Kind::SyncAlu:
      execute(warp, split, record, mask);
      split.pc++;
      break;
    case Kind::Branch:
      branch(warp, record, mask, step);
      break;
    case Kind::BranchIndexed:
      branch_indexed(warp, record, mask, step);
      break;
    case Kind::Call:
      call(warp, record, mask);
      break;
    case Kind::CallIndirect:
      fail(warp, split, FaultKind::BadBranchIndex, __builtin_ctz(split.mask));
    case Kind::Return:
      give_back(warp, record, mask, step);
      break;
    case Kind::Exit:
      leave(warp, mask, step);
      break;
    case Kind::Trap:
    case Kind::Breakpoint:
      if (mask) fail(warp, split, record.kind == Kind::Trap ? FaultKind::Trap : FaultKind::Breakpoint, __builtin_ctz(mask));
      split.pc++;
      break;
    case Kind::Barrier:
      arrive(warp, record, mask, step);
      break;
    case Kind::Sleep: {
      if (mask) {
        const int64_t operand = program_.operands[record.operands];
        const auto* row = reinterpret_cast<const uint32_t*>(warp.regs + split.frame + operand);
        if (record.aux & 1) {
          step.sleep_ns = static_cast<uint32_t>(operand);
        } else {
          for (uint32_t m = mask; m; m &= m - 1) step.sleep_ns = std::max(step.sleep_ns, row[__builtin_ctz(m)]);
        }
      }
      warp.polled = true;
      split.pc++;
      break;
    }
    case Kind::WarpSync:
    case Kind::Fence:
    case Kind::Nop:
      split.pc++;
      break;
  }
  if (warp.splits.size() > 1) choose(warp);
  return step;
}

void Machine::timing_addresses(const Warp& warp, uint64_t out[kWarpSize]) const {
  // Local memory lies beyond all of device memory: a word of the 32 lanes of a warp is one line, as hardware interleaves it.
  constexpr uint64_t kLocalPhysical = kGlobalBase + (uint64_t{1} << 42);
  const WarpContext& c = warp.context;
  const Space space = scratch_.space;
  for (uint32_t m = scratch_.access_mask; m; m &= m - 1) {
    const uint32_t lane = __builtin_ctz(m);
    uint64_t a = scratch_.addr[lane];
    if (space == Space::Shared) {
      if (a >= kSharedWindow) a -= kSharedWindow;
      a += c.cta->shared_base;
    } else if (space == Space::Local) {
      if (a >= kLocalWindow) a -= kLocalWindow;
      const uint64_t slot = uint64_t{c.smid} * 64 + c.warpid % 64;
      a = kLocalPhysical + slot * ((c.local_bytes + 3) / 4 * 128) + a / 4 * 128 + lane * 4 + a % 4;
    }
    out[lane] = a;
  }
}

}  // namespace ws
