#include "mem/address_map.h"

#include <stdexcept>

#include "mem/registry.h"

namespace ws {
namespace {

struct Rotate final : Spread {
  uint32_t place(uint64_t number, uint32_t n, uint64_t salt) const override {
    uint64_t upper = number / n;
    const uint32_t lower = static_cast<uint32_t>(number - upper * n);
    upper ^= upper >> 15;
    const uint32_t turn = static_cast<uint32_t>((upper * salt >> 32) * n >> 32);  // upper bits of the product: 0..n-1
    const uint32_t place = lower + turn;
    return place >= n ? place - n : place;
  }
};

struct Modulo final : Spread {
  uint32_t place(uint64_t number, uint32_t n, uint64_t) const override { return static_cast<uint32_t>(number % n); }
};

uint32_t positive(const Config& config, const std::string& key) {
  const uint64_t value = config.u(key);
  if (value == 0 || value > 1u << 20) throw std::invalid_argument(key + " must be 1 to 1048576, not " + std::to_string(value));
  return static_cast<uint32_t>(value);
}

}  // namespace

std::unique_ptr<Spread> make_spread(const std::string& name) {
  static const Registry<Spread> registry(
      "address hash", {{"rotate", [] { return std::make_unique<Rotate>(); }}, {"modulo", [] { return std::make_unique<Modulo>(); }}});
  return registry.make(name);
}

AddressMap::AddressMap(const Config& config)
    : spread_(make_spread(config.text("l2.hash"))),
      granule_(config.u("l2.interleave_bytes")),
      rows_(positive(config, "dram.rows")),
      partitions_(positive(config, "l2.partitions")),
      slices_(positive(config, "l2.slices")),
      channels_(positive(config, "dram.channels") * positive(config, "dram.pseudo_channels")),
      banks_(positive(config, "dram.bank_groups") * positive(config, "dram.banks_per_group")) {
  if (granule_ < kLineBytes || granule_ % kLineBytes) throw std::invalid_argument("l2.interleave_bytes must be a multiple of 128");
  if (slices_ % partitions_) throw std::invalid_argument("l2.slices must be a multiple of l2.partitions");
  if (channels_ % partitions_) throw std::invalid_argument("dram.channels * dram.pseudo_channels must be a multiple of l2.partitions");
  if (banks_ > 64) throw std::invalid_argument("dram.bank_groups * dram.banks_per_group must be at most 64");
  slices_ /= partitions_;
  channels_ /= partitions_;
}

Location AddressMap::locate(uint64_t address) const {
  const uint64_t granule = address / granule_, local = granule / partitions_, deep = local / channels_;
  Location at{};
  at.partition = spread_->place(granule, partitions_, kPartitionSalt);
  at.slice = spread_->place(local, slices_, kSliceSalt);
  at.channel = at.partition * channels_ + spread_->place(local, channels_, kChannelSalt);
  at.bank = spread_->place(deep, banks_, kBankSalt);
  at.row = static_cast<uint32_t>(deep / banks_ %
                                 rows_);  // neighbours in a row are far apart in memory: dram_stride.csv, see docs/model/memory.md
  return at;
}

}  // namespace ws
