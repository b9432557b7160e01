// HBM: pseudo channels with bank groups and banks, driven command by command. Each pseudo channel has a read and a write queue; the
// scheduler picks among them, and a command issues when every timing constraint that touches it allows. Times of the data sheet are in
// command clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "mem/address_map.h"
#include "mem/pool.h"
#include "mem/time.h"

namespace ws {

struct DramRequest {
  uint32_t slice, slot;  // who asked (reads)
  uint32_t row;
  Tick arrival;
  uint32_t next;  // queue link
  uint32_t channel;
  uint8_t bank;
  uint8_t sectors;  // of the line, always whole 64-byte halves
  uint8_t bursts;   // column commands still to come, one a half
  bool write;
};

// Minimum distances between commands, in ticks. Names as in JESD238 (HBM3).
struct DramTiming {
  Tick tCK, tBURST, tCL, tCWL, tRCDRD, tRCDWR, tRP, tRAS, tRC, tCCD_S, tCCD_L, tRRD_S, tRRD_L, tFAW, tWTR_S, tWTR_L, tRTP, tWR, tRTW, tREFI,
      tRFC;
  bool refresh_per_bank;
  explicit DramTiming(const Config& config, const Clock& clock);
};

struct DramBank {
  static constexpr uint32_t kClosed = ~uint32_t{0};
  uint32_t row = kClosed;
  bool fresh = false;       // the row was opened for a request that has not had its column command yet
  bool conflicted = false;  // another row was closed for the request to come
  Tick activate_at = 0, column_at_read = 0, column_at_write = 0, precharge_at = 0;  // earliest time of the bank's next such command
  uint32_t head[2] = {kNone, kNone}, tail[2] = {kNone, kNone};                      // requests in arrival order: reads, writes
  uint32_t pick[2] = {kNone, kNone};  // the scheduler's choice among them, kNone: not made yet
  uint32_t pick_row[2] = {0, 0};
  Tick pick_arrival[2] = {0, 0};
};

struct DramBankCounters {
  uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0, activates = 0, precharges = 0, refreshes = 0;
};

// Which request a pseudo channel serves next.
struct DramScheduler {
  virtual ~DramScheduler() = default;
  // Of the bank's queue that starts at `head`: the request to go for (index in the pool).
  virtual uint32_t pick(const Pool<DramRequest>& requests, uint32_t head, uint32_t open_row) const = 0;
};
std::unique_ptr<DramScheduler> make_dram_scheduler(const std::string& name);  // "frfcfs": open row first, then oldest; "fcfs": oldest

class DramChannel {
 public:
  struct Shared {  // the same for all channels
    DramTiming timing;
    Clock clock;
    std::unique_ptr<DramScheduler> scheduler;
    uint32_t bank_groups, banks, queue_entries, write_high, write_low;
    bool close_idle_rows;
    Pool<DramRequest> requests;
    explicit Shared(const Config& config, double sm_mhz);
  };

  DramChannel(Shared& shared, CounterRegistry& counters, uint32_t index);

  void push(uint32_t request);  // comes at its `arrival`; pushes are in the order of arrival, but for the few cycles that slices differ

  // Does everything up to `until`: the caller knows that no push for an earlier time is to come. done(request, tick) for every read: when
  // its last byte has crossed the bus. Returns the time of the next thing to do, 0: nothing until something is pushed.
  template <class Done>
  Tick advance(Tick until, Done&& done) {
    while (true) {
      const Tick next = next_action();
      if (next == kNever) return 0;
      now_ = std::max(now_, next);
      if (now_ > until) return now_;
      catch_up_refresh(now_);
      admit(now_);
      choose_direction();
      uint32_t column = kNone;
      next_ = plan(now_, column);
      if (column == kNone) continue;
      next_ = now_;  // there may be more to do at once
      const bool write = shared_.requests[column].write;
      const Tick end = issue_column(column, now_);
      if (!end) continue;  // the line's other half is still to come
      if (write)
        shared_.requests.release(column);
      else
        done(column, end);
    }
  }
  void prefetch() const {  // into the host's caches
    for (const DramBank& bank : banks_) __builtin_prefetch(&bank);
  }
  bool idle() const { return reads_ + writes_ == 0 && waiting_ == kNone; }
  void reset();
  Tick scheduled = 0;  // time of the wake-up that the owner has posted, 0: none

 private:
  // A full queue takes the next arrival when one of its requests has gone, which next_ covers.
  Tick next_action() const {
    const bool room = waiting_ != kNone && (shared_.requests[waiting_].write ? writes_ : reads_) < shared_.queue_entries;
    return std::min(next_, room ? shared_.requests[waiting_].arrival : kNever);
  }
  uint32_t group_of(uint32_t bank) const { return bank % shared_.bank_groups; }
  void admit(Tick now);
  void choose_direction();
  void catch_up_refresh(Tick now);
  Tick plan(Tick now, uint32_t& column);
  Tick issue_column(uint32_t request, Tick now);  // end of the data when that was the request's last command, else 0
  void activate(uint32_t bank, uint32_t row, Tick at);
  void precharge(uint32_t bank, Tick at);
  void unlink(DramBank& bank, uint32_t request, bool write);
  uint32_t pick(DramBank& bank, bool write);

  Shared& shared_;
  std::vector<DramBank> banks_;
  std::vector<DramBankCounters> bank_counters_;
  uint64_t waiting_banks_[2] = {0, 0};                 // banks with reads, with writes
  std::vector<Tick> activate_group_;                   // earliest activate by bank group (tRRD_L)
  std::vector<Tick> read_group_, write_group_;         // earliest column command by bank group
  Tick activate_at_ = 0, read_at_ = 0, write_at_ = 0;  // earliest by channel
  Tick last_activates_[4] = {0, 0, 0, 0};
  uint32_t next_activate_ = 0;
  Tick next_refresh_;
  Tick now_ = 0, next_ = kNever;  // of the last thing done, of the next one in the queues
  uint32_t refresh_bank_ = 0;
  bool draining_ = false;
  uint32_t reads_ = 0, writes_ = 0;
  uint32_t waiting_ = kNone, waiting_tail_ = kNone;  // pushed, not in the queues yet

  uint64_t read_sectors_ = 0, write_sectors_ = 0, read_bytes_ = 0, write_bytes_ = 0, busy_ = 0, queue_ticks_ = 0, queue_since_ = 0,
           drains_ = 0;
  void account_queue(Tick now);
};

}  // namespace ws
