#include "mem/noc.h"

namespace ws {
namespace {

Tick per_byte(const Config& config, const std::string& key) {
  const double bytes_per_cycle = config.real(key);
  if (!(bytes_per_cycle > 0)) throw std::invalid_argument(key + " must be positive");
  return std::max<Tick>(1, ticks_of_cycles(1 / bytes_per_cycle));
}

}  // namespace

Noc::Noc(const Config& config, CounterRegistry& counters, const Topology& topology)
    : out_byte_(per_byte(config, "noc.sm_out_bytes")),
      in_byte_(per_byte(config, "noc.sm_in_bytes")),
      gpc_out_byte_(per_byte(config, "noc.gpc_out_bytes")),
      gpc_in_byte_(per_byte(config, "noc.gpc_in_bytes")),
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

Tick Noc::request(Tick at, uint16_t sm, uint32_t bytes) {
  bytes += header_bytes_;
  const Tick leaves = sms_[sm].out.take(at, bytes * out_byte_);
  return gpcs_[gpc_of_sm_[sm]].out.take(leaves, bytes * gpc_out_byte_) + request_latency_;
}

Tick Noc::response(Tick at, uint16_t sm, uint32_t bytes) {
  const Tick gpc = gpcs_[gpc_of_sm_[sm]].in.take(at, bytes * gpc_in_byte_);
  return sms_[sm].in.take(gpc, bytes * in_byte_) + bytes * in_byte_;
}

void Noc::reset() {
  for (Ports& ports : sms_) ports.out.free = ports.in.free = 0;
  for (Ports& ports : gpcs_) ports.out.free = ports.in.free = 0;
}

}  // namespace ws
