// Which line of a set gives way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace ws {

// Stamps are kept by the cache, one a line; a policy decides when they are renewed and what they mean.
struct Replacement {
  virtual ~Replacement() = default;
  virtual uint32_t inserted() = 0;               // stamp of a line just brought in
  virtual uint32_t touched(uint32_t stamp) = 0;  // stamp after a hit
  virtual uint32_t victim(const uint32_t* stamps,
                          uint64_t allowed) = 0;  // the way to replace, among those whose bit is set in `allowed` (never 0)
};

std::unique_ptr<Replacement> make_replacement(const std::string& name);  // "lru", "fifo", "random"

}  // namespace ws
