// The crossbar between SMs and L2 slices. A message takes its turn at the SM's port and at its GPC's port (each a bandwidth), and a latency
// on top. The slices' own ports belong to L2.
#pragma once

#include <cstdint>
#include <vector>

#include "base/config.h"
#include "mem/time.h"

namespace ws {

class Noc {
 public:
  Noc(const Config& config, CounterRegistry& counters, const Topology& topology);

  // Towards L2, payload bytes (a header comes on top): when the message leaves the SM; of one that is at the GPC's port at `at`: when it is
  // at the slice.
  Tick leave(Tick at, uint16_t sm, uint32_t bytes);
  Tick request(Tick at, uint16_t sm, uint32_t bytes);
  bool takes_no_time(uint32_t bytes) const { return bytes + header_bytes_ == 0; }  // a request without payload or header waits for no port
  Tick request_latency() const { return request_latency_; }
  Tick response(Tick at, uint16_t sm, uint32_t bytes);  // of one that is at the GPC's port at `at`: when its last byte is at the SM
  Tick response_time(uint32_t bytes) const { return in_.time(bytes); }  // that response() takes when no port is busy
  Tick response_latency() const { return response_latency_; }
  Tick injection_free(uint16_t sm) const { return sms_[sm].out.free; }
  void reset();

 private:
  struct Ports {
    Server out, in;
  };
  Width out_, in_, gpc_out_, gpc_in_;
  Tick request_latency_, response_latency_;
  uint32_t header_bytes_;
  std::vector<uint16_t> gpc_of_sm_;
  std::vector<Ports> sms_, gpcs_;
};

}  // namespace ws
