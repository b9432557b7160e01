#include "mem/dram.h"

#include <bit>

#include "mem/registry.h"
#include "mem/sector_cache.h"

namespace ws {
namespace {

constexpr uint32_t kAccessSectors = 2;  // 64 bytes a column command

struct FrFcfs final : DramScheduler {
  uint32_t pick(const Pool<DramRequest>& requests, uint32_t head, uint32_t open_row) const override {
    for (uint32_t i = head; i != kNone; i = requests[i].next)
      if (requests[i].row == open_row) return i;
    return head;
  }
};

struct Fcfs final : DramScheduler {
  uint32_t pick(const Pool<DramRequest>&, uint32_t head, uint32_t) const override { return head; }
};

}  // namespace

std::unique_ptr<DramScheduler> make_dram_scheduler(const std::string& name) {
  static const Registry<DramScheduler> registry(
      "DRAM scheduler", {{"frfcfs", [] { return std::make_unique<FrFcfs>(); }}, {"fcfs", [] { return std::make_unique<Fcfs>(); }}});
  return registry.make(name);
}

DramTiming::DramTiming(const Config& config, const Clock& clock) {
  const auto clocks = [&](const char* key) { return clock.periods(config.real(std::string("dram.") + key)); };
  tCK = clock.period();
  tBURST = clocks("tBURST"), tCL = clocks("tCL"), tCWL = clocks("tCWL"), tRCDRD = clocks("tRCDRD"), tRCDWR = clocks("tRCDWR");
  tRP = clocks("tRP"), tRAS = clocks("tRAS"), tRC = clocks("tRC"), tCCD_S = clocks("tCCD_S"), tCCD_L = clocks("tCCD_L");
  tRRD_S = clocks("tRRD_S"), tRRD_L = clocks("tRRD_L"), tFAW = clocks("tFAW"), tWTR_S = clocks("tWTR_S"), tWTR_L = clocks("tWTR_L");
  tRTP = clocks("tRTP"), tWR = clocks("tWR"), tRTW = clocks("tRTW"), tREFI = clocks("tREFI"), tRFC = clocks("tRFC");
  const std::string& refresh = config.text("dram.refresh");
  if (refresh != "per_bank" && refresh != "all_bank")
    throw std::invalid_argument("dram.refresh: '" + refresh + "' is neither per_bank nor all_bank");
  refresh_per_bank = refresh == "per_bank";
  if (tREFI == 0 || tBURST == 0) throw std::invalid_argument("dram.tREFI and dram.tBURST must be positive");
}

DramChannel::Shared::Shared(const Config& config, double sm_mhz)
    : timing(config, Clock(sm_mhz, config.real("dram.clock_mhz"))),
      clock(sm_mhz, config.real("dram.clock_mhz")),
      scheduler(make_dram_scheduler(config.text("dram.scheduler"))),
      bank_groups(static_cast<uint32_t>(config.u("dram.bank_groups"))),
      banks(bank_groups * static_cast<uint32_t>(config.u("dram.banks_per_group"))),
      queue_entries(static_cast<uint32_t>(config.u("dram.queue_entries"))),
      write_high(static_cast<uint32_t>(config.u("dram.write_high"))),
      write_low(static_cast<uint32_t>(config.u("dram.write_low"))) {
  const std::string& policy = config.text("dram.page_policy");
  if (policy != "open" && policy != "closed") throw std::invalid_argument("dram.page_policy: '" + policy + "' is neither open nor closed");
  close_idle_rows = policy == "closed";
  if (!queue_entries || write_low >= write_high || write_high > queue_entries)
    throw std::invalid_argument("dram.write_low < dram.write_high <= dram.queue_entries must hold");
}

DramChannel::DramChannel(Shared& shared, CounterRegistry& counters, uint32_t index)
    : shared_(shared),
      banks_(shared.banks),
      bank_counters_(shared.banks),
      activate_group_(shared.bank_groups),
      read_group_(shared.bank_groups),
      write_group_(shared.bank_groups),
      next_refresh_(shared.timing.tREFI) {
  const auto add = [&](const char* name, const uint64_t& value) { counters.add(name, "dram_channel", index, &value); };
  add("dram__sectors_read", read_sectors_), add("dram__sectors_write", write_sectors_);
  add("dram__bytes_read", read_bytes_), add("dram__bytes_write", write_bytes_);
  add("dram__busy_ticks", busy_), add("dram__queue_ticks", queue_ticks_), add("dram__write_drains", drains_);
  for (uint32_t i = 0; i < shared.banks; ++i) {
    const auto bank = [&](const char* name, const uint64_t& value) { counters.add(name, "dram_bank", index * shared.banks + i, &value); };
    bank("dram__row_hits", bank_counters_[i].row_hits), bank("dram__row_misses", bank_counters_[i].row_misses);
    bank("dram__row_conflicts", bank_counters_[i].row_conflicts), bank("dram__activates", bank_counters_[i].activates);
    bank("dram__precharges", bank_counters_[i].precharges), bank("dram__refreshes", bank_counters_[i].refreshes);
  }
}

void DramChannel::account_queue(Tick now) {
  queue_ticks_ += (now - std::min<Tick>(now, queue_since_)) * (reads_ + writes_);
  queue_since_ = now;
}

void DramChannel::push(uint32_t request) {
  auto& requests = shared_.requests;
  requests[request].next = kNone;
  if (waiting_ == kNone)
    waiting_ = request;
  else
    requests[waiting_tail_].next = request;
  waiting_tail_ = request;
}

// Moves what has arrived into the queues while these have room.
void DramChannel::admit(Tick now) {
  auto& requests = shared_.requests;
  while (waiting_ != kNone && requests[waiting_].arrival <= now) {
    const uint32_t index = waiting_;
    DramRequest& request = requests[index];
    uint32_t& used = request.write ? writes_ : reads_;
    if (used >= shared_.queue_entries) return;
    account_queue(now);
    waiting_ = request.next;
    ++used;
    request.next = kNone;
    DramBank& bank = banks_[request.bank];
    if (bank.head[request.write] == kNone)
      bank.head[request.write] = index;
    else
      requests[bank.tail[request.write]].next = index;
    bank.tail[request.write] = index;
    bank.pick[request.write] = kNone;
    waiting_banks_[request.write] |= uint64_t{1} << request.bank;
  }
}

// Reads go first; writes when enough have gathered (until few are left) or nothing else is there.
void DramChannel::choose_direction() {
  if (draining_ && (writes_ == 0 || (reads_ && writes_ <= shared_.write_low))) draining_ = false;
  if (!draining_ && writes_ && (writes_ >= shared_.write_high || reads_ == 0)) draining_ = true, ++drains_;
}

// Per bank: one bank every tREFI / banks; all-bank: all of them every tREFI. Done when the channel is next looked at: nobody sees the
// difference.
void DramChannel::catch_up_refresh(Tick now) {
  const DramTiming& t = shared_.timing;
  const Tick interval = t.refresh_per_bank ? t.tREFI / shared_.banks : t.tREFI;
  const uint32_t rounds = t.refresh_per_bank ? shared_.banks : 1;
  if (next_refresh_ + interval * rounds <= now) {  // long idle: only the latest round can still matter
    const uint64_t skipped = (now - next_refresh_) / interval - rounds + 1;
    for (uint32_t i = 0; i < shared_.banks; ++i) {
      const uint32_t turn = (i + shared_.banks - refresh_bank_) % shared_.banks;
      bank_counters_[i].refreshes += t.refresh_per_bank ? skipped / shared_.banks + (turn < skipped % shared_.banks) : skipped;
    }
    if (t.refresh_per_bank) refresh_bank_ = static_cast<uint32_t>((refresh_bank_ + skipped) % shared_.banks);
    next_refresh_ += skipped * interval;
  }
  const auto refresh = [&](uint32_t index, Tick at) {
    DramBank& bank = banks_[index];
    if (bank.row != DramBank::kClosed) {
      at = std::max(at, bank.precharge_at);
      precharge(index, at);
    }
    bank.activate_at = std::max(bank.activate_at, at) + t.tRFC;
    ++bank_counters_[index].refreshes;
  };
  for (; next_refresh_ <= now; next_refresh_ += interval) {
    if (t.refresh_per_bank) {
      refresh(refresh_bank_, next_refresh_);
      refresh_bank_ = (refresh_bank_ + 1) % shared_.banks;
    } else {
      for (uint32_t i = 0; i < shared_.banks; ++i) refresh(i, next_refresh_);
    }
  }
}

void DramChannel::precharge(uint32_t index, Tick at) {
  DramBank& bank = banks_[index];
  bank.row = DramBank::kClosed;
  bank.pick[0] = bank.pick[1] = kNone;
  bank.activate_at = std::max(bank.activate_at, at + shared_.timing.tRP);
  ++bank_counters_[index].precharges;
}

void DramChannel::activate(uint32_t index, uint32_t row, Tick at) {
  const DramTiming& t = shared_.timing;
  DramBank& bank = banks_[index];
  bank.row = row;
  bank.pick[0] = bank.pick[1] = kNone;
  bank.column_at_read = at + t.tRCDRD;
  bank.column_at_write = at + t.tRCDWR;
  bank.precharge_at = at + t.tRAS;
  bank.activate_at = at + t.tRC;
  activate_at_ = at + t.tRRD_S;
  activate_group_[group_of(index)] = at + t.tRRD_L;
  last_activates_[next_activate_] = at;
  next_activate_ = (next_activate_ + 1) % 4;
  DramBankCounters& counters = bank_counters_[index];
  ++counters.activates;
  counters.row_misses += !bank.conflicted;
  counters.row_conflicts += bank.conflicted;
  bank.conflicted = false;
  bank.fresh = true;
}

uint32_t DramChannel::pick(DramBank& bank, bool write) {
  if (bank.pick[write] == kNone) {
    const uint32_t chosen = shared_.scheduler->pick(shared_.requests, bank.head[write], bank.row);
    bank.pick[write] = chosen;
    bank.pick_row[write] = shared_.requests[chosen].row;
    bank.pick_arrival[write] = shared_.requests[chosen].arrival;
  }
  return bank.pick[write];
}

// Opens and closes rows as far as they may at `now`, and finds the column command that is due: among banks whose next request finds its row
// open, the one that arrived first. Returns the earliest time at which more can happen.
Tick DramChannel::plan(Tick now, uint32_t& column) {
  const DramTiming& t = shared_.timing;
  Tick next = kNever;
  Tick oldest = kNever;
  const auto later = [&](Tick at) { next = std::min(next, at); };
  uint32_t open_index = kNone, open_row = 0, ready = 0;  // banks that may be activated now, the one whose request is oldest
  Tick open_arrival = kNever;
  for (uint64_t rest = waiting_banks_[draining_]; rest; rest &= rest - 1) {
    const uint32_t index = static_cast<uint32_t>(std::countr_zero(rest)), group = group_of(index);
    DramBank& bank = banks_[index];
    const uint32_t chosen = pick(bank, draining_), row = bank.pick_row[draining_];
    const Tick arrival = bank.pick_arrival[draining_];
    if (bank.row == row) {
      const Tick at = draining_ ? std::max({bank.column_at_write, write_at_, write_group_[group]})
                                : std::max({bank.column_at_read, read_at_, read_group_[group]});
      if (at > now)
        later(at);
      else if (arrival < oldest)
        oldest = arrival, column = chosen;
      continue;
    }
    if (bank.row != DramBank::kClosed) {
      if (bank.precharge_at > now) {
        later(bank.precharge_at);
        continue;
      }
      precharge(index, now);
      bank.conflicted = true;
    }
    const Tick window = last_activates_[next_activate_];  // of the fourth activate back; 0: there was none
    const Tick at = std::max({bank.activate_at, activate_at_, activate_group_[group], window ? window + t.tFAW : 0});
    if (at > now) {
      later(at);
      continue;
    }
    ++ready;
    if (arrival < open_arrival) open_index = index, open_arrival = arrival, open_row = row;
  }
  if (open_index != kNone) {
    DramBank& bank = banks_[open_index];
    activate(open_index, open_row, now);
    later(draining_ ? bank.column_at_write : bank.column_at_read);
    if (ready > 1) later(activate_at_);
  }
  return next;
}

Tick DramChannel::issue_column(uint32_t index, Tick now) {
  const DramTiming& t = shared_.timing;
  DramRequest& request = shared_.requests[index];
  DramBank& bank = banks_[request.bank];
  const uint32_t group = group_of(request.bank);
  const bool last = --request.bursts == 0;
  if (last) {
    account_queue(now);
    unlink(bank, index, request.write);
  }
  busy_ += t.tBURST;
  bank_counters_[request.bank].row_hits += !bank.fresh;
  bank.fresh = false;
  const Tick short_gap = now + std::max(t.tCCD_S, t.tBURST), long_gap = now + std::max(t.tCCD_L, t.tBURST);
  Tick end;
  if (request.write) {
    end = now + t.tCWL + t.tBURST;
    write_at_ = short_gap, write_group_[group] = long_gap;
    read_at_ = std::max(read_at_, end + t.tWTR_S);
    read_group_[group] = std::max(read_group_[group], end + t.tWTR_L);
    bank.precharge_at = std::max(bank.precharge_at, end + t.tWR);
    write_sectors_ += kAccessSectors, write_bytes_ += kAccessSectors * kSectorBytes;
  } else {
    end = now + t.tCL + t.tBURST;
    read_at_ = short_gap, read_group_[group] = long_gap;
    write_at_ = std::max(write_at_, now + t.tRTW);
    bank.precharge_at = std::max(bank.precharge_at, now + t.tRTP);
    read_sectors_ += kAccessSectors, read_bytes_ += kAccessSectors * kSectorBytes;
  }
  if (!last) return 0;
  if (shared_.close_idle_rows) {
    for (uint32_t i : {bank.head[0], bank.head[1]})
      for (; i != kNone; i = shared_.requests[i].next)
        if (shared_.requests[i].row == bank.row) return end;
    precharge(request.bank, bank.precharge_at);
  }
  return end;
}

void DramChannel::unlink(DramBank& bank, uint32_t index, bool write) {
  auto& requests = shared_.requests;
  uint32_t before = kNone;
  for (uint32_t i = bank.head[write]; i != index; i = requests[i].next) before = i;
  const uint32_t after = requests[index].next;
  (before == kNone ? bank.head[write] : requests[before].next) = after;
  bank.pick[write] = kNone;
  if (bank.tail[write] == index) bank.tail[write] = before;
  if (bank.head[write] == kNone) waiting_banks_[write] &= ~(uint64_t{1} << requests[index].bank);
  --(write ? writes_ : reads_);
}

void DramChannel::reset() {
  for (DramBank& bank : banks_) {
    bank.activate_at = bank.column_at_read = bank.column_at_write = bank.precharge_at = 0;
    bank.fresh = bank.conflicted = false;
    for (int i : {0, 1}) bank.head[i] = bank.tail[i] = bank.pick[i] = kNone;
  }
  waiting_banks_[0] = waiting_banks_[1] = 0;
  for (auto* group : {&activate_group_, &read_group_, &write_group_}) std::fill(group->begin(), group->end(), 0);
  activate_at_ = read_at_ = write_at_ = 0;
  std::fill(std::begin(last_activates_), std::end(last_activates_), 0);
  next_refresh_ = shared_.timing.tREFI;
  draining_ = false;
  reads_ = writes_ = 0;
  waiting_ = waiting_tail_ = kNone;
  scheduled = now_ = 0;
  next_ = kNever;
  queue_since_ = 0;
}

}  // namespace ws
