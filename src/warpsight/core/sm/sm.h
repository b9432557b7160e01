// A streaming multiprocessor: its warps from launch to exit, their operands, instruction lines, memory accesses, barriers and fences.
// Sub-cores choose what issues; the SM executes it and finds out when the warp can issue again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "exec/machine.h"
#include "mem/port.h"
#include "sm/icache.h"
#include "sm/op_table.h"
#include "sm/scoreboard.h"
#include "sm/subcore.h"
#include "sm/timing_plan.h"
#include "sm/warp_slot.h"

namespace ws {

// What a launch gives all SMs.
struct LaunchContext {
  Machine* machine = nullptr;
  const Program* program = nullptr;
  const TimingPlans* plans = nullptr;
  LineCounts* lines = nullptr;  // null: not asked for
  uint64_t code_line = 0;       // number of the program's first instruction line
  uint64_t last_line = 0;
  bool code_resident = false;  // the second instruction-cache level holds the program from the start
  uint32_t ctas_per_sm = 0;
  uint32_t shared_bytes = 0;  // of a CTA, as allocated
  uint32_t warps = 0;         // of a CTA
};

// A CTA that has left an SM.
struct CtaDone {
  Cycle when;
  uint16_t sm;
};

class Sm final : public LsuClient {
 public:
  Sm(const Config& config, CounterRegistry& counters, const OpTable& table, uint16_t number, MemorySystem& memory);
  ~Sm() override;

  void begin(const LaunchContext& context, Cycle now);
  void assign(uint64_t cta, Cycle when);
  uint32_t room() const { return context_.ctas_per_sm - resident_ - static_cast<uint32_t>(arrivals_.size()); }
  void deliver(const MemReply& reply, Cycle when) { inbox_.push_back({reply, when}), next_ = std::min(next_, when); }

  // Does everything due before `end`. CTAs that end are appended to `done`.
  void run(Cycle end, std::vector<CtaDone>& done);
  Cycle next_event() const { return next_; }
  void prefetch_slots(Cycle end);  // into the host's cache, for run(end) to come: first this,
  void prefetch_warps();           // a while later this
  bool idle() const { return resident_ == 0 && arrivals_.empty(); }
  bool waits_for_memory() const { return accesses_in_flight_ || storing_ || icache_.outstanding(); }
  Cycle last_drained() const { return last_drained_; }  // when a warp's last store reached L2
  void sync(Cycle now);                                 // brings the counters up to the cycle
  void flush();
  void reset();  // after an aborted launch

  uint16_t number() const { return number_; }
  uint32_t subcores() const { return n_subcores_; }

  // For sub-cores; `slot` counts within the sub-core.
  struct Executed {
    bool issued;
    uint32_t active, on;  // threads, and those whose guard held
  };
  WarpSlot& slot(uint32_t subcore, uint32_t slot) { return slots_[slot * n_subcores_ + subcore]; }
  Cycle can_access(uint32_t subcore, uint32_t record, Cycle now) {
    return lsu_->can_issue(now, static_cast<uint8_t>(subcore), this->record(record).space);
  }
  Executed execute(uint32_t subcore, uint32_t slot, const OpClass& op, Cycle now);  // the issue slot with which the instruction executes
  void issue_only(uint32_t subcore, uint32_t slot, const OpClass& op, Cycle now);   // any other
  Cycle& shared_unit_free(uint8_t unit) { return shared_unit_free_[unit]; }
  const TimingPlans& plans() const { return *context_.plans; }
  const Record& record(uint32_t index) const { return context_.program->records[index]; }
  const uint16_t* uses(const Record& record) const { return context_.program->uses.data() + record.uses; }
  LineCounts* lines() const { return context_.lines; }

  // LsuClient
  void complete(uint32_t token, Cycle when) override;
  void stores_drained(uint32_t group, Cycle when) override;
  void line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) override;

 private:
  struct Arrival {
    uint64_t cta;
    Cycle when;
  };
  struct Inbound {
    MemReply reply;
    Cycle when;
  };
  struct CtaSlot {
    Cta* cta = nullptr;
    uint32_t live = 0;  // warps
    Cycle ends = 0;
    std::vector<uint32_t> warps;  // slots
  };
  struct Access {  // a memory instruction on its way
    uint32_t slot;
    uint32_t record;
    uint32_t frame;
  };
  struct Need {  // when an instruction's operands allow it to issue
    Cycle cycle = 0;
    Stall reason = Stall::Wait;
    bool pending = false;
  };

  void launch(uint64_t cta);
  void prepare(uint32_t id, Cycle now);
  void wake(uint32_t id, Cycle now);
  bool run_for_free(uint32_t id, const Record& record, Cycle now);
  void time_next(uint32_t id, const Record& record, Cycle now);
  Need operands(uint32_t id, const Record& record, const OpClass& op);
  Cycle fetch(WarpSlot& w, uint32_t id, uint32_t address, Cycle now);
  void charge(uint32_t id, Stall reason, Cycle until);
  void schedule(uint32_t id);
  void suspend(uint32_t id, SlotState state, Stall reason);
  void leave(uint32_t id, Cycle now);
  void retire(uint32_t id, Cycle when);
  uint32_t access(uint32_t id, const Record& record, uint32_t frame, const Step& step, const OpClass& op, Cycle now);
  void next_issue_slot(uint32_t id, const OpClass& op, Cycle result);
  void writes_ready(uint32_t id, const Record& record, uint32_t frame, Scoreboard::Entry entry);
  void control(uint32_t id, const Record& record, const Step& step, const OpClass& op, Cycle now);
  void release_barrier(const CtaSlot& cta, Cycle when, Cycle now);
  bool fence_open(uint32_t id) const { return slots_[id].outstanding == 0 && lsu_->drained(id); }
  void deliver_now(const MemReply& reply);
  void line_arrived(uint64_t line);
  SubCore& subcore_of(uint32_t id) { return *subcores_[id % n_subcores_]; }

  const uint16_t number_;
  const uint32_t n_subcores_;
  const OpTable& table_;
  double ns_per_cycle_;
  uint32_t sms_;
  // Cycles; the keys of [issue], [barrier] and [fence] say where they come from.
  uint32_t guard_, late_reads_, buffer_bytes_, barrier_interval_, barrier_latency_, sleep_, first_fetch_, constant_latency_;
  std::vector<uint8_t> cross_;  // [producer * pipes + consumer]: what a result takes longer to another pipe
  std::array<uint32_t, 4> fence_latency_{};
  uint32_t fence_after_stores_;

  std::unique_ptr<LoadStoreUnit> lsu_;
  InstructionCaches icache_;
  LaunchContext context_;
  Scoreboard scoreboard_;
  std::vector<std::unique_ptr<SubCore>> subcores_;
  std::vector<WarpSlot> slots_;
  std::vector<CtaSlot> ctas_;
  std::vector<Access> accesses_;
  std::vector<uint32_t> free_accesses_;
  std::vector<Cycle> shared_unit_free_;
  std::deque<Arrival> arrivals_;
  std::vector<Inbound> inbox_;
  size_t inbox_head_ = 0;
  std::vector<CtaDone>* done_ = nullptr;
  std::vector<uint64_t> due_;  // by sub-core: what prefetch_slots() found

  Cycle now_ = 0, next_ = kNever;
  Cycle barrier_free_ = 0, last_drained_ = 0;
  Cycle code_ready_ = 0;       // from when the launch's warps can fetch,
  Cycle constants_ready_ = 0;  // and have its constant bank; kNever: not asked for yet
  uint64_t age_ = 0;
  uint32_t resident_ = 0, accesses_in_flight_ = 0, storing_ = 0;
  std::vector<bool> stores_;  // by slot: stores not drained

  // Counters. The sums hold ends minus starts; what is still there adds the present cycle (sync).
  uint64_t cycles_active_ = 0, warps_active_ = 0, ctas_launched_ = 0;
  uint64_t active_sum_ = 0, warps_sum_ = 0, live_warps_ = 0;
};

}  // namespace ws
