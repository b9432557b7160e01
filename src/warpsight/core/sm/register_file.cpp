#include "sm/register_file.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "mem/registry.h"

namespace ws {
namespace {

struct Ideal final : RegisterFile {
  uint32_t read(uint32_t, const uint16_t*, uint32_t) override { return 0; }
  void reset() override {}
};

// Registers are spread over banks by number. Each operand position has a small cache per bank that holds what the same warp read there
// last.
class Banked final : public RegisterFile {
 public:
  explicit Banked(const Config& config)
      : banks_(static_cast<uint32_t>(config.u("regfile.banks"))),
        ports_(static_cast<uint32_t>(config.u("regfile.ports"))),
        reuse_(static_cast<uint32_t>(config.u("regfile.reuse_entries"))),
        busy_(banks_) {
    cache_.assign(size_t{kPositions} * banks_ * reuse_, kEmpty);
  }

  uint32_t read(uint32_t slot, const uint16_t* reads, uint32_t n) override {
    std::fill(busy_.begin(), busy_.end(), 0);
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; ++i) {
      if (reads[i] & kPredicateUse) continue;  // predicates have their own file
      const uint32_t bank = reads[i] % banks_;
      if (cached(slot, reads[i], std::min(i, kPositions - 1), bank)) continue;
      most = std::max(most, ++busy_[bank]);
    }
    return most ? (most + ports_ - 1) / ports_ - 1 : 0;
  }

  void reset() override { std::fill(cache_.begin(), cache_.end(), kEmpty); }

 private:
  static constexpr uint32_t kPositions = 3;
  static constexpr uint32_t kEmpty = ~0u;

  bool cached(uint32_t slot, uint32_t reg, uint32_t position, uint32_t bank) {
    if (!reuse_) return false;
    const auto first = cache_.begin() + static_cast<std::ptrdiff_t>((size_t{position} * banks_ + bank) * reuse_);
    const uint32_t key = slot << 16 | reg;
    const auto found = std::find(first, first + reuse_, key);
    const bool hit = found != first + reuse_;
    std::rotate(first, hit ? found : first + reuse_ - 1, (hit ? found : first + reuse_ - 1) + 1);  // most recent first
    *first = key;
    return hit;
  }

  uint32_t banks_, ports_, reuse_;
  std::vector<uint32_t> busy_;
  std::vector<uint32_t> cache_;
};

}  // namespace

std::unique_ptr<RegisterFile> make_register_file(const Config& config) {
  static const Registry<RegisterFile, const Config&> registry("register file",
                                                              {{"ideal", [](const Config&) { return std::make_unique<Ideal>(); }},
                                                               {"banked", [](const Config& c) { return std::make_unique<Banked>(c); }}});
  return registry.make(config.text("core.register_file"), config);
}

}  // namespace ws
