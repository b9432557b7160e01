// Where an address lives: which L2 partition and slice hold it, and which DRAM bank and row. Works for any number of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/config.h"
#include "mem/sector_cache.h"

namespace ws {

// Spreads consecutive numbers over n places. Every run of n consecutive numbers that starts at a multiple of n meets each place once (so a
// stream is balanced), and upper bits change the order from run to run (so strides are spread too).
struct Spread {
  virtual ~Spread() = default;
  // `salt` makes the orders at different levels (partition, slice, bank) independent of each other.
  virtual uint32_t place(uint64_t number, uint32_t n, uint64_t salt) const = 0;
};

std::unique_ptr<Spread> make_spread(const std::string& name);  // "rotate": as above; "modulo": no hash

struct Location {
  uint32_t partition;
  uint32_t slice;    // within the partition
  uint32_t channel;  // pseudo channel, over all
  uint32_t bank;     // within the pseudo channel; consecutive banks are in different bank groups
  uint32_t row;
};

class AddressMap {
 public:
  explicit AddressMap(const Config& config);
  Location locate(uint64_t address) const;
  uint32_t partition(uint64_t address) const { return spread_->place(address / granule_, partitions_, kPartitionSalt); }
  uint32_t slice(uint64_t address) const { return spread_->place(address / granule_ / partitions_, slices_, kSliceSalt); }
  // Counts the lines that a slice (or its counterpart in another partition) holds, without gaps: partitions() streams, one a home
  // partition.
  uint64_t number_in_slice(uint64_t address) const {
    const uint64_t granule = address / granule_, in_stream = granule / (uint64_t{partitions_} * slices_) * (granule_ / kLineBytes);
    return (in_stream + address % granule_ / kLineBytes) * partitions_ + granule % partitions_;
  }
  uint32_t partitions() const { return partitions_; }
  uint32_t slices() const { return slices_; }  // of one partition
  uint32_t channels() const { return partitions_ * channels_; }
  uint32_t banks() const { return banks_; }

 private:
  static constexpr uint64_t kPartitionSalt = 0x9E3779B97F4A7C15ull, kSliceSalt = 0xBF58476D1CE4E5B9ull,
                            kChannelSalt = 0x94D049BB133111EBull, kBankSalt = 0xD6E8FEB86659FD93ull;
  std::unique_ptr<Spread> spread_;
  uint64_t granule_, rows_;
  uint32_t partitions_, slices_, channels_, banks_;
};

}  // namespace ws
