#include "sm/fixed_memory.h"

#include <deque>

namespace ws {
namespace {

class FixedLsu final : public LoadStoreUnit {
 public:
  FixedLsu(const Config& config, LsuClient& client)
      : global_(config.u("fixed.global_latency")),
        shared_(config.u("fixed.shared_latency")),
        constant_(config.u("fixed.const_latency")),
        client_(client) {}

  Cycle can_issue(Cycle now, uint8_t, Space) override { return now; }
  void issue(Cycle now, const WarpAccess& access) override {
    const bool waits = access.op == MemoryOp::Load || access.op == MemoryOp::Atomic;
    client_.complete(access.token, now + (waits ? latency(access.space) : 1));
    if (lines_) client_.line_counts(access.record, 1, 1, 0);
  }
  void run(Cycle) override {}
  Cycle next_event() const override { return kNever; }
  bool drained(uint32_t) const override { return true; }
  void reply(const MemReply&, Cycle) override {}
  void set_shared_bytes(uint32_t) override {}
  void set_line_counts(bool on) override { lines_ = on; }
  void preload_constants(uint64_t, uint64_t) override {}
  void invalidate_l1() override {}
  void flush() override {}
  void reset() override {}

 private:
  Cycle latency(Space space) const {
    if (space == Space::Shared) return shared_;
    return space == Space::Const || space == Space::Param ? constant_ : global_;
  }
  Cycle global_, shared_, constant_;
  LsuClient& client_;
  bool lines_ = false;
};

class FixedMemory final : public MemorySystem {
 public:
  explicit FixedMemory(const Config& config) : latency_(config.u("fixed.global_latency")) {}

  Cycle can_send(Cycle now, uint16_t) override { return now; }
  void send(Cycle now, const MemRequest& request) override {
    queue_.push_back({now + latency_, {request.token, request.sm, request.sectors, request.source}});
  }
  void run(Cycle now, ReplySink& sink) override {
    // Senders are up to a window apart, so the queue is nearly, not exactly, in order of time.
    while (!queue_.empty() && queue_.front().when <= now) {
      const Waiting first = queue_.front();
      queue_.pop_front();
      sink.reply(first.reply, first.when);
    }
  }
  Cycle next_event() const override { return queue_.empty() ? kNever : queue_.front().when; }
  void flush() override {}
  void reset() override { queue_.clear(); }

 private:
  struct Waiting {
    Cycle when;
    MemReply reply;
  };
  Cycle latency_;
  std::deque<Waiting> queue_;
};

}  // namespace

std::unique_ptr<LoadStoreUnit> make_fixed_load_store_unit(const Config& config, LsuClient& client) {
  return std::make_unique<FixedLsu>(config, client);
}
std::unique_ptr<MemorySystem> make_fixed_memory_system(const Config& config) { return std::make_unique<FixedMemory>(config); }

}  // namespace ws
