#include "mem/memory_system.h"

namespace ws {

GpuMemory::GpuMemory(const Config& config, CounterRegistry& counters, const Topology& topology)
    : map_(config),
      noc_(config, counters, topology),
      coalescer_(config, counters, topology),
      l2_(config, counters, topology, map_, *this),
      dram_shared_(config, topology.sm_mhz),
      dram_request_latency_(dram_shared_.clock.ns(config.real("dram.request_ns"))),
      dram_return_latency_(dram_shared_.clock.ns(config.real("dram.return_ns"))) {
  channels_.reserve(map_.channels());
  for (uint32_t i = 0; i < map_.channels(); ++i) channels_.emplace_back(dram_shared_, counters, i);
}

Cycle GpuMemory::can_send(Cycle now, uint16_t sm) { return std::max(now, cycle_after(noc_.injection_free(sm))); }

// SMs send for times a little ahead, one SM after the other: what they share is only taken when its time comes.
void GpuMemory::send(Cycle now, const MemRequest& request) {
  const Tick leaves = noc_.leave(ticks(now), request.sm, request.payload);
  if (coalescer_.join(request, leaves)) return;
  const uint32_t job = l2_.admit(request, leaves);
  if (!noc_.takes_no_time(request.payload)) return post(leaves, kRequest, job);
  l2_.job(job).at += noc_.request_latency();
  post(l2_.job(job).at, kL2Arrive, job);
}

void GpuMemory::later(Tick at, L2Event event, uint32_t job) { post(at, event == L2Event::Arrive ? kL2Arrive : kL2PeerFill, job); }

void GpuMemory::respond(const MemRequest& request, Tick at) {
  deliver(request, at);
  coalescer_.answered(request,
                      [&](const MemRequest& waiting, Tick left) { deliver(waiting, std::max(at, left + noc_.request_latency())); });
}

// The event is posted for the time at which the message is over when no port is taken: mostly nothing more is to wait for then.
void GpuMemory::deliver(const MemRequest& request, Tick at) {
  const bool data = request.op == MemoryOp::Load || request.op == MemoryOp::Atomic;
  const uint32_t bytes = data ? count(request.sectors) * static_cast<uint32_t>(kSectorBytes) : 0;
  const Tick port = at + noc_.response_latency();
  post(port + noc_.response_time(bytes), kRespond,
       responses_.take({{request.token, request.sm, request.sectors, request.source}, port, bytes}));
}

void GpuMemory::dram(uint64_t line, uint8_t sectors, uint32_t slice, uint32_t slot, bool write, Tick at) {
  const uint8_t halves = halves_of(sectors);
  const Location where = map_.locate(line);
  const Tick arrival = at + dram_request_latency_;
  const uint32_t index =
      dram_shared_.requests.take({slice, slot, where.row, arrival, kNone, where.channel, static_cast<uint8_t>(where.bank), halves,
                                  static_cast<uint8_t>(count(halves) / 2), write});
  channels_[where.channel].push(index);
  wake_channel(where.channel, arrival);
}

void GpuMemory::wake_channel(uint32_t index, Tick at) {
  DramChannel& channel = channels_[index];
  if (channel.scheduled && channel.scheduled <= at) return;
  channel.scheduled = at;
  post(at, kDramStep, index);
}

// Whatever is sent to a channel from now on comes no earlier than the request latency from now, so the channel may run ahead that far.
void GpuMemory::step_channel(uint32_t index, Cycle cycle) {
  DramChannel& channel = channels_[index];
  const Tick until = std::max(channel.scheduled, ticks(cycle ? cycle - 1 : 0) + dram_request_latency_);
  channel.scheduled = 0;
  const Tick next = channel.advance(until, [&](uint32_t request, Tick end) {
    dram_shared_.requests[request].arrival = end + dram_return_latency_;
    post(end + dram_return_latency_, kDramData, request);
  });
  if (next) wake_channel(index, next);
}

// Thousands of requests are on their way at a time; without hints most events would wait for the host's memory.
void GpuMemory::prefetch(const Event& event, bool near) const {
  switch (static_cast<Kind>(event.kind)) {
    case kRequest:
      if (!near) l2_.prefetch(event.index);
      break;
    case kL2Arrive:
    case kL2PeerFill:
      if (near)
        l2_.prefetch_job(event.kind == kL2Arrive ? L2Event::Arrive : L2Event::PeerFill, event.index);
      else
        l2_.prefetch(event.index);
      break;
    case kRespond:
    case kDeliver:
      if (!near) responses_.prefetch(event.index);
      break;
    case kDramStep:
      if (near) channels_[event.index].prefetch();
      break;
    case kDramData:
      if (near)
        l2_.prefetch_slot(dram_shared_.requests[event.index].slice, dram_shared_.requests[event.index].slot);
      else
        dram_shared_.requests.prefetch(event.index);
      break;
  }
}

void GpuMemory::run(Cycle now, ReplySink& sink) {
  const auto handle = [&](const Event& event, Cycle cycle) {
    switch (static_cast<Kind>(event.kind)) {
      case kRequest: {
        L2Job& job = l2_.job(event.index);
        job.at = noc_.request(job.at, job.request.sm, job.request.payload);
        return post(job.at, kL2Arrive, event.index);
      }
      case kL2Arrive:
        return l2_.handle(L2Event::Arrive, event.index);
      case kL2PeerFill:
        return l2_.handle(L2Event::PeerFill, event.index);
      case kRespond: {
        const Response& response = responses_[event.index];
        const Tick over = noc_.response(response.at, response.reply.sm, response.bytes);
        if (cycle_after(over) > cycle) return post(over, kDeliver, event.index);
        [[fallthrough]];
      }
      case kDeliver: {
        const MemReply reply = responses_[event.index].reply;
        responses_.release(event.index);
        return sink.reply(reply, cycle);
      }
      case kDramStep:
        if (channels_[event.index].scheduled && channels_[event.index].scheduled <= ticks(cycle)) step_channel(event.index, cycle);
        return;  // otherwise an earlier step did its work
      case kDramData: {
        const DramRequest request = dram_shared_.requests[event.index];
        dram_shared_.requests.release(event.index);
        return l2_.fill(request.slice, request.slot, request.sectors, request.arrival);
      }
    }
  };
  events_.run(now, handle, [&](const Event& event, bool near) { prefetch(event, near); });
}

void GpuMemory::flush() { l2_.flush(); }

void GpuMemory::reset() {
  events_.clear();
  responses_.clear();
  dram_shared_.requests.clear();
  noc_.reset();
  coalescer_.clear();
  l2_.reset();
  for (DramChannel& channel : channels_) channel.reset();
}

std::unique_ptr<MemorySystem> make_memory_system(const Config& config, CounterRegistry& counters, const Topology& topology) {
  return std::make_unique<GpuMemory>(config, counters, topology);
}

}  // namespace ws
