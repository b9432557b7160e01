#include "sm/gpu.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "sm/fixed_memory.h"
#include "sm/occupancy.h"

namespace ws {
namespace {

constexpr uint32_t kLineBytes = 128;
constexpr uint64_t kCodeBase = kGlobalBase + (uint64_t{1} << 43);  // beyond device memory and what local memory is mapped to
constexpr auto kPollEvery = std::chrono::milliseconds(50);
constexpr uint32_t kWindowsPerClock = 64;  // windows between two looks at the host's clock

Topology topology_of(const Config& config) {
  Topology topology;
  topology.sm_mhz = config.real("device.sm_mhz");
  for (double gpc : config.list("gpu.gpc_of_sm")) topology.gpc_of_sm.push_back(static_cast<uint16_t>(gpc));
  for (double tpc : config.list("gpu.tpc_of_sm")) topology.tpc_of_sm.push_back(static_cast<uint16_t>(tpc));
  if (topology.gpc_of_sm.size() != config.u("device.sms"))
    throw std::invalid_argument("gpu.gpc_of_sm needs one entry for each of device.sms");
  if (topology.tpc_of_sm.size() != config.u("device.sms"))
    throw std::invalid_argument("gpu.tpc_of_sm needs one entry for each of device.sms");
  return topology;
}

std::unique_ptr<MemorySystem> memory_of(const Config& config, CounterRegistry& counters) {
  if (config.text("core.memory") == "fixed") return make_fixed_memory_system(config);
  return make_memory_system(config, counters, topology_of(config));
}

}  // namespace

Gpu::Gpu(const Config& config)
    : config_(config),
      sm_mhz_(config.real("device.sm_mhz")),
      start_overhead_(static_cast<uint32_t>(config.u("launch.start_cycles"))),
      end_overhead_(static_cast<uint32_t>(config.u("launch.end_cycles"))),
      table_(config),
      scheduler_(config),
      memory_(memory_of(config, registry_)),
      sampler_(registry_),
      next_code_line_(kCodeBase / kLineBytes) {
  const uint64_t sms = config.u("device.sms");
  for (uint64_t i = 0; i < sms; ++i) sms_.push_back(std::make_unique<Sm>(config, registry_, table_, static_cast<uint16_t>(i), *memory_));
  // The shortest way of a message out of an SM and of a new CTA into one.
  window_ = std::min(
      {config.u("l1.miss_latency"), config.u("const.miss_latency"), config.u("icache.miss_latency"), config.u("launch.restart_cycles")});
  window_ = std::max<Cycle>(window_, 1);
}

Gpu::~Gpu() = default;

uint64_t Gpu::code_line(const Program& program) {
  const std::string key = program.name + "/" + std::to_string(program.records.size());
  const auto [it, added] = code_.try_emplace(key, next_code_line_);
  if (added) {
    uint32_t bytes = 0;
    for (const Record& record : program.records) bytes = std::max(bytes, record.address);
    next_code_line_ += bytes / kLineBytes + 2;
  }
  return it->second;
}

LaunchResult Gpu::launch(Machine& machine, const LaunchOptions& options) {
  const Program& program = machine.program();
  const LaunchShape& shape = machine.shape();
  const Occupancy fit = occupancy_of(config_, program, shape);
  if (!fit.ctas) throw std::invalid_argument(std::string("no SM can hold a CTA of this launch, for lack of ") + fit.limit);
  const TimingPlans plans(program, table_);
  LaunchResult result;
  result.ctas_per_sm = fit.ctas;
  result.occupancy_limit = fit.limit;
  if (options.lines) result.lines = std::make_unique<LineCounts>(program.records.size());

  LaunchContext context;
  context.machine = &machine;
  context.program = &program;
  context.plans = &plans;
  context.lines = result.lines.get();
  context.code_line = code_line(program);
  context.last_line = context.code_line;
  for (const Record& record : program.records)
    context.last_line = std::max(context.last_line, context.code_line + record.address / kLineBytes);
  context.code_resident = config_.flag("launch.code_resident");
  context.ctas_per_sm = fit.ctas;
  context.shared_bytes = fit.shared_bytes;
  context.warps = shape.warps();
  for (auto& sm : sms_) sm->begin(context, now_);

  const Cycle start = now_;
  sampler_.begin(options.samples, start);
  last_end_ = start;
  ctas_running_ = 0;
  for (const CtaStart& cta : scheduler_.begin(shape.ctas(), fit.ctas, start + start_overhead_)) {
    sms_[cta.sm]->assign(cta.cta, cta.when);
    ++ctas_running_;
  }
  bool whole = false;
  struct Guard {  // leaves a usable GPU behind, however the launch ends
    Gpu& gpu;
    const bool& whole;
    ~Guard() {
      if (whole) return;
      for (auto& sm : gpu.sms_) sm->reset();
      gpu.memory_->reset();
      gpu.now_ = 1;
    }
  } guard{*this, whole};
  result.end = run(machine, options, start);
  sync();
  result.cycles = now_ - start;
  if (result.end == LaunchEnd::Finished) {
    Cycle end = last_end_;
    for (const auto& sm : sms_) end = std::max(end, sm->last_drained());
    result.cycles = end + end_overhead_ - start;
    now_ = std::max(now_, end + end_overhead_);
  }
  result.time_us = static_cast<double>(result.cycles) / sm_mhz_;
  sampler_.end(now_);
  derive(result);
  whole = result.end == LaunchEnd::Finished;
  return result;
}

LaunchEnd Gpu::run(Machine& machine, const LaunchOptions& options, Cycle start) {
  std::vector<CtaDone> done;
  auto polled = std::chrono::steady_clock::now();
  for (uint64_t turn = 1;; ++turn) {
    const bool storing = ctas_running_ == 0 && std::any_of(sms_.begin(), sms_.end(), [](const auto& sm) { return sm->waits_for_memory(); });
    if (ctas_running_ == 0 && !storing) return LaunchEnd::Finished;
    const Cycle next = next_event();
    if (next == kNever) deadlock(machine);
    while (sampler_.next() < next) sample(sampler_.next());  // nothing happens until then
    now_ = std::max(now_, next);
    const Cycle end = now_ + window_;
    memory_->run(end - 1, *this);
    due_.clear();
    for (auto& sm : sms_) {
      if (sm->next_event() < end) due_.push_back(sm.get());
    }
    for (size_t i = 0; i < due_.size(); ++i) {
      if (i + 2 < due_.size()) due_[i + 2]->prefetch_slots(end);
      if (i && i + 1 < due_.size()) due_[i + 1]->prefetch_warps();
      due_[i]->run(end, done);
    }
    now_ = end;
    if (!done.empty()) refill(done);
    if (end >= sampler_.next()) sample(end);  // at a window's end, so that samples change nothing
    if (options.budget_cycles && end - start >= options.budget_cycles) return LaunchEnd::CycleBudget;
    if (options.budget_instructions && machine.progress().executed >= options.budget_instructions && ctas_running_)
      return LaunchEnd::InstructionBudget;
    if (turn % kWindowsPerClock) continue;
    const auto clock = std::chrono::steady_clock::now();
    if (!options.poll || clock - polled < kPollEvery) continue;
    polled = clock;
    if (!options.poll(machine.progress(), end - start)) return LaunchEnd::Polled;
  }
}

// New CTAs in the place of those that have ended.
void Gpu::refill(std::vector<CtaDone>& done) {
  std::sort(done.begin(), done.end(), [](const CtaDone& a, const CtaDone& b) { return a.when != b.when ? a.when < b.when : a.sm < b.sm; });
  for (const CtaDone& cta : done) {
    --ctas_running_;
    last_end_ = std::max(last_end_, cta.when);
    CtaStart start{};
    if (!scheduler_.room(cta.sm, cta.when, start)) continue;
    sms_[start.sm]->assign(start.cta, std::max(start.when, now_));
    ++ctas_running_;
  }
  done.clear();
}

// kNever when nothing can happen any more although CTAs are left. Refresh keeps DRAM busy for ever, so memory counts only while an SM waits
// for it.
Cycle Gpu::next_event() const {
  Cycle next = kNever;
  bool waits = false;
  for (const auto& sm : sms_) {
    next = std::min(next, sm->next_event());
    waits = waits || sm->waits_for_memory();
  }
  return next != kNever && !waits ? next : waits ? std::min(next, memory_->next_event()) : kNever;
}

void Gpu::sample(Cycle now) {
  now_ = std::max(now_, now);
  sync();
  sampler_.take(now_);
}

void Gpu::sync() {
  for (auto& sm : sms_) sm->sync(now_);
}

// Sums by name, and ratios that Nsight Compute reports. A ratio over nothing is left out.
void Gpu::derive(LaunchResult& result) const {
  const auto& entries = registry_.entries();
  const auto& totals = sampler_.totals();
  std::map<std::string, double>& c = result.counters;
  uint64_t least = ~uint64_t{0}, most = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    c[entries[i].name + ".sum"] += static_cast<double>(totals[i]);
    if (entries[i].name == "sm__cycles_active") least = std::min(least, totals[i]), most = std::max(most, totals[i]);
  }
  const double max_warps = static_cast<double>(config_.u("device.max_threads_per_sm") / kWarpSize);
  const double active = c["sm__cycles_active.sum"], issued = c["smsp__inst_issued.sum"];
  const double subcores = static_cast<double>(config_.u("sm.subcores"));
  c["sm__cycles_elapsed.max"] = static_cast<double>(result.cycles);
  c["gpu__time_duration.sum"] = result.time_us * 1e3;
  c["sm__cycles_active.avg"] = active / static_cast<double>(sms_.size());
  c["sm__cycles_active.min"] = static_cast<double>(least);
  c["sm__cycles_active.max"] = static_cast<double>(most);
  c["smsp__cycles_active.sum"] = active * subcores;
  if (active > 0) {
    c["sm__warps_active.avg.pct_of_peak_sustained_active"] = 100 * c["sm__warps_active.sum"] / (active * max_warps);
    c["smsp__inst_issued.avg.per_cycle_active"] = issued / (active * subcores);
    c["smsp__warps_eligible.avg.per_cycle_active"] = c["smsp__warps_eligible.sum"] / (active * subcores);
  }
  // A pipe of several units is as busy as they are on average, and has executed what all of them have.
  for (const Pipe& pipe : table_.pipes()) {
    double executed = 0, busy = 0;
    for (uint8_t unit : pipe.units) {
      executed += c["smsp__inst_executed_pipe_" + table_.units()[unit] + ".sum"];
      busy += c["smsp__pipe_" + table_.units()[unit] + "_cycles_active.sum"];
    }
    if (pipe.units.size() > 1) c["smsp__inst_executed_pipe_" + pipe.name + ".sum"] = executed;
    if (active > 0)
      c["sm__pipe_" + pipe.name + "_cycles_active.avg.pct_of_peak_sustained_active"] =
          100 * busy / (active * subcores * static_cast<double>(pipe.units.size()));
  }
  if (issued > 0) {
    for (const char* name : kStallNames)
      c[std::string("smsp__average_warps_issue_stalled_") + name + "_per_issue_active.ratio"] =
          c[std::string("stall_") + name + ".sum"] / issued;
  }
}

void Gpu::deadlock(const Machine& machine) const {
  const std::vector<Machine::Place> places = machine.places();
  KernelFault fault{};
  fault.kind = static_cast<uint32_t>(FaultKind::Deadlock);
  if (!places.empty()) {
    fault.pc = places[0].pc;
    fault.cta = places[0].cta;
    const LaunchShape& shape = machine.shape();
    fault.ctaid[0] = static_cast<uint32_t>(fault.cta % shape.grid[0]);
    fault.ctaid[1] = static_cast<uint32_t>(fault.cta / shape.grid[0] % shape.grid[1]);
    fault.ctaid[2] = static_cast<uint32_t>(fault.cta / shape.grid[0] / shape.grid[1]);
    fault.lane = places[0].mask ? static_cast<uint32_t>(std::countr_zero(places[0].mask)) : 0;
    const uint32_t thread = places[0].warp * kWarpSize + fault.lane;
    fault.tid[0] = thread % shape.block[0];
    fault.tid[1] = thread / shape.block[0] % shape.block[1];
    fault.tid[2] = thread / shape.block[0] / shape.block[1];
  }
  throw fault;
}

void Gpu::flush_caches() {
  for (auto& sm : sms_) sm->flush();
  memory_->flush();
}

}  // namespace ws
