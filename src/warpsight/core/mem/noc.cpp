#include "mem/noc.h"

namespace ws {
Noc::Noc(const Config& config, CounterRegistry& counters, const Topology& topology)
    : out_(config, "noc.sm_out_bytes", ticks(1)),
      in_(config, "noc.sm_in_bytes", ticks(1)),
      gpc_out_(config, "noc.gpc_out_bytes", ticks(1)),
      gpc_in_(config, "noc.gpc_in_bytes", ticks(1)),
      request_latency_(ticks_of_cycles(config.real("noc.request_latency"))),
      response_latency_(ticks_of_cycles(config.real("noc.response_latency"))),
      header_bytes_(static_cast<uint32_t>(config.u("noc.header_bytes"))),
      gpc_of_sm_(topology.gpc_of_sm),
      sms_(topology.gpc_of_sm.size()) {
  if (sms_.empty()) throw std::invalid_argument("the memory system needs at least one SM");
  gpcs_.resize(*std::max_element(gpc_of_sm_.begin(), gpc_of_sm_.end()) + 1u);
  for (uint32_t sm = 0; sm < sms_.size(); ++sm) {  // busy times in ticks of 1/1024 SM cycle
    counters.add("noc__sm_out_busy_ticks", "sm", sm, &sms_[sm].out.busy);
    counters.add("noc__sm_in_busy_ticks", "sm", sm, &sms_[sm].in.busy);
  }
  for (uint32_t gpc = 0; gpc < gpcs_.size(); ++gpc) {
    counters.add("noc__gpc_out_busy_ticks", "noc", gpc, &gpcs_[gpc].out.busy);
    counters.add("noc__gpc_in_busy_ticks", "noc", gpc, &gpcs_[gpc].in.busy);
  }
}

Tick Noc::leave(Tick at, uint16_t sm, uint32_t bytes) { return sms_[sm].out.take(at, out_.time(bytes + header_bytes_)); }

Tick Noc::request(Tick at, uint16_t sm, uint32_t bytes) {
  return gpcs_[gpc_of_sm_[sm]].out.take(at, gpc_out_.time(bytes + header_bytes_)) + request_latency_;
}

Tick Noc::response(Tick at, uint16_t sm, uint32_t bytes) {
  const Tick gpc = gpcs_[gpc_of_sm_[sm]].in.take(at, gpc_in_.time(bytes));
  return sms_[sm].in.take(gpc, in_.time(bytes)) + in_.time(bytes);
}

void Noc::reset() {
  for (Ports& ports : sms_) ports.out.free = ports.in.free = 0;
  for (Ports& ports : gpcs_) ports.out.free = ports.in.free = 0;
}

}  // namespace ws
