// Everything behind the L1s, and the one queue of events that drives it.
#pragma once

#include <vector>

#include "mem/dram.h"
#include "mem/event_wheel.h"
#include "mem/l2.h"
#include "mem/noc.h"
#include "mem/request_coalescer.h"

namespace ws {

class GpuMemory final : public MemorySystem, private L2Client {
 public:
  GpuMemory(const Config& config, CounterRegistry& counters, const Topology& topology);

  Cycle can_send(Cycle now, uint16_t sm) override;
  void send(Cycle now, const MemRequest& request) override;
  void run(Cycle now, ReplySink& sink) override;
  Cycle next_event() const override { return events_.next(); }
  void flush() override;
  void reset() override;

 private:
  enum Kind : uint32_t { kRequest, kL2Arrive, kL2PeerFill, kRespond, kDeliver, kDramStep, kDramData };
  struct Response {
    MemReply reply;
    Tick at;  // at the GPC's port
    uint32_t bytes;
  };

  void later(Tick at, L2Event event, uint32_t job) override;
  void respond(const MemRequest& request, Tick at) override;
  void deliver(const MemRequest& request, Tick at);
  void dram_read(uint64_t line, uint8_t sectors, uint32_t slice, uint32_t slot, Tick at) override {
    dram(line, sectors, slice, slot, false, at);
  }
  void dram_write(uint64_t line, uint8_t sectors, Tick at) override { dram(line, sectors, 0, 0, true, at); }
  void dram(uint64_t line, uint8_t sectors, uint32_t slice, uint32_t slot, bool write, Tick at);
  void wake_channel(uint32_t channel, Tick at);
  void step_channel(uint32_t channel, Cycle cycle);
  void prefetch(const Event& event, bool near) const;
  void post(Tick at, Kind kind, uint32_t index) { events_.post(cycle_after(at), kind, index); }

  AddressMap map_;
  Noc noc_;
  RequestCoalescer coalescer_;
  L2 l2_;
  DramChannel::Shared dram_shared_;
  std::vector<DramChannel> channels_;
  Tick dram_request_latency_, dram_return_latency_;
  EventWheel events_;
  Pool<Response> responses_;
};

}  // namespace ws
