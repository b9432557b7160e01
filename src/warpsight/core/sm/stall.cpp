#include "sm/stall.h"

#include <algorithm>
#include <stdexcept>

namespace ws {

Stall stall_named(const std::string& name, const std::string& key) {
  const auto it = std::find(kStallNames.begin(), kStallNames.end(), name);
  if (it == kStallNames.end()) throw std::invalid_argument(key + ": no stall reason '" + name + "'");
  return static_cast<Stall>(it - kStallNames.begin());
}

}  // namespace ws
