#include "sm/cta_scheduler.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ws {

CtaScheduler::CtaScheduler(const Config& config)
    : interval_(config.real("launch.cta_interval")), restart_(static_cast<uint32_t>(config.u("launch.restart_cycles"))) {
  const uint64_t sms = config.u("device.sms");
  for (double sm : config.list("launch.sm_order")) order_.push_back(static_cast<uint16_t>(sm));
  std::vector<uint16_t> sorted = order_;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == sms;
  for (size_t i = 0; permutation && i < sorted.size(); ++i) permutation = sorted[i] == i;
  if (!permutation) throw std::invalid_argument("launch.sm_order must name each of the device.sms SMs once");
}

Cycle CtaScheduler::next_slot(Cycle earliest) {
  free_ = std::max(free_, static_cast<double>(earliest));
  const Cycle at = static_cast<Cycle>(std::ceil(free_));
  free_ += interval_;
  return at;
}

std::vector<CtaStart> CtaScheduler::begin(uint64_t ctas, uint32_t per_sm, Cycle now) {
  total_ = ctas;
  next_ = 0;
  free_ = static_cast<double>(now);
  std::vector<CtaStart> starts;
  for (uint32_t round = 0; round < per_sm; ++round) {
    for (uint16_t sm : order_) {
      if (next_ == total_) return starts;
      starts.push_back({next_++, sm, next_slot(now)});
    }
  }
  return starts;
}

bool CtaScheduler::room(uint16_t sm, Cycle when, CtaStart& start) {
  if (next_ == total_) return false;
  start = {next_++, sm, next_slot(when + restart_)};
  return true;
}

}  // namespace ws
