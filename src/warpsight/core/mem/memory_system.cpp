#include "mem/memory_system.h"

namespace ws {

GpuMemory::GpuMemory(const Config& config, CounterRegistry& counters, const Topology& topology)
    : map_(config),
      noc_(config, counters, topology),
      l2_(config, counters, topology, map_, *this),
      dram_shared_(config, topology.sm_mhz),
      dram_request_latency_(dram_shared_.clock.ns(config.real("dram.request_ns"))),
      dram_return_latency_(dram_shared_.clock.ns(config.real("dram.return_ns"))) {
  channels_.reserve(map_.channels());
  for (uint32_t i = 0; i < map_.channels(); ++i) channels_.emplace_back(dram_shared_, counters, i);
}

Cycle GpuMemory::can_send(Cycle now, uint16_t sm) { return std::max(now, cycle_after(noc_.injection_free(sm))); }

void GpuMemory::send(Cycle now, const MemRequest& request) { l2_.request(request, noc_.request(ticks(now), request.sm, request.payload)); }

void GpuMemory::later(Tick at, L2Event event, uint32_t job) { post(at, event == L2Event::Arrive ? kL2Arrive : kL2PeerFill, job); }

void GpuMemory::respond(const MemRequest& request, Tick at) {
  const bool data = request.op == MemoryOp::Load || request.op == MemoryOp::Atomic;
  post(at + noc_.response_latency(), kRespond,
       responses_.take({{request.token, request.sm, request.sectors, request.source}, at + noc_.response_latency(), data}));
}

// One DRAM access for each 64-byte half of the line that is touched.
void GpuMemory::dram(uint64_t line, uint8_t sectors, uint32_t slice, bool write, Tick at) {
  const Location where = map_.locate(line);
  for (uint8_t half : {uint8_t{0b0011}, uint8_t{0b1100}}) {
    if (!(sectors & half)) continue;
    const Tick arrival = at + dram_request_latency_;
    const uint32_t index =
        dram_shared_.requests.take({line, slice, where.row, arrival, kNone, where.channel, static_cast<uint8_t>(where.bank), half, write});
    post(arrival, kDramPush, index);
  }
}

void GpuMemory::step_channel(uint32_t index, Tick now) {
  DramChannel& channel = channels_[index];
  const Tick next = channel.step(now, [&](uint32_t request, Tick end) {
    dram_shared_.requests[request].arrival = end + dram_return_latency_;
    post(end + dram_return_latency_, kDramData, request);
  });
  if (next && (channel.scheduled == 0 || next < channel.scheduled)) {
    channel.scheduled = next;
    post(next, kDramStep, index);
  }
}

void GpuMemory::run(Cycle now, ReplySink& sink) {
  events_.run(now, [&](const Event& event, Cycle cycle) {
    switch (static_cast<Kind>(event.kind)) {
      case kL2Arrive:
        return l2_.handle(L2Event::Arrive, event.index);
      case kL2PeerFill:
        return l2_.handle(L2Event::PeerFill, event.index);
      case kRespond: {
        Response& response = responses_[event.index];
        const uint32_t bytes = response.data ? count(response.reply.sectors) * static_cast<uint32_t>(kSectorBytes) : 0;
        return post(noc_.response(response.at, response.reply.sm, bytes), kDeliver, event.index);
      }
      case kDeliver: {
        const MemReply reply = responses_[event.index].reply;
        responses_.release(event.index);
        return sink.reply(reply, cycle);
      }
      case kDramPush: {
        const DramRequest& request = dram_shared_.requests[event.index];
        const uint32_t channel = request.channel;
        const Tick arrival = request.arrival;
        channels_[channel].push(event.index, arrival);
        return step_channel(channel, arrival);
      }
      case kDramStep: {
        DramChannel& channel = channels_[event.index];
        if (!channel.scheduled || channel.scheduled > ticks(cycle)) return;  // another step came first
        const Tick at = channel.scheduled;
        channel.scheduled = 0;
        return step_channel(event.index, at);
      }
      case kDramData: {
        const DramRequest request = dram_shared_.requests[event.index];
        dram_shared_.requests.release(event.index);
        return l2_.fill(request.slice, request.line, request.sectors, request.arrival);
      }
    }
  });
}

void GpuMemory::flush() { l2_.flush(); }

void GpuMemory::reset() {
  events_.clear();
  responses_.clear();
  dram_shared_.requests.clear();
  noc_.reset();
  l2_.reset();
  for (DramChannel& channel : channels_) channel.reset();
}

std::unique_ptr<MemorySystem> make_memory_system(const Config& config, CounterRegistry& counters, const Topology& topology) {
  return std::make_unique<GpuMemory>(config, counters, topology);
}

}  // namespace ws
