// Which SM gets which CTA, and when. CTAs go out in order of their number at a limited rate: first to the SMs in turn, in the order in
// which the hardware was seen to fill them, until all are full; then to whichever SM has room again.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/config.h"
#include "mem/port.h"

namespace ws {

struct CtaStart {
  uint64_t cta;
  uint16_t sm;
  Cycle when;
};

class CtaScheduler {
 public:
  explicit CtaScheduler(const Config& config);  // reads [launch]; launch.sm_order must be a permutation of the SMs

  // Starts a grid: the CTAs that find room at once.
  std::vector<CtaStart> begin(uint64_t ctas, uint32_t per_sm, Cycle now);
  // An SM has had room since `when`; calls in order of time. The CTA that goes there, if one is left, is in `start`.
  bool room(uint16_t sm, Cycle when, CtaStart& start);
  uint64_t waiting() const { return total_ - next_; }
  uint32_t restart_latency() const { return restart_; }

 private:
  Cycle next_slot(Cycle earliest);

  std::vector<uint16_t> order_;
  double interval_;
  uint32_t restart_;
  uint64_t total_ = 0, next_ = 0;
  double free_ = 0;  // cycle from which the next CTA may go out
};

}  // namespace ws
