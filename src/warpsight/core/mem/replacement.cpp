#include "mem/replacement.h"

#include <bit>

#include "mem/registry.h"

namespace ws {
namespace {

uint32_t oldest(const uint32_t* stamps, uint64_t allowed) {
  uint32_t best = static_cast<uint32_t>(std::countr_zero(allowed));
  for (uint64_t rest = allowed & (allowed - 1); rest; rest &= rest - 1) {
    const uint32_t way = static_cast<uint32_t>(std::countr_zero(rest));
    if (static_cast<int32_t>(stamps[way] - stamps[best]) < 0) best = way;  // stamps wrap around
  }
  return best;
}

struct Lru final : Replacement {
  uint32_t clock = 0;
  uint32_t inserted() override { return ++clock; }
  uint32_t touched(uint32_t) override { return ++clock; }
  uint32_t victim(const uint32_t* stamps, uint64_t allowed) override { return oldest(stamps, allowed); }
};

struct Fifo final : Replacement {
  uint32_t clock = 0;
  uint32_t inserted() override { return ++clock; }
  uint32_t touched(uint32_t stamp) override { return stamp; }
  uint32_t victim(const uint32_t* stamps, uint64_t allowed) override { return oldest(stamps, allowed); }
};

struct Random final : Replacement {
  uint64_t state = 0x9E3779B97F4A7C15ull;  // fixed seed: runs repeat
  uint32_t inserted() override { return 0; }
  uint32_t touched(uint32_t stamp) override { return stamp; }
  uint32_t victim(const uint32_t*, uint64_t allowed) override {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    for (uint64_t skip = state % static_cast<uint64_t>(std::popcount(allowed)); skip; --skip) allowed &= allowed - 1;
    return static_cast<uint32_t>(std::countr_zero(allowed));
  }
};

}  // namespace

std::unique_ptr<Replacement> make_replacement(const std::string& name) {
  static const Registry<Replacement> registry("replacement policy", {
                                                                        {"lru", [] { return std::make_unique<Lru>(); }},
                                                                        {"fifo", [] { return std::make_unique<Fifo>(); }},
                                                                        {"random", [] { return std::make_unique<Random>(); }},
                                                                    });
  return registry.make(name);
}

}  // namespace ws
