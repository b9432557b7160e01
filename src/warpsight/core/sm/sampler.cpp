#include "sm/sampler.h"

namespace ws {

void Sampler::read(std::vector<uint64_t>& out) const {
  out.clear();
  for (const CounterEntry& entry : counters_.entries()) out.push_back(*entry.value);
}

void Sampler::begin(uint64_t interval, Cycle now) {
  interval_ = interval;
  start_ = now;
  next_ = interval ? now + interval : kNever;
  cycles_.clear(), values_.clear(), totals_.clear();
  read(first_);
  last_ = first_;
}

void Sampler::take(Cycle now) {
  std::vector<uint64_t> present;
  read(present);
  for (size_t i = 0; i < present.size(); ++i) values_.push_back(present[i] - last_[i]);
  cycles_.push_back(now - start_);
  last_.swap(present);
  while (next_ <= now) next_ += interval_;
}

void Sampler::end(Cycle now) {
  if (interval_) take(now);
  next_ = kNever;
  read(totals_);
  for (size_t i = 0; i < totals_.size(); ++i) totals_[i] -= first_[i];
}

}  // namespace ws
